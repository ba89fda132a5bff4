"""The engine's end of the socket transport: on the main loop, it takes batches and runs them.

The loop is the one that runs ``%px``, so the two never overlap and need no lock. A client on the
same host comes by a local socket in a folder that nobody else may enter: the kernel protects it as
well as encryption would, and no thread stands in between. One of another host comes by ZeroMQ: only
the one with the right key gets in, and what travels is encrypted (CURVE).
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
import zmq

from distnb.common.interrupts import deferred_interrupts
from distnb.engines.server.curve import CurveAuthentication, interface
from distnb.engines.server.monitor import MonitorServer
from distnb.engines.server.peer_auth import PeerAuthentication
from distnb.wire import replies
from distnb.wire.channel import Arrays, Channel
from distnb.wire.messages import Reply
from distnb.wire.stream import Stream

__all__ = ["BatchServer"]

#: Milliseconds to wait for a batch that was sent before.
_LATE = 10_000
#: Seconds for which an engine that has answered looks for the next batch, before it sleeps.
_SOON = 300e-6
#: Bytes that are kept for a reply where memory has run out: what tells of many failures is long.
_SPARE = 1 << 22


class BatchServer:
    """A listening socket for one client.

    Parameters
    ----------
    run : callable
        Runs a batch: ``run(session, message, buffers)``.
    key : str
        The client's public key.
    client_host : str
        Where the client is, if not on this host: the socket then listens on the interface that
        leads there.
    answer : callable
        What engines say meanwhile (:class:`~distnb.engines.server.monitor.MonitorServer`).

    Attributes
    ----------
    place : (str, str, str, str)
        Address and public key of the socket, the token for a local one, and the address of the
        monitor channel.
    """

    def __init__(
        self,
        run: Callable[[str, bytes, Arrays], Reply],
        key: str,
        client_host: str,
        answer: Callable[[str, int], Any],
    ) -> None:
        self._run = run
        self._done = 0
        self._spare: bytearray | None = bytearray(_SPARE)
        self._loop = asyncio.get_running_loop()
        self._context = zmq.Context()  # CURVE must not judge ipykernel's sockets
        self._local: PeerAuthentication | None = None
        self._channel: Channel | Stream | None = None
        self._listening: list[int] = []
        public, secret = zmq.curve_keypair()
        self._monitor = MonitorServer(answer, key, client_host, secret)
        token = ""
        if client_host or not hasattr(socket, "AF_UNIX"):
            address = self._open(key, client_host, secret)
        else:
            self._local = PeerAuthentication(self._loop, self._admit)
            address, token = self._local.address, self._local.token
        self.place = (address, public.decode(), token, self._monitor.place)

    def _open(self, key: str, client_host: str, secret: bytes) -> str:
        """Listen for a client by TCP; return the address."""
        curve = self._curve = CurveAuthentication(self._context, key)
        made = self._context.socket(zmq.DEALER)
        made.set_hwm(0)
        made.sndtimeo = 0  # a client that is gone keeps nobody waiting
        made.curve_secretkey = secret
        made.curve_server = True
        made.bind(f"tcp://{interface(client_host)}:*")
        self._listening = [curve.socket.FD]
        self._loop.add_reader(curve.socket.FD, curve.admit)
        self._admit(Channel(made))
        return made.getsockopt_string(zmq.LAST_ENDPOINT).rstrip("\0")

    def _admit(self, channel: Channel | Stream) -> None:
        """Take batches from a client."""
        self._channel = channel
        self._listening += channel.descriptors
        for descriptor in channel.descriptors:
            self._loop.add_reader(descriptor, self._listen)
        self._loop.call_soon(self._listen)  # something may have come with what let it in

    def close(self) -> None:
        """Close the sockets."""
        self._leave()
        if self._local is not None:
            self._local.close()
        self._context.destroy(linger=0)
        self._monitor.close()

    def _leave(self) -> None:
        """Take nothing from the client any more."""
        for descriptor in self._listening:
            self._loop.remove_reader(descriptor)
        self._listening.clear()
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()

    def catch_up(self, number: int) -> None:
        """Run all batches up to this one: it was sent before what asks for it."""
        try:
            while self._done < number:
                channel = self._channel
                if channel is None or not channel.ready(_LATE):
                    raise TimeoutError(f"batch {number}: got none, expected it long ago")
                self._step(channel)
        finally:
            self._loop.call_soon(self._listen)

    def _listen(self) -> None:
        """Take one message, then let the loop do other things, and look again."""
        channel = self._channel
        if channel is None:
            return
        self._step(channel)
        if channel.closed:  # the client is gone
            self._leave()
        elif self._channel is not None and (channel.busy or _soon(channel)):
            # Of what was read ahead no descriptor tells.
            self._loop.call_soon(self._listen)

    def _step(self, channel: Channel | Stream) -> None:
        """Take a message and run the batch that it completes."""
        # ipykernel ignores Ctrl-C between its own messages; a batch lets it in
        with deferred_interrupts(forget=True, handler=signal.default_int_handler):
            found = channel.receive()
            if found is not None:
                self._answer(channel, *found)

    def _answer(self, channel: Channel | Stream, head: bytes, buffers: Arrays) -> None:
        intro, _, message = head.partition(b"\n")
        try:
            number, session = intro.decode().split(" ")
            done = int(number)
        except ValueError:  # no batch: there is nobody to answer to
            return
        arrays: list[np.ndarray] = []
        try:
            if session:
                content, arrays = self._encoded(done, self._run(session, message, buffers))
            else:  # a greeting; it goes back as it came
                content = f"{number} ok\n".encode() + message
                arrays = [a for a in buffers if a is not None]
        except BaseException as error:  # what a batch raises is no reply, but the client must know
            content, arrays = f"{number} error\n{error!r}".encode(), []
        self._done = done
        try:
            channel.send(content, arrays)
        except zmq.Again:  # the client is gone
            pass
        except MemoryError:  # even for a few bytes: the client takes it for one that died
            self._leave()

    def _encoded(self, number: int, reply: Reply) -> tuple[bytes, list[np.ndarray]]:
        """Return a reply as it is sent; if there is no memory, in that which was kept for it.

        Without a reply the client would wait for ever.
        """
        try:
            self._spare = self._spare or bytearray(_SPARE)
            return _as_sent(number, reply)
        except MemoryError:
            self._spare = None
            return _as_sent(number, reply)


def _soon(channel: Channel | Stream) -> bool:
    """Tell whether the next batch comes in a moment; meanwhile others may have the core.

    A process that sleeps is woken late, and at the cost of the notebook if they share a core.
    """
    until = perf_counter() + _SOON
    while perf_counter() < until:
        if channel.ready():
            return True
        os.sched_yield()
    return False


def _as_sent(number: int, reply: Reply) -> tuple[bytes, list[np.ndarray]]:
    content, arrays = replies.encode(reply)
    return f"{number} ok\n".encode() + content, arrays
