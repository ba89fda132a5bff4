"""Segments that overlap are dealt to lanes in which they rise, each one once."""

import itertools

import numpy as np
import pytest

from distnb.plans.segments import lanes


@pytest.mark.parametrize("n", range(1, 6))
def test_every_segment_is_in_one_lane_as_numpy_reduces_it(n):
    x = 2 ** np.arange(n)
    for k in range(1, 5):
        for at in itertools.product(range(n), repeat=k):
            found, depth = np.zeros(k, int), np.zeros(n, int)
            expected = np.add.reduceat(x, at)
            for i, (begin, following) in enumerate(zip(at, [*at[1:], n], strict=True)):
                depth[begin : max(following, begin + 1)] += 1
                assert found[i] == 0
            dealt = [*lanes(np.array(at), n)]
            for lane in dealt:
                assert (np.diff(lane.begins) > 0).all()
                assert lane.begins[-1] < lane.end <= n
                part = x[lane.begins[0] : lane.end]
                sums = np.add.reduceat(part, lane.begins - lane.begins[0])
                found[lane.segments] += sums[lane.places]
            np.testing.assert_array_equal(found, expected)
            assert len(dealt) == depth.max()
