"""What D2O's scripts do, on the ranks of ``mpiexec``: run by ``test_spmd.py``."""

import numpy as np
import pytest
from mpi4py import MPI

import distnb as dnb

pytestmark = pytest.mark.ways("openmpi")

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.rank, COMM.size


@pytest.fixture
def session():
    with dnb.spmd(COMM) as found:
        yield found


def same(found, expected):
    np.testing.assert_array_equal(found, expected)


def test_getting_and_setting_data(session):
    a = np.arange(16).reshape(4, 4)
    x = dnb.array(a)
    local = x.get_local_data()
    first = sum(COMM.allgather(len(local))[:RANK])
    same(local, a[first : first + len(local)])
    if SIZE == 4:
        nothing = np.empty((0, 2))
        same(x[0:3:2, 1:3].get_local_data(), [[[1, 2]], nothing, [[9, 10]], nothing][RANK])
    a[2:4, 1:3] = x[2:4, 1:3] = -np.arange(4).reshape(2, 2)
    same(x.get_full_data(), a)
    w = x + 0
    whole = lambda: dnb.foreach(lambda part, all: all.sum(), w.splits(), x)  # noqa: E731
    assert set(whole()) == {a.sum()}
    x.set_local_data(np.full_like(local, RANK))
    owners = np.repeat(np.arange(SIZE), COMM.allgather(len(local)))
    same(x.get_full_data(), np.broadcast_to(owners[:, None], (4, 4)))
    assert set(whole()) == {owners.sum() * 4}
    x.set_full_data(a)
    x.local[...] *= 2
    same(x.to_numpy(), 2 * a)
    x.local += 1
    same(x.to_numpy(), 2 * a + 1)
    x.local = x.local - 1
    same(x.to_numpy(), 2 * a)
    with pytest.raises(ValueError, match=r"^local data: got shape \(7,\)"):
        x.set_local_data(np.ones(7))
    with pytest.raises(ValueError, match=r"^full data: got shape \(7,\)"):
        x.set_full_data(np.ones(7))


def test_looks_see_what_a_rank_writes_itself(session):
    x = dnb.array(np.zeros((6, 4)), dist="block")
    flat, z = x.reshape(-1), dnb.array(np.zeros(6, complex), dist="block")
    real, windows = z.real, dnb.lib.stride_tricks.sliding_window_view(x, 2, axis=0)
    x.local[...] = 5
    assert (flat.sum(), windows.sum()) == (120, 5 * windows.size)
    part = x.local
    assert flat[3] == windows[0, 0, 0] == 5
    part[...] = 6
    assert (flat.sum(), windows.sum()) == (144, 6 * windows.size)
    flat.local[...] = 8
    same(x.to_numpy(), np.full((6, 4), 8))
    same(x.reshape(4, 6).to_numpy(), np.full((4, 6), 8))
    real.local[...] = 2
    same(z.to_numpy(), np.full(6, 2 + 0j))
    x[...] = 1
    same(flat.local, np.ones(flat.local.shape))


@pytest.mark.parametrize("dist", ["block", "cyclic", ("cyclic", ("cyclic", 2)), "replicated"])
def test_keys_name_what_a_rank_holds(session, dist):
    x = dnb.array(np.arange(24.0).reshape(4, 6), dist=dist)
    for view in (x, x[1:, ::2], x.T, x[2], x[:, 0]):
        full, keys, slices, local = (
            view.to_numpy(),
            view.local_keys,
            view.global_slices,
            view.local,
        )
        same(full[keys], local)
        if all(isinstance(at, slice) for at in slices):
            same(full[slices], local)
        if dist != "replicated":
            view.local = local + 1
            same(view.to_numpy(), full + 1)


def test_keys_of_each_rank(session):
    p = np.arange(16) * 2
    x = dnb.array(p)
    same(x.get_data(slice(None, None, 2)).get_full_data(), p[::2])
    same(x.get_data(slice(None, None, 2 + RANK), local_keys=True).local, p[:: 2 + RANK])
    for dist in (None, "block"):
        keys = [dnb.array([1 + r, 3 + r, 5 + r, 7 + r], dist=dist) for r in range(SIZE)]
        found = x.get_data(keys[RANK], local_keys=True)
        same(found.local, p[1 + RANK : 9 + RANK : 2])
    x.set_data(-1 - RANK, slice(RANK, RANK + 2), local_keys=True)
    p[SIZE] = -SIZE
    p[:SIZE] = -1 - np.arange(SIZE)
    same(x.to_numpy(), p)
    x.set_data(7, slice(0, 3))
    same(x.to_numpy()[:3], [7] * 3)


def test_free_form(session):
    x = dnb.from_parts([np.arange(4) + r for r in range(SIZE)])
    same(x.local, np.arange(4) + RANK)


def test_a_communicator_of_some_ranks():
    some = COMM.Split(RANK % 2)
    with dnb.spmd(some) as session:
        assert session.size == some.size
        assert dnb.arange(5.0, dist="block").sum() == 10
    some.Free()
