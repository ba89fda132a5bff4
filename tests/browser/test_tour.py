"""The tour in JupyterLab, as a person has it: in both themes."""

import shutil

import pytest

from tests.browser.support import ROOT, Notebook

pytestmark = pytest.mark.mpich_only


@pytest.mark.tier("test-all")
def test_the_tour_runs_and_shows_layouts_and_reports(lab, page):
    shutil.copy(ROOT / "notebooks" / "tour.ipynb", lab.root)
    notebook = Notebook(page, lab, "tour")
    notebook.run(90)
    layout = notebook.output("dnb.fromfunction")
    assert layout.locator("svg[role=img] > title").first.text_content().startswith("Who owns what")
    assert "block-cyclic" in layout.inner_text() or "cyclic" in layout.inner_text()
    report = notebook.output("%%disttime")
    assert "ms" in report.locator("table").first.inner_text()
    assert report.bounding_box()["height"] <= 400
    notebook.screens("glance", report)
    report.get_by_text("all numbers").click()
    assert report.locator("table").count() >= 2
    assert " %" in report.inner_text()
    assert report.locator("svg[role=img] > title").count() >= 1
    notebook.screens("layout", layout)
    notebook.screens("report", report)
