"""Reads plumb's fleet files: xarray objects for traces and matrices, tables as NumPy records.

    import plumb_fleet
    with plumb_fleet.open("fleet.h5") as fleet:
        for device in fleet:
            trace = device.trace("l1_capacity")         # every access of every chase
            by_size = trace.latency.groupby(trace.footprint).mean()
            copy = device.matrix("global_copy")         # CTAs x size x ILP

Needs h5py, NumPy and xarray. Units and descriptions are in each object's attrs.
"""
import h5py
import numpy as np
import xarray as xr

__version__ = "0.1.0"
SCHEMAS = (1, 2)

# Names of version 1, as in h5schema/SCHEMA.md: {what: {then: now}}. Read as what they are called now.
FORMER = {
    "test": {
        "host_link_together": "host_link_concurrent", "l1_bases": "l1_alignment",
        "memory_pattern": "memory_integrity", "peer_link_together": "peer_link_concurrent",
        "sustain": "sustained_load", "tlb_alias": "tlb_remap"},
    "mode": {"lap": "timed", "trace": "traced"},
    "parameter": {
        "all_miss_bytes": "full_miss_bytes", "entry_span_bytes": "entry_coverage_bytes",
        "from_together_bytes_per_s": "from_concurrent_bytes_per_s",
        "group_sm_counts": "sm_group_sizes", "jump_line_bytes": "stride_knee_bytes",
        "line_group_count": "address_group_count", "onset_bytes": "first_miss_bytes",
        "peak_little": "littles_law_ratio", "peak_share": "peak_efficiency",
        "per_sm": "outstanding_per_sm", "per_warp": "outstanding_per_warp",
        "read_peak_little": "read_littles_law_ratio", "read_peak_share": "read_peak_efficiency",
        "shares_room_with": "shares_capacity_with", "shares_with": "same_cache_as",
        "side_sm_counts": "partition_sm_counts",
        "to_together_bytes_per_s": "to_concurrent_bytes_per_s",
        "together_bytes_per_s": "concurrent_bytes_per_s",
        "victim_probabilities": "way_eviction_probabilities",
        "write_peak_little": "write_littles_law_ratio",
        "write_peak_share": "write_peak_efficiency"},
}


def _plain(value):
    """An attribute or a table's field as Python has it: text for bytes."""
    return value.decode() if isinstance(value, bytes) else value


def _now(what, column):
    """A column of texts, with the names of version 1 replaced."""
    return np.array([FORMER[what].get(text, text) for text in column], dtype=object)


def _attributes(item):
    hidden = ("DIMENSION_LIST", "REFERENCE_LIST", "CLASS", "NAME", "_Netcdf4Dimid")
    return {name: _plain(value) for name, value in item.attrs.items() if name not in hidden}


def _table(dataset):
    """A compound dataset as one xarray.Dataset with a variable for each field."""
    rows = dataset[:]
    fields = {}
    for name in rows.dtype.names:
        column = rows[name]
        if column.dtype.kind == "S":
            column = np.char.decode(column, "utf-8")
        fields[name] = ("row", _now(name, column) if name in FORMER else column)
    return xr.Dataset(fields, attrs=_attributes(dataset))


class Device:
    """A device of a fleet file: attributes, tests, states and parameters."""

    def __init__(self, fleet, key):
        self.key = key
        self._fleet = fleet
        self._group = fleet.file["devices"][key]
        self.attrs = _attributes(self._group)

    def __repr__(self):
        return f"<{self.key}: {self.attrs.get('model', 'unknown model')}, {len(self.tests)} tests>"

    @property
    def tests(self):
        return sorted(FORMER["test"].get(name, name) for name in self._group["tests"])

    def _test(self, name):
        """The group of a test, which version 1 may have called otherwise."""
        tests = self._group["tests"]
        before = [then for then, now in FORMER["test"].items() if now == name and then in tests]
        return tests[before[0] if before else name]

    def test(self, name):
        """The attributes of a test: status, seconds, unit, method, sm_id, ..."""
        return {**_attributes(self._test(name)), "name": name}

    def states(self):
        """Clocks, power, temperatures and counters over time."""
        return _table(self._group["state"])

    def points(self, name):
        """One row per chase: footprint, stride, path, mode, first, count, overhead, ..."""
        return _table(self._test(name)["points"])

    def trace(self, name, net=True):
        """Every recorded access of a test: latency (less the clock's overhead if `net`) and index,
        with the footprint, stride and mode of its chase as coordinates; `point` is its row."""
        group = self._test(name)
        points = group["points"][:]
        counts = points["count"].astype(np.int64)
        point = np.repeat(np.arange(len(points)), counts)
        order = np.concatenate([np.arange(p["first"], p["first"] + p["count"]) for p in points]
                               or [[]]).astype(np.int64)
        latency = group["latency"][:][order].astype(np.float64)
        if net:
            latency -= points["overhead"][point]
        coordinates = {"point": ("access", point)}
        for field in ("footprint", "stride", "mode", "path"):
            if field in points.dtype.names:
                column = points[field]
                text = column.dtype.kind == "S"
                column = np.char.decode(column, "utf-8") if text else column
                column = _now(field, column) if field in FORMER else column
                coordinates[field] = ("access", column[point])
        return xr.Dataset(
            {"latency": ("access", latency, _attributes(group["latency"])),
             "index": ("access", group["index"][:][order], _attributes(group["index"]))},
            coords=coordinates, attrs=_attributes(group))

    def matrix(self, name):
        """A test's matrix with its named axes."""
        value = self._test(name)["value"]
        axes = [dimension[0] if len(dimension) else None for dimension in value.dims]
        names = [axis.name.rsplit("/", 1)[1] if axis is not None else f"axis_{i}"
                 for i, axis in enumerate(axes)]
        coordinates = {name: (name, axis[:], _attributes(axis))
                       for name, axis in zip(names, axes) if axis is not None}
        return xr.DataArray(value[:], dims=names, coords=coordinates, name=name,
                            attrs=_attributes(value))

    def parameters(self):
        """{(memory, parameter): row} of what plumb-analyze has stored; empty: not analysed."""
        analysis = self._fleet.file.get("analysis/parameters")
        rows = [] if analysis is None else analysis[:]
        named = [{name: _plain(row[name]) for name in rows.dtype.names} for row in rows]
        for row in named:
            row["parameter"] = FORMER["parameter"].get(row["parameter"], row["parameter"])
        return {(row["memory"], row["parameter"]): row for row in named if row["device"] == self.key}


class Fleet:
    """A fleet file; a context manager, and a sequence of its devices."""

    def __init__(self, path):
        self.file = h5py.File(path, "r")
        version = self.file.attrs.get("schema_version")
        if version not in SCHEMAS:
            self.file.close()
            raise ValueError(f"{path}: expected schema_version in {SCHEMAS}, found {version}")
        self.attrs = _attributes(self.file)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.file.close()

    def __iter__(self):
        return (Device(self, key) for key in self.file["devices"])

    def __getitem__(self, key):
        return Device(self, key)

    def __len__(self):
        return len(self.file["devices"])

    def members(self):
        """The table /fleet: a row per expected rank, with what became of it."""
        return _table(self.file["fleet"])


def open(path):  # as h5py and netCDF4 call it
    return Fleet(path)
