"""Sessions that go on with more or fewer engines: arrays are what they were, cut anew."""

import contextlib
import os
import random
import signal
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import distnb as dnb
from distnb.client.array.showing import _fetch
from distnb.client.handle.glimpse import Glimpse
from distnb.client.lasting import resizing
from distnb.client.session.bases import Base
from distnb.client.transport import launch
from distnb.client.transport.watchdog import NANNY
from distnb.common.errors import EngineError, LayoutError
from distnb.geometry.layout import Block, Irregular
from tests.failures.support import setting
from tests.faults.processes import below
from tests.faults.programs import LAYOUTS, Program
from tests.faults.test_recovery import kill, numbers
from tests.marking import own_engines
from tests.tiers import some

pytestmark = pytest.mark.usefixtures("interruptible")

MORE = [("block", "block"), ("block", "cyclic"), ("engine", 1), ("irregular", (0, 7, 300))]


def arrays():
    """Return arrays of all layouts and what they are: whole ones, results, views, looks."""
    data = numbers(300, 20)
    found = []
    for layout in some([*LAYOUTS, *MORE], 4):
        x = dnb.array(data, dist=layout)
        found += [(x, data), (x[::-1] + 1, data[::-1] + 1), (x[3:9, ::2], data[3:9, ::2])]
        found += [(x.T, data.T), (x.reshape(-1), data.reshape(-1)), (x.sum(axis=0), data.sum(0))]
    near = dnb.array(numbers(5, 3)) + 1
    found += [(near, numbers(5, 3) + 1), (near * 2, (numbers(5, 3) + 1) * 2)]
    found += [
        (dnb.array(numbers(4), dist="block"), numbers(4)),
        (dnb.zeros((0, 3)), np.zeros((0, 3))),
    ]
    return found


def check(found, size):
    for x, data in found:
        np.testing.assert_array_equal(x.to_numpy(), data)
        layout = x.dbase.layout
        assert layout.here or layout.grid.last < size


def test_an_engine_whose_nanny_was_killed_is_forgotten(doomed):
    x = dnb.array(numbers(300, 20), dist="block")
    x.sum().item()
    nanny = next(p for p in below() if Path(f"/proc/{p}/comm").read_text().strip() == NANNY)
    os.kill(nanny, signal.SIGKILL)
    doomed.resize(1)
    assert len(doomed.transport.client.ids) == doomed.size == 1
    np.testing.assert_array_equal(x.to_numpy(), numbers(300, 20))


@pytest.mark.parametrize(
    "sizes",
    [(3,), *[pytest.param(n, marks=pytest.mark.tier("test-all")) for n in ((3, 1), (1, 4, 2))]],
)
@pytest.mark.ways("openmpi")
def test_all_arrays_are_as_before(doomed, capsys, sizes):
    with setting(cutoff=64):
        found = arrays()
        matrix = dnb.sparse.random_array((400, 300), density=0.1, rng=1, format="csr")
        across, triplets, was = matrix.tocsc(), matrix.tocoo(), matrix.to_scipy()
        copied = matrix.redistribute("replicated")
        mapped = dnb.map(lambda v: v + 1, found[0][0])
        for k, size in enumerate(sizes):
            doomed.resize(size)
            assert doomed.size == len(doomed.transport.about) == size
            if k == 0 and len(sizes) > 1:  # else test_recovery has it
                kill(doomed)
            check(found, size)
            for x in (matrix, across, triplets, copied):
                assert (x.to_scipy() != was).nnz == 0
                np.testing.assert_allclose(x @ np.ones(300), was @ np.ones(300))
            np.testing.assert_array_equal(mapped.to_numpy(), numbers(300, 20) + 1)
            x, data = found[0]
            np.testing.assert_allclose((x.T @ x).to_numpy(), data.T @ data)
            x[0] += 1  # and they can be written, views see it
            data = x.to_numpy()
            found[:6] = arrays_of(found, data)
            assert dnb.ones((50, 50), dist="block").sum().item() == 2500
    assert f"{sizes[-1]} engine" in capsys.readouterr().err


@pytest.mark.tier("test-all")
@pytest.mark.ways("openmpi")
def test_sparse_blocks_stay_where_they_are_or_are_refused(doomed):
    size = doomed.size
    matrix = dnb.sparse.random_array((90, 70), density=0.2, rng=1, format="csr")
    blocks = matrix.redistribute(grid=(1, size))
    twice, triplets, was = 2 * blocks, blocks.tocoo(), matrix.to_scipy()
    lies, dense = blocks.layout, dnb.ones((40, 40))
    with pytest.raises(LayoutError, match=rf"in blocks on {size} engines.*redistribute"):
        doomed.resize(size - 1)
    assert doomed.size == size
    assert dense.sum().item() == 1600  # and all is as it was
    for more in (size + 1, size):
        doomed.resize(more)
        assert blocks.layout.nnz == lies.nnz + (0,) * (more - size)
        assert blocks.layout.boxes[:size] == lies.boxes
        for x, times in ((blocks, 1), (twice, 2), (triplets, 1)):
            assert (x.to_scipy() != times * was).nnz == 0
            np.testing.assert_allclose(x @ np.ones(70), times * (was @ np.ones(70)))
            np.testing.assert_allclose(x.T @ np.ones(90), times * (was.T @ np.ones(90)))
    del blocks, twice, triplets, x
    doomed.resize(size - 1)
    assert (matrix.to_scipy() != was).nnz == 0


def arrays_of(found, data):
    """Return the arrays made of the first one, and what they are now."""
    views = [data, None, data[3:9, ::2], data.T, data.reshape(-1), None]
    pairs = zip(found, views, strict=False)
    return [(x, before if now is None else now) for (x, before), now in pairs]


@pytest.mark.tier("test-all")
@pytest.mark.ways("openmpi")
def test_a_lost_engine_can_be_gone_without(doomed):
    data = numbers(300, 200)
    x, y = dnb.array(data), dnb.array(data, dist=("*", "cyclic"))
    doomed.flush()
    with setting(recover="ask"):
        kill(doomed, 1)
        with pytest.raises(EngineError, match="have died"):
            (x + 1).to_numpy()
        doomed.resize(1)
        np.testing.assert_array_equal((x + y).to_numpy(), 2 * data)
        assert doomed.size == len(doomed.transport.about) == 1


@pytest.mark.tier("test-all")
def test_how_they_are_cut(doomed):
    rows, grid = dnb.ones((40, 40)), dnb.ones((40, 40), dist=("block", "block"))
    copies = dnb.ones((40, 40), dist="replicated")
    uneven = dnb.ones(40, dist=("irregular", (0, 10, 40)))
    doomed.flush()
    place = rows.dbase.memory
    doomed.resize(4)
    assert rows.dbase.memory is place  # nothing was copied
    assert [x.layout.elements() for x in (rows, grid)] == [(400,) * 4] * 2
    assert grid.layout.base.grid.sizes == (2, 2)
    assert copies.layout.elements() == (1600,) * 4
    assert uneven.layout.base.axes == (Irregular((0, 5, 10, 25, 40)),)
    together = rows + grid + copies
    doomed.resize(2)
    assert uneven.layout.elements() == (10, 30)
    assert together.sum().item() == 4800
    del rows, grid, copies, uneven, together, place
    doomed.flush()
    assert not len(doomed.handles)  # nothing holds them
    assert doomed.handles.budget.room() == int(
        doomed.handles.budget.share * dnb.config.memory_share
    )


@pytest.mark.tier("test-all")
@pytest.mark.ways("openmpi")
@pytest.mark.parametrize("seed", range(3))
def test_random_programs_on_changing_engines(doomed, seed):
    chance = random.Random(seed)
    program = Program(seed)
    for _ in range(4):
        for _ in range(chance.randrange(1, 12)):
            program.statement()
        doomed.resize(chance.randrange(1, 5))
        assert program.check() == 0


@pytest.mark.tier("test-all")
def test_what_is_lost_stays_lost_and_can_be_made_good(doomed):
    x, grid = dnb.ones((40, 40)), dnb.ones((40, 40), dist=("block", "block"))
    for array in (x, grid):
        array.dbase.lost = "it was lost"
    doomed.resize(3)
    for array in (x, grid):
        with pytest.raises(dnb.LostArrayError):
            array.sum().item()
        array[:] = 2
        assert array.sum().item() == 3200


@pytest.mark.tier("test-all")
@pytest.mark.ways("openmpi")
def test_where_engines_cannot_be_had_there_are_as_many_as_before(doomed, monkeypatch):
    grid, right, fails = dnb.array(numbers(40, 40), dist=("*", "block")), launch._newcomers, [True]

    def newcomers(*args):
        if fails.pop() if fails else False:
            raise EngineError("new engines: got no engines; close: arrays are lost")
        return right(*args)

    monkeypatch.setattr(launch, "_newcomers", newcomers)
    with pytest.raises(EngineError, match="no engines") as raised:
        doomed.resize(4)
    assert "there are 2 as before, with all arrays" in str(raised.value)
    assert "lost" not in str(raised.value)
    assert doomed.size == 2
    assert grid.layout.elements() == (800, 800)
    np.testing.assert_array_equal(grid.to_numpy(), numbers(40, 40))
    doomed.resize(3)
    np.testing.assert_array_equal((grid + 1).to_numpy(), numbers(40, 40) + 1)


@pytest.mark.tier("test-all")
@pytest.mark.parametrize("when", ["start_others", "renew", "_newcomers"])
def test_an_interrupt_meanwhile(doomed, monkeypatch, when):
    x, grid = dnb.array(numbers(40, 40)), dnb.array(numbers(40, 40), dist=("*", "block"))
    kind, presses = launch if when == "_newcomers" else type(doomed.transport), [True]
    right = getattr(kind, when)

    def pressed(*args):
        found = right(*args)
        if presses:
            presses.pop()
            os.kill(os.getpid(), signal.SIGINT)
        return found

    monkeypatch.setattr(kind, when, pressed)
    with pytest.raises(KeyboardInterrupt):
        doomed.resize(3)
    for array in (x, grid):
        np.testing.assert_array_equal((array + 1).to_numpy(), numbers(40, 40) + 1)
    assert doomed.size == 3
    assert doomed.origin == ("start", 3)
    doomed.resize(2)
    np.testing.assert_array_equal(grid.to_numpy(), numbers(40, 40))


def test_what_is_read_first_after_an_interrupt_is_read_as_it_is_cut_then(monkeypatch):
    with own_engines(1, monkeypatch) as session:
        x, kind, presses = dnb.array(numbers(40, 40)), type(session.transport), [True]
        session.flush()
        right = kind.renew

        def pressed(self):
            right(self)
            if presses:
                presses.pop()
                os.kill(os.getpid(), signal.SIGINT)

        monkeypatch.setattr(kind, "renew", pressed)
        with pytest.raises(KeyboardInterrupt):
            session.resize(2)
        with setting(place="engines"):
            np.testing.assert_array_equal(x.to_numpy(), numbers(40, 40))
        assert session.size == 2


def test_an_array_is_the_sessions_when_engines_are_there(monkeypatch):
    """To make one may begin with a recovery, which lays all that there are."""
    with dnb.inprocess(2) as session:
        x = dnb.ones(9, dist="block")
        there = resizing._bases(session)
        seen = []

        def revived(self):
            seen.append(resizing._bases(session))
            session.connection.ready = True

        monkeypatch.setattr(type(session), "check_open", revived)
        session.connection.ready = False
        Base(session, x.shape, x.dtype, x.dbase.layout)
        assert seen == [there]


def test_looks_at_lost_arrays_are_lost_as_before(monkeypatch, capsys):
    with own_engines(1, monkeypatch) as session:
        x, grid = dnb.arange(60), dnb.array(numbers(6, 4), dist=("*", "block"))
        look = x.reshape(6, 10)
        assert look.sum().item() == 1770
        with pytest.raises(ValueError, match="negative integer powers"):
            x[:5] = dnb.arange(5) ** (dnb.arange(5) - 3)
            session.flush()
        session.resize(2)
        said = capsys.readouterr().err
        assert "; arrays are as before; what %px" in said  # those were lost before
        for lost in (x, look):
            with pytest.raises(dnb.LostArrayError):
                lost.sum().item()
        x[...] = 7
        np.testing.assert_array_equal(look.to_numpy(), np.full((6, 10), 7))
        np.testing.assert_array_equal(grid.to_numpy(), numbers(6, 4))
        assert "* x block on 2 engines" in str(grid.layout)


@pytest.mark.tier("test-all")
def test_what_the_session_knows_of_them_besides(doomed):
    x = dnb.arange(3000.0, dist="block") * 1
    shown = doomed.extensions[Glimpse].ask(doomed, [partial(_fetch, x, slice(None))], 0.0)
    pair = dnb.ones((6, 100), dist="block"), dnb.ones(6, dist="block")
    dnb.together(*pair)
    doomed.resize(1)
    assert shown.poll()
    assert len(shown.values()[0]) == 2
    doomed.resize(8)
    assert all(spec.layout.grid.last < 8 for spec in doomed.journal.cell.specs.values())
    assert [one.dbase.layout.axes[0] for one in pair] == [Block()] * 2
    assert [one.dbase.layout.dims[0] for one in pair] == [0, 0]


@pytest.mark.tier("test-all")
def test_new_engines_that_die_meanwhile(doomed, monkeypatch):
    x, kind, dies = dnb.array(numbers(40, 40), dist=("*", "block")), type(doomed.transport), [True]
    right = kind.renew

    def renew(self):
        right(self)
        if dies:
            dies.pop()
            kill(doomed, 0)

    monkeypatch.setattr(kind, "renew", renew)
    doomed.resize(3)
    assert doomed.size == 3
    np.testing.assert_array_equal((x + 1).to_numpy(), numbers(40, 40) + 1)


@pytest.mark.tier("test-all")
@pytest.mark.parametrize("when", ["_put_in_order", "prepare"])
def test_engines_that_die_before_others_are_asked_for(doomed, monkeypatch, when):
    kind, dies = resizing._Resized, [True]
    right = getattr(kind, when)

    def doing(self, *args):
        right(self, *args)
        if dies:
            dies.pop()
            kill(doomed)

    found = arrays()
    monkeypatch.setattr(kind, when, doing)
    with contextlib.suppress(EngineError):  # there may be as many as before already
        doomed.resize(3)
    doomed.resize(3)
    assert doomed.size == 3
    check(found, 3)


@pytest.mark.tier("test-all")
def test_without_recovery(monkeypatch):
    with setting(recover="never"), own_engines(2, monkeypatch) as session:
        found = arrays()
        session.resize(3)
        check(found, 3)


@pytest.mark.tier("test-all")
def test_what_cannot_be(doomed):
    x = dnb.ones(40, dist="block")
    doomed.resize(2)
    assert doomed.transport.generation == 0
    for wrong, error in ((0, ValueError), (-1, ValueError), (1.5, TypeError), (True, TypeError)):
        with pytest.raises(error, match="expected an integer >= 1"):
            doomed.resize(wrong)
    with pytest.raises(ValueError, match="engines: got 1000000, .*fit in memory"):
        doomed.resize(10**6)
    with dnb.subset(1, doomed) as part:
        for session in (part, doomed):
            with pytest.raises(dnb.SessionError, match="close the others"):
                session.resize(3)
    with (
        dnb.connect(client=doomed.transport.client) as other,
        pytest.raises(dnb.SessionError, match=r"dnb\.start"),
    ):
        other.resize(3)
    assert x.sum().item() == 40
