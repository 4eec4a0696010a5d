#!/bin/sh
# sanitize.sh SMOKE: every kernel under compute-sanitizer, by plumb-gpu-smoke at its small sizes.
#
#   compute-sanitizer --tool memcheck  plumb-gpu-smoke --small
#   compute-sanitizer --tool racecheck plumb-gpu-smoke --small
#
# Any finding fails, warnings too. One group of kernels alone: add --group NAME. TOOLS names other
# tools to run (synccheck, initcheck). 77: no compute-sanitizer, or no GPU.
set -u
smoke=$1
tools=${TOOLS:-memcheck racecheck}
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
[ -n "$sanitizer" ] || { echo "skipped: no compute-sanitizer"; exit 77; }
"$smoke" --small --group state >/dev/null
[ $? -ne 77 ] || { echo "skipped: no GPU"; exit 77; }

log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
bad=0
for tool in $tools; do
    # Calls that are refused are for the program under test to judge, not for the sanitizer.
    "$sanitizer" --tool "$tool" --report-api-errors no --print-limit 20 --error-exitcode 9 \
        "$smoke" --small >"$log" 2>&1
    code=$?
    # Racecheck's warnings do not change the exit code: its last line must count nothing at all.
    summary=$(grep 'SUMMARY:' "$log" | tail -n 1)
    echo "$tool: exit $code: ${summary:-no summary}"
    case $code:$summary in
    0:*'SUMMARY: 0 hazards displayed (0 errors, 0 warnings)'* | 0:*'ERROR SUMMARY: 0 errors'*) ;;
    *)
        grep -E '^=========|FAILED|^-- ' "$log" | head -n 100
        bad=1
        ;;
    esac
    sed -n 's/^\[\(.*\) s\]$/    \1/p' "$log"
done
exit $bad
