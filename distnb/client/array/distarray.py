"""The array of the notebook: a spec and a handle; its elements live on the engines, if it is large.

Methods record commands and return at once. Shape, dtype and layout of every result are computed
here, from specs alone; what is wrong raises here, with NumPy's exception types.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.array import showing
from distnb.client.array.aspects import (
    cast,
    fill,
    part_of_complex,
    set_dtype,
    set_imag,
    set_real,
    view_as,
)
from distnb.client.array.facts import Uncut
from distnb.client.array.flags import Flags, strides_of
from distnb.client.array.local_access import (
    get_data,
    local_look,
    local_part,
    set_data,
    set_full,
    set_local,
)
from distnb.client.array.migration import move
from distnb.client.array.printing import array_str
from distnb.client.array.reading import (
    element,
    elements,
    few_in_reach,
    is_for_strides,
    is_own,
    laid_out,
    read,
    refuse_mean,
    storable_number,
    tell_of_gather,
)
from distnb.client.files.numpys import File, tofile
from distnb.client.handle.arguments import (
    Axes,
    Dist,
    Grid,
    NoValue,
    Number,
    Order,
    Shape,
    Subscript,
    order_of,
)
from distnb.client.handle.array import (
    Array,
    as_result,
    in_memory,
    read_only,
    sealed,
)
from distnb.client.handle.conversion import copied
from distnb.client.handle.indexing import (
    check_levels,
    index_view,
    is_turn,
    no_bool,
    one_axis,
    place_of,
    reduced_axes,
    several,
)
from distnb.client.handle.operands import (
    beside_text,
    by_numpy,
    is_derived,
    left_to_others,
    understood,
)
from distnb.client.handle.scalars import check_settable
from distnb.client.linalg.contractions import diagonal, trace
from distnb.client.linalg.products import dot
from distnb.client.math.mapping import OTHERS_METHODS, foreign, foreign_method, map_
from distnb.client.math.reductions import any_, mean, std, var
from distnb.client.math.scans import (
    accumulate,
    cumprod,
    cumsum,
    outer,
    reduce_in_order,
    reduceat,
)
from distnb.client.math.stacks import stacked
from distnb.client.math.ufuncs import clip, round_
from distnb.client.reach.aliasing import is_alone
from distnb.client.reach.decorators import in_reach, reduces
from distnb.client.reach.kept_order import axes_in, in_their_order
from distnb.client.reach.methods import calls, multiplies, reads, reshaped, stores
from distnb.client.reach.small_steps import chosen, like, picked
from distnb.client.reach.small_views import turned
from distnb.client.record.advanced_indexing import (
    get_advanced,
    has_array,
    is_advanced,
    put_advanced,
)
from distnb.client.record.as_arrays import from_pickle
from distnb.client.record.creation import in_order
from distnb.client.record.namespace import DEVICE, FUNCTIONS
from distnb.client.record.operations import (
    assign,
    elementwise,
)
from distnb.client.record.operators import (
    COMPARISONS,
    arithmetic,
    comparison,
    division,
    left_to_other,
    odd,
    power_arithmetic,
    takes_over,
    unary,
)
from distnb.client.record.placement import Placement, layout_for, stay
from distnb.client.record.reducing import reduce, reduce_options
from distnb.client.select.ordering import argpartition, argsort, partition
from distnb.client.select.placing import at, put
from distnb.client.select.searching import searchsorted
from distnb.client.select.sorting import sort_into
from distnb.client.select.taking import choose, compress, nonzero, take
from distnb.client.shape.flat import Flat
from distnb.client.shape.repeating import repeat
from distnb.client.shape.reshaping import flatten, ravel, reshape, set_shape, set_size
from distnb.client.shape.splits import Splits
from distnb.common.config import config
from distnb.common.errors import GatherError, LostArrayError, NotNumericError, explain, quoted
from distnb.geometry.layout import Ints
from distnb.ops import table

__all__ = ["DistArray"]

#: Method of any ufunc -> the function that does it; ``__call__`` is of ufuncs that are not NumPy's.
UFUNC_METHODS: dict[str, Callable[..., Any]] = {
    "__call__": foreign,
    "accumulate": accumulate,
    "at": at,
    "outer": outer,
    "reduceat": reduceat,
}


#: Names that functions on arrays use among themselves.
WITHIN = {name for name in dir(Array) if not (name.startswith("__") or hasattr(np.ndarray, name))}
WITHIN = (WITHIN | {"made", "namespace"}) - {"session"}

#: References to the base of an array that has no views: of the array, and of who asks.
_ALONE = 2


class DistArray(Array):
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
    __array_priority__ = 1000

    #: Set by the package root, which the client does not import: the module :mod:`distnb`.
    namespace: Any = None

    # -- what it is --------------------------------------------------------------------------

    @property
    def layout(self) -> Placement:
        """Who holds which elements."""
        return Placement(self.placed, self.dtype, self.session.size, self.session)

    @property
    def base(self) -> DistArray | None:
        """The array whose elements a view shows, as NumPy's; None if they are its own.

        Nothing is sent. A view keeps that array, and with it the memory, as in NumPy. What is
        reshaped on engines does not, and has no base when the array is gone.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     a = dnb.arange(6)
        ...     a[1:].T.base is a, a.base is None, (a + 1).base is None
        (True, True, True)
        """
        return self.owner

    @property
    def flags(self) -> Flags:
        """What NumPy says of the array's memory; ``x.flags.writeable`` can be set."""
        return Flags(self)

    @property
    def chunks(self) -> Uncut:
        """One length along each axis, for xarray: what engines hold is theirs to cut.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.zeros((3, 4)).chunks
        ((3,), (4,))
        """
        return Uncut([(n,) for n in self.shape])

    @property
    def strides(self) -> Ints:
        """Bytes from one element to the next along each axis, as if engines held one array."""
        return strides_of(self)

    def setflags(
        self, write: bool | None = None, align: bool | None = None, uic: bool | None = None
    ) -> None:
        """Set whether elements can be assigned to; the others are as they are.

        The notebook keeps it: nothing is sent.

        Parameters
        ----------
        write : bool, optional
            Whether elements can be assigned to.
        align, uic : bool, optional
            Only their defaults.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     x = dnb.arange(3)
        ...     x.setflags(write=False)
        ...     x[0] = 1
        Traceback (most recent call last):
        ...
        ValueError: assignment destination is read-only
        """
        if align is False or uic:
            raise ValueError(explain("setflags()", "align or uic", "write alone", "leave them out"))
        if write is not None:
            self.flags.writeable = write

    def __dir__(self) -> list[str]:
        """Return what is there for users: NumPy's names, and those of distributed arrays."""
        return [name for name in super().__dir__() if name not in WITHIN]

    def __repr__(self) -> str:
        """Return the elements as NumPy shows them, and what else there is to know, on one screen.

        Engines are asked for the edges of a large array, and waited for at most
        ``config.show_wait`` seconds. If they do not have them by then, cannot be asked, or are not
        to be asked, this is one line without elements.
        """
        return showing.text(self, self.layout, showing.shown(self))

    def __str__(self) -> str:
        """Return the elements as NumPy prints them; of a large array, the edges are fetched.

        Of an array whose content is lost, and was told to be, this is its ``repr``.
        """
        try:
            return array_str(self)
        except LostArrayError:
            return repr(self)

    def __format__(self, spec: str) -> str:
        if self.ndim and spec:
            raise TypeError("unsupported format string passed to numpy.ndarray.__format__")
        told = self.dbase.lost and not spec
        return str(self) if self.ndim or told else format(self.item(), spec)

    def _repr_html_(self) -> str:
        return showing.card(self.layout, showing.shown(self))

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return showing.bundle(self, self.layout, showing.shown(self))

    def _ipython_display_(self) -> None:
        """Show what is being computed without its elements, which come when they are there."""
        if not showing.show_later(self, self.layout):
            raise NotImplementedError  # as IPython is told to ask for the other forms

    # -- reading -----------------------------------------------------------------------------

    def to_numpy(self) -> np.ndarray:
        """Return all elements as a NumPy array (a copy), whatever its size.

        Each engine sends the part it holds. Raises what an engine raised since the last read. Of an
        array in the notebook, nothing is sent, and no engine is waited for.

        Returns
        -------
        ndarray
            Of the same shape and dtype.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     (2 * dnb.arange(3, dist="block")).to_numpy()
        array([0, 2, 4])
        """
        found = None if self._near is None and self._base.near is None else self.near
        return read(self) if found is None else found.copy()

    def item(self, *index: SupportsIndex | tuple[SupportsIndex, ...]) -> Any:
        """Return one element as a Python scalar.

        An element on an engine is sent from there: this waits.

        Parameters
        ----------
        *index : int or tuple of int
            Which element: an index for each axis, one in C order, or none of an array of one
            element.

        Returns
        -------
        bool, int, float or complex
            In the notebook.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.array([[1, 2], [3, 4]]).item(1, 0)
        3
        """
        one: Any = self[place_of(index, self.shape)] if index else self
        if isinstance(one, np.generic):
            return one.item()
        if isinstance(one, DistArray) and one.size != 1:
            raise ValueError(
                explain(
                    "array for a scalar", f"{one.size} elements", "1", "index one, or reduce it"
                )
            )
        return one.to_numpy().item()

    def tolist(self) -> Any:
        """Return the elements as nested lists.

        They are sent to the notebook, which obeys the gather budget.

        Returns
        -------
        list
            A number of an array without axes.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.arange(3).tolist()
        [0, 1, 2]
        """
        near = few_in_reach(self)
        return (self.__array__() if near is None else near).tolist()

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        caller = sys._getframe(1)
        theirs = not (copy or is_own(caller))
        if theirs and not self.single and (dtype is None or dtype == self.dtype):
            here = in_memory(self)
            if here is not None:
                return here
        if copy is False:
            do = "gathering always copies; use to_numpy()"
            raise ValueError(explain("copy", False, "None or True", do))
        if self.nbytes > config.gather_budget:
            raise GatherError(
                explain(
                    "implicit gather",
                    f"{self.nbytes:,} bytes",
                    f"at most {config.gather_budget:,}",
                    "call .to_numpy(), reduce first, or raise dnb.config.gather_budget",
                )
            )
        found = laid_out(self) if is_for_strides(caller) else self.to_numpy()
        tell_of_gather(self)
        if dtype is not None and dtype != found.dtype:
            return found.astype(dtype)
        return sealed(self, found) if theirs else found

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

    def __hash__(self) -> int:  # type: ignore[override]
        """Return that of a result that NumPy has as a scalar; arrays have none."""
        if self.shape or not self.single:
            raise TypeError(f"unhashable type: {type(self).__name__!r}")
        return hash(self.item())

    def __round__(self, ndigits: SupportsIndex | None = None) -> Any:
        """Return what Python makes of a scalar; arrays are for :func:`distnb.round`."""
        return round(self._scalar()[()], ndigits)

    def __index__(self) -> int:
        if self.ndim or self.dtype.kind not in "iu":
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return int(self.item())

    def _scalar(self) -> Any:
        if (self._view or self.dview).shape:
            raise TypeError(
                explain(
                    "array for a scalar", f"shape {self.shape}", "()", "use .item() or index it"
                )
            )
        found = self.to_numpy()
        return found[()] if found.dtype.kind == "c" and self.single else found

    def __bytes__(self) -> bytes:
        """Return the elements as they lie in memory; Python makes an integer as many zeros."""
        number = not self.shape and self.dtype.kind in "iu"
        return bytes(int(self)) if number else self.tobytes()

    def __trunc__(self) -> int:
        if not self.single:
            raise TypeError("type numpy.ndarray doesn't define __trunc__ method")
        return math.trunc(self._scalar()[()])

    def __iter__(self) -> Iterator[DistArray]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        if len(self.shape) == 1:
            return elements(self)
        if self._near is not None or self.dbase.near is not None:
            return map(self.__getitem__, range(self.shape[0]))
        return (self.alias(self.dview.fix(0, i)) for i in range(self.shape[0]))

    # -- views -------------------------------------------------------------------------------

    @reads
    def __getitem__(self, key: Subscript) -> DistArray:
        taken = picked(self, key, get_advanced) if type(key) is DistArray else chosen(self, key)
        if taken is not None:
            return taken
        if is_advanced(key):
            return get_advanced(self, key)
        view, is_element = index_view(self._view or self.dview, key)
        found = self if self.single and is_element and not self.shape else self.alias(view)
        # As in NumPy, an index of all axes takes the element's value of now, not a view,
        if is_element:
            return element(found)
        return found.copy() if has_array(key) else found  # and one with an array a copy

    def __delitem__(self, key: Subscript) -> None:
        raise ValueError("cannot delete array elements")

    @stores
    def __setitem__(self, key: Subscript, value: ArrayLike) -> None:
        by_mask = isinstance(key, Array | np.bool_)  # as programs of the array API standard do it
        if self.single and not self.shape:
            if not by_mask:
                name = self.dtype.type.__name__
                raise TypeError(f"'numpy.{name}' object does not support item assignment")
            self.single = False  # to who writes into it, it is an array
        if not self.writeable:
            raise read_only(self)
        if is_advanced(key):
            put_advanced(self, key, value)
            return
        view, is_element = index_view(self._view or self.dview, key)
        value = storable_number(value, self.dtype)
        if is_element or view.shape or isinstance(value, list | tuple):
            value = check_levels(value, len(view.shape), self.dtype, is_element)
        assign(self.alias(view), value)

    @property
    def T(self) -> DistArray:
        """The view with its axes reversed."""
        if self.single and not self.shape:
            return self
        found = turned(self, None)
        return self.transpose() if found is None else found

    @property
    def mT(self) -> DistArray:
        """The view with its last two axes exchanged."""
        if self.ndim < 2:
            raise ValueError(explain("array", f"{self.ndim} axes", "at least 2", "add an axis"))
        return self.swapaxes(-1, -2)

    def transpose(self, *axes: Axes) -> DistArray:
        """Return a view with its axes in another order; see :func:`distnb.transpose`."""
        order: Any = axes[0] if len(axes) == 1 else axes
        if type(order) is tuple and is_turn(order, self.ndim):
            return self._turned(order)
        order = axes
        if len(axes) == 1 and axes[0] is not None:
            order = several(axes[0])
        if not axes or axes[0] is None:
            return self._turned(tuple(range(self.ndim)[::-1]))
        fixed = tuple(one_axis(no_bool(a), self.ndim) for a in order)
        if sorted(fixed) != list(range(self.ndim)):
            raise ValueError(
                explain("axes", tuple(order), f"each of 0..{self.ndim - 1} once", "list all axes")
            )
        return self._turned(fixed)

    def _turned(self, axes: Ints) -> DistArray:
        if self.single and not axes:
            return self
        found = turned(self, axes)
        return self.alias(self.dview.transpose(axes)) if found is None else found

    def swapaxes(self, axis1: int, axis2: int) -> DistArray:
        """Return a view with two axes exchanged; see :func:`distnb.swapaxes`."""
        order = list(range(self.ndim))
        i, j = one_axis(axis1, self.ndim), one_axis(axis2, self.ndim)
        order[i], order[j] = order[j], order[i]
        return self._turned(tuple(order))

    def squeeze(self, axis: Axes = None) -> DistArray:
        """Return a view without axes of length 1; see :func:`distnb.squeeze`."""
        if axis is None and self.ndim:
            key = tuple([0 if n == 1 else slice(None) for n in self.shape])
            return self[(*key, ...)] if 0 in key else self
        axes = (
            [d for d, n in enumerate(self.shape) if n == 1]
            if axis is None or (not self.ndim and axis in (0, -1))
            else list(reduced_axes(axis, self.ndim))
        )
        for d in axes:
            if self.shape[d] != 1:
                raise ValueError(
                    explain(
                        f"axis {d} to squeeze", f"length {self.shape[d]}", "1", "choose another"
                    )
                )
        view = self.dview
        for d in sorted(axes, reverse=True):
            view = view.fix(d, 0)
        return self.alias(view) if axes else self  # as NumPy's

    # -- copies ------------------------------------------------------------------------------

    def copy(self, order: Order = "C") -> DistArray:
        """Return a copy, whose elements stay where they are; see :func:`distnb.copy`."""
        if type(order) is str and order == "C" and not self.single:
            return _copied(self)
        axes = axes_in(self, order_of(order))
        found = in_their_order(_copied, (self,), axes)
        return as_result(found) if self.single else found

    def astype(
        self,
        dtype: DTypeLike,
        order: Order = "K",
        casting: str = "unsafe",
        subok: bool = True,
        copy: bool = True,
    ) -> DistArray:
        """Return a copy with another dtype, as ``numpy.ndarray.astype``.

        The elements stay where they are, and nothing is sent.

        Parameters
        ----------
        dtype : dtype
            Of the result.
        order : {'C', 'F', 'A', 'K'}, optional
            As in NumPy: that of the elements, which by default is kept.
        casting : str
            How elements may be cast, as in NumPy, ``'same_value'`` included: it waits until
            the engines have compared them.
        subok : bool, optional
            As in NumPy; the result is a DistArray in any case.
        copy : bool
            Whether an array that has the dtype is copied.

        Returns
        -------
        DistArray
            Of the same shape.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.array([1.7, -1.7]).astype(int).to_numpy()
        array([ 1, -1])
        """
        found = cast(self, dtype, casting, copy)
        if order == "K":
            return found
        wanted = order_of(order, "K")
        if wanted == "A":
            wanted = "F" if axes_in(self, "A") else "C"
        return in_order(found, wanted)

    def redistribute(self, dist: Dist = None, grid: Grid = None) -> DistArray:
        """Return a new array with the same elements in another layout.

        Each engine sends to each other one message with exactly the elements that the other is to
        hold and does not hold yet; elements that stay are copied locally. See ``layout.cost`` for
        how many.

        Parameters
        ----------
        dist : bool, str, tuple, DistArray or layout, optional
            How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
            ``('*', 'block')``, or as another array; see :func:`distnb.array`.
        grid : int or tuple of int, optional
            Engines along each split axis.

        Returns
        -------
        DistArray
            Of the same shape and dtype.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.arange(5, dist="block").redistribute("cyclic")
        [0 1 2 3 4]
        (5,) int64, 40 B, elements in turn on 2 engines
        """
        return copied(self, self.dtype, layout_for(self.shape, self.session, dist, grid))

    def sort(
        self,
        axis: SupportsIndex | None = -1,
        kind: str | None = None,
        order: None = None,
        *,
        stable: bool | None = None,
    ) -> None:
        """Sort in place along an axis, as :func:`distnb.sort`; the array stays where it is.

        No element is sent more than twice, and then to where it lies in the array; nothing is sent
        if the axis is not split.

        Parameters
        ----------
        axis : int or None
            Along which axis.
        kind, order, stable
            As in :func:`distnb.sort`.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     x = dnb.array([3, 1, 2])
        ...     x.sort()
        ...     x.to_numpy()
        array([1, 2, 3])
        """
        sort_into(self, axis, kind, order, stable=stable)

    def fill(self, value: Number) -> None:
        """Set all elements to a scalar.

        Each engine sets its own: nothing is sent but the scalar.

        Parameters
        ----------
        value : scalar
            What to set.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     x = dnb.zeros(3)
        ...     x.fill(7)
        ...     x.to_numpy()
        array([7., 7., 7.])
        """
        fill(self, value)

    @property
    def real(self) -> DistArray:
        """The real part: the array itself if it is real, else a view."""
        return part_of_complex(self, "real") if self.dtype.kind == "c" else self

    @real.setter
    def real(self, value: ArrayLike) -> None:
        set_real(self, value)

    @property
    def imag(self) -> DistArray:
        """The imaginary part: a view; of a real array zeros."""
        return part_of_complex(self, "imag")

    @imag.setter
    def imag(self, value: ArrayLike) -> None:
        set_imag(self, value)

    def view(self, dtype: DTypeLike | None = None, type: type | None = None) -> DistArray:
        """Return a view: of the same elements, or of their bytes as another dtype.

        Elements stay where they are, and what is written into either is seen in both.

        Parameters
        ----------
        dtype : dtype, optional
            Of the view.
        type : type, optional
            ``numpy.ndarray``, for one of NumPy's with these elements, or ``DistArray``.

        Returns
        -------
        DistArray
            A view.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.array([1, 2], dtype="u2").view("u1").to_numpy()
        array([1, 0, 2, 0], dtype=uint8)
        """
        return view_as(self, dtype, type)

    # -- NumPy's protocols ---------------------------------------------------------------------

    @calls
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and ufunc.signature is None and ufunc.nout == 1:
            inputs = tuple([x[()] if type(x) is np.ndarray and not x.ndim else x for x in inputs])
        others = [x for x in inputs if not understood(x)] if method != "at" else []
        if left_to_others(ufunc, method, inputs, kwargs):
            return NotImplemented
        if method == "reduce" and not any(isinstance(x, Array) for x in inputs):
            refuse_mean(sys._getframe(1))
        if others and not kwargs.get("out"):
            return by_numpy(getattr(ufunc, method), *inputs, **kwargs)
        if others:
            inputs = tuple([x if understood(x) else np.asarray(x) for x in inputs])
        kwargs.pop("array", None)  # an input that was given by name is there twice
        if method == "__call__" and ufunc in COMPARISONS and not kwargs and any(map(odd, inputs)):
            return comparison(ufunc, *inputs)
        row = table.ELEMENTWISE.get(ufunc.__name__)
        if method == "__call__" and row is not None and row.run is ufunc:
            return elementwise(ufunc.__name__, *inputs, **kwargs)
        if method == "__call__" and ufunc in FUNCTIONS:
            return FUNCTIONS[ufunc](*inputs, **kwargs)
        if method in OTHERS_METHODS and getattr(np, ufunc.__name__, None) is not ufunc:
            return foreign_method(ufunc, method, *inputs, **kwargs)  # others' may be called alike
        if method == "reduce" and ufunc.__name__ in table.UFUNC_REDUCTIONS and len(inputs) == 1:
            return reduce(
                table.UFUNC_REDUCTIONS[ufunc.__name__].name, *inputs, **reduce_options(kwargs)
            )
        if method == "reduce" and row is not None and row.run is ufunc and len(inputs) == 1:
            return reduce_in_order(ufunc, *inputs, **reduce_options(kwargs))
        run = UFUNC_METHODS.get(method)
        if run is not None:
            run = stacked if run is foreign and ufunc.signature is not None else run
            return run(ufunc, *inputs, **kwargs)
        raise TypeError(
            explain(
                "operation on distributed arrays",
                f"{ufunc.__name__}{'' if method == '__call__' else '.' + method}",
                "an elementwise ufunc of NumPy or its reduce",
                "use .to_numpy() for small arrays",
            )
        )

    @multiplies
    def __matmul__(self, other: ArrayLike) -> Any:
        if is_derived(other):
            return by_numpy(operator.matmul, self, other)
        if not understood(other) and not hasattr(type(other), "__array_ufunc__"):
            return left_to_other(operator.matmul, self, other)
        return super().__matmul__(other)

    def __imatmul__(self, other: ArrayLike) -> Any:
        if takes_over(other):
            return NotImplemented
        if np.ndim(other) < 2 or not self.ndim:  # in place there is no loop over vectors
            axes = f"{self.ndim} and {np.ndim(other)} axes"
            raise ValueError(explain("@=", axes, "at least 1 and 2", "use @ and assign"))
        return FUNCTIONS[np.matmul](self, other, out=(self,))

    def __array_function__(
        self,
        func: Callable[..., Any],
        types: Collection[type],
        args: Sequence[Any],
        kwargs: dict[str, Any],
    ) -> Any:
        found = FUNCTIONS.get(func)
        if found is None:
            raise TypeError(
                explain(
                    "function on distributed arrays",
                    f"{func.__module__}.{func.__name__}",
                    "one that distnb offers",
                    "see dir(distnb), or use .to_numpy() for small arrays",
                )
            )
        try:
            return found(*args, **kwargs)
        except NotNumericError:
            if not beside_text(func, (*args, *kwargs.values())):
                raise
            return by_numpy(func, *args, **kwargs)

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

    def to_device(self, device: str, /, *, stream: None = None) -> DistArray:
        """Return the array itself: there is one device.

        Nothing is sent; where elements are is for ``redistribute``.

        Parameters
        ----------
        device : str, optional
            ``'cpu'``, the only one there is, as the array API standard asks.
        stream : None
            There are none.

        Returns
        -------
        DistArray
            The array.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     x = dnb.arange(3)
        ...     x.to_device("cpu") is x
        True
        """
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
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[IntEnum, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return a capsule of the memory of a small array, else of a copy in the notebook.

        The copy obeys the gather budget, and can be written only if it was asked for. A small array
        stays in the notebook from then on.
        """
        host = None if copy else in_memory(self)
        if host is None and copy is False:
            raise BufferError(
                explain("copy=False", "an array on engines", "one in the notebook", "let it copy")
            )
        if host is None:
            host = self.__array__()
            if not copy and max_version is not None and max_version >= (1, 0):
                host = sealed(self, host)
        return host.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device)

    def __arrow_array__(self, type: object = None) -> Any:
        """Return Arrow's array of the elements (one axis); obeys the gather budget."""
        from pyarrow import array

        return array(self.__array__(), type)

    def __dlpack_device__(self) -> Any:
        """Return the device of that copy."""
        return np.empty(0).__dlpack_device__()

    # -- reductions --------------------------------------------------------------------------

    @reduces("sum")
    @in_reach(np.ndarray.sum, "sums")
    def sum(
        self,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        out: Array | None = None,
        keepdims: bool = False,
        initial: Number | NoValue | None = np._NoValue,
        where: ArrayLike = True,
    ) -> DistArray:
        """Sum over ``axis``: every engine along it gets the result; see :func:`distnb.sum`."""
        return reduce("sum", self, axis, dtype, out, keepdims, initial, where)

    @reduces("prod")
    @in_reach(np.ndarray.prod, "sums")
    def prod(
        self,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        out: Array | None = None,
        keepdims: bool = False,
        initial: Number | NoValue | None = np._NoValue,
        where: ArrayLike = True,
    ) -> DistArray:
        """Multiply over ``axis``; see :func:`distnb.prod`."""
        return reduce("prod", self, axis, dtype, out, keepdims, initial, where)

    @reduces("min")
    @in_reach(np.ndarray.min, "sums")
    def min(
        self,
        axis: Axes = None,
        out: Array | None = None,
        keepdims: bool = False,
        initial: Number | NoValue | None = np._NoValue,
        where: ArrayLike = True,
    ) -> DistArray:
        """Return the minimum over ``axis``; see :func:`distnb.min`."""
        return reduce("min", self, axis, None, out, keepdims, initial, where)

    @reduces("max")
    @in_reach(np.ndarray.max, "sums")
    def max(
        self,
        axis: Axes = None,
        out: Array | None = None,
        keepdims: bool = False,
        initial: Number | NoValue | None = np._NoValue,
        where: ArrayLike = True,
    ) -> DistArray:
        """Return the maximum over ``axis``; see :func:`distnb.max`."""
        return reduce("max", self, axis, None, out, keepdims, initial, where)

    @reduces("any")
    @in_reach(np.ndarray.any, "exact")
    def any(
        self,
        axis: Axes = None,
        out: Array | None = None,
        keepdims: bool = False,
        where: ArrayLike = True,
    ) -> DistArray:
        """Tell whether any element is true; see :func:`distnb.any`."""
        return reduce("any", self, axis, None, out, keepdims, np._NoValue, where)

    @reduces("all")
    @in_reach(np.ndarray.all, "exact")
    def all(
        self,
        axis: Axes = None,
        out: Array | None = None,
        keepdims: bool = False,
        where: ArrayLike = True,
    ) -> DistArray:
        """Tell whether all elements are true; see :func:`distnb.all`."""
        return reduce("all", self, axis, None, out, keepdims, np._NoValue, where)

    @reduces("argmin")
    @in_reach(np.ndarray.argmin, "exact")
    def argmin(
        self, axis: SupportsIndex | None = None, out: Array | None = None, keepdims: bool = False
    ) -> DistArray:
        """Return where the first minimum is; see :func:`distnb.argmin`."""
        return reduce("argmin", self, axis, None, out, keepdims)

    @reduces("argmax")
    @in_reach(np.ndarray.argmax, "exact")
    def argmax(
        self, axis: SupportsIndex | None = None, out: Array | None = None, keepdims: bool = False
    ) -> DistArray:
        """Return where the first maximum is; see :func:`distnb.argmax`."""
        return reduce("argmax", self, axis, None, out, keepdims)

    @in_reach(np.ndarray.mean, "home")
    def mean(
        self,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        out: Array | None = None,
        keepdims: bool = False,
        where: ArrayLike = True,
    ) -> DistArray:
        """Return the arithmetic mean over ``axis``; see :func:`distnb.mean`."""
        return mean(self, axis, dtype, out, keepdims, where=where)

    @in_reach(np.ndarray.var, "home")
    def var(
        self,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        out: Array | None = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        where: ArrayLike = True,
        mean: ArrayLike | NoValue = np._NoValue,
    ) -> DistArray:
        """Return the variance over ``axis``; see :func:`distnb.var`."""
        return var(self, axis, dtype, out, ddof, keepdims, where=where, mean=mean)

    @in_reach(np.ndarray.std, "home")
    def std(
        self,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        out: Array | None = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        where: ArrayLike = True,
        mean: ArrayLike | NoValue = np._NoValue,
    ) -> DistArray:
        """Return the standard deviation over ``axis``; see :func:`distnb.std`."""
        return std(self, axis, dtype, out, ddof, keepdims, where=where, mean=mean)

    @in_reach(np.ndarray.round, "elementwise")
    def round(self, decimals: int = 0, out: Array | None = None) -> DistArray:
        """Round to a number of decimals; see :func:`distnb.round`."""
        return round_(self, decimals, out)

    @in_reach(np.ndarray.clip, "elementwise")
    def clip(
        self,
        min: ArrayLike | None = None,
        max: ArrayLike | None = None,
        out: Array | None = None,
        **options: Any,
    ) -> DistArray:
        """Limit the elements to an interval; see :func:`distnb.clip`."""
        return clip(self, min=min, max=max, out=out, **options)

    def byteswap(self, inplace: bool = False) -> DistArray:
        """Return the elements with their bytes in the other order, as ``numpy.ndarray.byteswap``.

        Engines do so with what they hold; nothing is sent.

        Parameters
        ----------
        inplace : bool
            Whether it is done in the array itself.

        Returns
        -------
        DistArray
            A copy that lies as the array does, or the array.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.array([1, 256], dtype="i2").byteswap().to_numpy()
        array([256,   1], dtype=int16)
        """
        found: DistArray = map_(np.ndarray.byteswap, self, dtype=self.dtype)
        if not inplace:
            return found
        self[...] = found
        return self

    def conj(self, out: Array | None = None) -> DistArray:
        """Return the complex conjugate, also as ``conjugate``; see :func:`distnb.conj`."""
        if out is None and self.dtype.kind != "c":
            return self
        return elementwise("conjugate", self, out=out)

    conjugate = conj

    # -- functions as methods ------------------------------------------------------------------

    def reshape(self, *shape: Shape, order: Order = "C", copy: bool | None = None) -> DistArray:
        """Return an array with the same elements in another shape; see :func:`distnb.reshape`."""
        wanted: Any = shape[0] if len(shape) == 1 else shape
        found = reshaped(self, wanted) if order == "C" and copy is None else None
        return reshape(self, wanted, order, copy=copy) if found is None else found

    def resize(self, *new_shape: Shape | None, refcheck: bool = True) -> None:
        """Give the array another size in place; what is added is zero.

        Other names of the array see it. Views of it keep what there was, so NumPy refuses where
        there are any; here, too, unless ``refcheck`` is false. Elements go where they are to lie in
        the default layout of the new shape.

        Parameters
        ----------
        *new_shape : int or tuple of int
            Lengths of the axes.
        refcheck : bool
            Whether to refuse where there are views.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     x = dnb.arange(3)
        ...     x.resize(5)
        ...     x.to_numpy()
        array([0, 1, 2, 0, 0])
        """
        if type(refcheck) is not bool:
            raise TypeError(explain("refcheck", quoted(refcheck), "a bool", "leave it out"))
        shape: Any = new_shape[0] if len(new_shape) == 1 else new_shape or None
        if isinstance(shape, Array | np.ndarray) and shape.ndim:
            shape = tuple(shape.tolist())
        alone = sys.getrefcount(self.dbase) <= _ALONE and is_alone(self.dbase)
        set_size(self, shape, refcheck and not alone)

    def ravel(self, order: Order = "C") -> DistArray:
        """Return all elements along one axis; see :func:`distnb.ravel`."""
        return ravel(self, order)

    def flatten(self, order: Order = "C") -> DistArray:
        """Return a copy of all elements along one axis.

        In the layout, and with the messages, of :func:`distnb.reshape`.

        Parameters
        ----------
        order : {'C', 'F', 'A', 'K'}
            In which order elements are read.

        Returns
        -------
        DistArray
            Of one axis.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.array([[1, 2], [3, 4]]).flatten("F").to_numpy()
        array([1, 3, 2, 4])
        """
        return flatten(self, order)

    @property
    def flat(self) -> Flat:
        """The elements in C order, to index and to assign to."""
        return Flat(self[...] if self.single and not self.shape else self)

    @flat.setter
    def flat(self, value: ArrayLike) -> None:
        check_settable(self, "flat")
        Flat(self).assign(value)

    @property
    def dtype(self) -> np.dtype:
        """Element type; one that is set makes the array a view of its bytes, as NumPy's."""
        near = self._near
        return self._base.dtype if near is None else near.dtype

    @dtype.setter
    def dtype(self, dtype: DTypeLike) -> None:
        set_dtype(self, dtype)

    @property
    def shape(self) -> Ints:
        """Lengths of the axes."""
        near = self._near
        return (self._view or self.dview).shape if near is None else near.shape

    @shape.setter
    def shape(self, shape: Shape) -> None:
        set_shape(self, shape)

    @in_reach(np.ndarray.take, "exact")
    def take(
        self,
        indices: ArrayLike,
        axis: SupportsIndex | None = None,
        out: Array | None = None,
        mode: str = "raise",
    ) -> DistArray:
        """Return elements at positions; see :func:`distnb.take`."""
        return take(self, indices, axis, out, mode)

    def put(self, indices: ArrayLike, values: ArrayLike, mode: str = "raise") -> None:
        """Assign to elements at C-order positions, as ``numpy.ndarray.put``.

        Each value is sent to the engine where its element lies.

        Parameters
        ----------
        indices : array_like of integers
            Positions in C order.
        values : array_like
            What to assign; repeated if there are fewer.
        mode : {'raise', 'wrap', 'clip'}, optional
            What becomes of positions that there are not.

        See Also
        --------
        distnb.put

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     x = dnb.zeros(4)
        ...     x.put([0, 3], [5, 7])
        ...     x.tolist()
        [5.0, 0.0, 0.0, 7.0]
        """
        put(self, indices, values, mode)

    @in_reach(np.ndarray.nonzero, "exact")
    def nonzero(self) -> tuple[DistArray, ...]:
        """Return where elements are not zero; see :func:`distnb.nonzero`."""
        return nonzero(self)

    def compress(
        self, condition: ArrayLike, axis: SupportsIndex | None = None, out: Array | None = None
    ) -> DistArray:
        """Return what a condition chooses along an axis; see :func:`distnb.compress`."""
        return compress(condition, self, axis, out)

    def choose(
        self, *choices: ArrayLike, out: Array | None = None, mode: str = "raise"
    ) -> DistArray:
        """Return elements of several arrays, chosen by this one; see :func:`distnb.choose`."""
        given: Any = choices[0] if len(choices) == 1 else choices
        return choose(self, given, out, mode)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> DistArray:
        """Return diagonals; see :func:`distnb.diagonal`."""
        return diagonal(self, offset, axis1, axis2)

    @in_reach(np.ndarray.trace, "sums")
    def trace(
        self,
        offset: int = 0,
        axis1: int = 0,
        axis2: int = 1,
        dtype: DTypeLike | None = None,
        out: Array | None = None,
    ) -> DistArray:
        """Return the sums of diagonals; see :func:`distnb.trace`."""
        return trace(self, offset, axis1, axis2, dtype, out)

    @in_reach(np.ndarray.repeat, "grows")
    def repeat(self, repeats: ArrayLike, axis: SupportsIndex | None = None) -> DistArray:
        """Return elements, each several times; see :func:`distnb.repeat`."""
        return repeat(self, repeats, axis)

    @in_reach(np.ndarray.cumsum, "sums")
    def cumsum(
        self,
        axis: SupportsIndex | None = None,
        dtype: DTypeLike | None = None,
        out: Array | None = None,
    ) -> DistArray:
        """Return running sums; see :func:`distnb.cumsum`."""
        return cumsum(self, axis, dtype, out)

    @in_reach(np.ndarray.cumprod, "sums")
    def cumprod(
        self,
        axis: SupportsIndex | None = None,
        dtype: DTypeLike | None = None,
        out: Array | None = None,
    ) -> DistArray:
        """Return running products; see :func:`distnb.cumprod`."""
        return cumprod(self, axis, dtype, out)

    def argsort(
        self,
        axis: SupportsIndex | None = -1,
        kind: str | None = None,
        order: None = None,
        *,
        stable: bool | None = None,
    ) -> DistArray:
        """Return the positions of the elements in sorted order; see :func:`distnb.argsort`."""
        if kind is order is stable is None:
            return argsort(self, axis)
        return argsort(self, axis, kind, order, stable=stable)

    def argpartition(
        self,
        kth: ArrayLike,
        axis: SupportsIndex | None = -1,
        kind: str = "introselect",
        order: None = None,
    ) -> DistArray:
        """Return the positions of a partition; see :func:`distnb.argpartition`."""
        return argpartition(self, kth, axis, kind, order)

    def partition(
        self,
        kth: ArrayLike,
        axis: SupportsIndex | None = -1,
        kind: str = "introselect",
        order: None = None,
    ) -> None:
        """Bring the elements into an order that is right at ``kth``, in place.

        All are sorted, as by :func:`distnb.partition`, and the array stays where it is.

        Parameters
        ----------
        kth : int or sequence of int
            Which positions.
        axis : int or None
            Along which axis.
        kind, order
            As in NumPy, only their defaults.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     x = dnb.array([3, 1, 2])
        ...     x.partition(1)
        ...     x.to_numpy()
        array([1, 2, 3])
        """
        if not self.writeable:
            raise ValueError("partition array is read-only")
        self[...] = partition(self, kth, one_axis(axis, self.ndim), kind, order)

    @in_reach(np.ndarray.searchsorted, "exact")
    def searchsorted(
        self, v: ArrayLike, side: str = "left", sorter: ArrayLike | None = None
    ) -> DistArray:
        """Find where elements belong in the sorted array; see :func:`distnb.searchsorted`."""
        return searchsorted(self, v, side, sorter)

    @in_reach(np.ndarray.dot, "wide")
    def dot(self, b: ArrayLike, out: Array | None = None) -> DistArray:
        """Return the product with another array; see :func:`distnb.dot`."""
        return dot(self, b, out)

    def tobytes(self, order: Literal["C", "F", "A", "K"] | None = "C") -> bytes:
        """Return the elements as bytes.

        They are sent to the notebook, which obeys the gather budget.

        Parameters
        ----------
        order : {'C', 'F', 'A', 'K'}
            In which order elements are read.

        Returns
        -------
        bytes
            Of all elements.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.array([65, 66], dtype="u1").tobytes()
        b'AB'
        """
        near = few_in_reach(self)
        return (self.__array__() if near is None else near).tobytes(order)

    def tofile(self, fid: File, sep: str = "", format: str = "%s") -> None:
        """Write raw elements, as ``numpy.ndarray.tofile``: each engine its part of a named file.

        To an open file, the notebook writes; text (``sep``) obeys the gather budget.

        Parameters
        ----------
        fid : str, path or file
            Where to write.
        sep : str
            What is between elements of text; by default they are written as they are in memory.
        format : str
            How elements of text are written.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.arange(3).tofile("elements.raw")
        ...     dnb.fromfile("elements.raw", dtype=int).to_numpy()
        array([0, 1, 2])
        """
        tofile(self, fid, sep, format)

    def dump(self, file: object) -> None:
        """Pickle the array to a file.

        The elements are sent to the notebook, which obeys the gather budget; ``dnb.save`` lets each
        engine write its own.

        Parameters
        ----------
        file : str, path or file
            Where to write.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     import pickle
        ...     dnb.arange(3).dump("array.pkl")
        ...     with open("array.pkl", "rb") as file:
        ...         found = pickle.load(file)
        ...     found
        array([0, 1, 2])
        """
        into: Any = file
        self.__array__().dump(into)

    def dumps(self) -> bytes:
        """Return the array pickled, as one of NumPy's.

        The elements are sent to the notebook, which obeys the gather budget.

        Returns
        -------
        bytes
            For ``pickle.loads``.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     import pickle
        ...     pickle.loads(dnb.arange(3).dumps())
        array([0, 1, 2])
        """
        return self.__array__().dumps()

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Pickle the elements, within the gather budget: a new array is made of them."""
        if self.nbytes > config.gather_budget:
            raise GatherError(
                explain(
                    "pickling an array",
                    f"{self.nbytes:,} bytes",
                    f"at most {config.gather_budget:,}",
                    "write it with dnb.save(path, x), or raise dnb.config.gather_budget",
                )
            )
        elements = self.__array__()
        if self.single and not self.shape:
            return elements[()].__reduce_ex__(protocol)  # NumPy's scalar, as others have it
        order = sorted(range(self.ndim), key=self.strides.__getitem__, reverse=True)
        if self.transpose(order).flags.c_contiguous:
            return from_pickle, (elements,)
        return from_pickle, (elements.dumps(),)  # of what is in pieces NumPy keeps no buffer apart

    def __contains__(self, value: ArrayLike) -> bool:
        """Tell whether an element equals the value."""
        if self.single and not self.shape:
            raise TypeError(f"argument of type 'numpy.{self.dtype.type.__name__}' is not iterable")
        return bool(any_(self == value))

    def __copy__(self) -> DistArray:
        """Return a copy, for the module ``copy``."""
        return self.copy()

    def __deepcopy__(self, memo: dict[int, object]) -> DistArray:
        """Return a copy, for the module ``copy``."""
        return self.copy()

    # -- under SPMD ----------------------------------------------------------------------------

    @property
    def local(self) -> np.ndarray:
        """The elements that this rank holds, under ``mpiexec``: a writable look, or a copy.

        As in ``%px``, it is read-only where the elements are not one strided block; what is
        assigned (``A.local = values``) is written there, too. All ranks ask together, for this and
        for all below. What was recorded before is done then. Other looks of
        the array (``A.reshape(-1)``) have what is written there, where it is this, asked for anew.
        """
        return local_look(self)

    @local.setter
    def local(self, values: ArrayLike) -> None:
        set_local(self, values)

    @property
    def global_slices(self) -> tuple[Any, ...]:
        """Where the elements of this rank are in the whole array: a slice or an index array each.

        ``full[A.global_slices]`` is ``A.local`` if at most one of them is an array.
        """
        found: tuple[Any, ...] = local_part(self).global_slices
        return found

    @property
    def local_keys(self) -> tuple[np.ndarray, ...]:
        """The indices of the elements of this rank, an array for each axis.

        ``full[A.local_keys]`` is ``A.local``.
        """
        found: tuple[np.ndarray, ...] = local_part(self).local_keys
        return found

    def get_local_data(self) -> np.ndarray:
        """Return a copy of the elements that this rank holds, under ``mpiexec``.

        Nothing is sent; all ranks call it together.

        Returns
        -------
        ndarray
            This rank's part.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.spmd():  # doctest: +SKIP
        ...     dnb.arange(4).get_local_data()  # of two ranks, on the first
        array([0, 1])
        """
        return self.local.copy()

    def set_local_data(self, data: ArrayLike) -> None:
        """Write the elements that this rank holds, under ``mpiexec``; each rank gives its own.

        Elements stay where they are; ranks only agree that all parts fit.

        Parameters
        ----------
        data : array_like
            Of the shape of this rank's part, or a number.

        Raises
        ------
        ValueError
            On all ranks, if the part of one does not fit.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.spmd() as session:  # doctest: +SKIP
        ...     x = dnb.zeros(4, dist="block")
        ...     x.set_local_data(session.transport.rank)
        ...     x.to_numpy()  # of two ranks
        array([0., 0., 1., 1.])
        """
        set_local(self, data)

    def get_full_data(self) -> np.ndarray:
        """Return all elements, on every rank.

        Each engine sends the part it holds, as for ``to_numpy``.

        Returns
        -------
        ndarray
            Of the same shape and dtype.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.arange(3, dist="block").get_full_data()
        array([0, 1, 2])
        """
        return self.to_numpy()

    def set_full_data(self, data: ArrayLike) -> None:
        """Write all elements, which every rank gives.

        Each engine takes its part.

        Parameters
        ----------
        data : array_like
            Of the shape of the array.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     x = dnb.zeros(3, dist="block")
        ...     x.set_full_data([1, 2, 3])
        ...     x.to_numpy()
        array([1., 2., 3.])
        """
        set_full(self, data)

    def get_data(self, key: Subscript, local_keys: bool = False) -> DistArray:
        """Return elements by a key, ``A[key]``.

        With ``local_keys`` each rank gives a key of its own, and holds what it asked for: a part of
        the result along axis 0, of which what is elsewhere is sent to it.

        Parameters
        ----------
        key : index
            What is in brackets.
        local_keys : bool
            Whether each rank gives its own, under ``mpiexec``.

        Returns
        -------
        DistArray
            What was asked for.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.arange(6).get_data(slice(1, 4)).to_numpy()
        array([1, 2, 3])
        """
        found: DistArray = get_data(self, key, local_keys)
        return found

    def set_data(self, data: ArrayLike, key: Subscript, local_keys: bool = False) -> None:
        """Write elements by a key, ``A[key] = data``.

        With ``local_keys`` each rank gives a key and data of its own, which are sent to all; of
        equal places the one of the highest rank stays.

        Parameters
        ----------
        data : array_like
            What to write.
        key : index
            What is in brackets.
        local_keys : bool
            Whether each rank gives its own, under ``mpiexec``.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     x = dnb.zeros(4)
        ...     x.set_data([7, 8], slice(1, 3))
        ...     x.to_numpy()
        array([0., 7., 8., 0.])
        """
        set_data(self, data, key, local_keys)

    # -- moving --------------------------------------------------------------------------------

    def splits(self, parts: int | None = None, axis: int = 0) -> Splits:
        """Cut the array along an axis into parts, for the tasks of :func:`distnb.foreach`.

        Nothing is sent or copied.

        Parameters
        ----------
        parts : int, optional
            How many: by default one for each engine, those that they hold. With more of them no
            part has elements of two engines.
        axis : int
            What is cut.

        Returns
        -------
        Splits
            The parts, to pass to :func:`distnb.foreach`.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     x = dnb.arange(10, dist="block")
        ...     dnb.foreach(sum, x.splits(4))
        [np.int64(3), np.int64(7), np.int64(18), np.int64(17)]
        """
        return Splits(self, parts, axis)

    def move(self, dist: Dist = None, grid: Grid = None) -> None:
        """Move the array to another layout, in place.

        All views of it follow, and all names of it: it stays the same array, with the same
        elements. (:meth:`redistribute` returns a new one, and the old one stays.) While it moves,
        engines need memory for both; ``x.layout.cost(dist)`` tells how much, and what is sent.

        Parameters
        ----------
        dist, grid
            As in :func:`distnb.array`; another array's ``layout`` is accepted, too.

        Raises
        ------
        LayoutError
            If the array is a view of a part of another one, or with other axes: move that one.

        Notes
        -----
        What is sent is the same as by :meth:`redistribute`. It is waited for: if an engine fails,
        the array is where it was.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     a = dnb.zeros((4, 4), dist="block")
        ...     row = a[1]
        ...     a.move(("*", "block"))
        ...     row[:] = 1.0
        ...     row.layout.facts(), float(a.sum())
        ('(4,) float64, 32 B, row 1 of base (4, 4): columns in blocks on 2 engines', 4.0)
        """
        move(self, dist, grid)

    # -- operators ---------------------------------------------------------------------------

    if not TYPE_CHECKING:  # what they take and return is told by Array
        __add__, __radd__, __iadd__ = arithmetic(np.add, operator.add)
        __sub__, __rsub__, __isub__ = arithmetic(np.subtract, operator.sub)
        __mul__, __rmul__, __imul__ = arithmetic(np.multiply, operator.mul)
        __truediv__, __rtruediv__, __itruediv__ = arithmetic(np.true_divide, operator.truediv)
        __floordiv__, __rfloordiv__, __ifloordiv__ = arithmetic(np.floor_divide, operator.floordiv)
        __mod__, __rmod__, __imod__ = arithmetic(np.remainder, operator.mod)
        __pow__, __rpow__, __ipow__ = power_arithmetic()
        __divmod__, __rdivmod__ = division()
        __and__, __rand__, __iand__ = arithmetic(np.bitwise_and, operator.and_)
        __or__, __ror__, __ior__ = arithmetic(np.bitwise_or, operator.or_)
        __xor__, __rxor__, __ixor__ = arithmetic(np.bitwise_xor, operator.xor)
        __lshift__, __rlshift__, __ilshift__ = arithmetic(np.left_shift, operator.lshift)
        __rshift__, __rrshift__, __irshift__ = arithmetic(np.right_shift, operator.rshift)
        __neg__ = unary(np.negative, operator.neg)
        __pos__ = unary(np.positive, operator.pos)
        __abs__ = unary(np.absolute, operator.abs)
        __invert__ = unary(np.invert, operator.invert)
        __lt__ = arithmetic(np.less, operator.lt).forward
        __le__ = arithmetic(np.less_equal, operator.le).forward
        __eq__ = arithmetic(np.equal, operator.eq).forward
        __ne__ = arithmetic(np.not_equal, operator.ne).forward
        __gt__ = arithmetic(np.greater, operator.gt).forward
        __ge__ = arithmetic(np.greater_equal, operator.ge).forward


def _copied(x: Array) -> Any:
    """Return a copy in C order, which stays where the elements are."""
    found = like(x, np.ndarray.copy)
    return copied(x, x.dtype, stay(x, x.dtype)) if found is None else found
