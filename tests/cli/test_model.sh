#!/bin/sh
# plumb-model from outside: what it says of small traces, and how it refuses what it cannot read.
# shellcheck disable=SC2317  # cases are called by name
set -u
bin=$1
# shellcheck disable=SC2034  # shell.sh's
helpers=$2
case_name=$3
source=$(cd "$(dirname "$0")/../.." && pwd)
. "$(dirname "$0")/../shell.sh"
fermi=$source/src/device/sim/profiles/gtx470.json
hopper=$source/tests/data/h200-standard.h5

# column_copy BLOCKS COLUMNS PITCH: an Accel-Sim trace; each thread loads and stores a row.
column_copy() {
    awk -v blocks="$1" -v columns="$2" -v pitch="$3" 'BEGIN {
        print "-kernel name = _Z11column_copyPf\n-kernel id = 1"
        printf "-grid dim = (%d,1,1)\n-block dim = (64,1,1)\n", blocks
        print "-shmem = 0\n-nregs = 16\n-accelsim tracer version = 5\n-enable lineinfo = 1\n"
        for (b = 0; b < blocks; b++) {
            printf "#BEGIN_TB\nthread block = %d,0,0\n", b
            for (w = 0; w < 2; w++) {
                printf "warp = %d\ninsts = %d\n", w, 2 * columns + 1
                for (c = 0; c < columns; c++) {
                    at = (b * 64 + w * 32) * pitch + 4 * c
                    printf "12 0040 ffffffff 1 R4 LDG.E 1 R2 4 1 0x%x %d 0\n", at + 1048576, pitch
                    printf "12 0050 ffffffff 0 STG.E 2 R6 R4 4 1 0x%x %d 0\n", at + 268435456, pitch
                }
                print "13 0060 ffffffff 0 EXIT 0 0 0"
            }
            print "#END_TB\n"
        }
    }'
}

# refuses PATTERN ARGUMENT...: one line like that, exit code 2.
refuses() {
    pattern=$1
    shift
    run 2 "$bin/plumb-model" "$@"
    sed -i '/^==[0-9]*==/d' err.txt
    [ "$(wc -l <err.txt)" -eq 1 ] || fail "expected one line of error"
    grep -qE -e "$pattern" err.txt || fail "expected a message like '$pattern'"
}

says() {
    grep -qE -e "$1" out.txt || fail "expected a line like '$1'"
}

table_names_instructions_and_advice() {
    column_copy 4 64 4096 >t.traceg
    run 0 "$bin/plumb-model" --cache "$fermi" t.traceg
    says '^_Z11column_copyPf: grid 4 x 1 x 1, block 64 x 1 x 1'
    says 'device +GeForce GTX 470, 4 SMs'
    says 'global loads +512 of warps, 16384 sectors \(32.00 of a load'
    says 'L1 misses +compulsory [0-9.]+%, capacity [0-9.]+%, conflict [0-9.]+%, mshr'
    says '0x40 line:12 +100.0%'
}

json_adds_up() {
    command -v python3 >/dev/null || exit 77
    column_copy 4 64 4096 >t.traceg
    run 0 "$bin/plumb-model" --cache "$fermi" --json out.json t.traceg
    run 0 "$bin/plumb-model" --cache "$fermi" --json - t.traceg
    cmp -s out.txt out.json || fail "standard output has another report"
    python3 - <<'END' || fail "the report does not add up"
import json
kernel = json.load(open("out.json"))["kernels"][0]
loads, l1 = kernel["global_loads"], kernel["global_loads"]["l1"]
kinds = [l1[k] for k in ("compulsory", "capacity", "conflict")]
assert loads["accesses"] == 512 and loads["sectors"] == sum(kinds) + l1["hits"] + l1["in_flight"]
shown = kernel["l1_misses"]
assert sum(kinds) == sum(shown[k] for k in ("compulsory", "capacity", "conflict", "mshr"))
assert abs(kernel["l1_hit_rate"]["value"] - (1 - sum(kinds) / loads["sectors"])) < 1e-6
reuse = kernel["reuse_distance"]
assert reuse["total"] == reuse["first_uses"] + sum(n for _, n in reuse["distances"])
assert kernel["instructions"][0]["lane_stride_bytes"] == 4096
END
}

packed_traces_are_read_as_they_are() {
    column_copy 2 16 4096 >t.traceg
    run 0 "$bin/plumb-model" --cache "$fermi" t.traceg
    mv out.txt plain.txt
    gzip -k t.traceg
    run 0 "$bin/plumb-model" --cache "$fermi" t.traceg.gz
    cmp -s out.txt plain.txt || fail "gzip"
    xz -k t.traceg
    run 0 "$bin/plumb-model" --cache "$fermi" t.traceg.xz
    cmp -s out.txt plain.txt || fail "xz"
}

device_comes_from_a_fleet_file() {
    column_copy 2 16 4096 >t.traceg
    run 0 "$bin/plumb-model" --from "$hopper" t.traceg
    says 'device +NVIDIA H200: vm.gpu0'
    says 'L1 +222208 bytes beside a carve-out of 32768'
    run 0 "$bin/plumb-analyze" --read-only --json report.json "$hopper"
    refuses 'report.json: expected "execution": .*"sm_count"' --cache report.json t.traceg
    refuses 'no device n9.gpu9 among 1' --from "$hopper" --device n9.gpu9 t.traceg
}

extensions_can_be_left_out() {
    column_copy 1 64 1048576 >t.traceg
    run 0 "$bin/plumb-model" --cache "$fermi" t.traceg
    says 'conflict [1-9]'
    run 0 "$bin/plumb-model" --cache "$fermi" --without associativity t.traceg
    says 'conflict 0.00%'
    run 0 "$bin/plumb-model" --cache "$fermi" --without mshr --without divergence t.traceg
    says 'latency [0-9]'
    refuses 'without: expected hierarchy, .*found "sets"' --cache "$fermi" --without sets t.traceg
}

counters_are_compared() {
    column_copy 4 64 4096 >t.traceg
    cat >wide.csv <<'END'
==PROF== Connected to process 7
"ID","Kernel Name","smsp__inst_executed_op_global_ld.sum","l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum","l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum"
"","","inst","sector","sector"
"0","column_copy(float *)","512","16,384","8,192"
END
    run 0 "$bin/plumb-model" --cache "$fermi" --compare wide.csv --json out.json t.traceg
    says '1 kernels against hardware counters'
    says '^column_copy +512 +512 +16384 +16384$'
    says '^column_copy +50.00% '
    says '^mean absolute error, points'
    grep -q '"stack-distance probability"' out.json || fail "models in the report"
    cat >long.csv <<'END'
"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"
"0","void ns::column_copy<4>(float *)","smsp__inst_executed_op_global_ld.sum","inst","512"
"0","void ns::column_copy<4>(float *)","l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum","sector","99"
END
    run 0 "$bin/plumb-model" --cache "$fermi" --compare long.csv t.traceg
    says '^column_copy +512 +512 +99 +16384  differ$'
    echo 'kernel,other' >bad.csv
    refuses 'bad.csv:1: expected a header with "Kernel Name"' --cache "$fermi" --compare bad.csv t.traceg
    sed 's/column_copy/another/' wide.csv >other.csv
    refuses 'other.csv: expected counters of a kernel of the traces, found another first' \
        --cache "$fermi" --compare other.csv t.traceg
    sed 's/"16,384"/"many"/' wide.csv >bad.csv
    refuses 'bad.csv:4: expected a number for l1tex__t_sectors' --cache "$fermi" --compare bad.csv t.traceg
}

# One kind of access each, on an H200. Known to differ: textures, which the tracer does not record,
# and two loops over about as much as L1 holds, by up to 3.6 points there and 8 in L2.
access_kinds_are_as_counted() {
    command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
    kinds=$source/tests/data/kernels/h200-access-kinds
    run 0 "$bin/plumb-model" --from "$hopper" --compare "$kinds/counters.csv" --json out.json \
        "$kinds/access_kinds.h5"
    python3 - <<'END' || fail "rates beside the counters"
import json, sys
known = {"beside_textures", "loop_carveout_0", "loop_carveout_10"}
bad = 0
kernels = json.load(open("out.json"))["comparison"]["kernels"]
for kernel in kernels:
    for rate in ("l1_hit_rate", "l2_hit_rate"):
        counted, said = kernel["counters"].get(rate), kernel["models"]["plumb"].get(rate)
        if kernel["kernel"] not in known and None not in (counted, said) and abs(counted - said) > 0.03:
            print(kernel["kernel"], rate, counted, said)
            bad += 1
sys.exit(bad > 0 or len(kernels) < 113)
END
}

# Four blocks on SMs 124 to 130, which a GPU has in two GPCs of one side of L2; another has them in
# one. What is known of the GPU that ran the kernel is used, and of no other.
the_topology_of_the_traced_gpu_counts() {
    command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
    kernels=$source/tests/data/kernels/h100-measured
    for recording in h100-parallel h100-standard; do
        run 0 "$bin/plumb-model" --from "$source/tests/data/$recording.h5" --json "$recording.json" \
            --compare "$kernels/counters.csv" "$kernels/load_ca.h5" "$kernels/load_cg.h5" \
            "$kernels/load_nc.h5" "$kernels/atax_2.h5"
    done
    python3 - <<'END' || fail "L2 by the topology of the traced GPU"
import json
for recording, topology in ("h100-parallel", "measured"), ("h100-standard", "assumed"):
    report = json.load(open(recording + ".json"))
    assert all(kernel["topology"] == topology for kernel in report["kernels"]), recording
    worst = max(abs(kernel["counters"]["l2_hit_rate"] - kernel["models"]["plumb"]["l2_hit_rate"])
                for kernel in report["comparison"]["kernels"])
    print(recording, worst)
    assert (worst < 0.003) == (topology == "measured"), recording
END
}

broken_traces_are_refused() {
    column_copy 2 16 4096 >t.traceg
    head -n 40 t.traceg >cut.traceg
    refuses 'cut.traceg:40: expected [0-9]+ more instructions of warp' --cache "$fermi" cut.traceg
    : >empty.traceg
    refuses 'empty.traceg:0: expected "blocksize' --cache "$fermi" empty.traceg
    xz -k t.traceg
    head -c 200 t.traceg.xz >cut.xz
    refuses 'cut.xz: after line [0-9]+: the xz data end early' --cache "$fermi" cut.xz
    refuses '/dev/zero: expected a trace file, found a device' --cache "$fermi" /dev/zero
    mkfifo endless
    refuses 'endless: expected a trace file, found a device or pipe' --cache "$fermi" endless
    head -c 300000 /dev/zero >zeros
    refuses 'zeros:1: expected a line of at most' --cache "$fermi" zeros
    refuses 'absent: cannot be opened: No such file' --cache "$fermi" absent
    refuses 'h200-standard.h5: ' --cache "$fermi" "$hopper"
    head -c 5000 "$hopper" >cut.h5
    refuses 'cut.h5: ' --cache "$fermi" cut.h5
}

usage_is_refused() {
    column_copy 1 1 4096 >t.traceg
    refuses 'expected one of --cache and --from' t.traceg
    refuses 'expected one of --cache and --from' --cache "$fermi" --from "$hopper" t.traceg
    refuses 'seed: expected a number from 0 to 2\^64-1, found "x"' --cache "$fermi" --seed x t.traceg
    refuses '' --cache "$fermi"
    echo '{"caches": 7}' >bad.json
    refuses 'bad.json: .*caches' --cache bad.json t.traceg
    sed 's/"clock_mhz"/"execution": {"blocks_per_sm": -1}, "clock_mhz"/' "$fermi" >bad.json
    refuses 'bad.json: .*execution.blocks_per_sm: expected' --cache bad.json t.traceg
}

report_appears_whole_or_not_at_all() {
    column_copy 2 16 4096 >t.traceg
    run 0 "$bin/plumb-model" --cache "$fermi" --json out.json t.traceg
    cp out.json before.json
    head -n 40 t.traceg >cut.traceg
    run 2 "$bin/plumb-model" --cache "$fermi" --json out.json t.traceg cut.traceg
    cmp -s out.json before.json || fail "the report changed"
    echo foreign >notes.txt
    run 2 "$bin/plumb-model" --cache "$fermi" --json notes.txt t.traceg
    [ "$(cat notes.txt)" = foreign ] || fail "a foreign file was replaced"
    [ ! -w /dev/full ] || run 1 "$bin/plumb-model" --cache "$fermi" --json /dev/full t.traceg
}

"$case_name"
pass
