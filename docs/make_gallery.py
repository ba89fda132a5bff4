"""Run the notebooks of the gallery, store them as they ran, and their last pictures for the page.

``python docs/make_gallery.py [name ...]``; where distnb is installed, for xarray finds it so. What
is stored shows on a code host: pictures of few colours, and of widgets what stands for them.
"""

from __future__ import annotations

import base64
import io
import sys
import tempfile
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from PIL import Image

HERE = Path(__file__).resolve().parent
NOTEBOOKS = HERE.parent / "notebooks"
sys.path.insert(0, str(NOTEBOOKS))

from run import execute  # noqa: E402 - a script beside the notebooks

NAMES = ("stocks", "images", "climate", "regression", "text", "packages")
#: These have no picture on the page.
OTHERS = ("heat", "tour", "seeing")
_COLOURS = 96


def small(picture: str) -> str:
    """Return a PNG of few colours, in base64, as in a notebook."""
    found = io.BytesIO()
    image = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
    image.quantize(_COLOURS, dither=Image.Dither.NONE).save(found, "PNG", optimize=True)
    return base64.b64encode(found.getvalue()).decode()


def stored(notebook: NotebookNode) -> list[bytes]:
    """Make an executed notebook fit to be stored; return its pictures."""
    pictures = []
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when it ran
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            data.pop("application/vnd.jupyter.widget-view+json", None)  # nothing without a kernel
            if "image/png" in data:
                data["image/png"] = small(data["image/png"])
                pictures.append(base64.b64decode(data["image/png"]))
    return pictures


def main() -> None:
    """Run them, one after the other."""
    for name in sys.argv[1:] or NAMES + OTHERS:
        with tempfile.TemporaryDirectory() as folder:
            execute(name, Path(folder), 300)
            notebook = nbformat.read(Path(folder) / f"{name}.ipynb", as_version=4)
        pictures = stored(notebook)
        text = nbformat.writes(notebook)
        for folder in (sys.prefix, str(HERE.parent)):  # paths of this machine, in warnings
            text = text.replace(f"{folder}/", "")
        (NOTEBOOKS / f"{name}.ipynb").write_text(text + "\n", encoding="utf-8")
        if name in NAMES:
            (HERE / "images" / f"gallery-{name}.png").write_bytes(pictures[-1])


if __name__ == "__main__":
    main()
