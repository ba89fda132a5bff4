"""Arrays print as NumPy's do, and numbers format."""

import numpy as np
import pytest

import distnb as dnb
from tests.contract.support import numbered

pytestmark = [pytest.mark.usefixtures("session"), pytest.mark.ways("one", "cutoff")]


@pytest.mark.parametrize(
    "shape", [(), (0,), (1,), (7,), (2000,), (40, 50), (3, 2, 400), (1001, 1), (2, 0, 5)]
)
@pytest.mark.parametrize("dtype", ["f8", "i4", "?", "c16"])
def test_printed_as_numpy(shape, dtype):
    x = (numbered(shape) * 1.5 - 7).astype(dtype)
    a = dnb.array(x)
    assert str(a) == str(x)
    assert np.array2string(a, separator=", ", precision=2) == np.array2string(
        x, separator=", ", precision=2
    )
    with np.printoptions(threshold=5, edgeitems=1):
        assert f"{a}" == f"{x}"


def test_views_print():
    x = numbered((60, 70))
    assert str(dnb.array(x, dist="cyclic")[::-2, 3:].T) == str(x[::-2, 3:].T)


def test_numbers_format():
    a = dnb.array([1.25, 2.5])
    assert f"{a.sum():.3e}" == "3.750e+00"
    assert f"{a[0]:6.1f}|" == f"{np.float64(1.25):6.1f}|"
    assert f"{dnb.array(3):d}" == "3"


def test_edges_only_are_fetched(session, engines_only):
    a = dnb.ones((2000, 1000))
    session.flush()
    asked, ask = [], session.ask
    session.ask = lambda f: asked.append(found := ask(f)) or found
    try:
        str(a)
    finally:
        del session.ask
    assert sum(part.size for parts in asked for part in parts if part is not None) == 36
