#!/bin/sh
# The scripts of jobs/ that need no Slurm: the prolog and the health check.
#
#   test_jobs.sh PROGRAMS HELPERS JOBS CASE
# shellcheck disable=SC2317  # cases are called by name
set -eu

bin=$1
helpers=$2
jobs=$3
case_name=$4
. "$(dirname "$0")/../shell.sh"
export PLUMB_BIN="$bin"
evidence="$evidence state/log state/verdict"

export PLUMB_STATE="$work/state" PLUMB_CONF="$work/jobs.conf"
export PLUMB_GPUS=2 PLUMB_BUSY="test -e $work/busy"
export PLUMB_RUN_OPTIONS="$sim --tests clock_overhead,shared_latency"
export OMPI_MCA_hwloc_base_binding_policy=none
mkdir state

# said PATTERN: the last command did, to whomever.
said() {
    cat out.txt err.txt | grep -q "$1"
}

# verdict WORD [AGE-IN-DAYS]: the last one of this node.
verdict() {
    echo "$1 $(($(date +%s) - ${2:-0} * 86400)) n1.gpu0: hbm" >state/verdict
}

prolog_lets_jobs_start_on_good_nodes() {
    for word in OK WARNING UNKNOWN; do
        verdict "$word"
        run 0 sh "$jobs/prolog.sh"
    done
}

prolog_keeps_jobs_off_a_critical_node() {
    verdict CRITICAL
    run 1 sh "$jobs/prolog.sh"
    said 'CRITICAL: n1.gpu0: hbm' || fail "no reason"
    echo 'PLUMB_BLOCK=' >jobs.conf
    run 0 sh "$jobs/prolog.sh"
}

prolog_does_not_block_without_a_fresh_verdict_unless_told() {
    run 0 sh "$jobs/prolog.sh"
    verdict CRITICAL 8
    run 0 sh "$jobs/prolog.sh"
    echo 'PLUMB_BLOCK="CRITICAL STALE MISSING"' >jobs.conf
    run 1 sh "$jobs/prolog.sh"
    rm state/verdict
    run 1 sh "$jobs/prolog.sh"
    verdict OK
    run 0 sh "$jobs/prolog.sh"
}

prolog_takes_a_damaged_verdict_for_none() {
    now=$(date +%s)
    for text in '' 'CRITICAL' 'CRITICAL soon' 'critical 1 x' 'CRITICAL -1 x' 'CRITICAL 08 x' \
        "CRITICAL 0$now x" "CRITICAL 0x$now x" "CRITICAL ${now}0 x" 'CRITICAL 99999999999999999999 x' \
        'CRITICAL 9223372036854775807 x' 'MISSING 1 x'; do
        echo "$text" >state/verdict
        run 0 sh "$jobs/prolog.sh"
        ! said . || fail "expected silence for '$text'"
        run 1 env PLUMB_BLOCK='CRITICAL MISSING' sh "$jobs/prolog.sh"
        said 'MISSING: no verdict' || fail "expected no verdict for '$text'"
    done
    for text in 'CRITICAL' "CRITICAL $now cut short"; do
        printf '%s' "$text" >state/verdict
        run 0 sh "$jobs/prolog.sh"
    done
    rm state/verdict
    mkfifo state/verdict
    run 0 timeout 10 sh "$jobs/prolog.sh"
}

prolog_takes_a_verdict_from_the_future_for_a_stale_one() {
    verdict CRITICAL -1
    run 0 sh "$jobs/prolog.sh"
    run 1 env PLUMB_BLOCK=STALE sh "$jobs/prolog.sh"
    said 'STALE: n1.gpu0: hbm' || fail "no reason"
}

# Slurm drains a node whose prolog fails, for whatever reason.
prolog_survives_settings_that_are_no_numbers() {
    verdict CRITICAL 3
    for days in 08 seven 99999999999999999999 -1; do
        echo "PLUMB_STALE_DAYS=$days" >jobs.conf
        run 1 sh "$jobs/prolog.sh"
        said 'CRITICAL: n1.gpu0: hbm' || fail "PLUMB_STALE_DAYS=$days"
    done
}

prolog_prints_no_control_characters() {
    printf 'CRITICAL %s n1\033[2J\n' "$(date +%s)" >state/verdict
    run 1 sh "$jobs/prolog.sh"
    ! tr -d '\n' <err.txt | grep -q '[[:cntrl:]]' || fail "control characters"
}

health_check_measures_again_after_a_damaged_or_future_verdict() {
    for text in "OK 08 x" "OK $(($(date +%s) + 86400)) x" "OK 99999999999999999999 x"; do
        echo "$text" >state/verdict
        run 0 sh "$jobs/health.sh"
        await grep -qvF "$text" state/verdict
        flock state/lock true
    done
    echo "OK $(date +%s) x" >state/verdict
    run 0 env PLUMB_HEALTH_HOURS=08 sh "$jobs/health.sh"
    flock state/lock true
    [ "$(sed 's/.* //' state/verdict)" = x ] || fail "measured again, though it was not due"
}

# Package managers of our own: one lock is held at first, apt waits for the other.
setup_waits_for_another_package_manager() {
    mkdir bin
    echo 'exit 1' >bin/dpkg-query
    cat >bin/apt-get <<'END'
echo "$*" >>apt.txt
case "$*" in
*update) [ "$(grep -c 'update$' apt.txt)" -gt 2 ] || { echo 'E: Could not get lock' >&2; exit 100; } ;;
esac
END
    printf '#!/bin/sh\nexec "$@"\n' >bin/sudo
    sed -i '1i #!/bin/sh' bin/dpkg-query bin/apt-get
    chmod +x bin/*
    run 0 env PATH="$work/bin:$PATH" sh -c ". '$jobs/setup.sh'; plumb_setup nothing"
    [ "$(grep -c 'update$' apt.txt)" -eq 3 ] || { cat apt.txt; fail "it did not try again"; }
    grep -q 'DPkg::Lock::Timeout=120 install .*nothing' apt.txt || { cat apt.txt; fail "no wait"; }
}

# Two devices are too few to say that all is well, but each has been measured.
health_check_writes_a_verdict() {
    run 3 sh "$jobs/health.sh" --now
    grep -qE '^UNKNOWN [0-9]+ .' state/verdict || fail "no verdict"
    "$helpers/rows" state/node.h5 >rows.txt
    [ "$(grep -cE '^rank . .*gpu[01] ok 2 0' rows.txt)" -eq 2 ] || { cat rows.txt; fail "devices"; }
}

health_check_measures_behind_slurms_back_when_it_is_due() {
    run 0 sh "$jobs/health.sh"
    await test -s state/verdict
    before=$(cat state/verdict)
    run 0 sh "$jobs/health.sh"
    flock state/lock true # whatever was begun has ended
    [ "$(cat state/verdict)" = "$before" ] || fail "measured again, though it was not due"
}

health_check_does_nothing_while_a_job_runs() {
    touch busy
    run 0 sh "$jobs/health.sh"
    flock state/lock true
    [ ! -e state/log ] || fail "it measured"
}

health_check_gives_way_to_a_job() {
    export PLUMB_RUN_OPTIONS="$sim --tests shared_latency \
        --fault hang@shared_latency --deadline 100"
    run 0 sh "$jobs/health.sh"
    await test -s state/log -o -d state/new.h5.spool
    touch busy
    flock -w 30 state/lock true || fail "it goes on"
    [ ! -e state/verdict ] || fail "a verdict of half a measurement"
}

health_check_finds_a_gpu_that_hangs() {
    export PLUMB_RUN_OPTIONS="$sim --tests clock_overhead,shared_latency \
        --fault hang@shared_latency --deadline 1"
    run 2 sh "$jobs/health.sh" --now
    grep -qE '^CRITICAL [0-9]+ .*hung' state/verdict || fail "another verdict"
    run 1 sh "$jobs/prolog.sh"
}

# Asked for help, every script answers and does nothing else.
every_script_answers_help() {
    export PLUMB_LIBRARY="$work/library"
    for script in fleet.sbatch health.sh local.sh nightly.sh prolog.sh; do
        for option in -h --help; do
            run 0 sh "$jobs/$script" "$option"
            said "$script" || fail "$script $option names itself nowhere"
            [ "$(wc -l <out.txt)" -gt 8 ] || fail "$script $option: too little"
            ! said '#SBATCH' || fail "$script $option shows its directives"
        done
    done
    run 0 sh "$jobs/nightly.sh" -p gpu --help
    [ ! -e library ] || fail "help made a library"
}

# Interrupted, it ends what it started; the processes go with it.
interrupted_health_check_leaves_nothing() {
    export PLUMB_RUN_OPTIONS="$sim --tests clock_overhead,shared_latency \
        --fault hang@shared_latency --deadline 100"
    sh "$jobs/health.sh" --now >out.txt 2>err.txt &
    job=$!
    await test -d state/new.h5.spool
    kill -TERM "$job"
    code=0
    wait "$job" || code=$?
    [ "$code" -eq 3 ] || fail "expected exit code 3, found $code"
    [ ! -e state/verdict ] || fail "a verdict of half a measurement"
    [ ! -e state/new.h5.spool ] || fail "left a spool"
    has_ended() { ! pgrep -f "$work/state/new.h5" >/dev/null; }
    await has_ended
}

# sbatch that waits for ever; scancel that notes which job.
interrupted_night_cancels_its_job() {
    mkdir fake
    printf '#!/bin/sh\necho "42;cluster"\nexec sleep 60\n' >fake/sbatch
    # shellcheck disable=SC2016
    printf '#!/bin/sh\necho "$1" >>"%s/cancelled"\n' "$work" >fake/scancel
    chmod +x fake/sbatch fake/scancel
    export PLUMB_LIBRARY="$work/library" PLUMB_BIN="$work/fake"
    sh "$jobs/nightly.sh" -p gpu >out.txt 2>err.txt &
    job=$!
    has_begun() { grep -qs 42 library/runs/*.job; }
    await has_begun
    kill -TERM "$job"
    kill "$(pgrep -P "$job" -x sleep)"
    code=0
    wait "$job" || code=$?
    [ "$code" -eq 3 ] || fail "expected exit code 3, found $code"
    [ "$(cat cancelled)" = 42 ] || fail "the job was not cancelled"
    said 'interrupted: job 42 cancelled' || fail "no word of it"
    [ -z "$(find library/runs -type f)" ] || fail "left files"
}

health_check_without_gpus_is_unknown() {
    export PLUMB_GPUS=0
    run 3 sh "$jobs/health.sh" --now
    grep -qE '^UNKNOWN [0-9]+ this node sees no GPU' state/verdict || fail "another verdict"
}

health_check_that_cannot_measure_is_unknown() {
    export PLUMB_RUN_OPTIONS="--backend sim --profile no-such-gpu"
    run 3 sh "$jobs/health.sh" --now
    grep -qE '^UNKNOWN [0-9]+ .*no-such-gpu' state/verdict || fail "another verdict"
}

# fake_gpus LINE...: nvidia-smi -L prints these; plumb-run writes what it sees, a line for each rank.
fake_gpus() {
    mkdir fake
    ln -s "$bin"/plumb-* fake/
    rm fake/plumb-run
    printf '%s\n' "$@" >listing
    printf '%s\n' '#!/bin/sh' "cat '$work/listing'" >fake/nvidia-smi
    printf '%s\n' '#!/bin/sh' "echo \"\${CUDA_VISIBLE_DEVICES-all}\" >>'$work/seen'" \
        "exec '$bin/plumb-run' \"\$@\"" >fake/plumb-run
    chmod +x fake/nvidia-smi fake/plumb-run
    export PLUMB_BIN="$work/fake"
    unset PLUMB_GPUS CUDA_VISIBLE_DEVICES
}

# measures RANKS VISIBLE: so many ranks of a health check, and each sees that.
measures() {
    : >seen
    run 3 sh "$jobs/health.sh" --now
    [ "$(sort seen | uniq -c | sed 's/^ *//')" = "$1 $2" ] || { cat seen; fail "expected $1 $2"; }
}

health_check_measures_every_gpu_of_the_node() {
    fake_gpus 'GPU 0: NVIDIA H200 (UUID: GPU-a)' 'GPU 1: NVIDIA H200 (UUID: GPU-b)' \
        'Unable to determine the device handle for gpu 0000:3B:00.0: GPU is lost.'
    measures 2 all
    export CUDA_VISIBLE_DEVICES=1
    measures 1 1
    unset CUDA_VISIBLE_DEVICES
    echo 'CUDA_VISIBLE_DEVICES=GPU-b,-1,GPU-a' >jobs.conf
    measures 1 GPU-b,-1,GPU-a
    : >listing
    run 3 sh "$jobs/health.sh" --now
    said 'sees no GPU' || fail "another verdict"
}

health_check_measures_the_instances_of_divided_gpus() {
    fake_gpus 'GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-a)' \
        '  MIG 1g.10gb     Device  0: (UUID: MIG-b)' '  MIG 1g.10gb     Device  1: (UUID: MIG-c)'
    measures 2 MIG-b,MIG-c
    export CUDA_VISIBLE_DEVICES=MIG-c
    measures 1 MIG-c
    unset CUDA_VISIBLE_DEVICES
    echo 'GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-d)' >>listing # is not divided
    measures 3 MIG-b,MIG-c,GPU-d
    export PLUMB_GPUS=1
    measures 1 all
}

# measure FILE PROFILE HOST: two devices of one node.
measure() {
    echo "{\"seed\": 7, \"devices\": [{\"host\": \"$3\", \"profile\": \"$2\", \"count\": 2}]}" >fleet.json
    run 0 mpirun -q --oversubscribe -n 2 "$PLUMB_BIN/plumb-run" --backend sim --fleet fleet.json \
        --tests clock_overhead,shared_latency --no-progress -o "$1"
}

devices_of() {
    "$helpers/rows" "$1" | sed -n 's/^rank . \([^ ]*\) .*/\1/p' | sort | paste -sd' '
}

night_accepts_a_run_into_the_baseline() {
    export PLUMB_LIBRARY="$work/library" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    measure first.h5 gtx780 n1
    measure second.h5 gtx780 n2
    run 3 sh "$jobs/nightly.sh" --accept first.h5
    said 'rebase makes it' || fail "another message"
    run 0 sh "$jobs/nightly.sh" --rebase first.h5
    run 0 sh "$jobs/nightly.sh" --accept second.h5
    [ "$(devices_of library/baseline.h5)" = "n1.gpu0 n1.gpu1 n2.gpu0 n2.gpu1" ] || fail "devices"
    run 0 sh "$jobs/nightly.sh" --rebase second.h5
    [ "$(devices_of library/baseline.h5)" = "n2.gpu0 n2.gpu1" ] || fail "devices after --rebase"
    before=$(cksum <library/baseline.h5)
    head -c 1000 first.h5 >half.h5
    run 3 sh "$jobs/nightly.sh" --accept half.h5
    run 3 sh "$jobs/nightly.sh" --rebase half.h5
    [ "$(cksum <library/baseline.h5)" = "$before" ] || fail "the baseline was lost"
}

"$case_name"
pass
