"""Notebooks exported to HTML show layouts and reports with nothing but the file."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ET

import nbformat
import pytest

from tests.browser.support import ROOT, SCREENS

pytestmark = pytest.mark.mpich_only

CELLS = (
    "import distnb as dnb\n%load_ext distnb\nsession = dnb.inprocess(3)\ndnb.config.cutoff = 0",
    "a = dnb.ones((60, 80), dist=('block', 'cyclic'))\na.layout",
    "%distlayout a[10:50:2]",
    "%%disttime -o report\nb = dnb.ones((60, 80))\nfor _ in range(3):\n    b = b + a",
    "report",
    "from distnb.widgets.times.timeline import Timeline\nTimeline(report)",
    "dnb.choose_layout(b)",
    "session.close()",
)


def export(folder, *cells):
    """Run a notebook and export it as `jupyter nbconvert` does; return the page."""
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(made, folder / "seen.ipynb")
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--execute", "seen.ipynb"]
    command.append("--ExecutePreprocessor.store_widget_state=False")
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "seen.html"


@pytest.mark.tier("test-all")
def test_an_exported_notebook_shows_layouts_and_reports_offline(browser, tmp_path):
    file = export(tmp_path, *CELLS)
    text = file.read_text()
    page = browser.new_page()
    try:
        page.goto(file.as_uri(), wait_until="load")
        page.evaluate("document.querySelectorAll('details').forEach(d => (d.open = true))")
        pictures = page.locator("svg[role=img]")
        titles = [t.split(":")[0] for t in pictures.locator("> title").all_text_contents()]
        assert titles.count("Who owns what") == 3  # the last is the chooser's
        assert len(titles) >= 5  # the cell's report, shown again, and the timeline's
        for i in range(pictures.count()):
            box = pictures.nth(i).bounding_box()
            assert min(box["width"], 5 * box["height"]) > 100
            used = pictures.nth(i).evaluate("svg => new XMLSerializer().serializeToString(svg)")
            ET.fromstring(used)
            assert "http" not in used.replace("http://www.w3.org/2000/svg", "")
        tables = page.locator("table:visible")
        assert tables.count() >= 8
        assert " %" in page.inner_text("body")
        assert "widget-view+json" not in text
        SCREENS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(SCREENS / "exported.png"), full_page=True)
    finally:
        page.close()
