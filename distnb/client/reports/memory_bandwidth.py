"""How fast the engines copy memory, all at once: what the speed of computing is compared with."""

from __future__ import annotations

from dataclasses import replace
from weakref import WeakKeyDictionary

from distnb.client.record.creation import empty_like, ones
from distnb.client.session.session import Session
from distnb.measure.events import COMPUTE, Report
from distnb.wire.protocol import Ask

__all__ = ["memory_bandwidth", "with_memory_bandwidth"]

#: Bytes that are copied on each engine: caches hold less.
SIZE = 32 << 20
TIMES = 3
#: Bytes that a report must have touched on each engine for its speed to be worth measuring.
WORTH = 4 * SIZE

_KNOWN: WeakKeyDictionary[Session, float | None] = WeakKeyDictionary()


def with_memory_bandwidth(session: Session, report: Report) -> Report:
    """Return a report that knows the memory bandwidth, if it touched much memory.

    The first time it is measured, which takes about a tenth of a second; not while something else
    is measured, too, nor where there is no room for it.
    """
    if session not in _KNOWN:
        if report.touched < WORTH * session.size:
            return report
        room = session.handles.budget.room()
        ready = not session.measuring.windows and (room is None or room >= 4 * SIZE)
        if not all(session.transport.share(ready)):  # under SPMD, ranks decide together
            return report
        with session.journal.paused():  # the cell does not do this
            _KNOWN[session] = memory_bandwidth(session)
    return replace(report, memory_bandwidth=_KNOWN[session])


def memory_bandwidth(session: Session) -> float | None:
    """Measure how many bytes an engine reads and writes in a second when all copy memory at once.

    Returns None if the clocks do not see it.
    """
    source = ones((session.size, SIZE // 8), dist=("block", "*"), session=session)
    target = empty_like(source)
    target[...] = source  # gets the memory
    before = session.ask(lambda slot: Ask(slot, "clocks"))
    for _ in range(TIMES):
        target[...] = source
        session.flush()  # in one group they would be one pass
    after = session.ask(lambda slot: Ask(slot, "clocks"))
    spent = sum(b.since(a).spent[COMPUTE] for a, b in zip(before, after, strict=True))
    return 2 * SIZE * TIMES * session.size / (spent / 1e9) if spent else None
