"""Completion of options and names after a magic, in the terminal and in JupyterLab."""

from __future__ import annotations

import ast
import contextlib
import re
import warnings
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
from IPython.core.completer import (
    CompletionContext,
    SimpleCompletion,
    SimpleMatcherResult,
    context_matcher,
    cursor_to_position,
)

from distnb.client.array.distarray import WITHIN, DistArray
from distnb.client.handle.array import Array
from distnb.client.session import current

__all__ = ["Completion"]

#: An argument that asks for a layout, up to the cursor: its name, and the quote that is open.
#: Methods that are about nothing else have it first, and without its name.
_ASKED = re.compile(
    r"(?:\b(dist|grid)\s*=\s*|\.(?:redistribute|move)\(\s*)"
    r"(?:\(\s*(?:[^()]*,\s*)?)?(['\"]?)[\w*]*$"
)
#: What ``dist=`` can be, for the first axis or for each.
_WORDS = ("block", "cyclic", "replicated", "engine", "irregular", "*")
_FORMS = (
    *("'block'", "'cyclic'", "'replicated'", "('*', 'block')", "('block', 'block')"),
    *("('cyclic', 2)", "('engine', 0)"),
)

_LINE = re.compile(r"^\s*(?:\w+\s*=\s*)?(%%?)(\w+)\s+(.*)$")


def _layouts(text: str) -> list[tuple[str, str]]:
    """Return what ``dist=`` and ``grid=`` can be, where one is being written.

    >>> [word for word, _ in _layouts("dnb.zeros((4, 4), dist=('bl")][:2]
    ['block', 'cyclic']
    >>> _layouts("dnb.zeros((4, 4), dist=")[0]
    ("'block'", 'param')
    >>> [word for word, _ in _layouts("A.move('bl")][:2]
    ['block', 'cyclic']
    """
    found = _ASKED.search(text)
    if found is None:
        return []
    if found[1] == "grid":
        size = getattr(current.active(), "size", 1)
        pairs = [(k, size // k) for k in range(1, size + 1) if size % k == 0]
        return [] if found[2] else [(str(pair), "param") for pair in pairs]
    return [(word, "param") for word in (_WORDS if found[2] else _FORMS)]


#: Stands for the name that is being written.
_HERE = "being_written"
#: Characters before it that are read, once from each: all of a long line took seconds.
_LONGEST = 200
#: What Python says of text that is no expression, or too deep for it.
_NO_EXPRESSION = (SyntaxError, ValueError, MemoryError, RecursionError)


#: Where arrays have what they use among themselves, methods and attributes.
_CLASSES = {kind.__module__ for kind in (Array, DistArray)}


def _of_arrays(word: str) -> list[Any]:
    """Return what jedi offers of arrays, of names that begin as one does."""
    import jedi

    offered = jedi.Interpreter(f"array.{word}", [{"array": DistArray}]).complete()
    public = {name for name in dir(DistArray) if not name.startswith("_")}
    return [c for c in offered if c.name in public]  # jedi has what classes have, too


def _is_array(expression: ast.expr, names: dict[str, Any]) -> bool:
    """Return whether an expression is an array, as operators, places and ufuncs make of arrays."""
    match expression:
        case ast.Name(id=name):
            return isinstance(names.get(name), DistArray)
        case ast.UnaryOp(operand=x) | ast.Subscript(value=x) | ast.Attribute(value=x, attr="T"):
            return _is_array(x, names)
        case ast.BinOp(left=x, right=y) | ast.Compare(left=x, comparators=[y]):
            return _is_array(x, names) or _is_array(y, names)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=name), args=[x, *_]):
            ufunc = names.get(module) is np and isinstance(vars(np).get(name), np.ufunc)
            return ufunc and _is_array(x, names)
    return False


def _before_dot(stem: str) -> ast.expr | None:
    """Return the expression before the dot in which a line ends.

    >>> ast.unparse(_before_dot("for x in y + A[0]."))
    'A[0]'
    """
    line = stem.rpartition("\n")[2].strip()[-_LONGEST:]
    for at in range(len(line)):
        with contextlib.suppress(*_NO_EXPRESSION), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what is not written to its end
            for each in ast.walk(ast.parse(f"{line[at:]}{_HERE}", mode="eval")):
                if isinstance(each, ast.Attribute) and each.attr == _HERE:
                    return each.value
    return None


#: What magics have that take no arguments of their own.
_NO_PARSER = SimpleNamespace(_actions=())


class Completion:
    """Completes what follows the magics, as their arguments say.

    Parameters
    ----------
    shell : InteractiveShell
        Its completer gets another matcher.
    names : dict
        The names of the magics, of a line and of a cell.
    """

    def __init__(self, shell: Any, names: dict[str, list[str]]) -> None:
        self.shell = shell
        self._names = {"%": set(names["line"]), "%%": set(names["cell"])}

        @context_matcher(identifier="distnb")
        def matcher(context: CompletionContext) -> SimpleMatcherResult:
            return self._match(context)

        self._matcher = matcher
        shell.Completer.custom_matchers.append(self._matcher)
        self._read = getattr(shell.Completer, "_jedi_matches", None)
        if self._read is not None:  # not every IPython asks jedi
            shell.Completer._jedi_matches = self._for_users

    def remove(self) -> None:
        """Take the matcher away."""
        self.shell.Completer.custom_matchers.remove(self._matcher)
        vars(self.shell.Completer).pop("_jedi_matches", None)

    def _for_users(self, cursor_column: int, cursor_line: int, text: str) -> Iterator[Any]:
        """Return what jedi offers; of arrays, what they have for users.

        Of an expression, as ``(A + B).``, jedi reads a class, and asks no array what it offers. The
        class is often the one that functions on arrays know, which has few of the methods.
        """
        assert self._read is not None
        found = list(self._read(cursor_column, cursor_line, text))
        before = text[: cursor_to_position(text, cursor_line, cursor_column)]
        word = re.split(r"\W", before)[-1]
        stem = before.removesuffix(word)
        if stem.endswith("."):
            all_of_it = list(self._read(cursor_column - len(word), cursor_line, stem))
            within = (c for c in all_of_it if c.name in WITHIN)
            known = any(c.module_name in _CLASSES for c in within)  # jedi may name that of a type
            if known or (not all_of_it and self._array_before(stem)):
                there = {c.name for c in found}
                found += [c for c in _of_arrays(word) if c.name not in there]
                return iter([c for c in found if c.name not in WITHIN])
        return iter(found)

    def _array_before(self, stem: str) -> bool:
        """Return whether an array is before the dot, where jedi knows of nothing there."""
        expression = _before_dot(stem)
        return expression is not None and _is_array(expression, self.shell.user_ns)

    def _match(self, context: CompletionContext) -> SimpleMatcherResult:
        """Return what may come next on a line."""
        found = _LINE.match(context.text_until_cursor)
        words = [w for w in _layouts(context.text_until_cursor) if w[0].startswith(context.token)]
        if found and found[2] in self._names[found[1]]:
            kind = "cell" if found[1] == "%%" else "line"
            magic = self.shell.find_magic(found[2], kind)
            more = self._arrays() if found[2] == "disttime" else ()  # in what is to be computed
            after = [*self._after(magic, found[3]), *more]
            words = [w for w in after if w[0].startswith(context.token)]
        completions = [SimpleCompletion(text=t, type=k) for t, k in words]
        return {"completions": completions, "suppress": bool(words)}

    def _after(self, magic: Any, line: str) -> Iterable[tuple[str, str]]:
        """Yield options, choices and arrays that may follow; nothing after an option's name."""
        actions = getattr(magic, "parser", _NO_PARSER)._actions
        done = line.split()[: -1 if line and not line[-1].isspace() else None]
        if done and any(done[-1] in a.option_strings and a.nargs != 0 for a in actions):
            return
        for action in actions:
            for option in action.option_strings:
                if option not in done:
                    yield option, "param"
            if not action.option_strings:
                for choice in action.choices or ():
                    yield str(choice), "param"
                if action.dest.startswith("array"):
                    yield from self._arrays()

    def _arrays(self) -> Iterable[tuple[str, str]]:
        for name, value in list(self.shell.user_ns.items()):
            if isinstance(value, DistArray) and not name.startswith("_"):
                yield name, "instance"
