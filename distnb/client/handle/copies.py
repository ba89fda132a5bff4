"""What engines have of arrays besides them, kept for as long as nothing writes into these.

A copy in another layout, or the entries that the parts of a sparse array need, is a base like any
other: it counts, it gets lost, it goes. The base that it was made of holds it (``Base.kept``), so
it goes with that one, and whoever is about to write there drops it. What was made of several bases
is held by the first; the others hold a mark each, which whoever writes there drops. What is not
seen here is not trusted: arrays in reach of the notebook, bases of which there are looks, memory
that ranks of a script under ``mpiexec`` were shown; and after a message to the engines that may
have changed anything (``%px``), nothing is.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias
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

#: What a copy is, of a base: a layout, or (weakly) the base of what tells which entries; or what is
#: made of it and, weakly, of which other bases.
Key: TypeAlias = Layout | ref[Base] | tuple[Hashable, ...]


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


class Mark:
    """The elements of a base as they are: no other elements, or base, ever have the same one."""


class Joint(NamedTuple):
    """What was made of several bases, and what the others held then."""

    marks: tuple[Mark, ...]
    made: Any


class Copies:
    """The copies of a session that are kept: those that were used last, up to a number of bytes."""

    def __init__(self) -> None:
        #: Whose a copy is, and as what -> its bytes on an engine.
        self._recent: OrderedDict[tuple[ref[Base], Key], int] = OrderedDict()
        #: What engines had been asked for besides by others when they were last trusted.
        self._foreign = 0

    def find(self, x: Array, key: Layout | Base) -> Any:
        """Return the copy of all of a base that is as it is now, None if there is none."""
        base = x.dbase
        if not self._trusted(base) or base.kept is None:
            return None
        name = ref(key) if isinstance(key, Base) else key
        found = base.kept.get(name)
        if found is None or found.lost or (ref(base), name) not in self._recent:
            return None
        self._recent.move_to_end((ref(base), name))
        return Array.made(found, x.dview, writeable=False)

    def keep(self, x: Array, key: Layout | Base, found: Array) -> None:
        """Keep a copy for as long as nothing writes into the base."""
        base, made = x.dbase, found.dbase
        if not self._trusted(base):
            return
        self._hold(base, _weakly(base, key) if isinstance(key, Base) else key, made, made.nbytes)

    def made_of(
        self,
        sources: Sequence[Array],
        what: Hashable,
        make: Callable[[], Any],
        parts: Callable[[Any], Iterable[Array]],
    ) -> Any:
        """Return what ``make()`` makes of several arrays, once as long as nothing writes there.

        It is not to be written. ``parts`` returns its arrays: what is made later, too, counts when
        it is found the next time.
        """
        if any(x.at_home or not is_whole(x) for x in sources):
            return make()
        base, *others = bases = [x.dbase for x in sources]
        name = (what, *map(ref, others))
        found = self._joint(bases, name, parts)
        if found is None:
            found = make()
            if not all(self._trusted(b) for b in bases):
                return found
            name = (what, *[_weakly(base, b) for b in others])
            self._hold(base, name, Joint(tuple(map(_mark, others)), found), 0)
        nbytes = sum([max(0, x.dbase.nbytes) for x in parts(found)])
        if self._recent.get((ref(base), name)) != nbytes:
            self._recent[ref(base), name] = nbytes
            self._settle(base.session)
        return found

    def _joint(
        self,
        bases: Sequence[Base],
        name: tuple[Hashable, ...],
        parts: Callable[[Any], Iterable[Array]],
    ) -> Any:
        """Return what was made of bases that are as they were then, None if there is nothing."""
        base, *others = bases
        if base.kept is None or not all(self._trusted(b) for b in bases):
            return None
        found: Joint | None = base.kept.get(name)
        if found is None or (ref(base), name) not in self._recent:
            return None
        if any((b.kept or {}).get(Mark) is not m for b, m in zip(others, found.marks, strict=True)):
            return None
        if any(x.dbase.lost for x in parts(found.made)):
            return None
        self._recent.move_to_end((ref(base), name))
        return found.made

    def _hold(self, base: Base, name: Key, made: Any, nbytes: int) -> None:
        """Let a base hold what was made of it."""
        base.session.looks = True
        if base.kept is None:
            base.kept = {}
        base.kept[name] = made
        self._recent[ref(base), name] = nbytes
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
            self._recent = OrderedDict([(k, n) for k, n in self._recent.items() if _is_held(*k)])
        limit = budget.share // _PART or _BYTES
        total = sum(self._recent.values())
        while self._recent and (len(self._recent) > _MOST or total > limit):
            total -= self._drop()

    def _drop(self) -> int:
        """Let go the copy that was not used for longest; return its bytes."""
        (owner, key), nbytes = self._recent.popitem(last=False)
        base = owner()
        if base is not None and base.kept is not None:
            base.kept.pop(key, None)
        return nbytes


def _mark(base: Base) -> Mark:
    """Return what stands for the elements of a base, which holds it until these are written."""
    if base.kept is None:
        base.kept = {}
    found: Mark = base.kept.setdefault(Mark, Mark())
    return found


def _is_held(owner: ref[Base], key: Key) -> bool:
    base = owner()
    return base is not None and base.kept is not None and key in base.kept


def _weakly(owner: Base, key: Base) -> ref[Base]:
    """Return a key, or a part of one, that takes what is kept along when its base goes."""
    held = ref(owner)

    def gone(reference: ref[Base]) -> None:
        base = held()
        kept = {} if base is None or base.kept is None else base.kept
        for name in [*kept]:
            if name is reference or (isinstance(name, tuple) and reference in name):
                kept.pop(name, None)

    return ref(key, gone)
