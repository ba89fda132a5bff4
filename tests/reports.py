"""Reports as they could be, without engines: every engine's account is closed, spans do not overlap."""

import random
from itertools import accumulate

import numpy as np

from distnb.measure.events import (
    OVERHEAD,
    Account,
    CommandTime,
    OpTime,
    Report,
    Span,
    Step,
)

NAMES = [
    ("add", "In[3] line 2: t[:] = 0.2 * (a[1:-1] + a[:-2])"),
    ("copy", "In[3] line 2: t[:] = 0.2 * (a[1:-1] + a[:-2])"),
    ("redistribute", "In[3] line 3: b = a.redistribute(('*', 'block'))"),
    ("sum", "In[3] line 4: b.sum(axis=0) <script>alert('no')</script>"),
]
CASES = [(1, 1), (2, 7), (3, 40), (4, 0)]


def synthetic(engines=3, steps=40, seed=0):
    """Return a report of random steps; some engines do nothing in some of them."""
    rng = random.Random(seed)
    now = [rng.randrange(1000, 90_000) for _ in range(engines)]
    made = [_step(rng, i, now) for i in range(steps)]
    end = max(now, default=0) + rng.randrange(50_000)
    return Report(
        wall=end / 1e9,
        engines=tuple(_account(made, rank, end, rng) for rank in range(engines)),
        ops=_ops(made),
        commands=sum(len(step.names) for step in made),
        batches=1 + steps // 10,
        steps=tuple(made),
    )


def _ops(steps):
    """Book each step to its first operation."""
    found = []
    for name in dict.fromkeys(step.names[0] for step in steps):
        own = [step.spans for step in steps if step.names[0] == name]
        times = np.array([[span.time for span in spans] for spans in own]).sum(axis=0)
        found.append(OpTime(*name, len(own), tuple(CommandTime(*row) for row in times.tolist())))
    return tuple(found)


def _step(rng, i, now):
    names = tuple(NAMES[j % 4] for j in range(i % 4, i % 4 + 1 + i % 3))
    spans = []
    for rank in range(len(now)):
        start = now[rank] + rng.randrange(20_000) + 400_000 * (i % 10 == 9)
        if (rank + i) % 5 == 4:
            spans.append(Span(now[rank], now[rank], CommandTime(0, 0, 0, 0, 0, 0)))
            continue
        spans.append(_span(rng, rank, len(now), start))
        now[rank] = spans[-1].end
    return Step(names, (100,) * len(now), tuple(spans))


def _span(rng, rank, size, start):
    spent = [rng.randrange(k) for k in (200_000, 60_000, 30_000, 8_000)]
    other = (rank + 1) % size
    sent = ((other, 2, 4096 * (1 + rank)),) if size > 1 else ()
    waits = (((rank - 1) % size, spent[1]),) if size > 1 else ()
    time = CommandTime(*spent, 2 * len(sent), 16 * len(sent))  # the others are lent
    return Span(start, start + sum(spent), time, 16 * spent[0], waits, sent)


def _account(steps, rank, end, rng):
    rows = [step.spans[rank].time for step in steps]
    sums = [sum(column) for column in zip(*rows, strict=True)] or [0] * 6
    free = end - sum(sums[:4])
    sums[OVERHEAD] += free // 10  # between steps: decoding
    spent = (*sums[:4], end - sum(sums[:4]))
    spans = [step.spans[rank] for step in steps]
    return Account(
        end,
        spent,
        sums[4],
        sums[5],
        sum(span.touched for span in spans),
        _pairs([span.waits for span in spans]),
        _pairs([span.sent for span in spans]),
    )


def _pairs(rows):
    """Add up (rank, ...) of many steps."""
    found = {}
    for rank, *values in (pair for row in rows for pair in row):
        found[rank] = [a + b for a, b in zip(found.get(rank, [0, 0]), values, strict=False)]
    return tuple((rank, *values) for rank, values in sorted(found.items()))


def overlaps(report):
    """Tell whether spans of an engine overlap."""
    for rank in range(len(report.engines)):
        spans = [step.spans[rank] for step in report.steps]
        ends = accumulate((s.end for s in spans), max, initial=0)
        if any(s.start < end for s, end in zip(spans, ends, strict=False)):
            return True
    return False
