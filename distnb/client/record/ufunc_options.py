"""What ufuncs take besides operands: loops, masks, outputs, their shapes, arrays of NumPy."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.batching.call_sites import user_place
from distnb.client.batching.error_states import warn_at
from distnb.client.handle.arguments import order_of
from distnb.client.handle.array import Array, numeric
from distnb.client.reach.admission import admitted
from distnb.client.reach.small_steps import quick, quick_out
from distnb.common.config import config
from distnb.common.errors import explain
from distnb.common.ndarrays import QUICK
from distnb.geometry.layout import Ints
from distnb.geometry.views import broadcast_shapes
from distnb.ops import table
from distnb.ops.weights import LIGHT, weight

__all__ = [
    "as_mask",
    "broadcast_shape",
    "brought_together",
    "come_in_reach",
    "has_plain",
    "is_new",
    "options_of",
    "outputs",
    "put_plain",
    "tell_unfilled",
]


def broadcast_shape(operands: Sequence[Any], outs: Sequence[Any]) -> Ints:
    """Return the shape of a result; raise ValueError if there is none."""
    shapes = [x.shape for x in operands if isinstance(x, Array | np.ndarray)]
    given = [o.shape for o in outs if o is not None]
    if shapes and not given and shapes.count(shapes[0]) == len(shapes):
        return shapes[0]
    try:
        shape = broadcast_shapes(*shapes)
        if not shapes and given:
            shape = given[0]
        fits = all(broadcast_shapes(shape, g) == g for g in given)
    except ValueError:
        shown = " and ".join(str(s) for s in (*shapes, *given))
        raise ValueError(
            explain(
                "shapes", shown, "shapes that broadcast together", "align or slice the operands"
            )
        ) from None
    if not fits or len(set(given)) > 1:
        raise ValueError(
            explain("out", f"shape {given}", f"{shape}", "pass an output of the broadcast shape")
        )
    return given[0] if given else shape


def outputs(out: Any, nout: int) -> tuple[Any, ...]:
    """Return the outputs that are given, or None for each; raise what NumPy raises of others."""
    if nout > 1 and out is not None and not isinstance(out, tuple):
        raise TypeError("'out' must be a tuple of arrays")
    outs = out if isinstance(out, tuple) else (out,) * nout
    if len(outs) != nout:
        raise ValueError(explain("out", f"{len(outs)} arrays", f"{nout}", "pass a tuple"))
    for o in outs:
        if o is ...:
            raise TypeError("must use `...` as `out=...` and not per-operand/in a tuple")
        if o is not None and not isinstance(o, Array):
            raise TypeError(
                explain(
                    "out", type(o).__name__, "a DistArray", "assign to x[...] of a distnb array"
                )
            )
        if o is not None and not o.shape and o.single:
            raise TypeError("return arrays must be of ArrayType")
        if o is not None and not o.writeable:
            raise ValueError("output array is read-only")
    return outs


def is_new(out: object) -> bool:
    """Tell whether no output is given."""
    return out is None or (type(out) is tuple and all(o is None for o in out))


def options_of(
    row: table.Elementwise,
    inputs: Sequence[Any],
    dtype: DTypeLike | None,
    casting: str | None,
    others: dict[str, Any],
) -> dict[str, Any]:
    """Return the options of an operation as they travel; raise what NumPy raises of others."""
    others = dict(others)
    order_of(others.pop("order", "K"))
    if not isinstance(others.pop("subok", True), bool | np.bool_):
        raise TypeError("'subok' must be a boolean")
    signature = others.pop("signature", None)
    if "sig" in others:
        if signature is not None:
            raise TypeError("cannot specify both 'sig' and 'signature'")
        signature = others.pop("sig")
    for name in others:
        raise TypeError(
            explain(f"{row.name}()", f"{name}=", "out, where, dtype or casting", "leave it out")
        )
    options: dict[str, Any] = {}
    if signature is not None:
        if dtype is not None:
            raise TypeError("cannot specify both 'signature' and 'dtype'")
        options["signature"] = _loop(row, inputs, signature, casting)
    if dtype is not None:
        options["dtype"] = numeric(dtype).str
    if casting is not None:
        options["casting"] = casting
    return options


def _loop(
    row: table.Elementwise, inputs: Sequence[Any], signature: object, casting: str | None
) -> str:
    """Return the loop that a signature means, as NumPy spells it: ``dd->d``."""
    if not isinstance(row.run, np.ufunc):
        raise TypeError(explain(f"{row.name}()", "signature=", "a ufunc", "leave it out"))
    weak, given, rule = (int, float, complex), cast(Any, signature), cast(Any, casting)
    kinds = [type(x) if type(x) in weak else np.asarray(_hollow(x)).dtype for x in inputs]
    outs = (None,) * row.nout
    found = row.run.resolve_dtypes((*kinds, *outs), signature=given, casting=rule or "same_kind")
    codes = [numeric(d).char for d in found]
    return f"{''.join(codes[: row.nin])}->{''.join(codes[row.nin :])}"


def _hollow(x: ArrayLike) -> ArrayLike:
    return np.empty(0, x.dtype) if isinstance(x, Array) else x


def tell_unfilled(options: dict[str, Any]) -> None:
    """Warn of a mask without ``out=``, as NumPy does: elements that it leaves out are undefined."""
    if options.get("where", True) is not True and "out" not in options:
        text = "'where' used without 'out', expect uninitialized memory: pass out=, or out=None"
        warn_at(user_place(), text, UserWarning)


def as_mask(where: ArrayLike) -> Any:
    """Return ``where=`` as an array, or True; lists of numbers are masks, as for NumPy."""
    if where is True or isinstance(where, Array | np.ndarray):
        return where
    return np.asarray(where, bool)


def has_plain(out: object) -> bool:
    """Tell whether outputs are NumPy's arrays, or some are."""
    outs = out if isinstance(out, tuple) else (out,)
    return any(isinstance(o, np.ndarray) for o in outs)


def put_plain(
    found: ArrayLike, out: np.ndarray, where: ArrayLike = True, casting: str | None = None
) -> np.ndarray:
    """Read a result into an array of NumPy's, within the gather budget."""
    mask = where.__array__() if isinstance(where, Array) else where
    value = found.__array__() if isinstance(found, Array) else found
    rule: Any = casting or "same_kind"
    # Axes of length 1 that an output has not, copyto would drop.
    if broadcast_shapes(np.shape(value), out.shape) != out.shape:
        raise ValueError(explain("out", f"shape {out.shape}", f"{np.shape(value)}", "pass one"))
    np.copyto(out, value, casting=rule, where=mask)
    return out


# -- small steps with such options -----------------------------------------------------------------


def brought_together(run: Callable[..., Any], inputs: Sequence[Any], out: Any) -> Any:
    """Do a small step on arrays at home, or NumPy's, and others; return None if it is none.

    The others come in reach for it: else they would stay on engines for as long as those meet them.
    """
    one = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    arrays = [x for x in (*inputs, one) if isinstance(x, Array)]
    away = [x for x in arrays if x.near is None]
    if not away or not (isinstance(run, np.ufunc) and run.nout == 1):
        return None
    if len(away) == len(arrays) and not any(type(x) is np.ndarray for x in inputs):
        return None
    session = away[0].session
    if any(x.session is not session for x in arrays):
        return None
    nbytes = _touched(run, (*inputs, one))
    if nbytes > QUICK or not admitted(session, away, nbytes):
        return None  # engines do it, and want them there
    return quick(run, inputs) if one is None else quick_out(run, inputs, one)


def come_in_reach(
    row: table.Elementwise, inputs: Sequence[Any], outs: Sequence[Any], where: Any
) -> list[Array] | None:
    """Have the arrays of a small operation of a ufunc's in reach; None if it is another one.

    Returns
    -------
    list of Array
        Inputs that engines have: new results lie as these do.
    """
    arrays = [x for x in (*inputs, *outs, where) if isinstance(x, Array)]
    session = arrays[0].session
    if not isinstance(row.run, np.ufunc) or config.math != "numpy":
        return None
    if any(x.session is not session for x in arrays):
        return None
    away = [x for x in inputs if isinstance(x, Array) and x.dbase.host is None]
    if any(o is None for o in outs) and (
        not away or any(np.ndim(x) for x in inputs if not isinstance(x, Array))
    ):
        return None  # its layout is another one's
    return away if admitted(session, arrays, _touched(row.run, (*inputs, *outs, where))) else None


def _touched(run: np.ufunc, operands: Sequence[Any]) -> int:
    """Return how many bytes a step reads and writes, about, as many times as it weighs.

    Many if shapes do not fit.
    """
    arrays = [x for x in operands if isinstance(x, Array | np.ndarray)]
    try:
        made = prod(broadcast_shapes(*[x.shape for x in arrays]))
    except ValueError:
        return sys.maxsize  # which is told later
    nbytes = sum(x.nbytes for x in arrays) + made * max(x.dtype.itemsize for x in arrays)
    return nbytes * weight(run, arrays[0].dtype) if nbytes > LIGHT else nbytes
