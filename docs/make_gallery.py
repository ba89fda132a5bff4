"""Run the notebooks of the gallery, and keep the last picture of each for ``docs/gallery.md``.

``python docs/make_gallery.py [name ...]``; where distnb is installed, for xarray finds it so.
"""

from __future__ import annotations

import base64
import io
import sys
import tempfile
from pathlib import Path

import nbformat
from PIL import Image

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "notebooks"))

from run import execute  # noqa: E402 - a script beside the notebooks

NAMES = ("stocks", "images", "climate", "regression")


def last_picture(path: Path) -> bytes:
    """Return the last picture of an executed notebook, as PNG."""
    cells = nbformat.read(path, as_version=4).cells
    found = [
        output.data["image/png"]
        for cell in cells
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]
    return base64.b64decode(found[-1])


def main() -> None:
    """Run them, one after the other."""
    for name in sys.argv[1:] or NAMES:
        with tempfile.TemporaryDirectory() as folder:
            execute(name, Path(folder), 300)
            picture = last_picture(Path(folder) / f"{name}.ipynb")
        found = Image.open(io.BytesIO(picture)).convert("RGB").quantize(128)
        found.save(HERE / "images" / f"gallery-{name}.png", optimize=True)


if __name__ == "__main__":
    main()
