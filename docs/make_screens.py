"""Take the pictures of what a notebook shows into ``docs/images/screens``, in light and dark.

``python -m docs.make_screens`` needs playwright, Chromium and JupyterLab. Every view of
``tests/browser/views.py`` is shown in JupyterLab, as a person has it, 900 pixels wide, and 360 as
well with ``--narrow``; the names of some views take these only. ``--folder`` says where to. Commit
what it writes.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from tests.browser.conftest import CHROMIUM, Lab
from tests.browser.support import Notebook
from tests.browser.views import START, VIEWS

FOLDER = Path(__file__).parent / "images" / "screens"
THEMES = ("Light", "Dark")


def main() -> None:
    """Take all pictures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=list(VIEWS))
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--narrow", action="store_true")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    widths = (900, 360) if args.narrow else (900,)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        lab = Lab(Path(folder))
        try:
            lab.wait()
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=list(CHROMIUM)
            )
            page = browser.new_page(viewport={"width": 1300, "height": 1600})
            page.set_default_timeout(200_000)
            take(page, lab, args.names, widths, args.folder)
            browser.close()
        finally:
            lab.stop()


def take(page: Page, lab: Lab, names: list[str], widths: tuple[int, ...], folder: Path) -> None:
    """Run a notebook of some views, and take their pictures."""
    lab.add("screens", START, *(cell for name in names for cell in VIEWS[name].cells))
    notebook = Notebook(page, lab, "screens")
    notebook.run()
    for width in widths:
        notebook.narrow(width)
        for theme in THEMES:
            notebook.theme(theme)
            for name in names:
                shot = notebook.output(VIEWS[name].cell).screenshot()
                more = "" if width == 900 else f"-{width}"
                save(shot, folder / f"{name}-{theme.lower()}{more}.png")


def save(shot: bytes, path: Path) -> None:
    """Write a picture in few colours."""
    picture = Image.open(BytesIO(shot))
    picture.convert("P", palette=Image.Palette.ADAPTIVE, colors=64).save(path, optimize=True)


if __name__ == "__main__":
    main()
