"""The Python reader on recorded and simulated files: known values, also without tricks for points.
    test_reader.py CHECKOUT PLUMB_PROBE
"""
import pathlib
import re
import subprocess
import sys
import tempfile

checkout, probe = pathlib.Path(sys.argv[1]), sys.argv[2]
sys.path.insert(0, str(checkout / "python"))
try:
    import plumb_fleet
except ImportError as error:
    print(error)
    sys.exit(77)

with plumb_fleet.open(checkout / "tests/data/h200-standard.h5") as fleet:
    assert len(fleet) == 1
    device = next(iter(fleet))
    assert device.attrs["model"] == "NVIDIA H200" and device.test("l1_capacity")["status"] == "ok"
    trace = device.trace("l1_capacity")
    fits = (trace["footprint"] == 256) & (trace["path"] == "global_ca")
    small = trace["latency"].where(fits, drop=True)
    assert float(small.median()) == 32.0, float(small.median())
    assert trace["latency"].attrs["unit"] == "cycle"
    copy = device.matrix("global_copy")
    assert copy.dims == ("cta_count", "cta_size", "ilp") and 3.8e12 < float(copy.max()) < 4.2e12
    assert float(device.states()["sm_clock"].max()) == 1980.0
    assert fleet.members()["status"].values.tolist() == ["ok"]
    assert set(device.points("l1_capacity")["mode"].values) == {"traced", "timed"}
    assert "sustained_load" in device.tests and "sustain" not in device.tests
    assert device.test("sustained_load")["name"] == "sustained_load"

schema = (checkout / "h5schema/SCHEMA.md").read_text()
former = re.findall(r"^\| \S*?(test|mode|parameter)\S*(?: of points)? \| `(\w+)` \| `(\w+)` \|$", schema, re.M)
assert {(what, then): now for what, then, now in former} == {
    (what, then): now for what, names in plumb_fleet.FORMER.items() for then, now in names.items()}

with tempfile.TemporaryDirectory() as folder:
    path = folder + "/one.h5"
    subprocess.run([probe, "--backend", "sim", "--profile", "gtx560ti", "--no-progress", "--tests",
                    "l1_capacity", "-o", path], check=True)
    with plumb_fleet.open(path) as fleet:
        device = next(iter(fleet))
        trace, points = device.trace("l1_capacity"), device.points("l1_capacity")
        assert trace.sizes["access"] == int(points["count"].sum()) > 0
        assert device.parameters() == {}
        fits = (trace["footprint"] == 256) & (trace["path"] == "global_ca")
        latency = float(trace["latency"].where(fits, drop=True).median())
        assert abs(latency - 96) <= 2, latency  # M16: 96 cycles

try:
    plumb_fleet.open(__file__)
except OSError:
    pass
else:
    sys.exit("a file that is no HDF5 was opened")

try:
    import matplotlib  # noqa: F401
except ImportError:
    print("no matplotlib: the figures were not drawn")
    sys.exit(0)
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.executable, checkout / "python/figures.py",
                    checkout / "tests/data/h100-standard.h5", "vm.gpu0", folder], check=True)
    drawn = sorted(path.name for path in pathlib.Path(folder).iterdir())
    assert drawn == ["bank_conflicts.svg", "copy_throughput.svg", "latency_over_footprint.svg"], drawn
