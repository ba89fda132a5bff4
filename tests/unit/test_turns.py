"""Turns of notebooks on the same engines: one at a time, nobody for ever, none after its end."""

import multiprocessing
import os
import shutil
import threading

import pytest

from distnb.client.transport import turns as module
from distnb.client.transport.turns import Turns
from tests.waiting import until

KEY = b"what clients of the same engines have in common"


@pytest.fixture
def two(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_BASE", tmp_path)
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


class Batch:
    """What is on its way."""


ONE, OTHER, THIRD = Batch(), Batch(), Batch()


def test_one_at_a_time_and_all_sessions_of_a_client_together(two):
    mine, theirs = two
    assert mine.take(ONE)
    assert mine.take(OTHER)
    assert not theirs.take(THIRD, 0)
    mine.leave(ONE)
    assert not theirs.take(THIRD, 0.01)
    mine.leave(OTHER)
    assert theirs.take(THIRD)
    assert not mine.take(ONE, 0)


def test_who_has_nothing_on_its_way_keeps_the_turn_until_somebody_wants_it(two):
    mine, theirs = two
    mine.take(ONE)
    mine.leave(ONE)
    assert not mine.wanted
    assert not theirs.take(OTHER, 0)
    assert mine.wanted
    mine.heed()
    assert theirs.take(OTHER, 0)


def test_a_thread_looks_after_who_does_nothing(two):
    mine, theirs = two
    for _ in range(2):  # the second one comes when the thread of the first has ended
        user = User(mine)
        mine.take(user)
        mine.look_after(user.heed)
        assert theirs.take(OTHER)
        assert user.heeded
        theirs.leave(OTHER)
        theirs._unlock()
        del user
        until(lambda: not mine._looks)


def test_what_is_forgotten_is_in_nobodys_way(two):
    mine, theirs = two
    mine.take(Batch())
    mine._unlock()
    assert theirs.take(OTHER, 0)


def test_who_comes_after_the_file_was_removed_makes_another_one_for_all(two, tmp_path):
    mine, theirs = two
    assert mine.take(ONE)
    mine.remove()  # not while something is on its way
    assert len([*tmp_path.rglob("*")]) == 2
    mine.leave(ONE)
    mine.remove()
    assert len([*tmp_path.rglob("*")]) == 1
    third = Turns(KEY)
    assert third.take(THIRD)
    assert not mine.take(ONE, 0)
    assert not theirs.take(OTHER, 0)
    assert third.wanted
    third.leave(THIRD)
    assert theirs.take(OTHER, 0)
    assert not mine.take(ONE, 0)


def test_no_one_waits_while_another_has_turn_after_turn(two):
    mine, theirs = two
    over = threading.Event()

    def always():
        while not over.is_set():
            mine.take(ONE)
            mine.leave(ONE)

    thread = threading.Thread(target=always)
    thread.start()
    try:
        for _ in range(3):
            assert theirs.take(OTHER)
            theirs.leave(OTHER)
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
        mine.take(ONE)
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
            assert not theirs.take(OTHER, 0)
            holder.kill()
            assert theirs.take(OTHER)
            theirs.leave(OTHER)
            theirs._unlock()
            holder.join()
    finally:
        os.close(over)
        os.close(end)


def test_an_interrupt_of_the_wait_leaves_nothing(two, monkeypatch):
    mine, theirs = two
    mine.take(ONE)

    def interrupted(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module.time, "sleep", interrupted)
        with pytest.raises(KeyboardInterrupt):
            theirs.take(OTHER)
    mine.leave(ONE)
    mine.heed()
    assert mine.take(ONE)
    mine.leave(ONE)
    mine._unlock()
    assert theirs.take(OTHER)


def test_a_turn_for_a_while(two):
    mine, theirs = two
    with mine.taken() as got:
        assert got
        with theirs.taken(0) as other:
            assert not other
    assert theirs.take(OTHER, 0)


def test_files_of_engines_that_are_gone_are_removed(two, tmp_path):
    mine, _ = two
    mine.take(ONE)
    (folder,) = tmp_path.iterdir()
    (path,) = folder.iterdir()
    old = folder / "old"
    old.touch()
    for file in (old, path):
        os.utime(file, (0, 0))
    Turns(b"another")
    assert not old.exists()
    assert path.exists()  # it is locked


def test_work_goes_on_where_the_folder_was_removed(two, tmp_path):
    mine, theirs = two
    assert mine.take(ONE)
    mine.leave(ONE)
    mine.heed()
    shutil.rmtree(*tmp_path.iterdir())
    assert theirs.take(OTHER)
    assert not mine.take(ONE, 0)
    theirs.leave(OTHER)
    assert mine.take(ONE)


def test_work_goes_on_where_no_folder_can_be_had(two, tmp_path):
    mine, _ = two
    (folder,) = tmp_path.iterdir()
    shutil.rmtree(folder)
    folder.touch()
    assert mine.take(ONE)
    mine.leave(ONE)
    assert mine.take(ONE)


def test_a_forked_child_leaves_the_file(two, tmp_path):
    mine, theirs = two
    assert mine.take(ONE)
    theirs.forget()
    theirs.remove()
    assert len([*tmp_path.rglob("*")]) == 2


def test_a_folder_of_somebody_else_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_BASE", tmp_path)
    (tmp_path / f"distnb-turns-{os.geteuid()}").symlink_to("/")
    with pytest.raises(PermissionError):
        Turns(b"key")
