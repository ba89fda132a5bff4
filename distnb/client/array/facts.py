"""What is known of an array without its elements: ``shape``, ``ndim``, ``size`` and more."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.arguments import Axes
from distnb.client.handle.array import Array
from distnb.client.record.namespace import stands_for
from distnb.geometry.layout import Ints

__all__ = ["Uncut"]


class Uncut(tuple[tuple[int, ...], ...]):
    """Chunks of an array that is one chunk: false, so that a file may be cut in any way.

    xarray writes an array in a file in the chunks that it has in memory, if it has any.
    """

    __slots__ = ()

    def __bool__(self) -> bool:
        return False


def _hollow(a: ArrayLike) -> ArrayLike:
    """Return an array of NumPy's with the shape and dtype of a distributed one: one element."""
    return np.broadcast_to(np.zeros((), a.dtype), a.shape) if isinstance(a, Array) else a


def isscalar(element: object) -> bool:
    """Tell whether something is a scalar, as ``numpy.isscalar``: also one that is on engines.

    Nothing is sent or waited for.

    Parameters
    ----------
    element : object
        Anything.

    Returns
    -------
    bool
        True of numbers and text, and of what NumPy has as a scalar; False of arrays.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     x = dnb.ones(3, dist="block")
    ...     dnb.isscalar(x.sum()), dnb.isscalar(x), dnb.isscalar(2.5)
    (True, False, True)
    """
    if isinstance(element, Array):
        return element.single and not element.shape
    return np.isscalar(element)


@stands_for(np.shape)
def shape(a: ArrayLike) -> Ints:
    """Return the lengths of the axes, as ``numpy.shape``.

    The notebook knows them: nothing is sent or waited for.

    Parameters
    ----------
    a : array_like
        The array.

    Returns
    -------
    tuple of int
        The shape.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.shape(dnb.zeros((3, 4)))
    (3, 4)
    """
    return a.shape if isinstance(a, Array) else np.shape(a)


@stands_for(np.ndim)
def ndim(a: ArrayLike) -> int:
    """Return the number of axes, as ``numpy.ndim``.

    The notebook knows it: nothing is sent or waited for.

    Parameters
    ----------
    a : array_like
        The array.

    Returns
    -------
    int
        In the notebook.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.ndim(dnb.zeros((3, 4)))
    2
    """
    return a.ndim if isinstance(a, Array) else np.ndim(a)


@stands_for(np.size)
def size(a: ArrayLike, axis: Axes = None) -> int:
    """Return the number of elements, or the lengths of axes multiplied, as ``numpy.size``.

    The notebook knows it: nothing is sent or waited for.

    Parameters
    ----------
    a : array_like
        The array.
    axis : int or tuple of int, optional
        Along which axes; by default all.

    Returns
    -------
    int
        In the notebook.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.size(dnb.zeros((3, 4))), dnb.size(dnb.zeros((3, 4)), 1)
    (12, 4)
    """
    if axis is None and isinstance(a, Array):
        return a.size
    return np.size(_hollow(a), axis)  # type: ignore[arg-type]


@stands_for(np.iscomplexobj)
def iscomplexobj(x: ArrayLike) -> bool:
    """Tell whether the dtype is complex, as ``numpy.iscomplexobj``.

    The notebook knows it: nothing is sent or waited for.

    Parameters
    ----------
    x : array_like
        The array.

    Returns
    -------
    bool
        In the notebook.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.iscomplexobj(dnb.array([1 + 0j]))
    True
    """
    return x.dtype.kind == "c" if isinstance(x, Array) else np.iscomplexobj(x)


@stands_for(np.isrealobj)
def isrealobj(x: ArrayLike) -> bool:
    """Tell whether the dtype is not complex, as ``numpy.isrealobj``.

    The notebook knows it: nothing is sent or waited for.

    Parameters
    ----------
    x : array_like
        The array.

    Returns
    -------
    bool
        In the notebook.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.isrealobj(dnb.array([1 + 0j]))
    False
    """
    return x.dtype.kind != "c" if isinstance(x, Array) else np.isrealobj(x)


def isfortran(a: ArrayLike) -> bool:
    """Tell whether NumPy's array would lie in Fortran's order, and not in C order.

    So are transposed views. How elements lie on an engine is for the layout; nothing is sent.

    Parameters
    ----------
    a : array_like
        The array.

    Returns
    -------
    bool
        In the notebook.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.isfortran(dnb.zeros((3, 4)).T)
    True
    """
    return (
        bool(a.flags.fnc) if isinstance(a, Array) else isinstance(a, np.ndarray) and np.isfortran(a)
    )


@stands_for(np.common_type)
def common_type(*arrays: ArrayLike) -> type[np.inexact]:
    """Return the inexact scalar type to which arrays are promoted, as ``numpy.common_type``.

    The notebook knows the dtypes: nothing is sent.

    Parameters
    ----------
    *arrays : array_like
        The arrays.

    Returns
    -------
    type
        Of floats or complex numbers.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.common_type(dnb.arange(3), dnb.ones(3, dnb.float32))
    <class 'numpy.float64'>
    """
    return np.common_type(*map(_hollow, arrays))


@stands_for(np.min_scalar_type)
def min_scalar_type(a: ArrayLike) -> np.dtype:
    """Return the smallest dtype that holds a number, as ``numpy.min_scalar_type``.

    A number on the engines is read, for which is waited; of an array it is the dtype, which the
    notebook knows.

    Parameters
    ----------
    a : array_like
        The number, or an array.

    Returns
    -------
    dtype
        The dtype.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.min_scalar_type(300), dnb.min_scalar_type(dnb.arange(3))
    (dtype('uint16'), dtype('int64'))
    """
    one = isinstance(a, Array) and not a.ndim
    return np.min_scalar_type(np.asarray(a) if one else _hollow(a))
