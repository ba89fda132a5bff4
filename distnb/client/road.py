"""The client's end of the direct road: a socket to each engine, shared by the client's sessions.

One socket for all sessions, because what is sent on one socket arrives in order: batches of two
sessions must reach all engines in the same order, or engines would wait for each other.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import zmq

from distnb.errors import EngineError
from distnb.frames import Incoming, messages
from distnb.interrupts import shielded
from distnb.protocol import Reply

__all__ = ["Road"]

#: Seconds to wait for batches on their way, before engines are told to do them first.
_SHORTLY = 0.002


class Road:
    """Sockets to all engines, in the order of their ranks.

    ZeroMQ's sockets are not for several threads at once: all that touches them holds the lock.

    Parameters
    ----------
    ids : list of int
        The engines, for ipyparallel.
    places : sequence of (str, str)
        Address and public key of each engine's socket.
    keys : (bytes, bytes)
        The client's own public and secret key.
    lock : RLock
        Held around whatever goes to several engines.
    call : callable
        Calls a function of the engines' entry by name, through ipyparallel.

    Attributes
    ----------
    users : int
        Sessions that use it.
    """

    def __init__(
        self,
        ids: list[int],
        places: Sequence[tuple[str, str]],
        keys: tuple[bytes, bytes],
        lock: Any,
        call: Callable[..., Any],
    ) -> None:
        self.ids = ids
        self.key = keys[0].decode()
        self.users = 0
        self._sent = self._told = 0
        self._lock = lock
        self._call = call
        self._owner = os.getpid()
        self._context = zmq.Context()
        self._sockets = [self._connect(*place, keys) for place in places]
        self._incoming = [Incoming() for _ in places]
        #: Number of a batch -> rank -> state, content and arrays of its reply.
        self._replies: dict[int, dict[int, tuple[bytes, bytes, list[np.ndarray]]]] = {}
        self._busy = False
        self._descriptors = [each.FD for each in self._sockets]

    def _connect(self, address: str, key: str, keys: tuple[bytes, bytes]) -> Any:
        made = self._context.socket(zmq.DEALER)
        made.set_hwm(0)
        made.curve_serverkey = key.encode()
        made.curve_publickey, made.curve_secretkey = keys
        made.connect(address)
        return made

    def close(self) -> None:
        """Close the sockets, but not in a forked child: they are its parent's."""
        if os.getpid() == self._owner:
            with self._lock:
                self._context.destroy(linger=0)

    def answers(self, seconds: float) -> bool:
        """Tell whether all engines answer within some time."""
        number = self.send("", b"", ())
        end = time.monotonic() + seconds
        while not self.answered(number) and time.monotonic() < end:
            self.pause(0.05)
        return len(self._replies.pop(number)) == len(self._sockets)

    # -- sending -------------------------------------------------------------------------------

    def send(self, session: str, message: bytes, buffers: Sequence[list[np.ndarray]]) -> int:
        """Send a batch of a session, and to each engine its own buffers; return its number."""
        with self._lock:
            self._sent += 1
            head = f"{self._sent} {session}\n".encode() + message
            for rank, each in enumerate(self._sockets):
                for frames in messages(head, buffers[rank] if buffers else ()):
                    each.send_multipart(frames, copy=False)
            self._replies[self._sent] = {}
            return self._sent

    def settle(self) -> None:
        """See to it that what is sent through ipyparallel comes after all batches so far."""
        if not self.users or self._told == self._sent:
            return
        end = time.monotonic() + _SHORTLY
        while not self._all_answered():
            if time.monotonic() > end:
                self._told = self._sent  # before the call, which comes here, too
                with contextlib.suppress(Exception):  # engines that are gone
                    self._call("catch_up", self.key, self._sent)
                return
            self.pause(_SHORTLY)

    def _all_answered(self) -> bool:
        return all(self.answered(number) for number in list(self._replies))

    # -- receiving -----------------------------------------------------------------------------

    def answered(self, number: int) -> bool:
        """Tell whether all engines have answered a batch."""
        found = self._replies[number]
        if len(found) < len(self._sockets):
            shielded(self._receive)  # an interrupt here would lose what was received
        return len(found) == len(self._sockets)

    def _receive(self) -> None:
        """Take in one message of each engine that has sent some."""
        with self._lock:
            self._busy = False
            for rank, each in enumerate(self._sockets):
                # The file descriptor tells of a message once only, and any use of the socket may
                # use that up, so the socket is asked.
                if each.getsockopt(zmq.EVENTS) & zmq.POLLIN:
                    self._busy = True
                    frames = each.recv_multipart(zmq.NOBLOCK, copy=False)
                    found = self._incoming[rank].take([frame.buffer for frame in frames])
                    if found is not None:
                        self._keep(rank, *found)

    def _keep(self, rank: int, head: bytes, arrays: list[np.ndarray]) -> None:
        intro, _, content = head.partition(b"\n")
        number, state = intro.split(b" ")
        found = self._replies.get(int(number))
        if found is not None:  # else nobody waits for it any more
            found[rank] = (state, content, arrays)

    def pause(self, seconds: float) -> None:
        """Wait until something may have come."""
        if not self._busy:
            poll = select.poll()  # a new one: several threads may wait
            for descriptor in self._descriptors:
                poll.register(descriptor, select.POLLIN)
            poll.poll(seconds * 1000)

    def take(self, number: int) -> list[Reply]:
        """Return the replies to a batch, once; raise EngineError where an engine has none."""
        with self._lock:
            found = self._replies.pop(number)
        silent = [rank for rank in range(len(self._sockets)) if rank not in found]
        if silent:
            raise EngineError(f"engines {silent}: died, or lost a batch, before they replied")
        failed = [(rank, text) for rank, (state, text, _) in found.items() if state != b"ok"]
        if failed:
            raise EngineError(f"engine {failed[0][0]}: {failed[0][1].decode()}")
        replies = [found[rank] for rank in range(len(self._sockets))]
        return [pickle.loads(content, buffers=arrays) for _, content, arrays in replies]
