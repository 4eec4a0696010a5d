#!/bin/sh
# plumb-report from outside: its page, its exit codes, and what a real browser says of it.
# shellcheck disable=SC2086,SC2317  # $sim is words; cases are called by name
set -eu
here=$(cd "$(dirname "$0")" && pwd)
data=$here/../data
. "$here/lib.sh"

# page FILE [MAX_BYTES [WORD...]]: the page is as it should be.
page() {
    run 0 python3 "$here/report_page.py" "$@"
}

# fleet NAME [HOST]: four simulated devices of one node, one of them with a slow link.
fleet() {
    echo "{\"seed\": 7, \"devices\": [{\"host\": \"${2:-n1}\", \"profile\": \"gtx780\", \"count\": 4,
        \"faults\": {\"1\": [\"pcie_width=4\"]}}]}" >fleet.json
    ranks 0 4 --backend sim --fleet fleet.json --battery quick --no-progress -o "$1"
}

# refuses CODE PATTERN OPTIONS...: one line of error, no page.
refuses() {
    expected=$1
    pattern=$2
    shift 2
    run "$expected" "$bin/plumb-report" "$@"
    one_line_like "^plumb-report: .*$pattern"
    [ ! -s out.txt ] || fail "expected no output"
}

# A file that was never analysed: the report is what users expect, and the file stays as it was.
recorded_h200_has_every_figure() {
    cp "$data/h200-standard.h5" f.h5
    sum=$(cksum <f.h5)
    run 0 "$bin/plumb-report" --device vm.gpu0 -o page.html f.h5
    [ "$(cksum <f.h5)" = "$sum" ] || fail "the fleet file was changed"
    page page.html 1500000 "Memory hierarchy as measured" undetermined "NVIDIA H200" "241 KiB"
    for figure in hierarchy ladder footprint carveout words sets victims sharing tlb patterns \
        accesses prefetch saavedra wong copy read write shared banks mshr host_link agreement sms \
        slices sm_pairs jumps sync coalesce spill sustained states; do
        grep -q "<figure id=\"f0-$figure\"" page.html || fail "no figure $figure"
    done
    grep -q '<li><b>Peer matrix of the node</b>: ' page.html || fail "no reason for what is missing"
    run 0 "$bin/plumb-report" -o fleet.html f.h5
    page fleet.html 300000 UNKNOWN insufficient_peers
}

# shows_papers_figures PROFILE: on the page of this simulated GPU, by their numbers.
shows_papers_figures() {
    run 0 "$bin/plumb-probe" --profile "$1" --no-progress -o f.h5
    run 0 "$bin/plumb-analyze" --csv keys.csv f.h5
    key=$(sed -n "2s/,.*//p" keys.csv)
    run 0 "$bin/plumb-report" --device "$key" -o page.html f.h5
    run 0 python3 "$here/papers.py" "$1" page.html "$here/../../docs/report.md"
}

papers_figures_of_gtx470() {
    shows_papers_figures gtx470
}

papers_figures_of_gtx560ti() {
    shows_papers_figures gtx560ti
}

papers_figures_of_gtx780() {
    shows_papers_figures gtx780
}

papers_figures_of_gtx980() {
    shows_papers_figures gtx980
}

# The tests in which all SMs work at once.
recorded_h200_has_the_figures_of_all_sms() {
    cp "$data/h200-parallel.h5" f.h5
    run 0 "$bin/plumb-report" --device vm.gpu0 -o page.html f.h5
    page page.html 1500000 knee "far half" "one address each" "L2, alone" "constant L1.5"
    for figure in whole_l2 loaded mshr atomics bulk clusters sm_rates sm_caches sm_misses; do
        grep -q "<figure id=\"f0-$figure\"" page.html || fail "no figure $figure"
    done
    # The near half has all lines of the smallest array, 120 MiB lie in three places.
    grep -q '^<tr><td>15728640<td>1<td>0<td>0$' page.html || fail "a small array beyond the near half"
    grep -qE '^<tr><td>125829120(<td>0\.[234][0-9]*){3}</table>$' page.html || fail "no three plateaus"
}

# Simulated: 270 and 670 cycles in the peer, 718 ns of way at 1,980 MHz, 32 cycles in the own L1.
node_has_the_figures_of_its_peers() {
    echo '{"seed": 7, "devices": [{"host": "n1", "profile": "h200", "count": 2}]}' >fleet.json
    tests=clock_overhead,dram_latency,l2_map,l2_persistence,atomic_sides,peer_link,peer_chase,peer_copy
    ranks 0 2 --backend sim --fleet fleet.json --tests "$tests" --no-progress -o f.h5
    run 0 "$bin/plumb-report" --device n1.gpu0 -o page.html f.h5
    page page.html 1500000 "to be kept" "Both ways at once"
    for figure in persistence atomic_sides peers peer_chase peer_copy; do
        grep -q "<figure id=\"f0-$figure\"" page.html || fail "no figure $figure"
    done
    grep -qE '^<tr><td>gpu1<td>209[0-9]<td>169[0-9]<td>169[0-9]<td>32' page.html ||
        fail "no latencies of a peer"
}

# What the report shows is what the two other programs keep in the file.
analysed_fleet_is_shown_as_judged() {
    fleet f.h5
    run 0 "$bin/plumb-analyze" f.h5
    "$bin/plumb-outliers" f.h5 >out.txt 2>err.txt || true # four peers: UNKNOWN
    run 0 "$bin/plumb-report" -o page.html f.h5
    [ ! -s err.txt ] || fail "expected no word about an analysis that was there"
    page page.html 300000 "Simulated devices" n1.gpu1 pcie_link "Among its peers"
    grep -q '<article class="finding v[12]"' page.html || fail "no finding"
    grep -qE '<title>n1.gpu1: (WARNING|CRITICAL), pcie_link</title>' page.html || fail "no mark on the map"
}

# A finding of a node is about its devices, of which its row can name none.
members_of_a_finding_are_read_from_the_file() {
    slow='"0": ["pcie_width=4"], "1": ["pcie_width=4"], "2": ["pcie_width=4"], "3": ["pcie_width=4"]'
    echo "{\"seed\": 3, \"devices\": [{\"host\": \"n1\", \"profile\": \"gtx780\", \"count\": 12},
        {\"host\": \"n2\", \"profile\": \"gtx780\", \"count\": 4, \"faults\": {$slow}}]}" >fleet.json
    ranks 0 16 --backend sim --fleet fleet.json --no-progress -o f.h5 \
        --tests clock_overhead,clock_calibration,host_link,host_latency,shared_latency
    run 0 "$bin/plumb-report" -o judged.html f.h5
    run 0 "$bin/plumb-analyze" f.h5
    "$bin/plumb-outliers" f.h5 >out.txt 2>err.txt || true
    run 0 "$bin/plumb-check" f.h5
    run 0 "$bin/plumb-report" -o stored.html f.h5
    grep -oE '<title>n[0-9.gpu]+: [^<]*' judged.html >judged.txt || fail "no device is marked"
    grep -oE '<title>n[0-9.gpu]+: [^<]*' stored.html >stored.txt || fail "no device is marked"
    cmp judged.txt stored.txt || { diff judged.txt stored.txt; fail "other devices are marked"; }
    [ "$(grep -c '^<title>n2.*pcie' stored.txt)" -eq 4 ] || { cat stored.txt; fail "expected n2"; }
}

# The site's policy makes a judgement of its own, whatever the file has.
policy_is_applied() {
    fleet f.h5
    run 0 "$bin/plumb-analyze" f.h5
    "$bin/plumb-outliers" f.h5 >out.txt 2>err.txt || true
    echo '{"schema": 1, "muted": [{"cause": "pcie_link", "until": "2999-01-01",
        "reason": "a riser"}]}' >policy.json
    run 0 "$bin/plumb-report" --policy policy.json -o page.html f.h5
    page page.html 300000
    ! grep -qE '<title>n1.gpu1: (WARNING|CRITICAL), pcie_link' page.html || fail "still marked"
    echo '{"schema": 1, "causes": {"pcie_link": {"severity": "RED"}}}' >policy.json
    refuses 2 'policy.json.*expected OK, WARNING' --policy policy.json -o other.html f.h5
}

unanalysed_fleet_is_analysed_and_says_so() {
    fleet f.h5
    run 0 "$bin/plumb-report" -o page.html f.h5
    grep -q 'f.h5 holds no verdict: analysing 4 devices' err.txt || fail "no word about it"
    page page.html 300000 n1.gpu1 pcie_link
}

# Parameters of an earlier content of the file are none: what is shown is of the file as it is.
changed_recordings_are_analysed_again() {
    run 0 "$bin/plumb-probe" --profile gtx780 --battery quick --no-progress -o f.h5
    run 0 "$bin/plumb-analyze" f.h5
    run 0 "$bin/plumb-analyze" --read-only --csv keys.csv f.h5
    key=$(sed -n "2s/,.*//p" keys.csv)
    run 0 "$bin/plumb-report" --device "$key" -o page.html f.h5
    [ ! -s err.txt ] || fail "expected no word about an analysis that was there"
    "$helpers/rot" f.h5 "$key" global_copy || fail "it cannot be damaged"
    run 0 "$bin/plumb-report" --device "$key" -o page.html f.h5
    grep -q 'f.h5 holds no parameters by this version of the analysis: analysing 1 device ' err.txt ||
        fail "parameters of another content were shown"
}

# A page of plain structures whose every text is markup, quotes or control characters.
names_bring_no_markup() {
    run 0 "$helpers/hostile_report"
    mv out.txt page.html
    page page.html 300000 '<script>alert(1)</script>' "\"'><img src=http://x/ onerror=y>&amp;\\x1b"
    grep -q '# not a host name' page.html || fail "a command with a hostile name"
}

usage_and_input() {
    fleet f.h5
    refuses 2 'expected -o REPORT.html' f.h5
    refuses 2 'no device n9.gpu9' --device n9.gpu9 -o p.html f.h5
    echo text >broken.h5
    refuses 2 'broken.h5' -o p.html broken.h5
    refuses 2 'missing.h5' -o p.html missing.h5
    nothing_but f.h5 fleet.json broken.h5 log.txt
}

foreign_output_is_refused_and_an_old_page_replaced() {
    fleet f.h5
    echo "a letter" >p.html
    refuses 2 'p.html' -o p.html f.h5
    [ "$(cat p.html)" = "a letter" ] || fail "what was there is gone"
    rm p.html
    run 0 "$bin/plumb-report" -o p.html f.h5
    run 0 "$bin/plumb-report" -o p.html f.h5
    refuses 1 'none/p.html' -o none/p.html f.h5
    page p.html
    nothing_but f.h5 fleet.json p.html
}

# browse PAGE: what the browser's console says (said.txt), and which hosts are asked (asked.txt),
# less those that a browser asks by itself.
browse() {
    rm -rf profile net.json
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-background-networking \
        --user-data-dir=profile --no-first-run --disable-sync --enable-logging=stderr --v=0 \
        --log-net-log=net.json --dump-dom "file://$PWD/$1" >dom.txt 2>console.txt || true
    grep -q '</footer>' dom.txt || fail "the browser did not show the page"
    grep ':CONSOLE' console.txt >said.txt || true
    grep -oE '"url":"(https?|wss?|ftp)://[^/"]*' net.json | sed 's|.*//||' | sort -u |
        grep -vE '(^|\.)(google|googleapis|gstatic|gvt1)\.com$' >asked.txt || true
}

browser_loads_nothing_and_has_no_complaint() {
    browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
        { echo "no chromium here"; exit 77; }
    cp "$data/h200-standard.h5" f.h5
    run 0 "$bin/plumb-report" --device vm.gpu0 -o page.html f.h5
    browse page.html
    [ ! -s said.txt ] || { cat said.txt; fail "the console complains"; }
    [ ! -s asked.txt ] || { cat asked.txt; fail "a host was asked"; }
    # This test would see a page that loads something: its policy refuses, and the console says so.
    sed 's|</main>|<img src="http://127.0.0.1:9/x.png"></main>|' page.html >bad.html
    browse bad.html
    grep -q 'Content Security Policy' said.txt || fail "a page that loads something was not noticed"
    [ ! -s asked.txt ] || fail "the policy let a page load something"
    sed '/http-equiv=Content-Security-Policy/d' bad.html >worse.html
    browse worse.html
    grep -q '127.0.0.1' asked.txt || fail "a request was not noticed"
}

"$case_name"
pass
