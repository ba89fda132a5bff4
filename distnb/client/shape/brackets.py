"""Arrays joined by what is in brackets: ``r_``, ``c_``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from distnb.client.handle.array import Array
from distnb.client.handle.scalars import numbers_in
from distnb.client.reach.whole_functions import step
from distnb.client.record.creation import array, asarray
from distnb.client.record.eager import session_of
from distnb.client.record.ranges import arange, linspace
from distnb.client.session.session import Session
from distnb.client.shape.joining import concatenate
from distnb.common.errors import explain

__all__: list[str] = []

#: Types of items of which NumPy may make many elements, or a matrix.
_LONG = frozenset((slice, str))


class Joined:
    """What ``r_`` and ``c_`` are: arrays, numbers and slices, joined along an axis.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     x = dnb.r_[dnb.arange(3), 7, 0:1:3j]
    ...     x.to_numpy(), dnb.c_[x[:2], x[3:5]].to_numpy()
    (array([0. , 1. , 2. , 7. , 0. , 0.5, 1. ]), array([[0., 7.],
           [1., 0.]]))
    """

    def __init__(
        self, axis: int, ndmin: int, trans1d: int, numpys: Callable[[Any], np.ndarray]
    ) -> None:
        self.usual = axis, ndmin, trans1d
        self.numpys = numpys

    def __getitem__(self, key: Any) -> Array:
        items = list(key) if isinstance(key, tuple) else [key]
        if not any(type(item) in _LONG for item in items):
            found: Any = step(self.numpys, self.__getitem__, "exact", (key,), {})
            if found is not None:
                return found
        axis, ndmin, trans1d = self.usual
        if items and isinstance(items[0], str):
            axis, ndmin, trans1d = self._said(items.pop(0))
        if any(isinstance(item, str) for item in items):
            raise ValueError("special directives must be the first entry.")
        at = session_of(*items)
        parts = [_part(item, ndmin, trans1d, at) for item in items]
        kinds = [x.dtype if isinstance(x, Array) else x for x in parts]  # numbers are weak
        dtype = np.result_type(*kinds) if kinds else None
        whole = [array(x, dtype, copy=None, ndmin=ndmin, session=at) for x in parts]
        return concatenate(whole, axis)

    def _said(self, words: str) -> tuple[int, int, int]:
        """Return what a directive such as ``'1,3,0'`` says."""
        try:
            given = [int(n) for n in words.split(",")[:3]]
        except ValueError:
            do = "use arrays, and @" if words in ("r", "c") else "see numpy.r_"
            raise ValueError(
                explain("directive", repr(words), "up to three integers", do)
            ) from None
        found = (*given, *self.usual[len(given) :])
        return found[0], found[1], found[2]


def _part(item: Any, ndmin: int, trans1d: int, session: Session) -> Any:
    """Return what is to be joined: an array with enough axes, or a number."""
    if isinstance(item, slice):
        made = _stretch(item, session)
        many = array(made, copy=None, ndmin=ndmin)
        return many.swapaxes(-1, trans1d) if ndmin > 1 and trans1d != -1 else many
    if type(item) in np.ScalarType:
        return item
    given = asarray(item, session=session)
    found = array(given, copy=None, ndmin=ndmin)
    new = ndmin - given.ndim
    if trans1d == -1 or new <= 0:
        return found
    at = trans1d if trans1d >= 0 else trans1d + new + 1
    axes = list(range(ndmin))
    return found.transpose(axes[:at] + axes[new:] + axes[at:new])


def _stretch(item: slice, session: Session) -> Array:
    """Return the numbers of a slice; an imaginary step counts them."""
    start, stop, step = numbers_in((item.start, item.stop, item.step))
    start, step = 0 if start is None else start, 1 if step is None else step
    if isinstance(step, complex | np.complexfloating):
        return linspace(start, stop, int(np.abs(step)), session=session)
    return arange(start, stop, step, session=session)


r_, c_ = Joined(0, 1, -1, np.r_.__getitem__), Joined(-1, 2, 0, np.c_.__getitem__)
