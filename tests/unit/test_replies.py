"""Replies, as they travel."""

import numpy as np
import pytest

from distnb.measure.records import Times
from distnb.wire.channel import SMALL
from distnb.wire.messages import Failure, Reply
from distnb.wire.replies import decode, encode

TIMES = Times(12, ((-1,), (0, 1)), b"marks", b"", b"sent")


def there_and_back(**values):
    reply = Reply(
        3, (Failure(1, 3, ("E",), "m", "t", (None, (2,))),), (7,), ((0, "w"),), {}, TIMES, True
    )
    numbered = dict(enumerate(values.values()))
    text, arrays = encode(reply._replace(values=numbered))
    found = decode(text, [np.frombuffer(bytes(a), np.uint8) for a in arrays])
    assert found._replace(values={}) == reply
    assert isinstance(found.times, Times)
    return found.values, arrays


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (5,), (2, 3, 4)])
def test_small_arrays_go_along(dtype, shape):
    made = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    given = {"c": made, "fortran": np.asfortranarray(made), "turned": np.flip(made).T}
    values, apart = there_and_back(**given)
    assert not apart
    for found, expected in zip(values.values(), given.values(), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("more", [0, 1])
def test_large_ones_travel_apart(more):
    made = np.arange(SMALL // 8 + more, dtype=float)
    turned = np.ones((300, 300))[:, ::2].T
    values, apart = there_and_back(a=made, b=turned, c=None, d=(1, "x"))
    assert len(apart) == 1 + more
    np.testing.assert_array_equal(values[0], made, strict=True)
    np.testing.assert_array_equal(values[1], turned, strict=True)
    assert (values[2], values[3]) == (None, (1, "x"))


def test_a_large_array_is_not_copied():
    made = np.zeros(SMALL)
    _, (apart,) = encode(Reply(0, (), (), (), {1: made}, TIMES, False))
    assert np.shares_memory(apart, made)
