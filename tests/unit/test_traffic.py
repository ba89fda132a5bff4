"""Totals of what is sent are the sums over all plans; forecasts are what commands then send."""

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distnb as dnb
from distnb.engines.collectives.reductions import Plan
from distnb.geometry.axes import Block
from distnb.geometry.layout import (
    Grid,
    Layout,
    make_layout,
    replicated,
)
from distnb.geometry.views import Placed, View
from distnb.plans.traffic import (
    counts,
    pairs,
    reduction,
    traffic,
)
from distnb.plans.transfer import plan_apply
from distnb.testing import layouts, placed, shapes
from distnb.widgets import Cost
from tests.tiers import examples

SIZES = st.integers(1, 6)


def whole(shape, size, dist=None, grid=None):
    return Placed.whole(shape, make_layout(shape, size, dist, grid))


def planned(out, operand, size):
    """Return what all plans together send and receive, and how many messages."""
    sent, received, messages = np.zeros(size, int), np.zeros(size, int), 0
    for rank in range(size):
        plan = plan_apply(rank, out, (operand,))
        for m in plan.sends:
            sent[rank] += prod(m.shape)
            messages += 1
        for m in plan.receives:
            received[rank] += prod(m.shape)
    return sent.tolist(), received.tolist(), messages


def check(out, operand, size):
    found = traffic.__wrapped__(out, operand, size)
    sent, received, messages = planned(out, operand, size)
    assert found.received.tolist() == received
    assert found.sent.tolist() == sent
    assert (found.messages, found.exact) == (messages, True)
    table = np.zeros((size, size), int)
    for sender, receiver, n in pairs(out, operand):
        table[sender, receiver] += n
    assert table.sum(axis=1).tolist() == sent
    assert table.sum(axis=0).tolist() == received
    assert np.count_nonzero(table) == messages


@examples(200)
@given(st.data(), shapes(3), SIZES)
def test_totals_are_the_sums_over_all_plans(data, shape, size):
    out, operand = data.draw(placed(shape, size, broadcast=False)), data.draw(placed(shape, size))
    check(out, operand, size)


@given(st.data(), shapes(3), SIZES)
def test_what_is_held(data, shape, size):
    operand = data.draw(placed(shape, size))
    assert counts(operand, size).tolist() == [operand.held(r) for r in range(size)]


@given(st.data(), shapes(3), SIZES)
def test_reductions_send_what_their_trees_say(data, shape, size):
    operand = data.draw(placed(shape, size, broadcast=False))
    axes = tuple(sorted(data.draw(st.sets(st.integers(0, max(0, len(shape) - 1))))))
    check_reduction(operand, axes if shape else (), size)


@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_reductions_of_what_lies_backwards(n):
    backwards = Layout(Grid(2, (3,), (-1,)), (Block(),), (0,))
    check_reduction(Placed((n,), backwards, View.whole((n,))), (0,), 3)


def check_reduction(operand, axes, size):
    shape = operand.view.shape
    found = reduction.__wrapped__(operand, axes, size)
    plans = [Plan(operand, axes, rank) for rank in range(size)]
    kept = [n for d, n in enumerate(shape) if d not in axes]
    messages = 0
    for rank, plan in enumerate(plans):
        part = 1
        for d, n in enumerate(shape):
            if d not in axes:
                m = operand.maps[d]
                at = operand.layout.grid.coords(rank)
                part *= (
                    n
                    if m is None or at is None
                    else sum(s.block * s.count for s in m.owned(at[m.gdim]))
                )
        owed = plan.owed if part else []
        messages += len(owed)
        assert found.sent[rank] == part * len(owed), kept
        assert found.received[rank] == part * len(plan.expected) * bool(part)
    assert found.messages == messages


LARGE = 4096


@pytest.mark.parametrize(
    "dists",
    [
        ("block", "cyclic"),
        (("cyclic", 3), "block"),
        (("*", "block"), "block"),
    ],
)
def test_many_engines_are_quick(dists):
    """All bytes that cross, without a list of all pairs (that would take minutes)."""
    shape = (LARGE * 5 + 3, LARGE * 3 + 1)
    out, operand = (whole(shape, LARGE, d) for d in dists)
    found = traffic.__wrapped__(out, operand, LARGE)
    assert found.received.sum() == found.sent.sum() <= prod(shape) * out.layout.copies
    assert 0 < found.messages <= LARGE**2


@given(st.data(), st.sampled_from(["block", "cyclic", ("cyclic", 3)]))
def test_bounds_of_messages_are_bounds(data, dist):
    """As if there were many engines: never less than what is sent, never more than all pairs."""
    from distnb.plans import traffic as module

    size, n = data.draw(st.integers(2, 6)), data.draw(st.integers(1, 60))
    operand = Placed.whole((n,), data.draw(layouts((n,), size)))
    out = whole((n,), size, dist)
    exact = traffic.__wrapped__(out, operand, size)
    before, module._PAIRS = module._PAIRS, 0
    try:
        bound = traffic.__wrapped__(out, operand, size)
    finally:
        module._PAIRS = before
    assert exact.messages <= bound.messages <= size * size
    assert bound.received.tolist() == exact.received.tolist()


# -- The cost of a move ----------------------------------------------------------------------------


@pytest.mark.tier("test")
def test_cost_is_what_redistribution_sends(monkeypatch):
    monkeypatch.setattr(dnb.config, "shared", 0)  # what is lent is not sent
    with dnb.inprocess(4) as session:
        a = dnb.arange(64.0 * 48, dist="block").reshape(64, 48)
        for dist in [("*", "block"), ("block", "block"), "cyclic", "replicated", ("engine", 2)]:
            cost = a.layout.cost(dist)
            session.flush()
            window = session.start_window()
            a.redistribute(dist)
            engines = session.end_window(window).engines
            quiet = session.start_window()
            rest = session.end_window(quiet).engines  # what agreeing on failures sends
            sent = [e.bytes - q.bytes for e, q in zip(engines, rest, strict=True)]
            assert cost.sent.tolist() == pytest.approx(sent, abs=8)
            assert cost.bytes == cost.received.sum() == cost.matrix.sum()
            assert cost.matrix.sum(axis=1).tolist() == cost.sent.tolist()


def test_cost_says_what_matters():
    layout = make_layout((1000, 1000), 4, ("*", "block"))
    cost = Cost(whole((1000, 1000), 4), layout, "f8", 4, bandwidth=1e9)
    assert cost.bytes == 6_000_000
    assert cost.messages == 12
    assert cost.seconds == pytest.approx(1.5e-3)
    text = repr(cost)
    assert "6 MB (75 %) in 12 messages" in text
    assert "about 1.5 ms" in text
    assert "at most 5 MB more memory" in text
    assert cost._repr_html_().count("<tr>") == 5
    assert Cost(whole((1000, 1000), 4), layout, "f8", 4).seconds is None
    same = Cost(whole((9,), 3), make_layout((9,), 3), "f8", 3)
    assert repr(same) == "block on 3 engines -> block on 3 engines\n" + same.finding
    assert "nothing is sent" in same.finding


def test_cost_on_many_engines_is_told_by_engine():
    layout = make_layout((100_000,), 200, "cyclic")
    cost = Cost(whole((100_000,), 200), layout, "f8", 200)
    assert cost.matrix is None
    assert "at most" in cost.finding
    assert "200 engines in" in repr(cost)
    assert len(repr(cost).splitlines()) <= 20


def test_what_would_take_too_long_is_not_told():
    """Copies on parts of many engines: who sends is chosen one by one."""
    n, size = 40_000, 4096
    half = Layout(Grid.of((size // 2, 2)), make_layout((n,), 2).axes, (0,))
    cost = Cost(Placed.whole((n,), half), make_layout((n,), size, "cyclic"), "f8", size)
    assert cost.sent is None
    assert "most from" not in cost.finding
    assert "?" in repr(cost)
    assert cost.bytes > 0
    copies = Cost(Placed.whole((n,), replicated(1, size - 1)), make_layout((n,), size), "f8", size)
    assert copies.sent.sum() == copies.bytes == copies.received[-1] > 0


@pytest.mark.tier("test")
def test_cost_of_an_array_in_the_notebook(monkeypatch):
    monkeypatch.setattr(dnb.config, "cutoff", 1000)
    with dnb.inprocess(2), pytest.raises(dnb.LayoutError, match="cost: got an array in the note"):
        dnb.ones(3).layout.cost("cyclic")


def test_views_move_what_they_hold():
    view = View.whole((8, 8)).take(0, 2, 2, 3).transpose((1, 0))
    check(whole((8, 3), 3, "block"), Placed((8, 8), make_layout((8, 8), 3), view), 3)
