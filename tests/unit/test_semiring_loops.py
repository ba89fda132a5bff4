"""Compiled loops of semirings give the digits that NumPy's functions give."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp

from distnb.engines.fusion.compiler import Compiler, available
from distnb.engines.sparse import semirings
from distnb.ops.semirings import MONOIDS, MULTIPLIES, semiring

KINDS = {"doubles": ("f8", "f8", "i4"), "mixed": ("i2", "f4", "i8"), "bytes": ("u1", "i1", "i4")}
FEW = [("min", "plus", "doubles"), ("plus", "second", "mixed")]
CASES = [
    pytest.param(*case, marks=pytest.mark.tier("test" if case in FEW else "test-all"))
    for case in product(MONOIDS, MULTIPLIES, KINDS)
    if not ({*case[:2]} & {"or", "and", "xor"} and case[1] in ("minus", "div"))
]


def part(shape, dtype, index, seed):
    rng = np.random.default_rng(seed)
    found = sp.random_array(shape, density=0.3, rng=rng, format="csr")
    found.data = np.round(found.data * 9, 2) - 3
    if np.dtype(dtype).kind == "f":
        found.data[::7] = np.nan
    found = found.astype(dtype)
    found.indices, found.indptr = found.indices.astype(index), found.indptr.astype(index)
    return found


@pytest.fixture
def compiler(monkeypatch):
    if not available():
        pytest.skip("Numba is not installed")
    monkeypatch.setattr(semirings, "_MANY", 0)
    return Compiler(wait=True)


def both(name, dtypes, compiler, flip=False):
    """Return what does it with compiled loops, and what does it with NumPy's functions."""
    ring = semiring(name, *[np.dtype(d) for d in dtypes])
    packed = (ring.add, ring.multiply, ring.dtype.str, flip)
    return semirings.Ring(packed, compiler), semirings.Ring(packed, None)


def equal(a, b):
    for x, y in zip(a, b, strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(x, y)


def arrays(a):
    return a.data, a.indices, a.indptr


@pytest.mark.cases(1)
@pytest.mark.parametrize(("add", "multiply", "kinds"), CASES)
@pytest.mark.timeout(300)
def test_same_digits(compiler, add, multiply, kinds):
    *dtypes, index = KINDS[kinds]
    fast, slow = both(f"{add}_{multiply}", dtypes, compiler, flip=index == "i8")
    a, b = part((9, 8), dtypes[0], index, 1), part((8, 11), dtypes[1], index, 2)
    mask = part((9, 11), "f8", index, 3)
    mask.data[:] = 1
    mask.sum_duplicates()
    x = part((8, 3), dtypes[1], index, 4).toarray()
    y = part((9, 3), dtypes[1], index, 4).toarray()
    for v, w in ((x, y), (x[:, 0], y[:, 0])):
        for name, given, n in (("rows", v, 9), ("columns", w, 8)):
            outs = [np.empty((n, *v.shape[1:]), fast.dtype) for _ in range(2)]
            for ring, out in zip((fast, slow), outs, strict=True):
                getattr(ring, name)(arrays(a), given, out)
            equal(*[[out] for out in outs])
            if v.ndim == 1:
                for ring, out in zip((fast, slow), outs, strict=True):
                    getattr(ring, name)(arrays(a), given, out, np.arange(len(given)) % 3 != 1)
                equal(*[[out] for out in outs])
    for given, others in ((None, False), (mask, False), (mask, True)):
        found = [ring.matrix(a, b, given, others) for ring in (fast, slow)]
        for z in found:
            z.sort_indices()
        equal(*[(z.data, z.indptr.astype("i8"), z.indices.astype("i8")) for z in found])


def test_rows_are_taken_in_chunks(monkeypatch):
    a, b = part((50, 40), "f8", "i4", 1), part((40, 30), "f8", "i4", 2)
    _, ring = both("min_plus", ("f8", "f8"), None)
    whole = ring.matrix(a, b, None, False)
    for chunk in (1, 100):
        monkeypatch.setattr(semirings, "_CHUNK", chunk)
        some = ring.matrix(a, b, None, False)
        equal(arrays(some), arrays(whole))


def test_a_loop_that_cannot_be_had_is_not_awaited(monkeypatch):
    class Never:
        def get(self, _):
            return None

        def settled(self, _):
            return True

    monkeypatch.setattr(semirings, "_MANY", 0)
    monkeypatch.setattr(semirings, "_WAIT", 0)
    a = part((5, 5), "f8", "i4", 1)
    fast, slow = both("min_plus", ("f8", "f8"), Never())
    equal(arrays(fast.matrix(a, a, None, False)), arrays(slow.matrix(a, a, None, False)))
