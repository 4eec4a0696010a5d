#!/bin/sh
# plumb-run with simulated devices: what becomes of a job when something goes wrong in it.
# shellcheck disable=SC2086,SC2317  # $sim and $fast are words; cases are called by name
set -eu
. "$(dirname "$0")/lib.sh"

# A fleet of four in one node; the argument is a fault of slot 2, or nothing.
write_fleet() {
    faults=
    [ -z "${1:-}" ] || faults=", \"faults\": {\"2\": [\"$1\"]}"
    cat >fleet.json <<END
{"seed": 7, "devices": [{"host": "n1", "profile": "gtx780", "count": 4$faults}]}
END
}

# The other three devices are complete, whatever happened to the fourth.
others_are_complete() {
    for slot in 0 1 3; do
        has "$1" "^rank $slot n1\.gpu$slot ok 5 0"
        count "$1" "^test n1\.gpu$slot .* ok" 5
    done
    has "$1" '^complete 0$'
    valid "$1"
}

four_ranks_make_a_complete_file() {
    write_fleet
    ranks 0 4 --fleet fleet.json --tests $fast -o f.h5
    count f.h5 '^rank . n1\.gpu. ok 5 0 $' 4
    has f.h5 '^complete 1$'
    valid f.h5
    grep -q 'n1.gpu3 global_copy ok' err.txt || fail "no progress line"
    nothing_but f.h5 fleet.json
}

one_device_hangs_in_a_test() {
    write_fleet hang@shared_latency
    ranks 3 4 --fleet fleet.json --tests $fast --deadline 2 -o f.h5
    has f.h5 '^rank 2 n1\.gpu2 hung 4 1 shared_latency hung: passed its deadline of 2 s'
    has f.h5 '^test n1\.gpu2 shared_latency hung passed its deadline'
    count f.h5 '^test n1\.gpu2 .* ok' 4
    others_are_complete f.h5
    nothing_but f.h5 fleet.json
}

# It has the node's host link, and the others wait for it: until the deadline, and lose nothing.
one_device_hangs_with_the_host_link() {
    write_fleet hang@host_link
    ranks 3 4 --fleet fleet.json --tests clock_overhead,host_link,global_copy,host_link_concurrent \
        --deadline 2 -o f.h5
    has f.h5 '^test n1\.gpu2 host_link hung passed its deadline of 2 s'
    count f.h5 '^test n1\.gpu. host_link ok' 3
    count f.h5 '^test n1\.gpu. host_link_concurrent ok 4 devices at once' 4
    valid f.h5
}

a_rank_bound_to_one_processor_warns() {
    [ "$(nproc)" -gt 1 ] || exit 77
    run 0 mpirun -q -n 1 --bind-to core "$bin/plumb-run" --no-progress $sim -o f.h5
    one_line_like 'bound each rank to one processor.*--bind-to none'
    ranks 0 1 --no-progress $sim -o g.h5
    [ ! -s err.txt ] || fail "expected no warning"
}

one_device_crashes_in_a_test() {
    write_fleet crash@bank_conflict
    ranks 3 4 --fleet fleet.json --tests $fast -o f.h5
    has f.h5 '^rank 2 n1\.gpu2 crashed 4 1 bank_conflict crashed: the probe'
    has f.h5 '^test n1\.gpu2 global_copy ok'
    others_are_complete f.h5
}

one_device_is_lost_in_a_test() {
    write_fleet lost@shared_latency
    ranks 3 4 --fleet fleet.json --tests $fast -o f.h5
    has f.h5 '^rank 2 n1\.gpu2 lost 2 3 shared_latency lost'
    has f.h5 '^test n1\.gpu2 global_copy missing the device was lost in shared_latency'
    others_are_complete f.h5
}

one_device_is_absent() {
    write_fleet absent
    ranks 3 4 --fleet fleet.json --tests $fast -o f.h5
    has f.h5 '^rank 2 - absent 0 0 no device'
    count f.h5 '^test n1\.gpu2' 0
    others_are_complete f.h5
}

no_test_ok_is_a_failure_with_a_file() {
    ranks 1 1 --backend sim --profile gtx780 --tests global_copy --fault hang@global_copy --deadline 1 \
        -o f.h5
    grep -qx 'f\.h5: failed, 0 of 1 devices are ok, 0 tests ok, 1 not' out.txt || fail "another summary"
    has f.h5 '^test .* global_copy hung'
    valid f.h5
}

device_that_can_do_none_of_the_tests_is_complete() {
    ranks 0 1 --backend sim --profile gtx780 --tests l1_line -o f.h5
    grep -qx 'f\.h5: complete, 1 device, 0 tests' out.txt || fail "another summary"
    has f.h5 '^test .* l1_line unsupported'
    has f.h5 '^complete 1'
}

# A probe that leaves its process number behind, named by its rank.
write_probe() {
    cat >probe.sh <<END
#!/bin/sh
echo \$\$ >pid.\${OMPI_COMM_WORLD_RANK:-0}.\$\$
exec "$bin/plumb-probe" "\$@"
END
    chmod +x probe.sh
}

# The processes that mpirun has started.
ranks_of_job() {
    cat /proc/$job/task/*/children
}

# Rank 0 among them.
rank_zero() {
    for pid in $(ranks_of_job); do
        tr '\0' '\n' <"/proc/$pid/environ" | grep -qx OMPI_COMM_WORLD_RANK=0 && echo "$pid"
    done
}

in_test() {
    grep -q "$1" log.txt
}

# start OPTIONS...: four ranks in the background.
start() {
    mpirun -q -n 4 "$bin/plumb-run" --fleet fleet.json --tests $fast --deadline 100 "$@" -o f.h5 \
        >out.txt 2>log.txt &
    job=$!
}

# only_one_is_left TEST: waits until rank 2 has come as far as that, and the others to their ends.
only_one_is_left() {
    await in_test "n1.gpu2 $1 ok"
    for slot in 0 1 3; do
        await in_test "n1.gpu$slot global_copy ok"
    done
}

one_probe_is_killed_in_mid_test() {
    write_fleet hang@bank_conflict
    write_probe
    start --probe ./probe.sh
    await in_test 'n1.gpu2 shared_latency ok'
    sleep 0.5
    kill -9 "$(cat pid.2.*)"
    ends 3
    has f.h5 '^rank 2 n1\.gpu2 crashed 4 1 bank_conflict crashed: the probe died of signal 9'
    has f.h5 '^test n1\.gpu2 global_copy ok'
    others_are_complete f.h5
}

# Starts a job in which rank 2 hangs in its last test, and waits until all else is done.
start_job_that_hangs() {
    write_fleet hang@global_copy
    write_probe
    start --probe ./probe.sh
    only_one_is_left bank_conflict
    sleep 0.5
}

are_gone() {
    for file in pid.*; do
        kill -0 "$(cat "$file")" 2>/dev/null && return 1
    done
    return 0
}

whole_job_is_killed_and_merged() {
    start_job_that_hangs
    # shellcheck disable=SC2046
    kill -9 $job $(ranks_of_job)
    wait $job || true
    job=
    await are_gone # no probe outlives its job
    [ ! -e f.h5 ] || fail "a killed job has left a file under the output's name"
    run 3 "$bin/plumb-merge" -o m.h5 f.h5.spool
    has m.h5 '^rank 2 n1\.gpu2 partial 4 1 global_copy missing: the run was cut short'
    others_are_complete m.h5
    count m.h5 '^test .* ok' 19
}

killed_job_is_resumed() {
    start_job_that_hangs
    # shellcheck disable=SC2046
    kill -9 $job $(ranks_of_job)
    wait $job || true
    ranks 2 4 --fleet fleet.json --tests $fast -o f.h5
    grep -q 'resume' err.txt || fail "an unfinished spool was not defended"
    write_fleet
    ranks 0 4 --fleet fleet.json --tests $fast -o f.h5 --resume
    [ "$(grep -c ' ok ' err.txt)" -eq 1 ] || fail "more was measured than what was missing"
    count f.h5 '^rank . n1\.gpu. ok 5 0' 4
    count f.h5 '^test .* ok' 20
    valid f.h5
    [ ! -e f.h5.spool ] || fail "the spool was left behind"
}

partial_file_is_resumed() {
    write_fleet crash@bank_conflict
    ranks 3 4 --fleet fleet.json --tests $fast -o f.h5
    write_fleet
    ranks 0 4 --fleet fleet.json --tests $fast,dram_latency -o f.h5 --resume
    [ "$(grep -c ' ok ' err.txt)" -eq 5 ] || fail "expected 1 test and 4 new ones to be measured"
    count f.h5 '^rank . n1\.gpu. ok 6 0' 4
    valid f.h5
}

# The earlier run's results, in its spool and then in a file, are those of a GTX 780.
resumed_device_is_of_the_same_model() {
    start_job_that_hangs
    # shellcheck disable=SC2046
    kill -9 $job $(ranks_of_job)
    wait $job || true
    write_fleet
    sed -i 's/gtx780/gtx980/' fleet.json
    ranks 2 4 --fleet fleet.json --tests $fast -o f.h5 --resume
    grep -q 'n1\.gpu. was GeForce GTX 780 in the earlier run and is GeForce GTX 980 now' err.txt ||
        fail "another model was joined to a spool"
    write_fleet
    ranks 0 4 --fleet fleet.json --tests $fast -o f.h5 --resume
    sed -i 's/gtx780/gtx980/' fleet.json
    ranks 2 4 --fleet fleet.json --tests $fast,dram_latency -o f.h5 --resume
    grep -q 'n1\.gpu. was GeForce GTX 780 in the earlier run and is GeForce GTX 980 now' err.txt ||
        fail "another model was joined to a file"
    count f.h5 '^test .* ok' 20
}

resumed_run_counts_what_the_file_has() {
    write_fleet crash@bank_conflict
    ranks 3 4 --fleet fleet.json --tests $fast -o f.h5
    write_fleet
    ranks 3 4 --fleet fleet.json --tests dram_latency -o f.h5 --resume
    count f.h5 '^rank . n1\.gpu. ok 6 0' 3
    has f.h5 '^rank 2 n1\.gpu2 crashed 5 1 bank_conflict crashed: the probe died'
    has f.h5 '^complete 0'
    ranks 0 4 --fleet fleet.json --tests bank_conflict -o f.h5 --resume
    count f.h5 '^rank . n1\.gpu. ok 6 0' 4
    has f.h5 '^complete 1'
    valid f.h5
}

job_is_stopped_by_a_signal() {
    write_fleet hang@global_copy
    "$bin/plumb-run" --backend sim --profile gtx780 --fault hang@bank_conflict --tests $fast \
        --deadline 100 -o f.h5 >out.txt 2>log.txt &
    job=$!
    await in_test 'shared_latency ok'
    sleep 0.3
    kill -TERM $job
    ends 3
    count f.h5 '^test .* ok' 3
    has f.h5 '^test .* bank_conflict missing the run was stopped by a signal'
    has f.h5 '^test .* global_copy missing the run was stopped'
    valid f.h5
}

# start_alone OPTIONS...: a probe without a job, in the background.
start_alone() {
    "$bin/plumb-probe" --backend sim --profile gtx980 "$@" -o f.h5 >out.txt 2>log.txt &
    job=$!
}

probe_alone_keeps_what_it_has_when_stopped() {
    start_alone --battery standard
    await in_test 'clock_overhead ok'
    kill -TERM $job
    ends 3
    has f.h5 '^test .* clock_overhead ok'
    has f.h5 '^test .* global_copy missing the run was stopped by a signal'
    has f.h5 '^rank 0 .* partial'
    valid f.h5
    nothing_but f.h5 log.txt
}

# What hangs can only be ended at once.
second_signal_ends_a_probe_that_hangs() {
    start_alone --tests $fast --fault hang@bank_conflict
    await in_test 'shared_latency ok'
    kill -TERM $job
    await in_test 'stops after this test'
    kill -0 $job || fail "the first signal has ended it"
    kill -TERM $job
    ends 143
    [ ! -e f.h5 ] || fail "a file that is not whole"
}

signal_to_rank_zero_stops_every_rank() {
    write_fleet hang@bank_conflict
    start
    only_one_is_left shared_latency
    kill -TERM "$(rank_zero)"
    ends 3
    has f.h5 '^test n1\.gpu2 bank_conflict missing the run was stopped by a signal'
    others_are_complete f.h5
}

# What is left of a run that was stopped while rank 2 was in bank_conflict; the rest is resumed.
stopped_run_is_resumed() {
    has f.h5 '^rank 2 n1\.gpu2 partial 3 2 bank_conflict missing: the run was stopped by a signal'
    others_are_complete f.h5
    [ ! -e f.h5.spool ] || fail "the spool was left behind"
    are_gone || fail "a probe has outlived its job"
    write_fleet
    ranks 0 4 --fleet fleet.json --tests $fast -o f.h5 --resume
    [ "$(grep -c ' ok ' err.txt)" -eq 2 ] || fail "more was measured than what was missing"
    count f.h5 '^rank . n1\.gpu. ok 5 0' 4
    valid f.h5
}

start_job_to_be_stopped() {
    write_fleet hang@bank_conflict
    write_probe
    start --probe ./probe.sh
    only_one_is_left shared_latency
}

# As srun does it at the time limit: every rank gets the signal.
signal_to_every_rank_keeps_what_is_measured() {
    start_job_to_be_stopped
    # shellcheck disable=SC2046
    kill -TERM $(ranks_of_job)
    ends 3
    stopped_run_is_resumed
}

# As Slurm does it to mpirun, which passes the signal on, has an exit code of its own, and kills what
# has not ended after a second, or after this many: it always waits as long.
signal_to_mpirun_keeps_what_is_measured() {
    export OMPI_MCA_odls_base_sigkill_timeout=10
    start_job_to_be_stopped
    kill -TERM $job
    code=0
    wait $job || code=$?
    [ $code -ne 0 ] || fail "mpirun ended as if nothing had happened"
    stopped_run_is_resumed
}

load_lasts_as_long_as_asked_for() {
    run 0 "$bin/plumb-probe" --profile gtx780 --tests sustained_load --sustain 2.5 -o p.h5
    has p.h5 '^axis .* sustained_load time [0-9]* 2\.5'
    ranks 0 2 --backend sim --profile gtx780 --tests sustained_load --sustain 2.5 -o f.h5
    count f.h5 '^axis .* sustained_load time [0-9]* 2\.5' 2
    run 0 "$bin/plumb-probe" --profile gtx780 --tests sustained_load -o d.h5
    has d.h5 '^axis .* sustained_load time [0-9]* 1\.0'
}

# Its deadline is longer by as much as the load may take; that of the others is not.
deadline_allows_for_a_long_load() {
    ranks 3 1 --backend sim --profile gtx780 --tests $fast,sustained_load --fault hang@sustained_load \
        --fault hang@bank_conflict --deadline 1 --sustain 0.5 -o f.h5
    has f.h5 '^test .* bank_conflict hung passed its deadline of 1 s'
    has f.h5 '^test .* sustained_load hung passed its deadline of 2\.5 s'
}

# Tests are known by their device, not by the rank that happened to measure it.
resumed_devices_may_have_other_ranks() {
    cat >fleet.json <<END
{"devices": [{"host": "n1", "profile": "gtx780", "count": 2, "faults": {"1": ["crash@bank_conflict"]}},
             {"host": "n2", "profile": "gtx980", "count": 1}]}
END
    ranks 3 3 --fleet fleet.json --tests $fast -o f.h5
    cat >fleet.json <<END
{"devices": [{"host": "n2", "profile": "gtx980", "count": 1},
             {"host": "n1", "profile": "gtx780", "count": 2}]}
END
    ranks 0 3 --fleet fleet.json --tests $fast -o f.h5 --resume
    [ "$(grep -c ' ok ' err.txt)" -eq 1 ] || fail "more was measured than what was missing"
    has f.h5 '^rank 0 n2\.gpu0 ok 5 0'
    has f.h5 '^rank 2 n1\.gpu1 ok 5 0'
    valid f.h5
}

# ---- links that a node's devices share ----

links=host_link,host_latency,sustained_load,host_link_concurrent

devices_of_a_node_use_their_links_alone_and_together() {
    write_fleet
    ranks 0 4 --fleet fleet.json --tests $links,peer_link,peer_link_concurrent -o f.h5
    count f.h5 '^test n1\.gpu. host_link ok' 4
    count f.h5 '^test n1\.gpu. host_link_concurrent ok 4 devices at once' 4
    has f.h5 '^complete 1$'
    valid f.h5
}

devices_of_two_nodes_do_not_meet() {
    cat >fleet.json <<END
{"devices": [{"host": "n1", "profile": "gtx780", "count": 2},
             {"host": "n2", "profile": "gtx780", "count": 3}]}
END
    ranks 0 5 --fleet fleet.json --tests $links,peer_link -o f.h5
    count f.h5 '^test n1\.gpu. host_link_concurrent ok 2 devices at once' 2
    count f.h5 '^test n2\.gpu. host_link_concurrent ok 3 devices at once' 3
    has f.h5 '^axis n1\.gpu0 peer_link peer 1 00000000:01:00\.0$'
    has f.h5 '^axis n2\.gpu1 peer_link peer 2 00000000:00:00\.0$'
}

device_alone_has_nobody_to_meet() {
    ranks 0 1 --backend sim --profile gtx780 --tests $links -o f.h5
    has f.h5 '^test .* host_link_concurrent unsupported no other device of this node measures'
    count f.h5 '^test .* ok' 3
    run 0 "$bin/plumb-probe" --profile gtx780 --tests $links -o p.h5
    has p.h5 '^test .* host_link_concurrent unsupported no other device of this node measures'
}

# The other three have everything, and have met.
others_have_met() {
    for slot in 0 1 3; do
        count f.h5 "^test n1\.gpu$slot .* ok" 4
    done
    count f.h5 '^test n1\.gpu[013] host_link_concurrent ok .*[34] devices at once' 3
    valid f.h5
}

device_that_hangs_in_its_turn_does_not_keep_it() {
    write_fleet hang@host_link
    ranks 3 4 --fleet fleet.json --tests $links --deadline 3 -o f.h5
    has f.h5 '^test n1\.gpu2 host_link hung passed its deadline of 3 s'
    others_have_met
}

device_that_crashes_in_its_turn_does_not_keep_it() {
    write_fleet crash@host_link
    ranks 3 4 --fleet fleet.json --tests $links -o f.h5
    has f.h5 '^test n1\.gpu2 host_link crashed'
    count f.h5 '^test n1\.gpu2 .* ok' 3
    others_have_met
}

device_that_hangs_before_the_meeting_is_not_awaited_for_ever() {
    write_fleet hang@sustained_load
    ranks 3 4 --fleet fleet.json --tests $links --deadline 3 -o f.h5
    has f.h5 '^test n1\.gpu2 sustained_load hung'
    others_have_met
}

device_that_crashes_at_the_meeting_is_not_awaited() {
    write_fleet crash@host_link_concurrent
    ranks 3 4 --fleet fleet.json --tests $links -o f.h5
    has f.h5 '^test n1\.gpu2 host_link_concurrent crashed'
    count f.h5 '^test n1\.gpu[013] host_link_concurrent ok 3 devices at once' 3
    others_have_met
}

device_that_is_lost_or_absent_is_not_awaited() {
    write_fleet lost@host_link
    ranks 3 4 --fleet fleet.json --tests $links -o f.h5
    count f.h5 '^test n1\.gpu[013] host_link_concurrent ok 3 devices at once' 3
    rm f.h5
    write_fleet absent
    ranks 3 4 --fleet fleet.json --tests $links -o f.h5
    count f.h5 '^test n1\.gpu[013] host_link_concurrent ok 3 devices at once' 3
}

# Alone it would run another test, and none of its outcomes is worth that of the whole node.
resumed_device_is_measured_with_the_whole_node() {
    write_fleet crash@host_link_concurrent
    ranks 3 4 --fleet fleet.json --tests $links -o f.h5
    write_fleet
    ranks 0 4 --fleet fleet.json --tests $links -o f.h5 --resume
    [ "$(grep -c ' ok ' err.txt)" -eq 4 ] || fail "more was measured than that one test"
    count f.h5 '^test n1\.gpu. host_link_concurrent ok 4 devices at once' 4
    has f.h5 '^complete 1'
    valid f.h5
}

# Its peer is not in this job, so the test cannot be repeated as it was: the crash stands.
crash_with_the_whole_node_is_not_explained_away_alone() {
    cat >fleet.json <<END
{"seed": 7, "devices": [{"host": "n1", "profile": "gtx780", "count": 2,
                         "faults": {"0": ["crash@host_link_concurrent"]}}]}
END
    ranks 3 2 --fleet fleet.json --tests $links -o f.h5
    cat >fleet.json <<END
{"seed": 7, "devices": [{"host": "n1", "profile": "gtx780", "count": 1}]}
END
    ranks 3 1 --fleet fleet.json --tests $links -o f.h5 --resume
    has f.h5 '^rank 0 n1\.gpu0 crashed 3 1 host_link_concurrent crashed'
    has f.h5 '^test n1\.gpu0 host_link_concurrent crashed'
    has f.h5 '^complete 0'
    valid f.h5
}

# There the device alone is the whole node.
crash_of_the_only_device_is_made_good_by_resuming() {
    for fault in '"faults": {"0": ["crash@host_link_concurrent"]},' ''; do
        cat >fleet.json <<END
{"seed": 7, "devices": [{"host": "n1", "profile": "gtx780", $fault "count": 1}]}
END
        [ -n "$fault" ] && ranks 3 1 --fleet fleet.json --tests $links -o f.h5 && continue
        ranks 0 1 --fleet fleet.json --tests $links -o f.h5 --resume
    done
    has f.h5 '^test n1\.gpu0 host_link_concurrent unsupported'
    has f.h5 '^complete 1'
    valid f.h5
}

two_resumes_of_one_output_do_not_meet() {
    write_fleet hang@bank_conflict
    start
    only_one_is_left shared_latency
    ranks 2 2 --fleet fleet.json --tests $fast -o f.h5 --resume
    one_line_like 'f\.h5: is being written by plumb-run, process [0-9]* on '
    run 2 "$bin/plumb-merge" -o f.h5 f.h5.spool
    one_line_like 'f\.h5: is being written by plumb-run'
    kill -TERM "$(rank_zero)"
    ends 3
    write_fleet
    ranks 0 4 --fleet fleet.json --tests $fast -o f.h5 --resume
    has f.h5 '^complete 1'
    nothing_but f.h5 fleet.json log.txt
}

# A spool of one rank that is torn at its very beginning costs that rank's tests, and nobody's else.
resume_goes_on_over_a_torn_spool() {
    for size in 0 2 10 40 1000; do
        rm -rf f.h5 f.h5.spool
        write_fleet hang@bank_conflict
        start
        only_one_is_left shared_latency
        # shellcheck disable=SC2046
        kill -9 $job $(ranks_of_job)
        wait $job || true
        truncate -s $size f.h5.spool/rank-00001.spool
        write_fleet
        ranks 0 4 --fleet fleet.json --tests $fast -o f.h5 --resume
        has f.h5 '^complete 1'
        valid f.h5
        nothing_but f.h5 fleet.json log.txt
    done
}

# The copy that can be read wins, whichever comes first; the only one of another device is missing.
rotten_copy_of_a_test_does_not_win_a_merge() {
    write_fleet
    ranks 0 4 --fleet fleet.json --tests $fast -o f.h5
    cp f.h5 rotten.h5
    "$helpers/rot" rotten.h5 n1.gpu1 global_copy || fail "it cannot be damaged"
    for order in "f.h5 rotten.h5" "rotten.h5 f.h5"; do
        run 0 "$bin/plumb-merge" -o m.h5 $order
        grep -q 'rotten.h5: device n1.gpu1: damaged and left out: .*global_copy' err.txt ||
            fail "the damage is not named"
        has m.h5 '^complete 1'
        valid m.h5
    done
    run 3 "$bin/plumb-merge" -o m.h5 rotten.h5
    has m.h5 '^rank 1 n1\.gpu1 partial 4 1 global_copy missing: its recording is damaged'
    valid m.h5
}

# One flipped byte of a chunk: that test is measured again, and no other.
resume_measures_what_cannot_be_read_again() {
    write_fleet
    ranks 0 4 --fleet fleet.json --tests $fast -o f.h5
    "$helpers/rot" f.h5 n1.gpu1 global_copy || fail "it cannot be damaged"
    run 1 "$bin/plumb-check" f.h5
    ranks 0 4 --fleet fleet.json --tests $fast -o f.h5 --resume
    [ "$(grep -c ' ok ' err.txt)" -eq 1 ] || fail "more was measured than what cannot be read"
    valid f.h5
}

same_device_twice_is_a_duplicate() {
    ranks 3 2 $sim --device 0 -o f.h5
    has f.h5 '^rank 0 .*gpu0 ok 5 0'
    has f.h5 '^rank 1 - duplicate 0 0 .* is measured by rank 0'
    count f.h5 '^test ' 5
    valid f.h5
}

fleet_smaller_than_the_job_leaves_ranks_absent() {
    write_fleet
    ranks 3 5 --fleet fleet.json --tests $fast -o f.h5
    has f.h5 '^rank 4 - absent 0 0 .*fleet.json'
    count f.h5 '^rank . n1\.gpu. ok 5 0' 4
    valid f.h5
}

fleet_larger_than_the_job_is_refused() {
    write_fleet
    ranks 2 3 --fleet fleet.json --tests $fast -o f.h5
    grep -q 'lists 4 devices, but there are 3 ranks' err.txt || fail "another message"
    nothing_but fleet.json
}

nothing_measured_is_a_failure() {
    ranks 1 2 $sim --fault absent -o f.h5
    grep -q 'nothing to measure' err.txt || fail "another message"
    nothing_but
}

output_that_cannot_be_put_in_place_leaves_the_spools() {
    write_fleet hang@global_copy
    mkdir gone
    mpirun -q -n 4 "$bin/plumb-run" --fleet fleet.json --tests $fast --deadline 3 --spool kept \
        -o gone/f.h5 >out.txt 2>log.txt &
    job=$!
    await in_test 'n1.gpu2 bank_conflict ok'
    rm -r gone
    ends 1
    in_test 'plumb-run: gone/f.h5: .*plumb-merge makes the file from kept' || fail "another message"
    run 3 "$bin/plumb-merge" -o m.h5 kept
    has m.h5 '^rank 2 n1\.gpu2 hung 4 1'
    others_are_complete m.h5
}

spool_is_kept_where_it_was_asked_for() {
    ranks 0 2 $sim --spool kept -o f.h5
    [ "$(find kept -type f | wc -l)" -eq 2 ] || fail "expected two spools"
    run 0 "$bin/plumb-merge" -o m.h5 kept
    count m.h5 '^rank . .*gpu. ok 5 0' 2
    has m.h5 '^complete 1$'
    valid m.h5
}

# Simulated devices, so that all of this is one node: more than any real one has. Open MPI itself
# takes 30 to 50 kB for each rank of a node (seen with 4.1.4 and 4.1.6, with no test run at all).
mpi_kb_per_rank=64
peak() {
    sed -n 's/.*peak memory of rank 0:[^0-9]*\([0-9]*\) kB/\1/p' err.txt
}

sixty_four_ranks_take_no_more_memory_than_eight() {
    [ "${PLUMB_SANITIZE:-OFF}" = OFF ] || { echo "sanitizers take memory of their own"; exit 77; }
    export PLUMB_SHOW_MEMORY=1
    ranks 0 8 $sim --no-progress -o f8.h5
    eight=$(peak)
    ranks 0 64 $sim --no-progress -o f64.h5
    many=$(peak)
    echo "peak memory of rank 0: $eight kB with 8 ranks, $many kB with 64"
    count f64.h5 '^rank .* ok 5 0' 64
    valid f64.h5
    [ "$many" -lt $((eight + 56 * mpi_kb_per_rank)) ] ||
        fail "$eight kB with 8 ranks, $many kB with 64"
}

# A bar on a terminal, plain lines elsewhere.
progress_has_a_bar_on_a_terminal_only() {
    command -v script >/dev/null || exit 77
    tests=clock_overhead,clock_calibration,shared_latency,l1_line
    TERM=xterm script -qec "'$bin/plumb-probe' --profile gtx780 --tests $tests -o a.h5" /dev/null \
        </dev/null >screen.txt 2>&1 || fail "plumb-probe on a terminal"
    grep -q '\[#*-*\] *[0-9]*%' screen.txt || { cat screen.txt; fail "no bar"; }
    grep -q '\[#\{30\}\] 100%  done after' screen.txt || { cat screen.txt; fail "no end"; }
    TERM=dumb script -qec "'$bin/plumb-probe' --profile gtx780 --tests $tests -o b.h5" /dev/null \
        </dev/null >dumb.txt 2>&1 || fail "plumb-probe on a dumb terminal"
    ! grep -q '\[#' dumb.txt || fail "a bar on a terminal that cannot show one"
    run 0 "$bin/plumb-probe" --profile gtx780 --tests $tests -o c.h5
    ! grep -q '\[#' err.txt || fail "a bar where there is no terminal"
    grep -q 'shared_latency ok' err.txt || { cat err.txt; fail "no plain line"; }
}

"$case_name"
pass
