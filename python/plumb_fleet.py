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


def _plain(value):
    """An attribute or a table's field as Python has it: text for bytes."""
    return value.decode() if isinstance(value, bytes) else value


def _attributes(item):
    hidden = ("DIMENSION_LIST", "REFERENCE_LIST", "CLASS", "NAME", "_Netcdf4Dimid")
    return {name: _plain(value) for name, value in item.attrs.items() if name not in hidden}


def _table(dataset):
    """A compound dataset as one xarray.Dataset with a variable for each field."""
    rows = dataset[:]
    fields = {}
    for name in rows.dtype.names:
        column = rows[name]
        fields[name] = ("row", np.char.decode(column, "utf-8") if column.dtype.kind == "S" else column)
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
        return list(self._group["tests"])

    def test(self, name):
        """The attributes of a test: status, seconds, unit, method, sm_id, ..."""
        return _attributes(self._group["tests"][name])

    def states(self):
        """Clocks, power, temperatures and counters over time."""
        return _table(self._group["state"])

    def points(self, name):
        """One row per chase: footprint, stride, path, mode, first, count, overhead, ..."""
        return _table(self._group["tests"][name]["points"])

    def trace(self, name, net=True):
        """Every recorded access of a test: latency (less the clock's overhead if `net`) and index,
        with the footprint, stride and mode of its chase as coordinates; `point` is its row."""
        group = self._group["tests"][name]
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
                coordinates[field] = ("access", column[point])
        return xr.Dataset(
            {"latency": ("access", latency, _attributes(group["latency"])),
             "index": ("access", group["index"][:][order], _attributes(group["index"]))},
            coords=coordinates, attrs=_attributes(group))

    def matrix(self, name):
        """A test's matrix with its named axes."""
        value = self._group["tests"][name]["value"]
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
        return {(_plain(row["memory"]), _plain(row["parameter"])):
                {name: _plain(row[name]) for name in rows.dtype.names}
                for row in rows if _plain(row["device"]) == self.key}


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
