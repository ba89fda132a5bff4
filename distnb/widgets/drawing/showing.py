"""Values that show themselves: a report, and all of its attributes, with text and a page."""

from __future__ import annotations

from typing import Any

__all__ = ["Showing"]


class Showing:
    """Shows a report, and has every attribute that the report has."""

    def __init__(self, report: Any) -> None:
        self._report = report

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # IPython asks for many; and copying, before there is a report
            raise AttributeError(name)
        return getattr(self._report, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._report)} - {"_report"})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._report == other._report

    def __hash__(self) -> int:
        return hash(self._report)
