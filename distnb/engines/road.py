"""The engine's end of the direct road: a socket on the main loop, on which a client sends batches.

The loop is the one that runs ``%px``, so the two never overlap and need no lock. Only a client with
the right key gets in, and all that travels is encrypted (CURVE).
"""

from __future__ import annotations

import asyncio
import pickle
import signal
import socket
from collections.abc import Callable

import numpy as np
import zmq
from zmq.utils import z85

from distnb.frames import Incoming, messages
from distnb.interrupts import held
from distnb.protocol import Reply

__all__ = ["Road"]

#: Arrays of a reply from this size on travel beside it, without a copy.
_BESIDE = 1 << 16
#: Milliseconds to wait for a batch that was sent before.
_LATE = 10_000


class Road:
    """A listening socket for one client.

    Parameters
    ----------
    run : callable
        Runs a batch: ``run(session, message, buffers)``.
    key : str
        The client's public key.
    client_host : str
        Where the client is, if not on this host: the socket then listens on the interface that
        leads there, else on loopback.

    Attributes
    ----------
    address, key : str
        Where the socket listens, and its own public key.
    """

    def __init__(
        self, run: Callable[[str, bytes, list[np.ndarray]], Reply], key: str, client_host: str
    ) -> None:
        self._run = run
        self._allowed = z85.decode(key)
        self._done = 0
        self._peers: dict[bytes, Incoming] = {}
        # A context of its own: its guard must not judge ipykernel's sockets.
        self._context = zmq.Context()
        self._guard = self._context.socket(zmq.REP)
        self._guard.bind("inproc://zeromq.zap.01")  # where ZeroMQ asks whom to let in
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.set_hwm(0)  # beyond a mark, a router drops what it should send
        public, self._socket.curve_secretkey = zmq.curve_keypair()
        self._socket.curve_server = True
        self._socket.bind(f"tcp://{_interface(client_host)}:*")
        self.key = public.decode()
        self.address = self._socket.getsockopt_string(zmq.LAST_ENDPOINT)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._guard.FD, self._admit)
        self._loop.add_reader(self._socket.FD, self._listen)

    def close(self) -> None:
        """Close the socket."""
        self._loop.remove_reader(self._guard.FD)
        self._loop.remove_reader(self._socket.FD)
        self._context.destroy(linger=0)

    def catch_up(self, number: int) -> None:
        """Run all batches up to this one: it was sent before what asks for it."""
        while self._done < number:
            if not self._step(_LATE):
                raise TimeoutError(f"batch {number}: got none, expected it long ago")
        self._loop.call_soon(self._listen)

    def _admit(self) -> None:
        """Let the one client in (ZeroMQ's authentication protocol)."""
        while self._guard.poll(0):
            version, request, _, _, _, mechanism, *keys = self._guard.recv_multipart()
            status = b"200" if (mechanism, keys) == (b"CURVE", [self._allowed]) else b"400"
            self._guard.send_multipart([version, request, status, b"", b"", b""])

    def _listen(self) -> None:
        """Take one message, then let the loop do other things.

        The file descriptor tells of a message once only, and sending may use that up. So whoever
        took a message looks again afterwards.
        """
        if not self._socket.closed and self._step(0):
            self._loop.call_soon(self._listen)

    def _step(self, milliseconds: int) -> bool:
        """Take a message and run the batch that it completes; tell whether there was one."""
        # ipykernel ignores Ctrl-C between its own messages; a batch lets it in
        with held(forget=True, handler=signal.default_int_handler):
            if not self._socket.poll(milliseconds):
                return False
            peer, *frames = self._socket.recv_multipart(copy=False)
            incoming = self._peers.setdefault(peer.bytes, Incoming())
            found = incoming.take([frame.buffer for frame in frames])
            if found is not None:
                self._answer(peer.bytes, *found)
            return True

    def _answer(self, peer: bytes, head: bytes, buffers: list[np.ndarray]) -> None:
        intro, _, message = head.partition(b"\n")
        number, session = intro.decode().split(" ")
        arrays: list[np.ndarray] = []
        try:
            reply = self._run(session, message, buffers) if session else None
            state, content = "ok", _pickled(reply, arrays)
        except BaseException as error:  # what a batch raises is no reply, but the client must know
            state, content, arrays = "error", repr(error).encode(), []
        self._done = max(self._done, int(number))
        for frames in messages(f"{number} {state}\n".encode() + content, arrays):
            self._socket.send_multipart([peer, *frames], copy=False)


def _pickled(reply: Reply | None, arrays: list[np.ndarray]) -> bytes:
    """Return a reply as bytes, but for its large arrays, which are put into a list."""

    def beside(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes >= _BESIDE:
            arrays.append(np.frombuffer(raw, np.uint8))
        return raw.nbytes < _BESIDE

    return pickle.dumps(reply, protocol=5, buffer_callback=beside)


def _interface(client_host: str) -> str:
    """Return the address of the interface that leads to a host."""
    if not client_host:
        return "127.0.0.1"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((client_host, 9))  # sends nothing
        return str(probe.getsockname()[0])
