"""Several arrays to one scale, what travels between them, memory bars, and the layout chooser."""

import re
import xml.etree.ElementTree as ET
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.error import UsageError

import distnb as dnb
from distnb.client.record.placement import Placement
from distnb.common.errors import LayoutError
from distnb.geometry.layout import make_layout
from distnb.geometry.views import Placed, View
from distnb.magics.expressions import axes_of, expressions
from distnb.testing import placed, shapes
from distnb.widgets import Memory, Several, to_html
from distnb.widgets.layouts.chooser import LayoutChooser
from distnb.widgets.layouts.engine_memory import all_bytes, bars, room_of
from distnb.widgets.layouts.halo import halo
from distnb.widgets.layouts.layout_svg import VERMILLION
from distnb.widgets.layouts.picture import picture
from distnb.widgets.layouts.proposal import (
    Choice,
    Outlook,
    cuts_by,
    grids_of,
)
from distnb.widgets.layouts.several import common_frames
from tests.unit import pages
from tests.unit.test_widgets import LARGE, contrast, rgb

SVG = "{http://www.w3.org/2000/svg}"
BUDGET = 10_000


@pytest.fixture
def session(monkeypatch):
    monkeypatch.setattr(dnb.config, "cutoff", 0)
    with dnb.inprocess(4) as session:
        yield session


def parse(page):
    root = pages.parse(page, BUDGET)
    for svg in root.iter(f"{SVG}svg"):
        assert svg.get("role") == "img"
        assert svg.find(f"{SVG}title").text
        assert svg.find(f"{SVG}desc").text
    return root


def placement(shape, size, dist=None, grid=None, view=lambda v: v):
    found = Placed(shape, make_layout(shape, size, dist, grid), view(View.whole(shape)))
    return Placement(found, np.dtype("f8"), size)


# -- What travels ----------------------------------------------------------------------------------


def travelling(out, operand, size):
    """Return the cells of the base, along all its axes, that some engine needs and does not hold."""
    found = set()
    for rank in range(size):
        needed, own = out.owned(rank), operand.owned(rank)
        if needed is None:
            continue
        of = [set(indices(s)) for s in needed]
        mine = [set(indices(s)) for s in own] if own is not None else [set()] * len(of)
        for index in product(*of):
            if not all(i in m for i, m in zip(index, mine, strict=True)):
                found.add(base_cell(operand.view, index))
    return found


def indices(sections):
    return [
        s.start + m * s.period + t for s in sections for m in range(s.count) for t in range(s.block)
    ]


def base_cell(view, index):
    at = dict(view.fixed)
    for i, (a, start, step) in zip(index, view.dims, strict=True):
        if a >= 0:
            at[a] = start + step * i
    return tuple(at[a] for a in sorted(at))


@given(st.data(), shapes(2), st.integers(1, 5))
def test_the_hatched_rectangles_are_what_travels(data, shape, size):
    out = data.draw(placed(shape, size, broadcast=False))
    operand = data.draw(placed(shape, size))
    shown = picture(operand).axes
    if len(operand.shape) > 2:
        return
    found = halo(out, operand, shown)
    assert not found.too_many
    cells = {
        tuple(i for i, a in zip(cell, shown, strict=True) if a >= 0)
        for rows, cols in found.rects
        for cell in product(range(*rows), range(*cols))
    }
    touched = {base_cell(operand.view, i) for i in np.ndindex(shape)}
    order = [a for a in shown if a >= 0]
    wanted = {tuple(c[a] for a in order) for c in travelling(out, operand, size)}
    seen = {tuple(c[a] for a in order) for c in touched}
    assert cells & seen == wanted


def test_the_halo_of_a_shifted_view_is_a_row_at_each_border():
    lower, upper = (placement((12, 8), 3, view=lambda v, i=i: v.take(0, i, 1, 11)) for i in (1, 0))
    found = Several([lower, upper])
    out = found._met[0, 1].out
    assert halo(out, upper.placed, (0, 1)).rects == (((3, 4), (0, 8)), ((7, 8), (0, 8)))
    assert halo(out, lower.placed, (0, 1)).rects == ()
    assert found.moves[1, 2].tolist() == [0, 64, 64]


def test_where_nothing_is_sent_a_sentence_says_so():
    found = Several([placement((12, 8), 3), placement((12, 8), 3)], ["X", "Y"])
    assert "<b>X with Y: nothing is sent in an operation</b>" in found._repr_html_()


def test_hidden_axes_along_which_elements_travel_are_named():
    here, there = (
        placement((4, 5, 6), 2, ("block", "*", "*")),
        placement((4, 5, 6), 2, ("*", "*", "block")),
    )
    found = halo(here.placed, there.placed, (0, 1))
    assert found.hidden == (2,)
    page = Several([here, there], axes=(0, 1))._repr_html_()
    assert "elements travel along axis 2, too" in page


def test_what_is_too_scattered_is_not_drawn():
    here, there = placement((10_000,), 4), placement((10_000,), 4, "cyclic")
    assert halo(here.placed, there.placed, (-1, 0)).too_many
    page = Several([here, there])._repr_html_()
    assert "too scattered to draw" in page


def test_the_figure_hatches_what_travels():
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    lower, upper = (placement((12, 8), 3, view=lambda v, i=i: v.take(0, i, 1, 11)) for i in (1, 0))
    figure = Several([lower, upper], ["A[1:]", "A[:-1]"]).plot()
    left, right = figure.axes
    found = [p.get_bbox().bounds for p in right.patches if p.get_hatch() == "xxx"]
    assert found == [(0, 3, 8, 1), (0, 7, 8, 1)]
    assert not [p for p in left.patches if p.get_hatch() == "xxx"]
    assert right.get_title(loc="left").startswith("A[:-1]\n")
    pyplot.close(figure)


# -- Several arrays --------------------------------------------------------------------------------

GOLDEN = """\
A: (6, 4) float64, 192 B
   block x * on 2 engines
B: (6, 4) float64, 192 B
   * x block on 2 engines
C: (5,) float64, 40 B
   block on 2 engines
first  second            is sent  messages  to engine  most
A      B                    96 B         2          0  48 B
A      C       shapes do not fit
B      C       shapes do not fit"""


def test_golden_text_of_several():
    found = [placement((6, 4), 2), placement((6, 4), 2, ("*", "block")), placement((5,), 2)]
    assert repr(Several(found, ["A", "B", "C"])) == GOLDEN


@pytest.mark.tier("test")
def test_an_operation_sends_what_it_says(monkeypatch):
    monkeypatch.setattr(dnb.config, "cutoff", 0)
    monkeypatch.setattr(dnb.config, "shared", 0)
    with dnb.inprocess(3) as session:
        a = dnb.ones((12, 6))
        for b in (a[::-1], dnb.ones((12, 6), dist="cyclic"), dnb.ones(6), dnb.ones((12, 1))):
            moves = a.layout.show(b).moves[1, 2]
            session.flush()
            window = session.start_window()
            kept = a + b
            report = session.end_window(window)
            assert moves.sum() == sum(r.bytes for op in report.ops for r in op.ranks)
            del kept


def test_pages_of_several_are_small_and_whole():
    found = [
        placement((4096, 4096), 64, ("cyclic", "cyclic")),
        placement((4096, 4096), 64, ("block", "block")),
        placement((4096, 4096), 64, view=lambda v: v.transpose((1, 0))),
        placement((40, 40, 40), 8, ("block", "block", "block")),
    ]
    root = parse(Several(found, list("ABC") + ["<&>" * 30])._repr_html_())
    assert len(root.findall(f".//{SVG}svg")) == 4
    assert "<&>" in "".join(root.itertext())


def test_one_scale():
    large, small = (picture(placement(s, 2).placed) for s in ((100, 100), (50, 25)))
    (w, h), (w2, h2) = common_frames([large, small], 320, 200)
    assert (w, h) == (200, 200)
    assert (w2, h2) == (50, 100)
    speck = picture(placement((3, 3), 2).placed)
    assert common_frames([large, speck], 320, 200) is None
    line = picture(placement((100,), 2).placed)
    assert common_frames([large, line], 320, 200) is None
    half = picture(placement((50,), 2).placed)
    assert [w for w, _ in common_frames([line, half], 320, 200)] == [320, 160]


def test_axes_are_chosen(session):
    a = dnb.zeros((4, 5, 6), dist=("block", "*", "block"))
    page = parse(a.layout.show(axes=(1, 2))._repr_html_())
    texts = [t.text for t in page.iter(f"{SVG}text")]
    assert "axis 1 down" in texts
    assert "axis 2: 6" in texts
    assert "axis 0 is not shown" in "".join(page.itertext())
    with pytest.raises(LayoutError, match="axes"):
        a.layout.show(axes=(0, 3))
    bundle = a.layout.show(a, axes=(0, 2))._repr_mimebundle_()
    assert sorted(bundle) == ["text/html", "text/plain"]


def test_arrays_in_the_notebook_stand_beside(session):
    a = dnb.zeros((4, 5))
    dnb.config.cutoff = 1000
    found = a.layout.show(dnb.ones(5))
    assert found.moves == {}
    assert "in the notebook" in repr(found)
    parse(found._repr_html_())


LINES = {
    "A": ["A"],
    "A B": ["A", "B"],
    "A, B[1:, 0]": ["A", "B[1:, 0]"],
    "A[1:, ::2] B.T C": ["A[1:, ::2]", "B.T", "C"],
    "A - B": ["A - B"],
    "f(A, 'x y') B": ["f(A, 'x y')", "B"],
}


@pytest.mark.parametrize(("line", "wanted"), LINES.items(), ids=LINES)
def test_expressions_of_distlayout(line, wanted):
    assert expressions(line) == wanted


@pytest.mark.parametrize("line", ["", "A[1", "A B)"])
def test_lines_that_say_nothing(line):
    with pytest.raises(UsageError, match="%distlayout: got"):
        expressions(line)


@pytest.mark.parametrize(
    ("text", "wanted"), [("1", (1,)), ("0,2", (0, 2)), ("2,-1", (2, -1)), ("x", None), ("1,", None)]
)
def test_axes_of_distlayout(text, wanted):
    if wanted is None:
        with pytest.raises(UsageError, match="%distlayout: got"):
            axes_of(text)
    else:
        assert axes_of(text) == wanted


# -- Memory ----------------------------------------------------------------------------------------


def test_memory_of_the_engines(session):
    about = session.transport.about
    a, b = dnb.ones((8, 8)), dnb.ones((8, 8), dist=("engine", 1))
    text = repr(a.layout)
    assert "memory: engine 1 holds 128 B of this base and 512 B of other arrays" in text
    assert all_bytes(session.bases(), 4).tolist() == [128, 640, 128, 128]
    assert (room_of(about) <= about[0]["memory"]).all()
    root = parse(a._repr_html_())
    assert len(root.findall(f".//{SVG}svg")) == 2
    del b
    assert "and 0 B of other arrays" in repr(a.layout)
    layout = a.layout
    session.close()
    assert "memory" not in repr(layout)


@pytest.mark.parametrize("size", [1, 4, 200])
@pytest.mark.parametrize("room", [0, 100, 10**12])
def test_bars_of_memory(size, room):
    memory = Memory(np.full(size, 60), np.arange(size), np.full(size, room))
    svg = ET.fromstring(bars(memory, "<x>"))
    texts = [t.text for t in svg.findall(f"{SVG}text")]
    assert len(texts) == 1 + 2 * min(size, 10) + (size == 200)
    assert ("each bar is the fullest of its engines" in texts) == (size == 200)
    width, limit = float(svg.get("width")), bool(room == 100)
    for path in svg.findall(f"{SVG}path"):
        for x in re.findall(r"M([\d.]+) ", path.get("d")):
            assert 0 <= float(x) <= width
    assert ("┆ room" in "".join(svg.itertext())) == limit
    assert ("free at the start" in memory.tell()) == bool(room)


@pytest.mark.parametrize("name", LARGE)
def test_pages_with_bars_stay_small(name):
    placed = LARGE[name]
    size = placed.layout.grid.size
    memory = Memory(np.full(size, 10**9), np.arange(size), np.full(size, 10**10))
    assert len(parse(to_html(placed, "f8", "<" * 1000, size, memory)).findall(f".//{SVG}svg")) == 2


def test_what_is_drawn_can_be_seen():
    for paper in ((255, 255, 255), (17, 17, 17)):
        for colour in (VERMILLION, "#0072B2"):
            assert contrast(rgb(colour), paper) >= 3


# -- The chooser -----------------------------------------------------------------------------------

CHOSEN = [
    ("block", None),
    (("*", "block"), None),
    (("block", "block"), (4, 1)),
    (("block", ("cyclic", 3)), None),
    ("cyclic", None),
    ((("irregular", (0, 2, 5, 6, 8)),), None),
    ("replicated", None),
    (("engine", 2), None),
]


@pytest.mark.parametrize(("dist", "grid"), CHOSEN, ids=str)
def test_a_choice_gives_the_layout_that_it_came_from(dist, grid):
    shape = (8, 9)
    layout = make_layout(shape, 4, dist, grid)
    choice = Choice.of(layout, 2)
    assert choice.layout(shape, 4) == layout
    code = choice.code("a", shape)
    assert code.startswith("a.move(")
    args = {}
    exec(
        code, {"a": type("A", (), {"move": lambda _, d, grid=None: args.update(d=d, grid=grid)})()}
    )
    assert make_layout(shape, 4, args["d"], args["grid"]) == layout


def test_weights_are_cuts():
    assert cuts_by("1 1", 5) == (0, 2, 5)
    assert cuts_by("0 0 1", 5) == (0, 0, 0, 5)
    assert cuts_by(" 2,1 ", 9) == (0, 6, 9)
    for bad in ("", "x", "0 0", "-1 2", "nan", "inf"):
        with pytest.raises(LayoutError, match="weights: got"):
            cuts_by(bad, 9)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=9), st.integers(0, 10**6))
def test_cuts_rise_from_nothing_to_all(weights, n):
    if sum(weights) > 0:
        cuts = cuts_by(" ".join(map(str, weights)), n)
        assert cuts[0] == 0
        assert cuts[-1] == n
        assert list(cuts) == sorted(cuts)
        assert len(cuts) == len(weights) + 1


@pytest.mark.parametrize(("size", "ndim"), [(1, 2), (6, 2), (8, 3), (7, 1), (64, 3)])
def test_grids_use_all_engines(size, ndim):
    found = grids_of(size, ndim)
    assert len(set(found)) == len(found) <= 60
    assert all(len(g) == ndim and prod(g) == size for g in found)
    if size < 10:
        every = [g for g in product(range(1, size + 1), repeat=ndim) if prod(g) == size]
        assert set(found) == set(every)


def computed(session):
    a = dnb.ones((16, 16))
    session.flush()
    session.journal.end()
    kept = a.sum(axis=0) + a[1:, :].sum()
    session.flush()
    session.journal.end()
    return a, kept


def test_outlook_tells_what_would_change(session):
    a, _kept = computed(session)
    columns = make_layout(a.shape, 4, ("*", "block"))
    found = Outlook(a, columns)
    assert found.then.total < found.now.total
    assert re.search(
        r"Saves .* \(-\d+ %\) a cell: .* would send .* in place of .*; the move sends .* and pays after \d+ cells?\.",
        found.finding,
    )
    assert found.cost.bytes == 16 * 16 * 8 * 3 // 4
    assert "kept = a.sum(axis=0)" in found.text()
    assert parse(found.html()).findall(".//table")
    assert "as much as it did" in Outlook(a, a.layout.base).finding


def test_outlook_before_anything_was_computed(session):
    a = dnb.ones((4, 4))
    assert "No cell has computed anything yet" in Outlook(a, a.layout.base).text()


def test_the_chooser_follows_its_boxes(session):
    a, _kept = computed(session)
    chooser = LayoutChooser(a)
    temporary = [dnb.ones(3)]
    assert LayoutChooser(temporary[0]).name == "x"
    assert chooser.apply_button.disabled
    assert "lies now" in chooser.status.value
    chooser.kinds[0].value, chooser.kinds[1].value = "whole", "block-cyclic"
    assert chooser.sizes[1].layout.display == ""
    assert chooser.sizes[0].layout.display == "none"
    chooser.sizes[1].value = 3
    assert chooser.chosen == make_layout(a.shape, 4, ("*", ("cyclic", 3)))
    assert "a.move((&#x27;*&#x27;, (&#x27;cyclic&#x27;, 3)))" in chooser.code.value
    chooser.kinds[0].value = "block"
    assert [g for _, g in chooser.grid.options] == [None, (2, 2), (1, 4), (4, 1)]
    chooser.grid.value = (4, 1)
    assert chooser.chosen.grid.sizes == (4, 1)
    chooser.where.value = "one engine"
    chooser.engine.value = 3
    assert chooser.chosen == make_layout(a.shape, 4, ("engine", 3))
    chooser.where.value = "replicated"
    assert chooser.chosen.copies == 4


def test_the_chooser_applies(session):
    a, _kept = computed(session)
    view = a[2:, 1]
    chooser = dnb.choose_layout(a)
    chooser.kinds[0].value, chooser.kinds[1].value = "whole", "block"
    assert not chooser.apply_button.disabled
    chooser.apply_button.click()
    assert a.layout.base == make_layout(a.shape, 4, ("*", "block"))
    assert view.layout.base == a.layout.base
    assert np.array_equal(a.to_numpy(), np.ones((16, 16)))
    assert "Done: * x block on 4 engines" in chooser.status.value
    assert chooser.apply_button.disabled
    assert chooser.outlook.now.total > chooser.outlook.then.total  # of the cell as it ran


def test_the_chooser_says_what_cannot_be(session):
    a = dnb.ones((16, 16))
    chooser = LayoutChooser(a)
    assert repr(chooser) == chooser.outlook.text()
    with pytest.raises(TypeError, match="choose for one array"):
        LayoutChooser(a, a)
    chooser.kinds[0].value = "irregular"
    assert chooser.apply_button.disabled
    assert "weights: got" in chooser.status.value
    assert chooser.chosen is None
    chooser.apply()  # nothing happens
    chooser.weights[0].value = "1 2 3 4 5"
    assert "at most 4" in chooser.status.value
    chooser.weights[0].value = "1 2 1"
    assert chooser.chosen.axes[0].cuts == (0, 4, 12, 16)
    with pytest.raises(LayoutError, match="array to choose for: got a view"):
        dnb.choose_layout(a[1:])


def test_the_chooser_tells_of_failures(session):
    a = dnb.ones((16, 16))
    chooser = LayoutChooser(a)
    chooser.kinds[0].value = "cyclic"

    def fault(command):
        if getattr(command, "op", "") == "copy":
            raise MemoryError("on purpose")

    session.transport.workers[1].executor.fault = fault
    chooser.apply_button.click()
    session.transport.workers[1].executor.fault = None
    assert "on purpose" in chooser.status.value
    assert a.layout.base == make_layout(a.shape, 4)
    assert np.array_equal(a.to_numpy(), np.ones((16, 16)))


def test_the_chooser_shows_a_picture_where_there_are_no_widgets(session):
    a, _kept = computed(session)
    bundle = dnb.choose_layout(a)._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "block x * on 4 engines" in bundle["text/plain"]
    assert parse(bundle["text/html"]).find(f".//{SVG}svg") is not None


def test_a_lost_array_stays_lost(session):
    a = dnb.ones((16, 16))
    session.flush()
    a.dbase.lost = True
    chooser = LayoutChooser(a)
    chooser.kinds[0].value = "cyclic"
    chooser.apply_button.click()
    assert "no content" in chooser.status.value
    assert a.layout.base == make_layout((16, 16), 4)
    with pytest.raises(dnb.LostArrayError):
        a.move("cyclic")


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3, 4), (2, 2, 2, 2)])
def test_the_chooser_takes_any_number_of_axes(session, shape):
    a = dnb.zeros(shape, dist="replicated")
    chooser = LayoutChooser(a)
    assert len(chooser.kinds) == len(shape)
    if shape and prod(shape):
        chooser.where.value = "split"
        chooser.kinds[0].value = "cyclic"
        chooser.apply_button.click()
        assert a.layout.base == make_layout(shape, 4, "cyclic")


def test_the_chooser_takes_a_small_array_to_the_engines(session):
    dnb.config.cutoff = 10_000
    a = dnb.ones((4, 4))
    chooser = LayoutChooser(a)
    assert chooser.outlook.cost is None
    chooser.apply_button.click()
    assert a.layout.base == make_layout((4, 4), 4)
