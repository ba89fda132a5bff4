"""One end of a local socket between a client and an engine of the same host.

What is sent goes into the kernel from the thread that sends it, and wakes up the one that waits: no
thread stands in between. Arrays are received where they are to be. What the kernel does not take
at once, because the other end is at work, a thread hands over as there is room.
"""

from __future__ import annotations

import _thread
import select
import socket
import struct
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np

from distnb.wire.channel import LARGEST, Arrays, raw, room

__all__ = ["HANGUP", "Stream"]

#: In front of each message: the bytes of its head, and how many arrays follow. Sizes come next.
_INTRO = struct.Struct("<QQ")
#: Bytes that the kernel is asked to take from one end before the other reads them.
_ROOM = 1 << 22
#: Pieces that the kernel takes at a time.
_PIECES = 64
#: What tells that the other end was closed.
HANGUP = getattr(select, "POLLRDHUP", 0) | select.POLLHUP
#: Milliseconds after which the thread looks whether the socket was closed.
_LOOK = 100

#: Bytes that are kept for the head of a message when there is no memory for it.
_SPARE = 1 << 20
#: Bytes that are read at a time where there is no memory for them.
_WASTE = 1 << 16
#: Bytes that may be read with what comes first of a message: most often all of it.
_AHEAD = 1 << 16

Message = tuple[bytes, Arrays]


class Stream:
    """Sends and receives heads (bytes) with arrays (of bytes), as ``Channel`` does.

    Parameters
    ----------
    end : socket.socket
        Connected to the other end.
    most : int, optional
        Bytes that a head, with the sizes of the arrays, and each array may have.

    Attributes
    ----------
    busy : bool
        Whether something was read of what comes after the message that was taken in last: of that
        the descriptor tells nothing.
    closed : bool
        Whether it was closed, here or at the other end; also here because what came is no message.
    most : int
        As given; it may be raised.
    """

    def __init__(self, end: socket.socket, most: int = LARGEST) -> None:
        self.closed = False
        self.most = most
        self._socket = end
        end.setblocking(False)
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            with suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, option, _ROOM)
        self._lock = threading.Lock()
        self._unsent: deque[memoryview] = deque()
        #: Whether somebody hands over what is unsent.
        self._sending = False
        self._message: Message | None = None
        self._waste = bytearray(_WASTE)  # made before memory runs out
        self._spare: bytearray | None = None
        self._coming = self._messages()
        self._target = next(self._coming)
        self._room = memoryview(bytearray(_AHEAD))
        #: What was read ahead.
        self._ahead = self._room[:0]

    @property
    def busy(self) -> bool:
        """Whether something was read that the descriptor does not tell of."""
        return bool(self._ahead) and not self.closed

    @property
    def descriptors(self) -> list[int]:
        """File descriptors that are readable as long as something has come."""
        return [] if self.closed else [self._socket.fileno()]

    def close(self) -> None:
        """Close this end; what was not sent is dropped."""
        with self._lock:
            self.closed = True
            self._unsent.clear()
            self._socket.close()

    # -- sending -------------------------------------------------------------------------------

    def send(self, head: bytes, arrays: Sequence[np.ndarray] = ()) -> None:
        """Send a head and arrays. Their memory must not change any more: it is not copied."""
        pieces = [raw(a) for a in arrays]
        intro = _INTRO.pack(len(head), len(pieces))
        sizes = struct.pack(f"<{len(pieces)}Q", *[len(p) for p in pieces])
        # Not as one: no memory may be left for another. What fails for want of it, fails now:
        # after a part of a message nobody could tell where the next one begins.
        whole = [memoryview(intro + sizes), memoryview(head), *[p.data for p in pieces if len(p)]]
        with self._lock:
            if self.closed:
                return
            first = not self._unsent
            self._unsent.extend(whole)
            if first:
                self._push()
            if not self._unsent or self._sending:
                return
        try:
            # Thread.start() would wait for ever for a thread that has no memory to begin.
            _thread.start_new_thread(self._drain, ())
        except (RuntimeError, MemoryError):
            self._drain()  # there is no thread: who sends waits for the other end

    def _push(self) -> None:
        """Hand over what the kernel takes now."""
        unsent = self._unsent
        try:
            while unsent:
                sent = self._socket.sendmsg([unsent[k] for k in range(min(_PIECES, len(unsent)))])
                self._let_go(sent)
        except BlockingIOError:
            return
        except OSError:  # the other end is gone, which is noticed elsewhere
            unsent.clear()

    def _let_go(self, sent: int) -> None:
        """Forget what the kernel has taken; end the stream where there is no memory to know that.

        To send it once more would shift what follows, elements of arrays among it.
        """
        unsent = self._unsent
        try:
            while unsent and sent >= len(unsent[0]):
                sent -= len(unsent.popleft())
            if sent:
                unsent[0] = unsent[0][sent:]
        except MemoryError:
            unsent.clear()
            self._socket.shutdown(socket.SHUT_RDWR)

    def _drain(self) -> None:
        """Hand over the rest, as there is room, unless somebody does."""
        with self._lock:
            if self._sending or self.closed:
                return
            self._sending = True
            poll = select.poll()
            poll.register(self._socket, select.POLLOUT)
        try:
            while self._sending:
                with suppress(MemoryError):  # until there is some again: the other end waits
                    poll.poll(_LOOK)
                    with self._lock:
                        self._push()
                        self._sending = bool(self._unsent)
        except BaseException:  # Ctrl-C, where there is no thread: whoever sends next goes on
            self._sending = False
            raise

    # -- receiving -----------------------------------------------------------------------------

    def ready(self, milliseconds: int = 0) -> bool:
        """Tell whether there is something to take in; wait a while for it."""
        if self.closed or self.busy:
            return self.busy
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(milliseconds))

    def receive(self) -> Message | None:
        """Take in what has come; return a head and its arrays once all of a message is there."""
        while self._message is None:
            try:
                taken = 0 if self.closed else self._take()
                self._target = self._target[taken:]
                if taken and not self._target:
                    self._target = next(self._coming)
            except BlockingIOError:
                return None
            except OSError:  # it may be no message: where the next one begins nobody can tell
                taken = 0
            if not taken:  # the other end is gone
                self.closed = True
                return None
        found, self._message = self._message, None
        return found

    def _take(self) -> int:
        """Put what was read ahead, or is there now, where it is to be; return how many bytes.

        What is read may go on behind that, so that a short message is read at once.
        """
        target, ahead = self._target, self._ahead
        if ahead:
            taken = min(len(ahead), len(target))
            target[:taken], self._ahead = ahead[:taken], ahead[taken:]
        else:
            read = self._socket.recvmsg_into([target, self._room])[0]
            taken = min(read, len(target))
            self._ahead = self._room[: read - taken]
        return taken

    def _head(self, length: int) -> bytearray:
        """Return memory for a head; if there is none, that which was kept for it.

        Without a head nobody could tell where the next message begins.
        """
        try:
            self._spare = self._spare or bytearray(_SPARE)
            return bytearray(length)
        except MemoryError:
            self._spare = None
            return bytearray(length)

    def _messages(self) -> Iterator[memoryview]:
        """Yield where to put what comes next; leave each message when it is complete."""
        while True:
            intro = bytearray(_INTRO.size)
            yield memoryview(intro)
            length, count = _INTRO.unpack(intro)
            text = self._head(self._checked(8 * count + length))
            if text:
                yield memoryview(text)
            arrays: Arrays = []
            for length in struct.unpack_from(f"<{count}Q", text):
                arrays.append(room(self._checked(length)))
                yield from self._targets(length, arrays[-1])
            self._message = bytes(memoryview(text)[8 * count :]), arrays
            del arrays  # whoever takes the message has them alone

    def _checked(self, nbytes: int) -> int:
        if nbytes > self.most:
            raise OSError(f"message: got {nbytes} bytes, expected at most {self.most}; send less")
        return nbytes

    def _targets(self, length: int, array: np.ndarray | None) -> Iterator[memoryview]:
        """Yield where to put the bytes of an array."""
        if array is not None:
            if length:
                yield array.data
            return
        for at in range(0, length, _WASTE):
            yield memoryview(self._waste)[: length - at]
