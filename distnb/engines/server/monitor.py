"""The engine's end of the monitor channel: a thread that answers while a batch runs, and stops it.

Batches come in on the main loop, which each of them blocks. So what is to be known or done
meanwhile has a socket of its own, and a thread that sleeps until it is asked.
"""

from __future__ import annotations

import contextlib
import pickle
import threading
from collections.abc import Callable
from typing import Any

import zmq

from distnb.engines.server.curve import CurveAuthentication, interface

__all__ = ["MonitorServer"]


class MonitorServer:
    """A listening socket for one client, and the thread that serves it.

    Parameters
    ----------
    answer : callable
        Returns what a session's worker says of itself: ``answer(session, stop)``. ``stop`` is the
        last batch that is to be given up, 0 for none.
    key : str
        The client's public key.
    client_host : str
        As for :class:`distnb.engines.server.batch_server.BatchServer`.
    secret : bytes
        The engine's own secret key.

    Attributes
    ----------
    place : str
        Address of the socket.
    """

    def __init__(
        self, answer: Callable[[str, int], Any], key: str, client_host: str, secret: bytes
    ) -> None:
        self._answer = answer
        self._context = zmq.Context()
        self._curve = CurveAuthentication(self._context, key)
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.curve_server = True
        self._socket.curve_secretkey = secret
        self._socket.sndtimeo = 0
        self._socket.bind(f"tcp://{interface(client_host)}:*")
        self.place = self._socket.getsockopt_string(zmq.LAST_ENDPOINT).rstrip("\0")
        self._thread = threading.Thread(target=self._serve, name="distnb-monitor", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread, which closes the sockets."""
        self._context.term()
        self._thread.join()

    def _serve(self) -> None:
        """Answer until the context ends. From now on the sockets are this thread's."""
        poller = zmq.Poller()
        poller.register(self._curve.socket, zmq.POLLIN)
        poller.register(self._socket, zmq.POLLIN)
        try:
            while True:
                for ready, _ in poller.poll():
                    if ready is self._socket:
                        self._reply()
                    else:
                        self._curve.admit()
        except zmq.ContextTerminated:
            pass
        finally:
            self._socket.close(linger=0)
            self._curve.socket.close(linger=0)

    def _reply(self) -> None:
        client, *question = self._socket.recv_multipart()
        try:
            _, stop, session = b"".join(question).decode().split(" ")
            content = pickle.dumps(self._answer(session, int(stop)))
        except Exception:  # a session that is gone, or not there yet
            content = pickle.dumps(None)
        with contextlib.suppress(zmq.Again):  # the client does not take answers
            self._socket.send_multipart([client, *question, content])
