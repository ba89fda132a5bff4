"""Two sessions are never a trap: a cell that starts engines can run twice."""

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import distnb as dnb
from distnb.client.session import current, progress
from distnb.client.transport.inprocess import InProcess
from distnb.widgets.status.status import Status
from tests.waiting import until

pytestmark = pytest.mark.tier("test")


@pytest.fixture
def started(monkeypatch):
    """How many engines were started, in this process instead of others; nothing else is open."""
    found = []

    def start_engines(n, mpiexec=None, timeout=60.0):
        found.append(n)
        return SimpleNamespace(client=n, stop=lambda: None)

    def connect_client(profile, cluster_id, client, timeout):
        return client or 2

    launch = SimpleNamespace(start_engines=start_engines)
    joining = SimpleNamespace(connect_client=connect_client, Joined=lambda client, again: None)
    monkeypatch.setattr(current, "_launch", lambda: launch)
    monkeypatch.setattr(current, "_joining", lambda: joining)
    monkeypatch.setattr(current, "_reach", lambda n, source=None: InProcess(n))
    monkeypatch.setattr(current, "_CURRENT", [])
    monkeypatch.setattr(current, "cores", lambda: 2)
    monkeypatch.setattr(dnb.config, "cutoff", 0)
    yield found
    for session in current.open_sessions():
        session.close()


def test_the_same_again_is_the_same_session(started, capsys):
    first = dnb.start(2)
    a = dnb.arange(6, dist="block")
    assert capsys.readouterr().out == ""
    for again in (dnb.start(2), dnb.start(), dnb.start(n=2)):
        assert again is first
    assert started == [2]
    assert float((a + dnb.ones(6)).sum()) == 21
    out = capsys.readouterr().out
    assert "2 engines run already, with 1 array of 48 B; " in out
    assert "dnb.start(2, beside=True) makes another" in out


def test_a_long_start_is_told_of_while_it_lasts(started, monkeypatch):
    texts = []
    place = SimpleNamespace(show=texts.append, clear=lambda: texts.append(""))
    monkeypatch.setattr(progress, "surface", lambda: place)
    dnb.start(2)
    assert texts == []
    launch, start = current._launch(), current._launch().start_engines
    monkeypatch.setattr(dnb.config, "progress", 1e-9)
    monkeypatch.setattr(launch, "start_engines", lambda n, **o: until(lambda: texts) and start(n))
    dnb.start(3)
    assert texts[0].startswith("distnb: starting 3 engines, 0.")
    assert texts[-1] == ""


def test_beside_is_yes_or_no(started):
    with pytest.raises(TypeError, match=r"beside: got 'x', expected True or False"):
        dnb.start(2, beside="x")
    assert started == []


def test_what_cannot_be_started_leaves_what_there_is(started, monkeypatch):
    first = dnb.start(2)
    a = dnb.arange(6, dist="block")

    def fails(n, **options):
        raise dnb.EngineError("no")

    monkeypatch.setattr(current, "_launch", lambda: SimpleNamespace(start_engines=fails))
    with pytest.raises(dnb.EngineError, match="no"):
        dnb.start(3)
    with pytest.raises(ValueError, match="n: got 1000000, which take"):
        dnb.start(1_000_000)
    with pytest.raises(TypeError, match="timeout: got 'x', expected seconds"):
        dnb.start(3, timeout="x")
    assert not first.closed
    assert a.sum().item() == 15


@pytest.mark.parametrize(("n", "error"), [(0, ValueError), (True, TypeError), ("2", TypeError)])
def test_wrong_numbers_of_engines_name_the_argument(started, n, error):
    for make in (dnb.start, dnb.inprocess):
        with pytest.raises(error, match=rf"^n: got {n!r}, expected an integer >= 1; pass n=1$"):
            make(n)
        with pytest.raises(dnb.EngineError):
            make(n)
    with dnb.inprocess(3):
        said = f"^engines: got {n!r}, expected an integer from 1 to 3; pass engines="
        with pytest.raises(error, match=said):
            dnb.subset(n)
    assert started == []


def test_engines_in_this_process_stay_as_many():
    with dnb.inprocess(2) as session:
        a = dnb.ones(6)
        session.resize(2)
        for wrong, error in ((0, ValueError), (True, TypeError), ("3", TypeError)):
            with pytest.raises(error, match="expected an integer >= 1"):
                session.resize(wrong)
        with pytest.raises(dnb.SessionError, match=r"in this process.*dnb\.start"):
            session.resize(3)
        assert float(a.sum()) == 6
    with pytest.raises(dnb.SessionError, match="closed"):
        session.resize(2)


def test_other_engines_replace_those_before_and_say_so(started, capsys):
    first = dnb.start(2)
    a = dnb.ones((1000, 1000), dist="block")
    second = dnb.start(1)
    assert first.closed
    assert dnb.session() is second
    assert started == [2, 1]
    out = capsys.readouterr().out
    assert "and its arrays (1 array of 8 MB) cannot be used any more" in out
    assert "closed session" in repr(a)
    with pytest.raises(dnb.SessionError):
        a + 1


def test_beside_keeps_both(started, capsys):
    first, second = dnb.start(2), dnb.start(2, beside=True)
    assert first is not second
    assert not first.closed
    assert started == [2, 2]
    assert capsys.readouterr().out == ""


def test_what_is_refused_closes_nothing(started):
    first = dnb.start(2)
    for bad, kind in ((0, ValueError), ("x", TypeError), (True, TypeError)):
        with pytest.raises(kind):
            dnb.start(bad)
    assert not first.closed
    assert started == [2]


def test_a_block_within_a_block_leaves_the_outer_one_open(started):
    with dnb.start(2) as outer:
        with dnb.start(2) as inner:
            assert inner is outer
        assert not outer.closed
        dnb.ones(4)
    assert outer.closed
    again = dnb.start(2)
    assert again is not outer


def test_dead_engines_are_not_taken_again(started, capsys):
    first = dnb.start(2)
    first.connection.dead = "gone"
    second = dnb.start(2)
    assert second is not first
    assert first.closed
    assert "its engines are gone" in capsys.readouterr().out


def test_a_cluster_has_one_session_unless_a_client_is_given(started, capsys):
    first = dnb.connect("mpi")
    assert dnb.connect("mpi") is first
    assert dnb.connect() is not first
    assert dnb.connect(client=3) is not dnb.connect(client=3)
    assert not first.closed
    assert "2 engines run already" in capsys.readouterr().out


def test_more_engines_than_cores_are_told_of(started, capsys):
    dnb.start(8)
    assert "8 engines share 2 cores" in capsys.readouterr().err


def test_the_status_lists_all(started):
    first, second = dnb.start(2), dnb.start(1, beside=True)
    status = Status(second, [first])
    assert "also open: <distnb session: 2 engines" in repr(status)
    assert "also open" in status._repr_html_()


def test_arrays_count_wherever_they_live(started, capsys, monkeypatch):
    """On engines, in shared memory, in the notebook; those that share memory once."""
    monkeypatch.setattr(dnb.config, "cutoff", 1 << 20)
    first = dnb.start(2)
    shared = dnb.ones(10**6)
    kept = [shared[::2], shared.reshape(1000, 1000), shared + 1, dnb.zeros((500, 1000))]
    kept += [dnb.ones(9), dnb.zeros((4, 5), dist="block")]
    assert f"{dnb.session()!r}, with 5 arrays of 20 MB;" in repr(Status(first, [first]))
    dnb.start(3)
    told = "its arrays (5 arrays of 20 MB) cannot be used any more"
    assert told in capsys.readouterr().out
    for x in kept:
        with pytest.raises(dnb.SessionError):
            x + 1


def test_parts_on_engines_are_assigned_by_their_name(started):
    """As by ``%px A.local += 1``, which writes, and then assigns what it has written."""
    data = np.arange(14.0).reshape(7, 2)
    with dnb.inprocess(3) as session:
        a = dnb.array(data, dist="block")
        cyclic = dnb.array(data, dist=(("cyclic", 2), "*"))[1:]
        assert (a.sum(), cyclic.sum()) == (91, 90)
        for worker in session.transport.workers:
            part = worker.local(a.operand)
            part.local += 1
            part.local = part.local * 2
            with pytest.raises(ValueError, match="could not broadcast"):
                part.local = np.ones(7)
        assert (a.to_numpy() == (data + 1) * 2).all()
        for worker in session.transport.workers:
            worker.local(cyclic.operand).local = 5
        assert (cyclic.to_numpy() == 5).all()


def _received(x):
    """Return what a worker finds: the type of what it was handed, its sum, engines and where."""
    sessions = [(type(each.transport).__name__, each.size) for each in current.open_sessions()]
    return type(x), x.sum().item(), sessions


@pytest.mark.parametrize("cutoff", [0, 1 << 16])
def test_a_worker_that_is_handed_arrays_starts_no_engines(cutoff, monkeypatch):
    monkeypatch.setattr(dnb.config, "cutoff", cutoff)
    # IPython, which other tests run in this process, leaves one that cannot be spawned.
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    context = multiprocessing.get_context("spawn")
    with dnb.inprocess(2), ProcessPoolExecutor(1, context) as workers:
        x = dnb.arange(12.0).reshape(3, 4)
        for each in (x, x[:, ::2], dnb.sparse.csr_array(x)):
            kind, total, sessions = workers.submit(_received, each).result()
            assert (kind, total) == (type(each), each.sum().item())
            assert sessions == [("InProcess", 1)]


def test_who_asks_for_arrays_starts_no_engines(monkeypatch):
    monkeypatch.setattr(current, "_CURRENT", [])
    monkeypatch.setattr(current, "_launch", None)
    assert dnb.arrays() == ()
    assert repr(dnb.arrays()).startswith("no arrays with names")
