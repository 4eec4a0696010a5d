#!/usr/bin/env python3
"""Makes the table of confidences (analysis/confidence.c) from random devices whose truth is known.

    blind FIRST COUNT values >FILE; calibrate.py FILE...

By family and band of the share of the votes: how many values were stated and how many were right,
and the share right as the table has it. A band counts as if two more values had been seen that are
right as often as the family's are, so that few values prove little; the share never falls where the
votes rise (bands that would fall are pooled) and is never above 0.999. A value is right where it is exact or its interval holds the truth.
"""
import collections
import csv
import sys

BANDS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98)  # as in analysis/confidence.c
FAMILIES = ("time", "rate", "structure", "edge", "tlb_step", "tlb_third", "tlb", "tlb_sets",
            "topology", "sampled")
JUDGED = {"exact": 1, "bounded": 1, "wrong": 0, "spurious": 0}
PRIOR = 2.0
MOST = 0.999  # a few hundred devices do not show more: the values of a device are right together


def read(paths):
    stated = {family: [0] * len(BANDS) for family in FAMILIES}
    right = {family: [0] * len(BANDS) for family in FAMILIES}
    devices, false = set(), collections.Counter()
    for path in paths:
        with open(path, newline="") as file:
            for row in csv.reader(file):
                if len(row) != 6 or row[3] not in JUDGED or float(row[4]) == 0.0:
                    continue
                band = max(i for i, low in enumerate(BANDS) if low <= float(row[4]))
                devices.add(row[0])
                stated[row[2]][band] += 1
                right[row[2]][band] += JUDGED[row[3]]
                if not JUDGED[row[3]]:
                    false[row[1]] += 1
    return devices, stated, right, false


def shares(stated, right):
    """Smoothed shares that never fall: pooled adjacent violators."""
    family = (sum(right) + 1.0) / (sum(stated) + 2.0)
    blocks = []
    for n, r in zip(stated, right):
        blocks.append([r + PRIOR * family, n + PRIOR, 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]:
            r_last, n_last, length = blocks.pop()
            blocks[-1] = [blocks[-1][0] + r_last, blocks[-1][1] + n_last, blocks[-1][2] + length]
    return [min(MOST, r / n) for r, n, length in blocks for _ in range(length)]


def main():
    devices, stated, right, false = read(sys.argv[1:])
    if not devices:
        sys.exit(f"{sys.argv[0]}: expected files of `blind FIRST COUNT values`")
    print(f"{len(devices)} devices, {sum(map(sum, stated.values()))} values, "
          f"{sum(false.values())} of them false")
    for family in FAMILIES:
        print(f"{family:10}", " ".join(f"{low}: {r}/{n}" for low, n, r in
                                       zip(BANDS, stated[family], right[family]) if n))
    for family in FAMILIES:
        print(f"    [PB_FAMILY_{family.upper()}] = {{"
              + ", ".join(f"{share:.4f}" for share in shares(stated[family], right[family])) + "},")


if __name__ == "__main__":
    main()
