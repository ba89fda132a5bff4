"""What engines say while they work: accounts that are whole, channels that close, pictures that are safe."""

import contextlib
import threading
import time
import xml.etree.ElementTree as ET
from functools import partial
from itertools import pairwise

import pytest
import zmq
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.interactiveshell import InteractiveShell

import distnb as dnb
from distnb.client.reports.referrers import Referred, arrays_of, drop
from distnb.client.session import progress
from distnb.client.transport.monitor import MonitorClient
from distnb.engines.files import writing
from distnb.engines.server.monitor import MonitorServer
from distnb.formats import boxes
from distnb.formats.plain import PlainWriter
from distnb.geometry.layout import make_layout
from distnb.measure import events
from distnb.measure.events import (
    CLASSES,
    COMPUTE,
    IDLE,
    Account,
    Clock,
)
from distnb.measure.snapshot import (
    SILENT,
    Engine,
    Live,
    Sample,
)
from distnb.widgets.status import dashboard_view as pictures
from distnb.widgets.status.dashboard import Dashboard
from distnb.widgets.status.dashboard_view import Cell, Scene
from distnb.widgets.times.timeline import Timeline
from tests.reports import synthetic
from tests.unit.pages import parse
from tests.waiting import until

NAME = "distnb"


def threads():
    """Return distnb's threads, but for those that send what was left idle."""
    return {t for t in threading.enumerate() if t.name.startswith(NAME) and "flush" not in t.name}


@pytest.fixture(autouse=True)
def nothing_is_left():
    before = threads()  # some of another module's may be about to end
    yield
    assert not threads() - before


@pytest.fixture
def session(monkeypatch):
    monkeypatch.setattr(dnb.config, "cutoff", 0)
    with dnb.inprocess(2) as session:
        yield session


@pytest.fixture
def shell():
    shell = InteractiveShell.instance()
    yield shell
    shell.user_ns.clear()
    InteractiveShell.clear_instance()


@contextlib.contextmanager
def waiting(session, event):
    """Let each command of engine 0 wait for something: a call that returns when it has come."""
    executor = session.transport.workers[0].executor
    executor.fault = lambda _: event()
    try:
        yield
    finally:
        executor.fault = None


# The account


def test_a_look_adds_up_while_another_thread_books():
    clock, stop = Clock(), threading.Event()

    def work():
        while not stop.is_set():
            for c in range(len(CLASSES)):
                clock.switch(c)

    worker = threading.Thread(target=work)
    worker.start()
    looks = [clock.peek() for _ in range(2000)]
    stop.set()
    worker.join()
    for a, b in pairwise(looks):
        assert sum(b.spent) - sum(a.spent) == b.now - a.now
        assert b.now > a.now
    assert sum(looks[-1].spent) == looks[-1].now - clock.origin


def test_a_look_counts_what_goes_on(monkeypatch):
    now = iter(range(0, 10**9, 10**7))
    monkeypatch.setattr(events, "perf_counter_ns", lambda: next(now))
    clock = Clock()
    clock.switch(COMPUTE)
    assert clock.peek().spent[COMPUTE] == 10**7
    assert clock.spent[COMPUTE] == 0  # nothing was booked


# A session


def test_a_batch_is_seen_moving(session):
    x = dnb.zeros(8)
    session.flush()
    seen, turns = [], threading.Semaphore(0)
    with waiting(session, turns.acquire):
        for _ in range(10):
            x[...] = x[::-1].copy() + 1  # not one group
        flush = threading.Thread(target=session.flush)
        flush.start()
        while flush.is_alive():
            live = session.live()
            seen.append(live)
            turns.release()
            until(lambda live=live: session.live(60).engines[0] != live.engines[0])
        flush.join()
    first = [live.engines[0] for live in seen]
    lefts = [engine.left for engine in first]
    lefts = lefts[lefts.index(max(lefts)) :]  # a look may come before the batch leaves
    assert lefts == sorted(lefts, reverse=True)
    assert len(set(lefts)) > 5
    assert any("x[...] = x[::-1]" in engine.running for engine in first)
    ended = session.live()
    assert (ended.left, ended.running, ended.slowest) == (0, "", None)
    assert ended.recorded == session.recorded
    assert x.to_numpy().tolist() == [10.0] * 8


def test_what_an_engine_holds_is_counted(session):
    x = dnb.zeros(1 << 16)
    session.flush()
    assert [e.sample.held for e in session.live(60).engines] == [1 << 18] * 2
    del x
    dnb.zeros(1)
    session.flush()
    assert all(e.sample.held < 100 for e in session.live(60).engines)
    assert all(e.sample.pooled == 1 << 18 for e in session.live(60).engines)
    assert all(e.sample.resident > 1 << 20 for e in session.live(60).engines)


def test_a_closed_session_cannot_be_asked(session):
    session.close()
    with pytest.raises(dnb.SessionError):
        session.live()


# The monitor channel


@pytest.fixture
def keys():
    return zmq.curve_keypair()


@contextlib.contextmanager
def monitor_channel(keys, answer, client_keys=None):
    """Both ends of a monitor channel; what ``answer(session)`` returns stands for a sample."""
    public, secret = zmq.curve_keypair()
    engine = MonitorServer(answer, keys[0].decode(), "", secret)
    with zmq.Context() as context:
        client = MonitorClient(context, [(engine.place, public.decode())], client_keys or keys)
        try:
            yield client
        finally:
            client.close()
            engine.close()


def test_an_engine_answers_each_session(keys):
    with monitor_channel(keys, lambda session, stop: f"at {session}") as channel:
        assert channel.ask("a", 1, 200.0) == [("at a", 0.0)]
        assert channel.ask("b", 1, 200.0) == [("at b", 0.0)]
        assert channel.ask("b", 0, 200.0) == []
        channel.forget("b")


def test_a_stranger_gets_no_answer(keys):
    with monitor_channel(keys, lambda session, stop: "secret", zmq.curve_keypair()) as channel:
        (heard,) = channel.ask("a", 1, 0.2)
        assert heard.sample is None
        assert heard.silence > 0.1


def test_a_silent_engine_is_not_waited_for_again(keys, monkeypatch):
    monkeypatch.setattr("distnb.client.transport.monitor.SILENT", 0.1)
    free = threading.Event()

    def answer(session, stop):
        free.wait()
        return "late"

    with monitor_channel(keys, answer) as channel:
        assert channel.ask("a", 1, 0.15)[0].sample is None
        for _ in range(20):  # more questions than may wait
            (heard,) = channel.ask("a", 1, 1000.0)  # longer than the watchdog
        assert heard.silence > 0.1
        free.set()
        until(lambda: channel.ask("a", 1, 0.5) == [("late", 0.0)])


def test_a_session_that_is_gone_is_nothing(keys):
    def answer(session, stop):
        raise KeyError(session)

    with monitor_channel(keys, answer) as channel:
        assert channel.ask("a", 1, 200.0) == [(None, 0.0)]


def test_a_question_that_is_none_leaves_the_channel_as_it_was(keys):
    with monitor_channel(keys, lambda session, stop: f"at {session}") as channel:
        (line,) = channel._lines
        line.socket.send_multipart([b"1 0 a", b"1 0 b"])
        line.socket.send(b"\xff")
        line.socket.send(b"")
        for _ in range(3):
            assert line.socket.poll(60_000)
            line.socket.recv_multipart()
        assert channel.ask("a", 1, 200.0) == [("at a", 0.0)]


# Progress


class Surface:
    """Notes what is shown."""

    cell = 0

    def __init__(self):
        self.texts = []
        self.shown = False

    def show(self, text):
        self.texts.append(text)
        self.shown = True

    def clear(self):
        self.shown = False


def waited(session, monkeypatch, after, pause):
    """Wait for some commands, each after a pause; return what was shown."""
    monkeypatch.setattr(progress, "_PAUSE", 0.02)
    monkeypatch.setattr(dnb.config, "progress", after)
    surface = session.progress.surface = Surface()
    with waiting(session, lambda: pause(surface)):
        x = dnb.zeros(8)
        for _ in range(10):
            x[...] = x[::-1].copy() + 1
        x.to_numpy()
    assert not surface.shown
    return surface.texts


def test_a_long_wait_shows_how_far_engines_are(session, monkeypatch):
    def until_shown(surface):
        before = len(surface.texts)
        until(lambda: len(surface.texts) > before)

    texts = waited(session, monkeypatch, 0.05, until_shown)
    done = [int(text.split()[1]) for text in texts]
    assert len(set(done)) > 3
    assert done == sorted(done)
    assert len({text.split()[3] for text in texts}) == 1  # of so many
    assert any("x[...] = x[::-1]" in text for text in texts)


def test_a_long_wait_for_a_file_shows_its_bytes(session, monkeypatch, tmp_path):
    monkeypatch.setattr(progress, "_PAUSE", 0.005)
    monkeypatch.setattr(dnb.config, "progress", 1e-9)
    monkeypatch.setattr(writing, "pieces", partial(boxes.pieces, most=64))
    surface = session.progress.surface = Surface()
    number, first = dnb.ones(3000), PlainWriter.write

    def write(writer, box, data):
        before = len(surface.texts)
        first(writer, box, data)
        until(lambda: len(surface.texts) > before)

    monkeypatch.setattr(PlainWriter, "write", write)
    dnb.save(tmp_path / "x.npy", number[:60])
    assert any("B of 480 B" in text and "B/s" in text for text in surface.texts)


@pytest.mark.parametrize("after", [1000.0, 0.0])
def test_a_short_wait_shows_nothing(session, monkeypatch, after):
    assert waited(session, monkeypatch, after, lambda surface: time.sleep(0.02)) == []


def test_waits_of_several_cells_are_not_one(session, monkeypatch):
    """Cells that are run at once, one after the other: each counts its own commands."""
    monkeypatch.setattr(progress, "_GAP", 1000.0)
    follows, clock = session.progress, OwnClock()
    monkeypatch.setattr(progress, "time", clock)
    surface = follows.surface = Surface()
    monkeypatch.setattr(follows, "_armed", threading.Event())
    follows._armed.set()
    begins = []
    for cell in (1, 1, 2, 3):
        surface.cell = cell
        clock.now += 5
        follows.begin()
        begins.append(follows._since)
        follows.end(clear=False)
    follows.surface = None
    assert begins == [5, 5, 15, 20]


class OwnClock:
    """A clock that the test owns."""

    now = 0.0

    def monotonic(self):
        return self.now


def test_nothing_follows_waits_that_nobody_would_see(session):
    assert session.progress.surface is None
    dnb.ones(10).to_numpy()
    assert "distnb-progress" not in {t.name for t in threads()}


def test_a_wait_goes_on_without_room_for_a_thread(session, monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    session.progress.surface = Surface()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        assert dnb.ones(10).sum().item() == 10
    assert session.progress._thread is None
    assert dnb.ones(10).sum().item() == 10
    assert session.progress._thread is not None  # there is room again


def test_a_terminal_has_one_line(monkeypatch):
    written = []

    class Stream:
        write = written.append

        def flush(self):
            pass

    monkeypatch.setenv("COLUMNS", "10")
    terminal = progress.Terminal(Stream())
    terminal.show("a line that is long")
    terminal.clear()
    assert written == ["\r\x1b[Ka line th", "\r\x1b[K"]


# What keeps arrays


def test_names_and_outputs_of_arrays_are_found_and_dropped(shell, session, monkeypatch):
    monkeypatch.delattr("builtins._", raising=False)  # gettext's: IPython leaves its own out then
    run = shell.run_cell
    shell.user_ns["dnb"] = dnb
    run("a = dnb.ones((30, 4))", store_history=True)
    run("b = a[1:]; c = [dnb.zeros(5)]", store_history=True)
    run("a", store_history=True)
    first, second = arrays_of(session, shell)
    assert first.names == ("a", "b (view)")
    assert set(first.referrers) >= {"Out[3]", "_"}
    assert (first.shape, first.dtype, first.nbytes) == ((30, 4), "float64", 960)
    assert "a = dnb.ones((30, 4))" in first.line
    assert (second.names, second.referrers, second.label) == ((), ("c[0]",), "c[0]")
    assert (first.can_drop, second.can_drop) == (True, False)
    assert drop(shell, first.key)
    assert "a" not in shell.user_ns
    assert [x.shape for x in arrays_of(session, shell)] == [(5,)]
    assert not drop(shell, second.key)  # the list keeps it
    run("del c", store_history=True)
    assert drop(shell, second.key)  # again: it is gone
    assert arrays_of(session, shell) == []


# Pictures


def sample(rank=0, **changes):
    spent = tuple((rank + 1) * 10**8 * (c + 1) for c in range(len(CLASSES)))
    account = Account(sum(spent), spent, 3, 80)
    return Sample(account, 10**9, 3, 4, (), 10**6, 10**5, 10**8, 10**9, 20)._replace(**changes)


def engine(rank=0, **changes):
    return Engine(rank, True, 0.0, 4, "sort (cell 3 line 1: x.sort())", sample(rank))._replace(
        **changes
    )


def about(rank, host="node"):
    return {
        "rank": rank,
        "pid": 1000 + rank,
        "host": host,
        "memory": 10**9,
        "cores": 4,
        "threads": 1,
        "mpi": "MPICH 4.3",
        "numpy": "2.3.1",
    }


LAYOUT = make_layout((1000, 10), 3, ("irregular", (0, 100, 900, 1000)))


@pytest.mark.parametrize(
    ("filed", "line"),
    [
        (((7, 40, 100), (7, 60, 100)), "[##########..........] 100 B of 200 B, 5 B/s, 4.0 s"),
        # who is done waits for the others; who was at another file has no part of this one
        (((7, 50, 50), (6, 99, 99), (7, 25, 50)), "[###############.....] 75 B of 100 B, 5 B/s"),
        (((7, 40, 0), (7, 60, 0)), "100 B, 5 B/s, 4.0 s"),  # how many there are nobody knows
        (((7, 50, 50), (7, 60, 60)), "16 of 20 commands, 4.0 s"),  # they are at something else
        (((0, 0, 0), (0, 0, 0)), "16 of 20 commands, 4.0 s"),
    ],
)
def test_the_line_tells_the_bytes_of_files(filed, line):
    engines = [engine(r)._replace(sample=sample(r, filed=f)) for r, f in enumerate(filed)]
    found = progress.line_of(Live("here", tuple(engines), 20, 0), 0, 4.0, 5.0)
    assert found.startswith(f"distnb: {line}")
    assert found.endswith("sort (cell 3 line 1: x.sort())")


def array(i=0, **changes):
    found = Referred(
        None, (f"x{i}",), ("Out[3].a", "Out[3].b"), (1000, 10), "float64", LAYOUT, 80000, "cell", 0
    )
    return found._replace(**changes)


def scene(engines=3, arrays=2, running=True, **changes):
    live = Live("direct sockets", tuple(engine(r) for r in range(engines)), 100, 0)
    start = Live(
        "direct sockets",
        tuple(
            e._replace(sample=sample(e.rank, account=Account(0, (0,) * 5, 0, 0), cpu=0))
            for e in live.engines
        ),
        80,
        0,
    )
    cell = Cell(7, 4.2, start, None if running else live)
    found = Scene(live, [about(r) for r in range(engines)], cell, [array(i) for i in range(arrays)])
    return found._replace(**changes)


def parsed(html):
    """Return the tree of a page, which must be well formed, without its stylesheet."""
    root = ET.fromstring(html)
    for parent in list(root.iter()):
        for style in parent.findall("style"):
            parent.remove(style)
    return root


def texts(scene):
    """Return the words of the page and of the text."""
    return " ".join(parsed(pictures.page(scene)).itertext()), pictures.text(scene)


@given(
    st.integers(1, 200),
    st.integers(0, 100),
    st.booleans(),
    st.lists(st.sampled_from(["dead", "silent", "unknown", "behind"]), max_size=5),
)
def test_pages_are_small_well_formed_and_say_the_same_as_the_text(engines, arrays, running, odd):
    found = scene(engines, arrays, running)
    changes = {
        "dead": {"alive": False},
        "silent": {"silence": SILENT},
        "unknown": {"sample": None},
        "behind": {"left": 9},
    }
    rows = list(found.live.engines)
    for rank, what in enumerate(odd[:engines]):
        rows[-rank - 1] = rows[-rank - 1]._replace(**changes[what])
    found = found._replace(live=found.live._replace(engines=tuple(rows)))
    page = pictures.page(found)
    parse(page, 10_000)
    assert parsed(pictures.stored(found))[1].tag == "div"
    parsed(f"<div>{pictures.engines_html(found)}{pictures.cell_html(found, 'x')}</div>")
    for words in texts(found):
        assert "80 kB" in words or not arrays
        assert ("dead" in words) == ("dead" in odd[:engines])
        assert "cell 7 " in words


def test_a_cell_is_told_in_words_and_bars():
    found = scene(2)
    words = pictures.text(found)
    assert (
        "cell 7 has run for 4.2 s, 16 of 20 commands done, sort (cell 3 line 1: x.sort())" in words
    )
    assert "cell 7 took 4.2 s" in pictures.text(scene(2, running=False))
    svgs = list(parsed(pictures.page(found)).iter("{http://www.w3.org/2000/svg}svg"))
    assert len(svgs) == 3  # memory, progress, time
    assert all(svg.find("{http://www.w3.org/2000/svg}title").text for svg in svgs)
    for words in texts(found):
        assert "100 ms, 6.7 %" in words  # compute of engine 0: 1 of 15 parts
        assert "1 s, 33 %" in words  # idle of engine 1


@pytest.mark.parametrize("running", [True, False])
def test_a_cell_in_which_the_notebook_did_all_has_no_empty_pictures(running):
    found = scene(2, running=running)
    idle = tuple(e._replace(sample=sample(e.rank)) for e in found.live.engines)
    live = found.live._replace(recorded=80, engines=idle)
    found = found._replace(live=live, cell=found.cell._replace(start=live))
    if not running:
        found = found._replace(cell=found.cell._replace(end=live))
    for words in texts(found):
        assert "4.2 s, engines were asked for nothing" in words
        assert "of 0" not in words
    assert "<svg" not in pictures.cell_html(found, "x")


def test_what_is_wrong_is_said():
    rows = [engine(0, alive=False), engine(1, silence=SILENT + 1), engine(2)]
    rows[2] = engine(2, sample=sample(2, cpu=10, free=10**7))
    found = scene(3)
    crowded = [about(r) | {"threads": 2} for r in range(3)]
    found = found._replace(live=found.live._replace(engines=tuple(rows)), about=crowded)
    for words in texts(found):
        assert "engine 0 is dead: close the session and call dnb.start()" in words
        assert "engine 1 is silent for 3 s" in words
        assert "engine 2 does not have a core of its own while computing" in words
        assert "node has 10 MB of memory left" in words
        assert "3 engines with 6 threads share 4 cores of node" in words
    assert pictures.warnings(scene(3)) == []


EVIL = "<script>alert('x')</script>&\"'"


def test_arrays_are_told_in_words():
    line = "In [12] line 3: " + "x = a + b * c - d; " * 5
    entries = pictures.array_entries(array(line=line.strip()))
    assert entries == (
        "x0",
        "(1000, 10) float64",
        "rows in uneven blocks on 3 engines",
        "80 kB",
        line.strip(),
        "Out[3]",
    )


def test_nothing_that_others_say_becomes_html():
    found = scene(1)._replace(
        arrays=[array(names=(EVIL,), referrers=(EVIL,), line=EVIL, dtype=EVIL)],
        about=[about(0, EVIL) | {"mpi": EVIL, "numpy": EVIL, "pid": EVIL}],
    )
    live = found.live._replace(road=EVIL, engines=(engine(0, running=EVIL, alive=False),))
    found = found._replace(live=live)
    parts = [
        pictures.page(found, EVIL),
        pictures.engines_html(found),
        pictures.cell_html(found, "x"),
    ]
    parts.append(pictures.arrays_html(found.arrays, key_of=lambda x: EVIL))
    assert "<script" not in "".join(parts)
    assert "<script>alert" in " ".join(parsed(parts[0]).itertext())


# The dashboard


@pytest.fixture
def board(shell, session):
    shell.user_ns["dnb"] = dnb
    board = Dashboard(session)
    yield board
    board.close()


def test_a_dashboard_follows_a_running_cell(board, shell, session):
    shell.user_ns["x"] = dnb.zeros(8)
    session.flush()
    seen = set()
    enough = threading.Event()

    def follows():
        """Tell whether the board has shown the line that runs, and more than one time."""
        text = board._board.cell
        if "has run for" in text:
            seen.add(text)
        return len(seen) >= 3 and any("x[...] = x[::-1]" in text for text in seen)

    watcher = threading.Thread(target=lambda: (until(follows), enough.set()))
    watcher.start()
    code = "for _ in range(10): x[...] = x[::-1].copy() + 1\nx.to_numpy()[0]"
    with waiting(session, enough.wait):
        assert shell.run_cell(code).success
    watcher.join()
    board.refresh()
    assert " took " in board._board.cell
    spent = pictures.spent(board._scene)
    assert all(s.classes[IDLE] < sum(s.classes) for s in spent)
    kept = board._board.cell
    time.sleep(0.02)
    board.refresh()
    assert board._board.cell == kept  # what a cell took does not change after it


def array_rows(board):
    """Return the rows of the table of arrays, and the buttons in it."""
    root = parsed(f"<div>{board._board.arrays}</div>")
    rows = [["".join(cell.itertext()) for cell in row] for row in root.iter("tr")]
    return rows, list(root.iter("button"))


def press(board, button):
    """Press a button, as the browser does."""
    board._board._handle_custom_msg({"press": button.get("data-key")}, [])


def test_a_button_frees_an_array(board, shell, session):
    shell.run_cell("y = dnb.ones((100, 100))", store_history=True)
    board.refresh()
    rows, (button,) = array_rows(board)
    assert rows[0][:3] == ["array", "free", "shape"]
    assert rows[1][:3] == ["y", "Free", "(100, 100) float64"]
    assert button.get("aria-label") == "Free: del y"
    press(board, button)
    assert "y" not in shell.user_ns
    assert "freed y" in board._board.note
    press(board, button)  # once more, before the table has changed
    board.refresh()
    assert board._board.arrays == "<p>no arrays</p>"
    assert arrays_of(session, shell) == []


def test_a_button_frees_the_array_that_it_stood_beside(board, shell):
    shell.run_cell("y = dnb.ones((100, 100)); z = dnb.ones(50)")
    board.refresh()
    _, (_, second) = array_rows(board)
    shell.run_cell("larger = dnb.ones((200, 200))")  # comes before the others
    board.refresh()
    press(board, second)
    assert "z" not in shell.user_ns
    assert {"y", "larger"} <= shell.user_ns.keys()


def test_arrays_without_a_name_have_no_button(board, shell):
    shell.run_cell("keep = [[dnb.ones(50)]]")
    board.refresh()
    rows, (button,) = array_rows(board)
    assert button.get("disabled") is not None
    assert rows[1][0] == "(no name)"


def test_many_arrays_share_a_line(board, shell):
    shell.run_cell("for i in range(20): globals()[f'z{i}'] = dnb.ones(10 + i)")
    board.refresh()
    rows, buttons = array_rows(board)
    assert len(buttons) == pictures.ARRAYS
    assert len(rows) == pictures.ARRAYS + 2
    assert rows[-1][0] == "and 8 more"


def test_load_and_memory_are_shown_over_time():
    looks = []
    for i in range(4):
        account = Account(i * 10**9, (i * 3 * 10**8, 0, 0, 0, i * 7 * 10**8), 0, 0)
        looks.append(Live("sockets", (engine(0, sample=sample(0, account=account)),), 0, 0))
    found = scene(1)._replace(live=looks[-1], history=looks)
    assert pictures.loads([look.engines[0].sample for look in looks]) == pytest.approx([0.3] * 3)
    root = parsed(f"<div>{pictures.engines_html(found)}</div>")
    (row,) = root.find(".//tbody")
    assert [cell.find(".//{http://www.w3.org/2000/svg}polyline") is not None for cell in row][
        :3
    ] == [False, True, True]
    assert "30 %" in "".join(row[1].itertext())


def test_who_holds_most_is_said():
    even = [engine(r) for r in range(3)]
    assert pictures.holding(even) == "engines hold about 1 MB each, 3 MB in all"
    even[1] = engine(1, sample=sample(1, held=10**7))
    assert pictures.holding(even) == "engine 1 holds most: 10 MB of 12 MB"
    assert pictures.holding([engine(0, sample=None)]) == "no arrays on the engines"


def test_the_report_of_a_cell_is_shown_when_it_ends(board, shell, session):
    shell.user_ns["session"] = session
    shell.run_cell("window = session.start_window()\ndnb.ones(10).sum().item()")
    assert board._report.children == ()
    code = "report = session.end_window(window)\nshown = board._report.children"
    shell.user_ns["board"] = board
    shell.run_cell(code)
    assert shell.user_ns["shown"] == ()
    (timeline,) = board._report.children
    assert timeline.report._report is shell.user_ns["report"]
    board.show(shell.user_ns["report"])
    assert len(board._report.children) == 1
    assert timeline.comm is None  # the one before is gone


def test_a_dashboard_has_a_static_page(board):
    bundle = board._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert bundle["text/plain"] == repr(board)
    assert parsed(bundle["text/html"]).tag == "div"
    board.close()
    assert set(board._repr_mimebundle_()) == {"text/plain", "text/html"}
    board.refresh()  # does nothing


def test_a_dashboard_of_a_session_that_has_ended_says_so(board, shell, session):
    shell.user_ns["session"] = session
    assert shell.run_cell("session.flush()\nsession.close()").success
    until(lambda: board.closed)
    assert "session has ended" in repr(board)
    assert "has run for" not in board._repr_mimebundle_()["text/html"]


class Output:
    """A display that can be updated."""

    def __init__(self):
        self.bundles = []

    def update(self, bundle, raw):
        self.bundles.append(bundle)


def test_a_stored_picture_is_renewed_after_each_cell_and_gone_in_the_end(board, shell):
    shown, kept = Output(), Output()
    board._outputs.append((shown, kept))
    shell.run_cell("v = dnb.ones((70, 7))")
    assert "(70, 7) float64" in kept.bundles[-1]["text/html"]
    assert kept.bundles[-1]["text/html"].startswith("<details>")
    board.close()
    assert kept.bundles[-1]["text/html"] == ""
    assert "(70, 7) float64" in shown.bundles[-1]["text/html"]
    assert len(shown.bundles) == 1


def test_an_exported_dashboard_has_one_page(board, shell, monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda found, **_: shown.append(found))
    monkeypatch.setattr(shell, "kernel", object(), raising=False)
    board._ipython_display_()
    board._outputs.clear()
    pages = [each["text/html"] for each in shown]
    assert pages[0] == ""
    assert pages[1].startswith("<details>")
    assert "application/vnd.jupyter.widget-view+json" in shown[0]


def test_what_is_displayed_as_a_widget_stays_as_a_picture(shell, session, monkeypatch):
    kept = []

    def display(found, **_):
        kept.append(Output())
        kept[-1].update(found, raw=True)
        return kept[-1]

    monkeypatch.setattr("IPython.display.display", display)
    monkeypatch.setattr(shell, "kernel", object(), raising=False)
    a = dnb.ones((60, 8))
    chooser, timeline = dnb.choose_layout(a), Timeline(synthetic(2, 7))
    shell.user_ns.update(chooser=chooser, timeline=timeline)
    for name in ("chooser", "timeline"):
        assert shell.run_cell(name).success
    pages = [[bundle["text/html"] for bundle in each.bundles] for each in kept]
    assert [bool(page) for (page,) in pages] == [False, True, False, True]
    chooser.kinds[0].value = "cyclic"
    timeline.show(synthetic(2, 9))
    for each, of in ((kept[1], chooser), (kept[3], timeline)):
        assert of._picture() in each.bundles[-1]["text/html"]
        assert of._picture() not in each.bundles[0]["text/html"]
    for each in (chooser, timeline):
        each.close()


def test_it_ends_with_its_session_or_its_widget_or_the_next_one(shell, session):
    board = Dashboard(session)
    another = Dashboard(session)
    assert (board.closed, another.closed) == (True, False)
    another.widget.close()
    another._wake.set()
    another._thread.join()
    assert another.closed
    last = Dashboard(session)
    session.close()
    last._wake.set()
    last._thread.join()
    assert last.closed
    assert shell.events.callbacks["pre_run_cell"] == []
