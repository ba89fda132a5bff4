"""New engines in place of those that died: they take over the arrays, and what was under way.

The notebook's segment and the ledger outlive engines. New ones map the segment, are told what lies
where, and are sent again what the others had not done. What these were writing in place may be half
written: it is lost if it cannot be computed again (:mod:`distnb.client.recovery.rerun`).
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Protocol

from distnb.client.batching.connection import Again, Connection, Outcome, Sent
from distnb.client.batching.error_states import DEFAULT, ErrorState
from distnb.client.batching.handle_table import HandleTable
from distnb.client.batching.recorder import Recorder
from distnb.client.batching.replies import Replies
from distnb.client.batching.user_functions import Functions
from distnb.client.recovery.ledger import Kept, Ledger
from distnb.client.recovery.lineage import Lineage
from distnb.client.recovery.rerun import rerun
from distnb.client.recovery.shared_memory import SharedMemory
from distnb.client.recovery.unfinished import Unfinished
from distnb.client.transport.contract import AnyTransport, Buffers, share_of_node
from distnb.common.config import config
from distnb.common.errors import EngineError, explain
from distnb.common.interrupts import deferred_interrupts, interruptible
from distnb.wire.protocol import Ask, Command, title

__all__ = ["Recovery"]

#: How often it is tried, where new engines die, too, with nothing left out for that.
_ATTEMPTS = 3
#: How often engines may die at the same batch until it is left out.
_DEATHS = 3
#: Seconds that the user's thread has to end a step that does not need engines.
_PATIENCE = 1.0

#: What a line says of engines that have died, where no others come by themselves.
_ASK = "session.recover() starts new ones, which take over the arrays"
_OVER = "their arrays are lost; close the session and call dnb.start()"

#: What is said of a session whose engines go, while others come.
_BETWEEN = (
    "engines",
    "others that have not taken over yet",
    "all alive",
    "call session.recover(): they take over the arrays",
)

#: What is said of new engines that fail outside of commands.
_FAULTY = ("new engines", "a fault as they made arrays again", "none", "close, and dnb.start()")

#: What is said of engines that do not answer, and whose arrays would go with them.
_SILENT = (
    "engines",
    "some that do not answer, and hold arrays in their own memory",
    "engines that dnb.start() started",
    "let them go on, or start others beside them: dnb.start(beside=True)",
)


class Measuring(Protocol):
    """What is measured of engines."""

    def lose(self) -> None:
        """Take it that they are others now."""


class Parts(Protocol):
    """What a session consists of, as far as new engines have to do with it."""

    transport: AnyTransport
    connection: Connection
    recorder: Recorder
    functions: Functions
    handles: HandleTable
    replies: Replies
    memory: SharedMemory
    ledger: Ledger
    measuring: Measuring
    unfinished: Unfinished
    size: int
    closed: bool

    def line(self, site: int) -> str:
        """Return a line of the user's as text."""


class Recovery:
    """What a session does when its engines have died.

    Parameters
    ----------
    session : Parts
        The session.
    """

    def __init__(self, session: Parts) -> None:
        self._session = session
        #: Whether new engines are there that have not taken over yet.
        self._unfinished = False
        #: Whether others have begun to take over, and the handles of what was lost before that.
        self._begun, self._lost_before = False, set[int]()
        #: Whether it is known how far engines had come, and others may have begun to go on.
        self._known_once = self._repeated = False
        #: Whether engines that end are to do so; and what lays all for another number of them.
        self._exchanged = False
        self._recut: Callable[[int], None] | None = None
        #: The batch at which engines died last, how often so far, and what is said of it then.
        self._deadly, self._deaths = 0, 0
        #: Whether something is left out in this attempt, or will be in the next one.
        self._left_out = False
        self._blamed: BaseException | None = None
        #: How arrays came to be that lie in the engines' own memory, where others can come.
        self.lineage: Lineage | None = None
        #: When a line said that engines have died, and that new ones start; 0 if none did.
        self._said = 0.0

    def prepare(self, wanted: bool = False) -> None:
        """Let arrays outlive the engines from now on, if they can, and if that is wanted.

        Where they lie in the engines' own memory, others are to make them again.

        If it is ``wanted`` whatever the settings say, and cannot be had, raise EngineError.
        """
        session = self._session
        if wanted or (config.recover != "never" and session.transport.renewable):
            there = session.memory.available()
            if wanted and not there:
                raise EngineError(
                    explain("keep", "no memory that processes share", "memfd", "leave out keep=")
                )
            session.ledger.lays, by_lineage = there, not there and config.lineage > 0
            session.connection.keeps = there or by_lineage
            self.lineage = Lineage(session.ledger) if by_lineage else None
        session.transport.look_out(self.noticed)

    def took(self, outcome: Outcome) -> None:
        """Note what engines have done of a batch."""
        self._session.ledger.done(outcome)
        if self.lineage is not None:
            self.lineage.took(outcome)

    def doubt(self, handles: Iterable[int]) -> None:
        """Note bases whose content would be another one if what wrote it were done again."""
        if self.lineage is not None:
            with self._session.recorder.lock:
                self.lineage.doubt(handles)

    def resize(self, engines: int, recut: Callable[[int], None]) -> None:
        """Go on with another number of engines, where those that are there have nothing to do.

        ``recut`` is called with the number, when these are there and have not taken over yet; it
        lays all for them. If they cannot be had, there are others as before, and the error is
        raised. After Ctrl-C the next use goes on with it.
        """
        self._recut = recut
        self._exchange(engines)

    def asked(self) -> None:
        """Go on with other engines where those that are there have died, or do not answer."""
        connection = self._session.connection
        if self.due:
            self.run()
        elif connection.dead or connection.silent or connection.faulty:
            self._replace()

    def _replace(self) -> None:
        """End engines that do not answer, or failed, and go on with others from where these were.

        What they were at was given up. After Ctrl-C the next use goes on with it.
        """
        connection = self._session.connection
        if not (connection.keeps and self._session.transport.starts):
            raise EngineError(connection.dead or explain(*_SILENT))
        why = "failed" if connection.dead or connection.faulty else "do not answer"
        _say(f"engines that {why} are ended, and new ones take over the arrays")
        self._exchange(None)

    def _exchange(self, engines: int | None) -> None:
        """End the engines that are there, and go on with as many, or with another number."""
        session, transport = self._session, self._session.transport
        connection = session.connection
        self._exchanged = self._unfinished = True
        self._said = time.monotonic()
        connection.fall_back(explain(*_BETWEEN), [*connection.orphans, *connection.sent])
        try:
            interruptible(partial(transport.start_others, transport.generation, engines))
        except EngineError as error:
            self.run()
            if engines is not None:
                raise type(error)(self._as_before(error, engines)) from error
            return
        finally:
            self._exchanged = False
        self.run()

    def _as_before(self, error: EngineError, engines: int) -> str:
        """Return what is said where another number of engines did not come, and others did.

        What the error says is to be done is for who has none: it may be that arrays are lost.
        """
        why, there = str(error).partition("; ")[0], self._session.size
        do = f"do it again: there {'are' if there > 1 else 'is'} {there} as before, with all arrays"
        return explain("resize", f"new ones that did not come ({why})", f"{engines} engines", do)

    def _follow(self) -> None:
        """Lay all for the engines that are there, if their number is another one."""
        session, transport = self._session, self._session.transport
        if transport.size != session.size:
            assert self._recut is not None
            self._recut(transport.size)
            session.size = session.recorder.size = session.replies.size = transport.size
            session.handles.budget.share = share_of_node(transport.about)

    @property
    def due(self) -> bool:
        """Whether engines have died, or ended for others, and these have not taken over yet."""
        return self._unfinished or not self._session.transport.alive()

    def check(self) -> None:
        """Raise EngineError if others are due, and do not come without being asked for."""
        if self._session.connection.keeps and not self.by_itself and self.due:
            raise EngineError(f"engines have died: {self._others(_ASK)}")

    @property
    def by_itself(self) -> bool:
        """Whether to begin without being asked."""
        return self._session.connection.keeps and config.recover == "auto"

    def go_on(self) -> None:
        """Go on with new engines if the others have died, and if that was not to be asked for."""
        session = self._session
        if not session.connection.dead:
            return
        if not threading.main_thread().is_alive() and threading.current_thread().daemon:
            raise SystemExit  # as Python ends so did the engines; it does not wait for this thread
        if self.by_itself:
            with session.recorder.lock, deferred_interrupts():
                if session.connection.dead:
                    self.run()

    def noticed(self, generation: int) -> None:
        """Do at once what can be done when engines have died; this is not the user's thread.

        New engines start. They take over if nothing was on its way, so that no batch is torn, and
        if the user's thread is not in the middle of a step; else it does that itself.
        """
        session = self._session
        stale = session.transport.generation != generation
        if session.closed or stale or self._exchanged:
            return
        if not self.by_itself:
            keeps = session.connection.keeps
            _say(f"engines have died: {self._others(_ASK) if keeps else _OVER}")
            return
        self._tell_of_start()
        try:
            session.transport.start_others(generation)
        except (EngineError, TimeoutError, MemoryError):  # whoever uses them is told why
            if not session.closed:
                _say("new engines did not come; the next use tries again")
            return
        if session.recorder.lock.acquire(timeout=_PATIENCE):
            try:
                if self._idle():
                    self.run()
            finally:
                session.recorder.lock.release()

    def _idle(self) -> bool:
        """Tell whether engines that have died had nothing to do."""
        session = self._session
        connection = session.connection
        busy = connection.sent or connection.orphans or session.closed or not connection.keeps
        return not busy and not session.transport.alive()

    def _tell_of_start(self) -> None:
        if not self._said and self._session.transport.starts:
            _say(f"engines have died: {self._others('new ones start, and take over the arrays')}")
        self._said = self._said or time.monotonic()

    def _others(self, text: str) -> str:
        """Return what is said of others that take over, or make the arrays again."""
        made = self.lineage is not None
        return text.replace("take over the arrays", "make the arrays again") if made else text

    def run(self) -> None:
        """Start engines, let them take over, and send again what was on its way.

        After Ctrl-C the next use begins once more. Raises EngineError if engines cannot be had.
        """
        session = self._session
        connection, transport = session.connection, session.transport
        there = transport.alive() and not self._unfinished
        if there or not connection.keeps:
            raise EngineError(connection.dead or str(transport.gone()))
        before = session.size
        if not self._begun:
            self._begun, self._lost_before = True, self._lost()
        dead, orphans = connection.dead or str(transport.gone()), connection.orphans
        connection.fall_back(dead, orphans)  # who would use them meanwhile waits for the lock
        self._tell_of_start()
        left = _ATTEMPTS
        while True:
            try:
                self._unfinished, self._left_out = True, False
                orphans = connection.orphans
                interruptible(transport.renew)
                self._follow()
                orphans = self._known(orphans)
                lost = self._take_over(orphans)
                break
            except BaseException as error:
                connection.fall_back(dead, orphans)
                if not transport.starts:
                    self._said = 0.0  # somebody has to start others first
                if not (isinstance(error, EngineError) and transport.starts):
                    raise
                left = _ATTEMPTS if self._left_out else left - 1
                if not left or transport.alive():
                    connection.give_up_on_others(str(error))
                    raise
        connection.revive()
        transport.look_out(self.noticed)
        n = session.size
        self._ready(f"{n} engine{'s' * (n > 1)}, " if n != before else "", lost)

    def _lost(self) -> set[int]:
        """Return the handles of what is lost."""
        handles = self._session.handles
        there = self._session.ledger.kept.items()
        return {h for h, kept in there if kept.why or handles.lost(h)}

    def _ready(self, others: str, lost: list[int]) -> None:
        """Tell what has become of the arrays, now that other engines have taken over."""
        took = time.monotonic() - self._said
        self._unfinished = self._begun = self._known_once = self._repeated = False
        self._said, self._recut = 0.0, None  # that holds arrays
        session = self._session  # of which some was done again
        session.connection.recount(session.recorder.recorded - session.recorder.waiting)
        _say(f"{others}ready again after {took:.1f} s{self._told(lost)}")
        if self._blamed is not None:
            blamed, self._blamed = self._blamed, None
            self._session.connection.fail(blamed)

    def _known(self, orphans: list[Sent]) -> list[Sent]:
        """Return the batches that were on their way, which know how far engines had come in them.

        Only when the last of these has ended: one goes on for a while where another has died. Where
        something failed or was given up, or others had begun to do this again, nothing is taken for
        done.
        """
        memory, size = self._session.memory, self._session.size
        if self._known_once and not self._repeated:
            return orphans
        failed = memory.failed(size)
        epoch = self._session.connection.epoch
        doubt = self._repeated or any(s.number <= failed or s.epoch != epoch for s in orphans)
        found = []
        for sent in orphans:
            assert sent.again is not None
            count = len(sent.again.commands)
            done, begun = memory.how_far(sent.number, count, size)
            again = sent.again._replace(
                done=0 if doubt else done, begun=count if self._repeated else begun
            )
            found.append(sent._replace(again=again))
        self._known_once = True
        return self._without_deadly(found)

    def _without_deadly(self, orphans: list[Sent]) -> list[Sent]:
        """Return them, without what engines have died at again and again: it would be so for ever.

        Such as a function of the user's that ends its process.
        """
        left = [s for s in orphans if s.again is not None and s.again.done < len(s.again.commands)]
        number = left[0].number if left else 0
        self._deaths = self._deaths + 1 if number == self._deadly else 1
        self._deadly = number
        if not left or self._deaths < _DEATHS:
            return orphans
        first, self._deadly, self._left_out = left[0], 0, True
        again = first.again
        assert again is not None
        at = again.commands[again.done : max(again.begun, again.done + 1)]
        deaths = f"{_DEATHS} deaths at {', '.join(dict.fromkeys(map(self._named, at)))}"
        do = "mend it, and make anew what it was to make"
        self._blamed = EngineError(explain("engines", deaths, "what they survive", do))
        deadly = first._replace(again=again._replace(begun=again.done + len(at), deadly=True))
        return [deadly if s is first else s for s in orphans]

    def _take_over(self, orphans: list[Sent]) -> list[int]:
        """Let new engines have what the ledger says, and send them what is left to do.

        Returns the handles of arrays that are lost.
        """
        session = self._session
        connection, ledger = session.connection, session.ledger
        self._blamed = connection.hand_over() or self._blamed
        session.unfinished.forget_given_up()
        session.memory.forget_begun()
        if ledger.lays:
            self._run(session.memory.card(session.replies.expect()))
        session.functions.tell_again()
        known = self._made_before()
        gone = {h: why for h, k in ledger.kept.items() if (why := self._gone(h, k))}
        shapes = {h: k.shape for h, k in ledger.kept.items()}
        plan = rerun([*known, *orphans], connection.epoch, gone, shapes)
        self._run(*[ledger.again(h, h in gone) for h in ledger.kept])
        session.memory.forget_begun()  # what has been done only now has higher numbers
        before, self._repeated = connection.batches, True
        self._do_again(known, plan.batches)
        for sent, commands in zip(orphans, plan.batches[len(known) :], strict=True):
            assert sent.again is not None
            connection.repeat(sent, Again(commands, sent.again.buffers))
        lost = [h for h in plan.lost if h in ledger.kept]
        if lost:
            self._submit(tuple([ledger.again(h, lost=True) for h in lost]))
        for handle in lost:
            why = gone.get(handle) or self._torn(plan.lost[handle])
            ledger.lose(handle, why)
            session.handles.lose([handle], before, why)
        session.recorder.count()
        session.measuring.lose()
        told = session.handles.entries.keys() - session.unfinished.wanted - self._lost_before
        return [h for h in lost if ledger.kept[h].all and h in told]

    def _made_before(self) -> list[Sent]:
        """Return, as batches that all engines had done, what makes again what is gone with them."""
        session = self._session
        epoch = session.connection.epoch
        if self.lineage is not None:
            return self.lineage.replay(epoch)
        commands = session.ledger.makers()
        again = Again(commands, [], len(commands), len(commands))
        return [Sent(0, 0, epoch, None, (), (), again=again)]

    def _do_again(self, known: list[Sent], batches: list[tuple[Command, ...]]) -> None:
        """Let engines do batches again that others had done; by lineage, wait for each."""
        session = self._session
        connection, lineage = session.connection, self.lineage
        for sent, commands in zip(known, batches, strict=False):
            if not commands:
                continue
            assert sent.again is not None
            self._submit(commands, sent.again.buffers, sent.errors)
            if lineage is None:
                continue
            connection.wait()
            outcome = connection.collect()
            if outcome is None or not outcome.known:
                self._deaths -= 1  # that was not at what had been on its way
                self._left_out = lineage.ended(sent)
                raise EngineError(connection.dead or explain(*_FAULTY))
            self._blamed = session.replies.take(lineage.redone(outcome)) or self._blamed
        if lineage is not None:
            lineage.ended()

    def _submit(
        self, commands: tuple[Command, ...], buffers: Buffers = (), errors: ErrorState = DEFAULT
    ) -> None:
        """Send commands to engines, which other notebooks may have reached as well."""
        connection = self._session.connection
        connection.is_our_turn(True)
        connection.submit(commands, buffers, errors)

    def _run(self, *commands: Command) -> None:
        """Let engines run commands now; raises EngineError if they cannot."""
        if not commands:
            return
        connection = self._session.connection
        self._submit(commands)
        connection.wait()
        outcome = connection.collect()
        if outcome is None:
            raise EngineError(connection.dead)
        error = self._session.replies.take(outcome)
        if error is not None:
            raise EngineError(f"taking over the arrays: {error!r}") from error
        for command in commands:
            if isinstance(command, Ask) and not all(self._session.replies.claim(command.slot)):
                raise EngineError(
                    explain("engines", "memory that they cannot map", "the arrays", "dnb.start()")
                )

    def _gone(self, handle: int, kept: Kept) -> str:
        """Return why the content of a base is gone, "" if it is there."""
        if kept.why or 0 in kept.shape:
            return kept.why
        lost = self._session.handles.lost(handle)
        if lost:
            return lost if isinstance(lost, str) else "a command that writes it failed"
        if kept.memory is None:
            spoiled = {} if self.lineage is None else self.lineage.spoiled
            why = f", and {spoiled[handle]}" if handle in spoiled else ""
            return f"engines died that had it in their own memory{why}{self._made(kept)}"
        return "" if kept.all else f"engines died that had it half made{self._made(kept)}"

    def _made(self, kept: Kept) -> str:
        return f"; it was made at {self._session.line(kept.site)}" if kept.site >= 0 else ""

    def _torn(self, command: Command | None) -> str:
        """Return why a base is lost that engines were writing."""
        if command is None:
            return "engines died that had it"
        return f"engines died while {self._named(command)} was writing in place what it needs"

    def _named(self, command: Command) -> str:
        """Return what a command does, and where it was recorded."""
        site = getattr(command, "site", -1)
        return repr(title(command)) + (f" at {self._session.line(site)}" if site >= 0 else "")

    def _told(self, lost: list[int]) -> str:
        """Return what is to be said of arrays.

        How many there are is not: of those in reach engines have not heard, and others are no
        user's.
        """
        found = "arrays are as before" if self.lineage is None else "arrays on engines made again"
        if lost:
            found += f", {len(lost)} lost: each says why when it is used"
        return f"; {found}; what %px had defined is gone"


def _say(text: str) -> None:
    print(f"distnb: {text}", file=sys.stderr)
