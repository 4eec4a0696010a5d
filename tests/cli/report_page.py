"""Checks a page of plumb-report: report_page.py PAGE.html [MAX_BYTES [WORD...]]

Well-formed: every SVG by a strict XML parser, the page by an HTML parser that counts what is open.
Each figure has a title, a description, a table and a path; nothing is loaded from anywhere; no
markup but the page's own; each WORD is in the text. Prints what is wrong and exits with 1.
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
