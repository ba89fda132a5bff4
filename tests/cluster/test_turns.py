"""Two notebooks on the same engines at once: neither hangs, and both get their own numbers."""

import threading

import ipyparallel
import numpy as np
import pytest

import distnb as dnb
from distnb.client.transport import joining
from tests.contract.support import setting
from tests.waiting import until


@pytest.fixture
def other(engines):
    """A session of another client, as another notebook has it."""
    folder = engines._owner._watchdog.folder
    with (
        ipyparallel.Client(joining.connection_file(folder, folder.name)) as client,
        dnb.connect(client=client) as session,
    ):
        assert session.transport.turns is not engines.transport.turns
        assert session.transport.turns._path == engines.transport.turns._path
        yield session


def on_engines():
    return setting(cutoff=0, place="engines")


def rounds(session, seed, count):
    """Do what engines need each other for; tell whether all was right."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        a = rng.integers(0, 9, (40, 30)).astype(float)
        x = dnb.array(a, dist="block", session=session)
        y = dnb.array(a.T.copy(), dist=("*", "block"), session=session)
        if not np.array_equal(((x.T[::-1] + y) @ x).to_numpy(), (a.T[::-1] + a.T) @ a):
            return False
    return True


@pytest.mark.tier("test-all")  # it starts engines
def test_other_engines_have_other_turns(engines):
    with dnb.start(1, beside=True) as session:
        assert session.transport.turns._path != engines.transport.turns._path


def test_a_session_that_ends_takes_its_file_along_and_others_have_another(engines):
    turns = engines.transport.turns
    with on_engines():
        assert rounds(engines, 0, 1)

        def gone():  # what was dropped may be on its way
            turns._unlock()
            turns.remove()
            return not turns._path.exists()

        until(gone)
        assert rounds(engines, 0, 1)
        assert turns._path.exists()


def test_both_work(engines, other):
    found = []
    with on_engines():
        thread = threading.Thread(target=lambda: found.append(rounds(other, 1, 30)))
        thread.start()
        found.append(rounds(engines, 2, 30))
        thread.join()
    assert found == [True, True]


def test_who_does_nothing_is_in_nobodys_way(engines, other):
    with on_engines():
        x = dnb.ones((30, 30), dist="block", session=engines) + 1
        engines.send()
        assert rounds(other, 3, 2)
        assert x.sum().item() == 1800


def test_what_is_left_alone_is_sent_when_others_are_done(engines, other):
    with on_engines():
        turns = other.transport.turns
        assert turns.take(turns)
        x = dnb.ones((30, 30), dist="block", session=engines) + 1
        before = engines.connection.batches
        until(lambda: engines.sharing.postponed)
        assert engines.connection.batches == before
        turns.leave(turns)
        turns.heed()
        until(lambda: engines.connection.batches > before)
        assert x.sum().item() == 1800
