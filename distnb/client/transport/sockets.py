"""ipyparallel's engines on the direct road, or through ipyparallel where there is none.

ipyparallel starts and watches engines, and carries ``%px`` and signals. Batches go by sockets of
our own, ten times faster. The order of both is kept:

- Before a message goes through ipyparallel while batches are on their way, the engines are told
  through ipyparallel to do these first.
- While a message of ipyparallel is not done, batches go through ipyparallel, too.
"""

from __future__ import annotations

import functools
import socket
from collections.abc import Callable
from typing import Any

import zmq

from distnb.client.transport.contract import (
    LOOK,
    Buffers,
    IPyParallel,
    poll,
)
from distnb.client.transport.socket_client import Road
from distnb.common.config import config
from distnb.common.interrupts import held
from distnb.measure.snapshot import Sample
from distnb.wire.protocol import Reply

__all__ = ["Direct"]

#: Seconds that engines have to answer on a new road.
_PATIENCE = 3.0
#: Seconds to wait for a message of ipyparallel that engines may have answered soon.
_SHORTLY = 0.01


class _Detour(list[Any]):
    """A ticket of ipyparallel, and the messages that were to be done before."""

    def __init__(self, before: set[str], results: list[Any]) -> None:
        super().__init__(results)
        self.before = before


class Direct(IPyParallel):
    """Engines of an ipyparallel client that get their batches on sockets of their own.

    ``kind`` tells which road is in use, and why it is not the direct one.

    Parameters
    ----------
    client : ipyparallel.Client
        A connected client.
    session : str
        A name for the session, unique on the engines.
    engines : int, optional
        How many of the engines, the first ones; by default all.
    """

    def __init__(self, client: Any, session: str, engines: int | None = None) -> None:
        super().__init__(client, session, engines)
        self.road: Road | None = None
        if config.road == "direct":
            try:
                self.road = self._join_road()
                self.kind = "direct sockets"
            except Exception as error:  # whatever it is, there is another way
                self.kind = f"ipyparallel (no direct sockets: {error!r})"

    def _join_road(self) -> Road:
        """Return the road that the client's sessions share; make it if there is none."""
        with self._order:
            road: Road | None = getattr(self.client, "_distnb_road", None)
            if road is None or not road.users or road.ids != self._all:
                road = self.client._distnb_road = self._open_road()
                _keep_order(self.client, self._order)
            road.users += 1
            return road

    def _open_road(self) -> Road:
        keys = zmq.curve_keypair()
        key, here = keys[0].decode(), socket.gethostname()
        away = self._hosts != {here}
        call = functools.partial(self._call, self._everyone)
        asked = call("open_road", key, here if away else "")
        try:
            road = Road(self._all, asked.get(_PATIENCE), keys, self._order, call)
            if road.answers(_PATIENCE):
                return road
            road.close()
            raise TimeoutError(f"no answer within {_PATIENCE} s")
        except BaseException:
            call("close_road", key)
            raise

    def _road_of(self, ticket: Any) -> Road | None:
        """Return the road that a batch took, None if ipyparallel's."""
        return self.road if isinstance(ticket, int) else None

    def submit(self, message: bytes, buffers: Buffers) -> Any:
        with self._order:
            if self.road is None:
                return super().submit(message, buffers)
            before = self.client.outstanding - self.road.passed
            if before:
                return _Detour(before, super().submit(message, buffers))
            if not self.alive():
                raise self._gone(ConnectionError("an engine died"))
            return self.road.send(self._session, message, buffers, self.size)

    def define(self, number: int, text: bytes) -> None:
        super().define(number, text)
        road = self.road
        if road is not None:  # idle engines answer at once, and the next batch takes the road again
            poll(lambda: not self.client.outstanding - road.passed, _SHORTLY)

    def done(self, ticket: Any) -> bool:
        road = self._road_of(ticket)
        if road is None:
            return super().done(ticket)
        return road.answered(ticket) or not self.alive()

    def wait(self, ticket: Any) -> None:
        road = self._road_of(ticket)
        if road is not None and not road.complete(ticket):
            road.pause(LOOK)  # at once: engines want the cores, and have not answered yet
        super().wait(ticket)

    def _pause(self, ticket: Any) -> None:
        road = self._road_of(ticket)
        if road is None:
            super()._pause(ticket)
        else:
            road.pause(LOOK)

    def collect(self, ticket: Any) -> list[Reply]:
        road = self._road_of(ticket)
        if road is None:
            replies = super().collect(ticket)
            if self.road is not None and isinstance(ticket, _Detour):
                # Engines work in turn: what is still not answered got lost, or is for others.
                self.road.passed = (self.road.passed | ticket.before) & self.client.outstanding
            return replies
        poll(lambda: road.answered(ticket), 0.5)  # a death may be known before the last replies
        try:
            return road.take(ticket)
        except Exception as error:
            raise self._gone(error) from error

    def samples(self, seconds: float) -> dict[int, tuple[Sample | None, float]]:
        road = self.road
        if road is None:
            return super().samples(seconds)
        return dict(enumerate(road.side.ask(self._session, self.size, seconds)))

    def close(self) -> None:
        if self.road is not None:
            self.road.side.forget(self._session)
        try:
            super().close()
        finally:
            road, self.road = self.road, None
            if road is not None:
                self._leave(road)

    def _leave(self, road: Road) -> None:
        """Close the road after the last session on it."""
        with self._order:
            road.users -= 1
            if road.users:
                return
            road.close()
        self._farewell(self._everyone, "close_road", road.key)


def _keep_order(client: Any, lock: Any) -> None:
    """Let batches on their way be done before what the client sends through ipyparallel."""
    if getattr(client, "_distnb_in_order", False):
        return
    client._distnb_in_order = True
    for name in ("send_apply_request", "send_execute_request"):
        setattr(client, name, _after_batches(client, lock, getattr(client, name)))


def _after_batches(client: Any, lock: Any, send: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(send)
    def ordered(*args: Any, **kwargs: Any) -> Any:
        with lock:
            with held():
                client._distnb_road.settle()
            return send(*args, **kwargs)

    return ordered
