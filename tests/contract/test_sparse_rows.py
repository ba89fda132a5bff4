"""Triplets are brought into rows once until somebody writes there: elements or either coordinate."""

import gc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import distnb as dnb
from distnb import sparse
from distnb.client.handle import copies
from tests.contract.support import measured, setting
from tests.contract.test_copies import dense, kept
from tests.failures.support import planted
from tests.tiers import examples

M, N = 20, 24


def triplets(seed=1):
    """Return elements, rows and columns, in no order: some places are there twice."""
    rng = np.random.default_rng(seed)
    data = rng.integers(-3, 6, 90).astype(float)
    return data, rng.integers(0, M, 90), rng.integers(0, N, 90)


def both(arrays):
    """Return the array of triplets, and SciPy's, each of which shows its own arrays."""
    data, *coords = arrays
    ours = [dnb.array(x) for x in arrays]
    found = sparse.coo_array((ours[0], tuple(ours[1:])), shape=(M, N))
    return found, sp.coo_array((data, tuple(coords)), shape=(M, N))


def brought(session, run):
    """Return how often elements are sent to where their rows, or columns, are."""
    session.flush()
    with measured(session) as found:
        run()
        session.flush()
    return sum(op.calls for op in found[0].ops if op.op in ("sparse.route", "sparse.turn"))


X, Y = np.arange(N) % 5.0, np.arange(M) % 7.0
#: What reads a matrix ``A``.
READS = {
    "A @ x": lambda A, x, y: A @ x,
    "A @ X": lambda A, x, y: A @ x.reshape(-1, 2)[:, :1].repeat(2, axis=0),
    "y @ A": lambda A, x, y: y @ A,
    "A.T @ y": lambda A, x, y: A.T @ y,
    "toarray": lambda A, x, y: A.toarray(),
    "sum 0": lambda A, x, y: A.sum(axis=0),
    "sum 1": lambda A, x, y: A.sum(axis=1),
    "max": lambda A, x, y: A.max(axis=1),
    "mean": lambda A, x, y: A.mean(axis=0),
    "count": lambda A, x, y: A.count_nonzero(axis=1),
    "diagonal": lambda A, x, y: A.diagonal(),
    "rows": lambda A, x, y: A[[3, 1, 3]],
    "points": lambda A, x, y: A[[3, 1], [2, 5]],
    "times x": lambda A, x, y: A.multiply(x),
    "plus": lambda A, x, y: A + A,
    "above": lambda A, x, y: A > 2,
    "A @ A.T": lambda A, x, y: A @ A.T,
}


@pytest.mark.ways("one", "four", "started", "spmd")
@pytest.mark.parametrize("read", READS.values(), ids=[*READS])
def test_rows_are_made_once(session, engines_only, read):
    A, a = both(triplets())
    x, y = dnb.array(X), dnb.array(Y)
    first = brought(session, lambda: read(A, x, y))
    assert first > 0
    assert brought(session, lambda: [read(A, x, y) for _ in range(3)]) == 0
    np.testing.assert_allclose(dense(read(A, x, y)), dense(read(a.copy(), X, Y)))
    for part in (A.data, A.row, A.col):
        part[4] = 2
        assert brought(session, lambda: read(A, x, y)) == first
    for part in (a.data, a.coords[0], a.coords[1]):
        part[4] = 2
    np.testing.assert_allclose(dense(read(A, x, y)), dense(read(a.copy(), X, Y)))


@pytest.mark.ways("one", "started")
def test_columns_and_rows_of_the_transposed_are_one(session, engines_only):
    A, a = both(triplets())
    x, y = dnb.array(X), dnb.array(Y)
    assert brought(session, lambda: (A @ x, A.T @ y)) == 2
    assert brought(session, lambda: (y @ A, A.T.sum(axis=0), A.sum(axis=1), A.sum(axis=0))) == 0
    np.testing.assert_array_equal((A.T @ y).to_numpy(), a.T @ Y)
    square = sparse.coo_array((A.data, (A.row, A.row)), shape=(N, N))
    other = sparse.coo_array((A.data, (A.row, A.col)), shape=(N, N))
    for _ in range(2):  # of the same elements
        np.testing.assert_array_equal(
            (square @ x).to_numpy(), sp.coo_array((a.data, (a.row, a.row)), shape=(N, N)) @ X
        )
        np.testing.assert_array_equal((other @ x).to_numpy()[:M], a @ X)
    assert brought(session, lambda: (square @ x, other @ x, A @ x)) == 0


@pytest.mark.ways("one", "started", "spmd")
@pytest.mark.parametrize("axis", [0, 1])
def test_what_stands_for_compressed_is_turned_once(session, engines_only, axis):
    A, a = both(triplets())
    B, b = (A.tocsr(), a.tocsr()) if axis == 0 else (A.tocsc(), a.tocsc())
    C = B.tocoo(copy=False)
    x = dnb.array(X)

    def reads(B):
        return [B.count_nonzero(axis=0), B.count_nonzero(axis=1), B @ x, B.sum(axis=0)]

    for one in (B, C):
        assert brought(session, lambda one=one: reads(one)) == (one is B)
        assert brought(session, lambda one=one: reads(one)) == 0
    B.data[3] = 50
    b.data[3] = 50
    expected = [b.count_nonzero(axis=0), b.count_nonzero(axis=1), b @ X, b.sum(axis=0)]
    for one in (B, C):
        for found, right in zip(reads(one), expected, strict=True):
            np.testing.assert_array_equal(found.to_numpy(), right)


#: Ways to write into a matrix ``A``, or arrays of the user; SciPy does the same.
WRITES = [
    "A.data[3] = 7",
    "A.data *= 2",
    "A.row[5] = 0",
    "A.col[...] = A.col[::-1].copy()",
    "v = A.data[2:9]; v += 1",
    "v = A.coords[0].reshape(9, 10); v[1] = 3",
    "v = A.col[::2]; v[1] = 9",
    "np.add(A.data, 1, out=A.data)",
    "A.data[A.data > 3] = -1",
    "A.row[[1, 5, 5]] = 2",
    "np.clip(A.col, 0, 11, out=A.col)",
    "A.data.fill(3)",
    "A.row.sort()",
    "np.copyto(A.data, A.data[::-1].copy())",
    "B = A.tocsr(); B.data[...] = 9; B.sum_duplicates()",
    "B = A.tocsr(); B.data += 9; A = A * 2",
    "B = A.tocsc(); B.data *= 0; B.eliminate_zeros()",
    "B = A.tocsr().tocoo(); B.data[...] = 5; B.setdiag(4)",
    "B = A.T; B.data[2] = 8",
    "B = A.T; B.row[2] = 8",
    "B = A.copy(); B.data[2] = 8",
    "A = A.T.T; A.data = A.data + 1",
    "A.data = A.data * 0.5",
    "A.sum_duplicates()",
    "A.sum_duplicates(); A.data[1] = 6",
    "A.eliminate_zeros()",
    "A.setdiag(3)",
    "A = A.tocsr().tocoo()",
    "A = A.tocsr().tocoo(); A.data[0] = 5",
    "A = A.tocsc().tocoo(); A.data[0] = 5",
    "A = A.tocsc().tocoo(copy=False); A.data[...] += 5",
]


def wrote(program, A):
    """Run a program; return the matrix, which it may have given another value."""
    names = {"np": np, "A": A}
    exec(program, names)
    return names["A"]


def check(A, a, x, y):
    np.testing.assert_array_equal((A @ x).to_numpy(), a @ X)
    np.testing.assert_array_equal((A.T @ y).to_numpy(), a.T @ Y)
    np.testing.assert_array_equal(A.sum(axis=0).to_numpy(), a.sum(axis=0))
    np.testing.assert_array_equal(A.toarray().to_numpy(), a.toarray())


@pytest.mark.ways("one", "cutoff", "unfused", "reach", "auto", "spmd", "started")
@pytest.mark.parametrize("program", WRITES)
def test_a_write_is_seen(session, program):
    A, a = both(triplets())
    x, y = dnb.array(X), dnb.array(Y)
    for _ in range(3):
        check(A, a, x, y)
        A, a = wrote(program, A), wrote(program, a)
    check(A, a, x, y)


@pytest.mark.ways("one", "cutoff", "reach", "auto")
@examples(40)
@given(st.lists(st.sampled_from([*WRITES, *["read"] * 12, *["move"] * 3]), max_size=12))
def test_any_order_of_writes_and_reads(session, steps):
    A, a = both(triplets())
    x, y = dnb.array(X), dnb.array(Y)
    for step in steps:
        if step == "move":
            A.data.move("cyclic") if not A.data.at_home else None
        elif step == "read":
            check(A, a, x, y)
        elif "reshape(9" not in step or A.nnz == 90:
            try:
                A = wrote(step, A)
            except ValueError as error:  # places of what stands for a compressed array
                assert "read-only" in str(error)
                continue
            a = wrote(step, a)
    check(A, a, x, y)


@pytest.mark.ways("one", "started")
def test_after_messages_of_others_nothing_is_trusted(session, engines_only, monkeypatch):
    A, _ = both(triplets())
    x = dnb.array(X)
    A @ x
    assert brought(session, lambda: A @ x) == 0
    monkeypatch.setattr(type(session.transport), "foreign", session.transport.foreign + 1)
    assert brought(session, lambda: A @ x) == 1
    assert brought(session, lambda: A @ x) == 0


def test_rows_go_with_each_of_what_they_are_of(session, engines_only):
    x = dnb.array(X)
    dnb.ones(3).sum().item()
    gc.collect()
    for keep in range(3):
        arrays = [dnb.array(z) for z in triplets()]
        session.flush()
        there = len(session.handles.bases())
        A = sparse.coo_array((arrays[0], tuple(arrays[1:])), shape=(M, N))
        (A @ x).to_numpy()
        assert len(session.handles.bases()) >= there + 3
        stays = arrays[keep]
        del A, arrays
        gc.collect()
        session.flush()
        assert len(session.handles.bases()) == there - 2
        del stays
        gc.collect()


def test_rows_are_bounded_and_give_way(session, engines_only):
    x, (_, row, col) = dnb.array(X), [dnb.array(z) for z in triplets()]
    many = [dnb.full(90, float(k)) for k in range(copies._MOST + 5)]
    made = [sparse.coo_array((data, (row, col)), shape=(M, N)) for data in many]
    for A in made:
        A @ x
    assert kept(session) == copies._MOST
    first, last = [brought(session, lambda A=A: A @ x) for A in (made[0], made[-1])]
    assert (first, last) == (1, 0)
    session.extensions[copies.Copies].forget()
    assert kept(session) == 0
    assert brought(session, lambda: made[-1] @ x) == 1


def test_rows_that_were_lost_are_made_again():
    with dnb.inprocess(3) as session, setting(cutoff=0, place="engines"):
        A, a = both(triplets())
        session.flush()
        fails = planted(session, 1, "op == 'sparse.hold'", "raise ValueError('boom')")
        with fails, pytest.raises(ValueError, match="boom"):
            A @ dnb.array(X)
            session.flush()
        np.testing.assert_array_equal((A @ dnb.array(X)).to_numpy(), a @ X)
