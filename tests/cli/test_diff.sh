#!/bin/sh
# plumb-diff from outside: what it finds between devices that differ in a known way, and how it
# refuses what it cannot compare.
# shellcheck disable=SC2317  # cases are called by name
set -u
bin=$1
# shellcheck disable=SC2034  # shell.sh's
helpers=$2
case_name=$3
. "$(dirname "$0")/../shell.sh"
tests=clock_overhead,clock_calibration,l1_capacity,l1_line,shared_latency,bank_conflict,global_copy

probe() {
    file=$1
    shift
    run 0 "$bin/plumb-probe" --backend sim --no-progress --tests "$tests" -o "$file" "$@"
}

# fleet FILE SEED FAULTS: four devices of two nodes.
fleet() {
    printf '{"seed": %s, "devices": [{"host": "n1", "profile": "gtx780", "count": 2},
        {"host": "n2", "profile": "gtx780", "count": 2, "faults": {%s}}]}' "$2" "$3" >"$1.json"
    run 0 mpirun -q --oversubscribe -n 4 "$bin/plumb-run" --no-progress --tests "$tests" \
        --fleet "$1.json" -o "$1"
}

says() {
    grep -qE -e "$1" out.txt || fail "expected a line like '$1'"
}

says_not() {
    ! grep -qE -e "$1" out.txt || fail "expected no line like '$1'"
}

file_does_not_differ_from_itself() {
    probe a.h5 --profile gtx780 --seed 1
    run 0 "$bin/plumb-diff" a.h5 a.h5
    says '^0 of [1-9][0-9]* parameters differ$'
    run 0 "$bin/plumb-diff" a.h5:"$(hostname -s).gpu0" a.h5
}

fault_is_the_worst_difference() {
    probe a.h5 --profile gtx780 --seed 1
    probe b.h5 --profile gtx780 --seed 2 --fault dram_bandwidth=0.8
    run 1 "$bin/plumb-diff" a.h5 b.h5
    says '^  dram +peak_bytes_per_s .* -(19|20|21)\.[0-9]%'
    says_not '^  (l1|shared) '
    run 0 "$bin/plumb-diff" --tolerance 30 a.h5 b.h5
}

other_models_differ_in_structure_first() {
    probe a.h5 --profile gtx780
    probe b.h5 --profile gtx980
    run 1 "$bin/plumb-diff" --json d.json a.h5 b.h5
    python3 - <<'END' || fail "JSON of the differences"
import json
diff = json.load(open("d.json"))["diff"]
assert len(diff["pairs"]) == 1, "one pair"
pair = diff["pairs"][0]
assert pair["a"]["file"] == "a.h5" and pair["b"]["model"] == "GeForce GTX 980", pair["b"]
kinds = [d["kind"] for d in pair["differences"]]
order = ["structure", "measured", "only_a", "only_b"]
assert kinds == sorted(kinds, key=order.index), kinds
assert pair["differ"] == sum(k in order[:2] for k in kinds) > 0
by_name = {(d["memory"], d["parameter"]): d for d in pair["differences"]}
assert not any(name.endswith("best_config") for _, name in by_name), "a launch shape was compared"
latency = by_name["shared", "latency_cycles"]
assert latency["kind"] == "measured" and latency["unit"] == "cycle"
assert abs(latency["change"] - (latency["b"]["value"] / latency["a"]["value"] - 1)) < 1e-6
assert -0.5 < latency["change"] < -0.3  # M16: 47 and 28 cycles
END
}

fleets_are_paired_by_uuid_and_what_is_alone_is_named() {
    fleet a.h5 7 ''
    fleet b.h5 7 '"1": ["dram_bandwidth=0.8"]'
    printf '{"seed": 7, "devices": [{"host": "n1", "profile": "gtx780", "count": 1}]}' >one.json
    run 0 mpirun -q -n 1 "$bin/plumb-run" --no-progress --tests "$tests" --fleet one.json -o one.h5
    run 1 "$bin/plumb-diff" a.h5 b.h5
    says '^A  a.h5: n2.gpu1, '
    says_not '^A  a.h5: n1'
    says '^1 of 4 pairs of devices differ'
    run 1 "$bin/plumb-diff" a.h5:"GeForce GTX 780" b.h5:n2.gpu1
    says '^A  a.h5: 4 devices, GeForce GTX 780'
    run 0 "$bin/plumb-diff" a.h5:"GeForce GTX 780" b.h5:n1.gpu0
    run 0 "$bin/plumb-diff" a.h5:n1.gpu0 b.h5
    says '^0 of 1 pairs .* every device has a counterpart'
    run 1 "$bin/plumb-diff" a.h5 one.h5
    says '^Only in A: A  a.h5: n2.gpu0'
    says '3 devices have no counterpart'
}

stored_parameters_are_read_back() {
    probe a.h5 --profile gtx780
    run 0 "$bin/plumb-analyze" a.h5
    cp a.h5 b.h5
    run 0 "$bin/plumb-diff" a.h5 b.h5
    says '^0 of [1-9]'
}

usage_and_input() {
    probe a.h5 --profile gtx780
    for arguments in "a.h5" "a.h5 none.h5" "a.h5:n9.gpu9 a.h5" "a.h5 a.h5 a.h5" \
        "--tolerance x a.h5 a.h5" "--tolerance -1 a.h5 a.h5" "a.h5 a.h5.json" "--wrong a.h5 a.h5"; do
        echo text >a.h5.json
        # shellcheck disable=SC2086
        run 2 "$bin/plumb-diff" $arguments
        sed -i '/^==[0-9]*==/d' err.txt
        [ "$(wc -l <err.txt)" -eq 1 ] || fail "expected one line of error for '$arguments'"
    done
    echo foreign >notes.txt
    run 2 "$bin/plumb-diff" --json notes.txt a.h5 a.h5
    [ "$(cat notes.txt)" = foreign ] || fail "a foreign file was replaced"
    [ ! -w /dev/full ] || run 2 "$bin/plumb-diff" --json /dev/full a.h5 a.h5
}

"$case_name"
pass
