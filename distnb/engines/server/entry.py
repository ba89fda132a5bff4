"""Where transports enter an engine: attach a session, run its batches, detach.

The client names these functions by string; what it sends are batches (:mod:`distnb.wire.protocol`).
"""

from __future__ import annotations

import atexit
import os
import pickle
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from distnb.common.errors import explain
from distnb.common.interrupts import interruptible, listen, wake_main
from distnb.common.machine import cores, node_memory
from distnb.engines.collectives.fourier import prepare
from distnb.engines.linalg import blacs
from distnb.engines.runtime.comm import (
    Comm,
    MPIComm,
    SoloComm,
    thread_comms,
)
from distnb.engines.runtime.node import join
from distnb.engines.runtime.threads import limit
from distnb.engines.server.self_report import sample
from distnb.engines.worker.local import follow_cells
from distnb.engines.worker.same_program import SameProgram
from distnb.engines.worker.worker import Worker
from distnb.measure.events import clock_name
from distnb.measure.snapshot import Sample
from distnb.wire import replies
from distnb.wire.channel import Arrays
from distnb.wire.messages import Reply
from distnb.wire.protocol import PROTOCOL

__all__ = [
    "attach",
    "catch_up",
    "close_server",
    "define",
    "detach",
    "inprocess",
    "open_server",
    "run",
    "sample",
    "spmd",
]

_WORKERS: dict[str, Worker] = {}
#: Client's key -> the socket on which it sends batches.
_SERVERS: dict[str, Any] = {}
#: Requests and buffers of collectives that have not ended: MPI may touch them.
_UNDER_WAY: list[Any] = []


def attach(session: str, pool_bytes: int, shared: int, first: int = 0) -> dict[str, Any]:
    """Join this engine to a session; collective over the first engines of the world (0: all).

    Returns what the client needs to know of the engine: rank, size, pid, host, memory, cores,
    versions.
    """
    import mpi4py

    mpi4py.rc.threads = False

    _keep_mpi()
    listen(lambda: any(worker.stopping for worker in list(_WORKERS.values())))
    _WORKERS[session], info = _joined(_comm_of(first), _user_namespace(), pool_bytes, shared)
    prepare(_WORKERS[session].clock)
    return info


def _keep_mpi() -> None:
    """Let nobody end MPI on an engine: all arrays would be gone with it."""
    from mpi4py import MPI

    def refuse() -> None:
        raise RuntimeError(
            explain(
                "MPI.Finalize()",
                "a call on an engine",
                "MPI as long as there are engines",
                "leave it out: MPI ends with them",
            )
        )

    MPI.Finalize = refuse


def _joined(
    comm: Any, user: dict[str, Any], pool_bytes: int, shared: int
) -> tuple[Worker, dict[str, Any]]:
    """Return a worker on a communicator that is its own, and what the client is to know of it."""
    from mpi4py import MPI

    info = _about(comm.Get_rank(), comm.Get_size())
    info["mpi"] = _library(MPI.Get_library_version())
    info["threads"] = limit(comm)
    info["scalapack"] = blacs.available(comm)
    node = join(comm, shared)
    info["shared"] = 0 if node is None else len(node.ranks)
    return Worker(MPIComm(comm), user, pool_bytes, node, MPIComm(comm.Dup())), info


def _comm_of(first: int) -> Any:
    """Return a communicator of its own for the first engines; the others take no part."""
    from mpi4py import MPI

    if not first:
        return MPI.COMM_WORLD.Dup()
    everyone = MPI.COMM_WORLD.Get_group()
    group = everyone.Incl(range(first))
    try:
        return MPI.COMM_WORLD.Create_group(group)
    finally:
        group.Free()
        everyone.Free()


def world() -> tuple[int, int, str]:
    """Return this engine's rank, the size of its MPI world and its host: nothing collective."""
    from mpi4py import MPI

    return MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size(), socket.gethostname()


def run(session: str, message: bytes, buffers: Arrays) -> list[Any]:
    """Run a batch; return the reply as bytes, and after it those of its large arrays."""
    content, arrays = replies.encode(_WORKERS[session].run(message, buffers))
    return [content, *arrays]


def open_server(key: str, client_host: str) -> tuple[str, str, str, str]:
    """Let the client with this key send batches to a socket; return what it needs to connect."""
    from distnb.engines.server.batch_server import BatchServer  # other transports do without ZeroMQ

    def run(session: str, message: bytes, buffers: Arrays) -> Reply:
        return _WORKERS[session].run(message, buffers)

    def answer(session: str, stop: int) -> Sample:
        if stop:
            _WORKERS[session].stop(stop)
            wake_main()
        return sample(_WORKERS[session])

    server = _SERVERS[key] = BatchServer(run, key, client_host, answer)
    return server.place


def close_server(key: str) -> None:
    """Close a client's sockets, if there are any."""
    if key in _SERVERS:
        _SERVERS.pop(key).close()


def catch_up(key: str, numbers: Sequence[int]) -> None:
    """Run what a client sent to its socket, up to a batch, before what comes through here.

    ``numbers`` has the last batch of each rank.
    """
    _SERVERS[key].catch_up(numbers[world()[0]])


def define(session: str, number: int, text: bytes) -> None:
    """Keep a function of the user's for a session's later batches, which name its number."""
    _WORKERS[session].define(number, text)


def detach(session: str) -> None:
    """Drop a session's arrays and its communicator (collective)."""
    worker = _WORKERS.pop(session, None)
    if worker is not None:
        worker.close()


def worker(session: str) -> Worker:
    """Return the worker of a session on this engine (for tests and debugging in ``%px``)."""
    return _WORKERS[session]


def spmd(pool_bytes: int, shared: int, of: Any = None) -> tuple[Worker, dict[str, Any], Any]:
    """Make this process a rank of a session of all ranks of a communicator (collective).

    It is that of the MPI world if none is given.

    Returns the worker, what :func:`attach` returns, and a function that gives every rank's reply
    to all ranks.
    """
    from mpi4py import MPI

    from distnb.engines.runtime.exchange import wait_until

    of = MPI.COMM_WORLD if of is None else of
    comm, side = of.Dup(), of.Dup()
    made, info = _joined(comm, {}, pool_bytes, shared)
    made.together = together = SameProgram(side)
    cast(MPIComm, made.comm).watch = together.look
    atexit.register(together.end)
    sides = {0: side}

    def share(reply: Any) -> list[Any]:
        if made.epoch not in sides:
            sides[made.epoch] = cast(MPIComm, made.comm).raw.Dup()
        side = sides[made.epoch]
        together.enter(made.epoch)
        try:
            found = interruptible(
                lambda: _allgather(side, reply, lambda test: wait_until(test, made.comm.check))
            )
            together.leave()
            return found
        except KeyboardInterrupt:
            made.give_up_if_apart()
            made.give_up()
            raise

    return made, info, share


def _allgather(comm: Any, item: Any, wait: Callable[[Callable[[], bool]], None]) -> list[Any]:
    """Return the items of all ranks, in their order.

    A blocking collective would spin: where ranks outnumber cores, for whole slices of time.
    """
    from mpi4py import MPI

    def finish(request: Any, *buffers: Any) -> None:
        _UNDER_WAY.append((request, buffers))  # if the wait is interrupted they stay
        wait(request.Test)
        _UNDER_WAY.pop()

    mine = np.frombuffer(pickle.dumps(item, protocol=5), np.uint8)
    size = np.array([mine.size], np.int64)
    sizes = np.empty(comm.Get_size(), np.int64)
    finish(comm.Iallgather(size, sizes), size, sizes)
    ends = np.cumsum(sizes)
    found = np.empty(ends[-1], np.uint8)
    places = [found, (sizes.tolist(), (ends - sizes).tolist()), MPI.BYTE]
    finish(comm.Iallgatherv([mine, MPI.BYTE], places), mine, places)
    return [
        pickle.loads(found[end - n : end].tobytes()) for n, end in zip(sizes, ends, strict=True)
    ]


def inprocess(
    n: int, pool_bytes: int, users: Sequence[dict[str, Any]] = ()
) -> list[tuple[Worker, dict[str, Any]]]:
    """Return workers for ``n`` ranks in this process, without MPI.

    ``users`` are the namespaces in which ``%px`` would run; new ones if there are none.
    """
    comms: list[Comm] = [SoloComm()] if n == 1 else list(thread_comms(n))
    made = []
    for comm, user in zip(comms, users or [{} for _ in comms], strict=True):
        info = _about(comm.rank, n)
        info["mpi"] = "none (threads of this process)" if n > 1 else "none (this process)"
        made.append((Worker(comm, user, pool_bytes), info))
    return made


def serve(worker: Worker, inbox: Any, outbox: Any) -> None:
    """Run batches from a queue until None comes (the loop of a thread that is an engine)."""
    while (item := inbox.get()) is not None:
        try:
            outbox.put(worker.run(*item))
        except BaseException as error:
            outbox.put(error)
    worker.close()


def start_thread(worker: Worker, inbox: Any, outbox: Any) -> threading.Thread:
    """Start a thread that is an engine."""
    thread = threading.Thread(
        target=serve,
        args=(worker, inbox, outbox),
        name=f"distnb-engine-{worker.comm.rank}",
        daemon=True,
    )
    thread.start()
    return thread


def _about(rank: int, size: int) -> dict[str, Any]:
    return {
        "rank": rank,
        "size": size,
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "clock": clock_name(),
        "memory": node_memory().available,
        "cores": cores(),
        "protocol": PROTOCOL,
        "numpy": np.__version__,
    }


def _library(version: str) -> str:
    """Return name and version of the MPI, without the rest of what it says of itself."""
    return " ".join(version.partition("\n")[0].partition(",")[0].replace("\0", "").split())


def _user_namespace() -> dict[str, Any]:
    """Return the namespace in which ``%px`` runs on this engine (an own one without IPython)."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None:
        return {}
    follow_cells(shell)
    found: dict[str, Any] = shell.user_ns
    return found
