"""One end of the socket between a client and an engine: heads, and the arrays that go with them.

ZeroMQ hands out a message only when all of it is there. So what is large travels in chunks, each a
message of its own: one is on its way while the one before is put in its place.

An array for which there is no memory where it arrives is None there: what comes after it must not
be taken for it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["LARGEST", "SMALL", "Arrays", "Channel", "raw", "room"]

#: Bytes that no head and no array has: what says so is no message.
LARGEST = 1 << 48
#: Bytes up to which an array goes along with the head.
SMALL = 1 << 16
#: Bytes of a chunk.
_CHUNK = 1 << 22
_READABLE = 1  # zmq.POLLIN

#: The arrays of a message; None is one for which there was no memory.
Arrays = list[np.ndarray | None]


def raw(array: np.ndarray) -> np.ndarray:
    """Return the bytes of an array, which are not copied if they are one run of memory."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def room(nbytes: int) -> np.ndarray | None:
    """Return memory for the bytes of an array, None if there is none."""
    try:
        return np.empty(nbytes, np.uint8)
    except MemoryError:
        return None


class Channel:
    """Sends and receives heads (bytes) with arrays (of bytes).

    Parameters
    ----------
    socket : zmq.Socket
        Connected to the other end.

    Attributes
    ----------
    busy : bool
        Whether the last look found something, or nobody looked since something was sent: to send
        may use up what the descriptor tells.
    closed : bool
        Whether it was closed, here or at the other end: never, ZeroMQ connects again.
    """

    closed = False

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self.busy = False
        self._head = b""
        self._arrays: Arrays = []
        #: Of each array that is still to come, in order, the bytes that are missing, and where to.
        self._missing: deque[tuple[int, np.ndarray | None]] = deque()

    @property
    def descriptors(self) -> list[int]:
        """File descriptors that are readable when something may have come.

        They tell of it once only, and any use of the socket may use that up; so look first.
        """
        return [self._socket.FD]

    def close(self) -> None:
        """Close this end; what was not sent is dropped."""
        self._socket.close(linger=0)

    def send(self, head: bytes, arrays: Sequence[np.ndarray] = ()) -> None:
        """Send a head and arrays. Their memory must not change any more: it is not copied."""
        self.busy = True
        pieces = [raw(a) for a in arrays]
        sizes = np.array([len(p) for p in pieces], "<i8").tobytes()
        small = [p for p in pieces if len(p) <= SMALL]
        self._socket.send_multipart([head, sizes, *small], copy=False)
        for p in pieces:
            if len(p) > SMALL:
                for at in range(0, len(p), _CHUNK):
                    self._socket.send(p[at : at + _CHUNK], copy=False)

    def ready(self, milliseconds: int = 0) -> bool:
        """Tell whether there is a message; wait a while for one."""
        socket = self._socket
        self.busy = bool(socket.EVENTS & _READABLE or (milliseconds and socket.poll(milliseconds)))
        return self.busy

    def receive(self) -> tuple[bytes, Arrays] | None:
        """Take in one message, if there is one; return a head and its arrays once all are there."""
        if not self.ready():
            return None
        frames = [frame.buffer for frame in self._socket.recv_multipart(copy=False)]
        # A new message while chunks are missing, too: the connection broke, and is new.
        taken = self._start(*frames) if len(frames) > 1 else self._place(frames[0])
        return (self._head, self._arrays) if taken and not self._missing else None

    def _start(self, head: Any, sizes: Any, *small: Any) -> bool:
        """Take in what comes first; tell whether it is a message: else it is dropped."""
        self._missing.clear()
        if len(sizes) % 8:
            return False
        # Own memory: a frame's may lie at any address, and is read-only.
        lengths: list[int] = np.frombuffer(sizes, "<i8").tolist()
        if not all(0 <= n <= LARGEST for n in lengths):
            return False
        if [n for n in lengths if n <= SMALL] != [len(data) for data in small]:
            return False
        self._head = bytes(head)
        self._arrays = [room(n) for n in lengths]
        pairs = list(zip(lengths, self._arrays, strict=True))
        self._missing.extend(pair for pair in pairs if pair[0] > SMALL)
        for (_, array), data in zip((p for p in pairs if p[0] <= SMALL), small, strict=True):
            if array is not None:
                array[...] = np.frombuffer(data, np.uint8)
        return True

    def _place(self, data: Any) -> bool:
        """Put a chunk in its place; tell whether there is one: else it is dropped."""
        if not self._missing or not len(data) <= self._missing[0][0]:
            return False
        chunk = np.frombuffer(data, np.uint8)
        left, array = self._missing.popleft()
        if array is not None:
            at = len(array) - left
            array[at : at + len(chunk)] = chunk
        if left > len(chunk):
            self._missing.appendleft((left - len(chunk), array))
        return True
