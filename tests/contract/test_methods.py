"""Methods that are functions under another name do what NumPy's methods do."""

import copy
import pickle

import numpy as np
import pytest

import distnb as dnb
from tests.contract.support import agree, same, setting

pytestmark = pytest.mark.ways("cutoff")

DISTS = ["block", ("*", "cyclic"), "replicated"]


def data():
    return (np.arange(24) * 7 % 11).astype(float).reshape(6, 4)


@pytest.mark.parametrize("dist", DISTS, ids=str)
def test_orders(session, dist):
    x = data()
    a = dnb.array(x, dist=dist)
    for axis in (0, -1, None):
        same(a.argsort(axis, kind="stable"), x.argsort(axis, kind="stable"))
        same(a.argsort(axis, stable=True), x.argsort(axis, stable=True))
    found = a.argpartition(2, axis=0).to_numpy()
    np.testing.assert_array_equal(np.take_along_axis(x, found, 0)[2], np.sort(x, axis=0)[2])
    assert a.partition(1) is None
    b = a.to_numpy()
    np.testing.assert_array_equal(np.sort(b), np.sort(x))
    np.testing.assert_array_equal(b[:, 1], np.sort(x)[:, 1])
    agree(lambda: x.argsort(2), lambda: a.argsort(2))
    with pytest.raises(ValueError, match="read-only"):
        np.broadcast_to(a, (2, 6, 4)).partition(1)


def test_searchsorted(session):
    x, v = np.arange(0.0, 20, 2), np.array([[3.0, 4.0], [-1.0, 50.0]])
    a = dnb.array(x, dist="block")
    for side in ("left", "right"):
        same(a.searchsorted(v, side), x.searchsorted(v, side))
        same(a[::-1].searchsorted(v, side, a.argsort()[::-1]), x.searchsorted(v, side))


def test_dot(session):
    x = data()
    a = dnb.array(x)
    same(a.dot(a.T), x.dot(x.T), 1e-12)
    same(a.dot(2.0), x.dot(2.0))
    out = dnb.empty((6, 6))
    assert a.dot(a.T, out=out) is out
    same(out, x.dot(x.T), 1e-12)


def test_bytes_and_membership(session):
    x = data()
    for a in (dnb.array(x), dnb.array(x.T).T):
        assert a.tobytes() == x.tobytes()
        assert a.tobytes("F") == x.tobytes("F")
        assert 7.0 in a
        assert -3 not in a
    before, dnb.config.gather_budget = dnb.config.gather_budget, 8
    try:
        with pytest.raises(dnb.GatherError):
            a.tobytes()
    finally:
        dnb.config.gather_budget = before


def test_copies(session):
    x = data()
    a = dnb.array(x)
    for b in (copy.copy(a), copy.deepcopy(a[1:])):
        b[...] = 0
    same(a, x)


def test_functions_have_the_methods_of_ufuncs(session):
    x = np.arange(12.0).reshape(3, 4)[::-1]
    a = dnb.array(x)
    for module, y in ((dnb, a), (np, a)):
        np.testing.assert_array_equal(module.add.reduce(y, axis=1), x.sum(axis=1))
        np.testing.assert_array_equal(
            module.maximum.accumulate(y, axis=1), np.maximum.accumulate(x, axis=1)
        )
        np.testing.assert_array_equal(
            module.add.reduceat(y, [0, 2], axis=1), np.add.reduceat(x, [0, 2], axis=1)
        )
        found = module.multiply.outer(y[0], y[1])
        assert isinstance(found, dnb.DistArray)
        np.testing.assert_array_equal(found, np.multiply.outer(x[0], x[1]))
        module.add.at(y, (slice(None), 1), 0.0)
    np.testing.assert_array_equal(a, x)
    same(dnb.add.reduce([1, 2, 3]), np.add.reduce([1, 2, 3]))
    assert (dnb.add.nin, dnb.add.nout, dnb.add.identity) == (2, 1, 0)
    with pytest.raises(ValueError, match="binary"):
        dnb.sqrt.reduce(a)


def test_what_is_too_large_to_be_pickled_says_what_to_do(session):
    x = dnb.arange(300.0)
    same(pickle.loads(pickle.dumps(x)), np.arange(300.0))
    told = pytest.raises(dnb.GatherError, match=r"^pickling an array: .* dnb\.save\(path, x\)")
    with setting(gather_budget=100), told:
        pickle.dumps([x])
