"""A hundred runs, each with one known cause of its loss: the sentence names it, and so does all else."""

import re
from dataclasses import replace
from html import escape

import numpy as np
import pytest

import distnb as dnb
from distnb.measure.advice import CAUSES, WORTH
from distnb.measure.events import Moment, Notebook
from distnb.widgets.times.pages import details_of, small_page
from tests.unit.runs import MS, report, span, step

#: Where each is lost; what other programs take is on no rung.
RUNGS = {
    **{"load balance": "load balance", "serialisation": "serialisation", "overhead": "overhead"},
    **{"memory": "overhead", "straggler": "serialisation"},
    **{"bandwidth": "transfer", "latency": "transfer", "gather": "transfer", "files": "transfer"},
    **dict.fromkeys(
        ("waiting for the notebook", "recording", "notebook", "garbage collection", "disk"),
        "dispatch",
    ),
}


def even(rng, size, start, length=20.0, **more):
    """A step in which all engines compute nearly equally long."""
    times = length * (1 + 0.02 * rng.random(size))
    return step(*(span(start, ms, **more) for ms in times))


def unequal_layout(rng, size):
    held = np.ones(size, int) * 100
    held[rng.integers(size)] = 100 * rng.integers(3, 9)
    worst = held.max()
    late = int(held.argmax())
    spans = [
        span(0, h / 10, (worst - h) / 10, waits=[(late, (worst - h) / 10)] if h < worst else ())
        for h in held
    ]
    return report([step(*spans, held=tuple(held.tolist()))])


def unequal_speed(rng, size):
    times = np.full(size, 10.0)
    times[rng.integers(size)] *= rng.uniform(2.5, 6)
    late = int(times.argmax())
    return report(
        [
            step(
                *(
                    span(0, t, times.max() - t, waits=[(late, times.max() - t)] if t < 11 else ())
                    for t in times
                )
            )
        ]
    )


def turns(rng, size):
    """One engine after the other computes, and all others wait for it."""
    length = rng.uniform(5, 40)
    steps = []
    for turn in range(size):
        spans = [
            span(turn * length, length)
            if rank == turn
            else span(turn * length, 0, length, waits=[(turn, length)])
            for rank in range(size)
        ]
        steps.append(step(*spans, op="solve"))
    return report(steps)


def many_bytes(rng, size):
    moving = rng.uniform(30, 90)
    nbytes = int(rng.integers(5, 90)) * 10**6
    spans = [span(0, 10, 0, moving, sent=[((r + 1) % size, 2, nbytes)]) for r in range(size)]
    return report([step(*spans)])


def read_in_place(rng, size):
    """Through shared memory: few messages, and bytes that count as what they are."""
    moving = rng.uniform(30, 90)
    spans = [span(0, 10, 0, moving, sent=[((r + 1) % size, 24, 192_000_000)]) for r in range(size)]
    return report([step(*spans, op="copy")])


def gathered(rng, size):
    """Much comes to the notebook, beside the few messages with which engines agree."""
    moving, nbytes = rng.uniform(30, 90), int(rng.integers(5, 90)) * 10**6
    others = [[((r + 1) % size, 2, 16)] for r in range(size)]
    spans = [span(0, 1, 0, moving, gathered=nbytes, sent=sent) for sent in others]
    return report([step(*spans, op="fetch", line="In [1] line 2: np.asarray(M)")])


def small_messages(rng, size):
    moving, count = rng.uniform(20, 80), int(rng.integers(300, 5000))
    spans = [span(0, 8, 0, moving, sent=[((r + 1) % size, count, 8 * count)]) for r in range(size)]
    return report([step(*spans, op="sum")])


def files(rng, size):
    """Engines write, and tell each other that they did."""
    writing = rng.uniform(20, 80)
    others = [[((r + 1) % size, 2, 16)] for r in range(size)]
    wrote = [span(0, 1, 0, writing, sent=sent) for sent in others]
    after = [span(1 + writing, 5, 0, 2, sent=[((r + 1) % size, 1, 8)]) for r in range(size)]
    return report([step(*wrote, op="file.write"), step(*after, op="sum")])


def on_the_way(rng, size):
    """Everyone waits for everyone, and nobody computes meanwhile."""
    away = rng.uniform(20, 60)
    spans = [
        span(0, 6, away, waits=[((r + 1) % size, away)], sent=[((r + 1) % size, 1, 80)])
        for r in range(size)
    ]
    return report([step(*spans)])


def bookkeeping(rng, size):
    planning = rng.uniform(20, 80)
    spans = [span(0, 10, 0, 0, planning) for _ in range(size)]
    return report([step(*spans)], commands=int(rng.integers(50, 900)))


def getting_memory(rng, size):
    """New pages are touched before they are computed into."""
    getting = rng.uniform(20, 80)
    made = [span(0, 0, 0, 0, getting) for _ in range(size)]
    added = [span(getting, 8, 0, 0, 0.2) for _ in range(size)]
    line = "In [1] line 2: H = G + 1"
    return report([step(*made, op="create (empty)", line=line), step(*added, line=line)])


def stopped(rng, size):
    """One engine does not run when a batch comes, and the others wait for it at its end."""
    away, size = rng.uniform(200, 3000), max(2, size)
    late, begin, end = int(rng.integers(size)), (("decode", ""),), (("agree", ""),)
    starts = [away if rank == late else 0 for rank in range(size)]
    waits = [() if rank == late else [(late, away)] for rank in range(size)]
    return report(
        [
            step(*(span(at, 0, 0, 0, 0.1) for at in starts), names=begin),
            step(*(span(at + 0.1, 10) for at in starts)),
            step(
                *(
                    span(
                        at + 10.1, 0, away if wait else 0, waits=wait, sent=[((r + 1) % size, 1, 8)]
                    )
                    for r, (at, wait) in enumerate(zip(starts, waits, strict=True))
                ),
                names=end,
            ),
        ]
    )


def loop_of_reads(rng, size):
    """Between two reads there is some Python, as in any loop: it is still the reads that cost."""
    pause, turns = rng.uniform(0.4, 1.4), 60
    steps = [even(rng, size, t * (0.1 + pause), 0.08) for t in range(turns)]
    names = (("fetch", "In [1] line 2: t += float(G[i].sum())"),)
    made = report([each._replace(names=names) for each in steps])
    object.__setattr__(made, "notebook", Notebook(0.6 * made.ladder[0].lost))
    return made


def paused(rng, size, notebook=None, commands=20, op="fetch"):
    """Engines have nothing to do between steps."""
    pause = rng.uniform(20, 50)
    spans = [even(rng, size, t * (10 + pause), 8.0) for t in range(5)]
    made = report([each._replace(names=((op, "In [1] line 2: float(s)"),)) for each in spans])
    lost = made.ladder[0].lost
    if notebook is None:
        return made
    object.__setattr__(made, "notebook", Notebook(*(share * lost for share in notebook)))
    object.__setattr__(made, "commands", commands)
    return made


def reads(rng, size):
    return paused(rng, size)


def sleeps(rng, size):
    return paused(rng, size, (0.1, 0.0), op="add")


def other_work(rng, size):
    """The notebook is somewhere else between two reads: these are not what is waited for."""
    return awaited(paused(rng, size, (0.1, 0.0)), rng.uniform(0.0, 0.3))


def long_reads(rng, size):
    return awaited(paused(rng, size, (0.1, 0.0)), rng.uniform(0.7, 1.0))


def awaited(made, share):
    """The same run, in which the notebook waited for engines in a share of each pause."""
    whole = round(made.stages.window * 1e9)
    begin, until = made.run.pauses(whole)
    gone, moments = 0, [Moment(0, 0, 0, 0)]
    for start, end in zip(begin.astype(int).tolist(), until.astype(int).tolist(), strict=True):
        middle = end - round(share * (end - start))
        for at, more in ((start, 0), (middle, 0), (end, end - middle)):
            gone += more
            moments.append(Moment(at, 0, 0, 0, gone))
    moments.append(Moment(whole, 0, 0, 0, gone))
    did = made.notebook._replace(moments=tuple(moments), waited=gone / 1e9)
    object.__setattr__(made, "notebook", did)
    return made


def trials(rng, size):
    found = paused(rng, size, (0.1, 0.0), op="map_blocks (work)")
    did = found.notebook._replace(tried=0.9 * found.ladder[0].lost)
    object.__setattr__(found, "notebook", did)
    return found


def recording(rng, size):
    return paused(rng, size, (0.9, 0.0), commands=100_000)


def own_steps(rng, size):
    return paused(rng, size, (0.9, 0.0), commands=4)


def garbage(rng, size):
    return paused(rng, size, (0.95, 0.8), commands=4)


def spilling(rng, size):
    return paused(rng, size, (0.2, 0.0, rng.uniform(0.6, 0.8)), commands=4)


def shared_machine(rng, size):
    found = report([even(rng, size, 0, 50.0), even(rng, size, 60, 40.0)])
    taken = rng.uniform(0.3, 0.7) * found.stages.window * 1e9
    engines = tuple(e._replace(delayed=int(taken)) for e in found.engines)
    object.__setattr__(found, "engines", engines)
    return found


RUNS = {
    unequal_layout: "load balance",
    unequal_speed: "load balance",
    turns: "serialisation",
    many_bytes: "bandwidth",
    read_in_place: "bandwidth",
    gathered: "gather",
    small_messages: "latency",
    files: "files",
    on_the_way: "latency",
    bookkeeping: "overhead",
    getting_memory: "memory",
    stopped: "straggler",
    loop_of_reads: "waiting for the notebook",
    reads: "waiting for the notebook",
    sleeps: "waiting for the notebook",
    other_work: "waiting for the notebook",
    long_reads: "waiting for the notebook",
    trials: "notebook",
    recording: "recording",
    own_steps: "notebook",
    garbage: "garbage collection",
    spilling: "disk",
    shared_machine: "busy machine",
}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("make", RUNS, ids=lambda make: make.__name__)
def test_the_sentence_names_the_cause_and_nothing_disagrees(make, seed):
    cause = RUNS[make]
    rng = np.random.default_rng(seed)
    found = make(rng, size=int(rng.integers(2, 7)))
    assert found.headline.cause == cause
    assert found.advice.lower().startswith(f"{cause}: ")
    assert cause in CAUSES
    assert found.headline.gain.gain >= WORTH
    marked = [line for line in details_of(found).splitlines() if "(most)" in line]
    assert [line.startswith(RUNGS[cause]) for line in marked] == [True] * (cause in RUNGS)
    if cause in RUNGS:
        assert found.ladder[found.headline.rung].name == found.worst.name == RUNGS[cause]
    page = small_page(found)
    assert page.count("(most)") == page.count("lost: most") == len(marked)
    assert cause in page.lower()


def test_what_is_lost_to_others_is_said_beside_a_greater_loss():
    found = many_bytes(np.random.default_rng(1), 3)
    taken = 0.2 * found.stages.window * 1e9
    object.__setattr__(
        found, "engines", tuple(e._replace(delayed=int(taken)) for e in found.engines)
    )
    assert found.headline.cause == "bandwidth"
    shared = "(the machine was shared with other work: for 20 % of the time engines had no core)."
    assert found.advice.endswith(shared)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("make", [unequal_layout, gathered, bookkeeping], ids=lambda m: m.__name__)
def test_a_cause_that_stands_out_is_named_on_a_shared_machine(make, share):
    found = make(np.random.default_rng(4), 2)
    taken = int(share * 2e9 * found.worst.lost)
    object.__setattr__(found, "engines", tuple(e._replace(delayed=taken) for e in found.engines))
    assert found.headline.cause == RUNS[make]
    assert found.marked is found.worst
    assert ("shared with other work" in found.advice) == (share > 0)
    page = small_page(found)
    about = re.findall("<desc>(.*?)</desc>", page)
    assert about == [escape(found.advice, quote=False)] * 2  # of the bars, and of the ladder


def test_what_comes_to_the_notebook_is_named_though_nothing_is_computed():
    spans = [span(20, 0, 0, 30, gathered=10**7) for _ in range(2)]
    found = report([step(*spans, op="fetch", line="In [1] line 2: x.to_numpy()")])
    assert (found.headline.cause, found.headline.rung) == ("gather", 2)
    assert "moving 20 MB to the notebook takes 30 ms, most for `x.to_numpy()`" in found.advice
    late = report(found.steps, window=200)  # as where replies travel after the engines' part
    assert (late.headline.cause, late.headline.rung) == ("gather", 0)
    assert "notebook" in details_of(found)
    assert found.gathered.tolist() == [10**7] * 2


@pytest.mark.tier("test")
def test_bytes_for_the_notebook_count_on_all_ways():
    with dnb.inprocess(2) as session:
        x = dnb.ones((300, 200), dist="block", session=session)
        for read in (x.to_numpy, x[0].to_numpy, x[::2, ::3].to_numpy):
            with dnb.profile(session) as found:
                nbytes = read().nbytes
            assert found.gathered.sum() == nbytes
            assert sum(e.bytes - e.in_place - e.messages for e in found.engines) == 0


@pytest.mark.parametrize("make", [own_steps, garbage, recording, spilling, loop_of_reads, stopped])
def test_no_more_is_gained_than_was_lost(make):
    found = make(np.random.default_rng(5), 3)
    gain, did = found.headline.gain, found.notebook
    assert gain.before - gain.after <= found.ladder[found.headline.rung].lost + 1e-9
    if make in (own_steps, recording):
        assert gain.before - gain.after == pytest.approx(did.computed)


def test_messages_by_which_engines_agree_are_no_operations():
    end = [span(1, 0, 0, 9, sent=[(1 - r, 1, 8)]) for r in range(2)]
    found = report([step(span(0, 1), span(0, 1)), step(*end, names=(("agree", ""),))])
    found = replace(
        found, ops=tuple(x for x in found.ops if x.op == "add")
    )  # what is no command is on no line
    assert found.headline.cause == "latency"
    assert "2 small messages cost 9 ms, by which engines agree" in found.advice
    assert "`" not in found.advice


@pytest.mark.parametrize(("op", "alike"), [("add", True), ("copy", True), ("sum", False)])
def test_operands_that_lie_apart_piece_by_piece_are_to_be_laid_alike(op, alike):
    both = [span(0, 1, 0, 30, sent=[(1 - r, 306, 306 * 8)]) for r in range(2)]
    assert ("redistribute(y.layout)" in report([step(*both, op=op)]).advice) == alike


def test_an_engine_without_a_share_computes_no_times_as_long():
    found = report([step(span(0, 10), span(0, 5), held=(100, 0)), step(span(10, 1), span(10, 1))])
    assert all("0000" not in remedy.loss for remedy in found.remedies)
    assert "overhead" not in {remedy.cause for remedy in report(found.steps, commands=0).remedies}


def test_other_work_of_the_notebook_is_not_that_of_a_read():
    rng = np.random.default_rng(2)
    found, reads = other_work(rng, 2), long_reads(rng, 2)
    assert "float(s)" not in found.advice
    assert "other things than wait for them" in found.advice
    assert "`float(s)` reads 5 values" in reads.advice
    gain = reads.headline.gain
    assert gain.before - gain.after < reads.ladder[0].lost - 1e-3  # from when it was asked


def test_trial_calls_are_named():
    found = trials(np.random.default_rng(3), 2)
    assert "to find the dtype of the result; give dtype=: " in found.advice


@pytest.mark.tier("test")
def test_a_function_that_is_tried_counts():
    with dnb.inprocess(2) as session:
        x = dnb.ones((300, 200), dist="block", session=session)
        before = session.measuring.clock.read()
        dnb.map_blocks(np.negative, x, dtype=float)
        assert session.measuring.clock.read().tried == before.tried
        dnb.map_blocks(np.negative, x)
        assert session.measuring.clock.read().tried > before.tried


def test_a_good_run_is_blamed_on_nothing():
    found = report([even(np.random.default_rng(1), 4, 0, 100.0)])
    assert found.headline is None
    assert found.advice.startswith("No single change would gain much")
    assert MS
