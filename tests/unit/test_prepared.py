"""Batches that come again: kept under their texts, up to a limit."""

import contextlib

import numpy as np
import pytest

import distnb as dnb
from distnb import testing
from distnb.client.record.operation_cache import OperationCache
from distnb.engines.runtime import memory, store
from distnb.engines.worker import plan_cache
from distnb.engines.worker.plan_cache import PlanCache
from distnb.geometry.axes import Block
from distnb.geometry.views import View
from distnb.wire.encoding import encode, unpack
from distnb.wire.messages import Batch
from distnb.wire.protocol import Apply, Create, Free, Operand

LAYOUT = testing.Layout(testing.Grid.of((1,)), (Block(),), (0,))


def text(n, first=1):
    """Return the text of a batch that makes and drops n temporaries on the way to a result."""
    view = View.whole((4,))
    commands = []
    for k in range(first, first + n):
        commands += [
            Create(k + 1, (4,), "<f8", LAYOUT, ("empty",), 0),
            Apply("add", (Operand(k + 1, view),), (Operand(k, view), 0.5), None, (), 0),
            Free((k,)),
        ]
    return unpack(encode(Batch(1, 0, tuple(commands)))).normalised


def test_equal_texts_have_one_script():
    plans = PlanCache()
    batch = plans.batch(text(3))
    assert plans.batch(text(3, first=70)) is batch
    assert plans.batch(text(4)) is not batch


def test_the_library_is_limited(monkeypatch):
    monkeypatch.setattr(plan_cache, "_MOST", 40)
    plans = PlanCache()
    kept = plans.batch(text(2))
    for n in range(3, 30):
        plans.batch(text(n))
        assert len(plans._batches) == 1 or plans._commands <= 40
        assert plans._commands == sum(len(s.commands) for s in plans._batches.values())
    assert plans.batch(text(2)) is not kept


def test_what_was_used_last_is_kept(monkeypatch):
    monkeypatch.setattr(plan_cache, "_MOST", 30)
    plans = PlanCache()
    kept = plans.batch(text(2))
    for n in (3, 4, 5):
        plans.batch(text(n))
        assert plans.batch(text(2)) is kept


def test_a_script_depends_on_what_bases_are():
    """Specs come and go; a batch keeps only some of the ways in which it was prepared."""
    plans = PlanCache()
    batch = plans.batch(text(2))
    seen = set()
    for _ in range(3):
        for dtype in ("f4", "f8", "i4", "i8", "u1", "?"):
            worker = store.Store(0, memory.Memory(0))
            worker.add(7, (4,), np.dtype(dtype), LAYOUT)
            scope = store.BatchScope(worker, (9, 7, 8))
            found = batch.prepared(scope, True, True)
            assert batch.prepared(scope, True, True) is found
            assert batch.prepared(scope, False, True) is not found
            assert found.specs[1].dtype == dtype
            assert len(batch._prepared) <= plan_cache._MOST_SPECS
            seen.add(id(found))
    assert len(seen) > 6


def test_specs_are_numbered_anew_after_many(monkeypatch):
    monkeypatch.setattr(store, "_MOST_SPECS", 3)
    monkeypatch.setattr(store, "_SPECS", {})
    numbers = {}
    for _turn in range(3):
        for n in range(5):
            spec = store.LocalBase((n,), np.dtype("f8"), LAYOUT, None).spec
            assert numbers.setdefault(spec, n) == n
            assert len(store._SPECS) <= 3
    assert len(numbers) > 5


@pytest.fixture(params=[1, 3])
def session(request, monkeypatch):
    monkeypatch.setattr(dnb.config, "place", "engines")  # else it is chance who does small steps
    with dnb.inprocess(request.param) as found:
        yield found


def scripts(session):
    return [len(worker.plans._batches) for worker in session.transport.workers]


def test_turns_with_other_scalars_and_bases_are_one_script(session):
    a = dnb.array(np.arange(9.0))
    total = np.arange(9.0)
    for k in range(6):
        a = (a + k / 4) * 2 - np.float32(k)
        total = (total + k / 4) * 2 - np.float32(k)
        np.testing.assert_array_equal(a.to_numpy(), total)
        if k == 1:  # the first frees nothing
            before = scripts(session)
    assert scripts(session) == before


def test_one_script_for_arrays_that_lie_elsewhere(session):
    for turn in range(2):
        for dist in ("block", "cyclic", "replicated", ("engine", 0)):
            a = dnb.array(np.arange(8), dist=dist)
            session.flush()
            before = scripts(session)
            a[1:] += 3
            a[::-1] *= 2
            session.flush()
            if turn:
                assert scripts(session) == before
            np.testing.assert_array_equal(a.to_numpy(), [0, *np.arange(4, 11) * 2])


def test_a_turn_that_fails_does_no_harm_to_the_next(session):
    """What is never stored is not even made; it must not be taken for lost later."""
    base = dnb.array(np.arange(1, 7))
    for turn, bad in enumerate([False, False, True, False, True, False, False]):
        powers = dnb.array(np.full(6, -1 if bad else turn))
        session.flush()
        right = (base + 1) * 2
        wrong = ((base + 1) ** (powers + 0)) + right
        other = right - 1
        if bad:
            with pytest.raises(ValueError, match="negative integer powers"):
                session.flush()
            with pytest.raises(dnb.LostArrayError):
                wrong.to_numpy()
        else:
            x = np.arange(1, 7)
            np.testing.assert_array_equal(wrong.to_numpy(), (x + 1) ** turn + (x + 1) * 2)
        np.testing.assert_array_equal(other.to_numpy(), np.arange(2, 8) * 2 - 1)


def test_a_lost_array_under_a_known_script(session):
    """A batch that ran well before meets an array that is lost now, and one that is made again."""
    a, powers = dnb.array(np.arange(1, 7)), dnb.array(np.full(6, -1))
    for bad in (False, True, False):
        x = a ** (powers if bad else 2)
        with pytest.raises(ValueError, match="powers") if bad else contextlib.nullcontext():
            session.flush()
        if bad:
            x[...] = 5
            session.flush()
        y = (x + 1) * 2
        expected = np.full(6, 12) if bad else (np.arange(1, 7) ** 2 + 1) * 2
        np.testing.assert_array_equal(y.to_numpy(), expected)


@pytest.mark.tier("test")
def test_nothing_grows_over_many_batches(monkeypatch):
    monkeypatch.setattr(dnb.config, "flush_idle", 60.0)  # else a batch may leave in two parts
    with dnb.inprocess(1) as session:
        a = dnb.ones(5)
        x = a
        for k in range(2000):
            x = x * 0.5 + float(k)
            session.flush()
            if k == 10:
                before = scripts(session), len(session.handles)
        assert scripts(session) == before[0]
        assert len(session.handles) == before[1]
        assert len(session.transport.workers[0].store.bases) == 2
        assert len(session.extensions[OperationCache].templates) < 10
