"""What the outcomes of tests mean: out of scope and why, passed, or failed in which way; counts."""

from __future__ import annotations

import ast
import functools
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy

from tools.numpy_suite.scope import MESSAGES, PLACES, out_of_scope

__all__ = ["KINDS", "Kind", "counts", "verdict"]


class Kind(NamedTuple):
    """A way to fail: what it is, and by which types, texts and lines of tests it is known."""

    name: str
    what: str
    type: str = ""
    text: str = ""
    line: str = ""


#: The first that fits is taken; ``wrong`` fits whatever is left.
KINDS = (
    Kind("slow", "the watchdog ended it", text=r"Timeout \(>"),
    Kind(
        "internal",
        "an internal error, a crash, or an array lost",
        type="Crash|EngineError|LostArrayError|RecursionError|UnboundLocalError|NameError"
        "|SystemError|KeyError|ZeroDivisionError|SessionError",
    ),
    Kind(
        "exception",
        "another exception or warning than NumPy's, or none",
        text=r"DID NOT|not raised|not triggered|Got warnings|No warning raised|fpe error",
    ),
    Kind("exception", "", type="FloatingPointError|.*Warning"),
    Kind("exception", "", line=r"raises\w*\(|len\((w|r|log|sup\.log|rec\w*)\)"),
    Kind("missing", "something that NumPy does is refused", type="AttributeError|ImportError"),
    Kind("missing", "", type="(Type|Value|Index|Key|Memory|Gather|Layout|NotImplemented)?Error"),
    Kind("missing", "", type="GatherError|AxisError|LinAlgError|BufferError"),
    Kind("wrong", "another value, dtype or shape than NumPy's, without an error"),
)


def verdict(line: dict[str, Any]) -> tuple[str, str]:
    """Return ``passed``, ``out``, ``idle`` or a kind, and why or how it failed.

    A test is idle that makes no array of distnb's.
    """
    why = out_of_scope(line["id"], source_of(line["id"].partition("[")[0]))
    if why:
        return "out", why
    if line["outcome"] == "passed":
        return ("passed" if line["made"] else "idle"), ""
    text, type_, at = line.get("text", ""), line.get("type", ""), line.get("test", "")
    for rows, told in ((MESSAGES, text), (PLACES, at)):
        for row in rows:
            if re.search(row.pattern, told):
                return "out", row.why
    for kind in KINDS:
        if (
            re.fullmatch(kind.type or ".*", type_)
            and re.search(kind.text, text)
            and re.search(kind.line, at)
        ):
            return kind.name, f"{type_}: {text}"
    raise AssertionError("the last kind fits all")


def source_of(test: str) -> str:
    """Return the source of a test."""
    file, _, inner = test.partition("::")
    return _sources(file).get(inner, "")


@functools.cache
def _sources(file: str) -> dict[str, str]:
    """Return the sources of the functions of a file, by name."""
    text = (Path(numpy.__file__).parent / file).read_text()
    lines, found = text.splitlines(), {}

    def add(nodes: Iterable[ast.stmt], above: str) -> None:
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                add(node.body, f"{above}{node.name}::")
            elif isinstance(node, ast.FunctionDef):
                found[above + node.name] = "\n".join(lines[node.lineno - 1 : node.end_lineno])

    add(ast.parse(text).body, "")
    return found


def counts(lines: Iterable[dict[str, Any]]) -> Counter[str]:
    """Return how many tests of each verdict there are, and how many apply."""
    found = Counter(verdict(line)[0] for line in lines)
    found["applies"] = found.total() - found["out"] - found["idle"]
    return found
