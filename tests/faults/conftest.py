"""Sessions for faults: on the engines that all tests share, and of their own for what kills them."""

import contextlib
import gc

import pytest

from distnb.client.session import current
from tests.failures import support
from tests.failures.conftest import cluster, interruptible, three  # noqa: F401
from tests.marking import own_engines


class Survivor:
    """A session with two engines of its own, which tests go on with as long as it is whole."""

    def __init__(self, patch):
        self._patch = patch
        self._close = contextlib.ExitStack()
        self.session = None

    def take(self):
        """Return the session; start one where the last test has left none."""
        if self.session is None:
            self.session = self._close.enter_context(own_engines(2, self._patch))
        current.become_current(self.session)
        return self.session

    def give_back(self):
        """Keep the session if nothing of the test is left in it, else close it."""
        if not self._is_whole():
            self.close()

    def close(self):
        """Close the session; no process of it may be left."""
        self.session = None
        self._close.close()

    def _is_whole(self):
        session = self.session
        try:
            for name in list(session):
                del session[name]
            support.heal(session)
            session.flush()
            if len(session.handles):
                gc.collect()
        except Exception:  # what it is, the next test need not know
            return False
        return session.size == 2 and not len(session.handles) and not session.connection.dead


@pytest.fixture(scope="module")
def survivor():
    """What tests of a module take their session from, one after the other."""
    with pytest.MonkeyPatch.context() as patch:
        made = Survivor(patch)
        yield made
        made.close()


@pytest.fixture
def doomed(survivor):
    """A session with two engines of its own, which may die."""
    yield survivor.take()
    survivor.give_back()
