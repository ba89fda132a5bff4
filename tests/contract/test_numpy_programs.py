"""Programs written for NumPy run unchanged, and agree; see ``tests/programs``."""

import numpy as np
import pytest

import distnb as dnb
from tests.programs import data, grids, matrices

pytestmark = pytest.mark.ways("cutoff", "compiled", "auto")

PROGRAMS = (*grids.PROGRAMS, *data.PROGRAMS, *matrices.PROGRAMS)


def parts(found):
    return found if isinstance(found, tuple) else (found,)


def test_there_are_enough():
    assert len(PROGRAMS) >= 20


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_program(session, program):
    for n in (17, 32):
        check(program, n)


def check(program, n):
    expected, found = parts(program(np, n)), parts(program(dnb, n))
    assert len(found) == len(expected)
    for f, e in zip(found, expected, strict=True):
        assert isinstance(f, dnb.DistArray | bool | np.generic)
        value = f.to_numpy() if isinstance(f, dnb.DistArray) else f
        e = np.asarray(e)
        assert np.shape(value) == e.shape
        assert np.asarray(value).dtype == e.dtype
        np.testing.assert_allclose(value, e, rtol=1e-9, atol=1e-11)
