"""Arrays that do not fit in memory go to disk, and are what they were when they come back."""

import errno
import os
import random
import signal

import numpy as np
import pytest

import distnb as dnb
from distnb.client.handle import spilling as spilling_module
from distnb.client.reports.memory_report import survey
from distnb.client.session import current
from distnb.client.session.session import Session
from distnb.widgets.status.usage import MemoryReport
from tests.failures.support import on_rank, setting
from tests.faults.programs import Program
from tests.faults.test_recovery import kill
from tests.marking import own_engines
from tests.tiers import TIER

pytestmark = pytest.mark.usefixtures("interruptible")

#: Elements of an array of 1 MB, and arrays that there is room for.
SHAPE, ROOM = (256, 512), 8
LAYOUTS = [("block", "*"), ("*", "block"), ("cyclic", "*"), ("block", "block"), ("engine", 1)]


def limit(session, arrays=ROOM):
    """Let so many arrays fit in memory, in blocks, and a little more."""
    nbytes = arrays * np.prod(SHAPE) * 8 // session.size + 4096
    session.handles.budget.share = int(nbytes / dnb.config.memory_share) + 1


@pytest.fixture(params=[2])
def spilling(request, monkeypatch, tmp_path):
    """A session of engines of its own, with room for few arrays, and a disk."""
    with setting(spill=tmp_path), own_engines(request.param, monkeypatch) as session:
        limit(session)
        yield session


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("spill")
        with setting(spill=folder), own_engines(2, patch) as session:
            yield session


@pytest.fixture
def two(shared):
    """Such a session of two engines, which no test kills."""
    current.become_current(shared)
    limit(shared)
    shared.flush()
    yield shared
    shared.flush()


def numbers(k, shape=SHAPE):
    return (np.arange(np.prod(shape)) * 7919 % 104729 + k / 8).reshape(shape)


def many(n=3 * ROOM, dist=None):
    """Return arrays that do not fit in memory, and what they are."""
    data = [numbers(k) for k in range(n)]
    if dist is not None:
        return [(dnb.array(x, dist=dist), x) for x in data]
    start = dnb.array(numbers(0), dist="block")
    return [(start + k / 8, x) for k, x in enumerate(data)]


def away(session):
    return [base for base in session.bases() if base.disk is not None]


def in_memory(session):
    """Return the bytes of memory that the session's segment takes, without what is kept for reuse."""
    session.flush()
    session.memory._pool.clear()
    return os.fstat(session.memory.segment.fd).st_blocks * 512


def on_disk(session):
    return os.fstat(session.memory.disk.fd).st_blocks * 512


def check(found):
    for x, data in found:
        np.testing.assert_array_equal(x.to_numpy(), data)


@pytest.mark.tier("test-all")  # in `make test` all layouts are more than the memory
@pytest.mark.parametrize("spilling", [1, 3], indirect=True)
def test_three_times_the_memory(spilling):
    found = many()
    assert len(away(spilling)) >= 2 * ROOM
    assert in_memory(spilling) < 1.5 * ROOM * found[0][1].nbytes
    check(found)
    total = dnb.zeros(SHAPE, dist="block")
    for x, _ in found:  # one batch names all of them
        total += x
    np.testing.assert_array_equal(total.to_numpy(), sum(data for _, data in found))
    assert in_memory(spilling) < 1.5 * ROOM * found[0][1].nbytes
    assert on_disk(spilling) >= 2 * ROOM * found[0][1].nbytes
    del found, total, x
    room = int(spilling.handles.budget.share * dnb.config.memory_share)
    assert spilling.handles.budget.room() == room
    spilling.flush()
    assert on_disk(spilling) < 1 << 20


def test_without_a_disk_it_is_refused(cluster, monkeypatch):
    monkeypatch.setattr(cluster.handles.budget, "share", 0)  # as it was, afterwards
    limit(cluster)
    refused = pytest.raises(MemoryError, match=r"start a session with dnb\.config\.spill = a dir")
    with setting(place="engines"), refused:  # while these are idle the notebook would make them
        many()


@pytest.mark.cases(1)
@pytest.mark.parametrize("dist", LAYOUTS)
def test_all_layouts_views_and_writes(two, dist):
    limit(two, 2 * ROOM if dist == ("engine", 1) else ROOM)
    found = many(2 * ROOM, dist)
    x, data = found[0]
    views = [(x[3:40, ::2], data[3:40, ::2]), (x.T, data.T), (x[::-1], data[::-1])]
    views.append((x.reshape(-1), data.reshape(-1)))
    last = found[-1][0] * 2  # so that x goes
    two.flush()
    for view, part in views:
        view += 1
        part += 1
        assert (found[5][0] + found[6][0]).sum().item() == (found[5][1] + found[6][1]).sum()
        check([(view, part)])
    check(found)
    np.testing.assert_array_equal(last.to_numpy(), found[-1][1] * 2)


def test_what_is_used_stays(two):
    hot = dnb.array(numbers(1), dist="block")
    found = many()
    place = hot.dbase.disk
    for x, data in found:  # the first time it is not known who was used
        assert (x * hot).sum().item() == pytest.approx((data * numbers(1)).sum())
        assert hot.dbase.disk is None
    assert place is not None
    assert found[0][0].dbase.disk is not None


@pytest.mark.tier("test-all")  # in `make test` random programs have them
def test_engines_that_die_and_other_numbers_of_them(spilling):
    found = many()
    kill(spilling, 1)
    check(found[:3])
    kill(spilling)
    check(found)
    for size in (3, 1):
        spilling.resize(size)
        limit(spilling)
        check(found)
        for x, data in found[::5]:
            x += 1
            data += 1
        kill(spilling)
        check(found)


@pytest.mark.tier("test-all")
def test_engines_that_die_in_a_batch_that_needs_what_was_on_disk(spilling):
    found = many()
    with setting(flush_idle=600.0):
        results = [x + 1 for x, _ in found[:2]]
        kill(spilling)
        for result, (_, data) in zip(results, found, strict=False):
            np.testing.assert_array_equal(result.to_numpy(), data + 1)
    check(found)


def test_little_of_it_is_in_reach_of_the_notebook(two):
    found = many()
    with setting(place="auto"):
        for _ in range(2):
            for k, (x, data) in enumerate(found):
                assert x[3, 4].item() == data[3, 4]
                x[5, 6] = data[5, 6] = 9.5 + k
                assert sum(x.dbase.near is not None for x, _ in found) <= ROOM / 4
        assert any(x.dbase.near is not None for x, _ in found)
    check(found)


@pytest.mark.parametrize(
    "seed", [0, *[pytest.param(k, marks=pytest.mark.tier("test-all")) for k in range(1, 5)]]
)
def test_random_programs(spilling, monkeypatch, seed):
    monkeypatch.setattr(spilling_module, "_LEAST", 0)
    chance, program, refused, went = random.Random(seed), Program(seed), 0, 0
    for turn in range(8 if TIER == "test-all" else 4):
        for _ in range(chance.randrange(1, 25)):
            spilling.handles.budget.share = chance.randrange(250_000, 600_000)
            try:
                program.statement()
            except MemoryError:  # where all are replicated by now
                refused += 1
            went += len(away(spilling))
        if turn in (2, 5):
            kill(spilling)
        if turn in (3, 6):
            spilling.resize(chance.randrange(1, 4))
        spilling.handles.budget.share = 1 << 20
        assert program.check() == 0
    assert went > refused


def test_what_does_not_fit_at_once_is_refused(two):
    found = many()
    with pytest.raises(MemoryError, match="one operation needs must fit"):
        dnb.concatenate([x for x, _ in found])
    check(found)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("call", ["pwrite", "fdatasync"])
def test_a_disk_that_is_full(two, monkeypatch, call, number):
    def full(*args):
        raise OSError(number, os.strerror(number))

    found = many(ROOM - 2)
    found.append((found[0][0] + 1, found[0][1] + 1))
    found.append((found[0][0] + 2, found[0][1] + 2))
    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(os, call, full)
            with pytest.raises(MemoryError, match=f"nothing could go .*{os.strerror(number)}"):
                found[0][0] + 3
        assert not away(two)
        assert on_disk(two) < 1 << 20
    found.append((found[0][0] + 3, found[0][1] + 3))
    check(found)
    assert away(two)


def test_a_disk_that_cannot_be_read(two, monkeypatch):
    def broken(*args):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    found = many()
    room = two.handles.budget.room()
    with monkeypatch.context() as patch:
        patch.setattr(os, "preadv", broken)
        with pytest.raises(OSError, match="Input/output error"):
            found[0][0].to_numpy()
    assert two.handles.budget.room() >= room
    check(found)


@pytest.mark.parametrize("call", ["pwrite", "preadv"])
def test_interrupts(two, monkeypatch, call):
    found, right = many(), getattr(os, call)

    def pressed(*args):
        done = right(*args)
        os.kill(os.getpid(), signal.SIGINT)
        return done

    with monkeypatch.context() as patch:
        patch.setattr(os, call, pressed)
        with pytest.raises(KeyboardInterrupt):
            check(found)
    check(found)


def test_what_is_shown_of_it(two, tmp_path):
    found = many()
    x = next(x for x, _ in found if x.dbase.disk is not None)
    assert repr(x).endswith("on disk>")
    assert x.dbase.disk is not None  # a look does not bring it back
    report = survey(two, {"x": x})
    (row,) = [row for row in report.arrays if row.names]
    assert sum(row.disk) == x.nbytes
    assert row.total == row.notebook == 0
    assert sum(e.disk for e in report.engines) == sum(b.disk.nbytes for b in away(two))
    text = repr(MemoryReport(report))
    assert text.splitlines()[0].split()[-2:] == ["on", "disk"]
    assert "on disk" in MemoryReport(report, ["x"])._repr_html_()
    window = two.start_window()
    x.to_numpy()
    report = two.end_window(window)
    assert any("came back from disk" in note for note in report.notes)
    assert 0 < report.notebook.disk < report.wall


def test_what_engines_users_were_shown_stays(two):
    x = dnb.array(numbers(1), dist="block")
    two.bind([("x", x.operand)])
    found = many()
    assert x.dbase.disk is None
    y = found[0][0]
    two.bind([("y", y.operand)])
    check(found)
    assert y.dbase.disk is None


def test_what_something_on_engines_looks_at_stays(two):
    x, y = dnb.array(numbers(1), dist="block"), dnb.array(numbers(2), dist="block")
    code = "found = worker.store.bases[{}].block[3:]"
    two.flush()
    on_rank(two, 1, code.format(x.dbase.handle) + "; user['held'] = found; found = None")
    found = many()
    assert x.dbase.disk is None
    assert y.dbase.disk is not None
    on_rank(two, 1, "user.pop('held'); found = None")
    more = [y + k for k in range(ROOM - 1)]
    assert x.dbase.disk is not None
    check([*found, (x, numbers(1)), (y, numbers(2)), (more[3], numbers(2) + 3)])


@pytest.mark.tier("test-all")
@pytest.mark.parametrize("spilling", [1], indirect=True)
def test_plans_of_sparse_products(spilling, monkeypatch):
    monkeypatch.setattr(spilling_module, "_LEAST", 0)
    matrix = dnb.sparse.random_array((3000, 3000), density=0.02, rng=1, format="csr")
    was, v = matrix.to_scipy(), np.arange(3000.0)
    x = dnb.array(v, dist="block")
    for k in range(3):  # the plan of one engine looks at the indices
        np.testing.assert_allclose((matrix @ x).to_numpy(), was @ v)
        found = many()
        assert away(spilling)
        del found
        x += k
        v += k


def test_sparse_arrays(two):
    matrix = dnb.sparse.random_array((3000, 3000), density=0.02, rng=1, format="csr")
    was = matrix.to_scipy()
    found = many()
    assert away(two)
    np.testing.assert_allclose(matrix @ np.ones(3000), was @ np.ones(3000))
    assert (matrix.to_scipy() != was).nnz == 0
    check(found)


def test_settings(tmp_path):
    with setting(spill=str(tmp_path)):
        assert dnb.config.spill == str(tmp_path)
        dnb.config.spill = ""
        assert dnb.config.spill is None
    for wrong in (tmp_path / "none", "/proc"):
        with pytest.raises(ValueError, match="setting spill: got '.*', expected a directory"):
            dnb.config.spill = wrong
    with pytest.raises(TypeError):
        dnb.config.spill = 3


@pytest.mark.tier("test-all")
def test_sessions_that_are_kept_have_nothing_on_disk(monkeypatch, tmp_path):
    monkeypatch.setattr(Session, "listed_by", lambda session: None)
    with setting(spill=tmp_path), own_engines(2, monkeypatch) as session:
        limit(session)
        session.keeping = object()
        try:
            with pytest.raises(MemoryError, match="with keep= nothing goes to disk"):
                many()
        finally:
            session.keeping = None
