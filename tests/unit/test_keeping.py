"""What outlives a notebook: the keeper, and memory that another process takes up."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys

import numpy as np
import pytest

from distnb.client.recovery import keeper, keeping
from distnb.common.errors import EngineError
from distnb.common.shared_segments import SharedSegment
from distnb.wire.progress import BATCH
from distnb.wire.protocol import Apply, Create, Operand
from tests.waiting import until

GRAIN = 1 << 16
pytestmark = [
    pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs memfd_create"),
    pytest.mark.tier("test"),
]


class Memory:
    """As the shared memory of a session, without engines."""

    shown = False

    def __init__(self, segment):
        self.segment = segment
        self.claim = segment.claim

    def keep(self, nbytes, settled):
        return self.segment.take(nbytes)

    def place(self, memory):
        return self.segment.offset(memory)


def add(*handles):
    return Apply("add", tuple([Operand(h, None) for h in handles]), (), None, (), 0)


def create(handle, *how):
    return Create(handle, (2,), "<f8", None, how, 0)


def alive(kept):
    return kept.folder.exists()


def mine(made):
    """Return what is found of a session that is kept here."""
    return [k for k in keeping.found() if k.facts.get("mark") == made.facts["mark"]]


@pytest.fixture
def kept():
    segment = SharedSegment(64 * GRAIN)
    facts = {"engines": 2, "seconds": 30.0, "started": 1.0, "mark": os.urandom(8).hex()}
    made = keeping.Keeping(Memory(segment), facts)
    yield made
    made.close()
    segment.close()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1 h", 3600), ("30min", 1800), ("1.5 d", 129600), (" 7 s ", 7), (90, 90), (0.5, 0.5)],
)
def test_times(text, seconds):
    assert keeping.seconds_of(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "h", "1", "1 hour", "-1 h", 0, -3, float("nan"), float("inf")]
)
def test_what_is_no_time(text):
    with pytest.raises(ValueError, match="keep: got"):
        keeping.seconds_of(text)


@pytest.mark.parametrize("text", [True, None, [1], 1j])
def test_what_is_no_time_at_all(text):
    with pytest.raises(TypeError, match="keep: got"):
        keeping.seconds_of(text)


def test_one_process_holds_it(kept):
    (found,) = mine(kept)
    assert found.pid == os.getpid()
    with pytest.raises(EngineError, match=f"one that process {os.getpid()} uses"):
        found.take()
    kept.let_go()  # as if this process had ended
    until(lambda: not mine(kept)[0].pid)
    line, segment = mine(kept)[0].take()
    assert mine(kept)[0].pid == os.getpid()
    line.close()
    segment.close()


def test_who_closes_it_ends_it(kept):
    (found,) = mine(kept)
    kept.close()
    until(lambda: not alive(found))
    assert not mine(kept)
    with pytest.raises(EngineError, match="keeper"):
        found.take()


def test_it_ends_when_nobody_came():
    segment = SharedSegment(64 * GRAIN)
    facts = {"engines": 1, "seconds": 0.2, "started": 1.0, "mark": os.urandom(8).hex()}
    made = keeping.Keeping(Memory(segment), facts)
    (found,) = mine(made)
    made.let_go()
    until(lambda: not alive(found))
    segment.close()


def test_a_keeper_that_is_killed_has_another_one(kept):
    (found,) = mine(kept)
    pid = int(found.folder.name.split("-")[-2])
    os.kill(pid, signal.SIGKILL)
    until(lambda: not mine(kept))
    kept.write(b"list", {}, {}, [])
    assert mine(kept)[0].pid == os.getpid()


@pytest.mark.parametrize(
    "nonsense", [b"", b"x", b"end!", b"hold and more", b"\0" * 300], ids=range(5)
)
def test_nonsense_gets_no_answer(kept, nonsense):
    (found,) = mine(kept)
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    line.settimeout(5)
    line.connect(str(found.folder / keeper.SOCKET))
    if nonsense.startswith(b"hold"):  # of which four bytes count: it is held
        line.send(nonsense)
        assert json.loads(line.recv(4096)) == {"busy": os.getpid()}
    else:
        line.send(nonsense)
        with contextlib.suppress(ConnectionResetError):  # as it was not all read
            line.shutdown(socket.SHUT_WR)
            assert line.recv(1) == b""
    line.close()
    assert mine(kept)[0].pid == os.getpid()


def test_only_its_user_finds_the_folder(kept):
    (found,) = mine(kept)
    assert found.folder.stat().st_mode & 0o777 == 0o700


def test_another_process_finds_the_list_and_what_is_listed(kept):
    segment = kept._memory.segment
    memory = segment.take(3 * GRAIN)
    memory[...] = 7
    gone = segment.take(2 * GRAIN)
    gone[...] = 9
    place = segment.offset(memory)
    kept.write(b"what there is", {}, {}, [memory])
    code = """
import json, os, sys
from distnb.client.recovery import keeping
mapped = keeping.mapped_by
keeping.mapped_by = lambda fd: [p for p in mapped(fd) if p != os.getppid()]
(found,) = [k for k in keeping.found() if k.facts.get("mark") == sys.argv[1]]
line, segment = found.take()
from tests.unit.test_keeping import Memory
kept = keeping.Keeping(Memory(segment), found.facts, line)
print(kept.listed().decode())
memory = segment.claim(int(sys.argv[2]), 3 * 65536)
segment.forget()
print(int(memory.min()), int(memory.max()))
print(int(segment.take(1)[0]), segment.used)
try:
    segment.claim(int(sys.argv[2]), 1)
except MemoryError as error:
    print(error)
kept.let_go()
"""
    kept.let_go()
    until(lambda: not mine(kept)[0].pid)
    done = subprocess.run(
        [sys.executable, "-c", code, kept.facts["mark"], str(place)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert lines[:2] == ["what there is", "7 7"], done.stderr
    assert lines[2].split()[0] == "0"  # what was not listed is gone
    assert "no room" in lines[3]


def marks(segment, begun, ended):
    segment.begun[:2], segment.ended[:2] = np.array(begun) << BATCH, ended


def test_what_is_written_in_place_is_noted(kept):
    segment = kept._memory.segment

    def written():
        marks(segment, 1, -1)
        return keeping.torn(segment, 2)

    kept.write(b"", {7: 0, 8: 1}, {4096: 2}, [])
    assert written() == set()
    kept.sends([add(8)])
    assert written() == {1}
    kept.sends([create(9, "same", 4096), create(10, "empty")])
    assert written() == {1}
    kept.sends([add(9, 10), add(9), add(8)])
    assert segment.written[0] == 2  # each once
    assert written() == {1, 2}
    kept.write(b"", {7: 0}, {}, [np.zeros(1)])
    assert written() == set()


@pytest.mark.parametrize(
    ("begun", "ended", "whole"),
    [
        ((5, 5), (5, 5), True),
        ((5, 6), (5, 5), False),  # one engine is in the middle
        ((5, 6), (5, 6), False),  # one engine is ahead
        ((6, 6), (6, -1), False),  # one engine failed
    ],
)
def test_what_was_found_torn_stays_so_until_there_is_another_list(kept, begun, ended, whole):
    segment = kept._memory.segment
    kept.write(b"", {7: 0}, {4096: 0}, [])
    kept.sends([add(7)])
    marks(segment, begun, ended)
    assert keeping.torn(segment, 2) == (set() if whole else {0})
    segment.begun[:2] = 1 << BATCH  # other engines begin, and end before there is a list
    assert keeping.torn(segment, 2) == (set() if whole else {0})
    kept.write(b"", {7: 0}, {4096: 0}, [])
    assert keeping.torn(segment, 2) == set()


def test_what_may_change_is_told_and_only_what_engines_write_can_be_torn(kept):
    segment = kept._memory.segment
    first, second, third = (segment.take(GRAIN) for _ in range(3))
    places = {segment.offset(x): k for k, x in enumerate((first, second, third))}

    def may_change():
        return sorted(segment.written[1 : 1 + segment.written[0]].tolist())

    kept.write(b"list", {7: 0, 8: 1, 9: 2}, places, [first, second, third], [third])
    assert may_change() == [-3]
    kept.rest()
    kept.rest()
    rested = segment.cells[0]
    assert rested % 2
    kept.reached(second)
    kept.sends([add(7)])
    kept.reached(segment.take(GRAIN))  # of no concern
    assert segment.cells[0] == rested + 1
    assert may_change() == [-3, -2, 0]
    segment.begun[:2], segment.ended[:2] = 5 << BATCH, 4
    assert keeping.torn(segment, 2) == {0}
    kept.write(b"list", {7: 0}, {segment.offset(first): 0}, [first])
    assert not may_change()
    assert segment.cells[0] == rested + 5
    assert not kept.begin()
    kept.rest()
    assert kept.begin()
