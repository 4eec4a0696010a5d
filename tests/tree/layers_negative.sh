#!/bin/sh
# layers.sh must be able to fail: each forbidden line, alone in a copy of the tree, and it does.
set -eu
copy=$2/layers
here=$(dirname "$0")
rm -rf "$copy"
mkdir -p "$copy"
cp -r "$1/src" "$1/kernels" "$1/h5schema" "$1/analysis" "$copy/"
sh "$here/layers.sh" "$copy"

while read -r file line; do
    [ -e "$copy/$file" ] || { echo "no $file any more: take another"; exit 1; }
    cp "$copy/$file" "$copy/kept"
    echo "$line" >>"$copy/$file"
    if sh "$here/layers.sh" "$copy" >/dev/null; then
        echo "not found in $file: $line"
        exit 1
    fi
    mv "$copy/kept" "$copy/$file"
done <<'END'
src/battery/cache.c #include <mpi.h>
src/core/time.c #include <hdf5.h>
src/device/device.c #include <cuda_runtime.h>
src/battery/cache.c #include <gsl/gsl_sort.h>
analysis/statistics/sample.c #include <jansson.h>
src/core/time.c #include "device/device.h"
kernels/kernels.h #include "device/device.h"
src/device/device.c #include "battery/battery.h"
src/device/sim/sim.c #include "kernels/kernels.h"
src/device/sim/sim.c #include "analysis/statistics/sample.h"
analysis/statistics/sample.c #include "device/sim/simulator.h"
analysis/statistics/sample.c #include "h5schema/file.h"
src/battery/cache.c #include "device/sim/simulator.h"
src/battery/cache.c #include "run/frame.h"
src/battery/cache.c #include "analysis/statistics/sample.h"
src/run/frame.c #include "analysis/statistics/sample.h"
src/run/frame.c #include "cli/files.h"
src/run/frame.c #include "trace/stream.h"
src/trace/stream.c #include <cuda.h>
src/trace/index.c #include <sanitizer.h>
src/trace/index.c #include "run/frame.h"
h5schema/fleet.c #include "battery/battery.h"
analysis/statistics/sample.c void pb_say(void) { printf("aloud"); }
src/run/frame.c void pb_end(void) { exit(1); }
END
sh "$here/layers.sh" "$copy"
rm -rf "$copy"
