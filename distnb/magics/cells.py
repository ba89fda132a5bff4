"""What distnb does around the cells of a shell; and a cell within a cell."""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

from distnb.client.array.showing import show_now
from distnb.client.lasting.checkpoints import repeat
from distnb.client.lasting.kept_arrays import NOTEBOOKS, list_arrays
from distnb.client.reach.aliasing import to_be_written
from distnb.client.session import current
from distnb.client.session.session import Session
from distnb.client.sparse.base import Sparse
from distnb.client.transport import client_hooks
from distnb.client.transport.contract import ANSWER, poll
from distnb.magics.arguments import arrays_of

__all__ = ["Cells", "follow_cells", "nested", "no_code", "raise_of"]

#: Cells that time something with IPython's own magics.
_TIMED = re.compile(r"^\s*(?:\w+\s*=\s*)?%%?time(?:it)?\b", re.MULTILINE)
#: What is told after a cell that was interrupted while engines had more to do.
_GOING_ON = (
    "distnb: engines go on with what the cell asked of them; to stop them, interrupt a cell that "
    "waits for it"
)
#: Seconds that code waits for the answers of engines that were interrupted before.
_LONGEST = 60.0
#: Clients with a hook of ours.
_FOLLOWED: WeakSet[Any] = WeakSet()


class Cells:
    """What distnb does around the cells of a shell."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        #: Session -> its commands before the cell.
        self._recorded: dict[Session, int] = {}
        #: Those that are kept and had nothing to do before it.
        self._rested: set[Session] = set()
        #: Those that were not waited for.
        self._left: WeakSet[Session] = WeakSet()
        #: Whether the user was told what ``%timeit`` times.
        self._told = False
        #: Whether a cell runs, and what writes the next checkpoint if none does then.
        self._running = False
        self._timer: asyncio.TimerHandle | None = None
        NOTEBOOKS.append(self._arrays)
        shell.events.register("pre_run_cell", self.before)
        shell.events.register("post_run_cell", self.after)

    def _arrays(self, session: Session) -> list[tuple[str, Any]]:
        """Return the arrays of the notebook's variables, and what is sparse."""
        sparse = [
            (name, x)
            for name, x in list(self.shell.user_ns.items())
            if isinstance(x, Sparse) and x.session is session and not name.startswith("_")
        ]
        return [*arrays_of(self.shell, session), *sparse]

    def before(self, info: Any = None) -> None:
        """Start of a cell: what comes now belongs to it."""
        self._running = True
        self._recorded = {}
        self._rested = set()
        for session in current.open_sessions():
            session.journal.begin()
            self._recorded[session] = session.recorded
            if session.keeping is not None and session.keeping.begin():
                self._rested.add(session)

    def after(self, result: Any = None) -> None:
        """End of a cell: send what is pending, wait for it, and show what went wrong."""
        self._running = False
        if not current.open_sessions():
            return
        follow_cells(self.shell)
        worked = current.most_recorded(self._recorded)
        current.use(worked[0] if worked else None)
        newest = current.active()
        for session in current.open_sessions():
            try:
                if session is newest or session in worked:  # not for one of no use any more
                    self._ended(session, session in worked, result)
                elif session in self._rested and session.keeping is not None:
                    session.keeping.rest()
            finally:
                session.journal.end()
        self._tell_of_timing(bool(worked), result)

    def _ended(self, session: Session, worked: bool, result: Any) -> None:
        """Wait for what a cell asked of a session, and show what went wrong.

        The cell has failed then, so that a notebook that is run whole stops here.
        """
        try:
            if self._is_left(session, worked, result):
                return
            # Not for an engine that stands still, in cells that need none.
            if session.waits or session.replies.warnings:
                session.flush()
            show_now()
            list_arrays(session)
            if session.keeping is not None:
                session.keeping.rest()
            self._repeat()
        except (Exception, KeyboardInterrupt) as error:
            self.shell.showtraceback(sys.exc_info())
            if getattr(result, "success", False):
                result.error_in_exec = error

    def _is_left(self, session: Session, worked: bool, result: Any) -> bool:
        """Tell whether engines are to go on by themselves with what an interrupted cell asked.

        Until another one asks for more, or reads.
        """
        if session.waits and _is_interrupted(result):
            if not isinstance(result.error_in_exec, _ToldError):
                dead = session.connection.dead
                print(f"distnb: {dead}" if dead else _GOING_ON, file=sys.stderr)
            self._left.add(session)
        elif worked or not session.waits:
            self._left.discard(session)
        return session in self._left

    def _repeat(self) -> None:
        """Write the checkpoints for which it is time, and come again when it is for the next."""
        waits = [wait for each in current.open_sessions() if (wait := repeat(each)) is not None]
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if waits:
            with contextlib.suppress(RuntimeError):  # a shell without a loop: when a cell ends
                loop = asyncio.get_running_loop()
                self._timer = loop.call_later(min(waits), self._idle)

    def _idle(self) -> None:
        """Write them while no cell runs; the next ones are for when one has run."""
        self._timer = None
        if not self._running:
            for session in current.open_sessions():
                repeat(session)

    def _tell_of_timing(self, worked: bool, result: Any) -> None:
        """Say once that ``%timeit`` does not wait for the engines, where it times their work."""
        code = getattr(getattr(result, "info", None), "raw_cell", None) or ""
        if not self._told and worked and _TIMED.search(code):
            self._told = True
            print(
                "distnb: operations return before the engines have done them, so %timeit and %time "
                "see how long they take to be asked for; %disttime EXPR waits"
            )

    def remove(self) -> None:
        """Undo everything."""
        NOTEBOOKS.remove(self._arrays)
        if self._timer is not None:
            self._timer.cancel()
        self.shell.events.unregister("pre_run_cell", self.before)
        self.shell.events.unregister("post_run_cell", self.after)
        _unfollow(self.shell)


def _is_interrupted(result: Any) -> bool:
    """Tell whether a cell ended with Ctrl-C."""
    return isinstance(getattr(result, "error_in_exec", None), KeyboardInterrupt)


@contextmanager
def nested(shell: Any) -> Iterator[None]:
    """Run a cell within a cell: the outer one raises its error and has a result of its own.

    Its lines are known by the number of the outer one, which IPython 9 has counted on by now.
    Where a loop runs, as in Jupyter, ``await`` is a syntax error there, as in ``%%time``: the loop
    cannot run within itself.
    """
    awaits, shell.autoawait = shell.autoawait, shell.autoawait and not _loop_runs()
    show, outer = shell.showtraceback, shell.displayhook.exec_result
    show_syntax = shell.showsyntaxerror
    cache, number = shell.compile.cache, getattr(outer, "execution_count", None)
    shell.showtraceback = shell.showsyntaxerror = lambda *args, **kwargs: None
    shell.compile.cache = lambda code, count=0, *rest, **named: cache(
        code, number or count, *rest, **named
    )
    try:
        yield
    finally:
        shell.autoawait = awaits
        shell.compile.cache = cache
        shell.showtraceback, shell.showsyntaxerror = show, show_syntax
        shell.displayhook.exec_result = outer


def _loop_runs() -> bool:
    with contextlib.suppress(RuntimeError):
        return asyncio.get_running_loop().is_running()
    return False


def raise_of(shell: Any, result: Any) -> None:
    """Raise what was raised in such a cell."""
    if isinstance(result.error_before_exec, SyntaxError):
        raise no_code(shell, result.error_before_exec) from None
    result.raise_error()


def no_code(shell: Any, error: SyntaxError) -> Exception:
    """Return an exception that shows where code is none, as IPython does it, and no more.

    Of a SyntaxError itself IPython shows all that has compiled the code.
    """
    lines = shell.SyntaxTB.structured_traceback(type(error), error, [])
    made = type("SyntaxError", (Exception,), {"_render_traceback_": lambda self: lines})
    return made(str(error))


def follow_cells(shell: Any) -> None:
    """Let ``%px`` of the current session see the notebook's arrays under their names."""
    session = current.active()
    client = getattr(session.transport, "client", None) if session is not None else None
    if session is None or client is None:
        return
    hook = client_hooks.installed(client, "names")
    if not isinstance(hook, _TellNames):
        hook = _TellNames(shell)
        client_hooks.install(client, "names", hook)
        client_hooks.install(client, "engines", hook.await_others)
        client_hooks.install(client, "answers", _AwaitAnswers(client))
        _FOLLOWED.add(client)
    if hook.session is not session:
        hook.session = session
        client.activate()  # %px means the engines of the newest session


def _unfollow(shell: Any) -> None:
    """Undo this for all clients."""
    for client in list(_FOLLOWED):
        hook = client_hooks.installed(client, "names")
        if isinstance(hook, _TellNames) and hook.shell is shell:
            client_hooks.uninstall(client, "names")
            client_hooks.uninstall(client, "engines")
            client_hooks.uninstall(client, "answers")
            _FOLLOWED.discard(client)


class _TellNames:
    """The hook that sends the pending batch and the arrays' names before code for engines.

    Once for all engines: a batch between code for one engine and for the next would keep the second
    waiting until the first has ended, and code may communicate.
    """

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        #: The session whose arrays are told, the newest of the client.
        self.session: Session | None = None
        self._told: tuple[Any, ...] = ()
        self._reached: set[object] = set()

    def __call__(self, send: Callable[..., Any], /, *args: object, **kwargs: object) -> Any:
        session, engine = self.session, kwargs.get("ident")
        if session is not None and not session.closed:
            session.unfinished.finish()  # the code may write what it is made of
            arrays = [(k, x) for k, x in arrays_of(self.shell, session) if not x.dbase.lost]
            if _seen(session, arrays) != self._told or engine in self._reached:
                session.bind(*_bound(arrays))
                self._told = _seen(session, arrays)
                self._reached.clear()
            self._reached.add(engine)
        return send(*args, **kwargs)

    def await_others(self, send: Callable[..., Any], /, *args: object, **kwargs: object) -> Any:
        """Let new engines take over from those that have died before code is meant for any.

        That is for the user's thread, and not for what distnb itself asks engines.
        """
        session = self.session
        if session is not None and not (session.closed or session.recorder.busy):
            session.recovery.check()
            main = threading.current_thread() is threading.main_thread()
            if main and session.recovery.by_itself and session.recovery.due:
                session.recover()
        return send(*args, **kwargs)


class _ToldError(KeyboardInterrupt):
    """An interrupt of which engines were told, too."""


_ToldError.__name__ = _ToldError.__qualname__ = "KeyboardInterrupt"  # to those who show it


class _AwaitAnswers:
    """The hook that lets engines answer an interrupted ``%px`` before they get other code.

    An engine whose code raised drops what it finds in its queue: the next cell would not be run,
    and nobody would be told.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        #: Messages that were on engines when these were interrupted, and whether engines may still
        #: drop what comes.
        self._interrupted: set[str] = set()
        self._unsure = False

    def __call__(self, send: Callable[..., Any], /, *args: object, **kwargs: object) -> Any:
        if "block" not in kwargs:  # this is code
            if not poll(self._answered, _LONGEST):  # engines would do nothing else before
                self._interrupted.clear()  # they are gone, or cannot be interrupted
            if self._unsure:
                self._unsure = False
                poll(self._take_code, _LONGEST)
            return send(*args, **kwargs)
        self._interrupted |= set(self.client.outstanding)
        self._unsure = True
        found = send(*args, **kwargs)
        if kwargs["block"] and not poll(self._answered, ANSWER):
            print("distnb: engines go on; the next cell for them waits for that", file=sys.stderr)
        if isinstance(sys.exc_info()[1], KeyboardInterrupt):  # which ipyparallel's magic forgets
            raise _ToldError from None
        return found

    def _answered(self) -> bool:
        if self._interrupted:
            self._interrupted &= set(self.client.outstanding)
        return not self._interrupted

    def _take_code(self) -> bool:
        """Tell whether engines run what they get, and do not drop it any more."""
        asked = self.client[:].execute("pass", silent=True, block=False)
        asked.wait(_LONGEST)
        return not asked.ready() or all(each["status"] == "ok" for each in asked.metadata)


def _seen(session: Session, arrays: Sequence[tuple[str, Any]]) -> tuple[Any, ...]:
    """Return what tells whether engines know names; what arrays are to them may take batches."""
    facts = [
        (name, id(x), x.dbase.handle, x.dbase.near is None, x.dview, x.writeable)
        for name, x in arrays
    ]
    return session, session.recorded, facts


def _bound(arrays: Sequence[tuple[str, Any]]) -> tuple[list[Any], list[str]]:
    """Return (name, operand) of the notebook's arrays, and the names of those to be read only.

    Of small ones, that they are not here.
    """
    names = [(name, value.bound) for name, value in arrays]
    written = to_be_written([value for _, value in arrays])
    sealed = [name for name, x in arrays if not x.writeable or x.dbase not in written]
    return names, sealed
