"""Checks a page of plumb-report: report_page.py PAGE.html [MAX_BYTES [WORD...]]

Well-formed: every SVG by a strict XML parser, the page by an HTML parser that counts what is open.
Each figure has a title, a description, a table and a path; nothing is loaded from anywhere; no
markup but the page's own; headings, names, heads of tables, keyboard and contrast as WCAG 2.1 AA asks;
each WORD is in the text. Prints what is wrong and exits with 1.
"""
import html.parser
import os
import re
import sys
import xml.etree.ElementTree as xml

VOID = {"meta", "link", "br", "img", "input", "hr"}
OPTIONAL_END = {"li", "dt", "dd", "tr", "td", "th", "p"}
KNOWN = VOID | OPTIONAL_END | set(
    "html head title style body a header h1 h2 h3 h4 b code p dl nav ul main section article figure "
    "figcaption div svg desc path rect text g image details summary table caption span pre "
    "footer".split())
wrong = []


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.text, self.targets = [], [], [], []

    def handle_starttag(self, tag, attributes):
        if tag not in KNOWN:
            wrong.append(f"line {self.getpos()[0]}: an element <{tag}> that no report has")
        for name, value in attributes:
            if name.startswith("on"):
                wrong.append(f"line {self.getpos()[0]}: an event handler, {name}")
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src", "action", "xlink:href"):
                self.check_target(value)
        if tag not in VOID and tag not in OPTIONAL_END:
            self.open.append(tag)

    def check_target(self, value):
        if value.startswith("#"):
            self.targets.append(value[1:])
        elif not value.startswith("data:"):
            wrong.append(f"line {self.getpos()[0]}: refers to {value[:60]}")

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if self.open and self.open[-1] == tag:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag in OPTIONAL_END:
            return
        if not self.open or self.open[-1] != tag:
            wrong.append(f"line {self.getpos()[0]}: </{tag}> closes {self.open[-1:]}")
        else:
            self.open.pop()

    def handle_data(self, data):
        self.text.append(data)


def check_svg(text):
    try:
        root = xml.fromstring(text)
    except xml.ParseError as error:
        wrong.append(f"an SVG is no XML: {error}: {text[:120]}")
        return
    children = [child.tag for child in root]
    if children[:2] != ["title", "desc"] or not root[0].text or not root[1].text:
        wrong.append(f"an SVG without title and description: {text[:120]}")
    for element in root.iter():
        for name in ("x", "y", "width", "height", "d"):
            if re.search(r"nan|inf", element.get(name, ""), re.I):
                wrong.append(f"a coordinate that is no number: {root[0].text}: {name}")


def check_figure(text):
    name = re.search(r'id="?([^" >]*)', text).group(1)
    for what, pattern in (("a title", r"<figcaption><h[34]>[^<]+"), ("a text", r"</h[34]><p>[^<]+"),
                          ("a drawing", r"<svg "), ("a path", r"In the file: /")):
        if not re.search(pattern, text):
            wrong.append(f"figure {name} lacks {what}")
    if name != "map" and not re.search(r"<details>.*<table><caption>.*<tr>.*<td>", text, re.S):
        wrong.append(f"figure {name} lacks its data")


def luminance(colour):
    """WCAG 2.1's relative luminance of #rgb or #rrggbb."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    channels = [int(digits[i:i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def check_contrast(text):
    """Texts and curves stand out from the page and from panels, by WCAG's ratios, in each scheme."""
    schemes = re.findall(r":root\{(--ink.*?)\}", text)
    if len(schemes) != 3:
        wrong.append(f"expected colours of a light, a dark and a printed page, found {len(schemes)}")
    for scheme in schemes:
        colours = dict(re.findall(r"--(\w+):(#\w+)", scheme))
        for name, colour in colours.items():
            if name in ("page", "panel", "grid", "line", "tint", "bg"):
                continue  # no text; bg marks the peers behind a device
            for back in ("page", "panel"):
                light, dark = sorted((luminance(colour), luminance(colours[back])), reverse=True)
                if (light + 0.05) / (dark + 0.05) < 4.5:
                    wrong.append(f"--{name} {colour} on --{back}: a contrast of less than 4.5")


def check_access(text):
    """What those need who hear the page or have no mouse."""
    if not re.search(r"<html lang=\"?en", text) or not re.search(r"<title>[^<]+", text):
        wrong.append("no language or no title")
    levels = [int(level) for level in re.findall(r"<h([1-6])", text)]
    if levels.count(1) != 1 or levels[0] != 1 or any(b > a + 1 for a, b in zip(levels, levels[1:])):
        wrong.append(f"headings skip a level, or not one <h1>: {levels[:20]}")
    for tag in re.findall(r"<svg [^>]*>", text):
        if "role=" not in tag or "aria-labelledby=" not in tag:
            wrong.append(f"an SVG without role and name: {tag[:80]}")
    for tag in re.findall(r"<th\b[^>]*>", text):
        if "scope=" not in tag:
            wrong.append(f"a head of a table without scope: {tag}")
    for tag in re.findall(r"<(?:pre|div class=(?:scroll|plots))\b[^>]*>", text):
        if "tabindex=0" not in tag or "role=" not in tag or "aria-label=" not in tag:
            wrong.append(f"what scrolls cannot be reached by keyboard: {tag[:80]}")
    for table in re.findall(r"<table\b.*?</table>", text, re.S):
        if "<caption>" not in table or "<th" not in table:
            wrong.append(f"a table without caption or head: {table[:80]}")
    known = set(re.findall(r"\bid=\"?([^\" >]+)", text))
    for names in re.findall(r"aria-(?:labelledby|describedby)=\"([^\"]*)\"", text):
        if not set(names.split()) <= known:
            wrong.append(f"a name that is not there: {names}")
    if 'class=skip' not in text or "prefers-color-scheme:dark" not in text:
        wrong.append("no link past the head, or no dark colours")


def main():
    path, limit, words = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0, sys.argv[3:]
    with open(path, encoding="utf-8") as file:
        text = file.read()
    page = Page()
    page.feed(text)
    page.close()
    if page.open:
        wrong.append(f"never closed: {page.open}")
    if len(page.ids) != len(set(page.ids)):
        wrong.append("an id stands twice")
    for target in set(page.targets) - set(page.ids):
        wrong.append(f"a link to #{target}, which is not there")
    if limit and os.path.getsize(path) > limit:
        wrong.append(f"{os.path.getsize(path)} bytes, more than {limit}")
    if "default-src 'none'" not in text or "<script" in text or "@import" in text:
        wrong.append("no policy, or a script, or an import")
    if re.search(r"url\(", text):
        wrong.append("a style sheet that loads something")
    for svg in re.findall(r"<svg.*?</svg>", text, re.S):
        check_svg(svg)
    check_contrast(text)
    check_access(text)
    figures = re.findall(r"<figure.*?</figure>", text, re.S)
    for figure in figures:
        check_figure(figure)
    shown = "".join(page.text)
    for word in words:
        if word not in shown:
            wrong.append(f'expected "{word}" in the text')
    print("\n".join(wrong[:40]) or f"{len(figures)} figures, {os.path.getsize(path)} bytes")
    sys.exit(bool(wrong))


main()
