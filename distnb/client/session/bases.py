"""The owners of memory, on the engines or in the notebook."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, cast
from weakref import ref

import numpy as np

from distnb.client.batching.budget import need
from distnb.client.batching.entries import Entry, Promised, come, reached
from distnb.client.session.session import Session
from distnb.geometry.layout import Ints, Layout
from distnb.geometry.views import View
from distnb.wire.protocol import Create

__all__ = ["MANY", "Base", "bases_of"]

#: Bases of one memory from which those that are gone are looked for when there are twice as many.
MANY = 64


class Relation(Protocol):
    """What a base is to others that show the same elements (``reach.aliasing``)."""

    family: Any
    steps: tuple[Any, ...]
    stale: bool
    #: Whether engines have heard of nothing of it yet.
    unread: bool
    needs: Base | None

    def refresh(self, base: Base) -> None:
        """Bring the base up to date, which is about to be used on the engines."""

    def part(self, base: Base, view: View) -> Any:
        """Return an array of its own for a view of the base, None if a view will do."""

    def made_of(self, base: Base) -> int:
        """Return how many bytes engines write before they can use the base."""

    def wrote(self, base: Base) -> None:
        """Note that the base is about to be written on the engines."""

    def leave(self, base: Base) -> None:
        """Give the base to the engines, and the others that are in reach with it."""

    def come(self, base: Base, come: Callable[[Base], bool]) -> bool:
        """Bring them all in reach, if ``come`` can bring one."""


class Base(Entry):
    """The owner of memory, on the engines or in the notebook.

    On the engines it is known by its ``handle``; dropping the last reference frees it. In the
    notebook it is an ndarray in C order, ``host``. ``kept`` are bases on the engines that were made
    of its elements, until these are written (``handle.copies``). A base on the engines may be in
    reach of the
    notebook: ``near`` is then what the notebook reads and writes, and no engine does until the base
    leaves (``reach.admission``). With ``memory`` that is the engines' own, in the notebook's shared
    segment; else engines are sent it when it leaves. An element that was read is made on the
    engines when something is done with it there; until then it is ``known``. What is ``apart`` lies
    in memory that is each engine's own, with large pages, and goes with the engines. What is on
    ``disk`` lies there, and in memory there is nothing of it (``handle.spilling``).
    """

    __slots__ = ()
    session: Session
    look: Relation | None

    def __init__(
        self,
        session: Session,
        shape: Ints,
        dtype: np.dtype,
        layout: Layout,
        need: int | None = None,
    ) -> None:
        self.nbytes = -1  # nothing to free if making it fails
        if session.closed or not session.connection.ready:
            session.check_open()  # which may lay all that is the session's for other engines
        self.session = session
        handles = session.handles
        self.shape, self.dtype, self._layout = shape, dtype, layout
        # As in come() and begin(), without calls: this is the way of every operation.
        self.host = self.near = self.promise = self.memory = self.disk = self.kept = None
        self.sharing = self.look = self.known = None
        self.apart = self.exported = self.lost = False
        self.turn, self.site = 0, -1
        self.handle = next(handles.numbers)
        self.since = session.connection.batches + 1
        self.nbytes = handles.budget.reserve(shape, dtype, layout, need)
        handles.entries[self.handle] = ref(self)

    @classmethod
    def reached(
        cls,
        session: Session,
        near: np.ndarray,
        layout: Layout | Promised,
        memory: np.ndarray | None = None,
    ) -> Base:
        """Return a base of the engines that is in reach; they have not heard of it yet.

        Its layout may be promised. If it is that of the notebook, so is the base.
        """
        base = cls.__new__(cls)
        reached(base, session, near, layout)
        base.memory = memory
        return base

    @classmethod
    def to_come(cls, session: Session, shape: Ints, dtype: np.dtype, layout: Layout) -> Base:
        """Return a base on the engines that does not count before :meth:`begin`."""
        base = cls.__new__(cls)
        come(base, session, shape, dtype)
        base.layout = layout
        base.handle = session.new_handle()
        base.since = session.batches + 1
        return base

    @property
    def heard_of(self) -> bool:
        """Whether engines have heard of it; else it has no handle, and is in reach."""
        return self.handle > 0

    def move(self, layout: Layout, need: int | None = None) -> None:
        """Become a base on the engines, to be created there; it takes ``need`` bytes on one."""
        seen, before = self.session.memory.seen, self.handle
        if self.nbytes >= 0:
            self.session.handles.release(self)
        self.handle = self.session.new_handle()
        if before in seen:  # engines' users may still look at the memory
            seen.add(self.handle)
        self.begin(layout, need)

    def begin(self, layout: Layout, need: int | None = None) -> None:
        """Count as a base on the engines from now on."""
        session = self.session
        handles = session.handles
        self.nbytes = handles.budget.reserve(self.shape, self.dtype, layout, need)
        self.layout = layout
        self.promise = None
        self.since = session.connection.batches + 1
        handles.watch(self)

    def given(self, record: Callable[[], None]) -> None:
        """Leave the notebook, by ``record``, or stay as it is if that fails; the lock is held."""
        near, handle, lay, memory = self.near, self.handle, self.layout, self.memory

        def wholly() -> None:
            self.near = None  # first: what is written there from now on is stored once more
            try:
                record()
            except BaseException:
                self.session.handles.undo(self, handle)
                self.near, self.layout, self.memory = near, lay, memory
                raise
            self.host = self.kept = None

        self.session.recorder.together(wholly)

    def related(self) -> bool:
        """Tell whether another base, or another library, has the same memory of the notebook."""
        if self.exported:
            return True
        others = [r() for r in self.sharing or ()]
        return any(b is not None and b is not self and b.host is not None for b in others)

    def join(self, other: Base) -> None:
        """Count as one that is in the memory of another base."""
        if other.sharing is None:
            other.sharing = [ref(other)]
        self.sharing = other.sharing
        n = len(self.sharing)
        if n >= MANY and n & (n - 1) == 0:  # so that very many are not gone through each time
            self.sharing[:] = [r for r in self.sharing if r() is not None]
        self.sharing.append(ref(self))

    def about_to_be_written(self) -> None:
        """Let nobody take what was kept of the elements for what they are after this."""
        self.kept = None

    def exchange(self, other: Base) -> None:
        """Take the memory of another base, which has the same elements elsewhere, for one's own."""
        for name in ("handle", "nbytes", "layout", "since", "memory", "disk"):
            mine, its = getattr(self, name), getattr(other, name)
            setattr(self, name, its)
            setattr(other, name, mine)
        self.promise = None
        handles = self.session.handles
        self.session.journal.renamed(other.handle, self.handle)
        self.turn = handles.next_turn() << 32  # above all numbers of specs
        handles.watch(self)
        if other.nbytes >= 0:  # engines have heard of this one before
            handles.watch(other)

    def recut(self, layout: Layout) -> None:
        """Be cut in another way by other engines, which find it where it lies."""
        handles = self.session.handles
        self.layout = layout
        self.promise = self.kept = None
        self.turn = handles.next_turn() << 32  # above all numbers of specs
        if self.nbytes >= 0:
            now = 0 if self.disk is not None else need(self.shape, self.dtype, layout)
            self.nbytes = handles.budget.change(self.nbytes, now)
            self.session.ledger.recut(self)

    def renew(self) -> None:
        """Record that a lost base is made again; the caller goes on to write all of it."""
        how, site = self.laid("empty"), self.session.site()
        self.session.record(Create(self.handle, self.shape, self.dtype.str, self.layout, how, site))

    def laid(self, *how: Any) -> tuple[Any, ...]:
        """Return how the base is made: where it is to lie, if it is in the shared segment.

        ``"same"``: with the content that is there.
        """
        if self.memory is None:
            return how
        place = self.session.memory.place(self.memory)
        return ("same", place) if how == ("same",) else ("at", place, *how)

    def free(self) -> None:
        """Free what engines have of it, as its last reference went."""
        if not self.session.closed:
            memory = self.session.memory
            if self.memory is not None and (self.near is None or self.handle in memory.seen):
                # Engines may be at it, or their users look at it.
                memory.hold(self.memory, self.session.connection.batches + 1, self.handle)
            self.session.handles.release(self)


def bases_of(session: Session) -> list[Base]:
    """Return a session's bases on the engines that are alive."""
    return cast("list[Base]", session.bases())  # it knows them as entries of its table only
