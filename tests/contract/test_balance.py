"""Sparse arrays are cut anew in place: all that look at them stay true, by themselves only if it pays."""

import numpy as np
import pytest
import scipy.sparse as sp

import distnb as dnb
from distnb import sparse
from distnb.client.parts import partners
from distnb.client.sparse import balance
from tests.contract.support import measured, setting
from tests.failures.support import planted

N = 200


def by_degree(n=N, seed=1):
    """Return a matrix whose first rows have most elements: whole numbers, so sums have no error."""
    rng = np.random.default_rng(seed)
    lengths = np.maximum(1, (n / 2 / np.arange(1, n + 1) ** 0.7).astype(int))
    rows = np.repeat(np.arange(n), lengths)
    columns = np.concatenate([rng.choice(n, k, replace=False) for k in lengths])
    return sp.csr_array((rng.integers(1, 9, len(rows)) * 1.0, (rows, columns)), shape=(n, n))


def uneven(n, parts):
    """Return cuts that leave most to the first part."""
    return (0, *[n - parts + 1 + r for r in range(parts - 1)], n)


@pytest.mark.ways("one", "four", "spmd", "started", "openmpi")
@pytest.mark.parametrize("fmt", ["csr", "csc"])
def test_all_that_look_at_an_array_stay_true(session, engines_only, fmt):
    a = by_degree().asformat(fmt)
    x = np.arange(N) % 7.0
    A = getattr(sparse, f"{fmt}_array")(a)
    turned, double, elements, places = A.T, A * 2, A.data, A.indices
    part, copy = A.data[3:9], A.copy()
    for cuts in (
        uneven(N, session.size),
        tuple(N * r // session.size for r in range(session.size + 1)),
    ):
        weights = np.zeros(N)
        weights[np.array([c - 1 for c in cuts[1:]])] = 1
        assert dnb.repartition(A, by=weights, axis=A.axis) is A
        assert A.layout.cuts == cuts
        for found, want in ((A, a), (turned, a.T), (double, a * 2), (copy, a)):
            np.testing.assert_array_equal((found @ x).to_numpy(), want @ x)
            np.testing.assert_array_equal(found.toarray().to_numpy(), want.toarray())
        assert A.layout.cuts == turned.layout.cuts == double.layout.cuts
        elements[0] += 1  # the same memory as ever
        a.data[0] += 1
        part *= 3
        a.data[3:9] *= 3
        copy, double = A.copy(), A * 2
        np.testing.assert_array_equal(places.to_numpy(), a.indices)
        np.testing.assert_array_equal((A @ x).to_numpy(), a @ x)
        np.testing.assert_array_equal((A @ A).toarray().to_numpy(), (a @ a).toarray())


@pytest.mark.ways("one", "four", "started")
def test_nothing_but_elements_and_indices_move(session, engines_only):
    a = by_degree()
    A = sparse.csr_array(a, dist=("irregular", uneven(N, session.size)))
    session.flush()
    with measured(session) as found:
        dnb.repartition(A)
    assert A.layout.imbalance <= 1.05
    sent = sum(rank.bytes for op in found[0].ops for rank in op.ranks)
    assert sent <= a.nnz * 12 + N * 8 * 3 + 64 * session.size**2


@pytest.mark.parametrize("op", ["sparse.count", "copy", "sparse.rowwise"])
@pytest.mark.parametrize("rank", [0, 2])
def test_an_error_in_between_leaves_arrays_whole(op, rank):
    a, u = by_degree(), np.arange(N) % 5.0
    with dnb.inprocess(3) as three, setting(cutoff=0, place="engines"):
        A, x = sparse.csr_array(a), dnb.array(u, dist="block")
        M = dnb.array(np.outer(u, u[:3]), dist="block")
        dnb.together(A, x, M)
        T, cuts = A.T, A.layout.cuts
        for move in (lambda: dnb.repartition(A), lambda: x.move(("irregular", (0, 20, 60, N)))):
            fails = planted(three, rank, f"op == {op!r}", "raise MemoryError('boom')")
            with fails, pytest.raises(MemoryError, match="boom"):
                move()
            assert A.layout.cuts == cuts
            assert x.layout.base == dnb.ones(N, dist="block").layout.base
            np.testing.assert_array_equal((A @ x).to_numpy(), a @ u)
            np.testing.assert_array_equal((T @ x).to_numpy(), a.T @ u)
            np.testing.assert_array_equal(M.to_numpy(), np.outer(u, u[:3]))
        dnb.repartition(A)
        assert A.layout.imbalance < 1.05
        assert x.layout.base.spell() == f"('irregular', {A.layout.cuts}) on 3 engines"
        np.testing.assert_array_equal((A @ x).to_numpy(), a @ u)


# -- by itself -----------------------------------------------------------------------------------


@pytest.fixture
def alone(session, engines_only, monkeypatch):
    """A session in which nobody has seen parts; times are what engines would take for elements."""
    if session.size == 1 or session.transport.rank is not None:
        pytest.skip("nobody to balance with, or no common clock")
    monkeypatch.setattr(session, "by_parts", False)
    monkeypatch.setattr(session.memory, "shown", False)

    def take(seconds_an_element, speeds=None):
        def seconds_of(_, handles):
            (x,) = alive
            if handles != (x.structure.indptr.dbase.handle,):
                return np.zeros(session.size)  # of plans
            each = np.array(x.layout.nnz) * seconds_an_element * x.structure.rounds
            return each if speeds is None else each * np.array(speeds)

        for module in (balance, partners):
            monkeypatch.setattr(module, "seconds_of", seconds_of)

    alive = []
    with setting(rebalance="auto"):
        yield take, alive


@pytest.mark.ways("four", "started")
def test_bad_cuts_are_found_within_ten_rounds(session, alone):
    take, alive = alone
    take(1e-3)
    a, u = by_degree(), np.arange(N) % 5.0
    A, x = sparse.csr_array(a), dnb.array(u)
    alive.append(A)
    before = A.layout.imbalance
    assert before > 1.3
    window = session.start_window()
    for _ in range(10):
        np.testing.assert_array_equal((A @ x).to_numpy(), a @ u)
        np.testing.assert_array_equal((A.T @ x).to_numpy(), a.T @ u)
    assert A.layout.imbalance <= 1.05
    report = session.end_window(window)
    text = str(report)
    assert f"were {before:.2f} of the mean" in report.notes[0]
    assert "cut anew after 4 products" in text
    assert "since it was cut anew a product takes" in text
    with dnb.inprocess(session.size), setting(rebalance="off"):
        assert sparse.csr_array(a).layout.imbalance == before
    assert not session.end_window(session.start_window()).notes


def test_parts_are_compared_often_at_first_and_ever_more_rarely(session, alone, monkeypatch):
    found = []
    monkeypatch.setattr(balance, "_price", lambda s: found.append(s.rounds) or np.inf)
    take, alive = alone
    take(1e-3)
    a, u = by_degree(), np.arange(N) % 5.0
    A = sparse.csr_array(a)
    alive.append(A)
    for _ in range(20):
        A @ u
    assert found == [4, 5, 6, 7, 8, 10, 12, 14, 16, 20]


def test_what_does_not_pay_is_left(session, alone):
    take, alive = alone
    take(1e-9)
    a, u = by_degree(), np.arange(N) % 5.0
    A = sparse.csr_array(a)
    alive.append(A)
    cuts = A.layout.cuts
    for _ in range(20):
        A @ u
    assert A.layout.cuts == cuts
    take(1e-3)
    with setting(rebalance="off"):
        for _ in range(20):
            A @ u
    session.by_parts = True  # results of functions of parts may depend on the cuts
    for _ in range(40):
        A @ u
    assert A.layout.cuts == cuts
    dnb.together(A, rebalance=True)  # the user says so
    for _ in range(60):
        A @ u
    assert A.layout.imbalance <= 1.05


def test_slow_engines_get_less_and_are_asked_once(session, alone):
    take, alive = alone
    take(1e-3, speeds=[3.0, *[1.0] * (session.size - 1)])
    a = by_degree()
    A = sparse.csr_array(a, dist="nnz")
    x = dnb.array(np.arange(N) % 5.0)
    alive.append(A)
    even = A.layout.cuts
    for _ in range(64):
        np.testing.assert_array_equal((A @ x).to_numpy(), a @ (np.arange(N) % 5.0))
    assert A.layout.cuts[1] < even[1]
    assert A.layout.nnz[0] < a.nnz / session.size / 2
    elements = np.array(A.layout.nnz) * [3.0, *[1.0] * (session.size - 1)]
    assert max(elements) < 1.4 * np.median(elements)


def test_tasks_of_parts_are_rounds_if_the_user_says_so(session, alone):
    take, alive = alone
    take(1e-3)
    a = by_degree()
    A, sums = sparse.csr_array(a), dnb.zeros(N, dist="block")
    alive.append(A)
    dnb.together(A, sums, rebalance=True)

    def add(part, mine):
        mine += part.sum(axis=1)

    for _ in range(9):
        dnb.foreach(add, A.splits(), sums.splits(), update=1)
    assert A.layout.imbalance <= 1.05
    assert sums.layout.base.spell() == f"('irregular', {A.layout.cuts}) on {session.size} engines"
    np.testing.assert_array_equal(sums.to_numpy(), 9 * a.sum(axis=1))


def test_a_failure_to_balance_is_told_and_harms_nothing(session, alone, monkeypatch):
    take, alive = alone
    take(1e-3)
    a, u = by_degree(), np.arange(N) % 5.0
    A = sparse.csr_array(a)
    alive.append(A)
    cuts = A.layout.cuts

    def fail(*_):
        raise MemoryError("no room")

    monkeypatch.setattr(balance, "cut_together", fail)
    for k in range(7):
        if k == 3:
            with pytest.warns(RuntimeWarning, match="could not be cut anew: no room"):
                found = A @ u
        else:
            found = A @ u
        np.testing.assert_array_equal(found.to_numpy(), a @ u)
    assert A.layout.cuts == cuts


@pytest.mark.ways("four", "spmd", "started")
def test_balance_by_what_engines_took(session, engines_only):
    a, u = by_degree(), np.arange(N) % 5.0
    A, x, M = sparse.csr_array(a), dnb.array(u, dist="block"), dnb.zeros((N, 3), dist="block")
    dnb.together(A, x, M)
    for _ in range(3):
        (A @ x).to_numpy()
    assert dnb.repartition(A, by="time") is A
    np.testing.assert_array_equal((A @ x).to_numpy(), a @ u)
    x += 1
    x.sum().item()
    assert dnb.repartition(x, by="time") is x
    np.testing.assert_array_equal((A @ x).to_numpy(), a @ (u + 1))
    assert A.layout.cuts[-1] == N


def test_costs_say_where_parts_end():
    from distnb.client.sparse.structure import shares

    np.testing.assert_allclose(shares((0, 10, 10, 20), (1.0, 5.0, 1.0)), [20 / 3, 40 / 3])
    np.testing.assert_allclose(shares((0, 6, 12), (2.0, 1.0)), [4.5])
    assert shares((0, 0, 0), (1.0, 1.0)).tolist() == [0]


@pytest.mark.ways("one", "four")
def test_a_plot_tells_who_has_most(session, engines_only):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    a = by_degree()
    A = sparse.csr_array(a)
    for even in (False, True):
        ax = A.layout.plot()
        drawn = [round(bar.get_width()) for bar in ax.patches]
        assert drawn == list(A.layout.nnz)
        title = ax.get_title(loc="left")
        assert f"{a.nnz:,} stored elements on {session.size} engines" in title
        if session.size > 1 and not even:
            assert f"Engine {int(np.argmax(drawn))} holds most" in title
        texts = [t.get_text() for t in ax.texts]
        assert [int(t.split()[0].replace(",", "")) for t in texts] == drawn
        pyplot.close(ax.figure)
        dnb.repartition(A)
    figure, axes = pyplot.subplots()
    assert A.tocsc().layout.plot(ax=axes) is axes
    with pytest.raises(TypeError, match="ax: got 5, expected matplotlib axes"):
        A.layout.plot(5)
    assert "columns" in axes.get_yticklabels()[0].get_text()
    pyplot.close(figure)
    many = type(A.layout)("rows", tuple(range(41)), tuple(range(1, 41)))
    ax = many.plot()
    assert not ax.texts
    assert "Engine 39 holds most: 1.95 times the mean" in ax.get_title(loc="left")
    pyplot.close(ax.figure)
