"""The matrix of a node's GPUs, from what plumb-analyze --json says of a file of all of them.

    peer_matrix.py ANALYSIS.json [TOPOLOGY.txt]

Prints each quantity of peer_link, a row for each GPU (by PCI bus id), a column for each peer. The two
directions of a pair may differ by the tolerance of docs/metrics.md. Where TOPOLOGY.txt, what
`nvidia-smi topo -m` says, names several kinds of links, pairs of each kind stand in a line of their
own. Exit codes: 0 symmetric, 1 not, or nothing was measured, 77 fewer than two GPUs.
"""

import json
import sys

# Of one direction over the other one; as peer_link's, peer_chase's and peer_copy's metrics.
TOLERANCE = {"bytes_per_s": 0.20, "latency_ns": 0.50, "load_latency_cycles": 0.05,
             "load_dram_latency_cycles": 0.05, "plain_latency_cycles": 0.05,
             "to_bytes_per_s": 0.20, "both_bytes_per_s": 0.20, "concurrent_bytes_per_s": 0.55}


def links_of(path, count):
    """What lies between GPU i and GPU j, by the matrix of nvidia-smi; None: not said."""
    rows = {}
    for line in open(path) if path else ():
        words = line.split()
        if words and words[0].startswith("GPU") and words[0][3:].isdigit() and len(words) > count:
            rows[int(words[0][3:])] = words[1:count + 1]
    return [[rows[i][j] for j in range(count)] for i in range(count)] if len(rows) == count else None


def matrix_of(devices, quantity):
    """[i][j] of GPU i about its peer j; None where it is undetermined."""
    rows = []
    for i, device in enumerate(devices):
        values = device["memories"].get("peer_link", {}).get(quantity, {}).get("value")
        if not isinstance(values, list) or len(values) != len(devices) - 1:
            return None
        rows.append(values[:i] + [None] + values[i:])
    return rows


def compare(quantity, rows, links):
    """Prints a matrix; True where both directions of every pair agree."""
    pairs = [(i, j) for i in range(len(rows)) for j in range(i)
             if rows[i][j] is not None and rows[j][i] is not None]
    apart = {(i, j): abs(rows[i][j] - rows[j][i]) / min(rows[i][j], rows[j][i]) for i, j in pairs}
    print(f"{quantity}: the two directions at most {100 * max(apart.values(), default=0):.1f}% apart,"
          f" {100 * TOLERANCE[quantity]:.0f}% expected")
    for row in rows:
        print("   ", "  ".join(f"{'-':>10}" if value is None else f"{value:10.4g}" for value in row))
    kinds = sorted({links[i][j] for i, j in pairs}) if links else []
    for kind in kinds if len(kinds) > 1 else []:
        values = [rows[a][b] for i, j in pairs if links[i][j] == kind for a, b in ((i, j), (j, i))]
        print(f"    {kind}: {min(values):.4g} to {max(values):.4g}")
    return all(value <= TOLERANCE[quantity] for value in apart.values())


def main():
    devices = json.load(open(sys.argv[1]))["devices"]
    devices.sort(key=lambda device: device["properties"]["pci_bus_id"])
    links = links_of(sys.argv[2] if len(sys.argv) > 2 else None, len(devices))
    symmetric = []
    if len(devices) < 2:
        return 77
    for quantity in TOLERANCE:
        rows = matrix_of(devices, quantity)
        if rows is None:
            print(f"{quantity}: not of all GPUs")
        else:
            symmetric.append(compare(quantity, rows, links))
    return 0 if symmetric and all(symmetric) else 1


if __name__ == "__main__":
    sys.exit(main())
