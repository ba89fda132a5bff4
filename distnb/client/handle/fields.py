"""What each array has, where compiled modules find it, and the shortest way to make one."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any
from weakref import ref

import distnb.common.ndarrays as nd
from distnb.client.batching.entries import reached
from distnb.client.session.bases import Base
from distnb.common.config import config

if TYPE_CHECKING:
    import numpy as np

    from distnb.client.batching.entries import Promised
    from distnb.client.handle.arguments import Subscript
    from distnb.client.handle.indexing import Turn
    from distnb.client.session.session import Session
    from distnb.geometry.layout import Ints, Layout
    from distnb.geometry.views import Placed

__all__ = [
    "Fields",
    "at_hand",
    "base_of",
    "beside",
    "fits",
    "fresh",
    "is_away",
    "made_by",
    "near_of",
    "stayed",
    "viewed",
]

#: The class of arrays.
_made: Any = None


class Fields:
    """What each array has: :class:`distnb.client.handle.array.Array` tells what it is."""

    __slots__ = (
        *("__weakref__", "_base", "_key", "_near", "_owner", "_placed", "_view", "_whole"),
        *("promise", "session", "single", "spec", "writeable"),
    )
    writeable: bool
    #: The session the array lives in.
    session: Session
    #: The number of its spec (``operation_cache``); 0 if it has none yet.
    spec: int
    #: Whether it is a result that NumPy has as a scalar: ``x += 1`` makes another one.
    single: bool
    #: The elements in reach, and of which ndarray these are a view: None if they are all there is,
    #: and have no base yet. Results of small steps are made without, for few ever need one.
    _near: np.ndarray | None
    _whole: np.ndarray | None
    #: Base and view; None until somebody asks for them, but a view in reach has its base.
    _base: Any
    _view: Any
    #: Of an array without a base its layout, or what promises it; None: that of a new array.
    promise: Layout | Promised | None
    #: Of an array without a view, that of another one and what takes it from there (``view_of``).
    _key: tuple[Any, Subscript | Turn] | None
    _placed: Placed | None
    #: Of a view the array that has the memory, which it keeps as NumPy's do; of a look, which has
    #: memory of its own where engines have it, a reference that does not keep it.
    _owner: Fields | ref[Any] | None

    def __len__(self) -> int:
        near: Any = self._near
        if near is not None:
            return len(near)
        shape: Ints = self.shape  # type: ignore[attr-defined]
        if not shape:
            raise TypeError("len() of unsized object")
        return shape[0]


def made_by(cls: type[Fields]) -> None:
    """Make arrays of a class from now on."""
    global _made  # noqa: PLW0603 - no attribute of a class that may be compiled can be set
    _made = cls


def fresh(session: Session, near: np.ndarray, promise: Layout | Promised | None) -> Any:
    """Return the array of an ndarray in C order, its own from now on, which has no base yet.

    ``promise`` is its layout, or what promises it; None if it lives in the notebook.
    """
    found: Any = nd.bare(_made)
    found._near = near
    found._whole = found._base = found._view = found._key = found._placed = found._owner = None
    found.promise = promise
    found.spec = 0
    found.single = False
    found.writeable = True
    found.session = session
    return found


def viewed(x: Fields, taken: np.ndarray, base: Base, key: tuple[Any, Subscript | Turn]) -> Any:
    """Return the array of a view of one in reach; ``key`` is another view and an index of it."""
    found: Any = nd.bare(_made)
    whole = base.near
    here = whole is not None and whole is x._whole  # else another thread has given it to engines
    found._base = base
    found._near = taken if here else None
    found._whole = whole if here else None
    found._key = key
    found._owner = x if x._owner is None or type(x._owner) is ref else x._owner
    found._view = found._placed = found.promise = None
    found.spec = 0
    found.single = False
    found.writeable = x.writeable
    found.session = x.session
    return found


#: Only one thread makes the base of an array.
_MAKING = threading.RLock()


def base_of(x: Fields) -> Base:
    """Return the base of an array, which is made if there is none yet."""
    base = x._base
    if base is not None:
        return base
    with _MAKING:
        if x._base is None:  # else another thread has made it
            near: Any = x._near
            x._key = None
            base = nd.bare(Base)
            reached(base, x.session, near, x.promise)
            x._base = base
            x._whole = near
    return x._base


def fits(nbytes: int) -> bool:
    """Tell whether an array of so many bytes lives in the notebook if no layout is asked for."""
    return nbytes <= config.cutoff > 0


def near_of(x: Fields) -> Any:
    """Return the elements of an array in reach, None if it is not, or its session is closed."""
    if x.session.closed:
        return None
    whole = x._whole  # first: another thread may be about to find both anew
    near = x._near
    if near is None or (whole is not None and whole is not x._base.near):
        return x.near  # type: ignore[attr-defined]
    return near


def stayed(x: Fields, near: np.ndarray) -> bool:
    """Tell whether the elements of an array are still where a step has written them.

    Else another thread has moved them meanwhile. What was made of them before counts no more.
    """
    whole = x._whole
    if whole is not None:
        x._base.kept = None
        if whole is not x._base.near:
            return False
    return x._near is near


def is_away(x: Fields) -> bool:
    """Tell whether an array in reach is not at home in the notebook."""
    if x._whole is None:
        return x.promise is not None
    return bool(x._base.host is None)


def at_hand(x: Any) -> Any:
    """Return the elements of an array at home, whose views NumPy knows; None of all others."""
    if type(x) is not _made:
        return None
    one: Fields = x
    if one._near is not None and one._whole is None:
        if one.promise is not None:
            return None
    elif one._base.host is None or one._base.look is not None:
        return None
    return near_of(one)


def beside(x: Any, shown: np.ndarray) -> Any:
    """Return the array of a view that NumPy took of what is :func:`at_hand`."""
    base: Any = nd.bare(Base)
    reached(base, x.session, shown, None)
    base.join(base_of(x))
    found: Any = nd.bare(_made)
    found._base = base
    found._near = found._whole = shown
    found._owner = x if x._owner is None or type(x._owner) is ref else x._owner
    found._key = found._view = found._placed = found.promise = None
    found.spec = 0
    found.single = False
    found.writeable = x.writeable and shown.flags.writeable
    found.session = x.session
    return found
