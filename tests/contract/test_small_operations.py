"""Small operations with masks, dtypes and several outputs, and placements: NumPy does them in reach."""

import random

import numpy as np
import pytest

import distnb as dnb
from tests.contract.support import outcome, public, same, setting

UFUNCS = (np.add, np.divide, np.maximum, np.multiply, np.sqrt, np.less, np.negative, np.divmod)
VIEWS = (
    lambda a: a,
    lambda a: a[::2],
    lambda a: a.T,
    lambda a: a[1:],
    lambda a: a.reshape(-1),
    lambda a: a[..., ::-1],
)


class Program:
    """A step on a view of an array, which both sides take with the same numbers."""

    def __init__(self, seed):
        chance = self.chance = random.Random(seed)
        numbers = np.random.default_rng(seed)
        shape = chance.choice([(7,), (5, 4), (61, 70), (3, 4, 5), (40_000,)])
        self.dist = chance.choice([None, "block", "cyclic", "replicated"])
        dtype = chance.choice(["f8", "i4", "u1", "c16", "?", "f4"])
        self.whole = numbers.integers(-9, 9, shape).astype(dtype)
        self.view = chance.choice(VIEWS)
        x = self.view(self.whole)
        self.other = numbers.integers(-9, 9, x.shape[chance.randrange(2) :]).astype(dtype)
        self.mask, self.where = numbers.random(x.shape) < 0.3, numbers.random(x.shape) < 0.5
        far = 2 if chance.random() < 0.2 else 0
        self.at = numbers.integers(-x.size - far, x.size, chance.randrange(1, 6))
        self.values = numbers.integers(-9, 9, chance.randrange(1, 5)).astype(dtype)
        self.mode = chance.choice(["raise", "clip", "wrap"])
        self.draws = [chance.random() for _ in range(12)]

    def run(self, np_, whole):
        """Return all that a step has made and written, or the type of what it raised."""
        give = np.asarray if np_ is np or self.draws[0] < 0.5 else dnb.asarray
        x = self.view(whole)
        try:
            with np.errstate(all="ignore"):
                made = self._step(np_, x, give)
        except (ValueError, TypeError, IndexError) as error:
            return [type(error).__name__]
        return [np.asarray(whole), *map(np.asarray, made)]

    def _step(self, np_, x, give):
        kind, into, masked, cast, double, out = self.draws[1:7]
        if kind < 0.2:
            np_.put(x, give(self.at), give(self.values), mode=self.mode)
        elif kind < 0.3:
            np_.putmask(x, give(self.mask), give(self.values))
        elif kind < 0.4:
            np_.place(x, give(self.mask), give(self.values))
        else:
            run = self.chance.choice(UFUNCS) if np_ is np else self.ran
            self.ran = run
            inputs = (x, give(self.other))[: run.nin]
            one = np_.ones_like(x) if into < 0.7 else x
            options = {"where": give(self.where)} if masked < 0.6 else {}
            options |= {"casting": "unsafe"} if cast < 0.3 else {}
            options |= {"dtype": "f8"} if double < 0.3 and run.nout == 1 else {}
            if "where" in options or out < 0.5:
                options["out"] = one if run.nout == 1 else (np_.ones_like(x), one)
            found = getattr(np_, run.__name__)(*inputs, **options)
            return found if isinstance(found, tuple) else (found, one)
        return ()


@pytest.mark.cases(2)
@pytest.mark.ways("one", "four", "started", "reach")
@pytest.mark.parametrize("part", range(4))
def test_as_numpys(session, part):
    for seed in range(60 * part, 60 * part + 60):
        program = Program(seed)
        ours = dnb.array(program.whole, dist=program.dist)
        want, got = program.run(np, program.whole), program.run(dnb, ours)
        assert len(want) == len(got), (seed, want, got)
        for w, g in zip(want, got, strict=True):
            np.testing.assert_array_equal(
                g, w, err_msg=f"seed {seed}", strict=not isinstance(w, str)
            )


STEPS = {
    "divmod": lambda np_, x, y, at: (*divmod(x, y), *divmod(7, x), *np_.divmod(x, 3), x),
    "two results": lambda np_, x, y, at: (*np_.modf(x), *np_.frexp(x.T)),
    "index of no axes": lambda np_, x, y, at: (x[at], x.reshape(-1)[at], x[..., 1][at]),
    "reduce": lambda np_, x, y, at: (
        np_.add.reduce(x.astype(int)),
        np_.maximum.reduce(x, axis=-1, keepdims=True),
        np_.logical_and.reduce(x, axis=None),
        np_.subtract.reduce(x, axis=1),
        np_.bitwise_xor.reduce(x.astype("u1")),
    ),
    "reduceat": lambda np_, x, y, at: (
        np_.add.reduceat(x.astype(int), [0, 2, 1]),
        np_.subtract.reduceat(x, [0, 4]),
        np_.minimum.reduceat(x.T, np_.array([1, 0])),
    ),
    "outer": lambda np_, x, y, at: (
        np_.subtract.outer(x[0], x[1]),
        np_.multiply.outer(x.T, y[0]),
        np_.add.outer(x[:, 0], x.sum(dtype=int)),
    ),
    "brackets": lambda np_, x, y, at: (np_.c_[x, y], np_.r_[x[0], 3, y[1]], np_.r_[x.T, y.T]),
    "ix_": lambda np_, x, y, at: (x[np_.ix_([0, 1], [1, 0])], *np_.ix_([True, False], [2])),
}


def written(np_, x, y, at):
    """Write into arrays by the short ways; one is cast."""
    x[at] = y[at]
    x.put([3, -1], y[0, :2])
    np_.put(x[:, 1:], 2, 0.5)
    np_.copyto(x[2], y[2].astype("f4"))
    np_.copyto(y, 2)
    return x, y


@pytest.mark.ways("reach", "four")
@pytest.mark.parametrize("name", [*STEPS, "written"])
def test_short_ways_give_what_engines_give(session, name):
    """Values are NumPy's, and results lie as those of engines."""
    run = STEPS.get(name, written)
    x, y = (np.random.default_rng(n).integers(1, 9, (6, 5)) / 4 for n in range(2))
    for dist in (None, "block", ("*", "cyclic"), "replicated"):
        want, lies = run(np, x.copy(), y.copy(), np.array(2)), []
        for place in (dnb.config.place, "engines"):
            with setting(place=place):
                found = run(dnb, *(dnb.array(z, dist=dist) for z in (x, y)), dnb.array(2))
                for f, w in zip(found, want, strict=True):
                    same(f, w)
                lies.append([f.layout for f in found if isinstance(f, dnb.DistArray) and f.ndim])
        assert lies[0] == lies[1]


@pytest.mark.parametrize("dist", [None, "block"])
def test_short_ways_refuse_what_numpy_refuses(session, dist):
    x = np.array([[1e308, 0.0], [2.0, 3.0]])
    a = dnb.array(x, dist=dist)
    for run in (
        lambda z: divmod(z, 0.0),
        lambda z: z[np.array(2)],
        lambda z: np.multiply.outer(z[0], z[0]),
        lambda z: np.multiply.reduce(z * 2, axis=1),
        lambda z: np.add.reduceat(z, [0, 5]),
        lambda z: np.bitwise_and.reduce(z),
        lambda z: np.copyto(z, 1j),
        lambda z: z.put(9, 1.0),
    ):

        def strictly(z, run=run):
            with np.errstate(all="raise"):
                run(z)
                session.flush()

        _, error = outcome(lambda strictly=strictly: strictly(x))
        with pytest.raises(public(error)):
            strictly(a)


@pytest.mark.ways("reach", "started")
def test_nothing_is_sent_for_rows(session):
    with setting(place="auto", cutoff=1 << 20):
        rows(session)


def rows(session):
    a = dnb.array(np.arange(601 * 701.0).reshape(601, 701))
    float(a[0, 0])
    session.flush()
    out, mask = dnb.zeros(701), a[9] > 3
    before = session.batches
    np.divide(a[3], a[4], out=out, where=a[4] != 0)
    np.add(a[3], a[4], out=a[5], where=mask)
    np.add(a[3], a[4], dtype="f4", casting="unsafe")
    np.divmod(a[3], 3, out=(a[4], a[5]))
    np.put(a, [5, 9], [1, 0])
    np.putmask(a[:1, :50], a[:1, :50] > 3, [1, 2])
    assert session.batches == before
    assert a[0, 5].item() == 1.0
