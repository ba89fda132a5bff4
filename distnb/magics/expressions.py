"""The line of ``%distlayout``: expressions side by side, and which axes to show."""

from __future__ import annotations

import ast
import re

from IPython.core.error import UsageError

__all__ = ["axes_of", "expressions"]

_AXES = re.compile(r"-?\d+(,-?\d+)?")


def axes_of(text: str) -> tuple[int, ...]:
    """Return the numbers of one or two axes.

    >>> axes_of("0,2")
    (0, 2)
    """
    if not _AXES.fullmatch(text):
        raise UsageError(f"%distlayout: got --axes {text}, expected numbers as in 0,2")
    return tuple(int(a) for a in text.split(","))


def expressions(line: str) -> list[str]:
    """Return the expressions of a line that are apart by blanks or commas.

    A line that is one expression is one (``A - B``); else the fewest words make one each.

    >>> expressions("A + B"), expressions("A, B"), expressions("A B[0, 1]")
    (['A + B'], ['A', 'B'], ['A', 'B[0, 1]'])
    """
    if not line.strip():
        raise UsageError("%distlayout: got nothing, expected an array; for example %distlayout A")
    tree = _parsed(line)
    if tree is not None and not isinstance(tree.body, ast.Tuple):
        return [line]
    if tree is not None:
        return [ast.get_source_segment(line, e) or "" for e in tree.body.elts]  # type: ignore[attr-defined]
    found, words = [], ""
    for word in line.split():
        words = f"{words} {word}".strip()
        if _parsed(words) is not None:
            found.append(words)
            words = ""
    if words:
        raise UsageError(f"%distlayout: got {words!r}, expected an expression; close its brackets")
    return found


def _parsed(text: str) -> ast.Expression | None:
    try:
        return ast.parse(text, mode="eval")
    except SyntaxError:
        return None
