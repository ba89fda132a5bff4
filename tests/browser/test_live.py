"""The dashboard in JupyterLab, with engines in other processes: it moves while a cell blocks."""

import re

import pytest

from tests.browser.support import Notebook

pytestmark = pytest.mark.mpich_only

START = (
    "import pathlib\nimport numpy as np\nimport distnb as dnb\n"
    "session = dnb.start(2)\ndnb.config.cutoff = 0\n%load_ext distnb"
)
ARRAYS = "A = dnb.ones((500, 400))\nsmall = dnb.arange(10.0)"
BLOCKING = "while not pathlib.Path('enough').exists():\n    B = np.sqrt(A) + A\n    float(B.sum())"
MEASURED = "%%disttime -q\nfor _ in range(5):\n    C = A + A[::-1]"
CHANGED = """([selector, index, seen]) => {
  const text = document.querySelectorAll(selector)[index].innerText;
  return text.includes("has run for") && !seen.includes(text) && text;
}"""
LATE = """path = str(pathlib.Path("late").absolute())
def wait(x):
    import os, time
    while not os.path.exists(path):
        time.sleep(0.01)
    return x + 41.5
L = dnb.vectorize(wait, otypes=[float])(dnb.ones((4, 3), dist=("*", "block")))
L"""
BOARD = "board = dnb.dashboard()\nboard"


@pytest.fixture(scope="module")
def notebook(lab, page):
    """A notebook that has made a dashboard."""
    lab.add("live", START, ARRAYS, BOARD, BLOCKING, MEASURED, LATE, "session.close()")
    found = Notebook(page, lab, "live")
    for text in (START, ARRAYS, BOARD):
        found.run_cell(text)
    yield found
    found.run_cell("session.close()")


def test_the_dashboard_moves_while_a_cell_blocks(notebook, lab, page):
    board = notebook.output("board = ")
    board.get_by_role("button", name="Free").first.wait_for()
    assert re.search(r"\(500, 400\)", board.inner_text())
    notebook.start_cell(BLOCKING)
    seen = []
    for _ in range(4):  # different texts, each while the kernel is busy
        text = page.wait_for_function(CHANGED, arg=[*notebook.place("board = "), seen])
        assert not page.evaluate("() => window.ran")
        seen.append(text.json_value())
    (lab.root / "enough").touch()
    notebook.finish()


def test_elements_that_are_late_come_into_the_output(notebook, lab, page):
    notebook.start_cell("L = dnb.vectorize")
    output = notebook.output("L = dnb.vectorize")
    output.get_by_text("still computing").wait_for()
    assert not page.evaluate("() => window.ran")
    (lab.root / "late").touch()
    output.get_by_text("42.5 42.5 42.5").wait_for()
    notebook.finish()
    assert "still computing" not in output.inner_text()
    assert "columns in blocks on 2 engines" in output.inner_text()


def test_after_a_measured_cell_the_dashboard_has_its_timeline(notebook):
    notebook.run_cell(MEASURED)
    board = notebook.output("board = ")
    board.locator(".distnb-timeline .mark").first.wait_for()
    assert board.locator(".distnb-timeline .row").count() == 3
    assert "C = A + A[::-1]" in board.locator(".distnb-timeline .ops").inner_text()
    notebook.screens("dashboard", board)


def test_an_array_is_freed_by_its_button(notebook):
    board = notebook.output("board = ")
    assert "small" in board.inner_text()
    board.get_by_role("button", name="Free: del small").click()
    board.get_by_text("freed small").wait_for()


@pytest.mark.tier("test-all")
def test_a_dashboard_whose_kernel_has_gone_says_so(notebook, page):
    board = notebook.output("board = ")
    free = board.get_by_role("button", name="Free")
    assert free.first.is_enabled()
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
    board.get_by_text("The kernel has gone").wait_for()
    assert not any(button.is_enabled() for button in free.all())  # nobody would hear them
    notebook.wait()
    for text in (START, ARRAYS, BOARD):  # tests may run in any order
        notebook.run_cell(text)
