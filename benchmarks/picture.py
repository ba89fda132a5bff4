"""The picture of a run: how many times as fast as NumPy, in blocks of like workloads."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.rows import BASIS, OURS, Row, names, ratio

__all__ = ["LIMITS", "LONGEST", "SHORT", "blocks", "draw", "plot", "short"]

#: What the axis shows; what is beyond is at its edge, with an arrow and its number.
LIMITS = 0.1, 20.0
TICKS = 0.1, 0.2, 0.5, 1, 2, 5, 10, 20

#: Heading -> whether a case is under it; columns of these.
COLUMNS: list[dict[str, Any]] = [
    {
        "Kernels": lambda name: name[:1] == "W",
        "One pass over memory": lambda name: name.startswith("W2 "),
        "Linear algebra, Fourier": lambda name: name[:1] in "LF",
        "Masks and indices": lambda name: name[:1] == "I",
        "Small steps": lambda name: name[:1] == "S" or name.split()[0] in {"W10", "W11"},
    },
    {"Programs": lambda name: name[:1] == "P"},
]
#: Names of cases whose own words say too much, or too little.
SHORT = {"W10": "tiny operation", "W10 out": "tiny, of engines' array", "W5": "M + M.T"}
SHORT |= {"S rows": "recurrence by rows", "S columns": "recurrence by columns"}
SHORT |= {"S maxima": "update, then its maximum", "S assembly": "finite elements"}
LONGEST = 24

#: Colours of light and dark pages alike: faster than NumPy, and slower.
FASTER, SLOWER, GREY = "#0072b2", "#d55e00", "#8a8f98"
#: How others are drawn: loops that are compiled, programs by hand, dask.
OTHERS = {
    "numexpr": ("s", "#009e73"),
    "Numba": ("D", "#009e73"),
    "mpi4py+NumPy": ("v", "#cc79a7"),
    "mpi4py+Numba": ("^", "#cc79a7"),
    "dask threads": ("x", "#e69f00"),
    "dask.distributed": ("+", "#e69f00"),
}


class Block(NamedTuple):
    """Cases under one heading, the fastest first."""

    title: str
    rows: list[Row]


def short(row: Row) -> str:
    """Return a few words for a case: never more than fit beside the axis."""
    name, what = row["name"], row["what"]
    if name in SHORT:
        return SHORT[name]
    if name[:2] == "P ":
        return str(name[2:]).replace("_", " ")[:LONGEST]
    words = str(what) if len(what) <= LONGEST else what.partition(",")[0]
    return words if len(words) <= LONGEST else words[: LONGEST - 1].rpartition(" ")[0]


def blocks(results: Row) -> list[list[Block]]:
    """Return the blocks of each column: a case is in the last one that it belongs to."""
    found: dict[str, list[Row]] = {title: [] for column in COLUMNS for title in column}
    fits = {title: test for column in COLUMNS for title, test in column.items()}
    for row in results["cases"]:
        titles = [title for title, test in fits.items() if test(row["name"])]
        if titles and ratio(row, OURS):
            found[titles[-1]].append(row)
    return [
        [
            Block(title, sorted(found[title], key=lambda row: -(ratio(row, OURS) or 0.0)))
            for title in column
            if found[title]
        ]
        for column in COLUMNS
    ]


def plot(results: Row, path: Path) -> None:
    """Draw speeds against NumPy, a bar for each case."""
    from matplotlib.figure import Figure

    columns = [column for column in blocks(results) if column]
    height = max(sum(len(block.rows) + 1.4 for block in column) for column in columns)
    figure = Figure(figsize=(5.2 * len(columns), 1.5 + 0.235 * height), layout="constrained")
    panels = figure.subplots(1, len(columns), squeeze=False)[0]
    for axes, column in zip(panels, columns, strict=True):
        draw(axes, column, height)
    _legend(figure, [name for name in names(results) if name in OTHERS])
    figure.savefig(path, dpi=110, metadata={"Software": None})


def draw(axes: Any, column: list[Block], height: float) -> None:
    """Draw a column of blocks from its top."""
    y, labels = 0.0, {}
    for block in column:
        axes.text(-0.02, y, block.title, ha="right", va="center", weight="bold", fontsize=10,
                  transform=axes.get_yaxis_transform())  # fmt: skip
        for row in block.rows:
            y += 1.0
            labels[y] = short(row)
            _bar(axes, y, ratio(row, OURS) or 1.0)
            _others(axes, y, row)
        y += 1.4
    axes.set(xscale="log", xlim=LIMITS, ylim=(height - 0.4, -0.9), yticks=list(labels))
    axes.set_yticklabels(labels.values(), fontsize=9)
    axes.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS], fontsize=9)
    axes.minorticks_off()
    axes.tick_params(axis="both", length=0)
    axes.tick_params(axis="x", labeltop=True)
    axes.grid(axis="x", alpha=0.3, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.axvline(1.0, color=GREY, linewidth=1.4)
    axes.spines[:].set_visible(False)


def _bar(axes: Any, y: float, speed: float) -> None:
    """Draw a bar from NumPy's speed to distnb's; beyond the edge, an arrow and the number."""
    colour = FASTER if speed >= 1 else SLOWER
    low, high = LIMITS
    end = min(max(speed, low), high)
    axes.barh(y, end - 1.0, left=1.0, height=0.72, color=colour, edgecolor=colour, linewidth=1.5)
    if speed > high:
        _tip(axes, high / 1.06, y, f"{speed:,.0f} \N{RIGHTWARDS ARROW}", "right")
    elif speed < low:
        _tip(axes, low * 1.06, y, f"\N{LEFTWARDS ARROW} {speed:.2g}", "left")


def _tip(axes: Any, x: float, y: float, words: str, side: str) -> None:
    """Say in a bar that goes on beyond the edge where it ends."""
    axes.text(x, y, words, ha=side, va="center", fontsize=8.5, color="white", weight="bold")


def _others(axes: Any, y: float, row: Row) -> None:
    """Mark how fast others are; those beyond the axis are left to the tables."""
    for name, (marker, colour) in OTHERS.items():
        speed = ratio(row, name) if name in row["peers"] else None
        if speed and LIMITS[0] <= speed <= LIMITS[1]:
            edge = {} if marker in "x+" else {"edgecolors": "white", "linewidths": 0.5}
            axes.scatter(speed, y, 26, marker=marker, color=colour, zorder=3, **edge)


def _legend(figure: Any, others: list[str]) -> None:
    """Say what colours and marks mean."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Patch(color=FASTER, label="distnb, faster than NumPy"),
        Patch(color=SLOWER, label="distnb, slower"),
    ]
    for name in others:
        marker, colour = OTHERS[name]
        handles.append(Line2D([], [], marker=marker, color=colour, linestyle="", label=name))
    figure.legend(handles=handles, loc="outside upper center", ncols=4, fontsize=9, frameon=False)
    figure.supxlabel(f"times as fast as {BASIS}", fontsize=10)
