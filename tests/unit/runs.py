"""Synthetic runs: reports whose steps and accounts are known, and a strategy for any of them."""

from itertools import chain

import numpy as np
from hypothesis import strategies as st

from distnb.measure.events import (
    Account,
    CommandTime,
    OpTime,
    Report,
    Span,
    Step,
)

MS = 1_000_000


def span(
    start, compute=0, waiting=0, transfer=0, overhead=0, touched=0, waits=(), sent=(), gathered=0
):
    """A span whose times (ms) begin at ``start``, with waits in ms, and bytes for the notebook."""
    times = [round(t * MS) for t in (compute, waiting, transfer, overhead)]
    messages, size = sum(m for _, m, _ in sent), sum(b for _, _, b in sent) + gathered
    return Span(
        round(start * MS),
        round(start * MS) + sum(times),
        CommandTime(*times, messages, size),
        touched,
        tuple((j, round(ms * MS)) for j, ms in waits),
        tuple(sent),
    )


def step(*spans, op="add", line="In [1] line 1: b = a + a", held=None, names=None):
    """A step of one command, or of several ``names``."""
    return Step(names or ((op, line),), held or (10,) * len(spans), spans)


def report(steps, size=None, window=None, commands=None, memory_bandwidth=None):
    """The report of steps whose spans are all that engines did; ``window`` in ms."""
    size = size or len(steps[0].spans)
    end = max([s.end for each in steps for s in each.spans], default=0)
    window = end if window is None else round(window * MS)
    engines = []
    for rank in range(size):
        times = [each.spans[rank].time for each in steps]
        sums = [sum(time[i] for time in times) for i in range(6)]
        spent = (*sums[:4], window - sum(sums[:4]))
        mine = [each.spans[rank] for each in steps]
        waits, sent = _joined(s.waits for s in mine), _joined(s.sent for s in mine)
        touched = sum(s.touched for s in mine)
        engines.append(Account(window, spent, sums[4], sums[5], touched, waits, sent))
    rows = [
        (op, line, [CommandTime(*(n // len(s.names) for n in x.time)) for x in s.spans])
        for s in steps
        for op, line in s.names
    ]
    count = len(rows) if commands is None else commands
    ops = summarise(rows)
    return Report(
        window / 1e9, tuple(engines), ops, count, 1, tuple(steps), memory_bandwidth=memory_bandwidth
    )


def _joined(entries):
    found = {}
    for rank, *numbers in chain(*entries):
        found[rank] = [a + b for a, b in zip(found.get(rank, [0] * 2), numbers, strict=False)]
    return tuple((rank, *numbers) for rank, numbers in found.items())


def summarise(rows):
    found = {}
    for op, line, ranks in rows:
        calls, sums = found.get((op, line), (0, np.zeros((len(ranks), 6), int)))
        found[op, line] = calls + 1, sums + np.array(ranks)
    made = [
        OpTime(*name, calls, tuple(CommandTime(*row) for row in sums.tolist()))
        for name, (calls, sums) in found.items()
    ]
    return tuple(sorted(made, key=lambda o: -max(sum(r[:4]) for r in o.ranks)))


@st.composite
def reports(draw, most=6):
    """Any run of up to so many steps on up to four engines, whose spans need make no sense."""
    size = draw(st.integers(1, 4))
    now, steps = [0] * size, []
    for _ in range(draw(st.integers(0, most))):
        spans = []
        for rank in range(size):
            start = now[rank] + draw(st.sampled_from((0, 0, 1, 40)))
            spans.append(draw(_spans(start, rank, size)))
            now[rank] = spans[-1].end
        held = draw(st.tuples(*[st.integers(0, 9)] * size))
        names = draw(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy")), max_size=2))
        steps.append(Step(tuple(names), held, tuple(spans)))
    late = draw(st.integers(0, 50))
    memory_bandwidth = draw(st.sampled_from((None, 0.0, 1e9)))
    return report(steps, size, (max(now) + late) / MS, memory_bandwidth=memory_bandwidth)


@st.composite
def _spans(draw, start, rank, size):
    if draw(st.booleans()) and draw(st.booleans()):
        return Span(start, start, CommandTime(0, 0, 0, 0, 0, 0))
    compute, waiting, transfer, overhead = (draw(st.integers(0, 99)) for _ in range(4))
    others = [j for j in range(size) if j != rank]
    waits, left = [], waiting
    for j in others:
        if ns := draw(st.integers(0, left)):
            waits.append((j, ns))
            left -= ns
    sent = [(j, 1, draw(st.integers(1, 99))) for j in others if draw(st.booleans())]
    time = CommandTime(compute, waiting, transfer, overhead, len(sent), sum(n for _, _, n in sent))
    end = start + compute + waiting + transfer + overhead
    return Span(start, end, time, draw(st.integers(0, 99)), tuple(waits), tuple(sent))
