"""The few things distnb needs of a communicator, over MPI or between threads of one process.

Nothing here blocks: sends and receives are posted and tested, arrivals are probed. Waiting, and
giving up, is decided in one place (:mod:`distnb.engines.runtime.exchange`).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

import numpy as np

__all__ = ["ABORT", "Comm", "MPIComm", "SoloComm", "ThreadComm", "thread_comms"]

#: Tag of the message by which a rank tells that it gave up: the highest that MPI guarantees.
ABORT = (1 << 15) - 1


class Request(Protocol):
    """A posted send or receive."""

    def test(self) -> bool:
        """Return True once it is done."""


class Incoming(Protocol):
    """A message that has arrived and is matched, but not yet received."""

    nbytes: int

    def receive(self, into: np.ndarray | None) -> Request:
        """Post the receive into a contiguous buffer; None drops the message, without memory."""


class Comm(Protocol):
    """A group of ranks that exchange tagged messages."""

    rank: int
    size: int
    #: What was posted and is not known to be done, and with it the buffers that it needs.
    pending: set[Request]
    #: Why another rank has given up what they do together, if it said so.
    why: str

    def send(self, data: np.ndarray, peer: int, tag: int) -> Request:
        """Post a send of a contiguous array; it must not change until the request is done."""

    def probe(self, peer: int, tag: int) -> Incoming | None:
        """Return a matched message from ``peer`` with ``tag`` if one has arrived."""

    def abort(self, why: str = "") -> None:
        """Make all ranks that wait on this communicator give up, and tell them why."""

    def check(self) -> None:
        """Raise KeyboardInterrupt if a rank gave up."""

    def fresh(self) -> Comm:
        """Return a communicator of the same ranks that no earlier message can reach.

        All ranks make the same ones in the same order, each of the one before, when that is ready.
        """

    def ready(self) -> bool:
        """Tell whether all ranks have asked for it, so that it can be used."""

    def free(self) -> None:
        """Give the communicator back (collective)."""


class _Done:
    """A request that is done."""

    def test(self) -> bool:
        return True


DONE = _Done()


#: Bytes that are told of why a rank gives up: MPI sends so few at once, whether received or not.
_LONGEST = 1000
#: Where messages are received that nobody wants.
_WASTE = bytearray(1 << 16)
#: Bytes that are kept for MPI, which needs some to tell what is received where, and by whom.
_SPARE = 1 << 22


class _Spare:
    """Memory for what must not fail, where there is no other: it is had again when there is."""

    def __init__(self) -> None:
        self._kept: bytearray | None = None

    def keep(self) -> None:
        """Have it, if that can be."""
        if self._kept is None:
            with suppress(MemoryError):
                self._kept = bytearray(_SPARE)

    def lend(self, post: Callable[[], Request]) -> Request:
        """Return what ``post()`` returns, which has this memory if it fails without."""
        self.keep()
        try:
            return post()
        except Exception:  # MPI's, of which one kind stands for all
            self._kept = None
            return post()


_spare = _Spare()


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
        """Post the receive; nobody else can once a message is matched, and its sender waits."""
        if into is None:
            return _spare.lend(self._drop)
        return _spare.lend(partial(self._take, into))

    def _take(self, into: np.ndarray) -> Request:
        return _MPIRequest(self._message.Irecv([into, self.nbytes, self._byte]), into)

    def _drop(self) -> Request:
        """Receive all into the same little memory, over and over: there may be no more.

        A receive of too little would be an error, and breaks the memory under Open MPI 5.
        """
        times, rest = divmod(self.nbytes, len(_WASTE))
        block = self._byte.Create_hvector(times, len(_WASTE), 0)
        kind = self._byte.Create_struct([1, rest], [0, 0], [block, self._byte]).Commit()
        request = self._message.Irecv([_WASTE, 1, kind])
        block.Free()
        kind.Free()  # MPI keeps it until the request is done
        return _MPIRequest(request)


class MPIComm:
    """An MPI communicator; distnb duplicates the one it is given and owns the duplicate."""

    def __init__(self, comm: Any, made: Any = None, like: MPIComm | None = None) -> None:
        from mpi4py import MPI

        self._mpi = MPI
        self.raw = comm
        self.rank: int = comm.Get_rank() if like is None else like.rank
        self.size: int = comm.Get_size() if like is None else like.size
        self._made = made
        self.pending: set[Request] = set()
        #: Grid -> what :mod:`distnb.engines.linalg.blacs` has made of it.
        self.contexts: dict[Any, Any] = {}
        self._status = MPI.Status()
        #: Looks whether it is in vain that this rank waits.
        self.watch: Callable[[], None] | None = None if like is None else like.watch
        self._farewell: list[Request] = []
        self.why = ""
        _spare.keep()  # while there is memory

    def send(self, data: np.ndarray, peer: int, tag: int) -> Request:
        request = self.raw.Isend([data, data.nbytes, self._mpi.BYTE], peer, tag)
        return _MPIRequest(request, data)

    def probe(self, peer: int, tag: int) -> Incoming | None:
        message = self.raw.Improbe(peer, tag, self._status)
        if message is None:
            return None
        return _MPIIncoming(message, self._status.Get_count(self._mpi.BYTE), self._mpi.BYTE)

    def abort(self, why: str = "") -> None:
        if not self.ready():  # then nobody waits for anything on it
            return
        text = np.frombuffer(why.encode()[:_LONGEST], np.uint8)
        others = [r for r in range(self.size) if r != self.rank]
        self._farewell += [self.send(text, r, ABORT) for r in others]

    def check(self) -> None:
        if self.why or (self.ready() and self._is_told_to_stop()):
            raise KeyboardInterrupt
        if self.watch is not None:
            self.watch()

    def _is_told_to_stop(self) -> bool:
        told: bool = self.raw.Iprobe(self._mpi.ANY_SOURCE, ABORT, self._status)
        size = self._status.Get_count(self._mpi.BYTE) if told else 0
        if size:
            text, source = bytearray(size), self._status.Get_source()
            self.raw.Recv([text, size, self._mpi.BYTE], source, ABORT)
            self.why = text.decode(errors="replace")
        return told

    def fresh(self) -> MPIComm:
        raw, request = self.raw.Idup()
        return MPIComm(raw, request, self)

    def ready(self) -> bool:
        if self._made is not None and self._made.Test():
            self._made = None
        return self._made is None

    def free(self) -> None:
        # Nobody may have received what told of an abort: a later communicator, to which MPI may
        # give the same number, would hear of it.
        if not self._mpi.Is_finalized() and self.ready() and self.raw and not self._farewell:
            for context in self.contexts.values():
                context.free()
            self.raw.Free()


class SoloComm:
    """A communicator of one rank, without MPI."""

    rank = 0
    size = 1
    why = ""

    def __init__(self) -> None:
        self.pending: set[Request] = set()

    def send(self, data: np.ndarray, peer: int, tag: int) -> Request:
        raise RuntimeError("send: got a message on one rank, expected none; report this as a bug")

    def probe(self, peer: int, tag: int) -> Incoming | None:
        return None

    def abort(self, why: str = "") -> None:
        pass

    def check(self) -> None:
        pass

    def ready(self) -> bool:
        return True

    def fresh(self) -> SoloComm:
        return self

    def free(self) -> None:
        pass


class _Box:
    """The messages that wait for one rank."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.waiting: deque[tuple[int, tuple[int, int], np.ndarray]] = deque()


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

    why = ""

    def __init__(self, rank: int, boxes: list[_Box], aborted: set[int], epoch: int = 0) -> None:
        self.rank = rank
        self.size = len(boxes)
        self.pending: set[Request] = set()
        self._boxes = boxes
        self._aborted = aborted
        self._epoch = epoch

    def send(self, data: np.ndarray, peer: int, tag: int) -> Request:
        box = self._boxes[peer]
        copy = np.frombuffer(data.tobytes(), np.uint8)
        with box.lock:
            box.waiting.append((self.rank, (self._epoch, tag), copy))
        return DONE

    def probe(self, peer: int, tag: int) -> Incoming | None:
        self.check()
        box = self._boxes[self.rank]
        with box.lock:
            for i, (source, found, data) in enumerate(box.waiting):
                if source == peer and found == (self._epoch, tag):
                    del box.waiting[i]
                    return _ThreadIncoming(data)
        return None

    def abort(self, why: str = "") -> None:
        self._aborted.add(self._epoch)

    def check(self) -> None:
        if self._epoch in self._aborted:
            raise KeyboardInterrupt

    def fresh(self) -> ThreadComm:
        box = self._boxes[self.rank]
        with box.lock:  # others may be in the new epoch already
            old = [m for m in box.waiting if m[1][0] <= self._epoch]
            for message in old:
                box.waiting.remove(message)
        return ThreadComm(self.rank, self._boxes, self._aborted, self._epoch + 1)

    def ready(self) -> bool:
        return True

    def free(self) -> None:
        pass


def thread_comms(n: int) -> list[ThreadComm]:
    """Return the communicators of ``n`` ranks in this process."""
    boxes = [_Box() for _ in range(n)]
    aborted: set[int] = set()
    return [ThreadComm(r, boxes, aborted) for r in range(n)]
