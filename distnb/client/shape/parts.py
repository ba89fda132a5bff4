"""Arrays made of parts that are there: one for each engine, joined along the first axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from distnb.client.handle.array import Array, create, numeric
from distnb.client.record.namespace import check_device
from distnb.client.session.current import need
from distnb.client.session.session import Session
from distnb.common.errors import explain
from distnb.geometry.layout import make_layout
from distnb.wire.protocol import Ask

__all__ = ["from_parts"]


def from_parts(parts: Any, *, session: Session | None = None, device: str | None = None) -> Array:
    """Make an array of parts, one for each engine, joined along the first axis.

    The layout is irregular along axis 0 (block where the lengths agree with it). Engines are sent
    their parts; what they have already is copied where it is.

    Parameters
    ----------
    parts : list of array_like, or str
        One array for each engine (lengths may differ, and be 0), or the name of a variable that
        each engine has in its ``%px`` namespace.
    session : Session, optional
        Where it is made; by default the current one.
    device : str, optional
        ``'cpu'``, the only one there is, as the array API standard asks.

    Returns
    -------
    DistArray
        As long along the first axis as all parts together.

    Raises
    ------
    ValueError
        If parts do not agree in dtype and in the other axes, or are not as many as engines.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.from_parts([[1, 2, 3], [4]])
    [1 2 3 4]
    (4,) int64, 32 B, elements in uneven blocks on 2 engines
    """
    check_device(device)
    at = need(session)
    if isinstance(parts, str):
        found = at.ask(lambda slot: Ask(slot, "describe", (parts,)))
        for rank, (shape, kind) in enumerate(found):
            if shape is None:
                raise TypeError(
                    explain(
                        f"variable {parts!r} on rank {rank}",
                        kind,
                        "a NumPy array",
                        "set it with %px",
                    )
                )
        shapes = [tuple(shape) for shape, _ in found]
        kinds = [np.dtype(kind) for _, kind in found]
        return _joined(at, shapes, kinds, ("local", parts), None)
    if not np.iterable(parts):
        got, do = type(parts).__name__, "give one for each engine"
        expected = f"{at.size} arrays, or the name of a variable of the engines"
        raise TypeError(explain("parts", got, expected, do))
    arrays = [np.asarray(p) for p in parts]
    return _joined(at, [a.shape for a in arrays], [a.dtype for a in arrays], None, arrays)


def _joined(at: Session, shapes: list[Any], kinds: list[np.dtype], how: Any, arrays: Any) -> Array:
    """Make the array of parts with these shapes and dtypes."""
    good = len(shapes) == at.size and all(s and s[1:] == shapes[0][1:] for s in shapes)
    if not good or len(set(kinds)) > 1:
        raise ValueError(
            explain(
                "parts",
                [f"{s} {k}" for s, k in zip(shapes, kinds, strict=True)],
                f"{at.size} arrays that agree but for the length of axis 0",
                "give one for each engine",
            )
        )
    cuts = [0]
    for s in shapes:
        cuts.append(cuts[-1] + s[0])
    shape = (cuts[-1], *shapes[0][1:])
    layout = make_layout(shape, at.size, ("irregular", tuple(cuts)))
    kind = numeric(kinds[0])
    if how is None:
        how = ("data", [np.array(a, kind, order="C", copy=True) for a in arrays])
    return create(at, shape, kind, layout, how)
