"""The few things distnb needs of a communicator, over MPI or between threads of one process.

Nothing here blocks: sends and receives are posted and tested, arrivals are probed. Waiting, and
giving up, is decided in one place (:mod:`distnb.engines.exchange`).
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any, Protocol

import numpy as np

__all__ = ["Comm", "MPIComm", "SoloComm", "ThreadComm", "thread_comms"]


class Request(Protocol):
    """A posted send or receive."""

    def test(self) -> bool:
        """Return True once it is done."""


class Incoming(Protocol):
    """A message that has arrived and is matched, but not yet received."""

    nbytes: int

    def receive(self, into: np.ndarray | None) -> Request:
        """Post the receive into a contiguous buffer (None drops an empty message)."""


class Comm(Protocol):
    """A group of ranks that exchange tagged messages."""

    rank: int
    size: int

    def send(self, data: np.ndarray, peer: int, tag: int) -> Request:
        """Post a send of a contiguous array; it must not change until the request is done."""

    def probe(self, peer: int, tag: int) -> Incoming | None:
        """Return a matched message from ``peer`` with ``tag`` if one has arrived."""

    def fresh(self) -> Comm:
        """Return a communicator of the same ranks that no earlier message can reach."""

    def free(self) -> None:
        """Give the communicator back (collective)."""


class _Done:
    """A request that is done."""

    def test(self) -> bool:
        return True


DONE = _Done()


class _MPIRequest:
    def __init__(self, request: Any, *keep: Any) -> None:
        self._request = request
        self._keep = keep  # the buffer must live as long as MPI may touch it

    def test(self) -> bool:
        return bool(self._request.Test())


class _MPIIncoming:
    def __init__(self, message: Any, nbytes: int, byte: Any) -> None:
        self._message = message
        self._byte = byte
        self.nbytes = nbytes

    def receive(self, into: np.ndarray | None) -> Request:
        buffer = np.empty(0, np.uint8) if into is None else into
        return _MPIRequest(self._message.Irecv([buffer, self.nbytes, self._byte]), buffer)


class MPIComm:
    """An MPI communicator; distnb duplicates the one it is given and owns the duplicate."""

    def __init__(self, comm: Any) -> None:
        from mpi4py import MPI

        self._mpi = MPI
        self.raw = comm
        self.rank = comm.Get_rank()
        self.size = comm.Get_size()
        self._status = MPI.Status()

    def send(self, data: np.ndarray, peer: int, tag: int) -> Request:
        request = self.raw.Isend([data, data.nbytes, self._mpi.BYTE], peer, tag)
        return _MPIRequest(request, data)

    def probe(self, peer: int, tag: int) -> Incoming | None:
        message = self.raw.Improbe(peer, tag, self._status)
        if message is None:
            return None
        return _MPIIncoming(message, self._status.Get_count(self._mpi.BYTE), self._mpi.BYTE)

    def fresh(self) -> MPIComm:
        return MPIComm(self.raw.Dup())

    def free(self) -> None:
        if not self._mpi.Is_finalized():
            self.raw.Free()


class SoloComm:
    """A communicator of one rank, without MPI."""

    rank = 0
    size = 1

    def send(self, data: np.ndarray, peer: int, tag: int) -> Request:
        raise RuntimeError("send: got a message on one rank, expected none; report this as a bug")

    def probe(self, peer: int, tag: int) -> Incoming | None:
        return None

    def fresh(self) -> SoloComm:
        return self

    def free(self) -> None:
        pass


class _Box:
    """The messages that wait for one rank."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.waiting: deque[tuple[int, int, np.ndarray]] = deque()


class _ThreadIncoming:
    def __init__(self, data: np.ndarray) -> None:
        self._data = data
        self.nbytes = data.nbytes

    def receive(self, into: np.ndarray | None) -> Request:
        if into is not None:
            into.reshape(-1).view(np.uint8)[:] = self._data
        return DONE


class ThreadComm:
    """Ranks that are threads of one process: for teaching and tests, with no MPI at all."""

    def __init__(self, rank: int, boxes: list[_Box], abort: threading.Event) -> None:
        self.rank = rank
        self.size = len(boxes)
        self.abort = abort
        self._boxes = boxes

    def send(self, data: np.ndarray, peer: int, tag: int) -> Request:
        box = self._boxes[peer]
        copy = np.frombuffer(data.tobytes(), np.uint8)
        with box.lock:
            box.waiting.append((self.rank, tag, copy))
        return DONE

    def probe(self, peer: int, tag: int) -> Incoming | None:
        if self.abort.is_set():
            raise KeyboardInterrupt
        box = self._boxes[self.rank]
        with box.lock:
            for i, (source, found, data) in enumerate(box.waiting):
                if source == peer and found == tag:
                    del box.waiting[i]
                    return _ThreadIncoming(data)
        return None

    def fresh(self) -> ThreadComm:
        # All ranks are idle when an epoch starts, so dropping what is left reaches all.
        box = self._boxes[self.rank]
        with box.lock:
            box.waiting.clear()
        self.abort.clear()
        return self

    def free(self) -> None:
        pass


def thread_comms(n: int) -> list[ThreadComm]:
    """Return the communicators of ``n`` ranks in this process."""
    boxes = [_Box() for _ in range(n)]
    abort = threading.Event()
    return [ThreadComm(r, boxes, abort) for r in range(n)]
