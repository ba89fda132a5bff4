"""The watchdog: starts a cluster's processes as its children, and ends them all, whatever happens.

Run as a script (``python -I -S watchdog.py``), in a process of its own and with the standard
library only. See :mod:`distnb.client.transport.launch`, which starts it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["AGAIN", "CALL", "OVER", "end_processes", "load_json", "read_text"]

GRACE = (1.0, 0.5)
"""Seconds that engines, and then mpiexec, have to end when asked to."""

AGAIN, CALL, OVER = "again", signal.SIGHUP, "over"
"""The file by which the owner asks for new engines, and says how many and what is to be in their
environment, the signal that it is there, and the file that says that there will be none."""

NANNY = "distnb-nanny"
"""What the process of a nanny is called: a fork of an engine has the command line of that."""

CHILD_SUBREAPER, PARENT_DEATH_SIGNAL = 36, 1
"""Options of Linux's prctl."""


def read_text(path: Path) -> str:
    """Return the text of a file, or nothing."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def load_json(path: Path) -> dict[str, Any]:
    """Return the content of a JSON file; nothing if it is missing or half written."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _watch(owner: int, folder: Path, commands: dict[str, list[str]]) -> None:
    """Run the commands until told to stop, or until the owner or the controller is gone; end all.

    With the launcher the engines end; there are new ones if the owner asks for them. What all
    wrote stays until told, or until the owner is gone.
    """
    engine = " ".join(commands["mpiexec"][3:])
    wait, told = _signals()
    again = folder / AGAIN
    _prctl(CHILD_SUBREAPER, 1)  # orphans below become children, so that none is lost
    pids: dict[str, int] = {}
    codes: dict[int, int] = {}
    published = False
    try:
        try:
            for name, command in commands.items():
                pids[name] = _spawn(command, folder / f"{name}.log")
        except OSError as error:
            (folder / "ended").write_text(str(error))
        # A process whose parent dies gets another parent at once.
        while os.getppid() == owner and not told and "controller" in pids:
            _reap(codes)
            for name in [name for name, pid in pids.items() if pid in codes]:
                (folder / "ended").write_text(f"{name} ended with code {codes[pids.pop(name)]}")
                for process in _descendants() if name == "mpiexec" else ():
                    if process.command == engine:
                        _kill(process.pid, signal.SIGKILL)
            if again.exists():
                asked = load_json(again)
                commands["mpiexec"][2] = str(asked["engines"])
                os.environ.update(asked["environment"])
                _end_engines(wait, pids.pop("mpiexec", 0), engine)
                _reap(codes)
                (folder / "ended").unlink(missing_ok=True)
                pids["mpiexec"] = _spawn(commands["mpiexec"], folder / "mpiexec.log")
                again.unlink()
            published = published or _publish(folder)
            wait(0.25 if published else 0.02)
    finally:
        (folder / OVER).touch()
        _end_all(wait, pids, engine)
    while os.getppid() == owner and not told:
        wait(0.25)
    shutil.rmtree(folder, ignore_errors=True)


def _signals() -> tuple[Any, list[int]]:
    """Return a function that waits until a signal or a time, and a list that SIGTERM fills."""
    told: list[int] = []
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer)
    signal.signal(signal.SIGTERM, lambda number, frame: told.append(number))
    for number in (signal.SIGCHLD, CALL):
        signal.signal(number, lambda number, frame: None)

    def wait(seconds: float) -> None:
        if select.select([reader], [], [], seconds)[0]:
            os.read(reader, 4096)

    return wait, told


def _prctl(option: int, value: int) -> None:
    """Call prctl where there is one; the rest works without, but less surely."""
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), *[ctypes.c_ulong(0)] * 3)


def _spawn(command: list[str], log: Path) -> int:
    """Start a command in a session of its own, with its output in a file; return its id."""
    with open(log, "wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            # For the case that the watchdog itself is killed. There are no threads here.
            preexec_fn=lambda: _prctl(PARENT_DEATH_SIGNAL, signal.SIGTERM),  # noqa: PLW1509
        )
    process.returncode = 0  # _reap waits for it, not Popen
    return process.pid


def _publish(folder: Path) -> bool:
    """Give the engines the connection file when it is complete; tell whether they have it.

    They start together with the controller, and would read a file that it is still writing. It is a
    copy: the controller ends with an error if its own file goes before it has set the permissions.
    """
    published = folder / "engine.json"
    if published.exists():
        return True
    (written,) = list(folder.glob("security/*-engine.json")) or [published]
    if not load_json(written):
        return False
    shutil.copyfile(written, part := folder / "engine.part")
    part.replace(published)
    return True


def _reap(ended: dict[int, int] | None = None) -> bool:
    """Take note of children that have ended, adopted ones included; tell whether others run."""
    try:
        while (pair := os.waitpid(-1, os.WNOHANG))[0]:
            if ended is not None:
                ended[pair[0]] = os.waitstatus_to_exitcode(pair[1])
    except ChildProcessError:
        return False
    return True


class _Process(NamedTuple):
    """A running process."""

    pid: int
    parent: int
    command: str


def _end_all(wait: Any, pids: dict[str, int], engine: str) -> None:
    """Ask the engines to end, then mpiexec; kill what is left then, and its shared memory."""
    # The controller stays till the end: without it nannies would wait 3 s to report a death.
    controller = pids.get("controller", 0)
    below = _descendants(but=controller)
    segments = {path for process in below for path in _segments(process.pid)}
    engines = {process.pid for process in below if process.command == engine}
    for asked, grace in zip((engines, {pids.get("mpiexec", 0)}), GRACE, strict=True):
        for process in _descendants(but=controller):
            if process.pid in asked:
                _kill(process.pid, signal.SIGTERM)
        deadline = time.monotonic() + grace
        while _reap() and _descendants(but=controller) and time.monotonic() < deadline:
            wait(0.02)
    deadline = time.monotonic() + 3
    # No children at all is certain; a list of processes can miss one that just gets a new parent.
    while _reap() and time.monotonic() < deadline:
        for process in _descendants():
            _kill(process.pid, signal.SIGKILL)
        wait(0.01)
    for path in segments:
        path.unlink(missing_ok=True)


def _end_engines(wait: Any, launcher: int, engine: str) -> None:
    """Kill what is left of the engines and their launcher, and wait until nothing is.

    An engine that went on would write into arrays that others have taken over. Its command has this
    folder in it, so it is found whoever its parent is at that moment.
    """

    def left() -> list[int]:
        return [p.pid for p in _processes() if p.pid == launcher or p.command == engine]

    segments = {path for pid in left() for path in _segments(pid)}
    while found := left():
        for pid in found:
            _kill(pid, signal.SIGKILL)
        _reap()
        wait(0.01)
    for path in segments:
        path.unlink(missing_ok=True)


def end_processes(command: str) -> None:
    """Kill all processes that run a command, whoever started them; wait until there are none."""
    while found := [process.pid for process in _processes() if process.command == command]:
        for pid in found:
            _kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _kill(pid: int, number: int) -> None:
    """Send a signal to a process that may be gone."""
    with contextlib.suppress(OSError):
        os.kill(pid, number)


def _segments(pid: int) -> set[Path]:
    """Return the shared memory that killed ranks of a process would leave behind (Linux)."""
    maps = read_text(Path(f"/proc/{pid}/maps"))
    return {Path(path) for path in re.findall(r"/dev/shm/(?:mpich_shm|sm_segment)\S*", maps)}


def _descendants(but: int = 0) -> list[_Process]:
    """Return the processes below this one, but one of them and those below it."""
    below: list[_Process] = []
    everyone = [process for process in _processes() if process.pid != but]
    parents = {os.getpid()}
    while parents:
        found = [process for process in everyone if process.parent in parents]
        below += found
        parents = {process.pid for process in found}
    return below


def _processes() -> Iterator[_Process]:
    """Yield all processes of the system."""
    if not sys.platform.startswith("linux"):
        for line in os.popen("ps -A -o pid=,ppid=,command="):
            pid, parent, *command = line.split(maxsplit=2)
            yield _Process(int(pid), int(parent), "".join(command).strip())
        return
    for folder in Path("/proc").glob("[0-9]*"):
        # "pid (name) state parent ..."; the name may hold spaces and parentheses.
        name, _, rest = read_text(folder / "stat").partition("(")[2].rpartition(")")
        command = read_text(folder / "cmdline").replace("\0", " ").strip()
        if rest:
            command = NANNY if name == NANNY else command
            yield _Process(int(folder.name), int(rest.split()[1]), command)


if __name__ == "__main__":
    _task = json.loads(sys.argv[1])
    _watch(_task["owner"], Path(_task["folder"]), _task["commands"])
