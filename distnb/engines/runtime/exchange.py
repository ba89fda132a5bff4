"""The messages of one command: posted first, polled, and completed whatever happens.

Every command knows from its plan which messages it owes and expects. A rank that fails sends an
*empty* message for each one it still owes and takes in each one it still expects, so no partner
ever waits for it, and an empty message tells the partner that the data will not come.

An engine never blocks inside MPI: it polls, yielding for 2 ms and then sleeping 200 us at a time,
which costs no measurable latency and keeps every wait interruptible.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from time import perf_counter_ns

import numpy as np

from distnb.engines.runtime.comm import ABORT, Comm, Request
from distnb.measure.events import TRANSFER, WAITING, Clock

__all__ = ["Exchange", "PeerFailed", "wait_until"]

_SPIN_NS = 2_000_000
_SLEEP_S = 200e-6
#: MPI guarantees tags up to 32767; both MPIs allow many more, and reuse only needs to be late.
TAGS_PER_COMMAND = 16
TAG_LIMIT = ABORT - ABORT % TAGS_PER_COMMAND

Key = tuple[int, int]  # (peer, tag within the command)


class PeerFailed(Exception):  # noqa: N818 - a state of the exchange, not an error of the user's
    """A partner could not send its data: this command fails here too, for no reason of its own."""


def wait_until(ready: Callable[[], bool], check: Callable[[], None] = lambda: None) -> None:
    """Poll until ``ready()``; interruptible between polls, also by what ``check`` raises."""
    start = perf_counter_ns()
    while not ready():
        if perf_counter_ns() - start < _SPIN_NS:
            os.sched_yield()
        else:
            check()
            time.sleep(_SLEEP_S)


class Exchange:
    """The messages of one command on one rank.

    Parameters
    ----------
    comm, clock
        The rank's communicator and clock.
    number : int
        Number of the command, the same on all ranks; becomes part of every tag.
    owed, expected : iterables of (peer, tag)
        All messages that this rank sends and receives in this command; tags below 16.
    """

    def __init__(
        self, comm: Comm, clock: Clock, number: int, owed: list[Key], expected: list[Key]
    ) -> None:
        self._comm = comm
        self._clock = clock
        self._number = number
        self._base = number * TAGS_PER_COMMAND % TAG_LIMIT
        self._owed = set(owed)
        self._expected = set(expected)
        self._posted: list[tuple[int, Request]] = []

    @property
    def comm(self) -> Comm:
        """The communicator, for libraries that send messages of their own."""
        return self._comm

    def filing(self, total: int) -> Callable[[int], None]:
        """Return what notes that so many more bytes of a file were read or written.

        It raises if the user gives up. ``total``: how many they will be; 0 if nobody knows.
        """
        clock, number = self._clock, self._number
        clock.filed = (number, 0, total)

        def note(nbytes: int) -> None:
            self._comm.check()
            clock.filed = (number, clock.filed[1] + nbytes, total)

        return note

    def send(self, peer: int, tag: int, data: np.ndarray, in_place: int = 0) -> None:
        """Post a send of contiguous, not empty data that will not change any more.

        Of a zero-copy message ``data`` is only the place, and ``in_place`` the bytes.
        """
        before = self._clock.switch(TRANSFER)
        self.tell(peer, tag, data)
        self._clock.send(peer, data.nbytes, in_place)
        self._clock.switch(before)

    def refuse(self, peer: int, tag: int) -> None:
        """Send nothing: data will not come, or what was read in place is not needed any more."""
        self.tell(peer, tag, np.empty(0, np.uint8))

    def tell(self, peer: int, tag: int, data: np.ndarray) -> None:
        """Post a send of what is not data of the user's, and so not in the account."""
        self._post(peer, self._comm.send(data, peer, self._base + tag))
        self._owed.discard((peer, tag))

    def try_receive(self, peer: int, tag: int, into: np.ndarray) -> bool:
        """Receive a message into ``into`` if it has arrived; raise PeerFailed if it is empty."""
        incoming = self._comm.probe(peer, self._base + tag)
        if incoming is None:
            return False
        before = self._clock.switch(TRANSFER)
        good = incoming.nbytes == into.nbytes
        self._finish(peer, incoming.receive(into if good else None))
        self._expected.discard((peer, tag))
        self._clock.switch(before)
        if not good:
            raise PeerFailed(f"rank {peer} could not send its part")
        return True

    def receive(self, peer: int, tag: int, into: np.ndarray) -> None:
        """Wait for a message."""
        self._wait_for(peer, lambda: self.try_receive(peer, tag, into))

    def take(self, peer: int, tag: int) -> np.ndarray:
        """Wait for a message of any length; return its bytes, raise PeerFailed if it is empty."""
        found: list[np.ndarray] = []

        def arrived() -> bool:
            incoming = self._comm.probe(peer, self._base + tag)
            if incoming is None:
                return False
            before = self._clock.switch(TRANSFER)
            try:
                into = np.empty(incoming.nbytes, np.uint8)
            except MemoryError:
                self._finish(peer, incoming.receive(None))
                self._expected.discard((peer, tag))
                raise
            self._finish(peer, incoming.receive(into if into.size else None))
            self._expected.discard((peer, tag))
            self._clock.switch(before)
            found.append(into)
            return True

        self._wait_for(peer, arrived)
        if not found[0].size:
            raise PeerFailed(f"rank {peer} could not send its part")
        return found[0]

    def arrivals(
        self, wanted: dict[int, tuple[int, int, np.ndarray]]
    ) -> Iterator[tuple[int, bool]]:
        """Yield the keys of ``wanted`` (key -> peer, tag, buffer) in the order they arrive.

        With each comes whether its data did, or the partner could not send it.
        """
        pending = dict(wanted)
        arrived: list[tuple[int, bool]] = []

        def poll() -> bool:
            for key, (peer, tag, buffer) in pending.items():
                try:
                    if self.try_receive(peer, tag, buffer):
                        arrived.append((key, True))
                except PeerFailed:
                    arrived.append((key, False))
            return bool(arrived)

        def awaited() -> int:
            return wanted[arrived[0][0] if arrived else next(iter(pending))][0]

        while pending:
            self._await(poll, awaited)
            for key, good in arrived:
                del pending[key]
                yield key, good
            arrived.clear()

    def finish(self) -> None:
        """Wait until everything sent has left."""
        for peer, request in self._posted:
            self._wait_for(peer, request.test)
            self._comm.pending.discard(request)
        self._posted.clear()
        number, done, _ = self._clock.filed
        if number == self._number:
            self._clock.filed = (number, done, done)

    def _post(self, peer: int, request: Request) -> None:
        """Keep a request, and with it its buffer, as long as MPI may touch that."""
        self._posted.append((peer, request))
        self._comm.pending.add(request)

    def _wait_for(self, peer: int, ready: Callable[[], bool]) -> None:
        self._await(ready, lambda: peer)

    def _await(self, ready: Callable[[], bool], awaited: Callable[[], int]) -> None:
        """Wait, and book it to the rank that ``awaited`` names when the wait is over."""
        clock = self._clock
        before = clock.switch(WAITING)
        since = clock.spent[WAITING]
        try:
            self._wait(ready)
        finally:
            clock.switch(before)
            clock.waited(awaited(), clock.spent[WAITING] - since)

    def _wait(self, ready: Callable[[], bool]) -> None:
        wait_until(ready, self._comm.check)

    def _finish(self, peer: int, request: Request) -> None:
        self._comm.pending.add(request)
        self._wait(request.test)
        self._comm.pending.discard(request)

    def fail(self) -> None:
        """Complete the communication without data: empty messages for those still owed.

        No partner ever waits for a rank that has left the command.
        """
        for peer, tag in sorted(self._owed):
            self.refuse(peer, tag)
        for peer, tag in sorted(self._expected):
            self.drop(peer, tag)
        self.finish()

    def drop(self, peer: int, tag: int) -> None:
        """Wait for a message, whatever is in it; what failed may be that there is no memory."""

        def arrived() -> bool:
            incoming = self._comm.probe(peer, self._base + tag)
            if incoming is None:
                return False
            self._finish(peer, incoming.receive(None))
            return True

        self._wait_for(peer, arrived)
        self._expected.discard((peer, tag))
