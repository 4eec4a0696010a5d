#!/bin/sh
# trace_kernels.sh BUILD OUT [all|held_out|held_out_2|held_out_3|held_out_4|access_kinds]: the proof of the
# tracer by hardware counters. COSTS=no leaves costs.csv out, and the runs that are for it alone.
#
# Every kernel of plumb-trace-kernels runs under ncu with cold caches (--cache-control all), and under
# plumb-trace on all SMs and on one. OUT gets
#   counters.csv   a row per kernel: ncu's metrics
#   counted.csv    a row per kernel: what plumb-trace-count counts of its trace
#   costs.csv      a row per kernel: seconds native, traced on one SM and on all; bytes a record
#   NAME.h5        the traces of all SMs; of access_kinds, which are many and small, one for all
# Exit status: 0 loads and sectors are equal for every kernel; 1 they are not; 77 no ncu or no GPU.
set -u
build=$1
out=$2
kind=${3:-all}
costs=${COSTS:-yes}
here=$(cd "$(dirname "$0")" && pwd)
kernels=$build/tests/gpu/plumb-trace-kernels
trace=$build/src/cli/plumb-trace
ncu=$(command -v ncu || ls /usr/local/cuda/bin/ncu 2>/dev/null)
[ -n "$ncu" ] || { echo "skipped: no ncu"; exit 77; }
"$kernels" stream_copy >/dev/null
[ $? -ne 77 ] || { echo "skipped: no GPU"; exit 77; }
mkdir -p "$out" || exit 1

metrics=smsp__inst_executed_op_global_ld.sum
metrics=$metrics,l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum
metrics=$metrics,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
metrics=$metrics,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.max
metrics=$metrics,l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum
metrics=$metrics,l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.max
metrics=$metrics,smsp__inst_executed_op_global_st.sum
metrics=$metrics,l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum
metrics=$metrics,lts__t_sectors_op_read.sum
metrics=$metrics,lts__t_sectors_op_read_lookup_hit.sum
metrics=$metrics,lts__t_sectors_srcunit_tex_op_read.sum
metrics=$metrics,lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum

"$ncu" --csv --page raw --print-units base --cache-control all --clock-control none \
    --metrics "$metrics" "$kernels" "$kind" >"$out/ncu.log" 2>&1
python3 "$here/counters.py" "$out/ncu.log" >"$out/counters.csv" || { tail -n 5 "$out/ncu.log"; exit 1; }

now() { date +%s.%N; }
since() { echo "$1 $(now)" | awk '{printf "%.3f", $2 - $1}'; }

[ "$costs" = no ] || echo "kernel,native_s,one_sm_s,all_sms_s,records,stream_bytes_per_record,file_bytes,native_kernel_s,traced_kernel_s" \
    >"$out/costs.csv"
rm -f "$out/counted.csv"
case $kind in
all) names="$("$kernels" --list) large_copy" ;;
access_kinds)
    names=
    "$trace" -o "$out/$kind.h5" -- "$kernels" "$kind" >/dev/null || exit 1
    "$build/tests/trace/plumb-trace-count" "$out/$kind.h5" >"$out/counted.csv"
    ;;
*) names=$("$kernels" "--list-$(echo "$kind" | tr _ -)") ;;
esac
for name in $names; do
    if [ "$costs" = yes ]; then
        begin=$(now); CUDA_MODULE_LOADING=EAGER "$kernels" "$name" >"$out/native"; native=$(since "$begin")
        begin=$(now)
        "$trace" --kernel "^$name\$" --sms 1 -o "$out/one.h5" -- "$kernels" "$name" >/dev/null
        one=$(since "$begin")
    fi
    begin=$(now)
    "$trace" --kernel "^$name\$" -o "$out/$name.h5" -- "$kernels" "$name" >"$out/line"
    code=$?
    all=$(since "$begin")
    [ $code -eq 0 ] || { echo "$name: plumb-trace ended with $code"; continue; }
    "$build/tests/trace/plumb-trace-count" "$out/$name.h5" >"$out/count"
    [ -s "$out/counted.csv" ] || head -n 1 "$out/count" >"$out/counted.csv"
    tail -n 1 "$out/count" >>"$out/counted.csv"
    [ "$costs" = yes ] || continue
    awk -v name="$name" -v native="$native" -v one="$one" -v all="$all" \
        -v kernel_s="$(awk '{print $2}' "$out/native")" \
        -v traced_s="$(tail -n 1 "$out/count" | awk -F, '{print $NF}')" \
        -v size="$(wc -c <"$out/$name.h5")" '/records,/ {
            for (i = 1; i < NF; i++) { if ($(i + 1) ~ /^records,/) r = $i; if ($(i + 1) == "bytes") b = $i }
            printf "%s,%s,%s,%s,%s,%s,%s,%s,%s\n", name, native, one, all, r, b, size, kernel_s, traced_s }' "$out/line" >>"$out/costs.csv"
done
rm -f "$out/one.h5" "$out/line" "$out/count" "$out/native" "$out/large_copy.h5"

# A kernel in a CUDA graph counts what it counts as a launch of its own.
for how in --graph ""; do
    "$trace" -o "$out/graph.h5" -- "$kernels" $how column_copy >/dev/null || exit 1
    "$build/tests/trace/plumb-trace-count" "$out/graph.h5" | tail -n 1 | cut -d, -f1-12 >"$out/counted$how"
done
rm -f "$out/graph.h5"
cmp "$out/counted" "$out/counted--graph" || exit 1
rm -f "$out/counted" "$out/counted--graph"
python3 "$here/counters.py" --compare "$out/counters.csv" "$out/counted.csv"
