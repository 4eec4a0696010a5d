#!/bin/sh
# Two GPUs of one node, measured alone and together: what repeats, what it costs, what is found.
#
#   two_gpus.sh PROGRAMS OUT [RUNS]
#
# PROGRAMS   folder of the programs
# OUT        folder for recordings and reports; RUNS: of each GPU alone and of both, 3 if not given
#
# Each GPU alone RUNS times, both together RUNS times, `quick` and `full` of the first; seconds from
# start to file. Then: parameters of every run beside the first run of its GPU (plumb-diff), and what
# plumb-outliers finds of each run alone and with the first run as its baseline: no finding of a
# device is expected. Exit codes: 0 as expected, 1 otherwise, 77 no two GPUs.
set -u

[ $# -ge 2 ] || { echo "usage: two_gpus.sh PROGRAMS OUT [RUNS]" >&2; exit 2; }
programs=$1 out=$2 runs=${3:-3} bad=0
gpus=$(nvidia-smi -L 2>/dev/null | wc -l)
[ "$gpus" -ge 2 ] || { echo "two_gpus: expected two GPUs, found $gpus"; exit 77; }
mkdir -p "$out" || exit 1

now() { date +%s.%N; }

# timed WORDS -- COMMAND...: its seconds behind the words.
timed() {
    words=$1
    shift 2
    from=$(now)
    "$@" >"$out/last.log" 2>&1
    code=$?
    echo "$words: $(now) $from" | awk '{ printf "%s", $1; for (i = 2; i < NF - 1; i++) printf " %s", $i
        printf " %.2f s", $(NF - 1) - $NF }'
    echo ", exit $code"
    [ $code -eq 0 ] || { tail -5 "$out/last.log"; bad=1; }
}

probe() { # GPU BATTERY FILE
    timed "gpu $1 alone, $2" -- "$programs/plumb-probe" --no-progress --backend cuda --device "$1" \
        --battery "$2" -o "$out/$3.h5"
}

for run in $(seq "$runs"); do
    probe 0 standard "gpu0-$run"
    probe 1 standard "gpu1-$run"
    timed "both, standard" -- mpirun --allow-run-as-root -q -n 2 "$programs/plumb-run" \
        --no-progress --backend cuda --battery standard -o "$out/both-$run.h5"
done
probe 0 quick quick
probe 0 full full

analyse() { "$programs/plumb-analyze" "$out/$1.h5" >"$out/$1.txt" 2>&1 || echo "$1: not analysed"; }
for run in $(seq "$runs"); do
    analyse "gpu0-$run" &
    analyse "gpu1-$run" &
    analyse "both-$run" &
done
analyse quick &
analyse full &
wait

# judged WORDS FILE [OPTION...]: findings that are not OK, and the exit code.
judged() {
    words=$1 file=$2
    shift 2
    "$programs/plumb-outliers" "$@" "$out/$file.h5" >"$out/last.log" 2>&1
    code=$?
    echo "$words: exit $code; $(grep -cE '^(WARNING|CRITICAL) ' "$out/last.log") findings"
    grep -E '^(WARNING|CRITICAL) ' -A 2 "$out/last.log" | sed 's/^/    /'
    ! grep -qE '^CRITICAL ' "$out/last.log" || bad=1
}
for run in $(seq "$runs"); do
    for name in gpu0 gpu1 both; do
        judged "$name, run $run" "$name-$run"
        [ "$run" = 1 ] || judged "$name, run $run against run 1" "$name-$run" \
            --baseline "$out/$name-1.h5"
    done
done

for name in gpu0 gpu1; do
    for run in $(seq 2 "$runs"); do
        echo "$name: run 1 and run $run"
        "$programs/plumb-diff" "$out/$name-1.h5" "$out/$name-$run.h5" | grep -v '^$'
    done
    echo "$name: alone and beside the other one"
    uuid=$(nvidia-smi --query-gpu=uuid --format=csv,noheader -i "${name#gpu}")
    "$programs/plumb-diff" "$out/$name-1.h5" "$out/both-1.h5:$uuid" | grep -v '^$'
done
exit $bad
