"""Arrays of other libraries, which read what an index of slices shows, wherever they have it from.

They travel pickled, as functions of the user's do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from distnb.formats.stored import Box

__all__ = ["Called", "Elements"]


class Elements:
    """A function that reads a box of an object into an array.

    >>> out = np.zeros((1, 2))
    >>> Elements(np.arange(6).reshape(2, 3))((range(1, 2), range(0, 3, 2)), out)
    >>> out
    array([[3., 5.]])
    """

    def __init__(self, source: Any) -> None:
        self.source = source

    def __call__(self, box: Box, out: np.ndarray) -> None:
        """Read a box."""
        out[...] = np.asarray(self.source[tuple([slice(r.start, r.stop, r.step) for r in box])])


class Called:
    """A reader that calls such a function."""

    def __init__(self, function: Callable[[Box, np.ndarray], object]) -> None:
        self._function = function

    def read(self, box: Box, out: np.ndarray) -> None:
        """Read a box."""
        self._function(box, out)

    def close(self) -> None:
        """Do nothing: nothing is open between two calls."""
