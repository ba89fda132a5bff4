"""Elements, bars and pages: what is in them is escaped, whatever it is."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from distnb import widgets
from distnb.widgets.drawing.bars import Bars, Fill
from distnb.widgets.drawing.markup import element, svg
from distnb.widgets.drawing.page import Html, stylesheet, table_html
from tests.unit.pages import SVG, check_svg

EVIL = ["<script>", "a & b", "\"quoted'", "]]>", "ends />", "<path />", "1 > 0"]
FILLS = (
    Fill("a", "#0072B2", "", "#", "white"),
    Fill("b", "#D55E00", "//", "/"),
    Fill("c", "none", "", "."),
)


@pytest.mark.parametrize("text", EVIL)
def test_what_is_written_is_read(text):
    inside = [element("text", text, element("tspan", text), text, x=text)]
    root = ET.fromstring(svg(text, text, (3, 4.25), inside))
    assert root.find(f"{SVG}title").text == root.find(f"{SVG}desc").text == text
    found = root.find(f"{SVG}text")
    assert "".join(found.itertext()) == 3 * text
    assert found.get("x") == text
    assert (root.get("width"), root.get("height")) == ("3", "4.2")


def test_names_of_attributes_and_what_is_left_out():
    found = element("text", None, "", text_anchor="end", fill=None)
    assert found.attrib == {"text-anchor": "end"}
    assert found.text is None


@pytest.mark.parametrize("text", EVIL)
def test_bars_escape_their_labels(text):
    bars = Bars([(text, (1, 2, 1))], FILLS, 4, "u", lambda i, k: text)
    root = ET.fromstring(bars.draw(text, text, [text] * 3))
    assert [t.text for t in root.iter(f"{SVG}text")].count(text) == 3 + 1 + 2  # nothing on hatches


def test_long_text_in_tables_has_room_and_is_escaped():
    long = "rows in blocks on 4 engines & more"
    table = table_html(
        ("name", "array", "bytes"), [("A", long, "16 MB"), (long, "x", Html("<b/>"))], (0, 1)
    )
    cells = [
        (c.tag, c.get("class"), "".join(c.itertext()))
        for c in ET.fromstring(table).iterfind(".//tbody/tr/*")
    ]
    assert cells[:3] == [("th", "text", "A"), ("td", "text long", long), ("td", None, "16 MB")]
    assert cells[3:] == [("th", "text long", long), ("td", "text", "x"), ("td", None, "")]
    assert ".distnb td.long {" in stylesheet()


def test_rules_of_the_timeline_weigh_more_than_those_of_the_views_that_come_after_it():
    def weights(css):
        rules = re.findall(r"(\.distnb[\w.-]*) ([^{};]+) \{", " ".join(css.split()))
        return {inside: scope.count(".") for scope, inside in rules}

    own = weights(Path(widgets.__file__).with_name("times").joinpath("timeline.css").read_text())
    common = weights(stylesheet())
    shared = own.keys() & common.keys()
    assert {".scroll", ":is(th, td).text"} <= shared
    assert [rule for rule in shared if own[rule] <= common[rule]] == []


def test_bars_meet_and_end_where_the_sum_ends():
    rows = [("0", (1.0, 2.0, 1.0)), ("1", (4.0, -1.0, 0.0))]
    text = Bars(rows, FILLS, 4, "u").draw("title", "words")
    check_svg(ET.fromstring(f"<div>{text}</div>"))
    one, two, frames = [p.get("d") for p in ET.fromstring(text).findall(f"{SVG}path")]
    assert re.findall(r"M(\d+) \d+h(\d+)", one) == [("44", "75"), ("44", "300")]
    assert re.findall(r"M(\d+) \d+h(\d+)", two) == [("119", "150")]
    assert re.findall(r"H(\d+)v", frames) == ["344", "344"]
