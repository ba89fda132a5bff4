"""How tests read what a notebook shows: tables of text, pages of HTML, and pictures in them."""

import re
import xml.etree.ElementTree as ET

from distnb.widgets.drawing.page import stylesheet

SVG = "{http://www.w3.org/2000/svg}"
BUDGET = 14_000


def text_rows(text, first="engine"):
    """Return the cells of the table that begins with ``first``."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.lstrip().startswith(first))
    rows = []
    for line in lines[start + 1 :]:
        if not re.match(r" *(\d|mean)", line) or " engines in " in line:
            break
        rows.append(re.split(r"  +", line.strip()))
    return rows


def parse(page, budget=BUDGET):
    """Return the tree of a view without its stylesheet, which does not count."""
    root = ET.fromstring(page)
    assert (root.tag, root.get("class")) == ("div", "distnb")
    (style,) = root.findall("style")
    assert style.text == stylesheet()
    root.remove(style)
    assert not list(root.iter("style"))
    assert len(page.encode()) <= budget + len(stylesheet()) + 60
    assert "<script" not in page
    return root


def table(root, n=0):
    body = root.findall(".//table")[n].find("tbody")
    return [["".join(cell.itertext()) for cell in row] for row in body]


def check_svg(root):
    svg = root.find(f".//{SVG}svg")
    assert svg.get("role") == "img"
    assert svg.find(f"{SVG}title").text
    assert svg.find(f"{SVG}desc").text
    width, height = float(svg.get("width")), float(svg.get("height"))
    for path in svg.findall(f"{SVG}path"):
        for x, y in re.findall(r"M([-\d.]+) ([-\d.]+)", path.get("d")):
            assert 0 <= float(x) <= width
            assert 0 <= float(y) <= height
    return svg


def marks(svg):
    return sum(path.get("d").count("M") for path in svg.findall(f"{SVG}path"))


def rgb(colour):
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def contrast(a, b):
    """Return the contrast ratio of the Web Content Accessibility Guidelines."""

    def luminance(colour):
        parts = [c / 255 for c in colour]
        line = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * line[0] + 0.7152 * line[1] + 0.0722 * line[2]

    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)
