#!/bin/sh
# Everything on this machine: installs what is missing, builds, measures every GPU (or, where there
# is none, a simulated fleet with injected faults) through MPI, checks the file, analyses it, shows
# the result and the verdict, and writes a page about it.
#
#   sh jobs/local.sh [plumb-run options…]
#
# PLUMB_OUTPUT  the file to write          (default: plumb-HOST.h5 in the working folder)
# PLUMB_BUILD   the folder to build in     (default: build beside this checkout's README)
# PLUMB_INSTALL no: install nothing
set -eu

# The comment at the head of this file is its help.
case ${1:-} in
-h | --help)
    sed -n '2,/^[^#]/{/^#SBATCH/d;/^# shellcheck/d;s/^# \{0,1\}//p;}' "$0"
    exit 0
    ;;
esac

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
build=${PLUMB_BUILD:-$root/build}
output=${PLUMB_OUTPUT:-plumb-$(uname -n).h5}

. "$here/setup.sh"
. "$here/gpus.sh"
# shellcheck disable=SC2086
plumb_setup $PLUMB_BUILD_PACKAGES
plumb_mpi_environment

# nvcc is often installed but not on the path.
for cuda in "${CUDA_HOME:-}" /usr/local/cuda; do
    [ -n "$cuda" ] && [ -x "$cuda/bin/nvcc" ] && PATH=$PATH:$cuda/bin
done

interrupted=no
trap 'rm -f "$root/.build.log"' EXIT
trap 'interrupted=yes; [ -n "${measuring:-}" ] || exit 130' INT TERM
cmake -S "$root" -B "$build" -G Ninja -DPLUMB_TESTS=OFF >"$root/.build.log" 2>&1 ||
    { cat "$root/.build.log" >&2; exit 1; }
grep '^-- CUDA backend' "$root/.build.log" | sed 's/^-- //'
cmake --build "$build" >"$root/.build.log" 2>&1 || { cat "$root/.build.log" >&2; exit 1; }

gpus=0
if "$build/src/cli/plumb-probe" --version | grep -q cuda && command -v nvidia-smi >/dev/null 2>&1
then
    plumb_count_gpus
fi
fleet=$here/demo-fleet.json
demo=no
if [ "$gpus" -gt 0 ]; then
    echo "Measuring $gpus GPU(s) …"
    set -- --backend cuda "$@"
else
    demo=yes
    gpus=$(grep -o '"count": *[0-9]*' "$fleet" | awk '{sum += $2} END {print sum}')
    echo "No GPU here: measuring $gpus simulated ones, some with injected faults; about a minute …"
    [ -t 2 ] || set -- --no-progress "$@"
    set -- --backend sim --fleet "$fleet" "$@"
fi
status=0
measuring=yes # an interrupt goes to mpirun too; what has been measured by then is kept
# Not bound: a rank, its probe and the probe's packing would share the core that mpirun gives a rank.
mpirun --oversubscribe --bind-to none -n "$gpus" "$build/src/cli/plumb-run" -o "$output" "$@" || status=$?
if [ $interrupted = yes ]; then
    [ ! -d "$output.spool" ] ||
        "$build/src/cli/plumb-merge" -o "$output" "$output.spool" || true
    echo "local: interrupted; the same command with --resume goes on from $output" >&2
    exit 130
fi
measuring=
[ "$status" -eq 0 ] || [ "$status" -eq 3 ] || exit "$status"

"$build/src/cli/plumb-check" "$output"
if [ $demo = no ]; then
    "$build/src/cli/plumb-analyze" "$output"
else # all are analysed, one of many that are alike is shown
    "$build/src/cli/plumb-analyze" --summary "$output" >/dev/null
    "$build/src/cli/plumb-analyze" --device n1.gpu0 "$output"
fi
echo
"$build/src/cli/plumb-outliers" "$output" || true # a verdict is no failure of this script
if [ $demo = yes ]; then
    echo
    echo "What was injected, in $fleet:"
    sed -n 's/.*"host": "\([^"]*\)".*"faults": {"\([0-9]*\)": \["\([^"]*\)"\].*/  \1.gpu\2  \3/p' \
        "$fleet"
fi
page=${output%.h5}.html
echo
if "$build/src/cli/plumb-report" -o "$page" "$output"; then
    echo "All of it as a page: $page"
fi
exit "$status"
