#!/bin/sh
# test_trace.sh BIN HELPERS CASE: plumb-trace with programs that end in every way. What is traced is
# a program that writes a stream as an injected library does.
# shellcheck disable=SC2317  # cases are called by name
set -eu
bin=$1
helpers=$2
case_name=$3
. "$(dirname "$0")/../shell.sh"

fake=$helpers/fake-traced-program
PLUMB_TRACE_LIBRARY=/dev/null # it must be there; the fake program needs none
export PLUMB_TRACE_LIBRARY

# trace CODE ARG...: plumb-trace -o t.h5 with these arguments.
trace() {
    code=$1
    shift
    run "$code" "$bin/plumb-trace" -o t.h5 "$@"
}

one_line() {
    [ "$(wc -l <err.txt)" -eq 1 ] || fail "expected one line"
    grep -qE -e "$1" err.txt || fail "expected a line like '$1'"
}

silent() {
    [ ! -s err.txt ] || fail "expected no line"
}

# counted PATTERN: a line of the counts of t.h5.
counted() {
    "$helpers/plumb-trace-count" t.h5 >counts.txt || fail "t.h5 cannot be read"
    grep -qE "$1" counts.txt || { cat counts.txt; fail "expected a count like '$1'"; }
}

# only FILE...: nothing else is left, hidden files included.
only() {
    for file in * .[!.]*; do
        [ -e "$file" ] || continue
        case " $* out.txt err.txt counts.txt " in
        *" $file "*) ;;
        *) fail "left behind: $file" ;;
        esac
    done
}

# plumb-check takes a trace, and names what is wrong with a damaged one.
checked() {
    trace 0 -- "$fake" context launch first launch second
    run 0 "$bin/plumb-check" t.h5
    grep -qE '^t.h5: ok, a trace of 2 kernels, 1600 records$' out.txt || fail "expected a summary"
    head -c "$(($(wc -c <t.h5) * 3 / 4))" t.h5 >cut.h5
    run 2 "$bin/plumb-check" cut.h5
    one_line 'cut.h5'
    "$helpers/plumb-damage-records" t.h5 || fail "cannot damage it"
    run 1 "$bin/plumb-check" t.h5
    grep -qE '^t.h5: /kernels/0/records\[0\]: expected active lanes, found none$' out.txt ||
        fail "expected the record that is wrong"
}

complete() {
    trace 0 -- "$fake" context launch first launch second
    silent
    grep -q '2 kernels, 1600 records, .* complete' out.txt || fail "expected a summary"
    counted '^first,800,800,17984,0,0,0,0,0,0,0,0,4,0,1,'
    counted '^second,800,'
    only t.h5
}

selects_kernels_launches_and_sms() {
    trace 0 --kernel '^fi' -- "$fake" context launch first launch second
    [ "$("$helpers/plumb-trace-count" t.h5 | wc -l)" -eq 2 ] || fail "expected one kernel"
    trace 0 --launches 1:3 -- "$fake" context many 5
    [ "$("$helpers/plumb-trace-count" t.h5 | wc -l)" -eq 3 ] || fail "expected two launches"
    trace 0 --sms 1 -- "$fake" context launch first
    counted '^first,200,.*,1,0,1,'
    only t.h5
}

program_exits_with_an_error() {
    trace 3 -- "$fake" context launch first exit 5
    one_line 'fake-traced-program ended with exit status 5; what was recorded until then is in t.h5'
    counted '^first,800,'
    only t.h5
}

program_crashes() {
    trace 3 -- "$fake" context launch first begin second abort
    one_line 'died of signal 6 .*; what was recorded until then is in t.h5'
    counted '^first,800,.*,0,1,'
    counted '^second,800,.*,-1,0,'
    only t.h5
}

kernel_fails() {
    trace 3 -- "$fake" context fail first
    one_line 'partial: first: the kernel failed'
    counted '^first,800,.*,-1,0,'
    only t.h5
}

torn_stream() {
    trace 3 -- "$fake" context launch first torn
    one_line 'partial: .*expected a frame, found a torn or damaged one'
    counted '^first,800,'
    only t.h5
}

unknown_kernel() {
    trace 1 --kernel third -- "$fake" context launch first launch second
    one_line 'nothing was recorded: no kernel matches --kernel third; launched were first, second'
    trace 1 --launches 7:8 -- "$fake" context launch first
    one_line 'nothing was recorded: --launches 7:8 is outside of the 1 launches that match'
    only
}

nothing_to_trace() {
    trace 1 -- true
    one_line 'nothing was recorded: true ended with exit status 0 and used no GPU'
    trace 1 -- "$fake" context exit 9
    one_line 'ended with exit status 9 and launched no kernel'
    trace 1 -- "$fake" context graphs 3
    one_line 'launched no kernel but in CUDA graphs, which were not traced'
    trace 1 -- "$fake" message 'compute-sanitizer cannot be loaded'
    one_line 'nothing was recorded: compute-sanitizer cannot be loaded'
    only
}

graphs_are_counted() {
    trace 0 -- "$fake" context launch first graphs 3
    one_line '3 launches of CUDA graphs were not traced as a whole'
    only t.h5
}

# The stream reaches a limit: what is lost is counted.
disk_is_full_while_recording() {
    trace 3 -- "$fake" context limit 300000 many 40
    one_line 'partial: records could not be written: File too large \([0-9]+ were lost\)'
    counted '^many,800,.*,0,1,'
    counted '^many,.*,0,[0-9.]+$'
    only t.h5
}

# No room for the trace file itself: nothing is left under its name.
disk_is_full_at_the_end() {
    mkdir small
    mount -t tmpfs -o size=400k none small 2>/dev/null || { echo "skipped: no mount"; pass_skipped; }
    code=0
    (cd small && timeout 60 "$bin/plumb-trace" -o t.h5 -- "$fake" context many 200) \
        >out.txt 2>err.txt || code=$?
    left=$(find small -type f | grep -v '/t\.h5$' || true)
    [ -e small/t.h5 ] && cp small/t.h5 .
    umount small
    rmdir small
    [ -z "$left" ] || fail "left behind: $left"
    [ "$(wc -l <err.txt)" -eq 1 ] || fail "expected one line"
    case $code in
    1) [ ! -e t.h5 ] || fail "half a file under the final name" ;;
    3) counted '^many,800,' ;;
    *) fail "expected exit code 1 or 3, found $code" ;;
    esac
    only t.h5
}

# No room for a stream either: that is said, not that the program used no GPU.
disk_is_full_from_the_start() {
    mkdir small
    mount -t tmpfs -o size=16k none small 2>/dev/null || { echo "skipped: no mount"; pass_skipped; }
    head -c 100000 /dev/zero >small/full 2>/dev/null || true
    code=0
    (cd small && timeout 60 "$bin/plumb-trace" -o t.h5 -- "$fake" context launch first) \
        >out.txt 2>err.txt || code=$?
    left=$(find small -type f | grep -v '/full$' || true)
    umount small
    rmdir small
    [ -z "$left" ] || fail "left behind: $left"
    [ "$code" -eq 1 ] || fail "expected exit code 1, found $code"
    one_line 'nothing was recorded: .* no room for records beside t.h5: No space left on device'
    only
}

pass_skipped() {
    rmdir small
    cd /
    rm -rf "$work"
    exit 77
}

# An earlier trace stays as it was when nothing new is recorded; other files are never overwritten.
old_files() {
    trace 0 -- "$fake" context launch first
    cp t.h5 old.h5
    trace 1 --kernel none -- "$fake" context launch second
    cmp t.h5 old.h5 || fail "the old trace has changed"
    echo "of the user" >t.h5
    trace 2 -- "$fake" context launch second
    one_line 't.h5: exists and is no trace file; it will not be overwritten'
    [ "$(cat t.h5)" = "of the user" ] || fail "the user's file has changed"
    only t.h5 old.h5
}

several_processes() {
    trace 0 -- sh -c "'$fake' context launch first; '$fake' context launch second; true"
    counted '^first,800,'
    counted '^second,800,'
    only t.h5
}

# SIGTERM of the tracer alone: the program gets it, and what it did until then is kept.
signals_are_handed_on() {
    "$bin/plumb-trace" -o t.h5 -- sh -c "'$fake' context launch first; : >ready; exec sleep 60" \
        >out.txt 2>err.txt &
    tracer=$!
    tries=0
    while [ ! -e ready ] && [ "$tries" -lt 300 ]; do sleep 0.1; tries=$((tries + 1)); done
    kill -TERM "$tracer"
    code=0
    wait "$tracer" || code=$?
    rm -f ready
    [ "$code" -eq 3 ] || fail "expected exit code 3, found $code"
    one_line 'sh died of signal 15 .*; what was recorded until then is in t.h5'
    counted '^first,800,'
    only t.h5
}

usage() {
    run 2 "$bin/plumb-trace" -- true
    one_line 'expected -o TRACE.h5'
    run 2 "$bin/plumb-trace" -o t.h5
    one_line 'expected -o TRACE.h5 -- PROGRAM'
    trace 2 -- ./no-such-program
    one_line 'no-such-program: cannot be started: No such file'
    trace 2 --sms none -- true
    one_line '--sms none: expected a number of SMs from 1'
    trace 2 --launches 4:2 -- true
    one_line '--launches 4:2: expected A:B'
    trace 2 --kernel '(' -- true
    one_line '--kernel \(: expected a regular expression'
    run 2 "$bin/plumb-trace" -o no/such/folder/t.h5 -- true
    one_line 'no/such/folder/t.h5: cannot be written'
    run 2 "$bin/plumb-trace" --frobnicate -o t.h5 -- true
    one_line '--frobnicate: unknown'
    PLUMB_TRACE_LIBRARY=/no/such/library run 1 "$bin/plumb-trace" -o t.h5 -- true
    one_line 'PLUMB_TRACE_LIBRARY=/no/such/library: No such file'
    run 0 "$bin/plumb-trace" --help
    run 0 "$bin/plumb-trace" --version
    only
}

# The program's own options are its own.
arguments_belong_to_the_program() {
    trace 0 "$fake" context launch --sms launch -- launch -o
    counted '^--sms,800,'
    counted '^-o,800,'
    only t.h5
}

"$case_name"
pass
