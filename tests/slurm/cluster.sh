# A real Slurm of four nodes with two GPUs each, on this machine. Sourced by test_slurm.sh.
#
# Every node is a slurmd in namespaces of its own: its host name, its processes, its folder for
# temporary files. All of them, the controller and munge live in namespaces of this test, so that
# nothing of them outlives it and no file of the machine is changed. The GPUs are device files that
# nobody opens; simulated devices are measured in their place.
#
# Limit: the nodes share one network address and distinguish each other by port.

nodes="n1 n2 n3 n4"

# skip REASON: CTest shows it as skipped.
skip() {
    echo "skipped: $*"
    [ -z "${work:-}" ] || leave_nothing
    exit 77
}

# Is one of the five ports from PORT on in use, or was it just now? A local address is in the second
# column, its port in hexadecimal digits.
ports_are_taken() {
    for port in $(seq "$1" $(($1 + 4))); do
        cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk -v port="$(printf ':%04X' "$port")" \
            'substr($2, length($2) - 4) == port { taken = 1 } END { exit !taken }' && return 0
    done
    return 1
}

# enter SCRIPT ARG...: starts the script again inside the test's own namespaces, once.
enter() {
    [ -z "${PLUMB_CLUSTER_PORT:-}" ] || return 0
    [ "$(id -u)" -eq 0 ] || skip "a Slurm of its own needs root"
    for program in munged slurmctld slurmd sbatch srun scontrol mpirun unshare mknod; do
        command -v "$program" >/dev/null || skip "no $program here"
    done
    unshare -m -u -p -f --mount-proc mount -t tmpfs tmpfs /dev/shm 2>/dev/null ||
        skip "this machine allows no namespaces"
    # Five ports in a row; other tests of this machine begin elsewhere, unless as many processes
    # started between the two.
    base=$((20000 + $$ % 2000 * 5))
    while ports_are_taken "$base"; do
        base=$((20000 + (base - 20000 + 5) % 10000))
    done
    PLUMB_CLUSTER_PORT=$base exec unshare -m -p -f --kill-child --mount-proc sh "$@"
}

# Names of the nodes for this test alone, and shared memory that goes away with it.
prepare_machine() {
    cp /etc/hosts hosts
    for node in $nodes; do
        echo "127.0.0.1 $node"
    done >>hosts
    mount --bind hosts /etc/hosts || skip "/etc/hosts cannot be covered"
    mount -t tmpfs tmpfs /dev/shm
    # shellcheck disable=SC2086
    mkdir state shared tmp $nodes
    for slot in 0 1; do
        mknod "gpu$slot" c 1 3 || skip "no device files can be made"
    done
}

write_configuration() {
    cat >slurm.conf <<END
ClusterName=plumb
SlurmctldHost=$(uname -n)(127.0.0.1)
SlurmctldPort=$PLUMB_CLUSTER_PORT
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
CredType=cred/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/%n/pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/%n.log
TmpFS=$work/tmp
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=1
GresTypes=gpu
MpiDefault=none
ReturnToService=2
KillWait=15
SlurmdTimeout=10
NodeName=n[1-4] NodeAddr=127.0.0.1 Port=[$((PLUMB_CLUSTER_PORT + 1))-$((PLUMB_CLUSTER_PORT + 4))] \
CPUs=4 Gres=gpu:2
PartitionName=all Nodes=n[1-4] Default=YES MaxTime=INFINITE State=UP
END
    echo "NodeName=n[1-4] Name=gpu File=$work/gpu[0-1]" >gres.conf
    export SLURM_CONF="$work/slurm.conf"
}

# A node has its own host name, processes and temporary files; killing it is pulling its plug.
start_node() {
    # shellcheck disable=SC2016  # hostname(1) takes no hostile names
    unshare -m -u -p -f --kill-child --mount-proc sh -c 'printf %s "$1" >/proc/sys/kernel/hostname &&
        mount -t tmpfs tmpfs "$2/tmp" && exec slurmd -D -N "$1"' node "$1" "$work" >"$1.out" 2>&1 &
    echo $! >"$1.node"
}

# Every process of a node, as the test sees them.
processes_of() {
    slurmd=$(pgrep -f "slurmd -D -N $1\$" | tail -n 1)
    space=$(readlink "/proc/$slurmd/ns/pid")
    for pid in /proc/[0-9]*; do
        [ "$(readlink "$pid/ns/pid" 2>/dev/null)" != "$space" ] || echo "${pid#/proc/}"
    done
}

# A node that is cut off: nothing of it is heard, and it does not know. thaw_node brings it back.
freeze_node() {
    processes_of "$1" >"$1.frozen"
    # shellcheck disable=SC2046
    kill -STOP $(cat "$1.frozen") 2>/dev/null || true # some have just ended
}

thaw_node() {
    # shellcheck disable=SC2046
    kill -CONT $(cat "$1.frozen") 2>/dev/null || true
}

stop_node() {
    kill -9 "$(cat "$1.node")"
}

all_idle() {
    [ "$(sinfo -h -t idle -o %D 2>/dev/null)" = 4 ]
}

start_cluster() {
    case $case_name in hostile_*) nodes=$hostile_nodes ;; esac
    prepare_machine
    write_configuration
    case $case_name in
    hostile_*) configure_hostile_nodes ;;
    health_*) configure_health ;;
    nodes_with_*) configure_different_nodes ;;
    full_spool_*) configure_small_disk ;;
    esac
    head -c 1024 /dev/urandom >munge.key
    chmod 400 munge.key
    munged --force --key-file="$work/munge.key" --socket="$work/munge.socket" \
        --pid-file="$work/munge.pid" --log-file="$work/munge.log" --seed-file="$work/munge.seed" ||
        skip "munged does not start"
    slurmctld -D >slurmctld.out 2>&1 &
    echo $! >controller.node
    for node in $nodes; do
        start_node "$node"
    done
    # Where Slurm itself cannot run there is nothing to be learnt of plumb.
    for _ in $(seq 300); do
        all_idle && break
        sleep 0.2
    done
    all_idle || { tail -n 5 slurmctld.log n1.log n1.out; skip "Slurm's nodes do not come up"; }
    export TMPDIR="$work/tmp" # each node's own, under one name
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
}

# Everybody ends, then the folder goes: whoever still writes into it would keep it.
leave_nothing() {
    for file in ./*.node munge.pid; do
        kill -9 "$(cat "$file")" 2>/dev/null || true
    done
    cd /
    umount "$work/small" 2>/dev/null || true
    for _ in $(seq 50); do
        rm -rf "$work" 2>/dev/null && return 0
        sleep 0.2
    done
    echo "left in $work"
}
