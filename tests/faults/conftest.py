"""Sessions for faults: on the engines that all tests share, and of their own for what kills them."""

import pytest

from tests.failures.conftest import cluster, interruptible, three  # noqa: F401
from tests.marking import own_engines


@pytest.fixture
def doomed(monkeypatch):
    """A session with two engines of its own; no process of it may be left."""
    with own_engines(2, monkeypatch) as session:
        yield session
