"""Finds the papers' figures in the page of a simulated GPU: papers.py PROFILE PAGE.html REPORT.md

What REPORT.md's table says is on the page must be there, and its numbers must be those of M16's
tables III and V to VIII and figures 5, 7 to 12, 14 to 16, of N14's figures 6, 7 and 9.
"""
import re
import sys

#                  texture L1: size, ways, sets  P1 to P6                         copy, GB/s
PAPER = {"gtx560ti": ((12288, 96, 4), (351, 378, 462, 619, 1225), 109.38,
                      #  shared GB/s at MHz, cycles: without conflict, of 2- to 32-way conflicts
                      (34.90, 950), (50, 87, 162, 311, 611, 1209)),
         "gtx780": ((12288, 96, 4), (198, 204, 257, 339, 702, 968), 215.92,
                    (83.81, 1006), (47, 82, 96, 158, 257, 484)),
         "gtx980": ((24576, 192, 4), (214, 225, 289, 383, 2461, 2750), 156.25,
                    (137.41, 1279), (28, 30, 34, 42, 58, 90))}
NUMBERED = {"M16": {"fig.": 19, "tables": 8}, "N14": {"fig.": 12, "tables": 5}}
profile = sys.argv[1]
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


def check_list():
    """Each figure and table of the papers is in the list, and what it names is on the page."""
    with open(sys.argv[3], encoding="utf-8") as file:
        rows = [row.strip("|").split(" | ") for row in re.findall(r"^\| *[MN]1.*\|$", file.read(), re.M)]
    named = {}
    for what, _, where, profiles in rows:
        paper, _, rest = what.strip().partition(" ")
        for kind, numbers in re.findall(r"(fig\.|tables?) ([\d, ]+)", rest):
            key = paper, kind if kind == "fig." else "tables"
            named.setdefault(key, []).extend(int(number) for number in numbers.split(","))
        titles = re.findall(r"\*\*(.*?)\*\*", where)
        assert bool(titles) == bool(profiles.strip()), what
        for title in titles:
            if profile in profiles.split():
                assert any(f"<h4>{title}</h4>" in figure for figure in figures.values()), title
    for paper, kinds in NUMBERED.items():
        for kind, count in kinds.items():
            assert sorted(named[paper, kind]) == list(range(1, count + 1)), (paper, kind)


def check_texture(cache, parameters):  # M16's tables III and V, figures 4, 5 and 7
    size, ways, sets = cache
    for memory in ("texture",) if profile == "gtx560ti" else ("texture", "readonly"):
        near(parameters[memory, "size_bytes"], size, 0)
        near(parameters[memory, "line_bytes"], 32, 0)
        near(parameters[memory, "set_count"], sets, 0)
        near(parameters[memory, "way_counts"], ways, 0)
    assert parameters["texture", "policy"] == "lru"
    near(parameters["texture", "saavedra_line_bytes"], 32, 0)  # both methods contradict each other
    near(parameters["texture", "wong_line_bytes"], 128, 0)
    near(parameters["texture", "wong_ways"], 4, 0)
    wong = [float(row[1]) for row in tables("wong")["Average latency over array size"][1:]]
    rises = [b - a for a, b in zip(wong, wong[1:]) if b - a > 5]
    assert len(rises) == 4 and wong[0] < wong[-1], rises  # plateaus between the least and the most
    assert "texture: lines that share a set" in tables("sets")
    assert bits("texture") == [{7}, {8}]


def check_tlb(patterns, parameters):  # figures 8 and 9
    near(parameters["tlb_l1", "entry_count"], 16, 0)
    near(parameters["tlb_l2", "entry_count"], 65, 0)
    assert sorted(map(int, re.findall(r"\d+", parameters["tlb_l2", "way_counts"]))) == [8] * 6 + [17]
    reach = tables("tlb")["tlb_reach: median latency over the span of the pages"]
    assert reach[1] == ["2 MiB"]  # 16 pages fit the first level, 65 pages the second
    stride = [(float(row[0]) / 2 ** 21, float(row[1])) for row in reach[2:]
              if len(row) == 2][:next(i for i, row in enumerate(reach[2:]) if len(row) == 1)]
    for pages, pattern in ((14, 0), (24, 1), (160, 2)):
        near(min(stride, key=lambda at: abs(at[0] - pages))[1], patterns[pattern], 0.02)


def bits(memory):
    """The address bits of each bit of a set index."""
    head, *rows = tables("index")[f"{memory}: address bits of the set index"]
    return [{int(bit) for bit, value in zip(head[1:], row[1:]) if value == "1"} for row in rows]


def check_fermi(parameters):  # figures 10 and 11
    near(parameters["l1", "size_bytes"], 16384, 0)
    near(parameters["l1", "line_bytes"], 128, 0)
    near(parameters["l1", "set_count"], 32, 0)
    near(parameters["l1", "way_counts"], 4, 0)
    assert parameters["l1", "policy"] != "lru"
    assert bits("l1") == [{bit} for bit in range(7, 12)]
    evicted = sorted(float(row[1]) for row in tables("victims")["l1: evictions by way"][1:])
    assert all(abs(share - expected) < 0.03
               for share, expected in zip(evicted, (1 / 6, 1 / 6, 1 / 6, 1 / 2))), evicted


def check_hash():  # N14's figures 6 and 7
    assert bits("l1") == [{7, 13}, {8, 14}, {9, 15}, {10, 17}, {11, 19}]
    head, *rows = tables("index")["l1: two strided loops, predicted"]
    column = head.index("2^12")  # bits 12 to 18: four of them are in the index, four ways each
    assert [row[0] for row in rows if row[column] == "50"] == ["4", "8", "16", "32", "64"]


def check_mshr():  # N14's figure 9
    times = [float(row[1]) for row in tables("mshr")["From L2, over loads"][1:]]
    assert max(times[:6]) - times[0] < 40 and times[6] - times[5] > 100, times[:8]


def check_throughput(copy, shared, conflicts):
    best = max(float(cell) for row in tables("copy")["global_copy"][1:] for cell in row[1:]
               if cell != "–")
    near(best, copy * 1e9)  # figure 12, table VI
    best = max(float(cell) for row in tables("shared")["shared_copy"][1:] for cell in row[1:]
               if cell != "–")
    near(best * shared[1] * 1e6, shared[0] * 1e9)  # figures 15 and 16, table VII
    found = [float(row[1]) for row in tables("banks")["Words of 4 bytes"][1:]]
    for expected in conflicts:  # table VIII
        assert any(abs(cycles - expected) <= 1.5 for cycles in found), (expected, sorted(set(found)))


check_list()
check_mshr()
if profile == "gtx470":
    check_hash()
else:
    cache, patterns, copy, shared, conflicts = PAPER[profile]
    parameters = {(row[0], row[1]): row[2] for row in tables("hierarchy")["All parameters"]}
    check_texture(cache, parameters)
    check_tlb(patterns, parameters)
    check_throughput(copy, shared, conflicts)
    for row, expected in zip(tables("patterns")["Past L1"][1:], patterns):
        near(row[1], expected, 0.02)  # figure 14
    if profile == "gtx560ti":
        check_fermi(parameters)
