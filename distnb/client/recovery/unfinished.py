"""What engines gave up because of Ctrl-C: it is done when somebody wants what it makes.

Engines have noted how far they were, so it is known what is to run again and what is lost
(:mod:`distnb.client.recovery.rerun`). What runs again is kept here, with the memory that it needs.
It is sent when an array that it makes is used, or before anything else changes what it needs; never
if nobody has these arrays any more. So a loop that was stopped has done all the steps that the
notebook has asked for, as with NumPy, and who stopped it because it took long need not wait for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from distnb.client.batching.connection import Again, Connection, Outcome, Sent
from distnb.client.batching.entries import Entry
from distnb.client.batching.error_states import ErrorState
from distnb.client.batching.handle_table import HandleTable
from distnb.client.batching.recorder import Recorder
from distnb.client.recovery.ledger import Kept, Ledger
from distnb.client.recovery.rerun import needed, rerun
from distnb.client.recovery.shared_memory import SharedMemory
from distnb.client.transport.contract import Buffers
from distnb.common.interrupts import deferred_interrupts
from distnb.ops.table import WRITING
from distnb.wire.messages import Reply
from distnb.wire.protocol import Ask, Bind, Collective, Command, Create, Fetch, Free, Lay, bases_of

__all__ = ["Unfinished"]

#: Why a base has no content that is made when it is used.
_HELD = "engines were interrupted before they had made it"

#: Commands whose values nobody waits for any more, or that only move things.
_ASKING = (Ask, Bind, Fetch, Lay)


class _Rest(NamedTuple):
    """What is left of a batch."""

    commands: tuple[Command, ...]
    buffers: Buffers
    errors: ErrorState


class Parts(Protocol):
    """What a session consists of, as far as it has to do with this."""

    connection: Connection
    recorder: Recorder
    handles: HandleTable
    memory: SharedMemory
    ledger: Ledger
    size: int

    def check_open(self) -> None:
        """Raise what stands in the way of anything being sent."""

    def take_oldest(self) -> None:
        """Wait for the replies to the oldest batch, and take them in."""

    def collect(self) -> bool:
        """Take in the replies to the oldest batch; tell whether engines gave up unasked."""

    def about_to_send(self, commands: tuple[Command, ...]) -> None:
        """Tell of commands those who want to know."""


class Unfinished:
    """The rest of the batches that were given up, in order; kept with the session's lock.

    Attributes
    ----------
    there : bool
        Whether there is anything, so that batches are to be looked at.
    named : set of int
        The bases that it reads or writes, which nothing else may write before it is done.
    wanted : set of int
        Those that it makes, and that somebody has; they count as lost until it is done.
    """

    def __init__(self, session: Parts) -> None:
        self._session = session
        self.named: set[int] = set()
        self.wanted: set[int] = set()
        self.forget()
        self.forget_given_up()

    def forget(self) -> None:
        """Do not do it at all."""
        self.there = False
        self.named.clear()
        self.wanted.clear()
        self._written: set[int] = set()
        self._rests: list[_Rest] = []
        #: Bases that engines do not have any more, or take for lost, and what they are.
        self._again: dict[int, Kept] = {}
        #: What the rests make and drop, and the memory in which they do.
        self._made: dict[int, Kept] = {}
        #: Those that were dropped since.
        self._dropped: list[int] = []
        #: Whether the first rest says what is to be had again before.
        self._prepared = False

    def forget_given_up(self) -> None:
        """Take it that nobody knows how far engines were in what they gave up."""
        self.there = bool(self.named)
        self._given_up: list[Sent] = []
        self._clear = True
        #: What bases of these were before: what was known of them, and which were lost.
        self._kept: dict[int, Kept] = {}
        self._gone: set[int] = set()
        self._reported: set[int] = set()

    def interrupt(self, interrupt: KeyboardInterrupt) -> None:
        """Make the engines give up what is not soon done, take in what they say: a new epoch.

        A second Ctrl-C ends this wait, as does an engine that does not answer, which the interrupt
        then tells of. Whoever reads next waits for what is left.
        """
        connection = self._session.connection
        connection.begin_epoch()
        while connection.sent:
            silent = connection.interrupt()
            if silent:
                interrupt.args = (silent,)
                return
            self._session.collect()
        self.hold()

    def note(self, outcome: Outcome) -> None:
        """Note that engines gave up a batch, before anything is done about it."""
        sent, replies, known = outcome
        self.there = True
        if known and sent.again is not None and not any(r.failures for r in replies):
            self._note(sent, sent.again.commands, replies)
        else:  # nobody knows how far it was, or the rest depends on what failed
            self._clear = False

    def _note(self, sent: Sent, commands: tuple[Command, ...], replies: list[Reply]) -> None:
        ledger, handles = self._session.ledger, self._session.handles
        for handle in {h for c in commands for h in _named(c)} - self._kept.keys():
            kept = ledger.kept.get(handle)
            if kept is not None:
                self._kept[handle] = kept
                if kept.why or handles.lost(handle):
                    self._gone.add(handle)
        self._given_up.append(sent)
        self._reported.update(h for r in replies for h in r.lost)

    def hold(self) -> None:
        """Keep what is left of batches that were given up, once all engines have said so."""
        given_up, clear = self._given_up, self._clear
        connection = self._session.connection
        unasked = any(sent.epoch == connection.epoch for sent in given_up)  # the others are told
        if unasked or (connection.sent and connection.in_doubt):
            return
        if given_up and clear and len({sent.epoch for sent in given_up}) == 1:
            self._hold(given_up)
        self.forget_given_up()

    def _hold(self, given_up: list[Sent]) -> None:
        session = self._session
        freed = {h for sent in given_up for h in sent.freed}
        if min(freed, default=0) < 0:  # functions, which engines do not have any more
            return
        afresh = {h: k for h, k in self._kept.items() if h in freed or h in self._reported}
        lies = {h for h, k in afresh.items() if k.all and (k.memory is not None or 0 in k.shape)}
        gone = self._gone | (afresh.keys() - lies)
        shapes = {h: k.shape for h, k in self._kept.items()}
        plan = rerun([self._known(s) for s in given_up], given_up[0].epoch, gone, shapes)
        rests = [_rest(s, commands) for s, commands in zip(given_up, plan.batches, strict=True)]
        running = [c for rest in rests for c in rest.commands if not isinstance(c, Free)]
        written = {h for c in running for h in c.writes}
        wanted = {h for h in written if h not in plan.lost and _alive(session.handles, h)}
        named = {h for c in running for h in bases_of(c)}
        if not (self.named.isdisjoint(written) and self._written.isdisjoint(named)):
            return  # what came before was not done: this cannot be
        if not wanted:
            return
        self._rests += rests
        self._prepared = False
        self._written |= written
        self.wanted |= wanted
        self.named |= named
        made = {c.base for c in running if isinstance(c, Create)}
        missing = named - made - plan.lost.keys()
        self._again |= {h: k for h, k in afresh.items() if h in missing}
        self._made |= {h: k for h, k in afresh.items() if h in made}
        for base in filter(None, [_alive(session.handles, h) for h in wanted]):
            base.lost = _HELD

    def _known(self, sent: Sent) -> Sent:
        """Return a batch that knows how far engines were in it."""
        memory, size, again = self._session.memory, self._session.size, sent.again
        assert again is not None
        done, begun = memory.how_far(sent.number, len(again.commands), size)
        done = 0 if sent.number <= memory.failed(size) else done
        return sent._replace(again=Again(again.commands, again.buffers, done, begun))

    def enter(self, commands: tuple[Command, ...], buffers: Buffers) -> tuple[Command, ...]:
        """Return the commands of a batch that are to be sent, after what has to be done before.

        If that cannot be sent, the batch is pending again.
        """
        try:
            return self._entered(commands)
        except BaseException:
            self._session.recorder.give_back(commands, [*buffers])
            raise

    def _entered(self, commands: tuple[Command, ...]) -> tuple[Command, ...]:
        for command in commands if self.named else ():
            if isinstance(command, Create) and command.base in self.named:
                self.wanted.discard(command.base)  # it is made anew
                if self.wanted:
                    self._finish()
                else:
                    self._leave()
            elif self._concerns(command):
                self._finish()
            if not self.named:
                return commands
        return self._without_deletions(commands) if self.named else commands

    def _concerns(self, command: Command) -> bool:
        """Tell whether a command reads what is not made yet, or changes what that is made of."""
        if isinstance(command, Free):
            return False
        if isinstance(command, Lay | Bind):
            return not self.named.isdisjoint(bases_of(command))
        read = {x.base for x in command.reads}
        return not (self._written.isdisjoint(read) and self.named.isdisjoint(command.writes))

    def _without_deletions(self, commands: tuple[Command, ...]) -> tuple[Command, ...]:
        """Return them without the deletions of what is needed, which come when it is done."""
        freed = [h for c in commands if isinstance(c, Free) for h in c.bases if self._needs(h)]
        if not freed:
            return commands
        self._dropped += freed
        self.wanted.difference_update(freed)
        found = [
            Free(tuple([h for h in c.bases if not self._needs(h)])) if isinstance(c, Free) else c
            for c in commands
        ]
        if not self.wanted:
            self._leave()
        return tuple(found)

    def _needs(self, handle: int) -> bool:
        """Tell whether it may need what somebody drops: a base, or a function."""
        return handle in self.named or handle < 0

    def _leave(self) -> None:
        """Forget it, for it is sent, or nobody wants it; drop what had to wait for that."""
        self._session.recorder.drop(self._dropped)
        self.forget()

    def make(self, handle: int) -> bool:
        """Let engines make a base that counts as lost; tell whether they can."""
        session = self._session
        with session.recorder.lock, deferred_interrupts():
            self._settle()
            if handle not in self.wanted:
                return False
            session.check_open()
            self._finish()
            return True

    def finish(self) -> None:
        """Let engines do what is left, before anything else that is sent."""
        with self._session.recorder.lock, deferred_interrupts():
            self._settle()
            if self.named:
                self._session.check_open()
                self._finish()

    def _settle(self) -> None:
        """Wait until it is known what all engines have given up."""
        connection = self._session.connection
        while connection.sent and connection.in_doubt:
            self._session.take_oldest()
        self.hold()

    def _finish(self) -> None:
        """Send it; what cannot be sent stays."""
        if not self._prepared:
            self._leave_out()
            if not self._rests:
                self._leave()
                return
            self._prepare()
        session, rests = self._session, self._rests
        while rests:
            commands, buffers, errors = rests[0]
            session.connection.is_our_turn(True)
            session.about_to_send(commands)
            session.connection.submit(commands, buffers, errors)
            del rests[0]
            session.recorder.count(sum([type(c) is not Free for c in commands]))
        for base in filter(None, [_alive(session.handles, h) for h in self.wanted]):
            base.lost = False
        session.ledger.are_good(self.wanted)
        self._leave()

    def _leave_out(self) -> None:
        """Forget commands that make nothing that somebody has, or that another one needs."""
        self.wanted = {h for h in self.wanted if _alive(self._session.handles, h)}
        shapes = {h: k.shape for h, k in (self._again | self._made).items()}
        found, named = needed([rest.commands for rest in self._rests], self.wanted, shapes)
        rests = [r._replace(commands=c) for r, c in zip(self._rests, found, strict=True)]
        self._rests = [rest for rest in rests if _computes(rest)]
        # What the others drop is made again for those before.
        self._dropped += [h for rest in rests if not _computes(rest) for h in _freed(rest)]
        self._again = {h: k for h, k in self._again.items() if h in named}
        self._made = {h: k for h, k in self._made.items() if h in named}

    def _prepare(self) -> None:
        """Let the first rest begin with what engines are to have again."""
        rests, ledger = self._rests, self._session.ledger
        ledger.kept |= self._made
        first = ledger.restore(self._again, [h for r in rests for h in _freed(r)])
        rests[0] = rests[0]._replace(commands=(*first, *rests[0].commands))
        self._prepared = True


def _rest(sent: Sent, commands: tuple[Command, ...]) -> _Rest:
    """Return what of a batch is to run again."""
    assert sent.again is not None
    left = tuple([c for c in commands if not (isinstance(c, _ASKING) or _writes_files(c))])
    return _Rest(left, sent.again.buffers, sent.errors)


def _writes_files(command: Command) -> bool:
    return isinstance(command, Collective) and command.op in WRITING


def _named(command: Command) -> Iterable[int]:
    return command.bases if isinstance(command, Free) else bases_of(command)


def _computes(rest: _Rest) -> bool:
    return any(not isinstance(c, Free) for c in rest.commands)


def _freed(rest: _Rest) -> Sequence[int]:
    return [h for c in rest.commands if isinstance(c, Free) for h in c.bases]


def _alive(handles: HandleTable, handle: int) -> Entry | None:
    reference = handles.entries.get(handle)
    return None if reference is None else reference()
