"""Run small programs with NumPy and with distnb in turn: ``python -m benchmarks.programs``."""

from __future__ import annotations

import argparse
import gc
import json
import math
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy

import distnb as dnb
from benchmarks.programs import dense, dynamic, grids, layers
from benchmarks.programs.program import Program

PROGRAMS = (*dense.PROGRAMS, *grids.PROGRAMS, *layers.PROGRAMS, *dynamic.PROGRAMS)

#: How near results must be, as a part of the largest number, by the type of real numbers.
NEAR = {"float32": 1e-4, "complex64": 1e-4, "float64": 1e-8, "complex128": 1e-8}
#: Seconds before each run, in which threads of BLAS, which wait for more work in a loop, end that.
PAUSE = 0.15
#: A ratio that is very low, and how many of the lowest are told by name.
LOW, LOWEST = 0.2, 5


class Row(NamedTuple):
    """The median seconds of a program in one size, those of the first run, and what is wrong."""

    name: str
    size: int
    n: int
    numpy: float
    distnb: float
    first: float
    wrong: str

    @property
    def ratio(self) -> float:
        """How many times as fast as NumPy distnb is."""
        return self.numpy / self.distnb

    @property
    def at_first(self) -> float:
        """The same of the first run, in which there may be a new kernel to compile."""
        return self.numpy / self.first


def run(np: Any, program: Program, n: int, settle: Callable[[], object]) -> tuple[float, list[Any]]:
    """Return the seconds of one run, and its results in the notebook."""
    arguments = program.data(np, n)
    settle()
    gc.collect()
    time.sleep(PAUSE)
    start = time.perf_counter()
    found = program.code(np, *arguments)
    results = [fetched(x) for x in (found if isinstance(found, tuple) else (found,))]
    return time.perf_counter() - start, results


def fetched(result: Any) -> numpy.ndarray:
    """Return a result as an array in the notebook."""
    return result.to_numpy() if isinstance(result, dnb.DistArray) else numpy.asarray(result)


def difference(found: list[Any], expected: list[Any]) -> str:
    """Return in which way results are not NumPy's, or nothing."""
    if len(found) != len(expected):
        return f"{len(found)} results, expected {len(expected)}"
    for f, e in zip(found, expected, strict=True):
        if (f.shape, f.dtype) != (e.shape, e.dtype):
            return f"{f.shape} {f.dtype}, expected {e.shape} {e.dtype}"
        near = NEAR.get(e.dtype.name, 0.0)
        largest = float(abs(e).max()) if near and e.size else 0.0
        if not numpy.allclose(f, e, near, near * largest, equal_nan=True):
            return "other values"
    return ""


def measured(program: Program, size: int, rounds: int, settle: Callable[[], object]) -> Row:
    """Run a program by turns, after a run of each that does not count in the medians."""
    n = program.sizes[size]
    times: dict[Any, list[float]] = {numpy: [], dnb: []}
    wrong = ""
    try:
        for _ in range(rounds + 1):
            seconds, expected = run(numpy, program, n, lambda: None)
            times[numpy].append(seconds)
            seconds, found = run(dnb, program, n, settle)
            times[dnb].append(seconds)
            wrong = wrong or difference(found, expected)
    except Exception as error:  # the others are run nevertheless
        wrong = f"{type(error).__name__}: {error}".splitlines()[0]
    ours, theirs = (statistics.median(times[np][1:] or [math.nan]) for np in (dnb, numpy))
    first = times[dnb][0] if times[dnb] else math.nan
    return Row(program.name, size, n, theirs, ours, first, wrong)


def line(row: Row) -> str:
    """Return a row of the table."""
    end = f"  WRONG: {row.wrong}" if row.wrong else ""
    times = f"{1e3 * row.numpy:10.2f} {1e3 * row.distnb:10.2f} {row.ratio:8.3f} {row.at_first:8.3f}"
    return f"{row.name:22} {row.n:8} {times}{end}"


def geometric_mean(ratios: list[float]) -> float:
    """Return the mean of ratios, or nothing of none."""
    return statistics.geometric_mean(ratios) if ratios else math.nan


def named(ratios: list[tuple[float, str]]) -> str:
    """Return some ratios with their names."""
    return ", ".join(f"{name} {ratio:.3f}" for ratio, name in ratios)


def summary(rows: list[Row]) -> Iterator[str]:
    """Yield for each size the mean, the lowest ratios, and how many are very low."""
    for size in sorted({row.size for row in rows}):
        ratios = sorted((r.ratio, r.name) for r in rows if r.size == size and r.ratio > 0)
        few = sum(ratio < LOW for ratio, _ in ratios)
        mean = geometric_mean([ratio for ratio, _ in ratios])
        yield f"size {size}: geometric mean {mean:.3f}; {few} of {len(ratios)} below {LOW}"
        yield f"    lowest: {named(ratios[:LOWEST])}"
        first = sorted((r.at_first, r.name) for r in rows if r.size == size and r.at_first > 0)
        mean = geometric_mean([ratio for ratio, _ in first])
        yield f"    first runs: geometric mean {mean:.3f}; lowest: {named(first[:LOWEST])}"


def compared(rows: list[Row], old: list[dict[str, Any]]) -> Iterator[str]:
    """Yield how distnb's times are to those of another run: below 1 is faster."""
    before = {(r["name"], r["n"]): r["distnb"] for r in old}
    both = [r for r in rows if r.distnb > 0 and before.get((r.name, r.n), 0.0) > 0]
    for size in sorted({row.size for row in both}):
        ratios = [(r.distnb / before[r.name, r.n], r.name) for r in both if r.size == size]
        mean = geometric_mean([ratio for ratio, _ in ratios])
        yield f"size {size}: new / old of {len(ratios)} programs: geometric mean {mean:.3f}"
        yield f"    worst: {named(sorted(ratios, reverse=True)[:LOWEST])}"


def chosen(only: str) -> list[Program]:
    """Return the programs of these names, or all."""
    names = {name.strip().lower() for name in only.split(",") if name.strip()}
    known = {program.name.lower(): program for program in PROGRAMS}
    if unknown := names - known.keys():
        raise SystemExit(f"--only: got {sorted(unknown)}, expected some of {[*known]}")
    return [program for name, program in known.items() if not names or name in names]


def sizes(given: str) -> list[int]:
    """Return the sizes that are given as ``0,1,2``."""
    found = given.split(",")
    if not {*found} <= {"0", "1", "2"}:
        raise argparse.ArgumentTypeError(f"got {given!r}, expected some of 0,1,2")
    return [int(size) for size in found]


def arguments(given: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.programs", description=__doc__)
    parser.add_argument("--sizes", type=sizes, default=[0, 1, 2], help="10 ms, 100 ms and 1 s")
    parser.add_argument("--only", default="", help="names of programs, such as gemm,'n-body'")
    parser.add_argument("--rounds", type=int, default=5, help="measured runs of each")
    parser.add_argument("--engines", type=int, default=2, help="engines of distnb")
    parser.add_argument("--inprocess", action="store_true", help="engines in this process")
    parser.add_argument("--out", type=Path, help="file for all medians, as JSON")
    parser.add_argument("--compare", type=Path, help="such a file of another run")
    return parser.parse_args(given)


def save(rows: list[Row], args: argparse.Namespace) -> None:
    """Write all medians of the run so far."""
    about = {"engines": args.engines, "inprocess": args.inprocess, "rounds": args.rounds}
    text = json.dumps({**about, "programs": [row._asdict() for row in rows]}, indent=1)
    args.out.write_text(text + "\n", encoding="utf-8")


def main(given: list[str] | None = None) -> int:
    """Print the table and what it comes to; fail if a result is wrong."""
    args = arguments(given)
    programs = chosen(args.only)
    old = json.loads(args.compare.read_text(encoding="utf-8")) if args.compare else None
    rows: list[Row] = []
    print(f"{'program':22} {'n':>8} {'NumPy ms':>10} {'distnb ms':>10} {'ratio':>8} {'first':>8}")
    with (dnb.inprocess if args.inprocess else dnb.start)(args.engines) as session:
        for size in args.sizes:
            for program in programs:
                rows.append(measured(program, size, args.rounds, session.flush))
                print(line(rows[-1]), flush=True)
                if args.out:
                    save(rows, args)
    print(*summary(rows), sep="\n")
    if old:
        print(*compared(rows, old["programs"]), sep="\n")
    return any(row.wrong for row in rows)


if __name__ == "__main__":
    raise SystemExit(main())
