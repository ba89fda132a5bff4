"""Who gets in on an engine's local socket: the one client that has the token."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import os
import secrets
import shutil
import socket
import struct
from collections.abc import Callable

from distnb.common.leftovers import own_folder
from distnb.wire.channel import LARGEST
from distnb.wire.stream import Stream

__all__ = ["PeerAuthentication"]


class PeerAuthentication:
    """A local socket, in a folder of its own, through which one client comes in.

    Parameters
    ----------
    loop : asyncio.AbstractEventLoop
        The engine's main loop.
    admit : callable
        Gets the client's end, once it has shown the token.

    Attributes
    ----------
    address, token : str
        Where the socket is, and what the client must send there first.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, admit: Callable[[Stream], None]) -> None:
        self._loop = loop
        self._admit = admit
        self._folder = str(own_folder())
        self.address = f"{self._folder}/socket"
        self.token = secrets.token_hex()
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(self.address)
        self._socket.listen()
        self._socket.setblocking(False)
        #: Who has not shown the token yet, by descriptor.
        self._strangers: dict[int, Stream] = {}
        loop.add_reader(self._socket, self._meet)

    def close(self) -> None:
        """Let nobody in any more."""
        for descriptor in list(self._strangers):
            self._forget(descriptor).close()
        if self._folder:
            self._loop.remove_reader(self._socket)
            self._socket.close()
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = ""

    def _meet(self) -> None:
        with contextlib.suppress(OSError):  # it is gone again
            end = self._socket.accept()[0]
            if not _ours(end):
                return end.close()
            stranger = Stream(end, len(self.token))
            (descriptor,) = stranger.descriptors
            self._strangers[descriptor] = stranger
            self._loop.add_reader(descriptor, self._ask, descriptor)

    def _ask(self, descriptor: int) -> None:
        stranger = self._strangers[descriptor]
        found = stranger.receive()
        if found is not None and hmac.compare_digest(found[0], self.token.encode()):
            self._forget(descriptor)
            self.close()
            stranger.most = LARGEST
            self._admit(stranger)
        elif found is not None or stranger.closed:
            self._forget(descriptor).close()

    def _forget(self, descriptor: int) -> Stream:
        self._loop.remove_reader(descriptor)
        return self._strangers.pop(descriptor)


def _ours(end: socket.socket) -> bool:
    """Tell whether a process of this user is at the other end, where the system says so."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    who = struct.Struct("iII")  # process, user, group
    found = end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, who.size)
    return bool(who.unpack(found)[1] == os.geteuid())
