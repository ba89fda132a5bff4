"""Where the time went: a report as text, as a small page with an SVG, and as a plot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any, NamedTuple
from zlib import crc32

from distnb.events import CLASSES, COMPUTE, IDLE, OVERHEAD, TRANSFER, WAITING, Account, Report
from distnb.widgets.layout import ink
from distnb.widgets.text import (
    ROWS,
    aligned,
    brief,
    fitting,
    grouped,
    numbers,
    shorten,
    table_html,
    together,
)

__all__ = ["TimeReport"]

#: Operations that are listed; the rest shares a line.
OPS = 12
#: Bars that are drawn; neighbouring engines share one beyond.
BARS = 64


class Style(NamedTuple):
    """How a class of time looks: a character, and a colour with a hatch (never colour alone)."""

    mark: str
    colour: str
    hatch: str
    text: str


#: Okabe and Ito's colours. The text printed on each has a contrast of at least 4.5:1.
STYLES = {
    COMPUTE: Style("█", "#0072B2", "", "white"),
    WAITING: Style("/", "#D55E00", "//", "black"),
    TRANSFER: Style("=", "#E69F00", "", "black"),
    OVERHEAD: Style(":", "#CC79A7", "..", "black"),
    IDLE: Style("·", "none", "", "currentColor"),
}


class Row(NamedTuple):
    """Some engines: their number, and the means of their nanoseconds in each class and windows."""

    label: str
    engines: int
    spent: tuple[float, ...]
    now: float

    @property
    def accounted(self) -> float:
        """The sum of the classes over the window: 1.0 if no instant is lost or booked twice."""
        return _ratio(sum(self.spent), self.now)

    @property
    def shares(self) -> list[float]:
        """The share of each class in the window."""
        return [_ratio(spent, self.now) for spent in self.spent]


def rows(report: Report, most: int) -> list[Row]:
    """Return the engines in at most ``most`` rows, neighbours together."""
    return [
        _row(numbers(ranks), [report.engines[r] for r in ranks])
        for ranks in grouped(range(len(report.engines)), most)
    ]


def _row(label: str, engines: Sequence[Account]) -> Row:
    n = len(engines)
    spent = tuple(sum(e.spent[c] for e in engines) / n for c in range(len(CLASSES)))
    return Row(label, n, spent, sum(e.now for e in engines) / n)


class TimeReport:
    """A report that shows itself; every attribute of :class:`~distnb.events.Report` is there.

    ``report.plot()`` draws it with matplotlib, for saving as a picture.
    """

    def __init__(self, report: Report) -> None:
        self._report = report

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # IPython asks for many; and copying, before there is a report
            raise AttributeError(name)
        return getattr(self._report, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._report)} - {"_report"})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TimeReport) and self._report == other._report

    def __hash__(self) -> int:
        return hash(self._report)

    def __repr__(self) -> str:
        report = self._report
        lines = [_head(report)]
        if report.engines:
            found = rows(report, ROWS)
            lines += aligned(
                [_ENGINE_HEAD, *map(_engine_cells, _with_mean(found, report))], left=[8]
            )
            lines += [
                _legend(),
                *together(len(report.engines), len(found), "mean"),
                _finding(report),
            ]
        if report.ops:
            lines += ["", *aligned([_OP_HEAD, *_op_cells(report, OPS)], left=[0, 1])]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the same numbers as one HTML element of at most 10 kB, with bars in SVG."""
        most = ((BARS, OPS), (32, OPS), (ROWS, OPS), (ROWS, 8), (ROWS, 4), (8, 4))
        tries = [*((bars, ROWS, ops) for bars, ops in most), (8, 8, 4), (4, 4, 2)]
        return fitting(_page(self._report, *most) for most in tries)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Return the text and the page: both are complete."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def plot(self, ax: Any = None) -> Any:
        """Draw one bar for each engine on matplotlib axes, and return these."""
        found = rows(self._report, BARS)
        if ax is None:
            from matplotlib import pyplot

            size = (7.0, 1.4 + 0.3 * min(len(found), 24))
            ax = pyplot.subplots(figsize=size, layout="constrained")[1]
        _draw(ax, found)
        title = "\n".join([_head(self._report), _finding(self._report)])
        ax.set_title(title, loc="left", fontsize=9, pad=24, parse_math=False)  # above the legend
        return ax


# -- Words and numbers -----------------------------------------------------------------------------

_ENGINE_HEAD = ("engine", *CLASSES, "sum", "accounted", "")
_OP_HEAD = ("op", "line", "calls", "max ms", "mean ms", "imbalance", "messages", "MB")


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _ms(ns: float) -> str:
    return f"{ns / 1e6:,.2f}"


def _count(n: int, word: str) -> str:
    return f"{n:,} {word}" + ("" if n == 1 else "es" if word.endswith("ch") else "s")


def _head(report: Report) -> str:
    engines, commands = _count(len(report.engines), "engine"), _count(report.commands, "command")
    batches = _count(report.batches, "batch")
    return f"wall {report.wall * 1e3:,.2f} ms on {engines}: {commands} in {batches}"


def _finding(report: Report) -> str:
    spent = [e.spent[COMPUTE] for e in report.engines]
    text = f"imbalance {report.imbalance:.2f} (max/mean of compute)"
    return text + (f", most on engine {spent.index(max(spent))}" if len(set(spent)) > 1 else "")


def _legend() -> str:
    return "ms and % of the engine's window; " + "  ".join(
        f"{style.mark} {CLASSES[c]}" for c, style in STYLES.items()
    )


def _with_mean(found: list[Row], report: Report) -> list[Row]:
    """Add the mean of all engines, where there are several."""
    return [*found, _row("mean", report.engines)] if len(found) > 1 else found


def _engine_cells(row: Row) -> tuple[str, ...]:
    classes = (
        f"{_ms(ns)} {100 * share:5.1f} %" for ns, share in zip(row.spent, row.shares, strict=True)
    )
    return (
        row.label,
        *classes,
        _ms(sum(row.spent)),
        f"{100 * row.accounted:.1f} %",
        stacked(row.shares),
    )


def stacked(shares: Sequence[float], width: int = 16) -> str:
    """Return a bar of one character for each class.

    >>> stacked([0.5, 0.125, 0.0, 0.125, 0.25])
    '████████//::····'
    """
    text, total = "", 0.0
    for c, share in enumerate(shares):
        total += share
        text += STYLES[c].mark * (round(total * width) - len(text))
    return text


def _op_cells(report: Report, most: int) -> Iterator[tuple[str, ...]]:
    """Yield the cells of the most expensive operations, and of the sum of the rest."""
    for op in report.ops[:most]:
        busy = [sum(r[:4]) for r in op.ranks] or [0]
        sent, size = (sum(r[i] for r in op.ranks) for i in (4, 5))
        yield (
            shorten(op.op, 24),
            shorten(op.line, 40),
            f"{op.calls:,}",
            _ms(max(busy)),
            _ms(sum(busy) / len(busy)),
            f"{op.imbalance:.2f}",
            f"{sent:,}",
            f"{size / 1e6:,.2f}",
        )
    if rest := report.ops[most:]:
        mean = sum(_ratio(sum(sum(r[:4]) for r in op.ranks), len(op.ranks)) for op in rest)
        sent, size = (sum(r[i] for op in rest for r in op.ranks) for i in (4, 5))
        calls = sum(op.calls for op in rest)
        yield (
            f"and {len(rest):,} more",
            "",
            f"{calls:,}",
            "",
            _ms(mean),
            "",
            f"{sent:,}",
            f"{size / 1e6:,.2f}",
        )


# -- The page --------------------------------------------------------------------------------------


def _page(report: Report, bars: int, most: int, ops: int) -> str:
    found = rows(report, most)
    tables = []
    if found:
        cells = [_engine_cells(row)[:-1] for row in _with_mean(found, report)]
        tables.append(table_html(_ENGINE_HEAD[:-1], cells))
    if report.ops:
        tables.append(table_html(_OP_HEAD, _op_cells(report, ops)))
    notes = (
        ["ms and % of the engine's window", *together(len(report.engines), len(found), "mean")]
        if found
        else []
    )
    return (
        f"<div><p>{escape(_head(report))}</p>{_svg(report, rows(report, bars))}"
        + "".join(tables)
        + "".join(f"<p><small>{escape(note)}</small></p>" for note in notes)
        + f"<p>{escape(_finding(report))}</p></div>"
    )


def _svg(report: Report, found: list[Row]) -> str:
    """Return one stacked bar for each row, to a common scale."""
    if not found:
        return ""
    pitch = 18 if len(found) <= ROWS else max(5, 300 // len(found))
    thick, left, top, width = pitch - 1 - pitch // 8, 44, 26, 440
    scale = width / max(1, *(max(row.now, sum(row.spent)) for row in found))
    uid = f"t{crc32(repr(report).encode()):08x}"
    marks = "".join(_class_marks(c, found, pitch, thick, left, top, scale, uid) for c in STYLES)
    every = -(-22 // pitch) if pitch < 11 else 1
    labels = "".join(
        f'<text x="{left - 5}" y="{top + i * pitch + pitch // 2 + 4}">{row.label}</text>'
        for i, row in enumerate(found)
        if i % every == 0
    )
    shares = ", ".join(f"{CLASSES[c]} {100 * report.share(c):.1f} %" for c in STYLES)
    notes = [_finding(report), *together(len(report.engines), len(found), "mean")]
    return (
        f'<svg role="img" xmlns="http://www.w3.org/2000/svg" width="{left + width + 4}" '
        f'height="{top + pitch * len(found) + 4}" font-family="sans-serif" font-size="10">'
        f"<title>{escape(f'Where the time went: {_head(report)}')}</title>"
        f"<desc>{escape('; '.join([shares, *notes]))}</desc>{_patterns(uid)}"
        f'{_svg_legend(report, uid, left)}<g fill="currentColor" text-anchor="end">{labels}</g>'
        f"{marks}</svg>"
    )


def _patterns(uid: str) -> str:
    """Return the hatch of waiting and the dots of overhead."""
    start = 'width="5" height="5" patternUnits="userSpaceOnUse"><rect width="5" height="5"'
    return (
        f'<pattern id="{uid}{WAITING}" {start} fill="{STYLES[WAITING].colour}"/>'
        '<path d="M0 5L5 0" stroke="#fff"/></pattern>'
        f'<pattern id="{uid}{OVERHEAD}" {start} fill="{STYLES[OVERHEAD].colour}"/>'
        '<circle cx="2.5" cy="2.5" r="1" fill="#fff"/></pattern>'
    )


def _fill(c: int, uid: str) -> str:
    return f"url(#{uid}{c})" if STYLES[c].hatch else STYLES[c].colour


def _class_marks(
    c: int, found: list[Row], pitch: int, thick: int, left: int, top: int, scale: float, uid: str
) -> str:
    """Return the segments of one class in all bars as one path, and the percentages on them."""
    path, texts = "", ""
    for i, row in enumerate(found):
        # Whole pixels: rounded ends, not rounded lengths, so that segments meet.
        x, end = (round(left + sum(row.spent[:n]) * scale) for n in (c, c + 1))
        y, width = top + i * pitch + pitch // 2, end - x
        if not width:
            continue
        if c == IDLE:  # an outline; the others are thick lines, which take the fewest bytes
            path += f"M{x} {brief(y - thick / 2)}h{width}v{thick}h-{width}z"
        else:
            path += f"M{x} {y}h{width}"
        if pitch >= 14 and width >= (32 if len(found) <= 8 else 70):  # 10 kB in all
            share = f"{100 * row.shares[c]:.0f} %"
            texts += f'<text x="{x + width // 2}" y="{y + 4}">{share}</text>'
    if not path:
        return ""
    stroke = 'stroke="#999"' if c == IDLE else f'stroke="{_fill(c, uid)}" stroke-width="{thick}"'
    halo = f' stroke="{STYLES[c].colour}" stroke-width="3" paint-order="stroke"'
    style = f'fill="{STYLES[c].text}" text-anchor="middle"{halo if STYLES[c].hatch else ""}'
    group = f"<g {style}>{texts}</g>" if texts else ""
    return f'<path d="{path}" fill="none" {stroke}/>{group}'


def _svg_legend(report: Report, uid: str, left: int) -> str:
    text = ""
    for i, c in enumerate(STYLES):
        x, share = left + 90 * i, f"{CLASSES[c]} {100 * report.share(c):.1f} %"
        text += (
            f'<rect x="{x}" y="6" width="9" height="9" fill="{_fill(c, uid)}" stroke="#999"/>'
            f'<text x="{x + 12}" y="14" fill="currentColor" font-size="9">{share}</text>'
        )
    return text


# -- The plot --------------------------------------------------------------------------------------


def _draw(ax: Any, found: list[Row]) -> None:
    """Draw stacked bars with percentages where these fit, a legend, and names."""
    places = range(len(found))
    widest = max((max(row.now, sum(row.spent)) for row in found), default=0) or 1
    for c, style in STYLES.items():
        widths = [row.spent[c] / 1e6 for row in found]
        starts = [sum(row.spent[:c]) / 1e6 for row in found]
        ax.barh(
            places,
            widths,
            left=starts,
            height=0.8,
            label=CLASSES[c],
            color=style.colour,
            hatch=style.hatch,
            edgecolor="0.6" if c == IDLE else "white",
            linewidth=0.8 if c == IDLE else 0,
        )
        colour = ink() if c == IDLE else style.text
        for i, row in enumerate(found):
            if len(found) <= 24 and row.spent[c] > 0.07 * widest:
                text = f"{100 * row.shares[c]:.0f} %"
                at = (starts[i] + widths[i] / 2, i)
                paper = {"fc": style.colour, "ec": "none", "pad": 1} if style.hatch else None
                ax.text(*at, text, ha="center", va="center", size=8, color=colour, bbox=paper)
    every = max(1, -(-len(found) // 24))
    ax.set_yticks(list(places)[::every], [row.label for row in found][::every])
    ax.set_ylim(max(1, len(found)) - 0.5, -0.5)
    ax.set_xlim(0, widest / 1e6)
    ax.set_xlabel("ms")
    ax.set_ylabel("engine")
    if found:
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=5, frameon=False, fontsize=8)
