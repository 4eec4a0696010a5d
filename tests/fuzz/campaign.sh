#!/bin/sh
# Mutants through all programs that read fleet files: none may crash or hang, plumb-check may not
# call good what was changed or cannot be read, and no merged output may be refused by it.
#
#   campaign.sh PROGRAMS HELPERS FIRST COUNT [SEED]
#
# PROGRAMS and HELPERS are the folders of plumb-check and of mutant, best of a build with sanitizers.
# Every program has PLUMB_SECONDS (20) of a processor, six times that by the clock on the wall, and
# PLUMB_MEMORY_MB (4096), by the sanitizer where it is built with one, else by ulimit. What went wrong is named by its number, and kept in
# bad-NUMBER.h5 in this folder.
#
# Exit codes: 0 nothing went wrong; 1 something did.
set -eu

bin=$1
helpers=$2
first=$3
count=$4
seed=${5:-1}
seconds=${PLUMB_SECONDS:-20}
megabytes=${PLUMB_MEMORY_MB:-4096}
here=$(pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/plumb-campaign-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"

export ASAN_OPTIONS="hard_rss_limit_mb=$megabytes:allocator_may_return_null=1:detect_leaks=0"
export UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1"
if ! grep -q __asan_init "$bin/plumb-check"; then
    # shellcheck disable=SC3045  # dash has it, and bash
    ulimit -v $((megabytes * 1024))
fi

# shellcheck disable=SC3045
ulimit -t "$seconds"

crashes=0 hangs=0 wrong=0 invalid=0 accepted=0 runs=0

bad() {
    echo "mutant $number ($done_to): $*"
    cp mutant.h5 "$here/bad-$number.h5"
    sed 's/^/    /' err.txt | head -n 12
}

# through PROGRAM ARG...: runs it; code is its exit code.
through() {
    code=0
    runs=$((runs + 1))
    timeout -k 1 $((6 * seconds)) "$@" >out.txt 2>err.txt </dev/null || code=$?
    if [ "$code" -eq 124 ] || [ "$code" -eq 137 ] || [ "$code" -eq 152 ]; then
        hangs=$((hangs + 1))
        bad "over $seconds s or $megabytes MB: $*"
    elif [ "$code" -gt 3 ] || grep -qE 'Sanitizer|runtime error:|ended by signal' err.txt; then
        crashes=$((crashes + 1))
        bad "ended with $code: $*"
    fi
}

# A changed byte that plumb-check does not see must not have changed what is read; and whatever it
# takes for good can be read.
judge_check() {
    through "$bin/plumb-check" mutant.h5
    [ "$code" -eq 0 ] || return 0
    accepted=$((accepted + 1))
    through "$helpers/mutant" digest mutant.h5
    if [ "$code" -ne 0 ] || { [ $((number % 2)) -eq 0 ] && ! cmp -s out.txt "$base.digest"; }; then
        wrong=$((wrong + 1))
        bad "plumb-check took it for a good one"
    fi
}

judge_merge() {
    rm -f out.h5
    through "$bin/plumb-merge" -o out.h5 "$@"
    if [ -e out.h5 ] && ! "$bin/plumb-check" out.h5 >out.txt 2>err.txt; then
        invalid=$((invalid + 1))
        bad "merged into what plumb-check refuses: $*"
    fi
}

"$helpers/mutant" fleet 1 small.h5
"$helpers/mutant" fleet 24 many.h5
for base in small many; do
    "$helpers/mutant" digest "$base.h5" >"$base.digest"
done

number=$first
while [ "$number" -lt $((first + count)) ]; do
    base=small
    [ $((number / 2 % 4)) -ne 0 ] || base=many
    done_to=$("$helpers/mutant" make "$base.h5" "$seed" "$number" mutant.h5)
    judge_check
    judge_merge mutant.h5
    judge_merge "$base.h5" mutant.h5
    through "$bin/plumb-outliers" --read-only --baseline mutant.h5 "$base.h5"
    cp mutant.h5 copy.h5
    through "$bin/plumb-analyze" --json - copy.h5
    through "$bin/plumb-outliers" --json - copy.h5
    for program in plumb-diff plumb-report plumb-model; do
        case $program in
        plumb-diff) set -- mutant.h5 "$base.h5" ;;
        plumb-report) set -- -o report.html mutant.h5 ;;
        *) set -- --from mutant.h5 "$base.h5" ;;
        esac
        [ ! -x "$bin/$program" ] || through "$bin/$program" "$@"
    done
    number=$((number + 1))
    [ $((number % 100)) -ne 0 ] || echo "up to mutant $number"
done
echo "$count mutants, $runs runs of programs: $crashes crashes, $hangs over time or memory," \
    "$wrong of $accepted accepted wrongly, $invalid merged into invalid files"
[ $((crashes + hangs + wrong + invalid)) -eq 0 ]
