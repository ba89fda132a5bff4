"""How a message with arrays travels on a ZeroMQ socket: a head, then chunks of what is large.

ZeroMQ hands out a message only when all of its frames are there. So what is large follows the head
in messages of its own: one chunk is sent or encrypted while the one before is put in its place.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

__all__ = ["CHUNK", "Incoming", "messages"]

#: Bytes of an array that travel in one message.
CHUNK = 1 << 22


def messages(head: bytes, arrays: Sequence[np.ndarray]) -> Iterator[list[Any]]:
    r"""Yield the messages (lists of frames) that carry a head and arrays, as their bytes.

    The frames share memory with the arrays.

    >>> for frames in messages(b"head", [np.arange(3, dtype=np.uint8)]):
    ...     print([bytes(frame) for frame in frames])
    [b'head', b'\x03\x00\x00\x00\x00\x00\x00\x00', b'\x00\x01\x02']
    """
    raw = [np.ascontiguousarray(a).reshape(-1).view(np.uint8) for a in arrays]
    sizes = np.array([len(r) for r in raw], "<i8").tobytes()
    yield [head, sizes, *(r for r in raw if len(r) <= CHUNK)]
    for r in raw:
        if len(r) > CHUNK:
            yield from ([r[at : at + CHUNK]] for at in range(0, len(r), CHUNK))


class Incoming:
    """Puts what one peer sends together again."""

    def __init__(self) -> None:
        self._head = b""
        self._arrays: list[np.ndarray] = []
        #: What is still to come, in order.
        self._missing: deque[np.ndarray] = deque()

    def take(self, frames: Sequence[Any]) -> tuple[bytes, list[np.ndarray]] | None:
        """Take in one message; return a head and its arrays of bytes when all of it is there.

        A chunk without its head, and a head without its chunks, are what a broken connection
        leaves; they are dropped.
        """
        if len(frames) > 1:
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
        self._missing = deque(a for a in self._arrays if len(a) > CHUNK)
        for array, data in zip((a for a in self._arrays if len(a) <= CHUNK), small, strict=True):
            array[...] = np.frombuffer(data, np.uint8)

    def _place(self, data: Any) -> None:
        chunk = np.frombuffer(data, np.uint8)
        left = self._missing.popleft()
        left[: len(chunk)] = chunk
        if len(left) > len(chunk):
            self._missing.appendleft(left[len(chunk) :])
