"""``import distnb as np``: names that make arrays, tell of them and walk over them, as NumPy's."""

import numpy as np
import pytest

import distnb as dnb
from tests.contract.support import agree

pytestmark = [
    pytest.mark.ways("one", "four", "cutoff", "reach"),
    pytest.mark.usefixtures("session"),
]

X = np.arange(12.0).reshape(3, 4) - 5


def both(call):
    """Compare what a function of the namespace and of an array gives."""
    agree(lambda: call(np, X), lambda: call(dnb, dnb.array(X)))


# -- limits, lengths and orders --------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda m, x: m.linspace(0, x.max(), 4),
        lambda m, x: m.linspace([0, 1], [2, 5], 4),
        lambda m, x: m.linspace([0, 1], [2, 5], 4, axis=-1, dtype=int),
        lambda m, x: m.linspace(x[:, 0], 2, 4, axis=1),
        lambda m, x: m.linspace(0, x, 3, axis=1, endpoint=False),
        lambda m, x: m.linspace(0, 1, 3, axis=2),
        lambda m, x: m.arange(x.max()),
        lambda m, x: m.arange(m.array(2), m.array(9), m.array(3)),
        lambda m, x: m.zeros(m.array(3)),
        lambda m, x: m.ones((m.array(2), 3)),
        lambda m, x: m.zeros(m.array([2, 3])),
        lambda m, x: m.zeros(np.array([2, 3])),
        lambda m, x: m.full((2, 2), x.max()),
        lambda m, x: m.eye(m.array(3)),
        lambda m, x: m.indices((2, 3)),
        lambda m, x: m.indices((2, 0)),
        lambda m, x: m.indices(()),
        lambda m, x: m.indices((2, 3), dtype="f4", sparse=True),
    ],
)
def test_limits_and_lengths_may_be_arrays(call):
    both(call)


@pytest.mark.parametrize(
    "call",
    [
        lambda m, x: m.array([1, 2], ndmin=3),
        lambda m, x: m.array(x, ndmin=3, copy=None),
        lambda m, x: m.array(x, ndmin=1),
        lambda m, x: m.array(x, order="F"),
        lambda m, x: m.asarray([[1, 2]], "f4", "F"),
        lambda m, x: m.zeros((2, 3), int, "F"),
        lambda m, x: m.ones((2, 3), order="f"),
        lambda m, x: m.full((2, 3), 4, int, "F"),
        lambda m, x: m.eye(3, 4, 1, int, "F"),
        lambda m, x: m.zeros_like(x, order="F"),
        lambda m, x: x.copy("F"),
        lambda m, x: x.astype("f4", "F", "unsafe", True, False),
        lambda m, x: x.flatten("f"),
        lambda m, x: x.ravel("a"),
        lambda m, x: x.reshape(4, 3, order="f"),
        lambda m, x: m.zeros(3, order="K"),
        lambda m, x: m.array(x, order="X"),
        lambda m, x: m.zeros_like(x, order="X"),
        lambda m, x: x.copy("X"),
        lambda m, x: x.astype(int, order="X"),
        lambda m, x: x.ravel(3),
        lambda m, x: x.reshape(12, order="K"),
    ],
)
def test_orders_are_taken_and_checked(call):
    both(call)


def test_like_is_of_the_session_of_an_array(session, second):
    x = dnb.array(X, session=session)
    assert dnb.session() is second
    for made in (dnb.zeros(3, like=x), dnb.array([1], like=x), dnb.arange(3, like=x)):
        assert made.session is session
    assert dnb.full(2, x.max()).session is session
