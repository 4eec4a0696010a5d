#!/bin/sh
# One night of a cluster: measures all nodes by jobs/fleet.sbatch, compares with the baseline, keeps
# the file in a library, and prints which nodes to drain. Mails nothing, drains nothing: cron mails
# what is printed, the owner decides.
#
#   nightly.sh [sbatch options…] [-- plumb-run options…]
#   nightly.sh --accept RUN.h5     adds the devices of a good run to the baseline
#   nightly.sh --rebase RUN.h5     makes a run the baseline, forgetting all before
#
#   crontab:  30 2 * * *  /opt/plumb/share/plumb/jobs/nightly.sh -p gpu -N 16 -t 30
#
# PLUMB_LIBRARY     folder on a file system that all nodes see (default: $HOME/plumb)
#                     baseline.h5        the healthy fleet
#                     pasts/             what the last night was compared with
#                     runs/DATE.h5       every night, with .json, .txt, .drain, .prom, .log beside it
# PLUMB_PASTS       nights that count as pasts beside the baseline, the last good ones (default: 4)
# PLUMB_KEEP_DAYS   older runs are deleted                     (default: 60)
# PLUMB_PROMETHEUS  textfile for this node's exporter          (default: none)
# PLUMB_BIN         folder of the programs        (default: as installed, else the PATH's)
# and what fleet.sbatch takes: PLUMB_LAUNCH, PLUMB_RANKS.
#
# The first complete night without a CRITICAL finding becomes the baseline. Exit codes: the
# verdict's, 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN or no file.
set -u

# The comment at the head of this file is its help, wherever --help stands before "--".
for argument; do
    case $argument in
    --) break ;;
    -h | --help)
        sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    esac
done

here=$(cd "$(dirname "$0")" && pwd)
library=${PLUMB_LIBRARY:-$HOME/plumb}
baseline=$library/baseline.h5
PATH=${PLUMB_BIN:-$here/../../../bin}:$PATH

say() {
    echo "nightly: $*"
}

give_up() {
    say "$*" >&2
    exit 3
}

# A run is taken as a baseline only whole, and only if it is a fleet file at all.
take() {
    plumb-check "$1" >/dev/null || give_up "$1: is no valid fleet file"
    case $2 in
    rebase) cp "$1" "$baseline.new" || exit 3 ;;
    accept)
        [ -e "$baseline" ] || give_up "there is no $baseline yet; --rebase makes it"
        plumb-check "$baseline" >/dev/null ||
            give_up "$baseline: is damaged and was left as it is; --rebase takes the run alone"
        plumb-merge -o "$baseline.new" "$baseline" "$1" >/dev/null
        # 3: a run with a device missing is as good for all the others.
        case $? in 0 | 3) ;; *) give_up "a GPU was replaced? --rebase takes the run alone" ;; esac
        ;;
    esac
    plumb-check "$baseline.new" >/dev/null || {
        rm -f "$baseline.new"
        give_up "$baseline.new: is not valid, and $baseline was left as it is"
    }
    mv "$baseline.new" "$baseline" && say "$baseline: now with $1"
    [ "$2" = accept ] || : >"$library/rebased" # nights before it are of another fleet
}

# Was nothing found in that night that a later one should not be compared with?
is_good() {
    grep -qs '^ "exit_code": 0,*$' "${1%.h5}.json"
}

# What this night is compared with, as a folder of links: the baseline, and the last good nights
# since it was made, which show how well each device repeats.
gather_pasts() {
    since=$library/rebased
    [ -e "$since" ] || since=$baseline
    rm -rf "$library/pasts.new" "$library/pasts"
    mkdir "$library/pasts.new" || exit 3
    ln -s ../baseline.h5 "$library/pasts.new/0-baseline.h5"
    find "$library/runs" -name '*.h5' -newer "$since" | sort -r | while read -r past; do
        is_good "$past" && echo "${past##*/}"
    done | head -n "${PLUMB_PASTS:-4}" | while read -r past; do
        ln -s "../runs/$past" "$library/pasts.new/$past"
    done
    mv "$library/pasts.new" "$library/pasts"
}

case ${1:-} in
--accept | --rebase)
    [ $# -eq 2 ] || give_up "expected $1 RUN.h5"
    mkdir -p "$library"
    take "$2" "${1#--}"
    exit
    ;;
esac

mkdir -p "$library/runs" || exit 3
exec 9>"$library/lock"
flock -n 9 || give_up "another night is not over yet"
find "$library/runs" -type f -mtime +"${PLUMB_KEEP_DAYS:-60}" -delete

# Options of sbatch come before "--"; the script and what it gets come behind.
for argument; do
    shift
    if [ "$argument" = -- ]; then
        set -- "$@" "$here/fleet.sbatch"
        split=yes
    else
        set -- "$@" "$argument"
    fi
done
[ "${split:-no}" = yes ] || set -- "$@" "$here/fleet.sbatch"

run=$library/runs/$(date -u +%Y-%m-%dT%H%M%SZ)
textfile=${PLUMB_PROMETHEUS:-}
export PLUMB_OUTPUT="$run.h5" PLUMB_PROMETHEUS="$run.prom" # the job writes it on another node
if [ -e "$baseline" ]; then
    gather_pasts
    export PLUMB_BASELINE="$library/pasts"
fi
# An interrupted night cancels its job, whose part that was measured stays for PLUMB_RESUME.
# shellcheck disable=SC2317  # called by a trap
interrupt() {
    trap '' INT TERM HUP
    job=$(cut -d';' -f1 "$run.job" 2>/dev/null)
    [ -z "$job" ] || scancel "$job"
    wait "$waiting" 2>/dev/null
    rm -f "$run.job"
    give_up "interrupted: job ${job:-of this night} cancelled"
}

sbatch --wait --parsable --output="$run.log" "$@" >"$run.job" 9>&- &
waiting=$!
trap interrupt INT TERM HUP
wait $waiting
code=$?
trap - INT TERM HUP
job=$(cat "$run.job")
rm -f "$run.job"
[ -e "$run.h5" ] || give_up "job ${job:-was refused}: no file, exit code $code; $run.log may say why"
[ -e "$run.json" ] || give_up "$run.h5 is there, but no verdict; $run.log may say why"

verdict=$(sed -n 's/^ "exit_code": \([0-3]\),*$/\1/p' "$run.json")
say "$run.h5, job $job"
cat "$run.txt"
if [ -n "$textfile" ]; then
    cp "$run.prom" "$textfile.new" && mv "$textfile.new" "$textfile"
fi
if [ ! -e "$baseline" ]; then
    if [ "$code" -eq 0 ] && [ "$verdict" -ne 2 ]; then
        take "$run.h5" rebase
    else
        say "no baseline yet: this night is not complete, or not healthy"
    fi
fi
exit "${verdict:-3}"
