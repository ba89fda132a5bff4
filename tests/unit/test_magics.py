"""The magics register quietly, return values, and speak plainly about mistakes."""

from __future__ import annotations

import ast
import asyncio
import importlib
import re
import threading
from collections import deque
from math import prod
from unittest.mock import Mock
from xml.etree import ElementTree

import numpy as np
import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from matplotlib import pyplot

import distnb as dnb
from distnb.client.array import prefetch
from distnb.client.reports import doctor, memory_bandwidth
from distnb.client.reports.referrers import arrays_of, drop
from distnb.client.session import current
from distnb.common.memory_pool import size_class
from distnb.magics.completion import Completion
from distnb.magics.tracebacks import shortened
from distnb.measure.events import COMPUTE
from distnb.widgets.layouts.several import Several


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


def test_magics_are_about_the_session_of_the_arrays(shell, session):
    """Which is not always the current one."""
    shell.user_ns.update(A=dnb.ones((30, 30)), dnb=dnb)
    with dnb.inprocess(2):
        shell.user_ns["B"] = dnb.ones((20, 20))
        run(shell, "dnb.session().size")  # a cell that asks engines for nothing
        report = run(shell, "%%disttime\nfloat((A + 1).sum())")
        assert len(report.engines) == 3
        assert report.commands > 0
        assert report.notes == ()
        run(shell, "for i in range(40): A[i % 30, 0] = i")
        doctor = repr(run(shell, "%distdoctor"))
        assert doctor.startswith("1 thing could be cheaper")
        assert "elements of A are written" in doctor
        run(shell, "1 + 1")
        doctor = run(shell, "%distdoctor")
        assert "the last cell asked engines for nothing" in doctor.head
        assert "for i in range(40): A[i % 30, 0] = i" in doctor.head
        assert not run(shell, "%%distdoctor\nfor i in range(40): A[i % 30, 0] = i").older
        assert "A" in repr(shell.run_line_magic("distmem", ""))
        board = dnb.dashboard()
        assert board.session is session
        board.close()
        doctor = run(shell, "%%distdoctor\nfor i in range(40): B[i % 20, 0] = i")
        assert "elements of B are written" in repr(doctor)
        with dnb.profile() as report:
            float((shell.user_ns["A"] + 1).sum())
        assert len(report.engines) == 3
        scaled = run(shell, "%%distscale --engines 3 --repeat 1\nfloat((A + 1).sum())")
        assert "3" in repr(scaled)
        report = run(shell, "%%disttime\nfloat(A.sum() + A.max())\nfloat(B.sum())")
        assert len(report.engines) == 3
        assert "another session, of 2 engines" in report.notes[0]
        assert "another session, of 2 engines" in report._repr_html_()


def test_errors_of_all_sessions_come_in_their_cell(shell, session, capsys):
    with dnb.inprocess(2):
        shell.user_ns.update(A=dnb.ones(4, session=session), dnb=dnb)
        shell.run_cell("B = dnb.map(lambda x: 1 / 0, A)")
        assert "ZeroDivisionError" in capsys.readouterr().out


def test_stop_closes_the_session(shell, session):
    shell.run_line_magic("distnb", "stop")
    assert session.closed


@pytest.mark.parametrize("line", ["begin", "start -n 0", "start -n x", "--unknown"])
def test_wrong_words_are_usage_errors(shell, line):
    with pytest.raises(UsageError):
        shell.run_line_magic("distnb", line)


def test_checkpoints_have_the_variables_of_the_cell(shell, session, tmp_path):
    shell.user_ns["path"] = str(tmp_path)
    code = "import distnb as dnb\nA = dnb.ones((6, 4))\n%distnb checkpoint {path}\nA = A + 1"
    shell.run_cell(code).raise_error()
    shell.run_line_magic("distnb", f"restore {tmp_path}")
    assert float(shell.user_ns["A"].sum()) == 24
    for line in ("checkpoint", "restore", "restore /nowhere", f"checkpoint {tmp_path} --every x"):
        with pytest.raises(UsageError):
            shell.run_line_magic("distnb", line)


def test_sparse_arrays_have_names_too(shell, session, tmp_path):
    shell.user_ns.update(A=dnb.ones(3), S=dnb.sparse.eye_array(3, format="csr"))
    dnb.checkpoint(tmp_path)
    assert list(dnb.restore(tmp_path)) == ["A", "S"]
    shell.run_cell("1")
    assert [x.name for x in dnb.arrays()] == ["A", "S"]
    assert "S  (3, 3) float64 csr, 3 stored elements, 1 + 1 + 1 on 3 engines" in repr(dnb.arrays())
    shell.user_ns["n" * 99] = dnb.ones(3)
    assert "\nS       " in repr(dnb.arrays())
    assert "\nS" + 40 * " " not in repr(dnb.arrays())
    rows = ElementTree.fromstring(dnb.arrays()._repr_html_()).findall(".//tbody/tr/th")
    assert [row.text for row in rows] == ["A", "n" * 27 + "...", "S"]


def test_checkpoints_come_after_cells_and_while_none_runs(shell, session, tmp_path):
    def there():
        return float(dnb.restore(tmp_path, session=session)["A"].sum())

    async def cells():
        code = f"""
import distnb as dnb
A = dnb.ones((6, 4))
dnb.checkpoint({str(tmp_path)!r}, every=1e-9)
A += 1
"""
        shell.run_cell(code).raise_error()
        assert there() == 48  # after the cell
        shell.user_ns["A"] += 1
        while there() != 72:  # while none runs
            await asyncio.sleep(0.001)
        shell.events.trigger("pre_run_cell", None)
        shell.user_ns["A"] += 1
        for _ in range(9):
            await asyncio.sleep(0.001)
        assert there() == 72  # a cell runs
        shell.events.trigger("post_run_cell", None)
        assert there() == 96

    asyncio.run(cells())
    dnb.checkpoint(tmp_path, every="never", session=session)


def test_checkpoints_of_a_session_that_is_not_the_current_one(shell, session, tmp_path):
    def there():
        return float(dnb.restore(tmp_path, session=session)["A"].sum())

    async def cells():
        code = f"""
import distnb as dnb
A = dnb.ones((6, 4))
dnb.checkpoint({str(tmp_path)!r}, every=1e-9)
other = dnb.inprocess(2)
A += 1
"""
        shell.run_cell(code).raise_error()
        assert there() == 48  # after the cell
        shell.user_ns["A"] += 1
        for _ in range(1000):
            await asyncio.sleep(0.001)
            if there() == 72:  # while none runs
                return
        raise AssertionError("it was not written")

    asyncio.run(cells())
    dnb.checkpoint(tmp_path, every="never", session=session)
    shell.user_ns["other"].close()


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
    with pytest.raises(TypeError, match="ax: got 'rows', expected matplotlib axes"):
        placement.plot("rows")
    pyplot.close("all")


@pytest.mark.parametrize("line", ["--axes 0,2 A", "-a 1 A[1:]", "--axes=0,2 A B", "A + 1, B"])
def test_distlayout_of_several_and_of_chosen_axes(shell, session, line):
    shell.user_ns["A"] = dnb.ones((6, 4, 5))
    shell.user_ns["B"] = dnb.ones((6, 4, 5), dist=("*", "block"))
    found = shell.run_line_magic("distlayout", line)
    assert "<svg" in found._repr_html_()
    assert isinstance(found, Several)


@pytest.mark.parametrize(
    "line", ["", "3", "nosuch", "--axes 0", "--axes x A", "--axes 7 A", "--axis 0 A"]
)
def test_distlayout_of_something_else_is_a_usage_error(shell, session, line):
    shell.user_ns["A"] = dnb.ones((6, 4, 5))
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


def test_lines_of_a_measured_cell_have_the_number_that_the_notebook_shows(shell, session):
    shell.user_ns["a"] = dnb.ones((300, 300))
    first = shell.run_cell("%%disttime -q -o r\nb = a + 1\n7", store_history=True)
    number = first.execution_count
    assert {op.line for op in shell.user_ns["r"].ops} == {f"In[{number}] line 1: b = a + 1"}
    assert shell.user_ns["Out"][number] == 7
    assert shell.run_cell("8", store_history=True).execution_count == number + 1


def test_disttime_lets_the_error_of_the_cell_pass(shell, session, capsys):
    with pytest.raises(ZeroDivisionError):
        run(shell, "%%disttime\n1 / 0")
    assert capsys.readouterr().out.count("ZeroDivisionError: division by zero") <= 1
    assert "wall" in run(shell, "%%disttime -o r\n2").__repr__()


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("%%disttime -o r\nb = a + 1; 1 / 0", 1),
        ("%%disttime -q -o r\nb = a + 1; 1 / 0", 0),
        ("%%disttime -o r\n1 / 0", 0),  # nothing ran
    ],
)
def test_the_report_of_a_cell_that_fails_is_shown_if_anything_ran(
    shell, session, capsys, cell, shown
):
    shell.user_ns["a"] = dnb.ones((300, 300))
    session.flush()
    with pytest.raises(ZeroDivisionError):
        run(shell, cell)
    out = capsys.readouterr().out
    assert out.count("wall ") == shown
    assert "None" not in out.splitlines()
    assert shell.user_ns["r"].commands == (2 if "+" in cell else 0)


def test_the_end_of_a_cell_flushes_and_shows_what_failed(shell, session, capsys):
    session.transport.workers[1].executor.fault = fail_on_add
    with pytest.raises(ArithmeticError):
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


# -- help, options, completion ---------------------------------------------------------------------

MAGICS = ("distnb", "distlayout", "disttime", "distmem", "distscale", "distdoctor")


@pytest.mark.parametrize("name", MAGICS)
def test_help_has_options_and_examples(shell, name):
    magic = shell.find_magic(name, "line") or shell.find_magic(name, "cell")
    text = magic.__doc__
    assert f"%{name}" in text
    assert "-o NAME" in text
    assert "Examples" in text


def test_unloading_removes_all_magics_and_the_completion(shell):
    shell.run_line_magic("unload_ext", "distnb")
    table = shell.magics_manager.magics
    assert not [name for kind in table.values() for name in kind if name.startswith("dist")]
    assert shell.Completer.custom_matchers == []
    shell.run_line_magic("load_ext", "distnb")
    assert {*MAGICS, "distlocal"} <= {*table["line"], *table["cell"]}


def test_warnings_of_what_a_cell_shows_come_in_it(shell, session):
    shell.user_ns["dnb"] = dnb
    with pytest.warns(RuntimeWarning, match="invalid value encountered in sqrt"):
        shell.run_cell("repr(dnb.sqrt(dnb.arange(-2.0, 90_000, dist='block')))")


def test_code_that_is_none_shows_where_and_no_more(shell, session, capsys):
    for cell in ("%disttime 1 2", "%%disttime\n1 2", "%%distscale\n1 2", "%%distdoctor\n1 2"):
        assert not shell.run_cell(cell).success
        out, err = capsys.readouterr()
        assert (out + err).count("SyntaxError") == 1, cell
        assert "distnb/magics" not in out + err


def test_code_that_awaits_is_none_within_a_cell_where_a_loop_runs(shell, session, capsys):
    """In Jupyter, whose loop runs, as with IPython's ``%%time``; cells themselves may await."""
    code = "import asyncio\nawait asyncio.sleep(0)\nx = 1"

    async def cells():
        await shell.run_cell_async(code, transformed_cell=code)
        for magic in ("disttime", "distscale", "distdoctor"):
            assert not shell.run_cell(f"%%{magic}\n{code}").success
            out, err = capsys.readouterr()
            assert "'await' outside function" in out + err, magic
        assert shell.autoawait

    asyncio.run(cells())
    assert shell.user_ns["x"] == 1
    shell.run_cell(f"%%disttime\n{code}").raise_error()


def test_completion_of_magics_without_arguments_of_their_own(shell, session):
    shell.user_ns["large"] = dnb.ones(9)
    with provisionalcompleter():
        assert "large" in [c.text for c in shell.Completer.completions("%disttime lar", 13)]
        list(shell.Completer.completions("%%distlocal l", 13))  # and nothing is raised


def test_distmem_leaves_out_columns_in_which_nothing_is(shell, session):
    shell.user_ns["A"] = dnb.ones((90, 90), dist="block")
    for text in ("", "frames = [A]"):
        shell.run_cell(text).raise_error()
        report = shell.run_line_magic("distmem", "")
        for shown in (repr(report), report._repr_html_()):
            assert ("held by" in shown) == ("frames[0]" in shown) == bool(text)


def test_distmem_tells_what_a_checkpoint_has_not(shell, session, tmp_path):
    def told():
        return [x for x in repr(shell.run_line_magic("distmem", "")).splitlines() if "ago" in x]

    shell.user_ns.update(A=dnb.ones((30, 4)), B=dnb.ones(500), dnb=dnb, run=str(tmp_path / "run"))
    assert not told()
    shell.run_cell("dnb.checkpoint(run)")
    assert re.fullmatch(r"checkpoint run, \d+ s ago: no array is newer", *told())
    shell.run_cell("B[3:] = 7; C = dnb.zeros(10)")
    newer = r"checkpoint run, \d+ s ago: B, C are newer, 4.08 kB, about [\d.]+ \w+ to write"
    assert re.fullmatch(newer, *told())
    shell.run_cell("dnb.checkpoint(run, names=['A'])")
    assert re.fullmatch(r"checkpoint run, \d+ s ago: no array is newer", *told())


WRONG = [
    ("distmem", "nothing"),
    ("distmem", "--unknown"),
    ("distmem", "-o 3x"),
    ("distdoctor", "A"),
    ("distlayout", ""),
    ("distnb", "resize"),
    ("distnb", "resize 0"),
    ("distnb", "resize 9"),
    ("distnb", "status 3"),
]


@pytest.mark.parametrize(("name", "line"), WRONG)
def test_wrong_arguments_are_usage_errors(shell, session, name, line):
    with pytest.raises(UsageError):
        shell.run_line_magic(name, line)


@pytest.mark.parametrize("line", ["--engines 9", "--engines 0", "--engines x", "--repeat 0", "x"])
def test_wrong_numbers_of_engines_are_usage_errors(shell, session, line):
    with pytest.raises(UsageError):
        shell.run_cell_magic("distscale", line, "1\n")


@pytest.mark.parametrize("name", ["distmem", "distdoctor"])
def test_without_a_session_there_is_a_usage_error(shell, name):
    with pytest.raises(UsageError, match="no session"):
        shell.run_line_magic(name, "")


def completions(shell, text):
    with provisionalcompleter():
        return {c.text for c in shell.Completer.completions(text, len(text))}


@pytest.mark.parametrize(
    ("text", "there", "missing"),
    [
        ("%distmem ", {"Temperature", "-o", "-q"}, {"--engines"}),
        ("%distlayout Temp", {"Temperature"}, {"-o"}),
        ("%%distscale --e", {"--engines"}, {"--repeat"}),
        ("%%disttime -", {"-o", "-q"}, {"--engines"}),
        ("%distnb st", {"start", "status", "stop"}, {"connect"}),
        ("r = %distmem Te", {"Temperature"}, set()),
        ("x = 1\n%distlayout Te", {"Temperature"}, set()),
        ("%distmem -o Te", set(), {"-q"}),
    ],
)
def test_options_and_arrays_are_completed(shell, session, text, there, missing):
    shell.user_ns["Temperature"] = dnb.ones(3)
    found = completions(shell, text)
    assert there <= found
    assert not missing & found


def test_names_that_arrays_use_among_themselves_are_not_completed(shell, session, monkeypatch):
    shell.user_ns.update(A=dnb.ones(3), S=dnb.sparse.csr_array([[1, 0]]), session=session)
    monkeypatch.setattr(shell.Completer, "use_jedi", False)
    found = [completions(shell, text) for text in ("A.", "S.", "session.")]
    assert [".redistribute" in names for names in found] == [True, True, False]
    assert not set().union(*found) & {".dbase", ".dview", ".held", ".told", ".record"}
    assert ".live" in found[2]


def test_a_semicolon_silences(shell, session):
    shell.user_ns["A"] = dnb.ones((6, 4))
    assert run(shell, "%distlayout A;") is None
    assert run(shell, "%distmem -o m;") is None
    assert shell.user_ns["m"].engines
    assert run(shell, "%%disttime\nA.sum();") is None
    assert run(shell, "%distmem;") is None
    assert run(shell, "%distdoctor") is not None
    run(shell, "m = %distmem;")
    assert shell.user_ns["m"].arrays is not None
    text = "x = '%distmem;'"
    assert shell.transform_cell(text).rstrip() == text


def test_the_result_of_the_cell_is_shown_before_the_report(shell, session, capsys):
    run(shell, "%%disttime\n6 * 7")
    assert capsys.readouterr().out.lstrip().startswith("Out[")


# -- memory ----------------------------------------------------------------------------------------


class Keeper:
    """Holds an array."""


def test_distmem_tells_who_holds_what(shell, session):
    space = shell.user_ns
    space["A"] = dnb.ones((30, 30))
    space["B"] = space["A"][1:, ::2]
    space["frames"] = [dnb.zeros(9)]
    space["keeper"] = Keeper()
    space["keeper"].x = dnb.zeros(12)
    hidden = dnb.zeros(15)
    run(shell, "import distnb as dnb\ndnb.ones((9, 9))")
    report = shell.run_line_magic("distmem", "")
    held = {h.shape: h for h in report.arrays}
    assert held[30, 30].names == ("A",)
    assert held[30, 30].views == ("B",)
    assert held[30, 30].bytes == (2400, 2400, 2400)
    assert held[9,].referrers == ("frames[0]",)
    assert held[12,].referrers == ("keeper.x",)
    assert held[15,] == held[15,]._replace(names=(), views=(), referrers=())
    assert "Out[" in " ".join(held[9, 9].referrers) or "_" in held[9, 9].referrers
    assert "dnb.ones((9, 9))" in held[9, 9].line
    for rank, engine in enumerate(report.engines):
        assert engine.named == 2400
        assert engine.named + engine.unnamed == sum(h.bytes[rank] for h in report.arrays)
    assert "del A, B" in report.advice
    assert re.search(r"\nA, B \(view\) +\(30, 30\) float64 ", repr(report))
    assert hidden.shape == (15,)


def test_completion_of_an_expression_offers_what_arrays_have_for_users(shell, session):
    pytest.importorskip("jedi")
    names = {"A": dnb.ones((4, 4)), "dnb": dnb, "np": np}
    shell.user_ns.update(names)
    completer = shell.Completer

    def offered(text):
        found = completer._jedi_matches(cursor_column=len(text), cursor_line=0, text=text)
        return {each.name for each in found if not each.name.startswith("_")}

    assert offered("(A + A).") >= {"sum", "shape", "T"}
    for text in ("(A + A).", "A.T.", "A.sum()."):
        assert offered(text) <= set(dir(names["A"]))
    public = {name for name in dir(names["A"]) if not name.startswith("_")}
    for text in ("(A + A).", "A.T.", "dnb.zeros(3)."):
        assert offered(text) >= public  # though functions are told of few of them
    assert offered("(A + A).cu") == {"cumprod", "cumsum"}
    assert offered("dnb.zeros(3).nea") == set()
    for text in ("(-A).", "f(2, -A[0].", "for x in 2 * A[1:, 0].", "(A > 3)[0].", "np.sqrt(A)."):
        assert offered(text) >= public  # jedi knows of nothing there
    assert offered("A[0].nea") == offered("(-A.shape).") == offered("A[0].shape[0].") == set()
    assert "single" in offered("dnb.")
    shell.run_line_magic("unload_ext", "distnb")
    assert "dbase" in offered("A.T.")
    shell.run_line_magic("load_ext", "distnb")


def test_completion_reads_any_text(session, monkeypatch):
    """It tells nothing of it, and does not read all of a long line from each of its places."""
    pytest.importorskip("jedi")
    read, parse = [], ast.parse
    counting = lambda text, *args, **given: read.append(text) or parse(text, *args, **given)  # noqa: E731
    monkeypatch.setattr(ast, "parse", counting)
    shell = Mock(user_ns={"A": dnb.ones((4, 4)), "np": np})
    shell.Completer._jedi_matches = lambda *_: []
    Completion(shell, {"line": [], "cell": []})
    offered = lambda text: {c.name for c in shell.Completer._jedi_matches(len(text), 0, text)}  # noqa: E731
    for text in (f"x = [{'1, ' * 3000}A[0].", "'\\d' in A[0].", "1if A[0].", f"{'-' * 99}A."):
        assert "sum" in offered(text)
    for text in ("(" * 300 + ".", "np.object(A).", "A[0]" * 3000 + ".x[", f"{'-' * 3000}f(A)."):
        assert not offered(text)
    assert sum(map(len, read)) < 1 << 18


def test_distmem_tells_what_the_last_error_holds(shell, session):
    run(shell, "import distnb as dnb\nA = dnb.ones(4)")
    code = "def fail(x):\n    inner = [dnb.ones((40, 30)), x]\n    raise ValueError\nfail(A)"
    shell.run_cell(code, store_history=True)
    report = shell.run_line_magic("distmem", "")
    held = {h.shape: h for h in report.arrays}
    assert held[40, 30].referrers == ("the last error",)
    assert held[4,].names == ("A",)
    assert held[4,].referrers == ("the last error",)
    assert "the last error holds the largest array, 9.6 kB, until" in report.advice
    shell.run_cell("1 / 0")
    held = {h.shape: h for h in shell.run_line_magic("distmem", "").arrays}
    assert held[4,].referrers == ()


def test_distmem_tells_of_sparse_arrays_by_their_names(shell, session):
    """Their three parts are no private matter of an object: who drops the name drops them."""
    dense = np.diag(np.arange(1.0, 400.0))
    shell.user_ns |= {"S": dnb.sparse.csr_array(dense), "kept": [dnb.sparse.coo_array(dense)]}
    shell.user_ns["S2"] = shell.user_ns["S"] * 2
    shell.user_ns["A"] = dnb.ones(900)
    report = shell.run_line_magic("distmem", "")
    assert {(h.names, h.views, h.referrers) for h in report.arrays} == {
        (("A",), (), ()),
        (("S",), (), ()),
        (("S2",), (), ()),
        (("S", "S2"), (), ()),
        ((), (), ("kept[0]",)),
    }
    assert "(inside)" not in repr(report)
    assert report.advice == "del A would free most: 7.2 kB"
    (_, *rows) = repr(shell.run_line_magic("distmem", "S")).partition("array ")[2].splitlines()
    assert [re.split("  +", row)[0] for row in rows[:3]] == ["S", "S, S2", "S, S2"]


def test_text_of_memory_fits_into_a_terminal(shell, session):
    """What says least of who holds most is cut: the line that made an array."""
    run(shell, f"import distnb as dnb\nA = dnb.ones((300, 300)) + {' + '.join(['0'] * 90)}")
    for shown in (shell.run_line_magic("distmem", ""), dnb.dashboard()):
        lines = repr(shown).splitlines()
        (row,) = [line for line in lines if line.startswith("A ")]
        assert "In[" in row
        assert "..." in row
        assert max(map(len, lines)) <= 110
        assert max(map(len, lines[: lines.index(row) - 1])) <= 92


def test_del_of_a_sparse_array_frees_all_of_its_parts(shell, session):
    """Though one dense array is larger than each of these, and smaller than all."""
    shell.user_ns |= {"S": dnb.sparse.csr_array(np.diag(np.arange(1.0, 400.0)))}
    shell.user_ns["A"] = dnb.ones(500)
    report = shell.run_line_magic("distmem", "")
    parts = [held.total for held in report.arrays if held.names == ("S",)]
    assert max(parts) < 4000 < sum(parts)
    assert report.advice == f"del S would free most: {sum(parts) / 1000:.3g} kB"
    listed = arrays_of(session, shell)
    assert {row.names for row in listed} == {("A",), ("S",)}
    drop(shell, next(row.key for row in listed if row.names == ("S",)))
    assert "S" not in shell.user_ns


def test_distmem_counts_the_pool_and_what_is_in_the_notebook(shell, session, monkeypatch):
    shell.user_ns["A"] = dnb.ones((300, 300))
    session.flush()  # else it would never be stored
    del shell.user_ns["A"]
    monkeypatch.setattr(dnb.config, "cutoff", 10_000)
    shell.user_ns["small"] = dnb.ones(100)
    dnb.ones(3, dist="block").sum().item()
    report = shell.run_line_magic("distmem", "")
    assert all(engine.pool == size_class(240_000) for engine in report.engines)
    assert [(h.names, h.notebook) for h in report.here] == [(("small",), 800)]
    assert "in the notebook alone: 1 array" in repr(report)


def test_what_an_object_with_a_name_holds_is_found_by_that(shell, session):
    """Not by an output that shows the object, too; what is private is nobody's to use."""
    first, second = Keeper(), Keeper()
    first.x, second._own = dnb.ones(70), dnb.ones(80)
    shell.user_ns["Out"] = {5: first}
    shell.user_ns |= {"C": first, "S": second}
    report = shell.run_line_magic("distmem", "")
    assert {held.referrers for held in report.arrays} == {("C.x",), ("S (inside)",)}
    assert "C.x" in repr(report)


def test_distmem_shows_itself(shell, session):
    for i in range(20):
        shell.user_ns[f"A{i}"] = dnb.ones((30, 30 + i))
    report = shell.run_line_magic("distmem", "")
    assert "and 8 more" in repr(report)
    page = report._repr_html_()
    assert len(page) < 10_000
    ElementTree.fromstring(page)
    assert "<title>" in page
    assert repr(shell.run_line_magic("distmem", "A3")).count("(30, 33)") == 1


# -- the doctor ------------------------------------------------------------------------------------


def test_the_doctor_looks_at_the_last_cell_that_did_something(shell, session, monkeypatch):
    monkeypatch.setattr(prefetch, "_AS_ONE", 0)  # as of larger arrays
    monkeypatch.setattr(doctor, "LEAST", 0.0)
    monkeypatch.setattr(doctor, "WORTH", 0.0)
    shell.user_ns["A"] = dnb.ones((9, 9))
    run(shell, "for i in range(40): float(A[0, i * i % 9])")
    run(shell, "1 + 1")
    for cell in ("%distdoctor", "%distdoctor -q -o r"):
        report = run(shell, cell) or shell.user_ns["r"]
        assert [f.kind for f in report.findings] == ["element by element"]
        assert report.findings[0].line.endswith("for i in range(40): float(A[0, i * i % 9])")


def test_the_doctor_examines_a_cell(shell, session, monkeypatch):
    monkeypatch.setattr(doctor, "LEAST", 0.0)
    monkeypatch.setattr(doctor, "WORTH", 0.0)
    shell.user_ns["A"] = dnb.ones((9, 9))
    report = run(shell, "%%distdoctor\nfor i in range(40): A[0, i * i % 9] = i")
    assert [f.kind for f in report.findings] == ["element by element"]
    assert "written" in repr(report)
    assert run(shell, "%%distdoctor\nA.sum().item()").findings == ()
    run(shell, "for i in range(40): A[0, i * i % 9] = i")
    with pytest.raises(ZeroDivisionError):
        run(shell, "%%distdoctor -o r\n1 / 0")
    assert shell.user_ns["r"].findings == ()  # those of the cell before are none of its own


def test_the_doctor_does_not_look_at_the_speed_of_copying(shell, session, monkeypatch):
    monkeypatch.setattr(memory_bandwidth, "WORTH", 1)
    monkeypatch.setattr(memory_bandwidth, "SIZE", 1 << 12)
    monkeypatch.setattr(doctor, "LEAST", 0.0)
    monkeypatch.setattr(doctor, "WORTH", 0.0)
    shell.user_ns["A"] = dnb.ones((90, 90))
    report = run(shell, "%%disttime\nA += 1")
    assert report.memory_bandwidth
    assert run(shell, "%distdoctor").findings == ()


def test_the_doctor_knows_arrays_that_were_moved(shell, session, monkeypatch):
    monkeypatch.setattr(prefetch, "_AS_ONE", 0)  # as of larger arrays
    monkeypatch.setattr(doctor, "LEAST", 0.0)
    monkeypatch.setattr(doctor, "WORTH", 0.0)
    shell.user_ns["A"] = dnb.ones((90, 90))
    run(shell, "for i in range(30): float(A[i * i % 30, 0])\nA.move(('*', 'block'))")
    (finding,) = run(shell, "%distdoctor").findings
    assert "elements of A are read" in finding.what


# -- scaling ---------------------------------------------------------------------------------------


def engine_threads():
    return {t for t in threading.enumerate() if t.name.startswith("distnb-engine")}


def test_distscale_runs_on_subsets_and_restores_everything(shell, session, capsys):
    space = shell.user_ns
    whole = space["A"] = dnb.arange(60.0).reshape(10, 6)
    space["B"] = whole[2:]
    space["frames"] = [dnb.ones(9, dist="cyclic")]
    space["sizes"] = deque()  # not copied
    space["kept"] = []
    before = {k: v for k, v in space.items() if not k.startswith("_")}
    elements = whole.to_numpy()
    there = engine_threads()
    cell = (
        "%%distscale --repeat 2 -o scaling\n"
        "A += 1\nnew = A.sum() + frames[0].sum()\n"
        "sizes.append((A.session.size, float(new), float(B[0, 0])))\n"
        "kept.append(new)\nprint('hello')\nnew"
    )
    report = run(shell, cell)
    # Each run begins with the same elements, views see what happens to their base, and all
    # numbers of engines find the same.
    expected = float(elements.sum() + 60 + 9), float(elements[2, 0] + 1)
    assert list(space["sizes"]) == [(n, *expected) for n in (1, 1, 2, 2, 3, 3)]
    assert report.engines == (1, 2, 3)
    assert capsys.readouterr().out.count("hello") == 1
    space.pop("scaling")
    assert {k: v for k, v in space.items() if not k.startswith("_")}.items() >= before.items()
    assert "new" not in space
    assert space["kept"] == []
    assert space["A"] is whole
    assert (whole.to_numpy() == elements).all()
    assert current.active() is session
    assert engine_threads() == there
    assert not any("_distnb_copy" in w.executor.user for w in session.transport.workers)


def test_copies_for_distscale_are_nothing_that_a_cell_could_spare(shell, session):
    """They were an "unused result" of the line of the magic, to be left out."""
    run(shell, "import distnb as dnb\nA = dnb.ones((40, 30))\nA.sum().item()")
    before = session.journal.latest
    run(shell, "%%distscale --repeat 2\n(A + 1).sum().item()")
    assert session.journal.latest is before
    assert [f for f in run(shell, "%distdoctor").findings if "distscale" in f.line] == []


def test_distscale_finds_arrays_that_functions_use(shell, session):
    run(
        shell,
        "import distnb as dnb\nA = dnb.ones((9, 9), dist='block')\ndef f():\n    return A * 2",
    )
    run(shell, "class Model:\n    def step(self):\n        return f() + A")
    report = run(shell, "%%distscale --engines 1,3 --repeat 1\nModel().step().sum().item()")
    assert report.engines == (1, 3)
    assert all(run.report.commands >= 4 for run in report.runs)


def test_distscale_measures_engines(shell, session, monkeypatch):
    """Whoever is to compute otherwise; where there is nothing for engines, it says so."""
    shell.user_ns["A"] = dnb.ones((300, 300), dist="block")
    monkeypatch.setattr(dnb.config, "place", "auto")
    cell = "%%distscale --engines 1,3 --repeat 1\nfor _ in range(5): B = A[1:-1, 1:-1] + A[:-2, 1:-1]\nfloat(B.sum())"
    report = run(shell, cell)
    assert dnb.config.place == "auto"
    assert all(found.report.commands > 0 and found.spent[0] > 0 for found in report.runs)
    assert " times as fast as on 1" in report.finding
    report = run(shell, "%%distscale --engines 1,3 --repeat 1\nimport time; time.sleep(0.3)")
    assert "nothing to scale" in report.finding
    assert "nothing to scale" in report._repr_html_()


def test_distscale_leaves_arrays_of_closed_sessions(shell, session):
    with dnb.inprocess(1):
        shell.user_ns["B"] = dnb.ones(9)
    report = run(
        shell,
        "%%distscale --engines 1,3 --repeat 1\nimport distnb as dnb\nB = dnb.ones(90)\nfloat(B.sum())",
    )
    assert report.engines == (1, 3)
    with pytest.raises(dnb.SessionError, match="got a closed one"):
        run(shell, "%%distscale --engines 1 --repeat 1\nfloat(B.sum())")


def test_distscale_refuses_arrays_that_it_cannot_copy(shell, session):
    run(shell, "class Box: pass\nimport distnb as dnb\nbox = Box()\nbox.x = dnb.ones(9)")
    with pytest.raises(UsageError, match="give them names"):
        shell.run_cell_magic("distscale", "--repeat 1", "box.x.sum().item()\n")
    assert current.active() is session


def test_distscale_raises_the_error_of_the_cell_once(shell, session, capsys):
    shell.user_ns["A"] = dnb.ones(9)
    with pytest.raises(ZeroDivisionError):
        run(shell, "%%distscale\nA = A + 1\n1 / 0")
    assert shell.user_ns["A"].to_numpy().tolist() == [1.0] * 9
    assert current.active() is session
    text = capsys.readouterr()
    assert (text.out + text.err).count("ZeroDivisionError: division by zero") <= 1


def test_random_numbers_are_the_same_in_every_run(shell, session):
    run(
        shell,
        "import distnb as dnb\nimport collections\nrng = dnb.random.default_rng(3)\nseen = collections.deque()",
    )
    run(shell, "%%distscale -q\nseen.append(rng.random((9, 9), dist='block').to_numpy().tolist())")
    seen = shell.user_ns["seen"]
    assert len(seen) == 9
    assert all(x == seen[0] for x in seen)


def test_a_scaling_shows_itself(shell, session):
    shell.user_ns["A"] = dnb.ones((90, 90))
    report = run(shell, "%%distscale --repeat 1\n(A[1:] + A[:-1]).sum().item()")
    for run_ in report.runs:
        assert sum(run_.spent) == pytest.approx(run_.engines * run_.seconds)
    for share, losses in zip(report.efficiency, report.losses, strict=True):
        assert share + sum(losses) == pytest.approx(1)
    parallel = [prod(x) for x in zip(*(values for _, values in report.rungs), strict=True)]
    for k, share in enumerate(report.efficiency):
        product = parallel[k] / parallel[0] * report.computing[k]
        assert product == pytest.approx(share, rel=1e-6)
    assert "speed-up" in repr(report)
    page = report._repr_html_()
    assert len(page) < 10_000
    ElementTree.fromstring(page)
    assert page.count("<title>") == 2
    left, right = report.plot()
    assert len(left.lines[1].get_xdata()) == 3
    assert right.get_xlabel() == "share of the engines' time"
    with pytest.raises(TypeError, match="axes: got 5, expected two matplotlib axes"):
        report.plot(5)
    with pytest.raises(TypeError, match="ax: got 5, expected matplotlib axes"):
        report.plot((left, 5))
    pyplot.close("all")


# -- Errors ----------------------------------------------------------------------------------------


def shown_error(shell, capsys, code):
    capsys.readouterr()
    assert not shell.run_cell(code).success
    return re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)


def test_tracebacks_end_at_the_users_line(shell, session, capsys):
    shell.run_cell("import numpy as np, distnb as dnb\ndef f(a):\n    return a + dnb.ones(5)")
    text = shown_error(shell, capsys, "f(dnb.ones(4))")
    assert "/distnb/" not in text
    assert "----> 3     return a + dnb.ones(5)" in text
    assert "expected shapes that broadcast together; align or slice the operands" in text
    assert len(text.splitlines()) < 16


def test_errors_of_engines_show_the_line_and_not_the_engines_own(shell, session, capsys):
    shell.run_cell("import numpy as np, distnb as dnb\na = dnb.arange(-3, 3)")
    text = shown_error(shell, capsys, "float((a ** a).sum())")
    assert "/distnb/" not in text
    assert "raised on rank" in text
    assert text.rstrip().endswith("%xmode Verbose shows the engine's traceback")
    shell.run_line_magic("xmode", "Verbose")
    try:
        whole = shown_error(shell, capsys, "float((a ** a).sum())")
    finally:
        shell.run_line_magic("xmode", "Context")
    assert whole.count("/distnb/") > 4
    assert "traceback of rank" in whole


def test_errors_that_are_found_at_the_end_of_a_cell_have_no_lines_of_distnbs(
    shell, session, capsys
):
    shell.run_cell("import distnb as dnb\na = dnb.arange(-3, 3)")
    capsys.readouterr()
    shell.run_cell("b = a ** a")  # nobody waits for it but the end of the cell
    text = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)
    assert "Integers to negative integer powers are not allowed" in text
    assert "b = a ** a" in text
    assert "/distnb/" not in text


@pytest.mark.parametrize(
    ("lost", "later", "told"),
    [
        ("", "", "all arrays are whole"),
        ("b", "", "lost, to be made again: b"),
        ("b", "b", "made when they are used: b"),
        ("ab", "a", "made when they are used: a; lost, to be made again: b"),
    ],
)
def test_an_interrupt_is_three_lines(shell, session, capsys, monkeypatch, lost, later, told):
    shell.run_cell("import distnb as dnb\na = dnb.ones(3000)\nb = a + 1")
    wait = session.connection.wait

    def press():
        monkeypatch.setattr(session.connection, "wait", wait)
        session.handles.lose([shell.user_ns[name].dbase.handle for name in lost], 10**6)
        session.unfinished.wanted |= {shell.user_ns[name].dbase.handle for name in later}
        raise KeyboardInterrupt

    monkeypatch.setattr(session.connection, "wait", press)
    where, what, fate = shown_error(shell, capsys, "1 + 1\nfloat(a.sum())").splitlines()
    assert re.fullmatch(r"(Cell )?In ?\[\d+\] line 2: float\(a.sum\(\)\)", where)
    assert what == "KeyboardInterrupt: engines were at sum, fetch"
    assert fate == told
    session.unfinished.wanted.clear()


def test_what_a_cell_finds_at_its_end_is_its_error(shell, session, monkeypatch):
    """So a notebook that is run whole stops there."""
    shell.run_cell("import distnb as dnb\na = dnb.arange(-3, 3)")
    result = shell.run_cell("b = a ** a")
    assert isinstance(result.error_in_exec, ValueError)
    assert shell.run_cell("1").success


def test_an_interrupt_at_the_end_of_a_cell(shell, session, capsys, monkeypatch):
    press = Mock(side_effect=KeyboardInterrupt("engines were at add"))
    shell.run_cell("import distnb as dnb\na = dnb.ones(30)")
    with monkeypatch.context() as patch:
        patch.setattr(session, "flush", press)
        text = shown_error(shell, capsys, "b = a + 1").splitlines()
    assert text[0].startswith("at the end of the cell")
    assert text[1:] == ["KeyboardInterrupt: engines were at add", "all arrays are whole"]
    assert float(shell.user_ns["b"].sum()) == 60


def test_after_an_interrupt_in_python_engines_go_on_by_themselves(
    shell, session, capsys, monkeypatch
):
    flushes = []
    monkeypatch.setattr(session, "flush", lambda flush=session.flush: flushes.append(1) or flush())
    shell.run_cell("import distnb as dnb\na = dnb.ones(30)")
    before = len(flushes)
    shell.run_cell("b = a + 1\nraise KeyboardInterrupt")
    assert "engines go on" in capsys.readouterr().err
    shell.run_cell("1 + 1")  # which asks for nothing
    assert len(flushes) == before
    shell.run_cell("c = b + 1")
    assert len(flushes) == before + 1
    assert "engines go on" not in capsys.readouterr().err
    assert float(shell.user_ns["c"].sum()) == 90


def test_other_interrupts_are_as_ever(shell, session, capsys):
    text = shown_error(shell, capsys, "raise KeyboardInterrupt('stop')")
    assert "----> 1 raise KeyboardInterrupt" in text


def test_operators_of_numpys_mixin_are_hidden_too(shell, session, capsys):
    shell.run_cell("import distnb as dnb")
    text = shown_error(shell, capsys, "dnb.ones((4, 5)) @ dnb.ones((4, 5))")
    assert "mixins" not in text
    assert "/distnb/" not in text
    assert "dnb.ones((4, 5)) @ dnb.ones((4, 5))" in text


def test_what_the_user_gave_to_distnb_stays_in_a_traceback(shell, session, capsys):
    shell.run_cell("import distnb as dnb\ndef bad(i, j):\n    return undefined_name")
    text = shown_error(shell, capsys, "dnb.fromfunction(bad, (3, 3))")
    assert "return undefined_name" in text
    assert "dnb.fromfunction(bad, (3, 3))" in text


def test_errors_behind_errors_are_shortened_and_left_as_they_were(shell, session, capsys):
    shell.run_cell("import distnb as dnb")
    code = "try:\n    dnb.ones(4) + dnb.ones(5)\nexcept ValueError as e:\n    kept = e\n    1 / 0"
    text = shown_error(shell, capsys, code)
    assert "/distnb/" not in text
    assert "dnb.ones(4) + dnb.ones(5)" in text
    deepest = shell.user_ns["kept"].__traceback__
    while deepest.tb_next is not None:
        deepest = deepest.tb_next
    assert deepest.tb_frame.f_globals["__name__"].startswith("distnb.")


def test_tracebacks_of_code_without_lines_are_shortened():
    """As of what a tracing function raises between two lines."""
    code = compile("1 / 0", "<made>", "exec").replace(co_linetable=b"")
    with pytest.raises(ZeroDivisionError) as caught:
        exec(code)
    found = shortened(caught.tb)
    assert [found.tb_next.tb_frame.f_code, found.tb_next.tb_lineno] == [code, None]


def test_tracebacks_are_whole_again_without_the_extension(shell, session, capsys):
    shell.run_cell("import distnb as dnb")
    shell.run_line_magic("unload_ext", "distnb")
    text = shown_error(shell, capsys, "dnb.ones(4) + dnb.ones(5)")
    assert "/distnb/" in text
    shell.run_line_magic("load_ext", "distnb")


def test_an_import_in_a_shell_ends_tracebacks_at_the_users_line(shell, session, capsys):
    shell.run_cell("import distnb as dnb")
    shell.run_line_magic("unload_ext", "distnb")
    importlib.reload(dnb)
    assert "; write session" in repr(dnb.arrays())
    assert repr(dnb.arrays()).endswith("or %load_ext distnb in a notebook")
    for _ in range(2):
        text = shown_error(shell, capsys, "dnb.concatenate(dnb.ones((2, 4)), dnb.ones((2, 5)))")
        assert "/distnb/" not in text
        assert "axis: got DistArray of shape (2, 5), expected an integer; pass a number" in text
    shell.run_line_magic("load_ext", "distnb")


def test_a_line_is_measured(shell, session, capsys):
    shell.run_cell("import distnb as dnb\nA = dnb.ones((30, 30))")
    report = run(shell, "%disttime A @ A.T")
    assert {op.op for op in report.ops} >= {"matmul"}
    assert capsys.readouterr().out.count("Out[") == 1
    assert run(shell, "%disttime -q -o kept A + A") is None
    assert {op.op for op in shell.user_ns["kept"].ops} >= {"add"}
    assert run(shell, "r = %disttime A - A") is None
    assert {op.op for op in shell.user_ns["r"].ops} >= {"subtract"}
    with pytest.raises(UsageError, match="expected an expression"):
        shell.run_line_magic("disttime", "-q ")


def test_what_timeit_times_is_said_once(shell, session, capsys):
    shell.run_cell("import distnb as dnb\nA = dnb.ones((30, 30))")
    shell.run_cell("%timeit -n 2 -r 1 1 + 1")
    assert "%disttime" not in capsys.readouterr().out
    shell.run_cell("%timeit -n 2 -r 1 A + A")
    assert "%disttime EXPR waits" in capsys.readouterr().out
    shell.run_cell("%timeit -n 2 -r 1 A + A")
    assert "%disttime" not in capsys.readouterr().out


# -- Names and layouts complete --------------------------------------------------------------------


def test_only_names_for_users_complete(session):
    a = dnb.ones(3, dist="block")
    ours = {n for n in dir(a) if not n.startswith("_") and not hasattr(np.ndarray, n)}
    local = {
        "get_data",
        "set_data",
        "get_full_data",
        "set_full_data",
        "global_slices",
        "local_keys",
    }
    local |= {"get_local_data", "set_local_data", "local", "splits"}
    assert ours == {"chunks", "layout", "move", "redistribute", "session", "to_numpy", *local}
    assert {"sum", "T", "__add__"} <= set(dir(a))
    assert [n for n in dir(session) if not n.startswith("_")] == [
        *("close", "closed", "end_window", "flush", "live", "recover", "resize", "size"),
        "start_window",
    ]
    rooms = [dnb, dnb.fft, dnb.graph, dnb.learn, dnb.linalg, dnb.random, dnb.sparse, dnb.polynomial]
    for module in (*rooms, dnb.sparse.linalg, dnb.plot, dnb.testing):
        assert {n for n in dir(module) if not n.startswith("_")} == set(module.__all__)


@pytest.mark.parametrize(
    ("code", "some"),
    [
        ("x = dnb.zeros(4, dist=", {"'block'", "'cyclic'", "('*', 'block')"}),
        ("x = dnb.zeros(4, dist='cy", {"cyclic"}),
        ("x = dnb.zeros((4, 4), dist=('*', 'bl", {"block"}),
        ("x = dnb.zeros((4, 4), grid=", {"(1, 3)", "(3, 1)"}),
        ('A.redistribute("b', {"block"}),
        ('A.move("cy', {"cyclic"}),
        ("A.redistribute(('*', 'bl", {"block"}),
        ("A.move(", {"'block'", "('*', 'block')"}),
    ],
)
def test_layouts_complete_wherever_they_are_asked_for(shell, session, code, some):
    assert some <= completions(shell, code)
