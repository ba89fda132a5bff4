"""Basic indexing makes views that alias, and assignment through them is NumPy's."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import distnb as dnb
from distnb import testing
from tests.contract.support import (
    agree,
    no_warnings,
    numbered,
    operands,
    outcome,
    pair,
    public,
    same,
    take,
)
from tests.tiers import examples

pytestmark = pytest.mark.ways("one", "four", "cutoff", "connected", "reach")

DISTS = [
    None,
    "cyclic",
    ("cyclic", 2),
    "replicated",
    ("engine", 0),
    ("*", "block"),
    ("block", "cyclic"),
]


def keys(shape):
    """Draw a basic index of a shape, a wrong one now and then."""
    right = hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True)
    wild = st.one_of(
        st.integers(-8, 8),
        st.builds(slice, *[st.none() | st.integers(-9, 9)] * 2, st.none() | st.integers(-3, 3)),
        st.just(Ellipsis),
        st.none(),
    )
    return st.one_of(right, right, right, wild, st.lists(wild, max_size=4).map(tuple))


# -- indexing ----------------------------------------------------------------------------------


@given(st.data())
@examples(100)
def test_any_basic_index(session, data):
    shape = data.draw(testing.shapes(max_dims=4, max_side=7))
    x, a, *_ = pair(data.draw, shape, session.size, "i8")
    key = data.draw(keys(shape))
    expected, error = outcome(lambda: x[key])
    actual, other = outcome(lambda: a[key])
    if error is None:
        assert other is None, (key, other)
        same(actual, expected)
    else:
        assert isinstance(other, public(error)), (key, other, error)


@pytest.mark.usefixtures("session")
def test_slices_exhaustively():
    """All slices of short axes, in every kind of layout; only a few values are read."""
    bounds = [None, -7, -5, -3, -1, 0, 1, 3, 5, 9]
    for n in (0, 1, 5):
        x, a = np.arange(n), dnb.arange(n)
        for start, stop, step in itertools.product(bounds, bounds, [None, 1, 2, -1, -2, 7, -7]):
            key = slice(start, stop, step)
            assert a[key].shape == x[key].shape
    x, total = np.arange(23), 0
    for dist in (None, "cyclic", ("cyclic", 3), "replicated"):
        a, sums = dnb.array(x, dist=dist), dnb.zeros(100, int)
        wanted = []
        for start, stop, step in itertools.product([None, 2, -4], [None, 17, -9], [1, 3, -1, -2]):
            wanted.append((x[start:stop:step] * np.arange(1, 1 + len(x[start:stop:step]))).sum())
            part = a[start:stop:step]
            sums[len(wanted) - 1] = (part * dnb.arange(1, 1 + len(part))).sum()
        same(sums[: len(wanted)], np.array(wanted))
        total += len(wanted)
    assert total == 144


@pytest.mark.usefixtures("session")
def test_wrong_indices():
    x, a = np.zeros((3, 4)), dnb.zeros((3, 4))
    for key in (
        3,
        -4,
        (0, 4),
        (0, 0, 0),
        (Ellipsis, Ellipsis),
        1.0,
        "a",
        slice(0, 2, 0),
        slice(0.5, 2),
        (0, "x"),
        (slice(None), -5),
        np.float64(1),
        (None, 3),
        object(),
    ):
        agree(lambda key=key: x[key], lambda key=key: a[key])
        agree(lambda key=key: x.__setitem__(key, 1), lambda key=key: a.__setitem__(key, 1))
    y, b = np.float64(3)[()], dnb.array(3.0)
    for key in ((), Ellipsis, (Ellipsis, None), None):
        agree(lambda key=key: np.asarray(y)[key], lambda key=key: b[key])
    agree(lambda: np.array(3.0)[0], lambda: b[0])
    agree(lambda: np.array(3.0)[:], lambda: b[:])
    agree(lambda: len(np.array(3.0)), lambda: len(b))
    agree(lambda: list(np.array(3.0)), lambda: list(b))
    same(a, x)


@pytest.mark.usefixtures("session")
def test_numpy_integers_are_indices():
    x, a = np.arange(12).reshape(3, 4), dnb.arange(12)
    a = dnb.array(x)
    for i in (np.int8(1), np.uint64(2), np.int64(-1), np.array(1), dnb.array(2)):
        same(a[i], x[int(i)])
        same(a[0, i], x[0, int(i)])
        same(a[i:, : i + 1], x[int(i) :, : int(i) + 1])


@pytest.mark.usefixtures("session")
def test_iteration_and_unpacking():
    x = np.arange(6).reshape(3, 2)
    a = dnb.array(x)
    assert len(a) == 3
    for row, wanted in zip(a, x, strict=True):
        same(row, wanted)
    first, *rest = a
    first[...] = 9
    x[0] = 9
    same(a, x)
    assert [r.tolist() for r in rest] == x[1:].tolist()


@pytest.mark.usefixtures("session", "engines_only")
def test_elements_are_copies_and_views_are_not():
    x, a = np.arange(12.0).reshape(3, 4), dnb.arange(12.0)
    a = dnb.array(x)
    element, row, zero = a[1, 2], a[1], a[1, 2, ...]
    a[1] = -1
    same(element, np.array(6.0))
    same(row, np.full(4, -1.0))
    same(zero, np.array(-1.0))
    element += 100
    zero += 5
    x[1] = -1
    x[1, 2] = 4
    same(a, x)
    assert not dnb.shares_memory(element, a)
    assert dnb.shares_memory(zero, a)


# -- aliasing ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("dist", DISTS, ids=str)
def test_writing_a_view_shows_everywhere(dist):
    x = np.arange(48).reshape(6, 8)
    a = dnb.array(x, dist=dist)
    views = [
        lambda y: y[1:-1, ::2],
        lambda y: y.T[3],
        lambda y: y[::-2, ::-3],
        lambda y: y[2],
        lambda y: y[:, -1:],
        lambda y: y[None, 1::3].swapaxes(0, 2),
        lambda y: y[4, 4, ...],
        lambda y: np.flip(y)[0:2],
        lambda y: np.moveaxis(y, 0, 1)[::4],
        lambda y: np.expand_dims(y, 1)[3, 0],
        lambda y: np.squeeze(y[3:4]),
        lambda y: y[2:2],
    ]
    numpys, ours = [v(x) for v in views], [v(a) for v in views]
    for n, (target, mine) in enumerate(zip(numpys, ours, strict=True)):
        target[...] = 100 + n
        mine[...] = 100 + n
        target *= 2
        mine *= 2
        same(a, x)
    for wanted, mine in zip(numpys, ours, strict=True):
        same(mine, wanted)


@given(st.data())
@examples(50)
def test_assignment(session, data):
    """Any view may be assigned from any view of another array."""
    shape = data.draw(testing.shapes(max_dims=3))
    target, mine, base, whole = pair(data.draw, shape, session.size, broadcast=False)
    source, value, *_ = pair(data.draw, shape, session.size)
    with no_warnings():
        target[...] = source
        mine[...] = value
        same(whole, base)
        target[...] = 1
        mine[...] = np.ones(shape, np.int8)
        same(whole, base)


@given(st.data())
@examples(50)
def test_views_of_views(session, data):
    shape = data.draw(testing.shapes(max_dims=3))
    x, a, base, whole = pair(data.draw, shape, session.size, "i4", broadcast=False)
    for n in range(3):
        key = data.draw(hnp.basic_indices(x.shape, allow_newaxis=True, max_dims=5))
        x, a = x[key], a[key]
        if not isinstance(x, np.ndarray):
            same(a, x)
            break
        if x.ndim > 1 and data.draw(st.booleans()):
            order = data.draw(st.permutations(range(x.ndim)))
            x, a = x.transpose(order), a.transpose(order)
        x += n + 1
        a += n + 1
        same(a, x)
    same(whole, base)


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("dist", DISTS, ids=str)
def test_overlapping_assignment(dist):
    """As in NumPy, the right side is read before anything is written."""

    def programs(y):
        y[1:] = y[:-1]
        yield y
        y[:-1] = y[1:]
        yield y
        y[::-1] = y
        yield y
        y += y.T
        yield y
        y[...] = y.T
        yield y
        y[1:, 1:] += y[:-1, :-1]
        yield y
        y[:, ::2] = y[:, 1::2][:, ::-1]
        yield y
        y[2] = y[:, 2]
        yield y
        y[:, 0], y[:, 1] = y[:, 1], y[:, 0].copy()
        yield y
        y[2:-2, 2:-2] = (y[1:-3, 2:-2] + y[3:-1, 2:-2] + y[2:-2, 1:-3] + y[2:-2, 3:-1]) // 4
        yield y
        y[...] = y[0]
        yield y

    x = np.arange(64).reshape(8, 8) ** 2 % 101
    a = dnb.array(x, dist=dist)
    for wanted, mine in zip(programs(x), programs(a), strict=True):
        same(mine, wanted)


@given(st.data())
@examples(40)
def test_overlapping_views(session, data):
    base, whole, view = data.draw(
        operands(
            data.draw(testing.shapes(max_dims=2, max_side=8)), session.size, "i8", broadcast=False
        )
    )
    x, a = take(base, view), take(whole, view)
    cuts = []
    for n in x.shape:
        m = data.draw(st.integers(0, n))
        steps = []
        for _ in range(2):
            lo = data.draw(st.integers(0, n - m))
            back = data.draw(st.booleans())
            steps.append(
                slice(lo + m - 1, lo - 1 if lo else None, -1) if back and m else slice(lo, lo + m)
            )
        cuts.append(steps)
    to, source = (tuple(c[i] for c in cuts) for i in range(2))
    x[(*to, ...)] = x[(*source, ...)]
    a[(*to, ...)] = a[(*source, ...)]
    same(whole, base)


# -- what can be assigned ----------------------------------------------------------------------


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("dtype", "? u1 i4 f4 f8 c8".split())
def test_assigned_values(dtype):
    values = [
        *(True, 3, -1, 300, 2**70, 0.5, -0.0, float("inf"), float("nan"), 2j),
        *(np.int8(-3), np.uint64(7), np.float32(0.1), np.float64(1e300), np.complex64(1 + 2j)),
        *(
            [1, 2, 3, 4],
            [[5], [6], [7]],
            np.arange(4.5),
            np.arange(3)[:, None],
            np.ones((1, 1, 3, 4)),
        ),
        *(np.arange(3), np.ones((2, 3, 4)), [1, 2], [[1, 2], [3]]),
        *(None, np.array("x"), object(), np.timedelta64(5), np.longdouble(3)),
    ]
    for value in values:
        x, a = np.zeros((3, 4), dtype), dnb.zeros((3, 4), dtype, dist="cyclic")
        agree(
            lambda v=value: x.__setitem__(Ellipsis, v), lambda v=value: a.__setitem__(Ellipsis, v)
        )
        with no_warnings():
            same(a, x)
    if dtype != "?":  # text is a number that is to be read
        with pytest.raises((ValueError, TypeError)):
            a[...] = "a"


@pytest.mark.usefixtures("session")
def test_assigned_arrays():
    x = np.arange(20.0).reshape(4, 5)
    for dist in DISTS:
        a = dnb.array(x, dist=dist)
        for key, value in (
            ((slice(1, 3), slice(None, None, 2)), np.arange(6).reshape(2, 3)),
            ((0,), np.arange(5)),
            ((slice(None), 1), np.arange(4)[::-1]),
            ((slice(None), slice(1, 1)), np.zeros((4, 0))),
            ((2, 3), np.array(8.0)),
            ((Ellipsis,), np.arange(5) * 1j),
            ((slice(2, 4),), np.arange(5)),
            ((slice(2, 4),), np.arange(4)),
        ):
            y, b = x.copy(), a.copy()
            agree(
                lambda y=y, k=key, v=value: y.__setitem__(k, v),
                lambda b=b, k=key, v=value: b.__setitem__(k, v),
            )
            with no_warnings():
                same(b, y)
            b = a.copy()
            agree(
                lambda y=y, k=key, v=value: y.__setitem__(k, v),
                lambda b=b, k=key, v=value: b.__setitem__(k, dnb.array(v)),
            )
            with no_warnings():
                same(b, y)


@pytest.mark.usefixtures("session")
def test_mask_assignment():
    x = np.arange(12.0).reshape(3, 4)
    a = dnb.array(x, dist="cyclic")
    x[x > 5] = -1
    a[a > 5] = -1
    same(a, x)
    a[a == -1] = 2.5
    x[x == -1] = 2.5
    same(a, x)
    with pytest.raises(IndexError):
        a[a[0] > 1] = 3
    same(a, x)


@pytest.mark.usefixtures("session")
def test_fill_and_copy():
    x, a = np.arange(6), dnb.arange(6)
    b, whole = a[::2], a.copy()
    b.fill(7)
    x[::2].fill(7)
    same(a, x)
    same(whole, np.arange(6))
    assert not dnb.shares_memory(whole, a)
    c = a[::-2].copy()
    c += 1
    same(a, x)
    same(c, x[::-2] + 1)


# -- views that stretch ------------------------------------------------------------------------


@pytest.mark.usefixtures("session")
def test_broadcast_to():
    x = np.arange(3.0)
    a = dnb.array(x)
    for shape in ((2, 3), (3,), (4, 2, 3), (0, 3), 3, (3, 1), (2,), (), (3, 3)):
        agree(lambda s=shape: np.broadcast_to(x, s), lambda s=shape: np.broadcast_to(a, s))
        agree(lambda s=shape: np.broadcast_to(x[:1], s), lambda s=shape: np.broadcast_to(a[:1], s))
        agree(
            lambda s=shape: np.broadcast_to(x[:, None], s),
            lambda s=shape: np.broadcast_to(a[:, None], s),
        )
    wide = np.broadcast_to(a, (4, 3))
    for write in (
        lambda: wide.__setitem__(0, 1),
        lambda: wide[1].fill(2),
        lambda: wide.T.__iadd__(1),
        lambda: np.add(wide, 1, out=wide),
        lambda: np.copyto(wide, 1),
    ):
        with pytest.raises(ValueError, match="read-only"):
            write()
    a += 1
    same(wide[::2, ::-1], np.broadcast_to(x + 1, (4, 3))[::2, ::-1])
    same(wide.sum(axis=0), 4 * (x + 1))
    one, two = np.broadcast_arrays(a, a[:, None])
    same(one + two, (x + 1) + (x + 1)[:, None])


@pytest.mark.usefixtures("session")
def test_rearranging_functions():
    x = np.arange(24).reshape(2, 3, 4)
    a = dnb.array(x, dist=("*", "block", "*"))
    cases = [
        (lambda y: y.T),
        (lambda y: y.mT),
        (lambda y: y.transpose(2, 0, 1)),
        (lambda y: y.transpose((1, 2, 0))),
        (lambda y: y.transpose(None)),
        (lambda y: y.transpose(0, -1, 1)),
        (lambda y: y.transpose(0, 1)),
        (lambda y: y.transpose(0, 0, 1)),
        (lambda y: y.transpose(0, 1, 3)),
        (lambda y: np.transpose(y, (2, 1, 0))),
        (lambda y: np.transpose(y)),
        (lambda y: y.swapaxes(0, -1)),
        (lambda y: y.swapaxes(0, 3)),
        (lambda y: np.swapaxes(y, 1, 2)),
        (lambda y: np.moveaxis(y, 0, -1)),
        (lambda y: np.moveaxis(y, [0, 2], [1, 0])),
        (lambda y: np.moveaxis(y, 0, 5)),
        (lambda y: np.moveaxis(y, [0, 0], [1, 2])),
        (lambda y: np.flip(y)),
        (lambda y: np.flip(y, 1)),
        (lambda y: np.flip(y, (0, -1))),
        (lambda y: np.flip(y, 3)),
        (lambda y: np.flip(y, (0, 0))),
        (lambda y: np.expand_dims(y, 0)),
        (lambda y: np.expand_dims(y, (0, -1))),
        (lambda y: np.expand_dims(y, (1, 1))),
        (lambda y: np.expand_dims(y, 5)),
        (lambda y: np.squeeze(y[:1, :, 2:3])),
        (lambda y: y[:1].squeeze(0)),
        (lambda y: y[:1].squeeze(axis=(0,))),
        (lambda y: y.squeeze(1)),
        (lambda y: y.squeeze(4)),
        (lambda y: y[0, 0].mT),
        (lambda y: y[0, 0].T),
        (lambda y: np.ascontiguousarray(y[0].copy())[0] if isinstance(y, np.ndarray) else y[0, 0]),
    ]
    for n, f in enumerate(cases):
        try:
            agree(lambda f=f: f(x), lambda f=f: f(a))
        except AssertionError as error:
            error.add_note(f"case {n}")
            raise


# -- memory ------------------------------------------------------------------------------------


@given(st.data())
@examples(100)
def test_shares_memory(session, data):
    """Exactly as NumPy's, and nothing is sent to find out."""
    shape = data.draw(testing.shapes(max_dims=2, max_side=9).filter(lambda s: 0 not in s))
    x = numbered(shape)
    a = dnb.array(x)
    batches = session.batches
    some = [data.draw(hnp.basic_indices(shape, allow_newaxis=True)) for _ in range(2)]
    numpys, ours = (
        [np.asarray(x[(*_tuple(k), ...)]) if Ellipsis not in _tuple(k) else x[k] for k in some],
        [],
    )
    ours = [a[(*_tuple(k), ...)] if Ellipsis not in _tuple(k) else a[k] for k in some]
    assert dnb.shares_memory(*ours) == np.shares_memory(*numpys)
    assert np.shares_memory(*ours) == np.shares_memory(*numpys)
    assert np.may_share_memory(ours[0], ours[0]) == np.may_share_memory(numpys[0], numpys[0])
    assert dnb.may_share_memory(*ours) == np.may_share_memory(*numpys)
    assert not dnb.shares_memory(ours[0], dnb.array(x))
    assert not dnb.shares_memory(ours[0], numpys[0])
    assert session.batches - batches <= 2  # the idle timer's


def test_memory_that_may_be_shared(session):
    """Where the bounds of two views overlap, NumPy says so, though they have no element in common."""
    found = []
    for xp in (np, dnb):
        x = xp.arange(24.0).reshape(4, 6)
        z = x * 1j
        parts = (x, x[::2], x[1::2], x[:, ::2], x[:, 1::2], x.T[2:], x[0], x.ravel()[5:7], x[1:1])
        found.append(
            [(xp.may_share_memory(u, v), xp.shares_memory(u, v)) for u in parts for v in parts]
        )
        found[-1].append((xp.may_share_memory(z.real, z.imag), xp.shares_memory(z.real, z.imag)))
        found[-1].append(xp.may_share_memory(x, x.copy()))
        with pytest.raises(np.exceptions.TooHardError):
            xp.shares_memory(x[::2], x[1::2], max_work=0)
    assert found[0] == found[1]


def _tuple(key):
    return key if isinstance(key, tuple) else (key,)


# -- redistribution ----------------------------------------------------------------------------


@given(st.data())
@examples(50)
def test_redistribute(session, data):
    """Any view can be moved to any layout; the result is a copy."""
    shape = data.draw(testing.shapes(max_dims=3))
    x, a, *_ = pair(data.draw, shape, session.size)
    to = data.draw(testing.layouts(shape, session.size))
    b = a.redistribute(to)
    assert b.layout.base == to
    same(b, x)
    assert not dnb.shares_memory(a, b)
    assert sum(b.layout.elements()) == to.copies * x.size
    c = dnb.array(a, dist=to)
    same(c, x)
    assert dnb.asarray(a) is a


BASES = [
    *(
        "a[1:]",
        "a[...]",
        "a[:]",
        "a.T",
        "a.reshape(-1)",
        "a.ravel()",
        "a[1]",
        "a[1][2:]",
        "a.T[1:].T",
    ),
    *("a.view()", "np.swapaxes(a, 0, 1)", "a.squeeze()", "a[None]", "np.diagonal(a)", "a[1, 2:]"),
    *("np.broadcast_to(a, (2, 3, 4))", "np.flip(a)", "np.split(a, 3)[1]", "np.ravel(a.T)"),
    *(
        "a.reshape(4, 3)",
        "a.reshape(3, 1, 4)",
        "a.reshape(4, 3)[1:]",
        "a.view()[1:]",
        "a.real",
        "a",
    ),
    *("a.flatten()", "a.copy()", "a + 1", "a[[0, 1]]", "a[a > 3]", "a.astype('f4')", "a[1, 2]"),
]


@pytest.mark.parametrize("text", BASES)
def test_views_tell_whose_elements_they_show(session, text):
    n = np.arange(12.0).reshape(3, 4).copy()
    a = dnb.asarray(n)
    x, y = (eval(text, {"np": np, "a": each}) for each in (n, a))
    assert (y.base is None, y.base is a) == (x.base is None, x.base is n)


@pytest.mark.usefixtures("far")
def test_views_of_what_was_reshaped_tell_so_when_the_first_array_is_gone(session):
    a = dnb.arange(60).reshape(3, -1)
    views = (a[1:], a.T, a[:], a.view(), a.reshape(-1), a.T[2:])
    assert all(v.base is a for v in views)
    assert not any(v.flags.owndata for v in views)
    first = dnb.zeros(60)
    shown = first.reshape(3, -1)
    row = shown[1:]
    assert shown.base is row.base is first
    del first
    assert row.base is shown


def test_a_view_keeps_the_array_whose_elements_it_shows(session):
    a = dnb.arange(6.0)
    view = a[1:][::2]
    del a
    view.base[1] = 7
    assert view.tolist() == [7, 3, 5]
    assert view.base.shape == (6,)
