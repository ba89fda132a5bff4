"""Three roads for batches to the engines behind one seam, and one contract test suite for all.

A transport submits a message to all ranks and later collects one reply from each. It knows nothing
of arrays. Engine code is named by strings only.
"""

from __future__ import annotations

import importlib
import queue
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from distnb.config import config
from distnb.errors import EngineError, SessionError, explain
from distnb.protocol import PROTOCOL, Reply

__all__ = ["IPyParallel", "InProcess", "Spmd", "Transport"]

_ENTRY = "distnb.engines.entry"
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

    def submit(self, message: bytes, buffers: Buffers) -> Any:
        """Send a message, and to each rank its own buffers (if any); return a ticket."""
        raise NotImplementedError

    def done(self, ticket: Any) -> bool:
        """Tell whether all replies have come."""
        raise NotImplementedError

    def collect(self, ticket: Any) -> list[Reply]:
        """Return the reply of each rank; waits, and can be interrupted."""
        raise NotImplementedError

    def interrupt(self) -> None:
        """Make engines that wait for each other give up."""

    def close(self) -> None:
        """Leave the engines, with nothing of this session on them."""


def _entry() -> Any:
    return importlib.import_module(_ENTRY)


class InProcess(Transport):
    """Engines in this process, without MPI: one runs where it is called, more are threads."""

    kind = "in this process"

    def __init__(self, n: int) -> None:
        made = _entry().inprocess(n, config.pool_bytes)
        self.size = n
        self.workers = [worker for worker, _ in made]
        self.about = [about for _, about in made]
        self._threads: list[Any] = []
        self._inboxes: list[queue.SimpleQueue[Any]] = [queue.SimpleQueue() for _ in made]
        self._outboxes: list[queue.SimpleQueue[Any]] = [queue.SimpleQueue() for _ in made]
        self._collected: dict[int, list[Reply]] = {}
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
            reply = self.workers[0].run(message, buffers[0] if buffers else [])
            self._collected[self._submitted] = [reply]
            if reply.aborted:  # it ran here and now, so the interrupt was for this very call
                raise KeyboardInterrupt
        return self._submitted

    def done(self, ticket: int) -> bool:
        return ticket in self._collected or all(not box.empty() for box in self._outboxes)

    def collect(self, ticket: int) -> list[Reply]:
        if ticket not in self._collected:
            self._collected[ticket] = [self._take(box) for box in self._outboxes]
        return self._collected.pop(ticket)

    @staticmethod
    def _take(box: queue.SimpleQueue[Any]) -> Reply:
        reply = box.get()
        if isinstance(reply, BaseException):
            raise reply
        return reply

    def interrupt(self) -> None:
        for worker in self.workers:
            if self._threads:
                worker.comm.abort.set()

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

    def __init__(self) -> None:
        self.worker, about, self._share = _entry().spmd(config.pool_bytes)
        self.about = self._share(about)
        self.size = len(self.about)
        self.rank = about["rank"]

    def submit(self, message: bytes, buffers: Buffers) -> list[Reply]:
        reply = self.worker.run(message, buffers[self.rank] if buffers else [])
        if reply.aborted:
            raise KeyboardInterrupt
        # All ranks know whether anything failed; only then, or for values, must they talk.
        if reply.lost or reply.values or reply.failures:
            return self._share(reply)
        return [reply]

    def done(self, ticket: list[Reply]) -> bool:
        return True

    def collect(self, ticket: list[Reply]) -> list[Reply]:
        return ticket

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
    """

    kind = "ipyparallel"

    def __init__(self, client: Any, session: str) -> None:
        self.client = client
        self._session = session
        self._ids = self._ranks(client)
        self.size = len(self._ids)
        self._view = client[self._ids]
        self._one = [client[i] for i in self._ids]
        for view in (self._view, *self._one):
            view.track = False
        about = self._call(self._view, "attach", session, config.pool_bytes).get()
        self.about = sorted(about, key=lambda a: int(a["rank"]))
        self._check()

    @staticmethod
    def _reference(name: str) -> Any:
        import ipyparallel

        return ipyparallel.Reference(f"__import__('importlib').import_module({_ENTRY!r}).{name}")

    def _call(self, view: Any, name: str, *args: Any) -> Any:
        return view.apply_async(self._reference(name), *args)

    def _ranks(self, client: Any) -> list[int]:
        """Return the engine ids in the order of their ranks, after checking that MPI joins them."""
        ids = list(client.ids)
        if not ids:
            raise EngineError(
                explain("engines", "none", "at least one", "run `ipcluster start --engines=MPI`")
            )
        found = self._call(client[ids], "world").get()
        if len(ids) > 1 and any(n != len(ids) for _, n in found):
            raise SessionError(
                explain(
                    "engines",
                    f"{len(ids)} with MPI worlds of {sorted({n for _, n in found})}",
                    f"one MPI world of {len(ids)}",
                    "start them with `ipcluster start --engines=MPI`",
                )
            )
        return [i for _, i in sorted((rank, i) for (rank, _), i in zip(found, ids, strict=True))]

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
                return [self._call(self._view, "run", self._session, message, [])]
            return [
                self._call(view, "run", self._session, message, mine)
                for view, mine in zip(self._one, buffers, strict=True)
            ]
        except Exception as error:  # ids that are gone raise at once, with several types
            raise self._gone(error) from error

    def done(self, ticket: list[Any]) -> bool:
        return all(result.ready() for result in ticket)

    def collect(self, ticket: list[Any]) -> list[Reply]:
        try:
            answers = [result.get(config.timeout or None) for result in ticket]
        except KeyboardInterrupt:
            raise
        except TimeoutError:
            raise
        except Exception as error:
            raise self._gone(error) from error
        flat = answers[0] if len(ticket) == 1 and len(self._ids) > 1 else answers
        if len(ticket) == 1 and len(self._ids) == 1:
            flat = answers[0]
        return [_reply(a) for a in flat]

    def _gone(self, error: Exception) -> Exception:
        alive = len(set(self._ids) & set(self.client.ids))
        if alive < self.size:
            return EngineError(
                explain(
                    "engines",
                    f"{alive} alive",
                    f"{self.size}",
                    "start new ones; the arrays are lost",
                )
            )
        return EngineError(f"engines: got {error!r}, expected a reply; see the engines' logs")

    def interrupt(self) -> None:
        """Signal the engines one by one through their nannies (never through mpiexec)."""
        import signal

        self.client.send_signal(signal.SIGINT, targets=self._ids, block=False)

    def close(self) -> None:
        if len(set(self._ids) & set(self.client.ids)) == self.size:
            self._call(self._view, "detach", self._session).get(5)


def _reply(parts: list[Any]) -> Reply:
    """Put a reply that travelled as a list (see ``entry.run``) together again."""
    reply, shapes, *arrays = parts
    values = {k: a.reshape(shape) for (k, shape), a in zip(shapes, arrays, strict=True)}
    return reply._replace(values=reply.values | values)


def poll(ready: Callable[[], bool], seconds: float) -> bool:
    """Wait until ``ready()`` for at most ``seconds``; return whether it is."""
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True
