"""What outlives a notebook of its session: arrays by their names, for the notebook that comes next.

The list that is left (:mod:`distnb.client.recovery.keeping`) is a batch of commands that make the
bases, of where they lie, and of the names of arrays. Of what lies in the notebook, a copy is kept.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary, ref

import numpy as np

from distnb.client.handle.array import Array, hosted
from distnb.client.handle.conversion import in_layout
from distnb.client.lasting.assembled import Parts, Shared, again, dense_parts, is_array, parts_of
from distnb.client.record.placement import Placement
from distnb.client.session import current
from distnb.client.session.bases import Base
from distnb.client.session.session import Session
from distnb.common.errors import EngineError, explain
from distnb.common.interrupts import deferred_interrupts
from distnb.geometry.layout import Layout, in_notebook
from distnb.geometry.views import View
from distnb.wire.encoding import decode, encode
from distnb.wire.messages import Batch
from distnb.wire.protocol import Ask, Bind, Create, Operand

if TYPE_CHECKING:
    from distnb.client.recovery.keeping import Keeping, Kept

__all__ = ["NOTEBOOKS", "Names", "arrays", "attach", "list_arrays", "named_arrays", "to_have_names"]

#: Why what engines were writing is lost.
_TORN = "the notebook ended while engines were writing it"
#: Bytes of an array up to which a copy is kept of what lies in the notebook.
_COPIED = 1 << 24


class Names:
    """The arrays that have names in the notebook; it keeps none of them.

    ``made`` tells of those that an earlier notebook has left which line made them.
    """

    def __init__(self) -> None:
        self.notebook: WeakValueDictionary[str, Any] = WeakValueDictionary()
        self.made: dict[str, str] = {}
        #: Whether they are listed when the process ends.
        self.listed_at_exit = False
        #: Names that ``attach`` gave, and not the user.
        self.attached: set[str] = set()
        #: Name that the session has -> its array, and what the notebook called so then.
        self._since: dict[str, tuple[ref[Any], ref[Any] | None]] = {}

    def note(self, found: Iterable[tuple[str, Any]]) -> None:
        """Take others for those before."""
        self.notebook = WeakValueDictionary(found)

    def all(self, named: dict[str, Any]) -> dict[str, Any]:
        """Return all arrays with names; a variable that was bound after its name was given wins."""
        newer = {name for name, x in named.items() if self._is_rebound(name, x)}
        for name in newer & self.attached:
            if self._had(name, named[name]):  # nobody else asked for that name
                self.attached.discard(name)
                del named[name]
        return dict(self.notebook) | {n: x for n, x in named.items() if n not in newer}

    def _is_rebound(self, name: str, x: Any) -> bool:
        """Tell whether the notebook has called another array so since the session has the name."""
        now, since = self.notebook.get(name), self._since.get(name)
        if since is not None and since[0]() is not x:
            self.attached.discard(name)
            since = None
        if since is None or now is x:
            self._since[name] = ref(x), None if now is None else ref(now)
            return False
        return now is not None and (since[1] is None or now is not since[1]())

    def _had(self, name: str, x: Any) -> bool:
        """Tell whether it was a variable of the notebook, too."""
        before = self._since[name][1]
        return before is not None and before() is x


#: Who knows the arrays of notebooks' variables, in the middle of a cell, too.
NOTEBOOKS: list[Callable[[Session], Iterable[tuple[str, Any]]]] = []


def named_arrays(session: Session) -> dict[str, Any]:
    """Return the arrays that have names now, in the notebook or in the session."""
    for look in NOTEBOOKS:
        session.extensions[Names].note(look(session))
    return session.extensions[Names].all(session.named)


def to_have_names() -> str:
    """Return what gives arrays names: those of variables are known by the extension."""
    more = "" if NOTEBOOKS else ", or %load_ext distnb in a notebook"
    return f'write session["T"] = T{more}'


def tell_of_names() -> None:
    """Say so where what is to outlive a notebook has no names: its variables are not known."""
    ipython = sys.modules.get("IPython")
    if not NOTEBOOKS and ipython is not None and ipython.get_ipython() is not None:
        print(f"distnb: only arrays that have names are kept: {to_have_names()}")


def _made_at(session: Session, name: str, x: object) -> str:
    """Return the line that made an array, "" if that is not known."""
    site = dense_parts(x)[0].dbase.site
    return session.line(site) if site >= 0 else session.extensions[Names].made.get(name, "")


# -- what is left ----------------------------------------------------------------------------------


class _List:
    """The list of a session's arrays as it is made."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.commands: list[Create] = []
        self.names: list[tuple[str, Operand]] = []
        #: Name, parts, and the operand of each with whether it can be written.
        self.assembled: list[tuple[Any, ...]] = []
        self.told: dict[str, Any] = {"lost": {}, "fixed": [], "made": {}}
        self.told["engines"] = session.size
        self.listed: dict[int, int] = {}
        self.places: dict[int, int] = {}
        self.held: list[np.ndarray] = []
        self.near: list[np.ndarray] = []
        self._numbers: dict[int, int] = {}

    def add(self, name: str, x: object, most: int) -> None:
        """Add an array, or why it is none that can be kept; there may be so many bases."""
        parts, arrays = parts_of(x), dense_parts(x)
        if len(self.commands) + len(arrays) > most:
            self.told["lost"][name] = "there were too many"
            return
        found = [operand for each in arrays if (operand := self._operand(name, each)) is not None]
        if len(found) < len(arrays):
            return
        if parts is None:
            self.names.append((name, found[0]))
            self.told["fixed"] += [name] * (not arrays[0].writeable)
        else:
            pairs = zip(found, arrays, strict=True)
            shown = tuple([(*operand, each.writeable) for operand, each in pairs])
            self.assembled.append((name, *parts._replace(arrays=shown)))
        if not _without_base(arrays[0]) and (made := _made_at(self.session, name, x)):
            self.told["made"][name] = made

    def _operand(self, name: str, x: Array) -> Operand | None:
        """Return where a dense array is kept; None, and why, if it cannot be."""
        base = None if _without_base(x) else x.dbase
        if base is not None and base.lost:
            self.told["lost"][name] = base.lost if isinstance(base.lost, str) else "it was lost"
            return None
        if base is not None and base.look is not None and base.look.unread:
            self.told["lost"][name] = "it was still to be read from a file"
            return None
        if base is None or base.known is not None or not x.size:
            return self._copy(name, x)
        near = _elsewhere(base)
        return self._lying(name, x, base) if near is None else self._near(name, x, base, near)

    def _copy(self, name: str, x: Array) -> Operand | None:
        """Keep a copy of what lies in the notebook."""
        near = x.to_numpy() if x.near is None else x.near
        if near.nbytes > _COPIED:
            what = "it lay in the notebook" if x.at_home else "it showed another array"
            self.told["lost"][name] = f"{what}, and is too large for a copy"
            return None
        base = x.dbase
        layout = base.layout if near.shape == base.shape else in_notebook(near.ndim)
        number = self._copied(name, near, layout)
        return None if number is None else Operand(number, View.whole(near.shape))

    def _near(self, name: str, x: Array, base: Base, near: np.ndarray) -> Operand | None:
        """Keep one copy of a base that is in reach elsewhere, for all that are views of it."""
        if near.nbytes > _COPIED:
            return self._copy(name, x)
        number = self._numbers.get(id(base))
        if number is None:
            number = self._copied(name, near, base.layout)
            if number is None:
                return None
            self._numbers[id(base)] = number
        return Operand(number, x.dview)

    def _copied(self, name: str, near: np.ndarray, layout: Layout) -> int | None:
        """Make a base of a copy; return its number, None if there is no room."""
        memory = self.session.memory.keep(max(1, near.nbytes), self.session.connection.settled)
        if memory is None:
            self.told["lost"][name] = "there was no room for a copy"
            return None
        np.ndarray(near.shape, near.dtype, memory)[...] = near
        return self._made(near.shape, near.dtype.str, layout, ("data",), memory)

    def _lying(self, name: str, x: Array, base: Base) -> Operand | None:
        """Keep what lies in the segment."""
        number = self._numbers.get(id(base))
        if number is None:
            found = self.session.ledger.kept.get(base.handle) if base.nbytes >= 0 else None
            memory = base.memory if found is None else found.memory
            if base.disk is not None:
                self.told["lost"][name] = "it was on disk (dnb.config.spill)"
                return None
            if memory is None or (found is not None and not found.all):
                self.told["lost"][name] = "engines had it in their own memory"
                return None
            number = self._made(base.shape, base.dtype.str, base.layout, ("same",), memory)
            self._numbers[id(base)] = number
            if base.nbytes >= 0:
                self.listed[base.handle] = number
            if base.near is not None or base.handle in self.session.memory.seen:
                self.near.append(memory)
        return Operand(number, x.dview)

    def _made(
        self, shape: Any, dtype: str, layout: Layout, how: tuple[str, ...], memory: np.ndarray
    ) -> int:
        number, place = len(self.commands), self.session.memory.place(memory)
        made = Create(number, shape, dtype, layout, (*how, place, memory.nbytes), -1)
        self.commands.append(made)
        self.places[place] = number
        self.held.append(memory)
        return number

    def write(self, to: Keeping) -> None:
        """Leave it in place of the one before."""
        told = Ask(0, "told", (json.dumps(self.told), tuple(self.assembled)))
        commands: tuple[Any, ...] = (*self.commands, Bind(tuple(self.names)), told)
        to.write(encode(Batch(0, 0, commands)), self.listed, self.places, self.held, self.near)


def _without_base(x: Array) -> bool:
    """Tell whether an array is all that there is of it, in the notebook."""
    return x._near is not None and x._whole is None


def _elsewhere(base: Base) -> np.ndarray | None:
    """Return the elements of a base that is in reach, but not where engines have it."""
    near, memory = base.near, base.memory
    apart = near is not None and (memory is None or not np.may_share_memory(near, memory))
    return near if apart else None


def _is_stale(x: Array) -> bool:
    """Tell whether an array may have to be brought up to date by engines, or sent to them.

    What has no base yet, as pointers of sparse arrays after a resize, is kept there if it is large.
    """
    if _without_base(x) and x.promise is not None:
        return bool(x.nbytes > _COPIED)
    look = None if _without_base(x) or x.dbase.lost else x.dbase.look
    return look is not None and x.dbase.near is None and not look.unread


def list_arrays(session: Session) -> None:
    """List the arrays of a session that have names, if it is kept; waits for the engines."""
    names, to = named_arrays(session), session.keeping
    for name, x in names.items():
        if not is_array(x):
            kind = type(x).__name__
            raise TypeError(explain(f"session[{name!r}]", kind, "an array", "pass another"))
    if to is None or session.closed:
        return
    with session.recorder.lock:  # nobody sends anything meanwhile
        for x in filter(_is_stale, chain.from_iterable(map(dense_parts, names.values()))):
            x.operand  # noqa: B018
        session.flush()
        with deferred_interrupts():
            found = _List(session)
            for name, x in names.items():
                found.add(name, x, to.most)
            before = to.facts["engines"]
            if session.size > before:  # never fewer than what is listed lies on
                to.tell(engines=session.size)
            found.write(to)
            if session.size < before:
                to.tell(engines=session.size)
    names_of: Names = session.extensions[Names]
    if not names_of.listed_at_exit:
        names_of.listed_at_exit = True
        atexit.register(_list_at_exit, ref(session))


def _list_at_exit(session: ref[Session]) -> None:
    """List once more what a script has named, which has no cells that end."""
    there = session()
    if there is None or NOTEBOOKS or there.closed:
        return
    if not (there.connection.dead or there.connection.silent):  # for which it would wait
        with contextlib.suppress(Exception):  # then the list stays that is there
            list_arrays(there)


Session.listed_by = staticmethod(list_arrays)
Session.names_told_by = staticmethod(tell_of_names)


# -- what is found ---------------------------------------------------------------------------------


def attach() -> Session:
    """Take up the session of a notebook that has ended, which :func:`distnb.start` was to keep.

    As many engines start, on the memory in which its arrays lie: nothing is read, sent or copied.
    Of several sessions that nobody uses the last is taken; ``dnb.others()[k].attach()`` takes
    another. If this notebook has attached one already, that is returned. Arrays are as they were
    after the last cell, or, if a cell was running, as they were when it ended; those that engines
    were writing in place then may be half written, and raise :class:`distnb.LostArrayError`.

    Returns
    -------
    Session
        The current session from now on: ``session["T"]`` is the array that was called ``T`` in the
        notebook, or was given that name with ``session["T"] = A``.

    Raises
    ------
    EngineError
        If there is no such session, another process uses it, or engines cannot be started.

    Examples
    --------
    >>> import distnb as dnb
    >>> session = dnb.start(2, keep="1 h")  # doctest: +SKIP
    >>> session["T"] = dnb.ones((1000, 1000))  # doctest: +SKIP

    In the next notebook, or after a restart of this one:

    >>> session = dnb.attach()  # doctest: +SKIP
    >>> session["T"].sum()  # doctest: +SKIP
    1000000.0
    """
    there = current.keeping().found()
    for mine in reversed(current.open_sessions()):
        if mine.keeping is not None and mine.keeping.taken:
            mine.users += 1
            print(_told(mine, there))
            return current.become_current(mine)
    free = [kept for kept in there if not kept.pid]
    if not free:
        raise EngineError(_none_free(there))
    return take_up(free[-1])


def _none_free(there: Sequence[Kept]) -> str:
    """Return why there is no session that can be attached."""
    got, do = "none", "begin with dnb.start(keep='1 h')"
    if there:
        got, do = f"one that process {there[-1].pid} uses", "end that, or see dnb.others()"
    if there and there[-1].pid == os.getpid():
        got, do = "one that was started here", "go on with dnb.session()"
    return explain("kept session", got, "one that nobody uses", do)


def take_up(kept: Kept) -> Session:
    """Return a session on what was kept; it is the current one from now on."""
    keeping = current.keeping()
    line, segment = kept.take()
    facts = kept.facts
    torn = keeping.torn(segment, facts["engines"])  # before other engines say what they do
    try:
        session = current.started(facts["engines"], segment)
    except BaseException:
        line.close()
        segment.close()
        raise
    session.keeping = keeping.Keeping(session.memory, facts, line)
    try:
        _restore(session, session.keeping, torn)
        list_arrays(session)
    except BaseException:
        segment.stay()  # it is left as it was, to whoever tries next
        session.keeping.let_go()
        session.keeping = None
        session.close()
        raise
    print(_told(session, keeping.found()))
    tell_of_names()
    return session


def _restore(session: Session, kept: Keeping, torn: set[int]) -> None:
    """Make the arrays that are listed."""
    text = kept.listed()
    if not text:
        session.memory.segment.forget()
        return
    *made, bound, told = decode(text).commands
    told, assembled = json.loads(told.args[0]), told.args[1]
    claimed = [session.memory.claim(*command.how[1:]) for command in made]
    session.memory.segment.forget()
    session.extensions[Names].made = told["made"]
    bases = [_base(session, c, m, c.base in torn) for c, m in zip(made, claimed, strict=True)]
    for name, (number, view) in bound.names:
        session.named[name] = bases[number].alias(view, name not in told["fixed"])
    shared = Shared()
    for name, *given in assembled:
        parts = Parts(*given)
        arrays = tuple([bases[number].alias(*shown) for number, *shown in parts.arrays])
        session.named[name] = again(parts._replace(arrays=arrays), told["engines"], shared)
    session.extensions[Names].attached = set(session.named)
    for name, why in told["lost"].items():
        print(f"distnb: {name} is gone: {why}", file=sys.stderr)


def _base(session: Session, made: Create, memory: np.ndarray, torn: bool) -> Any:
    """Return the array of all of a base that is where it was."""
    shape, dtype, layout, (how, place, _) = made[1:5]
    elements = np.ndarray(shape, dtype, memory)
    if layout.here:
        return hosted(session, elements.copy())
    if how == "data" and not layout.in_order(shape):
        return in_layout(hosted(session, elements.copy()), layout)
    if layout.in_order(shape) and not torn:
        return Array.made(Base.reached(session, elements, layout, elements), View.whole(shape))
    base = Base(session, shape, np.dtype(dtype), layout)
    session.ledger.found[place] = memory
    lies: tuple[Any, ...] = ("lost", place, _TORN) if torn else ("same", place)
    session.record(Create(base.handle, shape, dtype, layout, lies, session.site()))
    base.lost = _TORN if torn else False
    return Array.made(base, View.whole(shape))


def _told(session: Session, there: Sequence[Kept]) -> str:
    """Return what is attached, and how many other sessions are kept."""
    more = len([kept for kept in there if not kept.pid])
    names = ", ".join(session.named) or "none"
    plural = "s" if session.size > 1 else ""
    told = f"distnb: {session.size} engine{plural} on the arrays that were kept: {names}"
    return f"{told} ({more} more kept: see dnb.others())" if more else told


# -- what there is ---------------------------------------------------------------------------------


class Listed(NamedTuple):
    """An array that has a name."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    nbytes: int
    facts: str
    made: str


#: Letters of the line that made an array, in a table; those of names that have a column.
_MADE, _NAME = 80, 30


class Table(tuple[Listed, ...]):
    """Arrays that have names; it shows itself as a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        width = min(max([len(x.name) for x in self], default=0), _NAME)
        made = [textwrap.shorten(x.made, _MADE, placeholder=" ...") for x in self]
        lines = [
            f"{x.name:{width}}  {x.facts}  {m}".rstrip() for x, m in zip(self, made, strict=True)
        ]
        return "\n".join(lines) or f"no arrays with names; {to_have_names()}"

    def _repr_html_(self) -> str:
        return str(Placement.views.listing(self))


def arrays(session: Session | None = None) -> Table:
    """Return the arrays of a session that have names, in the notebook or by ``session["T"] = A``.

    Nothing is sent, and no engines are started.

    Parameters
    ----------
    session : Session, optional
        By default the current one. Where there is none, there are no arrays.

    Returns
    -------
    tuple of Listed
        Name, shape, dtype, bytes, facts in words, and the line that made the array where it is
        known. It shows itself as a table.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2) as session:
    ...     session["T"] = dnb.ones((4, 4), dist="block")
    ...     dnb.arrays()  # doctest: +ELLIPSIS
    T  (4, 4) float64, 128 B, rows in blocks on 2 engines  made at ...
    """
    if session is None and current.active() is None:
        return Table()
    found = current.need(session)
    return Table([_row(found, *item) for item in named_arrays(found).items()])


def _row(session: Session, name: str, x: object) -> Listed:
    made, parts = _made_at(session, name, x), parts_of(x)
    told = f"made at {made}" if made else ""
    (dense, *_) = dense_parts(x)
    if parts is None:
        return Listed(name, dense.shape, dense.dtype, dense.nbytes, dense.layout.facts(), told)
    return Listed(name, parts.shape, dense.dtype, parts.nbytes, parts.text, told)
