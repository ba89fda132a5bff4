"""A session: one client, its engines, and all arrays that live on them."""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Callable, Iterable
from math import prod
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from distnb.client.batching.budget import Budget
from distnb.client.batching.call_sites import CallSites
from distnb.client.batching.connection import Connection
from distnb.client.batching.failures import given_up
from distnb.client.batching.handle_table import HandleTable
from distnb.client.batching.recorder import Recorder
from distnb.client.batching.replies import MISSING, Replies, fill_in
from distnb.client.batching.user_functions import Functions
from distnb.client.recovery.ledger import Ledger
from distnb.client.recovery.renewal import Recovery
from distnb.client.recovery.shared_memory import SharedMemory
from distnb.client.recovery.unfinished import Unfinished
from distnb.client.session.journal import ByName, Journal, Named
from distnb.client.session.large_steps import LargeSteps
from distnb.client.session.observing import Observer
from distnb.client.session.progress import Progress, surface
from distnb.client.session.sharing import Sharing
from distnb.client.session.windows import Measuring, Reading, Window
from distnb.client.transport.contract import AnyTransport, share_of_node
from distnb.common.closable import Closable
from distnb.common.errors import EngineError, SessionError, explain
from distnb.common.interrupts import deferred_interrupts
from distnb.common.shared_segments import SharedSegment
from distnb.geometry.views import Placed
from distnb.measure.events import Report
from distnb.measure.snapshot import Live
from distnb.wire.protocol import Ask, Bind, Bound, Command, Fetch, Operand

if TYPE_CHECKING:  # few sessions are kept
    from distnb.client.recovery.keeping import Keeping

__all__ = ["Session"]

#: What users use of a session.
_PUBLIC = {"close", "closed", "end_window", "flush", "live", "recover", "resize", "size"}
_PUBLIC.add("start_window")
#: Bytes from which engines of this node copy elements to where the notebook wants them.
_IN_PLACE = 1 << 16


class Extensions(dict[type[Any], Any]):
    """What the rooms above the session keep for each session, such as a cache of operations.

    Class -> its one object of this session, made without arguments when it is first asked for. The
    class is defined where its state is used, and the session need not know it.

    Examples
    --------
    >>> extensions = Extensions()
    >>> extensions[list].append(1)
    >>> extensions[list]
    [1]
    """

    def __missing__(self, kind: type[Any]) -> Any:
        return self.setdefault(kind, kind())  # another thread may have made it


class Owner(Protocol):
    """Who started the engines."""

    def stop(self) -> None:
        """Stop them."""


class Session(Closable, ByName):
    """A session on the engines behind a transport.

    Sessions are made by :func:`distnb.start`, :func:`distnb.connect`, :func:`distnb.spmd` and
    :func:`distnb.inprocess`. A session is a context manager; leaving it closes it.

    Attributes
    ----------
    size : int
        Number of engines.
    closed : bool
        Whether it has been closed.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2) as session:
    ...     session.size, session.closed
    (2, False)
    >>> session.closed
    True
    """

    #: What is said of it when it is closed.
    _without = "a closed one"
    #: Lists what is kept, when a name was given; tells how that is done (``lasting.kept_arrays``).
    listed_by: ClassVar[Callable[[Session], None]]
    names_told_by: ClassVar[Callable[[], None]]
    #: Does what :meth:`resize` says (``lasting.resizing``).
    resized_by: ClassVar[Callable[[Session, int], None]]
    #: Returns the bytes of each of its arrays, wherever they are (``handle.living``).
    counted_by: ClassVar[Callable[[Session], list[int]]]
    #: Lets so many bytes of bases go to disk (``handle.spilling``).
    spilled_by: ClassVar[Callable[[Session, float], str]]

    def __init__(
        self,
        transport: AnyTransport,
        owner: Owner | None = None,
        segment: SharedSegment | None = None,
    ) -> None:
        super().__init__()
        self.transport, self.size, self._owner = transport, transport.size, owner
        #: What it was asked for with, and how often: who is given it again is one more user.
        self.origin: tuple[Any, ...] = ()
        self.users = 1
        call_sites = CallSites()
        self.site, self.line = call_sites.number, call_sites.line
        self.connection = Connection(transport, budget := Budget(share_of_node(transport.about)))
        self.recorder = Recorder(self.size, self.send, self.flush, self.connection.filled)
        self.handles = HandleTable(budget, self.recorder.delete)
        self.deferred, self.bases = self.recorder.deferred, self.handles.bases
        self.handles.budget.spill = lambda excess: Session.spilled_by(self, excess)
        self.functions = Functions(self._define, self.recorder.delete)
        self.sharing = None if transport.turns is None else Sharing(self, transport.turns)
        asking = self.ask, self.recorder.lock, transport.concurrent
        self.memory = SharedMemory(*asking, segment, self.handles.budget)
        self.ledger = Ledger(self.memory, self.handles)
        self.recovery = Recovery(self)
        #: What engines gave up because of Ctrl-C, until somebody wants it.
        self.unfinished = Unfinished(self)
        #: What lets it outlive the notebook, and the arrays that were given a name here.
        self.keeping: Keeping | None = None
        self.named = Named()
        #: Is told of commands that are about to be sent, if somebody wants to know.
        self.watch: Callable[[Iterable[Command]], None] | None = None
        #: Small steps recorded in a row, -1 after a large one; what large ones cost (``pace``).
        self.small_steps, self.large = 0, LargeSteps()
        #: How often arrays came in reach of the notebook: it may have written into them since.
        self.reaches = 0
        #: How many of the commands only read.
        self.fetches = 0
        #: Whether bases are told of writes: others have the same elements (``reach.aliasing``), or
        #: what was made of them (``handle.copies``).
        self.looks = False
        self.replies = Replies(self.size, self.handles, call_sites)
        #: What this cell and the last one did.
        self.journal = Journal(self.handles.bases)
        self.measuring = Measuring(transport, self.line, self.connection.wait)
        self._observer = Observer(transport, self.connection, self.recorder, self.line)
        self.progress = Progress(self._observer, None if transport.rank else surface())
        #: Whether functions of parts were called, so that where arrays are cut may be in results.
        self.by_parts = False
        #: What the session did by itself, and the batch before it.
        self.notes: list[tuple[int, str]] = []
        self.extensions = Extensions()
        _SESSIONS.add(self)

    # -- recording ---------------------------------------------------------------------------

    def new_handle(self) -> int:
        """Return a number for a new base."""
        if self.closed or not self.connection.ready:
            self.check_open()
        return next(self.handles.numbers)

    def check_open(self) -> None:
        """Raise SessionError if the session is closed; raise what an engine reported meanwhile."""
        if self.closed:
            do = "call dnb.start() and make new arrays"
            raise SessionError(explain("session", self._without, "an open one", do))
        self.recovery.go_on()
        self.connection.check()

    def recover(self) -> None:
        """Go on with new engines, if the engines have died or do not answer; else do nothing.

        With ``dnb.config.recover = "auto"`` the former is done by itself. Engines that did not
        answer to Ctrl-C, as in a long call of compiled code, are ended. Arrays have the content
        that they had, but for what the engines were writing in place; that is told.

        Raises
        ------
        EngineError
            If there can be no new engines, or they cannot take over the arrays.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2) as session:
        ...     session.recover()
        """
        with self.recorder.lock, deferred_interrupts():
            while self.connection.sent and not self.transport.alive():
                self.take_oldest()
            self.recovery.asked()

    def resize(self, engines: int) -> None:
        """Go on with more or fewer engines, on this host; arrays are what they were.

        Others start in place of those that are there, as when these die, and take over the arrays
        where they lie, cut anew: in blocks as new arrays are, by the same kinds along each axis, on
        a grid as for so many engines; unequal parts in proportion. What the parts of an array that
        lie one after the other make up, in C order, is not copied; the rest is, by the engines.
        Names and functions that ``%px`` has defined are gone. Where engines have died, this is how
        to go on without them: :meth:`recover`, then so many.

        Parameters
        ----------
        engines : int
            How many there are to be. If as many are there, nothing is done.

        Raises
        ------
        TypeError, ValueError
            If that is not an integer of at least 1.
        SessionError
            If ``dnb.start()`` did not start the engines, or other sessions use them as well.
        EngineError
            If so many cannot be started; there are as many as before then, with all arrays.

        Examples
        --------
        >>> import distnb as dnb
        >>> session = dnb.start(2)  # doctest: +SKIP
        >>> x = dnb.arange(1e6)  # doctest: +SKIP
        >>> session.resize(4)  # doctest: +SKIP
        distnb: 4 engines, ready again after 1.1 s; 1 array as before; what %px had defined is gone
        >>> x.layout.elements()  # doctest: +SKIP
        (250000, 250000, 250000, 250000)

        Engines in this process stay as they are:

        >>> with dnb.inprocess(2) as session:
        ...     session.resize(2)
        """
        Session.resized_by(self, engines)

    def _define(self, number: int, text: bytes) -> None:
        """Give engines a function; where they have died, those that come in their place get it."""
        try:
            self.transport.define(number, text)
        except EngineError:
            if not self.connection.keeps or self.transport.alive():
                raise

    def record(self, *commands: Command) -> None:
        """Add commands to the pending batch."""
        if self.closed or not self.connection.ready:
            self.check_open()
        with self.recorder.lock:
            if self.looks:
                self._note_writes(commands)
            self.recorder.add(*commands)

    def _note_writes(self, commands: Iterable[Command]) -> None:
        """Tell bases that commands write, for others have the same elements."""
        for handle in [h for command in commands for h in command.writes]:
            reference = self.handles.entries.get(handle)
            base: Any = None if reference is None else reference()
            if base is not None:
                base.about_to_be_written()
                if base.look is not None:
                    base.look.wrote(base)

    @property
    def foreign(self) -> int:
        """How many messages went to the engines that may have changed arrays there (``%px``)."""
        return self.transport.foreign

    @property
    def recorded(self) -> int:
        """Number of commands so far."""
        return self.recorder.recorded

    @property
    def changes(self) -> int:
        """What is another number once anything is done that may change elements, but by ``%px``."""
        return self.recorder.recorded - self.fetches + self.reaches

    @property
    def batches(self) -> int:
        """Number of batches that were sent."""
        return self.connection.batches

    def attach(self, parts: list[np.ndarray], make: Callable[[int], Command]) -> None:
        """Add a buffer for each rank to the pending batch, with the command of its slot."""
        with self.recorder.lock:  # the idle timer must not send the one without the other
            self.deferred.record()  # nor what is recorded before a command, if that fills a batch
            self.record(make(self.recorder.attach(parts)))

    # -- sending and waiting -------------------------------------------------------------------

    def send(self, idle: bool = False) -> None:
        """Send what is pending, without waiting for it.

        The idle timer never waits, nor does it take in replies: the main thread can be interrupted.
        """
        connection = self.connection
        if not (idle or self.closed) and connection.ready:
            self.deferred.record()
            self.take_in()  # which tells how long engines take
        with self.recorder.lock, deferred_interrupts():
            if idle and (connection.busy or self.ledger.is_crowded(1)):
                return
            self.progress.begin()
            self.large.tick()
            try:
                self._submit(idle)
            finally:
                self.progress.end()
        while not idle and (connection.overfull or self.ledger.is_crowded(len(connection.sent))):
            self._collect_oldest()

    def _submit(self, idle: bool = False) -> None:
        """Send what is pending, when other notebooks on the engines let us."""
        while self.connection.sent and self.connection.in_doubt:
            self.take_oldest()  # what was given up may not have made what we name
        if self.connection.dead and self.connection.keeps:
            return  # other engines may come
        if self.sharing is not None and not self.sharing.is_our_turn(idle):
            return
        commands, buffers = self.recorder.take()
        if not commands or self.closed or self.connection.dead:
            self.connection.rest()
            return
        if self.unfinished.there:
            commands = self.unfinished.enter(commands, buffers)
        connection, before = self.connection, self.connection.batches
        try:
            if self.keeping is not None or self.watch is not None:
                self.about_to_send(commands)
            placed = self.ledger.enter(commands, connection.settled) if connection.keeps else ()
            connection.submit(commands, buffers, self.recorder.errors, placed)
        except MemoryError:
            if connection.batches == before:
                self.recorder.give_back(commands, buffers)
                self.ledger.forget(connection.sent)
            raise

    def about_to_send(self, commands: tuple[Command, ...]) -> None:
        """Tell of commands those who want to know."""
        if self.keeping is not None:
            self.keeping.sends(commands)
        if self.watch is not None:
            self.watch(commands)

    def flush(self) -> None:
        """Send what is pending and wait until the engines have done it.

        Raises what an engine raised, once, with its real type.
        """
        if self.closed:
            return
        if self.connection.dead:
            self.recovery.go_on()
        if self.connection.ready and self.deferred.pending:
            self.deferred.record()
        with self.recorder.lock, deferred_interrupts():  # once for the batch and its replies
            self.progress.begin()
            try:
                self._submit()
                while self.connection.sent:
                    self.take_oldest()
            finally:
                self.progress.end()
        try:
            if self.replies.warnings:
                self.replies.warn()
        finally:
            if not self.connection.ready:
                self.connection.raise_error()

    def quiet(self) -> bool:
        """Tell whether engines have done all that was recorded; does not wait for them."""
        connection = self.connection
        with self.recorder.lock:  # what the idle timer takes neither waits nor is sent yet
            if self.recorder.waiting or self.deferred.pending or connection.dead:
                return False
            return self.take_in() and connection.ready

    def take_in(self) -> bool:
        """Take in replies that have come; tell whether these were all."""
        while self.connection.sent:
            with self.recorder.lock, deferred_interrupts():  # or a reply could get lost
                if self.connection.sent and not self.connection.done():
                    return False
                self._collect_oldest()
        return True

    def _collect_oldest(self) -> None:
        """Wait for the oldest batch, if there is one."""
        with self.recorder.lock, deferred_interrupts():
            if not self.connection.sent:
                return
            self.progress.begin()
            try:
                self.take_oldest()
            finally:
                self.progress.end()

    def take_oldest(self) -> None:
        """Wait for the replies to the oldest batch, and take them in; lets Ctrl-C through."""
        try:
            (self.measuring if self.measuring.windows else self.connection).wait()
        except KeyboardInterrupt as interrupt:
            interrupt.args = (given_up(self.connection.sent[0].commands),)
            self.unfinished.interrupt(interrupt)
            raise
        if self.collect():  # an interrupt that came another way
            unasked = KeyboardInterrupt()
            self.unfinished.interrupt(unasked)
            if self.connection.ready:  # else it was a fault, which is told of
                raise unasked

    def collect(self) -> bool:
        """Take in the replies to the oldest batch; tell whether engines gave up unasked."""
        outcome = self.connection.collect()
        if outcome is None:
            self.recovery.go_on()
            return False
        sent, replies, known = outcome
        aborted = not known or any(r.aborted for r in replies)
        if aborted:
            self.unfinished.note(outcome)
        if self.connection.keeps:
            self.recovery.took(outcome)
        if not known:
            self.recorder.do_again(sent.freed, self.ledger.lost_of(sent))
        elif self.functions.leaving:
            self.functions.dropped(sent.freed)
        self.journal.took(sent.at, sent.commands, sent.freed, [r.times for r in replies])
        if self.measuring.windows:
            self.measuring.take(outcome)
        if (error := self.replies.take(outcome)) is not None:
            self.connection.fail(error)
        if self.unfinished.there:
            self.unfinished.hold()
        return aborted and sent.epoch == self.connection.epoch

    @property
    def waits(self) -> bool:
        """Whether anything was asked for of which nobody has seen what came of it."""
        pending = self.recorder.pending or self.deferred.pending
        return bool(pending or not self.connection.ready or not self.connection.given_up)

    # -- values ------------------------------------------------------------------------------

    def ask(self, make: Callable[[int], Command]) -> list[Any]:
        """Record the command ``make(slot)``, flush, and return each rank's value of the slot.

        The value is ``MISSING`` where the command did not run, because it depends on a failed one.
        """
        slot = self.replies.expect()
        try:
            self.record(make(slot))
            self.flush()
        finally:
            found = self.replies.claim(slot)
        return found

    def gather(self, operand: Operand, placed: Placed, dtype: np.dtype) -> np.ndarray:
        """Return a view's elements in the notebook; each engine sends its part directly.

        On one node engines copy what is large to where it is to be.
        """
        site, shape = self.site(), placed.view.shape
        out, place = None, 0
        if prod(shape) * dtype.itemsize >= _IN_PLACE and self.memory.available():
            out, place = self.memory.read_into(shape, dtype, self.connection.settled)
        if out is None:
            out = np.empty(shape, dtype)
        try:
            parts = self.ask(lambda slot: Fetch(slot, operand, site, place))
            self.fetches += 1
        except BaseException:
            if place:  # engines may still be at it
                self.memory.hold(out, self.connection.batches)
            raise
        whole = None
        for data in parts:
            if data is MISSING:
                raise self.handles.lost_error(operand.base, shape)
            if data is not None and data.shape == shape:
                whole = data
        if not place and whole is not None:
            out[...] = whole
        elif not place:
            fill_in(out, parts, placed)
        return out

    def bind(self, names: Iterable[tuple[str, Bound]], sealed: Iterable[str] = ()) -> None:
        """Make arrays reachable from ``%px`` under their notebook names, some only to be read."""
        self.memory.show(names := tuple(names))
        self.record(Bind(names, tuple(sealed)))
        self.send()

    # -- time --------------------------------------------------------------------------------

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
        return self._observer.live(seconds)

    def start_window(self) -> Window:
        """Begin to measure; returns what :meth:`end_window` needs. Windows may overlap."""
        return self.measuring.start(self._reading())

    def end_window(self, window: Window) -> Report:
        """End measuring; return where the time went since :meth:`start_window`."""
        commands = self.recorded
        reading = self._reading()._replace(recorded=commands)
        since = window.start.batches
        notes = tuple([text for batch, text in self.notes if batch >= since])
        return self.measuring.end(window, reading, notes)

    def note(self, text: str) -> None:
        """Note for reports what the session did by itself."""
        self.notes = [*self.notes[-99:], (self.batches, text)]

    def _reading(self) -> Reading:
        """Return the engines' accounts, when all is done that was recorded so far."""
        asked, accounts = perf_counter_ns(), self.ask(lambda slot: Ask(slot, "clocks"))
        there = perf_counter_ns()
        did = None if self.transport.inline else self.measuring.clock.read()
        return Reading(asked, there, accounts, self.recorded, self.batches, did)

    # -- closing -----------------------------------------------------------------------------

    def close(self) -> None:
        """Free everything on the engines; stop them if this session started them. Idempotent."""
        if self.closed:
            return
        self.connection.keeps = False  # who closes it wants no other engines
        try:
            if self.connection.silent and self._owner is not None:  # it would be waited for
                self._owner.stop()
            if not self.connection.dead:
                self.flush()
            if self.connection.unsettled and self.transport.concurrent:
                # Another session may get the communicator's id, and with it what is on its way.
                self.ask(lambda slot: Ask(slot, "clocks"))
        except EngineError:
            if not self.connection.dead:
                raise
        finally:
            self.closed = True
            self.named.clear()
            if self.keeping is not None:
                self.keeping.close()
            self.recorder.close()
            self.ledger.close()
            self.memory.close()
            self.progress.close()
            with contextlib.suppress(Exception):  # engines that are gone need no goodbye
                self.transport.close()
            if self._owner is not None:
                self._owner.stop()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exc: object) -> None:
        self.users -= 1
        if self.users < 1:
            self.close()

    def __setitem__(self, name: str, array: Any) -> None:
        """Give an array a name, by which it is found again: see :func:`distnb.attach`."""
        self.check_open()
        if not isinstance(name, str):
            raise TypeError(explain("name", repr(name), "a string", 'write session["T"] = T'))
        if not name:
            raise ValueError(explain("name", "''", "some letters", 'write session["T"] = T'))
        if getattr(array, "session", None) is not self:
            raise TypeError(explain(name, type(array).__name__, "the session's array", "make one"))
        before = Named(self.named)
        self.named[name] = array
        try:
            Session.listed_by(self)
        except BaseException:
            self.named = before
            raise

    def __delitem__(self, name: str) -> None:
        """Forget a name that was given here; of a variable, ``del`` it in the notebook."""
        self.named[name]  # else KeyError tells which there are
        del self.named[name]
        Session.listed_by(self)

    def __dir__(self) -> list[str]:
        """Return what is there for users."""
        return [n for n in super().__dir__() if n.startswith("__") or n in _PUBLIC]

    def __repr__(self) -> str:
        state = f"{self.size} engine{'s' * (self.size != 1)}"
        state = "closed" if self.closed else "engines gone" if self.connection.dead else state
        return f"<distnb session: {state}, {self.transport.kind}>"


_SESSIONS: weakref.WeakSet[Session] = weakref.WeakSet()


def _after_fork() -> None:
    """Close the sessions in a forked child: the engines work for its parent."""
    for session in _SESSIONS:
        session.closed = True
        session._without = "that of the process from which this one was forked"
        session.recorder.after_fork()
        if session.keeping is not None:
            session.keeping.let_go()


def _before_fork() -> None:
    for session in _SESSIONS:
        session.memory.before_fork()


os.register_at_fork(before=_before_fork, after_in_child=_after_fork)
