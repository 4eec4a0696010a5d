/* The page's style feature table: one set of sizes and colours, for light, dark, narrow and printed
 * pages.
 */
#include "analysis/report/style.h"

#include <stddef.h>

/*
 * Colours of series (c0 to c5) are distinguished by people with any colour vision, and each series
 * has its name beside it; states have a symbol besides their colour.
 */
const char *const pb_report_style[] = {
    ":root{--ink:#1b1f24;--soft:#57606a;--line:#d0d5db;--grid:#e7eaee;--page:#fff;--panel:#f5f7f9;"
    "--accent:#0b5fa5;--tint:#e4eff9;--ok:#437254;--warn:#9a6200;--crit:#b3261e;--unk:#6b4c9a;"
    "--c0:#0b5fa5;--c1:#b8500a;--c2:#00775a;--c3:#93407d;--c4:#7a6a00;--c5:#5b5f66;--bg:#9aa3ad}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6e9ed;--soft:#a3adb8;--line:#3c444d;"
    "--grid:#2a3037;--page:#14181c;--panel:#1d2329;--accent:#6cb4f0;--tint:#1c3146;--ok:#84b897;"
    "--warn:#e5a63c;--crit:#ff8a7f;--unk:#bda2e6;--c0:#6cb4f0;--c1:#f2a067;--c2:#52c9a6;"
    "--c3:#dd98cc;--c4:#d3c04a;--c5:#b4bbc3;--bg:#6d7680}}\n",
    "*{box-sizing:border-box}html{scroll-behavior:smooth}"
    "body{margin:0;background:var(--page);color:var(--ink);"
    "font:15px/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,\"Liberation "
    "Sans\",Arial,sans-serif}"
    "main,header,footer{max-width:1160px;margin:0 auto;padding:0 20px}"
    "header{padding-top:24px}h1{font-size:28px;line-height:1.2;margin:0 0 6px}"
    "h2{font-size:20px;margin:40px 0 10px;padding-bottom:6px;border-bottom:1px solid var(--line)}"
    "h3{font-size:16px;margin:30px 0 8px}h4{font-size:15px;margin:0}"
    "p{margin:4px 0 10px;max-width:80ch}a{color:var(--accent)}"
    "code,pre{font:13px/1.5 ui-monospace,\"DejaVu Sans Mono\",Menlo,Consolas,monospace}"
    "pre{background:var(--panel);border:1px solid var(--line);padding:10px 12px;overflow-x:auto;"
    "user-select:all}.meta,.path,figcaption p,.note{color:var(--soft);font-size:13px}"
    ".path{overflow-wrap:anywhere;margin:4px 0}"
    ".skip{position:absolute;left:-9999px}.skip:focus{left:20px;top:8px;background:var(--page);"
    "padding:6px 10px;z-index:1}:focus-visible{outline:2px solid var(--accent);outline-offset:2px}"
    "nav ul{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:4px 18px;margin:10px 0}\n",
    ".verdict{border:1px solid var(--line);border-left-width:6px;padding:12px 16px;margin:16px 0;"
    "background:var(--panel)}.verdict p{margin:2px 0}.big{font-size:20px;font-weight:600}"
    ".k0{color:var(--ok)}.k1{color:var(--warn)}.k2{color:var(--crit)}.k3{color:var(--unk)}"
    ".k0,.k1,.k2,.k3{font-weight:600;white-space:nowrap}"
    ".finding{border:1px solid var(--line);border-left-width:6px;padding:12px 16px 4px;"
    "margin:16px 0;break-inside:avoid}.finding h3{margin:0 0 4px}"
    ".v0{border-left-color:var(--ok)}.v1{border-left-color:var(--warn)}"
    ".v2{border-left-color:var(--crit)}.v3{border-left-color:var(--unk)}"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 14px;margin:8px 0}"
    "dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}\n",
    "figure{margin:18px 0 26px;break-inside:avoid}.plots "
    ".note{flex-basis:100%;margin:0}.plots{display:flex;flex-wrap:wrap;gap:12px 18px;"
    "overflow-x:auto}svg{display:block}svg.plot{flex:0 1 360px;min-width:300px;width:360px}"
    "svg.wide{flex:1 1 740px;width:100%;min-width:700px;max-width:1000px}"
    "svg text{font-family:inherit;font-size:11px;fill:var(--ink)}svg .tk,svg .al{fill:var(--soft)}"
    "svg "
    ".pt{font-size:12.5px;font-weight:600}.sp{stroke:var(--ink)}.e{text-anchor:end}.m{text-anchor:"
    "middle}"
    ".ax{fill:none;stroke:var(--soft)}.gr{fill:none;stroke:var(--grid)}"
    ".rf{fill:none;stroke:var(--soft);stroke-dasharray:4 3}svg .rt{fill:var(--soft)}"
    ".ln{fill:none;stroke-width:1.8;stroke-linejoin:round}"
    ".dt{fill:none;stroke-width:4.5;stroke-linecap:round}.iv{fill:none;stroke-width:1.4}"
    ".c0{stroke:var(--c0)}.c1{stroke:var(--c1);stroke-dasharray:7 2}.c2{stroke:var(--c2);"
    "stroke-dasharray:2 2}.c3{stroke:var(--c3);stroke-dasharray:9 2 2 2}.c4{stroke:var(--c4);"
    "stroke-dasharray:4 2}.c5{stroke:var(--c5);stroke-dasharray:1 2}"
    ".c6{stroke:var(--bg);stroke-width:1.2}.dt.c6{stroke-width:4}.dt{stroke-dasharray:none}"
    ".br{stroke:none}.br.c0{fill:var(--c0)}.br.c1{fill:var(--c1)}.br.c6{fill:var(--bg)}"
    "svg .t0{fill:var(--c0)}svg .t1{fill:var(--c1)}svg .t2{fill:var(--c2)}svg .t3{fill:var(--c3)}"
    ".lb,.rt{paint-order:stroke;stroke:var(--page);stroke-width:3px;stroke-linejoin:round}"
    "svg .t4{fill:var(--c4)}svg .t5{fill:var(--c5)}svg .t6{fill:var(--soft)}"
    ".hm{fill:var(--panel);stroke:var(--line)}image{image-rendering:pixelated}"
    "svg .hn{font-size:10px}svg .hn.lo{fill:#fff}svg .hn.hi{fill:#14181c}\n",
    ".hb{fill:var(--page);stroke:var(--soft)}.un{stroke-dasharray:4 3}.hc{fill:none;"
    "stroke:var(--accent);stroke-width:1.6}svg .ht{font-size:12.5px;font-weight:600}"
    "svg .hl{fill:var(--soft)}svg .hv{font-weight:600}svg .hk{fill:var(--accent);font-size:12.5px}"
    "svg .hi{font-size:10px;fill:var(--soft)}svg .hu{fill:var(--soft);font-style:italic}"
    ".hw{fill:none;stroke:var(--accent);stroke-width:2}.cv{fill:var(--accent)}"
    ".cs{fill:none;stroke:var(--soft)}"
    ".m0{fill:var(--ok)}.m1{fill:var(--warn)}.m2{fill:var(--crit)}.m3{fill:var(--unk)}"
    ".m9{fill:none;stroke:var(--soft);stroke-dasharray:2 2}.mk{fill:none;stroke:var(--page);"
    "stroke-width:2;stroke-linecap:round;stroke-linejoin:round}\n",
    "details{margin:4px 0}summary{cursor:pointer;color:var(--accent);font-size:13px}"
    ".scroll{overflow:auto;max-height:420px;border:1px solid var(--line)}"
    "table{border-collapse:collapse;font-size:12.5px;font-variant-numeric:tabular-nums}"
    "caption{text-align:left;font-weight:600;padding:6px 8px}"
    "th,td{padding:2px 8px;text-align:left;border-bottom:1px solid var(--grid);vertical-align:top}"
    "th{font-weight:600;white-space:nowrap}.devices{width:100%}.devices td{white-space:nowrap}"
    ".missing{font-size:13px;color:var(--soft)}footer{margin-top:40px;padding-bottom:30px;"
    "color:var(--soft);font-size:13px}\n",
    "@media(max-width:640px){main,header,footer{padding:0 12px}h1{font-size:20px}"
    "svg.plot{width:100%;flex-basis:100%}dl{grid-template-columns:1fr}dt{margin-top:6px}}\n"
    "@media print{:root{--ink:#000;--soft:#444;--line:#bbb;--grid:#ddd;--page:#fff;--panel:#fff;"
    "--accent:#0b5fa5;--tint:#fff;--ok:#3d6b4d;--warn:#8a5600;--crit:#a01d16;--unk:#5b3f88;"
    "--c0:#0b5fa5;--c1:#b8500a;--c2:#00775a;--c3:#93407d;--c4:#7a6a00;--c5:#5b5f66;--bg:#9aa3ad}"
    "body{font-size:11pt}nav,.skip,figure details,.finding "
    "details{display:none}main{max-width:none}"
    "svg.wide{min-width:0}.scroll{max-height:none;overflow:visible;border:none}"
    ".plots{overflow:visible}svg{print-color-adjust:exact;-webkit-print-color-adjust:exact}"
    "h2,h3{break-after:avoid}.finding{break-inside:auto}}\n",
    NULL};
