"""Results as tables, as a plot and as a page: ``python -m benchmarks.report`` makes the page anew.

``make bench`` writes to ``build/bench``. ``python -m benchmarks.report build/bench/results.json``
puts a run into the documentation; without an argument, the page is made from what is there.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.picture import plot
from benchmarks.rows import BASIS, OURS, Row, names, ratio, seconds
from docs.themes import in_both

DOCS = Path(__file__).resolve().parent.parent / "docs"
DATA, PAGE, PICTURE = (
    DOCS / "benchmarks.json",
    DOCS / "benchmarks.md",
    DOCS / "images" / "speed.png",
)

#: Least speed against NumPy, by case.
SPEED = {"W1": 6.0, "W3": 4.0, "W4": 0.9, "W5": 2.0, "W7": 3.0, "W8": 2.0}
SPEED |= {f"W2 {name}": 1.3 for name in ("copy", "add0", "adda", "flip2")}
SPEED |= {"L1": 0.8, "L2": 0.8, "L3": 0.8, "L4": 0.8, "L5": 0.8, "F1": 0.9}
SPEED |= {f"W2 {name}": 1.8 for name in ("max", "sum", "sum0", "sum1", "sqrt", "bincount")}
#: Microseconds for each operation or read.
LIMIT = {"W10": 3.0, "W10 out": 20.0, "W11": 600.0}


def span(t: float) -> str:
    """Return a time in words, with three digits."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)):
        if t * factor >= 1 or unit == "ns":
            return f"{three(t * factor)} {unit}"
    raise AssertionError


def three(x: float) -> str:
    """Return three digits."""
    return f"{x:.2f}" if x < 9.995 else f"{x:.1f}" if x < 99.95 else f"{x:,.0f}"


def line(row: Row) -> str:
    """Return a line about one case, while others are still to run."""
    cells = [
        f"{name} {span(t)}" if (t := seconds(row, name)) else f"{name} -" for name in row["peers"]
    ]
    return f"{row['name']:12s}" + "  ".join(cells)


def table(heads: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|---" + "|---:" * (len(heads) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


# -- the tables ----------------------------------------------------------------------------------


def times(results: Row) -> str:
    """Return the medians, with the best in bold."""
    return table(
        ["case", "what", "of", *names(results)],
        [
            [row["name"], row["what"], size(row), *(cell(row, name) for name in names(results))]
            for row in results["cases"]
        ],
    )


def size(row: Row) -> str:
    """Return the shape of the (first) array."""
    return " x ".join(f"{n:,}" if len(row["shape"]) == 1 else str(n) for n in row["shape"])


def cell(row: Row, name: str) -> str:
    t = seconds(row, name)
    if t is None:
        return "failed" if "error" in row["peers"][name] else "-"
    best = min(s for other in row["peers"] if (s := seconds(row, other)))
    return f"**{span(t)}**" if t == best else span(t)


def rested(results: Row) -> str:
    """Return the medians of first runs, after a rest, where others followed."""
    rows = [
        [row["name"], *(span(t) if (t := first(row, name)) else "-" for name in names(results))]
        for row in results["cases"]
        if (ours := row["peers"].get(OURS, {})).get("runs", 0) > len(ours.get("times", []))
    ]
    return table(["first run, after a rest", *names(results)], rows)


def first(row: Row, name: str) -> float | None:
    found: float | None = row["peers"][name].get("rested")
    return found if seconds(row, name) else None


def speeds(results: Row) -> str:
    """Return distnb's speed against each of the others."""
    others = [name for name in names(results) if name != OURS]
    rows = [
        [row["name"], *(f"{r:.2f}" if (r := ratio(row, OURS, o)) else "-" for o in others)]
        for row in results["cases"]
        if seconds(row, OURS)
    ]
    return table(["times as fast as", *others], rows)


def reasons(results: Row) -> str:
    """Return who left out what, and why."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in results["cases"]:
        for name, one in row["peers"].items():
            if why := one.get("without") or one.get("error"):
                found.setdefault((name, why.splitlines()[0]), []).append(row["name"])
    every = len(results["cases"])
    return table(
        ["who", "left out", "why"],
        [
            [name, "all" if len(cases) == every else ", ".join(cases), why]
            for (name, why), cases in found.items()
        ],
    )


def goals(results: Row) -> Iterator[tuple[str, str, str, bool]]:
    """Yield what is to be reached, what it is, what was measured, and whether it is reached."""
    for row in results["cases"]:
        yield from goals_of_case(row)
    for one in results["micro"]:
        if one["goal"]:
            met = one["value"] <= one["goal"]
            most = f"at most {one['goal']:g} {one['unit']}"
            yield one["name"], most, f"{three(one['value'])} {one['unit']}", met
    shifted = [r for r in results["planning"] if r["operation"] == "shifted"]
    worst = max((r["engine_us"] for r in shifted if r["engines"] == 4096), default=0)
    if worst:
        yield "plan shifted", "at most 200 us", f"{three(worst)} us at worst", worst <= 200


def goals_of_case(row: Row) -> Iterator[tuple[str, str, str, bool]]:
    name, mine = row["name"], seconds(row, OURS)
    if mine is None:
        return
    if name in LIMIT:
        yield name, f"at most {LIMIT[name]:g} us", span(mine), mine * 1e6 <= LIMIT[name]
    least = {BASIS: SPEED.get(name, 0.0), "mpi4py+NumPy": 1.0}
    if not name.startswith("P "):
        least |= {"dask threads": 1.0, "dask.distributed": 1.0}
    least["mpi4py+Numba"] = 1 / 1.15 if name == "W1" else 0.0
    least["Numba"] = 1 / 1.1 if name == "W2 iadd" else 0.0
    for other, enough in least.items():
        found = ratio(row, OURS, other)
        if enough and found:
            yield name, f"{enough:.2g} x {other}", f"{found:.2f} x", found >= enough


def goal_table(results: Row) -> str:
    rows = [
        [name, goal, got, "yes" if met else "**no**"] for name, goal, got, met in goals(results)
    ]
    return table(["case", "goal", "measured", "reached"], rows)


def parts(results: Row) -> str:
    """Return the micro-benchmarks."""
    rows = [
        [r["name"], r["what"], f"{three(r['value'])} {r['unit']}".strip()] for r in results["micro"]
    ]
    return table(["part", "what", "time"], rows)


def planning(results: Row) -> str:
    """Return how planning grows with the engines, and with the blocks on each."""
    found: dict[tuple[str, str], dict[tuple[int, int], float]] = {}
    for r in results["planning"]:
        key = r["operation"], f"{r['ndim']}-D {r['dist']}"
        found.setdefault(key, {})[r["engines"], r["blocks"]] = r["engine_us"]
    cases = sorted({case for times in found.values() for case in times})
    heads = [f"{engines:,} engines, {blocks:,} blocks" for engines, blocks in cases]
    rows = [
        [
            f"{operation}, {layout}",
            *(f"{three(t)} us" if (t := times.get(c)) else "-" for c in cases),
        ]
        for (operation, layout), times in found.items()
    ]
    return table(["an engine plans", *heads], rows)


def tables(results: Row) -> str:
    """Return all tables."""
    found = [
        ("Times", times(results)),
        ("How many times as fast distnb is", speeds(results)),
        ("After a rest", rested(results)),
        *([("Goals", goal_table(results))] if results["scale"] == "full" else []),
        ("Who left out what", reasons(results)),
    ]
    if results["micro"]:
        found.append(("Parts", parts(results)))
    if results["planning"]:
        found.append(("Planning", planning(results)))
    return "\n".join(f"## {title}\n\n{text}" for title, text in found)


# -- the page ------------------------------------------------------------------------------------


def page(results: Row) -> str:
    """Return the page of the documentation."""
    machine = results["machine"]
    versions = ", ".join(f"{name} {v}" for name, v in machine["versions"].items())
    note = f"\n\n**About this run:** {results['note']}" if results["note"] else ""
    about = (
        f"{results['date']}: {machine['cpu']}, {machine['cores']} cores, "
        f"{machine['memory_gib']} GiB, {machine['system']}; {versions}.{note}"
    )
    text = PAGE_TEXT.format(about=about, ranks=results["ranks"], rounds=results["rounds"])
    return text + "\n" + tables(results)


PAGE_TEXT = """# How fast it is

`make bench` runs ordinary array programs with distnb on {ranks} engines, and side by side with what
else you could use on the same machine. This page is made from its last published run.

{about}

![Speed of each against NumPy, for each workload](images/speed.png)

## How to read it

- In the picture bars are distnb, and marks the others. The axis is logarithmic, and ends at a tenth
  and at twenty times NumPy's speed; where a bar goes on, an arrow has the number.
- distnb runs the same lines as NumPy: the function is called with another namespace. *numexpr*,
  *Numba* and the two *mpi4py* programs are written by hand for each workload; *dask* runs the same
  lines where it can. The code is in `benchmarks/`.
- distnb, mpi4py and dask.distributed use {ranks} processes; numexpr, Numba, dask threads, and BLAS
  under NumPy use threads on all cores.
- Everyone runs in turn, {rounds} rounds (fewer where a run takes seconds); while one runs, the
  others sleep. A turn begins after a rest of 50 ms and is one run, or as many as fit in 0.5 s. A
  time is the median of all runs, after a warm-up that includes compiling; those of the first runs
  of turns stand apart, under *After a rest*. Times of loops are for one step.
- Making the data is not counted. Waiting for the engines is: a run ends when all is done.
  Results stay where they were computed, but for those that are a Python number.
- Each result was compared with NumPy's; one that differs is *failed*.
- W2 are single passes over 128 MiB. Where one core fills the memory, two cannot be twice as fast.
- L and F are LAPACK's and FFTs; NumPy's column is OpenBLAS on all cores, for F1 `scipy.fft` on all.
- S are loops of small steps, by rows, columns and elements, on arrays that are already there.
- P are the programs of `tests/programs`, run as a whole, making of their data included; dask is
  tried on them, with the namespace `dask.array`.
- I takes, puts and adds by masks and indices.
- W10 and W11 are about latency. An array smaller than the cutoff lives in the notebook; that of
  `W10 out` is the engines', and in reach of the notebook.

## What limits distnb

As measured on the machine above, whose two cores share one memory:

- *Passes over memory (W2).* What is written goes past the caches, so copies and sums of arrays
  move two bytes where NumPy and programs by hand move three. What is only read cannot be read
  faster: one core moves 28 to 33 GB/s, both together 35 to 37. While a sum runs, engines read 35
  GB/s together. The rest of its time, 0.6 to 1 ms, is the way there and back, and engines that
  agree on what failed. A program by hand has neither: it is timed on its ranks, which wait at a
  barrier.
- *Power iteration (W6).* A step reads 512 MB, as fast as the memory gives them, and has two
  points where engines wait for each other. What the engines' own code adds, 0.4 ms a step in a
  loop, doubles because the matrix has driven it out of the caches.
- *Small steps (W10, W11, S)* are the notebook's, in memory that it shares with engines on its
  machine, as soon as these have done what came before. What is left is the way from Python to
  NumPy and back: about 0.1 us to read an element, 0.3 to 0.9 us for an operation.
- *There and back.* What engines do and the notebook then reads takes 0.4 ms: 0.15 ms for recording
  and sending, 0.2 ms at the engines, the rest for taking it in. With nothing to do at either end it
  would be 0.07 ms; the rest is Python.
- *Recording* an operation makes three commands and encodes them: 7 and 4 us. On a view that was
  never seen it finds the layout of the result as well, about 40 us; and what is kept of it makes
  the garbage collector run more often, about 20 us.
- *The clock.* After a rest of a second the cores of this machine run Python at 0.6 of their speed
  for 0.2 s, and at times for longer: NumPy's own tiny operation takes 0.50 us or 0.86 us (W10).
  What is Python's own time, as in W10 and W11, is as much longer then.
"""


def main(given: list[str]) -> None:
    """Publish a run, or make the page anew from the last one."""
    if given:
        shutil.copy(given[0], DATA)
        for path in in_both(PICTURE):
            plot(json.loads(DATA.read_text()), path)
    PAGE.write_text(page(json.loads(DATA.read_text())))


if __name__ == "__main__":
    main(sys.argv[1:])
