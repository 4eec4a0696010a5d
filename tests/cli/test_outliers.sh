#!/bin/sh
# plumb-outliers from outside: its outputs, its exit codes, and input that nobody should give it.
# shellcheck disable=SC2086,SC2317  # $sim and $fast are words; cases are called by name
set -eu
data=$(cd "$(dirname "$0")/../data" && pwd)
. "$(dirname "$0")/lib.sh"

# fleet NAME N PROFILE [SLOT:FAULT]: the file of N devices on nodes of four, one of them faulty.
fleet() {
    rows=
    for host in $(seq $((($2 + 3) / 4))); do
        slots=$(($2 - 4 * (host - 1)))
        [ $slots -le 4 ] || slots=4
        faults=
        [ "$host" != 1 ] || [ -z "${4:-}" ] || faults=", \"faults\": {\"${4%%:*}\": [\"${4#*:}\"]}"
        rows="$rows${rows:+, }{\"host\": \"n0$host\", \"profile\": \"$3\", \"count\": $slots$faults}"
    done
    echo "{\"seed\": 7, \"spread\": {\"latency\": 0.002, \"bandwidth\": 0.004}, \"devices\": [$rows]}" \
        >fleet.json
    code=0
    mpirun -q -n "$2" "$bin/plumb-run" --fleet fleet.json --tests $fast --no-progress \
        --deadline "${deadline:-100}" -o "$1" >out.txt 2>err.txt || code=$?
    [ $code -eq 0 ] || [ $code -eq 3 ] || fail "plumb-run ended with $code"
}

# outliers CODE OPTIONS...: expects the exit code.
outliers() {
    expected=$1
    shift
    run "$expected" "$bin/plumb-outliers" "$@"
}

# refuses PATTERN OPTIONS...: one line of error, UNKNOWN, and nothing on standard output.
refuses() {
    pattern=$1
    shift
    outliers 3 "$@"
    one_line_like "^plumb-outliers: UNKNOWN: .*$pattern"
    [ ! -s out.txt ] || fail "expected no output"
}

hung_device_is_critical_in_every_output() {
    deadline=1
    fleet f.h5 4 gtx780 2:hang@global_copy
    outliers 2 --json o.json --hostlist o.drain --prometheus o.prom f.h5
    grep -qE '^CRITICAL  n01\.gpu2: hung' out.txt || fail "the table"
    grep -q '^scontrol update NodeName=n01 State=DRAIN Reason="plumb: ' out.txt || fail "scontrol"
    [ "$(cat o.drain)" = n01 ] || fail "the hostlist"
    grep -q '"exit_code": 2' o.json || fail "the JSON"
    grep -q '"simulated": true' o.json || fail "the JSON does not say that it is simulated"
    grep -q 'simulated devices judged' out.txt || fail "the headline does not say so"
    grep -q 'plumb_device_status{host="n01",device="n01.gpu2",.*} 2' o.prom || fail "the metrics"
    grep -q '^plumb_status{simulated="true"} 2' o.prom || fail "the metrics"
    ! command -v promtool >/dev/null || promtool check metrics <o.prom || fail "promtool"
    has f.h5 '^finding CRITICAL device n01\.gpu2: hung'
    valid f.h5
}

# Sixteen peers carry a CRITICAL; a fifth of the memory's rate is no noise.
slow_memory_is_found_among_sixteen_peers() {
    fleet f.h5 18 gtx780 1:dram_bandwidth=0.8
    outliers 2 f.h5
    grep -qE '^CRITICAL +n01\.gpu1: ' out.txt || fail "not found"
    [ "$(grep -cE '^(CRITICAL|WARNING) +n0' out.txt)" -eq 1 ] || fail "others are blamed"
}

healthy_fleet_is_not_blamed() {
    fleet f.h5 18 gtx780
    outliers 0 f.h5
    grep -q '^OK .*18 of 18 simulated devices judged' out.txt || fail "expected OK"
    tr -s ' \n' ' ' <out.txt | grep -q 'worst of each component: clock 1%, ' ||
        fail "expected the worst minimum detectable shift of the clock"
    has f.h5 '^findings 0'
}

# The README's command line, with two simulated devices in place of 64.
readme_command_judges_a_fleet_with_a_lost_gpu() {
    line=$(sed -n 's/^mpirun --bind-to none -n 64 //p' "$(dirname "$0")/../../README.md")
    [ -n "$line" ] || fail "the README has no such line"
    line=$(echo "$line" | sed "s/-o fleet.h5/$sim --fault lost@bank_conflict &/")
    PATH=$bin:$PATH run 2 sh -c "mpirun -q -n 2 $line"
    grep -q 'off_the_bus' out.txt || fail "the lost GPU is not named"
}

# A site that knows of a fault mutes it until a date; after that it is CRITICAL again.
muted_finding_drains_nothing_until_its_date() {
    deadline=1
    fleet f.h5 4 gtx780 2:hang@global_copy
    mute='{"device": "n01.gpu2", "cause": "hung", "reason": "board ordered", "until":'
    echo "{\"schema\": 1, \"muted\": [$mute \"2999-12-31\"}]}" >policy.json
    outliers 3 --policy policy.json --hostlist o.drain f.h5
    [ ! -s o.drain ] || fail "it drains"
    grep -q 'Muted by the site until 2999-12-31: board ordered' out.txt || fail "not said"
    echo "{\"schema\": 1, \"muted\": [$mute \"2020-01-01\"}]}" >policy.json
    outliers 2 --policy policy.json f.h5
    echo '{"schema": 1, "causes": {"hung": {"drain": "no"}}}' >policy.json
    refuses 'policy\.json: \$\.causes\.hung\.drain: expected true or false' \
        --policy policy.json f.h5
}

# Seven nights, each a little slower than the one before; the folder may hold the judged file too.
slope_over_a_history_is_found() {
    mkdir nights
    for night in 0 1 2 3 4 5 6; do
        share=$(awk "BEGIN {print 1 - 0.006 * $night}")
        fast=global_copy fleet nights/$night.h5 2 gtx780 1:dram_bandwidth=$share
    done
    outliers 3 --read-only --history nights nights/6.h5
    grep -qE '^WARNING +n01.gpu1: trend' out.txt || fail "no trend of the device that slows down"
    ! grep -qE '^[A-Z]+ +n01.gpu0: trend' out.txt || fail "the other one is blamed"
    ! grep -q self_baseline out.txt || fail "tonight is no earlier night"
}

# What is shipped is made of the recordings, by the script beside it.
references_are_made_of_the_recordings() {
    references=$data/../../references
    sh "$references/make_reference.sh" "NVIDIA H200" 580.159 2026-11-22 \
        "$data/h200-repeats.tsv" "$data/h200-node-repeats.tsv" >h200.json
    cmp h200.json "$references/nvidia-h200.json" || fail "the H200's"
    sh "$references/make_reference.sh" "NVIDIA H100 80GB HBM3" 580.159 2026-11-22 \
        "$data/h100-repeats.tsv" >h100.json
    cmp h100.json "$references/nvidia-h100-80gb-hbm3.json" || fail "the H100's"
}

# Limits of peers where they are enough; none, with a reason, where nothing is sure.
floors_state_their_false_alarm_rate() {
    fleet f.h5 18 gtx780
    outliers 0 --floors floors.json f.h5
    grep -q '"source": "peers"' floors.json || fail "no floors of peers"
    grep -q '"metric": "global_copy.peak"' floors.json || fail "no floor of the copy"
    grep -q '"false_alarm_rate_per_number": 0.001' floors.json || fail "no rate"
    fleet g.h5 2 gtx780
    outliers 3 --floors floors.json g.h5
    grep -q '"reason": "fewer than 16 peers' floors.json || fail "a floor of two devices"
    echo precious >foreign.json
    refuses 'foreign\.json' --floors foreign.json f.h5
    [ "$(cat foreign.json)" = precious ] || fail "overwrote another file"
}

few_peers_are_said_to_be_few() {
    fleet f.h5 2 gtx780
    outliers 3 f.h5
    [ "$(grep -c '^UNKNOWN' out.txt)" -eq 2 ] || fail "expected the whole, and one finding"
    grep -q 'n01.gpu0, n01.gpu1: not compared' out.txt || fail "two devices cannot be OK"
    fleet f.h5 4 gtx780
    outliers 3 f.h5
    tr -s ' \n' ' ' <out.txt >flat.txt
    grep -q 'inimum detectable shifts: dram.peak_bytes_per_s [0-9.]*%' flat.txt ||
        fail "nothing is said of what four peers see"
    grep -q 'a shift is at most a WARNING' flat.txt || fail "no shift is CRITICAL among four"
}

wrong_words_need_no_peers() {
    run 0 "$bin/plumb-probe" --backend sim --profile gtx780 --tests memory_integrity \
        --fault bitflip=1e-5 -o f.h5
    outliers 2 --json out.json f.h5
    grep -qE 'integrity.mismatches [0-9]+ words?, expected 0 words' out.txt || fail "another summary"
    ! grep -qi 'nan' out.txt out.json || fail "no number is printed as one"
}

one_device_is_judged_by_a_baseline() {
    fleet base.h5 18 gtx780
    fleet f.h5 1 gtx780 0:dram_bandwidth=0.8
    outliers 2 --baseline base.h5 f.h5
    grep -qE '^CRITICAL +n01\.gpu0: ' out.txt || fail "not found"
    fleet g.h5 1 gtx780
    outliers 0 --baseline base.h5 g.h5
}

baselines_may_be_several_and_a_folder() {
    fleet base.h5 18 gtx780
    fleet g.h5 1 gtx780
    mkdir pasts none
    cp base.h5 pasts/night.h5
    outliers 0 --baseline base.h5 --baseline pasts --json o.json g.h5
    for path in base.h5 pasts/night.h5; do
        grep -qF "\"$path\"" o.json || fail "the JSON lacks $path"
    done
    refuses 'none: expected fleet files' --baseline none g.h5
}

# node NUMBER PROFILE [SLOT:FAULT]: four devices, one of them faulty.
node() {
    faults=
    [ -z "${3:-}" ] || faults=", \"faults\": {\"${3%%:*}\": [\"${3#*:}\"]}"
    echo "{\"host\": \"$(printf 'n%02d' "$1")\", \"profile\": \"$2\", \"count\": 4$faults}"
}

# A whole fleet, alive: two models on sixteen nodes, one rank a device, the quick battery. Slow
# builds (sanitizers) take five nodes of one model.
live_fleet_faults_are_found() {
    nodes=16
    [ "${PLUMB_SANITIZE:-OFF}" = OFF ] || nodes=5
    for number in $(seq $nodes); do
        profile=quadro2000
        [ "$number" -le 8 ] || profile=c2070
        case $number in
        2) fault=1:dram_bandwidth=0.8 ;;
        4) fault=3:absent ;;
        11) fault=2:clock=0.8 ;;
        13) fault=0:tail=0.02:2000 ;;
        *) fault= ;;
        esac
        [ "$number" = 1 ] || echo ,
        node "$number" $profile $fault
    done >devices.txt
    echo "{\"seed\": 7, \"spread\": {\"latency\": 0.002, \"bandwidth\": 0.004}," \
        "\"devices\": [$(cat devices.txt)]}" >fleet.json
    ranks 3 $((4 * nodes)) --fleet fleet.json --battery quick --no-progress -o f.h5
    valid f.h5
    outliers 2 --hostlist o.drain f.h5
    grep -qE '^CRITICAL +n02\.gpu1: hbm' out.txt || fail "the slow memory"
    grep -qE '^CRITICAL +n04\.gpu3: absent' out.txt || fail "the absent device"
    drain='n[02,04]'
    if [ $nodes -eq 16 ]; then
        grep -qE '^CRITICAL +n11\.gpu2: (locked_clocks|slow_clock)' out.txt || fail "the slow clock"
        grep -qE '^CRITICAL +n13\.gpu0: tail' out.txt || fail "the tail"
        drain='n[02,04,11,13]'
    fi
    [ "$(cat o.drain)" = "$drain" ] || fail "the hostlist: $(cat o.drain)"
    blamed=$(grep -E '^(CRITICAL|WARNING|UNKNOWN) +n[0-9]' out.txt |
        grep -vcE '^[A-Z]+ +n(02\.gpu1|04\.gpu3|11\.gpu2|13\.gpu0): ' || true)
    [ "$blamed" -eq 0 ] || fail "somebody else is blamed"
}

# What jobs/local.sh shows where there is no GPU.
demo_fleet_faults_are_found() {
    ranks 0 16 --fleet "$data/../../jobs/demo-fleet.json" --battery quick --no-progress -o f.h5
    outliers 2 f.h5
    for found in 'n2\.gpu2: hbm' 'SM 2 of n3\.gpu0: slow_sm' 'n4\.gpu1: pcie_link'; do
        grep -qE "^CRITICAL +$found\$" out.txt || fail "expected $found"
    done
    [ "$(grep -cE '^(CRITICAL|WARNING|UNKNOWN) ' out.txt)" -eq 4 ] || fail "others are blamed"
}

# Four real GPUs in good health, as recorded: too few to say more of.
recorded_h200s_are_well_but_few() {
    cp "$data/h200-four.h5" f.h5
    outliers 3 f.h5
    grep -qE '^UNKNOWN +NVIDIA H200.*: insufficient_peers' out.txt || fail "they are few"
    ! grep -qE '^(CRITICAL|WARNING) +vm' out.txt || fail "a healthy one is blamed"
}

# Each against its own past: unchanged, so they are well however few they are.
# A copy is no earlier run, whatever it is called.
copy_is_no_baseline() {
    fleet f.h5 4 gtx780
    cp f.h5 other.h5
    "$bin/plumb-merge" -o joined.h5 other.h5 >/dev/null
    for copy in f.h5 other.h5 joined.h5; do
        outliers 3 --baseline $copy f.h5
        grep -q 'self_baseline' out.txt || fail "$copy: not noticed"
    done
}

findings_and_parameters_live_side_by_side() {
    fleet f.h5 4 gtx780
    outliers 3 f.h5
    run 0 "$bin/plumb-analyze" f.h5
    has f.h5 '^findings '
    valid f.h5
}

# judged FOLDER: what is said of f.h5 there, but for when, and for the file's length in what HDF5 says.
judged() {
    (cd "$1" && code=0 && "$bin/plumb-outliers" --read-only --json o.json f.h5 >out.txt 2>err.txt ||
        code=$? && sed 's/"judged_at": "[^"]*"//' o.json >o.txt &&
        sed 's/, eoa = [0-9]*//' err.txt >>o.txt &&
        echo "ends with $code" >>o.txt)
}

# Metrics that plumb-analyze has kept are those that would be inferred, and stay behind a change.
analysed_fleet_is_judged_alike() {
    mkdir plain analysed
    fleet f.h5 4 gtx780 2:dram_bandwidth=0.5
    cp f.h5 plain
    run 0 "$bin/plumb-analyze" f.h5
    mv f.h5 analysed
    judged plain
    judged analysed
    cmp plain/o.txt analysed/o.txt || fail "another verdict of the analysed file"
    middle=$(($(wc -c <plain/f.h5) / 2))
    for folder in plain analysed; do
        printf 'XXXXXXXX' | dd of=$folder/f.h5 bs=1 seek=$middle conv=notrunc status=none
        judged $folder
    done
    cmp plain/o.txt analysed/o.txt || fail "another verdict of a damaged file that was analysed"
}

read_only_changes_nothing() {
    fleet f.h5 2 gtx780
    before=$(cksum <f.h5)
    outliers 3 --read-only f.h5
    [ "$(cksum <f.h5)" = "$before" ] || fail "the file has changed"
}

outputs_change_only_together() {
    fleet f.h5 2 gtx780
    outliers 3 --hostlist o.drain f.h5
    before=$(cksum f.h5 o.drain)
    refuses 'nowhere/o\.prom' --hostlist o.drain --json o.json --prometheus nowhere/o.prom f.h5
    [ "$(cksum f.h5 o.drain)" = "$before" ] || fail "some outputs have changed"
    nothing_but f.h5 o.drain fleet.json
}

foreign_outputs_are_refused() {
    fleet f.h5 2 gtx780
    before=$(cksum <f.h5)
    for option in json hostlist prometheus; do
        refuses "f\.h5 exists and is not a" --$option f.h5 f.h5
    done
    [ "$(cksum <f.h5)" = "$before" ] || fail "the file has changed"
}

standard_output_is_for_one() {
    fleet f.h5 2 gtx780
    outliers 3 --json - f.h5
    grep -q '"tool": "plumb-outliers"' out.txt || fail "no JSON"
    ! grep -q '^UNKNOWN' out.txt || fail "the table, too"
    refuses 'only one output can go to standard output' --json - --prometheus - f.h5
    refuses 'only one output can go to both' --hostlist both --json both f.h5
    refuses 'an output has an empty name' --json '' f.h5
    nothing_but f.h5 fleet.json
}

bad_input_is_unknown() {
    refuses 'nix\.h5: cannot be opened' nix.h5
    : >empty.h5
    refuses 'empty\.h5: .*no readable HDF5' empty.h5
    echo "not a fleet" >text.h5
    refuses 'text\.h5: .*no readable HDF5' text.h5
    fleet f.h5 2 gtx780
    exec 9<f.h5
    flock -x 9
    refuses 'f\.h5: in use: another program' f.h5
    exec 9<&-
    head -c $(($(wc -c <f.h5) / 2)) f.h5 >half.h5
    refuses 'half\.h5' half.h5
    "$helpers/blank" none.h5 2
    refuses 'none\.h5: expected devices' none.h5
    "$helpers/blank" later.h5 3
    refuses 'later\.h5: .*version' later.h5
    for bad in nix empty text half none later; do
        refuses "$bad\.h5" --baseline $bad.h5 --read-only f.h5
    done
}

baseline_of_another_model_is_unknown() {
    fleet f.h5 2 gtx780
    fleet base.h5 2 gtx980
    refuses 'base\.h5: expected a device of a model of this fleet, as .*780, found .*980' --baseline base.h5 f.h5
}

usage_is_unknown() {
    refuses 'expected FILE\.h5; --help lists all options'
    refuses 'unexpected argument "b\.h5"' a.h5 b.h5
    refuses '--frobnicate: unknown' --frobnicate a.h5
    mkdir none
    refuses 'none: expected fleet files' --baseline none a.h5
    outliers 0 --help
    outliers 0 --version
}

"$case_name"
pass
