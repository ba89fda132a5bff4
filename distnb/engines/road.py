"""The engine's end of the direct road: a socket on the main loop, on which a client sends batches.

The loop is the one that runs ``%px``, so the two never overlap and need no lock. Only a client with
the right key gets in, and what travels is encrypted (CURVE). Large arrays of a client on the same
host take a second socket, in a folder that nobody else may enter: the kernel guards it as well as
encryption would, and at the speed of memory.
"""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import shutil
import signal
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import zmq

from distnb.channel import SMALL, Channel
from distnb.engines.guard import Guard, interface
from distnb.engines.sideroad import SideRoad
from distnb.interrupts import held
from distnb.protocol import Reply

__all__ = ["Road"]

#: Milliseconds to wait for a batch that was sent before.
_LATE = 10_000


class Road:
    """A listening socket for one client, and one for its large arrays.

    Parameters
    ----------
    run : callable
        Runs a batch: ``run(session, message, buffers)``.
    key : str
        The client's public key.
    client_host : str
        Where the client is, if not on this host: the socket then listens on the interface that
        leads there, else on loopback.
    answer : callable
        What engines say meanwhile (:class:`~distnb.engines.sideroad.SideRoad`).

    Attributes
    ----------
    place : (str, str, str, str)
        Address and public key of the socket, the address of that for large arrays, and that of the
        side road.
    """

    def __init__(
        self,
        run: Callable[[str, bytes, list[np.ndarray]], Reply],
        key: str,
        client_host: str,
        answer: Callable[[str], Any],
    ) -> None:
        self._run = run
        self._done = 0
        self._context = zmq.Context()  # the guard must not judge ipykernel's sockets
        self._guard = Guard(self._context, key)
        small, (public, secret) = self._socket(), zmq.curve_keypair()
        small.curve_secretkey = secret
        small.curve_server = True
        small.bind(f"tcp://{interface(client_host)}:*")
        large = small if client_host else self._socket()
        #: The folder of the second socket, until the client has connected.
        self._folder = "" if client_host else tempfile.mkdtemp(prefix="distnb-")
        if self._folder:
            large.bind(f"ipc://{self._folder}/road")
        ends = [s.getsockopt_string(zmq.LAST_ENDPOINT).rstrip("\0") for s in (small, large)]
        self._side = SideRoad(answer, key, client_host, secret)
        large_place = ends[1] if self._folder else ""
        self.place = (ends[0], public.decode(), large_place, self._side.place)
        self._channel = Channel(small, large)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._guard.socket.FD, self._guard.admit)
        for descriptor in self._channel.descriptors:
            self._loop.add_reader(descriptor, self._listen)

    def _socket(self) -> zmq.Socket[bytes]:
        made = self._context.socket(zmq.DEALER)
        made.set_hwm(0)
        made.sndtimeo = 0  # a client that is gone keeps nobody waiting
        return made

    def close(self) -> None:
        """Close the sockets."""
        for descriptor in (self._guard.socket.FD, *self._channel.descriptors):
            self._loop.remove_reader(descriptor)
        self._context.destroy(linger=0)
        self._side.close()
        self._tidy()

    def _tidy(self) -> None:
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = ""

    def catch_up(self, number: int) -> None:
        """Run all batches up to this one: it was sent before what asks for it."""
        try:
            while self._done < number:
                if not self._channel.ready(_LATE):
                    raise TimeoutError(f"batch {number}: got none, expected it long ago")
                self._step()
        finally:
            self._loop.call_soon(self._listen)

    def _listen(self) -> None:
        """Take one message, then let the loop do other things, and look again."""
        if not self._context.closed and self._channel.ready():
            self._step()
            self._loop.call_soon(self._listen)

    def _step(self) -> None:
        """Take a message and run the batch that it completes."""
        # ipykernel ignores Ctrl-C between its own messages; a batch lets it in
        with held(forget=True, handler=signal.default_int_handler):
            found = self._channel.receive()
            if found is not None:
                self._answer(*found)

    def _answer(self, head: bytes, buffers: list[np.ndarray]) -> None:
        intro, _, message = head.partition(b"\n")
        number, session = intro.decode().split(" ")
        arrays = buffers
        try:
            if session:
                content, arrays = _pickled(self._run(session, message, buffers))
            else:  # a greeting; it goes back as it came
                content = message
                self._tidy()
            state = "ok"
        except BaseException as error:  # what a batch raises is no reply, but the client must know
            state, content, arrays = "error", repr(error).encode(), []
        self._done = int(number)
        with contextlib.suppress(zmq.Again):  # the client is gone
            self._channel.send(f"{number} {state}\n".encode() + content, arrays)


def _pickled(reply: Reply) -> tuple[bytes, list[np.ndarray]]:
    """Return a reply as bytes, and apart from it its large arrays."""
    arrays = []

    def along(buffer: pickle.PickleBuffer) -> bool:
        raw = np.frombuffer(buffer.raw(), np.uint8)
        if len(raw) > SMALL:
            arrays.append(raw)
        return len(raw) <= SMALL

    return pickle.dumps(reply, protocol=5, buffer_callback=along), arrays
