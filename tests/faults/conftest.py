"""Sessions for faults: on the engines that all tests share, and of their own for what kills them."""

import os
import uuid

import pytest

import distnb as dnb
from tests.failures import support
from tests.failures.conftest import cluster, interruptible  # noqa: F401
from tests.faults.processes import MARK, marked
from tests.waiting import until


@pytest.fixture
def doomed(monkeypatch):
    """A session with two engines of its own; no process of it may be left."""
    name = uuid.uuid4().hex
    monkeypatch.setenv(MARK, name)
    monkeypatch.setenv("DISTNB_ALLOW_ROOT", "1")
    monkeypatch.setenv("PYTHONPATH", str(support.ROOT))
    session = dnb.start(2)
    yield session
    session.close()
    until(lambda: not marked(name) - {os.getpid()})
