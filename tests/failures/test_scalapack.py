"""Nobody is left alone inside ScaLAPACK, which blocks: failures and Ctrl-C before, in it and after."""

import gc

import numpy as np
import pytest

import distnb as dnb
from tests.failures import support
from tests.failures.support import everywhere, on_rank, plant, reading, setting
from tests.failures.test_interrupt import quiet
from tests.interrupting import CtrlC

pytestmark = pytest.mark.usefixtures("interruptible")

COMMAND = "name == 'Collective' and op == 'scalapack'"


@pytest.fixture
def session(cluster):
    if not all(about["scalapack"] for about in cluster.transport.about):
        pytest.skip("these engines do not have ScaLAPACK (extra 'scalapack')")
    with setting(alone=0, scalapack=2):
        yield cluster
        gc.collect()  # exceptions hold arrays
        quiet(cluster)
        support.work(cluster)


def matrix(n):
    return dnb.array(np.random.default_rng(1).random((n, n)) + n * np.eye(n), dist="block")


def check(x):
    """All goes on."""
    np.testing.assert_allclose((dnb.linalg.inv(x) @ x).to_numpy(), np.eye(len(x)), atol=1e-12)


@pytest.mark.parametrize("rank", range(3))
@pytest.mark.parametrize("name", ["ask", "allocate"])
def test_no_room_for_workspaces(session, name, rank):
    x = matrix(100)
    if name == "ask":  # it is called by all; so a rank can only fail before
        plant(session, rank, COMMAND, "raise MemoryError('no memory')")
    else:
        on_rank(
            session,
            rank,
            """
            from distnb.engines.linalg.scalapack import RoutineCall
            real = RoutineCall.allocate
            def fails(self):
                RoutineCall.allocate = real
                raise MemoryError("no memory")
            RoutineCall.allocate = fails
            """,
        )
    found = dnb.linalg.inv(x)
    with pytest.raises(MemoryError, match="no memory"):
        session.flush()
    assert reading(found) is dnb.LostArrayError
    check(x)


@pytest.mark.parametrize("late", range(3))
def test_ctrl_c_while_engines_wait_for_a_late_one(session, late, gate):
    x = matrix(100)
    session.flush()
    plant(session, late, COMMAND, gate.stand)
    found = dnb.linalg.inv(x)
    with CtrlC(0.2, after=gate.come):
        found.to_numpy()
    support.heal_quietly(session, [KeyboardInterrupt])
    check(x)


@pytest.mark.parametrize("rank", range(3))
def test_ctrl_c_inside(session, rank, gate):
    """It is seen when the engines are back."""
    x = matrix(100)
    on_rank(
        session,
        rank,
        f"""
        from distnb.engines.linalg.scalapack import RoutineCall
        real = RoutineCall.run
        def slow(self):
            RoutineCall.run = real
            {gate.stand}
            return real(self)
        RoutineCall.run = slow
        """,
    )
    found = dnb.linalg.inv(x)
    with CtrlC(0.2, after=gate.come, then=gate.open):
        found.to_numpy()
    check(x)
    assert everywhere(session, "found = len(worker.comm.contexts)") == [1] * 3
