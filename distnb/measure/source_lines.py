"""What the source of a line tells of its arrays: how it is quoted, and which names lead."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from distnb.measure.comparison import source

__all__ = ["assigned", "evenly", "leading", "quoted"]

#: What is no array, though operations are taken from it.
_MODULES = frozenset(("np", "numpy", "dnb", "distnb", "math", "sp", "scipy"))
#: What makes numbers of arrays.
_NUMBERS = frozenset(("float", "int", "complex", "bool", "len"))
#: As many names are worth listing.
_MANY = 3


def quoted(line: str) -> str:
    """Return the source of a line to be read within a sentence.

    >>> quoted("Cell In [3] line 2: b = a[::2]"), quoted("x.py line 3"), quoted("")
    ('`b = a[::2]`', 'x.py line 3', 'one line')
    """
    text = source(line) or line
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    text = text if len(text) <= 48 else text[:45] + "..."
    return f"`{text}`" if source(line) else text or "one line"


def assigned(line: str) -> str:
    """Return the name of the array that a line assigns to, if that can be told.

    >>> assigned("Cell In [3] line 2: t[1:] = 2 * a"), assigned("x.py line 3: print(a)")
    ('t', '')
    """
    first = _statement(line)
    while not isinstance(first, ast.Assign | ast.AnnAssign | ast.AugAssign):
        if not (body := getattr(first, "body", None)) or not isinstance(body, list):
            return ""
        first = body[0]  # of a loop on one line
    found = _target(first)
    found = found.value if isinstance(found, ast.Subscript) else found
    return found.id if isinstance(found, ast.Name) else ""


def leading(line: str) -> tuple[str, ...]:
    """Return the names of the arrays after which a line computes: what it writes into, or reads.

    >>> leading("In [3] line 2: y = np.sin(x)"), leading("In [3] line 2: t[1:] = 2 * a[i]")
    (('x',), ('t',))
    >>> leading("f line 1: for i in range(n): y = x.T @ self.w[i % 7]"), leading("f line 1: pass")
    (('x', 'self.w'), ())
    >>> leading("f line 1: if x[i].sum() < 0:"), leading("f line 1: t += float(x[i].sum())")
    (('x',), ('x',))
    """
    first = _statement(line)
    if first is None:
        return ()
    for node in ast.walk(first):
        if _in_place(node) and assigned(line):
            return (assigned(line),)
        if isinstance(node, ast.keyword) and node.arg == "out":
            return tuple(dict.fromkeys(_arrays(node.value)))
    return tuple(dict.fromkeys(_arrays(first)))


def evenly(line: str) -> str:
    """Return how the arrays of a line are dealt evenly.

    >>> evenly("f line 1: y = x + w")
    'deal x or w evenly, as x = x.redistribute() does: x.layout shows which of them is uneven'
    """
    names = leading(line)
    if len(names) == 1:
        return f"deal its arrays evenly, as {names[0]} = {names[0]}.redistribute() does"
    if not 1 < len(names) <= _MANY:
        return "x.layout of its operands shows which one; deal that evenly with x.redistribute()"
    x, either = names[0], f"{', '.join(names[:-1])} or {names[-1]}"
    which = f"{x}.layout shows which of them is uneven"
    return f"deal {either} evenly, as {x} = {x}.redistribute() does: {which}"


def _statement(line: str) -> Any:
    """Return what a line does, None if its source is no Python by itself."""
    text = source(line).strip()
    text = text.removeprefix("el") if text.startswith("elif ") else text
    for end in ("", " pass"):
        try:
            return ast.parse(text + end).body[0]
        except (SyntaxError, ValueError, IndexError):
            continue
    return None


def _in_place(node: Any) -> bool:
    """Tell whether a node writes into an array; ``t += float(x[i])`` adds numbers."""
    if isinstance(node, ast.AugAssign):
        function = getattr(node.value, "func", None)
        return not isinstance(function, ast.Name) or function.id not in _NUMBERS
    return isinstance(node, ast.Assign) and isinstance(_target(node), ast.Subscript)


def _target(node: Any) -> Any:
    return node.targets[0] if isinstance(node, ast.Assign) else node.target


def _arrays(node: ast.AST) -> Iterator[str]:
    """Yield names that may be those of arrays, from left to right: no functions, and no indices."""
    if isinstance(node, ast.Name | ast.Attribute):
        yield from _name(node)
        return
    for part in _parts(node):
        yield from _arrays(part)


def _parts(node: Any) -> list[ast.AST]:
    """Return in which parts of a node there are arrays."""
    if isinstance(node, ast.Subscript):
        return [node.value]
    if isinstance(node, ast.Call):
        owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        return [*owner, *node.args, *(k.value for k in node.keywords)]
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        return [node.value] if node.value else []
    if isinstance(node, ast.With):
        return list(node.body)
    if isinstance(node, ast.For):  # what it goes over is mostly a range
        return [node.iter] if isinstance(node.body[0], ast.Pass) else list(node.body)
    return list(ast.iter_child_nodes(node))


def _name(node: Any) -> Iterator[str]:
    """Yield a name as it is written, without what NumPy's arrays have of their own."""
    while isinstance(node, ast.Attribute) and node.attr in ("T", "mT", "real", "imag"):
        node = node.value
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    if isinstance(root, ast.Name) and root.id not in _MODULES:
        yield ast.unparse(node)
    elif not isinstance(root, ast.Name):
        yield from _arrays(root)
