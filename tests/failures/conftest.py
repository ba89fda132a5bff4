"""Sessions of three engines: in this process, new for each test; on the engines that all tests share."""

import signal

import pytest

import distnb as dnb
from distnb.client.batching import connection
from tests.failures import support


@pytest.fixture
def three():
    """A session with three engines in this process."""
    with dnb.inprocess(3) as session:
        yield session


@pytest.fixture
def cluster(engines):
    """The session with three MPI engines, without faults before and after."""
    from distnb.client.session import current

    current.become_current(engines)
    support.heal(engines)
    yield engines
    engines.flush()
    support.heal(engines)


@pytest.fixture
def interruptible(monkeypatch):
    """Let Ctrl-C raise KeyboardInterrupt, also where pytest is a child that ignores it.

    Engines that are held up on purpose are not waited for as long as others.
    """
    monkeypatch.setattr(connection, "_SOON", 0.1)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
