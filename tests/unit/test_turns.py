"""Turns of notebooks on the same engines: one at a time, nobody for ever, none after its end."""

import multiprocessing
import os
import threading

import pytest

from distnb.client.transport import turns as module
from distnb.client.transport.turns import Turns
from tests.waiting import until

KEY = b"what clients of the same engines have in common"


@pytest.fixture
def two(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SHARED", tmp_path)
    return Turns(KEY), Turns(KEY)


class User:
    """What has something on its way, or not."""

    def __init__(self, turns):
        self.turns = turns
        self.heeded = 0

    def heed(self):
        self.heeded += 1
        if self.turns.wanted:
            self.turns.leave(self)


def test_one_at_a_time_and_all_sessions_of_a_client_together(two):
    mine, theirs = two
    assert mine.take(1)
    assert mine.take(2)
    assert not theirs.take(3, 0)
    mine.leave(1)
    assert not theirs.take(3, 0.01)
    mine.leave(2)
    assert theirs.take(3)
    assert not mine.take(1, 0)


def test_who_has_nothing_on_its_way_keeps_the_turn_until_somebody_wants_it(two):
    mine, theirs = two
    mine.take(1)
    mine.leave(1)
    assert not mine.wanted
    assert not theirs.take(2, 0)
    assert mine.wanted
    mine.heed()
    assert theirs.take(2, 0)


def test_a_thread_looks_after_who_does_nothing(two):
    mine, theirs = two
    user = User(mine)
    mine.take(user)
    mine.look_after(user.heed)
    assert theirs.take(2)
    assert user.heeded


def test_a_session_that_comes_later_is_looked_after_too(two):
    mine, theirs = two
    first = User(mine)
    mine.look_after(first.heed)
    del first
    until(lambda: not mine._looks)
    user = User(mine)
    mine.take(user)
    mine.look_after(user.heed)
    assert theirs.take(2)
    assert user.heeded


def test_no_one_waits_while_another_has_turn_after_turn(two):
    mine, theirs = two
    over = threading.Event()

    def always():
        while not over.is_set():
            mine.take(1)
            mine.leave(1)

    thread = threading.Thread(target=always)
    thread.start()
    try:
        for _ in range(3):
            assert theirs.take(2)
            theirs.leave(2)
            theirs._unlock()
    finally:
        over.set()
        thread.join()


def test_the_turn_of_a_process_ends_with_it(two):
    _, theirs = two
    fork = multiprocessing.get_context("fork")
    ready = fork.Event()
    end, over = os.pipe()

    def hold(child):
        os.close(over)
        mine = Turns(KEY)  # what a fork inherits is closed
        mine.take(1)
        if child:
            os.fork()
        ready.set()
        os.read(end, 1)  # until the test is over
        os._exit(0)

    try:
        for child in (False, True):
            ready.clear()
            holder = fork.Process(target=hold, args=(child,))
            holder.start()
            ready.wait()
            assert not theirs.take(2, 0)
            holder.kill()
            assert theirs.take(2)
            theirs.leave(2)
            theirs._unlock()
            holder.join()
    finally:
        os.close(over)
        os.close(end)


def test_an_interrupt_of_the_wait_leaves_nothing(two, monkeypatch):
    mine, theirs = two
    mine.take(1)

    def interrupted(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module.time, "sleep", interrupted)
        with pytest.raises(KeyboardInterrupt):
            theirs.take(2)
    mine.leave(1)
    mine.heed()
    assert mine.take(1)
    mine.leave(1)
    mine._unlock()
    assert theirs.take(2)


def test_a_turn_for_a_while(two):
    mine, theirs = two
    with mine.taken() as got:
        assert got
        with theirs.taken(0) as other:
            assert not other
    assert theirs.take(2, 0)


def test_files_of_engines_that_are_gone_are_removed(two, tmp_path):
    mine, _ = two
    mine.take(1)
    (folder,) = tmp_path.iterdir()
    (path,) = folder.iterdir()
    old = folder / "old"
    old.touch()
    for file in (old, path):
        os.utime(file, (0, 0))
    Turns(b"another")
    assert not old.exists()
    assert path.exists()  # it is locked


def test_a_folder_of_somebody_else_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SHARED", tmp_path)
    (tmp_path / f"distnb-turns-{os.geteuid()}").symlink_to("/")
    with pytest.raises(PermissionError):
        Turns(b"key")
