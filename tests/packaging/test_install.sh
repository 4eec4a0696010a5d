#!/bin/sh
# Installs a build, moves the tree, uses it there, and removes it again.
#   test_install.sh BUILD CMAKE
set -eu
build=$1
cmake=$2
folder=$(mktemp -d)
fail() {
    echo "FAILED: $*"
    exit 1
}

# The manifest of an installation that somebody made from this build is not ours to use up.
mkdir "$folder/manifests"
mv "$build"/install_manifest*.txt "$folder/manifests" 2>/dev/null || true
restore() {
    rm -f "$build"/install_manifest*.txt
    mv "$folder/manifests"/* "$build" 2>/dev/null || true
    rm -rf "$folder"
}
trap restore EXIT
DESTDIR=$folder/stage "$cmake" --install "$build" --prefix /opt/plumb >"$folder/log" ||
    { cat "$folder/log"; fail "install"; }
[ -f "$folder/stage/opt/plumb/share/doc/plumb/LICENSE" ] || fail "no LICENSE"

cp -a "$folder/stage/opt/plumb" "$folder/moved"
cd "$folder"
export PATH="$folder/moved/bin:$PATH"
plumb-probe --backend sim --profile gtx780 --no-progress \
    --tests clock_overhead,clock_calibration,shared_latency -o "$folder/one.h5"
plumb-check "$folder/one.h5"
plumb-analyze --read-only "$folder/one.h5" | grep -q 'latency_cycles' || fail "no latency"
plumb-outliers --read-only "$folder/one.h5" >verdict.txt || true
grep -q simulated verdict.txt || fail "no verdict"

# A link in a module path finds the prefix of the file that it leads to.
if command -v modulecmd >/dev/null; then
    mkdir -p modules/plumb
    ln -s "$folder/moved/share/plumb/modulefiles/plumb" modules/plumb/test
    prefix=$(MODULEPATH=$folder/modules && export MODULEPATH && unset PLUMB_ROOT &&
        eval "$(modulecmd sh load plumb)" && echo "$PLUMB_ROOT")
    [ "$prefix" = "$folder/moved" ] || fail "the module's prefix is '$prefix'"
fi

"$cmake" -E env DESTDIR="$folder/stage" "$cmake" -P "$build/uninstall.cmake" >log ||
    { cat log; fail "uninstall"; }
left=$(find "$folder/stage" -type f -o -type d -name 'plumb*' ! -path '*/opt/plumb' | head)
[ -z "$left" ] || fail "uninstall left $left"
