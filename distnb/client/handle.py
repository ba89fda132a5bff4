"""The handle under every array: a base on the engines, and a view of it."""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar, Self

import numpy as np

from distnb.client.session import Base, Session, lost_error
from distnb.errors import explain
from distnb.layout import Ints, Layout
from distnb.protocol import Create, Operand
from distnb.views import Placed, View

__all__ = ["Handle", "create", "numeric"]

#: Kinds of dtype that arrays can have: bool, integers, floats, complex.
_KINDS = "biufc"


class Handle:
    """A base and a view: what operations need of an array.

    Operations (:mod:`distnb.client.operations`) work on handles and make arrays of the one class
    that derives from this one, so they need not know it.
    """

    __slots__ = ("__weakref__", "_base", "_placed", "_view", "_writeable")
    #: The class of arrays.
    made: ClassVar[type[Any]]

    def __init_subclass__(cls) -> None:
        Handle.made = cls

    def __init__(self, base: Base, view: View, writeable: bool = True) -> None:
        self._base = base
        self._view = view
        self._writeable = writeable
        self._placed: Placed | None = None

    @property
    def shape(self) -> Ints:
        """Lengths of the axes."""
        return self._view.shape

    @property
    def dtype(self) -> np.dtype:
        """Element type."""
        return self._base.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._view.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self._view.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self._base.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    @property
    def session(self) -> Session:
        """The session the array lives in."""
        return self._base.session

    @property
    def placed(self) -> Placed:
        """View, base shape and layout in one."""
        if self._placed is None:
            shape, layout = self._base.shape, self._base.layout
            whole = self._view.is_whole(shape)
            self._placed = (
                Placed.whole(shape, layout) if whole else Placed(shape, layout, self._view)
            )
        return self._placed

    @property
    def operand(self) -> Operand:
        """The array as commands name it; raises if its content is lost or its session closed."""
        if self._base.session.closed:
            self._base.session.check_open()
        if self._base.lost:
            raise lost_error(self.shape)
        return Operand(self._base.handle, self._view)

    def _look(self, view: View, writeable: bool | None = None) -> Self:
        return type(self)(self._base, view, self._writeable if writeable is None else writeable)


def numeric(dtype: Any) -> np.dtype:
    """Return a dtype that arrays can have; raise TypeError for others."""
    found = np.dtype(dtype)
    if found.kind not in _KINDS or found.char in "gG":  # long doubles differ from host to host
        raise TypeError(
            explain("dtype", found, "bool, an integer, float or complex type", "convert it first")
        )
    return found.newbyteorder("=") if not found.isnative else found


def create(
    session: Session, shape: Ints, dtype: np.dtype, layout: Layout, how: tuple[Any, ...]
) -> Any:
    """Record the creation of a base; return the array of all of it.

    ``how`` is as in :class:`distnb.protocol.Create`, but for ``('data', parts)``: a buffer for
    each rank.
    """
    base = Base(session, shape, dtype, layout)
    session.watch(base)
    command = Create(base.handle, shape, dtype.str, layout, how, session.site())
    if how[0] == "data":
        session.attach(how[1], lambda slot: command._replace(how=("data", slot)))
    else:
        session.record(command)
    return Handle.made(base, View.whole(shape))
