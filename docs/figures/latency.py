"""Prints footprint and mean latency of the chases of a fleet file, for latency.gnuplot.

usage: latency.py FLEET.h5 DEVICE TEST
"""
import sys

import h5py

path, device, test = sys.argv[1:]
with h5py.File(path, "r") as file:
    group = file[f"devices/{device}/tests/{test}"]
    points, latency = group["points"][:], group["latency"][:]
    rows = []
    for point in points:
        if point["phase"] not in (b"coarse", b"fine"):
            continue
        if point["mode"] == b"lap":
            mean = point["cycles"] / point["timed"]
        else:
            own = latency[point["first"]:point["first"] + point["count"]]
            mean = own.mean() - point["overhead"]
        rows.append((int(point["footprint"]), mean))
    for footprint, mean in sorted(rows):
        print(footprint / 1024, mean)
