"""Products of matrices and vectors in reach that NumPy does at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

import distnb.common.ndarrays as nd
from distnb.client.handle.fields import Fields, fits, fresh, is_away, near_of
from distnb.client.reach.admission import admitted
from distnb.client.reach.promised_layouts import promised
from distnb.client.reach.rehearsal import part, promise
from distnb.client.reach.small_steps import done
from distnb.common.config import config

__all__ = ["product", "quick_dot"]

#: Bytes of a matrix that BLAS multiplies by a vector in 20 ms or so.
_LARGE = 1 << 28
_DOT = np.dot


def product(x: Fields, y: Fields, long: Any, seen: bool = False, run: Any = np.matmul) -> Any:
    """Multiply matrices and vectors in reach; return None if they, or the result, are not small.

    A matrix may be large if ``long``, which multiplies on engines, says how the result lies.
    ``run`` is what NumPy is asked for: with strides ``np.dot`` adds in another order.
    """
    session, one, other = x.session, near_of(x), near_of(y)
    if one is None or other is None:
        both: Any = (x, y)
        total = both[0].nbytes + both[1].nbytes
        if total > nd.HALF or session is not y.session or not admitted(session, both, total):
            return None
        one, other = both[0].near, both[1].near
        if one is None or other is None:  # another thread has given it to engines
            return None
    nbytes = nd.nbytes(one) + nd.nbytes(other)
    if session is not y.session or not (0 < one.ndim < 3 and 0 < other.ndim < 3):
        return None
    large = nbytes > nd.HALF
    if large and (long is None or not _is_of_vector(one, other)):
        return None
    if config.place == "engines" and (is_away(x) or is_away(y)):
        return None
    found = done(run, (one, other), seen and nbytes < nd.POOLED)
    if type(found) is not ndarray:
        return found
    if large and (is_away(x) or is_away(y)):
        played: Any = (x, y)
        shown = (part(played[0]), part(played[1]))
        return fresh(session, found, promise(session, long, shown, {}, found.shape, 0))
    return fresh(session, found, promised(session, (), found))


def _is_of_vector(one: np.ndarray, other: np.ndarray) -> bool:
    """Tell whether a product of a large matrix is small, and BLAS's, which takes a millisecond."""
    if one.dtype is not other.dtype or one.dtype.char not in "fdFD":
        return False
    nbytes = one.nbytes + other.nbytes
    if nbytes > _LARGE or 1 not in (one.ndim, other.ndim):
        return False
    return fits(nbytes // min(one.shape[0], other.shape[-1]))


def quick_dot(x: Fields, y: Fields, seen: bool = False) -> Any:
    """Multiply two small vectors in reach; return None if they are something else.

    By ``np.dot``, which adds in another order than ``np.matmul`` where vectors have strides.
    """
    one, other = near_of(x), near_of(y)
    if one is None or other is None or one.ndim != 1 or other.ndim != 1:
        return None
    if x.session is not y.session or nd.nbytes(one) + nd.nbytes(other) > nd.HALF:
        return None
    if config.place == "engines" and (is_away(x) or is_away(y)):
        return None
    return done(_DOT, (one, other), seen)
