"""Another user of the machine gets nowhere, and the session goes on computing right."""

import contextlib
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import distnb as dnb
from tests.faults.processes import below, watchdog_of

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc"),
]
_LISTENS, _LISTENS_LOCALLY = "0A", "00010000"
_LOOPBACK = {"0100007F", "0" * 24 + "01000000"}


def inodes(pids):
    """Return the inodes of the sockets of processes."""
    found = set()
    for link in links(pids):
        if link.startswith("socket:["):
            found.add(link[8:-1])
    return found


def links(pids):
    """Return what processes have open."""
    found = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            for path in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    found.add(os.readlink(path))
    return found


def lines_of(table):
    with contextlib.suppress(OSError):
        return [line.split() for line in Path("/proc/net", table).read_text().splitlines()[1:]]
    return []


def ports(mine):
    """Return where processes listen by TCP: (address, port)."""
    lines = [*lines_of("tcp"), *lines_of("tcp6")]
    found = [line[1].split(":") for line in lines if line[3] == _LISTENS and line[9] in mine]
    return [(address, int(port, 16)) for address, port in found]


def local_sockets(mine):
    """Return the names of the local sockets on which processes listen."""
    lines = lines_of("unix")
    return [x[7] for x in lines if len(x) > 7 and x[3] == _LISTENS_LOCALLY and x[6] in mine]


def made_by(pids, folder):
    """Return the files and folders that others might find."""
    ours = set(pids) - {os.getpid()}  # pytest has files of its own
    found = {x for x in links(ours) if x.startswith(("/tmp/", "/dev/shm/", "/run/"))}
    found |= {str(p) for p in [folder, *folder.rglob("*")]}
    found |= {str(p) for p in Path("/tmp").glob("distnb-*")}
    return sorted(x for x in found if os.path.exists(x))


def secrets_in(folder):
    """Return the keys of the connection files."""
    found = set()
    for path in folder.rglob("ipcontroller-*.json"):
        told = json.loads(path.read_text())
        found |= {told.get("key"), told.get("curve_serverkey")}  # who knows these is let in
    return found - {"", None}


def test_another_user_gets_nowhere(engines, tmp_path):
    client, folder = engines.transport.client, engines._owner._watchdog.folder
    # Not all that tests have started: JupyterLab's kernels echo what comes
    pids = [os.getpid(), watchdog_of(engines), *below(watchdog_of(engines))]
    mine = inodes(pids)
    listening = ports(mine)
    assert len(listening) > 5
    assert {address for address, _ in listening} <= _LOOPBACK
    known = {
        "pids": pids,
        "paths": made_by(pids, folder),
        "ports": [port for _, port in listening],
        "unix": local_sockets(mine),
    }
    script = Path(__file__).with_name("stranger.py")
    command, said = [sys.executable, "-P", str(script)], tmp_path / "said.json"
    with (
        open(said, "w") as file,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=file, text=True) as stranger,
    ):
        stranger.stdin.write(json.dumps(known))
        stranger.stdin.close()
        x = dnb.arange(3000.0, session=engines)
        while stranger.poll() is None:  # he may listen to that
            assert float((x[::-1] * 2).sum()) == 2999 * 3000
            client[:].execute("print('what nobody is to know')", block=True)
    assert stranger.returncode == 0
    told = json.loads(said.read_text())
    assert [x for x in told["found"] if x[2] != "refused"] == []
    kinds = Counter(kind for kind, _, _ in told["found"])
    assert kinds["process"] >= 11 * len(pids)
    assert kinds["path"] >= 6 * 3
    assert kinds["port"] == 1 + len(listening)
    secrets = secrets_in(folder)
    assert secrets
    assert not [line for line in told["lines"] for s in secrets if s in line]
    np.testing.assert_array_equal((x + 1).to_numpy(), np.arange(3000.0) + 1)
