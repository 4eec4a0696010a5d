# Shared by the scripts here: where the programs are, how to run them, and how to be disappointed.
#
# Each script is called with the folder of the programs, the folder of the test helpers, and the
# name of the case. It works in a folder of its own, which is left behind only when it fails.

bin=$1
helpers=$2
case_name=$3
work=$(mktemp -d "${TMPDIR:-/tmp}/plumb-$case_name-XXXXXX")
cd "$work"

# MPI as a test needs it: more ranks than cores, also as root, never for ever.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
command -v mpirun >/dev/null || { echo "no mpirun here"; exit 77; }

# Tests that take milliseconds, in the battery's order.
fast=clock_overhead,clock_calibration,shared_latency,bank_conflict,global_copy
sim="--backend sim --profile gtx780 --tests $fast"

fail() {
    echo "FAILED: $*"
    echo "--- output"
    cat out.txt err.txt log.txt 2>/dev/null
    echo "left in $work"
    exit 1
}

# run CODE COMMAND...: runs it, expects the exit code, keeps its words in out.txt and err.txt.
run() {
    expected=$1
    shift
    found=0
    timeout 120 "$@" >out.txt 2>err.txt </dev/null || found=$?
    [ "$found" -eq "$expected" ] || fail "expected exit code $expected, found $found: $*"
}

# ranks CODE N OPTIONS...: plumb-run on N ranks.
ranks() {
    expected=$1
    count=$2
    shift 2
    run "$expected" mpirun -q -n "$count" "$bin/plumb-run" "$@"
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

# nothing_but FILE...: the folder holds these, and what this script keeps there itself.
nothing_but() {
    for file in $(ls -A); do
        case " $* out.txt err.txt rows.txt check.txt " in
        *" $file "*) ;;
        *) fail "left behind: $file" ;;
        esac
    done
}

# await COMMAND...: until it succeeds, for a minute, while the job (if there is one) lives.
await() {
    for _ in $(seq 600); do
        "$@" && return 0
        [ -z "${job:-}" ] || kill -0 "$job" 2>/dev/null || fail "the job ended before: $*"
        sleep 0.1
    done
    fail "waited in vain: $*"
}

pass() {
    cd /
    rm -rf "$work"
    exit 0
}
