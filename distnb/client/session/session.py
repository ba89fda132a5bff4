"""A session: one client, its engines, and all arrays that live on them."""

from __future__ import annotations

import contextlib
import os
import uuid
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np

from distnb.client.session.bases import Base, lost_error
from distnb.client.session.budget import Budget
from distnb.client.session.call_sites import Sites
from distnb.client.session.deferred import Promise
from distnb.client.session.failures import exception_of
from distnb.client.session.journal import Journal
from distnb.client.session.observing import look
from distnb.client.session.progress import Progress, surface
from distnb.client.session.recorder import Recorder
from distnb.client.session.user_functions import Functions
from distnb.client.session.windows import Reading, Record, Window
from distnb.client.transport.contract import Transport, share_of_node
from distnb.common.config import config
from distnb.common.errors import EngineError, SessionError, explain
from distnb.common.interrupts import held, interruptible
from distnb.geometry.layout import Ints
from distnb.geometry.views import Placed
from distnb.measure.events import Report, bandwidth
from distnb.measure.snapshot import Live
from distnb.plans.transfer import at, plan_parts
from distnb.wire.encoding import encode
from distnb.wire.protocol import (
    Batch,
    Bind,
    Clocks,
    Command,
    Create,
    Describe,
    Fetch,
    Free,
    InNotebook,
    Operand,
    Reply,
    title,
)

__all__ = ["Session"]

#: In place of a value that a rank does not have.
MISSING: Any = object()
#: Batches that may be on their way before the client waits for the oldest.
_IN_FLIGHT = 16


class _Sent(NamedTuple):
    """A batch on its way: its ticket and what is needed to explain its reply."""

    at: int
    number: int
    epoch: int
    ticket: Any
    commands: tuple[Command, ...]
    freed: Ints


class Session:
    """A session on the engines behind a transport.

    Sessions are made by :func:`distnb.start`, :func:`distnb.connect`, :func:`distnb.spmd` and
    :func:`distnb.inprocess`. A session is a context manager; leaving it closes it.

    Attributes
    ----------
    size : int
        Number of engines.
    closed : bool
        Whether it has been closed.
    """

    def __init__(self, transport: Transport, owner: Any = None) -> None:
        self.transport = transport
        self.size = transport.size
        self.closed = False
        self.name = uuid.uuid4().hex[:8]
        self.batches = 0
        self.bytes_out = 0
        sites = Sites()
        self.site, self.line = sites.number, sites.line
        self._owner = owner
        self._handles = 0
        self._epoch = 0
        #: The epoch that engines have begun.
        self._begun = 0
        self._slots = 0
        self._values: dict[int, dict[int, Any]] = {}
        self._warnings: list[tuple[Command, str]] = []
        self._sent: deque[_Sent] = deque()
        #: Those that are measured; one that nobody holds any more is forgotten.
        self._windows: weakref.WeakSet[Window] = weakref.WeakSet()
        #: The batch that is being sent, which may be all of the wait.
        self._leaving: tuple[int, tuple[Command, ...]] | None = None
        #: Commands to which all replies came.
        self.finished = 0
        self._bases: dict[int, Any] = {}
        #: What this cell and the last one did.
        self.journal = Journal(self._bases)
        #: What :mod:`distnb.client.record.operation_cache` keeps.
        self.templates: dict[Any, Any] = {}
        self.specs: dict[Any, int] = {}
        self.last_spec = 0
        #: How often a base has changed its layout.
        self.turns = 0
        #: Bytes that an engine sends in a second, as measured; None before anything was.
        self.bandwidth: float | None = None
        #: Gets each report (a dashboard sets it).
        self.reported: Callable[[Report], None] | None = None
        #: What :mod:`distnb.client.array.prefetch` knows of the elements that are read.
        self.ahead: Any = None
        self._error: BaseException | None = None
        #: Why the engines cannot be used any more.
        self._dead = ""
        _SESSIONS.add(self)
        self._recorder = Recorder(self.size, self.send, transport.concurrent)
        self.promise = Promise(self._recorder.lock, weak=transport.concurrent)
        self.functions = Functions(transport.define, self._recorder.delete)
        self.budget = Budget(share_of_node(transport.about))
        self.room = self.budget.room
        self._progress = Progress(self, None if transport.rank else surface())

    # -- recording ---------------------------------------------------------------------------

    def new_handle(self) -> int:
        """Return a number for a new base."""
        if self.closed or self._error is not None or self._dead:
            self.check_open()
        self._handles += 1
        return self._handles

    def check_open(self) -> None:
        """Raise SessionError if the session is closed; raise what an engine reported meanwhile."""
        if self.closed:
            raise SessionError(
                explain(
                    "session", "a closed one", "an open one", "call dnb.start() and make new arrays"
                )
            )
        if self._error is not None:
            self._raise_pending()
        if self._dead:
            raise EngineError(self._dead)

    def record(self, *commands: Command) -> None:
        """Add commands to the pending batch."""
        if self.closed or self._error is not None or self._dead:
            self.check_open()
        if self.promise.given is not None:
            self.promise.keep()
        self._recorder.add(*commands)

    @property
    def recorded(self) -> int:
        """Number of commands so far."""
        return self._recorder.recorded

    def attach(self, parts: list[np.ndarray], make: Callable[[int], Command]) -> None:
        """Add a buffer for each rank to the pending batch, with the command of its slot."""
        with self._recorder.lock:  # the idle timer must not send the one without the other
            self.record(make(self._recorder.attach(parts)))

    def release(self, base: Base) -> None:
        """Free a base whose last reference went."""
        self.budget.release(base.nbytes)
        self._recorder.delete(base.handle)
        self._bases.pop(base.handle, None)

    # -- sending and waiting -------------------------------------------------------------------

    def send(self, idle: bool = False) -> None:
        """Send what is pending, without waiting for it.

        The idle timer never waits, nor does it take in replies: the main thread can be interrupted.
        """
        if not (idle or self.closed or self._dead or self._error):
            self.promise.keep()
        with self._recorder.lock, held():
            if idle and len(self._sent) >= _IN_FLIGHT:
                return
            commands, buffers = self._recorder.take()
            if not commands or self.closed or self._dead:
                return
            numbered = tuple([c for c in commands if type(c) is not Free])
            self.batches += 1
            self._leaving = (self.batches, numbered)
            message = encode(Batch(self.batches, self._epoch, commands, bool(config.fuse)))
            self.bytes_out += len(message)
            freed = tuple([h for c in commands if type(c) is Free for h in c.bases])
            self._progress.begin()
            at = perf_counter_ns()
            try:
                ticket = self.transport.submit(message, buffers)
            except EngineError as error:
                self._leaving = None
                self._give_up(error)
                return
            finally:
                self._progress.end()
            self._sent.append(_Sent(at, self.batches, self._epoch, ticket, numbered, freed))
            self._begun = self._epoch if numbered else self._begun
            self._leaving = None
            self.journal.sent(self.batches)
        while not idle and len(self._sent) > (0 if self.transport.inline else _IN_FLIGHT):
            self._collect_oldest()

    def flush(self) -> None:
        """Send what is pending and wait until the engines have done it.

        Raises what an engine raised, once, with its real type.
        """
        if self.closed:
            return
        self.send()
        while self._sent:
            self._collect_oldest(last=len(self._sent) == 1)
        try:
            self._warn_all()
        finally:
            self._raise_pending()

    def _collect_oldest(self, last: bool = True) -> None:
        with self._recorder.lock, held():
            if not self._sent:
                return
            sent = self._sent[0]
            self._progress.begin()
            try:
                interruptible(lambda: self.transport.wait(sent.ticket))
            except KeyboardInterrupt:
                last = True
                self._interrupt()
                raise
            finally:
                self._progress.end(last)
            if self._collect(sent):  # an interrupt that came another way
                self._interrupt()
                raise KeyboardInterrupt

    def _collect(self, sent: _Sent) -> bool:
        """Take in the replies to the oldest batch; tell whether engines gave up unasked."""
        try:
            replies = self.transport.collect(sent.ticket)
        except EngineError as error:
            if sent.epoch == self._epoch or not self.transport.alive():
                self._give_up(error)
                return False
            # The interrupt hit an engine outside of the batch: what became of that is unknown.
            self._lose(sent, {h for c in sent.commands for h in c.writes})
            for handle in sent.freed:
                self._recorder.delete(handle)
            replies = []
        self._sent.popleft()
        self.finished += len(sent.commands)
        self._take_in(sent, replies)
        return sent.epoch == self._epoch and any(r.aborted for r in replies)

    def _give_up(self, error: EngineError) -> None:
        """Note that the engines, or what they do, cannot be known any more."""
        self._dead = str(error)
        self._error = self._error or error
        self._sent.clear()

    def _take_in(self, sent: _Sent, replies: list[Reply]) -> None:
        """Keep the values, times and failures of a batch."""
        self.journal.took(sent.number, sent.commands, sent.freed, [r.times for r in replies])
        for reply in replies:
            for slot, value in reply.values.items():
                if slot in self._values:
                    self._values[slot][reply.rank] = value
            self._warnings += [(sent.commands[index], kind) for index, kind in reply.warnings]
        if replies and self._windows:
            times = [r.times for r in sorted(replies, key=lambda r: r.rank)]
            record = Record(sent.commands, sent.at, perf_counter_ns(), times)
            for window in list(self._windows):
                window.take(record)
        self._lose(sent, {handle for reply in replies for handle in reply.lost})
        failures = [f for reply in replies for f in reply.failures]
        if failures and self._error is None:
            self._error = exception_of(sent.commands, failures, self.size, self.line)

    def _lose(self, sent: _Sent, handles: Iterable[int]) -> None:
        """Mark bases as lost by a batch, but for those that a later one made good again."""
        for handle in handles:
            reference = self._bases.get(handle)
            base = reference() if reference is not None else None
            if base is not None and base.since <= sent.number:
                base.lost = True

    def renew(self, base: Base) -> None:
        """Record that a lost base is made again; the caller goes on to write all of it."""
        how = ("empty",)
        shape, dtype, layout = base.shape, base.dtype.str, base.layout
        self.record(Create(base.handle, shape, dtype, layout, how, self.site()))

    def watch(self, base: Base) -> None:
        """Remember a base (weakly), to be told if its content gets lost."""
        self._bases[base.handle] = weakref.ref(base)

    def bases(self) -> list[Base]:
        """Return the bases on the engines that are alive."""
        found = (reference() for reference in list(self._bases.values()))
        return [base for base in found if base is not None]

    def _raise_pending(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _warn_all(self) -> None:
        found, self._warnings = self._warnings, []
        for command, kind in found:
            self._warn(command, kind)

    def _warn(self, command: Command, kind: str) -> None:
        what = title(command)
        line = self.line(getattr(command, "site", 0))
        warnings.warn(f"{kind} encountered in {what} ({line})", RuntimeWarning, stacklevel=4)

    def _interrupt(self) -> None:
        """Make the engines give up, take in what they say, and start a new epoch.

        A second Ctrl-C ends this wait, and whoever reads next waits for what is left.
        """
        self._epoch += 1
        while self._sent:
            sent = self._sent[0]
            interruptible(partial(self.transport.interrupt, sent.ticket))
            self._collect(sent)

    # -- values ------------------------------------------------------------------------------

    def ask(self, make: Any) -> list[Any]:
        """Record the command ``make(slot)``, flush, and return each rank's value of the slot.

        The value is ``MISSING`` where the command did not run, because it depends on a failed one.
        """
        self._slots += 1
        slot = self._slots
        self._values[slot] = {}
        try:
            self.record(make(slot))
            self.flush()
            return [self._values[slot].get(rank, MISSING) for rank in range(self.size)]
        finally:
            del self._values[slot]

    def gather(self, operand: Operand, placed: Placed, dtype: np.dtype) -> np.ndarray:
        """Return a view's elements in the notebook; each engine sends its part directly."""
        site = self.site()
        parts = self.ask(lambda slot: Fetch(slot, operand, site))
        if any(data is MISSING for data in parts):
            raise lost_error(placed.view.shape)
        out = np.empty(placed.view.shape, dtype)
        for rank, data in enumerate(parts):
            if data is None:
                continue
            if data.shape == out.shape:
                out[...] = data
                continue
            part = plan_parts(rank, placed)
            if part is None:
                continue
            for chunk, place in zip(part.chunks, part.places, strict=True):
                at(out, chunk.shape, place)[...] = at(data, chunk.shape, chunk.message)
        return out

    def describe(self, name: str) -> list[tuple[Any, ...]]:
        """Return shape and dtype of a ``%px`` variable on each engine."""
        return self.ask(lambda slot: Describe(slot, name))

    def bind(self, names: Iterable[tuple[str, Operand | InNotebook]]) -> None:
        """Make arrays reachable from ``%px`` under their notebook names."""
        self.record(Bind(tuple(names)))
        self.send()

    # -- time --------------------------------------------------------------------------------

    @property
    def measuring(self) -> bool:
        """Whether a window is open."""
        return bool(self._windows)

    def live(self, seconds: float = 0.1) -> Live:
        """Return what the engines are at, without waiting for what they do.

        Any thread may call it, also while the notebook waits for a value. Engines that do not
        answer within ``seconds`` are shown as they were when they last did.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2) as session:
        ...     session.live().left
        0
        """
        if self.closed:
            self.check_open()
        return look(self, seconds)

    def start_window(self) -> Window:
        """Begin to measure; returns what :meth:`end_window` needs. Windows may overlap."""
        window = Window(self.transport, self._reading())
        self._windows.add(window)
        return window

    def end_window(self, window: Window) -> Report:
        """End measuring; return where the time went since :meth:`start_window`."""
        commands = self.recorded
        end = self._reading()
        self._windows.discard(window)
        report = window.report(end._replace(recorded=commands), self.line)
        self.bandwidth = bandwidth(report.engines) or self.bandwidth
        if self.reported is not None:
            self.reported(report)
        return report

    def _reading(self) -> Reading:
        """Return the engines' accounts, when all is done that was recorded so far."""
        asked = perf_counter_ns()
        accounts = self.ask(Clocks)
        return Reading(asked, perf_counter_ns(), accounts, self.recorded, self.batches)

    # -- closing -----------------------------------------------------------------------------

    def close(self) -> None:
        """Free everything on the engines; stop them if this session started them. Idempotent."""
        if self.closed:
            return
        try:
            if not self._dead:
                self.flush()
            if self._begun < self._epoch and self.transport.concurrent and not self._dead:
                # Another session may get the communicator's id, and with it what is on its way.
                self.ask(Clocks)
        except EngineError:
            if not self._dead:
                raise
        finally:
            self.closed = True
            self._recorder.close()
            self._progress.close()
            with contextlib.suppress(Exception):  # engines that are gone need no goodbye
                self.transport.close()
            if self._owner is not None:
                self._owner.stop()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = f"{self.size} engine{'s' * (self.size != 1)}"
        state = "closed" if self.closed else "engines gone" if self._dead else state
        return f"<distnb session: {state}, {self.transport.kind}>"


_SESSIONS: weakref.WeakSet[Session] = weakref.WeakSet()


def _after_fork() -> None:
    """Close the sessions in a forked child: the engines work for its parent."""
    for session in _SESSIONS:
        session.closed = True


os.register_at_fork(after_in_child=_after_fork)
