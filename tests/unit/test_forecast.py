"""What a cell would send in other layouts is what it then sends."""

import numpy as np
import pytest

import distnb as dnb
from distnb.geometry.layout import make_layout
from distnb.geometry.views import View
from distnb.plans.forecast import Spec, forecast
from distnb.wire.protocol import Apply, Operand
from tests.contract.support import between_engines


@pytest.fixture
def session(monkeypatch):
    monkeypatch.setattr(dnb.config, "cutoff", 0)
    monkeypatch.setattr(dnb.config, "shared", 0)  # what is lent is not sent
    with dnb.inprocess(4) as session:
        yield session


def jacobi(a):
    t = 0.25 * (a[1:-1, :-2] + a[1:-1, 2:] + a[:-2, 1:-1] + a[2:, 1:-1])
    a[1:-1, 1:-1] = t
    return t


def sums(a):
    return a.sum(axis=0), a.max(axis=1), a.mean()


def positions(a):
    return a.argmax(axis=0)


def chain(a):
    b = (a * 2).T + 1
    return b.T * a, b[::2].copy(), a + a[0]


def asked(a):
    b = dnb.empty(a.shape, dist=("*", "block"))
    b[...] = a
    return b + 1


def twice(a):
    return (a[1:] + a[:-1]) * a[:-1]


def masked(a):
    return (
        dnb.where(a > 0.5, a, a[::-1]),
        dnb.add(a, a.T, out=None, where=a > 0.2),
        divmod(a, a.T + 1),
    )


def in_place(a):
    a += a[::-1]
    for _ in range(3):
        a[1:-1] = 0.5 * (a[2:] + a[:-2])
    return a.std(axis=1), a - a.mean(axis=1, keepdims=True), a[:, :1] * a[0]


def shifted(a):
    b = a[2:] * 2 + a[:-2]
    a[1:-1] -= 0.5 * b
    b = a[1:] - a[:-1]
    a[1:] += 0.5 * b
    return b


def lattices(a):
    for i, j in ((1, 1), (2, 2), (1, 2), (2, 1)):
        c = a[i:-1:2, j:-1:2]
        around = a[i - 1 : -2 : 2, j:-1:2] + a[i + 1 :: 2, j:-1:2]
        c += 1.5 * (0.5 * around - c)


CELLS = [jacobi, sums, positions, chain, asked, twice, masked, in_place, shifted, lattices]
LARGE = [jacobi, twice, in_place, shifted, lattices]
DISTS = ["block", ("*", "block"), ("block", "block"), (("cyclic", 2), "*"), "replicated"]


def measured(session, cell, a):
    """Return the bytes that a cell sends, and its trace."""
    session.flush()
    session.journal.begin()
    window = session.start_window()
    kept = cell(a)
    report = session.end_window(window)
    session.journal.end()
    del kept
    return between_engines(report)


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.__name__)
@pytest.mark.parametrize("dist", DISTS, ids=str)
def test_a_forecast_is_what_is_sent(session, cell, dist):
    check_forecast(session, cell, dist, 24)


@pytest.mark.parametrize("cell", LARGE, ids=lambda cell: cell.__name__)
@pytest.mark.parametrize("dist", DISTS, ids=str)
def test_where_a_row_is_little_of_a_block(session, cell, dist):
    check_forecast(session, cell, dist, 96)


def check_forecast(session, cell, dist, n):
    a = dnb.random.default_rng(1).random((n, n))
    assert told(session).total == 0
    sent = measured(session, cell, a)
    assert told(session).total == sent
    moved = {a.dbase.handle: make_layout(a.shape, 4, dist)}
    then = told(session, moved).total
    a.move(dist)
    assert measured(session, cell, a) == then


def told(session, moved=None):
    cell = session.journal.computed
    return forecast(cell.commands, cell.specs, session.size, moved)


def test_lines_add_up(session):
    a = dnb.ones((24, 24))
    measured(session, jacobi, a)
    found = told(session)
    assert found.total == sum(found.sent.values()) == found.received.sum()
    lines = {session.line(s).partition(": ")[2] for s, n in found.sent.items() if n}
    assert lines == {"t = 0.25 * (a[1:-1, :-2] + a[1:-1, 2:] + a[:-2, 1:-1] + a[2:, 1:-1])"}


def test_what_depends_on_elements_is_counted_apart(session):
    a = dnb.ones(24)
    measured(session, dnb.sort, a)
    assert told(session).unknown == 1


def test_commands_of_arrays_that_nobody_knows_are_counted_apart():
    view = View.whole((3,))
    command = Apply("copy", (Operand(1, view),), (Operand(2, view),), None, (), 0)
    found = forecast([command], {1: Spec((3,), np.dtype("f8"), make_layout((3,), 2))}, 2)
    assert (found.unknown, found.commands, found.total) == (1, 0, 0)


def test_arrays_that_are_gone_are_known(session):
    a = dnb.ones((24, 24))

    def cell(a):
        b = a[1:] + a[:-1]
        del a
        return b.sum()

    session.flush()
    session.journal.begin()
    s = cell(a)
    del a
    session.flush()
    session.journal.end()
    assert float(s) == 24 * 23 * 2
    found = told(session)
    assert found.unknown == 0
    assert found.total > 0


# -- The cell that it is about ---------------------------------------------------------------------


def test_the_last_cell_is_the_last_that_computed(session):
    journal = session.journal

    def cell(run):
        journal.begin()
        kept = run()
        session.flush()
        journal.end()
        return kept, journal.computed

    a, _ = cell(lambda: dnb.ones((8, 8)))
    _, first = cell(lambda: a + 1)
    assert any(isinstance(c, Apply) for c in first.commands)
    _, again = cell(lambda: dnb.zeros(8))  # nothing is computed there
    assert again is first
    _, second = cell(lambda: a.sum())
    assert second is not first


def test_moves_are_not_what_a_cell_computes(session):
    a = dnb.ones((8, 8))
    session.flush()
    session.journal.begin()
    handle = a.dbase.handle
    a.move("cyclic")
    assert not any(isinstance(c, Apply) for c in session.journal.cell.commands)
    a.move("block")
    assert session.journal.names(a.dbase.handle)[0] == handle
    assert len(session.journal.names(a.dbase.handle)) == 3
    assert np.array_equal(a.to_numpy(), np.ones((8, 8)))
