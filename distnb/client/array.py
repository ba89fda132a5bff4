"""The array of the notebook: a spec and a handle; its elements live on the engines.

Methods record commands and return at once. Shape, dtype and layout of every result are computed
here, from specs alone; what is wrong raises here, with NumPy's exception types.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from distnb import ops
from distnb.client.session import Base, Session, lost_error
from distnb.config import config
from distnb.errors import GatherError, SessionError, explain
from distnb.layout import Ints, Layout, Placed, View, default_layout, follow, make_layout
from distnb.protocol import Apply, Create, Operand, Reduce, Typed
from distnb.transfer import part_of

__all__ = ["DistArray", "Placement", "create", "elementwise", "from_host", "reduce"]

#: Kinds of dtype that arrays can have: bool, integers, floats, complex.
_KINDS = "biufc"
_SCALARS = (bool, int, float, complex)
Shape = Ints


class Placement:
    """Where the elements of an array or view are.

    Printed plainly or as HTML, it shows each engine's share; ``plot()`` draws who owns what.
    Nothing here talks to the engines.
    """

    #: Set by the package root: the module that draws (the client does not know the widgets).
    views: Any = None

    def __init__(self, placed: Placed, dtype: np.dtype, size: int) -> None:
        self.placed = placed
        self.dtype = dtype
        self.size = size

    @property
    def base(self) -> Layout:
        """The layout of the base; can be passed as ``dist=``."""
        return self.placed.layout

    def owner(self, *index: int) -> int:
        """Return the lowest rank that holds the element at ``index``."""
        shape = self.placed.view.shape
        fits = len(index) == len(shape)
        if not fits or any(not 0 <= i < n for i, n in zip(index, shape, strict=True)):
            raise IndexError(
                explain("index", index, f"one within {shape}", "give one number an axis")
            )
        return self.placed.owner(tuple(index))

    def elements(self) -> tuple[int, ...]:
        """Return how many elements each rank holds."""
        return tuple(self.placed.held(r) for r in range(self.size))

    def plot(self, ax: Any = None, axes: Any = None) -> Any:
        """Draw who owns what; returns the matplotlib Axes."""
        return self.views.plot(self.placed, self.dtype, ax=ax, axes=axes)

    def __repr__(self) -> str:
        return str(self.views.describe(self.placed, self.dtype))

    def _repr_html_(self) -> str:
        return str(self.views.to_html(self.placed, self.dtype))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Placement) and self.placed == other.placed

    def __hash__(self) -> int:
        return hash(self.placed)


class DistArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An n-dimensional array spread over the engines of a session.

    It behaves as ``numpy.ndarray`` does: operators and ufuncs, broadcasting, views that alias,
    assignment through views. It is made by the functions of :mod:`distnb`, not by this class.

    Attributes
    ----------
    shape, dtype, ndim, size, nbytes, itemsize
        As in NumPy.
    layout : Placement
        Who holds which elements.
    session : Session
        The session the array lives in.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     a = dnb.arange(6.0)
    ...     a[1:] += a[:-1]
    ...     a.to_numpy()
    array([0., 1., 3., 5., 7., 9.])
    """

    __slots__ = ("__weakref__", "_base", "_placed", "_view", "_writeable")
    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 1000

    def __init__(self, base: Base, view: View, writeable: bool = True) -> None:
        self._base = base
        self._view = view
        self._writeable = writeable
        self._placed: Placed | None = None

    # -- what it is --------------------------------------------------------------------------

    @property
    def shape(self) -> Shape:
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
    def layout(self) -> Placement:
        """Who holds which elements."""
        return Placement(self.placed, self.dtype, self.session.size)

    @property
    def operand(self) -> Operand:
        """The array as commands name it; raises if its content is lost or its session closed."""
        if self._base.session.closed:
            self._base.session.check_open()
        if self._base.lost:
            raise lost_error(self.shape)
        return Operand(self._base.handle, self._view)

    def __len__(self) -> int:
        if not self._view.shape:
            raise TypeError("len() of unsized object")
        return self._view.shape[0]

    def __repr__(self) -> str:
        state = "closed session" if self.session.closed else self._base.layout.spell()
        lost = ", content lost" if self._base.lost else ""
        view = "" if self._view.is_whole(self._base.shape) else f", view of {self._base.shape}"
        mib = f"{self.nbytes / 2**20:.1f} MiB"
        return f"<DistArray {self.shape} {self.dtype}{view}, {state}, {mib}{lost}>"

    def _repr_html_(self) -> str:
        return str(Placement.views.to_html(self.placed, self.dtype, title=repr(self)))

    # -- reading -----------------------------------------------------------------------------

    def to_numpy(self) -> np.ndarray:
        """Return all elements as a NumPy array (a copy), whatever its size.

        Each engine sends the part it holds. Raises what an engine raised since the last read.
        """
        return self.session.gather(self.operand, self.placed, self.dtype)

    def item(self, *index: Any) -> Any:
        """Return one element as a Python scalar."""
        one = (
            self[index[0] if len(index) == 1 and isinstance(index[0], tuple) else index]
            if index
            else self
        )
        if isinstance(one, DistArray) and one.size != 1:
            raise ValueError(
                explain(
                    "array for a scalar", f"{one.size} elements", "1", "index one, or reduce it"
                )
            )
        return one.to_numpy().item()

    def tolist(self) -> Any:
        """Return the elements as nested lists; obeys the gather budget."""
        return self.__array__().tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError(
                explain("copy", False, "None or True", "gathering always copies; use to_numpy()")
            )
        if self.nbytes > config.gather_budget:
            raise GatherError(
                explain(
                    "implicit gather",
                    f"{self.nbytes:,} bytes",
                    f"at most {config.gather_budget:,}",
                    "call .to_numpy(), reduce first, or raise dnb.config.gather_budget",
                )
            )
        found = self.to_numpy()
        return found if dtype is None else found.astype(dtype)

    def __float__(self) -> float:
        return float(self._scalar())

    def __int__(self) -> int:
        return int(self._scalar())

    def __complex__(self) -> complex:
        return complex(self._scalar())

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(
                explain(
                    "truth value of an array",
                    f"{self.size} elements",
                    "1",
                    "use .any() or .all()",
                )
            )
        return bool(self.item())

    def __index__(self) -> int:
        if self.ndim or self.dtype.kind not in "iu":
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return int(self.item())

    def _scalar(self) -> Any:
        if self.ndim:
            raise TypeError(
                explain(
                    "array for a scalar", f"shape {self.shape}", "()", "use .item() or index it"
                )
            )
        return self.to_numpy()[()]

    def __iter__(self) -> Iterator[DistArray]:
        if not self._view.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self._view.shape[0]))

    # -- views -------------------------------------------------------------------------------

    def _look(self, view: View, writeable: bool | None = None) -> DistArray:
        return DistArray(self._base, view, self._writeable if writeable is None else writeable)

    def __getitem__(self, key: Any) -> DistArray:
        view, is_element = index_view(self._view, key)
        found = self._look(view)
        # As in NumPy, an index of all axes takes the element's value of now, not a view.
        return found.copy() if is_element else found

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, DistArray) and key.dtype == bool and key.shape == self.shape:
            _assign(self, value, key)  # a whole mask needs no index arithmetic
            return
        _assign(self._look(index_view(self._view, key)[0]), value)

    @property
    def T(self) -> DistArray:
        """The view with its axes reversed."""
        return self.transpose()

    @property
    def mT(self) -> DistArray:
        """The view with its last two axes exchanged."""
        if self.ndim < 2:
            raise ValueError(explain("array", f"{self.ndim} axes", "at least 2", "add an axis"))
        return self.swapaxes(-1, -2)

    def transpose(self, *axes: Any) -> DistArray:
        """Return a view with its axes in another order."""
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], tuple | list) else axes
        if not order or order == (None,) or order == [None]:
            return self._look(self._view.transpose(range(self.ndim)[::-1]))
        fixed = tuple(_axis(a, self.ndim) for a in order)
        if sorted(fixed) != list(range(self.ndim)):
            raise ValueError(
                explain("axes", tuple(order), f"each of 0..{self.ndim - 1} once", "list all axes")
            )
        return self._look(self._view.transpose(fixed))

    def swapaxes(self, axis1: int, axis2: int) -> DistArray:
        """Return a view with two axes exchanged."""
        order = list(range(self.ndim))
        i, j = _axis(axis1, self.ndim), _axis(axis2, self.ndim)
        order[i], order[j] = order[j], order[i]
        return self._look(self._view.transpose(order))

    def squeeze(self, axis: Any = None) -> DistArray:
        """Return a view without axes of length 1."""
        axes = (
            [d for d, n in enumerate(self.shape) if n == 1]
            if axis is None
            else list(_axes(axis, self.ndim))
        )
        for d in axes:
            if self.shape[d] != 1:
                raise ValueError(
                    explain(
                        f"axis {d} to squeeze", f"length {self.shape[d]}", "1", "choose another"
                    )
                )
        view = self._view
        for d in sorted(axes, reverse=True):
            view = view.fix(d, 0)
        return self._look(view)

    # -- copies ------------------------------------------------------------------------------

    def copy(self, order: str = "C") -> DistArray:
        """Return a new array with the same elements, which stay where they are."""
        layout = follow(self.placed, self.session.size)[0]
        return self._copied(self.dtype, layout)

    def astype(self, dtype: Any, casting: str = "unsafe", copy: bool = True) -> DistArray:
        """Return a copy with another dtype (or itself, with ``copy=False`` and the same dtype)."""
        to = numeric(dtype)
        if not np.can_cast(self.dtype, to, casting):  # type: ignore[arg-type]
            raise TypeError(
                f"Cannot cast array data from {self.dtype!r} to {to!r} according to the rule "
                f"{casting!r}"
            )
        if not copy and to == self.dtype:
            return self
        return self._copied(to, follow(self.placed, self.session.size)[0])

    def redistribute(self, dist: Any = None, grid: Any = None) -> DistArray:
        """Return a new array with the same elements in another layout.

        Parameters
        ----------
        dist, grid
            As in :func:`distnb.array`; another array's ``layout`` is accepted, too.

        Notes
        -----
        Each engine sends to each other one message with exactly the elements that the other is to
        hold and does not hold yet; elements that stay are copied locally.
        """
        return self._copied(self.dtype, layout_for(self.shape, self.session, dist, grid))

    def _copied(self, dtype: np.dtype, layout: Layout) -> DistArray:
        out = create(self.session, self.shape, dtype, layout, ("empty",))
        _record_apply("copy", (out,), (self,), None, ())
        return out

    def fill(self, value: Any) -> None:
        """Set all elements to a scalar."""
        self[...] = value

    @property
    def real(self) -> DistArray:
        """The real part: the array itself if it is real, else a copy."""
        return elementwise("real", self) if self.dtype.kind == "c" else self

    @property
    def imag(self) -> DistArray:
        """The imaginary part (a copy)."""
        return elementwise("imag", self)

    # -- NumPy's protocols ---------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(not _understood(x) for x in inputs):
            return NotImplemented
        if method == "__call__" and ufunc.signature is None:
            if ops.ELEMENTWISE.get(ufunc.__name__, (None,) * 4)[3] is ufunc:
                return elementwise(ufunc.__name__, *inputs, **kwargs)
        if method == "__call__" and ufunc in FUNCTIONS:
            return FUNCTIONS[ufunc](*inputs, **kwargs)
        if method == "reduce" and ufunc.__name__ in ops.UFUNC_REDUCTIONS and len(inputs) == 1:
            return reduce(
                ops.UFUNC_REDUCTIONS[ufunc.__name__].name, *inputs, **_reduce_options(kwargs)
            )
        raise TypeError(
            explain(
                "operation on distributed arrays",
                f"{ufunc.__name__}{'' if method == '__call__' else '.' + method}",
                "an elementwise ufunc of NumPy or its reduce",
                "use .to_numpy() for small arrays",
            )
        )

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: Any, kwargs: Any
    ) -> Any:
        found = FUNCTIONS.get(func)
        if found is None:
            raise TypeError(
                explain(
                    "function on distributed arrays",
                    f"numpy.{func.__name__}",
                    "one that distnb offers",
                    "see dir(distnb), or use .to_numpy() for small arrays",
                )
            )
        return found(*args, **kwargs)

    # -- reductions --------------------------------------------------------------------------

    def sum(self, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):  # type: ignore[no-untyped-def]
        """Sum over ``axis``; the result is held by every engine along it."""
        return reduce("sum", self, axis, dtype, out, keepdims, initial, where)

    def prod(self, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):  # type: ignore[no-untyped-def]
        """Product over ``axis``."""
        return reduce("prod", self, axis, dtype, out, keepdims, initial, where)

    def min(self, axis=None, out=None, keepdims=False, initial=None, where=True):  # type: ignore[no-untyped-def]
        """Minimum over ``axis``."""
        return reduce("min", self, axis, None, out, keepdims, initial, where)

    def max(self, axis=None, out=None, keepdims=False, initial=None, where=True):  # type: ignore[no-untyped-def]
        """Maximum over ``axis``."""
        return reduce("max", self, axis, None, out, keepdims, initial, where)

    def any(self, axis=None, out=None, keepdims=False, where=True):  # type: ignore[no-untyped-def]
        """Tell whether any element is true."""
        return reduce("any", self, axis, None, out, keepdims, None, where)

    def all(self, axis=None, out=None, keepdims=False, where=True):  # type: ignore[no-untyped-def]
        """Tell whether all elements are true."""
        return reduce("all", self, axis, None, out, keepdims, None, where)

    def argmin(self, axis=None, out=None, keepdims=False):  # type: ignore[no-untyped-def]
        """Position of the first minimum."""
        return reduce("argmin", self, axis, None, out, keepdims)

    def argmax(self, axis=None, out=None, keepdims=False):  # type: ignore[no-untyped-def]
        """Position of the first maximum."""
        return reduce("argmax", self, axis, None, out, keepdims)

    def mean(self, axis=None, dtype=None, out=None, keepdims=False, where=True):  # type: ignore[no-untyped-def]
        """Arithmetic mean over ``axis``."""
        return FUNCTIONS[np.mean](self, axis, dtype, out, keepdims, where=where)

    def var(self, axis=None, dtype=None, out=None, ddof=0, keepdims=False, where=True):  # type: ignore[no-untyped-def]
        """Variance over ``axis``."""
        return FUNCTIONS[np.var](self, axis, dtype, out, ddof, keepdims, where=where)

    def std(self, axis=None, dtype=None, out=None, ddof=0, keepdims=False, where=True):  # type: ignore[no-untyped-def]
        """Return the standard deviation over ``axis``."""
        return FUNCTIONS[np.std](self, axis, dtype, out, ddof, keepdims, where=where)

    def round(self, decimals: int = 0, out: Any = None) -> DistArray:
        """Round to a number of decimals."""
        return FUNCTIONS[np.round](self, decimals, out)  # type: ignore[no-any-return]

    def clip(self, min: Any = None, max: Any = None, out: Any = None) -> DistArray:
        """Limit the elements to an interval."""
        return FUNCTIONS[np.clip](self, min, max, out)  # type: ignore[no-any-return]

    def conj(self) -> DistArray:
        """Return the complex conjugate."""
        return elementwise("conjugate", self)  # type: ignore[no-any-return]

    conjugate = conj


#: NumPy function -> what it does to distributed arrays; filled by :mod:`distnb.client.functions`.
FUNCTIONS: dict[Any, Callable[..., Any]] = {}


# -- arguments ---------------------------------------------------------------------------------


def numeric(dtype: Any) -> np.dtype:
    """Return a dtype that arrays can have; raise TypeError for others."""
    found = np.dtype(dtype)
    if found.kind not in _KINDS:
        raise TypeError(
            explain("dtype", found, "bool, an integer, float or complex type", "convert it first")
        )
    return found.newbyteorder("=") if not found.isnative else found


def _axis(axis: Any, ndim: int) -> int:
    try:
        i = operator.index(axis)
    except TypeError:
        raise TypeError(explain("axis", repr(axis), "an integer", "pass a number")) from None
    if not -ndim <= i < ndim:
        raise np.exceptions.AxisError(i, ndim)
    return i % ndim


def _axes(axis: Any, ndim: int) -> Ints:
    """Return axes as distinct non-negative numbers, ascending; None means all."""
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, tuple | list) else (axis,)
    found = sorted(_axis(a, ndim) for a in given)
    if len(set(found)) != len(found):
        raise ValueError("duplicate value in 'axis'")
    return tuple(found)


def layout_for(shape: Shape, session: Session, dist: Any, grid: Any = None) -> Layout:
    """Return the layout that ``dist=`` and ``grid=`` ask for."""
    if isinstance(dist, DistArray):
        dist = dist.layout
    if isinstance(dist, Placement):
        if dist.placed.view.shape != shape:
            same = len(dist.placed.view.shape) == len(shape)
            if not same:
                raise ValueError(
                    explain(
                        "layout", f"{dist.placed.view.shape}", f"one for {shape}", "pass another"
                    )
                )
        dist = follow(dist.placed, session.size)[0]
    return make_layout(shape, session.size, dist, grid)


#: What operations take besides distributed arrays.
_UNDERSTOOD = (DistArray, np.ndarray, np.generic, list, tuple, *_SCALARS)


def _understood(x: Any) -> bool:
    return isinstance(x, _UNDERSTOOD)


def index_view(view: View, key: Any) -> tuple[View, bool]:
    """Return the view of a basic index, and whether it takes a single element.

    Raises IndexError as NumPy does.
    """
    items = list(key) if isinstance(key, tuple) else [key]
    ndim = len(view.shape)
    used = sum(1 for k in items if k is not None and k is not Ellipsis)
    if sum(1 for k in items if k is Ellipsis) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if used > ndim:
        raise IndexError(
            explain(
                "index", f"{used} indices", f"at most {ndim} for shape {view.shape}", "drop some"
            )
        )
    has_ellipsis = any(k is Ellipsis for k in items)
    if not has_ellipsis:
        items.append(Ellipsis)
    d = 0
    for k in items:
        if k is Ellipsis:
            d += ndim - used
        elif k is None:
            view, d = view.insert(d), d + 1
        elif isinstance(k, slice):
            start, stop, step = _slice(k, view.shape[d])
            view, d = view.take(d, start, step, len(range(start, stop, step))), d + 1
        else:
            view = view.fix(d, _position(k, view.shape[d], d))
    element = (
        not has_ellipsis
        and used == ndim
        and all(k is not None and not isinstance(k, slice) for k in items[:-1])
    )
    return view, (element and used > 0) or (ndim == 0 and key == ())


def _slice(k: slice, n: int) -> tuple[int, int, int]:
    try:
        return k.indices(n)
    except TypeError:
        raise TypeError(
            explain("slice", k, "integers, or None", "convert the bounds with int()")
        ) from None


def _position(k: Any, n: int, d: int) -> int:
    try:
        i = None if isinstance(k, bool | np.bool_) else operator.index(k)
    except TypeError:
        i = None
    if i is None:
        raise IndexError(
            explain(
                "index",
                f"{type(k).__name__}",
                "integers, slices, '...' and None",
                "a whole-array mask works in assignment and in distnb.where",
            )
        )
    if not -n <= i < n:
        raise IndexError(f"index {i} is out of bounds for axis {d} with size {n}")
    return i % n


# -- making arrays -----------------------------------------------------------------------------


def create(
    session: Session, shape: Shape, dtype: np.dtype, layout: Layout, how: tuple[Any, ...]
) -> DistArray:
    """Record the creation of a base; return the array of all of it."""
    base = Base(session, shape, dtype, layout)
    session.watch(base)
    session.record(Create(base.handle, shape, dtype.str, layout, how, session.site()))
    return DistArray(base, View.whole(shape))


def from_host(session: Session, data: np.ndarray, layout: Layout) -> DistArray:
    """Send an ndarray to the engines, to each the part it is to hold.

    A replicated array is sent in parts, and the engines give each other the rest.
    """
    if layout.copies > 1 and data.nbytes > 1 << 16 and session.size > 1:
        spread = from_host(session, data, default_layout(data.shape, session.size))
        return spread._copied(data.dtype, layout)
    placed = Placed(data.shape, layout, View.whole(data.shape))
    parts = [_host_part(data, placed, rank) for rank in range(session.size)]
    return create(session, data.shape, data.dtype, layout, ("data", session.attach(parts)))


def _host_part(data: np.ndarray, placed: Placed, rank: int) -> np.ndarray:
    owned = placed.owned(rank)
    if owned is None:
        return np.empty(0, data.dtype)
    part = part_of(rank, placed, owned)
    source = np.ascontiguousarray(data)
    out = np.empty(part.shape, data.dtype)
    for chunk, place in zip(part.chunks, part.places, strict=True):
        _at(out, chunk.shape, chunk.message)[...] = _at(source, chunk.shape, place)
    return out


def _at(block: np.ndarray, shape: Shape, ref: Any) -> np.ndarray:
    size = block.itemsize
    return np.ndarray(
        shape, block.dtype, block, ref.offset * size, tuple(s * size for s in ref.strides)
    )


def as_dist(x: Any, session: Session, like: DistArray | None = None) -> DistArray:
    """Return array-like data as a DistArray of the session, laid out like ``like`` if shapes agree."""
    if isinstance(x, DistArray):
        if x.session is not session:
            raise SessionError(
                explain("arrays", "two sessions", "one", "use .to_numpy() and distnb.asarray")
            )
        return x
    data = np.asarray(x)
    numeric(data.dtype)
    if like is not None and like.shape == data.shape:
        layout = follow(like.placed, session.size)[0]
    elif like is not None and data.nbytes <= 1 << 16:
        layout = make_layout(data.shape, session.size, "replicated")
    else:
        layout = default_layout(data.shape, session.size)
    return from_host(session, data.astype(numeric(data.dtype), copy=False), layout)


# -- operations --------------------------------------------------------------------------------


def elementwise(
    op: str,
    *inputs: Any,
    out: Any = None,
    where: Any = True,
    dtype: Any = None,
    casting: str | None = None,
    **others: Any,
) -> Any:
    """Record an elementwise operation; return its result, or a tuple of results.

    Keyword arguments are those of NumPy's ufuncs. The rule for the layout of a new result is
    :func:`distnb.ops.elementwise_layout`.
    """
    _check_others(op, others)
    row = ops.ELEMENTWISE[op]
    outs = _outs(out, row.nout)
    arrays = [x for x in (*inputs, *outs, where) if isinstance(x, DistArray)]
    session = arrays[0].session
    like = max(arrays, key=lambda a: a.size)
    ins = [_operand(x, session, like) for x in inputs]
    mask = (
        None
        if where is True
        else as_dist(np.asarray(where) if isinstance(where, bool) else where, session, like)
    )
    if mask is not None and mask.dtype != bool:
        raise TypeError(explain("where", mask.dtype, "bool", "pass a mask"))
    for o in outs:
        if o is not None:
            as_dist(o, session)
    options = _options(dtype, casting)
    dtypes = _result_dtypes(op, ins, outs, options)
    shape = _broadcast_shape([*ins, mask], outs)
    results = _results(session, ins, outs, dtypes, shape)
    _record_apply(op, results, ins, mask, tuple(sorted(options.items())))
    final = tuple(_deliver(r, o) for r, o in zip(results, outs, strict=True))
    return final[0] if row.nout == 1 else final


def _check_others(op: str, others: dict[str, Any]) -> None:
    for name, value in others.items():
        if not (name == "order" or (name == "subok" and value is True)):
            raise TypeError(
                explain(f"{op}()", f"{name}=", "out, where, dtype or casting", "leave it out")
            )


def _options(dtype: Any, casting: str | None) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if dtype is not None:
        options["dtype"] = numeric(dtype).str
    if casting is not None:
        options["casting"] = casting
    return options


def _outs(out: Any, nout: int) -> tuple[Any, ...]:
    outs = out if isinstance(out, tuple) else (out,) + (None,) * (nout - 1)
    if len(outs) != nout:
        raise ValueError(explain("out", f"{len(outs)} arrays", f"{nout}", "pass a tuple"))
    for o in outs:
        if o is not None and not isinstance(o, DistArray):
            raise TypeError(
                explain(
                    "out", type(o).__name__, "a DistArray", "assign to x[...] of a distnb array"
                )
            )
        if o is not None and not o._writeable:
            raise ValueError("output array is read-only")
    return outs


def _operand(x: Any, session: Session, like: DistArray) -> Any:
    """Return an input as a DistArray, a Typed scalar, or a Python scalar (weak)."""
    if isinstance(x, DistArray):
        return as_dist(x, session)
    if isinstance(x, np.generic) or (isinstance(x, np.ndarray) and x.ndim == 0):
        return Typed(numeric(x.dtype).str, x.item())
    if isinstance(x, _SCALARS):
        return x
    return as_dist(x, session, like)


def _kind(x: Any) -> Any:
    """Return what the oracle gets for an operand: a dtype for arrays, a scalar for scalars."""
    if isinstance(x, DistArray):
        return x.dtype
    return np.dtype(x.dtype).type(x.value) if isinstance(x, Typed) else x


def _result_dtypes(
    op: str, ins: Sequence[Any], outs: Sequence[Any], options: dict[str, Any]
) -> tuple[np.dtype, ...]:
    """Ask NumPy for the result's dtypes, and whether they may be cast to those of ``out``."""
    asked = dict(options)
    kinds = [_kind(x) for x in ins]
    if isinstance(ops.ELEMENTWISE[op].run, np.ufunc) and any(o is not None for o in outs):
        asked["out"] = tuple(None if o is None else o.dtype for o in outs)
        return ops.result_dtypes_into(op, tuple(kinds), tuple(sorted(asked.items())))
    return ops.result_dtypes(op, kinds, asked)


def _broadcast_shape(operands: Sequence[Any], outs: Sequence[Any]) -> Shape:
    shapes = [x.shape for x in operands if isinstance(x, DistArray)]
    given = [o.shape for o in outs if o is not None]
    if shapes and not given and shapes.count(shapes[0]) == len(shapes):
        return shapes[0]
    try:
        shape = np.broadcast_shapes(*shapes)
        if not shapes:
            shape = given[0]
        fits = all(np.broadcast_shapes(shape, g) == g for g in given)
    except ValueError:
        shown = " and ".join(str(s) for s in (*shapes, *given))
        raise ValueError(
            explain(
                "shapes", shown, "shapes that broadcast together", "align or slice the operands"
            )
        ) from None
    if not fits or len(set(given)) > 1:
        raise ValueError(
            explain("out", f"shape {given}", f"{shape}", "pass an output of the broadcast shape")
        )
    return given[0] if given else shape


def _results(
    session: Session,
    ins: Sequence[Any],
    outs: Sequence[Any],
    dtypes: Sequence[np.dtype],
    shape: Shape,
) -> tuple[DistArray, ...]:
    """Return the arrays that the engines compute into: the given ones, or new ones.

    Of several outputs all must lie alike (one rank computes them together); where given ones do
    not, new ones are used and copied.
    """
    given = [o for o in outs if o is not None]
    if given and all(o is not None and o.placed == given[0].placed for o in outs):
        return tuple(outs)
    views = tuple((x.size, broadcast(x, shape).placed) for x in ins if isinstance(x, DistArray))
    layout = ops.elementwise_layout(views, shape, session.size)
    return tuple(create(session, shape, dt, layout, ("empty",)) for dt in dtypes)


def _deliver(result: DistArray, out: Any) -> DistArray:
    if out is None or out is result:
        return result
    _record_apply("copy", (out,), (result,), None, ())
    return out  # type: ignore[no-any-return]


def broadcast(x: DistArray, shape: Shape) -> DistArray:
    """Return a read-only view of ``x`` stretched to a shape it broadcasts to."""
    return x if x.shape == shape else x._look(x._view.broadcast(shape), writeable=False)


def _record_apply(
    op: str,
    outs: tuple[DistArray, ...],
    ins: Sequence[Any],
    mask: DistArray | None,
    options: tuple[tuple[str, str], ...],
) -> None:
    shape = outs[0].shape
    session = outs[0].session
    commands = [broadcast(x, shape).operand if isinstance(x, DistArray) else x for x in ins]
    where = None if mask is None else broadcast(mask, shape).operand
    written = tuple(_written(o) for o in outs)
    session.record(Apply(op, written, tuple(commands), where, options, session.site()))


def _written(o: DistArray) -> Operand:
    """Return an output as commands name it; writing all of a lost array makes it good again."""
    if o._base.lost and o._view.is_whole(o._base.shape):
        o._base.lost = False
    return o.operand


def _assign(target: DistArray, value: Any, mask: DistArray | None = None) -> None:
    """Record ``target[...] = value`` with NumPy's casting and broadcasting rules."""
    if not target._writeable:
        raise ValueError("assignment destination is read-only")
    session = target.session
    session.check_open()
    source = _operand(value, session, target)
    if isinstance(source, DistArray):
        source = _fit(source, target.shape)
    else:
        stored = np.empty((), target.dtype)
        stored[...] = _kind(source)  # NumPy refuses what cannot be stored
        source = Typed(target.dtype.str, stored.item())
    if mask is not None:
        if mask.dtype != bool:
            raise TypeError(explain("where", mask.dtype, "bool", "pass a mask"))
        mask = _fit(mask, target.shape)
    _record_apply("copy", (target,), (source,), mask, ())


def _fit(source: DistArray, shape: Shape) -> DistArray:
    """Return ``source`` without leading axes of length 1 that ``shape`` does not have."""
    extra = len(source.shape) - len(shape)
    while extra > 0 and source.shape[0] == 1:
        source, extra = source.squeeze(0), extra - 1
    try:
        good = np.broadcast_shapes(source.shape, shape) == shape
    except ValueError:
        good = False
    if not good:
        raise ValueError(
            explain("value to assign", f"shape {source.shape}", f"{shape}", "slice or reshape it")
        )
    return source


# -- reductions --------------------------------------------------------------------------------


def _reduce_options(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the options of ``ufunc.reduce``, whose axis is 0 by default."""
    found = {"axis": 0} | kwargs
    out = found.get("out")
    found["out"] = out[0] if isinstance(out, tuple) else out
    return {k: v for k, v in found.items() if v is not np._NoValue}


def reduce(
    op: str,
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> DistArray:
    """Record a reduction; return its result.

    Kept axes stay split as they were; every engine along a reduced axis holds a copy of the
    result. Sent are the partial results, up and down a binomial tree.
    """
    keepdims = False if keepdims is np._NoValue else bool(keepdims)
    initial = None if initial is np._NoValue else initial
    if where is not True and where is not np._NoValue:
        x = _masked(op, x, where, initial)
    axes = _axes(axis, x.ndim)
    result_dtype = _reduced_dtype(op, x, axis, dtype, initial)
    placed = x.placed
    layout, exact = ops.reduction_layout(placed, axes, x.session.size)
    if not exact:
        return reduce(op, x.copy(), axis, dtype, out, keepdims, initial)
    shape = ops.reduced_shape(x.shape, axes, keepdims=False)
    source = x.operand
    base = Base(x.session, shape, result_dtype, layout)
    found = DistArray(base, View.whole(shape))
    x.session.watch(base)
    site = x.session.site()
    x.session.record(Create(base.handle, shape, result_dtype.str, layout, ("empty",), site))
    x.session.record(Reduce(op, base.handle, source, axes, result_dtype.str, site))
    if initial is not None:
        ufunc = ops.REDUCTIONS[op].ufunc
        elementwise(ufunc.__name__, found, initial, out=found, casting="unsafe")  # type: ignore[union-attr]
    if keepdims:
        for d in axes:
            found = found._look(found._view.insert(d))
    return found if out is None else _reduced_into(found, out)


def _reduced_dtype(op: str, x: DistArray, axis: Any, dtype: Any, initial: Any) -> np.dtype:
    """Ask NumPy for the dtype of the result; raises what it raises (empty, axis, dtype)."""
    sample = np.ones(tuple(min(n, 1) for n in x.shape), x.dtype)
    options: dict[str, Any] = {"axis": tuple(axis) if isinstance(axis, list) else axis}
    if dtype is not None:
        options["dtype"] = numeric(dtype)
    if initial is not None:
        options["initial"] = initial
    return np.asarray(ops.REDUCTIONS[op].function(sample, **options)).dtype


def _masked(op: str, x: DistArray, where: Any, initial: Any) -> DistArray:
    """Return ``x`` with the operation's identity where the mask is false."""
    ufunc = ops.REDUCTIONS[op].ufunc
    identity = initial if initial is not None else getattr(ufunc, "identity", None)
    if identity is None:
        raise ValueError(
            f"reduction operation '{op}' does not have an identity, so to use a where mask one has "
            "to specify 'initial'"
        )
    return elementwise("where", where, x, np.asarray(identity).astype(x.dtype)[()])  # type: ignore[no-any-return]


def _reduced_into(found: DistArray, out: Any) -> DistArray:
    (out,) = _outs(out, 1)
    if out.shape != found.shape:
        raise ValueError(
            explain("out", f"shape {out.shape}", f"{found.shape}", "pass a matching one")
        )
    _record_apply("copy", (out,), (as_dist(found, out.session),), None, ())
    return out  # type: ignore[no-any-return]
