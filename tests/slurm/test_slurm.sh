#!/bin/sh
# The batch scripts of jobs/ under a real Slurm: one case, one cluster of its own.
#
#   test_slurm.sh PROGRAMS HELPERS JOBS CASE
# shellcheck disable=SC2086,SC2317  # $sim is words; cases are called by name
set -eu
. "$(dirname "$0")/cluster.sh"
enter "$0" "$@"

bin=$1
helpers=$2
fold=$helpers/../slurm/fold
jobs=$3
case_name=$4
. "$(dirname "$0")/../shell.sh"
export PLUMB_BIN="$bin"
evidence="$evidence job.txt shared/*.log ./*.log"

# submit SBATCH-OPTIONS... -- OPTIONS-OF-PLUMB-RUN...: the fleet job; its number is $job.
submit() {
    before=
    while [ "$1" != -- ]; do
        before="$before $1"
        shift
    done
    shift
    job=$(cd shared && sbatch --parsable $before "$jobs/fleet.sbatch" "$@") || fail "sbatch"
    file=shared/plumb-$job.h5
    log=shared/plumb-$job.log
}

state() {
    scontrol show job "$job" | sed -n 's/.*JobState=\([A-Z_]*\).*/\1/p'
}

# What the controller said last is in job.txt. States on the way are many (SIGNALING for a moment).
is_over() {
    scontrol show job "$job" >job.txt 2>&1 || return 1
    grep -qE 'JobState=(COMPLETED|FAILED|TIMEOUT|CANCELLED|NODE_FAIL|DEADLINE|PREEMPTED)' job.txt
}

# ends CODE: the job's own exit code, when it is over.
ends() {
    await is_over
    found=$(sed -n 's/.*ExitCode=\([0-9]*\):.*/\1/p' job.txt)
    [ "$found" -eq "$1" ] || fail "job $job: expected exit code $1, found $found"
}

heard() {
    grep -q "$1" "$log" 2>/dev/null
}

# Eight devices of four nodes, each measured once, by the rank that sits on its node.
all_eight() {
    count "$1" '^rank . n[1-4]\.gpu[01] ok 5 0' 8
    count "$1" '^test n[1-4]\.gpu[01] .* ok' 40
    has "$1" '^complete 1$'
    valid "$1"
}

fleet_job_through_srun() {
    submit -N 4 -- $sim --tests $fast
    ends 0
    heard 'fleet: 8 GPUs of 4 nodes, by srun' || fail "not by srun"
    all_eight "$file"
}

fleet_job_through_mpirun() {
    export PLUMB_LAUNCH=mpirun
    submit -N 4 -- $sim --tests $fast
    ends 0
    heard 'by mpirun' || fail "not by mpirun"
    all_eight "$file"
}

# A busy controller may not answer at once.
controller_that_does_not_answer_is_asked_again() {
    mkdir tools
    cat >tools/scontrol <<END
#!/bin/sh
[ -e "$work/asked" ] || { : >"$work/asked"; echo "slurm_load_jobs error" >&2; exit 1; }
exec $(command -v scontrol) "\$@"
END
    chmod +x tools/scontrol
    job=$(cd shared && PATH=$work/tools:$PATH sbatch --parsable -N 4 "$jobs/fleet.sbatch" $sim \
        --tests $fast) || fail "sbatch"
    file=shared/plumb-$job.h5
    log=shared/plumb-$job.log
    ends 0
    [ -e asked ] || fail "the job did not ask"
    all_eight "$file"
}

# Where a launcher's fences do not hold, one rank in some thousand dies in MPI_Init().
ranks_wait_for_each_other() {
    mkdir programs
    ln -s "$helpers/../slurm/late" programs/plumb-run
    export PLUMB_BIN="$work/programs"
    for launch in srun mpirun; do
        export PLUMB_LAUNCH=$launch
        submit -N 4 --
        ends 0
        [ "$(grep -c '^rank . waited$' "$log")" -eq 8 ] || fail "by $launch"
    done
}

# Two GPUs for each task, one for each, the nearest one: no rank may be tied to what another has.
whatever_binding_no_gpu_is_measured_twice() {
    for launch in srun mpirun; do
        export PLUMB_LAUNCH=$launch
        submit -N 4 --ntasks-per-node=2 --gpus-per-task=1 -- $sim --tests $fast
        ends 0
        all_eight "$file"
        submit -N 4 --gpus-per-node=2 --gpu-bind=closest -- $sim --tests $fast
        ends 0
        all_eight "$file"
    done
}

# Called by start_cluster() for the next case: one node has but one GPU, of another type.
configure_different_nodes() {
    sed -i 's/^\(NodeName=\)n\[1-4\] \(.*Port=\)\[\([0-9]*\)-\([0-9]*\)\] \(.*\) Gres=gpu:2$/\
\1n[1-3] \2[\3-@] \5 Gres=gpu:big:2\n\1n4 \2\4 \5 Gres=gpu:small:1/' slurm.conf
    sed -i "s/-@\]/-$((PLUMB_CLUSTER_PORT + 3))]/" slurm.conf
    {
        echo "NodeName=n[1-3] Name=gpu Type=big File=$work/gpu[0-1]"
        echo "NodeName=n4 Name=gpu Type=small File=$work/gpu0"
    } >gres.conf
}

nodes_with_different_gpus_have_a_rank_for_each() {
    for launch in srun mpirun; do
        export PLUMB_LAUNCH=$launch
        submit -N 4 -- $sim --tests $fast
        ends 0
        heard 'fleet: 7 GPUs of 4 nodes' || fail "miscounted"
        count "$file" '^rank . n[1-3]\.gpu[01] ok 5 0' 6
        count "$file" '^rank . n4\.gpu0 ok 5 0' 1
    done
}

# A fleet as the nodes have it, in which n3.gpu1 never ends its last test; or none does.
write_fleet() {
    rows=
    for node in $nodes; do
        faults=
        [ "$node" != n3 ] || [ -z "${1:-}" ] || faults=", \"faults\": {\"1\": [\"$1\"]}"
        rows="$rows${rows:+, }{\"host\": \"$node\", \"profile\": \"gtx780\", \"count\": 2$faults}"
    done
    echo "{\"seed\": 7, \"devices\": [$rows]}" >fleet.json
}

# Submits a job that hangs in n3.gpu1's last test, and waits until all else is measured.
hang() {
    write_fleet hang@global_copy
    submit -N 4 "$@" -- --fleet "$work/fleet.json" --tests $fast --deadline 300
    await heard 'n3.gpu1 bank_conflict ok'
    for device in n1.gpu0 n1.gpu1 n2.gpu0 n2.gpu1 n3.gpu0 n4.gpu0 n4.gpu1; do
        await heard "$device global_copy ok"
    done
}

# What a job that was stopped in good order leaves behind.
all_but_one() {
    count "$1" '^rank . n[1-4]\.gpu[01] ok 5 0' 7
    count "$1" '^test .* ok' 39
    has "$1" '^test n3\.gpu1 global_copy missing'
    has "$1" '^complete 0$'
    valid "$1"
}

# Slurm sends the signal between one and one and a half minutes before it would be due.
time_limit_leaves_a_valid_partial_file() {
    hang --time=2 --signal=B:TERM@50
    ends 3
    heard 'asked to stop' || fail "the job was not warned"
    all_but_one "$file"
    [ "$(cat "${file%.h5}.drain")" = "" ] || fail "a node is blamed for it"
}

cancelled_job_leaves_a_valid_partial_file() {
    for launch in srun mpirun; do
        export PLUMB_LAUNCH=$launch
        hang
        scancel "$job"
        await is_over
        [ -e "$file" ] || "$PLUMB_BIN/plumb-merge" -o "$file" "$file.spool" >out.txt 2>&1 || true
        all_but_one "$file"
    done
}

# Only what is missing is measured again, also by another launcher.
resumed_job_measures_only_what_is_missing() {
    hang
    scancel --batch --signal=TERM "$job"
    ends 3
    all_but_one "$file"
    first=$work/$file
    write_fleet
    export PLUMB_RESUME=yes PLUMB_OUTPUT="$first" PLUMB_LAUNCH=mpirun
    submit -N 4 -- --fleet "$work/fleet.json" --tests $fast
    ends 0
    [ "$(grep -c ' ok ' "$log")" -eq 1 ] || fail "more was measured than what was missing"
    all_eight "$first"
}

requeued_job_measures_only_what_is_missing() {
    hang
    cp "$log" first.log
    write_fleet
    scontrol requeue "$job"
    await may_start_again
    ends 0
    ! heard 'plumb-merge: .* is being written by' || fail "put together before the run had ended"
    [ "$(grep -c ' global_copy ok ' "$log")" -eq 8 ] || fail "a test was measured twice"
    all_eight "$file"
}

# Slurm lets a requeued job wait for two minutes, unless it is configured otherwise. Not at once: its
# credentials count in seconds, and a start in the second of the end before has once failed.
may_start_again() {
    [ "$(state)" = PENDING ] && sleep 1.1 && scontrol update JobId="$job" StartTime=now 2>/dev/null
}

# The batch node is cut off with rank 0 on it. Slurm starts the job again elsewhere while the old
# rank 0 still lives; when that node is back, nothing of the new run's may change.
requeued_job_supersedes_a_node_that_was_cut_off() {
    nodes_of_job="n1 n2 n3"
    all_nodes=$nodes
    nodes=$nodes_of_job
    write_fleet hang@global_copy
    submit -N 3 -- --fleet "$work/fleet.json" --tests $fast --deadline 300
    for device in n1.gpu0 n1.gpu1 n2.gpu0 n2.gpu1 n3.gpu0; do
        await heard "$device global_copy ok"
    done
    await heard 'n3.gpu1 bank_conflict ok'
    first=$(scontrol show job "$job" | sed -n 's/.*BatchHost=\([^ ]*\).*/\1/p')
    write_fleet
    nodes=$all_nodes
    freeze_node "$first"
    await was_requeued
    await started_again_is_over
    ends 0
    count "$file" '^rank . n[1-3]\.gpu[01] ok 5 0' 6
    has "$file" '^complete 1$'
    valid "$file"
    cp "$file" then.h5
    thaw_node "$first"
    await old_ranks_are_gone
    cmp "$file" then.h5 || fail "the superseded run has changed the file"
    [ ! -e "$file.spool" ] || fail "a spool is left"
    for left in shared/.*.owner-*; do # a partial file of another node stays, as documented
        [ ! -e "$left" ] || fail "left behind: $left"
    done
}

was_requeued() {
    [ "$(sinfo -h -n "$first" -t down -o %N)" = "$first" ] || return 1
    scontrol requeue "$job" 2>/dev/null || true
    may_start_again || true
    scontrol show job "$job" | grep -q 'Restarts=[1-9]'
}

started_again_is_over() {
    may_start_again || true
    is_over
}

old_ranks_are_gone() {
    while read -r pid; do
        ! grep -qs '^plumb-' "/proc/$pid/comm" || grep -qs '^State:.Z' "/proc/$pid/status" || return 1
    done <"$first.frozen"
}

# Called by start_cluster() for the next case.
configure_small_disk() {
    mkdir small
    mount -t tmpfs -o size=40k tmpfs small || skip "no small disk can be made"
}

# All is measured and in the file; that it was not safe for a while is said.
full_spool_disk_costs_nothing_but_safety() {
    submit -N 2 -- $sim --tests $fast --spool "$work/small/spool"
    ends 0
    count "$file" '^rank . n[1-4]\.gpu[01] ok 5 0' 4
    heard 'measured, but not safe until the end: .*No space left' || fail "nobody hears of it"
    valid "$file"
}

# The other nodes' results survive, the dead one's are there as far as they had come.
node_is_killed_in_mid_job() {
    export PLUMB_LAUNCH="$1"
    hang
    stop_node n3
    ends 3
    count "$file" '^rank . n[124]\.gpu[01] ok 5 0' 6
    has "$file" '^rank . n3\.gpu1 partial 4 1'
    valid "$file"
}

node_killed_under_srun_costs_only_itself() {
    node_is_killed_in_mid_job srun
}

node_killed_under_mpirun_costs_only_itself() {
    node_is_killed_in_mid_job mpirun
}

# Ours folds, Slurm's own unfolds: the same set must come back.
hostlist_is_unfolded_by_scontrol() {
    while read -r names; do
        folded=$("$fold" $names) || fail "fold $names"
        scontrol show hostnames "$folded" | sort >unfolded.txt
        echo "$names" | tr ' ' '\n' | sort -u >names.txt
        cmp -s names.txt unfolded.txt || { cat unfolded.txt; fail "$names became $folded"; }
    done <<END
n1
n1 n2 n3 n4
n01 n02 n03 n04 n07
n08 n09 n10 n11 n100 n101
n098 n099 n100 n101 n1 n01 n001 n2 n02
gpu1 gpu2 gpu3 login n1 n3 n5
r1n1 r1n2 r2n1 r10n1 r10n02
rack-1-node-07 rack-1-node-08 rack-2-node-07
n1-ib n2-ib n10-ib
10 11 12
n99999999999999999998 n99999999999999999999
n3 n1 n3 n2 n1
END
    # shellcheck disable=SC2046
    folded=$("$fold" $(seq -f 'node%05g' 1 3 3000) $(seq -f 'node%05g' 90000 90900))
    [ "$(scontrol show hostnames "$folded" | sort -u | wc -l)" -eq 1901 ] || fail "a long list"
}

# Slurm takes all of these for nodes' names: only commas, brackets, spaces and # mean something to it.
# shellcheck disable=SC2016
hostile_nodes='n1 n2;id>pwned n3`id>pwned` n4$(id>pwned)'

# Called by start_cluster() for the next case.
configure_hostile_nodes() {
    sed -i -e '/^NodeName=/d' -e 's/^\(PartitionName=all Nodes=\)[^ ]*/\1ALL/' slurm.conf
    port=$PLUMB_CLUSTER_PORT
    : >gres.conf
    for node in $nodes; do
        port=$((port + 1))
        echo "NodeName=$node NodeAddr=127.0.0.1 Port=$port CPUs=4 Gres=gpu:2" >>slurm.conf
        echo "NodeName=$node Name=gpu File=$work/gpu[0-1]" >>gres.conf
    done
    # shellcheck disable=SC2016  # sed's last line
    sed -i -e '/^PartitionName=/{h;d}' -e '${G}' slurm.conf
}

# No file and no hostlist may hold such a name: it is said before anything is measured.
hostile_node_names_are_refused_and_run_nothing() {
    submit -N 4 -- $sim --tests $fast
    ends 2
    heard "rank 2: expected a host's name, found \"n2;id>pwned\"" || fail "nobody said why"
    ! heard ' ok ' || fail "something was measured"
    [ "$(find "$work" . / -maxdepth 3 -xdev -name pwned 2>/dev/null)" = "" ] ||
        fail "a name was run as a command"
}

# A GPU that hangs: its node is in the hostlist, and scontrol would take the line that is printed.
fleet_job_says_what_to_drain() {
    write_fleet hang@global_copy
    submit -N 4 -- --fleet "$work/fleet.json" --tests $fast --deadline 1
    ends 3
    [ "$(cat "${file%.h5}.drain")" = n3 ] || fail "expected n3 to be drained"
    grep '^scontrol update NodeName=n3 State=DRAIN Reason="plumb: ' "$log" >drain.sh ||
        fail "no line for scontrol"
    [ "$(sinfo -h -t drain -o %D)" = "" ] || fail "the node was drained: that is the owner's to do"
    sh drain.sh
    [ "$(sinfo -h -t drain -o %N)" = n3 ] || fail "scontrol did not take the line"
}

# Health checks by the nodes' own daemons, and a prolog that believes what they found.
health_check_and_prolog_work_together() {
    await verdict_of_all
    echo "CRITICAL $(date +%s) n2.gpu1: hbm" >n2.state/verdict
    job=$(sbatch --parsable -w n2 -o /dev/null --wrap true)
    await is_drained n2
    job=$(sbatch --parsable -w n4 -o /dev/null --wrap true)
    ends 0
}

verdict_of_all() {
    for node in $nodes; do
        [ -s "$node.state/verdict" ] || return 1
    done
}

is_drained() {
    [ "$(sinfo -h -n "$1" -t drain,drng -o %N)" = "$1" ]
}

# Called by start_cluster() for that case: the scripts as slurmd starts them, without environment.
configure_health() {
    for script in health prolog; do
        cat >"$script" <<END
#!/bin/sh
export PLUMB_BIN="$PLUMB_BIN" PLUMB_STATE="$work/\$(uname -n).state" PLUMB_GPUS=2
export PLUMB_RUN_OPTIONS="$sim --tests clock_overhead,shared_latency" PLUMB_CONF=/dev/null
export TMPDIR="$work/tmp"
exec sh "$jobs/$script.sh"
END
        chmod +x $script
    done
    cat >>slurm.conf <<END
Prolog=$work/prolog
HealthCheckProgram=$work/health
HealthCheckInterval=3
HealthCheckNodeState=IDLE
END
}

# The first good night is the baseline, a second one shows with it how well devices repeat; the third
# finds what has changed since, and says so.
nights_are_compared_with_the_first() {
    export PLUMB_LIBRARY="$work/shared" PLUMB_PROMETHEUS="$work/plumb.prom"
    write_fleet
    night 0 || [ "$code" -eq 3 ] || fail "the first night ended with $code"
    grep -q 'baseline.h5: now with' night.txt || fail "no baseline"
    valid shared/baseline.h5
    night 0 || fail "expected OK, found $code"
    [ "$(find shared/pasts -name '*.h5')" = shared/pasts/0-baseline.h5 ] ||
        fail "the baseline's own night counts once"
    second=$(find shared/runs -name '*.h5' | sort | tail -n 1)
    second=${second##*/}
    sleep 1 # a night's name has seconds
    write_fleet hang@global_copy
    night 2 || fail "expected CRITICAL, found $code"
    [ -e "shared/pasts/$second" ] || fail "the second night is no baseline run"
    grep -q "pasts/$second\"" shared/runs/*.json || fail "not compared with the second night"
    grep -q '^scontrol update NodeName=n3 State=DRAIN' night.txt || fail "nothing to drain"
    [ "$(find shared/runs -name '*.h5' | wc -l)" -eq 3 ] || fail "expected three nights in the library"
    grep -q '^plumb_status{simulated="true"} 2' plumb.prom || fail "the textfile"
    grep -q '"baseline": ".*baseline.h5"' shared/runs/*.json || fail "not compared"
}

# night CODE: true if it ended so; the code is $code.
night() {
    code=0
    "$jobs/nightly.sh" -N 4 -- --fleet "$work/fleet.json" --tests $fast --deadline 1 \
        >night.txt 2>&1 || code=$?
    [ "$code" -eq "$1" ]
}

start_cluster
"$case_name"
leave_nothing
