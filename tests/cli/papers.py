"""Finds the papers' figures in the page of a simulated GPU: papers.py gtx780|gtx980 PAGE.html

M16's tables III and V to VIII and figures 5, 7, 12, 14 to 16 and 19, N14's figure 9 (docs/report.md
has the list); what the page shows of them must be their numbers.
"""
import re
import sys

#                 texture L1: size, lines a set, sets  P1 to P6                          copy, GB/s
PAPER = {"gtx780": ((12288, 96, 4), (198, 204, 257, 339, 702, 968), 215.92,
                    #  shared GB/s at MHz, cycles; of 2- to 32-way conflicts
                    (83.81, 1006), (47, 82, 96, 158, 257, 484)),
         "gtx980": ((24576, 192, 4), (214, 225, 289, 383, 2461, 2750), 156.25,
                    (137.41, 1279), (28, 30, 34, 42, 58, 90))}
cache, patterns, copy, shared, conflicts = PAPER[sys.argv[1]]
with open(sys.argv[2], encoding="utf-8") as file:
    text = file.read()
figures = {re.search(r'id="f0-([^"]*)', figure).group(1): figure
           for figure in re.findall(r"<figure.*?</figure>", text, re.S)}


def tables(figure):
    """{caption: rows of cells}, heads among them"""
    return {re.search("<caption>(.*?)</caption>", table).group(1):
            [[re.sub("<[^>]*>", "", cell).strip() for cell in re.split(r"<t[dh]\b[^>]*>", row)[1:]]
             for row in re.split(r"<tr[^>]*>", table)[1:]]
            for table in re.findall(r"<table.*?</table>", figures[figure], re.S)}


def near(found, expected, share=0.01):
    assert abs(float(found) - expected) <= share * expected, (found, expected)


parameters = {(row[0], row[1]): row[2] for row in tables("hierarchy")["All parameters"]}
size, ways, sets = cache
for memory in ("texture", "readonly"):  # tables III and V
    near(parameters[memory, "size_bytes"], size, 0)
    near(parameters[memory, "line_bytes"], 32, 0)
    near(parameters[memory, "set_count"], sets, 0)
    near(parameters[memory, "way_counts"], ways, 0)
assert parameters["texture", "policy"] == "lru"
near(parameters["tlb_l1", "entry_count"], 16, 0)
near(parameters["tlb_l2", "entry_count"], 65, 0)
assert sorted(map(int, re.findall(r"\d+", parameters["tlb_l2", "way_counts"]))) == [8] * 6 + [17]

assert figures["saavedra"]  # figure 5: both contradict each other, and the truth
near(parameters["texture", "saavedra_line_bytes"], 32, 0)
near(parameters["texture", "wong_line_bytes"], 128, 0)
near(parameters["texture", "wong_ways"], 4, 0)
wong = [float(row[1]) for row in tables("wong")["Average latency over array size"][1:]]
rises = [b - a for a, b in zip(wong, wong[1:]) if b - a > 5]
assert len(rises) == 4 and wong[0] < wong[-1], rises  # plateaus between the least and the most

assert "texture: lines that share a set" in tables("sets")  # figure 7
reach = tables("tlb")["tlb_reach: median latency over the span of the pages"]
assert reach[1] == ["2 MiB"]  # the TLBs: 16 pages fit, 65 pages fit
stride = [(float(row[0]) / 2 ** 21, float(row[1])) for row in reach[2:]
          if len(row) == 2][:next(i for i, row in enumerate(reach[2:]) if len(row) == 1)]
for pages, pattern in ((16, 0), (24, 1), (160, 2)):
    near(min(stride, key=lambda at: abs(at[0] - pages))[1], patterns[pattern], 0.02)

best = max(float(cell) for row in tables("copy")["global_copy"][1:] for cell in row[1:] if cell != "–")
near(best, copy * 1e9)  # figure 12, table VI
for row, expected in zip(tables("patterns")["Past L1"][1:], patterns):
    near(row[1], expected, 0.02)  # figure 14
best = max(float(cell) for row in tables("shared")["shared_copy"][1:] for cell in row[1:] if cell != "–")
near(best * shared[1] * 1e6, shared[0] * 1e9)  # figures 15 and 16, table VII
found = [float(row[1]) for row in tables("banks")["Words of 4 bytes"][1:]]
for expected in conflicts:  # figure 19, table VIII
    assert any(abs(cycles - expected) <= 1.5 for cycles in found), (expected, sorted(set(found)))

times = [float(row[1]) for row in tables("mshr")["From L2, over loads"][1:]]  # N14, figure 9
assert max(times[:6]) - times[0] < 40 and times[6] - times[5] > 100, times[:8]
