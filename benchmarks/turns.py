"""Times of steps that take turns, so that whatever else the machine does meets all alike."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["turns"]


def turns(rounds: int, *steps: Callable[[], object]) -> list[list[float]]:
    """Return the seconds of each step, round by round."""
    times: list[list[float]] = [[] for _ in steps]
    for _ in range(rounds):
        for step, found in zip(steps, times, strict=True):
            start = time.perf_counter()
            step()
            found.append(time.perf_counter() - start)
    return times
