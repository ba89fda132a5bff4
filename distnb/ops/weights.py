"""What elements of an operation take, beside what memory takes for as many bytes.

Who computes is chosen by bytes, for memory is what most operations wait for; but a sine takes ten
times as long as a sum. How long is the matter of loops of NumPy's, and of the processor: so each is
measured where it is asked for first, on a few elements.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from distnb.common.ndarrays import QUICK
from distnb.ops import table

__all__ = ["LIGHT", "MOST", "weight"]

#: The largest weight; and bytes for which it does not matter.
MOST = 16
LIGHT = QUICK // (2 * MOST)
#: Seconds that memory takes for a byte which a step reads or writes, on a usual machine.
_MEMORY = 120e-12
#: Elements that are measured, and how often.
_ELEMENTS, _TIMES = 1024, 4
#: Ufuncs that may be called to be measured; others, the user's among them, may do anything.
_KNOWN = {row.run for row in table.ELEMENTWISE.values() if isinstance(row.run, np.ufunc)}
#: Ufunc, and the code of its operands' dtype -> weight.
_weights: dict[tuple[Any, str], int] = {}


def weight(run: Any, dtype: np.dtype) -> int:
    """Return how many times as long as memory alone an operation takes, on operands of a dtype.

    Parameters
    ----------
    run : callable
        What computes, as in the rows of :data:`~distnb.ops.table.ELEMENTWISE`.
    dtype : numpy.dtype
        That of the operands.

    Returns
    -------
    int
        From 1, which is also that of all that are no ufuncs of NumPy's, to 16.

    Examples
    --------
    >>> weight(np.positive, np.dtype("float64"))
    1
    """
    if run not in _KNOWN or dtype.hasobject:  # which may raise anything
        return 1
    key = (run, dtype.char)
    found = _weights.get(key)
    if found is None:
        found = _weights[key] = _measured(run, dtype)
    return found


def _measured(run: np.ufunc, dtype: np.dtype) -> int:
    """Measure the weight of an operation; the quickest of several runs was not interrupted."""
    x = (3 * (np.arange(_ELEMENTS) * 0.618034 % 1)).astype(dtype)  # in no order
    operands = (x, x[::-1])[: run.nin]
    seconds = []
    try:
        with np.errstate(all="ignore"):
            found = run(*operands)
            for _ in range(_TIMES):
                before = perf_counter()
                run(*operands, out=found)
                seconds.append(perf_counter() - before)
    except TypeError:  # it has no loop for them: who calls it is told
        return 1
    results = found if isinstance(found, tuple) else (found,)
    nbytes = sum(a.nbytes for a in (*operands, *results))
    return min(max(int(min(seconds) / (nbytes * _MEMORY)), 1), MOST)
