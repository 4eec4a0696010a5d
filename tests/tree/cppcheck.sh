#!/bin/sh
# cppcheck over all host code of the product.
set -eu
cd "$1"
case ${3:-} in *NOTFOUND | "") echo "no cppcheck here"; exit 77 ;; esac
"$3" --quiet --std=c11 --enable=warning,performance,portability --inline-suppr \
    --suppress=missingIncludeSystem --suppress=unknownMacro -Isrc -I. -D_GNU_SOURCE \
    --error-exitcode=1 -j "$(nproc)" src h5schema analysis
