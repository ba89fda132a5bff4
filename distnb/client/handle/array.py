"""What is under every array: a base, on the engines or in the notebook, and a view of it.

Several threads may use an array at once, and no write is lost where NumPy would lose none. That
takes one rule. *Whoever moves elements, or has engines do something with them, holds the session's
lock* (``session.recorder.lock``, re-entrant), *from when an array is brought out to when what names
it is recorded*: so arrays come in reach, leave, and are brought up to date with others of their
family at once for all. *A step in reach takes no lock*, for it may take no longer than NumPy's. It
takes ``near``, which is None where elements have left, and after it has written it looks whether
they have ``stayed``: if not, what it wrote is stored once more, where they are now. So who moves
elements says so first, and takes them then; and each time that they come, ``near`` is another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Self, SupportsIndex, TypeAlias
from weakref import ref

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.batching.budget import need
from distnb.client.batching.failures import lost_error
from distnb.client.handle.arguments import Axes, Dist, Grid, Number, Order, Subscript
from distnb.client.handle.fields import Fields, base_of, fresh, made_by
from distnb.client.handle.indexing import view_of
from distnb.client.session.bases import Base
from distnb.client.session.session import Session
from distnb.common.config import config
from distnb.common.errors import NotNumericError, explain
from distnb.geometry.layout import Ints, Layout
from distnb.geometry.views import Placed, View
from distnb.plans.host_parts import fill, filled, parts_of
from distnb.wire.protocol import Create, InNotebook, Operand

__all__ = [
    "Array",
    "Elements",
    "as_result",
    "create",
    "hosted",
    "is_whole",
    "leave",
    "numeric",
    "read_only",
    "record_known",
    "room_for",
    "storable",
]

#: Bytes up to which an array that the user makes is filled by the notebook, if it lies in reach: a
#: loop over its rows need not wait for engines then.
_FILLED = {"empty": 1 << 62, "fill": 1 << 23, "index": 1 << 22, "random": 1 << 20}

#: Kinds of dtype that arrays can have: bool, integers, floats, complex.
_KINDS = "biufc"


def _of_numbers(name: str) -> Callable[[Array], Any]:
    """Return what finds a method that NumPy's scalars have, and its arrays have not."""

    def method(x: Array) -> Any:
        if x.single and not x.shape:
            return getattr(x.__array__()[()], name)
        raise AttributeError(f"{type(x).__name__!r} object has no attribute {name!r}")

    return method


class Array(Fields, NDArrayOperatorsMixin):
    """A base and a view: what functions need of an array.

    Functions work on these, and make arrays of the one class that derives from this one,
    :class:`distnb.DistArray`. It comes after all of them, for its methods call them.
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]
    #: The class of arrays.
    made: ClassVar[type[Any]]

    def __init_subclass__(cls) -> None:
        Array.made = cls
        made_by(cls)

    def __init__(self, base: Base, view: View, writeable: bool = True) -> None:
        self._base = base
        self._view = view
        self._near = self._whole = self._key = self._placed = self._owner = self.promise = None
        self.single = False
        self.spec = 0
        self.writeable = writeable
        self.session = base.session

    # No __getattr__ makes what comes later: of a class with one, Python finds each attribute, of
    # the many that a small step needs, in three times the time.

    @property
    def dbase(self) -> Base:
        """The base; ``base`` is something else of NumPy's arrays."""
        base = self._base
        return base_of(self) if base is None else base

    @property
    def dview(self) -> View:
        """The view of the base; ``view`` is something else of NumPy's arrays."""
        view = self._view
        return _make_view(self) if view is None else view

    @property
    def shape(self) -> Ints:
        """Lengths of the axes."""
        near = self._near
        return (self._view or self.dview).shape if near is None else near.shape

    @property
    def dtype(self) -> np.dtype:
        """Element type."""
        near = self._near
        return self._base.dtype if near is None else near.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        near = self._near
        return len((self._view or self.dview).shape) if near is None else near.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        near = self._near
        return prod((self._view or self.dview).shape) if near is None else near.size

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    @property
    def at_home(self) -> bool:
        """Whether the array lives in the notebook, and not on the engines."""
        if self._near is not None and self._whole is None:
            return self.promise is None
        return self._base.host is not None

    @property
    def placed(self) -> Placed:
        """View, base shape and layout in one."""
        base = self._base or self.dbase
        layout, placed = base._layout, self._placed
        if layout is None:  # not known yet; else nobody need find it
            layout = base.layout
        if placed is None or (placed.layout is not layout and placed.layout != layout):
            shape = base.shape
            whole = (self._view or self.dview).is_whole(shape)
            placed = Placed.whole(shape, layout) if whole else Placed(shape, layout, self.dview)
            if base.host is None:  # else it may move
                self._placed = placed
        return placed

    @property
    def here(self) -> np.ndarray | None:
        """The elements themselves, if they are in the notebook; raises if its session is closed."""
        return self.near if self.at_home else None

    @property
    def owner(self) -> Any:
        """The array that has the memory of which this one is a view; None if it is its own."""
        found: Any = self._owner
        if found is None:
            return None
        first = found if type(found) is ref else found._owner
        shown = first() if type(first) is ref else None
        return shown if shown is not None or type(found) is ref else found

    @property
    def near(self) -> np.ndarray | None:
        """The elements themselves, if they are in reach; raises if the session is closed."""
        if self._near is not None and self._whole is None:
            whole = None
        elif (whole := self._base.near) is None:
            return None
        if self.session.closed:
            self.session.check_open()
        near = self._near
        if whole is not None and (near is None or self._whole is not whole):
            near = host_view(whole, self._view or self.dview, self.writeable)
            self._near = None  # so that no thread takes the one for a view of the other
            self._whole = whole
            self._near = near
        return near

    @property
    def operand(self) -> Operand:
        """The array as commands name it; raises if its content is lost or its session closed.

        Who records a command with it holds the session's lock until then.
        """
        base = self._base or self.dbase
        if base.session.closed:
            base.session.check_open()
        if base.look is not None or base.lost or base.known is not None or base.near is not None:
            with base.session.recorder.lock:  # another thread may be about to do the same
                self._bring_out(base)
        return Operand(base.handle, self._view or self.dview)

    def _bring_out(self, base: Base) -> None:
        """Let engines have what a base holds."""
        if base.look is not None:
            base.look.refresh(base)
        if base.lost and not base.session.unfinished.make(base.handle):
            base.session.check_open()  # what failed comes first
            raise lost_error(base.shape, base.lost)
        if base.known is not None:
            record_known(base)
        if base.near is not None:
            leave(base)
            self._near = None

    @property
    def bound(self) -> Operand | InNotebook:
        """The array as ``%px`` is to see it."""
        if self.dbase.host is not None:
            return InNotebook(self.shape, self.dtype.str)
        return self.operand

    as_integer_ratio = property(_of_numbers("as_integer_ratio"))
    bit_count = property(_of_numbers("bit_count"))
    denominator = property(_of_numbers("denominator"))
    hex = property(_of_numbers("hex"))
    is_integer = property(_of_numbers("is_integer"))
    numerator = property(_of_numbers("numerator"))

    def alias(self, view: View, writeable: bool | None = None) -> Self:
        """Return an array with another view of the same base; of one in a file, of that part."""
        if writeable is None:
            writeable = self.writeable
        if self.single and writeable and not self.shape:
            return self._apart(len(view.shape))
        base = self._base or self.dbase
        look = base.look
        if look is not None and not self.writeable:
            part = look.part(base, view)
            if part is not None:
                return part
        found = type(self)(base, view, writeable)
        mine = self._owner  # a look, which may outlive what it shows, is kept itself
        found._owner = self if mine is None or type(mine) is ref else mine
        return found

    def _apart(self, ndim: int) -> Self:
        """Return an array of a scalar: one of its own, as NumPy's, since scalars do not change."""
        found = self.copy()
        found.single = False
        view = found.dview
        for _ in range(ndim):
            view = view.insert(0)
        return found.alias(view)

    def become(self, other: Array) -> None:
        """Be what another array is, as if it had been this one."""
        self._base, self._view = other.dbase, other.dview
        self._placed, self._near, self._key, self.spec = None, None, None, 0
        self._owner = other._owner

    if TYPE_CHECKING:  # what functions use of the methods of the class of arrays

        def __getattr__(self, name: str) -> Any: ...
        def __getitem__(self, key: Subscript) -> Self: ...
        def __setitem__(self, key: Subscript, value: ArrayLike) -> None: ...
        def __iter__(self) -> Iterator[Self]: ...
        def __array__(
            self, dtype: DTypeLike | None = None, copy: bool | None = None
        ) -> np.ndarray: ...
        def __float__(self) -> float: ...
        def __int__(self) -> int: ...
        @property
        def T(self) -> Self: ...
        @property
        def real(self) -> Self: ...
        @property
        def imag(self) -> Self: ...
        def transpose(self, *axes: Axes) -> Self: ...
        def swapaxes(self, axis1: int, axis2: int) -> Self: ...
        def squeeze(self, axis: Axes = None) -> Self: ...
        def copy(self, order: Order = "C") -> Self: ...
        def astype(
            self, dtype: DTypeLike, *, casting: str = "unsafe", copy: bool = True
        ) -> Self: ...
        def redistribute(self, dist: Dist = None, grid: Grid = None) -> Self: ...
        @property
        def mT(self) -> Self: ...
        def conj(self) -> Self: ...
        def to_numpy(self) -> np.ndarray: ...
        def item(self, *index: SupportsIndex | tuple[SupportsIndex, ...]) -> Any: ...
        def sum(self, axis: Axes = None, *, keepdims: bool = False) -> Self: ...
        def mean(self, axis: Axes = None) -> Self: ...
        def min(
            self, axis: Axes = None, *, keepdims: bool = False, initial: Number | None = None
        ) -> Self: ...
        def max(
            self, axis: Axes = None, *, keepdims: bool = False, initial: Number | None = None
        ) -> Self: ...
        def any(self, axis: Axes = None) -> Self: ...
        def all(self, axis: Axes = None) -> Self: ...
        def __add__(self, other: ArrayLike) -> Self: ...
        def __radd__(self, other: ArrayLike) -> Self: ...
        def __iadd__(self, other: ArrayLike) -> Self: ...
        def __sub__(self, other: ArrayLike) -> Self: ...
        def __rsub__(self, other: ArrayLike) -> Self: ...
        def __isub__(self, other: ArrayLike) -> Self: ...
        def __mul__(self, other: ArrayLike) -> Self: ...
        def __rmul__(self, other: ArrayLike) -> Self: ...
        def __imul__(self, other: ArrayLike) -> Self: ...
        def __truediv__(self, other: ArrayLike) -> Self: ...
        def __rtruediv__(self, other: ArrayLike) -> Self: ...
        def __itruediv__(self, other: ArrayLike) -> Self: ...
        def __floordiv__(self, other: ArrayLike) -> Self: ...
        def __rfloordiv__(self, other: ArrayLike) -> Self: ...
        def __ifloordiv__(self, other: ArrayLike) -> Self: ...
        def __mod__(self, other: ArrayLike) -> Self: ...
        def __rmod__(self, other: ArrayLike) -> Self: ...
        def __imod__(self, other: ArrayLike) -> Self: ...
        def __pow__(self, other: ArrayLike) -> Self: ...
        def __rpow__(self, other: ArrayLike) -> Self: ...
        def __ipow__(self, other: ArrayLike) -> Self: ...
        def __and__(self, other: ArrayLike) -> Self: ...
        def __rand__(self, other: ArrayLike) -> Self: ...
        def __iand__(self, other: ArrayLike) -> Self: ...
        def __or__(self, other: ArrayLike) -> Self: ...
        def __ror__(self, other: ArrayLike) -> Self: ...
        def __ior__(self, other: ArrayLike) -> Self: ...
        def __xor__(self, other: ArrayLike) -> Self: ...
        def __rxor__(self, other: ArrayLike) -> Self: ...
        def __ixor__(self, other: ArrayLike) -> Self: ...
        def __lshift__(self, other: ArrayLike) -> Self: ...
        def __rlshift__(self, other: ArrayLike) -> Self: ...
        def __ilshift__(self, other: ArrayLike) -> Self: ...
        def __rshift__(self, other: ArrayLike) -> Self: ...
        def __rrshift__(self, other: ArrayLike) -> Self: ...
        def __irshift__(self, other: ArrayLike) -> Self: ...
        def __lt__(self, other: ArrayLike) -> Self: ...
        def __le__(self, other: ArrayLike) -> Self: ...
        def __gt__(self, other: ArrayLike) -> Self: ...
        def __ge__(self, other: ArrayLike) -> Self: ...
        def __eq__(self, other: object) -> Self: ...  # type: ignore[override]
        def __ne__(self, other: object) -> Self: ...  # type: ignore[override]


#: An array on the engines or in the notebook, or NumPy's own.
Elements: TypeAlias = Array | np.ndarray


def as_result(found: Any) -> Any:
    """Return what an operation gave; where NumPy would give a scalar, it counts as one."""
    if not found.shape and isinstance(found, Array):
        found.single = True
    return found


def read_only(x: Array) -> ValueError:
    """Return the error for a write into an array that cannot be written, in NumPy's words."""
    return ValueError("assignment destination is read-only")


def is_whole(x: Array) -> bool:
    """Tell whether an array is all of its base."""
    return x.dview.is_whole(x.dbase.shape)


def _make_view(x: Array) -> View:
    """Find the view of an array of which only the index is known, or that is all of its base."""
    base = x.dbase
    view = x._view = view_of(x._key, base.shape)
    return view


def host_view(host: np.ndarray, view: View, writeable: bool) -> np.ndarray:
    """Return a view of a base's ndarray, which shares its memory."""
    if writeable and not host.flags.writeable:  # as of a diagonal that the user made so
        with suppress(ValueError):  # what NumPy says of other memory is said when it is written
            host.flags.writeable = True
    if view.is_whole(host.shape):
        found = host if writeable else host.view()
    elif 0 in view.shape:
        found = np.empty(view.shape, host.dtype)
    else:
        step = host.strides
        strides = tuple(by * step[a] if a >= 0 else 0 for a, _, by in view.dims)
        offset = sum(i * step[a] for a, i in view.fixed)
        offset += sum(start * step[a] for a, start, _ in view.dims if a >= 0)
        if host.flags.c_contiguous:
            found = np.ndarray(view.shape, host.dtype, host, offset, strides)
        else:  # itself a view, as the real parts of complex numbers are
            first = dict(view.fixed) | {a: start for a, start, _ in view.dims}
            corner = host[tuple([slice(first.get(a, 0), None) for a in range(host.ndim)])]
            found = np.lib.stride_tricks.as_strided(corner, view.shape, strides)
    if not writeable:
        found.flags.writeable = False
    return found


def in_memory(x: Array) -> np.ndarray | None:
    """Return the memory of an array in the notebook, which others may write; it stays there."""
    if not x.at_home:
        return None
    x.dbase.exported = True
    return x.here


def sealed(x: Array, found: np.ndarray) -> np.ndarray:
    """Return a copy that others get of an array: what they write into it would reach nobody.

    That of a number is theirs, as in NumPy.
    """
    found.flags.writeable = x.single
    return found


def storable(dtype: np.dtype) -> bool:
    """Tell whether arrays can have a dtype: a number's, but long doubles differ among hosts."""
    return dtype.kind in _KINDS and dtype.char not in "gG" and dtype.names is None


def numeric(dtype: DTypeLike | None) -> np.dtype:
    """Return a dtype that arrays can have; raise TypeError for others."""
    found = np.dtype(dtype)
    if not storable(found):
        expected = "bool, an integer, float or complex type"
        raise NotNumericError(explain("dtype", found, expected, "convert it first"))
    return found.newbyteorder("=") if not found.isnative else found


def hosted(session: Session, elements: np.ndarray) -> Any:
    """Return the array of an ndarray, which lives in the notebook and is its own from now on."""
    if not elements.flags.c_contiguous:
        elements = elements.copy()
    return fresh(session, elements, None)


def leave(base: Base) -> None:
    """Give a base that is in reach to the engines, which are to read or write it."""
    session = base.session
    with session.recorder.lock:
        near: Any = base.near
        if base.look is not None:
            base.look.leave(base)
            return
        if near is None:  # another thread has given it
            return
        if base.nbytes >= 0:  # they have it, where it is
            base.kept = None  # it may have been written here
            base.since = session.batches + 1
            base.near = None
        else:
            give(base, base.layout, base.memory is not None)


def give(base: Base, layout: Layout, there: bool) -> None:
    """Let engines have what was in reach until now; ``there``: it lies where they find it."""
    near: Any = base.near
    held, settled = base.session.memory, base.session.connection.settled
    memory = base.memory if there else held.at_once(base.shape, base.dtype, layout, settled)

    def record() -> None:
        if memory is None:
            how: tuple[Any, ...] = ("data", parts_of(base.session.size, near, layout))
        else:
            if not there:
                memory[...] = near
            base.memory = memory
            how = base.laid("same")
        base.move(layout)
        record_creation(base, how, new=False)

    base.given(record)


def create(
    session: Session,
    shape: Ints,
    dtype: np.dtype,
    layout: Layout,
    how: tuple[Any, ...],
    stays: bool = False,
) -> Any:
    """Record the creation of a base; return the array of all of it.

    ``how`` is as in :class:`distnb.wire.protocol.Create`, but for ``('data', parts)``: a buffer for
    each rank. A base in the notebook is made here and now. ``stays``: the user made it, and may
    look at it from here, so it lies in the shared segment if it can.
    """
    if layout.here:
        if session.closed:
            session.check_open()
        return hosted(session, filled(shape, dtype, how))
    mine = prod(shape) * dtype.itemsize <= _FILLED.get(how[0], 0)
    touched = mine and how[0] != "empty"
    memory = room_for(session, shape, dtype, layout, touched) if stays else None
    if memory is not None and mine:
        fill(memory, shape, how)
        base = Base.reached(session, memory, layout, memory)
        base.site = session.site()
        return Array.made(base, View.whole(shape))
    base = Base(session, shape, dtype, layout)
    base.memory = memory
    record_creation(base, base.laid(*how))
    return Array.made(base, View.whole(shape))


def room_for(
    session: Session, shape: Ints, dtype: np.dtype, layout: Layout, mine: bool = True
) -> np.ndarray | None:
    """Return memory of the shared segment for a base, None if it cannot lie there.

    ``mine``: the notebook is to write it, and not the engines.
    """
    if config.place == "engines" or not session.memory.fits(shape, layout):
        return None
    asked = need(shape, dtype, layout)
    return session.memory.take(shape, dtype, session.connection.settled, mine, asked)


def record_creation(base: Base, how: tuple[Any, ...], new: bool = True) -> None:
    """Record the creation of a base on the engines; ``how`` is as in :func:`create`.

    One that is not ``new`` was made at another line, which may not be known.
    """
    session = base.session
    site = session.site()
    base.site = site if new else base.site
    command = Create(base.handle, base.shape, base.dtype.str, base.layout, how, site)
    if how[0] == "data":
        session.attach(how[1], lambda slot: command._replace(how=("data", slot)))
    else:
        session.record(command)


def record_known(base: Base) -> None:
    """Record the creation of an element whose value is known."""
    if base.known is None:  # another thread has recorded it
        return
    how = ("fill", base.known.item())
    base.begin(base.layout)
    base.session.record(
        Create(base.handle, base.shape, base.dtype.str, base.layout, how, base.site)
    )
    base.known = None
