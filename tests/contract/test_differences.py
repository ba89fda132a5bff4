"""Differences, gradients and integrals agree with NumPy over layouts and views."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distnb as dnb
from distnb import testing
from tests.contract.support import DTYPES, agree, numbered, pair
from tests.tiers import examples

DISTS = [None, "cyclic", ("*", "block"), ("block", "cyclic"), "replicated"]


@given(st.data())
@examples(15)
def test_diff_any_view(session, data):
    shape = data.draw(testing.shapes(max_dims=3, max_side=6).filter(len))
    x, a, _, _ = pair(data.draw, shape, session.size)
    n, axis = data.draw(st.integers(0, 3)), data.draw(st.integers(-x.ndim, x.ndim - 1))
    agree(lambda: np.diff(x, n, axis), lambda: np.diff(a, n, axis))
    agree(
        lambda: np.diff(x, n, axis, prepend=3, append=x[:1]),
        lambda: np.diff(a, n, axis, prepend=3, append=a[:1]),
    )
    agree(lambda: np.ediff1d(x, to_begin=1), lambda: np.ediff1d(a, to_begin=1))
    agree(lambda: np.ediff1d(x, [1, 2], x), lambda: np.ediff1d(a, [1, 2], a))


@pytest.mark.parametrize("dist", DISTS, ids=str)
def test_gradient(session, books, dist):
    x = numbered((7, 5)) ** 2 % 11
    a = dnb.array(x, dist=dist)
    rows, columns = np.array([0.0, 1, 3, 4, 7, 8, 8.5]), np.arange(5) * 2
    for order in (1, 2):
        for args in ((), (2,), (2, 0.5), (rows, columns), (rows, 3.0)):
            books.compare(
                (order, args),
                lambda g=args, o=order: np.gradient(x, *g, edge_order=o),
                lambda g=args, o=order: np.gradient(a, *g, edge_order=o),
            )
        ours = dnb.array(rows), dnb.array(columns)
        books.compare(
            order,
            lambda o=order: np.gradient(x, rows, columns, edge_order=o),
            lambda o=order: np.gradient(a, *ours, edge_order=o),
        )
    for axis in (0, 1, -1, (1, 0), (0, 0), 2):
        books.compare(
            axis, lambda d=axis: np.gradient(x, axis=d), lambda d=axis: np.gradient(a, axis=d)
        )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes(session, books, dtype):
    x = numbered((6,), dtype)
    a = dnb.array(x)
    for name in ("diff", "gradient", "trapezoid", "ediff1d"):
        numpys = getattr(np, name)
        books.compare(name, lambda f=numpys: f(x), lambda f=numpys: f(a), 1e-3)


def test_gradient_errors(session):
    x = numbered((3, 2))
    a = dnb.array(x)
    for args, options in (
        *(((1, 2, 3), {}), ((), {"edge_order": 3}), ((), {"edge_order": 2})),
        *((([1, 2], [3, 4]), {}), (([[1]], 1), {}), ((), {"axis": 5})),
    ):
        agree(
            lambda g=args, o=options: np.gradient(x, *g, **o),
            lambda g=args, o=options: np.gradient(a, *g, **o),
        )
    for n, axis in ((-1, 0), (1, 2)):
        agree(lambda n=n, d=axis: np.diff(x, n, d), lambda n=n, d=axis: np.diff(a, n, d))
    agree(lambda: np.ediff1d(x.astype(int), 1.5), lambda: np.ediff1d(a.astype(int), 1.5))


def test_trapezoid(session):
    y = numbered((6, 4))
    a = dnb.array(y)
    x = np.array([0, 1, 4, 9.0])
    for call in (
        lambda y, x: np.trapezoid(y),
        lambda y, x: np.trapezoid(y, dx=0.5, axis=0),
        lambda y, x: np.trapezoid(y, x),
        lambda y, x: np.trapezoid(y, y, axis=0),
        lambda y, x: np.trapezoid(y, x, axis=2),
        lambda y, x: np.trapezoid(x, y),
        lambda y, x: np.trapezoid(x, dx=y[:3, :1]),
        lambda y, x: np.trapezoid(y, dx=np.ones((2, 1, 1)), axis=1),
    ):
        agree(lambda f=call: f(y, x), lambda f=call: f(a, x), 1e-12)
        agree(lambda f=call: f(y, x), lambda f=call: f(a, dnb.array(x)), 1e-12)
