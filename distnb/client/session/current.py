"""Which session arrays are made in, and how sessions come to be."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import time
from collections.abc import Mapping
from functools import partial
from multiprocessing import parent_process
from typing import Any

import numpy as np

from distnb.client.batching.call_sites import user_line
from distnb.client.session.progress import told
from distnb.client.session.session import Session
from distnb.client.transport.inprocess import InProcess
from distnb.client.transport.spmd import Spmd
from distnb.common.calling import HERE, check_side
from distnb.common.config import config
from distnb.common.errors import (
    CountError,
    DistnbError,
    EngineError,
    SessionError,
    check_count,
    explain,
    quoted,
)
from distnb.common.machine import check_spare, cores, node_memory
from distnb.common.shared_segments import SharedSegment
from distnb.measure.quantities import counted, size_text

__all__ = [
    "arrays_of",
    "become_current",
    "check_room",
    "connect",
    "in_use",
    "inprocess",
    "most_recorded",
    "open_sessions",
    "received",
    "session",
    "spmd",
    "start",
    "subset",
    "use",
]

_CURRENT: list[Session] = []
#: Whose arrays the last cell was about, if not the current session's.
_IN_USE: list[Session] = []


#: Bytes of an engine that has no arrays.
_ENGINE = 50 << 20
#: Seconds between two looks for engines that are to come.
_SOON = 0.5
#: What a session was asked for with: how, and with which arguments.
Origin = tuple[Any, ...]


def become_current(made: Session) -> Session:
    """Let arrays be made in a session from now on."""
    _CURRENT[:] = [s for s in _CURRENT if not s.closed and s is not made] + [made]
    _IN_USE.clear()
    return made


def open_sessions() -> list[Session]:
    """Return all sessions that are open, the current one last."""
    return [s for s in _CURRENT if not s.closed]


def most_recorded(before: Mapping[Session, int]) -> list[Session]:
    """Return the sessions that recorded commands since then, the one with the most first.

    ``before`` are the numbers of commands by then, of sessions that were open.
    """
    counts = {each: each.recorded - n for each, n in before.items() if not each.closed}
    counts |= {each: each.recorded for each in open_sessions() if each not in before}
    return sorted((each for each, n in counts.items() if n > 0), key=counts.__getitem__)[::-1]


def use(found: Session | None) -> None:
    """Note whose arrays a cell was about; None if that cannot be told."""
    if found is not None:
        _IN_USE[:] = [found]


def in_use() -> Session | None:
    """Return the session of the arrays that the last cell was about; by default the current one."""
    return _IN_USE[0] if _IN_USE and not _IN_USE[0].closed else active()


def _launch() -> Any:
    return importlib.import_module("distnb.client.transport.launch")


def _joining() -> Any:
    return importlib.import_module("distnb.client.transport.joining")


def keeping() -> Any:
    """Return the module that lets sessions outlive their notebook."""
    return importlib.import_module("distnb.client.recovery.keeping")


def _reach(client: Any, source: Any = None) -> Any:
    """Return a transport to the engines of an ipyparallel client, and of who can start others."""
    module = importlib.import_module("distnb.client.transport.socket_transport")
    return module.SocketTransport(client, os.urandom(16).hex(), source=source)


def _running(origin: Origin) -> Session | None:
    """Return the newest session of this origin that is open, if it has one."""
    found = [s for s in _CURRENT if not s.closed and s.origin[:1] == origin[:1]]
    return found[-1] if found else None


def _again(found: Session, how: str) -> Session:
    """Return a session that runs already, in place of another one like it."""
    found.users += 1
    others = f"; dnb.{how} makes another" if how else ""
    run = "run" if found.size > 1 else "runs"
    print(f"distnb: {counted(found.size, 'engine')} {run} already, with {arrays_of(found)}{others}")
    return become_current(found)


def arrays_of(found: Session) -> str:
    """Return how many arrays a session has, on engines or in the notebook, and their size."""
    sizes = Session.counted_by(found)
    return counted(len(sizes), "array") + (f" of {size_text(sum(sizes))}" if any(sizes) else "")


def _replace(found: Session) -> None:
    """Close a session in whose place another one is to be; say what becomes of its arrays."""
    why = ", as its engines are gone" if found.connection.dead else ""
    arrays = arrays_of(found)
    lost = "" if arrays == "0 arrays" else f", and its arrays ({arrays}) cannot be used any more"
    print(f"distnb: the session before is closed{why}{lost}; dnb.start(..., beside=True) keeps it")
    try:
        found.close()
    except DistnbError as error:
        print(f"distnb: what it had left to do failed: {error}")


def start(
    n: int | None = None,
    *,
    beside: bool = False,
    keep: str | float | None = None,
    mpiexec: str | None = None,
    timeout: float = 60.0,
) -> Session:
    """Start ``n`` local MPI engines and make them the current session.

    A cell that starts engines can run twice: if as many of them run already, their session is
    returned, with all its arrays. If others run that were started in this way, their session is
    closed when the new ones are there, and a line says what that did to its arrays.

    Parameters
    ----------
    n : int, optional
        Number of engines; by default one for each core.
    beside : bool, optional
        Whether to start engines beside those that run, for a session of their own. Arrays of two
        sessions do not meet.
    keep : str or float, optional
        How long arrays are to outlive this process, such as ``'30 min'`` or ``'1 h'``, or in
        seconds: :func:`distnb.attach` gives them to the next notebook. By default nothing is left.
    mpiexec : str, optional
        The launcher of the MPI that mpi4py uses; by default the one that is installed with this
        Python, else the first on PATH.
    timeout : float, optional
        Seconds after which engines that are not ready are given up.

    Returns
    -------
    Session
        A context manager; closing it (or the end of this process, however it ends) stops the
        engines. Closing it ends what ``keep=`` asked for, too.

    Raises
    ------
    EngineError
        If the engines cannot be started; the message says why. It is also a ``TypeError`` or
        ``ValueError`` where ``n`` is not an integer of at least 1, or more than fit in memory, a
        ``FileNotFoundError`` where there is no launcher, and a ``TimeoutError`` where they were not
        ready in time.
    MemoryError
        If this process itself has no room left to connect to them.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.start(n=2) as session:  # doctest: +SKIP
    ...     x = dnb.ones((1000, 1000))
    ...     float(x.sum())
    1000000.0
    """
    count = check_count("n", cores() if n is None else n)
    if not isinstance(beside, bool | np.bool_):
        raise TypeError(explain("beside", quoted(beside), "True or False", "pass beside=True"))
    timeout = _seconds(timeout)
    seconds = None if keep is None else keeping().seconds_of(keep)
    origin = "start", count
    found = None if beside else _running(origin)
    if found is not None and found.origin == origin and not found.connection.dead:
        _keep(found, seconds)
        return _again(found, f"start({count}, beside=True)")
    check_room(count)
    _tell_of_cores(count)
    made = started(count, mpiexec=mpiexec, timeout=timeout)
    try:
        _keep(made, seconds)
    except BaseException:
        made.close()
        raise
    if found is not None:  # only now: if there had been no others, it would go on
        _replace(found)
    return become_current(made)


def started(n: int, segment: SharedSegment | None = None, **options: Any) -> Session:
    """Start engines, and make their session the current one; its memory may be there already."""
    with told(f"starting {counted(n, 'engine')}"):
        engines = _launch().start_engines(n, **options)
        try:
            made = Session(_reach(engines.client, engines), engines, segment)
        except BaseException:
            engines.stop()
            raise
        made.origin = "start", n
        try:
            made.recovery.prepare(segment is not None)
        except BaseException:
            made.close()
            raise
    return become_current(made)


def _keep(made: Session, seconds: float | None) -> None:
    """Let a session outlive this process, if that is asked for."""
    if seconds is None or made.keeping is not None:
        return
    if not made.ledger.lays:
        made.recovery.prepare(wanted=True)
    facts = {"engines": made.size, "seconds": seconds, "started": time.time()}
    made.keeping = keeping().Keeping(made.memory, facts)
    Session.names_told_by()


def check_room(engines: int, name: str = "n") -> None:
    """Refuse more engines than there is memory for."""
    if engines > (most := node_memory().available // _ENGINE) > 0:
        got, do = f"{engines}, which take {size_text(_ENGINE)} each", f"pass {name}={cores()}"
        raise CountError(explain(name, got, f"at most {most:,}, which fit in memory", do))
    check_spare()


def _tell_of_cores(engines: int) -> None:
    """Say so if engines are to share cores."""
    if engines > (there := cores()):
        print(
            f"distnb: {engines} engines share {there} core{'s' * (there > 1)}: good for a trial, "
            "slow for work",
            file=sys.stderr,
        )


def connect(
    profile: str | None = None,
    cluster_id: str | None = None,
    client: Any = None,
    timeout: float = 0.0,
) -> Session:
    """Use engines that were started with ``ipcluster start --engines=MPI``.

    Without a ``client`` a session on the same cluster that is open already is returned again.

    Parameters
    ----------
    profile, cluster_id : str, optional
        As for ``ipyparallel.Client``.
    client : ipyparallel.Client, optional
        A connected client to use.
    timeout : float, optional
        Seconds to wait for the cluster and all of its engines, which may stand in the queue of a
        batch system. By default it has to be there.

    Returns
    -------
    Session
        The current session from now on. Closing it frees its arrays; the engines stay.

    Raises
    ------
    ConnectionError
        If there is no such cluster, it is gone, or it has no engines.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.connect(profile="mpi") as session:  # doctest: +SKIP
    ...     session.size
    4
    """
    origin, timeout = ("connect", (profile, cluster_id)), _seconds(timeout)
    before = _running(origin) if client is None else None
    if before is not None and before.origin == origin and _goes_on(before, timeout):
        return _again(before, "connect(client=ipyparallel.Client())")
    joining = _joining()
    connect_to = partial(joining.connect_client, profile, cluster_id)
    found = connect_to(client, timeout)
    source = joining.Joined(found, connect_to if client is None else None)
    made = Session(_reach(found, source))
    made.origin = origin if client is None else ()
    made.recovery.prepare()
    return become_current(made)


def _seconds(timeout: object) -> float:
    """Return seconds to wait for engines; refuse what are none."""
    if isinstance(timeout, bool) or not isinstance(timeout, int | float | np.number):
        got = repr(timeout)
        raise TypeError(explain("timeout", got, "seconds, as a number", "pass timeout=60"))
    return float(timeout)


def _goes_on(found: Session, timeout: float) -> bool:
    """Tell whether a session has engines, maybe others than before, that go on for these.

    They may come within ``timeout`` seconds.
    """
    end = time.monotonic() + timeout
    while not _has_engines(found) and found.connection.keeps:
        with contextlib.suppress(EngineError):
            found.recover()
            break
        if time.monotonic() >= end:
            break
        time.sleep(_SOON)
    return _has_engines(found)


def _has_engines(found: Session) -> bool:
    return not found.connection.dead and bool(found.transport.alive())


def spmd(comm: object = None) -> Session:
    """Make every rank of ``mpiexec -n P python script.py`` an engine of one session (collective).

    All ranks run the same script and record the same commands; values that are read come out
    the same on all ranks. What a rank holds is ``A.local``.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm, optional
        The ranks that take part, by default those of ``MPI.COMM_WORLD``; it is duplicated.

    Returns
    -------
    Session
        The current session from now on. Closing it frees its arrays.

    Raises
    ------
    EngineError
        Later, where ranks turn out not to run the same program: they record other commands, or one
        has ended while others wait for it.

    Examples
    --------
    In ``script.py``, run by ``mpiexec -n 4 python script.py``:

    >>> import distnb as dnb
    >>> with dnb.spmd():  # doctest: +SKIP
    ...     float(dnb.arange(10.0).sum())
    45.0
    """
    transport = Spmd(comm)
    transport.worker.together.line = user_line
    return become_current(Session(transport))


def inprocess(n: int = 1) -> Session:
    """Make a session whose engines live in this process, without MPI.

    For debugging, teaching and tests. One engine runs commands where they are flushed; more are
    threads.

    Parameters
    ----------
    n : int
        Number of engines.

    Returns
    -------
    Session
        The current session from now on; a context manager, whose end frees its arrays.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     dnb.arange(7).sum().item()
    21
    """
    return become_current(Session(InProcess(check_count("n", n))))


def subset(engines: int, session: Session | None = None) -> Session:
    """Make a session on the first engines of another one, and make it the current one.

    They get a communicator of their own; the other engines take no part. Closing it frees its
    arrays, and the session before is the current one again. Arrays of two sessions do not meet.

    Parameters
    ----------
    engines : int
        How many of the engines.
    session : Session, optional
        The other session; by default the current one.

    Returns
    -------
    Session
        The current session from now on.

    Raises
    ------
    TypeError, ValueError
        If ``engines`` is not an integer from 1 to the number of engines.
    SessionError
        Under SPMD, where every rank runs the script.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(4), dnb.subset(2):
    ...     dnb.ones((6, 6), dist="block").layout.elements()
    (18, 18)
    """
    whole = need(session)
    made = Session(whole.transport.subset(check_count("engines", engines, whole.size)))
    made.recovery.prepare()
    return become_current(made)


def session() -> Session:
    """Return the current session.

    With none chosen, the default ipyparallel cluster is used if one runs, else engines are
    started, one for each core; a line says which.

    Returns
    -------
    Session
        The one that arrays are made in if no other is asked for.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2) as made:
    ...     dnb.session() is made
    True
    """
    check_side()
    while _CURRENT and _CURRENT[-1].closed:
        _CURRENT.pop()
    if _CURRENT:
        return _CURRENT[-1]
    if _joining().running_default_cluster():
        made = connect()
        print(f"distnb: using the running ipyparallel cluster with {made.size} engines")
    else:
        made = start(config.engines or None)
        print(f"distnb: started {made.size} MPI engines; dnb.session().close() stops them")
    return made


def received() -> Session:
    """Return the session in which arrays are made that come by pickle, by default the current one.

    A worker of ``multiprocessing`` or ``joblib`` that has none computes in itself: it is one of
    many, of which each would start engines for each core.
    """
    check_side()
    return inprocess() if active() is None and parent_process() is not None else session()


def active() -> Session | None:
    """Return the current session if there is one; starts nothing."""
    while _CURRENT and _CURRENT[-1].closed:
        _CURRENT.pop()
    return _CURRENT[-1] if _CURRENT else None


def need(found: Session | None) -> Session:
    """Return a session that can be used, by default the current one."""
    if found is None:  # as session() does, in half the time: each number that is made asks
        usual = _CURRENT[-1] if _CURRENT else None
        return session() if usual is None or usual.closed or HERE.engine else usual
    if not isinstance(found, Session):
        raise TypeError(explain("session", type(found).__name__, "a Session", "pass dnb.session()"))
    if found.closed:
        raise SessionError(explain("session", "a closed one", "an open one", "call dnb.start()"))
    return found
