"""Bits of bytes on the engines that hold them: values as NumPy's, along any axis of any layout."""

import itertools

import numpy as np
import pytest

import distnb as dnb
from tests.contract.support import measured, same

SHAPES = (1,), (7,), (8,), (41,), (3, 17), (17, 3), (2, 9, 16)

pytestmark = pytest.mark.ways("one", "four")

LAYOUTS = "block", "cyclic", "replicated"


@pytest.mark.parametrize("order", ["big", "little"])
def test_bits_as_numpys(session, order):
    for shape, dist in itertools.product(SHAPES, LAYOUTS):
        x = np.arange(np.prod(shape)).reshape(shape) % 251
        u, truth = x.astype(np.uint8), x % 3 == 0
        a, b = dnb.array(u, dist=dist), dnb.array(truth, dist=dist)
        for axis in (None, *range(len(shape))):
            same(dnb.packbits(b, axis, order), np.packbits(truth, axis, order))
            for count in (None, -3, 5, 200):
                options = {"count": count, "bitorder": order}
                same(dnb.unpackbits(a, axis, **options), np.unpackbits(u, axis, **options))
        same(dnb.packbits(a[::-1], -1, order), np.packbits(u[::-1], -1, order))


def test_nothing_is_sent_to_unpack(session):
    a = dnb.array((np.arange(4003) % 256).astype(np.uint8), dist="block")
    session.flush()
    with measured(session) as report:
        bits = dnb.unpackbits(a)
    assert sum(engine.bytes for engine in report[0].engines) < 100  # whether all went well
    assert bits.shape == (8 * 4003,)
