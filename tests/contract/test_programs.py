"""Random programs of views, in-place operations and assignments end as NumPy's do, exactly."""

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import distnb as dnb
from distnb import testing
from tests.contract.support import no_warnings, numbered, same, setting
from tests.tiers import SCALE

pytestmark = pytest.mark.ways(
    "one", "four", "cutoff", "unfused", "compiled", "reach", "auto", "spmd", "started", "connected"
)

SIDES = st.integers(0, 6)
SHAPES = st.lists(SIDES, min_size=1, max_size=3).map(tuple) | st.tuples(SIDES, SIDES)
DTYPES = st.sampled_from(["i8", "i8", "f8", "i4", "?", "c16", "u1"])
PICK = st.integers(0, 1000)

#: Operations whose results do not depend on the order of anything, and are never refused.
BINARY = [np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.not_equal, np.less_equal]
REDUCTIONS = ["sum", "prod", "max", "min", "any", "all", "argmax", "count_nonzero"]


class Programs(RuleBasedStateMachine):
    """Pairs of a NumPy array and a distributed one that every rule treats alike."""

    session = None

    def __init__(self):
        super().__init__()
        self.live = []
        self.rules = 0

    # -- the pairs ---------------------------------------------------------------------------

    def get(self, pick):
        return self.live[pick % len(self.live)]

    def put(self, x, a):
        if not a.shape and getattr(a, "single", True):
            a = dnb.array(a)  # a scalar, as NumPy's: an array of it can be written into
        assert (a.shape, a.dtype) == (x.shape, x.dtype)
        if len(self.live) < 14:
            self.live.append((x, a))

    def get_writeable(self, pick):
        for i in range(len(self.live)):
            x, a = self.get(pick + i)
            if x.flags.writeable:
                return x, a
        return self.create_plain()

    def create_plain(self):
        x = np.arange(12).reshape(3, 4)
        self.put(x, dnb.array(x))
        return x, self.live[-1][1]

    def alike(self, pick, shape):
        """Return a live pair that broadcasts to a shape, or a part of one."""
        for i in range(len(self.live)):
            x, a = self.get(pick + i)
            if x.ndim > len(shape):
                continue
            tail = shape[len(shape) - x.ndim :]
            if all(n in (1, m) for n, m in zip(x.shape, tail, strict=True)):
                return x, a
            if all(n >= m for n, m in zip(x.shape, tail, strict=True)):
                cut = tuple(slice(n - m, n) for n, m in zip(x.shape, tail, strict=True))
                return x[cut], a[cut]
        return np.int64(3), np.int64(3)

    # -- rules -------------------------------------------------------------------------------

    @initialize(data=st.data(), cutoff=st.sampled_from([0, 100, 1 << 16]))
    def first(self, data, cutoff):
        """Arrays meet, some in the notebook and some on engines, and grow out of the notebook."""
        dnb.config.cutoff = cutoff
        for shape in ((5, 6), (7,)):
            layout = data.draw(testing.layouts(shape, self.session.size))
            x = numbered(shape, "i8")
            self.put(x.copy(), dnb.array(x, dist=layout))

    @rule(data=st.data(), shape=SHAPES, dtype=DTYPES, how=st.integers(0, 3))
    def create(self, data, shape, dtype, how):
        layout = data.draw(st.none() | testing.layouts(shape, self.session.size))
        if how == 0:
            self.put(np.ones(shape, dtype), dnb.ones(shape, dtype, dist=layout))
        elif how == 1:
            self.put(np.full(shape, 3, dtype), dnb.full(shape, 3, dtype, dist=layout))
        elif how == 2:
            x = numbered(shape, dtype)
            self.put(x.copy(), dnb.array(x, dist=layout))
        else:
            dist = None if layout is None else "cyclic"
            self.put(np.arange(shape[0] * 2), dnb.arange(shape[0] * 2, dist=dist))

    @rule(data=st.data(), pick=PICK)
    def index(self, data, pick):
        x, a = self.get(pick)
        key = data.draw(hnp.basic_indices(x.shape, allow_newaxis=True, max_dims=4))
        found = x[key]
        if isinstance(found, np.ndarray):
            self.put(found, a[key])

    @rule(data=st.data(), pick=PICK)
    def transpose(self, data, pick):
        x, a = self.get(pick)
        order = data.draw(st.permutations(range(x.ndim)))
        self.put(x.transpose(order), a.transpose(order))

    @rule(pick=PICK, n=st.integers(1, 3))
    def stretch(self, pick, n):
        x, a = self.get(pick)
        if x.ndim < 4:
            self.put(np.broadcast_to(x, (n, *x.shape)), np.broadcast_to(a, (n, *a.shape)))

    @rule(pick=PICK, other=PICK, f=st.sampled_from(BINARY))
    def compute(self, pick, other, f):
        x, a = self.get(pick)
        y, b = self.alike(other, x.shape)
        if f is np.subtract and x.dtype == bool and np.asarray(y).dtype == bool:
            f = np.not_equal
        self.put(np.asarray(f(x, y)), f(a, b))

    @rule(pick=PICK, other=PICK, f=st.sampled_from(BINARY), scalar=st.none() | st.integers(0, 1))
    def compute_in_place(self, pick, other, f, scalar):
        x, a = self.get_writeable(pick)
        y, b = self.alike(other, x.shape) if scalar is None else (scalar, scalar)
        if x.dtype == bool:
            f = np.logical_xor
        f(x, y, out=x, casting="unsafe")
        f(a, b, out=a, casting="unsafe")

    @rule(pick=PICK, other=PICK)
    def compute_where(self, pick, other):
        x, a = self.get_writeable(pick)
        y, b = self.alike(other, x.shape)
        np.copyto(x, True, where=np.not_equal(y, 1))
        np.copyto(a, True, where=np.not_equal(b, 1))

    @rule(pick=PICK, other=PICK)
    def assign(self, pick, other):
        x, a = self.get_writeable(pick)
        y, b = self.alike(other, x.shape)
        x[...] = y
        a[...] = b

    @rule(pick=PICK, axis=PICK, shift=st.integers(1, 3), forward=st.booleans(), add=st.booleans())
    def shift(self, pick, axis, shift, forward, add):
        """Assign a view to another one of the same array, moved by a few."""
        x, a = self.get_writeable(pick)
        if not x.ndim:
            return
        lead = (slice(None),) * (axis % x.ndim)
        one, two = (*lead, slice(shift, None)), (*lead, slice(None, -shift))
        to, source = (one, two) if forward else (two, one)
        x[to] = x[to] | x[source] if add and x.dtype.kind in "iu?" else x[source]
        a[to] = a[to] | a[source] if add and x.dtype.kind in "iu?" else a[source]

    @rule(pick=PICK, axis=PICK)
    def reverse(self, pick, axis):
        x, a = self.get_writeable(pick)
        if x.ndim:
            key = (*(slice(None),) * (axis % x.ndim), slice(None, None, -1))
            x[key] = x
            a[key] = a

    @rule(pick=PICK)
    def symmetrise(self, pick):
        x, a = self.get_writeable(pick)
        if x.ndim == 2 and x.dtype != bool:
            n = min(x.shape)
            x, a = x[:n, :n], a[:n, :n]
            x += x.T
            a += a.T

    @rule(pick=PICK, name=st.sampled_from(REDUCTIONS), axis=st.none() | PICK, keep=st.booleans())
    def reduce(self, pick, name, axis, keep):
        x, a = self.get(pick)
        axis = None if axis is None or not x.ndim else axis % x.ndim
        if name in ("sum", "prod") and x.dtype.kind in "fc":
            name = "max"  # exact in any order
        if x.size == 0 and name in ("max", "min", "argmax"):
            name = "any"
        if name == "argmax" and x.dtype.kind == "c":
            name = "any"
        f = getattr(np, name)
        self.put(np.asarray(f(x, axis=axis, keepdims=keep)), f(a, axis=axis, keepdims=keep))

    @rule(pick=PICK)
    def reduce_into(self, pick):
        x, a = self.get(pick)
        if x.ndim and x.dtype.kind in "iu":
            y = np.zeros(x.shape[1:], x.dtype)
            b = dnb.zeros(a.shape[1:], a.dtype, dist="cyclic" if x.ndim > 1 else None)
            np.add.reduce(x, out=y, dtype=x.dtype)
            np.add.reduce(a, out=b, dtype=a.dtype)
            self.put(y, b)

    @rule(data=st.data(), pick=PICK)
    def redistribute(self, data, pick):
        x, a = self.get(pick)
        layout = data.draw(testing.layouts(x.shape, self.session.size))
        self.put(x.copy(), a.redistribute(layout))

    @rule(pick=PICK, dtype=DTYPES)
    def convert(self, pick, dtype):
        x, a = self.get(pick)
        if np.can_cast(x.dtype, dtype):
            self.put(x.astype(dtype), a.astype(dtype))

    @rule(pick=PICK)
    def copy(self, pick):
        x, a = self.get(pick)
        self.put(x.copy(), a.copy())

    @precondition(lambda self: len(self.live) > 3)
    @rule(pick=PICK, n=st.integers(1, 4))
    def delete(self, pick, n):
        for _ in range(n):
            if len(self.live) > 1:
                self.live.pop(pick % len(self.live))

    @rule()
    def flush(self):
        self.session.flush()

    @rule(pick=PICK)
    def read(self, pick):
        x, a = self.get(pick)
        same(a, x)

    @rule()
    def time_passes(self):
        """What was recorded so far may leave now."""
        self.session.send()

    # -- the end -----------------------------------------------------------------------------

    @invariant()
    def promises_hold(self):
        assert all((a.shape, a.dtype) == (x.shape, x.dtype) for x, a in self.live)

    def teardown(self):
        for x, a in self.live:
            same(a, x)
        self.live.clear()


def test_programs(session):
    class Machine(Programs):
        pass

    Machine.session = session
    steps = settings(max_examples=max(2, round(100 * SCALE)), stateful_step_count=40)
    with no_warnings(), setting(cutoff=0):
        run_state_machine_as_test(Machine, settings=steps)
