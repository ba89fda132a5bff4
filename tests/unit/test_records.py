"""What engines record of batches, and the steps and sums that it tells of, on hands that tests turn."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distnb.measure import events
from distnb.measure.events import (
    COMPUTE,
    IDLE,
    OVERHEAD,
    TRANSFER,
    WAITING,
    Clock,
    CommandTime,
    OpTime,
)
from distnb.measure.records import (
    AGREE,
    DECODE,
    END,
    Log,
    Sums,
    clock_offset,
    steps,
)


class Rank:
    """A rank that acts a script: its clock moves only when the test says so."""

    def __init__(self, start):
        self.now = start
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(events, "perf_counter_ns", lambda: self.now)
            self.clock = Clock()

    def run(self, parts):
        """Run a batch of (part, held, events); return what is recorded of it."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(events, "perf_counter_ns", lambda: self.now)
            log = Log(self.clock)
            for number, (part, held, doings) in enumerate(parts):
                if number:
                    log.begin(part, held)
                for what, ns, peer in doings:
                    self.act(what, ns, peer)
            log.begin(END, 0, IDLE)
            times = log.times()
            assert log.times() == times
            return times

    def act(self, what, ns, peer):
        before = self.clock.switch(what)
        self.now += ns
        if what == WAITING:
            self.clock.waited(peer, ns)
        if what == TRANSFER:
            self.clock.send(peer, ns)
        if what == COMPUTE:
            self.clock.touched += 8 * ns
        self.clock.switch(before)

    def rest(self, ns):
        self.now += ns


DOINGS = st.lists(
    st.tuples(
        st.sampled_from((COMPUTE, WAITING, TRANSFER, OVERHEAD)),
        st.integers(0, 10**10),
        st.integers(0, 3),
    ),
    max_size=6,
)


@st.composite
def batches(draw):
    """Return the number of commands, and what some ranks do in the parts that these form."""
    n = draw(st.integers(0, 6))
    cuts = sorted(draw(st.sets(st.integers(1, n - 1)))) if n > 1 else []
    parts = [tuple(range(a, b)) for a, b in pairwise([0, *cuts, n])] if n else []
    ranks = draw(st.integers(1, 3))
    left_out = st.sets(st.sampled_from(parts)) if parts else st.just(set())
    columns = []
    for _ in range(ranks):
        out = draw(left_out) if draw(st.booleans()) else set()
        here = [DECODE, *(p for p in parts if p not in out), AGREE]
        columns.append([(p, draw(st.integers(0, 99)), draw(DOINGS)) for p in here])
    return n, columns


@given(st.lists(batches().filter(lambda b: len(b[1]) == 2), min_size=1, max_size=3))
def test_steps_are_all_that_ranks_did(found):
    ranks = [Rank(1_000_000), Rank(77)]
    zeros = [rank.now - 5 for rank in ranks]
    before = [rank.clock.read() for rank in ranks]
    rows = []
    for _, columns in found:
        for rank in ranks:
            rank.rest(10)
        times = [rank.run(parts) for rank, parts in zip(ranks, columns, strict=True)]
        assert pickle.loads(pickle.dumps(times)) == times
        rows += steps(times, zeros, lambda k: (f"op {k}", f"line {k}"))
    for number, rank in enumerate(ranks):
        spans = [step.spans[number] for step in rows]
        closed(spans, rank.now - zeros[number])
        account = rank.clock.read().since(before[number])
        total = [sum(span.time[i] for span in spans) for i in range(6)]
        assert total == [*account.spent[:IDLE], account.messages, account.bytes]
        assert sum(span.touched for span in spans) == account.touched
        assert together(spans, "waits") == dict(account.waits)
        assert together(spans, "sent") == {peer: counts for peer, *counts in account.sent}


def closed(spans, end):
    """Check the laws of the spans of one rank."""
    at = 0
    for span in spans:
        assert at <= span.start <= span.end <= end
        assert sum(span.time[:4]) == span.end - span.start
        assert sum(ns for _, ns in span.waits) == span.time.waiting
        assert sum(m for _, m, _ in span.sent) == span.time.messages
        assert len({peer for peer, _ in span.waits}) == len(span.waits)
        at = span.end


def together(spans, what):
    found = {}
    for span in spans:
        for peer, *counts in getattr(span, what):
            found[peer] = np.add(found.get(peer, 0), counts)
    return {
        p: c.tolist() if len(c) > 1 else c.tolist()[0] for p, c in found.items() if np.any(c != 0)
    }


def test_steps_say_what_ran_where():
    one, two = Rank(100), Rank(500)
    first = one.run(
        [
            (DECODE, 0, [(OVERHEAD, 2, 0)]),
            ((0, 1), 9, [(COMPUTE, 10, 0), (WAITING, 4, 1), (WAITING, 1, 1)]),
            (AGREE, 0, [(TRANSFER, 3, 1)]),
        ]
    )
    second = two.run([(DECODE, 0, []), ((0, 1), 7, [(COMPUTE, 20, 0)]), (AGREE, 0, [])])
    decode, work, agree = steps([first, second], [100, 490], [("a", "x"), ("b", "y")].__getitem__)
    assert decode.names == (("decode", ""),)
    assert agree.names == (("agree", ""),)
    assert work.names == (("a", "x"), ("b", "y"))
    assert work.held == (9, 7)
    assert [(s.start, s.end) for s in work.spans] == [(2, 17), (10, 30)]
    assert work.spans[0].time == CommandTime(10, 5, 0, 0, 0, 0)
    assert work.spans[0].waits == ((1, 5),)
    assert work.spans[1].touched == 160
    assert agree.spans[0].sent == ((1, 1, 3),)


def test_what_a_rank_left_out_has_no_length():
    one, two = Rank(0), Rank(0)
    full = [(p, 5, [(COMPUTE, 10, 0)]) for p in (DECODE, (0,), (1, 2), (3,), AGREE)]
    first = one.run([full[0], full[2]])
    second = two.run(full)
    found = steps([first, second], [0, 0], lambda k: (str(k), ""))
    assert [s.names[0][0] for s in found] == ["decode", "0", "1", "3", "agree"]
    assert [(s.spans[0].start, s.spans[0].end) for s in found] == [
        *((0, 10), (10, 10), (10, 20), (20, 20), (20, 20))
    ]
    assert [s.held[0] for s in found] == [0, 0, 5, 0, 0]
    assert steps([second, first], [0, 0], lambda k: (str(k), "")) == [
        s._replace(held=s.held[::-1], spans=s.spans[::-1]) for s in found
    ]


@given(batches())
def test_commands_share_the_time_of_their_part(batch):
    n, columns = batch
    for parts in columns:
        times = Rank(0).run(parts)
        rows, table = times.rows(n), times.table()
        assert times.end == times.start + table[:, :4].sum()
        for part, whole in zip(times.parts, table, strict=True):
            if part[0] >= 0:
                mine = rows[list(part)]
                assert mine.sum(axis=0).tolist() == whole[:6].tolist()
                assert (mine.max(axis=0) - mine.min(axis=0) < len(part)).all()


KEYS = st.sampled_from((None, ("add", 1), ("add", 2), ("sum", 1)))


@given(st.lists(st.tuples(batches(), st.lists(KEYS, min_size=6, max_size=6)), max_size=4))
def test_sums(found):
    sums, records = Sums(), []
    for (n, columns), keys in found:
        ranks = [Rank(0).run(columns[i % len(columns)]) for i in range(2)]
        sums.add(keys[:n], ranks)
        rows = [times.rows(n).tolist() for times in ranks]
        records += [(key, [r[i] for r in rows]) for i, key in enumerate(keys[:n]) if key]
    found = sums.op_times(lambda key: (key[0], "same line"))
    assert {op.op for op in found} == {key[0] for key, _ in records}
    for op in found:
        mine = [ranks for key, ranks in records if key[0] == op.op]
        assert op.calls == len(mine)
        assert [list(r) for r in op.ranks] == np.sum(mine, axis=0).tolist()
    busy = [max(sum(rank[:4]) for rank in op.ranks) for op in found]
    assert busy == sorted(busy, reverse=True)


def test_sums_of_ranks_side_by_side():
    parts = [(DECODE, 0, []), ((0,), 1, [(COMPUTE, 3, 0)])]
    one, two, both = Sums(), Sums(), Sums()
    times = [Rank(0).run(parts), Rank(9).run([*parts, ((1,), 1, [])])]
    one.add("ab", times[:1])
    two.add("ab", times[1:])
    both.add("ab", times)
    name = lambda key: (key, "")  # noqa: E731
    assert Sums.joined([one, two]).op_times(name) == both.op_times(name)
    assert Sums.joined([one]).op_times(name) == one.op_times(name)
    less = Sums()
    less.add("a", [Rank(9).run([*parts])])
    found = {op.op: op for op in Sums.joined([less, two]).op_times(name)}
    assert found["b"].calls == 1
    assert found["b"].ranks[0] == CommandTime(0, 0, 0, 0, 0, 0)
    assert OpTime("a", "", 1, (CommandTime(3, 0, 0, 0, 0, 0),) * 2) in both.op_times(name)


@given(
    st.integers(-(10**15), 10**15),
    st.lists(st.tuples(*[st.integers(0, 10**9)] * 4), min_size=1, max_size=5),
)
def test_clock_offset(ahead, trips):
    now, seen = 0, []
    for pause, way, work, back in trips:
        sent = now + pause
        arrived, left = sent + way, sent + way + work
        now = left + back
        seen.append((sent, now, arrived + ahead, left + ahead))
    found, error = clock_offset(seen)
    assert abs(found - ahead) <= error
    assert error <= min((way + back) for _, way, _, back in trips) // 2 + 1
    for sent, there, arrived, left in seen:  # no span leaves its window
        assert sent <= arrived - found
        assert left - found <= there + 1
