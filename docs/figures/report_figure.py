"""Prints a drawing of a plumb-report page as an SVG file of its own, with the page's style.

usage: report_figure.py PAGE.html FIGURE      (FIGURE as in id="f0-FIGURE")
"""
import re
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    page = file.read()
style = re.search(r"<style>(.*?)</style>", page, re.S).group(1)
figure = re.search(rf'<figure id="f0-{sys.argv[2]}".*?(<svg .*?</svg>)', page, re.S).group(1)
left, top, width, height = re.search(r'viewBox="([^"]*)"', figure).group(1).split()
style = style.replace("<", "&lt;") + "svg{background:var(--page)}svg.wide{min-width:0;max-width:none}"
print(re.sub(r"<svg ", f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
             'font-family="system-ui,sans-serif" ', figure, count=1)
      .replace(">", f"><style>{style}</style>", 1))
