#!/bin/sh
# clang-tidy with .clang-tidy over all host code of the product, as it was compiled.
set -eu
cd "$1"
case ${3:-} in *NOTFOUND | "") echo "no clang-tidy here"; exit 77 ;; esac
find src h5schema analysis -name '*.c' ! -path 'src/device/cuda/*' ! -path 'src/trace/device/*' -print0 |
    xargs -0 -P "$(nproc)" -n 4 "$3" -p "$2" --quiet --warnings-as-errors='*' 2>/dev/null
