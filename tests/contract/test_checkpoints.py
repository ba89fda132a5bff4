"""Checkpoints, wherever arrays live: what was saved is there again, as it was."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import distnb as dnb
from distnb.client.files.reading import once

pytestmark = pytest.mark.ways("one", "four", "cutoff", "auto", "spmd", "started", "openmpi")

DISTS = [None, "block", ("*", "block"), ("cyclic", "*"), ("block", ("cyclic", 2)), "replicated"]


def numbers(*shape):
    return (np.arange(np.prod(shape)) * 7919 % 104729 + 0.25).reshape(shape)


@pytest.fixture
def folder(session):
    """A folder that is the same for all ranks of a script."""
    found = once(session, tempfile.mkdtemp)
    yield Path(found)
    session.named.clear()
    once(session, shutil.rmtree, found)


def test_what_was_saved_is_there_again(session, folder):
    for k, dist in enumerate(DISTS):
        session[str(k)] = dnb.asarray(numbers(31, 40), dist=dist) * 2
    session["large"] = dnb.asarray(numbers(300, 400), dist="block") + 1
    session["turned"] = session["large"].T[::3]
    session["some"], session["none"] = session["large"].sum(axis=0)[3:9], dnb.ones((0, 3))
    expected = {name: (x.to_numpy(), x.layout) for name, x in session.named.items()}
    dnb.checkpoint(folder, session=session)
    for x in session.named.values():
        if x.writeable:
            x *= -1
    found = dnb.restore(folder, session=session)
    assert found.keys() == expected.keys()
    for name, (data, layout) in expected.items():
        np.testing.assert_array_equal(found[name].to_numpy(), data)
        assert found[name].layout == layout


def test_sparse_arrays_are_what_they_were(session, folder):
    """Those that share their places or elements do so again."""
    rows = scipy.sparse.random_array((31, 40), density=0.2, rng=1, format="csr")
    csr = dnb.sparse.csr_array(rows)
    names = {"A": csr, "turned": csr.T, "unsorted": csr @ csr.T, "triplets": csr.tocoo()}
    names |= {"copy": csr.copy(), "whole": csr.redistribute("replicated"), "data": csr.data}
    names["blocks"] = csr.redistribute(grid=(1, session.size))
    names |= {"coo": dnb.sparse.coo_array(rows.tocoo()), "none": dnb.sparse.csc_array((5, 4))}
    for name, x in names.items():
        session[name] = x
    dnb.checkpoint(folder, session=session)
    found = dnb.restore(folder, session=session)
    for name, x in names.items():
        assert type(found[name]) is type(x)
        assert found[name].layout == x.layout
        if name != "data":
            np.testing.assert_array_equal(found[name].toarray().to_numpy(), x.toarray().to_numpy())
    found["data"][0] = 7
    assert [float(found[name].data[0]) == 7 for name in ("A", "turned", "copy")] == [1, 1, 0]
    assert found["A"].structure is found["copy"].structure


def test_what_changes_is_saved_again(session, folder):
    x = session["x"] = dnb.asarray(numbers(300, 400), dist="block")
    y = session["y"] = dnb.asarray(numbers(20, 30))
    steps = [
        lambda: None,
        lambda: x.__setitem__((3, 4), 0),
        lambda: x.__iadd__(1),
        lambda: y.__imul__(x[:20, :30]),
        lambda: x[::2].sort(axis=0),
        lambda: x[0, 0].item() and None,
        lambda: dnb.add(x, 1, out=x),
        lambda: dnb.copyto(y.T, 5),
        lambda: x.T.__setitem__(slice(5), 7),
    ]
    for step in steps:
        step()
        dnb.checkpoint(folder, session=session)
        for name, found in dnb.restore(folder, session=session).items():
            np.testing.assert_array_equal(found.to_numpy(), session[name].to_numpy())


def test_what_is_wrong_is_told(session, folder):
    with pytest.raises(ValueError, match="no arrays with names"):
        dnb.checkpoint(folder / "there", session=session)
    session["x"] = dnb.ones(9, dist="block")
    with pytest.raises(KeyError, match="names"):
        dnb.checkpoint(folder / "there", ["y"], session=session)
    with pytest.raises(FileNotFoundError):
        dnb.restore(folder / "there", session=session)
    assert dnb.ones(9, dist="block").sum().item() == 9
