"""What a user of h5py and xarray does with a fleet file."""
import sys

import h5py
import numpy as np
import xarray as xr

path = sys.argv[1]
with h5py.File(path, "r") as file:
    assert file.attrs["schema_version"] == 2
    fleet = file["fleet"][:]
    assert fleet["status"][0] == b"ok", fleet
    key = fleet["key"][0].decode()
    device = file[f"devices/{key}"]
    assert b"560" in device.attrs["model"], device.attrs["model"]

    test = device["tests/l1_capacity"]
    points, latency, index = test["points"][:], test["latency"][:], test["index"][:]
    assert len(latency) == len(index) == points["count"].sum()
    trace = points[points["mode"] == b"traced"][0]
    own = slice(trace["first"], trace["first"] + trace["count"])
    net = latency[own] - trace["overhead"]
    assert 90 < np.median(net) < 110, np.median(net)  # M16: 96 cycles
    assert (np.diff(index[own]) % trace["stride"] == 0).all()
    for name in ("points", "latency", "index"):
        assert {"unit", "description"} <= set(test[name].attrs), name
        assert test[name].shuffle and test[name].fletcher32 and test[name].compression == "gzip"
    assert len(device["state"]) >= 2

for engine in ("h5netcdf", "netcdf4"):
    if engine not in xr.backends.list_engines():
        continue
    group = f"/devices/{key}/tests/global_copy"
    with xr.open_dataset(path, group=group, engine=engine) as data:
        value = data["value"]
        assert value.dims == ("cta_count", "cta_size", "ilp"), value.dims
        best = value.isel(value.argmax(...))
        assert float(best) > 1e10 and int(best["cta_size"]) >= 32, best
        print(f"{engine}: best copy {float(best):.4g} {value.attrs['unit']} at "
              f"{int(best['cta_count'])} CTAs of {int(best['cta_size'])}")
