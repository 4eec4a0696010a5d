#!/bin/sh
# Every kernel is launched by some operation of a CUDA device: none is built, checked and kept that
# nothing can run. Read from the text, with the macros that name kernels of a path written out:
#   a kernel is launched or picked in kernels/; each function of kernels.h is called by a device;
#   a path's timed and crossed kernels are those of chases, so the path is one that a chase takes.
set -eu
cd "$1"
text=$(mktemp)
trap 'rm -f "$text"' EXIT
bad=0

complain() {
    echo "$1"
    bad=1
}

# All of kernels/, headers first; lines continued by \ are one; NAME(path) is what it stands for.
cat kernels/*.cuh kernels/*.cu | awk '
    { while (/\\$/) { sub(/[ \t]*\\$/, ""); getline more; $0 = $0 " " more } }
    function expand(name, path,    line, inner, before, after) {
        line = body[name]
        gsub(/##path/, path, line)
        while (match(line, /PB_[A-Z_]+\(path\)/)) {
            inner = substr(line, RSTART, RLENGTH - 6)
            before = substr(line, 1, RSTART - 1)
            after = substr(line, RSTART + RLENGTH)
            line = before expand(inner, path) after
        }
        return line
    }
    /^#define PB_[A-Z_]+\(path\)/ {
        name = $2
        sub(/\(.*/, "", name)
        sub(/^#define [^)]*\)/, "")
        body[name] = $0
        next
    }
    /^PB_[A-Z_]+\([a-z0-9_]+\)/ {
        name = path = $0
        sub(/\(.*/, "", name)
        sub(/^[^(]*\(/, "", path)
        sub(/\).*/, "", path)
        rest = $0
        sub(/^[^)]*\)/, "", rest)
        if (name in body) { print expand(name, path) rest; next }
    }
    { print }
' >"$text"

kernels=$(tr '\n' ' ' <"$text" | grep -oE '__global__[^{;]*\{' | grep -oE 'pb_[a-z0-9_#]+\(' |
    tr -d '(' | sort -u)
[ "$(echo "$kernels" | wc -l)" -ge 40 ] || complain "kernels/: few kernels are found: is this read right?"

for kernel in $kernels; do
    [ "$(grep -owF -- "$kernel" "$text" | wc -l)" -ge 2 ] ||
        complain "$kernel: defined, and never launched in kernels/"
done

functions=$(grep -ohE '^int pb_kernel_[a-z0-9_]+\(' kernels/*.h | sed 's/^int //; s/(//')
for function in $functions; do
    grep -qE "(^|[^a-z_\"])$function([^a-z0-9_\"]|\$)" src/device/cuda/*.c ||
        complain "$function(): declared, and called by no src/device/cuda/*.c"
done

named=$(cat src/device/cuda/*.c)
chased=$(sed -n '/^static enum pb_status kernel_path/,/^}/p' src/device/cuda/chase.c)
for kernel in $kernels; do
    case $kernel in
    pb_trace_*) path=${kernel#pb_trace_} by='nothing' among=$named ;;
    pb_time_*) path=${kernel#pb_time_} by='no chase' among=$chased ;;
    pb_cross_*) path=${kernel#pb_cross_t*e_} by='no chase' among=$chased ;;
    *) continue ;;
    esac
    path=PB_KERNEL_$(echo "$path" | tr '[:lower:]' '[:upper:]')
    echo "$among" | grep -qwF -- "$path" || complain "$kernel: $by takes $path"
done
exit $bad
