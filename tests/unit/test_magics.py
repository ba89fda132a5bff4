"""The magics register quietly, return values, and speak plainly about mistakes."""

from __future__ import annotations

import numpy as np
import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from matplotlib import pyplot

import distnb as dnb
from distnb.client import current
from distnb.events import COMPUTE


@pytest.fixture
def shell(monkeypatch):
    monkeypatch.setattr(current, "_CURRENT", [])  # other tests may have sessions open
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "distnb")
    yield shell
    shell.run_line_magic("unload_ext", "distnb")
    shell.user_ns.clear()
    InteractiveShell.clear_instance()


@pytest.fixture
def session(monkeypatch):
    monkeypatch.setattr(dnb.config, "cutoff", 0)  # the arrays are small, and mean engines
    with dnb.inprocess(3) as session:
        yield session


def run(shell: InteractiveShell, code: str):
    result = shell.run_cell(code)
    result.raise_error()
    return result.result


def test_loading_starts_nothing_and_twice_is_harmless(shell):
    shell.run_line_magic("reload_ext", "distnb")
    assert current.active() is None
    assert "no session" in repr(shell.run_line_magic("distnb", ""))


def test_unloading_removes_the_magics(shell):
    shell.run_line_magic("unload_ext", "distnb")
    assert "disttime" not in shell.magics_manager.magics["cell"]
    shell.run_line_magic("load_ext", "distnb")
    assert "disttime" in shell.magics_manager.magics["cell"]


def test_status_names_the_engines(shell, session):
    status = shell.run_line_magic("distnb", "status")
    assert repr(status).count("rank") == 3
    assert status._repr_html_().count("<tr>") == 4


def test_stop_closes_the_session(shell, session):
    shell.run_line_magic("distnb", "stop")
    assert session.closed


@pytest.mark.parametrize("line", ["begin", "start -n 0", "start -n x", "--unknown"])
def test_wrong_words_are_usage_errors(shell, line):
    with pytest.raises(UsageError):
        shell.run_line_magic("distnb", line)


def test_distlayout_returns_the_placement(shell, session):
    shell.user_ns["A"] = dnb.ones((6, 4))
    placement = shell.run_line_magic("distlayout", "A[1:, ::2]")
    assert placement.elements() == (2, 4, 4)
    assert "<svg" in placement._repr_html_()


def test_distlayout_of_an_array_in_the_notebook(shell, session):
    dnb.config.cutoff = 1000
    shell.user_ns["A"] = dnb.ones((6, 4))
    placement = shell.run_line_magic("distlayout", "A[1:, ::2]")
    assert placement.elements() == (0, 0, 0)
    assert "in the notebook" in repr(placement)
    assert ">notebook<" in placement._repr_html_()
    assert [t.get_text() for t in placement.plot(pyplot.figure().gca()).texts] == ["notebook"]
    pyplot.close("all")


@pytest.mark.parametrize("line", ["", "3"])
def test_distlayout_of_something_else_is_a_usage_error(shell, session, line):
    with pytest.raises(UsageError):
        shell.run_line_magic("distlayout", line)


def test_disttime_accounts_for_the_whole_cell(shell, session):
    shell.user_ns["a"] = dnb.ones((300, 300))
    report = run(shell, "%%disttime\nb = (a[1:] + a[:-1]).sum()\nfloat(b)")
    assert len(report.engines) == 3
    assert all(sum(e.spent) == e.now for e in report.engines)
    assert all(e.spent[COMPUTE] > 0 for e in report.engines)
    assert {"add", "sum", "fetch"} <= {op.op for op in report.ops}
    assert any("(a[1:] + a[:-1]).sum()" in op.line for op in report.ops)


def test_disttime_stores_and_keeps_quiet(shell, session):
    assert run(shell, "%%disttime -q -o r\nimport distnb\nx = distnb.ones(3)") is None
    assert shell.user_ns["r"].commands == 1


def test_disttime_lets_the_error_of_the_cell_pass(shell, session, capsys):
    with pytest.raises(ZeroDivisionError):
        run(shell, "%%disttime\n1 / 0")
    assert capsys.readouterr().out.count("ZeroDivisionError: division by zero") <= 1
    assert "wall" in run(shell, "%%disttime -o r\n2").__repr__()


def test_the_end_of_a_cell_flushes_and_shows_what_failed(shell, session, capsys):
    session.transport.workers[1].executor.fault = fail_on_add
    run(shell, "import distnb as dnb\na = dnb.ones(9)\nb = a + 1")
    text = capsys.readouterr().out + capsys.readouterr().err
    assert "ArithmeticError" in text
    assert "b = a + 1" in text
    for worker in session.transport.workers:
        worker.executor.fault = None
    assert (shell.user_ns["a"].to_numpy() == np.ones(9)).all()


def fail_on_add(command: object) -> None:
    if getattr(command, "op", "") == "add":
        raise ArithmeticError("on purpose")
