"""Joining, cutting and rolling agree with NumPy over layouts, dtypes and views."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distnb as dnb
from distnb import testing
from tests.contract.support import DTYPES, agree, measured, numbered, pair, same
from tests.tiers import examples

pytestmark = pytest.mark.ways("one", "four")

DISTS = [None, "cyclic", ("*", "block"), ("block", "cyclic")]


@given(st.data())
@examples(25)
def test_concatenate_any_views(session, data):
    shape = data.draw(testing.shapes(max_dims=3, max_side=6).filter(len))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    ours, theirs = [], []
    for _ in range(data.draw(st.integers(1, 3))):
        lengths = list(shape)
        lengths[axis] = data.draw(st.integers(0, 6))
        x, a, _, _ = pair(data.draw, tuple(lengths), session.size)
        theirs.append(x)
        ours.append(a)
    agree(lambda: np.concatenate(theirs, axis), lambda: np.concatenate(ours, axis))
    same(dnb.concat(ours, axis=None), np.concatenate(theirs, axis=None))


@pytest.mark.parametrize("dist", DISTS, ids=str)
def test_families(session, books, dist):
    x, y, v = numbered((6, 4)), numbered((6, 4), np.int16, 50), numbered((6,))
    a, b = dnb.array(x, dist=dist), dnb.array(y)
    c = dnb.array(v)
    for name in ("vstack", "hstack", "dstack", "column_stack", "stack", "concatenate"):
        numpys = getattr(np, name)
        for ours, theirs in (
            ([a, b], [x, y]),
            ([c, c, c], [v, v, v]),
            ((a, x, b[::-1]), (x, x, y[::-1])),
            ([c, 3.0], [v, 3.0]),
            ([a, c], [x, v]),
            ([], []),
        ):
            books.compare(
                name, lambda f=numpys, t=theirs: f(t), lambda n=name, t=ours: getattr(dnb, n)(t)
            )
    for axis in (0, 1, 2, -1, 3):
        books.compare(
            axis,
            lambda axis=axis: np.stack([x, y, x], axis),
            lambda axis=axis: np.stack([a, b, a], axis),
        )


def test_block(session):
    x, v = numbered((3, 4)), numbered((3,))
    a, b = dnb.array(x), dnb.array(v)
    for make in (
        lambda x, v: [[x, v[:, None]], [np.zeros((2, 4)), np.ones((2, 1))]],
        lambda x, v: [v, v, 3],
        lambda x, v: x,
        lambda x, v: [[x], [x[:1]]],
        lambda x, v: [[v], x],
        lambda x, v: [[x, v]],
        lambda x, v: (x, v),
        lambda x, v: [[x, []]],
    ):
        agree(lambda make=make: np.block(make(x, v)), lambda make=make: np.block(make(a, b)))


def test_out_dtype_and_errors(session):
    x, y = numbered((4, 3)), numbered((2, 3), np.int32)
    a, b = dnb.array(x), dnb.array(y)
    out = dnb.zeros((6, 3))
    assert dnb.concatenate([a, b], out=out) is out
    same(out, np.concatenate([x, y]))
    same(np.concatenate([b, b], dtype=np.float32), np.concatenate([y, y], dtype=np.float32))
    for ours, theirs, options in (
        ([a, b], [x, y], {"axis": 1}),
        ([a, b], [x, y], {"axis": 2}),
        ([a, b], [x, y], {"dtype": np.int8}),
        ([a, b[0]], [x, y[0]], {}),
        ([a, b], [x, y], {"dtype": np.int8, "casting": "unsafe"}),
    ):
        agree(
            lambda t=theirs, o=options: np.concatenate(t, **o),
            lambda t=ours, o=options: np.concatenate(t, **o),
        )
    agree(
        lambda: np.concatenate([x, y], out=np.zeros((5, 3))),
        lambda: np.concatenate([a, b], out=dnb.zeros((5, 3))),
    )
    with pytest.raises(TypeError, match="sequence"):
        dnb.concatenate(iter([a, b]))


def test_dtypes(session, books):
    for one in DTYPES[::2]:
        for other in DTYPES[1::3]:
            x, y = numbered((3, 2), one), numbered((2, 2), other)
            books.add(
                dnb.vstack([dnb.array(x), dnb.array(y)]), np.vstack([x, y]), (str(one), str(other))
            )


def test_same_layout_along_whole_axis_sends_nothing(session):
    a = dnb.ones((40, 3), dist="block")
    with measured(session) as report:
        found = dnb.hstack([a, a])
        dnb.stack([a, a], axis=1)
    assert session.size == 1 or found.layout.base == a.layout.base
    assert sum(op.ranks[r].bytes for op in report[0].ops for r in range(session.size)) == 0


# -- cutting ---------------------------------------------------------------------------------------


def test_split(session):
    x = numbered((6, 4, 2))
    a = dnb.array(x)
    cases = [3, 4, [1, 3], [0, 4, 2, 99], [-2], 0, np.array([2, 5]), 6]
    for given_ in cases:
        for name in ("split", "array_split", "hsplit", "vsplit", "dsplit"):
            numpys = getattr(np, name)
            agree(
                lambda f=numpys, g=given_: tuple(f(x, g)), lambda f=numpys, g=given_: tuple(f(a, g))
            )
        agree(
            lambda g=given_: tuple(np.split(x, g, axis=-2)),
            lambda g=given_: tuple(dnb.split(a, g, axis=-2)),
        )
    agree(lambda: np.vsplit(x[0, 0], 2), lambda: np.vsplit(a[0, 0], 2))
    agree(lambda: tuple(np.hsplit(x[:, 0, 0], 2)), lambda: tuple(np.hsplit(a[:, 0, 0], 2)))
    part = dnb.split(a, 3)[1]
    part[...] = 0
    assert not a[2:4].any()


def test_unstack(session):
    x = numbered((3, 4))
    a = dnb.array(x)
    for axis in (0, 1, -1):
        agree(
            lambda axis=axis: np.unstack(x, axis=axis), lambda axis=axis: np.unstack(a, axis=axis)
        )
    agree(lambda: np.unstack(x, axis=2), lambda: np.unstack(a, axis=2))
    agree(lambda: np.unstack(np.array(2.0)), lambda: dnb.unstack(dnb.array(2.0)))


# -- moving around ---------------------------------------------------------------------------------


@given(st.data())
@examples(20)
def test_roll_any_view(session, data):
    shape = data.draw(testing.shapes(max_dims=3, max_side=6))
    x, a, _, _ = pair(data.draw, shape, session.size)
    shift = data.draw(st.integers(-9, 9))
    same(np.roll(a, shift), np.roll(x, shift))
    if x.ndim:
        axes = data.draw(st.lists(st.integers(-x.ndim, x.ndim - 1), min_size=1, max_size=3))
        same(np.roll(a, shift, axes), np.roll(x, shift, axes))
        shifts = tuple(range(shift, shift + len(axes)))
        same(np.roll(a, shifts, tuple(axes)), np.roll(x, shifts, tuple(axes)))


def test_roll_errors_and_rollaxis(session):
    x = numbered((2, 3, 4))
    a = dnb.array(x)
    for shift, axis in ((1, 3), ((1, 2), (0, 1, 2))):
        agree(lambda s=shift, d=axis: np.roll(x, s, d), lambda s=shift, d=axis: np.roll(a, s, d))
    for axis in range(-4, 4):
        for start in range(-4, 5):
            agree(
                lambda d=axis, s=start: np.rollaxis(x, d, s),
                lambda d=axis, s=start: np.rollaxis(a, d, s),
            )


def test_into_numpys_array():
    into = np.zeros((2, 3))
    assert dnb.stack([dnb.arange(3), np.arange(3) + 1], out=into) is into
    assert into.tolist() == [[0, 1, 2], [1, 2, 3]]
    with pytest.raises(TypeError, match="same_kind"):
        dnb.concatenate([dnb.ones(3)], out=np.zeros(3, int))
