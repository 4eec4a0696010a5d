#!/bin/sh
# Do the peaks of DRAM that plumb states reach those of the plainest kernels, run beside it?
#
#   peaks.sh PROGRAMS PLAIN
#
# PROGRAMS   folder of plumb-probe and plumb-analyze
# PLAIN      the program built from plain_stream.cu
#
# Expected: copy, read and write peak at 0.99 of the plain ones or more. Exit codes: 0 as expected,
# 1 otherwise, 77 no GPU.
set -u

[ $# -eq 2 ] || { echo "usage: peaks.sh PROGRAMS PLAIN" >&2; exit 2; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

"$2" >"$work/plain" 2>"$work/log" || { cat "$work/log"; exit 77; }
tests=clock_overhead,clock_calibration,dram_latency
for kind in copy read write; do
    tests=$tests,global_$kind,global_${kind}16,large_${kind}16
done
"$1/plumb-probe" --no-progress --backend cuda --tests "$tests" -o "$work/peaks.h5" >"$work/log" 2>&1 ||
    { cat "$work/log"; exit 1; }
"$1/plumb-analyze" --json "$work/peaks.json" "$work/peaks.h5" >"$work/log" 2>&1 ||
    { cat "$work/log"; exit 1; }

# value KEY: that number of DRAM
value() {
    tr -d '\n' <"$work/peaks.json" | sed 's/.*"dram": *{//' |
        grep -o "\"$1\": *{[^}]*\"value\": *[-+.0-9e]*" | head -n 1 | sed 's/.*: *//'
}

bad=0
for row in copy:peak_bytes_per_s read:read_peak_bytes_per_s write:write_peak_bytes_per_s; do
    plain=$(awk -v kind="${row%%:*}" '$1 == kind { print $2 }' "$work/plain")
    ours=$(value "${row##*:}")
    awk -v kind="${row%%:*}" -v plain="$plain" -v ours="${ours:-0}" 'BEGIN {
        printf "%s: %.4g byte/s, plain %.4g: %.3f\n", kind, ours, plain, ours / plain
        exit !(ours >= 0.99 * plain) }' || bad=1
done
exit $bad
