"""Groups of operations that run in one pass give what NumPy gives, and what one by one gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distnb as dnb
from distnb import testing
from distnb.engines.fusion import loops
from distnb.plans import temporaries
from tests.contract.support import no_warnings, setting
from tests.tiers import SCALE

pytestmark = pytest.mark.ways("one", "unfused", "compiled")

N = 12  # side of the arrays; what is computed on is a view of INNER elements a side
INNER = 6
OPS = [
    np.add,
    np.subtract,
    np.multiply,
    np.maximum,
    np.less,
    np.not_equal,
    np.copysign,
    np.logical_xor,
]
DTYPES = ["f8", "f8", "f8", "f4", "i8", "u1", "c16", "?"]


@pytest.fixture(params=[7, 1 << 15], autouse=True)
def tile(request, monkeypatch):
    """Tiles of a few elements (in engines of this process), so that there are many of them.

    Then temporaries go where their result lies, however far that is.
    """
    monkeypatch.setattr(loops, "TILE", request.param)
    if request.param == 7:
        monkeypatch.setattr(temporaries, "_FEW", 0)
    forget()
    yield
    forget()


def forget():
    loops.group_plan.cache_clear()
    temporaries._close.cache_clear()


@st.composite
def keys(draw):
    """Return an index that takes INNER elements of each axis, maybe backwards, or every other."""

    def one():
        step = draw(st.sampled_from([1, 1, 1, 2, -1]))
        length = 1 + (INNER - 1) * abs(step)
        at = draw(st.integers(0, N - length))
        if step < 0:
            return slice(at + length - 1, at - 1 if at else None, -1)
        return slice(at, at + length, step)

    return one(), one(), draw(st.sampled_from([False, False, True]))


@st.composite
def programs(draw, bases=2):
    """Return instructions: (operation, where the result goes, two operands, mask)."""
    found = []
    made = 0
    pool = [draw(keys()) for _ in range(2)]

    def key():
        """Return an index; often one that was there before, so that results are overwritten."""
        return draw(st.sampled_from(pool)) if draw(st.booleans()) else draw(keys())

    def operand():
        kind = draw(st.sampled_from(["base", "base", "base", "made", "row", "scalar"]))
        if kind == "made" and made:
            return "made", draw(st.integers(0, made - 1))
        if kind == "scalar":
            return "scalar", draw(st.sampled_from([2, 1.5, True, np.float32(3)]))
        return kind if kind == "row" else "base", draw(st.integers(0, bases - 1)), key()

    for _ in range(draw(st.integers(1, 9))):
        a, b, op = operand(), operand(), draw(st.sampled_from(OPS))
        if draw(st.integers(0, 2)) == 0:
            into = draw(st.integers(0, bases - 1)), key()
            mask = operand() if draw(st.integers(0, 3)) == 0 else None
            found.append(("into", op, ("base", *into), a, b, mask))
        else:
            found.append(("make", op, a, b))
            made += 1
        if made and draw(st.integers(0, 3)) == 0:
            found.append(("drop", draw(st.integers(0, made - 1))))
    return found


class Machine:
    """Runs a program on arrays of NumPy or distnb."""

    def __init__(self, xp, bases):
        self.xp = xp
        self.bases = bases
        self.made = []
        self.refused = []

    def look(self, i, key):
        view = self.bases[i][key[0], key[1]]
        return view.T if key[2] else view

    def value(self, operand):
        if operand[0] == "made":
            found = self.made[operand[1]]
            return 1 if found is None else found
        if operand[0] == "scalar":
            return operand[1]
        view = self.look(*operand[1:])
        return view[0] if operand[0] == "row" else view

    def make(self, op, a, b):
        a, b = self.value(a), self.value(b)
        self.made.append(None)
        if np.isscalar(a) and np.isscalar(b):
            a = self.xp.asarray(a)
        self.made[-1] = self.xp.asarray(op(a, b))  # NumPy's 0-d results are scalars

    def into(self, op, target, a, b, mask):
        a, b, target = self.value(a), self.value(b), self.look(*target[1:])
        if mask is None:
            target[...] = op(a, b)
        else:
            if self.xp is np:  # with a mask, NumPy mixes up what it reads and an overlapping output
                a, b = (np.copy(x) if isinstance(x, np.ndarray) else x for x in (a, b))
            op(a, b, out=target, where=self.value(mask) != 0, casting="unsafe")

    def drop(self, i):
        self.made[i] = None

    def run(self, program):
        """Return all that is left, and which instructions NumPy's rules forbid."""
        for name, *rest in program:
            try:
                getattr(self, name)(*rest)
            except TypeError:
                self.refused.append((name, *rest))
        return [*self.bases, *(m for m in self.made if m is not None)], self.refused


@given(data=st.data())
@settings(max_examples=int(40 * SCALE) + 1)
def test_fused_programs_are_numpys(session, data):
    dtypes = [data.draw(st.sampled_from(DTYPES)) for _ in range(2)]
    dists = [data.draw(testing.layouts((N, N), session.size)) for _ in range(2)]
    program = data.draw(programs())
    starts = [signed(dtype, i) for i, dtype in enumerate(dtypes)]
    with no_warnings():
        expected, refused = Machine(np, [x.copy() for x in starts]).run(program)
        for fuse in (1, 0):
            with setting(fuse=fuse):
                arrays = [dnb.array(x, dist=d) for x, d in zip(starts, dists, strict=True)]
                found, also = Machine(dnb, arrays).run(program)
                values = [np.asarray(x) for x in found]
            assert also == refused
            for x, y in zip(expected, values, strict=True):
                assert (y.dtype, y.shape) == (x.dtype, x.shape)
                np.testing.assert_array_equal(y, x)


def signed(dtype, seed):
    """Return numbers of all signs that stay small enough for every operation."""
    found = np.random.default_rng(seed).integers(0 if dtype in ("u1", "?") else -9, 10, (N, N))
    return found.astype(dtype)


def test_what_is_overwritten_is_not_stored_before(session):
    """A stencil in two steps: of the first array, only the last result is stored."""
    x = signed("f8", 1)
    a, t = dnb.array(x), dnb.zeros((N - 2, N - 2))
    expected = x.copy()
    for _ in range(4):
        t[...] = 0.5 * (a[1:-1, 2:] + a[1:-1, :-2])
        a[1:-1, 1:-1] = t
        expected[1:-1, 1:-1] = 0.5 * (expected[1:-1, 2:] + expected[1:-1, :-2])
    np.testing.assert_array_equal(t.to_numpy(), expected[1:-1, 1:-1])
    np.testing.assert_array_equal(a.to_numpy(), expected)


@pytest.mark.usefixtures("engines_only")
def test_an_overwriter_that_fails_leaves_nothing_behind(session):
    """What was to be overwritten is lost, and says so; what was made of it is right."""
    x = np.arange(1, 7)
    a, powers = dnb.array(x), dnb.array(np.full(6, -1))
    t, b = dnb.zeros(6, int), dnb.zeros(6, int)
    session.flush()
    t[...] = a + 1
    b[...] = t * 2
    total = a.sum()  # a group ends here
    with pytest.raises(ValueError, match="negative integer powers"):
        t[...] = a**powers
        session.flush()
    if t.here is None:  # else NumPy refused before anything was overwritten
        with pytest.raises(dnb.LostArrayError):
            t.to_numpy()
    np.testing.assert_array_equal(b.to_numpy(), (x + 1) * 2)
    assert int(total) == x.sum()
    t[...] = 3
    np.testing.assert_array_equal(t.to_numpy(), np.full(6, 3))
