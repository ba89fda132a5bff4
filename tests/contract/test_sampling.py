"""Convolution, correlation and interpolation agree with NumPy, wherever the operands are."""

import numpy as np
import pytest

import distnb as dnb
from tests.contract.support import DTYPES, agree, numbered, same

DISTS = [None, "cyclic"]


@pytest.mark.parametrize("dist", DISTS, ids=str)
def test_lengths(session, books, dist):
    for n, k in ((9, 1), (9, 2), (9, 3), (9, 4), (4, 4), (2, 7), (1, 1), (20, 12)):
        x, v = numbered((n,), np.int64) * 7 % 11, numbered((k,), np.int64) * 5 % 13
        a = dnb.array(x, dist=dist)
        for name in ("convolve", "correlate"):
            numpys = getattr(np, name)
            for mode in ("full", "same", "valid"):
                books.add(numpys(a, v, mode), numpys(x, v, mode), (name, n, k, mode))
                books.add(numpys(v, a, mode), numpys(v, x, mode), (name, k, n, mode))
        books.add(dnb.convolve(a[::-1], dnb.array(v)), np.convolve(x[::-1], v), (n, k))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes(session, books, dtype):
    x, v = numbered((8,), dtype), numbered((3,), dtype)
    a = dnb.array(x)
    for name in ("convolve", "correlate"):
        numpys = getattr(np, name)
        books.compare(name, lambda f=numpys: f(x, v), lambda f=numpys: f(a, v), 1e-3)
        books.compare(name, lambda f=numpys: f(x, [1.5, 2]), lambda f=numpys: f(a, [1.5, 2]), 1e-3)


def test_special_values_stay_near(session):
    """Nothing is padded with zeros, which infinities would turn into NaN."""
    x, v = numbered((12,)), np.array([np.inf, 1, 2])
    for mode in ("full", "same", "valid"):
        same(dnb.convolve(dnb.array(x), v, mode), np.convolve(x, v, mode))


def test_errors(session):
    x = numbered((5,))
    a = dnb.array(x)
    for call in (
        lambda m, x: m.convolve(x, []),
        lambda m, x: m.correlate(x, []),
        lambda m, x: m.convolve(x, x, "no"),
        lambda m, x: m.convolve(x[:, None], x),
        lambda m, x: m.convolve(x, 3.0),
        lambda m, x: m.correlate(x, 3.0),
        lambda m, x: m.interp(x, [], []),
        lambda m, x: m.interp(x, [1, 2], [1]),
        lambda m, x: m.interp(x, [1, 2], [1, 2], period=0),
        lambda m, x: m.interp(x, [[1, 2]], [[1, 2]]),
        lambda m, x: m.interp(1j * x, [1, 2], [1, 2]),
    ):
        agree(lambda f=call: f(np, x), lambda f=call: f(dnb, a))


@pytest.mark.parametrize("dist", DISTS, ids=str)
def test_interp(session, books, dist):
    x = np.linspace(-3, 9, 28)
    x[5] = np.nan
    xp, fp = np.array([-1.0, 0, 2, 2.5, 7]), np.array([3, -1, 4, 4.5, 0])
    a = dnb.array(x, dist=dist)
    for options in (
        {},
        {"left": -7},
        {"left": 2.5, "right": np.nan},
        {"period": 4.5},
        {"period": -3},
    ):
        for view, turned in ((a, x), (a[::-2], x[::-2]), (a.reshape(4, 7), x.reshape(4, 7))):
            books.add(
                np.interp(view, xp, fp, **options), np.interp(turned, xp, fp, **options), options
            )
        books.add(
            np.interp(a, xp, fp * 1j, **options), np.interp(x, xp, fp * 1j, **options), "complex"
        )
        tables = dnb.array(xp, dist=dist), dnb.array(fp, dist=dist)
        books.add(dnb.interp(x, *tables, **options), np.interp(x, xp, fp, **options), options)
    books.add(dnb.interp(2.2, *tables), np.interp(2.2, xp, fp), "a number")
    books.add(
        np.interp(dnb.arange(5), [1, 3], [2, 4]), np.interp(np.arange(5), [1, 3], [2, 4]), "int"
    )
