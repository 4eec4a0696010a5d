#!/bin/sh
# test_counters.sh COUNT SCRIPT FOLDER: the traces that are kept count what the hardware counted when
# they were made, load for load and sector for sector.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
out=$(mktemp)
trap 'rm -f "$out"' EXIT
"$1" "$3"/*.h5 >"$out"
python3 "$2" --compare "$3/counters.csv" "$out"
