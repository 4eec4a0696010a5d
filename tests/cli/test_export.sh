#!/bin/sh
# plumb-export from outside: tables that hold what the file holds, and what it refuses.
# shellcheck disable=SC2317  # cases are called by name
set -eu
here=$(cd "$(dirname "$0")" && pwd)
data=$here/../data
. "$here/lib.sh"

tables_hold_what_the_file_holds() {
    run 0 "$bin/plumb-export" -o out --tests l1_line,global_copy "$data/h200-standard.h5"
    [ "$(find out -type f | LC_ALL=C sort | tr '\n' ' ')" = "out/fleet.csv \
out/vm.gpu0/global_copy.matrix.csv out/vm.gpu0/l1_line.accesses.csv out/vm.gpu0/l1_line.points.csv \
out/vm.gpu0/state.csv out/vm.gpu0/tests.csv " ] || { find out; fail "other tables"; }
    /usr/bin/python3 -c 'import h5py' 2>/dev/null || exit 77
    run 0 /usr/bin/python3 "$here/export_tables.py" out "$data/h200-standard.h5" vm.gpu0
}

export_refuses_what_it_cannot_do() {
    run 2 "$bin/plumb-export" -o out --device n9.gpu9 "$data/h200-standard.h5"
    one_line_like 'no device n9.gpu9 among 1'
    run 2 "$bin/plumb-export" -o out --tests sync_none "$data/h200-standard.h5"
    one_line_like 'no device has any test of sync_none'
    run 2 "$bin/plumb-export" "$data/h200-standard.h5"
    one_line_like 'expected -o FOLDER'
    echo text >broken.h5
    run 2 "$bin/plumb-export" -o out broken.h5
    one_line_like 'broken.h5'
    run 2 "$bin/plumb-export" -o broken.h5 "$data/h200-standard.h5"
    one_line_like 'broken.h5: expected a folder, found a file'
    mkdir -p out/vm.gpu0
    echo 'a letter' >out/fleet.csv
    run 2 "$bin/plumb-export" -o out --tests l1_line "$data/h200-standard.h5"
    [ "$(cat out/fleet.csv)" = 'a letter' ] || fail "what was there is gone"
}

"$case_name"
pass
