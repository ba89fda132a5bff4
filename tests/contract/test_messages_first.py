"""Messages that are sent before their turn: batches of shifted sums, in place and not, are NumPy's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distnb as dnb
from distnb import testing
from tests.contract.support import setting
from tests.tiers import SCALE

pytestmark = pytest.mark.ways("one", "four", "unfused", "spmd")

#: No two alike, so that no two operations run in one pass.
LENGTHS = (11, 12, 13)
STEPS = ("sum", "into", "assign", "reverse", "both", "total", "sort", "fill", "drop", "look")


class Machine:
    """Runs steps on arrays of NumPy or distnb."""

    def __init__(self, arrays):
        self.arrays = list(arrays)

    def run(self, program):
        for name, i, j, k in program:
            a, b = self.arrays[i % len(self.arrays)], self.arrays[j % len(self.arrays)]
            if len(a) > k:
                getattr(self, name)(a, b, k)
        return self.arrays

    def sum(self, a, b, k):
        self.arrays.append(a[k:] + a[: len(a) - k])

    def into(self, a, b, k):
        a[k:] += a[: len(a) - k]

    def assign(self, a, b, k):
        a[: len(a) - k] = a[k:]

    def reverse(self, a, b, k):
        self.arrays.append(a[::-1] * k - a)

    def both(self, a, b, k):
        n = min(len(a), len(b))
        a[:n] -= b[::-1][:n]

    def total(self, a, b, k):
        a[k:] += b.sum() % 7

    def sort(self, a, b, k):
        a.sort()

    def fill(self, a, b, k):
        a[k:] = k

    def look(self, a, b, k):
        self.arrays.append(a[k:])

    def drop(self, a, b, k):
        if len(self.arrays) > 2:
            self.arrays.pop()


STEP = st.tuples(st.sampled_from(STEPS), st.integers(0, 5), st.integers(0, 5), st.integers(1, 4))


@given(data=st.data())
@settings(max_examples=int(40 * SCALE) + 1)
def test_batches_of_shifted_sums_are_numpys(session, data):
    program = data.draw(st.lists(STEP, min_size=2, max_size=14))
    dists = [data.draw(testing.layouts((n,), session.size)) for n in LENGTHS]
    starts = [np.arange(n) * 7 % 23 - 9 for n in LENGTHS]
    with setting(flush_idle=60):
        arrays = [dnb.array(x, dist=d) for x, d in zip(starts, dists, strict=True)]
        found = Machine(arrays).run(program)
        expected = Machine([x.copy() for x in starts]).run(program)
        assert len(found) == len(expected)
        for x, y in zip(expected, found, strict=True):
            np.testing.assert_array_equal(np.asarray(y), x)
