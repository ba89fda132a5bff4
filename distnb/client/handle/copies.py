"""What engines have of arrays besides them, kept for as long as nothing writes into these.

A copy in another layout, or the entries that the parts of a sparse array need, is a base like any
other: it counts, it gets lost, it goes. The base that it was made of holds it (``Base.kept``), so
it goes with that one, and whoever is about to write there drops it. What is not seen here is not
trusted: arrays in reach of the notebook, bases of which there are looks, memory that ranks of a
script under ``mpiexec`` were shown; and after a message to the engines that may have changed
anything (``%px``), nothing is.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeAlias
from weakref import ref

from distnb.client.handle.array import Array, is_whole
from distnb.client.handle.conversion import as_dist, copied
from distnb.client.session.bases import Base
from distnb.client.session.session import Session
from distnb.geometry.layout import Layout

__all__ = ["Copies", "lying", "seen"]

#: Copies that are kept in a session, those used last.
_MOST = 32
#: The part of an engine's memory that they may take, and their bytes where that is not known.
_PART, _BYTES = 8, 1 << 28

#: What a copy is, of a base: a layout, or (weakly) the base of what tells which entries.
Key: TypeAlias = Layout | ref[Base]


def lying(x: Array, layout: Layout) -> Any:
    """Return all of a base with the elements of ``x`` in a layout: itself, or a copy that is kept.

    The copy is not to be written.
    """
    x = as_dist(x, x.session)
    if x.dbase.layout == layout and is_whole(x):
        return x
    if not is_whole(x):
        return copied(x, x.dtype, layout)
    copies: Copies = x.session.extensions[Copies]
    found = copies.find(x, layout)
    if found is None:
        found = copied(x, x.dtype, layout)
        copies.keep(x, layout, found)
    return found


def seen(base: Base) -> bool:
    """Tell whether every write into a base is a command, but for what ``%px`` does."""
    session = base.session
    if base.look is not None or base.near is not None or base.lost or base.known is not None:
        return False
    return not (session.memory.shown and session.transport.rank is not None)


class Copies:
    """The copies of a session that are kept: those that were used last, up to a number of bytes."""

    def __init__(self) -> None:
        #: Handle of a copy -> whose it is, as what, and its bytes on an engine.
        self._recent: OrderedDict[int, tuple[ref[Base], Key, int]] = OrderedDict()
        #: What engines had been asked for besides by others when they were last trusted.
        self._foreign = 0

    def find(self, x: Array, key: Layout | Base) -> Any:
        """Return the copy of all of a base that is as it is now, None if there is none."""
        base = x.dbase
        if not self._trusted(base) or base.kept is None:
            return None
        found = base.kept.get(ref(key) if isinstance(key, Base) else key)
        if found is None or found.lost or found.handle not in self._recent:
            return None
        self._recent.move_to_end(found.handle)
        return Array.made(found, x.dview, writeable=False)

    def keep(self, x: Array, key: Layout | Base, found: Array) -> None:
        """Keep a copy for as long as nothing writes into the base."""
        base, made = x.dbase, found.dbase
        if not self._trusted(base):
            return
        name = _weakly(base, key) if isinstance(key, Base) else key
        base.session.looks = True
        if base.kept is None:
            base.kept = {}
        base.kept[name] = made
        self._recent[made.handle] = (ref(base), name, made.nbytes)
        self._settle(base.session)

    def fact(self, base: Base, name: str, find: Callable[[], Any]) -> Any:
        """Return what ``find()`` returns of all of a base, once as long as nothing writes there.

        Ranks of a script find it each time: what one of them was shown the others do not know.
        """
        session = base.session
        foreign, trusted = session.foreign, session.transport.rank is None and self._trusted(base)
        if trusted and base.kept is not None and base.kept.get(name, (-1,))[0] == foreign:
            return base.kept[name][1]
        found = find()
        if trusted and self._trusted(base):
            session.looks = True
            base.kept = {**(base.kept or {}), name: (session.foreign, found)}
        return found

    def forget(self) -> None:
        """Let all go."""
        while self._recent:
            self._drop()

    def _trusted(self, base: Base) -> bool:
        """Tell whether every write into a base is seen here."""
        session = base.session
        if self._foreign != session.foreign:
            self.forget()
            self._foreign = session.foreign
        return seen(base)

    def _settle(self, session: Session) -> None:
        """Let go what was not used for longest, if it is too much."""
        budget = session.handles.budget
        if session.transport.rank is None:  # on ranks of a script garbage goes at any time
            budget.shed = self.forget
            self._recent = OrderedDict(
                [(h, one) for h, one in self._recent.items() if h in session.handles.entries]
            )
        limit = budget.share // _PART or _BYTES
        total = sum(nbytes for *_, nbytes in self._recent.values())
        while self._recent and (len(self._recent) > _MOST or total > limit):
            total -= self._drop()

    def _drop(self) -> int:
        """Let go the copy that was not used for longest; return its bytes."""
        _, (owner, key, nbytes) = self._recent.popitem(last=False)
        base = owner()
        if base is not None and base.kept is not None:
            base.kept.pop(key, None)
        return nbytes


def _weakly(owner: Base, key: Base) -> ref[Base]:
    """Return a key that takes what it stands for along when its base goes."""
    held = ref(owner)

    def gone(reference: ref[Base]) -> None:
        base = held()
        if base is not None and base.kept is not None:
            base.kept.pop(reference, None)

    return ref(key, gone)
