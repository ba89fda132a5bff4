"""Loops that Ctrl-C stops at random: their arrays are NumPy's after the steps that they had asked for."""

import random

import numpy as np
import pytest

import distnb as dnb
from tests.failures import support
from tests.failures.support import plant, setting
from tests.faults.test_recovery import kill
from tests.faults.test_spilling import limit
from tests.interrupting import CtrlC
from tests.marking import own_engines
from tests.tiers import some


@pytest.fixture
def impatient(monkeypatch):
    """Engines give up at once what was interrupted."""
    for name in "_SOON", "_LATEST":
        monkeypatch.setattr(f"distnb.client.batching.connection.{name}", 0.0)


def numbers(n):
    a = np.arange(n * n, dtype=float).reshape(n, n)
    return a % 61, a % 7


def in_place(np, a, b):
    a += b
    a %= 97
    return a, b


def swapped(np, a, b):
    return b, (a * 3 + b + 1) % 101


def in_order(np, a, b):
    return np.sort((a * 5 + b) % 103, axis=0), b


def swept(np, a, b):
    a[1:-1, 1:-1] = (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + 1) % 97
    return a, b


def multiplied(np, a, b):
    return (a[:99, :99] @ b[:99, :99]) % 97, b


def turned(np, a, b):
    return (a.T + b) % 97, b


def masked(np, a, b):
    found = a + 1
    found[a > 50] = 0
    return found, b


def of_sums(np, a, b):
    total = a + b
    return total % 97, (b + total.sum(0) % 7) % 13


STEPS = [in_place, swapped, in_order, swept, multiplied, turned, masked, of_sums]


def states(step, n, first, last):
    """Yield what NumPy has after so many steps, and between the lines of one."""
    a, b = numbers(n)
    for k in range(last + 1):
        if k >= first:
            yield a.copy(), b.copy()
            if step is in_place:
                yield a + b, b.copy()
        a, b = step(np, a, b)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("step", STEPS, ids=lambda f: f.__name__)
def test_as_far_as_they_were_asked_for(cluster, step):
    chance, whole = random.Random(step.__name__), 0
    for _ in some(range(12), 3):
        n = chance.choice([40, 300])
        a, b = (dnb.array(x) for x in numbers(n))
        count = 0
        with CtrlC(chance.uniform(0.01, 0.2)):
            while True:
                a, b = step(dnb, a, b)
                count += 1
        if chance.random() < 0.5:
            assert dnb.ones(99).sum().item() == 99
        with pytest.MonkeyPatch.context() as patience:
            for name in "_SOON", "_LATEST":
                patience.setattr(f"distnb.client.batching.connection.{name}", 60)
            try:
                got = a.to_numpy(), b.to_numpy()
            except dnb.LostArrayError:  # it was being written in place
                continue
        whole += 1
        expected = states(step, n, max(count - 1, 0), count + 1)
        assert any(np.array_equal(got[0], x) and np.array_equal(got[1], y) for x, y in expected)
    assert whole or step in (in_place, swept, masked)


@pytest.fixture
def stopped(doomed, gate, impatient):
    """A sum, and what was made of it, that engines gave up."""
    x = dnb.arange(30.0, dist="block")
    doomed.flush()
    plant(doomed, 1, "name == 'Reduce'", gate.stand)
    found = x - x.sum()
    with CtrlC(0.1, after=gate.come):
        found.to_numpy()
    gate.open()
    assert doomed.unfinished.wanted
    del x
    dnb.ones(9).sum().item()
    return found


EXPECTED = np.arange(30.0) - 435


def test_new_engines_do_it(doomed, stopped):
    for _ in range(2):  # then they have it as any other
        kill(doomed)
        np.testing.assert_array_equal(stopped.to_numpy(), EXPECTED)


def test_another_number_of_engines_has_what_it_makes(doomed, stopped):
    support.heal(doomed)
    doomed.resize(2)
    np.testing.assert_array_equal(stopped.to_numpy(), EXPECTED)


def test_what_it_reads_does_not_go_to_disk(gate, impatient, tmp_path, monkeypatch):
    n = 1 << 17
    with setting(spill=tmp_path, place="engines"), own_engines(2, monkeypatch) as session:
        limit(session)
        x = dnb.arange(float(n), dist="block") + 1
        session.flush()
        plant(session, 1, "name == 'Apply'", gate.stand)
        found = x * 2
        with CtrlC(0.1, after=gate.come):
            found.to_numpy()
        support.heal(session)
        many = [dnb.full(n, float(k), dist="block") + 1 for k in range(20)]
        session.flush()
        np.testing.assert_array_equal(found.to_numpy(), (np.arange(float(n)) + 1) * 2)
        assert [y[0].item() for y in many] == [k + 1 for k in range(20)]


def test_a_checkpoint_has_what_it_makes(doomed, stopped, tmp_path):
    support.heal(doomed)
    doomed["found"] = stopped
    dnb.checkpoint(tmp_path / "saved")
    restored = dnb.restore(tmp_path / "saved")
    np.testing.assert_array_equal(restored["found"].to_numpy(), EXPECTED)
