"""How arrays came to be that lie in the engines' own memory: what makes them again on others.

What engines have done is kept as it was sent, as long as something that is there depends on it: the
lineage of these bases, as Zaharia et al., "Resilient distributed datasets" (2012), call it. It is
kept for what takes a limited time to do again. What depends on more than that, on what ``%px`` may
have written, or on what was given up or failed, is lost with the engines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from distnb.client.batching.connection import Again, Outcome, Sent
from distnb.client.batching.error_states import ErrorState
from distnb.client.recovery.ledger import Ledger
from distnb.client.recovery.rerun import makes
from distnb.common.addresses import is_address
from distnb.common.config import config
from distnb.formats.stored import check_same
from distnb.geometry.layout import Ints
from distnb.ops.table import WRITING
from distnb.wire.protocol import (
    Bind,
    Collective,
    Command,
    Create,
    Free,
    Function,
    Operand,
    bases_of,
)

__all__ = ["Forecast", "Lineage"]

#: Commands, and bytes that came from the notebook, which are kept at most.
_MOST, _MOST_BYTES = 1 << 14, 1 << 26
#: Commands after which it is looked for the first time which of them are needed.
_FEW = 1 << 9

#: Warnings were given when it was done first.
_QUIET = ErrorState("ignore", "ignore", "ignore", "ignore")
#: How often engines may die of doing it again.
_DEATHS = 2

#: Why a base cannot be made again.
_SHOWN = "%px code may have written it"
_TORN = "what wrote it failed, or was given up"
_DEADLY = "engines died as they did"
_TAKEN = "which engine called the function for which part was settled as it was made"
_WROTE = "it was of a file that was written"
_OTHER = "the file that it was read from is another now"
_CALLS = "a function that made it is gone"
_LONG = "that would take longer than dnb.config.lineage, or too many steps"


#: Collectives that read files, whose paths and stamps they have.
_READING = ("file.parse", "file.read")
#: Collectives whose results depend on more than what they read.
_ONCE = {
    **dict.fromkeys(("foreach.join", "foreach.join_sparse", "foreach.tell"), _TAKEN),
    **dict.fromkeys(WRITING, _WROTE),
}


class Forecast(NamedTuple):
    """What it would take to make again what engines hold.

    Attributes
    ----------
    seconds : float
        For all that can be made again.
    each : dict of int to float
        Seconds for each base of these alone.
    lost : dict of int to str
        Those that cannot be, and why.
    """

    seconds: float
    each: dict[int, float]
    lost: dict[int, str]


class _Past(NamedTuple):
    """A batch that engines have done, as far as it is kept, and the seconds of each command."""

    commands: tuple[Command, ...]
    sent: Sent
    seconds: float

    @property
    def nbytes(self) -> int:
        """Bytes from the notebook that it is sent with."""
        assert self.sent.again is not None
        return sum([part.nbytes for parts in self.sent.again.buffers for part in parts])


class Lineage:
    """What engines have done, in order, as far as what they hold depends on it.

    Parameters
    ----------
    ledger : Ledger
        Knows what they hold.

    Attributes
    ----------
    spoiled : dict of int to str
        The bases that cannot be made again, and why.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._seconds_most = config.lineage
        self._past: list[_Past] = []
        #: The shapes of bases; of those that engines still had, when it was last looked.
        self._shapes: dict[int, Ints] = {}
        self._there: dict[int, Ints] = {}
        self.spoiled: dict[int, str] = {}
        #: The bases that ``%px`` was shown, which it may write at any time.
        self._shown: set[int] = set()
        #: Base -> commands that read it from a file, as it still is, and their seconds.
        self._files: dict[int, tuple[tuple[Command, ...], float]] = {}
        #: Functions of the user's that engines do not have any more.
        self._dropped: set[int] = set()
        #: The batch of which engines have died last as they did it again, and how often.
        self._deadly: int | None = None
        self._deaths = 0
        self._count, self._nbytes, self._seconds, self._next = 0, 0, 0.0, _FEW

    # -- what engines have done ----------------------------------------------------------------

    def took(self, outcome: Outcome) -> None:
        """Note what engines have done of a batch, or that nobody knows."""
        sent, replies, known = outcome
        again = sent.again
        if again is None:
            return
        if not known or any(reply.aborted for reply in replies):
            self._spoil([h for c in again.commands for h in c.writes], _TORN)
        else:
            kept = tuple([c for c in again.commands if self._counts(c)])
            self._keep(kept, sent, max([r.times.busy for r in replies], default=0) / 1e9)
        self._spoil([h for reply in replies for h in reply.lost], _TORN)

    def doubt(self, bases: Iterable[int]) -> None:
        """Note bases that what was done would not make again as they are."""
        self._spoil(bases, _TORN)

    def _counts(self, command: Command, why: str = "") -> bool:
        """Tell whether a command makes something that can be made again; note what it does not.

        ``why``: what is in the way, if that is known.
        """
        if isinstance(command, Bind):
            names = [(name, x) for name, x in command.names if name not in command.sealed]
            bound = [x.base for _, x in names if isinstance(x, Operand)]
            self._shown.update(bound)
            self._spoil(bound, _SHOWN)
            return False
        writes = command.writes
        if isinstance(command, Create):
            self._shapes[command.base] = command.shape
        elif isinstance(command, Free):
            self._dropped.update([h for h in command.bases if h < 0])
        why = why or _once(command) or self._spoiled_by(command)
        if why:
            self._spoil(writes, why)
            return False
        for base in writes:
            self._files.pop(base, None)
            if base in self._shown:
                self._spoil([base], _SHOWN)
            else:
                self.spoiled.pop(base, None)
        return bool(writes)

    def _spoiled_by(self, command: Command) -> str:
        """Return why what a command writes cannot be made again, "" if it can."""
        spoiled = self.spoiled
        found = [x.base for x in command.reads if x.base in spoiled]
        found += [h for h in command.writes if h in spoiled and not makes(command, h, self._shapes)]
        return spoiled[found[0]] if found else ""

    def _spoil(self, bases: Iterable[int], why: str) -> None:
        self.spoiled |= dict.fromkeys(bases, why)

    def _keep(self, commands: tuple[Command, ...], sent: Sent, seconds: float) -> None:
        if not commands:
            return
        self._past.append(_Past(commands, _without(sent, commands), seconds / len(commands)))
        self._measure(self._past[-1:])
        if self._count > self._next or self._full(1):
            self._prune()
            if self._full(2):
                self._cut()
            self._next = 2 * self._count + _FEW

    def _measure(self, past: Sequence[_Past]) -> None:
        """Count what is kept in addition."""
        self._count += sum([len(each.commands) for each in past])
        self._nbytes += sum([each.nbytes for each in past])
        self._seconds += sum([each.seconds * len(each.commands) for each in past])

    def _full(self, times: int) -> bool:
        """Tell whether so many times of what is kept is more than may be."""
        return (
            times * self._count > _MOST
            or times * self._nbytes > _MOST_BYTES
            or times * self._seconds > self._seconds_most
        )

    # -- what of it is needed ------------------------------------------------------------------

    def _prune(self) -> None:
        """Forget what nothing depends on that is there."""
        if self._dropped:
            dropped, self._dropped = self._dropped, set()
            self._give_up(lambda command: _called(command) in dropped, _CALLS)
        if any(_has_changed(c) for past in self._past for c in past.commands):
            self._give_up(_has_changed, _OTHER)
        there = self._there = {h: kept.shape for h, kept in self._ledger.kept.items()}
        self.spoiled = {h: why for h, why in self.spoiled.items() if h in there}
        self._shown.intersection_update(there)
        needed, named, found = there.keys() - self.spoiled.keys(), set[int](), list[_Past]()
        for past in reversed(self._past):
            each = [self._needed(needed, named, c) for c in reversed(past.commands)]
            kept = tuple([c for c in reversed(each) if c is not None])
            if kept:
                found.append(past._replace(commands=kept, sent=_without(past.sent, kept)))
        self._past = found[::-1]
        named = {h for past in self._past for c in past.commands for h in bases_of(c)}
        self._shapes = {h: s for h, s in self._shapes.items() if h in named or h in there}
        self._count, self._nbytes, self._seconds = 0, 0, 0.0
        self._measure(self._past)

    def _give_up(self, bad: Callable[[Command], bool], why: str) -> None:
        """Give up what bad commands make, and what was made of it."""
        before, self.spoiled = self.spoiled, {}
        shown, self._shown = self._shown, set()  # it was not yet
        files, self._files = self._files, {}
        for i, past in enumerate(self._past):
            kept = tuple([c for c in past.commands if self._counts(c, why * bad(c))])
            self._past[i] = past._replace(commands=kept)
        self.spoiled |= before
        self._shown, self._files = shown, files

    def _needed(self, needed: set[int], named: set[int], command: Command) -> Command | None:
        """Return a command if it writes what is needed after it, None if not.

        Note what is needed before it, and what is ``named``, which has to be there.
        """
        if needed.isdisjoint(command.writes):
            if isinstance(command, Create) and command.base in named:
                named.discard(command.base)
                return command if command.bare else command._replace(how=("empty",))
            return None
        for base in command.writes:
            if makes(command, base, self._there):
                needed.discard(base)
            else:
                needed.add(base)
        needed.update([x.base for x in command.reads])
        named.update(bases_of(command))
        if isinstance(command, Create):
            named.discard(command.base)
        return command

    def _cut(self) -> None:
        """Give up the bases that would take longest, until half of what may be kept is left."""
        there = [h for h in self._ledger.kept if h not in self.spoiled]
        origins, costs = self._origins(), self._costs()
        each = {h: _members(origins.get(h, 0), len(costs)) for h in there}
        limits = np.array([_MOST, _MOST_BYTES, self._seconds_most]) / 2
        chosen = np.zeros(len(costs), bool)
        for handle in sorted(there, key=lambda h: (costs[each[h]] / limits).max(axis=1).sum()):
            more = chosen | each[handle]
            if (costs[more].sum(axis=0) > limits).any():
                self._spoil([handle], _LONG)
            else:
                chosen = more
        self._prune()

    def _costs(self) -> np.ndarray:
        """Return a row for each command: that it is one, bytes, and seconds."""
        rows = list[tuple[float, float, float]]()
        for past in self._past:
            data = [_is_data(c) for c in past.commands]
            each = past.nbytes / max(sum(data), 1)
            rows += [(1, is_data * each, past.seconds) for is_data in data]
        return np.array(rows).reshape(-1, 3)

    def _origins(self) -> dict[int, int]:
        """Return for each base the commands that it comes from, as bits of an integer."""
        found, bit = dict[int, int](), 1
        for command in [c for past in self._past for c in past.commands]:
            before = [x.base for x in command.reads]
            before += [h for h in command.writes if not makes(command, h, self._there)]
            origin = bit
            for base in before:
                origin |= found.get(base, 0)
            found |= dict.fromkeys(command.writes, origin)
            bit <<= 1
        return found

    # -- on other engines ----------------------------------------------------------------------

    def replay(self, epoch: int) -> list[Sent]:
        """Return the batches that make again what can be made again, with deletions, all done."""
        past, files = self._past, self._files
        self._read_files()
        self._prune()
        found = self._with_deletions(epoch)
        self._past, self._files = past, files  # a file may be another one the next time
        self._prune()
        parts = [_singly(s) if s.number == self._deadly else [s] for s in found]
        return [*chain.from_iterable(parts), self._lost(epoch)]

    def _with_deletions(self, epoch: int) -> list[Sent]:
        """Return what is kept, with deletions of what nothing needs any more."""
        there, seen, found = self._ledger.kept, set[int](), list[Sent]()
        for past in reversed(self._past):
            commands = list[Command]()
            for command in reversed(past.commands):
                named = bases_of(command) - seen
                if last := tuple([h for h in named if h not in there]):
                    commands.append(Free(last))
                commands.append(command)
                seen |= named
            again = past.sent.again
            assert again is not None
            count = len(commands)
            again = again._replace(commands=tuple(commands[::-1]), done=count, begun=count)
            found.append(past.sent._replace(epoch=epoch, again=again, errors=_QUIET))
        return found[::-1]

    def _lost(self, epoch: int) -> Sent:
        """Return what tells engines of bases that are lost: they may have had to be made."""
        lost = tuple([self._ledger.again(h, lost=True) for h in self.spoiled])
        return Sent(0, 0, epoch, None, (), (), _QUIET, Again(lost, [], len(lost), len(lost)))

    def redone(self, outcome: Outcome) -> Outcome:
        """Note what came of a batch that was done again; return it without its warnings."""
        self._spoil([h for reply in outcome.replies for h in reply.lost], _TORN)
        quiet = [reply._replace(warnings=()) for reply in outcome.replies]
        return outcome._replace(replies=quiet)

    def ended(self, deadly: Sent | None = None) -> bool:
        """Note that all was done again, or what engines died of; tell whether that is given up.

        A batch of which they died is done singly the next time, so that of its commands only the
        one is given up that they die of.
        """
        number = None if deadly is None else deadly.number
        self._deaths = self._deaths + 1 if number == self._deadly else 1
        self._deadly = number
        if deadly is None or self._deaths < _DEATHS:
            return False
        self._deaths, self._deadly = 0, None
        assert deadly.again is not None
        which = {id(c) for c in deadly.again.commands}
        self._give_up(lambda command: id(command) in which, _DEADLY)
        return True

    # -- what it would take --------------------------------------------------------------------

    def forecast(self) -> Forecast:
        """Return what making again all that engines hold would take."""
        self._prune()
        there = [h for h in self._ledger.kept if h not in self.spoiled]
        origins, costs = self._origins(), self._costs()
        each = {h: float(costs[_members(origins.get(h, 0), len(costs)), 2].sum()) for h in there}
        return Forecast(self._seconds, each, dict(self.spoiled))

    def saved(self, bases: Mapping[int, tuple[Command, ...]], seconds: float) -> None:
        """Note how bases can be read from files that they were just written to.

        That is how they come to be, where nothing else makes them again; and it is tried for what
        is as it was then, where it takes less. ``seconds``: of all of them.
        """
        self._prune()
        self._files.clear()
        each = seconds / max(len(bases), 1)
        for handle, commands in bases.items():
            if handle in self._shown:
                continue
            if handle in self.spoiled:
                del self.spoiled[handle]
                self._remember(commands, each)
            else:
                self._files[handle] = commands, each

    def _remember(self, commands: tuple[Command, ...], seconds: float) -> None:
        nothing = Sent(0, 0, 0, None, (), (), again=Again((), []))
        self._keep(tuple([c for c in commands if self._counts(c)]), nothing, seconds)

    def _read_files(self) -> None:
        """Let bases be read from files that have them, if that is how they are there sooner."""
        files, self._files = self._files, {}
        self._past = self._past.copy()
        costs = self.forecast().each if files else {}
        for handle, (commands, seconds) in files.items():
            if seconds < costs.get(handle, 0.0) and not any(map(_has_changed, commands)):
                self._remember(commands, seconds)


def _singly(sent: Sent) -> list[Sent]:
    """Return a batch as one for each of its commands."""
    again = sent.again
    assert again is not None
    each = [again._replace(commands=(c,), done=1, begun=1) for c in again.commands]
    return [sent._replace(again=single) for single in each]


def _once(command: Command) -> str:
    """Return why what a command makes cannot be made again whatever it reads, "" if it can."""
    if isinstance(command, Create):
        return _SHOWN if command.how[0] == "local" else ""
    return _ONCE.get(command.op, "") if isinstance(command, Collective) else ""


def _has_changed(command: Command) -> bool:
    """Tell whether a command reads a file that is another now, or gone."""
    if not (isinstance(command, Collective) and command.op in _READING):
        return False
    path, stamp = command.args[0][1:3] if command.op == "file.read" else command.args[:2]
    if is_address(path):  # engines will see
        return False
    try:
        check_same(path, stamp)
    except (OSError, ValueError):
        return True
    return False


def _called(command: Command) -> Any:
    """Return the number of the function that a command calls; what is none if it calls none."""
    of = command.args if isinstance(command, Collective) else getattr(command, "ins", ())
    first = of[0] if of else 0
    return first.number if isinstance(first, Function) else first if type(first) is int else 0


def _without(sent: Sent, kept: tuple[Command, ...]) -> Sent:
    """Return a batch without the data of what is not kept, and without what was replied."""
    again = sent.again
    assert again is not None
    data = any(map(_is_data, kept))
    again = Again((), again.buffers if data else [])
    return sent._replace(ticket=None, commands=(), again=again)


def _is_data(command: Command) -> bool:
    """Tell whether a command makes a base of what came from the notebook."""
    return isinstance(command, Create) and command.how[0] == "data"


def _members(bits: int, count: int) -> np.ndarray:
    """Return which of so many bits are set."""
    stored = np.frombuffer(bits.to_bytes(count // 8 + 1, "little"), np.uint8)
    return np.unpackbits(stored, count=count, bitorder="little").astype(bool)
