"""Processes that stand still because a test stops them."""

import contextlib
import os
import signal
from pathlib import Path


@contextlib.contextmanager
def stopped(pid):
    """Stop a process for the time of a block; nobody else lets it go on, see ``tools/pauses.py``."""
    folder = os.environ.get("DISTNB_TEST_STOPPED")
    note = Path(folder, str(pid)) if folder else None
    if note:
        note.touch()
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
        if note:
            note.unlink()
