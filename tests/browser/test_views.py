"""Every view, in light and dark: axe-core finds nothing wrong, and nothing is wider than its place."""

import pytest

import distnb as dnb
from distnb.widgets import TimeReport
from distnb.widgets.times.scaling import ScalingReport
from tests.browser import views
from tests.browser.axe import faults
from tests.browser.support import OUTPUTS, Notebook

pytestmark = pytest.mark.mpich_only

#: Paper, ink and lines of JupyterLab's themes.
THEMES = {"light": ("#fff", "rgba(0,0,0,.87)", "#e0e0e0"), "dark": ("#111", "#fff", "#616161")}
STYLE = """<html lang="en"><title>views</title><style>:root {{
  --jp-layout-color0: {0}; --jp-content-font-color1: {1}; --jp-border-color1: {2};
}} body {{ background: {0}; color: {1}; }}</style>"""
#: For axe to find.
WRONG = """document.querySelector("h1").innerHTML =
  "<span style='background: #777; color: #888'>faint</span><button></button>"
"""
#: What sticks out of the frame of an output, but for what scrolls in a frame of its own.
WIDER = """selector => [...document.querySelectorAll(selector)].flatMap(output => {
  const right = output.getBoundingClientRect().right + 1;
  return [...output.querySelectorAll(".distnb *, .widget-inline-hbox")]
    .filter(each => !each.closest(".scroll, pre, svg") && each.getBoundingClientRect().right > right)
    .map(each => each.outerHTML.slice(0, 200));
})"""


@pytest.mark.cases(1)
@pytest.mark.parametrize("theme", THEMES)
def test_pages_have_contrast_and_labels(browser, theme, monkeypatch):
    monkeypatch.setattr(dnb.config, "cutoff", 0)
    with dnb.inprocess(3):
        a = dnb.ones((60, 80), dist=("block", "cyclic"))
        arrays = [a._repr_html_(), a[10:50:2]._repr_html_(), a.layout._repr_html_()]
    report = TimeReport(views.stencil())
    shown = [*arrays, report._repr_html_(), report.diff(TimeReport(views.stencil(1)))._repr_html_()]
    page = browser.new_page()
    try:
        body = "".join([*shown, ScalingReport(views.scaling())._repr_html_()])
        page.set_content(f"{STYLE.format(*THEMES[theme])}<main><h1>Views</h1>{body}</main>")
        page.evaluate("document.querySelectorAll('details').forEach(d => (d.open = true))")
        assert page.locator(".distnb").count() == 6
        assert faults(page, "main") == []
        page.evaluate(WRONG)
        rules = {fault.split(":")[0] for fault in faults(page, "main")}
        assert rules >= {"color-contrast", "button-name"}
    finally:
        page.close()


@pytest.mark.parametrize("width", [560, 620, 1200])
def test_the_words_beside_a_reports_bars_are_seen(browser, width):
    page = browser.new_page()
    try:
        page.set_viewport_size({"width": width + 16, "height": 900})
        page.set_content(
            f"{STYLE.format(*THEMES['light'])}{TimeReport(views.stencil())._repr_html_()}"
        )
        words = page.locator(".distnb svg text", has_text="computes")
        assert words.count() >= 3
        ends = [words.nth(i).bounding_box() for i in range(words.count())]
        assert max(box["x"] + box["width"] for box in ends) <= width + 8
    finally:
        page.close()


@pytest.mark.tier("test-all")
def test_every_view_in_jupyterlab(lab, page):
    lab.add("all", views.START, *(cell for each in views.VIEWS.values() for cell in each.cells))
    notebook = Notebook(page, lab, "all")
    notebook.run()
    page.evaluate("document.querySelectorAll('.distnb details').forEach(d => (d.open = true))")
    for theme in ("Light", "Dark"):
        notebook.theme(theme)
        assert faults(page, ".jp-OutputArea-output") == []
    for width in (360, 900, 1600):
        page.set_viewport_size({"width": max(1280, width + 200), "height": 2000})
        notebook.narrow(width)
        assert page.evaluate(WIDER, OUTPUTS) == [], width
