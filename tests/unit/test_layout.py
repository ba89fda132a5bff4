"""Layouts, views, and what a rank holds of a view: against sets of indices and against NumPy."""

import pickle
import re
from itertools import combinations, product
from math import isqrt, prod

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from distnb.common.errors import LayoutError
from distnb.geometry.axes import (
    Block,
    BlockCyclic,
    Cyclic,
    Irregular,
    SlicedBlock,
    Whole,
)
from distnb.geometry.layout import (
    Grid,
    Layout,
    default_layout,
    in_notebook,
    make_layout,
    on_engine,
    replicated,
    strides_of,
)
from distnb.geometry.regrid import in_rows, regridded
from distnb.geometry.slices import intersect, interval, section
from distnb.geometry.views import (
    AxisMap,
    Placed,
    View,
    follow,
)
from distnb.testing import (
    assemble,
    axis_kinds,
    grids,
    indices_of,
    layouts,
    local_parts,
    placed,
    shapes,
    view_of,
    views,
)
from tests.tiers import examples

SIZES = st.integers(1, 7)


def numbered(shape):
    """Return an array of a shape whose elements are all different."""
    return np.arange(prod(shape)).reshape(shape)


def holders(operand, size):
    """Return, for each index of a view, the ranks that hold it, by the sections of each rank."""
    found = {index: [] for index in np.ndindex(operand.view.shape)}
    for rank in range(size):
        owned = operand.owned(rank)
        if owned is not None:
            for index in product(*map(indices_of, owned)):
                found[index].append(rank)
    return found


# Grids


def test_strides_are_those_of_numpy():
    for shape in [(), (3,), (2, 3), (4, 1, 5), (2, 3, 4, 5)]:
        assert strides_of(shape) == tuple(s // 8 for s in np.empty(shape, np.int64).strides)


def check_grid(grid):
    """Ranks are counted row by row; coordinates and ranks are inverse; other ranks have none."""
    ranks = [grid.rank(c) for c in np.ndindex(grid.sizes)]
    assert list(grid.ranks()) == ranks
    assert len(set(ranks)) == len(ranks) == grid.size
    assert (grid.lowest, grid.last) == (min(ranks), max(ranks))
    assert (ranks == sorted(ranks)) == all(
        s > 0 for n, s in zip(grid.sizes, grid.strides, strict=True) if n > 1
    )
    coords = {rank: grid.coords(rank) for rank in range(-3, max(ranks) + 10)}
    assert {r: c for r, c in coords.items() if c is not None} == dict(
        zip(ranks, np.ndindex(grid.sizes), strict=True)
    )


@pytest.mark.parametrize("sizes", [(), (1,), (5,), (2, 3), (3, 1), (1, 4), (2, 1, 3), (2, 3, 2)])
@pytest.mark.parametrize("first", [0, 3])
def test_grid_small(sizes, first):
    """Every grid, and every part of it in which some dimensions are held still."""
    whole = Grid.of(sizes, first)
    assert list(whole.ranks()) == list(range(first, first + prod(sizes)))
    for number in range(len(sizes) + 1):
        for still in combinations(range(len(sizes)), number):
            for coords in np.ndindex(*(sizes[g] for g in still)):
                check_grid(held_still(whole, dict(zip(still, coords, strict=True))))


def held_still(grid, still):
    """Return the part of a grid at some coordinates."""
    kept = [g for g in range(len(grid.sizes)) if g not in still]
    first = grid.first + sum(c * grid.strides[g] for g, c in still.items())
    return Grid(first, *(tuple(of[g] for g in kept) for of in (grid.sizes, grid.strides)))


@given(st.integers(1, 40).flatmap(grids))
def test_grid(grid):
    check_grid(grid)


# Layouts


@given(st.data(), shapes(3), SIZES)
def test_parts_cover_the_base_each_element_as_often_as_there_are_copies(data, shape, size):
    layout = data.draw(layouts(shape, size))
    base = Placed(shape, layout, View.whole(shape))
    array = numbered(shape)
    parts = local_parts(array, base, size)
    assert np.array_equal(assemble(parts, base, fill=-1), array)
    held = [part.size for part in parts if part is not None]
    assert sum(held) == layout.copies * array.size
    assert max(held) <= layout.largest_part(shape)
    assert len(held) == layout.grid.size == layout.split * layout.copies
    for rank in range(size):
        assert (layout.local_shape(shape, rank) is None) == (rank not in set(layout.grid.ranks()))


@given(st.data(), shapes(3), SIZES, SIZES)
def test_layouts_have_their_like_on_other_engines(data, shape, size, engines):
    layout = data.draw(layouts(shape, size))
    found = regridded(layout, shape, size, engines)
    found.check(shape)
    assert 0 <= found.grid.lowest <= found.grid.last < engines
    words = {type(axis) for axis in layout.axes}
    assert {type(axis) for axis in found.axes} <= words | {Block}
    if layout.grid.size == size and layout.split > 1:  # all work, where all did
        assert found.grid.size == engines
    rows = in_rows(shape, engines)
    assert rows.in_order(shape)
    assert rows.grid.last < engines


@given(st.data(), shapes(3), SIZES)
def test_largest_part_is_reached(data, shape, size):
    """On a full grid the bound is a part's size (axes are independent of one another)."""
    layout = data.draw(layouts(shape, size))
    sizes = [prod(layout.local_shape(shape, rank)) for rank in layout.grid.ranks()]
    assert max(sizes) == layout.largest_part(shape)


@given(st.data(), shapes(3), SIZES)
def test_layouts_are_values(data, shape, size):
    a, b = data.draw(layouts(shape, size)), data.draw(layouts(shape, size))
    again = Layout(Grid(a.grid.first, a.grid.sizes, a.grid.strides), a.axes, a.dims)
    assert again == a
    assert hash(again) == hash(a)
    assert len({a, b, again}) == 1 + (a != b)


@pytest.mark.parametrize("ndim", range(4))
def test_replicated_puts_all_on_every_rank(ndim):
    shape = (2, 3, 4)[:ndim]
    layout = replicated(ndim, 3)
    assert layout == Layout(Grid.of((3,)), (Whole(),) * ndim, (-1,) * ndim)
    assert [layout.local_shape(shape, r) for r in range(4)] == [shape] * 3 + [None]
    assert (layout.copies, layout.split, layout.spell()) == (3, 1, "replicated on 3")


@pytest.mark.parametrize("ndim", range(4))
def test_on_engine_puts_all_on_one_rank(ndim):
    shape = (2, 3, 4)[:ndim]
    layout = on_engine(ndim, 2)
    assert layout == Layout(Grid.of((), 2), (Whole(),) * ndim, (-1,) * ndim)
    assert [layout.local_shape(shape, r) for r in range(4)] == [None, None, shape, None]
    assert (layout.copies, layout.split, layout.spell()) == (1, 1, "on engine 2")


def test_parts_count_the_coordinates_of_each_axis():
    layout = Layout(Grid.of((2, 3, 2)), (Whole(), Block(), Cyclic()), (-1, 1, 0))
    assert [layout.parts(a) for a in range(3)] == [1, 3, 2]
    assert (layout.copies, layout.split) == (2, 6)


SPELLED = [
    (("block",), None, "block x * on 6 engines"),
    (("*", "cyclic"), None, "* x cyclic on 6 engines"),
    (("block", ("cyclic", 2)), (3, 2), "block x ('cyclic', 2) on 3x2 engines"),
    ((("irregular", (0, 1, 8)),), None, "('irregular', (0, 1, 8)) x * on 2 engines"),
    ("replicated", None, "replicated on 6"),
    (("engine", 4), None, "on engine 4"),
]


@pytest.mark.parametrize(("dist", "grid", "words"), SPELLED)
def test_spell_says_how_the_base_is_split(dist, grid, words):
    assert make_layout((8, 8), 6, dist, grid).spell() == words


def test_spell_tells_of_copies():
    layout = Layout(Grid.of((2, 3)), (Block(),), (1,))
    assert layout.spell() == "block on 2x3 engines, 2 copies"


# The default


def expected_default(shape, size):
    """Return which axis the documented rule splits, or None for copies."""
    if prod(shape) < 2:
        return None
    long_enough = [a for a, n in enumerate(shape) if n >= size]
    return long_enough[0] if long_enough else list(shape).index(max(shape))


@pytest.mark.parametrize("size", range(1, 8))
def test_default_layout_follows_its_rule(size):
    """Blocks along the first long enough, else the longest axis; copies of 0 or 1 elements."""
    for ndim in range(4):
        for shape in product((0, 1, 2, 3, 5, 8), repeat=ndim):
            axis = expected_default(shape, size)
            found = default_layout(shape, size)
            assert found == make_layout(shape, size)
            if axis is None:
                assert found == replicated(ndim, size)
            else:
                axes = tuple(Block() if a == axis else Whole() for a in range(ndim))
                dims = tuple(0 if a == axis else -1 for a in range(ndim))
                assert found == Layout(Grid.of((size,)), axes, dims)


# Asking for a layout


ACCEPTED = [
    # shape, size, dist, grid -> sizes of the grid, kinds, dims
    ((8, 9), 4, "block", None, (4,), (Block(), Whole()), (0, -1)),
    ((8, 9), 4, "cyclic", None, (4,), (Cyclic(), Whole()), (0, -1)),
    ((8, 9), 4, ("cyclic", 3), None, (4,), (BlockCyclic(3), Whole()), (0, -1)),
    ((8, 9), 4, ["cyclic", 3], None, (4,), (BlockCyclic(3), Whole()), (0, -1)),
    ((8, 9), 4, ("cyclic", "cyclic"), None, (2, 2), (Cyclic(), Cyclic()), (0, 1)),
    ((8, 9), 4, ("*", "block"), None, (4,), (Whole(), Block()), (-1, 0)),
    ((8, 9), 4, (None, "block"), None, (4,), (Whole(), Block()), (-1, 0)),
    ((8, 9), 4, ["*", "block"], None, (4,), (Whole(), Block()), (-1, 0)),
    ((8, 9), 4, ("block", "block"), None, (2, 2), (Block(), Block()), (0, 1)),
    ((8, 9), 4, ("block", "block"), (1, 3), (1, 3), (Block(), Block()), (0, 1)),
    ((8, 9), 4, ("block", "block"), [1, 3], (1, 3), (Block(), Block()), (0, 1)),
    ((8, 9), 4, "block", 3, (3,), (Block(), Whole()), (0, -1)),
    ((8, 9), 4, "block", (3,), (3,), (Block(), Whole()), (0, -1)),
    ((8, 9), 4, ("*", "block"), 3, (3,), (Whole(), Block()), (-1, 0)),
    ((8, 9), 4, None, (3,), (3,), (Block(), Whole()), (0, -1)),
    ((8, 9), 4, None, 3, (3,), (Block(), Whole()), (0, -1)),
    ((8, 9), 4, None, (2, 2), (2, 2), (Block(), Block()), (0, 1)),
    ((8, 9), 4, Cyclic(), None, (4,), (Cyclic(), Whole()), (0, -1)),
    ((8, 9), 4, (Block(), BlockCyclic(2)), None, (2, 2), (Block(), BlockCyclic(2)), (0, 1)),
    ((8,), 4, ("irregular", (0, 1, 8)), None, (2,), (Irregular((0, 1, 8)),), (0,)),
    ((8, 9), 4, ("block", 9, 1), None, (4,), (SlicedBlock(9, 1), Whole()), (0, -1)),
    ((8,), 4, ["block", 20, 1, 2], None, (4,), (SlicedBlock(20, 1, 2),), (0,)),
    ((8, 9), 4, (("block", 9, 1), "*"), None, (4,), (SlicedBlock(9, 1), Whole()), (0, -1)),
    ((8,), 4, ("irregular", [0, 1, 8]), 2, (2,), (Irregular((0, 1, 8)),), (0,)),
    ((8,), 4, (("irregular", (0, 1, 8)),), None, (2,), (Irregular((0, 1, 8)),), (0,)),
    (
        *((8, 9), 7, (("irregular", (0, 1, 8)), "block"), None),
        *((2, 3), (Irregular((0, 1, 8)), Block()), (0, 1)),
    ),
    (
        *((8, 9), 4, (("cyclic", 2), ("cyclic", 3)), None),
        *((2, 2), (BlockCyclic(2), BlockCyclic(3)), (0, 1)),
    ),
    (
        *((8, 9, 8), 8, ("block", "*", "block"), None),
        *((4, 2), (Block(), Whole(), Block()), (0, -1, 1)),
    ),
]


@pytest.mark.parametrize(("shape", "size", "dist", "grid", "sizes", "axes", "dims"), ACCEPTED)
def test_make_layout_accepts(shape, size, dist, grid, sizes, axes, dims):
    found = make_layout(shape, size, dist, grid)
    assert found == Layout(Grid.of(sizes), axes, dims)
    assert make_layout(shape, size, found) is found


@pytest.mark.parametrize("dist", ["replicated", "*", ("*",), ("*", "*"), (None, None), ()])
def test_an_array_that_is_split_nowhere_is_replicated(dist):
    assert make_layout((3, 4), 5, dist) == replicated(2, 5)


@pytest.mark.parametrize("dist", [None, "replicated", ()])
def test_a_scalar_is_replicated(dist):
    assert make_layout((), 5, dist) == replicated(0, 5)


@pytest.mark.parametrize("dist", [("engine", 0), ("engine", 3), ["engine", 4]])
@pytest.mark.parametrize("shape", [(), (3,), (3, 4), (0,)])
def test_an_array_on_one_engine(dist, shape):
    assert make_layout(shape, 5, dist) == on_engine(len(shape), dist[1])


WAYS = "'*', 'block', 'cyclic', ('cyclic', k) or ('irregular', cuts)"
ENGINE = "expected a number from 0 to 3; pass ('engine', r)"
GRID = "positive numbers with a product of at most 4; give the engines along each split axis"
POSITIVE = "positive integers; give the engines along each split axis"
NOTHING = "none, for no axis is split; leave it out or split an axis"
ON_8 = Layout(Grid.of((8,)), (Block(),), (0,))
REFUSED = [
    # dist, grid -> message, for an array of shape (8, 8) on 4 engines
    (("engine", 4), None, f"engine: got 4, {ENGINE}"),
    (("engine", -1), None, f"engine: got -1, {ENGINE}"),
    (("engine", True), None, f"engine: got True, {ENGINE}"),
    (("engine", 1.0), None, f"engine: got 1.0, {ENGINE}"),
    (("engine", "1"), None, f"engine: got '1', {ENGINE}"),
    (("block",) * 3, None, "dist: got 3 words, expected at most 2; give one word for each axis"),
    ("blok", None, f"way to split an axis: got 'blok', expected {WAYS}; use one of these for each"),
    (("block", 3), None, f"way to split an axis: got 3, expected {WAYS}; use one of these for"),
    (("*", "replicated"), None, f"way to split an axis: got 'replicated', expected {WAYS}; use"),
    (("cyclic", 0), None, "block size of a cyclic axis: got 0, expected an integer >= 1; pass k"),
    (("*", ("cyclic", 2.5)), None, "block size of a cyclic axis: got 2.5, expected an integer"),
    ("block", (2, 2), f"grid: got (2, 2), expected 1 {GRID}"),
    (("block", "block"), (4,), f"grid: got (4,), expected 2 {GRID}"),
    (("block", "block"), (2, 3), f"grid: got (2, 3), expected 2 {GRID}"),
    (("block", "block"), (0, 3), f"grid: got (0, 3), expected {POSITIVE}"),
    (("block", "block"), (-1, -3), f"grid: got (-1, -3), expected {POSITIVE}"),
    (("block", "block"), (1.0, 2), f"grid: got (1.0, 2), expected {POSITIVE}"),
    ("block", 5, f"grid: got (5,), expected 1 {GRID}"),
    (None, (5,), f"grid: got (5,), expected 1 {GRID}"),
    (("block", "block"), (True, 2), f"grid: got (True, 2), expected {POSITIVE}"),
    ("block", "4", f"grid: got 4, expected {POSITIVE}"),
    (None, 2.5, f"grid: got 2.5, expected {POSITIVE}"),
    ("replicated", (2,), f"grid: got (2,), expected {NOTHING}"),
    (("engine", 0), 2, f"grid: got (2,), expected {NOTHING}"),
    ("*", (2, 2), f"grid: got (2, 2), expected {NOTHING}"),
    (("block", 8, 1), None, "slice of a block axis: got ('block', 8, 1), expected at least 8 ind"),
    (("irregular", ()), None, "cuts of an irregular axis: got (), expected 0 numbers that rise"),
    (None, (1, 1, 1), "dist: got 3 words, expected at most 2; give one word for each axis"),
    (
        *(("irregular", (0, 1, 2, 3, 4, 8)), None),
        "cuts of irregular axes: got [5] parts, expected at most 4; give fewer cuts",
    ),
    (
        *(("block", ("irregular", (0, 1, 2, 3, 4, 8))), None),
        "cuts of irregular axes: got [0, 5] parts, expected at most 4; give fewer cuts",
    ),
    (
        *(("irregular", (0, 2, 7)), None),
        "cuts of an irregular axis: got (0, 2, 7), expected 3 numbers that rise from 0 to 8; "
        "give one cut more than there are parts",
    ),
    (
        *(("irregular", (0, 2, 8)), (3,)),
        "cuts of an irregular axis: got (0, 2, 8), expected 4 numbers that rise from 0 to 8; "
        "give one cut more than there are parts",
    ),
    (ON_8, None, "layout: got 1 axes, expected 2; pass one for the shape"),
    (
        Layout(Grid.of((8,)), (Block(), Whole()), (0, -1)),
        None,
        f"layout: got a grid of {Grid.of((8,))}, expected ranks below 4; use fewer engines",
    ),
    (
        Layout(Grid.of((2, 2), 1), (Block(), Block()), (0, 1)),
        None,
        f"layout: got a grid of {Grid.of((2, 2), 1)}, expected ranks below 4; use fewer engines",
    ),
    (
        *(Layout(Grid.of((2,)), (Irregular((0, 2, 7)), Whole()), (0, -1)), None),
        "cuts of an irregular axis: got (0, 2, 7), expected 3 numbers that rise from 0 to 8; "
        "give one cut more than there are parts",
    ),
]


@pytest.mark.parametrize(("dist", "grid", "message"), REFUSED)
def test_make_layout_says_what_was_wrong(dist, grid, message):
    """Errors read ``what: got X, expected Y; do Z``."""
    with pytest.raises(LayoutError) as caught:
        make_layout((8, 8), 4, dist, grid)
    assert str(caught.value).startswith(message)
    assert re.fullmatch(r"[a-z ]+: got .+, expected .+; .+", str(caught.value))


@given(st.data(), shapes(3), SIZES)
def test_a_layout_is_accepted_as_it_is(data, shape, size):
    layout = data.draw(layouts(shape, size))
    assert make_layout(shape, size, layout) is layout


@pytest.mark.parametrize(
    ("dist", "grid", "same"),
    [
        (("cyclic", np.int64(3)), None, ("cyclic", 3)),
        (("engine", np.int64(1)), None, ("engine", 1)),
        (("irregular", (np.int32(0), np.int64(8))), None, ("irregular", (0, 8))),
        (("irregular", np.array([0, 2, 8])), None, ("irregular", (0, 2, 8))),
        ("block", np.int64(2), Layout(Grid.of((2,)), (Block(), Whole()), (0, -1))),
        ("block", (np.int64(2),), Layout(Grid.of((2,)), (Block(), Whole()), (0, -1))),
    ],
)
def test_integers_of_numpy_are_integers(dist, grid, same):
    found, wanted = make_layout((8, 9), 4, dist, grid), make_layout((8, 9), 4, same)
    assert found == wanted
    assert found.spell() == wanted.spell()


@pytest.mark.parametrize("dist", ["block", ("block", "block")])
def test_an_empty_grid_is_refused_for_an_array_that_is_split(dist):
    with pytest.raises(LayoutError):
        make_layout((8, 9), 4, dist, ())


# Near-square grids


def squarest(size, a, b):
    """Return the smallest longest side of the blocks over all grids of two dimensions."""
    return min(max(a / g, b / (size // g)) for g in range(1, size + 1) if size % g == 0)


@pytest.mark.parametrize("size", range(1, 65))
def test_a_grid_of_a_square_array_is_as_square_as_can_be(size):
    """All engines are used, and no other two factors are closer to each other."""
    a, b = make_layout((5040, 5040), size, ("block", "block")).grid.sizes
    best = max(f for f in range(1, isqrt(size) + 1) if size % f == 0)
    assert (max(a, b), min(a, b)) == (size // best, best)


@given(st.integers(1, 64), st.lists(st.integers(1, 10**4), min_size=1, max_size=3))
def test_a_grid_uses_all_engines(size, shape):
    grid = make_layout(tuple(shape), size, ("cyclic",) * len(shape)).grid
    assert grid == Grid.of(grid.sizes)
    assert grid.size == size


@given(st.integers(1, 64), st.integers(100, 10**4), st.integers(100, 10**4))
def test_a_grid_follows_the_lengths_of_the_axes(size, a, b):
    """The longest side of a block is at most twice that of the best grid."""
    p, q = make_layout((a, b), size, ("block", "block")).grid.sizes
    assert max(a / p, b / q) <= 2 * squarest(size, a, b)


# Views


def assert_same_elements(base, view, expected):
    """Assert that a View takes the elements of a base that NumPy's view takes."""
    found = view_of(base, view)
    assert found.shape == expected.shape == view.shape
    assert np.array_equal(found, expected)


def index_axis(draw, view, array, d):
    i = draw(st.integers(0, view.shape[d] - 1))
    return view.fix(d, i), array[(slice(None),) * d + (i,)]


def slice_axis(draw, view, array, d):
    cut = draw(st.slices(view.shape[d]))
    taken = range(view.shape[d])[cut]
    found = view.take(d, taken.start, taken.step, len(taken))
    return found, array[(slice(None),) * d + (cut,)]


def insert_axis(draw, view, array, d):
    return view.insert(d), np.expand_dims(array, d)


def permute_axes(draw, view, array, d):
    order = draw(st.permutations(range(array.ndim)))
    return view.transpose(order), array.transpose(order)


def stretch(draw, view, array, d):
    shape = tuple(draw(st.sampled_from([0, 1, 2, 4])) if n == 1 else n for n in view.shape)
    shape = tuple(draw(st.lists(st.integers(1, 2), max_size=1))) + shape
    return view.broadcast(shape), np.broadcast_to(array, shape)


STEPS = [
    # a step of the view algebra, and on which axes it can be taken
    (index_axis, lambda view: [d for d, n in enumerate(view.shape) if n]),
    (slice_axis, lambda view: list(range(len(view.shape)))),
    (insert_axis, lambda view: list(range(len(view.shape) + 1)) if len(view.shape) < 5 else []),
    (permute_axes, lambda view: [0] if view.shape else []),
    (stretch, lambda view: [0] if len(view.shape) < 5 else []),
]


@examples(300)
@given(st.data(), shapes(3, 5))
def test_view_algebra_is_that_of_numpy(data, shape):
    """Any chain of indexing, slicing, transposing and broadcasting takes NumPy's elements."""
    base = numbered(shape)
    view, array = View.whole(shape), base
    for _ in range(data.draw(st.integers(1, 6))):
        step, places = data.draw(st.sampled_from(STEPS))
        where = places(view)
        if where:
            view, array = step(data.draw, view, array, data.draw(st.sampled_from(where)))
            assert_same_elements(base, view, array)


@given(st.data(), shapes(3))
def test_view_algebra_starts_from_any_view(data, shape):
    """The same from views with holes, flips and fixed indices."""
    base, view = data.draw(views(shape))
    base = numbered(base)
    array = view_of(base, view)
    step, places = data.draw(st.sampled_from(STEPS))
    where = places(view)
    assume(where)
    assert_same_elements(base, *step(data.draw, view, array, data.draw(st.sampled_from(where))))


@pytest.mark.parametrize("n", range(6))
def test_slices_of_slices_small(n):
    """Every slice of every slice of an axis takes NumPy's elements."""
    base = np.arange(n)
    steps = [s for s in range(-3, 4) if s]
    ranges = {range(n)[slice(a, b, s)] for a in range(n + 1) for b in range(n + 1) for s in steps}
    for outer in ranges:
        view = View.whole((n,)).take(0, outer.start, outer.step, len(outer))
        for step in steps:
            inner = range(len(outer))[::step]
            of_both = view.take(0, inner.start, inner.step, len(inner))
            assert_same_elements(base, of_both, base[list(outer)][::step])


def test_equal_views_are_equal_values():
    """Indexing in one order or another gives the same view, so that plans are found again."""
    whole = View.whole((4, 5, 6))
    assert whole.fix(0, 1).fix(1, 2) == whole.fix(2, 2).fix(0, 1)
    assert whole.transpose((2, 0, 1)).transpose((1, 2, 0)) == whole
    assert whole.take(1, 0, 1, 5) == whole
    assert len({whole, whole.transpose((0, 1, 2)), whole.broadcast((4, 5, 6))}) == 1


@given(st.data(), shapes(3))
def test_is_whole_is_true_of_the_whole_only(data, shape):
    base, view = data.draw(views(shape))
    assert View.whole(base).is_whole(base)
    array = numbered(base)
    same = shape == base and np.array_equal(view_of(array, view), array)
    assert not view.is_whole(base) or same


# One axis of a view on one split axis of its base


def views_of_axis(n):
    """Enumerate (start, step, extent) of views of an axis of length ``n``."""
    for step in (-4, -3, -2, -1, 1, 2, 3, 4, 6):
        for start in range(n):
            most = len(range(start, n if step > 0 else -1, step))
            yield from {(start, step, m) for m in (0, 1, 2, most - 1, most) if 0 <= m <= most}


def kinds_small(n, p):
    yield from (Block(), Cyclic(), BlockCyclic(2), BlockCyclic(3))
    yield SlicedBlock(3 * n, n // 2 + 1, 2)
    yield Irregular((0, *sorted((3 * c * c) % (n + 1) for c in range(1, p)), n))


MAPS = [
    AxisMap(axis, n, p, 0, *view)
    for n, p in [(1, 2), (5, 2), (7, 3), (13, 3), (16, 2), (9, 5), (3, 7)]
    for axis in kinds_small(n, p)
    for view in views_of_axis(n)
]


@st.composite
def axis_maps(draw, n_max=60, p_max=7):
    n, p = draw(st.integers(1, n_max)), draw(st.integers(2, p_max))
    step = draw(st.integers(-12, 12).filter(bool))
    start = draw(st.integers(0, n - 1))
    extent = draw(st.integers(0, len(range(start, n if step > 0 else -1, step))))
    return AxisMap(draw(axis_kinds(n, p)), n, p, 0, start, step, extent)


def parts_of(m):
    """Return sections to split: all of the view, pieces of it, and what other layouts own."""
    n = m.extent
    found = [s for c in range(m.p) for s in m.owned(c)]
    found += [*interval(0, n), *interval(n // 3, n - 1), *interval(n // 2, min(n, n // 2 + 1))]
    for other in (Cyclic(), BlockCyclic(2), BlockCyclic(3)):
        found += [s for p in (2, m.p) for s in other.sections(n, p, n % p)]
    return set(found)


def check_owned(m):
    """The owned sections partition the view's indices, ordered, each with its owner."""
    owners = [m.axis.owner(m.n, m.p, m.start + m.step * i) for i in range(m.extent)]
    assert [m.owner(i) for i in range(m.extent)] == owners
    for c in range(m.p):
        mine = m.owned(c)
        assert list(mine) == sorted(mine)
        listed = indices_of(mine)
        assert len(listed) == len(set(listed))
        assert set(listed) == {i for i, owner in enumerate(owners) if owner == c}


def parts_by_owner(m, s):
    """Return (part, coordinate) for all of a section, asking the candidates only."""
    return [(p, c) for c in m.candidates(s) for o in m.owned(c) for p in intersect(s, o)]


def check_split(m):
    """A split covers its section exactly once, each part with its owner; the owners were asked."""
    for s in parts_of(m):
        candidates = list(m.candidates(s))
        pairs = parts_by_owner(m, s)
        listed = [i for part, _ in pairs for i in indices_of([part])]
        assert sorted(listed) == sorted(indices_of([s]))
        assert all(m.owner(i) == c for part, c in pairs for i in indices_of([part]))
        assert candidates == sorted(set(candidates))
        assert set(candidates) <= set(range(m.p))


def check_locate(m):
    """Every part of a split lies in its owner's memory at one start with two steps."""
    for s in parts_of(m):
        for part, _ in parts_by_owner(m, s):
            at, inner, outer = m.locate(part)
            for run in range(part.count):
                for t in range(part.block):
                    i = part.start + run * part.period + t
                    local = m.axis.to_local(m.n, m.p, m.start + m.step * i)
                    assert local == at + run * outer + t * inner


AXIS_MAP_LAWS = [check_owned, check_split, check_locate]


@pytest.mark.parametrize("law", AXIS_MAP_LAWS)
def test_axis_map_small(law):
    """Each law, for every kind of axis under every small view."""
    for m in MAPS:
        law(m)


@examples(300)
@given(axis_maps())
def test_axis_map(m):
    """Each law, for drawn axes and views."""
    for law in AXIS_MAP_LAWS:
        law(m)


@pytest.mark.parametrize("step", [1, -1])
@pytest.mark.parametrize("k", [4, 8])
def test_a_shifted_cyclic_view_asks_two_coordinates_only(step, k):
    p, blocks = 16, 10
    n = p * k * blocks
    m = AxisMap(BlockCyclic(k), n, p, 0, 1 if step > 0 else n - 2, step, n - 1)
    (s,) = section(0, k, p * k, blocks)
    assert len(m.candidates(s)) == 2


# A view of a base with a layout


@examples(200)
@given(st.data(), shapes(3, 5), SIZES)
def test_every_index_is_held_by_its_owner_and_as_many_copies_as_are_free(data, shape, size):
    operand = data.draw(placed(shape, size))
    copies = prod(operand.layout.grid.sizes[g] for g in operand.free)
    counts = dict.fromkeys(range(size), 0)
    for index, ranks in holders(operand, size).items():
        assert len(ranks) == copies
        assert operand.owner(index) == ranks[0]
        for rank in ranks:
            counts[rank] += 1
    assert counts == {rank: operand.held(rank) for rank in range(size)}


@examples(200)
@given(st.data(), shapes(3, 5), SIZES)
def test_a_rank_holds_of_a_view_what_it_owns_of_the_base(data, shape, size):
    operand = data.draw(placed(shape, size))
    base = Placed(operand.shape, operand.layout, View.whole(operand.shape))
    number = view_of(numbered(operand.shape), operand.view)
    of_base = list(holders(base, size).values())
    for index, ranks in holders(operand, size).items():
        assert ranks == of_base[number[index]]


@examples(200)
@given(st.data(), shapes(2, 5), SIZES)
def test_the_source_of_an_element_holds_it_and_is_oneself_if_possible(data, shape, size):
    operand = data.draw(placed(shape, size))
    for index, ranks in holders(operand, size).items():
        where = dict(operand.pinned)
        pairs = zip(operand.maps, index, strict=True)
        where.update((m.gdim, m.owner(i)) for m, i in pairs if m is not None)
        for near in range(size):
            source = operand.source(where, near)
            assert source == near if near in ranks else source in ranks


@pytest.mark.parametrize("sizes", [(1,), (3,), (2, 2), (2, 3)])
@pytest.mark.parametrize("first", [0, 2])
def test_ranks_without_a_copy_are_strangers_of_one_rank_that_has_one(sizes, first):
    """Each takes the copy of the rank that counts it; they are spread evenly over the copies."""
    grid = Grid.of(sizes, first)
    operand = Placed((4,), Layout(grid, (Whole(),), (-1,)), View.whole((4,)))
    last = 4 * grid.size + first
    hosts = {rank: list(operand.strangers(rank, last)) for rank in grid.ranks()}
    outside = sorted(set(range(last + 1)) - set(grid.ranks()))
    assert sorted(r for guests in hosts.values() for r in guests) == outside
    assert all(operand.source({}, r) == rank for rank, guests in hosts.items() for r in guests)
    assert max(map(len, hosts.values())) - min(map(len, hosts.values())) <= 2


@given(st.data(), shapes(3), SIZES)
def test_local_shape_is_that_of_the_base(data, shape, size):
    operand = data.draw(placed(shape, size))
    for rank in range(size + 2):
        assert operand.local_shape(rank) == operand.layout.local_shape(operand.shape, rank)


@given(st.data(), shapes(3), SIZES)
def test_placed_are_values(data, shape, size):
    operand = data.draw(placed(shape, size))
    again = Placed(operand.shape, operand.layout, View(*operand.view))
    assert again == operand
    assert hash(again) == hash(operand)


# Results that stay where a view is


def followed(operand, size, **options):
    layout, exact = follow(operand, size, **options)
    return Placed(operand.view.shape, layout, View.whole(operand.view.shape)), exact


def check_follow(operand, size):
    """An exact result has the view's owners; any result has a layout that fits and balances."""
    result, exact = followed(operand, size)
    result.layout.check(result.shape)
    held = holders(result, size)
    assert all(held.values()), "elements that nobody holds"
    if exact:
        assert held == holders(operand, size)
    n = prod(result.shape)
    if result.layout.copies == 1 and n > 1 and result.layout != default_layout(result.shape, size):
        assert max(result.held(rank) for rank in range(size)) <= 2 * -(-n // size)
    return exact


@examples(300)
@given(st.data(), st.integers(1, 7), shapes(4, 9))
def test_results_of_moved_views_lie_alike(data, size, shape):
    """What is moved has the same owners, and all that follows it has the same layout."""
    operand = data.draw(placed(shape, size))
    moved = Placed(operand.shape, operand.layout, operand.moved)
    assert moved.moved == moved.view
    assert [moved.owned(r) for r in range(size)] == [operand.owned(r) for r in range(size)]
    dropped = data.draw(st.sets(st.sampled_from(range(len(shape))))) if shape else ()
    for axes in ((), tuple(dropped)):
        assert follow(moved, size, axes) == follow(operand, size, axes)


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("n", [1, 5, 8, 11])
def test_windows_of_an_axis_have_few_layouts(n, size):
    """As many as there are parts and lengths, but for those that more than one part has."""
    for width in range(1, n + 1):
        found, across = set(), 0
        for start in range(n - width + 1):
            operand = Placed((n,), make_layout((n,), size), View((width,), ((0, start, 1),)))
            across += sum(operand.owned(r) is not None for r in range(size)) > 1
            found.add(follow(operand, size, balanced=False))
        assert len(found) <= size + across


def check_follow_unbalanced(operand, size):
    """A result that need not balance is the same, or stays where the default was used instead."""
    result, exact = followed(operand, size, balanced=False)
    result.layout.check(result.shape)
    held = holders(result, size)
    assert all(held.values()), "elements that nobody holds"
    if exact:
        assert held == holders(operand, size)
    balanced, exact_too = followed(operand, size)
    default = default_layout(result.shape, size)
    assert (balanced, exact_too) in [
        (result, exact),
        (Placed(result.shape, default, result.view), False),
    ]
    return exact


def test_follow_of_nothing_backwards():
    layout = make_layout((1, 0), 2, ("*", "block"))
    check_follow(Placed((1, 0), layout, View.whole((1, 0)).take(1, -1, -1, 0)), 2)


@examples(300)
@given(st.data(), shapes(3, 7), SIZES)
def test_follow(data, shape, size):
    operand = data.draw(placed(shape, size))
    check_follow(operand, size)
    check_follow_unbalanced(operand, size)


@pytest.mark.cases(2)
@pytest.mark.parametrize("size", range(1, 8))
def test_follow_small(size):
    """Every view of one axis, for each kind; views of blocks are followed exactly."""
    for n in (1, 4, 9, 14):
        for axis in kinds_small(n, size):
            layout = Layout(Grid.of((size,)), (axis,), (0,))
            for start, step, extent in views_of_axis(n):
                operand = Placed((n,), layout, View((extent,), ((0, start, step),)))
                exact = check_follow(operand, size)
                fair = max(1, 2 * -(-extent // size))
                balanced = extent < 2 or max(map(operand.held, range(size))) <= fair
                if not axis.period(size) or (start, step, extent) == (0, 1, n):
                    assert check_follow_unbalanced(operand, size), operand
                    assert exact == balanced, operand


@pytest.mark.parametrize("p", range(2, 7))
def test_a_slice_that_is_cut_as_blocks_are_is_followed_by_blocks(p):
    """Never by blocks if it is not; always if the step is 1 and nothing is empty."""
    for n in range(1, 26):
        layout = Layout(Grid.of((p,)), (Block(),), (0,))
        for start, step, extent in views_of_axis(n):
            operand = Placed((n,), layout, View((extent,), ((0, start, step),)))
            (axis,) = follow(operand, p, balanced=False)[0].axes
            cuts = [axis.bounds(extent, p, c) for c in range(p)]
            same = cuts == [Block().bounds(extent, p, c) for c in range(p)]
            assert same or axis != Block()
            if same and step == 1 and extent >= p:
                assert axis == Block()


def test_slices_of_slices_are_followed_by_one_slice():
    n, size = 60, 3
    layout = Layout(Grid.of((size,)), (SlicedBlock(200, 7, 3),), (0,))
    operand = Placed((n,), layout, View((20,), ((0, 5, 2),)))
    found, exact = follow(operand, size, balanced=False)
    assert (found.axes, exact) == ((SlicedBlock(200, 7 + 3 * 5, 6),), True)
    assert holders(followed(operand, size, balanced=False)[0], size) == holders(operand, size)


@given(st.data(), shapes(3), SIZES)
def test_follow_of_a_whole_base_is_its_layout(data, shape, size):
    layout = data.draw(layouts(shape, size))
    found, exact = follow(Placed(shape, layout, View.whole(shape)), size)
    if found != default_layout(shape, size):
        assert exact
        assert set(found.grid.ranks()) == set(layout.grid.ranks())
        assert [(a, d) for a, d in zip(found.axes, found.dims, strict=True) if d >= 0] == [
            (a, d)
            for a, d in zip(layout.axes, layout.dims, strict=True)
            if d >= 0 and layout.grid.sizes[d] > 1
        ]


@examples(200)
@given(st.data(), shapes(3, 5), SIZES)
def test_follow_without_some_axes_keeps_the_owners_of_the_others(data, shape, size):
    """Of a reduced view, whoever holds some of what adds up to an element holds the element."""
    operand = data.draw(placed(shape, size))
    dropped = tuple(sorted(data.draw(st.sets(st.integers(0, len(shape) - 1))))) if shape else ()
    assume(dropped)
    kept = tuple(n for d, n in enumerate(shape) if d not in dropped)
    layout, exact = follow(operand, size, dropped)
    layout.check(kept)
    result = holders(Placed(kept, layout, View.whole(kept)), size)
    assert all(result.values())
    if exact:
        for index, ranks in holders(operand, size).items():
            rest = tuple(i for d, i in enumerate(index) if d not in dropped)
            assert set(ranks) <= set(result[rest])


# In the notebook


@given(st.data())
def test_what_is_in_the_notebook_is_on_no_engine_and_stays(data):
    shape, view = data.draw(views(data.draw(shapes())))
    layout = in_notebook(len(shape))
    operand = Placed(shape, layout, view)
    size = data.draw(SIZES)
    assert layout.here
    assert layout.spell() == "in the notebook"
    assert all(operand.owned(rank) is None for rank in range(size))
    assert all(layout.local_shape(shape, rank) is None for rank in range(size))
    assert follow(operand, size) == (in_notebook(len(operand.view.shape)), True)
    assert not any(found.here for found in (default_layout(shape, size), replicated(1, size)))


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_parts_in_order_are_the_array(size):
    """Where a layout says so, the ranks' parts lie one after the other as the array does."""
    words = [None, "block", "cyclic", "replicated", ("engine", 0), ("*", "block"), ("cyclic", 2)]
    seen = 0
    for shape in [(0,), (1,), (5,), (7,), (1, 6), (6, 1), (3, 4), (2, 3, 2), (1, 1, 5)]:
        for word in words:
            if isinstance(word, tuple) and word[0] == "*" and len(shape) < 2:
                continue
            layout, x = make_layout(shape, size, word), numbered(shape)
            flat, found = x.reshape(-1), np.full(x.size, -1)
            if not layout.in_order(shape):
                continue
            for rank, part in enumerate(local_parts(x, Placed.whole(shape, layout), size)):
                if part is not None:
                    start = layout.start(shape, rank)
                    found[start : start + part.size] = part.reshape(-1)
            np.testing.assert_array_equal(found, flat)
            seen += 1
    assert seen >= 20


def test_a_layout_is_sent_alike_whatever_was_asked_of_it():
    """Another thread may find out more meanwhile; and engines know equal batches by their bytes."""
    layout = make_layout((6, 4), 4, ("block", "cyclic"))
    before = pickle.dumps(layout)
    assert (layout.copies, layout.split, layout.grid.last, hash(layout))[:3] == (1, 4, 3)
    assert pickle.dumps(layout) == before
    assert pickle.loads(before) == layout
