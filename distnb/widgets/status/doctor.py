"""What could be cheaper, as text and as a small page."""

from __future__ import annotations

from html import escape

from distnb.measure.quantities import counted, duration, size_text
from distnb.widgets.drawing.page import fitting, table_html
from distnb.widgets.drawing.showing import Showing
from distnb.widgets.drawing.text import shorten

__all__ = ["DoctorReport"]

#: Findings that are shown; the rest is counted.
SHOWN = 8
_HEAD = ("time", "calls", "moved", "where", "what", "cheaper")


class DoctorReport(Showing):
    """Findings that show themselves; all of a ``Diagnosis`` is there."""

    def __len__(self) -> int:
        return len(self._report.findings)

    @property
    def head(self) -> str:
        """What was looked at, and how much was found."""
        found = self._report
        if not found.commands:
            return "engines were asked for nothing: what there was, the notebook did by itself"
        n = len(found.findings)
        what = f"{n} thing{'s' * (n != 1)} could be cheaper" if n else "nothing to mend"
        left = f"; {found.left:,} more were not looked at" if found.left else ""
        head = f"{what} ({counted(found.commands, 'command')} in {duration(found.seconds)}{left})"
        if found.older:
            where = f"in an earlier one, {shorten(found.first, 100)}"
            head = f"the last cell asked engines for nothing; {where}: {head}"
        return head

    def _more(self, shown: int) -> list[str]:
        rest = len(self._report.findings) - shown
        return [f"and {rest} more in .findings"] if rest > 0 else []

    def __repr__(self) -> str:
        lines = [self.head]
        for f in self._report.findings[:SHOWN]:
            moved = f", {size_text(f.bytes)} moved" if f.bytes else ""
            lines += [
                "",
                f"{f.kind}: {duration(f.seconds)}{moved}",
                f"  {shorten(f.line, 100)}",
                f"  {f.what}",
                f"  cheaper: {f.instead}",
            ]
        return "\n".join([*lines, *self._more(SHOWN)])

    def _repr_html_(self) -> str:
        return fitting(self._page(most) for most in (SHOWN, 4, 2))

    def _page(self, most: int) -> str:
        rows = [
            (
                duration(f.seconds),
                f"{f.calls:,}",
                size_text(f.bytes) if f.bytes else "",
                shorten(f.line, 100),
                f"{f.kind}: {f.what}",
                f.instead,
            )
            for f in self._report.findings[:most]
        ]
        more = "".join(f"<p>{escape(text)}</p>" for text in self._more(most))
        table = table_html(_HEAD, rows, (3, 4, 5), "findings") if rows else ""
        return f'<p class="lead">{escape(self.head)}</p>{table}{more}'
