"""Planning costs the same on few engines and on many, for few elements and for many.

What is counted are the calls made and lines run while a plan is made, loops included: not times.
They may grow with the number of peers a rank talks to, never with that of engines, blocks or
elements.
"""

import functools
import gc
import inspect
import sys

import pytest

from distnb.geometry.axes import (
    Block,
    BlockCyclic,
    Cyclic,
    SlicedBlock,
)
from distnb.geometry.layout import (
    Grid,
    Layout,
    default_layout,
    in_notebook,
    make_layout,
    on_engine,
    replicated,
)
from distnb.geometry.slices import (
    Section,
    clip,
    intersect,
    preimage,
)
from distnb.geometry.views import Placed, View
from distnb.ops.table import elementwise_layout
from distnb.plans.transfer import (
    group,
    plan_apply,
    plan_parts,
    plan_reduce,
)

FEW, MANY = 8, 4096
ENGINES = [FEW, 64, MANY]
SHORT, LONG = 4 * 10**4, 10**12
#: Blocks for each engine, of a block-cyclic axis.
BLOCKS = [4, 50, 10**9]


def forget():
    """Empty the caches of the package: what other tests left there must not be counted."""
    for clear in caches(*(name for name in sys.modules if name.partition(".")[0] == "distnb")):
        clear()


@functools.cache
def caches(*names):
    """Return what empties the caches of some modules, and of their classes."""
    found = []
    for module in map(sys.modules.__getitem__, names):
        for holder in (module, *filter(inspect.isclass, vars(module).values())):
            for name in vars(holder):  # by name: a static method hides the cache it wraps
                found.append(getattr(getattr(holder, name, None), "cache_clear", None))
    return {clear for clear in found if clear is not None}


def steps(function):
    """Return how many calls and lines a call of a function takes."""
    count = 0
    forget()

    def trace(frame, event, argument):
        nonlocal count
        count += event in ("call", "line")
        return trace

    before = sys.gettrace()
    gc.disable()  # its callbacks, such as that of hypothesis, would be counted
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
        gc.enable()
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

    whole, nowhere = View.whole, in_notebook
    computed = steps(lambda: (whole.__wrapped__((2, 3)), nowhere.__wrapped__(2)))
    for _ in range(2):  # neither time from a cache
        assert steps(lambda: (whole((2, 3)), nowhere(2))) == computed

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
            n = n // size * size
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
    for edge in (8, 64):
        for side in (edge * 4 * 30, edge * 4 * 10**9):
            operands = stencil(side, square(side, edge, dist))
            rank = edge * (edge // 2) + edge // 2
            assert peers(operands, rank) == (4, 4)
            costs.add(cost(operands, rank))
    assert len(costs) == 1, costs


# Results that follow a view


def new_result(ins, size):
    """Return the operands of an operation with a new result: it follows the first input."""
    shape = ins[0].view.shape
    layout = elementwise_layout(tuple((1, x) for x in ins), shape, size)
    return [Placed(shape, layout, View.whole(shape)), *ins]


def cost_on_client(ins, size):
    """Return the steps to find the layout of a result, with nothing remembered."""
    fresh = tuple((1, anew(x)) for x in ins)
    return steps(lambda: elementwise_layout(fresh, ins[0].view.shape, size))


DISTS = ["block", ("cyclic", 1), ("cyclic", 8)]


@pytest.mark.parametrize("dist", DISTS)
@pytest.mark.parametrize("cuts", [ALIGNED[1:], SHIFTED[1:], [(1, 1), (0, 1)], STEPPED[1:]])
def test_a_new_result_costs_the_same_on_any_number_of_engines_and_blocks(dist, cuts):
    costs = set()
    for size in ENGINES:
        for blocks in BLOCKS:
            n = size * 8 * blocks * 3
            ins = slices(n, make_layout((n,), size, dist), *cuts)
            costs.add((cost_on_client(ins, size), cost(new_result(ins, size), size // 2)))
    assert len(costs) == 1, costs


@pytest.mark.parametrize("dist", DISTS)
def test_a_new_result_of_a_stencil_costs_the_same_on_any_square_grid(dist):
    costs = set()
    for edge in (8, 64):
        for side in (edge * 8 * 30, edge * 8 * 10**9):
            ins = stencil(side, square(side, edge, dist))[1:]
            size, rank = edge**2, edge * (edge // 2) + edge // 2
            costs.add((cost_on_client(ins, size), cost(new_result(ins, size), rank)))
    assert len(costs) == 1, costs


def test_slices_of_results_of_slices_cost_no_more_each_time():
    """A result of a result ... of a slice has a layout as small as the first."""
    for size in (FEW, MANY):
        n = size * 1000
        (operand,) = slices(n, make_layout((n,), size), (0, 1))
        found = set()
        for _ in range(5):
            shape = (operand.view.shape[0] - 2,)
            view = Placed(operand.shape, operand.layout, operand.view.take(0, 1, 1, *shape))
            found.add(cost_on_client([view], size))
            operand = new_result([view], size)[0]
        assert max(found) <= 2 * min(found), found


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
            operands = [
                Placed((n,), make_layout((n,), size, d), View.whole((n,))) for d in (to, source)
            ]
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


# The parts of a plan


@pytest.mark.parametrize("a", [Section(0, 3, 8, 1), Section(5, 2, 12, 1), Section(1, 1, 7, 1)])
@pytest.mark.parametrize("b", [Section(2, 4, 10, 1), Section(0, 1, 9, 1), Section(3, 5, 24, 1)])
def test_sections_cost_the_same_whatever_the_number_of_runs(a, b):
    costs = {name: set() for name in ("clip", "intersect", "preimage", "mirrored")}
    for runs in (100, 10**6, LONG):
        x, y = a._replace(count=runs), b._replace(count=runs)
        end = runs * x.period
        costs["clip"].add(steps(lambda: clip(x, x.start + 1, end - x.period)))
        costs["intersect"].add(steps(lambda: intersect(x, y)))
        costs["preimage"].add(steps(lambda: preimage(x, 0, 3, end)))
        costs["mirrored"].add(steps(lambda: preimage(x, end * 3, -3, end)))
    assert {name: len(found) for name, found in costs.items()} == dict.fromkeys(costs, 1), costs


@pytest.mark.parametrize("step", [10**3 + 9, 10**6 + 3, 10**9 + 7])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_preimage_costs_no_more_than_a_run_is_long_however_long_the_step(step, sign):
    """A view with a long step meets single indices: at most all the places in a run."""
    s, n = Section(0, 16, 64, LONG), LONG // step
    found = steps(lambda: preimage(s, 0 if sign > 0 else (n - 1) * step, sign * step, n))
    assert found <= 100 * s.block


QUESTIONS = [
    lambda axis, n, p: axis.sections(n, p, p // 2),
    lambda axis, n, p: axis.size(n, p, p // 2),
    lambda axis, n, p: axis.largest(n, p),
    lambda axis, n, p: axis.owner(n, p, n // 2),
    lambda axis, n, p: axis.to_local(n, p, n // 2),
    lambda axis, n, p: axis.run(n, p, n // 2),
    lambda axis, n, p: axis.check(n, p),
    lambda axis, n, p: default_layout((n, n), p),
    lambda axis, n, p: Layout(Grid.of((p,)), (axis,), (0,)).local_shape((n,), p // 2),
]


@pytest.mark.parametrize("axis", [Block(), Cyclic(), BlockCyclic(4)], ids=lambda axis: axis.spell())
@pytest.mark.parametrize("number", range(len(QUESTIONS)))
def test_questions_cost_the_same_on_any_number_of_engines_and_elements(axis, number):
    ask = QUESTIONS[number]
    cases = [(size, size * 4 * each) for size in ENGINES for each in (3, LONG)]
    for size, n in cases:  # what is remembered is remembered now
        ask(axis, n, size)
    costs = {steps(lambda: ask(axis, n, size)) for size, n in cases}
    assert len(costs) == 1, costs


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("number", range(len(QUESTIONS) - 2))
def test_questions_of_slices_cost_the_same_on_any_number_of_engines_and_elements(step, number):
    ask = QUESTIONS[number]
    costs = set()
    for size in ENGINES:
        for each in (30, LONG):
            n = size * 4 * each
            axis = SlicedBlock(3 * size * 4 * each * step, 5, step)
            costs.add(steps(lambda: ask(axis, n, size)))
    assert len(costs) == 1, costs


@pytest.mark.parametrize("dist", ["block", ("block", "cyclic"), (("cyclic", 4), "*", "block")])
def test_asking_for_a_layout_costs_the_same_for_any_number_of_elements(dist):
    """With the engines it grows as the number of their prime factors."""
    costs = {}
    for size in (FEW, MANY):
        found = {steps(lambda: make_layout((n,) * 3, size, dist)) for n in (SHORT, LONG)}
        assert len(found) == 1, found
        costs[size] = found.pop()
    assert costs[MANY] <= 4 * costs[FEW]


PLACES = [
    lambda operand, rank: plan_parts(rank, operand),
    lambda operand, rank: plan_reduce.__wrapped__(rank, operand, (0,)),
    lambda operand, rank: plan_reduce.__wrapped__(rank, operand, ()),
    lambda operand, rank: group(operand, (), rank),
    lambda operand, rank: operand.owned(rank),
    lambda operand, rank: operand.held(rank),
    lambda operand, rank: operand.owner((7,)),
    lambda operand, rank: operand.local_shape(rank),
]


@pytest.mark.parametrize("dist", ["block", "cyclic", ("cyclic", 4)])
@pytest.mark.parametrize("number", range(len(PLACES)))
def test_parts_cost_the_same_on_any_number_of_engines_and_elements(dist, number):
    costs = set()
    for size in ENGINES:
        for blocks in BLOCKS:
            n = size * 4 * 3 * blocks
            (operand,) = slices(n, make_layout((n,), size, dist), (1, 3))
            fresh = anew(operand)
            costs.add(steps(lambda: PLACES[number](fresh, size // 2)))
    assert len(costs) == 1, costs


# Few peers among many engines. Each returns the operands, and which rank plans.


def scalar_and_blocks(size):
    n = MANY * 100
    out = Placed((n,), make_layout((n,), size), View.whole((n,)))
    return [out, Placed((), replicated(0, size), View.whole(()).broadcast((n,)))], size // 2


def scalar_and_grid(size):
    shape = (MANY, MANY)
    out = Placed(shape, make_layout(shape, size, ("block", "block")), View.whole(shape))
    return [out, Placed((), replicated(0, size), View.whole(()).broadcast(shape))], size // 2


def copies_and_dealt_blocks(size):
    n = MANY * 64 * 100
    dists = ("cyclic", 64), "replicated"
    return [Placed((n,), make_layout((n,), size, d), View.whole((n,))) for d in dists], size // 2


def two_block_sizes(size):
    n = MANY * 128 * 100
    dists = ("cyclic", 64), ("cyclic", 128)
    return [Placed((n,), make_layout((n,), size, d), View.whole((n,))) for d in dists], size // 2


def every_other_of_dealt_blocks(size):
    n = MANY * 128 * 100
    return slices(n, make_layout((n,), size, ("cyclic", 64)), (0, 1), (0, 2)), size // 2


def one_rank_of_dealt_blocks(size):
    n = MANY * 64 * 100
    cut = (size // 2 * 64, 64 * size)
    return slices(n, make_layout((n,), size, ("cyclic", 64)), cut, cut), size // 2


def empty_parts_between(size):
    n = 1000
    cuts = (0, *[n // 2] * (size - 1), n)
    return slices(n, make_layout((n,), size, ("irregular", cuts)), (0, 1), (1, 1)), 0


def two_blocks_each(size):
    """The two blocks of a rank go to two ranks; between these lie half of all ranks."""
    n = size * 128
    dists = "block", ("cyclic", 64)
    return [Placed((n,), make_layout((n,), size, d), View.whole((n,))) for d in dists], size // 2


def copies_on_all_but_one(size):
    n = MANY * 100
    copies = Placed((), replicated(0, size - 1), View.whole(()).broadcast((n,)))
    return [Placed((n,), make_layout((n,), size), View.whole((n,))), copies], size // 2


GROWING = [
    scalar_and_blocks,
    scalar_and_grid,
    copies_and_dealt_blocks,
    two_block_sizes,
    every_other_of_dealt_blocks,
    one_rank_of_dealt_blocks,
    empty_parts_between,
    two_blocks_each,
    copies_on_all_but_one,
]


@pytest.mark.parametrize("operation", GROWING)
def test_cost_does_not_grow_with_engines_that_are_no_peers(operation):
    few, many = operation(FEW), operation(MANY)
    if peers(*few) != peers(*many):
        pytest.fail("not comparable")
    assert cost(*many) <= 2 * cost(*few)


def steps_over_blocks(sections):
    n, size = 10**9, FEW
    cut = (0, sections)
    return slices(n, make_layout((n,), size, ("cyclic", 20 * sections + 1)), cut, cut), size // 2


def nearly_equal_blocks(sections):
    n, size = 10**9, FEW
    dists = ("cyclic", sections), ("cyclic", sections + 1)
    return [Placed((n,), make_layout((n,), size, d), View.whole((n,))) for d in dists], size // 2


@pytest.mark.parametrize(
    ("operation", "numbers"), [(steps_over_blocks, (10, 100)), (nearly_equal_blocks, (100, 800))]
)
def test_cost_grows_with_the_number_of_pieces_only(operation, numbers):
    few, many = (operation(number) for number in numbers)
    each = [cost(*case) / len(plan(*case).pieces) for case in (few, many)]
    assert each[1] <= 1.5 * each[0]
