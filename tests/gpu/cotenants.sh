#!/bin/sh
# What plumb-outliers says of one GPU that is alone, or beside a program that is idle, that holds
# memory, or that streams through memory: four measurements, four different answers.
#
#   cotenants.sh PROGRAMS COTENANT [plumb-run options…]
#
# PROGRAMS    folder of plumb-run, plumb-probe and plumb-outliers
# COTENANT    the program built from cotenant.cu
#
# PLUMB_HOLD_GIB, PLUMB_STREAM_GIB   what the co-tenant allocates      (default: 16, 4)
# PLUMB_KEEP                         folder for the files, which are then kept
#
# Expected: alone nothing worse than OK; idle a WARNING "co_tenant_idle"; hold a WARNING
# "co_tenant_memory"; stream a CRITICAL "co_tenant". None drains the node: the GPU is not at fault.
# Exit codes: 0 as expected, 1 otherwise, 77 no GPU.
set -u

[ $# -ge 2 ] || { echo "usage: cotenants.sh PROGRAMS COTENANT [plumb-run options]" >&2; exit 2; }
bin=$1
cotenant=$2
shift 2
[ "$#" -gt 0 ] || set -- --battery quick

work=${PLUMB_KEEP:-$(mktemp -d)}
mkdir -p "$work/alone" || exit 1
running=
cleanup() {
    exec 8>&-
    [ -z "$running" ] || kill "$running" 2>/dev/null
    [ -n "${PLUMB_KEEP:-}" ] || rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# measure FILE OPTIONS...: the first GPU, through MPI where there is one.
measure() {
    file=$1
    shift
    if command -v mpirun >/dev/null 2>&1; then
        mpirun -q -n 1 --bind-to none "$bin/plumb-run" --no-progress --backend cuda -o "$file" "$@"
    else
        "$bin/plumb-probe" --no-progress --backend cuda -o "$file" "$@"
    fi >"$work/log" 2>&1
    code=$?
    [ $code -eq 0 ] || [ $code -eq 3 ] || { cat "$work/log"; exit 1; }
}

# judge NAME EXIT CAUSE: the verdict against the runs alone; is it as expected?
judge() {
    code=0
    "$bin/plumb-outliers" --read-only --baseline "$work/alone" --json "$work/$1.json" \
        "$work/$1.h5" >"$work/$1.txt" || code=$?
    echo "==== $1: exit code $code"
    cat "$work/$1.txt"
    causes=$(grep -o '"cause": "[^"]*"' "$work/$1.json" | cut -d'"' -f4 | sort -u | paste -sd' ' -)
    drains=$(grep -c '"drain": true' "$work/$1.json")
    right=no
    case " $causes " in *" $3 "*) [ "$code" -ne "$2" ] || [ "$drains" -ne 0 ] || right=yes ;; esac
    printf '%-8s exit %s (expected %s)  drain %s  causes: %s (expected %s)  %s\n' "$1" "$code" \
        "$2" "$drains" "$causes" "$3" "$right" >>"$work/summary"
}

# beside NAME EXIT CAUSE ARGUMENTS...: measures beside the co-tenant that these start.
beside() {
    name=$1 expected=$2 cause=$3
    shift 3
    rm -f "$work/input" "$work/ready"
    mkfifo "$work/input" || exit 1
    "$cotenant" "$@" <"$work/input" >"$work/ready" &
    running=$!
    exec 8>"$work/input"
    until grep -qs ready "$work/ready"; do
        kill -0 $running 2>/dev/null || { wait $running; echo "cotenant $*: failed"; exit 1; }
        sleep 0.2
    done
    # shellcheck disable=SC2086
    measure "$work/$name.h5" $options
    exec 8>&-
    wait $running
    running=
    judge "$name" "$expected" "$cause"
}

"$cotenant" idle </dev/null >/dev/null
[ $? -ne 77 ] || { echo "skipped: no GPU"; exit 77; }
options=$*
for run in 1 2 3; do
    measure "$work/alone/$run.h5" "$@"
done
measure "$work/alone.h5" "$@"
judge alone 0 self_history
beside idle 1 co_tenant_idle idle
beside hold 1 co_tenant_memory hold "${PLUMB_HOLD_GIB:-16}"
beside stream 2 co_tenant stream "${PLUMB_STREAM_GIB:-4}"
echo "==== as expected?"
cat "$work/summary"
! grep -q 'no$' "$work/summary"
