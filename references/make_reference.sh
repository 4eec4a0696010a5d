#!/bin/sh
# Makes the reference of one model: where the numbers of healthy GPUs lay that were recorded.
#
#   make_reference.sh MODEL DRIVER DATE RECORDING.tsv... > MODEL.json
#
# RECORDING.tsv is what write_repeats makes (tests/verdict/repeats.h): readings of devices measured
# again and again. Of each latency and rate: `center`, the median of the devices' own medians;
# `device_sd`, the standard deviation of these (null of a single device); `run_sd`, that of a
# device's readings about its own mean, pooled over the devices (null where none was read twice).
set -eu

case ${1:-} in
-h | --help)
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
esac
[ $# -ge 4 ] || { echo "make_reference: expected MODEL DRIVER DATE RECORDING.tsv..." >&2; exit 2; }
model=$1 driver=$2 date=$3
shift 3

awk -F '\t' -v model="$model" -v driver="$driver" -v date="$date" '
function median(values, count,    i, j, kept) {
    for (i = 2; i <= count; i++) {
        kept = values[i]
        for (j = i - 1; j > 0 && values[j] > kept; j--) values[j + 1] = values[j]
        values[j + 1] = kept
    }
    return count % 2 ? values[(count + 1) / 2] : (values[count / 2] + values[count / 2 + 1]) / 2
}
function root_or_null(sum, freedom) {
    return freedom > 0 ? sprintf("%.6g", sqrt(sum / freedom)) : "null"
}
FNR == 1 { columns = 0 }
$1 == "device" && NF == 7 {
    columns++
    uuid[columns] = $5 == model ? $4 : ""
    if (uuid[columns] != "" && !(uuid[columns] in number)) {
        number[uuid[columns]] = ++devices
    }
    next
}
$5 == "cycles" || $5 == "ns" || $5 == "rate" {
    key = $1 "\t" $3
    if (!(key in unit)) { order[++metrics] = key; unit[key] = $2 }
    for (i = 1; i <= columns; i++) {
        split($(9 + i), reading, "~")
        if (uuid[i] == "" || reading[1] == "-" || reading[1] == "") continue
        device = number[uuid[i]]
        value[key, device, ++count[key, device]] = reading[1]
    }
}
END {
    printf "{\n \"schema\": 1,\n \"model\": \"%s\",\n \"driver\": \"%s\",\n", model, driver
    printf " \"measured\": \"%s\",\n \"devices\": %d,\n \"numbers\": [", date, devices
    for (m = 1; m <= metrics; m++) {
        key = order[m]
        split(key, part, "\t")
        known = readings = squares = freedom = spread = sum = 0
        for (d = 1; d <= devices; d++) {
            n = count[key, d]
            if (n == 0) continue
            total = 0
            for (i = 1; i <= n; i++) { one[i] = value[key, d, i]; total += one[i] }
            for (i = 1; i <= n; i++) squares += (one[i] - total / n) ^ 2
            freedom += n - 1
            readings += n
            centers[++known] = median(one, n)
            sum += centers[known]
        }
        if (known == 0) continue
        for (d = 1; d <= known; d++) spread += (centers[d] - sum / known) ^ 2
        split(part[2] == "-" ? "" : part[2], test, "@")
        printf "%s\n  {\"metric\": \"%s\", \"test\": \"%s\", \"unit\": \"%s\", ", \
            printed++ ? "," : "", part[1], test[1], unit[key]
        if (test[2] != "") printf "\"method_version\": %d, ", test[2]
        printf "\"devices\": %d, \"readings\": %d, \"center\": %.8g, ", known, readings, \
            median(centers, known)
        printf "\"device_sd\": %s, \"run_sd\": %s}", root_or_null(spread, known - 1), \
            root_or_null(squares, freedom)
    }
    printf "\n ]\n}\n"
}' "$@"
