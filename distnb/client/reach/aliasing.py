"""Views of shapes and bytes, which NumPy has, and views of a base do not tell.

Where the notebook has the elements these are NumPy's own views. On engines, parts of arrays of
different shapes lie differently, so a *look* has a base of its own: its elements are moved there
when it is used, and back when what was written into it is wanted. A family is an array and its
looks. When one of them is written the others are stale, and whoever is used next is brought up to
date: so each sees what any of them was given, and what nobody asks for is never moved.

All of this is done with the session's lock, by the rule of :mod:`distnb.client.handle.array`:
between when a look is brought up to date and when the command that writes it is recorded nobody may
write another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Protocol, TypeAlias, cast
from weakref import ref

import numpy as np

from distnb.client.handle.array import Array, host_view, leave
from distnb.client.handle.conversion import in_layout
from distnb.client.handle.fields import at_hand, beside
from distnb.client.reach.admission import admitted
from distnb.client.reach.pace import SMALL_STEP
from distnb.client.reach.rehearsal import part, promise
from distnb.client.session.bases import MANY, Base
from distnb.geometry.layout import Ints
from distnb.geometry.views import View

__all__ = [
    "Family",
    "Look",
    "Way",
    "are_related",
    "is_alone",
    "look_at",
    "outline",
    "to_be_written",
]


class Way(Protocol):
    """How the elements of an array are shown. Ways are values: they compare by what they do."""

    def near(self, x: np.ndarray) -> np.ndarray | None:
        """Return NumPy's view; None if NumPy has none, but would copy."""

    def made(self, x: Array) -> Array:
        """Return a new array on the engines with what ``x`` has now."""

    def put(self, x: Array, found: Array) -> None:
        """Write what such an array has now into ``x``."""

    def after(self, before: Any) -> Any:
        """Return the one way that does what another one and this one do; None if none does."""


#: Ways one after the other, each of a view of what the one before showed.
Steps: TypeAlias = tuple[tuple[View, Way], ...]


def look_at(x: Array, way: Way, kind: type[Look] | None = None) -> Any:
    """Return an array that shows the elements of one in another way; None if NumPy would copy.

    What is written into either is seen in both. A look of a ``kind`` of its own is made on engines
    when it is used, and not before: it may be larger than what is asked of it then.
    """
    near = at_hand(x)
    if near is not None:
        shown = way.near(near)
        return None if shown is None else beside(x, shown)
    with x.session.recorder.lock:
        return _looked_at(x, way, kind)


def _looked_at(x: Array, way: Way, kind: type[Look] | None) -> Any:
    """Return a look at an array that is not at hand."""
    if x.near is None:
        admitted(x.session, (x,), x.nbytes)
    known = outline(x)
    shown = way.near(known)
    if shown is None:
        return None
    # Steps on what shows a large array are for engines, of which it would be made as a whole then
    near = x.near if kind is None or x.nbytes <= SMALL_STEP else None
    if near is None and (kind is None or not x.size):
        found: Any = _made(way, x)
        if x.near is not None:
            leave(x.dbase)
        found.writeable = x.writeable and shown.flags.writeable
        _relate(x, way, found.dbase, Look)
        found._owner = ref(x) if x.owner is None else x._owner
        return found
    if near is not None and near is not known:
        shown = cast("np.ndarray", way.near(near))
    base = Base.reached(
        x.session, shown, promise(x.session, _made, (way, part(x)), {}, shown.shape, 0)
    )
    _relate(x, way, base, kind or Look)
    found = _of_all(x, base, shown)
    if near is None:  # as one that was in reach, and left
        base.near = found._near = found._whole = None
    found._owner = ref(x) if x.owner is None else x._owner
    return found


def _of_all(x: Array, base: Base, shown: np.ndarray) -> Any:
    found = Array.made(base, View.whole(shown.shape), x.writeable and shown.flags.writeable)
    found._near = found._whole = shown
    return found


def _made(way: Way, x: Array) -> Array:
    """Return a new array with what a way shows of one on the engines; it is there, too.

    It is all of its base, with the axes in the same order, and may be written.
    """
    found = way.made(x)
    found = _all_of(found.dbase) if found.dview.is_whole(found.dbase.shape) else found.copy()
    if found.dbase.near is not None:
        leave(found.dbase)
    return found


def outline(x: Array) -> np.ndarray:
    """Return an ndarray with the shape and the strides of NumPy's, which must not be read."""
    near = x.near
    if near is not None and (x._whole is None or x.dbase.look is None):
        return near
    return host_view(_outline_of(x.dbase), x.dview, x.writeable)


def are_related(one: Base, other: Base) -> bool:
    """Tell whether two bases show elements of the same array."""
    if one.sharing is not None:
        return one.sharing is other.sharing
    looks = one.look, other.look
    return None not in looks and looks[0].family is looks[1].family  # type: ignore[union-attr]


def is_alone(base: Base) -> bool:
    """Tell whether nobody else shows elements of a base."""
    if base.related() or base.look is None:
        return not base.related()
    family: Family = base.look.family
    return family.root() in (None, base) and all(b is base for b in family.alive())


def _outline_of(base: Base) -> np.ndarray:
    if base.look is None:
        return _no_memory(base.shape, base.dtype)
    found: np.ndarray = _shown(base.look.family.outline, base.look.steps)
    return found


@lru_cache(maxsize=1024)
def _no_memory(shape: Ints, dtype: np.dtype) -> np.ndarray:
    """Return an ndarray in C order that must not be read."""
    steps = [1]
    for n in shape[:0:-1]:
        steps.insert(0, steps[0] * n)
    strides = tuple([dtype.itemsize * by for by in steps[: len(shape)]])
    return np.lib.stride_tricks.as_strided(np.empty(1, dtype), shape, strides)


def _shown(whole: np.ndarray, steps: Steps) -> Any:
    """Return what steps show of a base's ndarray."""
    for view, way in steps:
        whole = way.near(host_view(whole, view, True))  # type: ignore[assignment]
    return whole


def _relate(x: Array, way: Way, base: Base, kind: type[Look]) -> None:
    """Let a base be a look at an array on engines, or in reach."""
    origin = x.dbase
    if origin.look is None or origin.look.family.root() is None:
        origin.look = Look(Family(origin, _outline_of(origin)), ())
    look = _look(origin)
    x.session.looks = True
    base.look = kind(look.family, _followed(look.steps, x, way))
    _look(base).stale = base.near is not None
    look.family.join(base)


def _followed(steps: Steps, x: Array, way: Way) -> Steps:
    """Return steps and one more; of two that are one, such as two reshapes, that one."""
    both = way.after(steps[-1][1]) if steps and x.dview.is_whole(x.dbase.shape) else None
    if both is not None:
        return (*steps[:-1], (steps[-1][0], both))
    return (*steps, (x.dview, way))


def to_be_written(arrays: Sequence[Array]) -> list[Base]:
    """Return those bases of arrays that others may write into, who tell of it to nobody.

    Of a family that is the root, or the first one: the others are made again when they are used.
    """
    found: list[Base] = []
    chosen: dict[int, Base] = {}
    for base in dict.fromkeys([x.dbase for x in arrays]):
        if not isinstance(base.look, Look):
            found.append(base)
        elif base is base.look.family.root() or id(base.look.family) not in chosen:
            chosen[id(base.look.family)] = base
    for base in chosen.values():
        with base.session.recorder.lock:
            _look(base).wrote(base)
    return [*found, *chosen.values()]


class Family:
    """A base on the engines, and those of its looks. It keeps none of them."""

    def __init__(self, root: Base, outline: np.ndarray) -> None:
        self.root = ref(root)
        #: What the root is to NumPy, which may have it as a view of what is gone.
        self.outline = outline
        self.looks: list[ref[Base]] = []
        #: Whether one of them is being brought up to date.
        self.mending = False

    def alive(self) -> list[Base]:
        """Return the bases of the looks that are there."""
        found = [(r, r()) for r in self.looks]
        self.looks = [r for r, base in found if base is not None]
        return [base for _, base in found if base is not None]

    def join(self, base: Base) -> None:
        """Take one in that has a look; of very many the others are not asked each time."""
        self.looks.append(ref(base))
        n = len(self.looks)
        if n < MANY or n & (n - 1) == 0:
            self.settle()
        else:
            _look(base).needs = self.root()

    def settle(self) -> None:
        """Let each keep the one that it needs, and no other, so that memory is not held twice.

        What is stale needs what it is made of. Two looks know of each other by the root.
        """
        root, looks = self.root(), self.alive()
        if root is None:
            return
        for base in looks:
            away = base is _look(root).needs
            needed = not away and (_look(base).stale or len(looks) > 1)
            _look(base).needs = root if needed else None

    def together(self, root: Base) -> None:
        """Let all be views of the root, which is in reach."""
        for base in self.alive():
            base.near = _shown(root.near, _look(base).steps)  # type: ignore[arg-type]
        self._only(root)

    def apart(self, root: Base) -> None:
        """Let all but the root, which has left, be made again when they are used."""
        for base in self.alive():
            base.near = None
        self._only(root)

    def _only(self, root: Base) -> None:
        """Let the root alone be up to date."""
        _look(root).stale, _look(root).needs = False, None
        for base in self.alive():
            _look(base).stale = True
        self.settle()

    def wrote(self, base: Base) -> None:
        """Note that one of them is about to be written."""
        root = self.root()
        if self.mending or root is None:
            return
        if _look(root).stale and _look(root).needs is not base is not root:
            self.mend(root)  # what one look does not show of another one's is not to be lost
        self._only(root)
        if base is not root:
            _look(base).stale = False
            _look(root).stale, _look(root).needs = True, base
            self.settle()

    def mend(self, base: Base) -> None:
        """Bring one of them up to date."""
        root = self.root()
        if self.mending or root is None:
            return
        self.mending = True
        try:
            if _look(root).stale:
                source = cast("Base", _look(root).needs)
                _put(_all_of(root), _look(source).steps, _all_of(source))
                _look(root).stale, _look(root).needs = False, None
            if base is not root:
                made = _remade(_all_of(root), _look(base).steps)
                base.exchange(in_layout(made, base.layout).dbase)  # it may have been moved
                base.lost = _look(base).stale = False
        finally:
            self.mending = False
        self.settle()


def _look(base: Base) -> Look:
    return cast("Look", base.look)


class Look:
    """What a base knows of its family: by which steps it shows the root; the root itself has none.

    Attributes
    ----------
    stale : bool
        Whether another one was written since.
    needs : Base, optional
        What it is made of then, which must not go before. Of two that are stale the one may be made
        of the other; so there is no circle.
    """

    __slots__ = ("family", "needs", "stale", "steps")
    unread = False

    def __init__(self, family: Family, steps: Steps) -> None:
        self.family = family
        self.steps = steps
        self.stale = False
        self.needs: Base | None = None

    def refresh(self, base: Base) -> None:
        """Bring the base up to date, which is about to be used on the engines."""
        with base.session.recorder.lock:
            if base.near is None and (self.stale or (base.lost and self.steps) or self._is_lent()):
                self.family.mend(base)

    def _is_lent(self) -> bool:
        """Tell whether the script of a rank may have written what this one shows, by itself."""
        root = self.family.root()
        if root is None or not self.steps or root.session.transport.rank is None:
            return False
        return not _look(root).stale and root.handle in root.session.memory.seen

    def part(self, base: Base, view: View) -> Any:
        """Return an array of its own for a view of the base; None, as a view will do."""
        return None

    def made_of(self, base: Base) -> int:
        """Return how many bytes engines write before they can use the base."""
        return 0

    def wrote(self, base: Base) -> None:
        """Note that the base is about to be written on the engines."""
        self.family.wrote(base)

    def leave(self, base: Base) -> None:
        """Give the base to the engines, and the others that are in reach with it."""
        root = self.family.root()
        if root is None:
            _by_itself(base, leave)
            return
        self.family.apart(root)  # first: what is written there from now on is stored once more
        _by_itself(root, leave)
        self.refresh(base)

    def come(self, base: Base, come: Callable[[Base], bool]) -> bool:
        """Bring all of the family in reach, if ``come`` can bring the root."""
        if self.family.mending:
            return False
        root = self.family.root()
        if root is None:
            return _by_itself(base, come)
        if _look(root).stale:
            self.family.mend(root)
            root.session.flush()
        found = _by_itself(root, come)
        if found:
            self.family.together(root)
        return found


def _by_itself(base: Base, do: Callable[[Base], Any]) -> Any:
    """Return ``do(base)``, which is not to ask for others of its family."""
    base.look, kept = None, base.look
    try:
        return do(base)
    finally:
        base.look = kept


def _all_of(base: Base) -> Any:
    return Array.made(base, View.whole(base.shape))


def _remade(x: Array, steps: Steps) -> Array:
    """Return a new array of what steps show of ``x``."""
    for view, way in steps:
        x = _made(way, x.alias(view))
    return x


def _put(x: Array, steps: Steps, found: Array) -> None:
    """Write into ``x`` what steps show of it."""
    (view, way), *rest = steps
    seen = x.alias(view)
    if rest:
        between = _made(way, seen)
        _put(between, tuple(rest), found)
        found = between
    way.put(seen, found)
