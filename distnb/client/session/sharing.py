"""Engines that other notebooks use, too: whether it is our turn, and that others have theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from distnb.client.batching.connection import Connection
from distnb.client.batching.recorder import Recorder

if TYPE_CHECKING:
    from distnb.client.transport.contract import AnyTransport
    from distnb.client.transport.turns import Turns

__all__ = ["Sharing"]


class Parts(Protocol):
    """What a session consists of, as far as turns have to do with it."""

    transport: AnyTransport
    connection: Connection
    recorder: Recorder
    closed: bool

    def send(self, idle: bool = False) -> None:
        """Send what is pending, without waiting for it."""

    def take_in(self) -> bool:
        """Take in replies that have come; tell whether these were all."""

    def take_oldest(self) -> None:
        """Wait for the replies to the oldest batch, and take them in."""


class Sharing:
    """A session's turns. Calls to send are with the recorder's lock."""

    def __init__(self, session: Parts, turns: Turns) -> None:
        self._session, self._turns = session, turns
        #: Whether something was left to be sent because it was another notebook's turn.
        self.postponed = False
        turns.look_after(self.heed)

    def is_our_turn(self, idle: bool) -> bool:
        """Tell whether to send what is pending; who is not ``idle`` waits for that."""
        session, turns = self._session, self._session.transport.turns
        if turns is not self._turns and turns is not None:  # another cluster took over
            self._turns = turns
            turns.look_after(self.heed)
        if session.recorder.empty:
            return True
        while session.connection.overdue and not idle:
            session.take_oldest()
        self.postponed = not session.connection.is_our_turn(not idle)
        return not self.postponed

    def heed(self) -> None:
        """Let others have their turn; send what had to wait for theirs. Called now and then."""
        session = self._session
        turns = session.transport.turns
        if turns is not None and turns.wanted:
            session.take_in()
            with session.recorder.lock:
                if session.closed:  # maybe by an interrupt, with something on its way
                    turns.leave(session.connection)
                session.connection.rest()
        if self.postponed:
            session.send(idle=True)
