"""Plans of all ranks together do what NumPy does, and send nothing that need not be sent."""

from itertools import combinations, product
from math import prod

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

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
    make_layout,
    on_engine,
    replicated,
)
from distnb.geometry.views import Placed, View, follow
from distnb.plans.transfer import (
    LOCAL,
    ZeroCopy,
    group,
    part_of,
    plan_apply,
    plan_parts,
    plan_reduce,
)
from distnb.testing import (
    assert_same_as_numpy,
    indices_of,
    local_parts,
    memory_of,
    placed,
    shapes,
    simulate_apply,
    view_of,
)
from tests.tiers import examples, some

SIZES = some(range(1, 8), 5)


def whole(shape, layout):
    """Return a whole base as an operand."""
    return Placed(shape, layout, View.whole(shape))


def numbered(operand, first=0):
    """Return a base for an operand whose elements are all different."""
    return np.arange(first, first + prod(operand.shape)).reshape(operand.shape)


def weigh(*pieces):
    """Return a sum in which every operand counts differently; 7 without operands."""
    return sum((x * 1000**j for j, x in enumerate(pieces)), start=7)


def numpys(operands, bases):
    """Return the output's base after NumPy has run the operation."""
    (out, *ins), (base, *others) = operands, bases
    result = base.copy()
    pieces = [view_of(b, p.view) for b, p in zip(others, ins, strict=True)]
    view_of(result, out.view)[...] = weigh(*pieces)
    return result


def check_apply(operands, size, zero_copy=None):
    """The simulated ranks end with NumPy's result, in the view and around it."""
    bases = [numbered(p, 100 * j) for j, p in enumerate(operands)]
    expected = local_parts(numpys(operands, bases), operands[0], size)
    for part, wanted in zip(
        simulate_apply(weigh, operands, bases, size, zero_copy), expected, strict=True
    ):
        assert (part is None) == (wanted is None)
        if part is not None:
            assert_same_as_numpy(part, wanted)


def plans_of(operands, size):
    return [plan_apply(rank, operands[0], tuple(operands[1:])) for rank in range(size)]


def messages_of(operands, size):
    """Return (sender, receiver, operand, shape) of all messages."""
    return [
        (rank, m.peer, m.operand, m.shape)
        for rank, plan in enumerate(plans_of(operands, size))
        for m in plan.sends
    ]


def indices_held(operand, rank):
    """Return the set of the view's indices that a rank holds."""
    owned = operand.owned(rank)
    return set() if owned is None else set(product(*map(indices_of, owned)))


@st.composite
def operations(draw, max_dims=4, max_side=6, max_ins=3):
    """Draw (operands, size): an output and inputs, some with the layout of the output."""
    size, shape = draw(st.integers(1, 7)), draw(shapes(max_dims, max_side))
    out = draw(placed(shape, size, broadcast=False))
    any_other, near = placed(shape, size), shifted(out)
    ins = draw(st.lists(st.one_of(any_other, near), max_size=max_ins))
    return (out, *ins), size


@st.composite
def shifted(draw, operand):
    """Draw a view of a base like the operand's that is shifted against it, if there is room."""
    dims = []
    for n, (a, start, step) in zip(operand.view.shape, operand.view.dims, strict=True):
        last = start + step * (n - 1)
        low, high = -min(start, last), operand.shape[a] - 1 - max(start, last)
        by = draw(st.integers(low, high)) if n else 0
        dims.append((a, start + by, step))
    return Placed(operand.shape, operand.layout, operand.view._replace(dims=tuple(dims)))


# Elementwise operations give NumPy's result


@examples(500)
@given(operations())
def test_apply_is_numpy(operation):
    """Any output, any inputs: 0-d to 4-d, empty parts, copies, one engine, grids, views."""
    check_apply(*operation)


@examples(300)
@given(operations(), st.data())
def test_lent_is_numpy(operation, data):
    """What is read in the memory of others of a node is what they would send."""
    operands, size = operation
    ranks = data.draw(st.frozensets(st.integers(0, size - 1)))
    least = tuple(data.draw(st.integers(0, 3)) for _ in operands[1:])
    zero_copy = ZeroCopy(ranks, least)
    check_apply(operands, size, zero_copy)
    plans = [plan_apply(r, operands[0], tuple(operands[1:]), zero_copy) for r in range(size)]
    sent = {(r, m.peer, m.operand, m.zero_copy) for r, p in enumerate(plans) for m in p.sends}
    received = {
        (m.peer, r, m.operand, m.zero_copy) for r, p in enumerate(plans) for m in p.receives
    }
    assert sent == received


def layouts_small(n, size):
    """Enumerate layouts of one axis: each kind, copies, one rank, some of the ranks."""
    cuts = sorted(c * c % (n + 1) for c in range(1, size))
    kinds = Block(), SlicedBlock(2 * n, n // 2), Cyclic(), BlockCyclic(2), BlockCyclic(3)
    for axis in (*kinds, Irregular((0, *cuts, n))):
        yield Layout(Grid.of((size,)), (axis,), (0,))
    yield replicated(1, size)
    yield on_engine(1, size - 1)
    yield Layout(Grid.of((size // 2 + 1,), size - size // 2 - 1), (Block(),), (0,))
    yield Layout(Grid(0, ((size + 1) // 2,), (2,)), (BlockCyclic(2),), (0,))


def views_small(n):
    """Enumerate views of an axis of length ``3*n`` with ``n`` indices, and a broadcast one."""
    whole_axis = View.whole((3 * n,))
    for start, step in [(0, 1), (1, 1), (n, 2), (0, 3), (3 * n - 1, -1), (3 * n - 2, -3)]:
        yield whole_axis.take(0, start, step, n)
    yield whole_axis.fix(0, n // 2).broadcast((n,))


@pytest.mark.cases(2)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("n", [1, 5])
def test_apply_is_numpy_small(size, n):
    """Every pair of layouts of one axis, under every kind of view."""
    base = (3 * n,)
    for to, source, view in product(
        layouts_small(n, size), layouts_small(3 * n, size), views_small(n)
    ):
        check_apply((whole((n,), to), Placed(base, source, view)), size)
    for to, source, view in product(
        layouts_small(3 * n, size), layouts_small(n, size), list(views_small(n))[:-1]
    ):
        check_apply((Placed(base, to, view), whole((n,), source)), size)


@pytest.mark.parametrize("size", [2, 3])
def test_apply_to_two_inputs_is_numpy_small(size):
    """Every three layouts: where the inputs' owners change in the middle of each other's messages."""
    n = 29
    layouts = [*list(layouts_small(n, size))[:6], Layout(Grid.of((size,)), (BlockCyclic(5),), (0,))]
    for several in product(layouts, repeat=3):
        check_apply([whole((n,), layout) for layout in several], size)


@given(operations(1, 60))
def test_apply_on_a_long_axis_is_numpy(operation):
    """Many blocks for each rank: sections of several runs in most messages and pieces."""
    check_apply(*operation)


def layouts_2d(shape, size):
    """Enumerate layouts of two axes, on grids of every kind: some leave ranks out."""
    for a in sorted({1, min(2, size), min(3, size), size}):
        for dist in product(("block", ("cyclic", 2)), repeat=2):
            yield make_layout(shape, size, dist, (a, size // a))
    yield make_layout(shape, size, "cyclic")
    yield make_layout(shape, size, ("*", "block"))
    yield replicated(2, size)
    yield Layout(Grid.of((1, size)), (Whole(), Block()), (-1, 1))
    if size % 2 == 0:  # two copies
        yield Layout(Grid.of((2, size // 2)), (Block(), Whole()), (1, -1))
        yield Layout(Grid.of((size // 2, 2)), (Whole(), Cyclic()), (-1, 0))


@pytest.mark.cases(2)
@pytest.mark.parametrize("size", SIZES)
def test_apply_is_numpy_on_2d_grids(size):
    """Every pair of layouts of two axes, the input transposed."""
    view = View.whole((7, 5)).transpose((1, 0))
    for to, source in product(layouts_2d((5, 7), size), layouts_2d((7, 5), size)):
        check_apply((whole((5, 7), to), Placed((7, 5), source, view)), size)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0), (1, 1), (0, 3)])
def test_apply_on_hardly_anything(shape, size):
    """Arrays of no or one element, in every layout, in two operands."""
    dists = ["replicated", ("engine", size - 1), "block", "cyclic"]
    usable = [d for d in dists if shape or d not in ("block", "cyclic")]
    for several in product(usable, repeat=3):
        operands = [whole(shape, make_layout(shape, size, dist)) for dist in several]
        check_apply(operands, size)


# What a plan promises


@examples(200)
@given(operations())
def test_pieces_partition_the_output(operation):
    """On each rank the pieces together are what it owns of the output, each element once."""
    operands, size = operation
    out = operands[0]
    for rank, plan in enumerate(plans_of(operands, size)):
        assert sum(prod(p.shape) for p in plan.pieces) == out.held(rank)
        assert all(prod(p.shape) for p in plan.pieces), "an empty piece"
        shape = out.local_shape(rank)
        if shape is None:
            continue
        times = np.zeros(shape, int)
        for piece in plan.pieces:
            memory_of(times, piece.shape, piece.refs[0])[...] += 1
        inside = np.zeros(out.shape, int)
        view_of(inside, out.view)[...] = 1
        assert np.array_equal(times, local_parts(inside, out, size)[rank] * (out.held(rank) > 0))


@examples(200)
@given(operations())
def test_sends_match_receives(operation):
    """Of every operand a rank sends a peer one message at most, and the peer receives just that."""
    operands, size = operation
    plans = plans_of(operands, size)
    sent = sorted(messages_of(operands, size))
    received = sorted(
        (m.peer, r, m.operand, m.shape) for r, p in enumerate(plans) for m in p.receives
    )
    assert sent == received
    assert len({message[:3] for message in sent}) == len(sent)


@examples(200)
@given(operations())
def test_ready_pieces_come_first(operation):
    """The first ``ready`` pieces need no message, each other one does; all messages are needed."""
    operands, size = operation
    for plan in plans_of(operands, size):
        remote = [{ref.source for ref in piece.refs} - {LOCAL} for piece in plan.pieces]
        assert not any(remote[: plan.ready])
        assert all(remote[plan.ready :])
        assert set().union(*remote) == set(range(len(plan.receives)))


@examples(200)
@given(operations(3, 5, 2))
def test_messages_hold_what_is_missing_and_no_more(operation):
    """Over all peers a rank gets each element of a base that it needs and lacks exactly once."""
    operands, size = operation
    out, *ins = operands
    got = {}
    for _, receiver, j, shape in messages_of(operands, size):
        got[receiver, j] = got.get((receiver, j), 0) + prod(shape)
    for (j, operand), rank in product(enumerate(ins), range(size)):
        number = view_of(numbered(operand), operand.view)
        missing = indices_held(out, rank) - indices_held(operand, rank)
        assert got.get((rank, j), 0) == len({int(number[index]) for index in missing})


@examples(200)
@given(st.data(), st.integers(1, 7), shapes(3))
def test_a_result_that_follows_a_view_exactly_needs_no_message(data, size, shape):
    operand = data.draw(placed(shape, size))
    layout, exact = follow(operand, size)
    assume(exact)
    assert_aligned((whole(shape, layout), operand), size)


def assert_aligned(operands, size):
    """Assert that all is at hand, in as few pieces as the output has sections."""
    for rank, plan in enumerate(plans_of(operands, size)):
        owned = operands[0].owned(rank)
        assert (plan.sends, plan.receives) == ((), ())
        assert plan.ready == len(plan.pieces)
        assert plan.ready == (0 if owned is None else prod(len(s) for s in owned))


@examples(200)
@given(st.data(), st.integers(1, 7), shapes(4))
def test_equal_operands_need_no_message(data, size, shape):
    """Bases of one layout, seen through one view."""
    operand = data.draw(placed(shape, size, broadcast=False))
    assert_aligned((operand,) * data.draw(st.integers(1, 4)), size)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dist", ["block", "cyclic", ("cyclic", 3), ("block", ("cyclic", 2))])
@pytest.mark.parametrize(
    "cut", [slice(None), slice(1, -1), slice(2, None, 3), slice(None, None, -2)]
)
def test_the_same_slices_of_arrays_of_one_layout_need_no_message(dist, cut, size):
    shape = (23, 11)
    taken = range(23)[cut]
    view = View.whole(shape).take(0, taken.start, taken.step, len(taken))
    operand = Placed(shape, make_layout(shape, size, dist), view)
    assert_aligned((operand,) * 3, size)


@pytest.mark.parametrize("size", SIZES)
def test_what_all_ranks_hold_is_not_sent(size):
    """Replicated operands, scalars among them, meet any output where it is."""
    shape = (6, 5)
    copies = whole(shape, replicated(2, size))
    scalar = Placed((), replicated(0, size), View.whole(()).broadcast(shape))
    row = Placed((5,), replicated(1, size), View.whole((5,)).broadcast(shape))
    for layout in layouts_2d(shape, size):
        operands = (whole(shape, layout), copies, scalar, row)
        assert messages_of(operands, size) == []
        check_apply(operands, size)


@pytest.mark.parametrize("size", SIZES)
def test_an_operand_on_one_engine_is_sent_in_one_message_to_each_other(size):
    out, source = whole((14,), make_layout((14,), size)), whole((14,), on_engine(1, 0))
    wanted = [(0, rank, 0, (out.held(rank),)) for rank in range(1, size)]
    assert messages_of((out, source), size) == wanted


@pytest.mark.parametrize("size", SIZES)
def test_a_row_that_is_broadcast_travels_once(size):
    """Along a broadcast axis a message has length 1, however long the axis."""
    shape = (3 * size, 5)
    row = Placed((5,), on_engine(1, 0), View.whole((5,)).broadcast(shape))
    operands = (whole(shape, make_layout(shape, size)), row)
    assert messages_of(operands, size) == [(0, rank, 0, (1, 5)) for rank in range(1, size)]
    check_apply(operands, size)


# The five-point stencil


ROWS, COLUMNS = 4, 5
NORTH, SOUTH, WEST, EAST = range(1, 5)


def stencil(grid):
    """Return T[1:-1,1:-1] and the five views of A of a stencil on blocks of a fixed size."""
    shape = (ROWS * grid[0], COLUMNS * grid[1])
    layout = make_layout(shape, prod(grid), ("block", "block"), grid)
    rows, columns = shape[0] - 2, shape[1] - 2

    def seen(row, column):
        view = View.whole(shape).take(0, row, 1, rows).take(1, column, 1, columns)
        return Placed(shape, layout, view)

    return (seen(1, 1), seen(1, 1), seen(0, 1), seen(2, 1), seen(1, 0), seen(1, 2))


def inner(length, blocks, c):
    """Return how many indices of block ``c`` are not at the border of the array."""
    return length - (c == 0) - (c == blocks - 1)


def halos(grid):
    """Return the messages of a stencil: an edge of each block for each neighbour that needs it."""
    found = []
    for i, j in np.ndindex(grid):
        rows, columns = inner(ROWS, grid[0], i), inner(COLUMNS, grid[1], j)
        for di, dj, operand, shape in [
            (1, 0, NORTH, (1, columns)),
            (-1, 0, SOUTH, (1, columns)),
            (0, 1, WEST, (rows, 1)),
            (0, -1, EAST, (rows, 1)),
        ]:
            if 0 <= i + di < grid[0] and 0 <= j + dj < grid[1]:
                peer = (i + di) * grid[1] + j + dj
                found.append((i * grid[1] + j, peer, operand, shape))
    return sorted(found)


GRIDS = [(p, 1) for p in SIZES] + [(1, p) for p in SIZES] + [(2, 2), (2, 3), (3, 2), (3, 3)]


@pytest.mark.parametrize("grid", GRIDS)
def test_a_stencil_sends_one_row_for_each_neighbour_and_shifted_view(grid):
    operands, size = stencil(grid), prod(grid)
    assert sorted(messages_of(operands, size)) == halos(grid)
    check_apply(operands, size)


@pytest.mark.parametrize("size", SIZES)
def test_a_stencil_on_block_rows_counts(size):
    """A rank sends a row up and a row down in one chunk each, and has one piece for each strip."""
    columns = COLUMNS - 2
    for rank, plan in enumerate(plans_of(stencil((size, 1)), size)):
        neighbours = (rank > 0) + (rank < size - 1)
        assert len(plan.sends) == len(plan.receives) == neighbours
        assert [m.shape for m in plan.sends] == [(1, columns)] * neighbours
        assert all(len(m.chunks) == 1 for m in plan.sends)
        assert (plan.ready, len(plan.pieces)) == (1, 1 + neighbours)


@pytest.mark.parametrize("size", range(2, 8))
@pytest.mark.parametrize("k", [1, 2, 5])
def test_a_shift_of_blocks_dealt_in_turn_sends_one_message(size, k):
    """Each rank sends one message to the next, with one element of each of its blocks."""
    blocks = 6
    n = size * k * blocks
    layout = make_layout((n,), size, ("cyclic", k))
    out, source = (
        Placed((n,), layout, View.whole((n,)).take(0, start, 1, n - 1)) for start in (1, 0)
    )
    wanted = [(rank, (rank + 1) % size, 0, (blocks - (rank == size - 1),)) for rank in range(size)]
    assert messages_of((out, source), size) == wanted
    check_apply((out, source), size)


# Parts


def gathered(operand, base, size):
    """Return the view, put together from the ranks' parts, and how often each element came."""
    parts = local_parts(base, operand, size)
    shape = operand.view.shape
    dense, times = np.zeros(shape, base.dtype), np.zeros(shape, int)
    for rank in range(size):
        part = plan_parts(rank, operand)
        if part is None:
            continue
        assert len(part.chunks) == len(part.places)
        packed, filled = np.zeros(part.shape, base.dtype), np.zeros(part.shape, int)
        for chunk, place in zip(part.chunks, part.places, strict=True):
            piece = memory_of(parts[rank], chunk.shape, chunk.memory)
            memory_of(packed, chunk.shape, chunk.message)[...] = piece
            memory_of(filled, chunk.shape, chunk.message)[...] += 1
            memory_of(dense, chunk.shape, place)[...] = memory_of(
                packed, chunk.shape, chunk.message
            )
            memory_of(times, chunk.shape, place)[...] += 1
        assert (filled == 1).all()
    return dense, times


@examples(300)
@given(st.data(), st.integers(1, 7), shapes(4))
def test_parts_make_up_the_view_each_element_once(data, size, shape):
    operand = data.draw(placed(shape, size))
    base = numbered(operand)
    dense, times = gathered(operand, base, size)
    assert_same_as_numpy(dense, view_of(base, operand.view))
    assert (times == 1).all()


@examples(300)
@given(st.data(), st.integers(1, 7), shapes(4))
def test_parts_scatter_to_all_copies(data, size, shape):
    """Through ``part_of`` a dense array reaches every copy of the view, and nothing else."""
    operand = data.draw(placed(shape, size, broadcast=False))
    base = numbered(operand)
    dense = -1 - np.arange(prod(shape)).reshape(shape)
    parts = local_parts(base, operand, size)
    for rank in range(size):
        owned = operand.owned(rank)
        if owned is None:
            continue
        part = part_of(rank, operand, owned)
        assert prod(part.shape) == operand.held(rank)
        for chunk, place in zip(part.chunks, part.places, strict=True):
            memory_of(parts[rank], chunk.shape, chunk.memory)[...] = memory_of(
                dense, chunk.shape, place
            )
    view_of(base, operand.view)[...] = dense
    for part, wanted in zip(parts, local_parts(base, operand, size), strict=True):
        assert part is None if wanted is None else np.array_equal(part, wanted)


def test_a_rank_without_a_part_has_no_plan_for_it():
    operand = whole((2,), make_layout((2,), 3, "block"))
    assert [plan_parts(rank, operand) is None for rank in range(4)] == [False, False, True, True]
    assert [plan_reduce(rank, operand, (0,)) is None for rank in range(4)] == [
        *(False, False, True, True)
    ]


# Reductions


def partials(operand, dropped, base, size):
    """Return each rank's partial sum, None where it holds nothing."""
    found = []
    for rank, part in enumerate(local_parts(base, operand, size)):
        plan = plan_reduce(rank, operand, dropped)
        if plan is None:
            found.append(None)
            continue
        shape, pieces = plan
        partial = np.zeros(shape, base.dtype)
        for piece in pieces:
            values = memory_of(part, piece.shape, piece.memory).sum(axis=piece.axes)
            assert values.shape == piece.partial_shape
            memory_of(partial, piece.partial_shape, piece.partial)[...] += values
        found.append(partial)
    return found


def check_reduce(operand, dropped, size):
    """Partial sums, added along each group, are NumPy's sum where the group's ranks are."""
    base = numbered(operand, 1)
    expected = view_of(base, operand.view).sum(axis=dropped)
    found = partials(operand, dropped, base, size)
    covered = np.zeros(expected.shape, bool)
    for rank, partial in enumerate(found):
        if partial is None:
            assert operand.owned(rank) is None
            continue
        members = group(operand, dropped, rank)
        assert rank in members
        assert len(set(members)) == len(members)
        assert {group(operand, dropped, member) for member in members} == {members}
        held = [found[member] for member in members if found[member] is not None]
        assert {p.shape for p in held} == {partial.shape}
        owned = operand.owned(rank)
        kept = np.ix_(*(indices_of(s) for d, s in enumerate(owned) if d not in dropped))
        assert_same_as_numpy(sum(held), expected[kept])
        covered[kept] = True
    assert covered.all() or 0 in operand.view.shape


@examples(300)
@given(st.data(), st.integers(1, 7), shapes(4, 5))
def test_reduce_is_numpy(data, size, shape):
    """Any view, summed over any of its axes: none, some, all."""
    operand = data.draw(placed(shape, size))
    dropped = data.draw(st.sets(st.sampled_from(range(len(shape))))) if shape else ()
    check_reduce(operand, tuple(sorted(dropped)), size)


@pytest.mark.parametrize("size", SIZES)
def test_reduce_is_numpy_small(size):
    """Every layout of two axes, over every subset of the axes."""
    for layout in layouts_2d((5, 7), size):
        for number in range(3):
            for dropped in combinations(range(2), number):
                check_reduce(whole((5, 7), layout), dropped, size)


def test_ranks_combine_along_the_dimensions_of_the_reduced_axes():
    """On a grid of 2 x 3 the rows of the grid, its columns, or all of it."""
    operand = whole((8, 9), make_layout((8, 9), 6, ("block", "cyclic"), (2, 3)))
    assert {group(operand, (0,), r) for r in range(6)} == {(0, 3), (1, 4), (2, 5)}
    assert {group(operand, (1,), r) for r in range(6)} == {(0, 1, 2), (3, 4, 5)}
    assert {group(operand, (0, 1), r) for r in range(6)} == {(0, 1, 2, 3, 4, 5)}
    assert {group(operand, (), r) for r in range(6)} == {(r,) for r in range(6)}
    assert group(operand, (0,), 6) == ()


def test_only_ranks_at_the_fixed_index_combine():
    view = View.whole((8, 9)).fix(0, 7)
    operand = Placed((8, 9), make_layout((8, 9), 6, ("block", "block"), (2, 3)), view)
    assert [group(operand, (0,), r) for r in range(6)] == [()] * 3 + [(3, 4, 5)] * 3


def test_ranks_that_hold_nothing_get_a_copy():
    operand = whole((2,), make_layout((2,), 4, "block"))
    assert [group(operand, (0,), rank) for rank in range(4)] == [(0, 1, 2, 3)] * 4


# Views that have something in common


@st.composite
def taken(draw, shape):
    """A view of a base of a shape."""
    view = View.whole(shape)
    for d in reversed(range(len(shape))):
        first, *rest = draw(st.slices(shape[d])).indices(shape[d])
        n = len(range(first, *rest))
        kind = draw(st.sampled_from(("slice", "fix", "stretch") if shape[d] else ("slice",)))
        if kind == "slice":
            view = view.take(d, first, rest[1], n)
        else:
            view = view.fix(d, draw(st.integers(0, shape[d] - 1)))
            if kind == "stretch":
                view = view.insert(d).broadcast((*view.shape[:d], 3, *view.shape[d:]))
    return view.transpose(draw(st.permutations(range(len(view.shape)))))


@given(st.data(), shapes(3, 7))
def test_views_meet_where_they_have_an_element_in_common(data, shape):
    places = np.arange(prod(shape)).reshape(shape)
    a, b = data.draw(taken(shape)), data.draw(taken(shape))
    both = np.intersect1d(view_of(places, a), view_of(places, b))
    assert a.meets(b) == b.meets(a) == bool(both.size)


@pytest.mark.parametrize("n", range(1, 7))
def test_views_meet_small(n):
    line = np.arange(3 * n)
    for a, b in product(views_small(n), repeat=2):
        assert a.meets(b) == bool(np.intersect1d(view_of(line, a), view_of(line, b)).size)
