"""Small measurements of distnb alone: what recording, flushing, planning and starting cost.

Each function returns rows of the results; a row has a name, what it is, a value and its unit, and
the value to reach, if there is one.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import pickle
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

import distnb as dnb
from benchmarks.workloads import jacobi
from distnb.client.session.session import Session
from distnb.measure.events import COMPUTE, WAITING, Clock
from distnb.measure.records import Log
from distnb.plans.transfer import plan_apply

Row = dict[str, Any]

#: Operations of a batch.
_BOOKED = 500

START = """
import time, distnb as dnb
start = time.perf_counter()
session = dnb.start({ranks})
print(time.perf_counter() - start)
session.close()
"""

#: What is promised to be soon, measured from the moment on which it could be known.
SOON = """
import json, os, signal, sys, threading, time
import distnb as dnb
from distnb.client.transport import launch

def seconds(do, *errors):
    start = time.perf_counter()
    try:
        do()
    except errors:
        pass
    return time.perf_counter() - start

def waiting():
    "Return an array that engines will not finish: one of them has something else to do."
    code = "import time, distnb.engines.server.entry as entry\\n"
    code += f"executor = entry.worker({session.transport._session!r}).executor\\n"
    code += "executor.fault = lambda c: (setattr(executor, 'fault', None), time.sleep(1000))"
    session.transport.client[1].execute(code, block=True)
    return dnb.ones(9, session=session).sum()

def pressed():
    os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # else ignored in the background
found = {"no cluster": seconds(launch.running_default_cluster)}
dnb.config.cutoff, dnb.config.place, dnb.config.recover = 0, "engines", "never"
session = dnb.start(3)
total = waiting()
threading.Timer(1, pressed).start()
found["Ctrl-C"] = seconds(total.item, KeyboardInterrupt) - 1
total = waiting()
threading.Timer(1, os.kill, (session.transport.about[1]["pid"], signal.SIGKILL)).start()
found["death"] = seconds(total.item, dnb.EngineError) - 1
found["close"] = seconds(session.close)
print(json.dumps(found))
"""


def row(
    name: str, what: str, times: list[float], unit: str, per: int = 1, goal: float | None = None
) -> Row:
    """Return the median as a row of the results."""
    scale = {"s": 1.0, "ms": 1e3, "us": 1e6}[unit] / per
    value = statistics.median(times) * scale
    return {"name": name, "what": what, "value": value, "unit": unit, "goal": goal}


def timed(work: Callable[[], object], rounds: int) -> list[float]:
    """Return the seconds of each round; one more warms up."""
    times = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return times[1:]


@contextmanager
def holding(session: Session) -> Iterator[None]:
    """Keep what is recorded until it is sent by hand."""
    session.flush()
    before = dnb.config.flush_size, dnb.config.flush_idle
    dnb.config.flush_size, dnb.config.flush_idle = 100_000, 60.0
    try:
        yield
    finally:
        dnb.config.flush_size, dnb.config.flush_idle = before


def recorded(session: Session, cell: Callable[[], object], rounds: int) -> list[float]:
    """Return the seconds to record a cell, encode it and hand it over, not those of engines.

    It is the processor's time of the notebook's thread: engines begin at once, and where there are
    no more cores than engines they take the notebook's.
    """
    times = []
    for _ in range(rounds + 1):
        start = time.thread_time()
        cell()
        session.send()
        times.append(time.thread_time() - start)
        session.flush()
    return times[1:]


def recording(session: Session, rounds: int, n: int) -> list[Row]:
    a = dnb.ones(n, session=session)

    def same() -> None:
        b = a
        for _ in range(1000):
            b = b + 1.5

    place = 0

    def new() -> None:
        nonlocal place  # views that were not seen before, nor in the last round
        for _ in range(1000):
            place = place % (n - 1) + 1
            a[place:] + 1.5

    def assignments() -> None:
        for _ in range(1000):
            a[1:-1] = 1.5

    with holding(session):
        return [
            row(
                "record repeated",
                "record and send one operation, as before",
                recorded(session, same, rounds),
                "us",
                1000,
                8,
            ),
            row(
                "record new",
                "record and send one operation on a new view",
                recorded(session, new, rounds),
                "us",
                1000,
                15,
            ),
            row(
                "record assignment",
                "record and send one assignment through a view",
                recorded(session, assignments, rounds),
                "us",
                1000,
            ),
        ]


def flushing(session: Session, rounds: int, n: int) -> list[Row]:
    a = dnb.ones(n, session=session)
    nothing = a[:1]

    def one() -> None:
        nothing[:] = 1.0
        session.flush()

    def many() -> None:
        for _ in range(1000):
            nothing[:] = 1.0
        session.flush()

    before = session.batches
    long = timed(many, rounds)
    batches = (session.batches - before) / (rounds + 1)
    return [
        row("flush", "a batch of one operation, done", timed(one, rounds * 10), "ms"),
        row("cell", "a cell of 1,000 operations, done: each", long, "us", 1000),
        {
            "name": "batches",
            "what": "messages of such a cell",
            "value": batches,
            "unit": "",
            "goal": None,
        },
    ]


def planning(session: Session, rounds: int, n: int) -> list[Row]:
    """Plan two shifted operations of an engine, without what was planned before."""
    a = dnb.ones((n, 8), session=session)
    out, left, right = a[1:-1].placed, a[:-2].placed, a[2:].placed
    plan = getattr(plan_apply, "__wrapped__", plan_apply)
    return [
        row(
            "plan",
            "plan a shifted operation on 2 engines",
            timed(lambda: plan(1, out, (left, right)), rounds * 10),
            "us",
        )
    ]


def booking(rounds: int) -> list[Row]:
    """Book operations on an engine's clock, and let that travel; nothing is computed."""

    def batch(exchanges: int) -> None:
        clock = Clock()
        log = Log(clock)
        for number in range(_BOOKED):
            log.begin((number,), 1)
            before = clock.switch(COMPUTE)
            clock.switch(before)
            for _ in range(exchanges):
                before = clock.switch(WAITING)
                clock.switch(before)
                clock.waited(1, 1)
                clock.send(1, 8)
        pickle.loads(pickle.dumps(log.times(), protocol=5))

    return [
        row("book", "book an operation", timed(lambda: batch(0), rounds * 10), "us", _BOOKED, 2),
        row(
            "book exchange",
            "the same, with a message sent and one awaited",
            timed(lambda: batch(1), rounds * 10),
            "us",
            _BOOKED,
        ),
    ]


class Counting(Clock):
    """Counts what it does."""

    __slots__ = ("marks", "switches")

    def __init__(self) -> None:
        self.marks = self.switches = 0
        super().__init__()

    def switch(self, to: int) -> int:
        self.switches += 1
        return super().switch(to)

    def mark(self, to: int | None = None) -> tuple[int, int, int, int, int, int, int]:
        self.marks += 1
        return super().mark(to)


def booked(a: np.ndarray, steps: int) -> Counting:
    """Return the clock that counted on the busiest of two engines that swept a grid."""
    with dnb.inprocess(2) as session:
        grid = dnb.asarray(a, session=session)
        session.flush()
        workers = session.transport.workers  # type: ignore[attr-defined]
        for worker in workers:
            worker.clock = worker.executor.clock = Counting()
        jacobi(dnb, grid, steps)
        session.flush()
        return max((worker.clock for worker in workers), key=lambda clock: clock.switches)


def share(session: Session, rounds: int, n: int) -> list[Row]:
    """Tell how much of a sweep goes into booking: what is done there, times what that costs."""
    steps, data = 20, np.ones((n, n))
    grid = dnb.asarray(data, session=session)

    def sweeps() -> None:
        jacobi(dnb, grid, steps)
        session.flush()

    clock, log = Clock(), Log(Clock())

    def switches() -> None:
        for _ in range(_BOOKED):
            clock.switch(COMPUTE)

    def marks() -> None:
        for _ in range(_BOOKED):
            log.begin((0,), 1)

    counts = booked(data, steps)
    one, mark = (statistics.median(timed(f, rounds * 10)) / _BOOKED for f in (switches, marks))
    spent = counts.marks * mark + (counts.switches - counts.marks) * one
    part = 100 * spent / statistics.median(timed(sweeps, rounds))
    what = f"booking in {steps} sweeps of a grid of {n} x {n}"
    return [{"name": "book share", "what": what, "value": part, "unit": "%", "goal": 1}]


def starting(ranks: int, rounds: int) -> list[Row]:
    """Start engines from a fresh Python."""
    times = [
        float(
            subprocess.run(
                [sys.executable, "-c", START.format(ranks=ranks)],
                capture_output=True,
                text=True,
                check=True,
                timeout=120,
            ).stdout
        )
        for _ in range(rounds)
    ]
    return [row("start", f"start {ranks} engines, ready", times, "s", goal=2.5)]


def soon(rounds: int) -> list[Row]:
    """Measure what a user waits for when something ends."""
    what = {
        "no cluster": "find that no default cluster runs",
        "Ctrl-C": "come out of a wait for engines by Ctrl-C",
        "death": "hear that an engine was killed",
        "close": "close a session whose engine is gone",
    }
    command = [sys.executable, "-c", SOON]
    run = partial(subprocess.run, capture_output=True, text=True, check=True, timeout=120)
    times = [json.loads(run(command).stdout) for _ in range(rounds)]
    goals = {"no cluster": 0.3, "Ctrl-C": 1.0, "death": 1.0, "close": 5.0}
    return [
        row(name, text, [each[name] for each in times], "s", goal=goals[name])
        for name, text in what.items()
    ]


def rows(session: Session, rounds: int, scale: str) -> list[Row]:
    """Run all of them."""
    n = 10_000
    before = getattr(dnb.config, "cutoff", None)
    if before is not None:
        dnb.config.cutoff = 0
    found = recording(session, rounds, n) + flushing(session, rounds, n)
    found += planning(session, rounds, n) + booking(rounds)
    found += share(session, rounds, 2_000 if scale == "full" else 200)
    if before is not None:
        dnb.config.cutoff = before
    fresh = 3 if scale == "full" else 1
    return found + starting(session.size, fresh) + soon(fresh)


def of_many_ranks() -> list[Row]:
    """Return the rows of the planner's benchmark with thousands of simulated ranks."""
    name = "benchmarks.planning"
    if importlib.util.find_spec(name) is None:
        return []
    found: list[Row] = importlib.import_module(name).rows()
    return found
