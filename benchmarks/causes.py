"""Thirty programs, each slow for one known reason: ``python -m benchmarks.causes``.

It tells what reports say. Two engines run them, measured as ``%%disttime`` does. What imposes the
cause is in the program: an engine that sleeps, a layout that gives one engine all, a value that is
read in each round.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import distnb as dnb

N = 2_000_000


class Case(NamedTuple):
    """A program, what it is to be told, and what is made before it is measured."""

    cause: str
    name: str
    program: Callable[..., object]
    given: Callable[[], tuple[Any, ...]] = tuple


def _arrays(count: int, dist: Any = "block", n: int = N) -> Callable[[], tuple[Any, ...]]:
    return lambda: tuple(dnb.ones(n, dist=dist) * (k + 1) for k in range(count))


def _square(side: int, dist: Any = "block") -> Callable[[], tuple[Any, ...]]:
    return lambda: (dnb.random.default_rng(0).random((side, side), dist=dist),)


def _wave(x: Any, rounds: int = 12) -> float:
    for _ in range(rounds):
        x = np.sqrt(x * x + 1.0) - np.sin(x)
    return float(x.sum())


def _slow_on(rank: int, seconds: float) -> Callable[[Any], Any]:
    def function(block: Any) -> Any:
        from mpi4py import MPI

        if MPI.COMM_WORLD.rank == rank:
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                pass
        return block + 1

    return function


def _mapped(function: Callable[[Any], Any], rounds: int) -> Callable[[Any], float]:
    def program(x: Any) -> float:
        for _ in range(rounds):
            x = dnb.map_blocks(function, x, dtype=x.dtype)
        return float(x.sum())

    return program


def _halves(x: Any, rounds: int) -> float:
    """Let a half follow from the other one, and so on."""
    n = len(x) // 2
    first, second = x[:n], x[n:]
    for _ in range(rounds):
        second[...] = np.sin(np.sin(np.sin(first)))
        first[...] = np.sin(np.sin(np.sin(second)))
    return float(x.sum())


def _transposed(x: Any, rounds: int) -> float:
    for _ in range(rounds):
        x = x + x.T
    return float(x.sum())


def _moved(x: Any, rounds: int) -> float:
    for k in range(rounds):
        x = x.redistribute(("*", "block") if k % 2 == 0 else ("block", "*"))
    return float(x.sum())


def _sums(x: Any, rounds: int) -> float:
    """Ask for many small sums that depend on each other."""
    s = x.sum()
    for _ in range(rounds):
        s = (x * (s / s)).sum()
    return float(s)


def _until(x: Any, rounds: int, pause: float = 0.0) -> float:
    for _ in range(rounds):
        x = x + 1.0
        float(x[0])
        if pause:
            time.sleep(pause)
    return float(x.sum())


def _recorded(x: Any, rounds: int) -> float:
    for k in range(rounds):
        x = x[:1000] + float(k)
    return float(x.sum())


def _thinking(x: Any, rounds: int, seconds: float) -> float:
    for _ in range(rounds):
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            sum(range(1000))
        float((x + 1).sum())
    return 0.0


def _littered(x: Any, rounds: int) -> float:
    litter = [[i] for i in range(400_000)]
    for _ in range(rounds):
        gc.collect()
        float((x + 1).sum())
    return float(len(litter))


def _beside(x: Any, others: int) -> float:
    """Compute while other programs have the cores."""
    burn = [sys.executable, "-c", "while True: pass"]
    running = [subprocess.Popen(burn) for _ in range(others)]
    try:
        time.sleep(0.2)
        return _wave(x, 60)
    finally:
        for each in running:
            each.kill()
            each.wait()


def _all_on(rank: int, n: int = N) -> Callable[[], tuple[Any, ...]]:
    return lambda: (dnb.ones(n, dist=("engine", rank)),)


def _uneven(share: float, n: int = N) -> Callable[[], tuple[Any, ...]]:
    cut = int(share * n)
    return lambda: (dnb.ones(n, dist=("irregular", (0, cut, n))),)


CASES = [
    *(Case("load balance", f"all on engine {r}", _wave, _all_on(r)) for r in (0, 1)),
    *(Case("load balance", f"cut at {s:.0%}", _wave, _uneven(s)) for s in (0.9, 0.2)),
    *(
        Case("load balance", f"engine {r} slow", _mapped(_slow_on(r, 0.02), 10), _arrays(1))
        for r in (0, 1)
    ),
    *(
        Case("serialisation", f"halves, {k} rounds", lambda x, k=k: _halves(x, k), _arrays(1))
        for k in (4, 10, 20)
    ),
    *(
        Case("bandwidth", f"{k} sums with transposes", lambda x, k=k: _transposed(x, k), _square(s))
        for k, s in ((6, 2000), (10, 1500))
    ),
    *(
        Case("bandwidth", f"{k} times redistributed", lambda x, k=k: _moved(x, k), _square(s))
        for k, s in ((4, 4000), (8, 3000))
    ),
    *(
        Case("overhead", f"{k} sums in turn of {n}", lambda x, k=k: _sums(x, k), _arrays(1, n=n))
        for k, n in ((300, 2000), (1000, 2000), (600, 200))
    ),
    *(
        Case(
            "waiting for the notebook",
            f"{k} reads, {1000 * p:.0f} ms apart",
            lambda x, k=k, p=p: _until(x, k, p),
            _arrays(1, n=200_000),
        )
        for k, p in ((30, 0.01), (60, 0.005), (10, 0.05))
    ),
    *(
        Case("recording", f"{k} small steps", lambda x, k=k: _recorded(x, k), _arrays(1))
        for k in (2000, 5000, 10_000)
    ),
    *(
        Case(
            "notebook",
            f"{k} rounds of Python, {1000 * s:.0f} ms each",
            lambda x, k=k, s=s: _thinking(x, k, s),
            _arrays(1),
        )
        for k, s in ((10, 0.02), (20, 0.01), (5, 0.1))
    ),
    *(
        Case("garbage collection", f"{k} collections", lambda x, k=k: _littered(x, k), _arrays(1))
        for k in (10, 20, 40)
    ),
    *(
        Case("busy machine", f"beside {k} programs", lambda x, k=k: _beside(x, k), _arrays(1))
        for k in (2, 4, 6)
    ),
]


def main() -> None:
    """Run them, and print what is said of each."""
    os.environ.setdefault("DISTNB_ALLOW_ROOT", "1")
    dnb.config.place = "engines"
    right = 0
    with dnb.start(2, beside=True):
        for case in CASES:
            given = case.given()
            case.program(*given)  # what is planned and compiled once
            given = case.given()
            given[0].sum().item()
            with dnb.profile() as report:
                case.program(*given)
            found = report.headline.cause if report.headline else "nothing"
            right += found == case.cause
            print(f"{'  ' if found == case.cause else '! '}{case.cause}, {case.name}: {found}")
            print(f"      {report.advice}", flush=True)
    print(f"{right} of {len(CASES)} sentences name the cause")


if __name__ == "__main__":
    main()
