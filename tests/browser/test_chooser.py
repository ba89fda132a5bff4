"""The layout chooser in JupyterLab: boxes change the picture, and Apply moves the array."""

import shutil

import pytest

from tests.browser.support import Notebook
from tests.waiting import until

pytestmark = pytest.mark.mpich_only

START = (
    "import distnb as dnb\n%load_ext distnb\nsession = dnb.inprocess(4)\ndnb.config.cutoff = 0\n"
    "A = dnb.ones((160, 160))\nview = A[2:, 1]"
)
COMPUTE = "total = A.sum(axis=0) + A[1:, :].sum()"
AFTER = "print(A.layout.base.spell(), '|', view.layout.base.spell(), '|', A.to_numpy().sum())"


@pytest.fixture(scope="module")
def notebook(lab, page):
    lab.add("chooser", START, COMPUTE, "dnb.choose_layout(A)", "%distlayout A A.T", AFTER)
    found = Notebook(page, lab, "chooser")
    found.run()
    return found


def test_the_chooser_applies_from_the_next_cell(notebook, page):
    view = notebook.output("choose_layout").locator(".widget-vbox").first
    view.get_by_text("would send as much as it did").wait_for()
    apply = view.get_by_role("button", name="Apply")
    assert apply.is_disabled()  # it lies so already
    view.get_by_label("axis 0: 160").select_option("whole")
    view.get_by_label("axis 1: 160").select_option("block-cyclic")
    view.get_by_label("block size").last.fill("20")
    view.get_by_label("block size").last.press("Enter")
    view.get_by_text("A.move(('*', ('cyclic', 20)))").wait_for()
    now, then = view.locator("svg[role=img] > title").all_text_contents()
    assert now.endswith("block x * on 4 engines")
    assert then.endswith("('cyclic', 20) on 4 engines")
    assert "in place of" in view.inner_text()
    notebook.screens("chooser", view)
    # With the keyboard alone.
    apply.focus()
    page.keyboard.press("Enter")
    view.get_by_text("Done: * x ('cyclic', 20) on 4 engines").wait_for()
    notebook.run_cell("print(A.layout")
    moved = "* x ('cyclic', 20) on 4 engines"
    assert f"{moved} | {moved} | 25600.0" in notebook.output("print(A.layout").inner_text()


def test_arrays_side_by_side(notebook):
    view = notebook.output("%distlayout A A.T")
    assert view.locator("svg[role=img]").count() == 2
    assert "154 kB" in view.inner_text()
    notebook.screens("distlayout", view)


@pytest.mark.tier("test-all")
def test_a_notebook_opened_again_has_the_picture_in_place_of_the_widget(notebook, lab, page):
    shown = notebook.output("choose_layout")
    assert shown.get_by_text("The move:").locator("visible=true").count() == 1
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    saved = lab.root / "chooser.ipynb"
    until(lambda: "distnb-stored" in saved.read_text())
    shutil.copy(saved, lab.root / "again.ipynb")
    tab = page.context.new_page()
    try:
        shown = Notebook(tab, lab, "again").output("choose_layout")
        lost = shown.get_by_text("model not found")
        lost.wait_for(state="attached")
        assert not lost.is_visible()
        assert shown.get_by_text("The move:").is_visible()
    finally:
        tab.close()
