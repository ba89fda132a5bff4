"""Engines of ipyparallel, with batches on sockets of our own; through ipyparallel without these.

ipyparallel starts and watches engines, and carries ``%px`` and signals. Batches go by sockets of
our own, ten times faster. The order of both is kept:

- Before a message goes through ipyparallel while batches are on their way, the engines are told
  through ipyparallel to do these first.
- While a message of ipyparallel is not done, batches go through ipyparallel, too.
"""

from __future__ import annotations

import contextlib
import functools
import socket
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import zmq

from distnb.client.transport import client_hooks
from distnb.client.transport.contract import PAUSE, Buffers, poll
from distnb.client.transport.ipyparallel_transport import IPyParallelTransport, Source
from distnb.client.transport.socket_client import SocketClient
from distnb.common.config import config
from distnb.common.errors import EngineError, explain
from distnb.common.interrupts import deferred_interrupts
from distnb.measure.snapshot import Sample
from distnb.wire.messages import Reply

if TYPE_CHECKING:
    import ipyparallel

    from distnb.client.transport.ipyparallel_transport import Results

__all__ = ["SocketTransport"]

#: Seconds that engines have to answer on new sockets.
_PATIENCE = 3.0
#: Seconds after which the controller has told of a death.
_NEWS = 1.0
#: Seconds to wait for a message of ipyparallel that engines may have answered soon.
_SHORTLY = 0.01


class _Relayed(list[Any]):
    """A ticket of ipyparallel, and the messages that were to be done before."""

    def __init__(self, before: set[str], results: Results) -> None:
        super().__init__(results)
        self.before = before


class SocketTransport(IPyParallelTransport):
    """Engines of an ipyparallel client that get their batches on sockets of their own.

    ``kind`` tells how they get them, and why it is not by sockets.

    Parameters
    ----------
    client : ipyparallel.Client
        A connected client.
    session : str
        A name for the session, unique on the engines.
    engines : int, optional
        How many of the engines, the first ones; by default all.
    """

    def __init__(
        self,
        client: ipyparallel.Client,
        session: str,
        engines: int | None = None,
        source: Source | None = None,
    ) -> None:
        self.sockets: SocketClient | None = None
        super().__init__(client, session, engines, source)

    def _reach(self, ids: list[int]) -> None:
        super()._reach(ids)
        if config.road == "direct":
            try:
                self.sockets = self._join()
                self.kind = "direct sockets"
            except Exception as error:  # whatever it is, there is another way
                self.kind = f"ipyparallel (no direct sockets: {error!r})"

    def renew(self) -> None:
        if self.sockets is not None:
            self._forget(self.sockets)
        super().renew()

    def _forget(self, sockets: SocketClient) -> None:
        """Leave sockets whose other ends are gone."""
        with self._order:
            self.sockets = None
            sockets.sessions.remove(self)
            if _shared(self.client) is sockets:
                client_hooks.uninstall(self.client, "order")
            if not sockets.sessions:
                sockets.close()

    def _join(self) -> SocketClient:
        """Return the sockets that the client's sessions share; make them if there are none."""
        with self._order:
            sockets = _shared(self.client)
            if sockets is None or sockets.ids != self._all:
                # What others were sent that have died is never answered.
                before = set(self.client.outstanding) if self.generation else set()
                sockets = self._open()
                sockets.passed |= before
                client_hooks.install(
                    self.client, "order", _InOrder(self.client, sockets, self._order)
                )
            sockets.sessions.append(self)
            return sockets

    def _open(self) -> SocketClient:
        keys = zmq.curve_keypair()
        key, away = keys[0].decode(), self._hosts != {socket.gethostname()}
        call = functools.partial(self._call, self._everyone)
        asked = call("open_server", key, _my_address(self.client) if away else "")
        try:
            sockets = SocketClient(self._all, asked.get(_PATIENCE), keys, self._order, call)
            if sockets.answers(_PATIENCE):
                return sockets
            sockets.close()
            raise TimeoutError(f"no answer within {_PATIENCE} s")
        except BaseException:
            call("close_server", key)
            raise

    # A ticket is the number of a batch on the sockets, or ipyparallel's.

    @property
    def _batches(self) -> SocketClient:
        """The sockets, where a ticket tells that there are some."""
        assert self.sockets is not None
        return self.sockets

    def submit(self, message: bytes, buffers: Buffers) -> int | Results:  # type: ignore[override]
        with self._order:
            if self.sockets is None:
                return super().submit(message, buffers)
            before = self.client.outstanding - self.sockets.passed
            if before:
                return _Relayed(before, super().submit(message, buffers))
            if not self.alive():
                raise self._gone(ConnectionError("an engine died"))
            return self.sockets.send(self._session, message, buffers, self.size)

    def _alive(self) -> list[int]:
        """Return the engines that are there; sockets tell of a death also if nobody else does."""
        gone = set() if self.sockets is None else {self._all[rank] for rank in self.sockets.gone()}
        return [i for i in super()._alive() if i not in gone]

    def define(self, number: int, text: bytes) -> None:
        super().define(number, text)
        sockets = self.sockets
        if sockets is not None:  # idle engines answer at once, and the next batch takes sockets
            poll(lambda: not self.client.outstanding - sockets.passed, _SHORTLY)

    def done(self, ticket: int | Results) -> bool:
        if isinstance(ticket, int):
            return self._batches.answered(ticket) or not self.alive()
        return super().done(ticket)

    def wait(self, ticket: int | Results) -> None:
        if isinstance(ticket, int) and not self._batches.complete(ticket):
            # At once: engines want the cores, and have not answered yet.
            self._batches.pause(PAUSE)
        self._wait(lambda: self.done(ticket), lambda: self._pause(ticket))

    def _pause(self, ticket: int | Results) -> None:
        if isinstance(ticket, int):
            self._batches.pause(PAUSE)
        else:
            super()._pause(ticket)

    def collect(self, ticket: int | Results) -> list[Reply]:
        if isinstance(ticket, int):
            return self._take(ticket)
        replies = super().collect(ticket)
        if self.sockets is not None and isinstance(ticket, _Relayed):
            # Engines work in turn: what is still not answered got lost, or is for others.
            passed = self.sockets.passed | ticket.before
            self.sockets.passed = passed & self.client.outstanding
        return replies

    def _take(self, number: int) -> list[Reply]:
        # A death may be known before the last replies.
        batches = self._batches
        poll(lambda: batches.answered(number) or batches.hopeless(number), 0.5)
        try:
            return self._batches.take(number)
        except Exception as error:
            raise self._gone(error) from error

    def stop(self) -> None:
        """Tell them on the channel that is heard while a batch runs: what, and up to which batch.

        So it does not matter when it comes. Others on the same engines are in the way, too.
        """
        if self.sockets is None:
            super().stop()
            return
        for session in list(self.sockets.sessions):
            self.sockets.monitor.stop(session._session, session.latest)

    def interrupt(self, ticket: int | Results) -> str:
        sockets = self.sockets
        return self._interrupt(
            lambda: self.done(ticket),
            lambda: (
                sockets.missing(ticket)
                if sockets is not None and isinstance(ticket, int)
                else range(self.size)
            ),
        )

    def samples(self, seconds: float) -> dict[int, tuple[Sample | None, float]]:
        sockets = self.sockets
        if sockets is None:
            return super().samples(seconds)
        return dict(enumerate(sockets.monitor.ask(self._session, self.size, seconds)))

    def close(self) -> None:
        if self.sockets is not None:
            self.sockets.monitor.forget(self._session)
        try:
            super().close()
        finally:
            there = self.alive()  # of a death only the sockets may know
            sockets, self.sockets = self.sockets, None
            if sockets is not None:
                self._leave(sockets, there)

    def _leave(self, sockets: SocketClient, there: bool) -> None:
        """Close the sockets after the last session on them, here and on engines that are there."""
        with self._order:
            sockets.sessions.remove(self)
            if sockets.sessions:
                return
            sockets.close()
            if _shared(self.client) is sockets:
                client_hooks.uninstall(self.client, "order")
        if there:
            self._farewell(self._everyone, "close_server", sockets.key)


class _InOrder:
    """The hook that lets batches on their way be done before what goes through ipyparallel."""

    def __init__(
        self, client: ipyparallel.Client, sockets: SocketClient, lock: threading.RLock
    ) -> None:
        self._client = client
        self.sockets = sockets
        self._lock = lock
        #: Who has these ids; engines that come later may have the same ones.
        self._keys = dict(client._engines)

    def __call__(self, send: Callable[..., Any], /, *args: object, **kwargs: object) -> Any:
        self._check()
        with self._lock:
            with deferred_interrupts():
                self.sockets.settle()
            return send(*args, **kwargs)

    def _check(self) -> None:
        """Raise if engines are gone of which the client is not told: it would wait for ever."""
        ids = [self.sockets.ids[rank] for rank in self.sockets.gone()]
        if ids and not poll(lambda: not any(self._has(i) for i in ids), _NEWS):
            raise EngineError(
                explain(
                    "engines",
                    "engines and controller that have ended",
                    "a running cluster",
                    "call session.recover(), by which others take over the arrays where they can; "
                    "else close the session and call dnb.start()",
                )
            )

    def _has(self, engine: int) -> bool:
        """Tell whether the client takes an engine for alive."""
        key = self._client._engines.get(engine)
        return key is not None and key == self._keys.get(engine)


def _my_address(client: ipyparallel.Client) -> str:
    """Return the address of this host for others: that on the way to the controller.

    Engines reach the controller, too. The name of a host may mean loopback, or nothing to others.
    """
    controller = urlsplit(str(client._config.get("registration", ""))).hostname or ""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((controller, 9))  # sends nothing
        found = str(probe.getsockname()[0])
        if not found.startswith("127."):
            return found
    return socket.gethostname()


def _shared(client: ipyparallel.Client) -> SocketClient | None:
    """Return the sockets that a client's sessions share, None if there are none."""
    hook = client_hooks.installed(client, "order")
    return hook.sockets if isinstance(hook, _InOrder) else None
