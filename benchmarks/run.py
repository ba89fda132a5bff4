"""Measure distnb on a few engines against NumPy, side by side: ``python benchmarks/run.py``.

Prints a table and writes ``build/bench/results.json``. Figures of distnb and NumPy come from
interleaved runs; the table gives medians and their ratio. Run it with nothing else running.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import distnb as dnb
from distnb.client.session import Session

OUT = Path(__file__).resolve().parent.parent / "build" / "bench"


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def interleaved(rounds: int, *works: Callable[[], object]) -> list[float]:
    """Return the median seconds of each, taken in turn; the first round only warms up."""
    times: list[list[float]] = [[] for _ in works]
    for turn in range(rounds + 1):
        for slot, work in zip(times, works, strict=True):
            spent = seconds(work)
            if turn:
                slot.append(spent)
    return [statistics.median(t) for t in times]


def round_trip(session: Session, rounds: int) -> dict[str, float]:
    """Read a scalar that is already computed."""
    x = dnb.ones(8, session=session).sum()
    float(x)
    spent = interleaved(rounds * 4, lambda: float(x))[0]
    return {"ms": spent * 1e3}


def recording(session: Session, rounds: int) -> dict[str, float]:
    """Record 1,000 operations, encode them and hand them over; not the time that engines take."""
    a = dnb.ones(1000, session=session)
    session.flush()
    before = dnb.config.flush_size, dnb.config.flush_idle
    dnb.config.flush_size, dnb.config.flush_idle = 10_000, 60.0
    spent = []
    try:
        for _ in range(rounds + 1):
            start = time.perf_counter()
            b = a
            for _ in range(1000):
                b = b + 1.5
            session.send()
            spent.append(time.perf_counter() - start)
            session.flush()
    finally:
        dnb.config.flush_size, dnb.config.flush_idle = before
    return {"us": statistics.median(spent[1:]) / 1000 * 1e6}


def batches(session: Session, rounds: int) -> dict[str, float]:
    """Count the messages of a cell of 1,000 operations, and its time."""
    a = dnb.ones(1000, session=session)
    session.flush()
    before = session.batches

    def cell() -> None:
        b = a
        for _ in range(1000):
            b = b + 1.5
        session.flush()

    spent = interleaved(rounds, cell)[0]
    return {"batches": (session.batches - before) / (rounds + 1), "us": spent / 1000 * 1e6}


def sweep(a, t):  # type: ignore[no-untyped-def]
    t[:] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[:-2, 1:-1] + a[2:, 1:-1])
    a[1:-1, 1:-1] = t


def jacobi(session: Session, rounds: int, n: int = 2048, sweeps: int = 10) -> dict[str, float]:
    """Run the demo's sweep on NumPy and on the engines."""
    start = np.random.default_rng(0).random((n, n))
    a, t = start.copy(), np.empty((n - 2, n - 2))
    d, u = dnb.array(start, session=session), dnb.empty((n - 2, n - 2), session=session)

    def with_numpy() -> None:
        for _ in range(sweeps):
            sweep(a, t)

    def with_distnb() -> None:
        for _ in range(sweeps):
            sweep(d, u)
        session.flush()

    numpys, ours = interleaved(rounds, with_numpy, with_distnb)
    if not (d.to_numpy() == a).all():
        raise SystemExit("jacobi: distnb and NumPy disagree")
    ms = 1e3 / sweeps
    return {"numpy_ms": numpys * ms, "ms": ours * ms, "ratio": numpys / ours}


def main() -> None:
    """Run everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=2, help="engines")
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    dnb.config.cutoff = 0  # small arrays, too, are on the engines: these are measured
    ready = time.perf_counter()
    with dnb.start(args.n) as session:
        ready = time.perf_counter() - ready
        results = {
            "machine": {"cores": os.cpu_count(), "python": platform.python_version()},
            "engines": session.size,
            "start": {"s": ready},
            "round_trip": round_trip(session, args.rounds),
            "recording": recording(session, args.rounds),
            "cell_of_1000": batches(session, args.rounds),
            "jacobi_2048": jacobi(session, args.rounds),
        }
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    print(f"{args.n} engines on {os.cpu_count()} cores, medians of {args.rounds} interleaved runs")
    for name, row in results.items():
        if isinstance(row, dict) and name != "machine":
            print(f"  {name:14s}" + "".join(f"{k:>12s} {v:9.3f}" for k, v in row.items()))


if __name__ == "__main__":
    main()
