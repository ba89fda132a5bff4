"""Processes that tests start, told from all others by a mark in their environment."""

import contextlib
import os
import uuid
from contextlib import contextmanager
from pathlib import Path

import distnb as dnb
from tests.failures import support
from tests.waiting import until

__all__ = ["MARK", "marked", "own_engines"]

MARK = "DISTNB_TEST_MARK"


def marked(name):
    """Return command lines of running processes with a mark, by pid; not of this one."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{MARK}={name}".encode() in (folder / "environ").read_bytes():
                found[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
    found.pop(os.getpid(), None)
    return found


@contextmanager
def own_engines(n, monkeypatch):
    """Start a session with engines of its own, which may die; no process of it may be left."""
    name = uuid.uuid4().hex
    monkeypatch.setenv(MARK, name)
    monkeypatch.setenv("DISTNB_ALLOW_ROOT", "1")
    monkeypatch.setenv("PYTHONPATH", str(support.ROOT))
    session = dnb.start(n, beside=True)
    yield session
    session.close()
    session.close()
    until(lambda: not marked(name))
