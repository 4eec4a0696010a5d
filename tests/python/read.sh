#!/bin/sh
# Measures one simulated device and lets stock Python read the file.
set -eu
/usr/bin/python3 -c 'import h5py, xarray' 2>/dev/null || { echo "no h5py or xarray here"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" --backend sim --profile gtx560ti --battery quick -o "$folder/one.h5"
exec_status=0
/usr/bin/python3 "$2" "$folder/one.h5" || exec_status=$?
exit $exec_status
