"""Sessions, and everything that is refused: at the call, with NumPy's types, in one form."""

import gc
import os
import re

import numpy as np
import pytest

import distnb as dnb
from distnb.client.batching import connection
from distnb.client.handle import conversion
from distnb.geometry.axes import Whole
from distnb.geometry.layout import Grid, Layout
from tests.contract.support import agree, another, no_warnings, numbered, on_engines, same, setting

pytestmark = pytest.mark.ways("one", "four", "cutoff", "spmd", "started", "connected", "auto")

FORM = re.compile(r"^.+: got .+, expected .+; .+$", re.DOTALL)


def refused(call, *types, match=""):
    """A call raises one of some types, with a message that says what to do."""
    with pytest.raises(types) as caught:
        call()
    message = str(caught.value)
    assert FORM.match(message), message
    assert re.search(match, message), message
    return caught.value


# -- sessions ----------------------------------------------------------------------------------


def test_size_and_repr(session):
    assert session.size >= 1
    assert dnb.session() is session
    assert not session.closed
    assert f"{session.size} engine" in repr(session)
    assert session.transport.kind in repr(session)


def test_closing(session):
    with another(session) as two:
        assert dnb.session() is two
        assert two.size == session.size
        a = dnb.arange(4)
        assert a.session is two
    assert two.closed
    assert "closed" in repr(two)
    two.close()
    two.flush()
    assert dnb.session() is session
    same(dnb.arange(4), np.arange(4))


def test_leaving_by_an_error_closes(session):
    with pytest.raises(ZeroDivisionError), another(session) as two:
        dnb.ones(3)
        raise ZeroDivisionError
    assert two.closed
    assert dnb.session() is session


def test_closing_with_work_pending(session):
    two = another(session)
    a = dnb.ones(1000)
    for _ in range(50):
        a += 1
    two.close()
    assert two.closed
    same(dnb.ones(3), np.ones(3))
    assert dnb.session() is session


def test_closing_out_of_order(session):
    one, two = another(session), another(session)
    one.close()
    assert dnb.session() is two
    same(dnb.ones(2), np.ones(2))
    two.close()
    assert dnb.session() is session


def test_arrays_of_a_closed_session(session):
    with another(session):
        a = dnb.arange(6.0)
        b = a[1:]
    for use in (
        lambda: a + 1,
        lambda: 1 - a,
        lambda: a.sum(),
        lambda: a.to_numpy(),
        lambda: np.asarray(b),
        lambda: float(a[0]),
        lambda: a.__setitem__(0, 1),
        lambda: a.__iadd__(a),
        lambda: a.copy(),
        lambda: a.astype("f4"),
        lambda: a.redistribute("cyclic"),
        lambda: b.fill(2),
        lambda: np.sqrt(b),
        lambda: np.sum(b),
        lambda: dnb.zeros_like(a),
        lambda: dnb.ones(3, session=a.session),
        lambda: dnb.arange(3) + a,
        lambda: bool(a.any()),
    ):
        error = refused(use, dnb.SessionError)
        assert isinstance(error, RuntimeError)
    assert "closed session" in repr(a)
    assert a.shape == (6,)
    assert a[2:].shape == (4,)
    assert a.layout.elements()
    same(dnb.arange(3), np.arange(3))


def test_arrays_of_two_sessions(session, second):
    a = dnb.ones(4, session=session)
    b = dnb.ones(4, session=second)
    assert a.session is session
    assert b.session is second
    for use in (
        lambda: a + b,
        lambda: b * a[0, ...],
        lambda: np.add(a, 1, out=b),
        lambda: np.add(a, a, where=b > 0, out=a),
        lambda: a.__setitem__(slice(None), b),
        lambda: a.__setitem__(b > 0, 1),
        lambda: np.where(b > 0, a, a),
        lambda: a.sum(out=b[0, ...]),
        lambda: np.add.reduce(a, out=b[0, ...]),
        lambda: np.copyto(a, b),
        lambda: np.sum(a, where=b > 0),
    ):
        refused(use, dnb.SessionError)
    same(a, np.ones(4))
    same(b, np.ones(4))
    same(a + b.to_numpy(), np.full(4, 2.0))


def test_wrong_sessions(session):
    for wrong in ("x", 3, session.transport):
        refused(lambda wrong=wrong: dnb.zeros(3, session=wrong), TypeError)
    for n in ("x", 2.5, True, None):
        refused(lambda n=n: dnb.inprocess(n), TypeError)
    for n in (0, -1):
        refused(lambda n=n: dnb.inprocess(n), ValueError)
    assert dnb.session() is session


# -- values ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("session", "far")
def test_values():
    for x in (
        np.array(2.5),
        np.array(3),
        np.array(True),
        np.array(1 + 2j),
        np.array([4]),
        np.array([[5.5]]),
        np.arange(3),
        np.zeros(0),
    ):
        a = dnb.array(x)
        for f in (float, int, complex, bool, range, hash, len):
            agree(lambda f=f, x=x: f(x), lambda f=f, a=a: f(a))
        agree(lambda x=x: x.item(), lambda a=a: a.item())
        agree(lambda x=x: x.tolist(), lambda a=a: a.tolist())
        agree(lambda x=x: [10, 20, 30, 40][x], lambda a=a: [10, 20, 30, 40][a])
    x = np.arange(12).reshape(3, 4)
    a = dnb.array(x)
    assert a.item(1, 2) == 6
    assert a.item((2, 3)) == 11
    agree(lambda: x.item(3, 3), lambda: a.item(3, 3))
    for name in ("shape", "ndim", "size", "nbytes", "itemsize"):
        assert getattr(a, name) == getattr(x, name)
    with pytest.raises(ValueError, match="copy: got False"):
        np.asarray(a, copy=False)
    assert np.asarray(a, dtype="f4").dtype == np.float32


@pytest.mark.usefixtures("session", "far")
def test_gather_budget():
    x = np.arange(100.0)
    a = dnb.array(x)
    with setting(gather_budget=799):
        for use in (
            lambda: np.asarray(a),
            lambda: a.tolist(),
            lambda: np.array([a]),
            lambda: np.linalg.norm(np.asarray(a)),
        ):
            error = refused(use, dnb.GatherError, match=r"800 bytes.*at most 799.*to_numpy")
            assert isinstance(error, MemoryError)
        same(a[:99], x[:99])
        assert np.asarray(a[:99]).shape == (99,)
        np.testing.assert_array_equal(a.to_numpy(), x)
        assert float(a.sum()) == 4950
    np.testing.assert_array_equal(np.asarray(a), x)


def test_reprs_send_nothing_where_elements_are_not_shown(session, monkeypatch):
    monkeypatch.setattr(dnb.config, "show_wait", 0.0)
    a = dnb.array(numbered((20, 30)), dist=("block", "cyclic"))
    views = [a, a[3:, ::-2], a.T, a[2], a[1, 1, ...], np.broadcast_to(a[0], (4, 30)), a[:0]]
    session.flush()
    before = session.batches, session.recorder.recorded
    for v in views:
        assert str(v.shape) in repr(v)
        assert "float64" in repr(v)
        assert "<" in v._repr_html_()
        assert repr(v.layout)
        assert v.layout._repr_html_()
        assert sum(v.layout.elements()) >= v.size
    assert (session.batches, session.recorder.recorded) == before


# -- memory ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("engines_only")
def test_absurd_sizes(session):
    a = dnb.arange(5)
    gc.collect()
    session.flush()
    if session.handles.budget.room() is None:
        pytest.skip("the engines do not know how much memory they have")
    room = session.handles.budget.room()
    tall, wide = dnb.ones((1 << 20, 1)), dnb.ones((1, 1 << 20))
    for use in (
        lambda: dnb.ones((1 << 20, 1 << 20)),
        lambda: dnb.empty(1 << 50, "i1"),
        lambda: dnb.zeros((1 << 25, 1 << 25)),
        lambda: dnb.arange(1 << 50),
        lambda: dnb.random.default_rng(0).random((1 << 30, 1 << 20)),
        lambda: tall + wide,  # noqa: F821 - deleted only afterwards
    ):
        refused(use, MemoryError, match="array of shape")
    agree(lambda: np.empty((1 << 62, 4)), lambda: dnb.empty((1 << 62, 4)))
    del tall, wide
    gc.collect()  # exceptions keep what their frames hold
    session.flush()
    assert session.handles.budget.room() == room
    same(a + 1, np.arange(5) + 1)
    with setting(memory_share=0.0):
        refused(lambda: dnb.ones(10), MemoryError, match="raise dnb.config.memory_share")
        refused(lambda: a + 1, MemoryError)
    same(a, np.arange(5))


def test_what_could_not_be_sent_for_want_of_memory_is_sent_later(session, monkeypatch):
    def full(message):
        raise MemoryError

    with setting(place="engines", cutoff=0):
        a, x = dnb.zeros(7), np.zeros(7)
        session.flush()
        for n in range(3):
            for each in (a, x):
                each[n:] += np.arange(7.0)[n:]
            with monkeypatch.context() as patch:
                patch.setattr(connection, "encode", full)
                for _ in range(2):
                    with pytest.raises(MemoryError):
                        session.flush()
            x[n] = a[n] = 0.5
        same(a, x)


# -- layouts -----------------------------------------------------------------------------------


def test_wrong_layouts(session):
    p = session.size
    for shape, dist, grid in (
        (8, "blok", None),
        (8, 3, None),
        (8, ("block", "block"), None),
        (8, ("cyclic", 0), None),
        (8, ("cyclic", -2), None),
        (8, ("cyclic", "x"), None),
        (8, ("irregular", (0, 4)), None),
        (8, ("irregular", (1, 8)), None),
        (8, ("irregular", (0, 9, 8)), None),
        (8, ("irregular", (0, *range(1, p + 1), 8)), None),
        (8, ("engine", p), None),
        (8, ("engine", -1), None),
        (8, ("engine", "x"), None),
        (8, ("engine", True), None),
        (8, "block", p + 1),
        (8, "block", 0),
        (8, "block", (1, 1)),
        (8, "block", "x"),
        ((8, 8), ("block", "cyclic"), (p, 2)),
        ((8, 8), ("block", "cyclic"), (p,)),
        ((), "block", None),
        ((8, 8), ("block", "nonsense"), None),
        ((8, 8), ("block", object()), None),
        ((8, 8), Layout(Grid.of((p + 1,)), (Whole(), Whole()), (-1, -1)), None),
        ((8, 8), Layout(Grid.of((1,)), (Whole(),), (-1,)), None),
        ((8, 8), Layout(Grid.of((1,), p), (Whole(), Whole()), (-1, -1)), None),
    ):
        for use in (
            lambda shape=shape, dist=dist, grid=grid: dnb.zeros(shape, dist=dist, grid=grid),
            lambda shape=shape, dist=dist, grid=grid: dnb.array(
                np.zeros(shape), dist=dist, grid=grid
            ),
            lambda shape=shape, dist=dist, grid=grid: dnb.zeros(shape).redistribute(dist, grid),
        ):
            error = refused(use, dnb.LayoutError)
            assert isinstance(error, ValueError)
    session.flush()


def test_owner(session):
    a = dnb.zeros((6, 4), dist=("block", "*"))
    assert a.layout.owner(0, 0) == 0
    assert a[::-1].layout.owner(5, 3) == 0
    assert max(a.layout.owner(i, 0) for i in range(6)) < session.size
    for index in ((6, 0), (0,), (0, -1), (0, 0, 0)):
        refused(lambda index=index: a.layout.owner(*index), IndexError)


# -- other arguments ---------------------------------------------------------------------------


@pytest.mark.usefixtures("session")
def test_messages_say_what_to_do():
    a, b = dnb.zeros((3, 4)), dnb.zeros(5)
    for use, types in (
        (lambda: a + b, ValueError),
        (lambda: a.__setitem__(0, b), ValueError),
        (lambda: a[0, 0, 0], IndexError),
        (lambda: a["x"], IndexError),
        (lambda: a[1.5], IndexError),
        (lambda: a.transpose(0, 0), ValueError),
        (lambda: a.squeeze(0), ValueError),
        (lambda: a.astype("U4"), TypeError),
        (lambda: a.astype(object), TypeError),
        (lambda: np.broadcast_to(a, (2, 2)), ValueError),
        (lambda: np.add(a, a, out=[0.0]), TypeError),
        (lambda: np.add(a, a, out=b), ValueError),
        (lambda: np.add(a, a, where=a), TypeError),
        (lambda: np.packbits(a), TypeError),
        (lambda: bool(a), ValueError),
        (lambda: float(a), TypeError),
        (lambda: a.item(), ValueError),
        (lambda: dnb.zeros(-1), ValueError),
        (lambda: dnb.zeros(1.5), TypeError),
        (lambda: dnb.array(["a"]), TypeError),
        (lambda: dnb.array([object()]), TypeError),
        (lambda: np.sum(a, out=b), ValueError),
        (lambda: dnb.exp("x"), TypeError),
        (lambda: dnb.exp(a, a, a), (TypeError, ValueError)),
        (lambda: dnb.add(a), TypeError),
    ):
        refused(use, *(types if isinstance(types, tuple) else (types,)))
    same(a, np.zeros((3, 4)))


@pytest.mark.usefixtures("session")
def test_longdouble():
    """The widest floats either work or are refused at the call."""
    x = np.arange(4, dtype=np.longdouble) / 3
    try:
        a = dnb.array(x)
    except TypeError as error:
        assert FORM.match(str(error))
        return
    with no_warnings():
        same(a + x[2], x + x[2])
        same(a.sum(), x.sum())
        a[1] = x[3]
        a.fill(np.longdouble(1) / 7)
        same(a, np.full(4, np.longdouble(1) / 7))


def test_settings():
    with pytest.raises(AttributeError, match="setting: got 'gather_buget', expected one of"):
        dnb.config.gather_buget = 3
    with pytest.raises(ValueError, match="setting timeout: got -1, expected a number >= 0"):
        dnb.config.timeout = -1
    with pytest.raises((TypeError, ValueError)):
        dnb.config.flush_size = "many"


def test_engines_share_the_cores_of_their_node(session):
    about = session.transport.about
    if "threads" not in about[0]:
        pytest.skip("engines in this process use its threads")
    pools = "[p['num_threads'] for p in __import__('threadpoolctl').threadpool_info()]"
    allowed = max(1, len(os.sched_getaffinity(0)) // session.size)
    for engine, used in zip(about, on_engines(session, pools), strict=True):
        assert engine["threads"] <= allowed
        assert used
        assert max(used) <= allowed


@pytest.mark.parametrize("size", [1, 2, 3])
def test_an_element_whose_copy_fills_a_batch_goes_before_a_new_array(session, size):
    with setting(place="engines", cutoff=0, flush_size=size):
        x = dnb.arange(1000.0)
        session.flush()
        e = x[7]
        y = dnb.array(np.arange(100.0), dist="cyclic")  # its parts go with its command
        np.testing.assert_array_equal(y.to_numpy(), np.arange(100.0))
        assert float(e) == 7


def test_of_windows_only_those_that_are_used_go_to_engines(session, monkeypatch):
    sent = []
    from_host = conversion.from_host

    def noted(session, data, layout):
        sent.append(data.nbytes)
        return from_host(session, data, layout)

    monkeypatch.setattr(conversion, "from_host", noted)
    a = np.arange(20_000.0)
    with setting(cutoff=1 << 20):
        x = dnb.array(a)
        some = dnb.lib.stride_tricks.sliding_window_view(x, 400)[::50]
        with setting(place="engines"):
            found = some + dnb.zeros(some.shape, dist="block")
            np.testing.assert_array_equal(
                found.to_numpy(), np.lib.stride_tricks.sliding_window_view(a, 400)[::50]
            )
    assert max(sent, default=0) <= some.nbytes


@pytest.mark.usefixtures("far")
def test_a_lost_array_tells_what_failed(session):
    a = dnb.ones((7, 4))
    bad = dnb.map(lambda x: 1 / 0, a, dtype=float)
    with pytest.raises(ZeroDivisionError):
        bad.sum().item()
    for read in (lambda: bad[0, 0].item(), lambda: bad.to_numpy()):
        with pytest.raises(dnb.LostArrayError, match=r"\(7, 4\).*map.*ZeroDivisionError, recorded"):
            read()
