"""What an engine says of itself while it works: read by another thread, which changes nothing.

Each attribute is read once and whole, as Python threads see them; together they may be an instant
apart. What is booked meanwhile is in the next sample.
"""

from __future__ import annotations

import os
import time

from distnb.common.machine import node_memory
from distnb.engines.runtime.store import Store
from distnb.engines.worker.worker import Worker
from distnb.measure.snapshot import Sample

__all__ = ["sample"]

_PAGE = os.sysconf("SC_PAGE_SIZE")


def sample(worker: Worker) -> Sample:
    """Return what a worker is at, and what its process needs."""
    batch, left, running = _position(worker)
    resident, threads = _process()
    return Sample(
        worker.clock.peek(),
        time.process_time_ns(),
        batch,
        left,
        running,
        _held(worker.store),
        worker.store.memory.pool.held,
        resident,
        node_memory().available,
        threads,
        worker.clock.filed,
    )


def _position(worker: Worker) -> tuple[int, int, tuple[int, ...]]:
    """Return the number of the last batch, commands of it that are not done, those that run."""
    run = worker.now
    if run is None:
        return worker.latest, 0, ()
    number, items = run.batch.number, run.items
    if items is None:  # its plan is being made
        return number, len(run.commands), ()
    ahead = [rows for item, rows, _ in items if item.positions[0] not in run.done]
    ahead = [rows for rows in ahead if rows[0] >= 0]
    return number, sum(map(len, ahead)), tuple(ahead[0]) if ahead else ()


def _held(store: Store) -> int:
    blocks = [base.block for base in list(store.bases.values())]
    return sum(block.nbytes for block in blocks if block is not None)


def _process() -> tuple[int, int]:
    """Return the resident bytes and the threads of this process, 0 if unknown."""
    try:
        with open("/proc/self/stat") as file:
            words = file.read().rpartition(")")[2].split()
    except OSError:
        return 0, 0
    return int(words[21]) * _PAGE, int(words[17])
