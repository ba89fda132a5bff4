"""One end of the sockets between a client and an engine: heads, and the arrays that go with them.

ZeroMQ hands out a message only when all of it is there. So what is large travels in chunks, each a
message of its own: one is on its way while the one before is put in its place.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["SMALL", "Channel"]

#: Bytes up to which an array goes along with the head.
SMALL = 1 << 16
#: Bytes of a chunk.
_CHUNK = 1 << 22
_READABLE = 1  # zmq.POLLIN


class Channel:
    """Sends and receives heads (bytes) with arrays (of bytes).

    Parameters
    ----------
    small, large : zmq.Socket
        Connected to the other end; ``large`` is for chunks, and may be the same as ``small``.

    Attributes
    ----------
    busy : bool
        Whether the last look found something.
    """

    def __init__(self, small: Any, large: Any) -> None:
        self._small = small
        self._large = large
        self.busy = False
        self._head = b""
        self._arrays: list[np.ndarray] = []
        #: What is still to come, in order.
        self._missing: deque[np.ndarray] = deque()

    @property
    def descriptors(self) -> list[int]:
        """File descriptors that are readable when something may have come.

        They tell of it once only, and any use of the sockets may use that up; so look first.
        """
        return [socket.FD for socket in {self._small, self._large}]

    def send(self, head: bytes, arrays: Sequence[np.ndarray] = ()) -> None:
        """Send a head and arrays. Their memory must not change any more: it is not copied."""
        raw = [np.ascontiguousarray(a).reshape(-1).view(np.uint8) for a in arrays]
        sizes = np.array([len(r) for r in raw], "<i8").tobytes()
        small = [r for r in raw if len(r) <= SMALL]
        self._small.send_multipart([head, sizes, *small], copy=False)
        for r in raw:
            if len(r) > SMALL:
                for at in range(0, len(r), _CHUNK):
                    self._large.send(r[at : at + _CHUNK], copy=False)

    def ready(self, milliseconds: int = 0) -> bool:
        """Tell whether there is a message; wait a while for one."""
        socket = self._large if self._missing else self._small
        self.busy = bool(socket.EVENTS & _READABLE or (milliseconds and socket.poll(milliseconds)))
        return self.busy

    def receive(self) -> tuple[bytes, list[np.ndarray]] | None:
        """Take in one message, if there is one; return a head and its arrays once all are there."""
        if not self.ready():
            return None
        socket = self._large if self._missing else self._small
        frames = [frame.buffer for frame in socket.recv_multipart(copy=False)]
        if len(frames) > 1:  # while chunks are missing, too: the connection broke, and is new
            self._start(*frames)
        elif self._missing:
            self._place(frames[0])
        else:
            return None
        return None if self._missing else (self._head, self._arrays)

    def _start(self, head: Any, sizes: Any, *small: Any) -> None:
        self._head = bytes(head)
        # Own memory: a frame's may lie at any address, and is read-only.
        self._arrays = [np.empty(n, np.uint8) for n in np.frombuffer(sizes, "<i8").tolist()]
        self._missing = deque(a for a in self._arrays if len(a) > SMALL)
        for array, data in zip((a for a in self._arrays if len(a) <= SMALL), small, strict=True):
            array[...] = np.frombuffer(data, np.uint8)

    def _place(self, data: Any) -> None:
        chunk = np.frombuffer(data, np.uint8)
        left = self._missing.popleft()
        left[: len(chunk)] = chunk
        if len(left) > len(chunk):
            self._missing.appendleft(left[len(chunk) :])
