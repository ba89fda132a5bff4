"""Take the pictures of what a notebook shows into ``docs/images/screens``, in light and dark.

``python docs/make_screens.py`` needs playwright and Chromium. Arrays are on engines in this
process, and the report is that of a run whose loss is known, so that pictures only change with what
they show. ``--prefix before-`` names them otherwise. Commit what it writes.
"""

from __future__ import annotations

import shutil
import sys
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

import distnb as dnb
from distnb.widgets import TimeReport
from tests.unit.runs import report, span, step

FOLDER = Path(__file__).parent / "images" / "screens"
WIDTH = 900
#: Paper, ink and lines of JupyterLab's themes.
THEMES = {"light": ("#fff", "#000000de", "#e0e0e0"), "dark": ("#111", "#ffffffde", "#616161")}
STYLE = """
body {{ font: 13px/1.5 system-ui, sans-serif; margin: 0; padding: 10px 14px; width: {width}px;
        background: {paper}; color: {ink}; }}
pre {{ font: 13px/1.3 "DejaVu Sans Mono", monospace; }}
table {{ border-collapse: collapse; font-size: 12px; margin: .5em 0; }}
td, th {{ padding: .3em .5em; text-align: right; }}
thead {{ border-bottom: 1px solid {line}; }}
"""


def main(arguments: list[str]) -> None:
    """Take all pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    prefix = arguments[arguments.index("--prefix") + 1] if "--prefix" in arguments else ""
    scenes = made()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        for name, page in scenes.items():
            for theme in THEMES:
                take(browser, page, theme, FOLDER / f"{prefix}{name}-{theme}.png")
        browser.close()


def made() -> dict[str, str]:
    """Return what is shown, by the name of its picture."""
    dnb.config.cutoff, dnb.config.place = 0, "engines"
    with dnb.inprocess(4):
        a = dnb.random.default_rng(0).random((2000, 1000))
        found = {
            "array": a._repr_html_(),
            "view": a[10:900, ::-2]._repr_html_(),
            "number": a.mean()._repr_html_(),
        }
    return {**found, "report": TimeReport(stencil())._repr_html_()}


def stencil() -> object:
    """Return the report of a loop over an array of which one engine holds twice as much."""
    lines = ("In [3] line 2: t = a[1:] + a[:-1]", "In [3] line 3: a[1:] = t / 2")
    steps, now = [], 0.0
    for k in range(12):
        last = 4.0 + 2.0 * (k % 2)
        spans = [
            span(now, last / 2, last / 2 - 0.3, 0.2, 0.1, waits=[(2, last / 2 - 0.3)]),
            span(now, last / 2, last / 2 - 0.3, 0.2, 0.1, waits=[(2, last / 2 - 0.3)]),
            span(now, last - 0.3, 0, 0.2, 0.1, sent=[(1, 1, 8000)]),
        ]
        op = ("add", "divide")[k % 2]
        steps.append(step(*spans, op=op, line=lines[k % 2], held=(500, 500, 1000)))
        now += last + 0.4 * (k % 3 == 2)
    return report(steps)


def take(browser: Browser, page: str, theme: str, path: Path) -> None:
    """Take a picture of a page."""
    paper, ink, line = THEMES[theme]
    style = STYLE.format(width=WIDTH - 28, paper=paper, ink=ink, line=line)
    tab = browser.new_page(viewport={"width": WIDTH, "height": 100}, color_scheme=theme)
    tab.set_content(f"<style>{style}</style><body>{page}</body>")
    picture = Image.open(BytesIO(tab.screenshot(full_page=True)))
    picture.convert("P", palette=Image.Palette.ADAPTIVE, colors=64).save(path, optimize=True)
    tab.close()


if __name__ == "__main__":
    main(sys.argv[1:])
