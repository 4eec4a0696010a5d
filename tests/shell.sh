# What the shell tests of cli/ and slurm/ share: a folder for each case, running what is tested,
# looking into fleet files, and being disappointed. Sourced once these are set:
#
#   bin        folder of the programs
#   helpers    folder of `rows`
#   case_name  the case; its folder is left behind only when it fails
#
# shellcheck disable=SC2034,SC2154  # set here for those who source it, and there for this

# Short: sockets lie in it.
work=$(mktemp -d "${TMPDIR:-/tmp}/plumb-$(printf %.16s "$case_name")-XXXXXX")
cd "$work" || exit 1

# Tests that take milliseconds, in the battery's order.
fast=clock_overhead,clock_calibration,shared_latency,bank_conflict,global_copy
sim="--backend sim --profile gtx780"

evidence="out.txt err.txt" # what fail() shows, as patterns

fail() {
    echo "FAILED: $*"
    for file in $evidence; do
        [ ! -e "$file" ] || { echo "--- $file"; tail -n 200 "$file"; }
    done
    echo "left in $work"
    exit 1
}

# run CODE COMMAND...: runs it, expects the exit code, keeps its words in out.txt and err.txt.
run() {
    expected=$1
    shift
    found=0
    timeout 600 "$@" >out.txt 2>err.txt </dev/null || found=$?
    [ "$found" -eq "$expected" ] || fail "expected exit code $expected, found $found: $*"
}

# has FILE PATTERN: the fleet file says so.
has() {
    "$helpers/rows" "$1" >rows.txt || fail "$1 cannot be read"
    grep -qE "$2" rows.txt || { cat rows.txt; fail "$1: expected a line like '$2'"; }
}

# count FILE PATTERN N: so many lines say so.
count() {
    "$helpers/rows" "$1" >rows.txt || fail "$1 cannot be read"
    lines=$(grep -cE "$2" rows.txt || true)
    [ "$lines" -eq "$3" ] || { cat rows.txt; fail "$1: expected $3 lines like '$2', found $lines"; }
}

valid() {
    "$bin/plumb-check" "$1" >check.txt 2>&1 || { cat check.txt; fail "plumb-check $1"; }
}

# await COMMAND...: until it succeeds, for five minutes, as long as there is hope.
await() {
    for _ in $(seq 1500); do
        "$@" && return 0
        ! is_hopeless || fail "it ended before: $*"
        sleep 0.2
    done
    fail "waited in vain: $*"
}

is_hopeless() { # for who knows better
    false
}

pass() {
    cd /
    rm -rf "$work"
    exit 0
}
