"""Measure what a run of the tests reaches: lines, and branches; and compare two runs.

``python tools/covered.py mark build/coverage/test`` compiles distnb with a mark at each statement
and at each way out of a condition or a loop, into a folder; ``tools/marks`` tells how processes use
it. ``python tools/covered.py compare build/coverage/test-all build/coverage/test`` prints the share
of what the first reaches that the second reaches too, and for each file what only the first does.
``--least 0.99`` makes it exit with 1 where a share is smaller.

Engines are killed in many of the tests. So each mark sets a byte in a file that all processes map,
in place of counts that a process has to write when it ends.
"""

from __future__ import annotations

import argparse
import ast
import json
import marshal
import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parents[1] / "distnb"

#: A line, or a jump from a line to another one (-1: to what follows).
Place = tuple[int] | tuple[int, int]


class Covered(NamedTuple):
    """What was reached in one file: lines, and jumps from one line to another."""

    lines: frozenset[int]
    branches: frozenset[tuple[int, int]]


NOTHING = Covered(frozenset(), frozenset())


class Marker:
    """Adds marks to a module; the first has the number ``first``."""

    def __init__(self, first: int):
        self._first = first
        self.places: list[Place] = []

    def mark(self, tree: ast.Module) -> ast.Module:
        """Add a mark at each statement and at each way out of a condition, a loop or a match."""
        nodes = list(ast.walk(tree))
        for node in nodes:
            self._mark_lines(node)
        for node in nodes:
            self._mark_branches(node)
        return ast.fix_missing_locations(tree)

    def _mark_lines(self, node: ast.AST) -> None:
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                setattr(node, name, [x for s in block for x in self._with_mark(s)])

    def _with_mark(self, statement: ast.stmt) -> Iterator[ast.stmt]:
        if not _comes_first(statement):
            yield self._set((statement.lineno,), statement.lineno)
        yield statement

    def _mark_branches(self, node: ast.AST) -> None:
        if isinstance(node, ast.If | ast.For | ast.While):
            for name in ("body", "orelse"):
                block = getattr(node, name)
                to = block[0].lineno if block else -1
                block.insert(0, self._set((node.lineno, to), node.lineno))
        elif isinstance(node, ast.match_case):
            line = node.pattern.lineno
            node.body.insert(0, self._set((line, node.body[0].lineno), line))

    def _set(self, place: Place, line: int) -> ast.stmt:
        (statement,) = ast.parse(f"_marks_reached[{self._first + len(self.places)}] = 1").body
        self.places.append(place)
        for node in ast.walk(statement):  # as a part of that line: what errors tell stays
            node.lineno = node.end_lineno = line  # type: ignore[attr-defined]
            node.col_offset = node.end_col_offset = 0  # type: ignore[attr-defined]
        return statement


def _comes_first(statement: ast.stmt) -> bool:
    """Tell whether nothing may be before a statement, or nothing happens in it."""
    if isinstance(statement, ast.ImportFrom):
        return statement.module == "__future__"
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return is_text or isinstance(statement, ast.Global | ast.Nonlocal)


def mark(folder: Path) -> None:
    """Compile the package's modules with marks, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    codes: dict[str, str] = {}
    places: list[tuple[str | int, ...]] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if "native" in path.relative_to(PACKAGE).parts:
            continue
        marker = Marker(len(places))
        tree = marker.mark(ast.parse(path.read_text(encoding="utf-8")))
        codes[str(path)] = f"{len(codes)}.code"
        (folder / codes[str(path)]).write_bytes(marshal.dumps(compile(tree, str(path), "exec")))
        name = str(path.relative_to(PACKAGE.parent))
        places += [(name, *place) for place in marker.places]
    (folder / "codes.json").write_text(json.dumps(codes))
    (folder / "places.json").write_text(json.dumps(places))
    (folder / "reached").write_bytes(bytes(len(places)))


def load(folder: Path) -> dict[str, Covered]:
    """Return what the processes that used a folder have reached, file by file."""
    places = json.loads((folder / "places.json").read_text())
    found: dict[str, tuple[set[int], set[tuple[int, int]]]] = defaultdict(lambda: (set(), set()))
    for (name, line, *to), is_reached in zip(
        places, (folder / "reached").read_bytes(), strict=True
    ):
        if is_reached:
            lines, branches = found[name]
            branches.add((line, *to)) if to else lines.add(line)
    return {name: Covered(frozenset(x), frozenset(y)) for name, (x, y) in found.items()}


def runs(lines: list[int]) -> str:
    """Write sorted line numbers as ranges."""
    starts = [b for a, b in pairwise([-1, *lines]) if b - a > 1]
    ends = [a for a, b in pairwise([*lines, sys.maxsize]) if b - a > 1]
    return ", ".join(f"{a}-{b}" if b > a else f"{a}" for a, b in zip(starts, ends, strict=True))


def missed(whole: Covered, part: Covered) -> str:
    """Return the lines, and the branches between reached lines, that only the first has reached."""
    lines = whole.lines - part.lines
    branches = sorted(b for b in whole.branches - part.branches if {*b}.isdisjoint(lines))
    found = [f"lines {runs(sorted(lines))}"] if lines else []
    arrows = ", ".join(f"{a}->{'exit' if b < 0 else b}" for a, b in branches)
    return "; ".join([*found, *([f"branches {arrows}"] if branches else [])])


def compare(whole: dict[str, Covered], part: dict[str, Covered]) -> float:
    """Print the comparison; return the smaller share."""
    shares = []
    for kind in Covered._fields:
        of = sum(len(getattr(covered, kind)) for covered in whole.values())
        both = sum(
            len(getattr(covered, kind) & getattr(part.get(name, NOTHING), kind))
            for name, covered in whole.items()
        )
        shares.append(both / max(of, 1))
        print(f"{kind}: {both} of {of}, {shares[-1]:.2%}")
    for name, covered in sorted(whole.items()):
        if text := missed(covered, part.get(name, NOTHING)):
            print(f"{name}: {text}")
    return min(shares)


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("mark").add_argument("folder", type=Path)
    compared = commands.add_parser("compare")
    compared.add_argument("whole", type=Path)
    compared.add_argument("part", type=Path)
    compared.add_argument("--least", type=float, default=0.0)
    options = parser.parse_args()
    if options.command == "mark":
        mark(options.folder)
        return 0
    return int(compare(load(options.whole), load(options.part)) < options.least)


if __name__ == "__main__":
    sys.exit(main())
