"""The notebook and engines that are other processes work on one memory, and `%px` sees it, too."""

import os

import numpy as np
import pytest

import distnb as dnb
from distnb.magics import cells
from tests.contract.support import setting


@pytest.fixture(autouse=True)
def auto(engines):
    with setting(place="auto"):
        yield
    engines.flush()


@pytest.fixture
def client(engines):
    return engines.transport.client


def test_px_sees_what_the_notebook_wrote(engines, client):
    a = dnb.zeros((30, 5000), session=engines)
    float(a[0, 0])
    a[20] = 3.0
    assert a.dbase.near is not None
    engines.bind([("reached", a.bound)])
    client[:].execute("reached.local[0, :] += 1 + reached.comm.Get_rank()", block=True)
    x = np.zeros((30, 5000))
    x[20] = 3.0
    x[[0, 10, 20]] += np.array([[1.0], [2.0], [3.0]])
    np.testing.assert_array_equal(a.to_numpy(), x)
    a[0] = a[20] * 2
    x[0] = x[20] * 2
    engines.bind([("reached", a.bound)])
    client[:].execute("seen = reached.local.copy()", block=True)
    np.testing.assert_array_equal(np.concatenate(client[:]["seen"]), x)


@pytest.mark.parametrize("place", ["auto", "engines"])
@pytest.mark.parametrize("written", ["root", "look"])
def test_what_px_writes_is_in_all_of_a_family(engines, client, place, written):
    """One of those that show the same elements can be written there; the others are made again."""
    with setting(place=place):
        a = dnb.arange(150_000.0, session=engines)
        named = {"aa": a, "bb": a.reshape(300, 500)} if written == "root" else {}
        named |= {} if named else {"aa": a.reshape(300, 500)}
        del a
        for turn in range(3):
            names, sealed = cells._bound([*named.items()])
            assert sealed == [name for name in named if name == "bb"]
            engines.bind(names, sealed)
            if sealed:
                with pytest.raises(Exception, match="read-only"):
                    client[:].execute("bb.local[...] = 1", block=True)
            client[:].execute("aa.local[...] += 1; total = float(aa.local.sum())", block=True)
            total = 150_000 * 149_999 / 2 + 150_000 * (turn + 1)
            assert sum(client[:]["total"]) == total
            for x in named.values():
                assert float(x.sum()) == total


def test_what_px_looks_at_stays_as_it_is(engines, client):
    """A view on an engine outlives the array: its memory is not given to another one."""
    a = dnb.ones((30, 5000), session=engines)
    float(a[0, 0])
    engines.bind([("reached", a.bound)])
    client[:].execute("look = reached.local[1:3]", block=True)
    engines.bind([])
    del a
    for k in range(4):
        b = dnb.array(np.full((30, 5000), -1.0 - k), session=engines)
        float((b * 2)[3, 4])
    client[:].execute("found = look.sum()", block=True)
    assert client[:]["found"] == [10000.0] * 3
    client[:].execute("del look, found", block=True)


def test_large_reads_come_through_the_segment(engines):
    x = np.arange(60000.0).reshape(200, 300)
    a = dnb.array(x, dist=("*", "cyclic"), session=engines)
    found = (a + 1).to_numpy()
    np.testing.assert_array_equal(found, x + 1)
    found[...] = 0  # the user's own
    np.testing.assert_array_equal(a[::2, ::-1].to_numpy(), x[::2, ::-1])
    np.testing.assert_array_equal(a.T.to_numpy(), x.T)


def test_engines_that_fail_leave_what_the_notebook_wrote(engines):
    a = dnb.array(np.arange(60000), dist="block", session=engines)
    float(a[0])
    a[5] = 7
    with pytest.raises(ValueError, match="negative integer powers"):
        np.asarray(a ** (a - 30000))
    assert int(a[5]) == 7
    a[6] = 8
    assert a[5:7].to_numpy().tolist() == [7, 8]


def test_a_forked_child_changes_nothing_here(engines):
    """It has the same memory mapped: what it was given is its own, and it gives nothing back."""
    x = np.arange(60000.0).reshape(200, 300)
    a = dnb.array(x, session=engines)
    with setting(place="engines"):
        read = (a + 1).to_numpy()
    child = os.fork()
    if child == 0:
        good = np.array_equal(read, x + 1)
        read[...] = 0
        engines.memory._pool.clear()
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
    np.testing.assert_array_equal(read, x + 1)
    for k in range(5):  # and what a child may look at is not used again
        with setting(place="engines"):
            np.testing.assert_array_equal((a * k).to_numpy(), x * k)
    np.testing.assert_array_equal(a.to_numpy(), x)
    assert any(m.nbytes == read.nbytes for m in engines.memory._forked)
