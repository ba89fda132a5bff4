"""Compare what two runs of the tests have covered: lines, and branches.

``python tools/covered.py build/coverage/test-all build/coverage/test`` prints the share of what the
first covers that the second covers too, and for each file what only the first reaches. Each is a
folder of ``make coverage``. ``--least 0.99`` makes it exit with 1 where a share is smaller.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import coverage


class Covered(NamedTuple):
    """What was reached in one file: lines, and jumps from one line to another."""

    lines: frozenset[int]
    branches: frozenset[tuple[int, int]]


NOTHING = Covered(frozenset(), frozenset())


def load(folder: str) -> dict[str, Covered]:
    """Return what the measurements of a folder have reached, file by file."""
    with tempfile.TemporaryDirectory() as place:
        made = coverage.Coverage(data_file=str(Path(place, "data")), config_file="pyproject.toml")
        made.combine([folder], keep=True)
        made.json_report(outfile=str(Path(place, "json")))
        files = json.loads(Path(place, "json").read_text())["files"]
    return {name: _covered(report) for name, report in files.items()}


def _covered(report: dict[str, Any]) -> Covered:
    branches = ((start, end) for start, end in report["executed_branches"])
    return Covered(frozenset(report["executed_lines"]), frozenset(branches))


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


def main() -> int:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description="compare what two runs of the tests have covered")
    parser.add_argument("whole")
    parser.add_argument("part")
    parser.add_argument("--least", type=float, default=0.0)
    options = parser.parse_args()
    whole, part = load(options.whole), load(options.part)
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
    return int(min(shares) < options.least)


if __name__ == "__main__":
    sys.exit(main())
