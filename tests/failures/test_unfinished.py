"""What engines gave up because of Ctrl-C: it is done when somebody uses what it makes, as NumPy would."""

import os
import time

import numpy as np
import pytest

import distnb as dnb
from tests.failures import support
from tests.failures.support import World, plant, reading
from tests.failures.test_interrupt import quiet
from tests.interrupting import CtrlC
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("interruptible")


@pytest.fixture
def w(cluster, gate):
    """Arrays, and what an interrupt has left: ``sums`` of one, and ``more`` made of these."""
    w = World(cluster)
    plant(cluster, 1, "name == 'Reduce'", gate.stand)
    w.np.sums = w.np.a.sum()
    w.np.more = w.np.sums + w.np.a[:, 0]
    w.np.c += 1
    with support.setting(flush_idle=60):  # or engines stand at the gate before somebody reads
        w.sums = w.dist.a.sum()
        w.more = w.sums + w.dist.a[:, 0]
        w.dist.c += 1
        with CtrlC(0.1, after=gate.come):
            w.more.to_numpy()
    support.heal(cluster)
    dnb.ones(9).sum().item()  # hears what was given up, where Ctrl-C came before anybody waited
    assert w.more.dbase.handle in cluster.unfinished.wanted
    yield w
    del w.sums, w.more
    quiet(cluster)


def is_as_numpys(w):
    np.testing.assert_allclose(w.more.to_numpy(), w.np.more)
    np.testing.assert_allclose(w.sums.to_numpy(), w.np.sums)
    w.check()
    assert not w.session.unfinished.named


def test_it_is_done_when_it_is_used(w):
    is_as_numpys(w)


def test_who_does_not_use_it_does_not_wait(w):
    assert (w.dist.b + 1).sum().item() == pytest.approx((w.np.b + 1).sum())
    assert w.session.unfinished.named
    assert "made when it is used" in repr(w.more)
    assert w.session.unfinished.named
    is_as_numpys(w)


def test_it_reads_what_was_there_then(w):
    """Who writes what it is made of has it done before."""
    w.dist.a *= 2
    w.np.a *= 2
    is_as_numpys(w)


def test_it_reads_what_was_there_then_in_the_notebook(w):
    with support.setting(place="notebook"):
        w.dist.a[3] = 7
        w.np.a[3] = 7
        assert w.dist.a[3, 0].item() == 7
        is_as_numpys(w)


def test_it_reads_what_nobody_has_any_more(w):
    del w.dist.a
    del w.np.a
    w.session.flush()
    is_as_numpys(w)


def test_what_nobody_wants_is_not_done(w):
    del w.dist.c, w.np.c
    w.sums = w.more = None
    w.session.flush()
    assert not w.session.unfinished.named
    w.check()


def test_what_nobody_has_is_left_out_of_what_is_done(w, gate, tmp_path):
    calls = tmp_path / "calls"

    def slow(part, calls=str(calls), stand=gate.stand):
        with open(calls, "a") as file:
            file.write("x")
        exec(stand, {"os": os, "time": time})
        return part + 1

    gate.shut()
    with CtrlC(0.1, after=gate.come):
        dnb.foreach(slow, w.dist.b.splits(4))
    gate.open()
    before = calls.read_text()
    is_as_numpys(w)
    assert calls.read_text() == before


def test_results_of_earlier_turns_of_a_loop_are_not_made(cluster, gate):
    """Not those of a name that was bound anew, nor what was written over."""
    w = World(cluster)
    plant(cluster, 1, "name == 'Reduce'", gate.stand)
    w.sums, over = w.dist.a.sum(), dnb.zeros_like(w.dist.a)
    last = None

    def loop():
        nonlocal last, over
        for i in range(30):
            last = np.sin(w.dist.a) * np.cos(w.dist.a) + i
            np.multiply(w.dist.a, i, out=over)
        over += last

    cluster.recorder.together(loop)  # in one batch: who sends several waits for those at the gate
    with CtrlC(0.1, after=gate.come):
        last.to_numpy()
    support.heal(cluster)
    assert last.dbase.handle in cluster.unfinished.wanted
    before, expected = cluster.recorded, np.sin(w.np.a) * np.cos(w.np.a) + 29
    np.testing.assert_allclose(last.to_numpy(), expected)
    assert cluster.recorded - before < 20
    np.testing.assert_allclose(over.to_numpy(), w.np.a * 29 + expected)
    np.testing.assert_allclose(w.sums.to_numpy(), w.np.a.sum())
    assert not cluster.unfinished.named
    w.check()
    del w.sums
    quiet(cluster)


def test_what_is_written_anew_need_not_be_done(w):
    w.sums = w.more = None
    w.dist.c[...] = w.dist.b
    w.np.c[...] = w.np.b
    w.session.send()
    assert not w.session.unfinished.named
    w.check()


def test_what_is_written_anew_and_needs_it(w):
    w.dist.c[...] = w.dist.c + w.dist.b
    w.np.c[...] = w.np.c + w.np.b
    is_as_numpys(w)


def test_stopped_again(w, gate):
    gate.shut()
    plant(w.session, 2, "name == 'Reduce'", gate.stand)
    with CtrlC(0.1, after=gate.come):
        w.sums.to_numpy()
    support.heal(w.session)
    is_as_numpys(w)


def test_what_was_half_written_is_lost(cluster, gate):
    """The other engines have done their part by then."""
    w = World(cluster)
    plant(cluster, 1, "name == 'Apply'", gate.stand)
    w.dist.c += w.dist.a
    after = w.dist.a + 1
    with CtrlC(0.1, after=gate.come):
        cluster.flush()
    support.heal(cluster)
    assert reading(w.dist.c) is dnb.LostArrayError
    np.testing.assert_array_equal(after.to_numpy(), w.np.a + 1)
    w.dist.c[...] = 0
    w.np.c[...] = 0
    w.check()
    del after
    quiet(cluster)


def test_memory_of_what_it_makes_and_drops_is_nobody_elses(cluster, gate):
    """Batches that were given up had made and dropped bases; others are made before it is done."""
    n = 20_000
    b = dnb.arange(float(n), dist="block") % 7
    a = b + 0
    cluster.flush()
    plant(cluster, 1, "name == 'Apply'", gate.stand)
    for factor in 2, 3, 5:
        a = (a * factor + b) % 97  # drops the one before
        cluster.send()
    with CtrlC(0.1, after=gate.come):
        a.to_numpy()
    support.heal(cluster)
    others = [dnb.full(n, float(k), dist="block") + 0.5 for k in range(12)]
    cluster.flush()
    expected = there = np.arange(float(n)) % 7
    for factor in 2, 3, 5:
        expected = (expected * factor + there) % 97
    np.testing.assert_array_equal(a.to_numpy(), expected)
    for k, other in enumerate(others):
        assert (other.to_numpy() == k + 0.5).all()
    del a, b, other, others
    quiet(cluster)


def test_an_engine_that_answers_late(cluster, gate):
    """Until it has, nobody knows what was given up; who writes what that reads waits."""
    x = dnb.arange(30.0, dist="block")
    cluster.flush()
    plant(cluster, 1, "name == 'Reduce'", gate.call)
    found = x - x.sum()
    with CtrlC(0.1, after=gate.come):
        found.to_numpy()
    assert cluster.connection.in_doubt
    gate.open()
    until(cluster.connection.done)
    with support.setting(place="notebook"):
        x[:] = 0
        np.testing.assert_array_equal(found.to_numpy(), np.arange(30.0) - 435)
    assert not x.to_numpy().any()
    support.heal(cluster)
    del found
    quiet(cluster)


def test_an_error_that_came_meanwhile_costs_nothing_that_was_recorded(w):
    z = dnb.arange(9.0, dist="block")
    plant(w.session, 1, "name == 'Apply' and op == 'exp'", "1/0")
    bad = dnb.exp(z)
    w.session.send()
    until(lambda: not w.session.connection.sent or w.session.connection.done())
    w.dist.a += 1
    w.np.a += 1
    after = z * 3
    with pytest.raises(ZeroDivisionError):
        w.session.flush()
    support.heal(w.session)
    assert reading(bad) is dnb.LostArrayError
    np.testing.assert_array_equal(after.to_numpy(), np.arange(9.0) * 3)
    is_as_numpys(w)


def test_no_memory_to_send_it(w, monkeypatch):
    submit = w.session.connection.submit
    with monkeypatch.context() as patch:
        patch.setattr(w.session.connection, "submit", raising(MemoryError))
        with pytest.raises(MemoryError):
            w.more.to_numpy()
    assert w.session.connection.submit == submit
    w.dist.a += 1
    w.np.a += 1
    with monkeypatch.context() as patch:
        patch.setattr(w.session.connection, "submit", raising(MemoryError))
        with pytest.raises(MemoryError):
            w.session.send()
    is_as_numpys(w)


def raising(error):
    def fails(*args, **kwargs):
        raise error

    return fails


def test_a_number_that_is_made_and_dropped_within(cluster, gate):
    x, y = dnb.arange(30.0, dist="block"), dnb.arange(30.0, dist="block")
    cluster.flush()
    plant(cluster, 1, "name == 'Apply'", gate.stand)
    y = y + x[3] % 2
    with CtrlC(0.1, after=gate.come):
        y.to_numpy()
    support.heal(cluster)
    np.testing.assert_array_equal(y.to_numpy(), np.arange(30.0) + 1)
    del x, y
    quiet(cluster)


def test_a_file_is_not_written_later(cluster, gate, tmp_path):
    x = dnb.arange(30.0, dist="block")
    cluster.flush()
    plant(cluster, 1, "name == 'Apply'", gate.stand)
    found = x * 2
    with CtrlC(0.1, after=gate.come):
        dnb.save(tmp_path / "x.npy", found)
    support.heal(cluster)
    np.testing.assert_array_equal(found.to_numpy(), np.arange(30.0) * 2)
    assert not list(tmp_path.glob("*.npy*"))
    del found
    quiet(cluster)


def test_engines_have_longer_for_what_they_write_in_place(cluster, gate):
    x = dnb.ones(9, dist="block")
    cluster.flush()
    for in_place in False, True:
        gate.shut()
        plant(cluster, 1, "name == 'Reduce'", gate.stand)
        y = x * 2
        y += y.sum()
        if in_place:
            x += 1
        cluster.send()
        assert cluster.connection.in_place is in_place
        gate.open()
        cluster.flush()
    del y
    assert x.sum().item() == 18


def test_a_function_that_was_dropped_meanwhile(cluster, gate, monkeypatch):
    x = dnb.arange(9.0, dist="block")
    cluster.flush()
    plant(cluster, 1, "name == 'Apply'", gate.stand)
    found = dnb.map(lambda v: v + 40, x)
    with CtrlC(0.1, after=gate.come):
        found.to_numpy()
    support.heal(cluster)
    monkeypatch.setattr("distnb.client.batching.user_functions._MOST", 0)
    assert dnb.map(lambda v: v * 2, x).sum().item() == 72
    cluster.flush()
    np.testing.assert_array_equal(found.to_numpy(), np.arange(9.0) + 40)
    del found
    quiet(cluster)


def test_what_is_dropped_late_is_dropped_once(w):
    """It was the first of the last that were dropped when it had to wait."""
    more = [dnb.ones(9) for _ in range(3)]
    w.session.flush()
    del w.dist.a, w.np.a, more[1:]
    w.session.flush()
    assert w.session.unfinished.named
    is_as_numpys(w)
    del more
    w.session.flush()
    quiet(w.session)
