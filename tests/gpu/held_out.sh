#!/bin/sh
# held_out.sh OUT [GROUP [BUILD]]: what one run on a GPU machine gives of a group of held-out kernels
# (held_out_3), from the sources on: counters and traces, the graph check, and a recording of the
# device by the standard battery. Only what this needs is built, for the GPU at hand, in BUILD
# (a new folder where none is given). OUT gets two files
#   GROUP.tar.gz   counters.csv, counted.csv, a trace for each kernel, build.log, ncu.log, proof.txt
#   device.h5      of plumb-probe --battery standard
# and nothing else. The prediction is made from the traces anywhere, by plumb-model.
# Exit status: that of trace_kernels.sh; 1 where it does not build.
set -u
out=$1
group=${2:-held_out_3}
source=$(cd "$(dirname "$0")/../.." && pwd)
build=${3:-$(mktemp -d)}
here=$(mktemp -d) || exit 1
folder=$here/$group
mkdir -p "$out" "$folder" || exit 1

seconds() { echo "$(($(date +%s) - start)) s: $*"; }
start=$(date +%s)
arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .)
generator=$(command -v ninja >/dev/null && echo Ninja || echo "Unix Makefiles")
make_programs() {
    cmake -S "$source" -B "$build" -G "$generator" -DPLUMB_CUDA=ON -DPLUMB_CUDA_WANTED="${arch:-90}" &&
        cmake --build "$build" -j "$(nproc)" --target plumb-trace plumb_inject plumb-trace-count \
            plumb-trace-kernels plumb-probe
}
if ! make_programs >"$folder/build.log" 2>&1; then
    tail -n 30 "$folder/build.log"
    exit 1
fi
seconds "built for ${arch:-90}"

COSTS=no sh "$source/tests/gpu/trace_kernels.sh" "$build" "$folder" "$group" >"$folder/proof.txt" 2>&1
code=$?
cat "$folder/proof.txt"
seconds "counters and traces: exit status $code"

"$build/src/cli/plumb-probe" --battery standard -o "$here/device.h5" >"$folder/probe.txt" 2>&1
tail -n 1 "$folder/probe.txt"
seconds "battery"

[ ! -s "$here/device.h5" ] || cp "$here/device.h5" "$out/device.h5"
tar -czf "$out/$group.tar.gz" -C "$here" "$group" || code=1
rm -rf "$here"
ls -l "$out"
exit $code
