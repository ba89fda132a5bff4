"""The processes below this one, by what they are: so that a test stops only what it started."""

import contextlib
import os
from pathlib import Path


def below(pid=None):
    """Return pid -> command line of all processes below one."""
    parents, commands = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            parents[int(folder.name)] = int(fields[1])
            commands[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
    found, todo = {}, [pid or os.getpid()]
    while todo:
        parent = todo.pop()
        for child in [c for c, p in parents.items() if p == parent]:
            found[child] = commands[child].decode()
            todo.append(child)
    return found


def watchdog_of(session):
    """Return the pid of the process that started a session's engines."""
    return session._owner._watchdog.process.pid


def controllers_of(session):
    """Return the pids of a session's controller, the hub first, and its schedulers."""
    return sorted(p for p, c in below(watchdog_of(session)).items() if "controller" in c)


def launchers_of(session):
    """Return the pids of what MPI started a session's engines with: Open MPI's has two names."""
    programs = {p: c.partition(" ")[0] for p, c in below(watchdog_of(session)).items()}
    return [p for p, name in programs.items() if "mpiexec" in name or "prterun" in name]
