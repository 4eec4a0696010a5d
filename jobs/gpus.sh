# How many devices this node has, each to be measured by a rank. Sourced by health.sh and local.sh:
#   plumb_count_gpus    sets gpus
#
# What CUDA_VISIBLE_DEVICES names is all there is, if it is set; else what nvidia-smi lists, and of a
# GPU that is divided (MIG) its instances. Before R570 CUDA shows a process but one instance and then
# no whole GPU, later one compute instance of each GPU instance; plumb takes apart what
# CUDA_VISIBLE_DEVICES names. So where there are instances, everything is named there.

# A line for each device: its UUID, or "?".
plumb_list_gpus() {
    timeout 60 nvidia-smi -L 2>/dev/null | awk '
        function end_gpu() { if (whole != "") print whole; whole = "" }
        { name = match($0, /UUID: [^)]+/) ? substr($0, RSTART + 6, RLENGTH - 6) : "?" }
        /^GPU/ { end_gpu(); whole = name }
        /^ *MIG/ { whole = ""; print name }
        END { end_gpu() }'
}

# CUDA shows what stands before the first word that cannot be a device.
plumb_count_visible() {
    echo "$CUDA_VISIBLE_DEVICES" |
        awk -F, '{while (n < NF && $(n + 1) ~ /^ *([0-9]|GPU-|MIG-)/) n++} END {print n + 0}'
}

plumb_count_gpus() {
    uuids=$(plumb_list_gpus)
    gpus=$(echo "$uuids" | awk 'NF > 0' | wc -l)
    [ "$gpus" -gt 0 ] || return 0
    if [ -n "${CUDA_VISIBLE_DEVICES+set}" ]; then
        gpus=$(plumb_count_visible)
        export CUDA_VISIBLE_DEVICES
        return 0
    fi
    case $uuids in *MIG-*) ;; *) return 0 ;; esac
    CUDA_VISIBLE_DEVICES=$(echo "$uuids" | grep -E '^(GPU|MIG)-' | paste -sd, -)
    export CUDA_VISIBLE_DEVICES
}
