"""A session as it is now: what engines say of themselves, and what the client has sent them.

Nothing here takes the recorder's lock, which is held while the notebook waits for a reply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from distnb.measure.snapshot import Engine, Live, Sample
from distnb.wire.protocol import Command, title

if TYPE_CHECKING:
    from distnb.client.session.session import Session

__all__ = ["look"]


def look(session: Session, seconds: float) -> Live:
    """Return what is known now; engines that work have so many seconds to answer."""
    queued = session._recorder.waiting  # first: what is sent meanwhile is counted twice, not never
    sent = _on_their_way(session)
    alive = session.transport.living()
    engines = []
    for rank, (sample, silence) in session.transport.samples(seconds).items():
        left = queued + _left(sent, sample)
        running = _running(session, sent, sample)
        engines.append(Engine(rank, rank in alive, silence, left, running, sample))
    return Live(session.transport.kind, tuple(engines), session.recorded, queued)


def _on_their_way(session: Session) -> dict[int, tuple[Command, ...]]:
    """Return the commands of each batch that is sent and whose replies were not taken in."""
    leaving, sent = session._leaving, session._sent.copy()
    found = {each.number: each.commands for each in sent}
    return found if leaving is None else {**found, leaving[0]: leaving[1]}


def _left(sent: dict[int, tuple[Command, ...]], sample: Sample | None) -> int:
    """Return how many commands that were sent an engine has not done."""
    if sample is None:
        return sum(map(len, sent.values()))
    later = sum(len(commands) for number, commands in sent.items() if number > sample.batch)
    return later + (sample.left if sample.batch in sent else 0)


def _running(session: Session, sent: dict[int, tuple[Command, ...]], sample: Sample | None) -> str:
    """Return what an engine runs, and from which line; of a group, the first and how many."""
    if sample is None or not sample.running or sample.batch not in sent:
        return ""
    commands = [sent[sample.batch][i] for i in sample.running]
    names = list(dict.fromkeys(title(c) for c in commands))
    words = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    return f"{words} ({session.line(getattr(commands[-1], 'site', 0))})"
