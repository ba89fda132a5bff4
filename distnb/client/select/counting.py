"""``bincount``: every engine counts its part, and the counts are added up."""

from __future__ import annotations

from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.array import Array, create, is_whole
from distnb.client.handle.conversion import array_of, as_dist, copied, in_layout, record_local
from distnb.client.handle.host_arrays import all_here, plain, watched
from distnb.client.record.creation import asarray, zeros
from distnb.client.record.namespace import stands_for
from distnb.client.record.reducing import reduce
from distnb.common.errors import explain
from distnb.geometry.axes import Block, Whole
from distnb.geometry.layout import Layout

__all__ = ["bincount"]

#: Counts for which there is room at first.
_LONG = 1 << 12


@stands_for(np.bincount, small="exact")
def bincount(
    x: ArrayLike, /, weights: ArrayLike | None = None, minlength: SupportsIndex = 0
) -> Array:
    """Count how often each number occurs, or add up its weights, as ``numpy.bincount``.

    Every engine counts its part; the counts are added up as in a reduction, and every engine that
    holds some of ``x`` gets the result. As its length depends on the elements, it is read in
    between; where it exceeds ``minlength`` and 4,096, engines count twice.

    Parameters
    ----------
    x : array_like of int
        One axis; no negative numbers.
    weights : array_like, optional
        A weight for each element; the sums are float64.
    minlength : int
        The least length of the result.

    Returns
    -------
    DistArray of int, or of float with weights
        An element for each number from 0 to the largest.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     dnb.bincount(dnb.array([1, 5, 1, 3, 1])).to_numpy()
    array([0, 3, 0, 1, 0, 1])
    """
    if isinstance(x, list | tuple) and not len(x):
        x = np.empty(0, np.intp)  # NumPy counts nothing of any kind
    given = [a for a in (x, weights) if isinstance(a, Array)]
    if not given:
        if isinstance(x, list | tuple):
            np.bincount(x)  # NumPy casts lists, and warns, but no arrays
            x = np.asarray(x).astype(np.intp)
        x = asarray(x)
        given = [x]
    session = given[0].session
    if all_here((x, weights), session):
        values = (plain(x), None if weights is None else plain(weights))
        return array_of(session, watched("bincount", np.bincount, *values, minlength))
    numbers = as_dist(x, session)
    heavy = None if weights is None else as_dist(weights, numbers.session, numbers)
    dtype = _check(numbers, heavy, minlength)
    if not numbers.size:
        return zeros(int(minlength), dtype, dist="replicated", session=numbers.session)
    numbers = numbers if is_whole(numbers) else numbers.copy()
    ins = [numbers] if heavy is None else [numbers, in_layout(heavy, numbers.dbase.layout)]
    found = _counts(ins, int(minlength), dtype)
    if found.ndim > 1:
        return reduce("sum", found, 0, dtype)
    return copied(found, dtype, found.dbase.layout)


def _check(x: Array, weights: Array | None, minlength: SupportsIndex) -> np.dtype:
    """Ask NumPy for the dtype of the result; raises what it raises, but for negative numbers."""
    few = min(1, x.size)
    samples = [None if a is None else np.zeros((few,) * a.ndim, a.dtype) for a in (x, weights)]
    found = np.bincount(samples[0], samples[1], minlength).dtype  # type: ignore[arg-type]
    if weights is not None and weights.shape != x.shape:
        raise ValueError(
            explain("weights", f"{weights.size} elements", f"{x.size} as in x", "pass one for each")
        )
    return found


def _counts(ins: list[Array], least: int, dtype: np.dtype) -> Array:
    """Return the counts of each part, all as long as the longest; a second time if it is long."""
    guess = max(least, _LONG)
    found = _locally(ins, guess + 1, dtype)
    lengths = found[..., -1].to_numpy()
    if lengths.min() < 0:
        raise ValueError("'list' argument must have no negative elements")
    length = max(least, int(lengths.max()))
    return (found if length <= guess else _locally(ins, length + 1, dtype))[..., :length]


def _locally(ins: list[Array], length: int, dtype: np.dtype) -> Array:
    """Return what each engine counts in its part: a row for each part if there are several."""
    layout, session = ins[0].dbase.layout, ins[0].session
    parts, split = layout.parts(0), layout.dims[0]
    if parts == 1:
        shape: tuple[int, ...] = (length,)
        where = Layout(layout.grid, (Whole(),), (-1,))
    else:
        shape = (parts, length)
        where = Layout(layout.grid, (Block(), Whole()), (split, -1))
    out = create(session, shape, dtype, where, ("empty",))
    record_local("bincount", out, ins)
    return out
