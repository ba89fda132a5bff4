"""The client's end of the monitor channel: asks engines what they do meanwhile, and stops it.

Any thread may ask, also one that looks on while the notebook waits for a batch.
"""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Sequence
from typing import NamedTuple

import zmq

from distnb.measure.snapshot import SILENT, Sample

__all__ = ["Heard", "MonitorClient"]

#: Questions that may wait for an engine that does not answer.
_WAITING = 4


class Heard(NamedTuple):
    """The last that an engine said, and the seconds since the first question it left open."""

    sample: Sample | None
    silence: float


class _Line:
    """The way to one engine: a socket, what it said last, and since when a question is open."""

    def __init__(
        self, context: zmq.Context[zmq.Socket[bytes]], address: str, key: str, keys: Sequence[bytes]
    ) -> None:
        self.socket = context.socket(zmq.DEALER)
        self.socket.curve_serverkey = key.encode()
        self.socket.curve_publickey, self.socket.curve_secretkey = keys
        self.socket.set_hwm(0)
        self.socket.connect(address)
        self.said: dict[str, Sample] = {}
        self.open: float | None = None
        #: Questions that are not answered.
        self.left = 0

    def ask(self, number: int, session: str, stop: int = 0) -> None:
        self.open = self.open or time.monotonic()
        if stop or self.left < _WAITING:
            self.left += 1
            self.socket.send(f"{number} {stop} {session}".encode(), zmq.NOBLOCK)

    def listen(self) -> int:
        """Take in what has come; return the number of the last question that is answered."""
        last = 0
        while self.socket.poll(0):
            head, content = self.socket.recv_multipart()
            number, _, session = head.decode().split(" ")
            found = pickle.loads(content)
            if found is not None:
                self.said[session] = found
            self.open, last = None, int(number)
            self.left -= 1
        return last


class MonitorClient:
    """Sockets to all engines, in the order of their ranks, for one thread at a time.

    Parameters
    ----------
    context : zmq.Context
        Its sockets close before the context does.
    places : sequence of (str, str)
        Address and public key of each engine's socket.
    keys : (bytes, bytes)
        The client's own public and secret key.
    """

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        places: Sequence[tuple[str, str]],
        keys: Sequence[bytes],
    ) -> None:
        self._lock = threading.Lock()
        self._asked = 0
        self._lines = [_Line(context, *place, keys) for place in places]
        self._closed = False

    def ask(self, session: str, engines: int, seconds: float) -> list[Heard]:
        """Ask the first engines what they do for a session; wait at most so long for answers."""
        with self._lock:
            lines = self._lines[:engines]
            if not self._closed:
                self._exchange(lines, session, seconds)
            now = time.monotonic()
            return [
                Heard(line.said.get(session), now - line.open if line.open else 0.0)
                for line in lines
            ]

    def _exchange(self, lines: Sequence[_Line], session: str, seconds: float) -> None:
        """Ask, and wait for all but those who did not answer lately; these are heard next time."""
        self._asked += 1
        now = time.monotonic()
        missing, poller = {}, zmq.Poller()
        for line in lines:
            line.listen()
            if line.open is None or now - line.open < SILENT:
                missing[line.socket] = line
                poller.register(line.socket, zmq.POLLIN)
            line.ask(self._asked, session)
        while missing and (left := now + seconds - time.monotonic()) > 0:
            for ready, _ in poller.poll(1 + int(left * 1000)):
                if missing[ready].listen() == self._asked:
                    del missing[ready]
                    poller.unregister(ready)

    def stop(self, session: str, number: int) -> None:
        """Tell the engines to give up a session's batches up to a number; waits for nothing."""
        with self._lock:
            for line in [] if self._closed else self._lines:
                line.ask(self._asked, session, number)

    def silent(self, engines: int) -> list[int]:
        """Return the ranks that have not answered."""
        with self._lock:
            for line in [] if self._closed else self._lines:
                line.listen()
            return [rank for rank, line in enumerate(self._lines[:engines]) if line.left]

    def forget(self, session: str) -> None:
        """Drop what engines said of a session."""
        with self._lock:
            for line in self._lines:
                line.said.pop(session, None)

    def close(self) -> None:
        """Close the sockets; from now on nobody answers."""
        with self._lock:
            self._closed = True
            for line in self._lines:
                line.socket.close(linger=0)
