#!/bin/sh
# The GPUs of one node, measured again and again: what repeats, what it costs, what is found.
#
#   repeats.sh PROGRAMS OUT [RUNS [GPUS]]
#
# PROGRAMS   folder of the programs
# OUT        folder for recordings and reports
# RUNS       of each GPU alone, and of all together; 3 if not given
# GPUS       how many of the node's, the first ones; all of them if not given
#
# Each GPU alone RUNS times by plumb-probe, then, where there are several, the first alone and all
# together RUNS times by plumb-run; `quick` and `full` of the first. Printed: seconds from start to
# file; what plumb-outliers finds of each run alone and with the first run of the same GPUs as its
# baseline, where no finding is expected; rows that differ from the first run (plumb-diff); the wall
# of all over that of one, both by plumb-run; the peer matrix, whose two directions should agree
# (peer_matrix.py, which needs python3).
# BATTERIES  of those "standard quick full" that are wanted, in the environment
#
# Exit codes: 0 as expected, 1 otherwise, 77 no GPU.
set -u

[ $# -ge 2 ] || { echo "usage: repeats.sh PROGRAMS OUT [RUNS [GPUS]]" >&2; exit 2; }
programs=$1 out=$2 runs=${3:-3} bad=0
batteries=" ${BATTERIES:-standard quick full} "
here=$(dirname "$0")
found=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
gpus=${4:-$found}
if [ "$found" -lt 1 ] || [ "$gpus" -lt 1 ] || [ "$gpus" -gt "$found" ]; then
    echo "repeats: expected 1 to $found GPUs, found $gpus"
    exit 77
fi
# By the numbers of nvidia-smi; with fewer than all, the others are no peers either.
export CUDA_DEVICE_ORDER=PCI_BUS_ID
if [ "$gpus" -lt "$found" ]; then
    CUDA_VISIBLE_DEVICES=$(seq -s , 0 $((gpus - 1)))
    export CUDA_VISIBLE_DEVICES
fi
mkdir -p "$out" || exit 1
: >"$out/seconds"
last=$((gpus - 1))

# timed NAME -- COMMAND...: its seconds, printed and kept.
timed() {
    name=$1
    shift 2
    from=$(date +%s.%N)
    "$@" >"$out/$name.log" 2>&1
    code=$?
    date +%s.%N | awk -v name="$name" -v from="$from" '{ print name, $1 - from }' >>"$out/seconds"
    awk -v name="$name" -v code="$code" '$1 == name { printf "%s: %.2f s, exit %d\n", $1, $2, code }' \
        "$out/seconds"
    [ $code -eq 0 ] || { tail -n 5 "$out/$name.log"; bad=1; }
}

probe() { # NAME GPU BATTERY
    timed "$1" -- "$programs/plumb-probe" --no-progress --backend cuda --device "$2" --battery "$3" \
        -o "$out/$1.h5"
}

ranks() { # NAME RANKS
    timed "$1" -- mpirun --allow-run-as-root --oversubscribe --bind-to none -q -n "$2" \
        "$programs/plumb-run" --no-progress --backend cuda --battery standard -o "$out/$1.h5"
}

names=
if [ "${batteries#* standard }" != "$batteries" ]; then
    for run in $(seq "$runs"); do
        for gpu in $(seq 0 "$last"); do
            probe "gpu$gpu-$run" "$gpu" standard
        done
        [ "$gpus" -eq 1 ] || { ranks "one-$run" 1 && ranks "all-$run" "$gpus"; }
    done
    for gpu in $(seq 0 "$last"); do
        names="$names gpu$gpu"
    done
    [ "$gpus" -eq 1 ] || names="$names all"
fi
for battery in quick full; do
    [ "${batteries#* "$battery" }" = "$batteries" ] || probe "$battery" 0 "$battery"
done

analyse() {
    "$programs/plumb-analyze" --json "$out/$1.json" "$out/$1.h5" >"$out/$1.txt" 2>&1 ||
        echo "$1: not analysed"
}
for run in $(seq "$runs"); do
    for name in $names; do
        analyse "$name-$run" &
    done
    wait
done

# judged WORDS FILE [OPTION...]: findings that are not OK, and the exit code.
judged() {
    words=$1 file=$2
    shift 2
    "$programs/plumb-outliers" "$@" "$out/$file.h5" >"$out/$file.outliers" 2>&1
    code=$?
    echo "$words: exit $code; $(grep -cE '^(WARNING|CRITICAL) ' "$out/$file.outliers") findings"
    grep -E '^(WARNING|CRITICAL) ' -A 2 "$out/$file.outliers" | sed 's/^/    /'
    ! grep -qE '^CRITICAL ' "$out/$file.outliers" || bad=1
}
for name in $names; do
    for run in $(seq "$runs"); do
        judged "$name, run $run" "$name-$run"
        [ "$run" = 1 ] || judged "$name, run $run against run 1" "$name-$run" \
            --baseline "$out/$name-1.h5"
    done
done

for name in $names; do
    for run in $(seq "$runs" | tail -n +2); do
        echo "$name: run 1 and run $run"
        "$programs/plumb-diff" "$out/$name-1.h5" "$out/$name-$run.h5" | grep -v '^$'
    done
done
if [ "$gpus" -eq 1 ] || [ -z "$names" ]; then
    exit $bad
fi

for gpu in $(seq 0 "$last"); do
    echo "gpu$gpu: alone and beside the others"
    uuid=$(nvidia-smi --query-gpu=uuid --format=csv,noheader -i "$gpu")
    "$programs/plumb-diff" "$out/gpu$gpu-1.h5" "$out/all-1.h5:$uuid" | grep -v '^$'
done
sort -k 2 -n "$out/seconds" | awk -v gpus="$gpus" '
    $1 ~ /^one/ { one[++ones] = $2 }
    $1 ~ /^all/ { all[++alls] = $2 }
    END { a = all[int((alls + 1) / 2)]; o = one[int((ones + 1) / 2)]
          printf "wall of %d GPUs: %.2f s, of one: %.2f s: %.2f\n", gpus, a, o, a / o }'
nvidia-smi topo -m >"$out/topology" 2>&1
python3 "$here/peer_matrix.py" "$out/all-1.json" "$out/topology" || bad=1
exit $bad
