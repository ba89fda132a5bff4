"""Tasks on parts of arrays: what they get, write and return, whoever runs them."""

import itertools
import json
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distnb as dnb
from distnb.client.parts import cuts
from tests.contract.support import measured, numbered, same, setting

pytestmark = pytest.mark.ways("one", "cutoff")

KINDS = ("*", "block", "cyclic", ("cyclic", 2))


# -- dense arrays ------------------------------------------------------------------------------


@st.composite
def cases(draw):
    """Return a shape, a layout, an axis, a number of parts, a view."""
    shape = draw(st.lists(st.integers(0, 6), min_size=1, max_size=3))
    dist = draw(st.sampled_from([tuple(draw(st.sampled_from(KINDS)) for _ in shape), None]))
    dist = draw(st.sampled_from([dist, dist, "replicated", ("engine", 0)]))
    key = draw(st.sampled_from([np.s_[:], np.s_[::-1], np.s_[1:]]))
    axis = draw(st.integers(0, len(shape) - 1))
    return tuple(shape), dist, axis, draw(st.sampled_from([None, 1, 2, 3, 5, 9])), key


@given(case=cases())
def test_parts_are_read_and_written_in_place(session, case):
    shape, dist, axis, parts, key = case
    p, q = numbered(shape), numbered(shape)[key]
    a = dnb.array(p, dist=dist)
    x = a[key]
    same(dnb.foreach(lambda part: part * 2, x.splits(parts, axis)), q * 2)
    if q.ndim > 1:
        other = (axis + 1) % q.ndim
        expected = q.sum(axis=other)
        if axis < other or q.ndim == 2:
            same(dnb.foreach(lambda part: part.sum(axis=other), x.splits(parts, axis)), expected)

    def change(part, whole, by, plus=0):
        part[...] = part * by + whole.sum() + plus

    splits = x.splits(parts, axis)
    assert dnb.foreach(change, splits, x, 3, update=0, plus=dnb.ones(())) is None
    q[...] = q * 3 + q.sum() + 1  # each task gets all of the array as it was before
    p[key] = q
    same(a, p)


def test_there_are_as_many_parts_as_were_asked_for(session):
    x = dnb.array(np.arange(10.0), dist="block")
    for parts in (1, 2, 5, 7, 10, 25):
        lengths = dnb.foreach(len, x.splits(parts))
        assert len(lengths) == parts
        assert sum(lengths) == 10
    own = [10 // session.size + (r < 10 % session.size) for r in range(session.size)]
    assert dnb.foreach(len, x.splits()) == own
    assert len(x.splits(3)) == 3
    assert repr(x.splits(3)).startswith("<3 parts along axis 0 of <DistArray (10,)")


def test_engines_share_out_parts_by_their_weight():
    for parts, weights in itertools.product((3, 4, 10, 23), ((0, 0, 0), (5, 0, 1), (7, 7, 7))):
        counts = cuts.shared_out(parts, weights)
        assert sum(counts) == parts
        assert min(counts) >= 1
        assert sorted(counts) == [c for _, c in sorted(zip(weights, counts, strict=True))]


def test_arrays_are_cut_alike(session):
    p = numbered((12, 3))
    bounds = [0, *sorted([5] * (session.size - 1)), 12]
    a = dnb.array(p, dist=("irregular", tuple(bounds)))
    b, c = dnb.array(p[:, 0], dist="cyclic"), dnb.array(np.arange(24), dist="block")

    def add(whole_rows, column, longer):
        assert len(whole_rows) == len(column)
        column += whole_rows.sum(axis=1)
        return longer.size

    for parts in (None, 7):
        longer = dnb.foreach(add, a.splits(parts), b.splits(parts), c.splits(parts), update=1)
        assert sum(longer) == 24
    same(b, p[:, 0] + 2 * p.sum(axis=1))


def test_nothing_is_sent_of_what_lies_so(session, engines_only, monkeypatch):
    # Under SPMD no copies are kept once ranks were shown memory, which tests before may have been
    monkeypatch.setattr(session.memory, "shown", False)
    a, w = dnb.array(numbered((12, 3)), dist="block"), dnb.ones(5, dist="block")

    def change(part, whole):
        part += whole.sum()

    def sent():
        session.flush()
        with measured(session) as found:
            dnb.foreach(change, a.splits(9), w, update=0)
        # Under SPMD ranks agree on what only reads, too.
        return sum(
            r.bytes
            for op in found[0].ops
            if op.op != "agree" and op not in found[0].gathers
            for r in op.ranks
        )

    first = sent()
    assert (first > 0) is (session.size > 1)
    assert sent() == 0  # the copies of w are as it is
    w += 1
    assert sent() == first
    same(a, numbered((12, 3)) + 20)


# -- sparse arrays -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_sparse_parts(session, kind):
    sparse = pytest.importorskip("scipy.sparse")
    m = sparse.random_array((13, 7), density=0.4, rng=np.random.default_rng(1), format=kind)
    for axis, parts in itertools.product((0, 1), (None, 2, 9)):
        a = getattr(dnb.sparse, f"{kind}_array")(m, dist="nnz")
        p = np.arange(float(m.shape[axis]))
        x, y = dnb.array(np.arange(float(m.shape[1 - axis]))), dnb.array(p, dist="cyclic")

        def step(part, mine, whole, x, axis=axis):
            assert part.shape[axis] == len(mine)
            assert part.format == ("csr", "csc")[axis]
            mine += (part if axis == 0 else part.T) @ x + whole.sum()

        dnb.foreach(step, a.splits(parts, axis), y.splits(parts), a, x, update=1)
        product = (m if axis == 0 else m.T) @ x.to_numpy()
        np.testing.assert_allclose(y.to_numpy(), p + product + m.sum())
        lies_so = (kind == "csr") == (axis == 0) and (parts or session.size) >= session.size

        def double(part):
            part.data *= 2

        def replace(part):
            part.data = part.data * 2

        if lies_so:
            dnb.foreach(double, a.splits(parts, axis), update=0)
            np.testing.assert_allclose(a.to_scipy().toarray(), 2 * m.toarray())
            with pytest.raises(ValueError, match="^sparse part that is updated: got other places"):
                dnb.foreach(replace, a.splits(parts, axis), update=0)
        else:
            with pytest.raises(ValueError, match="^sparse array that is updated: got"):
                dnb.foreach(double, a.splits(parts, axis), update=0)


@pytest.mark.ways("four", "spmd", "started")
@pytest.mark.parametrize(("kind", "axis"), [("csr", 0), ("csc", 1), ("csr", 1)])
def test_sparse_results_are_one_array(session, kind, axis):
    sparse = pytest.importorskip("scipy.sparse")
    m = sparse.random_array((13, 7), density=0.4, rng=np.random.default_rng(1), format=kind)
    a = getattr(dnb.sparse, f"{kind}_array")(m, dist="nnz")
    for parts in (None, 2, 9, 20):
        found = dnb.foreach(lambda part: part * 2, a.splits(parts, axis))
        assert found.format == ("csr", "csc")[axis]
        np.testing.assert_array_equal(found.to_scipy().toarray(), 2 * m.toarray())
        other = np.arange(m.shape[1 - axis])
        got = found @ other if axis == 0 else other @ found
        np.testing.assert_allclose(
            got.to_numpy(), 2 * (m @ other) if axis == 0 else 2 * (other @ m)
        )
    none = dnb.foreach(lambda part: part[:0] if axis == 0 else part[:, :0], a.splits(None, axis))
    assert none.nnz == 0
    assert none.shape[axis] == 0


def test_sparse_results_that_do_not_fit_are_a_list(session):
    sparse = pytest.importorskip("scipy.sparse")
    x = dnb.array(np.arange(5), dist="block")

    def some(part):
        n = int(part[0])
        if n == 4:
            return np.ones(2)
        kind = (sparse.csr_array, sparse.csc_array, sparse.coo_array)[n % 3]
        return kind(np.arange(6 * n).reshape(3, 2 * n) % 4)

    *found, last = dnb.foreach(some, x.splits(5))
    np.testing.assert_array_equal(last, np.ones(2))
    for n, one in enumerate(found):
        assert one.format == ("csr", "csc", "coo")[n % 3]
        np.testing.assert_array_equal(one.toarray(), np.arange(6 * n).reshape(3, 2 * n) % 4)


@pytest.mark.ways("four", "started")
def test_what_tasks_print_is_shown_in_their_order(session, capsys):
    if session.transport.rank is not None:
        pytest.skip("each rank prints its own")

    def say(part):
        sys.stdout.write(f"task {part[0]}\n")  # print() writes a line's end by itself, and engines
        sys.stderr.write("more\n")  # of this process are threads: two lines could be in one
        if part[0] == 6:
            raise ValueError("no six")

    x = dnb.array(np.arange(7), dist="block")
    dnb.foreach(say, x[:6].splits(6))
    out, err = capsys.readouterr()
    apart = session.transport.kind != "in this process"
    lines = out.splitlines()
    assert (lines if apart else sorted(lines)) == [f"task {k}" for k in range(6)]
    assert err == "more\n" * 6
    with pytest.raises(ValueError, match="no six"):
        dnb.foreach(say, x.splits(7))
    assert "task 6" in capsys.readouterr().out


# -- what tasks return -------------------------------------------------------------------------


def test_what_fits_together_is_one_array(session):
    x = dnb.array(np.arange(10), dist="block")
    found = dnb.foreach(lambda a: a if a[:1].sum() % 2 else a * 0.5, x.splits(10))
    same(found, np.arange(10) * np.where(np.arange(10) % 2, 1, 0.5))
    same(dnb.foreach(lambda a: np.repeat(a, a), x.splits(10)), np.repeat(range(10), range(10)))
    rows = dnb.foreach(lambda a: a[None, :1] * np.ones((2, 3), bool), x.splits(10))
    same(rows, np.repeat(np.arange(10), 2)[:, None] * np.ones((20, 3), bool))


def test_what_does_not_is_a_list(session):
    x = dnb.array(np.arange(6), dist="block")
    assert dnb.foreach(lambda a: None, x.splits(6)) is None
    assert dnb.foreach(lambda a: int(a[0]), x.splits(6)) == list(range(6))
    assert dnb.foreach(lambda a: {"at": a[0]} if a[0] else None, x.splits(6))[:2] == [
        None,
        {"at": 1},
    ]
    long = dnb.foreach(lambda a: "text" * 1000 * int(a[0]), x.splits(6))
    assert [len(text) for text in long] == [4000 * k for k in range(6)]
    shapes = dnb.foreach(lambda a: np.full((a[0], a[0]), a[0]), x.splits(6))
    for k, one in enumerate(shapes):
        np.testing.assert_array_equal(one, np.full((k, k), k))
        one += 1  # it is the caller's own
    mixed = dnb.foreach(lambda a: a if a[0] % 2 else "even", x.splits(6))
    assert mixed[0] == "even"
    assert mixed[1].tolist() == [1]
    with setting(gather_budget=100), pytest.raises(dnb.GatherError, match="^results of foreach"):
        dnb.foreach(lambda a: np.zeros((a[0], a[0])), x.splits(6))


# -- what is wrong -----------------------------------------------------------------------------


def test_arguments_that_are_wrong(session):
    x, y = dnb.arange(8.0, dist="block"), dnb.ones((8, 2), dist="block")
    none = lambda *parts: None  # noqa: E731
    for kind, message, wrong in (
        (TypeError, "got no array that is split", lambda: dnb.foreach(none, x)),
        (ValueError, "got 2 and 3 parts", lambda: dnb.foreach(none, x.splits(2), y.splits(3))),
        (ValueError, "^update: got 1, exp", lambda: dnb.foreach(none, x.splits(), y, update=1)),
        (ValueError, "^update: got -1", lambda: dnb.foreach(none, x.splits(), update=-1)),
        (ValueError, "^update: got a", lambda: dnb.foreach(none, x.splits(), update="a")),
        (ValueError, "each place once", lambda: dnb.foreach(none, x.splits(), update=(0, 0))),
        (
            ValueError,
            "one writer for each part",
            lambda: dnb.foreach(none, y.splits(), y.T.splits(), update=(0, 1)),
        ),
        (
            ValueError,
            "read-only",
            lambda: dnb.foreach(none, dnb.broadcast_to(x, (8, 8)).splits(), update=0),
        ),
        (TypeError, "cannot be pickled", lambda: dnb.foreach(none, x.splits(), threading.Lock())),
        (TypeError, "uses a distributed array", lambda: dnb.foreach(lambda a: x, x.splits())),
        (TypeError, "not callable", lambda: dnb.foreach(5, x.splits())),
        (ValueError, "^parts: got 0", lambda: x.splits(0)),
        (ValueError, "^parts: got 'a'", lambda: x.splits("a")),
        (IndexError, "axis 1 is out", lambda: x.splits(axis=1)),
    ):
        with pytest.raises(kind, match=message):
            wrong()
    same(x, np.arange(8.0))


@pytest.mark.ways("spmd", "started")
def test_what_a_task_raises_names_it(session):
    x = dnb.array(np.arange(20.0), dist="block")

    def picky(part):
        part += 100
        if part[0] == 119:
            raise LookupError("not this one")
        return lambda: 0  # which cannot be pickled

    with pytest.raises(LookupError, match="not this one") as caught:
        dnb.foreach(lambda part: picky(part) and None, x.splits(20), update=0)
    note = "\n".join(caught.value.__notes__)
    assert "raised in task 19 of 20 of foreach (<lambda>) on rank" in note
    assert "which had 19:20 of axis 0 of argument 0" in note
    assert "\nin picky(): test_foreach.py line " in note
    now = x.to_numpy()  # tasks of other ranks may not have begun
    assert {*(now - np.arange(20.0))} <= {0.0, 100.0}
    assert now[19] == 119
    with pytest.raises(ValueError, match="read-only"):
        dnb.foreach(lambda part: part.fill(0), x.splits(5))
    with pytest.raises((AttributeError, TypeError), match=r"[Cc]an't pickle|cannot pickle"):
        dnb.foreach(lambda part: lambda: 0, x.splits())
    same(dnb.foreach(lambda part: part, x.splits(7)), now)


@pytest.mark.ways("spmd", "started")
def test_who_is_free_helps(session, engines_only):
    about = session.transport.about
    if session.size == 1 or not about[0].get("shared"):
        pytest.skip("engines do not share memory")
    x = dnb.array(np.arange(4.0 * session.size), dist="block")
    folder = Path(session.transport.share(tempfile.mkdtemp())[0])
    flag = folder / "flag"

    def waits(part, flag):
        if part[0] == 0:  # until another engine has run the next task of this one
            end = time.monotonic() + 30
            while not flag.exists() and time.monotonic() < end:
                time.sleep(0.001)
            if not flag.exists():
                raise TimeoutError("nobody came")
        if part[0] == 1:
            flag.touch()
        part *= 2
        return part + 1

    try:
        found = dnb.foreach(waits, x.splits(len(x)), flag, update=0)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    same(x, np.arange(4.0 * session.size) * 2)
    same(found, np.arange(4.0 * session.size) * 2 + 1)


class WithTwoError(Exception):
    """An exception whose ``__init__`` takes more than its text."""

    def __init__(self, text, code):
        super().__init__(text)
        self.code = code


def test_exceptions_of_own_classes(session):
    def fail(part):
        raise WithTwoError("too hot", 451)

    def parse(part):
        return json.loads("{")

    a = dnb.ones((9, 4))
    with pytest.raises(WithTwoError, match="too hot") as told:
        dnb.foreach(fail, a.splits())
    assert (told.value.code, told.value.args) == (451, ("too hot",))
    assert "task 0" in told.value.__notes__[0]
    with pytest.raises(json.JSONDecodeError) as other:
        dnb.foreach(parse, a.splits())
    assert other.value.pos == 1
