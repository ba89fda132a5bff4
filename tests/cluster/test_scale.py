"""Sessions on some engines of a cluster, beside one on all; a cell on 1, 2 and 3 of them."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

import distnb as dnb
from distnb.client.session import current
from tests.failures.support import setting
from tests.interrupting import CtrlC

pytestmark = pytest.mark.ways("openmpi")


@pytest.fixture(params=["direct", pytest.param("ipyparallel", marks=pytest.mark.tier("test-all"))])
def session(engines, request):
    client = engines.transport.client
    with setting(cutoff=0, road=request.param), dnb.connect(client=client) as found:
        yield found


@pytest.fixture
def shell(session):
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "distnb")
    yield shell
    shell.run_line_magic("unload_ext", "distnb")
    shell.user_ns.clear()
    InteractiveShell.clear_instance()


def on_engines(session, code):
    """Return the value of an expression on each engine."""
    view = session.transport.client[:]
    return view.apply_sync(_evaluate, code)


def _evaluate(code):
    from distnb.engines.server import entry

    return eval(code, {"entry": entry})


def workers(session):
    return on_engines(session, "sorted(entry._WORKERS)")


def test_a_subset_has_a_communicator_of_its_own(session):
    x = dnb.arange(30.0)
    before = workers(session)
    with dnb.subset(2) as part:
        assert current.session() is part
        y = dnb.arange(30.0).reshape(5, 6)
        assert y.layout.elements() == (18, 12)
        assert (y.T @ y).to_numpy().tolist() == (y.to_numpy().T @ y.to_numpy()).tolist()
        assert [len(w) for w in workers(session)] == [len(before[0]) + 1] * 2 + [len(before[0])]
        assert part.transport.kind == session.transport.kind
    assert workers(session) == before
    assert current.session() is session
    assert float(x.sum()) == 435.0


def test_batches_of_both_sessions_keep_their_order(session):
    x = dnb.zeros((60, 60))
    with dnb.subset(2) as part, dnb.subset(1, session) as one:
        y = dnb.zeros((60, 60), session=part)
        z = dnb.zeros((60, 60), session=one)
        for i in range(60):
            for a in (x, y, z):
                a += a[::-1].T + 1
                a.session.send()
            if i % 20 == 7:  # what goes through ipyparallel comes in between, on all engines
                assert on_engines(session, "1 + 1") == [2, 2, 2]
        total = [float((a % 1000).sum()) for a in (z, y, x)]
        assert len(set(total)) == 1


def test_a_failure_in_a_subset_stays_there(session):
    x = dnb.ones(30)
    with dnb.subset(2):
        y = dnb.ones((6, 6), dist="block")
        with pytest.raises(np.linalg.LinAlgError):
            dnb.linalg.inv(y).to_numpy()
        assert float(y.sum()) == 36
    assert float(x.sum()) == 30


def test_distscale_runs_on_one_two_and_three_engines(session, shell):
    before = workers(session)
    space = shell.user_ns
    space["A"] = dnb.arange(3600.0).reshape(60, 60)
    space["C"] = dnb.ones((60, 60), dist=("block", ("cyclic", 2)), grid=(1, 3))
    space["R"] = dnb.ones((60, 60), dist="replicated")
    space["seen"] = deque()  # not copied
    cell = "B = (A[1:] - A[:-1]) * C[1:] + R[:-1]\nA *= 2\nseen.append(float(B.sum()))"
    report = shell.run_cell_magic("distscale", "--repeat 2", cell)
    assert report.engines == (1, 2, 3)
    assert len(space["seen"]) == 6
    assert set(space["seen"]) == {59 * 60 * 61.0}
    assert [len(run.report.engines) for run in report.runs] == [1, 2, 3]
    for run in report.runs:
        assert sum(run.spent) == pytest.approx(run.engines * run.seconds)
    assert space["A"].session is session
    assert float(space["A"][0, 1]) == 1.0
    assert workers(session) == before
    assert not any(on_engines(session, "'_distnb_copy' in entry._user_namespace()"))


def test_an_error_leaves_nothing_behind(session, shell):
    before = workers(session)
    shell.user_ns["A"] = dnb.ones((60, 60))
    with pytest.raises(ValueError, match="shapes"):
        shell.run_cell_magic("distscale", "--engines 2", "A + A[1:]\n")
    assert workers(session) == before
    assert float(shell.user_ns["A"].sum()) == 3600


def test_distmem_asks_the_engines(session, shell):
    shell.user_ns["A"] = dnb.ones((300, 100))
    report = shell.run_line_magic("distmem", "")
    assert report.arrays[0].bytes == (80_000, 80_000, 80_000)
    for engine in report.engines:
        assert engine.named == 80_000
        assert engine.other > 1_000_000
        assert 0 < engine.available <= engine.total


def test_an_interrupt_leaves_nothing_behind(session, shell):
    """Neither arrays nor messages: the next session may get the same number from MPI."""
    before = workers(session)
    space = shell.user_ns
    space["A"] = dnb.ones((600, 600))
    for _ in range(3):
        with CtrlC() as ctrl_c:
            space["interrupt"] = ctrl_c.soon
            shell.run_cell_magic(
                "distscale", "--engines 2", "interrupt()\nfor _ in range(100_000): A *= A\n"
            )
        with dnb.subset(2):
            assert float(dnb.ones((60, 60)).T.copy().sum()) == 3600
        assert workers(session) == before
        assert current.session() is session
        assert float(space["A"].sum()) == 360_000


def test_a_cell_for_engines_is_run_after_an_interrupted_one(session, shell):
    """Engines drop what they find in their queue when code raises; nobody would be told."""
    shell.user_ns["A"] = dnb.zeros((600, 600))
    shell.run_cell("1")  # at whose end %px comes
    for value in range(1, 4):
        with CtrlC() as ctrl_c:
            ctrl_c.soon()
            cell = shell.run_cell("%px import time; time.sleep(5)\nA[...] = 9")
            assert isinstance(cell.error_in_exec, KeyboardInterrupt)  # what follows is not run
            raise KeyboardInterrupt
        shell.run_cell(f"%%distlocal\nA[...] = {value}").raise_error()
        assert float(shell.user_ns["A"].sum()) == value * 360_000


def test_memory_of_what_px_was_not_shown_comes_back(session, shell):
    """Its users cannot look at it."""
    x = dnb.ones((1000, 1500), dist="block")
    shell.user_ns["x"] = x
    shell.run_cell("1")
    shell.run_cell("%px 1").raise_error()
    places = set()
    with setting(place="auto"):
        for _ in range(12):
            y = x * 2
            assert float(y[0, 0]) == 2
            places.add(session.memory.place(y.dbase.memory))
    assert len(places) < 6


def test_what_a_cell_for_engines_binds_goes_with_it(session, shell, capsys):
    """Else nothing that later cells write would be in the array."""
    shell.user_ns["A"] = dnb.zeros((600, 600))
    shell.run_cell("1")  # at whose end %px comes
    shell.run_cell("%%distlocal\nA = A + 1").raise_error()
    assert "A[...] = writes them" in capsys.readouterr().out
    shell.run_cell("%%distlocal\nfor A in range(3): pass\ndel A").raise_error()
    shell.run_cell("%%distlocal\nA[...] = 7").raise_error()
    assert float(shell.user_ns["A"].sum()) == 7 * 360_000
    shell.run_cell("%%distlocal\nA += 1\n1 / 0")
    assert "line 2" in capsys.readouterr().err  # as the user counts them
