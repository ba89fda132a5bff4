"""The keeper: a small process that holds a session's memory when the notebook has ended.

Run as a script (``python -I -S keeper.py``), in a process of its own and with the standard library
only. See :mod:`distnb.client.recovery.keeping`, which starts it, and asks it.

Whoever holds it is connected to its socket, in a folder that only this user may enter. When nobody
is, it waits for so many seconds for somebody else, and ends, and with it the memory.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import socket
import struct
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

__all__ = ["END", "FACTS", "HOLD", "LOOK", "SOCKET"]

SOCKET, FACTS = "keeper", "facts.json"
"""Names of the files in its folder."""

HOLD, LOOK, END = b"hold", b"look", b"end!"
"""What it is asked: to be the one who holds it, to look on, and, by who holds it, to end."""

SLOW = 1.0
"""Seconds within which a question comes."""


def _keep(folder: Path, memory: int, seconds: float) -> None:
    """Answer until nobody has held the memory for so long, or who holds it lets it end."""
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    os.chdir(folder)
    door.bind(SOCKET)  # a longer path might be too long for a socket
    door.listen()
    print(folder, flush=True)
    holder: socket.socket | None = None
    pid, until = 0, time.monotonic() + seconds
    while holder is not None or time.monotonic() < until:
        ready = [door] if holder is None else [holder, door]  # who ended before another one came
        left = None if holder is not None else max(0.0, until - time.monotonic())
        for found in select.select(ready, [], [], left)[0]:
            if found is door:
                come, asked, who = _come(door)
                if come is None:
                    continue
                _answer(come, memory, {"busy": 0 if holder is None else pid})
                if asked == HOLD and holder is None:
                    holder, pid = come, who
                else:
                    come.close()
            elif holder is not None:
                text = _received(holder)
                holder.close()
                holder, until = None, time.monotonic() + seconds
                if text == END:
                    return


def _come(door: socket.socket) -> tuple[socket.socket | None, bytes, int]:
    """Return who has come, what he asks, and his process; only a process of this user may."""
    come, _ = door.accept()
    come.settimeout(SLOW)
    pid, user, _ = struct.unpack(
        "3i", come.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    )
    asked = _received(come) if user == os.geteuid() else b""
    if asked in (HOLD, LOOK):
        return come, asked, pid
    come.close()
    return None, b"", 0


def _received(come: socket.socket) -> bytes:
    try:
        return come.recv(4)
    except OSError:
        return b""


def _answer(come: socket.socket, memory: int, answer: dict[str, Any]) -> None:
    """Answer, and hand over the memory."""
    with contextlib.suppress(OSError):
        socket.send_fds(come, [json.dumps(answer).encode()], [memory])


def main() -> None:
    """Keep what was inherited: ``keeper.py PREFIX FD SECONDS``."""
    prefix, memory, seconds = sys.argv[1:]
    folder = Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-"))
    try:
        _keep(folder, int(memory), float(seconds))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
