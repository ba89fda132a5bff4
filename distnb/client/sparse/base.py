"""What all sparse arrays have: facts, and what is done to their elements alone."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, ClassVar, NoReturn, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.array.reading import tell_of_gather
from distnb.client.array.showing import Shown, shown
from distnb.client.handle.arguments import Number, Order, Shape, order_of
from distnb.client.handle.array import Array
from distnb.client.record.creation import asarray
from distnb.client.record.eager import delivered
from distnb.client.record.placement import Placement
from distnb.client.session.current import received
from distnb.client.session.session import Session
from distnb.client.shape.reshaping import new_lengths
from distnb.client.sparse.scipys import dtype_of, is_scalar, supported
from distnb.client.sparse.structure import SparseLayout
from distnb.common.config import config
from distnb.common.errors import GatherError, explain, quoted
from distnb.geometry.layout import Ints
from distnb.measure.quantities import counted, three

__all__ = ["Sparse", "issparse"]


#: Elements that are shown at either end.
_ENDS = 4
#: Names that sparse arrays use among themselves.
_WITHIN = {
    *("axis", "held", "in_lines", "in_order", "kinds", "of", "of_triplets", "standing_for"),
    *("stored", "structure", "told"),
}


class Sparse:
    """What CSR, CSC and COO have in common: they do it to their elements, and stay as they are."""

    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 1001  # above dense arrays
    #: Functions of the namespace are its methods, as NumPy's are those of SciPy's arrays.
    __distnb_methods__ = True

    #: As SciPy names the format.
    _format: str
    _data: Any
    #: Format -> its class, which conversions make.
    kinds: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls) -> None:
        if "_format" in vars(cls):
            Sparse.kinds[cls._format] = cls

    def _kind(self, name: str) -> Any:
        """Return the class of a format."""
        return self.kinds[name]

    # -- what each class says ----------------------------------------------------------------

    def _with_data(self, data: Array) -> Any:
        """Return the array with other elements at the same places."""
        raise NotImplementedError

    def tocsr(self, copy: bool = False) -> Any:
        """Return it in rows."""
        raise NotImplementedError

    def tocoo(self, copy: bool = False) -> Any:
        """Return it as triplets."""
        raise NotImplementedError

    def _compressed(self) -> Any:
        """Return it as CSR or CSC."""
        raise NotImplementedError

    def _reading(self, axis: int) -> Any:
        """Return it as CSR (0) or CSC (1), for those who only read: what was made may be kept.

        Nothing of it is to be written, or to be shown to users.
        """
        raise NotImplementedError

    def to_scipy(self) -> Any:
        """Return SciPy's array, in the notebook."""
        raise NotImplementedError

    def asformat(self, format: str | None, copy: bool = False) -> Any:
        """Return the array in a format.

        Elements are sent as by ``tocsr`` and its like; nothing if it has the format.

        Parameters
        ----------
        format : {'csr', 'csc', 'coo'}, optional
            By default that which it has.
        copy : bool
            Whether elements are copied if it has the format.

        Returns
        -------
        csr_array, csc_array or coo_array
            Of the same shape.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.eye_array(3).asformat("csc").format
        'csc'
        """
        if format in ("bsr", "dia", "dok", "lil"):
            raise NotImplementedError(
                explain(
                    "format", quoted(format), "'csr', 'csc', 'coo'", "use .to_scipy() for others"
                )
            )
        if format not in (None, "csr", "csc", "coo"):
            raise ValueError(f"Format {format} is unknown.")
        same = format in (None, self.format)
        found = self if same else getattr(self, f"to{format}")(copy=copy)
        return self.copy() if copy and same else found

    @property
    def layout(self) -> SparseLayout:
        """Who holds what: cuts, and elements of each engine."""
        raise NotImplementedError

    def _summed(self) -> Any:
        """Return the array with equal places summed."""
        raise NotImplementedError

    # -- facts -------------------------------------------------------------------------------

    @property
    def format(self) -> str:
        """As SciPy names it: ``'csr'``, ``'csc'`` or ``'coo'``."""
        return self._format

    @property
    def shape(self) -> Ints:
        """Lengths of the axes."""
        raise NotImplementedError

    @property
    def data(self) -> Any:
        """The stored elements, a distributed array; another one may be put there."""
        return self._data

    @data.setter
    def data(self, elements: ArrayLike) -> None:
        self._data = elements if isinstance(elements, Array) else asarray(elements)

    @property
    def session(self) -> Session:
        """The session the array lives in."""
        found: Session = self.data.session
        return found

    @property
    def dtype(self) -> np.dtype:
        """Element type."""
        found: np.dtype = self.data.dtype
        return found

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def nnz(self) -> int:
        """Number of stored elements, explicit zeros too."""
        return int(self.data.shape[0])

    @property
    def size(self) -> int:
        """Number of stored elements, as SciPy has it."""
        return self.nnz

    def getformat(self) -> str:
        """Return the name of the format."""
        return self.format

    def __dir__(self) -> list[str]:
        """Return what is there for users."""
        return [name for name in super().__dir__() if name not in _WITHIN]

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} of shape {self.shape} and dtype {str(self.dtype)!r}, "
            f"{self.nnz:,} stored elements: {self.layout.shares()}>"
        )

    def told(self) -> str:
        """Return shape, dtype, elements and layout in words, on a line."""
        stored = counted(self.nnz, "stored element")
        return f"{self.shape} {self.dtype} {self.format}, {stored}, {self.layout.shares()}"

    def _repr_html_(self) -> str:
        cells, layout, found = int(np.prod(self.shape)), self.layout, self._shown()
        dense = f" ({three(100 * self.nnz / cells)} %)" if cells else ""
        whose = f"{layout.axis} on {counted(len(layout.nnz), 'engine')}"
        stored = counted(self.nnz, "stored element")
        where = layout.shares() if layout.copies > 1 else whose
        facts = f"{self.shape} {self.dtype} {self.format}, {stored}{dense}, {where}"
        return str(Placement.views.sparse_card(facts, layout, found.values, found.missing))

    def _shown(self) -> Shown:
        """Return the elements at both ends as SciPy prints them; none if engines are busy."""
        ready = shown(self.data) if self.nnz else Shown("", "no stored elements")
        if not ready.values:
            return ready
        few = self.nnz <= 2 * _ENDS
        ends = [slice(None)] if few else [slice(_ENDS), slice(self.nnz - _ENDS, None)]
        try:
            x = self.tocoo()
            return Shown("\n  :\t:\n".join(_lines(x.row[e], x.col[e], x.data[e]) for e in ends))
        except Exception as error:  # whatever is wrong with an array: a repr must not fail
            return Shown("", type(error).__name__)

    def __getattr__(self, name: str) -> NoReturn:
        kind = type(self).__name__
        if (do := _LEFT_OUT.get(name)) is None:
            raise AttributeError(f"{kind!r} object has no attribute {name!r}")
        got = "a method of SciPy's that is left out"
        raise AttributeError(explain(f"{kind}.{name}", got, "CSR, CSC or COO on engines", do))

    def __len__(self) -> NoReturn:
        raise TypeError("sparse array length is ambiguous; use getnnz() or shape[0]")

    def __bool__(self) -> bool:
        if int(np.prod(self.shape)) == 1:
            return bool(self.nnz and self.data.any())
        raise ValueError(
            "The truth value of an array with more than one element is ambiguous. "
            "Use a.any() or a.all()."
        )

    # -- elements ----------------------------------------------------------------------------

    def astype(self, dtype: DTypeLike, casting: str = "unsafe", copy: bool = True) -> Any:
        """Return the array in another dtype, as SciPy's; nothing is sent.

        Parameters
        ----------
        dtype : dtype
            Element type.
        casting : str
            Which casts are allowed.
        copy : bool
            Whether elements are copied if they have the dtype.

        Returns
        -------
        sparse array
            Of the same format, cut alike.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.eye_array(3).astype(int).dtype
        dtype('int64')
        """
        kind = supported(np.dtype(dtype))
        if kind == self.dtype:
            return self.copy() if copy else self
        return self._with_data(self.data.astype(kind, casting=casting))

    def copy(self) -> Any:
        """Return an array with elements of its own; places are never written, and so shared.

        Nothing is sent.

        Returns
        -------
        sparse array
            Of the same format, cut alike.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.eye_array(3).copy().nnz
        3
        """
        return self._with_data(self.data.copy())

    def __copy__(self) -> Any:
        return self._with_data(self.data)

    def __deepcopy__(self, memo: dict[int, object]) -> Any:
        return self.copy()

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Pickle SciPy's array, within the gather budget: a new array is made of it."""
        return _from_pickle, (type(self), self._within_budget())

    def _gathered(self) -> Any:
        """Return SciPy's array, within the gather budget, for who did not ask for it; say so."""
        found = self._within_budget()
        tell_of_gather(self.data, self._size_there, ".to_scipy()")
        return found

    @property
    def _size_there(self) -> int:
        """The most bytes that SciPy's array has, in the notebook."""
        return self.nnz * (self.dtype.itemsize + self.ndim * 8)

    def _within_budget(self) -> Any:
        """Return SciPy's array; raise GatherError if it is over the gather budget."""
        most = self._size_there
        if most > config.gather_budget:
            expected = f"at most {config.gather_budget:,}"
            advice = "call .to_scipy(), save_npz, or raise dnb.config.gather_budget"
            raise GatherError(explain("implicit gather", f"{most:,} bytes", expected, advice))
        return self.to_scipy()

    def conj(self, copy: bool = True) -> Any:
        """Return the complex conjugates; nothing is sent.

        Parameters
        ----------
        copy : bool
            Whether real elements are copied.

        Returns
        -------
        sparse array
            Of the same format, cut alike.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.csr_array([[0, 2j]]).conj().toarray().to_numpy()
        array([[0.+0.j, 0.-2.j]])
        """
        if self.dtype.kind == "c":
            return self._with_data(np.conjugate(self.data))
        return self.copy() if copy else self

    conjugate = conj

    @property
    def real(self) -> Any:
        """The real parts, into which may be written."""
        return self._with_data(self.data.real) if self.dtype.kind == "c" else self

    @property
    def imag(self) -> Any:
        """The imaginary parts, into which may be written if numbers are complex."""
        return self._with_data(self.data.imag)

    def multiply(self, other: object) -> Any:
        """Return the product element by element."""
        raise NotImplementedError

    def _square(self) -> Any:
        """Return the squares, in the format of a product, as NumPy makes them of SciPy's."""
        return self.multiply(self)

    def _each(self, ufunc: np.ufunc) -> Any:
        """Return a ufunc of the elements, which gives 0 for 0; equal places are summed first."""
        x = self._summed()
        found = ufunc(x.data)
        supported(found.dtype)
        return x._with_data(found)

    def __neg__(self) -> Any:
        if self.dtype.kind == "b":
            raise NotImplementedError("negating a boolean sparse array is not supported")
        return self._with_data(-self.data)

    def __abs__(self) -> Any:
        return self._each(np.absolute)

    def __round__(self, ndigits: int = 0) -> Any:
        x = self._summed()
        found = x.data.round(ndigits)
        supported(found.dtype)
        return x._with_data(found)

    def power(self, n: object, dtype: DTypeLike | None = None) -> Any:
        """Return the elements to a power that is not 0, as SciPy's; of CSR and CSC nothing is sent.

        Parameters
        ----------
        n : number
            The power.
        dtype : dtype, optional
            In which it is computed; by default that of the elements.

        Returns
        -------
        sparse array
            Of the same format, cut alike.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.csr_array([[0, 2], [3, 0]]).power(2).toarray().to_numpy()
        array([[0, 4],
               [9, 0]])
        """
        if not is_scalar(n):
            raise NotImplementedError("input is not scalar")
        if not n:
            raise NotImplementedError(
                "zero power is not supported as it would densify the matrix.\n"
                "Use `np.ones(A.shape, dtype=A.dtype)` for this case."
            )
        x = self._summed()
        x = x if dtype is None else x.astype(dtype, copy=False)
        if not isinstance(n, Array):  # what NumPy refuses, it refuses of one element, at once
            np.ones(min(x.nnz, 1), x.dtype) ** n
        return x._with_data(x.data**n)

    def __pow__(self, n: object) -> Any:
        return self.power(n)

    def _scaled(self, number: Number | Array) -> Any:
        """Return the product with a number."""
        if not hasattr(number, "dbase"):
            dtype_of("__mul__", self.dtype, number)  # raises what SciPy does
        found = self.data * number
        return self._with_data(found)

    def _divided(self, number: Any) -> Any:
        """Return the quotient by a number, with SciPy's digits: it multiplies by the reciprocal."""
        if np.can_cast(self.dtype, np.float64):
            return self.astype(np.float64, copy=False)._scaled(1 / number)
        return self._scaled(1 / number)

    # -- shapes and diagonals ------------------------------------------------------------------

    def reshape(self, *shape: Shape, order: Order = "C", copy: bool = False) -> Any:
        """Return the elements in another shape, as SciPy's: as triplets, if the shape is another.

        Each engine computes where its own elements are then: nothing is sent.

        Parameters
        ----------
        *shape : int, or a tuple of int
            One or two lengths; one may be -1.
        order : {'C', 'F'}
            Whether elements are counted row by row, or column by column.
        copy : bool
            Whether elements are copied.

        Returns
        -------
        coo_array
            With elements where they lie; the array itself if it has the shape.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.csr_array([[0, 2, 0], [1, 0, 3]]).reshape(3, -1).toarray().to_numpy()
        array([[0, 2],
               [0, 1],
               [0, 3]])
        """
        if not shape:
            raise TypeError("reshape() missing 1 required positional argument: 'shape'")
        order_of(order, among="CF")
        given: Any = shape[0] if len(shape) == 1 else shape
        wanted = new_lengths(given, prod(self.shape))
        if wanted == self.shape:
            return self.copy() if copy else self
        if not wanted:
            raise ValueError("new shape of a sparse array must have at least one axis")
        if len(wanted) > 2:
            raise NotImplementedError(
                explain("reshape", f"{len(wanted)} axes", "one or two", "use .toarray()")
            )
        return self.tocoo(copy=copy)._reshaped(wanted, order)

    def diagonal(self, k: int = 0) -> Any:
        """Return a diagonal as a dense array."""
        raise NotImplementedError

    def trace(self, offset: int = 0) -> Any:
        """Return the sum of a diagonal; sent are partial sums, as by :func:`distnb.sum`.

        Parameters
        ----------
        offset : int
            Which diagonal; above the main one if positive.

        Returns
        -------
        DistArray
            A number.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     int(dnb.sparse.csr_array([[0, 2], [3, 1]]).trace())
        1
        """
        return self.diagonal(offset).sum()

    def setdiag(self, values: ArrayLike, k: int = 0) -> None:
        """Set the elements of a diagonal, in place, as SciPy's.

        Sent are the values, to the engines that have their rows (columns of CSC); of CSR and CSC it
        is read how many elements there are then: this waits.

        Parameters
        ----------
        values : array_like
            A number for all of the diagonal, or values from its first element on: those that are
            too many are ignored, and elements without one stay as they are. The dtype stays that
            of the array if no place is new or for a number, else it is that of both.
        k : int
            Which diagonal; above the main one if positive.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     A = dnb.sparse.csr_array([[0, 2], [3, 1]])
        ...     A.setdiag([7, 8])
        ...     A.toarray().to_numpy()
        array([[7, 2],
               [3, 8]])
        """
        if self.ndim != 2:
            raise ValueError("setting a diagonal requires two dimensions")
        m, n = self.shape
        if (k > 0 and k >= n) or (k < 0 and -k >= m):
            raise ValueError("k exceeds array dimensions")
        given: Any = values if isinstance(values, Array) else np.asarray(values)
        if given.ndim > 1:
            raise ValueError(
                explain("values of a diagonal", f"{given.ndim} axes", "one or none", "flatten them")
            )
        count = min(m + min(k, 0), n - max(k, 0))
        if given.ndim:
            count = min(count, len(given))
            given = given[:count]
        if count > 0:
            self._set_diagonal(given, k, count)

    def _set_diagonal(self, values: Array | np.ndarray, k: int, count: int) -> None:
        """Set the first elements of a diagonal, of which there are some."""
        raise NotImplementedError

    # -- reductions to a number ----------------------------------------------------------------

    def _extreme(self, name: str, explicit: bool) -> Any:
        """Return the least or greatest element, those that are not stored among them."""
        if 0 in self.shape:
            raise ValueError("zero-size array to reduction operation")
        if not self.nnz:
            return self.dtype.type(0)
        x = self._summed()
        found = _EXTREMES[name].reduce(x.data)
        if explicit or x.nnz == prod(self.shape):
            return found
        return _EXTREMES[name](found, self.dtype.type(0))

    # -- ufuncs ------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Do what SciPy's arrays do in NumPy's functions: operators, and their own methods."""
        out = options.pop("out", None)
        if method != "__call__" or options:
            return NotImplemented
        if out is not None:
            found = self.__array_ufunc__(ufunc, method, *inputs)
            return found if found is NotImplemented else _delivered(found, out, ufunc.__name__)
        if len(inputs) == 1:
            own = getattr(self, _OWN.get(ufunc.__name__, ufunc.__name__), None)
            if own is None:
                raise TypeError(
                    f"loop of ufunc does not support argument 0 of type {type(self).__name__} "
                    f"which has no callable {ufunc.__name__} method"
                )
            return own()
        left, right = inputs
        names = _BINARY.get(ufunc.__name__)
        if names is None:
            return NotImplemented
        x, name, y = (self, names[0], right) if left is self else (right, names[1], left)
        return getattr(x, name)(y) if hasattr(type(x), name) else NotImplemented

    def sqrt(self) -> Any:
        """Return the square roots of the elements; of CSR and CSC nothing is sent."""
        return self._each(np.sqrt)

    def sin(self) -> Any:
        """Return the sines of the elements; of CSR and CSC nothing is sent."""
        return self._each(np.sin)

    def tan(self) -> Any:
        """Return the tangents of the elements; of CSR and CSC nothing is sent."""
        return self._each(np.tan)

    def arcsin(self) -> Any:
        """Return the inverse sines of the elements; of CSR and CSC nothing is sent."""
        return self._each(np.arcsin)

    def arctan(self) -> Any:
        """Return the inverse tangents of the elements; of CSR and CSC nothing is sent."""
        return self._each(np.arctan)

    def sinh(self) -> Any:
        """Return the hyperbolic sines of the elements; of CSR and CSC nothing is sent."""
        return self._each(np.sinh)

    def tanh(self) -> Any:
        """Return the hyperbolic tangents of the elements; of CSR and CSC nothing is sent."""
        return self._each(np.tanh)

    def arcsinh(self) -> Any:
        """Return inverse hyperbolic sines of the elements; of CSR and CSC nothing is sent."""
        return self._each(np.arcsinh)

    def arctanh(self) -> Any:
        """Return inverse hyperbolic tangents of the elements; of CSR and CSC nothing is sent."""
        return self._each(np.arctanh)

    def rint(self) -> Any:
        """Return the elements rounded to whole numbers; of CSR and CSC nothing is sent."""
        return self._each(np.rint)

    def sign(self) -> Any:
        """Return the signs of the elements; of CSR and CSC nothing is sent."""
        return self._each(np.sign)

    def expm1(self) -> Any:
        """Return ``exp(x) - 1`` of the elements; of CSR and CSC nothing is sent."""
        return self._each(np.expm1)

    def log1p(self) -> Any:
        """Return ``log(1 + x)`` of the elements; of CSR and CSC nothing is sent."""
        return self._each(np.log1p)

    def deg2rad(self) -> Any:
        """Return the elements, which are degrees, as radians; of CSR and CSC nothing is sent."""
        return self._each(np.deg2rad)

    def rad2deg(self) -> Any:
        """Return the elements, which are radians, as degrees; of CSR and CSC nothing is sent."""
        return self._each(np.rad2deg)

    def floor(self) -> Any:
        """Return the elements rounded down; of CSR and CSC nothing is sent."""
        return self._each(np.floor)

    def ceil(self) -> Any:
        """Return the elements rounded up; of CSR and CSC nothing is sent."""
        return self._each(np.ceil)

    def trunc(self) -> Any:
        """Return the elements without what is after the point; of CSR and CSC nothing is sent."""
        return self._each(np.trunc)


def _from_pickle(kind: Callable[[object], Sparse], found: object) -> Sparse:
    """Return the array of SciPy's, as arrays were pickled."""
    received()
    return kind(found)


def _delivered(
    found: Array | Sparse, out: tuple[Array | np.ndarray | Sparse, ...], name: str
) -> Any:
    """Put a result into a dense array, as ``x += A`` asks for where ``x`` is NumPy's."""
    if any(isinstance(x, Sparse) for x in out):
        return NotImplemented
    dense: Any = found
    into: Any = out
    dense = dense.toarray() if isinstance(found, Sparse) else dense
    return delivered(dense, into, "same_kind", name=name)


def _lines(rows: Array, columns: Array, data: Array) -> str:
    """Return elements in lines, as SciPy prints them."""
    found = zip(*map(np.asarray, (rows, columns, data)), strict=True)
    return "\n".join(f"  ({i}, {j})\t{value}" for i, j, value in found)


def issparse(x: object) -> bool:
    """Tell whether something is a distributed sparse array; nothing is sent.

    Parameters
    ----------
    x : object
        Anything.

    Returns
    -------
    bool
        False for SciPy's and for dense arrays.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.sparse.issparse(dnb.sparse.eye_array(3)), dnb.sparse.issparse(dnb.eye(3))
    (True, False)
    """
    return isinstance(x, Sparse)


#: What is left out of the methods of SciPy's arrays -> what to do.
_LEFT_OUT = {
    **{name: f"use .to_scipy().{name}()" for name in ("tobsr", "todia", "todok", "tolil")},
    "tensordot": "use @ of arrays that are reshaped, or .to_scipy().tocoo().tensordot()",
}
#: Reductions to the least or greatest element -> which of two.
_EXTREMES = {"max": np.maximum, "min": np.minimum, "nanmax": np.fmax, "nanmin": np.fmin}
#: Names of ufuncs of one array -> the method, where that has another name.
_OWN = {"absolute": "__abs__", "negative": "__neg__", "square": "_square"}
#: Those of two -> the methods for this array on the left, and on the right.
_BINARY = {
    "add": ("__add__", "__radd__"),
    "subtract": ("__sub__", "__rsub__"),
    "multiply": ("__mul__", "__rmul__"),
    "divide": ("__truediv__", "__rtruediv__"),
    "matmul": ("__matmul__", "__rmatmul__"),
    "power": ("__pow__", "__rpow__"),
    "maximum": ("maximum", "maximum"),
    "minimum": ("minimum", "minimum"),
    "equal": ("__eq__", "__eq__"),
    "not_equal": ("__ne__", "__ne__"),
    "less": ("__lt__", "__gt__"),
    "less_equal": ("__le__", "__ge__"),
    "greater": ("__gt__", "__lt__"),
    "greater_equal": ("__ge__", "__le__"),
}
