"""Repeating, turning and grids agree with NumPy over layouts and views."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distnb as dnb
from distnb import testing
from tests.contract.support import agree, between_engines, measured, numbered, pair, same
from tests.tiers import examples

DISTS = [None, "cyclic", ("*", "block"), ("block", ("cyclic", 2)), "replicated", ("engine", 0)]


@given(st.data())
@examples(15)
def test_repeat_any_view(session, data):
    shape = data.draw(testing.shapes(max_dims=3, max_side=6))
    x, a, _, _ = pair(data.draw, shape, session.size)
    axis = data.draw(st.sampled_from([None, *range(-x.ndim, x.ndim)]))
    times = data.draw(st.integers(0, 4))
    same(np.repeat(a, times, axis), np.repeat(x, times, axis))
    n = x.size if axis is None else x.shape[axis]
    each = np.arange(n) * 7 % 4
    same(np.repeat(a, each, axis), np.repeat(x, each, axis))
    same(dnb.repeat(a, dnb.array(each), axis=axis), np.repeat(x, each, axis))
    reps = data.draw(st.lists(st.integers(0, 3), max_size=4).map(tuple))
    same(np.tile(a, reps), np.tile(x, reps))


@pytest.mark.parametrize("dist", DISTS, ids=str)
def test_repeat_stays(session, dist):
    x = numbered((9, 8))
    a = dnb.array(x, dist=dist)
    with measured(session) as report:
        same(dnb.repeat(a, 3, axis=0), np.repeat(x, 3, axis=0))
        same(dnb.repeat(a, 2, axis=1), np.repeat(x, 2, axis=1))
    if dist != ("engine", 0):
        assert between_engines(report[0]) == 0


def test_repeat_errors(session):
    x = numbered((4, 3))
    a = dnb.array(x)
    for times, axis in (
        *((-1, 0), ([1, 2], 0), ([1, -1, 2], 1), (2, 2), ([1.5, 2, 3], 1), ([[1, 2, 3]], 1)),
        *((1.5, 0), ([2], 1), (True, 1), (np.array([1, 2, 3], np.uint64), 1)),
    ):
        agree(
            lambda t=times, d=axis: np.repeat(x, t, d), lambda t=times, d=axis: np.repeat(a, t, d)
        )
    same(dnb.repeat(dnb.array(5), 3), np.repeat(5, 3))
    for reps in (-1, (1, -2), 1.5):
        agree(lambda r=reps: np.tile(x, r), lambda r=reps: np.tile(a, r))


def test_turning(session, books):
    x = numbered((3, 4, 2))
    a = dnb.array(x)
    for k in range(-2, 6):
        for axes in ((0, 1), (2, 0), (-1, 1)):
            books.add(np.rot90(a, k, axes), np.rot90(x, k, axes), (k, axes))
    for call in (
        lambda m, x: m.fliplr(x),
        lambda m, x: m.flipud(x),
        lambda m, x: m.fliplr(x[0, 0]),
        lambda m, x: m.flipud(x[0, 0, 0]),
        lambda m, x: m.rot90(x, axes=(0, 0)),
        lambda m, x: m.rot90(x, axes=(0, 3)),
        lambda m, x: m.rot90(x, axes=(0,)),
    ):
        agree(lambda f=call: f(np, x), lambda f=call: f(dnb, a))


def test_meshgrid(session):
    x, y, z = numbered((3,)), numbered((4,), np.int16), numbered((2,))
    a, b, c = dnb.array(x), dnb.array(y), z
    for options in ({}, {"indexing": "ij"}, {"sparse": True}, {"copy": False}, {"indexing": "no"}):
        agree(
            lambda o=options: np.meshgrid(x, y, z, **o),
            lambda o=options: dnb.meshgrid(a, b, c, **o),
        )
        agree(lambda o=options: np.meshgrid(x, **o), lambda o=options: np.meshgrid(a, **o))
    agree(lambda: np.meshgrid(), lambda: dnb.meshgrid())
    u, v = dnb.meshgrid(a, b)
    assert u.layout.base == v.layout.base


def test_grids(session):
    for key in (
        np.s_[:4, 1:3],
        np.s_[0:1:5j, 2:5:2],
        np.s_[3:9],
        np.s_[0:2:7j],
        np.s_[:2, :3, :1.5:0.5],
    ):
        same(dnb.mgrid[key], np.mgrid[key])
        found, wanted = dnb.ogrid[key], np.ogrid[key]
        for a, x in zip(
            *((f,) if isinstance(key, slice) else f for f in (found, wanted)), strict=True
        ):
            same(a, x)
