"""Engines of ipyparallel, with batches as its messages."""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Protocol, cast
from weakref import WeakKeyDictionary

from distnb.client.transport.contract import (
    ANSWER,
    ENTRY,
    KERNELS,
    PAUSE,
    Buffers,
    Transport,
    late,
    poll,
    unanswered,
)
from distnb.client.transport.turns import Turns
from distnb.common.config import config
from distnb.common.errors import EngineError, SessionError, explain
from distnb.common.interrupts import STOP
from distnb.wire import replies
from distnb.wire.messages import Reply
from distnb.wire.protocol import PROTOCOL

if TYPE_CHECKING:
    import ipyparallel

__all__ = ["IPyParallelTransport", "Results"]

#: ipyparallel client -> lock around what goes to several engines.
_ORDERS: WeakKeyDictionary[ipyparallel.Client, threading.RLock] = WeakKeyDictionary()

#: ipyparallel client -> its turns, if it can have some.
_TURNS: WeakKeyDictionary[ipyparallel.Client, Turns | None] = WeakKeyDictionary()
#: Seconds for which engines are waited for that are left.
_FAREWELL = 5.0

if TYPE_CHECKING:
    Results = list[ipyparallel.AsyncResult]


def _turns_of(client: ipyparallel.Client) -> Turns | None:
    """Return a client's turns; clients of one cluster have its keys, one or both."""
    if client not in _TURNS:
        try:
            _TURNS[client] = Turns(client.session.key + (client.curve_serverkey or b""))
        except OSError:  # no place for a file: then a notebook does not hear of others
            _TURNS[client] = None
    return _TURNS[client]


def _let_main_end() -> None:
    """See to it that a script's names are let go when Python ends, as without ipyparallel.

    It has functions whose globals they are. Then the module goes first, its names stay, and files
    that were not closed lose what was written to them last.
    """
    sys.__dict__.setdefault("distnb_main", sys.modules["__main__"])


class Source(Protocol):
    """Who started the engines, and can start others in their place."""

    #: Whether it starts them itself; else somebody has to.
    starts: bool
    #: How often that was done.
    generation: int
    #: Connected to the cluster that there is now.
    client: ipyparallel.Client

    def renew(self, generation: int, engines: int | None = None) -> list[int]:
        """Start engines in place of those of a generation, unless there are; return their ids."""

    def look_out(
        self, about: Iterable[dict[str, Any]], tell: Callable[[int], None], generation: int
    ) -> None:
        """Call a method, in another thread, as soon as one of a generation has ended.

        Each of these has said ``about`` itself where it runs. Who starts none need not tell of it.
        """


def _said(error: Exception) -> str:
    """Return what an error is, and of those of engines what the first one is."""
    first, *_ = getattr(error, "elist", None) or [None]
    if first is not None:
        return f"{first[0]}: {first[1]}"
    return str(error) if isinstance(error, EngineError) else repr(error)


class IPyParallelTransport(Transport["Results"]):
    """ipyparallel engines that share an MPI world.

    Parameters
    ----------
    client : ipyparallel.Client
        A connected client.
    session : str
        A name for the session, unique on the engines.
    engines : int, optional
        How many of the engines, the first ones; by default all.
    """

    kind = "ipyparallel"

    def __init__(
        self,
        client: ipyparallel.Client,
        session: str,
        engines: int | None = None,
        source: Source | None = None,
    ) -> None:
        _let_main_end()
        self.client = client
        self._session = session
        self._first, self._source = engines, source
        #: Messages by which batches, functions and the like were sent.
        self._own = 0
        self._reach(list(client.ids))

    def _reach(self, ids: list[int]) -> None:
        """Attach the session to engines, which ipyparallel knows by these numbers."""
        client, engines = self.client, self._first
        self.generation = 0 if self._source is None else self._source.generation
        # Batches of two sessions must reach all engines in the same order, or they would wait for
        # each other.
        self._order = _ORDERS.setdefault(client, threading.RLock())
        #: Who has these ids: engines that come later may have the same ones.
        self._keys = dict(client._engines)
        self._all = self._ranks(client, ids)
        self._ids = self._all[:engines]
        self.size = len(self._ids)
        self._everyone = client[self._all]
        self._view = client[self._ids]
        self._one = [client[i] for i in self._ids]
        for view in (self._everyone, self._view, *self._one):
            view.track = False
        settings = (config.pool_bytes, config.shared, engines or 0)
        self.turns = _turns_of(client)
        with nullcontext() if self.turns is None else self.turns.taken():
            attached = self._call(self._view, "attach", self._session, *settings)
            importlib.import_module(KERNELS)  # else the first sum takes it, while engines wait
            about = self._answer(attached)
        self.about = sorted(about, key=lambda a: int(a["rank"]))
        self._check()

    @staticmethod
    def _reference(name: str) -> Any:
        import ipyparallel

        return ipyparallel.Reference(f"__import__('importlib').import_module({ENTRY!r}).{name}")

    def _call(self, view: ipyparallel.DirectView, name: str, *args: object) -> Any:
        with self._order:
            found = view.apply_async(self._reference(name), *args)
            self._own += len(found.msg_ids)
            return found

    def _answer(self, asked: ipyparallel.AsyncResult) -> list[Any]:
        """Return what engines answer to a call."""
        import ipyparallel

        self.wait([asked])
        try:
            return cast(list[Any], asked.get(0))
        except ipyparallel.error.CompositeError as error:
            if any(name == "EngineError" for name, *_ in error.elist):  # ipyparallel's: it died
                raise self._gone(error) from error
            raise
        except TimeoutError as error:
            raise self._gone(error) from error

    def _ranks(self, client: ipyparallel.Client, ids: list[int]) -> list[int]:
        """Return the engine ids in the order of their ranks, after checking that MPI joins them."""
        if not ids:
            raise EngineError(
                explain("engines", "none", "at least one", "run `ipcluster start --engines=MPI`")
            )
        self._ids, self.size = ids, len(ids)
        found = self._answer(self._call(client[ids], "world"))
        if len(ids) > 1 and any(n != len(ids) for _, n, _ in found):
            raise SessionError(
                explain(
                    "engines",
                    f"{len(ids)} with MPI worlds of {sorted({n for _, n, _ in found})}",
                    f"one MPI world of {len(ids)}",
                    "start them with `ipcluster start --engines=MPI`",
                )
            )
        self._hosts = {host for _, _, host in found}
        return [i for _, i in sorted((at[0], i) for at, i in zip(found, ids, strict=True))]

    def _check(self) -> None:
        versions = {a["protocol"] for a in self.about}
        if versions != {PROTOCOL}:
            raise SessionError(
                explain(
                    "distnb on the engines", f"protocol {versions}", f"{PROTOCOL}", "reinstall it"
                )
            )

    def submit(self, message: bytes, buffers: Buffers) -> Results:
        try:
            if not buffers or len(self._one) == 1:
                mine = buffers[0] if buffers else []
                return [self._call(self._view, "run", self._session, message, mine)]
            with self._order:
                return [
                    self._call(view, "run", self._session, message, mine)
                    for view, mine in zip(self._one, buffers, strict=True)
                ]
        except Exception as error:  # ids that are gone raise at once, with several types
            raise self._gone(error) from error

    def define(self, number: int, text: bytes) -> None:
        try:
            self._call(self._view, "define", self._session, number, text)
        except Exception as error:  # as above
            raise self._gone(error) from error

    def done(self, ticket: Results) -> bool:
        # ipyparallel never answers for an engine whose death it was told of while it sent to it.
        return all(result.ready() for result in ticket) or not self.alive()

    def wait(self, ticket: Results) -> None:
        self._wait(lambda: self.done(ticket), lambda: self._pause(ticket))

    @staticmethod
    def _wait(done: Callable[[], bool], pause: Callable[[], None]) -> None:
        end = time.monotonic() + (config.timeout or float("inf"))
        while not done():
            if time.monotonic() > end:
                raise late()
            pause()

    def _pause(self, ticket: Results) -> None:
        """Wait until something may have come, but not for long."""
        for result in ticket:
            result.wait(PAUSE)

    def collect(self, ticket: Results) -> list[Reply]:
        try:
            answers = [result.get(0) for result in ticket]
        except Exception as error:
            raise self._gone(error) from error
        flat = answers[0] if len(ticket) == 1 else answers  # of all engines at once
        return [replies.decode(content, arrays) for content, *arrays in flat]

    @property
    def foreign(self) -> int:
        return len(self.client.history) - self._own

    def alive(self) -> bool:
        current = self._source is None or self._source.generation == self.generation
        return current and len(self._alive()) == self.size

    def living(self) -> set[int]:
        there = set(self._alive())
        return {rank for rank, i in enumerate(self._ids) if i in there}

    def _alive(self) -> list[int]:
        there = self.client._engines
        return [i for i in self._ids if i in there and there[i] == self._keys.get(i)]

    def gone(self) -> EngineError:
        do = "close the session and call dnb.start(): where one engine ends MPI ends all, and "
        do += "arrays are lost"
        if self.renewable and not self.starts:
            do = "start as many again, as these were started, then call session.recover()"
        return EngineError(explain("engines", f"{len(self._alive())} alive", f"{self.size}", do))

    @property
    def renewable(self) -> bool:
        return self._source is not None

    @property
    def starts(self) -> bool:
        return self._source is not None and self._source.starts

    def renew(self) -> None:
        if self._source is None:
            raise self.gone()
        ids = self._source.renew(self.generation)
        if self.client is not self._source.client:  # the cluster is another, too
            known = self.foreign + 1
            self.client = self._source.client
            self._own = len(self.client.history) - known
        try:
            self._reach(ids)
        except (EngineError, SessionError):
            raise
        except Exception as error:  # ids that are gone, where these have died, too: several types
            raise self._gone(error) from error

    def start_others(self, generation: int, engines: int | None = None) -> None:
        if self._source is not None:
            self._source.renew(generation, engines)

    def look_out(self, tell: Callable[[int], None]) -> None:
        if self._source is not None:
            self._source.look_out(self.about, tell, self.generation)

    def _gone(self, error: Exception) -> Exception:
        poll(lambda: not self.alive(), 0.5)  # the hub tells of a death a little later
        if not self.alive():
            return self.gone()
        return EngineError(explain("engines", _said(error), "a reply", "see the engines' logs"))

    def interrupt(self, ticket: Results) -> str:
        return self._interrupt(lambda: self.done(ticket), lambda: range(self.size))

    def stop(self) -> None:
        """Signal the engines one by one through their nannies (never through mpiexec)."""
        with contextlib.suppress(Exception):  # engines that are gone
            sent = self.client.send_signal(STOP, targets=self._alive(), block=False)
            poll(sent.done, ANSWER)  # or the signal could reach a later batch

    def _interrupt(self, done: Callable[[], bool], silent: Callable[[], Iterable[int]]) -> str:
        """Wait until engines have given up.

        They are told again, for one that is between two batches ignores a signal. If a reply went
        missing, that shows when the engine answers a later message.
        """
        later: Any = None
        end = time.monotonic() + ANSWER
        while not (done() or (later is not None and later.ready())):
            if time.monotonic() > end:
                return unanswered(silent(), self.starts)
            self.stop()
            if not poll(done, 0.25) and later is None and self.alive():
                later = self._call(self._view, "world")
        return ""

    def subset(self, engines: int) -> IPyParallelTransport:
        return type(self)(self.client, uuid.uuid4().hex, engines, self._source)

    def close(self) -> None:
        with nullcontext(True) if self.turns is None else self.turns.taken(_FAREWELL) as ours:
            if ours:  # else arrays go with the engines
                self._farewell(self._view, "detach", self._session)
        if self.turns is not None:
            self.turns.remove()

    def _farewell(self, view: ipyparallel.DirectView, name: str, *args: object) -> None:
        """Call a function of engines on leaving them; those that die meanwhile need not hear it."""
        if self.alive():
            asked = self._call(view, name, *args)
            poll(lambda: self.done([asked]), _FAREWELL)
            if self.alive():
                asked.get(0)
