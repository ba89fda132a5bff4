"""Reading arrays, and single elements, which are read where they lie if nothing came between."""

from __future__ import annotations

from typing import Any

import numpy as np

from distnb.client.handle import Handle, record_creation
from distnb.client.operations import copied
from distnb.client.placement import stay
from distnb.protocol import Create

__all__ = ["read", "taken"]


def taken(x: Handle) -> Any:
    """Return an element as it is now, which later writes do not change.

    It is a copy. But if it is read before anything else happens, it is read where it lies.
    """
    found = copied(x, x.dtype, stay(x, x.dtype))
    if found._base.host is not None:
        return found
    made = x.session.last(2)
    if len(made) == 2 and isinstance(made[0], Create) and made[0].base == found._base.handle:
        found._origin = (x, made)
    return found


def read(x: Handle) -> np.ndarray:
    """Return the elements of an array on the engines."""
    session, origin = x.session, x._origin
    x._origin = None
    if origin is None or not session.retract(origin[1]):
        return session.gather(x.operand, x.placed, x.dtype)
    x._base.lost = True  # until it is made from what is read
    value = session.gather(origin[0].operand, origin[0].placed, x.dtype)
    record_creation(x._base, ("fill", value.item()))
    x._base.lost = False
    return value
