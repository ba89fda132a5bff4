"""Clusters that users start themselves: how to connect to them, and who comes in their place."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distnb.client.transport.contract import poll
from distnb.client.transport.watchdog import load_json
from distnb.common.errors import EngineError, explain

if TYPE_CHECKING:
    import ipyparallel

__all__ = ["Joined", "connect_client", "connection_file", "running_default_cluster"]

START_ONE = "start one with `ipcluster start -n 4 --engines=MPI`"
#: Seconds between two looks at a cluster that is to come.
_SOON = 0.5
#: Seconds until an engine answers; until a controller's sockets greet.
_ANSWER, _GREETING = 10.0, 5.0
#: Seconds in which engines end that are to, and others register when the first of them has.
_TOGETHER = 2.0
#: How often they are asked for their ranks, for so long each.
_TIMES = 5


class Joined:
    """A cluster of the user's, who may start engines in place of those that died.

    Parameters
    ----------
    client : ipyparallel.Client
        A connected client.
    again : callable, optional
        Returns a new client, where another controller may have taken the place of this one.

    Attributes
    ----------
    generation : int
        How often there were others.
    """

    starts = False

    def __init__(
        self, client: ipyparallel.Client, again: Callable[[], ipyparallel.Client] | None
    ) -> None:
        self.client, self._again = client, again
        self.generation = 0
        self._lock = threading.Lock()
        self._known = dict(client._engines)
        self._ids = list(client.ids)
        self._n = len(self._ids)
        #: What engines have said of themselves, by their processes.
        self._about: dict[int, dict[str, Any]] = {}

    def renew(self, generation: int, engines: int | None = None) -> list[int]:
        """Return the ids of engines that were started in place of those of a generation.

        Raises EngineError if there are not as many, ranks of one MPI job; or if one of those before
        is still there: it could write into the arrays of the others.
        """
        with self._lock:
            if generation == self.generation:
                self._ids = self._newcomers()
                self._known = dict(self.client._engines)
                self._about.clear()
                self.generation += 1
            return self._ids

    def _newcomers(self) -> list[int]:
        if not poll(lambda: not self._left(), _TOGETHER):
            got, do = f"processes {self._left()}, which still run", "end them first"
            raise EngineError(explain("engines that were there before", got, "none", do))
        if not self._new():
            self._look_again()
        poll(lambda: len(self._new()) >= self._n, _TOGETHER if self._new() else 0.0)
        found, what = self._new(), "engines in place of those that died"
        if len(found) < self._n:
            do = "start as many again, as these were started, then go on: they take over the arrays"
            raise EngineError(explain(what, len(found), self._n, do))
        if len(found) > self._n:
            do = "end the others, and go on: they take over the arrays"
            raise EngineError(explain(what, len(found), self._n, do))
        places = _places(self.client, found)
        if sorted(places) != [(rank, self._n) for rank in range(self._n)]:
            expected, do = f"ranks of one MPI job of {self._n}", "start them with --engines=MPI"
            raise EngineError(explain(what, f"(rank, size) {places}", expected, do))
        return found

    def _look_again(self) -> None:
        """Look for another controller where this one was found."""
        client = None
        with contextlib.suppress(ConnectionError):
            client = None if self._again is None else self._again()
        if client is None:
            return
        if _same(client, self.client):
            client.close(linger=0)
            return
        self.client.close(linger=0)
        self.client, self._known = client, {}

    def _left(self) -> list[int]:
        """Return the processes that were engines before and still run on this host."""
        return [pid for pid, about in self._about.items() if _runs(about)]

    def _new(self) -> list[int]:
        """Return the ids of engines that were not there before."""
        return [i for i, key in self.client._engines.items() if self._known.get(i) != key]

    def look_out(self, about: Iterable[dict[str, Any]], tell: object, generation: int) -> None:
        """Note who the engines are; of their deaths whoever uses them is told."""
        self._about |= {each["pid"]: each for each in about}


def _runs(about: dict[str, Any]) -> bool:
    """Tell whether a process of this host is there, and has not only to be waited for."""
    if about["host"] != socket.gethostname():
        return False
    try:
        return Path(f"/proc/{about['pid']}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _places(client: ipyparallel.Client, ids: list[int]) -> list[tuple[int, int]]:
    """Return the rank of each engine and the size of its world; ask again where that got lost.

    A scheduler drops what is for an engine that has registered, and is not connected to it yet.
    """
    import ipyparallel

    for _ in range(_TIMES):
        asked = client[ids].pull(["mpi_rank", "mpi_size"], block=False)
        with contextlib.suppress(ipyparallel.error.RemoteError, TimeoutError):
            return [(int(rank), int(size)) for rank, size in asked.get(_TOGETHER)]
    do = "wait until they have started, and see that they are started with --engines=MPI"
    raise EngineError(explain("engines in place of those that died", "no answer", "one", do))


def _same(one: ipyparallel.Client, other: ipyparallel.Client) -> bool:
    """Tell whether two clients are of one controller."""
    return bool(one.session.key == other.session.key)


def connect_client(
    profile: str | None = None,
    cluster_id: str | None = None,
    client: ipyparallel.Client | None = None,
    timeout: float = 0.0,
) -> ipyparallel.Client:
    """Connect to a cluster that was started by ``ipcluster start --engines=MPI``.

    Parameters
    ----------
    profile : str, optional
        IPython profile of the cluster, if not the default one.
    cluster_id : str, optional
        Id of the cluster, if it was started with ``--cluster-id``.
    client : ipyparallel.Client, optional
        A client that is connected already; it is checked and returned.
    timeout : float, optional
        Seconds to wait for the cluster, and for all engines of its MPI world.

    Returns
    -------
    ipyparallel.Client
        A client with at least one engine. It is the caller's to close.

    Raises
    ------
    ConnectionError
        No such cluster was started, it is gone, or it has no engines.

    Examples
    --------
    >>> client = connect_client(profile="mpi")                               # doctest: +SKIP
    """
    if client is not None:
        if not hasattr(client, "ids"):
            got = type(client).__name__
            raise TypeError(explain("client", got, "an ipyparallel.Client", "pass client=Client()"))
        _check_engines(client, 1)
        return client
    end = time.monotonic() + timeout
    while True:
        try:
            return _complete(_connect(profile, cluster_id), timeout > 0)
        except ConnectionError:
            if time.monotonic() > end:
                raise
            time.sleep(_SOON)  # and a new client, for one is not told of all that came meanwhile


def _complete(client: ipyparallel.Client, whole: bool) -> ipyparallel.Client:
    """Return a client that has an engine, or a ``whole`` world of them; else close it and raise."""
    try:
        _check_engines(client, 1)
        _check_engines(client, _size_of_world(client) if whole else 1)
    except BaseException:
        client.close()
        raise
    return client


def _check_engines(client: ipyparallel.Client, n: int) -> None:
    """Raise ConnectionError for less than n engines."""
    if len(client.ids) < n:
        do = f"wait until ipcluster reports that they have started (timeout=), or {START_ONE}"
        raise ConnectionError(
            explain("engines of the cluster", len(client.ids), f"at least {n}", do)
        )


def _size_of_world(client: ipyparallel.Client) -> int:
    """Return how many engines there will be, as one says that is there; 1 if none does."""
    import ipyparallel

    try:
        return int(client[client.ids[:1]].pull("mpi_size", block=False).get(_ANSWER)[0])
    except (ipyparallel.error.RemoteError, TimeoutError):
        return 1  # what is wrong with it is said by who uses it


def _connect(profile: str | None, cluster_id: str | None) -> ipyparallel.Client:
    """Return a client of the cluster of a profile."""
    import ipyparallel

    path = connection_file(_profile_folder(profile), cluster_id)
    what = f"cluster {cluster_id or 'default'!r} of profile {profile or 'default'!r}"
    info = load_json(path)
    if not info:
        got = f"no connection file {path}"
        raise ConnectionError(explain(what, got, "a running cluster", START_ONE))
    # With ssh the ports are elsewhere, and the client makes the tunnels.
    if not info.get("ssh") and not _answers(info, near=2.0):
        got = f"no answer at {info.get('interface')}"
        do = f"{START_ONE}, or remove what an ended one left: {path}"
        raise ConnectionError(explain(what, got, "a running cluster", do))
    try:
        return ipyparallel.Client(info)
    except (OSError, TimeoutError, ValueError) as error:
        got = f"{type(error).__name__}: {error}"
        raise ConnectionError(explain(what, got, "a connection", "restart it")) from error


def running_default_cluster() -> bool:
    """Tell whether a cluster of the default profile can be reached.

    Quick where nothing listens, and not misled by files that an ended controller has left.
    """
    return _answers(load_json(connection_file(_profile_folder(None), None)), near=0.2)


def connection_file(profile: Path, cluster_id: str | None) -> Path:
    """Return the path of the file by which clients find a controller."""
    middle = f"-{cluster_id}" if cluster_id else ""
    return profile / "security" / f"ipcontroller{middle}-client.json"


def _profile_folder(profile: str | None) -> Path:
    """Return the folder of an IPython profile, without importing IPython."""
    base = os.environ.get("IPYTHONDIR") or Path.home() / ".ipython"
    return Path(base).expanduser() / f"profile_{profile or 'default'}"


def _answers(info: dict[str, Any], near: float) -> bool:
    """Tell whether ZeroMQ sockets listen on the ports of a connection file.

    Somebody must listen within ``near`` seconds, and greet within those that it takes where the
    machine is busy. All are tried: after a controller died, others may have got some of its ports.
    """
    scheme, _, host = str(info.get("interface", "")).partition("://")
    names = ("registration", "control", "mux", "task", "iopub", "notification", "broadcast")
    ports = [info[name] for name in names if isinstance(info.get(name), int)]
    if scheme != "tcp" or not ports:
        return False
    if host in ("*", "0.0.0.0"):
        location = info.get("location")
        host = "127.0.0.1" if location == socket.gethostname() else str(location)
    deadline = time.monotonic() + _GREETING
    return all(_speaks_zeromq(host, port, near, deadline) for port in ports)


def _speaks_zeromq(host: str, port: int, near: float, deadline: float) -> bool:
    """Tell whether a listener greets as ZeroMQ does: the first of 10 bytes is ff, the last 7f."""
    greeting = b""
    with (
        contextlib.suppress(OSError),
        socket.create_connection((host, port), timeout=near) as connection,
    ):
        while len(greeting) < 10:
            connection.settimeout(max(0.01, deadline - time.monotonic()))
            if not (more := connection.recv(10 - len(greeting))):
                break
            greeting += more
    return len(greeting) == 10 and greeting[0] == 0xFF and greeting[9] == 0x7F
