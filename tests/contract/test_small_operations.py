"""Small operations with masks, dtypes and several outputs, and placements: NumPy does them in reach."""

import random

import numpy as np
import pytest

import distnb as dnb
from tests.contract.support import setting

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
