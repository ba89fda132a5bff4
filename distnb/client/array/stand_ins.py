"""Types that stand in for NumPy's where a program asks ``isinstance``: ``ndarray``, ``ufunc``."""

from __future__ import annotations

from abc import ABCMeta
from types import GenericAlias
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import DTypeLike

from distnb.client.array.distarray import DistArray
from distnb.client.array.facts import isscalar
from distnb.client.handle.arguments import Dist, Grid, Order, Shape
from distnb.client.record.creation import empty
from distnb.client.session.session import Session
from distnb.common.errors import explain

__all__ = ["ndarray", "ufunc"]


class _Arrays(ABCMeta):
    """The type of ``ndarray``: its methods are those of arrays, such as ``ndarray.sum(x)``."""

    def __getattr__(cls, name: str) -> Any:
        return getattr(DistArray, name)

    def __instancecheck__(cls, x: object) -> bool:
        """Tell whether something is an array, which NumPy's scalars are not."""
        return super().__instancecheck__(x) and not (isinstance(x, DistArray) and isscalar(x))


class _ndarray(metaclass=_Arrays):  # noqa: N801 - NumPy's name
    """Distributed arrays and NumPy's own are instances of it; called, it makes a distributed array.

    Parameters
    ----------
    shape : int or tuple of int
        Lengths of the axes.
    dtype : dtype, optional
        Of the elements, whose values are undefined, as those of :func:`distnb.empty`.
    buffer, offset, strides : optional
        Only their defaults: engines hold the elements.
    order, dist, grid, session : optional
        As in :func:`distnb.empty`.

    Raises
    ------
    TypeError
        For a buffer or strides, and for a class that derives from it.

    Examples
    --------
    >>> import distnb as np
    >>> with np.inprocess(2):
    ...     x = np.ndarray((2, 3), dtype=np.int32)
    ...     x.fill(7)
    ...     isinstance(x, np.ndarray), x.to_numpy()
    (True, array([[7, 7, 7],
           [7, 7, 7]], dtype=int32))
    """

    __class_getitem__: Any = classmethod(GenericAlias)

    def __new__(  # type: ignore[misc]
        cls,
        shape: Shape,
        dtype: DTypeLike = float,
        buffer: None = None,
        offset: int = 0,
        strides: None = None,
        order: Order = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
        session: Session | None = None,
    ) -> DistArray:
        if buffer is not None or offset or strides is not None:
            raise TypeError(
                explain(
                    "ndarray()",
                    "a buffer or strides",
                    "a shape and a dtype: engines hold the elements",
                    "use distnb.asarray(buffer), or slices of an array",
                )
            )
        made: Any = empty(shape, dtype, order or "C", dist=dist, grid=grid, session=session)
        return made

    def __init_subclass__(cls) -> NoReturn:
        raise TypeError(
            explain(
                f"class {cls.__name__}",
                "one that derives from distnb.ndarray",
                "none, as results are always DistArray",
                "hold an array as an attribute",
            )
        )


_ndarray.register(DistArray)
_ndarray.register(np.ndarray)

if TYPE_CHECKING:  # annotations with NumPy's name mean distributed arrays
    ndarray = DistArray
else:
    ndarray = _ndarray
    ndarray.__name__ = ndarray.__qualname__ = "ndarray"


class _Ufuncs(type):
    """The type of ``ufunc``: whatever has inputs, outputs and ``reduce`` is one."""

    def __instancecheck__(cls, thing: object) -> bool:
        return isinstance(getattr(thing, "nin", None), int) and hasattr(thing, "reduce")


class ufunc(metaclass=_Ufuncs):  # noqa: N801 - NumPy's name
    """The elementwise functions of distnb and of NumPy are instances of it.

    Examples
    --------
    >>> import distnb as np
    >>> isinstance(np.add, np.ufunc), isinstance(np.sum, np.ufunc)
    (True, False)
    """
