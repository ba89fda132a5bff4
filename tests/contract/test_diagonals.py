"""Triangles and diagonals agree with NumPy over layouts and views."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distnb as dnb
from distnb import testing
from tests.contract.support import DTYPES, agree, numbered, pair, same
from tests.tiers import examples

DISTS = [None, "cyclic", ("*", "block"), ("block", "cyclic"), "replicated", ("engine", 0)]


@given(st.data())
@examples(15)
def test_any_view(session, data):
    shape = data.draw(testing.shapes(max_dims=4, max_side=5).filter(lambda s: len(s) > 1))
    x, a, _, _ = pair(data.draw, shape, session.size)
    k = data.draw(st.integers(-6, 6))
    same(np.tril(a, k), np.tril(x, k))
    same(np.triu(a, k), np.triu(x, k))
    i, j = data.draw(st.permutations(range(x.ndim)))[:2]
    same(np.diagonal(a, k, i, j), np.diagonal(x, k, i, j))
    rtol = 1e-3 if x.dtype.itemsize < 8 else 1e-10
    same(np.trace(a, k, i, j), np.trace(x, k, i, j), rtol)


@pytest.mark.parametrize("dist", DISTS, ids=str)
def test_layouts(session, books, dist):
    x = numbered((6, 5))
    a = dnb.array(x, dist=dist)
    for k in (-7, -2, 0, 1, 4, 9):
        for name in ("tril", "triu", "diag", "diagonal", "trace"):
            numpys = getattr(np, name)
            books.add(numpys(a, k), numpys(x, k), (name, k))
        for n in (0, 1, 5):
            books.add(np.diag(a[0, :n], k), np.diag(x[0, :n], k), (n, k))
    books.add(np.diagflat(a[:2, :2], 1), np.diagflat(x[:2, :2], 1), "flat")


def test_what_is_written_after_is_seen(session):
    x = numbered((6, 6))
    a = dnb.array(x)
    found = a.diagonal()
    for y in (a, x):
        y[::-1, 0] = 0
        y[...] = y.T.copy()
    same(found, np.diagonal(x))
    b = np.diag(found)
    b[0] += 1
    y = np.diag(np.diagonal(x))
    y = y + np.arange(6.0)[:, None] * 0
    y[0] += 1
    same(b, y)


def test_special_values_stay(session):
    x = np.array([[-0.0, np.nan], [np.inf, -0.0]])
    for found, wanted in (
        (dnb.tril(dnb.array(x)), np.tril(x)),
        (dnb.diagonal(dnb.array(x)), np.diagonal(x)),
    ):
        assert found.to_numpy().tobytes() == wanted.tobytes()


def test_made(session, books):
    for n, m, k in ((3, None, 0), (4, 2, -1), (2, 5, 2), (0, 3, 0), (5, 4, 9)):
        for dtype in DTYPES[::4]:
            books.add(dnb.tri(n, m, k, dtype), np.tri(n, m, k, dtype), (n, m, k))
    for dtype in (np.int8, bool, np.float32, np.complex128):
        x = numbered((5,), dtype)
        for n in (None, 0, 1, 2, 7):
            for up in (True, False):
                books.add(dnb.vander(dnb.array(x), n, up), np.vander(x, n, up), (n, up), 1e-6)


def test_errors(session):
    x = numbered((3, 3))
    a = dnb.array(x)
    for call in (
        lambda m, x: m.tril(x[0, 0]),
        lambda m, x: m.triu(x[0], 1),
        lambda m, x: m.diagonal(x[0]),
        lambda m, x: m.diagonal(x, 0, 1, 1),
        lambda m, x: m.diagonal(x, 0, 0, 2),
        lambda m, x: m.diagonal(x, 1.5),
        lambda m, x: m.diag(x[0, 0]),
        lambda m, x: m.diag(m.ones((2, 2, 2))),
        lambda m, x: m.vander(x),
        lambda m, x: m.vander(x[0], -1),
        lambda m, x: m.trace(x[0]),
        lambda m, x: m.trace(x, dtype=np.float32),
        lambda m, x: m.tri(-1, 2),
        lambda m, x: x.trace(),
    ):
        agree(lambda f=call: f(np, x), lambda f=call: f(dnb, a))


def test_fill_diagonal(session):
    for shape in ((4, 4), (7, 3), (3, 6), (9, 2), (3, 3, 3), (4,), (2, 3, 2), (0, 3), (1, 1)):
        for value in (5, [1, 2], np.arange(9.0), 2.5):
            for wrap in (False, True):
                x = numbered(shape)
                a = dnb.array(x)
                agree(
                    lambda x=x, v=value, w=wrap: np.fill_diagonal(x, v, w),
                    lambda a=a, v=value, w=wrap: np.fill_diagonal(a, v, w),
                )
                same(a, x)
    x = numbered((6, 8), np.int8)
    a = dnb.array(x, dist=("block", "cyclic"))
    np.fill_diagonal(x[::-1, 1:].T, [100, 7])
    np.fill_diagonal(a[::-1, 1:].T, dnb.array([100, 7]))
    same(a, x)


def test_indices(session):
    x = numbered((4, 5))
    a = dnb.array(x)
    for k in (-2, 0, 1, 9):
        for name in ("tril_indices", "triu_indices"):
            agree(
                lambda f=name, k=k: getattr(np, f)(4, k, 3),
                lambda f=name, k=k: getattr(dnb, f)(4, k, 3),
            )
            numpys = getattr(np, name + "_from")
            agree(lambda f=numpys, k=k: f(x, k), lambda f=numpys, k=k: f(a, k))
    agree(lambda: np.diag_indices(4, 3), lambda: dnb.diag_indices(4, 3))
    agree(lambda: np.diag_indices_from(x), lambda: np.diag_indices_from(a))
    agree(lambda: np.diag_indices_from(x[:, :4]), lambda: np.diag_indices_from(a[:, :4]))
