"""Indexing by arrays agrees with NumPy: reading, assigning, whatever the layouts and the views."""

import numpy as np
import pytest

import distnb as dnb
from tests.contract.support import SCALE, agree, numbered, outcome, same

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
