"""The array of the notebook: a spec and a handle; its elements live on the engines, if it is large.

Methods record commands and return at once. Shape, dtype and layout of every result are computed
here, from specs alone; what is wrong raises here, with NumPy's exception types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from distnb.client.array.reading import read, taken
from distnb.client.record.advanced_indexing import get, is_advanced, put
from distnb.client.record.array import Handle, numeric
from distnb.client.record.host_arrays import NUMBERS, quick
from distnb.client.record.indexing import index_view, one_axis, some_axes
from distnb.client.record.namespace import DEVICE, FUNCTIONS
from distnb.client.record.operations import (
    assign,
    copied,
    elementwise,
    simple,
    understood,
)
from distnb.client.record.placement import Placement, layout_for, stay
from distnb.client.record.reducing import reduce, reduce_options
from distnb.common.config import config
from distnb.common.errors import GatherError, explain
from distnb.ops import table

__all__ = ["DistArray"]


class DistArray(Handle, np.lib.mixins.NDArrayOperatorsMixin):
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

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 1000

    #: Set by the package root, which the client does not import: the module :mod:`distnb`.
    namespace: Any = None

    # -- what it is --------------------------------------------------------------------------

    @property
    def layout(self) -> Placement:
        """Who holds which elements."""
        return Placement(self.placed, self.dtype, self.session.size, self.session)

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

    def __str__(self) -> str:
        """Return the elements as NumPy prints them; of a large array, the edges are fetched."""
        return FUNCTIONS[np.array_str](self)

    def __format__(self, spec: str) -> str:
        return format(str(self), spec) if self.ndim else format(self.item(), spec)

    def _repr_html_(self) -> str:
        return self.layout.page(repr(self))

    # -- reading -----------------------------------------------------------------------------

    def to_numpy(self) -> np.ndarray:
        """Return all elements as a NumPy array (a copy), whatever its size.

        Each engine sends the part it holds. Raises what an engine raised since the last read. Of an
        array in the notebook, nothing is sent, and no engine is waited for.
        """
        found = self.here
        if found is not None:
            return found.copy()
        return read(self)

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
        return self.to_numpy()

    def __iter__(self) -> Iterator[DistArray]:
        if not self._view.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self._view.shape[0]))

    # -- views -------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> DistArray:
        if is_advanced(key):
            return get(self, key)
        view, is_element = index_view(self._view, key)
        found = self._look(view)
        # As in NumPy, an index of all axes takes the element's value of now, not a view.
        return taken(found) if is_element else found

    def __setitem__(self, key: Any, value: Any) -> None:
        if is_advanced(key):
            put(self, key, value)
            return
        assign(self._look(index_view(self._view, key)[0]), value)

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
        if not order or order[0] is None:
            return self._look(self._view.transpose(range(self.ndim)[::-1]))
        fixed = tuple(one_axis(a, self.ndim) for a in order)
        if sorted(fixed) != list(range(self.ndim)):
            raise ValueError(
                explain("axes", tuple(order), f"each of 0..{self.ndim - 1} once", "list all axes")
            )
        return self._look(self._view.transpose(fixed))

    def swapaxes(self, axis1: int, axis2: int) -> DistArray:
        """Return a view with two axes exchanged."""
        order = list(range(self.ndim))
        i, j = one_axis(axis1, self.ndim), one_axis(axis2, self.ndim)
        order[i], order[j] = order[j], order[i]
        return self._look(self._view.transpose(order))

    def squeeze(self, axis: Any = None) -> DistArray:
        """Return a view without axes of length 1."""
        axes = (
            [d for d, n in enumerate(self.shape) if n == 1]
            if axis is None
            else list(some_axes(axis, self.ndim))
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
        return copied(self, self.dtype, stay(self, self.dtype))

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
        return copied(self, to, stay(self, to))

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
        return copied(self, self.dtype, layout_for(self.shape, self.session, dist, grid))

    def sort(
        self, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
    ) -> None:
        """Sort in place along an axis, as :func:`distnb.sort`; the array stays where it is."""
        FUNCTIONS[np.ndarray.sort](self, axis, kind, order, stable=stable)

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
        if method != "at" and any(not understood(x) for x in inputs):
            return NotImplemented
        row = table.ELEMENTWISE.get(ufunc.__name__)
        if method == "__call__" and row is not None and row.run is ufunc:
            return elementwise(ufunc.__name__, *inputs, **kwargs)
        if method == "__call__" and ufunc in FUNCTIONS:
            return FUNCTIONS[ufunc](*inputs, **kwargs)
        if method == "reduce" and ufunc.__name__ in table.UFUNC_REDUCTIONS and len(inputs) == 1:
            return reduce(
                table.UFUNC_REDUCTIONS[ufunc.__name__].name, *inputs, **reduce_options(kwargs)
            )
        if method in FUNCTIONS:  # of any ufunc: accumulate, outer ...
            return FUNCTIONS[method](ufunc, *inputs, **kwargs)
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

    # -- the array API standard ------------------------------------------------------------------

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """Return :mod:`distnb`, which conforms to the Python array API standard."""
        known = ("2021.12", "2022.12", "2023.12", "2024.12")
        if api_version not in (None, *known):
            raise ValueError(explain("api_version", api_version, f"one of {known}", "leave it out"))
        return self.namespace

    @property
    def device(self) -> str:
        """Always ``'cpu'``; where the elements are is in ``layout``."""
        return DEVICE

    def to_device(self, device: Any, /, *, stream: Any = None) -> DistArray:
        """Return the array itself: there is one device."""
        if device != self.device or stream is not None:
            raise ValueError(
                explain(
                    "device", f"{device!r}, stream {stream}", repr(DEVICE), "use redistribute()"
                )
            )
        return self

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: Any = None,
        copy: bool | None = None,
    ) -> Any:
        """Return a capsule of a copy in the notebook; obeys the gather budget."""
        if copy is False:
            raise BufferError(explain("copy", False, "None or True", "gathering always copies"))
        host = self.__array__()
        return host.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device)

    def __dlpack_device__(self) -> Any:
        """Return the device of that copy."""
        return np.empty(0).__dlpack_device__()

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
        return FUNCTIONS[np.round](self, decimals, out)

    def clip(self, min: Any = None, max: Any = None, out: Any = None) -> DistArray:
        """Limit the elements to an interval."""
        return FUNCTIONS[np.clip](self, min, max, out)

    def conj(self) -> DistArray:
        """Return the complex conjugate."""
        return elementwise("conjugate", self)

    conjugate = conj


def _operator(name: str, ufunc: np.ufunc, swap: bool = False, into: bool = False) -> None:
    """Let an operator try the short way first; what it is comes from NumPy's mixin."""
    long = getattr(np.lib.mixins.NDArrayOperatorsMixin, name)
    op = ufunc.__name__

    def method(self: DistArray, other: Any) -> Any:
        if self._base.host is not None:
            found = quick(ufunc, self, other, swap, into)
            if found is not None:
                return found
        if isinstance(other, DistArray) or type(other) in NUMBERS:
            inputs, out = (other, self) if swap else (self, other), self if into else None
            found = simple(op, inputs, out)
            return elementwise(op, *inputs, out=out) if found is None else found
        return long(self, other)

    method.__name__ = method.__qualname__ = name
    setattr(DistArray, name, method)


for _name, _ufunc in {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "pow": np.power,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
}.items():
    _operator(f"__{_name}__", _ufunc)
    _operator(f"__r{_name}__", _ufunc, swap=True)
    _operator(f"__i{_name}__", _ufunc, into=True)
for _name, _ufunc in {
    "lt": np.less,
    "le": np.less_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}.items():
    _operator(f"__{_name}__", _ufunc)
