"""The timeline in JupyterLab, as a person has it: pointed at, dragged over, used with keys."""

import re

import pytest

from tests.browser.support import Notebook

pytestmark = pytest.mark.mpich_only


REPORT = """from dataclasses import replace
from distnb.measure.events import Moment, Notebook
from tests.reports import synthetic
report = synthetic(4, 60)
end = report.engines[0].now
did = Moment(0, 0, 0, 0), Moment(end, end // 2, 0, end // 5)
report = replace(report, notebook=Notebook(1e-3, moments=did))"""
TIMELINE = (
    "from distnb.widgets.times.timeline import Timeline\ntimeline = Timeline(report)\ntimeline"
)


@pytest.fixture(scope="module")
def notebook(lab, page):
    """A notebook with the views that are made to be touched."""
    lab.add("views", REPORT, TIMELINE, "timeline.selection, timeline.pinned")
    found = Notebook(page, lab, "views")
    found.run()
    return found


@pytest.fixture
def timeline(notebook, page):
    """The timeline, with all of its time in view and nothing selected."""
    found = notebook.output("Timeline(report)").locator(".distnb-timeline")
    found.locator(".mark").first.wait_for()
    yield found
    for name in ("Clear", "Unpin", "All"):
        button = found.get_by_role("button", name=name, exact=True)
        if button.is_visible() and button.is_enabled():
            button.click()
    page.mouse.move(0, 0)


def number(view, name):
    return view.locator(f"[data-number={name}]").inner_text().split("\n")[0]


def middle(locator):
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(page, view, start, end):
    """Drag over a part of the timeline, given in shares of its width."""
    ground = view.locator(".row .ground").nth(1).bounding_box()
    y = ground["y"] + ground["height"] / 2
    page.mouse.move(ground["x"] + start * ground["width"], y)
    page.mouse.down()
    page.mouse.move(ground["x"] + (start + end) / 2 * ground["width"], y)
    page.mouse.move(ground["x"] + end * ground["width"], y)
    page.mouse.up()


def test_pointing_and_dragging_change_the_numbers(timeline, notebook, page):
    view = timeline
    notebook.screens("timeline", view)
    assert view.locator(".row").count() == 5
    assert view.locator(".mark").count() <= 400
    before = {name: number(view, name) for name in ("time", "balance", "compute", "sent")}
    assert view.locator(".brush").get_attribute("width") == "0"

    # Pointing at a step tells what it is, and lights its engine's bar and its operations
    assert "engine 2" not in view.locator(".detail").inner_text()

    def point():
        page.mouse.move(0, 0)
        page.mouse.move(*middle(view.locator(".row[data-rank='2'] .mark").nth(8)))
        view.locator(".bar.hot").wait_for()

    point()
    detail = view.locator(".detail").inner_text()
    assert re.search(r"engine 2, step \d+: \w+, In\[3\] line \d.*compute [\d.]+ us", detail), detail
    assert view.locator(".bar.hot").get_attribute("data-rank") == "2"
    assert view.locator("tr.hot[data-rank]").count() == 1
    assert view.locator("tr.hot[data-op]").count() >= 1
    notebook.screens("timeline-hover", view, point)

    # Of a time without commands, what the notebook did in it
    page.mouse.move(*middle(view.locator(".row[data-rank='-1'] .mark").first))
    did = re.compile(r"no engine had a command for .*; it computed for .*, arrays went to disk")
    view.locator(".detail", has_text=did).wait_for()
    assert view.locator(".legend").inner_text().split()[-2:] == ["notebook", "disk"]

    # Dragging recomputes all numbers, and Escape brings the others back
    drag(page, view, 0.25, 0.5)
    after = {name: number(view, name) for name in before}
    assert all(after[name] != before[name] for name in before), (before, after)
    assert view.locator(".where").inner_text().startswith("Selected:")
    notebook.screens("timeline-brush", view)
    view.locator(".row").first.focus()
    page.keyboard.press("Escape")
    assert {name: number(view, name) for name in before} == before


def test_what_is_selected_and_pinned_reaches_the_kernel(timeline, notebook, page):
    view = timeline
    drag(page, view, 0.1, 0.3)
    view.get_by_role("button", name="Pin", exact=True).click()
    drag(page, view, 0.4, 0.8)
    time = view.locator("[data-number=time]")
    assert re.search(r"\+[\d.]+ (us|ms)", time.inner_text())
    view.get_by_role("button", name="Zoom in").click()
    assert view.locator(".where").inner_text().startswith("Selected:")
    notebook.screens("timeline-pinned", view)
    notebook.run_cell("timeline.pinned")
    text = notebook.output("timeline.pinned").inner_text()
    assert re.search(r"\(\(0\.\d+, 0\.\d+\),\s*\{", text), text
    assert "'balance'" in text


def test_the_timeline_is_used_with_keys_alone(timeline, page):
    view = timeline
    view.locator(".row").first.focus()
    before = number(view, "time")
    for key in ("ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    assert view.locator(".detail").inner_text().startswith("engine 0, step")
    assert view.locator(".mark.hot").count() == 1
    page.keyboard.press("Enter")
    assert number(view, "time") != before
    page.keyboard.press("+")
    assert view.locator(".row[data-rank='0']").evaluate("row => row === document.activeElement")
    page.keyboard.press("-")
    page.keyboard.press("Escape")
    page.keyboard.press("0")
    assert number(view, "time") == before


@pytest.mark.tier("test-all")
def test_it_goes_on_when_the_kernel_is_gone(timeline, notebook, page):
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
    before = number(timeline, "compute")
    drag(page, timeline, 0.2, 0.4)
    assert number(timeline, "compute") != before
    notebook.wait()
    notebook.run()  # tests may run in any order
