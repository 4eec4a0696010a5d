#!/bin/sh
# The README's Python, as it stands there, on a file as its words have it.
#   readme.sh PLUMB_PROBE README.md
set -eu
/usr/bin/python3 -c 'import h5py, xarray' 2>/dev/null || { echo "no h5py or xarray here"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# shellcheck disable=SC2016  # the backquotes are Markdown
sed -n '/^```python$/,/^```$/{/^```/!p}' "$2" >"$folder/readme.py"
[ -s "$folder/readme.py" ] || { echo "no Python in $2"; exit 1; }
cd "$folder"
echo '{"devices": [{"host": "n1", "profile": "gtx560ti", "count": 1}]}' >fleet.json
"$1" --fleet fleet.json --tests dram_latency,global_copy -o plumb-n1.h5
echo 'assert len(latency) > 100 and latency.min() > 0, latency' >>readme.py
/usr/bin/python3 readme.py
