"""Arrays made by a formula agree with NumPy."""

import numpy as np
import pytest

import distnb as dnb
from tests.contract.support import agree, same

pytestmark = [pytest.mark.usefixtures("session"), pytest.mark.ways("cutoff")]


def test_logarithmic():
    for args, options in (
        *(((0, 3), {}), ((0, 3, 7), {"endpoint": False}), ((1, 2, 5), {"base": 2.0})),
        *(((0, 2, 5), {"dtype": np.int32}), ((0, 1, 0), {}), ((0, 1, 1), {}), ((0, 1, -1), {})),
    ):
        agree(
            lambda a=args, o=options: np.logspace(*a, **o),
            lambda a=args, o=options: dnb.logspace(*a, **o),
            1e-14,
        )
    for args, options in (
        *(((1, 1000, 4), {}), ((1000, 1, 9), {}), ((-3, -2000), {}), ((1, 256, 9), {"dtype": int})),
        *(
            ((1, 2, 3), {"endpoint": False}),
            ((0, 5), {}),
            ((2, 9, 1), {}),
            ((2, 9, 0), {"dtype": np.float32}),
        ),
        *(((np.float32(1), np.float32(7), 5), {}),),
    ):
        agree(
            lambda a=args, o=options: np.geomspace(*a, **o),
            lambda a=args, o=options: dnb.geomspace(*a, **o),
            1e-13,
        )
    cyclic = dnb.ones(8, dist="cyclic")
    found = dnb.logspace(0, 1, 8, dist="cyclic")
    assert found.layout.base == (cyclic + 1).layout.base


@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hanning"])
def test_windows(name):
    for m in (0, 1, 2, 3, 12, -3):
        expected = getattr(np, name)(m)
        np.testing.assert_allclose(getattr(dnb, name)(m).to_numpy(), expected, 1e-12, 1e-15)
    same(dnb.kaiser(12, 5.5), np.kaiser(12, 5.5), 1e-12)
    same(dnb.kaiser(1, 2), np.kaiser(1, 2))
