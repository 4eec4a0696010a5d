#!/bin/sh
# trace_endings.sh BUILD: plumb-trace with programs on a GPU that end, fork, reset, trap or launch in
# every way. A line for each: what was expected and found. Exit status: 0 all as expected, 1 not all,
# 77 no GPU or no tracer.
set -u
build=$(cd "$1" && pwd)
kernels=$build/tests/gpu/plumb-trace-kernels
trace=$build/src/cli/plumb-trace
count=$build/tests/trace/plumb-trace-count
[ -e "$build/src/trace/libplumb-trace.so" ] || { echo "skipped: no tracer"; exit 77; }
"$kernels" stream_copy >/dev/null
[ $? -ne 77 ] || { echo "skipped: no GPU"; exit 77; }
work=$(mktemp -d) && cd "$work" || exit 1
bad=0

# expect WHAT CODE KERNELS LINES PATTERN ARG...: exit status, kernels in the trace (-: no file), lines
# of stderr, and what these match.
expect() {
    what=$1 code=$2 wanted=$3 lines=$4 pattern=$5
    shift 5
    rm -f ./* .[!.]* 2>/dev/null
    begin=$(date +%s)
    timeout 100 "$trace" -o t.h5 "$@" >out.txt 2>err.txt
    found=$?
    number=-
    [ ! -e t.h5 ] || number=$("$count" t.h5 2>count.txt | tail -n +2 | wc -l)
    ours=$(grep -c '^plumb-trace:' err.txt)
    left=$(find . -name '*stream*' | wc -l)
    verdict=ok
    [ "$found" -eq "$code" ] && [ "$number" = "$wanted" ] && [ "$ours" -eq "$lines" ] &&
        [ "$left" -eq 0 ] && { [ "$lines" -eq 0 ] || grep -qE -e "$pattern" err.txt; } || verdict=WRONG
    [ $verdict = ok ] || bad=1
    echo "$verdict: $what: exit $found ($code), kernels $number ($wanted), $(($(date +%s) - begin)) s:" \
        "$(grep '^plumb-trace:' err.txt | head -n 2 | tr '\n' ' ')"
}

expect "a child that ends" 0 1 0 '' -- "$kernels" --child column_copy
# The API's exit handlers run in the child as well; then the parent cannot await its kernels by it.
expect "a child that exits" 3 1 1 'partial: column_copy: the kernel failed' -- "$kernels" --child-exit column_copy
expect "two programs at once" 0 2 0 '' -- sh -c "'$kernels' column_copy & '$kernels' stream_copy; wait"
expect "a reset of the device" 0 2 0 '' -- "$kernels" column_copy --reset column_copy
expect "two contexts" 0 2 0 '' -- "$kernels" column_copy --contexts column_copy
# shellcheck disable=SC2046  # each name is an argument
expect "200 launches" 0 200 0 '' -- "$kernels" $(yes stream_copy | head -n 200)
expect "a graph" 0 1 0 '' -- "$kernels" --graph column_copy
expect "four threads" 0 32 0 '' -- "$kernels" --threads column_copy
expect "more SMs than there are" 0 1 0 '' --sms 100000 -- "$kernels" column_copy
expect "a preference of the launch" 0 1 0 '' -- "$kernels" --prefer-10 column_copy
expect "a trap" 3 2 1 'ended with exit status 1; what was recorded' -- "$kernels" column_copy --trap
expect "a fault" 3 2 1 'ended with exit status 1; what was recorded' -- "$kernels" column_copy --fault
expect "a signal" 3 1 1 'died of signal 6' -- "$kernels" column_copy --crash
expect "an exit status" 3 1 1 'ended with exit status 7' -- "$kernels" column_copy --fail
expect "no such kernel" 1 - 1 'no kernel matches --kernel nothing; launched were column_copy' \
    --kernel nothing -- "$kernels" column_copy
trap '' XFSZ
(
    ulimit -f 4096 # of 512 bytes
    expect "a full disk" 3 1 1 'could not be written: File too large' -- "$kernels" large_copy
    exit $bad
) || bad=1
cd / && rm -rf "$work"
exit $bad
