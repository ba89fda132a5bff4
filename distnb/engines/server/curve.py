"""Who gets in on an engine's sockets: the one client with the right key (ZeroMQ's CURVE)."""

from __future__ import annotations

import socket

import zmq
from zmq.utils import z85

__all__ = ["CurveAuthentication", "interface"]


class CurveAuthentication:
    """Answers ZeroMQ's question whom to let in, for all sockets of a context.

    Parameters
    ----------
    context : zmq.Context
        One of its own: it must not judge other sockets of the process.
    key : str
        The client's public key.

    Attributes
    ----------
    socket : zmq.Socket
        Readable when there is a question.
    """

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], key: str) -> None:
        self._allowed = z85.decode(key)
        self.socket = context.socket(zmq.REP)
        self.socket.bind("inproc://zeromq.zap.01")  # where ZeroMQ asks

    def admit(self) -> None:
        """Answer all questions (ZeroMQ's authentication protocol)."""
        while self.socket.poll(0):
            version, request, _, _, _, mechanism, *keys = self.socket.recv_multipart()
            status = b"200" if (mechanism, keys) == (b"CURVE", [self._allowed]) else b"400"
            self.socket.send_multipart([version, request, status, b"", b"", b""])


def interface(client_host: str) -> str:
    """Return the address of the interface that leads to a host; loopback if there is none."""
    if not client_host:
        return "127.0.0.1"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((client_host, 9))  # sends nothing
        return str(probe.getsockname()[0])
