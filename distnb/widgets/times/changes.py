"""What changed between two reports, as text and as a small page."""

from __future__ import annotations

from html import escape
from typing import Any

from distnb.measure.comparison import Change, Comparison, OpChange
from distnb.measure.quantities import duration, size_text
from distnb.widgets.drawing.page import fitting, folded, table_html
from distnb.widgets.drawing.showing import Showing
from distnb.widgets.drawing.text import aligned, shorten

__all__ = ["TimeComparison"]

HEAD = ("", "before", "after", "change")
OP_HEAD = ("op", "line", "calls", "before", "after", "change", "sent")
OPS = 12


class TimeComparison(Showing):
    """A comparison that shows itself; it has the attributes of its :class:`Comparison`."""

    def __repr__(self) -> str:
        found = self._report
        lines = [finding(found), *aligned([HEAD, *_numbers(found)], left=[0])]
        if found.ops:
            lines += ["", *aligned([OP_HEAD, *_ops(found, OPS, 40)], left=[0, 1])]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the same as one HTML element of at most 10 kB."""
        return fitting(_page(self._report, *m) for m in ((OPS, 40), (8, 40), (6, 24), (2, 24)))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


def finding(found: Comparison) -> str:
    """Return in one line how much faster it is, and where that comes from."""
    wall = found.metrics[0]
    times = found.speedup
    words = f"{times:.2f} times as fast" if times >= 1 else f"{1 / times:.2f} times as long"
    words += f": wall {duration(wall.before or 0)} -> {duration(wall.after or 0)}"
    most = max(found.classes, key=lambda c: abs(c.delta or 0), default=None)
    if most is not None and most.delta:
        words += f", most by {most.name} ({_signed(most.delta, most.unit)} on each engine)"
    return words


def _numbers(found: Comparison) -> list[tuple[str, ...]]:
    return [_row(change) for change in (*found.metrics, *found.classes) if _known(change)]


def _known(change: Change) -> bool:
    return change.before is not None or change.after is not None


def _row(change: Change) -> tuple[str, ...]:
    delta = "" if change.delta is None else _signed(change.delta, change.unit)
    if change.unit == "s" and change.before and change.delta is not None:
        delta += f" ({100 * change.delta / change.before:+.0f} %)"
    name = change.name.replace("_", " ")
    return name, _value(change.before, change.unit), _value(change.after, change.unit), delta


def _value(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    return duration(value) if unit == "s" else f"{value:,.0f}" if unit == "n" else f"{value:.2f}"


def _signed(value: float, unit: str) -> str:
    """Return a number with its sign.

    >>> _signed(-0.0123, "s"), _signed(0.25, ""), _signed(0, "n")
    ('-12.3 ms', '+0.25', '0')
    """
    text = _value(abs(value), unit)
    sign = "-" if value < 0 else "+"
    return sign + text if any(c in text for c in "123456789") else text


def _ops(found: Comparison, most: int, width: int) -> list[tuple[str, ...]]:
    rows = [_op_row(change, width) for change in found.ops[:most]]
    if rest := found.ops[most:]:
        delta = sum(change.delta for change in rest)
        rows.append((f"and {len(rest):,} more", "", "", "", "", _signed(delta, "s"), ""))
    return rows


def _op_row(change: OpChange, width: int) -> tuple[str, ...]:
    """Return the entries of one operation; what is the same before and after is said once."""
    sent = [size_text(n) if n else "0" for n in change.bytes]
    return (
        shorten(change.op, 24),
        shorten(change.line, width),
        _both([f"{n:,}" for n in change.calls]),
        *map(duration, change.seconds),
        _signed(change.delta, "s"),
        _both(sent),
    )


def _both(sides: list[str]) -> str:
    return sides[0] if sides[0] == sides[1] else " -> ".join(sides)


def _page(found: Comparison, most: int, width: int) -> str:
    ops = ""
    if found.ops:
        ops = table_html(OP_HEAD, _ops(found, most, width), (0, 1), "operations before and after")
    numbers = table_html(HEAD, _numbers(found), (0,), "numbers before and after")
    lead = f'<p class="lead"><b>{escape(finding(found))}</b></p>'
    return lead + ops + folded("all numbers", numbers)
