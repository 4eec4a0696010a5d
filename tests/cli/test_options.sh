#!/bin/sh
# Every option of every program as people meet it: help, manual page, completion, and what happens
# when one is mistyped.
# shellcheck disable=SC2317  # cases are called by name
set -eu
. "$(dirname "$0")/lib.sh"
pages=$bin/../../share
programs='plumb-probe plumb-run plumb-merge plumb-check plumb-analyze plumb-outliers plumb-report plumb-diff
    plumb-export plumb-model plumb-trace'

every_option_is_in_help_page_and_completion() {
    for program in $programs; do
        "$bin/pb-option-pages" list "$program" >options.txt
        [ "$(wc -l <options.txt)" -ge 2 ] || fail "$program has no options"
        [ "$program" = plumb-run ] && mpi="mpirun -q -n 1" || mpi=
        # shellcheck disable=SC2086
        run 0 $mpi "$bin/$program" --help
        sed 's/\\-/-/g' "$pages/man/man1/$program.1" >page.txt
        while read -r option; do
            grep -qE -e "^ .* $option([=,]|  |\$)" out.txt || fail "$program --help: no $option"
            grep -qF -e "\\fB$option\\fR" page.txt || fail "$program.1: no $option"
            grep -qE -e "['| ]$option( |\\))" "$pages/bash-completion/completions/$program" ||
                fail "$program in bash: no $option"
            grep -qF -e "$option" "$pages/zsh/site-functions/_$program" ||
                fail "$program in zsh: no $option"
        done <options.txt
        # The help lists nothing else.
        [ "$(grep -cE "^ {6}--|^  -., --" out.txt)" -eq "$(wc -l <options.txt)" ] ||
            fail "$program --help lists other options"
    done
    grep -q -e --serve "$pages/man/man1/plumb-probe.1" && fail "a hidden option is shown"
    return 0
}

manual_pages_have_no_warnings() {
    command -v mandoc >/dev/null || command -v man >/dev/null || exit 77
    for program in $programs; do
        page=$pages/man/man1/$program.1
        if command -v mandoc >/dev/null; then
            mandoc -Tlint -W warning "$page" || fail "mandoc refuses $program.1"
        fi
        if command -v groff >/dev/null && man --version >/dev/null 2>&1; then
            man --warnings -l "$page" 2>warnings.txt >/dev/null
            [ ! -s warnings.txt ] || { cat warnings.txt; fail "man warns of $program.1"; }
        fi
    done
}

# bash_words PROGRAM WORD...: what bash offers for the last word.
bash_words() {
    PATH=$bin:$PATH bash -c '. "$1/$2" || exit 1
        shift
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        "_${1//-/_}"
        printf "%s\n" "${COMPREPLY[@]}"' bash "$pages/bash-completion/completions" "$@" |
        LC_ALL=C sort >words.txt
}

# offered WORD...: these, sorted.
offered() {
    printf '%s\n' "$@" >expected.txt
    cmp -s words.txt expected.txt || { cat words.txt; fail "expected $*"; }
}

bash_completes() {
    command -v bash >/dev/null || exit 77
    touch a.h5 'b c.h5' x.json
    mkdir folder
    bash_words plumb-run --ba
    offered --backend --battery
    bash_words plumb-run --battery s
    offered standard
    bash_words plumb-run --battery = q
    offered quick
    bash_words plumb-run --profile gtx7
    offered gtx780
    bash_words plumb-probe --tests clock_overhead,clock_cal
    offered clock_overhead,clock_calibration
    bash_words plumb-analyze ''
    offered a.h5 'b c.h5' folder
    bash_words plumb-run --spool ''
    offered folder
    bash_words plumb-run --fleet ''
    offered folder x.json
}

# zsh_completes TEXT RESULT: what zsh makes of TEXT when the tabulator key is pressed behind it.
zsh_completes() {
    # shellcheck disable=SC2016  # for zsh
    PATH=$bin:$PATH timeout 60 zsh -f -c '
        zmodload zsh/zpty
        zpty line "TERM=dumb zsh -f -i"
        zpty -w line "PROMPT=; RPROMPT=; unsetopt prompt_sp; fpath=($1 \$fpath)"
        zpty -w line "autoload -U compinit; compinit -u -D; print -n REA; print DY"
        zpty -r -m line out "*READY*"
        zpty -w -n line "$2$(print "\t")"
        zpty -r -m line out "*$3*"' zsh "$pages/zsh/site-functions" "$1" "$2" >words.txt 2>&1 ||
        { cat words.txt; fail "zsh made nothing of '$1'"; }
    ! grep -q 'bad option\|error\|not found' words.txt || { cat words.txt; fail "zsh: '$1'"; }
}

zsh_completes_options_and_values() {
    command -v zsh >/dev/null || exit 77
    for program in $programs; do
        zsh -n "$pages/zsh/site-functions/_$program" || fail "zsh refuses _$program"
        zsh_completes "$program --vers" "$program --version"
    done
    touch only.h5 other.json
    zsh_completes 'plumb-run --battery=st' 'plumb-run --battery=standard'
    zsh_completes 'plumb-run --profile=gtx7' 'plumb-run --profile=gtx780'
    zsh_completes 'plumb-probe --tests clock_overhead,clock_cal' 'clock_overhead,clock_calibration'
    zsh_completes 'plumb-analyze ' 'plumb-analyze only.h5'
}

install_brings_pages_and_completion() {
    run 0 cmake --install "$bin/../.." --prefix "$PWD/installed"
    for program in $programs; do
        for file in bin/$program share/man/man1/$program.1 \
            share/bash-completion/completions/$program share/zsh/site-functions/_$program; do
            [ -s "installed/$file" ] || fail "not installed: $file"
        done
    done
}

# refuses CODE PATTERN PROGRAM OPTIONS...
refuses() {
    expected=$1
    pattern=$2
    shift 2
    run "$expected" "$@"
    one_line_like "$pattern"
}

mistyped_words_are_answered_by_the_nearest() {
    refuses 2 '^plumb-probe: --batery: unknown option; did you mean --battery\?' \
        "$bin/plumb-probe" -o f.h5 --batery quick
    refuses 2 'did you mean --output\?' "$bin/plumb-merge" --uotput=f.h5 a.h5
    refuses 3 'UNKNOWN: --basline: unknown option; did you mean --baseline\?' \
        "$bin/plumb-outliers" --basline=x a.h5
    refuses 2 '--ba: ambiguous option; did you mean --backend or --battery\?' \
        "$bin/plumb-probe" --ba=x
    refuses 2 '--list: takes no value' "$bin/plumb-probe" --list=x
    refuses 2 '--seed: its value is missing' "$bin/plumb-model" a.traceg --seed
    refuses 2 '--frobnicate: unknown option; --help lists all' "$bin/plumb-check" --frobnicate
    refuses 2 'test "l1_capactiy": no test has this name; did you mean l1_capacity\?' \
        "$bin/plumb-probe" --backend sim -o f.h5 --tests clock_overhead,l1_capactiy
    refuses 2 'test "xyzzy": no test has this name; plumb-probe --list names all' \
        "$bin/plumb-probe" --backend sim -o f.h5 --tests xyzzy
    refuses 2 'fault "hang@l1_capactiy": test "l1_capactiy": no test has this name; did you mean l1_capacity\?' \
        "$bin/plumb-probe" --backend sim -o f.h5 --fault hang@l1_capactiy
}

"$case_name"
pass
