"""What engines had in their own memory is made again by others, as it was, or is said to be lost."""

import random
from types import SimpleNamespace

import numpy as np
import pytest

from distnb.client.batching.connection import Again, Outcome, Sent
from distnb.client.recovery import lineage as module
from distnb.client.recovery.lineage import Lineage
from distnb.client.recovery.rerun import rerun
from distnb.common.config import config
from distnb.formats.stored import stamp_of
from distnb.wire.protocol import Apply, Bind, Collective, Create, Free, Function, Operand
from tests.unit.test_rerun import RANKS, WHOLE, Engines, add, create, program


def reply(lost=(), aborted=False, busy=0):
    times = SimpleNamespace(busy=busy)
    return SimpleNamespace(lost=tuple(lost), aborted=aborted, times=times)


class Trial:
    """A lineage, and what bases engines have, as the ledger knows them."""

    def __init__(self):
        self.ledger = SimpleNamespace(kept={}, again=lambda h, lost: create(h, "lost"))
        self.lineage = Lineage(self.ledger)
        self.number = 0

    def done(self, *commands, lost=(), aborted=False, known=True, buffers=(), busy=0):
        self.number += 1
        kept = self.ledger.kept
        kept |= {c.base: SimpleNamespace(shape=c.shape) for c in commands if type(c) is Create}
        for h in [h for c in commands if isinstance(c, Free) for h in c.bases]:
            kept.pop(h, None)
        sent = Sent(0, self.number, 0, None, (), (), again=Again(tuple(commands), list(buffers)))
        replies = [reply(lost, aborted, busy)] if known else []
        self.lineage.took(Outcome(sent, replies, known))

    def again(self):
        """Return what new engines do, and what is lost."""
        known = self.lineage.replay(0)
        shapes = {h: k.shape for h, k in self.ledger.kept.items()}
        plan = rerun(known, 0, list(shapes), shapes)
        return [c for batch in plan.batches for c in batch], {h for h in plan.lost if h in shapes}


def names(commands):
    return [
        ("free", *c.bases) if isinstance(c, Free) else (type(c).__name__.lower(), *c.writes)
        for c in commands
    ]


def test_only_what_is_there_is_made_again_and_what_it_needs():
    trial = Trial()
    trial.done(create(1, "fill"), create(2, "fill"), create(3), add(3, 1), create(4), add(4, 2))
    trial.done(create(5), add(5, 3), Free((3, 2, 4)))
    commands, lost = trial.again()
    wanted = [("create", 1), ("create", 3), ("apply", 3), ("apply", 5)]
    assert [x for x in names(commands) if x[0] != "free"] == wanted
    assert names(commands)[-1] == ("free", 3)  # as soon as nobody needs it
    assert not lost


def test_what_was_made_whole_is_made_from_there():
    trial = Trial()
    trial.done(create(1, "fill"), create(2, "fill"))
    for _ in range(20):
        trial.done(add(1, 1))
    trial.done(add(1, 2))
    assert names(trial.again()[0]) == [("create", 2), ("apply", 1)]


def test_a_base_that_came_to_be_before_it_was_made_whole_is_there_when_it_is_gone():
    """Which commands are needed is looked for now and then: what they name has to be there."""
    trial = Trial()
    trial.done(create(1, "fill"), create(2), add(2, 1))
    trial.again()
    trial.done(create(3), add(3, 2), Free((2,)))
    commands, lost = trial.again()
    engines = Engines()
    engines.parts = {(3, r): [] for r in range(RANKS)}
    for k, command in enumerate(commands):
        engines.run(command, k)
    assert not lost


@pytest.mark.parametrize("how", ["lost", "aborted", "unknown", "shown"])
def test_what_nobody_knows_is_lost_and_what_was_made_of_it_later(how):
    trial = Trial()
    trial.done(create(1, "fill"), create(2), add(2, 1))
    if how == "shown":
        trial.done(Bind((("x", Operand(1, WHOLE)),)))
    else:
        state = {"lost": {"lost": [1]}, "aborted": {"aborted": True}, "unknown": {"known": False}}
        trial.done(add(1, 1), **state[how])
    trial.done(create(3), add(3, 1))
    assert trial.again()[1] == {1, 3}
    trial.done(add(3, 2))
    assert trial.again()[1] == {1}
    trial.done(add(1, 2))
    assert trial.again()[1] == ({1} if how == "shown" else set())  # %px may write at any time


def test_what_a_function_made_that_is_gone():
    trial = Trial()
    ins = (Function(-1, "f"), Operand(1, WHOLE))
    trial.done(create(1, "fill"), create(2), Apply("map", (Operand(2, WHOLE),), ins, None, (), 0))
    assert trial.again()[1] == set()
    trial.done(Free((-1,)))
    assert trial.again()[1] == {2}
    assert "function" in trial.lineage.spoiled[2]


def test_what_takes_too_long_is_given_up_and_the_rest_is_kept(monkeypatch):
    monkeypatch.setattr(config, "lineage", 10.0)
    trial = Trial()
    trial.done(create(1, "fill"), create(2, "fill"), busy=10**9)
    for _ in range(12):
        trial.done(add(1, 1), busy=10**9)
        assert trial.lineage._seconds <= 10
    assert trial.again()[1] == {1}
    assert "dnb.config.lineage" in trial.lineage.spoiled[1]
    found = trial.lineage.forecast()
    assert found.lost.keys() == {1}
    assert found.each == pytest.approx({2: 0.5})
    assert found.seconds == pytest.approx(0.5)


def test_what_a_file_has_is_read_if_that_takes_less():
    trial = Trial()
    trial.done(create(1, "fill"), create(2, "fill"), busy=10**9)
    trial.done(add(1, 2), busy=10**9)
    args = (("npy", __file__, stamp_of(__file__), (4,), "<f8", (), ()), WHOLE)
    reads = (create(1), Collective("file.read", (Operand(1, WHOLE),), (), args, 0))
    trial.lineage.saved({1: reads}, 5.0)
    assert names(trial.again()[0]) == [("create", 2), ("apply", 1)]
    trial.lineage.saved({1: reads}, 0.25)
    trial.done(create(3), add(3, 1))  # it is still as it was
    assert names(trial.again()[0])[-2:] == [("create", 1), ("collective", 1)]
    assert names(trial.again()[0])[-2:] == [("create", 1), ("collective", 1)]  # and once more
    assert trial.lineage.forecast().each == pytest.approx({1: 1.5, 2: 0.5, 3: 1.5})
    trial.done(add(1, 1), lost=[1])
    assert trial.again()[1] == {1}
    trial.lineage.saved({1: reads}, 9.0)  # it is the only way
    assert trial.again()[1] == set()
    trial.done(add(1, 1))
    assert trial.again()[1] == set()


def test_what_a_file_had_is_given_up_when_that_is_another():
    trial, stamp = Trial(), (1, 2)
    args = (("npy", "/nowhere", stamp, (4,), "<f8", (), ()), WHOLE)
    trial.done(create(1), Collective("file.read", (Operand(1, WHOLE),), (), args, 0))
    trial.done(create(2), add(2, 1), create(3, "fill"))
    assert trial.again()[1] == {1, 2}
    assert "file" in trial.lineage.spoiled[2]


def test_what_depends_on_who_did_it_is_given_up():
    trial = Trial()
    trial.done(create(1), Collective("foreach.join", (Operand(1, WHOLE),), (), (), 0))
    trial.done(create(2, "local"), create(3), add(3, 2), create(4, "fill"))
    assert trial.again()[1] == {1, 2, 3}


def test_two_deaths_at_what_is_not_the_same_are_one_of_each():
    """After the first of them a batch is done singly, so that one command is given up."""
    trial = Trial()
    trial.done(create(1, "fill"))
    trial.done(create(2), create(3), create(4), add(3, 1), add(2, 3), add(4, 1), Free((3,)))
    first, second, _lost = trial.lineage.replay(0)
    assert not trial.lineage.ended(first)
    assert not trial.lineage.ended(second)
    assert trial.again()[1] == set()
    _first, *singly, _lost = trial.lineage.replay(0)
    assert len(singly) == len(second.again.commands)
    deadly = next(s for s in singly if s.again.commands == (add(2, 3),))
    assert trial.lineage.ended(deadly)
    commands, lost = trial.again()
    assert lost == {2}
    assert ("apply", 4) in names(commands)
    assert len(trial.lineage.replay(0)) == 3  # what comes after that is done in batches


def test_what_was_made_before_its_source_was_shown_stays_when_a_function_goes():
    trial = Trial()
    trial.done(create(1, "fill"), create(2), add(2, 1))
    trial.done(Bind((("x", Operand(1, WHOLE)),)))
    trial.done(Free((-5,)))
    assert trial.again()[1] == {1}


def test_what_is_kept_is_limited(monkeypatch):
    monkeypatch.setattr(module, "_MOST", 100)
    monkeypatch.setattr(module, "_FEW", 10)
    trial = Trial()
    trial.done(create(1, "fill"), create(2, "fill"), create(3, "fill"))
    for k in range(1000):
        trial.done(add(1, 1), add(3, 2) if k % 2 else create(4, "fill"))
        assert trial.lineage._count <= 110
    assert trial.again()[1] == {1}


def test_data_of_the_notebook_is_kept_while_it_is_not_much(monkeypatch):
    monkeypatch.setattr(module, "_MOST_BYTES", 1000)
    trial, data = Trial(), [[np.zeros(50)], [np.zeros(50)]]
    from_notebook = create(1)._replace(how=("data", 0))
    trial.done(from_notebook, buffers=[[np.zeros(5)]] * 2)
    again, _ = trial.lineage.replay(0)
    assert sum(x.nbytes for parts in again.again.buffers for x in parts) == 80
    trial.done(from_notebook._replace(base=2), create(3, "fill"), buffers=data)
    trial.done(create(4), add(4, 2), create(5), add(5, 1))
    trial.done(from_notebook._replace(base=6), buffers=data)
    assert trial.again()[1] >= {2, 4, 6} - {5}
    assert not trial.again()[1] & {1, 3, 5}


@pytest.mark.parametrize("start", range(0, 400, 100))
def test_random_programs(start, monkeypatch):
    monkeypatch.setattr(module, "_FEW", 4)  # it is looked often what is needed
    good = bad = 0
    for seed in range(start, start + 100):
        chance = random.Random(seed)
        trial, engines = Trial(), Engines()
        first = [create(b, "fill") for b in (1, 2, 3)]
        number = 0
        commands, numbers, all_of_them = list(first), {}, []
        for _ in range(chance.randrange(1, 5)):
            there = [h for h in trial.ledger.kept if h < 100] or [1, 2, 3]
            commands += renamed(program(chance, there), 1000 * (number + 1))
            for command in commands:
                number += 1
                numbers[id(command)] = number
                engines.run(command, number)
            for batch in cut(chance, commands):
                torn = chance.random() < 0.05
                written = [h for c in batch for h in c.writes]
                lost = chance.sample(written, 1) if written and torn else []
                trial.done(*batch, lost=lost)
            all_of_them += commands  # or others would have their ids
            commands = []
            again, lost = trial.again()
            others = Engines()
            others.parts = {(h, r): ["lost"] * 4 for h in trial.ledger.kept for r in range(RANKS)}
            for command in again:
                others.run(command, numbers.get(id(command), -1))
            for base in trial.ledger.kept:
                mine = [others.parts[base, r] for r in range(RANKS)]
                right = [engines.parts[base, r] for r in range(RANKS)]
                assert base in lost or mine == right, (seed, base)
                good, bad = good + (base not in lost), bad + (base in lost)
    assert good > 3 * bad  # of which there are more from round to round


def renamed(commands, first):
    """Return the same commands, which make bases of other numbers."""

    class Numbers(dict):
        def __missing__(self, base):
            return base + first if base >= 100 else base

    return [c.renumbered(Numbers()) for c in commands]


def cut(chance, commands):
    """Cut commands into batches."""
    while commands:
        count = chance.randrange(1, 6)
        yield commands[:count]
        commands = commands[count:]
