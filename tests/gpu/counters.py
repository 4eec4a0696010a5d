#!/usr/bin/env python3
"""counters.py NCU.log: ncu's raw CSV as one row per kernel, by the metrics' names.
counters.py --compare COUNTERS.csv COUNTED.csv: are loads and sectors of the traces equal to the
counters'? A line for each kernel; exit status 1 where one differs or is missing."""
import csv
import sys

PAIRS = [("loads", "smsp__inst_executed_op_global_ld.sum"),
         ("load_sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
         ("stores", "smsp__inst_executed_op_global_st.sum"),
         ("store_sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum")]
# l1tex counts the sectors of asynchronous copies among those of loads.
ALSO = {"load_sectors": "async_sectors"}


def reshape(path):
    with open(path, newline="") as file:
        lines = [line for line in file if line.startswith('"')]
    rows = list(csv.DictReader(lines))
    if len(rows) < 2:
        sys.exit(f"{path}: expected ncu's CSV, found {len(rows)} rows")
    metrics = [name for name in rows[0] if name.split("__")[0] in ("smsp", "l1tex", "lts")
               and (name.endswith(".sum") or "l1tex__t_sectors" in name and name.endswith(".max"))]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["kernel"] + metrics)
    for row in rows:
        if row["Kernel Name"]:  # the first row holds units
            name = row["Kernel Name"].split("(")[0]
            writer.writerow([name] + [row[m].replace(",", "") for m in metrics])


def read(path):
    with open(path, newline="") as file:
        return {row["kernel"]: row for row in csv.DictReader(file)}


def counter(row, metric):
    return int(float(row.get(metric) or -1))


def requests(row):
    """Loads that touched memory: an executed one that a predicate switches off in all lanes does not."""
    return counter(row, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum")


def compare(counters_path, counted_path):
    counters, counted = read(counters_path), read(counted_path)
    bad = 0
    for name, row in counters.items():
        found = counted.get(name)
        if found is None:
            print(f"{name}: no trace")
            bad += 1
            continue
        different = []
        for ours, metric in PAIRS:
            count = int(found[ours]) + int(found[ALSO[ours]] if ours in ALSO else 0)
            if ours == "loads" and count == requests(row) < counter(row, metric):
                continue
            if count != counter(row, metric):
                different.append(f"{ours} {count} against {metric} {row.get(metric)}")
        loads = [text for text in different if text.startswith("load")]
        if loads:
            verdict = "DIFFERENT"
            bad += 1
        else:
            verdict = "equal"
        print(f"{name}: {verdict}, {found['loads']} loads, {found['load_sectors']} sectors"
              + "".join("; " + text for text in different))
    sys.exit(1 if bad else 0)


if sys.argv[1] == "--compare":
    compare(sys.argv[2], sys.argv[3])
else:
    reshape(sys.argv[1])
