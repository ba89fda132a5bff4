"""Start MPI engines, and end them, whatever happens.

``start_engines`` starts one process, the *watchdog* (:mod:`distnb.client.transport.watchdog`). It
starts the controller and ``mpiexec`` as its own children, waits until it is told to stop or until
its parent, the *owner*, is gone, and ends all that it started::

    owner (notebook)
    +-- watchdog
        +-- controller (hub and schedulers)
        +-- mpiexec -- engines -- nannies

So there is one way to end, and no moment at which a process has no one who would end it.
Everything that ipyparallel writes goes to one temporary folder, which goes with the processes.
POSIX only.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import logging
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import zmq

from distnb.client.transport import watchdog as _watchdog_script
from distnb.client.transport.contract import KERNELS, poll
from distnb.client.transport.joining import connection_file
from distnb.client.transport.lookout import Lookout
from distnb.client.transport.mpiexec import (
    THREADS,
    engine_environment,
    find_mpiexec,
    for_one_host,
    mpi_family,
)
from distnb.client.transport.watchdog import AGAIN, CALL, OVER, end_processes, load_json, read_text
from distnb.common.errors import EngineError, LateError, check_count, explain
from distnb.common.leftovers import own_folder, sweep
from distnb.common.machine import check_spare

if TYPE_CHECKING:
    import ipyparallel

__all__ = ["Engines", "start_engines"]

#: Engines register at the second beat, hence a short period (ms; 100 would win another 0.1 s at the
#: start, and take 2 % of a core for ever). One that misses them is not taken for dead: it may have
#: been stopped, and go on with all its arrays; of deaths nannies and sockets tell at once. Engines
#: look for the controller's beats every period + 500 ms, and give up after 60 s.
HEARTBEAT = ["--HeartMonitor.period=200", "--HeartMonitor.max_heartmonitor_misses=1000000000"]
MISSED = "--IPEngine.max_heartbeat_misses=85"

#: What engines and the controller run (not imported here: the two sides share no module).
ENGINE = Path(__file__).absolute().parents[2] / "engines" / "server" / "start.py"
CONTROLLER = ENGINE.with_name("controller.py")

#: Seconds in which new engines must be ready that take the place of others.
RESTART = 60.0

#: Seconds after which engines are asked once more: what they were asked may have been dropped.
_DROPPED = 2.0

#: Seconds until the hub answers.
_ANSWER = 10.0

#: Seconds that a watchdog has to end what is left of a cluster.
_ENDING = 3.0

#: Where Open MPI 5 and 4 keep what they may leave behind.
SESSION_FOLDER = ("PRTE_MCA_prte_tmpdir_base", "OMPI_MCA_orte_tmpdir_base")

#: The controller chooses ports that are free, and its processes take them some 0.1 s later. Until
#: then another process may have one, and ipyparallel goes on without what should listen there.
TAKEN = "Address already in use"
ATTEMPTS = 3
#: What the controller writes at each start, in lines of some hundred characters: no reason at all.
_ALWAYS = "Monitor message without topic"

# Starting and stopping ------------------------------------------------------------------------


@dataclass(eq=False)
class Engines:
    """A running ipyparallel cluster of MPI engines that distnb started.

    The id of an engine is its rank. The engines end with the process that started them, at the
    latest; a forked child of it cannot stop them.
    """

    client: ipyparallel.Client
    """A connected client; ``client.ids == list(range(n))``."""
    n: int
    """The number of engines."""
    _watchdog: _Watchdog = field(repr=False)
    _launcher: str = field(repr=False)
    starts: ClassVar[bool] = True
    generation: int = 0
    """How often there were new engines in place of others."""
    _ids: list[int] = field(default_factory=list, repr=False)
    _wanted: int = field(default=0, repr=False)
    """How many Ctrl-C has kept from coming; 0 if none."""
    _stopped: bool = field(default=False, repr=False)
    _renewing: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _lookout: Lookout = field(default_factory=Lookout, repr=False)

    def look_out(
        self, about: Iterable[dict[str, Any]], tell: Callable[[int], None], generation: int
    ) -> None:
        """Call a method, in another thread, as soon as one of a generation has ended."""
        self._lookout.watch([each["pid"] for each in about], tell, generation)

    def renew(self, generation: int, engines: int | None = None) -> list[int]:
        """Start engines in place of those of a generation, as many or another number; return ids.

        If that was done already, as sessions share engines, do nothing; if another thread is at it,
        wait for that. Raises EngineError if it cannot be done.
        """
        with self._renewing:
            if self._stopped:  # by an exit of Python, too, before the last of what it calls
                do = "read arrays before, and register what reads them at exit after dnb.start()"
                raise EngineError(explain("engines", "stopped ones", "running ones", do))
            if generation == self.generation:
                check_spare()  # before anything ends that may go on
                before, self.n = self.n, engines or self._wanted or self.n
                self._wanted = self.n
                try:
                    self._ids = self._others()
                except Exception:
                    self.n, self._wanted = before, 0
                    raise
                except BaseException:  # who goes on after Ctrl-C starts as many
                    self.n = before
                    raise
                self._wanted, self.generation = 0, generation + 1
            return self._ids

    def _others(self) -> list[int]:
        """Start engines, and a cluster for them if that has ended, too; return their ids."""
        watchdog, before = self._watchdog, dict(self.client._engines)
        try:
            watchdog.again(self.n, _threads(self._launcher, self.n), RESTART)
            _forget(self.client, before)
            return _newcomers(watchdog, self.client, self.n, before)
        except EngineError:  # where the controller has ended, the watchdog ends the rest
            if self._stopped or not poll(lambda: watchdog.over, _ENDING):
                raise
        self.client.close(linger=0)
        watchdog.stop()
        end_processes(watchdog.engine)  # one that went on would write into the arrays of others
        self._watchdog, self.client = _cluster(self._launcher, self.n, RESTART)
        return list(self.client.ids)

    def stop(self) -> None:
        """End all processes and remove all files of the cluster; the second time, do nothing."""
        if self._stopped or os.getpid() != self._watchdog.owner:
            return
        self._stopped = True
        self._lookout.close()
        atexit.unregister(self.stop)
        try:
            self._end()
        finally:
            with self._renewing:  # another thread may have been at it
                if not self._watchdog.stopped:
                    self._end()

    def _end(self) -> None:
        try:
            # Before the engines go, or the client would report their deaths.
            self.client.close(linger=0)
        finally:
            self._watchdog.stop()


def start_engines(n: int, *, mpiexec: str | None = None, timeout: float = 60.0) -> Engines:
    """Start MPI engines on this machine and connect to them.

    Parameters
    ----------
    n : int
        How many engines. More than cores is allowed.
    mpiexec : str, optional
        The MPI launcher; by default the one installed with this Python, else the first on PATH.
    timeout : float, default 60.0
        Seconds after which engines that are not ready are given up.

    Returns
    -------
    Engines
        The engines, ready for work. They end with this process, however it ends.

    Raises
    ------
    EngineError
        The engines ended early, or are not ranks of one MPI job. The reason is in the message.
    LauncherError
        There is no launcher; also a ``FileNotFoundError``.
    LateError
        The engines were not ready in time; also a ``TimeoutError``.

    Examples
    --------
    >>> engines = start_engines(2)                                           # doctest: +SKIP
    >>> engines.client[:].apply_sync(os.getpid)                              # doctest: +SKIP
    [4711, 4712]
    >>> engines.stop()                                                       # doctest: +SKIP
    """
    check_count("n", n)
    launcher = find_mpiexec(mpiexec)
    for _ in range(ATTEMPTS - 1):
        with contextlib.suppress(_PortTakenError):
            return _started(launcher, int(n), timeout)
    return _started(launcher, int(n), timeout)


def _started(launcher: str, n: int, timeout: float) -> Engines:
    watchdog, client = _cluster(launcher, n, timeout)
    engines = Engines(client, n, watchdog, launcher)
    atexit.register(engines.stop)
    return engines


def _cluster(launcher: str, n: int, timeout: float) -> tuple[_Watchdog, ipyparallel.Client]:
    """Start a cluster; return what watches it, and a client of all engines."""
    environment = engine_environment(os.environ, mpi_family(launcher), n)
    if zmq.has("curve"):  # else anyone on this host could read what code for engines says
        environment.setdefault("IPP_ENABLE_CURVE", "1")
    watchdog = _Watchdog.start(for_one_host(launcher), n, environment, timeout)
    try:
        return watchdog, _connect_engines(watchdog, n)
    except BaseException:
        watchdog.stop()
        raise


def _threads(launcher: str, n: int) -> dict[str, str]:
    """Return what in their environment depends on how many engines share the cores."""
    environment = engine_environment(os.environ, mpi_family(launcher), n)
    return {name: environment[name] for name in THREADS}


class _PortTakenError(EngineError):
    """Another process was given a port that the controller had chosen."""


@dataclass(eq=False)
class _Watchdog:
    """The owner's side of the watchdog process."""

    process: subprocess.Popen[bytes]
    folder: Path
    deadline: float
    mpiexec: str
    engine: str
    owner: int = field(default_factory=os.getpid)
    stopped: bool = False

    @classmethod
    def start(cls, mpiexec: str, n: int, environment: dict[str, str], timeout: float) -> _Watchdog:
        """Start the watchdog, which starts everything else."""
        sweep()
        folder = own_folder()
        environment |= dict.fromkeys(SESSION_FOLDER, str(folder))
        commands = _commands(folder, mpiexec, n, timeout)
        task = {"owner": os.getpid(), "folder": str(folder), "commands": commands}
        with open(folder / "watchdog.log", "wb") as log:
            process = subprocess.Popen(
                # Isolated, without site-packages: starts in 40 ms, and no package can break it.
                [sys.executable, "-I", "-S", _watchdog_script.__file__, json.dumps(task)],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C and a kernel's interrupt go to the whole group of the owner.
                start_new_session=True,
            )
        engine = " ".join(commands["mpiexec"][3:])
        return cls(process, folder, time.monotonic() + timeout, mpiexec, engine)

    def pause(self, progress: str) -> None:
        """Wait a moment; raise if the engines have ended, or are late."""
        self.check_ports()
        ended = read_text(self.folder / "ended")
        if not ended and self.process.poll() is not None:
            ended = f"the watchdog ended with code {self.process.returncode}"
        if ended:
            do = f"the last lines of their output may tell why:\n{self.output()}"
            raise EngineError(explain("starting engines", ended, "running engines", do))
        if time.monotonic() > self.deadline:
            do = f"pass a longer timeout=, or see the last lines of output:\n{self.output()}"
            raise LateError(explain("starting engines", progress, "all in time", do))
        time.sleep(0.01)

    def again(self, engines: int, environment: dict[str, str], timeout: float) -> None:
        """Let the watchdog end what is left of the engines, and start others."""
        self.deadline = time.monotonic() + timeout
        asked = self.folder / f"{AGAIN}.asked"
        asked.write_text(json.dumps({"engines": engines, "environment": environment}))
        asked.replace(self.folder / AGAIN)  # at once, for it looks now and then
        self.process.send_signal(CALL)
        while (self.folder / AGAIN).exists():
            if self.over or time.monotonic() > self.deadline:
                do = "close the session and call dnb.start(): arrays are lost"
                raise EngineError(explain("new engines", "an ended cluster", "its rest", do))
            time.sleep(0.01)

    @property
    def over(self) -> bool:
        """Whether the cluster has ended, and can have no other engines."""
        return self.process.poll() is not None or (self.folder / OVER).exists()

    def check_ports(self) -> None:
        """Raise if a part of the controller did not get its port."""
        log = read_text(self.folder / "controller.log")
        if TAKEN in log:
            found = next(line for line in log.splitlines() if TAKEN in line)
            raise _PortTakenError(explain("controller", found, "a free port", "try again"))

    def output(self) -> str:
        """Return the last lines that the engines and mpiexec wrote, else those of the others."""
        names = "mpiexec.log", "controller.log", "watchdog.log"
        logs = (read_text(self.folder / name).splitlines() for name in names)
        told = ([line for line in lines if _ALWAYS not in line] for lines in logs)
        lines = next(filter(None, told), [])
        return "\n".join(f"  {line}" for line in lines[-20:]) or "  (no output)"

    def stop(self) -> None:
        """End everything, and wait until it has ended."""
        self.stopped = True
        self.process.terminate()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()  # its children then get SIGTERM from the kernel
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)  # if the watchdog could not


def _commands(folder: Path, mpiexec: str, n: int, timeout: float) -> dict[str, list[str]]:
    """Return what the watchdog runs."""
    common = [
        f"--profile-dir={folder}",
        f"--ipython-dir={folder}",
        f"--cluster-id={folder.name}",
        "--log-level=ERROR",
    ]
    # The controller answers on loopback only; its name need not resolve to anything.
    controller = ["-P", str(CONTROLLER), "--nodb", "--location=127.0.0.1", *HEARTBEAT]
    engine = ["-P", str(ENGINE), "--mpi", f"--file={folder / 'engine.json'}"]
    waits = [f"--timeout={timeout}", f"--IPEngine.wait_for_url_file={timeout}", MISSED]
    return {
        "controller": [sys.executable, *controller, *common],
        "mpiexec": [mpiexec, "-n", str(n), sys.executable, *engine, *waits, *common],
    }


def _connect_engines(watchdog: _Watchdog, n: int) -> ipyparallel.Client:
    """Return a client of the engines once all are ready."""
    while True:
        client = _client(watchdog)
        try:
            if _all_registered(watchdog, client, n):
                _by_ranks(watchdog, client, list(range(n)))
                return client
        except BaseException:
            client.close(linger=0)
            raise
        client.close(linger=0)


def _client(watchdog: _Watchdog) -> ipyparallel.Client:
    """Return a client that the hub has answered.

    A client asks once, and the hub may never hear of it; between two clients is the moment to see
    that it cannot, as its port is another's.
    """
    import ipyparallel  # 0.3 s, while the processes start

    importlib.import_module(KERNELS)  # 0.1 s: else the first sum of a session takes it
    while not (info := load_json(connection_file(watchdog.folder, watchdog.folder.name))):
        watchdog.pause("no controller")
    while True:
        left = max(1.0, watchdog.deadline - time.monotonic())
        with _quiet_about_signing(), contextlib.suppress(TimeoutError):
            return ipyparallel.Client(info, timeout=min(_ANSWER, left))
        watchdog.pause("a controller that does not answer")


@contextlib.contextmanager
def _quiet_about_signing() -> Iterator[None]:
    """Drop the warning that messages are not signed: they are encrypted, which does more."""
    from traitlets.log import get_logger

    def other(record: logging.LogRecord) -> bool:
        return "signing is disabled" not in record.getMessage()

    logger: Any = get_logger()
    logger.addFilter(other)
    try:
        yield
    finally:
        logger.removeFilter(other)


def _all_registered(watchdog: _Watchdog, client: ipyparallel.Client, n: int) -> bool:
    """Wait until the client knows n engines; tell when a new client should ask again.

    A client is not told of engines that register in the instant between its question and its
    subscription.
    """
    soon = time.monotonic() + 5
    while len(client.ids) < n:
        if time.monotonic() > soon:
            return False
        watchdog.pause(f"{len(client.ids)} of {n} engines")
    return True


def _forget(client: ipyparallel.Client, ended: dict[int, str]) -> None:
    """Tell a client of engines that have ended, in its thread.

    The hub tells it, too, but not of an engine whose nanny was killed: what is sent to it would be
    waited for.
    """

    def tell() -> None:
        for i, key in ended.items():
            if client._engines.get(i) == key:
                client._unregister_engine({"content": {"id": i, "uuid": key}})

    client._io_loop.add_callback(tell)


def _newcomers(
    watchdog: _Watchdog, client: ipyparallel.Client, n: int, before: dict[int, str]
) -> list[int]:
    """Return the ids of n engines that were not there before, by their ranks, once all are ready.

    An engine whose number is still that of one that is ending gets another one.
    """
    while len(found := [i for i, key in client._engines.items() if before.get(i) != key]) < n:
        watchdog.pause(f"{len(found)} of {n} engines")
    return _by_ranks(watchdog, client, found)


def _places(watchdog: _Watchdog, client: ipyparallel.Client, ids: list[int]) -> list[list[int]]:
    """Return the rank of each engine and the size of its world; ask until they answer.

    A scheduler drops what is for an engine that has registered, but whose connection to this
    scheduler is not made yet, as on a slow machine.
    """
    asked: list[Any] = []
    due = 0.0
    while not (answered := [each for each in asked if each.ready() and each.successful()]):
        if time.monotonic() >= due:
            asked.append(client[ids].pull(["mpi_rank", "mpi_size"], block=False))
            due = time.monotonic() + _DROPPED
        watchdog.pause(f"{len(ids)} engines that do not answer")
    for each in asked[: asked.index(answered[0])]:  # dropped: messages stay in order
        client.outstanding.difference_update(each.msg_ids)
    found: list[list[int]] = answered[0].get()
    return found


def _by_ranks(watchdog: _Watchdog, client: ipyparallel.Client, ids: list[int]) -> list[int]:
    """Return ids of engines by their ranks; refuse those that are not all of one world.

    This is also the first round trip: after it the engines have finished starting.
    """
    n = len(ids)
    places = [tuple(place) for place in _places(watchdog, client, ids)]
    watchdog.check_ports()
    if sorted(places) != [(rank, n) for rank in range(n)]:
        do = (
            f"{watchdog.mpiexec} and mpi4py seem to belong to different MPIs: "
            "pass mpiexec= of the MPI that mpi4py uses, or install distnb[mpich]"
        )
        expected = f"ranks 0 to {n - 1} of {n}"
        raise EngineError(explain("(rank, size) of the engines", places, expected, do))
    return [k for _, k in sorted(zip(places, ids, strict=True))]
