"""What runs again after engines have died gives what would have been, or is said to be lost."""

import random
from types import SimpleNamespace

import pytest

from distnb.client.batching.connection import Again, Outcome, Sent
from distnb.client.recovery.ledger import Kept, Ledger
from distnb.client.recovery.rerun import rerun
from distnb.geometry.views import View
from distnb.wire.progress import BATCH, marks, progress
from distnb.wire.protocol import Apply, Create, Fetch, Free, Operand

LAYOUT = None  # of no concern here
WHOLE, PART = View.whole((4,)), View.whole((2,))
RANKS = 2


def add(out, *ins, view=WHOLE):
    return Apply("add", (Operand(out, view),), tuple(Operand(x, WHOLE) for x in ins), None, (), 0)


def maximum(out, other, view=WHOLE):
    into = Operand(out, view)
    return Apply("maximum", (into,), (into, Operand(other, view)), None, (), 0)


def create(base, how="empty"):
    return Create(base, (4,), "<i8", LAYOUT, (how,), 0)


def batch(number, commands, done=0, begun=0):
    commands = tuple(commands)
    return Sent(0, number, 0, None, commands, (), again=Again(commands, [], done, begun))


def lost(commands, done=0, begun=99, kept=(1, 2, 3), gone=()):
    sent = [batch(1, commands, done, begun)]
    return sorted(rerun(sent, 0, gone, dict.fromkeys(kept, (4,))).lost)


def runs(commands, done=0, begun=99, kept=(1, 2, 3), gone=()):
    (found,) = rerun([batch(1, commands, done, begun)], 0, gone, dict.fromkeys(kept, (4,))).batches
    return [commands.index(c) for c in found]


def test_what_all_have_done_is_not_done_again():
    assert runs([add(1, 1), add(2, 1), add(3, 2)], done=2) == [2]
    assert lost([add(1, 1), add(2, 1), add(3, 2)], done=2) == []


def test_what_is_half_written_is_lost_with_what_needs_it():
    assert lost([add(1, 1), add(2, 1), add(3, 3)], begun=1) == [1, 2]
    assert lost([add(1, 1), add(1, 2), add(2, 1)], begun=1) == []  # it is made good


def test_what_gives_the_same_once_more_is_done_again():
    assert lost([maximum(1, 2), add(3, 1)], begun=1) == []
    assert lost([maximum(1, 2), add(1, 1)], begun=1) == []
    assert lost([maximum(1, 2), add(1, 3, view=PART)], begun=2) == [1]  # it may find that written
    assert lost([maximum(1, 2), add(2, 3)], begun=2) == [1]  # from what is not there any more
    assert lost([maximum(1, 2)._replace(ins=(Operand(1, PART),) * 2)], begun=1) == [1]
    assert lost([maximum(1, 2)._replace(where=Operand(1, WHOLE))], begun=1) == [1]


def test_what_engines_die_of_is_left_out_with_what_needs_it():
    commands = [add(1, 1), create(9), add(9, 2), add(3, 9), add(2, 2)]
    sent = [batch(1, commands, done=2, begun=3)]
    sent = [s._replace(again=s.again._replace(deadly=True)) for s in sent]
    found = rerun(sent, 0, [], dict.fromkeys((1, 2, 3, 9), (4,)))
    assert found.batches == [(commands[4],)]
    assert sorted(found.lost) == [3, 9]


def test_what_was_in_engines_own_memory_is_made_again():
    commands = [create(9), add(9, 1), add(2, 9), Free((9,))]
    assert runs(commands, done=2, begun=2) == [0, 1, 2, 3]
    assert lost(commands, done=2, begun=2) == []
    later = [create(9), add(9, 1), add(1, 1), add(2, 9), Free((9,))]
    assert lost(later, done=3, begun=3) == [2, 9]  # of what has changed since
    assert runs(commands, done=3, begun=3) == [3]


def test_what_is_half_written_is_made_anew_from_where_it_was_made():
    commands = [create(3, "room"), add(3, 2), add(3, 3)]
    assert runs(commands, done=2, begun=3) == [1, 2]
    assert lost(commands, done=2, begun=3) == []
    assert lost([add(3, 2), add(3, 3)], done=1, begun=2) == []
    assert lost([add(3, 2), add(2, 2), add(3, 3)], done=2, begun=3) == [3]


def test_values_are_read_again_if_they_can_be():
    read = Fetch(5, Operand(1, WHOLE), 0)
    assert runs([read, add(1, 1)], done=1, begun=1) == [0, 1]
    assert runs([read, add(1, 1)], done=2, begun=2) == []


def test_marks_are_of_the_batch_and_of_long_ones_say_less():
    (first, second, last) = marks([((0,), True), ((1,), True)], 2)
    assert progress([(3 << BATCH) + second, (3 << BATCH) + first], 3, 2) == (0, 2)
    assert progress([(3 << BATCH) + last], 3, 2) == (2, 2)
    assert progress([(2 << BATCH) + last], 3, 2) == (0, 0)
    assert progress([4 << BATCH], 3, 2) == (2, 2)
    long = marks([((k,), True) for k in range(70_000)], 70_000)
    assert progress([(3 << BATCH) + long[-1]], 3, 70_000) == (0, 70_000)


# Random programs on engines that stop somewhere


def tokens(element):
    """Return what an element is to ``maximum``, which is a union here."""
    return element if isinstance(element, frozenset) else frozenset({element})


class Engines:
    """Parts of bases on each rank; each element says what was done to it."""

    def __init__(self):
        self.parts = {}

    def run(self, command, number, ranks=range(RANKS)):
        if isinstance(command, Create) and command.how[0] == "fill":
            self.parts |= {(command.base, r): [("fill", number)] * 4 for r in ranks}
        elif isinstance(command, Create):
            self.parts |= {
                (command.base, r): self.parts.get((command.base, r), [0] * 4) for r in ranks
            }
        elif isinstance(command, Apply) and command.op == "maximum":
            own, other = (x.base for x in command.ins)
            count = 4 if command.outs[0].view == WHOLE else 2
            for r in ranks:
                old, new = self.parts[own, r], self.parts[other, r]
                both = [tokens(a) | tokens(b) for a, b in zip(old, new, strict=True)]
                self.parts[own, r] = both[:count] + old[count:]
        elif isinstance(command, Apply):
            read = [self.parts[x.base, r][:] for x in command.ins for r in range(RANKS)]
            (out,) = command.outs
            made = hash(
                (number, str([[sorted(map(str, tokens(x))) for x in part] for part in read]))
            )
            for r in ranks:
                count = 4 if out.view == WHOLE else 2
                old = self.parts[out.base, r]
                self.parts[out.base, r] = [(made, r)] * count + old[count:]

    def copy(self):
        found = Engines()
        found.parts = {key: part[:] for key, part in self.parts.items()}
        return found


def program(chance, kept):
    """Return commands on bases that are there, on others that come, and on some that also go."""
    commands, there, number = [], list(kept), 100
    for _ in range(chance.randrange(2, 14)):
        kind = chance.randrange(6)
        if kind == 5:
            commands.append(maximum(*chance.sample(there, 2), chance.choice([WHOLE, PART])))
        elif kind == 0 or len(there) < 2:
            number += 1
            there.append(number)
            commands.append(create(number, chance.choice(["empty", "fill"])))
            commands.append(add(number, *chance.sample(there[:-1], 1)))
        elif kind == 1 and there[-1] > 100:
            commands.append(Free((there.pop(),)))
        else:
            out, *ins = chance.choices(there, k=chance.randrange(1, 4))
            commands.append(add(out, *ins, view=chance.choice([WHOLE, PART])))
    return commands


@pytest.mark.parametrize("start", range(0, 1000, 250))
def test_random_programs(start):
    good = bad = 0
    for seed in range(start, start + 250):
        chance = random.Random(seed)
        kept = [1, 2, 3]
        commands = program(chance, kept)
        freed = {h for c in commands if isinstance(c, Free) for h in c.bases}
        made = {c.base for c in commands if isinstance(c, Create)}
        shapes = dict.fromkeys([*kept, *(made - freed)], (4,))
        before = Engines()
        before.parts = {(b, r): [("old", b)] * 4 for b in kept for r in range(RANKS)}
        history = [before]
        for k, command in enumerate(commands):
            history.append(history[-1].copy())
            history[-1].run(command, k)
        split = chance.randrange(len(commands) + 1)  # two batches
        at = [chance.randrange(len(commands) + 1)]
        at.append(min(len(commands), max(0, at[0] + chance.randrange(-2, 3))))
        engines = Engines()
        for r, k in enumerate(at):
            engines.parts |= {key: part[:] for key, part in history[k].parts.items() if key[1] == r}
            for base in commands[k].writes if k < len(commands) else ():
                same = getattr(commands[k], "op", "") == "maximum"
                torn = history[k + 1].parts[base, r][:2] if same else ["torn"] * 2
                engines.parts[base, r] = torn + engines.parts.get((base, r), [0] * 4)[2:]
        for base in [b for b, _ in engines.parts if b not in shapes]:
            engines.parts |= {(base, r): ["gone"] * 4 for r in range(RANKS)}
        for base in shapes:
            for r in range(RANKS):
                engines.parts.setdefault((base, r), ["never"] * 4)
        sent = []
        for number, (low, high) in enumerate([(0, split), (split, len(commands))], 1):
            done = min(max(0, min(k, high) - low) for k in at)
            begun = max(max(0, min(k + 1, high) - low) for k in at)
            sent.append(batch(number, commands[low:high], done, begun))
        found = rerun(sent, 0, [], shapes)
        numbers = {id(c): k for k, c in enumerate(commands)}
        for again in found.batches:
            for command in again:
                engines.run(command, numbers[id(command)])
        for base in shapes:
            mine = [engines.parts[base, r] for r in range(RANKS)]
            right = [history[-1].parts[base, r] for r in range(RANKS)]
            assert base in found.lost or mine == right, (seed, base)
            good, bad = good + (base not in found.lost), bad + (base in found.lost)
    assert good > 6 * bad  # most is kept


@pytest.mark.parametrize(
    ("nbytes", "most", "crowded"),
    [
        (1 << 20, 1 << 40, [False, False]),
        (1 << 30, 1 << 40, [False, True]),
        (1 << 30, 1 << 29, [True, True]),
        (1 << 20, 0, [True, True]),
    ],
)
def test_what_is_gone_is_not_held_by_many_batches(nbytes, most, crowded):
    """Some memory may be held for one batch, or half of what is free; for more there is less."""
    ledger = Ledger(SimpleNamespace(most_kept=most), SimpleNamespace(entries={}))
    held = SimpleNamespace(nbytes=nbytes)
    ledger.kept[1] = Kept((4,), "<i8", LAYOUT, held, 0)
    ledger.enter((Free((1,)),), 0)
    assert [ledger.is_crowded(many) for many in (0, 1, 2)] == [False, *crowded]
    ledger.done(Outcome(batch(1, ())._replace(freed=(1,)), []))
    assert not ledger.is_crowded(1)
    assert not ledger.is_crowded(2)
