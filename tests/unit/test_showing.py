"""What an array shows: its elements as NumPy prints them, and never an exception or a long wait."""

import dataclasses
import pickle
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import distnb as dnb
from distnb.client.array.showing import shown
from distnb.client.handle.glimpse import Asked
from tests.unit.pages import parse
from tests.waiting import until

pytestmark = pytest.mark.tier("test")


@pytest.fixture
def session(monkeypatch):
    """Three engines of this process, which hold and compute all; elements may take their time."""
    for name, value in {"cutoff": 0, "place": "engines", "show_wait": 60.0}.items():
        monkeypatch.setattr(dnb.config, name, value)
    with dnb.inprocess(3) as found:
        yield found


@pytest.fixture
def busy(session, monkeypatch):
    """An event: engines seem to have done nothing before it is set."""
    free, done = threading.Event(), session.transport.done
    monkeypatch.setattr(session.transport, "done", lambda ticket: free.is_set() and done(ticket))
    yield free
    free.set()


def lines(a):
    """Return the elements that a repr shows, and its line of facts."""
    values, _, facts = repr(a).rpartition("\n")
    return values, facts


@pytest.mark.parametrize(
    "shape", [(), (0,), (7,), (100_000,), (40, 50), (2000, 3), (3, 2, 400), (30, 30, 30), (2, 0, 5)]
)
@pytest.mark.parametrize("dtype", ["f8", "?", "c16"])
@pytest.mark.parametrize("dist", ["block", "cyclic", "replicated"])
@pytest.mark.usefixtures("session")
def test_elements_come_as_numpy_prints_them(shape, dtype, dist):
    x = (np.arange(np.prod(shape)).reshape(shape) * 1.5 - 7).astype(dtype)
    a = dnb.array(x, dist=dist if shape else None)
    values, facts = lines(a)
    assert facts.startswith(f"{shape} {np.dtype(dtype)}, ")
    with np.printoptions(threshold=0):  # those of a screen may be fewer than NumPy's
        short = {np.array2string(x, threshold=0, edgeitems=n) for n in (1, 2, 3)}
    assert values in {*short, str(x)}
    assert values.count("\n") < 24
    page = "".join(parse(a._repr_html_()).itertext())
    assert values in page
    assert facts in page


@pytest.mark.usefixtures("session")
def test_views_show_their_own_elements_and_their_place():
    x = np.arange(6000.0).reshape(60, 100)
    a = dnb.array(x, dist=("block", "cyclic"))
    view = a[50:2:-3, 7:].T
    with np.printoptions(threshold=0):
        assert lines(view)[0] == str(x[50:2:-3, 7:].T)
    assert "transpose of rows 50:4:-3, columns 7:100 of base (60, 100)" in lines(view)[1]


def test_engines_that_have_nothing_of_a_view_are_told_of_below_its_picture():
    with dnb.inprocess(3) as session:
        x = dnb.arange(30, dist="cyclic", session=session)
        missing = "engines that hold it; nothing of the view on engines 1-2</small>"
        assert missing in x[::3]._repr_html_()
        assert "nothing" not in x._repr_html_()


@pytest.mark.usefixtures("session")
def test_a_result_shows_its_number():
    a = dnb.arange(10.0)
    assert repr([a.mean(), a[3]]) == "[np.float64(4.5), np.float64(3.0)]"  # as NumPy's scalars
    assert lines(dnb.array(4.5)) == ("4.5", "() float64, 8 B, a copy on each of 3 engines")


def test_edges_come_in_one_batch(session):
    a = dnb.ones((30, 40, 50, 60), dist=("*", "block"))
    session.flush()
    before = session.batches
    assert "..." in repr(a)
    assert session.batches == before + 1
    a._repr_mimebundle_()
    assert session.batches == before + 2  # once for text and page


def test_no_engine_is_asked_where_nothing_is_to_be_shown(session, monkeypatch):
    a = dnb.ones((30, 40))
    session.flush()
    monkeypatch.setattr(dnb.config, "show_wait", 0.0)
    before = session.batches, session.recorded
    assert repr(a) == "<DistArray (30, 40) float64, block x * on 3 engines, 9.6 kB>"
    parse(a._repr_html_())
    assert (session.batches, session.recorded) == before


def test_what_is_being_computed_is_said_and_nothing_is_sent_twice(session, busy, monkeypatch):
    monkeypatch.setattr(dnb.config, "show_wait", 0.05)
    a = dnb.ones((30, 40)) + 1
    text = repr([a, a + 1, a + 2])
    assert text.count("being computed") == 3
    assert "still computing" in "".join(parse(a._repr_html_()).itertext())
    for _ in range(40):  # more than may be on their way: none of them waits for room
        repr(a)
    assert not session.replies.values  # what nobody waits for is not kept
    busy.set()
    session.flush()
    monkeypatch.setattr(dnb.config, "show_wait", 60.0)
    assert repr(a).startswith("[[2. 2. 2.")


def test_elements_that_come_later_are_those_of_then(session, busy):
    a = dnb.zeros(6)
    found = shown(a, 0.01)
    assert found.missing == "being computed"
    a += 1
    session.send()
    assert found.later() is None
    busy.set()
    assert until(found.later).values == "[0. 0. 0. 0. 0. 0.]"


def test_a_notebook_shows_them_when_they_come(session, busy, monkeypatch):
    outputs = []

    def display(bundle, **_):
        outputs.append(bundle)
        return SimpleNamespace(update=lambda bundle, **_: outputs.append(bundle))

    shell = SimpleNamespace(kernel=object(), display_pub=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    a = dnb.arange(4)
    a._ipython_display_()
    assert "being computed" in outputs[0]["text/plain"]
    busy.set()
    until(lambda: len(outputs) == 2)
    assert (
        outputs[1]["text/plain"] == "[0 1 2 3]\n(4,) int64, 32 B, elements in blocks on 3 engines"
    )
    assert "[0 1 2 3]" in outputs[1]["text/html"]
    session.flush()
    with pytest.raises(NotImplementedError):  # at once: the other forms will do
        a._ipython_display_()


def test_an_error_of_the_engines_is_left_to_who_uses_the_session(session):
    good, bad = dnb.arange(6), dnb.arange(-3, 3)
    session.flush()
    lost = good**bad
    assert "reported an error" in repr(lost)
    assert "content lost" in repr(lost)
    assert repr(good).startswith("<DistArray (6,) int64")
    parse(good._repr_html_())
    with pytest.raises(ValueError, match="negative integer powers"):
        good + 1
    assert "content lost" in repr(lost)
    assert repr(good).startswith("[0 1 2 3 4 5]")


def test_elements_that_have_come_are_shown_whoever_sends_just_then(session, monkeypatch):
    """The idle timer has the lock for a moment, at any time."""
    a = dnb.arange(4) + 1
    lock, come = session.recorder.lock, Asked.come

    def then_busy(self, seconds):
        found = come(self, seconds)
        patch.setattr(session.recorder, "lock", Busy())
        return found

    class Busy:
        def acquire(self, blocking=True):
            return False

        release = staticmethod(lock.release)

    with monkeypatch.context() as patch:
        patch.setattr(Asked, "come", then_busy)
        assert shown(a).values == "[1 2 3 4]"


def test_no_thread_and_no_debugger_is_kept_waiting(session):
    a = dnb.arange(4)
    session.flush()
    found = []
    other = threading.Thread(target=lambda: found.append(repr(a)))
    other.start()
    other.join()
    assert found[0].startswith("[0 1 2 3]")  # as callbacks of widgets show it
    with session.recorder.lock:  # a debugger stands in the middle of a step
        assert "in use" in repr(a)
    held, over = threading.Event(), threading.Event()

    def hold():
        with session.recorder.lock:
            held.set()
            over.wait()

    other = threading.Thread(target=hold)
    other.start()
    held.wait()
    assert "another thread" in repr(a)
    over.set()
    other.join()
    assert repr(a).startswith("[0 1 2 3]")


def test_errors_that_are_raised_at_once_change_nothing(session):
    with np.errstate(all="raise"):
        assert repr(dnb.arange(4)).startswith("[0 1 2 3]")
    session.flush()


def test_closed_sessions_and_many_axes(session):
    many = dnb.ones((7,) * 9, dtype="i1")
    assert "too many axes" in repr(many)
    many._repr_html_()
    session.close()
    for a in (many, many[0], many.T):
        assert "closed session" in repr(a)
        assert "session is closed" in a._repr_html_()


@pytest.mark.usefixtures("session")
def test_no_line_is_named_of_what_a_librarys_thread_gathers(capsys):
    """Such as the one that sends what an executor gives to its processes."""
    a = dnb.ones(200_000)
    sending = threading.Thread(target=pickle.dumps, args=(a,))
    sending.start()
    sending.join()
    assert "1.6 MB gathered to the notebook; .to_numpy()" in capsys.readouterr().err


@pytest.mark.usefixtures("session")
def test_a_gather_that_nobody_asked_for_is_said_once_a_cell(capsys):
    a, small = dnb.ones(200_000), dnb.ones(1000)
    for _ in range(3):
        np.asarray(a)
        np.array(a)
    said = capsys.readouterr().err
    assert said.count("\n") == 2
    assert "1.6 MB gathered to the notebook by test_showing.py line" in said
    assert "np.asarray(a); .to_numpy() does so without this line" in said
    np.asarray(small), a.to_numpy(), repr(a)
    assert capsys.readouterr().err == ""


def test_settings_are_shown_one_a_line_with_the_defaults_of_those_that_were_changed():
    shown = repr(dnb.Config(cutoff=7, place="engines"))
    lines = shown.splitlines()
    assert len(lines) == len(dataclasses.fields(dnb.Config)) + 2
    assert "    cutoff=7,  # by default 1048576" in lines
    assert "    place='engines',  # by default 'auto'" in lines
    assert "    fuse=1," in lines
    assert max(map(len, lines)) < 80
    assert eval(shown, {"Config": dnb.Config}) == dnb.Config(cutoff=7, place="engines")
