#!/bin/sh
# Bad input of every kind: one clear line, the right exit code, nothing half-written.
# shellcheck disable=SC2086,SC2317  # $sim and $fast are words; cases are called by name
set -eu
. "$(dirname "$0")/lib.sh"

# both PATTERN OPTIONS...: the probe alone and two ranks refuse with exit code 2.
both() {
    pattern=$1
    shift
    run 2 "$bin/plumb-probe" -o f.h5 "$@"
    one_line_like "^plumb-probe: .*$pattern"
    ranks 2 2 -o f.h5 "$@"
    one_line_like "^plumb-run: .*$pattern"
}

unknown_option() {
    both '--frobnicate: unknown' --frobnicate
    both '--seed: .*value is missing' --seed
    both 'unexpected argument "more"' more
    nothing_but
}

missing_output() {
    run 2 "$bin/plumb-probe" --backend sim
    one_line_like 'expected -o FILE.h5'
    ranks 2 2 --backend sim
    one_line_like 'expected -o FLEET.h5'
}

wrong_values() {
    both '--seed: expected a number .*found "x"' --seed x
    both '--device: expected an index, a UUID or a PCI bus id, found ""' --device ''
    both 'backend "rocm": expected auto, cuda or sim' --backend rocm
    both 'battery "big": expected quick, standard or full' --battery big
    both 'test "l9_capacity"' --backend sim --tests clock_overhead,l9_capacity
    both 'test ""' --backend sim --tests ''
    both '--sustain: expected seconds from above 0 to 3600, found "0"' --sustain 0
    for seconds in -1 3601 nan inf 5s ''; do
        run 2 "$bin/plumb-probe" -o f.h5 --sustain "$seconds"
        one_line_like '--sustain: expected seconds from above 0 to 3600'
    done
    ranks 2 2 -o f.h5 --deadline 0
    one_line_like '--deadline: expected seconds'
    ranks 2 2 -o f.h5 --deadline soon
    one_line_like '--deadline: expected seconds'
    nothing_but
}

wrong_profile() {
    both 'profile' --backend sim --profile gtx9999
    echo '{"name": "x", "sm_count": "many"}' >bad.json
    both 'bad\.json: \$\.' --backend sim --profile ./bad.json
    echo '{"name": ' >torn.json
    both 'torn\.json:2:0' --backend sim --profile ./torn.json
    nothing_but bad.json torn.json
}

wrong_fault() {
    both 'frost' --backend sim --fault frost=1
    both 'hang' --backend sim --fault hang
    both 'fault "hang@l9_capacity": test "l9_capacity": no test has this name' --backend sim --fault hang@l9_capacity
    nothing_but
}

wrong_fleet() {
    ranks 2 2 -o f.h5 --fleet none.json
    one_line_like 'none\.json'
    echo '{"seed": 7, "devices": [{"host": "n1", "count": 2}]}' >f.json
    ranks 2 2 -o f.h5 --fleet f.json
    one_line_like 'f\.json: \$\.devices\[0\]\.profile'
    echo '{"devices": [{"host": "n1", "profile": "gtx780", "count": 2}]}' >f.json
    ranks 2 2 -o f.h5 --fleet f.json --profile gtx980
    one_line_like 'f\.json: says itself'
    ranks 2 2 -o f.h5 --fleet f.json --backend cuda
    one_line_like 'only simulated devices'
    echo '{"devices": [{"host": "n1", "profile": "gtx780", "count": 2,' \
        '"faults": {"1": ["lost@l9_capacity"]}}]}' >f.json
    ranks 2 2 -o f.h5 --fleet f.json
    one_line_like 'f\.json: rank 1: fault "lost@l9_capacity": test "l9_capacity": no test has this name'
    nothing_but f.json
}

# Files of one host's simulated slot, under two profiles: a UUID never changes its model.
two_models_under_one_uuid() {
    for profile in gtx780 gtx980; do
        run 0 "$bin/plumb-probe" --backend sim --profile $profile --tests clock_overhead \
            --no-progress -o $profile.h5
    done
    run 2 "$bin/plumb-merge" -o f.h5 gtx780.h5 gtx980.h5
    one_line_like 'UUID .* names two models, .*780.*980'
    nothing_but gtx780.h5 gtx980.h5
}

# What was looked for stands in the one line, and nothing is simulated or written.
no_gpu() {
    export CUDA_VISIBLE_DEVICES=
    run 1 "$bin/plumb-probe" -o f.h5
    one_line_like '^plumb-probe: no GPU found: .*/dev/nvidia0.*CUDA_VISIBLE_DEVICES.*container'
    ranks 1 2 -o f.h5
    one_line_like 'nothing to measure: no GPU found: .*driver'
    both 'backend auto: only simulated devices have .*faults.*--backend sim' --fault clock=0.9
    run 1 "$bin/plumb-probe" --backend cuda -o f.h5
    one_line_like '^plumb-probe: '
    ranks 1 2 --backend cuda -o f.h5
    one_line_like '^plumb-run: '
    nothing_but
}

foreign_output() {
    echo "precious" >f.h5
    run 2 "$bin/plumb-probe" $sim -o f.h5
    one_line_like 'f\.h5: exists and is no fleet file'
    ranks 2 2 $sim -o f.h5
    one_line_like 'f\.h5: exists and is no fleet file'
    run 2 "$bin/plumb-merge" -o f.h5 f.h5
    [ "$(cat f.h5)" = precious ] || fail "the file was changed"
    nothing_but f.h5
}

unwritable_output() {
    run 2 "$bin/plumb-probe" $sim -o none/f.h5
    one_line_like 'none/f\.h5'
    ranks 2 2 $sim -o none/f.h5
    one_line_like 'none/f\.h5'
    nothing_but
}

# No room left comes as a limit on the size of files: in the middle of a test, or at the very end.
full_disk() {
    run 0 "$bin/plumb-probe" $sim --no-progress -o g.h5
    for limit in 1 10 20 30; do # at most 30 KiB, of 34
        (
            ulimit -f $limit
            run 1 "$bin/plumb-probe" $sim --no-progress -o f.h5
            one_line_like '^plumb-probe: f\.h5: .*File too large'
        )
        # What is in the spool is not lost.
        if [ -e f.h5.spool ]; then
            tests=$(sed 's/.*with \([0-9]*\) of.*/\1/' err.txt)
            [ "$tests" -gt 0 ] || fail "a spool with no test"
            found=0
            "$bin/plumb-merge" -o f.h5 f.h5.spool >out.txt 2>err.txt || found=$?
            [ $found -eq 3 ] || [ $found -eq 0 ] || fail "the spool cannot be merged"
            count f.h5 '^test .* ok ' "$tests"
            valid f.h5
            rm -r f.h5 f.h5.spool
        fi
        (
            ulimit -f $limit
            run 1 "$bin/plumb-merge" -o f.h5 g.h5
            one_line_like '^plumb-merge: .*File too large'
        )
        nothing_but g.h5
    done
}

unwritable_spool() {
    ranks 2 2 $sim --spool none/spool -o f.h5
    one_line_like 'none/spool: cannot be created'
    nothing_but
}

missing_probe() {
    ranks 2 2 $sim --probe ./none -o f.h5
    one_line_like '\./none: cannot be started'
    nothing_but
}

foreign_probe() {
    printf '#!/bin/sh\necho hello >&3\n' >probe.sh
    chmod +x probe.sh
    ranks 1 2 $sim --probe ./probe.sh -o f.h5
    one_line_like 'nothing to measure: the probe'
    nothing_but probe.sh
}

check_and_merge() {
    run 0 "$bin/plumb-probe" $sim --no-progress -o f.h5
    run 0 "$bin/plumb-check" f.h5
    grep -q '^f.h5: ok, 1 device' out.txt || fail "another line"
    run 2 "$bin/plumb-check" none.h5
    one_line_like 'none\.h5'
    head -c 3000 f.h5 >torn.h5
    run 2 "$bin/plumb-check" torn.h5
    one_line_like 'torn\.h5'
    run 2 "$bin/plumb-merge" -o m.h5 torn.h5
    one_line_like 'torn\.h5'
    run 2 "$bin/plumb-merge" -o m.h5 f.h5 none.h5
    one_line_like 'none\.h5'
    run 2 "$bin/plumb-check"
    one_line_like 'expected FILE.h5'
    run 2 "$bin/plumb-check" f.h5 torn.h5
    one_line_like 'unexpected argument "torn.h5"'
    run 2 "$bin/plumb-check" --fast f.h5
    one_line_like '--fast: unknown'
    run 2 "$bin/plumb-merge" -o m.h5
    one_line_like 'expected -o OUT.h5 IN...'
    run 2 "$bin/plumb-merge" f.h5
    one_line_like 'expected -o OUT.h5 IN...'
    nothing_but f.h5 torn.h5
}

damaged_file_is_not_clean() {
    run 0 "$bin/plumb-probe" $sim --no-progress -o f.h5
    size=$(wc -c <f.h5)
    # All over the data: some of the marks hit what HDF5 left unused, but never all of them. A
    # chunk's checksum, or what leads to it, must be wrong then.
    for sixteenth in 4 5 6 7 8 9 10 11 12; do
        printf 'DAMAGEDAMAGEDAMAGE' |
            dd of=f.h5 bs=1 seek=$((size * sixteenth / 16)) conv=notrunc 2>/dev/null
    done
    code=0
    "$bin/plumb-check" f.h5 >out.txt 2>err.txt || code=$?
    [ $code -eq 1 ] || [ $code -eq 2 ] || fail "plumb-check took a damaged file for a good one"
}

help_and_version() {
    for program in plumb-probe plumb-run plumb-merge plumb-check plumb-model; do
        run 0 "$bin/$program" --help
        grep -q 'Exit status' out.txt || fail "$program --help"
        run 0 "$bin/$program" --version
        grep -qE '[0-9]+\.[0-9]+\.[0-9]+' out.txt || fail "$program --version"
    done
    ranks 0 3 --help
    [ "$(grep -c 'Exit status' out.txt)" -eq 1 ] || fail "help was said more than once"
    run 0 "$bin/plumb-probe" --list
    grep -qE '^clock_overhead +quick +cycle' out.txt || fail "--list"
}

# loses CODE PROGRAM OPTIONS...: what it prints does not arrive, which it says in one line.
loses() {
    expected=$1
    program=$2
    shift 2
    code=0
    "$bin/$program" "$@" >/dev/full 2>err.txt </dev/null || code=$?
    one_line_like "^$program: .*standard output.* cannot be written: No space left"
    [ $code -eq "$expected" ] || fail "expected exit code $expected, found $code: $program $*"
}

lost_words_are_a_failure() {
    [ -w /dev/full ] || exit 77
    for wish in --help --version; do
        for program in plumb-probe plumb-run plumb-merge plumb-check plumb-analyze plumb-model; do
            loses 1 $program $wish
        done
        loses 3 plumb-outliers $wish
    done
    loses 1 plumb-probe --list
    loses 1 plumb-probe $sim --no-progress -o f.h5
    loses 1 plumb-run $sim --no-progress -o g.h5
    loses 1 plumb-check f.h5
    loses 1 plumb-merge -o m.h5 f.h5
    for json in '' '--json -'; do
        loses 1 plumb-analyze $json f.h5
        loses 3 plumb-outliers $json f.h5
    done
}

"$case_name"
pass
