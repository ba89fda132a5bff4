"""Roads for batches to the engines behind one seam, and one contract test suite for all.

:mod:`distnb.client.transport.sockets` adds one to those here.

A transport submits a message to all ranks and later collects one reply from each. It knows nothing
of arrays. Engine code is named by strings only.
"""

from __future__ import annotations

import contextlib
import importlib
import queue
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np

from distnb.common.config import config
from distnb.common.errors import EngineError, SessionError, explain
from distnb.common.interrupts import STOP
from distnb.measure.snapshot import Sample
from distnb.wire import replies
from distnb.wire.protocol import PROTOCOL, Reply

__all__ = [
    "LOOK",
    "Buffers",
    "IPyParallel",
    "InProcess",
    "Spmd",
    "Transport",
    "late",
    "poll",
    "share_of_node",
]

_ENTRY = "distnb.engines.server.entry"
#: ipyparallel client -> lock around what goes to several engines.
_ORDERS: WeakKeyDictionary[Any, threading.RLock] = WeakKeyDictionary()
#: Seconds that a signal may take to an engine on a busy machine.
_DELIVERY = 5.0
#: Seconds between two looks whether the engines live.
LOOK = 0.01
Buffers = Sequence[list[np.ndarray]]


class Transport:
    """What a session needs of the way to its engines.

    Attributes
    ----------
    kind : str
        Name of the road, as the status shows it.
    size : int
        Number of ranks.
    about : list of dict
        What each rank says of itself (pid, host, memory, MPI).
    concurrent : bool
        Whether a timer may send a batch (not where every rank must record the same batches).
    """

    kind = ""
    size = 0
    about: list[dict[str, Any]]
    concurrent = True
    #: Whether ``submit`` runs the batch itself, in the calling thread.
    inline = False
    #: The rank that the client is itself (SPMD): not all replies of others come to it.
    rank: int | None = None

    def submit(self, message: bytes, buffers: Buffers) -> Any:
        """Send a message, and to each rank its own buffers (if any); return a ticket."""
        raise NotImplementedError

    def done(self, ticket: Any) -> bool:
        """Tell whether all replies have come."""
        raise NotImplementedError

    def wait(self, ticket: Any) -> None:
        """Wait for the replies to the oldest ticket; can be interrupted, and called again."""

    def collect(self, ticket: Any) -> list[Reply]:
        """Return the reply of each rank to the oldest ticket, once, after the wait for them."""
        raise NotImplementedError

    def define(self, number: int, text: bytes) -> None:
        """Give all engines a pickled function, before any batch that is submitted later."""
        raise NotImplementedError

    def share(self, mine: Any) -> list[Any]:
        """Return what each client of the engines has: one, but for SPMD."""
        return [mine]

    def interrupt(self, ticket: Any) -> None:
        """Make the engines give up what they do, until they have replied to the oldest ticket."""

    def alive(self) -> bool:
        """Tell whether all engines can be reached."""
        return True

    def living(self) -> set[int]:
        """Return the ranks whose processes are there."""
        return set(range(self.size))

    def samples(self, seconds: float) -> dict[int, tuple[Sample | None, float]]:
        """Return what ranks say of themselves now, and for how long each has been silent.

        Any thread may ask. None is for a rank that cannot be asked; under SPMD others are left out.
        """
        return dict.fromkeys(range(self.size), (None, 0.0))

    @property
    def sent(self) -> int:
        """Messages to the engines that are no batches, and may change arrays on them (``%px``)."""
        return 0

    def subset(self, engines: int) -> Transport:
        """Return a transport to the first engines, on a communicator of their own."""
        raise SessionError(
            explain(
                "subset of engines",
                self.kind,
                "engines of ipyparallel, or in this process",
                "use dnb.start() or dnb.connect()",
            )
        )

    def close(self) -> None:
        """Leave the engines, with nothing of this session on them."""


def _entry() -> Any:
    return importlib.import_module(_ENTRY)


def late() -> TimeoutError:
    """Return the error for replies that do not come in time."""
    return TimeoutError(
        explain("engines", "no reply yet", f"one in {config.timeout} s", "raise dnb.config.timeout")
    )


class _Outbox:
    """Replies of one engine of this process. Waiting takes none out: an interrupt loses nothing."""

    def __init__(self, arrived: threading.Event) -> None:
        self.replies: deque[Any] = deque()
        self._arrived = arrived

    def put(self, reply: Any) -> None:
        self.replies.append(reply)
        self._arrived.set()


class InProcess(Transport):
    """Engines in this process, without MPI: one runs where it is called, more are threads."""

    kind = "in this process"

    def __init__(self, n: int, users: Sequence[dict[str, Any]] = ()) -> None:
        made = _entry().inprocess(n, config.pool_bytes, users)
        self.size = n
        self.workers = [worker for worker, _ in made]
        self.about = [about for _, about in made]
        self._threads: list[Any] = []
        self._inboxes: list[queue.SimpleQueue[Any]] = [queue.SimpleQueue() for _ in made]
        self._arrived = threading.Event()
        self._outboxes = [_Outbox(self._arrived) for _ in made]
        self.inline = n == 1
        self._submitted = 0
        if n > 1:
            triples = zip(self.workers, self._inboxes, self._outboxes, strict=True)
            self._threads = [_entry().start_thread(*t) for t in triples]

    def submit(self, message: bytes, buffers: Buffers) -> int:
        self._submitted += 1
        if self._threads:
            for rank, inbox in enumerate(self._inboxes):
                inbox.put((message, buffers[rank] if buffers else []))
        else:
            self._outboxes[0].put(self.workers[0].run(message, buffers[0] if buffers else []))
        return self._submitted

    def done(self, ticket: int) -> bool:
        return all(box.replies for box in self._outboxes)

    def wait(self, ticket: int) -> None:
        start = time.monotonic()
        while not self.done(ticket):
            if config.timeout and time.monotonic() - start > config.timeout:
                raise late()
            self._pause(ticket)

    def _pause(self, ticket: int) -> None:
        self._arrived.clear()
        if not self.done(ticket):
            self._arrived.wait(0.1)

    def collect(self, ticket: int) -> list[Reply]:
        replies = [box.replies.popleft() for box in self._outboxes]
        for reply in replies:
            if isinstance(reply, BaseException):
                raise EngineError(f"engines: got {reply!r}, expected a reply") from reply
        return replies

    def define(self, number: int, text: bytes) -> None:
        for worker in self.workers:
            worker.define(number, text)

    def interrupt(self, ticket: int) -> None:
        while not self.done(ticket):
            for worker in self.workers:
                worker.comm.abort()
            self._pause(ticket)

    def samples(self, seconds: float) -> dict[int, tuple[Sample | None, float]]:
        return {rank: (_entry().sample(w), 0.0) for rank, w in enumerate(self.workers)}

    def subset(self, engines: int) -> InProcess:
        return InProcess(engines, [w.executor.user for w in self.workers[:engines]])

    def close(self) -> None:
        for inbox in self._inboxes:
            inbox.put(None)
        for thread in self._threads:
            thread.join(timeout=5)
        if not self._threads:
            self.workers[0].close()


class Spmd(Transport):
    """Every rank of ``mpiexec -n P python script.py`` runs the script and is an engine, too."""

    kind = "SPMD"
    concurrent = False
    inline = True
    rank: int

    def __init__(self) -> None:
        self.worker, about, self._share = _entry().spmd(config.pool_bytes, config.shared)
        self.about = self._share(about)
        self.size = len(self.about)
        self.rank = about["rank"]

    def submit(self, message: bytes, buffers: Buffers) -> list[Reply]:
        reply = self.worker.run(message, buffers[self.rank] if buffers else [])
        # All ranks know whether anything failed; only then, or for values, must they talk.
        if not reply.aborted and (reply.failed or reply.values):
            try:
                return self._share(reply)
            except KeyboardInterrupt:
                return [self.worker.reply()]
        return [reply]

    def done(self, ticket: list[Reply]) -> bool:
        return True

    def collect(self, ticket: list[Reply]) -> list[Reply]:
        return ticket

    def define(self, number: int, text: bytes) -> None:
        self.worker.define(number, text)

    def share(self, mine: Any) -> list[Any]:
        return cast(list[Any], self._share(mine))

    def samples(self, seconds: float) -> dict[int, tuple[Sample | None, float]]:
        return {self.rank: (_entry().sample(self.worker), 0.0)}

    def close(self) -> None:
        self.worker.close()


class IPyParallel(Transport):
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

    def __init__(self, client: Any, session: str, engines: int | None = None) -> None:
        self.client = client
        self._session = session
        # Batches of two sessions must reach all engines in the same order, or they would wait for
        # each other.
        self._order = _ORDERS.setdefault(client, threading.RLock())
        self._all = self._ranks(client)
        self._ids = self._all[:engines]
        self.size = len(self._ids)
        self._everyone = client[self._all]
        self.dview = client[self._ids]
        self._one = [client[i] for i in self._ids]
        for view in (self._everyone, self.dview, *self._one):
            view.track = False
        settings = (config.pool_bytes, config.shared, engines or 0)
        about = self._answer(self._call(self.dview, "attach", session, *settings))
        self.about = sorted(about, key=lambda a: int(a["rank"]))
        self._check()

    @staticmethod
    def _reference(name: str) -> Any:
        import ipyparallel

        return ipyparallel.Reference(f"__import__('importlib').import_module({_ENTRY!r}).{name}")

    def _call(self, view: Any, name: str, *args: Any) -> Any:
        with self._order:
            return view.apply_async(self._reference(name), *args)

    def _answer(self, asked: Any) -> list[Any]:
        """Return what engines answer to a call."""
        self.wait([asked])
        try:
            return cast(list[Any], asked.get(0))
        except TimeoutError as error:
            raise self._gone(error) from error

    def _ranks(self, client: Any) -> list[int]:
        """Return the engine ids in the order of their ranks, after checking that MPI joins them."""
        ids = list(client.ids)
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

    def submit(self, message: bytes, buffers: Buffers) -> list[Any]:
        try:
            if not buffers:
                return [self._call(self.dview, "run", self._session, message, [])]
            with self._order:
                return [
                    self._call(view, "run", self._session, message, mine)
                    for view, mine in zip(self._one, buffers, strict=True)
                ]
        except Exception as error:  # ids that are gone raise at once, with several types
            raise self._gone(error) from error

    def define(self, number: int, text: bytes) -> None:
        try:
            self._call(self.dview, "define", self._session, number, text)
        except Exception as error:  # as above
            raise self._gone(error) from error

    def done(self, ticket: Any) -> bool:
        # ipyparallel never answers for an engine whose death it was told of while it sent to it.
        return all(result.ready() for result in ticket) or not self.alive()

    def wait(self, ticket: Any) -> None:
        end = time.monotonic() + (config.timeout or float("inf"))
        while not self.done(ticket):
            if time.monotonic() > end:
                raise late()
            self._pause(ticket)

    def _pause(self, ticket: Any) -> None:
        """Wait until something may have come, but not for long."""
        for result in ticket:
            result.wait(LOOK)

    def collect(self, ticket: list[Any]) -> list[Reply]:
        try:
            answers = [result.get(0) for result in ticket]
        except Exception as error:
            raise self._gone(error) from error
        flat = answers[0] if len(ticket) == 1 and len(self._ids) > 1 else answers
        if len(ticket) == 1 and len(self._ids) == 1:
            flat = answers[0]
        return [replies.decode(content, arrays) for content, *arrays in flat]

    @property
    def sent(self) -> int:
        return len(self.client.history)

    def alive(self) -> bool:
        return len(self._alive()) == self.size

    def living(self) -> set[int]:
        there = set(self._alive())
        return {rank for rank, i in enumerate(self._ids) if i in there}

    def _alive(self) -> list[int]:
        return sorted(set(self._ids) & set(self.client.ids))

    def _gone(self, error: Exception) -> Exception:
        poll(lambda: not self.alive(), 0.5)  # the hub tells of a death a little later
        if not self.alive():
            return EngineError(
                explain(
                    "engines",
                    f"{len(self._alive())} alive",
                    f"{self.size}",
                    "close the session and call dnb.start(): where one engine ends MPI ends "
                    "all, and arrays are lost",
                )
            )
        return EngineError(f"engines: got {error!r}, expected a reply; see the engines' logs")

    def interrupt(self, ticket: list[Any]) -> None:
        """Signal the engines one by one through their nannies (never through mpiexec).

        An engine that is between two batches ignores a signal, so it is repeated. If a reply went
        missing, that shows when the engine answers a later message.
        """
        later: Any = None
        while not (self.done(ticket) or (later is not None and later.ready())):
            with contextlib.suppress(Exception):  # engines that are gone
                sent = self.client.send_signal(STOP, targets=self._alive(), block=False)
                poll(sent.done, _DELIVERY)  # or the signal could reach a later batch
            if not poll(lambda: self.done(ticket), 0.5) and later is None and self.alive():
                later = self._call(self.dview, "world")

    def subset(self, engines: int) -> IPyParallel:
        return type(self)(self.client, uuid.uuid4().hex, engines)

    def close(self) -> None:
        self._farewell(self.dview, "detach", self._session)

    def _farewell(self, view: Any, name: str, *args: Any) -> None:
        """Call a function of engines on leaving them; those that die meanwhile need not hear it."""
        if self.alive():
            asked = self._call(view, name, *args)
            poll(lambda: self.done([asked]), 5)
            if self.alive():
                asked.get(0)


def poll(ready: Callable[[], bool], seconds: float) -> bool:
    """Wait until ``ready()`` for at most ``seconds``; return whether it is."""
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


def share_of_node(about: list[dict[str, Any]]) -> int:
    """Return the memory that each engine may count on when all of its node's use as much."""
    hosts = [a["host"] for a in about]
    return min((a["memory"] // hosts.count(a["host"]) for a in about if a["memory"]), default=0)
