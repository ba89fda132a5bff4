"""The doctor finds what is dear and can be cheaper, and says nothing of what is not."""

from __future__ import annotations

import ast
import json
import linecache
import time
from pathlib import Path

import numpy as np
import pytest

import distnb as dnb
from distnb.client.array import prefetch
from distnb.client.reports.doctor import diagnose
from distnb.client.session.journal import MOST
from distnb.geometry.layout import make_layout
from distnb.magics import distdoctor
from distnb.widgets.layouts.proposal import Outlook
from distnb.widgets.status.doctor import DoctorReport

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def session(monkeypatch):
    monkeypatch.setattr(dnb.config, "cutoff", 0)
    with dnb.inprocess(3) as session:
        yield session


def examine(session, least=0.0, **names):
    """Return what is found since the journal began, whatever it cost."""
    session.flush()
    handles = {x.dbase.handle: name for name, x in names.items()}
    return diagnose(session.journal.latest, session.line, handles, session.size, least)


def kinds(found):
    return [f.kind for f in found.findings]


@pytest.fixture
def apart(monkeypatch):
    """Let no elements come together, as of arrays that are much larger than these."""
    monkeypatch.setattr(prefetch, "_AS_ONE", 0)


def test_reads_of_single_elements(session, apart):
    a = dnb.ones((9, 9))
    session.journal.begin()
    total = 0.0
    for i in range(30):
        total += float(a[i * i % 9, 2])
    found = examine(session, a=a)
    (finding,) = found.findings
    assert finding.kind == "element by element"
    assert finding.calls == 30
    assert finding.what.startswith("30 elements of a are read one by one")
    assert "total += float(a[i * i % 9, 2])" in finding.line
    assert "a.to_numpy()" in finding.instead
    assert 0 < finding.seconds <= found.seconds


def test_an_element_of_a_new_array_in_each_turn_is_no_loop_over_elements(session):
    a = dnb.ones((9, 9))
    session.journal.begin()
    for _ in range(20):
        float(a.sum(axis=1)[3])
    assert kinds(examine(session, a=a)) == []


def test_writes_of_single_elements(session):
    a = dnb.zeros(40)
    session.journal.begin()
    for i in range(40):
        a[i] = i
    (finding,) = examine(session, a=a).findings
    assert (finding.kind, finding.calls) == ("element by element", 40)
    assert "written" in finding.what
    assert finding.instead.startswith("a[...] = values")


def test_a_loop_over_rows(session):
    a = dnb.ones((150, 4))
    session.journal.begin()
    rows = [row * 2 for row in a]
    (finding,) = examine(session, a=a).findings
    assert (finding.kind, finding.calls) == ("many small operations", len(rows))
    assert "a loop over slices of a" in finding.what
    assert finding.instead.startswith("np.multiply(a, ...)")


@pytest.mark.parametrize(("axis", "key"), [(1, lambda i: i), (0, lambda i: np.s_[:, i])])
def test_sums_of_rows_that_are_read(session, axis, key):
    a = dnb.ones((150, 150))
    session.journal.begin()
    for i in range(150):
        float(a[key(i)].sum())
    (finding,) = [f for f in examine(session, a=a).findings if f.kind == "many small operations"]
    assert finding.instead.startswith(f"a.sum(axis={axis})  #")
    assert "150 values are read, and the notebook waits for each" in finding.what


def test_windows_have_no_axis_to_advise(session):
    a = dnb.ones(200)
    session.journal.begin()
    for i in range(150):
        a[i : i + 3].sum()
    (finding,) = [f for f in examine(session, a=a).findings if f.kind == "many small operations"]
    assert finding.instead.startswith("# one operation on the whole array")


def test_many_steps_of_a_small_array(session):
    a = dnb.ones(30)
    session.journal.begin()
    for _ in range(120):
        a += 1
    (finding,) = examine(session, a=a).findings
    assert finding.kind == "many small operations"
    assert finding.instead.startswith("dnb.config.cutoff = 256")


@pytest.mark.parametrize(("key", "instead"), [(np.s_[:], "a[:7].sum(axis=1)"), (None, "a[:, :7]")])
def test_a_few_slices_again_and_again_are_no_small_arrays(session, monkeypatch, key, instead):
    """No cutoff keeps slices of a large array in the notebook."""
    monkeypatch.setattr(dnb.config, "cutoff", 1 << 20)
    a = dnb.ones((500, 500), dist="block")
    session.journal.begin()
    for i in range(150):
        float((a[i % 7] if key is not None else a[:, i % 7]).sum())
    (finding,) = [f for f in examine(session, a=a).findings if f.kind == "many small operations"]
    assert finding.instead.startswith(instead)
    assert "150 values are read" in finding.what


def test_a_cutoff_is_never_lowered(session, monkeypatch):
    monkeypatch.setattr(dnb.config, "cutoff", 1 << 20)
    a = dnb.ones(30, dist="block")
    session.journal.begin()
    for _ in range(120):
        a += 1
    (finding,) = examine(session, a=a).findings
    assert finding.instead.startswith("# leave out dist= where a is made")


def test_the_same_array_moved_again_and_again(session):
    a = dnb.ones((60, 60))
    session.journal.begin()
    for _ in range(5):
        b = a.redistribute(("*", "block"))
        b.sum()
    found = [f for f in examine(session, a=a).findings if f.kind == "repeated redistribution"]
    (finding,) = found
    assert finding.calls == 5
    assert finding.bytes == 4 * 2 * 60 * 60 * 8 // 3  # what the first one moves is needed
    assert finding.instead.startswith("a = a.redistribute(('*', 'block'))")


def test_an_operand_that_lies_elsewhere(session):
    a, b = dnb.ones((60, 60)), dnb.ones((60, 60), dist=("*", "block"))
    session.journal.begin()
    for _ in range(4):
        a += b
    (finding,) = examine(session, a=a, b=b).findings
    assert finding.kind == "repeated redistribution"
    assert finding.instead.startswith("b = b.redistribute(('block', '*'))")


def test_operands_that_change_and_never_lie_together(session):
    a, b = dnb.ones((60, 60)), dnb.ones((60, 60), dist=("*", "block"))
    session.journal.begin()
    for _ in range(4):
        b *= 2
        a += b
    (finding,) = examine(session, a=a, b=b).findings
    assert finding.kind == "operands that lie apart"
    assert finding.instead == "dist=('block', '*')  # where b is made"
    assert finding.bytes == 4 * 2 * 60 * 60 * 8 // 3


def test_a_result_without_a_name_is_told_by_the_array_that_it_follows(session):
    a, b = dnb.ones((60, 60)), dnb.ones((60, 60), dist=("*", "block"))
    session.journal.begin()
    for i in range(4):
        a += np.maximum.accumulate(b[:, ::-1] + i, axis=0) * 2
    (finding,) = examine(session, a=a, b=b).findings
    assert finding.kind == "operands that lie apart"
    assert finding.what.startswith("each call moves a result that follows b from * x block")
    assert finding.instead == "dist=('block', '*')  # where b is made"


def test_reductions_along_the_split_axis(session):
    a = dnb.ones((60, 50))
    session.journal.begin()
    means = [a.sum(axis=0) for _ in range(4)]
    (finding,) = examine(session, a=a).findings
    assert (finding.kind, finding.calls) == ("reduction along the split axis", len(means))
    assert "dist=('*', 'block')" in finding.instead
    assert finding.bytes > 0


def test_gathers_that_the_line_does_not_ask_for(session):
    gaussian_filter = pytest.importorskip("scipy.ndimage").gaussian_filter
    a = dnb.ones((100, 100))
    session.journal.begin()
    np.linalg.matrix_power(np.asarray(a), 2)
    (finding,) = examine(session, a=a).findings
    assert (finding.kind, finding.bytes) == ("gather", 80_000)
    assert "does not ask" in finding.what
    assert finding.instead.startswith("dnb.linalg.matrix_power(a)")
    session.journal.begin()
    gaussian_filter(a, 2.0)
    (finding,) = examine(session, a=a).findings
    assert "test_doctor.py line" in finding.line  # and not that of SciPy
    assert finding.instead.startswith("dnb.map_blocks(f, a)")
    session.journal.begin()
    a.to_numpy()
    assert kinds(examine(session, a=a)) == []
    for _ in range(3):
        a.to_numpy()
    (finding,) = examine(session, a=a).findings
    assert (finding.kind, finding.calls) == ("gather", 4 - 1)


def test_results_that_nobody_reads(session):
    a = dnb.ones((60, 60))
    session.journal.begin()
    a * 2
    b = a * 3
    (finding,) = examine(session, a=a, b=b).findings
    assert finding.kind == "unused result"
    assert "a * 2" in finding.line


def test_what_is_cheap_is_not_mentioned(session):
    a = dnb.ones((60, 60))
    session.journal.begin()
    a * 2
    session.flush()
    assert kinds(examine(session, least=10.0)) == []


def test_stencils_products_and_transforms_are_no_findings(session):
    a, t = dnb.ones((64, 64)), dnb.empty((62, 62))
    c = dnb.ones((64, 64))
    session.journal.begin()
    for _ in range(4):
        t[:] = 0.25 * (a[1:-1, :-2] + a[1:-1, 2:] + a[:-2, 1:-1] + a[2:, 1:-1])
        a[1:-1, 1:-1] = t
        c = c @ a
        image = dnb.fft.fft2(c)
        c = dnb.fft.ifft2(image).real
        float(c.max())
    assert kinds(examine(session, a=a, c=c)) == []


def test_only_so_many_commands_are_kept(session):
    a = dnb.ones(30)
    session.flush()
    session.journal.begin()
    for _ in range(MOST + 600):
        a += 1
    found = examine(session, a=a)
    assert found.commands <= MOST
    assert found.commands + found.left == MOST + 600
    assert f"{found.left:,} more were not looked at" in repr(DoctorReport(found))


@pytest.mark.parametrize("notebook", ["tour", "heat"])
def test_the_notebooks_give_no_alarm(session, apart, notebook):
    """Run what the cells of a shipped notebook do with arrays, on smaller ones."""
    cells = json.loads((ROOT / "notebooks" / f"{notebook}.ipynb").read_text())["cells"]
    space = {"dnb": dnb, "np": np, "session": session, "time": time}
    if notebook == "heat":
        space |= {"before": np.random.default_rng(1).random((130, 130)), "n": 130, "sweeps": 20}
    for number, cell in enumerate(cells):
        source = "".join(cell["source"])
        skipped = (
            "import ",
            "plt",
            "%matplotlib",
            "%distnb",
            "%%px",
            "from_parts",
            "get_sample_data",
        )
        if cell["cell_type"] != "code" or any(word in source for word in skipped):
            continue
        lines = [line for line in source.splitlines() if not line.startswith("%")]
        code = "\n".join(lines).replace("dnb.start()", "session").replace("session.close()", "")
        tree = ast.parse(code)
        if not tree.body:  # magics alone
            continue
        session.journal.begin()
        if tree.body and isinstance(tree.body[-1], ast.Expr):  # the notebook keeps the last result
            tree.body[-1] = ast.Assign([ast.Name("_", ast.Store())], tree.body[-1].value)
            ast.fix_missing_locations(tree)
        name = f"<cell {number}>"  # its lines are looked up there
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        exec(compile(tree, name, "exec"), space)
        found = examine(session)
        shown = ["element by element"] if "float(b[i" in source else []  # on purpose
        assert kinds(found) == shown, (source, found.findings)


def test_the_report_shows_what_it_knows(session):
    a = dnb.ones((60, 60))
    session.journal.begin()
    a * 2
    report = DoctorReport(examine(session, a=a))
    assert len(report) == 1
    assert "unused result" in repr(report)
    one = DoctorReport(report._report._replace(commands=1))
    assert "1 thing could be cheaper (1 command in " in one.head
    page = report._repr_html_()
    assert "<table>" in page
    assert len(page) < 10_000
    empty = DoctorReport(diagnose(type(session.journal)({}).latest, session.line, {}, 3))
    assert "asked for nothing" in repr(empty)


def test_arrays_of_which_no_engine_has_heard_are_no_trouble(session, monkeypatch):
    monkeypatch.setattr(dnb.config, "place", "notebook")
    a = dnb.ones((9, 12)) + 1
    assert not a.dbase.heard_of
    assert not distdoctor._is_there(a)
    outlook = Outlook(a, make_layout((9, 12), session.size, ("*", "block")))
    assert outlook.differs
    assert not a.dbase.heard_of  # nothing was sent to tell
