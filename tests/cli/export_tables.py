"""Compares the tables of plumb-export with the file, by csv and h5py: export_tables.py FOLDER FILE KEY"""
import csv
import pathlib
import sys

import h5py
import numpy as np

folder, path, key = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]


def table(*names):
    with open(folder.joinpath(*names), newline="") as file:
        rows = list(csv.reader(file))
    return rows[0], rows[1:]


with h5py.File(path) as file:
    head, rows = table("fleet.csv")
    assert [row[head.index("key")] for row in rows] == [key], rows
    tests = file["devices"][key]["tests"]

    head, rows = table(key, "l1_line.points.csv")
    points = tests["l1_line/points"][:]
    assert len(rows) == len(points)
    assert [row[head.index("phase")] for row in rows] == [p["phase"].decode() for p in points]
    assert [int(row[head.index("footprint [byte]")]) for row in rows] == points["footprint"].tolist()

    head, rows = table(key, "l1_line.accesses.csv")
    assert head == ["point", "index [byte]", "latency [cycle]"], head
    found = np.array(rows, dtype=float)
    net = np.concatenate([tests["l1_line/latency"][p["first"]:p["first"] + p["count"]] - p["overhead"]
                          for p in points])
    assert np.allclose(found[:, 2], net) and len(net) > 100
    assert (np.bincount(found[:, 0].astype(int), minlength=len(points)) == points["count"]).all()

    head, rows = table(key, "global_copy.matrix.csv")
    value = tests["global_copy/value"]
    assert head == ["cta_count", "cta_size", "ilp", "value [byte/s]"], head
    best = max(rows, key=lambda row: float(row[-1]))
    place = np.unravel_index(np.nanargmax(value[:]), value.shape)
    assert float(best[-1]) == np.nanmax(value[:])
    assert [float(n) for n in best[:-1]] == [axis[0][i] for axis, i in zip(value.dims, place)]
    assert len(rows) == np.isfinite(value[:]).sum()

    head, rows = table(key, "tests.csv")
    assert {row[0]: row[1] for row in rows} == {"l1_line": "ok", "global_copy": "ok"}, rows
    head, rows = table(key, "state.csv")
    assert len(rows) == len(file["devices"][key]["state"])
