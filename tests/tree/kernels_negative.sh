#!/bin/sh
# kernels.sh must be able to fail: each line that nothing runs, alone in a copy of the tree.
set -eu
copy=$2/kernels
here=$(dirname "$0")
rm -rf "$copy"
mkdir -p "$copy/src"
cp -r "$1/kernels" "$copy/"
cp -r "$1/src/device" "$copy/src/"
sh "$here/kernels.sh" "$copy"

# FILE WORDS THAT ARE COMPLAINED OF | LINE
while read -r file rest; do
    words=${rest%% | *}
    cp "$copy/$file" "$copy/kept"
    echo "${rest#* | }" >>"$copy/$file"
    if sh "$here/kernels.sh" "$copy" >"$copy/said"; then
        echo "not found in $file: ${rest#* | }"
        exit 1
    fi
    grep -qF -- "$words" "$copy/said" || { echo "expected: $words"; cat "$copy/said"; exit 1; }
    mv "$copy/kept" "$copy/$file"
done <<'END'
kernels/fill.cu pb_idle: defined, and never launched | __global__ void pb_idle(uint32_t *to) { *to = 0; }
kernels/stream.cu pb_idle: defined | template <int n> __global__ void __launch_bounds__(PB_TWO(n), 1) pb_idle(int a) { }
kernels/chase.cu pb_trace_local: defined | PB_TRACE_KERNEL(local)
kernels/chase.cu pb_trace_local: nothing takes | PB_TRACE_KERNEL(local) pb_kernel_chaser pb_local = pb_trace_local;
kernels/chase.cu pb_time_atomic: no chase takes | PB_CHASE_KERNELS(atomic) pb_kernel_chaser pb_atomic = pb_time_atomic;
kernels/cross.cu pb_cross_trace_atomic: no chase takes | PB_CROSS_KERNELS(atomic)
kernels/kernels.h pb_kernel_idle(): declared | int pb_kernel_idle(const struct pb_kernel_place *place);
END
sh "$here/kernels.sh" "$copy"
rm -rf "$copy"
