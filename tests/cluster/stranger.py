"""Another user of the machine, who tries what he can: a script that root starts, and that is nobody.

It reads what there is as JSON, and writes what came of each trial: "refused", or something else.
"""

import contextlib
import ctypes
import json
import os
import resource
import signal
import socket
import sys
import time
from pathlib import Path

import zmq

NOBODY = 65534
_ATTACH = 16
#: Seconds for which he listens.
_LISTENS = 1.5
_LIBC = ctypes.CDLL(None, use_errno=True)


def _attach(pid):
    if _LIBC.ptrace(_ATTACH, pid, 0, 0):
        raise OSError(ctypes.get_errno(), "ptrace")


def _read(path):
    with open(path, "rb") as file:
        return file.read(16)


def _write(path):
    with open(path, "r+b") as file:
        file.write(b"x")


#: What is tried with a process, and with a file or folder.
_WITH_PROCESS = {
    "read its memory": lambda pid: _read(f"/proc/{pid}/mem"),
    "read its environment": lambda pid: _read(f"/proc/{pid}/environ"),
    "read its maps": lambda pid: _read(f"/proc/{pid}/maps"),
    "list its files": lambda pid: os.listdir(f"/proc/{pid}/fd"),
    "open its files": lambda pid: os.open(f"/proc/{pid}/fd/0", os.O_RDONLY),
    "look into its root": lambda pid: os.listdir(f"/proc/{pid}/cwd/"),
    "trace it": _attach,
    "stop it": lambda pid: os.kill(pid, signal.SIGSTOP),
    "end it": lambda pid: os.kill(pid, signal.SIGKILL),
    "limit it": lambda pid: resource.prlimit(pid, resource.RLIMIT_NOFILE, (1, 1)),
    "move it": lambda pid: os.sched_setaffinity(pid, {0}),
}
_WITH_PATH = {
    "list": os.listdir,
    "read": _read,
    "write": _write,
    "remove": os.unlink,
    "move": lambda path: os.rename(path, f"{path}-moved"),
    "open up": lambda path: os.chmod(path, 0o777),
}


def _tried(found, kind, what, do, *args):
    try:
        got = do(*args)
    except (PermissionError, NotADirectoryError, IsADirectoryError):
        got = "refused"
    except FileNotFoundError:  # what he may not look into, or what is gone
        got = "refused"
    except OSError as error:
        got = f"{error}"
    found.append((kind, f"{what} {args}", got if got == "refused" else repr(got)))


def _garbage(family, address):
    """Send nonsense to a socket, and what ZeroMQ begins with; return what comes but its greeting."""
    said = b""
    for data in (b"7 abc\n" * 20, b"\xff" + bytes(8) + b"\x7f\3\0NULL" + bytes(48) + b"\4\x26"):
        with socket.socket(family) as end, contextlib.suppress(ConnectionError, TimeoutError):
            end.settimeout(0.1)
            end.connect(address)
            end.sendall(data)
            while some := end.recv(4096):
                said += some
    # A greeting has 64 bytes and no secret.
    return "refused" if len(said) <= 128 else said


def _listened(ports):
    """Subscribe to all that any port says, without a key; return what comes."""
    context = zmq.Context.instance()
    ends = []
    for kind in (zmq.SUB, zmq.DEALER):
        for port in ports:
            end = context.socket(kind)
            end.linger = 0
            if kind == zmq.SUB:
                end.subscribe(b"")
            end.connect(f"tcp://127.0.0.1:{port}")
            if kind == zmq.DEALER:
                with contextlib.suppress(zmq.Again):
                    end.send_multipart([b"", b"connection_request"], zmq.NOBLOCK)
            ends.append(end)
    until, said = time.monotonic() + _LISTENS, []
    while time.monotonic() < until:
        for end in ends:
            with contextlib.suppress(zmq.Again):
                said.append(end.recv_multipart(zmq.NOBLOCK))
        time.sleep(0.01)
    return said or "refused"


def main():
    """Be nobody, and try."""
    known, found = json.load(sys.stdin), []
    zmq.Context.instance().socket(zmq.SUB).close()  # loads what nobody may not read
    sys.path_importer_cache.clear()
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    assert os.getresuid() == (NOBODY,) * 3
    for pid in known["pids"]:
        for what, do in _WITH_PROCESS.items():
            _tried(found, "process", what, do, pid)
    for path in known["paths"]:
        for what, do in _WITH_PATH.items():
            _tried(found, "path", what, do, path)
    for path in known["unix"]:
        address = f"\0{path[1:]}" if path.startswith("@") else path
        _tried(found, "local socket", "talk to", _garbage, socket.AF_UNIX, address)
    for port in known["ports"]:
        _tried(found, "port", "talk to", _garbage, socket.AF_INET, ("127.0.0.1", port))
    _tried(found, "port", "listen to", _listened, known["ports"])
    _tried(found, "network", "look at packets", socket.socket, socket.AF_PACKET, socket.SOCK_RAW)
    lines = [Path(f"/proc/{pid}/cmdline").read_bytes().decode() for pid in known["pids"]]
    json.dump({"found": found, "lines": lines}, sys.stdout)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
