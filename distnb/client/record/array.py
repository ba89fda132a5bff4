"""The handle under every array: a base, on the engines or in the notebook, and a view of it."""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar, Self

import numpy as np

from distnb.client.session.bases import Base
from distnb.client.session.failures import lost_error
from distnb.client.session.session import Session
from distnb.common.errors import explain
from distnb.geometry.layout import Ints, Layout
from distnb.geometry.slices import interval
from distnb.geometry.views import Placed, View
from distnb.ops import filling
from distnb.wire.protocol import Create, InNotebook, Operand

__all__ = ["Handle", "create", "hosted", "numeric"]

#: Kinds of dtype that arrays can have: bool, integers, floats, complex.
_KINDS = "biufc"


class Handle:
    """A base and a view: what operations need of an array.

    Operations (:mod:`distnb.client.record.operations`) work on handles and make arrays of the one
    class that derives from this one, so they need not know it.
    """

    __slots__ = ("__weakref__", "_base", "_placed", "_spec", "_view", "_window", "_writeable")
    #: The class of arrays.
    made: ClassVar[type[Any]]

    def __init_subclass__(cls) -> None:
        Handle.made = cls

    def __init__(self, base: Base, view: View, writeable: bool = True) -> None:
        self._base = base
        self._view = view
        self._writeable = writeable
        self._placed: Placed | None = None
        self._window: np.ndarray | None = None
        #: The number of its spec (``operation_cache``); 0 if it has none yet.
        self._spec = 0

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
        placed, layout = self._placed, self._base.layout
        if placed is None or (placed.layout is not layout and placed.layout != layout):
            shape = self._base.shape
            whole = self._view.is_whole(shape)
            placed = Placed.whole(shape, layout) if whole else Placed(shape, layout, self._view)
            if self._base.host is None:  # else it may move
                self._placed = placed
        return placed

    @property
    def here(self) -> np.ndarray | None:
        """The elements themselves, if they are in the notebook; raises if its session is closed."""
        host = self._base.host
        if host is None:
            return None
        if self._base.session.closed:
            self._base.session.check_open()
        if self._window is None:
            self._window = host_view(host, self._view)
        return self._window

    @property
    def operand(self) -> Operand:
        """The array as commands name it; raises if its content is lost or its session closed."""
        if self._base.session.closed:
            self._base.session.check_open()
        if self._base.lost:
            raise lost_error(self.shape)
        if self._base.known is not None:
            record_known(self._base)
        return Operand(self._base.handle, self._view)

    @property
    def bound(self) -> Operand | InNotebook:
        """The array as ``%px`` is to see it."""
        if self._base.host is not None:
            return InNotebook(self.shape, self.dtype.str)
        return self.operand

    def _look(self, view: View, writeable: bool | None = None) -> Self:
        return type(self)(self._base, view, self._writeable if writeable is None else writeable)


def host_view(host: np.ndarray, view: View) -> np.ndarray:
    """Return a view of a base's ndarray, which shares its memory."""
    if view.is_whole(host.shape):
        return host
    if 0 in view.shape:
        return np.empty(view.shape, host.dtype)
    step = host.strides
    offset = sum(i * step[a] for a, i in view.fixed)
    offset += sum(start * step[a] for a, start, _ in view.dims if a >= 0)
    strides = tuple(by * step[a] if a >= 0 else 0 for a, _, by in view.dims)
    return np.ndarray(view.shape, host.dtype, host, offset, strides)


def numeric(dtype: Any) -> np.dtype:
    """Return a dtype that arrays can have; raise TypeError for others."""
    found = np.dtype(dtype)
    if found.kind not in _KINDS or found.char in "gG":  # long doubles differ from host to host
        raise TypeError(
            explain("dtype", found, "bool, an integer, float or complex type", "convert it first")
        )
    return found.newbyteorder("=") if not found.isnative else found


def hosted(session: Session, elements: Any) -> Any:
    """Return the array of an ndarray, which lives in the notebook and is its own from now on."""
    if not elements.flags.c_contiguous:
        elements = elements.copy()
    made = Handle.made(Base.here(session, elements), View.whole(elements.shape))
    made._window = elements
    return made


def create(
    session: Session, shape: Ints, dtype: np.dtype, layout: Layout, how: tuple[Any, ...]
) -> Any:
    """Record the creation of a base; return the array of all of it.

    ``how`` is as in :class:`distnb.wire.protocol.Create`, but for ``('data', parts)``: a buffer for
    each rank. A base in the notebook is made here and now.
    """
    if layout.here:
        if session.closed:
            session.check_open()
        return hosted(session, _filled(shape, dtype, how))
    base = Base(session, shape, dtype, layout)
    record_creation(base, how)
    return Handle.made(base, View.whole(shape))


def record_creation(base: Base, how: tuple[Any, ...]) -> None:
    """Record the creation of a base on the engines; ``how`` is as in :func:`create`."""
    session = base.session
    site = base.site = session.site()
    command = Create(base.handle, base.shape, base.dtype.str, base.layout, how, site)
    if how[0] == "data":
        session.attach(how[1], lambda slot: command._replace(how=("data", slot)))
    else:
        session.record(command)


def record_known(base: Base) -> None:
    """Record the creation of an element whose value is known."""
    assert base.known is not None
    how = ("fill", base.known.item())
    base.begin(base.layout)
    base.session.record(
        Create(base.handle, base.shape, base.dtype.str, base.layout, how, base.site)
    )
    base.known = None


def _filled(shape: Ints, dtype: np.dtype, how: tuple[Any, ...]) -> np.ndarray:
    """Return what engines would make, all of it."""
    made = np.empty(shape, dtype)
    kind, *args = how
    owned = tuple(interval(0, n) for n in shape)
    if made.size == 0:
        return made
    if kind == "fill":
        filling.fill_value(made, args[0])
    elif kind == "index":
        filling.fill_index(made, owned, *args)
    elif kind == "random":
        filling.fill_random(made, owned, shape, *args)
    return made
