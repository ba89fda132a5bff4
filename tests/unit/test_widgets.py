"""The static views: what they say is right, complete, small and escaped; blocks have owners."""

import re
import subprocess
import sys
from itertools import pairwise, product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distnb import widgets
from distnb.common.errors import LayoutError
from distnb.geometry.axes import (
    Block,
    BlockCyclic,
    Cyclic,
    Irregular,
    SlicedBlock,
)
from distnb.geometry.layout import (
    Grid,
    Layout,
    make_layout,
    on_engine,
    replicated,
)
from distnb.geometry.slices import elements
from distnb.geometry.views import Placed, View
from distnb.widgets import (
    blocks,
    describe,
    plot,
    to_html,
)
from distnb.widgets.drawing.text import spell_view
from distnb.widgets.layouts import layout_view as drawing
from distnb.widgets.layouts.card import card
from distnb.widgets.layouts.picture import picture, spans
from tests.unit.pages import SVG, check_svg, contrast, marks, parse, rgb, table, text_rows

MARKS = 420  # 400 blocks, and what marks a view


@pytest.fixture
def pyplot():
    """Matplotlib without a display; leaves no figure open."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def place(shape, size, dist=None, grid=None, view=lambda v: v):
    return Placed(shape, make_layout(shape, size, dist, grid), view(View.whole(shape)))


def copies(shape, ranks):
    """Block rows on a grid whose second dimension holds copies."""
    layout = make_layout(shape, ranks[0])
    return Placed(shape, Layout(Grid.of(ranks), layout.axes, layout.dims), View.whole(shape))


SUB_GRID = Layout(Grid(1, (2,), (2,)), (Block(),), (0,))  # engines 1 and 3

CASES = {
    "0-d": place((), 3),
    "0-d on one engine": place((), 3, ("engine", 1)),
    "1-d": place((1000,), 4),
    "cyclic": place((20,), 3, "cyclic"),
    "many cyclic": place((10**6,), 4, "cyclic"),
    "block-cyclic": place((20,), 3, ("cyclic", 3)),
    "irregular": place((20,), 4, (("irregular", (0, 2, 2, 19, 20)),)),
    "2-d": place((10, 12), 6, ("block", "block")),
    "2-d cyclic": place((4096, 4096), 4, (("cyclic", 64), ("cyclic", 64))),
    "2-d many": place((1000, 1000), 400, ("block", "block")),
    "3-d": place((16, 20, 12), 8, ("block", "cyclic", "block")),
    "4-d": place((4, 5, 6, 7), 6, ("*", "block", "*", ("cyclic", 2))),
    "replicated": place((30, 40), 4, "replicated"),
    "one engine": place((30, 40), 4, ("engine", 2)),
    "copies": copies((20, 30), (2, 3)),
    "sub-grid": Placed((9,), SUB_GRID, View.whole((9,))),
    "fewer engines": place((8, 8), 9, ("block", "block"), (2, 3)),
    "empty parts": place((3,), 8),
    "no elements": place((0, 5), 4, "block"),
    "inner": place((8, 9), 4, ("block", "block"), None, lambda v: v.take(0, 1, 1, 6)),
    "steps and flips": place(
        (9, 9), 4, ("cyclic", "block"), None, lambda v: v.take(0, 1, 3, 3).take(1, 8, -2, 5)
    ),
    "transposed": place((8, 20), 4, ("block", "block"), None, lambda v: v.transpose((1, 0))),
    "fixed": place((8, 8), 4, ("block", "block"), None, lambda v: v.fix(0, 3)),
    "fixed to 0-d": place((8, 8), 4, ("block", "block"), None, lambda v: v.fix(0, 3).fix(0, 1)),
    "broadcast": place((8,), 4, None, None, lambda v: v.broadcast((5, 8))),
    "broadcast from 1": place((1, 8), 4, ("*", "block"), None, lambda v: v.broadcast((5, 8))),
    "new axis": place((8,), 4, None, None, lambda v: v.insert(0)),
    "empty view": place((8, 8), 4, ("block", "block"), None, lambda v: v.take(0, 0, 1, 0)),
    "thin": place((10**6, 3), 4),
}
ALL = pytest.mark.parametrize("placed", CASES.values(), ids=CASES)

LARGE = {
    "block-cyclic of 1": place((10**6, 10**6), 16, ("cyclic", "cyclic")),
    "many engines": place((10**5, 10**5), 1024, ("block", "block")),
    "many engines, cyclic": place((10**5, 10**5), 1024, ("block", ("cyclic", 3))),
    "hidden": place((40, 40, 40, 40), 625, ("block", "cyclic", "block", "cyclic")),
    "copies": copies((10**4, 10), (20, 20)),
    "cuts": place((10**6,), 1000, (("irregular", (*range(1000), 10**6)),)),
    "20 axes": place((2,) * 20, 64, ("block",) * 6),
}


# -- What is drawn is who owns ---------------------------------------------------------------------


def holders(placed):
    """Enumerate who holds what, the slow way: element of the view -> ranks."""
    found = {}
    for rank in placed.layout.grid.ranks():
        owned = placed.owned(rank)
        for index in product(*map(elements, owned)) if owned is not None else ():
            found.setdefault(index, set()).add(rank)
    return found


def base_index(view, index):
    at = dict(view.fixed)
    at.update((a, start + step * i) for (a, start, step), i in zip(view.dims, index, strict=True))
    return at


def cells(box):
    return product(range(*box.rows), range(*box.cols))


def check_tiling(pic):
    count = [c for box in pic.boxes for c in cells(box)]
    assert len(count) == len(set(count)) == (prod(pic.shape) if pic.boxes else 0)


def check_owners(placed, axes=None, limit=(20, 20)):
    """Every box names exactly those that hold something of it (of the view, on hidden axes)."""
    pic = picture(placed, axes, limit)
    check_tiling(pic)
    assert pic.boxes == blocks(placed, axes, limit)
    where = {c: box for box in pic.boxes for c in cells(box)}
    found = {box: set() for box in pic.boxes}
    touched = set()
    for index, ranks in holders(placed).items():
        at = base_index(placed.view, index)
        cell = tuple(at[a] if a >= 0 else 0 for a in pic.axes)
        touched.add(cell)
        found[where[cell]] |= ranks
        assert placed.owner(index) in where[cell].engines
        if not where[cell].shared and len(where[cell].engines) == 1:
            assert where[cell].engines == (placed.owner(index),)
    if pic.touched is None:
        assert all(set(box.engines) == ranks for box, ranks in found.items())
    else:
        for box, ranks in found.items():
            covered = touched.issuperset(cells(box))
            assert set(box.engines) == ranks if covered else set(box.engines) >= ranks
        assert touched == set(product(*pic.touched))
        assert all(list(t) == sorted(t) for t in pic.touched)


@st.composite
def placements(draw):
    shape = tuple(draw(st.lists(st.integers(0, 7), max_size=3)))
    size = draw(st.integers(1, 6))
    words = ("*", "block", "cyclic", ("cyclic", 2), ("cyclic", 3))
    dist = tuple(draw(st.sampled_from(words)) for _ in shape)
    layout = make_layout(shape, size, dist or None)
    layout = draw(st.sampled_from([layout, replicated(len(shape), size), on_engine(len(shape), 2)]))
    view = View.whole(shape)
    for _ in range(draw(st.integers(0, 3))):
        view = draw(st.sampled_from([stepped, flipped, fixed, turned, stretched]))(view, draw)
    return Placed(shape, layout, view)


def stepped(view, draw):
    if not view.shape:
        return view
    d = draw(st.integers(0, len(view.shape) - 1))
    step = draw(st.integers(1, 3))
    start = draw(st.integers(0, view.shape[d]))
    return view.take(d, start, step, draw(st.integers(0, -(-(view.shape[d] - start) // step))))


def flipped(view, draw):
    if not view.shape:
        return view
    d = draw(st.integers(0, len(view.shape) - 1))
    return view.take(d, max(0, view.shape[d] - 1), -1, view.shape[d])


def fixed(view, draw):
    free = [d for d, n in enumerate(view.shape) if n]
    if not free:
        return view
    d = draw(st.sampled_from(free))
    return view.fix(d, draw(st.integers(0, view.shape[d] - 1)))


def turned(view, draw):
    return view.transpose(draw(st.permutations(range(len(view.shape)))))


def stretched(view, draw):
    return view.insert(0).broadcast((draw(st.integers(1, 2)), *view.shape))


@given(placements(), st.tuples(st.integers(1, 5), st.integers(1, 5)))
def test_boxes_name_the_owners(placed, limit):
    check_owners(placed)
    check_owners(placed, limit=limit)
    assert len(blocks(placed, limit=limit)) <= prod(limit)


@given(placements(), st.data())
def test_boxes_of_chosen_axes_name_the_owners(placed, data):
    can = [d for d, (a, _, _) in enumerate(placed.view.dims) if a >= 0]
    if can:
        axes = data.draw(st.permutations(can))[: data.draw(st.integers(1, 2))]
        check_owners(placed, axes)
        shown = tuple(placed.view.dims[d][0] for d in axes)
        assert picture(placed, axes).axes == (-1, *shown)[-2:]


KINDS = (Block(), SlicedBlock(30, 2, 2), Cyclic(), BlockCyclic(2), BlockCyclic(3))


@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_spans_cut_an_axis_where_the_owner_changes(kind):
    for n, p, most in product(range(9), range(1, 5), range(1, 7)):
        check_spans(kind, n, p, most)


def test_spans_of_irregular_axes():
    for cuts in product(range(6), repeat=3):
        if list(cuts) == sorted(cuts):
            for most in range(1, 5):
                check_spans(Irregular((0, *cuts, 5)), 5, 4, most)


def check_spans(kind, n, p, most):
    found = spans(kind, n, p, most)
    assert len(found) <= most
    assert [i for s in found for i in range(s.lo, s.hi)] == list(range(n))
    for s in found:
        owners = [kind.owner(n, p, i) for i in range(s.lo, s.hi)]
        assert set(s.coords) == set(owners)
        changes = sum(a != b for a, b in pairwise(owners))
        assert s.runs == changes + 1


@ALL
def test_boxes_agree_with_owner_at_sample_points(placed):
    where = picture(placed)
    view = placed.view
    rng = np.random.default_rng(0)
    for _ in range(20 if prod(view.shape) else 0):
        index = tuple(int(rng.integers(n)) for n in view.shape)
        at = base_index(view, index)
        r, c = (at[a] if a >= 0 else 0 for a in where.axes)
        (box,) = (b for b in where.boxes if r in range(*b.rows) and c in range(*b.cols))
        assert placed.owner(index) in box.engines
        assert not where.touched or (r in where.touched[0] and c in where.touched[1])


@pytest.mark.parametrize("name", ["many cyclic", "2-d cyclic", "3-d"])
def test_first_blocks_are_shown_where_all_are_too_many(name):
    placed = CASES[name]
    pic = picture(placed, limit=(3, 3))
    assert pic.corner
    for box in pic.corner:
        at = dict.fromkeys(range(len(placed.shape)), 0)
        for a, (i, _) in zip(pic.axes, (box.rows, box.cols), strict=True):
            if a >= 0:
                p = placed.layout.parts(a)
                size = placed.layout.axes[a].period(p) // p or -(-placed.shape[a] // p)
                at[a] = i * size
        assert placed.owner(tuple(at.values())) in box.engines


def test_the_default_axes_are_the_longest_that_are_split():
    assert picture(place((4, 5, 6, 7), 6, ("*", "block", "*", "block"))).axes == (1, 3)
    assert picture(place((4, 9, 6), 2, ("block",))).axes == (0, 1)
    assert picture(CASES["transposed"]).axes == (1, 0)
    assert picture(CASES["fixed"]).axes == (0, 1)
    assert picture(CASES["broadcast"]).axes == (-1, 0)
    assert picture(CASES["0-d"]).axes == (-1, -1)


@pytest.mark.parametrize("axes", [(0,), 3, (0, 1, 2), (), ("x",), (1, 1), (1, -2)])
def test_axes_that_cannot_be_shown(axes):
    placed = place((8, 9), 4, None, None, lambda v: v.insert(0))  # axis 0 is new
    with pytest.raises(LayoutError, match=r"axes: got .*, expected one or two of \[1, 2\]; choose"):
        picture(placed, axes)


@given(placements())
def test_the_place_of_a_view_is_told_in_words(placed):
    text, ndim = spell_view(placed), len(placed.shape)
    base = np.arange(prod(placed.shape)).reshape(placed.shape)
    index = [":"] * ndim
    for word, part in re.findall(r"(axis \d+|rows?|columns?|elements?) (?:at )?([-\d:]+)", text):
        axis = int(word[5:]) if word[:4] == "axis" else ndim - 1 if word[0] in "ec" else 0
        index[axis] = part
    seen = eval(f"base[{', '.join(index) or '...'}]", {"base": base})
    if text.startswith("transpose of "):
        seen = seen.T
    if order := re.search(r"axes in order \((.*?)\)", text):
        seen = seen.transpose(eval(f"[{order[1]}]"))
    strides, view = np.array(base.strides, int) // base.itemsize, placed.view
    kept = [d for d, (a, _, _) in enumerate(view.dims) if a >= 0]
    start = sum(strides[a] * i for a, i in view.fixed)
    want = np.full([view.shape[d] for d in kept], start)
    for k, d in enumerate(kept):
        a, first, step = view.dims[d]
        steps = strides[a] * (first + step * np.arange(view.shape[d]))
        want = want + steps.reshape([-1 if k == j else 1 for j in range(len(kept))])
    np.testing.assert_array_equal(seen, want)
    for d, (a, _, _) in enumerate(view.dims):
        assert (a < 0) == bool(re.search(rf"axis {d} (is new|repeats {view.shape[d]} times)", text))


# -- Text ------------------------------------------------------------------------------------------

GOLDEN = """\
(7, 4) float64, 224 B: block x * on 3 engines
engine  local shape  elements  bytes   share  of the most
     0        3 x 4        12   96 B  42.9 %  ████████████████
     1        2 x 4         8   64 B  28.6 %  ██████████▋
     2        2 x 4         8   64 B  28.6 %  ██████████▋
imbalance 1.29 (max/mean of elements), most on engine 0"""

GOLDEN_VIEW = """\
(6,) float32, 24 B
elements 7:1:-1 of base (8,), 32 B in memory: block on 4 engines
engine  local shape  elements  bytes   share  of the most
     0            2         0    0 B   0.0 %
     1            2         2    8 B  33.3 %  ████████████████
     2            2         2    8 B  33.3 %  ████████████████
     3            2         2    8 B  33.3 %  ████████████████
imbalance 1.33 (max/mean of elements), most on engine 1"""


def test_golden_text():
    assert describe(place((7, 4), 3), float) == GOLDEN
    flipped_view = place((8,), 4, view=lambda v: v.take(0, 7, -1, 6))
    assert describe(flipped_view, "f4") == GOLDEN_VIEW


def listed(placed):
    """Without the size of the session: the engines up to the last of the grid."""
    return list(range(max(placed.layout.grid.ranks()) + 1))


@ALL
def test_text_has_every_engine_and_its_elements(placed):
    rows = text_rows(describe(placed, "f8"))
    ranks = listed(placed)
    if len(ranks) <= 16:
        assert [int(row[0]) for row in rows] == ranks
        assert [int(row[2].replace(",", "")) for row in rows] == [placed.held(r) for r in ranks]
    total = sum(int(row[2].replace(",", "")) for row in rows)
    assert total == sum(placed.held(r) for r in ranks)


@pytest.mark.parametrize("size", [64, 67, 200])
def test_text_adds_up_many_engines(size):
    text = describe(place((1000,), size), "f8")
    rows = [line.split() for line in text.splitlines()[2:-2]]
    assert len(rows) <= 16
    assert sum(int(row[2]) for row in rows) == 1000
    each = {64: "4", 67: "up to 5", 200: "20"}[size]
    assert f"{size} engines in {len(rows)} rows: each row is the sum of {each}\n" in text
    held = [place((1000,), size).held(r) for r in range(size)]
    assert f"imbalance {max(held) * size / 1000:.2f}" in text


# -- The page --------------------------------------------------------------------------------------


@ALL
def test_page_is_well_formed_and_complete(placed):
    root = parse(to_html(placed, "f8", "an array"))
    svg = check_svg(root)
    ranks = listed(placed)
    rows = table(root)
    total = sum(int(row[2].replace(",", "")) for row in rows)
    assert total == sum(placed.held(r) for r in ranks)
    if len(ranks) <= 16:
        assert [row[0] for row in rows] == [str(r) for r in ranks]
        assert rows == [row[:5] for row in text_rows(describe(placed, "f8"))]
    assert marks(svg) <= MARKS
    assert "an array" in root.find(".//b").text


@pytest.mark.cases(3)
@pytest.mark.parametrize("placed", LARGE.values(), ids=LARGE)
def test_large_layouts_stay_small(placed, pyplot):
    check_svg(parse(to_html(placed, "f8", "<" * 10_000)))
    ax = plot(placed, "f8")
    assert len(ax.patches) <= MARKS
    assert len(ax.texts) <= MARKS
    assert len(describe(placed, "f8").splitlines()) <= 20
    assert len(blocks(placed)) <= 400


def test_every_block_has_its_engine_number():
    svg = check_svg(parse(to_html(CASES["2-d"], "f8")))
    texts = [text.text for text in svg.iter(f"{SVG}text")]
    assert set("012345") <= set(texts)
    for name, words in {"replicated": "on every engine: 0-3", "no elements": "no elements"}.items():
        svg = check_svg(parse(to_html(CASES[name], "f8")))
        assert words in [text.text for text in svg.iter(f"{SVG}text")]


def test_a_card_of_an_array_without_elements_has_no_picture_of_owners():
    page = card(CASES["no elements"], "f8", "[]", "")
    assert "<svg" not in page
    assert "nothing on" not in page


def test_copies_on_a_part_of_the_engines_are_not_on_every_engine():
    layout = Layout(Grid(1, (2,), (2,)), (Block(),), (-1,))
    page = to_html(Placed((4,), layout, View.whole((4,))), "f8")
    assert "on engines 1,3" in page
    assert "every" not in page


@pytest.mark.parametrize("name", ["one engine", "sub-grid", "fewer engines", "copies"])
def test_engines_outside_the_grid_hold_nothing(name):
    placed, size = CASES[name], 9
    rows = text_rows(describe(placed, "f8", size=size))
    grid = set(placed.layout.grid.ranks())
    assert [int(row[0]) for row in rows] == list(range(size))
    held = [placed.held(r) for r in range(size)]
    assert [int(row[2].replace(",", "")) for row in rows] == held
    assert [r for r in range(size) if rows[r][1] == "-"] == sorted(set(range(size)) - grid)
    assert table(parse(to_html(placed, "f8", size=size))) == [row[:5] for row in rows]
    words = f"imbalance {max(held) * size / sum(held):.2f}"
    assert words in describe(placed, "f8", size=size)


def test_every_engine_is_every_engine_of_the_session(pyplot):
    placed = CASES["replicated"]
    for size, words in {4: "on every engine: 0-3", 6: "on engines 0-3"}.items():
        svg = check_svg(parse(to_html(placed, "f8", size=size)))
        assert words in [text.text for text in svg.iter(f"{SVG}text")]
        assert plot(placed, size=size).texts[0].get_text() == words


EVIL = '<script>alert("1")</script>&\'\x00\n$'


def test_pages_escape_what_users_name():
    for title in (EVIL, "<" * 200, "&" * 200):
        root = parse(to_html(CASES["2-d"], "f8", title))
        assert root.find(".//b").text.startswith(title[:8])
    fields = np.dtype([("<script>", "f8"), ("$a$", "i4")])
    root = parse(to_html(CASES["2-d"], fields))
    assert "<script>" in "".join(root.itertext())


def test_tints_can_be_read():
    for tint in drawing.TINTS:
        for paper, ink in (((255, 255, 255), (33, 33, 33)), ((17, 17, 17), (224, 224, 224))):
            mixed = [
                drawing.OPACITY * t + (1 - drawing.OPACITY) * p
                for t, p in zip(rgb(tint), paper, strict=True)
            ]
            assert contrast(mixed, ink) >= 4.5


# -- The plot --------------------------------------------------------------------------------------


@pytest.mark.cases(6)
@ALL
def test_plot_draws_every_box(placed, pyplot):
    ax = plot(placed, "f8")
    ax.figure.canvas.draw()
    pic = picture(placed, limit=(20, 64 if picture(placed).axes[0] < 0 else 20))
    assert len(ax.patches) <= MARKS
    drawn = {tuple(float(x) for x in patch.get_bbox().extents) for patch in ax.patches}
    for box in pic.boxes:
        assert (box.cols[0], box.rows[0], box.cols[1], box.rows[1]) in drawn
    title = " ".join(ax.get_title(loc="left").split())
    assert str(placed.shape) in title
    if pic.touched is not None:
        assert spell_view(placed) in title


def test_plot_on_given_axes(pyplot):
    _, (left, right) = pyplot.subplots(1, 2)
    assert plot(CASES["2-d cyclic"], ax=left) is left
    assert plot(CASES["3-d"], ax=right, axes=(2, 0)) is right
    assert right.get_ylabel() == "axis 2"
    assert right.get_xlabel() == "axis 0"
    assert "axis 1 is not shown" in right.get_title(loc="left")
    assert len(left.figure.axes) == 2


def test_plot_prints_numbers_and_hatches(pyplot):
    assert [t.get_text() for t in plot(CASES["2-d"]).texts] == list("012345")
    everywhere = plot(CASES["replicated"])
    assert everywhere.texts[0].get_text() == "on every engine: 0-3"
    assert everywhere.patches[0].get_hatch()
    view = plot(CASES["inner"])
    assert [p.get_hatch() is None for p in view.patches] == [True] * 4 + [False] * 2 + [True]
    assert not plot(CASES["2-d"]).patches[0].get_hatch()


def test_importing_the_views_is_cheap():
    code = "import sys, distnb.widgets; assert not {'matplotlib', 'ipywidgets'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_one_line_of_a_repr_imports_no_pictures():
    code = """
import sys, distnb
with distnb.inprocess(2):
    print(repr(distnb.ones(8, dist="block")), file=sys.stderr)
found = sorted(m for m in sys.modules if m.startswith("distnb.widgets."))
print(found)
distnb.widgets.TimeReport, distnb.widgets.card, distnb.widgets.picture
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "elements in blocks on 2 engines" in done.stderr
    assert done.stdout.strip() == "['distnb.widgets.drawing', 'distnb.widgets.drawing.text']"
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        widgets.nothing  # noqa: B018
