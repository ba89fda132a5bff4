"""Draw the pictures of these pages into ``docs/images``.

``python -m docs.make_images`` draws the layouts on engines in its own process, for light pages and
(``-dark.png``) for dark ones: ``docs/conf.py`` shows the one that fits. The pictures of the time
and of a report start two MPI engines; ``--layouts`` leaves them out. Commit what it writes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib import pyplot

import distnb as dnb
from distnb.widgets import Several
from docs.themes import STYLES, style

FOLDER = Path(__file__).parent / "images"
SHAPE = (16, 16)
ENGINES = 4

#: File name -> panels of a title and the ``dist=`` and ``grid=`` of a 16 x 16 array.
LAYOUTS: dict[str, dict[str, dict[str, Any]]] = {
    "one-axis": {
        "dist='block'\n(the default)": {"dist": "block"},
        "dist='cyclic'": {"dist": "cyclic"},
        "dist=('cyclic', 2)": {"dist": ("cyclic", 2)},
        "dist=('irregular',\n(0, 1, 5, 13, 16))": {"dist": ("irregular", (0, 1, 5, 13, 16))},
    },
    "two-axes": {
        "dist=('*', 'block')": {"dist": ("*", "block")},
        "dist=('block', 'block')": {"dist": ("block", "block")},
        "dist=('block', 'block'),\ngrid=(1, 4)": {"dist": ("block", "block"), "grid": (1, 4)},
        "dist=(('cyclic', 2),\n('cyclic', 4))": {"dist": (("cyclic", 2), ("cyclic", 4))},
    },
    "copies": {
        "dist='replicated'": {"dist": "replicated"},
        "dist=('engine', 2)": {"dist": ("engine", 2)},
        "dist='block', grid=2": {"dist": "block", "grid": 2},
    },
}
#: Rows and columns of the matrix, and points of the line and the cloud, on the page of pictures.
SIDE, POINTS = 2000, 2_000_000


def pictures() -> Any:
    """Draw large arrays as matplotlib does: a matrix, a corner of it, a line, and a cloud."""
    i, j = dnb.arange(float(SIDE)).reshape(-1, 1), dnb.arange(float(SIDE))
    waves = np.sin(i * i / 90_000) * np.cos(j / 120) + np.sin(i * 3) * np.sin(j * 2) / 4
    rng = dnb.random.default_rng(1)
    walk = np.cumsum(rng.standard_normal(POINTS))
    walk[POINTS // 3] += 900
    x = rng.standard_normal(POINTS)
    figure, panels = pyplot.subplots(1, 4, figsize=(11, 2.6), layout="constrained")
    panels[0].imshow(waves)
    panels[1].imshow(waves)
    panels[1].set(xlim=(1000, 1020), ylim=(520, 500))
    panels[2].plot(walk, linewidth=0.7)
    panels[3].scatter(x, x * x / 4 + rng.standard_normal(POINTS), s=1, alpha=0.01)
    titles = "imshow", "after zooming in", "plot", "scatter"
    for panel, title in zip(panels, titles, strict=True):
        panel.set_title(title, fontsize=10)
        panel.tick_params(labelsize=7)
    return figure


#: Title -> view of a 16 x 16 array A.
VIEWS: dict[str, Callable[[Any], Any]] = {
    "A[1:-1, 1:-1]": lambda a: a[1:-1, 1:-1],
    "A[::2, ::-5]": lambda a: a[::2, ::-5],
    "A[1:-1, :-2].T": lambda a: a[1:-1, :-2].T,
    "A[7]": lambda a: a[7],
}


def main(arguments: list[str]) -> None:
    """Draw all pictures."""
    matplotlib.use("agg")
    dnb.config.cutoff = 0  # the arrays are small, and mean engines
    FOLDER.mkdir(exist_ok=True)
    for end in STYLES:
        with dnb.inprocess(ENGINES), style(end):
            draw_layouts(end)
    if "--layouts" not in arguments:
        draw_time()
        draw_report()


def draw_layouts(end: str) -> None:
    """Draw all pictures but those of times, in the style that is set."""
    for name, panels in LAYOUTS.items():
        arrays = {title: dnb.zeros(SHAPE, **how) for title, how in panels.items()}
        if name == "copies":
            grid = dnb.zeros(SHAPE, dist=("block", "block"))
            arrays["sum(axis=0) of a\n2 x 2 grid"] = grid.sum(axis=0)
        draw(name + end, arrays)
    base = dnb.zeros(SHAPE)
    draw(f"views{end}", {title: view(base) for title, view in VIEWS.items()})
    draw(f"overview{end}", overview())
    shifted = [base[1:-1, 1:-1].layout, base[:-2, 1:-1].layout]
    save(f"pictures{end}", pictures())
    save(f"halo{end}", Several(shifted, ["A[1:-1, 1:-1]", "A[:-2, 1:-1]"]).plot())
    draw_balance(f"balance{end}")


def overview() -> dict[str, Any]:
    """Return the arrays of the picture in the README."""
    a = dnb.zeros(SHAPE)
    found = {"A = dnb.zeros((16, 16))": a, "A[1:-1, 1:-1]": a[1:-1, 1:-1]}
    for title, how in list(LAYOUTS["two-axes"].items())[1::2]:
        found[title] = dnb.zeros(SHAPE, **how)
    return found


def draw(name: str, arrays: dict[str, Any]) -> None:
    """Draw who owns what of some arrays, side by side."""
    size = (2.35 * len(arrays), 2.9)
    figure, panels = pyplot.subplots(1, len(arrays), figsize=size, layout="constrained")
    for ax, (title, array) in zip(panels, arrays.items(), strict=True):
        array.layout.plot(ax=ax).set_box_aspect(1)
        ax.set_title(title, loc="left", fontsize=9, family="monospace")
    save(name, figure)


def draw_balance(name: str) -> None:
    """Draw a sparse array whose first rows have most elements, before and after it is balanced."""
    n = 4096
    lengths = np.maximum(1, 2048 / np.arange(1, n + 1) ** 0.7).astype(int)
    rows = np.repeat(np.arange(n), lengths)
    columns = np.random.default_rng(1).integers(0, n, len(rows))
    graph = dnb.sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, n))
    figure, panels = pyplot.subplots(2, 1, figsize=(6.5, 5.0), layout="constrained")
    for ax, title in zip(panels, ("Before", "After dnb.repartition(A)"), strict=True):
        graph.layout.plot(ax=ax)
        ax.set_title(f"{title}. {ax.get_title(loc='left')}", loc="left", fontsize=9)
        dnb.repartition(graph)
    panels[0].set_xlabel("")
    panels[1].set_xlim(panels[0].get_xlim())
    save(name, figure)


def draw_time() -> None:
    """Run a stencil on two engines and draw where the time went."""
    with dnb.start(n=2) as session:
        a = dnb.random.default_rng(1).random((2048, 2048))
        t = a[1:-1, 1:-1].copy()
        session.flush()
        with dnb.profile() as report:
            for _ in range(10):
                t[:] = 0.2 * (
                    a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[:-2, 1:-1] + a[2:, 1:-1]
                )
                a[1:-1, 1:-1] = t
    print(report)
    save("time", report.plot().figure)


def draw_report() -> None:
    """Run a scan across the engines, of which one holds most, and draw the whole report."""
    n = 1400
    with dnb.start(n=2):
        a = dnb.random.default_rng(1).random((n, n), dist=("*", ("irregular", (0, 1225, n))))
        t = dnb.zeros((n, n))
        for _ in range(2):  # the first time compiles
            with dnb.profile() as report:
                for _ in range(8):
                    t += np.maximum.accumulate(a, axis=1) > a
    report.to_png(FOLDER / "report.png", dpi=110)


def save(name: str, figure: Any) -> None:
    """Write a picture, without a date, so that it changes only when its content does."""
    figure.savefig(FOLDER / f"{name}.png", dpi=130, metadata={"Software": None})
    pyplot.close(figure)


if __name__ == "__main__":
    main(sys.argv[1:])
