"""The programs that are measured, see ``benchmarks/programs``, end as with NumPy."""

import numpy as np
import pytest

import distnb as dnb
from benchmarks.programs.__main__ import PROGRAMS
from tests.contract.test_numpy_programs import parts

pytestmark = pytest.mark.ways("cutoff", "auto")

#: On engines, and as users have it. In all ways they take minutes: most, to compile each step.
SESSIONS = {"inprocess:2:cutoff", "inprocess:2:auto", "inprocess:3"}


def test_names_differ():
    assert len({program.name.lower() for program in PROGRAMS}) == len(PROGRAMS)


@pytest.mark.cases(len(SESSIONS) * len(PROGRAMS))
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name.replace(" ", "-"))
def test_program(session, program, request):
    if request.node.callspec.params["session"] not in SESSIONS:
        pytest.skip("in a few ways only")
    expected, found = (program.code(xp, *program.data(xp, program.small)) for xp in (np, dnb))
    assert isinstance(found, tuple) == isinstance(expected, tuple)
    for f, e in zip(parts(found), parts(expected), strict=True):
        check(f, np.asarray(e))


def check(found, expected):
    assert isinstance(found, dnb.DistArray | bool | int | np.generic)
    value = found.to_numpy() if isinstance(found, dnb.DistArray) else np.asarray(found)
    assert value.shape == expected.shape
    assert value.dtype == expected.dtype
    near = 1e-4 if expected.dtype == np.float32 else 1e-9
    np.testing.assert_allclose(value, expected, rtol=near, atol=near)
