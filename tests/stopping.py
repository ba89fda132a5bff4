"""Processes that stand still because a test stops them."""

import contextlib
import os
import signal
from functools import partial
from pathlib import Path

from tests.waiting import until
from tools import pauses


@contextlib.contextmanager
def stopped(pid):
    """Stop a process for the time of a block; nobody else lets it go on, see ``tools/pauses.py``.

    The block begins when no thread of it runs any more.
    """
    folder = os.environ.get(pauses.VARIABLE)
    note = Path(folder, str(pid)) if folder else None
    alone = partial(pauses.alone, folder) if folder else contextlib.nullcontext
    try:
        with alone():
            if note:
                note.touch()
            os.kill(pid, signal.SIGSTOP)
        until(lambda: pauses.is_stopped(pid))
        yield
    finally:
        with alone():
            if note:
                note.unlink(missing_ok=True)
            with contextlib.suppress(ProcessLookupError):  # the block may have ended it
                os.kill(pid, signal.SIGCONT)
