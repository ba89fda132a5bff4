"""The engines behind a transport: what is on its way to them, and whether they can be used."""

from __future__ import annotations

from collections import deque
from functools import partial
from time import monotonic, perf_counter_ns
from typing import Any, NamedTuple

from distnb.client.batching.budget import Budget
from distnb.client.batching.error_states import DEFAULT, ErrorState
from distnb.client.batching.lead import SLOW, Lead
from distnb.client.transport.contract import AnyTransport, Buffers, poll
from distnb.common.config import config
from distnb.common.errors import EngineError, explain
from distnb.common.interrupts import interruptible
from distnb.geometry.layout import Ints
from distnb.wire.encoding import encode
from distnb.wire.messages import Batch, Reply
from distnb.wire.protocol import Command, Create, Free

__all__ = ["Connection", "Outcome", "Sent"]

#: Batches that may be on their way before the client waits for the oldest.
_IN_FLIGHT = 16
#: Commands of a batch that tells what one takes even if it takes little.
_FEW = 8
#: Seconds in which MPI ends engines that it has told to stop, where one has aborted (MPICH: 1).
_LAST = 2.0
#: Seconds that engines have to end what they are at after Ctrl-C, before they are told to give up:
#: so long; and what that is thought to take where it could get lost, in all so long at most.
_SOON, _LATEST = 1.0, 3.0
#: Seconds within which Ctrl-C that is pressed again is the same one.
_ONE_PRESS = 0.4


#: What is said of engines that have died, where there can be others.
_DEAD = (
    "engines",
    "some that have died",
    "all alive",
    "call session.recover(): new ones take over the arrays",
)


class Again(NamedTuple):
    """What is sent of a batch, deletions and places included, and how far engines had come in it.

    They have done the first ``done`` of the commands, and may have begun the first ``begun``; if it
    is ``deadly``, what they have begun and not done is not to run again.
    """

    commands: tuple[Command, ...]
    buffers: Buffers
    done: int = 0
    begun: int = 0
    deadly: bool = False


class Sent(NamedTuple):
    """A batch on its way: its ticket and what is needed to explain its reply.

    There is no ticket if engines that were gone could not be sent it.
    """

    at: int
    number: int
    epoch: int
    ticket: Any
    commands: tuple[Command, ...]
    freed: Ints
    errors: ErrorState = DEFAULT
    #: What is needed to send it once more.
    again: Again | None = None
    #: Bytes that an engine writes in it, about.
    work: int = 0


class Outcome(NamedTuple):
    """What came of a batch; where that is not ``known``, there are no replies."""

    sent: Sent
    replies: list[Reply]
    known: bool = True


class Connection:
    """Batches on their way to the engines, in order, and why there may be no others.

    All that sends or collects is called with the recorder's lock.

    Attributes
    ----------
    ready : bool
        Whether commands may be recorded: the engines are there, and no error waits to be raised.
    dead : str
        Why the engines cannot be used any more; "" if they can.
    faulty : bool
        Whether engines failed outside of the commands of the last batch.
    batches, bytes_out, finished : int
        Batches and bytes that were sent; commands to which all replies came.
    young : bool
        Whether loops ran that engines will compile if they go on; whoever asks may forget it.
    sent : deque of Sent
        Batches that were sent and whose replies were not taken in.
    leaving : (int, tuple of Command) or None
        The batch that is being sent, which may be all of the wait.
    epoch : int
        How often the engines were told to give up; a batch of an earlier epoch is not run.
    """

    def __init__(self, transport: AnyTransport, budget: Budget) -> None:
        self._transport, self._lead = transport, Lead(budget)
        #: Returns what share of a batch is pending; where each rank asks, all must say the same.
        self.filled = self._lead.filled if transport.concurrent else None
        self.ready = True
        self.dead = ""
        self.faulty = False
        self._error: BaseException | None = None
        self.batches = self.bytes_out = self.finished = 0
        self.young = False
        self.sent: deque[Sent] = deque()
        self.leaving: tuple[int, tuple[Command, ...]] | None = None
        self.epoch = 0
        #: Whether batches are kept until engines have done them, for others if they die.
        self.keeps = False
        #: Those that were on their way when the engines died.
        self.orphans: list[Sent] = []
        #: The epoch that engines have begun.
        self._begun = 0
        #: Until when they may end what was interrupted, 0 when they were told to give it up; and
        #: when it was.
        self._patience = self._pressed = 0.0

    # -- sending and waiting -------------------------------------------------------------------

    @property
    def full(self) -> bool:
        """Whether one more batch would have to wait."""
        return len(self.sent) >= _IN_FLIGHT

    @property
    def busy(self) -> bool:
        """Whether who sends one more batch may have to wait, or would do so in vain."""
        return self.full or self.in_doubt or bool(self.dead)

    @property
    def overfull(self) -> bool:
        """Whether the oldest batch must be waited for."""
        if self._transport.inline:
            return bool(self.sent)
        many = len(self.sent)
        return many > _IN_FLIGHT or (many > 1 and self._lead.is_long(self._left()))

    def is_our_turn(self, wait: bool) -> bool:
        """Tell whether other notebooks on the engines let us send; waits for that if asked."""
        turns = self._transport.turns
        return turns is None or turns.take(self, float("inf") if wait else 0.0)

    @property
    def overdue(self) -> bool:
        """Whether other notebooks have waited for long while our batches are on their way."""
        turns = self._transport.turns
        return turns is not None and bool(self.sent) and turns.overdue

    def rest(self) -> None:
        """Let other notebooks have their turn, if nothing of ours is on its way."""
        turns = self._transport.turns
        if turns is not None and not self.sent:
            turns.leave(self)

    def submit(
        self,
        commands: tuple[Command, ...],
        buffers: Buffers,
        errors: ErrorState = DEFAULT,
        placed: tuple[Command, ...] = (),
    ) -> bool:
        """Send a batch; tell whether that could be done.

        ``errors``: what is to be done about floating point errors in it. ``placed``: what to send
        in place of the commands.
        """
        numbered = tuple([c for c in commands if type(c) is not Free])
        freed = tuple([h for c in commands if type(c) is Free for h in c.bases])
        again = Again(placed or commands, buffers)
        # What fails here, as where memory is full, fails before the batch counts.
        message = encode(Batch(self.batches + 1, self.epoch, again.commands, bool(config.fuse)))
        self.leaving = (self.batches + 1, numbered)  # before it counts: see settled
        self.batches += 1
        at = perf_counter_ns()
        sent = Sent(at, self.batches, self.epoch, None, numbered, freed, errors, again)
        self.bytes_out += len(message)
        self._transport.latest = self.batches
        try:
            ticket = self._transport.submit(message, buffers)
        except EngineError as error:
            return self._not_sent(sent, error)
        lead = self._lead
        before, lead.sent = lead.sent, lead.budget.work
        self.sent.append(
            Sent(
                at,
                self.batches,
                self.epoch,
                ticket,
                numbered,
                freed,
                errors,
                again if self.keeps else None,
                lead.sent - before,
            )
        )
        self._begun = self.epoch if numbered else self._begun
        self.leaving = None
        return True

    def _not_sent(self, sent: Sent, error: EngineError) -> bool:
        """Note that a batch could not be sent; tell whether others may do what is in it."""
        self.leaving = None
        if self.keeps and not self._transport.alive():  # what came before is to be heard of
            self.sent.append(sent)
            return True
        self._give_up(error)
        return False

    def repeat(self, sent: Sent, again: Again) -> None:
        """Send a batch once more, to other engines, and maybe without some of its commands."""
        numbered = tuple([c for c in again.commands if type(c) is not Free])
        sent = sent._replace(epoch=self.epoch, ticket=None, commands=numbered, again=again)
        message = encode(Batch(sent.number, sent.epoch, again.commands, bool(config.fuse)))
        self.is_our_turn(True)
        try:
            ticket = self._transport.submit(message, again.buffers)
        except EngineError as error:
            self._not_sent(sent, error)
            return
        self.sent.append(sent._replace(ticket=ticket))
        self._begun = sent.epoch if sent.commands else self._begun

    def done(self) -> bool:
        """Tell whether the oldest batch need not be waited for."""
        ticket = self.sent[0].ticket
        return ticket is None or self._transport.done(ticket)

    def wait(self) -> None:
        """Wait for the replies to the oldest batch; lets Ctrl-C through."""
        if self.sent[0].ticket is not None:
            interruptible(partial(self._transport.wait, self.sent[0].ticket))

    def collect(self) -> Outcome | None:
        """Return what came of the oldest batch; None if the engines cannot be used any more."""
        sent = self.sent[0]
        try:
            if sent.ticket is None:
                raise self._transport.gone()
            found = Outcome(sent, self._transport.collect(sent.ticket))
            aborted = self.faulty = False
            for reply in found.replies:
                aborted = aborted or reply.aborted
                self.young = self.young or reply.young
            if aborted and self._dying(sent):  # for which one waits once
                raise self._transport.gone()
        except EngineError as error:
            if not self._transport.alive():
                self._give_up(error)
                return None
            # An interrupt, or a fault that is told of, hit an engine outside of commands: what came
            # of the batch is unknown.
            if sent.epoch == self.epoch and KeyboardInterrupt.__name__ not in str(error):
                self.faulty = True
                self.fail(self._advised(error))
            found = Outcome(sent, [], known=False)
        self.sent.popleft()
        self.finished += len(sent.commands)
        tells = self._lead.slow or len(sent.commands) > _FEW or perf_counter_ns() - sent.at > SLOW
        if tells and found.replies:
            took = max([reply.times.busy for reply in found.replies])
            self._lead.learn(len(sent.commands), sent.work, took / 1e9)
        if self._transport.turns is not None:
            self.rest()
        return found

    def _dying(self, sent: Sent) -> bool:
        """Tell whether engines gave up a batch unasked because MPI is about to end them all."""
        unasked, transport = sent.epoch == self.epoch, self._transport
        return unasked and transport.renewable and poll(lambda: not transport.alive(), _LAST)

    def begin_epoch(self) -> None:
        """Let batches that were sent so far be given up if they are not soon done."""
        self.epoch += 1
        longer = 0.0 if self.keeps and not self.in_place else self._left()
        self._pressed = monotonic()
        self._patience = self._pressed + min(_SOON + longer, _LATEST)

    @property
    def in_place(self) -> bool:
        """Whether anything on its way is written in place: half written it would be lost."""
        commands = [c for sent in self.sent for c in sent.commands]
        made = {c.base for c in commands if type(c) is Create}
        return not all(made.issuperset(c.writes) for c in commands)

    def _left(self) -> float:
        """Return about how many seconds engines take for what is on its way; any thread may ask."""
        on_its_way = self.sent.copy()
        return self._lead.under_way((len(sent.commands), sent.work) for sent in on_its_way)

    def interrupt(self) -> str:
        """Wait a while until engines have given up the oldest batch; a second Ctrl-C ends that.

        They may end what is soon done, as NumPy ends the call in which it is: names that the user's
        loop has given to results would else be those of lost arrays. Returns which engines do not
        answer, "" if all did.
        """
        if self.sent[0].ticket is None:
            return ""
        while True:
            try:
                return interruptible(self._end)
            except KeyboardInterrupt:
                if not self._is_one_press():
                    raise

    def _end(self) -> str:
        ticket = self.sent[0].ticket
        if self._patience:
            done = again = False
            try:
                done = poll(lambda: self._transport.done(ticket), self._patience - monotonic())
            except KeyboardInterrupt:
                again = self._is_one_press()
                raise
            finally:
                if not (done or again):
                    self._patience = 0.0
                    self._transport.stop()
            if done:
                return ""
        return self._transport.interrupt(ticket)

    def _is_one_press(self) -> bool:
        """Tell whether Ctrl-C comes so soon after the one before that it was pressed once."""
        return monotonic() - self._pressed < _ONE_PRESS

    @property
    def given_up(self) -> bool:
        """Whether all that is on its way was given up: its replies have nothing for anybody."""
        return all(sent.epoch != self.epoch for sent in self.sent)

    @property
    def in_doubt(self) -> bool:
        """Whether something on its way was given up, so that nobody knows what comes of it."""
        return bool(self.sent) and self.sent[0].epoch != self.epoch

    @property
    def silent(self) -> bool:
        """Whether engines have not answered yet to a batch that they were told to give up."""
        return self.in_doubt and not self.done()

    @property
    def unsettled(self) -> bool:
        """Whether engines may still be at a batch of an epoch before."""
        return self._begun < self.epoch and not self.dead

    @property
    def settled(self) -> int:
        """The last batch whose replies have come, and with it those before."""
        batches, leaving = self.batches, self.leaving  # in this order
        try:
            return self.sent[0].number - 1
        except IndexError:
            return batches if leaving is None else leaving[0] - 1

    # -- failing -------------------------------------------------------------------------------

    def _give_up(self, error: EngineError) -> None:
        """Note that the engines, or what they do, cannot be known any more."""
        if self.keeps and not self._transport.alive():
            error = EngineError(explain(*_DEAD)) if self._transport.starts else error
        else:
            error = self._advised(error)
        self.dead = str(error)
        self.orphans += self.sent
        self.sent.clear()
        self.rest()
        self.fail(error)

    def _advised(self, error: EngineError) -> EngineError:
        """Return an error of engines that are there, and what to do if others can be had."""
        if not (self.keeps and self._transport.starts):
            return error
        return EngineError(f"{error}, or call session.recover(): others take over the arrays")

    def withdraw(self, handle: int) -> None:
        """Let no engines do again what writes a base, but for what makes that."""
        self.sent = deque([_without(sent, handle) for sent in self.sent])
        self.orphans = [_without(sent, handle) for sent in self.orphans]

    def hand_over(self) -> BaseException | None:
        """Note that other engines begin to take over from those that died.

        Returns what a command had raised before, and nobody was told of.
        """
        self.orphans = []
        error, self._error = self._error, None
        return None if isinstance(error, EngineError) else error

    def recount(self, sent: int) -> None:
        """Take it that so many commands were sent so far."""
        self.finished = sent - sum([len(each.commands) for each in self.sent])

    def revive(self) -> None:
        """Note that they have taken over, unless they cannot be used either."""
        if self._error is None:
            self.dead = ""
            self.ready = True

    def fall_back(self, dead: str, orphans: list[Sent]) -> None:
        """Note that engines could not take over, so that all is as it was when the others died."""
        self.dead, self.orphans = dead, orphans
        self.sent.clear()
        self.rest()
        self.ready = False

    def give_up_on_others(self, dead: str) -> None:
        """Note that no other engines can take over."""
        self.dead, self.keeps, self.orphans = dead, False, []

    def fail(self, error: BaseException) -> None:
        """Note an error that is to be raised; the first one counts."""
        self._error = self._error or error
        self.ready = False

    def raise_error(self) -> None:
        """Raise what was noted, once."""
        error, self._error = self._error, None
        self.ready = not self.dead
        if error is not None:
            raise error

    def check(self) -> None:
        """Raise what was noted, or that the engines cannot be used any more."""
        self.raise_error()
        if self.dead:
            raise EngineError(self.dead)


def _without(sent: Sent, handle: int) -> Sent:
    """Return a batch that, if it is sent once more, has nothing in place of what writes a base."""
    again = sent.again
    if again is None or not any(handle in c.writes for c in again.commands):
        return sent
    nothing = Free(())
    left = [c if type(c) is Create or handle not in c.writes else nothing for c in again.commands]
    return sent._replace(again=again._replace(commands=tuple(left)))
