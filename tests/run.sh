#!/bin/sh
# All tests: installs what is missing, builds twice (with sanitizers and without CUDA; then as users
# do, warnings as errors), runs both suites, and ends with CTest's summary of the second. Style,
# statistics and a real Slurm are tested once, in the second.
#
#   sh tests/run.sh [ctest options…]
#
# PLUMB_BUILD   the folder to build in (default: build-tests in the checkout)
# PLUMB_INSTALL no: install nothing
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
build=${PLUMB_BUILD:-$root/build-tests}

# shellcheck source=../jobs/setup.sh
. "$root/jobs/setup.sh"
# shellcheck disable=SC2086
plumb_setup $PLUMB_BUILD_PACKAGES $PLUMB_TEST_PACKAGES
plumb_mpi_environment
for cuda in "${CUDA_HOME:-}" /usr/local/cuda; do
    [ -n "$cuda" ] && [ -x "$cuda/bin/nvcc" ] && PATH=$PATH:$cuda/bin
done
jobs=$(nproc)
cases=$((jobs + 2)) # many wait for what is to happen

# shellcheck disable=SC2015  # whichever of the two fails
configure_and_build() {
    folder=$1
    shift
    echo "== building in $folder ($*)"
    cmake -S "$root" -B "$folder" -G Ninja -DPLUMB_WERROR=ON "$@" >"$folder.log" 2>&1 &&
        cmake --build "$folder" -j "$jobs" >>"$folder.log" 2>&1 ||
        { tail -n 60 "$folder.log" >&2; exit 1; }
    grep '^-- CUDA backend' "$folder.log" || true
    rm -f "$folder.log"
}

# A suite that silently lost tests must fail: tests/count holds how many there are without CUDA.
check_count() {
    found=$(ctest --test-dir "$1" -N | sed -n 's/^Total Tests: //p')
    expected=$(cat "$root/tests/count")
    [ "$found" -ge "$expected" ] || {
        echo "tests/count: expected at least $expected tests, found $found" >&2
        exit 1
    }
}

configure_and_build "$build-asan" -DCMAKE_BUILD_TYPE=Debug -DPLUMB_SANITIZE=ON -DPLUMB_CUDA=OFF
check_count "$build-asan"
ctest --test-dir "$build-asan" -j "$cases" --output-on-failure --label-exclude 'tree|slurm|statistics' "$@"

configure_and_build "$build"
check_count "$build"
ctest --test-dir "$build" -j "$cases" --output-on-failure "$@"
