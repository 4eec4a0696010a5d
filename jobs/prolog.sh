#!/bin/sh
# Slurm prolog: keeps jobs off a node whose last verdict was bad. Reads one line of one file, which
# health.sh keeps, in about a millisecond; measures nothing, waits for nothing, asks nobody.
#
#   slurm.conf:  Prolog=/opt/plumb/share/plumb/jobs/prolog.sh
#
# Slurm gives a prolog no environment: settings come from PLUMB_CONF (default /etc/plumb/jobs.conf),
# a file of shell assignments.
#
# PLUMB_STATE       folder with the file `verdict`             (default: /var/lib/plumb)
# PLUMB_BLOCK       what keeps a job away: any of CRITICAL WARNING UNKNOWN STALE MISSING
#                   (default: CRITICAL)
# PLUMB_STALE_DAYS  an older verdict counts as STALE           (default: 7)
#
# Exit codes: 0 the job may start; 1 it may not: Slurm drains the node and queues the job again.
# The comment at the head of this file is its help.
case ${1:-} in
-h | --help)
    sed -n '2,/^[^#]/{/^#SBATCH/d;/^# shellcheck/d;s/^# \{0,1\}//p;}' "$0"
    exit 0
    ;;
esac
PATH=/usr/bin:/bin
conf=${PLUMB_CONF:-/etc/plumb/jobs.conf}
# shellcheck source=/dev/null
[ ! -r "$conf" ] || . "$conf"
file=${PLUMB_STATE:-/var/lib/plumb}/verdict

word=MISSING when=0 text="no verdict in $file"
[ ! -r "$file" ] || read -r word when text <"$file"

# A file of another kind says nothing, rather than something by chance.
case $word in
OK | WARNING | CRITICAL | UNKNOWN | MISSING) ;;
*) word=MISSING text="no verdict in $file" ;;
esac
case $when in
'' | *[!0-9]*) word=MISSING text="no verdict in $file" ;;
esac
if [ "$word" != MISSING ] &&
    [ $(($(date +%s) - when)) -gt $((${PLUMB_STALE_DAYS:-7} * 86400)) ]; then
    word=STALE
fi

case " ${PLUMB_BLOCK-CRITICAL} " in
*" $word "*)
    echo "plumb: $word: $text" >&2
    exit 1
    ;;
esac
exit 0
