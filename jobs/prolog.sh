#!/bin/sh
# Slurm prolog: keeps jobs off a node whose last verdict was bad. Reads one line of one file, which
# health.sh keeps, in about a millisecond; measures nothing, waits for nothing, queries nothing.
#
#   slurm.conf:  Prolog=/opt/plumb/share/plumb/jobs/prolog.sh
#
# Slurm gives a prolog no environment: settings come from PLUMB_CONF (default /etc/plumb/jobs.conf),
# a file of shell assignments.
#
# PLUMB_STATE       folder with the file `verdict`             (default: /var/lib/plumb)
# PLUMB_BLOCK       what keeps a job away: any of CRITICAL WARNING UNKNOWN STALE MISSING
#                   (default: CRITICAL)
# PLUMB_STALE_DAYS  an older verdict counts as STALE           (default: 7); one from the future too
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

# Whatever is not a verdict as health.sh writes it, cut short perhaps, is none. Of the time only what
# every shell counts alike: no leading zero, which means octal, and ten digits at most.
word=MISSING when=0 text="no verdict in $file"
if [ -f "$file" ] && [ -r "$file" ]; then
    read -r word when text <"$file" || word=
fi
case $when in '' | *[!0-9]* | 0* | ???????????*) word= ;; esac
case $word in
OK | WARNING | CRITICAL | UNKNOWN) ;;
*) word=MISSING text="no verdict in $file" ;;
esac

# A setting that is no number is as if it were not there: an error here would drain the node.
days=${PLUMB_STALE_DAYS:-7}
case $days in *[!0-9]* | 0?* | ??????*) days=7 ;; esac

# What was judged in days to come is not known to hold today.
if [ "$word" != MISSING ]; then
    age=$(($(date +%s) - when))
    if [ "$age" -lt 0 ] || [ "$age" -gt $((days * 86400)) ]; then
        word=STALE
    fi
fi

case " ${PLUMB_BLOCK-CRITICAL} " in
*" $word "*)
    printf 'plumb: %s: %s\n' "$word" "$text" | tr -d '\000-\011\013-\037\177' >&2
    exit 1
    ;;
esac
exit 0
