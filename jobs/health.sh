#!/bin/sh
# Checks this node's GPUs in its idle hours: the quick battery on each, compared with a baseline.
#
#   slurm.conf:  HealthCheckProgram=/opt/plumb/share/plumb/jobs/health.sh
#                HealthCheckInterval=300
#                HealthCheckNodeState=IDLE
#   by hand:     health.sh --now       measures at once and ends with the verdict as exit code
#
# Slurm kills a health check after a minute, so this one returns at once: when a check is due and no
# job runs here, it measures behind Slurm's back, and gives way as soon as a job arrives. The verdict
# is one line, "WORD SECONDS TEXT", in STATE/verdict; prolog.sh reads it. Nothing is drained.
#
# Settings come from the environment, or from PLUMB_CONF (default /etc/plumb/jobs.conf), a file of
# shell assignments:
# PLUMB_STATE           where to keep the verdict              (default: /var/lib/plumb)
# PLUMB_BIN             folder of the programs    (default: as installed, else the PATH's)
# PLUMB_BASELINE        a fleet file, or a folder of such, with healthy devices of this model; without
#                       it a node has too few peers, and the verdict can only judge what needs
#                       none
# PLUMB_PROMETHEUS      textfile for the node exporter         (default: none)
# PLUMB_HEALTH_HOURS    hours between two checks               (default: 24)
# PLUMB_HEALTH_SECONDS  a check takes no longer than that      (default: 600)
# PLUMB_GPUS            GPUs of this node                      (default: as nvidia-smi lists them; of
#                       one that is divided its MIG instances)
# PLUMB_BUSY            command that succeeds while a job runs (default: pgrep -x slurmstepd)
# PLUMB_RUN_OPTIONS     options for plumb-run                  (default: --battery quick)
#
# Exit codes: 0 nothing to report; with --now 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.
set -u

# The comment at the head of this file is its help.
case ${1:-} in
-h | --help)
    sed -n '2,/^[^#]/{/^#SBATCH/d;/^# shellcheck/d;s/^# \{0,1\}//p;}' "$0"
    exit 0
    ;;
esac

conf=${PLUMB_CONF:-/etc/plumb/jobs.conf}
# shellcheck source=/dev/null
[ ! -r "$conf" ] || . "$conf"
here=$(dirname "$(readlink -f "$0")")
bin=${PLUMB_BIN:-$here/../../../bin}
PATH=$bin:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin
export PATH HOME="${HOME:-/root}"
state=${PLUMB_STATE:-/var/lib/plumb}
seconds=${PLUMB_HEALTH_SECONDS:-600}
busy=${PLUMB_BUSY:-pgrep -x slurmstepd}
. "$here/gpus.sh"

is_busy() {
    $busy >/dev/null 2>&1
}

# A verdict is read as prolog.sh does: a damaged one is none, one from the future is out of date.
is_due() {
    when=1 hours=${PLUMB_HEALTH_HOURS:-24}
    if [ -f "$state/verdict" ] && [ -r "$state/verdict" ]; then
        read -r _ when _ <"$state/verdict" || when=1
    fi
    case $when in '' | *[!0-9]* | 0* | ???????????*) when=1 ;; esac
    case $hours in *[!0-9]* | 0?* | ??????*) hours=24 ;; esac
    age=$(($(date +%s) - when))
    [ "$age" -lt 0 ] || [ "$age" -ge $((hours * 3600)) ]
}

# conclude CODE TEXT: the verdict, replaced as a whole.
conclude() {
    case $1 in 0) word=OK ;; 1) word=WARNING ;; 2) word=CRITICAL ;; *) word=UNKNOWN ;; esac
    echo "$word $(date +%s) $2" >"$state/verdict.new" && mv "$state/verdict.new" "$state/verdict"
    echo "plumb: $word: $2"
}

# An interrupted check ends what it started and leaves no verdict of half a measurement.
# shellcheck disable=SC2317  # called by a trap
interrupt() {
    trap '' INT TERM HUP
    kill -TERM "$child" 2>/dev/null
    wait "$child"
    rm -rf "$state/new.h5" "$state/new.h5.spool"
    echo "plumb: interrupted: no verdict" >&2
    exit 3
}

# Measures until it is done, time is up, or a job arrives: then 1, and no verdict is better.
measure() {
    gpus=${PLUMB_GPUS:-}
    [ -n "$gpus" ] || plumb_count_gpus
    [ "$gpus" -gt 0 ] || return 2
    rm -rf "$state/new.h5" "$state/new.h5.spool"
    # Open MPI asks root to confirm.
    # shellcheck disable=SC2086
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout -k 10 "$seconds" \
        mpirun -q -n "$gpus" --oversubscribe --bind-to none \
        plumb-run --no-progress ${PLUMB_RUN_OPTIONS:---battery quick} -o "$state/new.h5" \
        >"$state/log" 2>&1 9>&- &
    child=$!
    trap interrupt INT TERM HUP
    while kill -0 $child 2>/dev/null; do
        if is_busy; then
            kill -TERM $child
            wait $child
            return 1
        fi
        sleep 1
    done
    wait $child
    trap - INT TERM HUP
    [ -e "$state/new.h5" ] || [ ! -d "$state/new.h5.spool" ] ||
        plumb-merge -o "$state/new.h5" "$state/new.h5.spool" >>"$state/log" 2>&1
    return 0
}

# "n03.gpu2: hbm;n03.gpu5: pcie_link"; with nothing to report, what was judged; else what went wrong.
summarise() {
    text=$(sed 1d "$state/verdict.txt" | sed -n -E 's/^(CRITICAL|WARNING|UNKNOWN) +//p' |
        head -n 5 | paste -sd';')
    [ -n "$text" ] || text=$(sed -n '1s/^[A-Z]* *//p' "$state/verdict.txt")
    [ -n "$text" ] || text=$(tail -n 1 "$state/log")
    echo "$text"
}

check() {
    measure
    case $? in
    1)
        echo "plumb: a job has arrived: no verdict"
        return 0
        ;;
    2)
        conclude 3 "this node sees no GPU"
        return 3
        ;;
    esac
    if [ ! -e "$state/new.h5" ]; then
        conclude 3 "nothing was measured: $(head -n 1 "$state/log")"
        return 3
    fi
    mv "$state/new.h5" "$state/node.h5"
    plumb-outliers --json "$state/verdict.json" ${PLUMB_BASELINE:+--baseline "$PLUMB_BASELINE"} \
        ${PLUMB_PROMETHEUS:+--prometheus "$PLUMB_PROMETHEUS"} "$state/node.h5" \
        >"$state/verdict.txt" 2>>"$state/log"
    code=$?
    conclude $code "$(summarise)"
    return $code
}

# Measuring in the foreground of a job's step is no part of that job.
unset SLURM_JOB_ID SLURM_JOBID SLURM_NODELIST SLURM_JOB_NODELIST SLURM_TASKS_PER_NODE

mkdir -p "$state" || exit 3
case ${1:-} in
--locked) # by ourselves, in the background; descriptor 9 holds the lock until the end
    check
    ;;
--now)
    exec 9>"$state/lock"
    flock -n 9 || { echo "plumb: a check is running already" >&2; exit 3; }
    check
    exit
    ;;
'')
    exec 9>"$state/lock"
    if ! is_busy && is_due && flock -n 9; then
        setsid sh "$0" --locked >/dev/null 2>&1 & # Slurm does not wait for another session
    fi
    ;;
*)
    echo "health.sh: expected nothing or --now, found \"$1\"" >&2
    exit 3
    ;;
esac
exit 0
