"""The client's end of the sockets: one to each engine, shared by the client's sessions.

One socket for all sessions, because what is sent on one socket arrives in order: batches of two
sessions must reach all engines in the same order, or engines would wait for each other.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import zmq

from distnb.client.transport.monitor import MonitorClient
from distnb.common.errors import EngineError
from distnb.common.interrupts import shielded
from distnb.wire import replies
from distnb.wire.channel import SMALL, Arrays, Channel
from distnb.wire.messages import Reply
from distnb.wire.stream import HANGUP, Stream

__all__ = ["SocketClient"]

#: Seconds to wait for batches on their way, before engines are told to do them first.
_SHORTLY = 0.002


class _Replies(NamedTuple):
    """The replies to a batch: how many engines got it, and rank -> state, content and arrays."""

    size: int
    found: dict[int, tuple[bytes, bytes, Arrays]]

    @property
    def complete(self) -> bool:
        return len(self.found) == self.size


class SocketClient:
    """Sockets to all engines, in the order of their ranks.

    ZeroMQ's sockets are not for several threads at once: all that touches them holds the lock.

    Parameters
    ----------
    ids : list of int
        The engines, for ipyparallel.
    places : sequence of (str, str, str, str)
        Address and public key of each engine's socket, the token for a local one, and the address
        of the monitor channel.
    keys : (bytes, bytes)
        The client's own public and secret key.
    lock : RLock
        Held around whatever goes to several engines.
    call : callable
        Calls a function of the engines' entry by name, through ipyparallel.

    Attributes
    ----------
    sessions : list
        The transports of the sessions that use it.
    passed : set of str
        Messages of ipyparallel that need not be waited for, although they are not answered.
    monitor : MonitorClient
        On which engines answer while they work.
    """

    def __init__(
        self,
        ids: list[int],
        places: Sequence[tuple[str, str, str, str]],
        keys: tuple[bytes, bytes],
        lock: threading.RLock,
        call: Callable[..., Any],
    ) -> None:
        self.ids = ids
        self.key = keys[0].decode()
        self.sessions: list[Any] = []
        self.passed: set[str] = set()
        self._sent = self._told = 0
        self._lock = lock
        self._call = call
        self._owner = os.getpid()
        self._context = zmq.Context()
        self._channels: list[Channel | Stream] = []
        monitors = [(monitor, key) for _, key, _, monitor in places]
        self.monitor = MonitorClient(self._context, monitors, keys)
        #: The last batch that was sent to each engine.
        self._last = [0] * len(places)
        #: Number of a batch -> what came of it.
        self._replies: dict[int, _Replies] = {}
        try:
            for address, key, token, _ in places:
                made = _local(address, token) if token else self._connect(address, key, keys)
                self._channels.append(made)
        except BaseException:
            self.close()
            raise

    def _connect(self, address: str, key: str, keys: tuple[bytes, bytes]) -> Channel:
        made = self._context.socket(zmq.DEALER)
        made.curve_serverkey = key.encode()
        made.curve_publickey, made.curve_secretkey = keys
        made.set_hwm(0)
        made.connect(address)
        return Channel(made)

    def close(self) -> None:
        """Close the sockets, but not in a forked child: they are its parent's."""
        if os.getpid() == self._owner:
            with self._lock:
                self.monitor.close()
                for each in self._channels:
                    each.close()
                self._context.destroy(linger=0)

    def answers(self, seconds: float) -> bool:
        """Tell whether all engines send back a greeting within some time, a large one too."""
        number = self.send("", b"", [[np.zeros(SMALL + 1, np.uint8)]] * len(self._channels))
        end = time.monotonic() + seconds
        while not self.answered(number) and time.monotonic() < end:
            self.pause(0.05)
        return self._replies.pop(number).complete

    # -- sending -------------------------------------------------------------------------------

    def send(
        self,
        session: str,
        message: bytes,
        buffers: Sequence[list[np.ndarray]],
        engines: int | None = None,
    ) -> int:
        """Send a batch of a session, and to each engine its own buffers; return its number.

        It goes to all engines, or to the first ones.
        """
        with self._lock:
            self._sent += 1
            head = f"{self._sent} {session}\n".encode() + message
            for rank, each in enumerate(self._channels[:engines]):
                each.send(head, buffers[rank] if buffers else ())
                self._last[rank] = self._sent
            self._replies[self._sent] = _Replies(engines or len(self._channels), {})
            return self._sent

    def settle(self) -> None:
        """See to it that what is sent through ipyparallel comes after all batches so far."""
        if not self.sessions or self._told == self._sent:
            return
        end = time.monotonic() + _SHORTLY
        while not self._all_answered():
            if time.monotonic() > end:
                self._told = self._sent  # before the call, which comes here, too
                with contextlib.suppress(Exception):  # engines that are gone
                    self._call("catch_up", self.key, list(self._last))
                return
            self.pause(_SHORTLY)

    def _all_answered(self) -> bool:
        return all(self.answered(number) for number in list(self._replies))

    # -- receiving -----------------------------------------------------------------------------

    def answered(self, number: int) -> bool:
        """Look whether all engines have answered a batch by now."""
        if not self.complete(number):
            shielded(self._receive)  # an interrupt here would lose what was received
        return self.complete(number)

    def complete(self, number: int) -> bool:
        """Tell whether all answers to a batch have been taken in."""
        return self._replies[number].complete

    def missing(self, number: int) -> list[int]:
        """Return the engines that have not answered a batch."""
        size, found = self._replies[number]
        return [rank for rank in range(size) if rank not in found]

    def hopeless(self, number: int) -> bool:
        """Tell whether an engine that has not answered a batch has left, and said its last."""
        return any(self._channels[rank].closed for rank in self.missing(number))

    def _receive(self) -> None:
        """Take in one message of each engine that has sent some."""
        with self._lock:
            for rank, each in enumerate(self._channels):
                found = each.receive()
                if found is not None:
                    self._keep(rank, *found)

    def _keep(self, rank: int, head: bytes, arrays: Arrays) -> None:
        intro, _, content = head.partition(b"\n")
        number, state = intro.split(b" ")
        waiting = self._replies.get(int(number))
        if waiting is not None:  # else nobody waits for it any more
            waiting.found[rank] = (state, content, arrays)

    def pause(self, seconds: float) -> None:
        """Wait until something may have come."""
        if not any(each.busy for each in self._channels):
            poll = select.poll()  # a new one: several threads may wait
            for each in self._channels:
                for descriptor in each.descriptors:
                    poll.register(descriptor, select.POLLIN)
            poll.poll(seconds * 1000)

    def gone(self) -> list[int]:
        """Return the engines that have closed their end: they have died, or left."""
        poll = select.poll()
        for each in self._channels:
            for descriptor in each.descriptors:
                poll.register(descriptor, HANGUP)
        left = {descriptor for descriptor, _ in poll.poll(0)}
        return [
            rank
            for rank, each in enumerate(self._channels)
            if each.closed or not left.isdisjoint(each.descriptors)
        ]

    def take(self, number: int) -> list[Reply]:
        """Return the replies to a batch, once; raise EngineError where an engine has none."""
        with self._lock:
            size, found = self._replies.pop(number)
        silent = [rank for rank in range(size) if rank not in found]
        if silent:
            raise EngineError(f"engines {silent}: died, or lost a batch, before they replied")
        failed = [(rank, text) for rank, (state, text, _) in found.items() if state != b"ok"]
        if failed:
            raise EngineError(f"engine {failed[0][0]}: {failed[0][1].decode()}")
        return [replies.decode(*found[rank][1:]) for rank in range(size)]


def _local(address: str, token: str) -> Stream:
    """Return an end of an engine's local socket, after showing the token."""
    end = socket.socket(socket.AF_UNIX)
    try:
        end.connect(address)
    except OSError:
        end.close()
        raise
    made = Stream(end)
    made.send(token.encode())
    return made
