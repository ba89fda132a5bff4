"""Groups of commands: what runs in one pass, and what is never stored."""

import numpy as np
import pytest

from distnb.engines.fusion.groups import Group, Spec, schedule
from distnb.geometry.layout import make_layout
from distnb.geometry.views import View
from distnb.wire.protocol import Apply, Collective, Create, Free, Operand, Reduce

F8, LAYOUT = np.dtype("f8"), make_layout((6,), 2)
X, MASK, LEFT, SQUARE, TOTAL = range(5)


def of(base, n=6):
    return Operand(base, View.whole((n,)))


def made(base, shape=(6,)):
    layout = make_layout(shape, 2) if shape else make_layout((), 2, "replicated")
    return Create(base, shape, F8.str, layout, ("empty",), 0)


LEAVES = Collective("compress", (of(LEFT),), (of(X, 10), of(MASK, 10)), (), 0)
SQUARES = Apply("square", (of(SQUARE),), (of(LEFT),), None, (), 0)


def planned(*commands):
    layout = make_layout((10,), 2)
    specs = {X: Spec((10,), F8, layout), MASK: Spec((10,), np.dtype(bool), layout)}
    plan = schedule(commands, specs, fuse=True)
    return plan, [item for item in plan.items if isinstance(item, Group)]


def test_what_a_mask_leaves_goes_into_a_reduction_tile_by_tile():
    plan, groups = planned(
        made(LEFT), LEAVES, made(SQUARE), SQUARES, made(TOTAL, ()),
        Reduce("sum", TOTAL, of(SQUARE), (0,), F8.str, 0), Free((LEFT, SQUARE)),
    )  # fmt: skip
    (group,) = groups
    assert group.tail is not None
    assert (plan.dead, plan.reduced) == ({LEFT}, {SQUARE})


def test_without_steps_between_too():
    plan, groups = planned(
        made(LEFT), LEAVES, made(TOTAL, ()),
        Reduce("max", TOTAL, of(LEFT), (0,), F8.str, 0), Free((LEFT,)),
    )  # fmt: skip
    (group,) = groups
    assert group.tail is not None
    assert plan.reduced == {LEFT}


def test_what_somebody_has_is_stored():
    plan, groups = planned(made(LEFT), LEAVES, made(SQUARE), SQUARES)
    assert (len(groups), plan.dead, plan.reduced) == (1, set(), set())


@pytest.mark.parametrize("written", [X, MASK])
def test_what_is_read_as_it_lies_is_not_written_in_the_same_pass(written):
    writes = Apply("copy", (of(written),), (of(LEFT),), None, (), 0)
    _, groups = planned(made(LEFT), LEAVES, writes, Free((LEFT,)))
    assert [len(group.commands) for group in groups] == [1, 1]
    writes = writes._replace(ins=(of(SQUARE),))
    _, groups = planned(made(SQUARE), writes, made(LEFT), LEAVES)
    assert [len(group.commands) for group in groups] == [1, 1]
