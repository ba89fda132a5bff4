"""What engines were sent of an array is not sent again until somebody writes there, however he does."""

import gc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import distnb as dnb
from distnb import sparse
from distnb.client.handle import copies
from tests.contract.support import between_engines, measured, setting
from tests.failures.support import planted
from tests.tiers import examples

N = 24


def matrix(seed=1):
    """Return a random matrix of SciPy's with whole numbers."""
    found = sp.random_array((N, N), density=0.3, rng=seed, format="csr")
    found.data = np.floor(found.data * 9) - 3
    return found


def sent(session, run):
    """Return how many bytes engines give each other, sent or read in place, while something runs."""
    session.flush()
    with measured(session) as found:
        run()
        session.flush()
    return between_engines(found[0])


def dense(found):
    """Return what came out as NumPy's array."""
    found = found.toarray() if sparse.issparse(found) or sp.issparse(found) else found
    return found.to_numpy() if isinstance(found, dnb.DistArray) else np.asarray(found)


@pytest.mark.ways("one", "four", "started", "openmpi", "spmd")
@pytest.mark.parametrize("inner", [(), (3,)], ids=["vector", "columns"])
@pytest.mark.parametrize("dist", ["block", "cyclic", ("engine", 0)], ids=str)
def test_the_same_is_sent_once(session, engines_only, inner, dist):
    """Of ``A.T @ x`` that is ``x``, where it lies in another way than rows do: sums are sent again."""
    a, values = matrix(), np.arange(N * (inner[0] if inner else 1.0)).reshape(N, *inner)
    A, x = sparse.csr_array(a), dnb.array(values, dist=dist)
    several = session.size > 1
    for _ in range(2):
        A @ x, A.T @ x  # what is needed is planned
        x += 1
        values += 1
        assert (sent(session, lambda: A @ x) > 0) is several
        assert sent(session, lambda: A @ x) == 0
        first, again = [sent(session, lambda: A.T @ x) for _ in range(2)]
        assert (first > again) is (several and dist != "block")
        assert sent(session, lambda: A @ x) == 0
        np.testing.assert_allclose((A @ x).to_numpy(), a @ values)
        np.testing.assert_allclose((A.T @ x).to_numpy(), a.T @ values)


@pytest.mark.ways("one", "started")
def test_parts_and_elementwise_products_share_what_was_sent(session, engines_only):
    a, values = matrix(), np.arange(1.0, N + 1)
    A, x = sparse.csr_array(a), dnb.array(values)
    A @ x
    assert sent(session, lambda: A.multiply(x[...])) == 0  # all of it, by another name
    np.testing.assert_allclose(dense(A.multiply(x)), (a * values).toarray())
    parts = x.splits(session.size)  # what engines have, so that these are not sent
    first, again = [
        sent(session, lambda: dnb.foreach(lambda part, w: w.sum(), parts, x)) for _ in range(2)
    ]
    assert (first > 0) is (session.size > 1)
    assert again == 0


#: Ways to write into ``x``, a vector of whole numbers; ``y`` is another one. NumPy does the same.
WRITES = """
x += 1                        x[3] = 7                      x[2:9] = y[2:9]
x[...] = y                    x[::-1] -= y                  x[[1, 5, 5]] = 2
x[x > 4] = 1                  np.add(x, y, out=x)           np.add(x, y, out=x, where=y > 3)
np.copyto(x, y)               x.reshape(4, 6)[1] = 5        x.reshape(4, 6)[...] += 1
v = x[3:8]; v *= 2            v = x.reshape(-1); v += y     v = x[::2]; v[1] = 9
x.fill(3)                     x.sort()                      x.real[4] = 8
np.put(x, [0, 9], 4)          np.place(x, x > 2, [1, 0])    x, y = y, x
np.cumsum(x, out=x)           np.putmask(x, x < 2, y)       np.clip(x, 1, 3, out=x)
x.flat[2] = 6                 v = x.view(); v -= 2          x = x + 1
np.maximum.at(x, [2, 2], 9)   x.partition(4)                np.fill_diagonal(x.reshape(4, 6), 1)
x[5] = x[6]; x[6] = 2         np.random.default_rng(1).shuffle(x)
v = x[4:]; x[...] = 1; v += 1
"""
PROGRAMS = [
    part.strip() for line in WRITES.strip().splitlines() for part in line.split("  ") if part
]


def wrote(program, x, y):
    """Run a program; return both vectors, which it may have given new values."""
    names = {"np": np, "x": x, "y": y}
    exec(program, names)
    return names["x"], names["y"]


@pytest.mark.ways("one", "cutoff", "unfused", "reach", "auto", "spmd", "started")
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_write_is_seen(session, program):
    a, b = matrix(), matrix(2)
    u, v = np.arange(N) % 7.0, np.arange(N) % 5.0
    A, B = sparse.csr_array(a), sparse.csr_array(b)
    x, y = dnb.array(u), dnb.array(v)
    for _ in range(3):
        for C, c in ((A, a), (B, b), (A.T, a.T)):
            np.testing.assert_array_equal((C @ x).to_numpy(), c @ u)
            np.testing.assert_array_equal((C @ y).to_numpy(), c @ v)
        total = dnb.foreach(lambda part, w: part + w.sum(), dnb.zeros(3).splits(), x)
        np.testing.assert_array_equal(dense(total), np.full(3, u.sum()))
        if "default_rng" in program:  # other numbers than NumPy's
            x.sort()
            u.sort()
            continue
        x, y = wrote(program, x, y)
        u, v = wrote(program, u, v)


@pytest.mark.ways("one", "cutoff", "reach", "auto")
@examples(60)
@given(st.lists(st.tuples(st.sampled_from([*PROGRAMS, *["product"] * 12]), st.integers(0, 3))))
def test_any_order_of_writes_and_reads(session, steps):
    a, u, v = matrix(), np.arange(N) % 7.0, np.arange(N) % 5.0
    A, x, y = sparse.csr_array(a), dnb.array(u), dnb.array(v)
    for step, kind in steps:
        if "default_rng" in step:
            continue
        if step != "product":
            x, y = wrote(step, x, y)
            u, v = wrote(step, u, v)
        elif kind == 0:
            x.move("cyclic") if not x.at_home else None
        elif kind == 1:
            np.testing.assert_array_equal((A.T @ x).to_numpy(), a.T @ u)
        else:
            np.testing.assert_array_equal((A @ x).to_numpy(), a @ u)
            np.testing.assert_array_equal((A @ y).to_numpy(), a @ v)


def test_a_write_by_tasks_is_seen(session, engines_only):
    a, u = matrix(), np.arange(N) % 7.0
    A, x = sparse.csr_array(a), dnb.array(u)
    for k in range(3):
        np.testing.assert_array_equal((A @ x).to_numpy(), a @ u)

        def add(part, k=k):
            part += k + 1

        dnb.foreach(add, x.splits(4), update=0)
        u += k + 1
        x.move(("irregular", tuple(np.linspace(0, N, session.size + 1).astype(int).tolist())))
    np.testing.assert_array_equal((A @ x).to_numpy(), a @ u)


def kept(session):
    """Return how many copies are kept."""
    return len(session.extensions[copies.Copies]._recent)


def test_copies_go_with_what_they_are_of(session, engines_only):
    """Without the array or the matrix nothing of them stays on the engines."""
    a, u = matrix(), np.arange(N) % 7.0
    dnb.ones(3).sum().item()
    gc.collect()
    before = len(session.handles.bases())
    A, x = sparse.csr_array(a), dnb.array(u)
    there = len(session.handles.bases())
    (A @ x).to_numpy()
    del A
    gc.collect()
    assert len(session.handles.bases()) == before + 1  # x
    A = sparse.csr_array(a)
    (A @ x).to_numpy()
    several = session.size > 1
    assert len(session.handles.bases()) == there + 1 + several  # the plan, what was brought
    x += 1
    session.flush()
    assert len(session.handles.bases()) == there + 1
    (A @ x).to_numpy()
    del x
    gc.collect()
    assert len(session.handles.bases()) == there


def test_copies_are_bounded_and_give_way(session, engines_only):
    a = matrix()
    A = sparse.csr_array(a)
    vectors = [dnb.full(N, float(k)) for k in range(copies._MOST + 5)]
    for x in vectors:
        A @ x
    if session.size > 1:
        assert kept(session) == copies._MOST
        assert sent(session, lambda: A @ vectors[-1]) == 0
        assert sent(session, lambda: A @ vectors[0]) > 0
    if session.transport.rank is None and session.handles.budget.room() is not None:
        with pytest.raises(MemoryError):
            dnb.empty(session.handles.budget.room() * session.size // 8 + (1 << 30))
        assert kept(session) == 0
    for k, x in enumerate(vectors):
        np.testing.assert_array_equal((A @ x).to_numpy(), a @ np.full(N, float(k)))


def test_a_copy_that_was_lost_is_made_again():
    a, u = matrix(), np.arange(N) % 7.0
    with dnb.inprocess(3) as session, setting(cutoff=0, place="engines"):
        A, x = sparse.csr_array(a), dnb.array(u)
        session.flush()
        A @ dnb.ones(N)  # the plan is there
        fails = planted(session, 1, "op == 'sparse.multiply'", "raise ValueError('boom')")
        with fails, pytest.raises(ValueError, match="boom"):
            A @ x
            session.flush()
        np.testing.assert_array_equal((A @ x).to_numpy(), a @ u)
