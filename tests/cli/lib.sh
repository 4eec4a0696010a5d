# Shared by the scripts here, on top of what all shell tests share: MPI, and programs that refuse.
#
# Each script is called with the folder of the programs, the folder of the test helpers, and the
# name of the case.

bin=$1
helpers=$2
case_name=$3
. "$(dirname "$0")/../shell.sh"
sim="$sim --tests $fast"
evidence="$evidence log.txt"

# MPI as a test needs it: more ranks than cores, also as root, never for ever.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
command -v mpirun >/dev/null || { echo "no mpirun here"; exit 77; }

# ranks CODE N OPTIONS...: plumb-run on N ranks.
ranks() {
    expected=$1
    count=$2
    shift 2
    run "$expected" mpirun -q -n "$count" "$bin/plumb-run" "$@"
}

# one_line_like PATTERN: that, and nothing else, is the error.
one_line_like() {
    sed -i '/^==[0-9]*==/d' err.txt # a sanitizer's own troubles
    [ "$(wc -l <err.txt)" -eq 1 ] || fail "expected one line of error"
    grep -qE -e "$1" err.txt || fail "expected a message like '$1'"
}

# ends CODE: the job in the background does.
ends() {
    code=0
    wait "$job" || code=$?
    [ "$code" -eq "$1" ] || fail "expected exit code $1, found $code"
}

# While a job is awaited, it should be there.
is_hopeless() {
    [ -n "${job:-}" ] && ! kill -0 "$job" 2>/dev/null
}

# nothing_but FILE...: the folder holds these, and what this script keeps there itself.
nothing_but() {
    for file in * .[!.]*; do
        [ -e "$file" ] || continue
        case " $* out.txt err.txt rows.txt check.txt " in
        *" $file "*) ;;
        *) fail "left behind: $file" ;;
        esac
    done
}
