"""Planning costs the same on few engines and on many, for few elements and for many.

What is counted are the calls made and lines run while a plan is made, loops included: not times.
They may grow with the number of peers a rank talks to, never with that of engines, blocks or
elements.
"""

import sys

import pytest

from distnb.axes import Block, BlockCyclic, Cyclic
from distnb.layout import (
    Grid,
    Layout,
    Placed,
    View,
    default_layout,
    make_layout,
    on_engine,
    replicated,
)
from distnb.slices import Section, clip, intersect, preimage
from distnb.transfer import group, plan_apply, plan_parts, plan_reduce

FEW, MANY = 8, 2048
ENGINES = [FEW, 64, MANY]
SHORT, LONG = 10**4, 10**12
#: Blocks for each engine, of a block-cyclic axis.
BLOCKS = [4, 50, 10**9]


def steps(function):
    """Return how many calls and lines a call of a function takes."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        count += event in ("call", "line")
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return count


def anew(operand):
    """Return an operand that has cached nothing yet."""
    layout = operand.layout
    grid = Grid(layout.grid.first, layout.grid.sizes, layout.grid.strides)
    return Placed(operand.shape, Layout(grid, layout.axes, layout.dims), operand.view)


def plan(operands, rank):
    """Return the plan of an operation, made from nothing."""
    out, *ins = (anew(operand) for operand in operands)
    return plan_apply.__wrapped__(rank, out, tuple(ins))


def cost(operands, rank):
    return steps(lambda: plan(operands, rank))


def peers(operands, rank):
    """Return how many ranks a rank sends to, and receives from."""
    found = plan(operands, rank)
    return len({m.peer for m in found.sends}), len({m.peer for m in found.receives})


def slices(n, layout, *cuts):
    """Return views (start, step) of a base of one axis, all as long as the shortest."""
    taken = [range(start, n if step > 0 else -1, step) for start, step in cuts]
    length = min(map(len, taken))
    whole = View.whole((n,))
    return [Placed((n,), layout, whole.take(0, r.start, r.step, length)) for r in taken]


def test_steps_count_calls_and_loops():
    """The measure sees calls, loops and comprehensions, also those inside what is called."""

    def loop(n):
        for _ in range(n):
            pass
        return [abs(i) for i in range(n)]

    def above(n):
        return loop(n)

    assert steps(lambda: above(100)) >= steps(lambda: above(10)) + 2 * 90 > 200
    assert steps(lambda: above(10)) == steps(lambda: above(10))


# Aligned and shifted operations

ALIGNED = [(0, 1)] * 3
SHIFTED = [(1, 1), (0, 1), (2, 1)]
STEPPED = [(1, 3)] * 3
FLIPPED = [(0, 1), (-1, -1)]


def cuts_of(cuts, n):
    return [(start % n, step) for start, step in cuts]


@pytest.mark.parametrize(
    ("cuts", "partners"),
    [(ALIGNED, (0, 0)), (SHIFTED, (2, 2)), (STEPPED, (0, 0)), (FLIPPED, (1, 1))],
)
def test_blocks_cost_the_same_on_any_number_of_engines_and_elements(cuts, partners):
    costs = set()
    for size in ENGINES:
        for n in (SHORT, 3 * SHORT, LONG):
            n = n // size * size  # noqa: PLW2901
            operands = slices(n, make_layout((n,), size, "block"), *cuts_of(cuts, n))
            if cuts is not STEPPED or n > 3 * size * 10:
                assert peers(operands, size // 2) == partners
                costs.add(cost(operands, size // 2))
    assert len(costs) == 1, costs


@pytest.mark.parametrize("k", [1, 2, 3, 64, 1000])
@pytest.mark.parametrize(
    ("cuts", "partners"),
    [(ALIGNED, (0, 0)), (SHIFTED, (2, 2)), (STEPPED, (0, 0)), (FLIPPED, (1, 1))],
)
def test_blocks_dealt_in_turn_cost_the_same_whatever_their_number(cuts, partners, k):
    costs = set()
    for size in ENGINES:
        for blocks in BLOCKS:
            n = size * k * blocks * 3
            operands = slices(n, make_layout((n,), size, ("cyclic", k)), *cuts_of(cuts, n))
            assert peers(operands, size // 2) == partners
            costs.add(cost(operands, size // 2))
    assert len(costs) == 1, costs


@pytest.mark.parametrize("dist", ["block", "cyclic", ("cyclic", 3), ("cyclic", 64)])
def test_ends_and_remainders_cost_a_little(dist):
    """The first, a middle and the last rank, where short blocks are: at most twice as much."""
    costs = []
    for size in (FEW, MANY):
        for n in (LONG, LONG + 1, LONG + 12345, LONG - 1):
            operands = slices(n, make_layout((n,), size, dist), *SHIFTED)
            costs += [cost(operands, rank) for rank in (0, 1, size // 2, size - 2, size - 1)]
    assert max(costs) <= 2 * min(costs), costs


def stencil(side, layout):
    """Return the output and the inputs of a five-point stencil."""
    shape, n = (side, side), side - 2
    corners = [(1, 1), (1, 1), (0, 1), (2, 1), (1, 0), (1, 2)]
    whole = View.whole(shape)
    return [Placed(shape, layout, whole.take(0, a, 1, n).take(1, b, 1, n)) for a, b in corners]


def square(side, edge, dist):
    """Return a layout of a square base over ``edge * edge`` engines."""
    return make_layout((side, side), edge * edge, (dist, dist), (edge, edge))


@pytest.mark.parametrize("dist", ["block", ("cyclic", 4)])
def test_a_stencil_costs_the_same_on_any_square_grid(dist):
    costs = set()
    for edge in (4, 8, 64):
        for side in (edge * 4 * 30, edge * 4 * 10**9):
            operands = stencil(side, square(side, edge, dist))
            rank = edge * (edge // 2) + edge // 2
            assert peers(operands, rank) == (4, 4)
            costs.add(cost(operands, rank))
    assert len(costs) == 1, costs


# Where peers are more


@pytest.mark.parametrize("to", ["block", ("cyclic", 64)])
def test_all_to_all_grows_with_the_peers_only(to):
    """From blocks to blocks dealt in turn, or back: so many steps for each peer."""
    source = "block" if to != "block" else ("cyclic", 64)
    each = {}
    for size in (FEW, 128):
        found = set()
        for blocks in (10**3, 10**8):
            n = size * size * 64 * blocks
            operands = [Placed((n,), make_layout((n,), size, d), View.whole((n,))) for d in (to, source)]
            assert peers(operands, size // 2) == (size - 1, size - 1)
            found.add(cost(operands, size // 2))
        assert len(found) == 1, found
        each[size] = found.pop() / size
    assert each[128] <= each[FEW]


def test_one_engine_to_all_grows_with_the_peers_only():
    """The engine that has it all sends to all; each other one receives, at the same cost."""
    to_all, from_one = {}, set()
    for size in (FEW, MANY):
        n = LONG // size * size
        out = Placed((n,), make_layout((n,), size), View.whole((n,)))
        operands = [out, Placed((n,), on_engine(1, 0), View.whole((n,)))]
        to_all[size] = cost(operands, 0) / size
        from_one.add(cost(operands, size // 2))
    assert to_all[MANY] <= to_all[FEW]
    assert len(from_one) == 1, from_one


# Known to grow with the engines although the peers are the same


def scalar_and_row(size):
    n = MANY * 100
    out = Placed((n,), make_layout((n,), size), View.whole((n,)))
    return [out, Placed((), replicated(0, size), View.whole(()).broadcast((n,)))]


def scalar_and_grid(size):
    shape = (MANY, MANY)
    out = Placed(shape, make_layout(shape, size, ("block", "block")), View.whole(shape))
    return [out, Placed((), replicated(0, size), View.whole(()).broadcast(shape))]


def two_block_sizes(size):
    n = MANY * 128 * 100
    dists = ("cyclic", 64), ("cyclic", 128)
    return [Placed((n,), make_layout((n,), size, d), View.whole((n,))) for d in dists]


def every_other(size):
    n = MANY * 128 * 100
    layout = make_layout((n,), size, ("cyclic", 64))
    return slices(n, layout, (0, 1), (0, 2))


def one_engine_of_a_cycle(size):
    n = MANY * 64 * 100
    return slices(n, make_layout((n,), size, ("cyclic", 64)), *[(size // 2 * 64, 64 * size)] * 2)


def empty_parts(size):
    n = 1000
    cuts = (*range(0, size // 2 * 0 + 1), *[n // 2] * (size // 2), *[n] * (size - size // 2))
    return slices(n, make_layout((n,), size, ("irregular", cuts)), (0, 1), (1, 1))


GROWING = [
    scalar_and_row,
    scalar_and_grid,
    two_block_sizes,
    every_other,
    one_engine_of_a_cycle,
    empty_parts,
]


@pytest.mark.xfail(reason="asks engines that are no peers", raises=AssertionError)
@pytest.mark.parametrize("operation", GROWING)
def test_cost_does_not_grow_with_engines_that_are_no_peers(operation):
    few, many = operation(FEW), operation(MANY)
    if peers(few, FEW // 2) != peers(many, MANY // 2):
        pytest.fail("not comparable")
    assert cost(many, MANY // 2) <= 2 * cost(few, FEW // 2)
