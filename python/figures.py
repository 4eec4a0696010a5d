"""Redraws three figures of Mei & Chu (TPDS 2016) from a fleet file, as a notebook would.

    python3 figures.py FLEET.h5 [DEVICE] [FOLDER]

Writes latency_over_footprint.svg (their stage 1), bank_conflicts.svg and copy_throughput.svg.
"""
import pathlib
import sys

import matplotlib
import numpy as np

import plumb_fleet

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402  (after the backend is chosen)


# %% Mean latency over footprint: where it rises, the array has outgrown the cache.
def latency_over_footprint(device, axes):
    points = device.points("l1_capacity")
    timed = points.where((points["timed"] > 0) & (points["phase"] != "reference"), drop=True)
    timed = timed.sortby("footprint")
    axes.plot(timed["footprint"] / 1024, timed["cycles"] / timed["timed"], ".-")
    axes.set(xlabel="footprint (KiB)", ylabel="latency (cycles)", xscale="log",
             title="L1: latency over footprint")


# %% Shared memory: the latency of a warp's load grows with the conflicts that its stride causes.
def bank_conflicts(device, axes):
    points = device.points("bank_conflict")
    trace = device.trace("bank_conflict")
    median = trace["latency"].groupby(trace["point"]).median()
    for word in np.unique(points["phase"]):
        rows = np.flatnonzero(points["phase"].values == word)
        rows = rows[np.isin(rows, median["point"].values)]
        axes.plot(points["stride"].values[rows], median.sel(point=rows), ".-", label=str(word))
    axes.set(xlabel="stride between lanes (bytes)", ylabel="latency (cycles)",
             title="Shared memory: bank conflicts")
    axes.legend(fontsize="small")


# %% Global memory: throughput over CTA size, a curve for each number of CTAs.
def copy_throughput(device, axes):
    matrix = device.matrix("global_copy")
    best = matrix.max("ilp")
    for count in best["cta_count"].values:
        axes.plot(best["cta_size"].values, best.sel(cta_count=count).values / 1e9, ".-",
                  label=f"{count:.0f} CTAs")
    axes.set(xlabel="threads per CTA", ylabel="GB/s", xscale="log", title="Global memory: copy")
    axes.legend(fontsize="small")


def main(path, key=None, folder="."):
    with plumb_fleet.open(path) as fleet:
        device = fleet[key] if key else next(iter(fleet))
        for draw in (latency_over_footprint, bank_conflicts, copy_throughput):
            figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
            draw(device, axes)
            axes.text(1, -0.22, device.attrs.get("model", ""), transform=axes.transAxes, ha="right")
            figure.savefig(pathlib.Path(folder) / f"{draw.__name__}.svg")
            plt.close(figure)


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
