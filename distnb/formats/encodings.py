"""Elements as bytes whose number only the elements tell: deflated, and text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from distnb.formats import archives

__all__ = ["ENCODINGS", "lines"]

#: Rows that are made text at a time.
_ROWS = 4096
#: A format for whatever shows itself.
_SHOWN = re.compile(r"%[-+ #0-9.]*[sra]")


def lines(data: np.ndarray, row: str, encoding: str) -> Iterator[bytes]:
    """Yield rows as lines: ``row`` is the format of one, of all columns, with its newline."""
    rows = data.reshape(len(data), -1)
    plain = not _SHOWN.search(row)
    for low in range(0, len(rows), _ROWS):
        some = np.ascontiguousarray(rows[low : low + _ROWS])
        text = row * len(some)
        if some.dtype.kind == "c":
            some = some.view(some.real.dtype)
            text = (text % _numbers(some, plain)).replace("+-", "-")
        else:
            text = text % _numbers(some, plain)
        yield text.encode(encoding)


def _numbers(some: np.ndarray, plain: bool) -> tuple[Any, ...]:
    """Return numbers to be formatted; where they show themselves, as NumPy's scalars do."""
    return tuple(some.reshape(-1).tolist() if plain else some.flat)


#: Name -> what makes bytes of a part.
ENCODINGS: dict[str, Callable[..., Iterator[Any]]] = {
    "deflate": archives.deflated,
    "text": lines,
}
