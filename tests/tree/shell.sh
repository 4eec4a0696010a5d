#!/bin/sh
# All scripts are clean shell, each with what it sources. A loop over words is no mistake here: no
# file and no function of this tree has a blank in its name (SC2013).
set -eu
cd "$1"
case ${2:-} in *NOTFOUND | "") echo "no shellcheck here"; exit 77 ;; esac
bad=0
for file in jobs/* references/*.sh tests/*.sh tests/*/*.sh; do
    case $(head -n 1 "$file") in '#!/bin/sh'*) ;; *) continue ;; esac # what is sourced is no script
    (cd "$(dirname "$file")" && "$2" -s sh -x -a -e SC2013 "$(basename "$file")") || bad=1
done
exit $bad
