"""The line of ``%distlayout``: expressions side by side, and which axes to show."""

from __future__ import annotations

import ast
import re

from IPython.core.error import UsageError

__all__ = ["parse_layouts"]

_AXES = re.compile(r"(?:--axes|-a)(?:\s+|=)(-?\d+(?:,-?\d+)?)(?:\s+|$)")


def parse_layouts(line: str) -> tuple[tuple[int, ...] | None, list[str]]:
    """Return the axes that a line asks for (None: not), and its expressions.

    >>> parse_layouts("--axes 0,2 A[1:, ::2] B.T")
    ((0, 2), ['A[1:, ::2]', 'B.T'])
    """
    line, axes = line.strip(), None
    if asked := _AXES.match(line):
        axes, line = tuple(int(a) for a in asked[1].split(",")), line[asked.end() :]
    elif line.startswith("-"):
        raise UsageError(
            f"%distlayout: got {line.split()[0]}, expected --axes 0,2 or an expression"
        )
    if not line:
        raise UsageError("%distlayout: got nothing, expected an array; for example %distlayout A")
    return axes, expressions(line)


def expressions(line: str) -> list[str]:
    """Return the expressions of a line that are apart by blanks or commas.

    A line that is one expression is one (``A - B``); else the fewest words make one each.

    >>> expressions("A + B"), expressions("A, B"), expressions("A B[0, 1]")
    (['A + B'], ['A', 'B'], ['A', 'B[0, 1]'])
    """
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
