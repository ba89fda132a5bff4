"""Functions of positions and masks agree with NumPy: take, put, nonzero, choose, ufunc.at ..."""

import copy

import numpy as np
import pytest

import distnb as dnb
from tests.contract.support import agree, numbered, thin

pytestmark = pytest.mark.ways("one", "cutoff")

RNG = np.random.default_rng(5)
X = RNG.integers(0, 100, (6, 5))
Y = RNG.random((6, 5))
V = RNG.random(12)
I = RNG.integers(-12, 12, 7)  # noqa: E741
M = Y < 0.4
LAYOUTS = [None, "cyclic", "replicated", "engine", ("*", "block"), "host"]


def spread(x, dist, session):
    """Return an argument in a layout."""
    if not isinstance(x, np.ndarray) or not x.ndim or dist == "host":
        return x
    if dist == "engine":
        dist = ("engine", session.size - 1)
    elif isinstance(dist, tuple) and x.ndim < 2:
        dist = "block"
    return dnb.array(x, dist=dist)


def changed(run):
    """Return a function that runs another, and returns its first argument as it is then."""

    def function(xp, x, *args):
        run(xp, x, *args)
        return x + 0

    return function


def many(run, *variants):
    """Return the same case with several arguments."""
    return [(run, *v) for v in variants]


AXES_TAKE = lambda xp, a, i: xp.take(a, i, axis=-1)  # noqa: E731

READS = {
    "take": many(
        lambda xp, a, i: xp.take(a, i),
        (X, I),
        (X, I * 3),
        (X, I * 1.5),
        (X, I > 2),
        (X[:0], np.zeros(3, int)),
        (X[:0], np.zeros(0, int)),
        (X.astype("c8"), I[:, None] + I % 3),
    ),
    "take along": many(AXES_TAKE, (X, I % 5), (X.T[::-1], I % 5), (X, I)),
    "take modes": [
        (lambda xp, a, i, m=m: xp.take(a, i, axis=1, mode=m), X, I) for m in ("wrap", "clip", "x")
    ],
    "take one": many(lambda xp, a: xp.take(a, 3, axis=0) + 0, (X,), (X[:2],)),
    "take of one": many(lambda xp, i: xp.take(xp.asarray(2.5), i), (np.zeros(3, int),), (I,)),
    "take along axis": [
        *many(
            lambda xp, a, i: xp.take_along_axis(a, i, 0),
            (Y, np.argsort(Y, 0)),
            (Y, np.array([[-1, 2, 3, 4, 5]])),
            (Y, np.array([[-1]])),
            (Y, np.array([[6, 2, 3, 4, 5]])),
            (Y, I),
            (Y, Y),
            (V, I),
        ),
        (lambda xp, a, i: xp.take_along_axis(a, i, 1), Y, np.argsort(Y, 1)[:, :2]),
        (lambda xp, a, i: xp.take_along_axis(a, i, None), Y, I),
    ],
    "nonzero": many(
        lambda xp, a: xp.nonzero(a),
        (M,),
        (M[:, 0],),
        (M[:0],),
        (M.T,),
        (M[None, :2],),
        (np.array([0.0, np.nan, -0.0, 3]),),
        (numbered((3, 4, 5)) % 3 - 1,),
    ),
    "where": [
        (lambda xp, a: xp.where(a), M),
        (lambda xp, a: xp.where(a, 1), M),
        (lambda xp, a: xp.nonzero(xp.asarray(3)), M),
        (lambda xp, a: xp.flatnonzero(a), M[::-1, 1:]),
    ],
    "argwhere": [
        *many(lambda xp, a: xp.argwhere(a), (M,), (X[0] - 3,), (M[:, :0],)),
        (lambda xp, a: xp.argwhere(xp.asarray(3)), M),
        (lambda xp, a: xp.argwhere(xp.asarray(0)), M),
    ],
    "compress": [
        *many(
            lambda xp, a, c: xp.compress(c, a, axis=0),
            (X, np.array([True, False, True])),
            (X, np.array([1, 0, 3, 0, 1, 0, 0])),
            (X, np.array([1, 0, 3, 0, 1, 0, 1])),
            (X, X),
        ),
        (lambda xp, a, c: xp.compress(c, a), X, X[0] > 20),
        *many(lambda xp, a, c: xp.extract(c, a), (X, M), (X, np.array([1, 0, 1])), (X, X[:0])),
    ],
    "choose": [
        (lambda xp, a, b, c, m=m, k=k: xp.choose(a - k, [b, c, 7], mode=m), X % 3, X, Y)
        for m in ("raise", "wrap", "clip")
        for k in (0, 1)
    ],
    "choose, stretched": [
        (lambda xp, a, b: xp.choose(a, [b]), X * 0, np.arange(5)),
        (lambda xp, a, b: xp.choose(a, [b, b * 2]), np.array([[0], [1]]), np.arange(5)),
        (lambda xp, a, b: xp.choose(a, b), np.array([0, 1, 1, 0, 0]), X),
        (lambda xp, a, b: xp.choose(a, b), np.array([0, 1, 1, 0, 0.0]), X),
    ],
    "select": [
        (lambda xp, a, b: xp.select([a < 20, a < 50], [a, b], -1), X, Y),
        (lambda xp, a, b: xp.select([a < 20, a[0] < 50], [5, b]), X, np.arange(5.0)),
        (lambda xp, a, b: xp.select([a], [b]), X, Y),
        (lambda xp, a, b: xp.select([a], [b, b]), M, Y),
        (lambda xp, a, b: xp.select([a > 3], [b]), X, Y.astype("f4")),
    ],
    "delete": [
        (lambda xp, a, o=o, d=d: xp.delete(a, o, d), Y)
        for d in (0, None)
        for o in (
            1,
            -2,
            np.s_[0:4:2],
            [0, 3, 3],
            np.array([1, -1]),
            [],
            [True, False] * 3,
            77,
            [99],
        )
    ],
    "insert": [
        (lambda xp, a, o=o, d=d, v=v: xp.insert(a, o, v, d), X)
        for d, v in ((0, 9), (None, 9.5), (1, np.arange(6)), (1, np.arange(6)[:, None]))
        for o in (1, -2, 5, [1], np.s_[0:4:2], [0, 3, 3], np.array([1, -1]), 77)
    ],
    "unravel_index": [
        *many(lambda xp, i: xp.unravel_index(i, (3, 4)), (X % 12,), (X,), (I,), (Y,)),
        (lambda xp, i: xp.unravel_index(i, (3, 4, 9), "F"), X),
    ],
    "ravel_multi_index": [
        (lambda xp, i, j, m=m, o=o: xp.ravel_multi_index((i, j), (7, 8), m, o), i, j)
        for o in "CF"
        for m in ("raise", "wrap", "clip", ("clip", "wrap"))
        for i, j in ((X % 7, X[0] % 8), (X, X - 50))
    ],
    "ix_": [
        (lambda xp, a, i, j: a[xp.ix_(i, j)], Y, np.array([1, 3, 1]), M[0]),
        (lambda xp, a, i, j: a[xp.ix_(i, j)], Y, np.array([1, 6]), M[0]),
        (lambda xp, a, i: xp.ix_(i), Y, X),
    ],
    "methods": [
        (lambda xp, a: (a.take([1, 2]), a.compress([True, False], 0), *a.nonzero()), X),
        (lambda xp, a: (a % 2).choose([a, a * 2]), X),
    ],
}

WRITES = {
    "put": [
        *many(
            lambda xp, a, i, v: xp.put(a, i, v),
            *((Y, I, v) for v in (np.array([1.5, 2, 3]), 4, np.arange(7), np.arange(20.0), [])),
            (Y, np.array([30]), 1.0),
            (Y[:0], np.array([0]), 1.0),
            (Y, np.arange(300) % 7, RNG.random(300)),  # the last of equal ones wins
            (Y, np.array([[1, 2], [3, 4]]), np.arange(3.0)),
        ),
        (lambda xp, a, i, v: xp.put(a.T[1:], i, v), Y, I, np.arange(7.0)),
        (lambda xp, a, i: a.put(i, 7), X, I),
    ],
    "put modes": [
        (lambda xp, a, i, v, m=m: xp.put(a, i, v, mode=m), Y, np.array([30, -40]), np.arange(2.0))
        for m in ("wrap", "clip")
    ],
    "place": many(
        lambda xp, a, m, v: xp.place(a, m, v),
        *((Y, M, v) for v in (np.array([1.5, 2, 3]), 4, np.arange(40.0), [])),
        (Y, M[:2], 1.0),
        (Y, M.ravel(), [1, 2]),
        (Y, M & False, [1, 2]),
    ),
    "putmask": many(
        lambda xp, a, m, v: xp.putmask(a, m, v),
        *((Y, M, v) for v in (np.array([1.5, 2, 3]), 4, np.arange(40.0), [], X)),
        (Y, M[:2], 1.0),
        (Y, M.ravel(), [1, 2]),
    ),
    "put_along_axis": [
        (
            lambda xp, a, i, v: xp.put_along_axis(a, i, v, 1),
            Y,
            np.argsort(Y, 1)[:, :2],
            np.arange(12.0).reshape(6, 2),
        ),
        (lambda xp, a, i: xp.put_along_axis(a, i, 9, 0), Y, np.argsort(Y, 0)[:1]),
        (lambda xp, a, i: xp.put_along_axis(a, i, 9, None), Y, I),
    ],
    "ufunc.at": [
        (lambda xp, a, i, v: np.add.at(a, i, v), V, np.arange(100) % 7, RNG.random(100)),
        (lambda xp, a, i: np.add.at(a, i, 1), V, np.arange(100) % 7),
        (lambda xp, a, i: np.add.at(a, i, 1), V, np.arange(100)),
        (lambda xp, a, i, v: np.add.at(a, i, v), V, np.array([1, 1, 2]), np.arange(2.0)),
        (lambda xp, a, i, v: np.add.at(a, i, v), X.astype("u1"), np.array([1, 1, 2]), 300),
        (lambda xp, a, i: np.negative.at(a, i), V, np.array([1, 1, 2])),
        (lambda xp, a, i: np.negative.at(a, i, 1), V, np.array([1, 1, 2])),
        (lambda xp, a, i: np.add.at(a, i), V, np.array([1, 1, 2])),
        (lambda xp, a, i: np.divmod.at(a, i, 1), V, np.array([1, 1, 2])),
        (lambda xp, a, i: np.bitwise_or.at(a, i, 1), V, np.array([1, 1, 2])),
    ],
    "ufunc.at, mixed": [
        (
            lambda xp, a, i, v: np.add.at(a, (i, slice(None)), v),
            Y,
            np.array([0, 1, 0]),
            np.arange(5.0),
        ),
        (
            lambda xp, a, i, v: np.subtract.at(a, (slice(1, None, 2), i), v),
            Y,
            np.array([0, 1, 0]),
            np.arange(3.0),
        ),
        (lambda xp, a, m: np.multiply.at(a, m, 2), Y, M),
        (lambda xp, a: np.multiply.at(a, slice(1, 3), 2), Y),
        (lambda xp, a: np.multiply.at(a, (2, 1), 2), Y),
    ],
    "in place": [
        (lambda xp, a, i: a.__setitem__(i, a[i] + 1), V, np.array([1, 1, -2])),
        (lambda xp, a, m: a.__setitem__(m, a[m] * 2), Y, M),
        (lambda xp, a, i: a.__setitem__(i, a), V, np.arange(12)[::-1].copy()),
    ],
}


def compare(session, run, args, turn):
    """Run a case in two layouts."""
    for dist in (LAYOUTS[turn % 6], LAYOUTS[(turn + 1 + turn // 6) % 6]):
        given = [spread(x, dist, session) for x in copy.deepcopy(args)]
        given[0] = given[0] if isinstance(given[0], dnb.DistArray) else dnb.array(given[0])

        def ours(given=given):
            found = run(dnb, *given)
            session.flush()  # engines may refuse it
            return found

        agree(lambda: run(np, *copy.deepcopy(args)), ours)


@pytest.mark.cases(3 * len(READS))
@pytest.mark.parametrize("name", READS)
def test_reading_as_numpy(session, name):
    for turn, (run, *args) in enumerate(thin(READS[name], 3)):
        compare(session, run, args, turn + len(name))


@pytest.mark.cases(3 * len(WRITES))
@pytest.mark.parametrize("name", WRITES)
def test_writing_as_numpy(session, name):
    for turn, (run, *args) in enumerate(thin(WRITES[name], 3)):
        compare(session, changed(run), args, turn + len(name))


def test_only_ufuncs_of_numpy_are_applied_at_positions(session):
    mine = np.frompyfunc(lambda x, y: x + y, 2, 1)
    with pytest.raises(TypeError, match="expected a ufunc of NumPy"):
        mine.at(dnb.zeros(3), [0], 1)
    session.flush()


def test_read_only_arrays_are_not_written(session):
    a = np.broadcast_to(dnb.arange(4), (3, 4))
    for write in (
        lambda: dnb.put(a, [0], 1),
        lambda: a.__setitem__([0], 1),
        lambda: np.add.at(a, [0], 1),
    ):
        with pytest.raises(ValueError, match="read-only"):
            write()
    session.flush()


def test_positions_that_python_has_are_checked_at_the_call(session):
    for wrong in (99, -1, [3, 99], np.array([99])):
        with pytest.raises(
            ValueError, match=r"index (99|-1) is out of bounds for array with size 9"
        ):
            dnb.unravel_index(wrong, (3, 3))
