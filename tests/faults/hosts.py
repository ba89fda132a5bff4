"""Hosts of their own on this machine: names, and a network between them (Linux, as root).

Each is a network namespace with an address on a bridge, and processes in it have a host name of
their own. They share the kernel, the file system and the numbers of processes.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import uuid
from pathlib import Path

#: Addresses of this host and the others, on a network of their own.
_NETWORK = "10.77.{}.{}"
#: Starts what MPI asks for on a host: ``-x HOST COMMAND...``.
_REMOTE = """\
#!/bin/sh
[ "$1" = "-x" ] && shift
host=$1; shift
exec ip netns exec "$host" unshare --uts sh -c "hostname $host; exec $*"
"""


def ip(*words, check=True):
    """Run ``ip``."""
    return subprocess.run(
        ["ip", *words], check=check, capture_output=True, text=True
    ).stdout.split()


def possible():
    """Tell whether there can be such hosts."""
    if os.geteuid() or not all(map(shutil.which, ("ip", "tc", "unshare"))):
        return False
    return not subprocess.run(
        ["unshare", "--net", "--uts", "true"], check=False, capture_output=True
    ).returncode


class Hosts:
    """Hosts that are named, and what can happen to them."""

    def __init__(self, folder, count):
        mark = uuid.uuid4().hex[:6]
        self.bridge = f"d{mark}"
        self.names = [f"h{k}{mark}" for k in range(count)]
        self.links = dict(zip(self.names, (f"v{k}{mark}" for k in range(count)), strict=True))
        self._net = 1 + int(mark, 16) % 250
        self.address = _NETWORK.format(self._net, 1)
        self.remote = Path(folder) / "remote"
        self.remote.write_text(_REMOTE)
        self.remote.chmod(0o755)

    def __enter__(self):
        ip("link", "add", self.bridge, "type", "bridge")
        ip("addr", "add", f"{self.address}/24", "dev", self.bridge)
        ip("link", "set", self.bridge, "up")
        for k, (name, link) in enumerate(self.links.items()):
            ip("netns", "add", name)
            ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("link", "set", link, "master", self.bridge, "up")
            ip("-n", name, "addr", "add", f"{_NETWORK.format(self._net, 2 + k)}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", name, "link", "set", "lo", "up")
        return self

    def __exit__(self, *error):
        for name, link in self.links.items():
            self.lose(name)
            ip("netns", "del", name, check=False)
            ip("link", "del", link, check=False)
        ip("link", "del", self.bridge, check=False)

    @property
    def mpi(self):
        """What MPICH's launcher is told, to start one process on each."""
        launcher = ["-launcher", "ssh", "-launcher-exec", str(self.remote)]
        return [*launcher, "-hosts", ",".join(f"{n}:1" for n in self.names), "-iface", self.bridge]

    def cut(self, name):
        """Cut the link of a host."""
        ip("link", "set", self.links[name], "down")

    def slow(self, name):
        """Let a host hear no more than one megabit a second."""
        limit = ["rate", "1mbit", "burst", "32kbit", "latency", "400ms"]
        command = ["tc", "qdisc", "add", "dev", self.links[name], "root", "tbf", *limit]
        subprocess.run(command, check=True)

    def join(self, name):
        """Give it back."""
        ip("link", "set", self.links[name], "up")

    def lose(self, name):
        """End all that runs on a host."""
        for pid in ip("netns", "pids", name, check=False):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)


def environment(folder):
    """Return the variables with which a cluster has its files in a folder, and our MPI."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {"IPYTHONDIR": str(folder), "PATH": path}
