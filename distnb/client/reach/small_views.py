"""Views of arrays in reach, without a batch; and results that lie as NumPy's, which may be views.

What NumPy makes of transposed operands is transposed, too: its elements lie in the order of theirs.
An array's own memory is in C order, so such a result is the transposed view of it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

import distnb.common.ndarrays as nd
from distnb.client.handle.arguments import Subscript
from distnb.client.handle.array import Array
from distnb.client.handle.fields import Fields, base_of, fresh, near_of, viewed
from distnb.client.handle.indexing import BASIC, Turn
from distnb.client.reach.promised_layouts import promised
from distnb.client.session.session import Session
from distnb.geometry.layout import Ints
from distnb.ops.scalars import NUMPYS

__all__ = ["indexed", "is_plain", "laid", "passed", "turned", "with_units"]

#: Views of which each is told of by the one before, at most.
_NESTED = 4
#: Number of axes -> their order from the last to the first.
_BACKWARDS = [Turn(tuple(range(n)[::-1])) for n in range(65)]
#: Types of an index of integers, slices, None and '...': NumPy's integers, too.
_PLAIN = BASIC | {kind for kind in NUMPYS if issubclass(kind, np.integer)}


def indexed(x: Array, key: Subscript) -> Any:
    """Return what NumPy makes of an index in reach: an element or a view; None if it is no such."""
    near = near_of(x)
    if near is None or not (type(key) is int or is_plain(key)):
        return None
    try:
        taken = near[key]
    except IndexError:
        return None  # the long way says what is wrong
    if type(taken) is not ndarray:
        return taken
    return viewed(x, taken, base_of(x), (_seen(x), key))


def passed(x: Fields, near: ndarray, at: int) -> Generator[Any, None, int]:
    """Yield elements of one axis as they are when it is their turn; return how far it got.

    It ends with the array, or when the array leaves what the notebook has of it.
    """
    for value in near[at:]:
        yield value
        at += 1
        if x._near is not near or (x._whole is not None and x._base.near is not x._whole):
            break
    return at


def _seen(x: Array) -> Any:
    """Return what :func:`view_of` finds the view of an array in reach by, without finding it."""
    if x._view is not None:
        return x._view
    key, depth = x._key, 0
    parent: Any = key
    while type(parent) is tuple:
        parent = parent[0]
        depth += 1
    return key if depth < _NESTED else x.dview


def is_plain(key: Subscript) -> bool:
    """Tell whether an index is of integers, slices, None and '...', which NumPy takes as we do.

    It is kept, so nothing in it may change.
    """
    if type(key) is not tuple:
        kind = type(key)
        return nd.is_fixed(key, _PLAIN) if kind is slice else kind in _PLAIN
    for k in key:  # bool is another type, as is an array
        kind = type(k)
        if kind is slice:
            if not nd.is_fixed(k, _PLAIN):
                return False
        elif kind is not int and kind not in _PLAIN:
            return False
    return True


def with_units(x: Array, shown: np.ndarray) -> Any:
    """Return the view of an array in reach that NumPy shows, if only axes of length 1 differ."""
    key: list[Any] = []
    lengths, i = x._near.shape, 0  # type: ignore[union-attr]
    for n in (*shown.shape, -1):
        if n == 1:
            key.append(None)
            continue
        while i < len(lengths) and lengths[i] == 1:
            key.append(0)
            i += 1
        if n >= 0:
            if i == len(lengths) or lengths[i] != n:
                return None
            key.append(slice(None))
            i += 1
    if i < len(lengths):
        return None
    return viewed(x, shown, base_of(x), (_seen(x), tuple(key)))


def turned(x: Array, axes: Ints | None) -> Any:
    """Return an array in reach with its axes in another order, a view; None if it is not.

    None for the axes stands for those that there are, from the last to the first.
    """
    near = near_of(x)
    if near is None:
        return None
    turn = _BACKWARDS[near.ndim] if axes is None else Turn(axes)
    return viewed(x, near.transpose(axes), base_of(x), (_seen(x), turn))


def laid(session: Session, found: np.ndarray, away: Sequence[Fields]) -> Any:
    """Return the array of what NumPy made elementwise, its own from now on.

    ``away`` are those operands in reach that are not at home in the notebook.
    """
    if nd.in_c(found):
        return fresh(session, found, promised(session, away, found))
    axes: Any = None
    whole = found.T
    if not nd.in_c(whole):
        axes = tuple(sorted(range(found.ndim), key=found.strides.__getitem__, reverse=True))
        whole = found.transpose(axes)
    if not nd.in_c(whole):
        found = found.copy()
        return fresh(session, found, promised(session, away, found))
    those = [_turned_as(x, found.ndim, axes) for x in away]
    made = fresh(session, whole, promised(session, those, whole))
    shown = turned(made, axes and tuple(sorted(axes, key=axes.__getitem__)))
    shown._owner = None  # it is no view of the user's
    return shown


def _turned_as(x: Any, ndim: int, axes: Ints | None) -> Any:
    """Return an operand with its axes in the order of those of a result."""
    missing = ndim - x.ndim
    return turned(indexed(x, (None,) * missing + (Ellipsis,)) if missing else x, axes)
