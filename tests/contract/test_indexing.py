"""Indexing by arrays agrees with NumPy: reading, assigning, whatever the layouts and the views."""

from typing import NamedTuple

import numpy as np
import pytest

import distnb as dnb
from tests.contract.support import agree, between_engines, lends, measured, numbered, outcome, same
from tests.tiers import SCALE

pytestmark = pytest.mark.ways("one", "four", "cutoff", "spmd", "reach")

LAYOUTS = [None, "replicated", "engine", ("block", "*"), ("*", "cyclic"), (("cyclic", 2), "block")]


def layout_of(dist, session, ndim):
    """Return what an entry of ``LAYOUTS`` asks for, of an array with so many axes."""
    if dist == "engine":
        return ("engine", session.size - 1)
    if not isinstance(dist, tuple):
        return dist
    return (dist * ndim)[:ndim] if ndim > 1 else dist[dist[0] == "*"]


class Draw:
    """Draws arrays, views and indices; the same on all ranks."""

    def __init__(self, session, seed):
        self.session = session
        self.rng = np.random.default_rng(seed)

    def one_of(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def lengths(self, count):
        return tuple(self.one_of(1, 2, 3, 3, 5, 7) for _ in range(count))

    def array(self):
        """Return an array twice, in a layout."""
        shape = self.lengths(self.one_of(1, 1, 2, 2, 3, 4))
        if self.rng.random() < 0.05:
            shape = (0, *shape[1:])
        x = numbered(shape, self.one_of(np.float64, np.int16, np.complex64))
        return x, self.spread(x)

    def spread(self, x):
        dist = layout_of(LAYOUTS[self.rng.integers(len(LAYOUTS))], self.session, x.ndim)
        if self.one_of(True, False, False, False):  # the last engine may hold the first elements
            return dnb.array(x[..., ::-1], dist=dist)[..., ::-1].copy()
        return dnb.array(x, dist=dist)

    def view(self, x, a):
        """Return a view of both."""
        key = self.one_of(None, np.s_[...], np.s_[::-1], np.s_[..., 1:], np.s_[..., ::2], "T", -1)
        if key == "T":
            return x.T, a.T
        if key == -1 and (x.ndim < 2 or not len(x)):
            key = ...
        return x[key], a[key]

    def index(self, shape):
        """Return an index of an array of a shape, some items of which are arrays."""
        common = self.lengths(self.one_of(0, 1, 1, 2)) if self.rng.random() < 0.9 else (0,)
        found, d, rest = [], 0, True
        while d < len(shape) and (not found or self.rng.random() < 0.9):
            kind, n = self.rng.integers(10), shape[d]
            if kind < 4:
                found.append(self.positions(n, common))
            elif kind == 4:
                count = self.rng.integers(min(2, len(shape) - d) + 1)
                found.append(np.asarray(self.rng.random(shape[d : d + count]) < 0.5))
                d += count - 1
            elif kind == 5 and n:
                found.append(int(self.rng.integers(-n, n)))
            elif kind == 6 and rest:
                found.append(...)
                d, rest = d + self.rng.integers(len(shape) - d + 1) - 1, False
            elif kind == 7:
                found.append(None)
                d -= 1
            else:
                found.append(self.one_of(np.s_[:], np.s_[::-1], np.s_[1:], np.s_[::2]))
            d += 1
        return found

    def positions(self, n, common):
        """Return positions along an axis, seldom one too high."""
        shape = [1 if self.rng.random() < 0.2 else m for m in common]
        shape = shape[self.rng.integers(len(shape) + 1) :]
        if not n:
            return np.zeros((0,), np.int64)
        beyond = self.rng.random() < 0.03
        found = self.rng.integers(-n, n + beyond, shape)
        return np.asarray(found, self.one_of(np.int64, np.int32, np.int8))

    def given(self, item):
        """Return an item of an index as a user has it: an array of either kind, or a list."""
        if not isinstance(item, np.ndarray) or not item.ndim:
            return item
        kind = self.rng.integers(4)
        return (
            item if kind == 0 else item.tolist() if kind == 1 and item.size else self.spread(item)
        )


def both(draw):
    """Return views of an array, NumPy's and ours, and the same index for each."""
    x, a = draw.array()
    y, b = draw.view(x, a)
    items = draw.index(y.shape)
    given = [draw.given(k) for k in items]
    if len(items) == 1 and draw.one_of(True, False):
        return x, a, y, b, items[0], given[0]
    return x, a, y, b, tuple(items), tuple(given)


@pytest.mark.parametrize("seed", range(6))
def test_any_index_reads_as_numpy(session, seed):
    draw = Draw(session, seed)
    for _ in range(round(35 * SCALE)):
        _, _, y, b, key, ours = both(draw)
        agree(lambda y=y, key=key: y[key] + 0, lambda b=b, ours=ours: settle(b[ours] + 0))


def test_a_bad_index_leaves_what_it_was_to_change(session):
    x = np.arange(12.0)
    a, bad = dnb.array(x), dnb.array([12, 3, 1])
    for write in (
        lambda: a.__setitem__(bad, 7),
        lambda: np.add.at(a, bad, 1),
        lambda: dnb.put(a, bad, 1),
        lambda: a.__setitem__([-13, 3], 7),
    ):
        with pytest.raises(IndexError, match=r"index -?1[23] is out of bounds"):
            write()
        same(a, x)


def settle(x):
    """Return a result after its command has run: engines may refuse it."""
    if not isinstance(x, np.generic):  # an element in reach
        x.session.flush()
    return x


@pytest.mark.parametrize("seed", range(6))
def test_any_index_assigns_as_numpy(session, seed):
    draw = Draw(session, 100 + seed)
    for _ in range(round(35 * SCALE)):
        x, a, y, b, key, ours = both(draw)
        found, error = outcome(lambda y=y, key=key: y[key])
        if error is not None:
            continue
        shape = found.shape[draw.rng.integers(np.ndim(found) + 1) :]
        shape = [1 if draw.rng.random() < 0.2 else n for n in shape]
        value = -numbered(shape, draw.one_of("f8", "i2"))
        mine = draw.given(value) if value.ndim else int(value)
        agree(
            lambda y=y, key=key, v=value: y.__setitem__(key, v),
            lambda b=b, ours=ours, v=mine: (b.__setitem__(ours, v), b.session.flush())[0],
        )
        same(a, x)


# -- indices of every kind -------------------------------------------------------------------------

X = np.arange(24.0).reshape(4, 6)

KEYS = {
    "nothing": [],
    "floats": np.array([]),
    "numbers with a point": [1.5],
    "a word": "a",
    "a list": [2, -1, 0],
    "nested lists": [[0, 1], [1, 0]],
    "tuples": ((0, 1), (2, 3)),
    "a range": range(2),
    "truth values": [True, False, True, False],
    "too few truth values": [True],
    "True": True,
    "False": np.False_,
    "True and positions": (True, [0, 1]),
    "small unsigned": np.array([1, 3], np.uint8),
    "large unsigned": np.array([1, 2**63], np.uint64),
    "a mask of columns": (..., [True] * 3 + [False] * 3),
    "a mask and positions": (np.array([True, False, True, False]), [0, 1]),
    "a mask and too few positions": (np.array([True, True, True, False]), [0, 1]),
    "a mask too much": (X > 3, 0),
    "too many": ([0], [0], [0]),
    "two ellipses": (..., [0], ...),
    "shapes that do not fit": ([0, 1], [0, 1, 2]),
    "a number out of bounds": (9, [0]),
    "out of bounds": (slice(None), [0, -7]),
    "new axes": (None, [0, 1], None),
    "a number apart": (0, slice(None), None, [1, 2]),
    "an ellipsis of nothing": ([0, 1], ..., [1, 2]),
    "complex": np.array([1j]),
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_indices_of_every_kind(session, key):
    a = dnb.array(X)
    agree(lambda: X[key] + 0, lambda: settle(a[key] + 0))
    if outcome(lambda: X[key])[1] is not None:
        agree(lambda: assigned(X.copy(), key, 5), lambda: assigned(a.copy(), key, 5))
        return  # of two errors, either may be raised
    for value in (5, np.float32(2.5), [1], np.arange(6.0), np.ones((3, 3))):
        agree(
            lambda v=value: assigned(X.copy(), key, v), lambda v=value: assigned(a.copy(), key, v)
        )


def assigned(x, key, value):
    x[key] = value
    return x


def test_arrays_without_axes(session):
    for key in (True, False, (None, True), (..., True), ([0],)):
        agree(lambda key=key: np.array(5.0)[key], lambda key=key: dnb.array(5.0)[key])
        for v in (3, [3]):
            agree(
                lambda key=key, v=v: assigned(np.array(5.0), key, v),
                lambda key=key, v=v: assigned(dnb.array(5.0), key, v),
            )
    a = dnb.array(X)
    same(a[dnb.array(True)], X[np.array(True)])
    same(a[dnb.array(1), [0, 2]], X[1, [0, 2]])
    same(a[[0, 1], dnb.array(-1)], X[[0, 1], -1])


# -- where results lie, and what is sent -----------------------------------------------------------


def sent(session, step):
    """Return the result of a step, and how many bytes of elements and positions it sent."""
    with measured(session) as reports:
        found = step()
    ranks = [r for row in reports[0].ops for r in row.ranks]
    # Nothing at all is told to a partner with one byte.
    return found, between_engines(reports[0]), sum(r.messages for r in ranks)


@pytest.mark.usefixtures("engines_only")
def test_a_named_tuple_is_an_index_as_any_tuple(session):
    class Place(NamedTuple):
        i: object
        j: object

    x = np.arange(20.0).reshape(4, 5)
    a = dnb.array(x)
    for key in (Place(1, 2), Place(slice(2), 3), Place([0, 2], 1), Place(None, 1), Place(..., -1)):
        same(a[key], x[key])
        a[key] = x[key] = 7
    same(a, x)


def test_what_is_picked_lies_as_its_index(session):
    x, n = dnb.ones(40), 20
    for dist in ("block", "cyclic", "replicated", ("engine", session.size - 1)):
        i = dnb.array(np.arange(n), dist=dist)
        wanted = i.copy().dbase.layout
        assert x[i].dbase.layout == wanted
        assert dnb.ones((40, 3))[i].dbase.layout.axes[0] == wanted.axes[0]
    assert x[list(range(n))].dbase.layout == dnb.ones(n).dbase.layout


@pytest.mark.usefixtures("engines_only")
def test_axes_that_are_not_indexed_stay(session):
    a = dnb.ones((8, 12), dist=("*", "block"))
    for i in ([0, 3, 5], dnb.array([0, 3, 5]), dnb.array([0, 3, 5], dist="cyclic")):
        if session.size > 1:
            assert a[i].dbase.layout == a[:3].copy().dbase.layout
    _, size, messages = sent(session, lambda: a[[0, 3, 5]])
    assert (size, messages) == (0, 0)


@pytest.mark.usefixtures("engines_only")
def test_nothing_is_sent_from_copies(session):
    a, i = dnb.ones((8, 12), dist="replicated"), dnb.arange(12) % 7
    assert sent(session, lambda: a[i])[1:] == (0, 0)


@pytest.mark.usefixtures("engines_only")
def test_elements_picked_by_a_mask_beside_them_stay(session):
    x = np.arange(4000.0)
    a, m = dnb.array(x), dnb.array(x % 3 == 1)
    found, size, messages = sent(session, lambda: a[m])
    same(found, x[x % 3 == 1])
    assert size == messages  # no more than a byte to say that there is nothing
    rows, size, messages = sent(session, lambda: dnb.nonzero(m))
    assert (size, messages) == (0, 0)
    same(rows[0], np.nonzero(x % 3 == 1)[0])


@pytest.mark.usefixtures("engines_only")
def test_positions_are_spread_if_one_engine_has_all(session):
    p = session.size
    m = dnb.arange(60 * p) < 60
    found = dnb.flatnonzero(m)
    same(found, np.arange(60))
    assert max(found.layout.elements()) <= 2 * -(-60 // p)


@pytest.mark.usefixtures("engines_only")
def test_each_engine_asks_for_what_it_does_not_hold(session):
    """Of positions all elsewhere, each travels once as 4 bytes, and brings one element.

    Where blocks are read in place, only their places travel, and what may be read there counts.
    """
    p, n = session.size, 120
    a = dnb.array(np.arange(n * p, dtype=np.float64))
    i = dnb.array((np.arange(n * p) + n) % (n * p))
    found, size, messages = sent(session, lambda: a[i])
    same(found, (np.arange(n * p) + n) % (n * p) * 1.0)
    moved, idle = (n * p, 2 * p * (p - 2)) if p > 1 else (0, 0)
    pairs, sizes = p * (p - 1), moved * (4 + 8) + idle
    if lends(session):
        assert messages == pairs
        assert size >= moved * 8
    else:
        assert (size, messages) == (sizes, 2 * pairs)


def test_the_last_of_equal_positions_wins(session):
    """Positions from all engines name the same few elements."""
    n = 3000
    i, v = np.arange(n) * 7919 % 5, np.arange(n) * 1.0
    for dist in (None, "cyclic", "replicated"):
        a, x = dnb.zeros(5, dist=dist), np.zeros(5)
        a[dnb.array(i, dist=dist)] = dnb.array(v, dist=dist)
        x[i] = v
        same(a, x)
        np.add.at(a, dnb.array(i), dnb.array(v / 7))
        np.add.at(x, i, v / 7)
        same(a, x)
