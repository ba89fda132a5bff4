"""Engines of one node read each other's blocks in place: what is sent, and what is left."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import distnb as dnb
from distnb import sparse
from tests.contract.support import measured, numbered, on_engines, same, setting
from tests.contract.test_counts import traffic
from tests.waiting import until


@pytest.fixture(params=[0, 1], ids=["sent", "lent"])
def session(engines, request):
    """A session on the same engines, which have arrays to themselves, and lend all, or nothing."""
    with (
        setting(shared=request.param, cutoff=0, recover="never"),
        dnb.connect(client=engines.transport.client) as found,
    ):
        yield found


def in_place(report):
    """Return the bytes that engines read where they are."""
    return sum(engine.in_place for engine in report.engines)


def lends(session):
    return bool(session.transport.about[0]["shared"])


@pytest.mark.ways("openmpi")
def test_engines_of_a_node_find_each_other(session):
    expected = 3 if dnb.config.shared else 0
    assert [about["shared"] for about in session.transport.about] == [expected] * 3


class _WithLayout(np.ndarray):
    """NumPy's array, which has no layout."""

    def redistribute(self, dist):
        return self


@pytest.mark.ways("openmpi")
@pytest.mark.parametrize(
    ("do", "messages"),
    [
        (lambda x: x + x.T, 6),
        (lambda x: x + x[::-1], 2),
        (lambda x: x[1:] - x[:-1], 2),
        (lambda x: x.redistribute(("*", "block")), 6),
        (lambda x: x.redistribute(("cyclic", "*")), 6),
        (lambda x: x.redistribute("replicated"), 6),
        (lambda x: x.redistribute(("engine", 1)), 2),
    ],
)
def test_what_is_lent_is_not_sent(session, do, messages):
    x = numbered((12, 12))
    a = dnb.array(x, dist="block")
    expected = do(x.view(_WithLayout))
    for _ in range(3):  # copied to be lent, then moved, then lent where it is
        with measured(session) as reports:
            b = do(a)
        found, nbytes = traffic(reports[0])
        assert found == messages
        assert nbytes >= messages * x.itemsize  # as what they are, however they came
        assert in_place(reports[0]) == (nbytes if lends(session) else 0)
        same(b, np.asarray(expected))


def placed_at(x, i):
    y = x.copy()
    y[i] = i * 2.0
    return y


def added_at(x, i):
    y = x.copy()
    np.add.at(y, i, i * 0.5)
    return y


@pytest.mark.parametrize(
    ("do", "messages", "places"),
    [
        (lambda x, i: x[i], 6, 1),
        (lambda x, i: x[:, None][i], 6, 1),  # rows
        (lambda x, i: x[::-1][i], 6, 1),
        (placed_at, 6, 2),
        (added_at, 6, 2),
    ],
)
def test_indices_reach_what_is_lent(session, do, messages, places):
    i = np.random.default_rng(1).integers(-60, 60, 90)
    x = numbered((60,))
    a, index = dnb.array(x, dist="block"), dnb.array(i)
    for _ in range(3):
        session.flush()
        with measured(session) as reports:
            b = do(a, index)
        found, nbytes = traffic(reports[0])
        if lends(session):
            assert found == messages
            assert in_place(reports[0]) == nbytes
            blocks = (0, a.nbytes, index.nbytes + a.nbytes)[places]
            assert nbytes >= 2 * blocks // 3 * 2
        else:
            assert in_place(reports[0]) == 0
        same(b, do(x, i))
    with pytest.raises(IndexError, match="index 60 is out of bounds for axis 0 with size 60"):
        do(a, dnb.array(np.where(np.arange(90) == 70, 60, i))).to_numpy()
    same(do(a, index), do(x, i))


def test_a_product_of_the_same_vector_sends_nothing(session):
    a = sp.random_array((60, 60), density=0.5, rng=1, format="csr")
    matrix, u = sparse.csr_array(a, session=session), numbered((60,)).astype(float)
    x = dnb.array(u, dist="block", session=session)
    matrix @ x
    for step in range(4):
        u[step] = step
        x[step] = step
        session.flush()
        with measured(session) as reports:
            y = matrix @ x
        _, nbytes = traffic(reports[0])
        assert nbytes > 0
        assert in_place(reports[0]) == (nbytes if lends(session) else 0)
        with measured(session) as reports:
            z = matrix @ x
        assert traffic(reports[0]) == (0, 0)
        same(y, a @ u)
        same(z, a @ u)


def test_what_px_writes_is_sent_again(session):
    a = sp.random_array((60, 60), density=0.5, rng=1, format="csr").ceil()
    matrix, u = sparse.csr_array(a, session=session), numbered((60,)).astype(float)
    x = dnb.array(u, dist="block", session=session)
    client = session.transport.client
    for _ in range(3):
        same(matrix @ x, a @ u)
        same(matrix.T @ x, a.T @ u)
        session.bind([("written", x.bound)])
        client[:].execute("written.local[:] += 1", block=True)
        u += 1
    same(matrix @ x, a @ u)
    client[:].execute("del written", block=True)


def in_segment(session, array):
    expression = (
        "(lambda s, b: s.memory.offset(b.block) is not None)"
        f"(worker.store, worker.store.bases[{array.dbase.handle}])"
    )
    return on_engines(session, expression)


def test_what_is_lent_again_stays_in_shared_memory(session):
    x = numbered((9, 9))
    a = dnb.array(x, dist="block")
    for moved in (False, False, True, True):
        assert in_segment(session, a) == [moved and lends(session)] * 3
        same(a + a.T, x + x.T)
    a *= 2
    same(a + a.T, 2 * (x + x.T))


def test_what_is_lent_may_change_right_after(session):
    """Nothing is written or freed while others read it."""
    x = numbered((60, 60))
    a = dnb.array(x, dist="block")
    for _ in range(30):
        b = a.T - a[::-1]
        y = x.T - x[::-1]
        a += b
        x += y
        c = a[::-1].redistribute(("*", "cyclic"))
        a[...] = -1
        a = c % 1000
        x = x[::-1] % 1000
        del b, c
    same(a, x)


def test_memory_that_was_lent_is_given_back(engines):
    with (
        setting(shared=1, cutoff=0, pool_bytes=0, recover="never"),
        dnb.connect(client=engines.transport.client) as session,
    ):
        used = "worker.store.memory.node.segment.used"
        before = on_engines(session, used)
        a = dnb.ones((300, 300), dist="block")
        for _ in range(3):
            b = a + a.T
            session.flush()
        assert min(on_engines(session, used)) >= min(before) + a.nbytes // 3
        del a, b
        session.flush()
        assert on_engines(session, used) == before


SCRIPT = """
import os, signal, sys, distnb as dnb
session = dnb.start(3)
a = dnb.ones((30, 30))
for _ in range(3):
    b = (a + a.T).sum().item()
pids = [about["pid"] for about in session.transport.about]
texts = [open(f"/proc/{pid}/maps").read().splitlines() for pid in pids]
maps = [len({line.split()[4] for line in text if "/memfd:distnb" in line}) for text in texts]
print(*pids, *maps, flush=True)
if sys.argv[1] == "engine":
    os.kill(pids[1], signal.SIGKILL)
    session.close()
else:
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.tier("test-all")
@pytest.mark.cases(1)
@pytest.mark.parametrize("victim", ["engine", "client"])
def test_nothing_is_left_when_a_process_is_killed(victim):
    names = set(os.listdir("/dev/shm"))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, victim],
        env=os.environ | {"DISTNB_SHARED": "1", "DISTNB_CUTOFF": "0"},
        stdout=subprocess.PIPE,
        text=True,
        timeout=250,
        check=False,
    )
    assert (done.returncode == -signal.SIGKILL) == (victim == "client")
    *pids, first, second, third = map(int, done.stdout.split())
    assert (first, second, third) == (4, 4, 4)  # those of all engines, and the notebook's
    until(lambda: not any(map(maps_a_segment, pids)))
    assert not [name for name in set(os.listdir("/dev/shm")) - names if "distnb" in name]


def maps_a_segment(pid):
    """Whether a process is there and holds shared memory, which has no name to be left."""
    with contextlib.suppress(OSError):
        return "/memfd:distnb" in Path(f"/proc/{pid}/maps").read_text("utf-8")
    return False


# One copy of replicated arrays


def sharing(session, array):
    """Return, for each engine, whether it holds a block of its own, and who shares it."""
    expression = (
        "(lambda s, b: (s.memory.node is None or s.memory.offset(b.block) is not None, b.shared))"
        f"(worker.store, worker.store.bases[{array.dbase.handle}])"
    )
    return on_engines(session, expression)


def is_shared(session, array):
    ranks = (0, 1, 2) if lends(session) else ()
    found = sharing(session, array)
    if lends(session):
        assert [own for own, _ in found] == [True, False, False]
    return [shared for _, shared in found] == [ranks] * 3


def replicated(x):
    return dnb.array(x, dist="replicated")


@pytest.mark.parametrize(
    "make",
    [
        lambda x: dnb.array(x, dist="replicated"),
        lambda x: dnb.array(x, dist="block").redistribute("replicated"),
        lambda x: replicated(x - 1) + 1,
        lambda x: dnb.ones(x.shape, dist="replicated") * x,
        lambda x: np.where(replicated(x) > 0, replicated(x), 0.0),
    ],
)
def test_a_node_has_one_copy_of_a_replicated_array(session, make):
    x = numbered((200, 60))  # above what is sent to each engine
    a = make(x)
    same(a, x)
    assert is_shared(session, a)
    same(a.redistribute("block") + a, x + x)
    b = dnb.array(x.T, dist=("*", "cyclic"))
    same(b - a.T[:, ::-1], x.T - x.T[:, ::-1])


@pytest.mark.parametrize(
    "write",
    [
        lambda x: np.add(x, 1, out=x),
        lambda x: x.__setitem__((slice(1, -1), slice(None)), 2 * x[1:-1]),
        lambda x: x.__setitem__(slice(1, None), x[:-1].copy()),
        lambda x: x.__setitem__(..., x[::-1] * 1),
        lambda x: np.copyto(x, -1.0, where=x > 100),
        lambda x: np.multiply(x, x, out=x, where=x[:, ::-1] > 50),
        lambda x: x.sort(axis=0),
    ],
)
def test_writing_to_the_one_copy(session, write):
    """It is written once, whoever looks at it, and readers see what was there before."""
    x = numbered((40, 30))
    a = dnb.array(x, dist="block").redistribute("replicated")
    for _ in range(5):
        before, here = x.copy(), a + 0
        write(x)
        write(a)
        same(here, before)
        same(a.redistribute(("*", "block")), x)
    assert {shared for _, shared in sharing(session, a)} <= {(), (0, 1, 2)}


def test_freed_copies_are_not_written_while_others_read(session):
    x = numbered((64, 64))
    a = dnb.array(x, dist="block")
    for k in range(40):
        b = a.redistribute("replicated")
        c = b.T * k
        a = (c + b).redistribute("block") % 1000
        x = (x.T * k + x) % 1000
        del b, c
    same(a, x)


def test_what_px_sees_of_the_one_copy_cannot_be_written(session):
    a = dnb.ones((30, 30), dist="replicated")
    a += 1
    handle = a.dbase.handle
    session.flush()
    local = (
        "__import__('distnb.engines.worker.local', fromlist=['x']).LocalArray('a', worker.store, "
        "__import__('distnb.wire.protocol', fromlist=['x']).Operand("
        f"{handle}, __import__('distnb.geometry.views', fromlist=['x']).View.whole((30, 30))), "
        "worker.comm).local"
    )
    assert on_engines(session, f"{local}.flags.writeable") == [not lends(session)] * 3
    assert on_engines(session, f"float({local}.sum())") == [1800.0] * 3


def test_what_is_reduced_of_replicas(session):
    """One rank makes it for all, and each reduces it; with the digits of ranks that share nothing."""
    x = numbered((67, 31)) / 7
    a = dnb.array(x, dist="replicated", session=session)
    b = dnb.zeros_like(a)
    for _ in range(2):
        with setting(flush_idle=3.0):
            total = (a * a).sum(axis=0)
            np.add(a, 1, out=b)
            largest = abs(b - 3).max()
            found = np.asarray(total), float(largest)
        np.testing.assert_allclose(found[0], (x * x).sum(axis=0), rtol=1e-13)
        assert found[1] == abs(x + 1 - 3).max()
        same(b, x + 1)
        parts = on_engines(session, f"worker.store.bases[{total.dbase.handle}].block.tobytes()")
        assert parts == [found[0].tobytes()] * 3
