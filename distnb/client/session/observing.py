"""A session as it is now: what engines say of themselves, and what the client has sent them.

Nothing here takes the recorder's lock, which is held while the notebook waits for a reply.
"""

from __future__ import annotations

from collections.abc import Callable

from distnb.client.batching.connection import Connection
from distnb.client.batching.recorder import Recorder
from distnb.client.transport.contract import AnyTransport
from distnb.common.config import config
from distnb.measure.snapshot import Engine, Live, Sample
from distnb.wire.protocol import Command, title

__all__ = ["Observer"]


class Observer:
    """Looks at a session, from any thread.

    Parameters
    ----------
    transport, connection, recorder
        The session's.
    line : callable
        Gives the text of a source line.
    """

    def __init__(
        self,
        transport: AnyTransport,
        connection: Connection,
        recorder: Recorder,
        line: Callable[[int], str],
    ) -> None:
        self._transport = transport
        self._connection = connection
        self._recorder = recorder
        self._line = line

    @property
    def finished(self) -> int:
        """Commands to which all replies came."""
        return self._connection.finished

    def live(self, seconds: float) -> Live:
        """Return what is known now; engines that work have so many seconds to answer."""
        # First: what is sent meanwhile is counted twice, not never.
        queued = self._recorder.waiting
        sent = self._on_their_way()
        alive = self._transport.living()
        engines = []
        for rank, (sample, silence) in self._transport.samples(seconds).items():
            left = queued + _left(sent, sample)
            running = self._running(sent, sample)
            engines.append(Engine(rank, rank in alive, silence, left, running, sample))
        recover = config.recover if self._connection.keeps else "never"
        if self._connection.keeps and not self._transport.starts:
            recover = "theirs"
        elif self._connection.keeps and recover == "never":  # that was said later
            recover = "ask"
        recorded = self._recorder.recorded
        return Live(self._transport.kind, tuple(engines), recorded, queued, recover)

    def _on_their_way(self) -> dict[int, tuple[Command, ...]]:
        """Return the commands of each batch that is sent and whose replies were not taken in."""
        leaving, sent = self._connection.leaving, self._connection.sent.copy()
        found = {each.number: each.commands for each in sent}
        return found if leaving is None else {**found, leaving[0]: leaving[1]}

    def _running(self, sent: dict[int, tuple[Command, ...]], sample: Sample | None) -> str:
        """Return what an engine runs, and from which line; of a group, the first and how many."""
        if sample is None or not sample.running or sample.batch not in sent:
            return ""
        commands = [sent[sample.batch][i] for i in sample.running]
        names = list(dict.fromkeys(title(c) for c in commands))
        words = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        return f"{words} ({self._line(getattr(commands[-1], 'site', 0))})"


def _left(sent: dict[int, tuple[Command, ...]], sample: Sample | None) -> int:
    """Return how many commands that were sent an engine has not done."""
    if sample is None:
        return sum(map(len, sent.values()))
    later = sum(len(commands) for number, commands in sent.items() if number > sample.batch)
    return later + (sample.left if sample.batch in sent else 0)
