"""Sessions on some engines, and copies of arrays in them: the same elements, laid out alike."""

from __future__ import annotations

import numpy as np
import pytest

import distnb as dnb
from distnb.client.reports.subset_copies import SubsetCopies, names_in
from distnb.client.session import current
from distnb.client.transport.contract import Transport

LAYOUTS = [
    {"dist": "block"},
    {"dist": ("*", "cyclic")},
    {"dist": (("cyclic", 2), "*")},
    {"dist": (("irregular", (0, 1, 7, 7, 9)), "*")},
    {"dist": ("block", "cyclic"), "grid": (2, 2)},
    {"dist": ("*", "block"), "grid": (3,)},
    {"dist": "replicated"},
    {"dist": ("engine", 2)},
    {"dist": (("block", 11, 1, 1), "*")},
]


@pytest.fixture
def session(monkeypatch):
    monkeypatch.setattr(dnb.config, "cutoff", 0)
    with dnb.inprocess(4) as session:
        yield session


@pytest.mark.parametrize("engines", [1, 2, 3, 4])
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: str(layout["dist"]))
def test_copies_have_the_same_elements(session, layout, engines):
    data = np.arange(63.0).reshape(9, 7)
    a = dnb.array(data, **layout)
    if layout["dist"][0] == ("irregular", (0, 1, 7, 7, 9)):
        assert a.layout.elements()[2] == 0
    with dnb.subset(engines, session) as part:
        copies = SubsetCopies(session, part)
        whole, view = copies.of((a, a[::-2, 1:].T))
        assert whole.session is part
        assert (whole.to_numpy() == data).all()
        assert (view.to_numpy() == data[::-2, 1:].T).all()
        view[0] = -1  # views of one base look at one base in the copy, too
        assert (whole.to_numpy()[::-2, 1] == -1).all()
        if engines == 4:
            assert whole.layout.base == a.layout.base
        elif layout["dist"] == "replicated":
            assert whole.layout.elements() == (63,) * engines
        elif layout["dist"][0] != "engine":
            assert sum(whole.layout.elements()) == 63
            assert max(whole.layout.elements()) < 63 or engines == 1
    assert (a.to_numpy() == data).all()


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0, 2), (2, 3, 4, 5)])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.complex64])
def test_shapes_and_dtypes(session, shape, dtype):
    data = np.ones(shape, dtype)
    a = dnb.array(data)
    with dnb.subset(2, session) as part:
        found = SubsetCopies(session, part).of(a)
        assert (found.shape, found.dtype) == (shape, data.dtype)
        assert (found.to_numpy() == data).all()


def test_what_else_is_copied_and_what_is_not(session, monkeypatch):
    a = dnb.ones(9)
    monkeypatch.setattr(dnb.config, "cutoff", 1000)
    small = dnb.ones(3)
    rng = dnb.random.default_rng(5, session=session)
    other = object()
    with dnb.subset(3, session) as part, dnb.subset(1, session) as one:
        foreign = dnb.ones(9, session=one)
        copies = SubsetCopies(session, part)
        found = copies.of({"x": [a, (small, session, rng)], "y": other, "z": foreign})
        (x, (y, session, generator)) = found["x"]
        assert x.session is y.session is session is part
        assert y.here is not None
        y += 1
        assert small.to_numpy().tolist() == [1, 1, 1]
        assert generator.random(3).session is part
        assert found["y"] is other
        assert found["z"] is foreign


def test_read_only_stays_read_only(session):
    a = dnb.broadcast_to(dnb.ones(3), (2, 3))
    with dnb.subset(2, session) as part:
        copy = SubsetCopies(session, part).of(a)
        with pytest.raises(ValueError, match="read-only"):
            copy[0] = 1


def test_names_in_functions_and_classes():
    space = {"A": 1, "B": 2, "C": 3, "D": 4}
    exec(
        "def f():\n    return [A for _ in range(2)]\n"
        "class K:\n    def m(self):\n        return f()\n"
        "    @property\n    def p(self):\n        return B\n"
        "    @staticmethod\n    def s():\n        return C\n",
        space,
    )
    assert names_in(compile("K().p", "", "exec"), space) == {"K", "f", "A", "B", "C"}
    assert names_in(compile("D + 1", "", "exec"), space) == {"D"}


@pytest.mark.parametrize(("n", "error"), [(0, ValueError), (5, ValueError), (1.0, TypeError)])
def test_wrong_numbers_of_engines(session, n, error):
    with pytest.raises(error, match="from 1 to 4"):
        dnb.subset(n)
    assert current.session() is session


def test_some_transports_have_no_subsets():
    with pytest.raises(dnb.SessionError):
        Transport().subset(1)
