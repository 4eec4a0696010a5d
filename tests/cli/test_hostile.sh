#!/bin/sh
# Hostile files through every program that reads any: each ends by itself, says in plain words what
# it refuses, writes nowhere else, and only plumb-check says ok or not.
# shellcheck disable=SC2016,SC2317  # names with dollars; cases are called by name
set -eu
. "$(dirname "$0")/lib.sh"

# survives PROGRAM ARG...: it ends with a documented code, soon, and prints no control characters.
survives() {
    code=0
    timeout -k 2 60 "$@" >out.txt 2>err.txt </dev/null || code=$?
    [ "$code" -le 3 ] || fail "ended with $code: $*"
    ! grep -qE 'Sanitizer|runtime error' err.txt || fail "a sanitizer: $*"
    ! LC_ALL=C tr -d '\n' <out.txt | LC_ALL=C grep -q '[[:cntrl:]]' || fail "control characters: $*"
    ! LC_ALL=C tr -d '\n' <err.txt | LC_ALL=C grep -q '[[:cntrl:]]' || fail "control characters: $*"
}

# Of the file alone, and joined to a sound one.
merges() {
    for sound in '' victim.h5; do
        rm -f out.h5
        # shellcheck disable=SC2086  # nothing, or a word
        survives "$bin/plumb-merge" -o out.h5 $sound "$file"
        [ ! -e out.h5 ] || "$bin/plumb-check" out.h5 >check.txt || fail "$file: merged, not valid"
    done
}

every_program_refuses_or_survives() {
    "$helpers/../fuzz/make_hostile" >list.txt || fail "no hostile files"
    before=$(md5sum victim.h5)
    while IFS=$(printf '\t') read -r file refusal; do
        survives "$bin/plumb-check" "$file"
        [ "$code" -eq 1 ] || [ "$code" -eq 2 ] || fail "plumb-check took $file for a good one"
        cat out.txt err.txt | grep -qF -e "$refusal" || fail "$file: expected '$refusal'"
        survives "$bin/plumb-analyze" "$file"
        survives "$bin/plumb-analyze" --read-only --json - "$file"
        survives "$bin/plumb-outliers" --json o.json --hostlist o.hosts --prometheus o.prom "$file"
        ! grep -qE '[^][a-zA-Z0-9,._-]' o.hosts 2>/dev/null || fail "$file: the hostlist"
        survives "$bin/plumb-outliers" --read-only --baseline "$file" victim.h5
        merges
        [ "$(md5sum victim.h5)" = "$before" ] || fail "$file: another file was changed"
    done <list.txt
    [ -p fifo ] || fail "the FIFO was replaced"
}

# To the analysis it is as one that was not recorded; nobody should take that for the whole truth.
unreadable_test_is_said() {
    "$helpers/../fuzz/make_hostile" >list.txt || fail "no hostile files"
    for program in plumb-analyze plumb-outliers; do
        survives "$bin/$program" --read-only no_unit.h5
        [ "$(grep -c '^unreadable test: no_unit.h5: .*/l1_capacity: latency: expected' err.txt)" -eq 1 ] ||
            fail "expected one line from $program"
    done
}

# Names out of a file, under a shell that would run them and a Slurm that would drain them.
hostile_hosts_are_not_in_commands() {
    "$helpers/../fuzz/make_hostile" >list.txt || fail "no hostile files"
    survives "$bin/plumb-outliers" --read-only --hostlist o.hosts --prometheus o.prom words.h5
    grep -qF 'n1;$(reboot)\x1b[2J' out.txt || fail "the name is not shown"
    ! grep -q 'NodeName=.*[;$(]' out.txt || fail "a command with such a name"
    [ ! -s o.hosts ] || fail "such a name in the hostlist"
    sed -n '/^scontrol/p' out.txt | sh -n || fail "no shell command"
    ! command -v scontrol >/dev/null || ! [ -s o.hosts ] ||
        scontrol show hostnames "$(cat o.hosts)" >hosts.txt || fail "Slurm reads it otherwise"
}

"$case_name"
pass
