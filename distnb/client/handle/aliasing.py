"""Views of shapes and bytes, which NumPy has, and views of a base do not tell."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from distnb.client.handle.array import Array, hosted
from distnb.client.session.bases import Base
from distnb.geometry.layout import in_notebook
from distnb.geometry.views import View

__all__ = ["copy_of", "look_at"]


def look_at(x: Array, near: np.ndarray) -> Any:
    """Return an array of what NumPy made of the elements of one in the notebook.

    If that is a view it stays one: what is written into either is seen in both.
    """
    if near.base is None or not np.may_share_memory(near, x.near):
        return hosted(x.session, near)
    base = Base.reached(x.session, near, in_notebook(near.ndim))
    base.join(x.dbase)
    found = Array.made(base, View.whole(near.shape), x.writeable and near.flags.writeable)
    found._near = found._whole = near
    return found


def copy_of(x: Array, found: Any) -> Any:
    """Return a copy where NumPy would give a view; it refuses to be written while ``x`` is there.

    What is written into the copy would not be seen there.
    """
    found.origin = weakref.ref(x.dbase)
    if found._near is not None:
        found._near.flags.writeable = False
    del found.writeable
    return found
