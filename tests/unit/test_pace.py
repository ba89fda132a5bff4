"""Which way is taken where small steps find engines busy; the clock is the test's."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from distnb.client.reach import pace
from distnb.client.session import large_steps

MB = 1 << 20
LARGE = 16 * MB


class Loop:
    """A loop of large steps and small ones: what the notebook asks its pace, and the time it takes.

    ``costs`` are the seconds of a turn in each way.
    """

    def __init__(self, monkeypatch, costs, large=4, small=8):
        self.now, self.costs, self.large, self.small, self.size = 0.0, costs, large, small, LARGE
        self.session = SimpleNamespace(
            connection=SimpleNamespace(finished=0, young=False),
            small_steps=0,
            recorder=SimpleNamespace(lock=nullcontext()),
            flush=self.flush,
        )
        self.recorded = self.flushes = 0
        self.paces = pace.Paces()
        self.ways, self.steps = [], []
        monkeypatch.setattr(pace, "perf_counter", lambda: self.now)
        monkeypatch.setattr(large_steps, "perf_counter", lambda: self.now)
        self.session.large = large_steps.LargeSteps()
        self.paces.__init__()

    @property
    def pace(self):
        return self.paces.now

    def flush(self):
        self.session.connection.finished += self.recorded
        self.recorded, self.flushes = 0, self.flushes + bool(self.recorded)

    def turn(self):
        self.ways.append(self.pace.way)
        for _ in range(self.large):
            if not self.paces.is_small(self.session, self.size):
                self.session.small_steps = -1
                self.session.large.add(pace.judged_by(self.size))
                self.recorded += 1
            self.steps.append(self.pace.way)
            self.now += self.costs[self.pace.way] / self.large
            if self.pace.way == pace.NOTEBOOK:
                self.session.large.touch()  # as it has done the step
        for _ in range(self.small):
            self.step()

    def step(self):
        assert self.paces.is_small(self.session, 1000)
        if self.recorded:  # engines are busy
            if self.pace.is_patient(self.session):
                self.recorded += 1
                return
            self.pace.wait(self.session)
        self.paces.waited(self.session)


@pytest.fixture
def loop(monkeypatch):
    return lambda *args, **options: Loop(monkeypatch, *args, **options)


def seconds(wait, record, notebook):
    return {pace.WAIT: wait, pace.RECORD: record, pace.NOTEBOOK: notebook}


@pytest.mark.parametrize("best", [pace.WAIT, pace.RECORD, pace.NOTEBOOK])
@pytest.mark.parametrize("small", [7, 8, 20, 60])
def test_the_quickest_way_is_taken(loop, best, small):
    found = loop({**seconds(0.02, 0.02, 0.02), best: 0.01}, small=small)
    for _ in range(1000):
        found.turn()
    assert found.ways[-200:].count(best) > 150
    assert {*found.ways[-900:]} == {pace.WAIT, pace.RECORD, pace.NOTEBOOK}  # tried once more


def test_the_best_is_found_behind_a_better_one(loop):
    """What engines do alone is tried later, when the notebook was quicker than with waits."""
    found = loop(seconds(0.02, 0.005, 0.01))
    for _ in range(300):
        found.turn()
    assert found.ways[-100:].count(pace.RECORD) > 80


def test_steps_between_large_ones_go_with_them(loop):
    """Up to what is tiny; where the notebook does large steps, it does these, too."""
    found = loop(seconds(0.02, 0.02, 0.02))
    asked, session = found.paces.is_small, found.session
    found.pace.way = pace.WAIT
    assert asked(session, pace.SMALL_STEP)
    session.small_steps = -1  # a large one was recorded
    assert asked(session, MB)
    assert not asked(session, MB + 1)
    session.small_steps = 0
    assert asked(session, pace.SMALL_STEP)


def test_another_way_is_taken_when_the_program_becomes_another(loop):
    found = loop(seconds(0.02, 0.02, 0.005))
    for _ in range(300):
        found.turn()
    found.costs = seconds(0.02, 0.005, 0.02)
    for _ in range(300):
        found.turn()
    assert found.ways[250:300].count(pace.NOTEBOOK) > 40
    assert found.ways[550:].count(pace.RECORD) > 40


def test_a_way_that_is_as_quick_is_not_taken(loop):
    """Or noise would have arrays go from one to the other."""
    found = loop(seconds(0.0100, 0.0095, 0.0092))
    for _ in range(200):
        found.turn()
    assert found.ways.count(pace.WAIT) > 150


def test_nothing_is_tried_where_no_step_is_large(loop):
    found = loop(seconds(0.02, 0.01, 0.01), large=0)
    for _ in range(1000):
        found.turn()
    assert {*found.ways} == {pace.NOTEBOOK}


@pytest.mark.parametrize("best", [pace.WAIT, pace.NOTEBOOK])
def test_the_quickest_way_is_taken_where_nobody_waits(loop, best):
    """All steps are large."""
    found = loop({**seconds(0.02, 0.02, 0.02), best: 0.01}, small=0)
    for _ in range(1000):
        found.turn()
    assert found.ways[-500:].count(best) > 400
    assert {*found.ways} == {pace.WAIT, pace.NOTEBOOK}  # where nobody waits, two ways are one


def test_the_notebook_is_not_tried_where_engines_are_quicker_than_memory(loop):
    """What they do in one pass over the memory, the notebook does in several."""
    found = loop(seconds(1e-3, 1e-3, 1e-3), small=0)  # 64 MB
    for _ in range(1000):
        found.turn()
    assert {*found.ways[100:]} == {pace.WAIT}


@pytest.mark.parametrize(("after", "best"), [(0.005, pace.WAIT), (0.02, pace.NOTEBOOK)])
def test_the_notebook_goes_on_while_loops_are_compiled(loop, after, best):
    """Engines take longer until then: they are tried again, and judged by what they take then."""
    found = loop(seconds(0.02, 0.02, 0.01), small=0)
    for k in range(900):
        if k < 60:
            found.session.connection.young = True  # as each reply says
        if k == 60:
            assert found.ways[-20:].count(pace.NOTEBOOK) == 20
            found.costs = seconds(after, after, 0.01)
        found.turn()
    assert found.ways[-300:].count(best) > 240


def test_loops_that_are_quick_before_they_are_compiled_are_not_waited_for(loop):
    found = loop(seconds(0.008, 0.008, 0.02), small=0)
    for _ in range(300):
        found.session.connection.young = True
        found.turn()
    assert found.ways[-200:].count(pace.WAIT) > 150


@pytest.mark.parametrize("gap", [0.0, 3.0])
def test_engines_whose_loops_are_never_compiled_are_tried_less_and_less(loop, gap):
    """For a moment each, also where programs come with pauses between."""
    found = loop(seconds(0.02, 0.02, 0.01), small=0)
    for k in range(3000):
        found.session.connection.young = True
        found.now += gap * (k % 100 == 99)
        found.turn()
    tries = [k for k in range(1, 3000) if found.ways[k] != found.ways[k - 1] == pace.NOTEBOOK]
    assert 3 <= len(tries) <= 18  # in 30 or 120 s
    assert found.ways[-600:].count(pace.NOTEBOOK) > 570


def test_a_program_goes_on_in_the_way_that_was_best_for_it(loop):
    """Programs that come by turns, with pauses between: each is known by its first large step."""
    found = loop(seconds(0.02, 0.02, 0.02), small=0)
    ways = {LARGE: [], 2 * LARGE: []}
    for _ in range(40):
        for size, best in ((LARGE, pace.WAIT), (2 * LARGE, pace.NOTEBOOK)):
            found.now += 1.0
            found.size, found.costs = size, {**seconds(0.02, 0.02, 0.02), best: 0.01}
            first = len(found.steps)
            for _ in range(8):
                found.turn()
            ways[size].append(found.steps[first:])
    assert sum(way.count(pace.WAIT) for way in ways[LARGE][-10:]) > 200
    assert sum(way.count(pace.NOTEBOOK) for way in ways[2 * LARGE][-10:]) > 200


def test_few_programs_are_remembered(loop):
    found = loop(seconds(0.02, 0.02, 0.02), small=0)
    for k in range(200):
        found.now, found.size = found.now + 1.0, LARGE + k
        found.turn()
    assert len(found.paces._known) == 64


def test_a_step_beyond_the_limit_takes_the_others_of_a_new_program_along(loop):
    found = loop(seconds(0.02, 0.02, 0.02), small=0)
    found.turn()
    assert found.pace.way == pace.NOTEBOOK
    found.size = 65 * MB
    found.turn()
    assert found.pace.way == pace.WAIT


def test_what_is_slow_is_not_tried_for_long(loop):
    """For no longer than what was measured before would have taken for as much."""
    found = loop(seconds(0.02, 0.02, 20.0), small=0)
    for _ in range(1000):
        found.turn()
    assert 1 <= found.steps.count(pace.NOTEBOOK) < 16


def test_a_pause_is_no_price(loop):
    """Somebody reads what a cell has shown before he runs it again."""
    found = loop(seconds(0.01, 0.02, 0.02))
    for k in range(200):
        found.now += 60.0 * (k % 5 == 4)
        found.turn()
    assert found.ways[-120:].count(pace.WAIT) > 100


@pytest.mark.parametrize("best", [pace.WAIT, pace.NOTEBOOK])
@pytest.mark.parametrize(("gap", "turns"), [(60.0, 30), (0.1, 5)])
def test_other_work_is_no_price(loop, best, gap, turns):
    """A pause, or what a program does between two runs, if only as long as ten steps."""
    found = loop({**seconds(0.02, 0.02, 0.02), best: 0.01}, small=0)
    for k in range(1000):
        found.now += gap * (k % turns == turns - 1)
        found.turn()
    assert found.ways[-500:].count(best) > 400


def test_a_long_row_of_small_steps_waits_once(loop):
    """Also where it was best to record the few that there were."""
    found = loop(seconds(0.02, 0.005, 0.02))
    for _ in range(120):
        found.turn()
    assert found.pace.way == pace.RECORD
    found.small, flushes = 1000, found.flushes
    found.turn()
    assert found.flushes == flushes + 1
    assert found.recorded == 0
    assert found.pace.way == pace.WAIT


def test_steps_beyond_the_limit_are_engines(loop):
    found = loop(seconds(0.02, 0.02, 0.01))
    for _ in range(100):
        found.turn()
    assert found.pace.way == pace.NOTEBOOK
    assert found.paces.is_small(found.session, 64 * MB)
    assert not found.paces.is_small(found.session, 65 * MB)
    assert found.paces.is_small(found.session, pace.SMALL_STEP)


def test_a_step_that_takes_numpy_long_is_no_pause(loop, monkeypatch):
    """Nobody tells when it ends: else engines would never be tried."""
    found = loop(seconds(0.5, 0.5, 0.5), large=4, small=0)
    found.size = 63 * MB
    monkeypatch.setattr(large_steps.LargeSteps, "touch", lambda self: None)
    for _ in range(60):
        found.turn()
    assert pace.WAIT in found.steps
