"""Measure what planning costs as engines and blocks grow: ``python benchmarks/planning.py``.

Engines are simulated: a plan is a pure function of a rank and of its operands. The client finds the
layout of a new result, and each engine plans its messages and pieces. Both are measured as they
come for the first time, with nothing remembered; the next time a plan is looked up.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from math import isqrt
from typing import NamedTuple

from distnb.geometry.layout import Layout, make_layout
from distnb.geometry.views import Placed, View
from distnb.ops.table import elementwise_layout
from distnb.plans.transfer import plan_apply

#: Engines, with 100 blocks of a cyclic axis on each; and blocks, on the most engines.
ENGINES = [4, 16, 64, 256, 1024, 4096]
BLOCKS = [1, 10, 100, 10**4, 10**5]
#: Length of a block that is dealt in turn.
LENGTH = 8
ROUNDS = 25

#: First index of each input along each axis, of an operation on all but the borders.
SHIFTED = {1: [(1,), (0,)], 2: [(1, 1), (0, 1)]}
STENCIL = [(1, 1), (0, 1), (2, 1), (1, 0), (1, 2)]
OPERATIONS = {
    "aligned": lambda ndim: [(0,) * ndim] * 2,  # A + B
    "shifted": lambda ndim: SHIFTED[ndim],  # B[1:-1] = A[1:-1] + A[:-2]
    "shifted, new": lambda ndim: SHIFTED[ndim],  # A[1:-1] + A[:-2]: dealt anew if A is cyclic
    "stencil": lambda ndim: STENCIL,  # B[1:-1, 1:-1] = all five views of A at once
}
#: Operations into an array that is there, of the layout of the inputs.
GIVEN = ("shifted", "stencil")


class Case(NamedTuple):
    """An operation on operands of one layout."""

    operation: str
    dist: str
    ndim: int
    engines: int
    blocks: int


def cases() -> Iterator[Case]:
    """Enumerate what is measured."""
    sweeps = [(p, 100) for p in ENGINES] + [(ENGINES[-1], b) for b in BLOCKS if b != 100]
    for operation in OPERATIONS:
        for ndim in (2,) if operation == "stencil" else (1, 2):
            for dist in ("block", "cyclic", "block-cyclic"):
                for engines, blocks in sweeps:
                    yield Case(operation, dist, ndim, engines, blocks)


def shape_and_layout(case: Case) -> tuple[tuple[int, ...], Layout]:
    """Return a base with so many blocks on each engine; block layouts get as many elements."""
    words = {"block": "block", "cyclic": "cyclic", "block-cyclic": ("cyclic", LENGTH)}
    edge = case.engines if case.ndim == 1 else isqrt(case.engines)
    n = edge * case.blocks * (1 if case.dist == "cyclic" else LENGTH)
    shape = (n,) * case.ndim
    dist = (words[case.dist],) * case.ndim
    return shape, make_layout(shape, case.engines, dist, (edge,) * case.ndim)


def inputs(case: Case) -> list[Placed]:
    """Return the views of an operation's inputs; objects that have not been asked anything yet."""
    shape, layout = shape_and_layout(case)
    starts = OPERATIONS[case.operation](case.ndim)
    found = []
    for start in starts:
        view = View.whole(shape)
        if case.operation != "aligned":
            for d, first in enumerate(start):
                view = view.take(d, first, 1, shape[d] - 2)
        found.append(Placed(shape, Layout(layout.grid, layout.axes, layout.dims), view))
    return found


def on_client(case: Case) -> Callable[[], object]:
    """Return the search for the result's layout."""
    ins = inputs(case)
    shape = ins[0].view.shape
    operands = tuple((1, placed) for placed in ins)
    return lambda: elementwise_layout.__wrapped__(operands, shape, case.engines)


def on_engine(case: Case) -> Callable[[], object]:
    """Return the planning of an engine in the middle, which knows where the result lies."""
    ins = inputs(case)
    shape = ins[0].view.shape
    if case.operation in GIVEN:
        out = inputs(case)[0]
    else:
        found = elementwise_layout(tuple((1, placed) for placed in ins), shape, case.engines)
        out = Placed(shape, Layout(found.grid, found.axes, found.dims), View.whole(shape))
    operands = (out, *ins)
    rank = case.engines // 2 + (isqrt(case.engines) // 2 if case.ndim == 2 else 0)

    def plan() -> object:
        hash(operands)  # as the look-up of the plan does
        return plan_apply.__wrapped__(rank, operands[0], operands[1:])

    return plan


def median(case: Case, prepare: Callable[[Case], Callable[[], object]]) -> float:
    """Return the median microseconds of what is prepared anew each time."""
    times = []
    for _ in range(ROUNDS):
        Layout.largest_part.cache_clear()
        work = prepare(case)
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def rows() -> list[dict[str, object]]:
    """Measure; return a row for each case, with the microseconds on the client and on an engine.

    The client's are 0 where the result is a given array.
    """
    found = []
    for case in cases():
        client = 0.0 if case.operation in GIVEN else median(case, on_client)
        times = {"client_us": round(client, 1), "engine_us": round(median(case, on_engine), 1)}
        found.append({**case._asdict(), **times})
    return found


def main() -> None:
    """Print a table."""
    print("operation     layout           engines   blocks  client us  engine us")
    for row in rows():
        layout = f"{row['ndim']}-D {row['dist']}"
        print(
            f"{row['operation']:13s} {layout:16s} {row['engines']:7d} {row['blocks']:8d} "
            f"{row['client_us']:10.1f} {row['engine_us']:10.1f}"
        )


if __name__ == "__main__":
    main()
