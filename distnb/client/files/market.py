"""Matrix Market: triplets as text; each engine parses a share of the lines, and writes its own."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from distnb.client.files.members import put
from distnb.client.files.reading import once
from distnb.client.files.text import parsed
from distnb.client.files.writing import append, replacing
from distnb.client.handle.array import Array
from distnb.client.session.session import Session
from distnb.common.errors import explain
from distnb.formats.encodings import market_text, packed
from distnb.formats.lines import first_lines
from distnb.formats.stored import stamp_of
from distnb.formats.text import market_info

__all__ = ["Head", "head_of", "name_of", "read_triplets", "write_triplets"]

#: Ends of names of compressed files that are read, too.
_PACKED = (".gz", ".bz2", ".zst")
#: Lines in which the head of a file ends, most often.
_HEAD = 1000


class Head(NamedTuple):
    """What a file says of itself, and where its triplets begin."""

    shape: tuple[int, int]
    lines: int
    dense: bool
    field: str
    symmetry: str
    start: int


def head_of(path: str) -> Head:
    """Return what a file says of itself; raise ValueError, which names it, if it is not good."""
    stamp_of(path)
    text = b"".join(_head_lines(path))
    try:
        rows, columns, lines, kind, field, symmetry = market_info(text)
    except (ValueError, OverflowError) as error:
        wrong = error
    else:
        found = Head((rows, columns), lines, kind == "array", field, symmetry, len(text))
        if symmetry == "general" or rows == columns:
            return found
        wrong = ValueError(f"{rows} x {columns}, but {symmetry}")
    told = explain(f"file {path}, head", wrong, "that of a Matrix Market file", "check the file")
    raise ValueError(told) from None


def _head_lines(path: str) -> list[bytes]:
    """Return the lines up to that of lengths: the first without a percent sign."""
    most = _HEAD
    while True:
        _, lines = first_lines(path, most, returns=False)
        for k, line in enumerate(lines):
            if line.strip() and not line.lstrip().startswith(b"%"):
                return lines[: k + 1]
        if len(lines) < most:
            return lines
        most *= 8


def read_triplets(path: str, head: Head, session: Session) -> tuple[Array, Array, Array]:
    """Return elements, rows and columns: both halves of what is symmetric."""
    given = (head.shape, head.field, head.symmetry)
    rows, columns, data = parsed(session, path, head.start, "market", given, (0, 0, 0))
    there = len(data)
    if head.symmetry != "general":  # each line below the diagonal has made two
        there = (there + int((rows == columns).sum())) // 2
    if there != head.lines:
        told = f"{head.lines:,}, as its head says"
        do = "copy the file again: it may be cut off"
        raise ValueError(explain(f"file {path}", f"{there:,} elements", told, do))
    return data, rows, columns


def write_triplets(
    path: str,
    triplets: tuple[Array, Array, Array],
    shape: tuple[int, int],
    symmetry: str,
    options: dict[str, Any],
) -> None:
    """Write elements, rows and columns, which lie alike; ``options``: comment, field, precision.

    Compressed, if the name says so: the head, and each part, as a member of its own.
    """
    data, rows, columns = triplets
    suffix = os.path.splitext(path)[1]
    head = b"".join(packed([_head(data.dtype, shape, len(data), symmetry, options)], suffix))
    args = (shape, options.get("field"), options.get("precision"), suffix)
    with replacing(path, data.session) as name:
        once(data.session, put, name, 0, head)
        append(data, name, len(head), "market", args, (rows, columns))


def _head(
    dtype: np.dtype, shape: tuple[int, int], count: int, symmetry: str, options: dict[str, Any]
) -> bytes:
    """Return what SciPy writes before elements, which are zeros here."""
    some = np.zeros(min(count, 1), np.int32)
    above, _ = market_text((some.astype(dtype), (some, some)), shape, symmetry=symmetry, **options)
    return above + b"%d %d %d\n" % (*shape, count)


def name_of(path: str) -> str:
    """Return the name that SciPy gives a file; but those of compressed ones stay.

    >>> name_of("a"), name_of("a.mtx"), name_of("a.mtx.gz")
    ('a.mtx', 'a.mtx', 'a.mtx.gz')
    """
    bare, suffix = os.path.splitext(path)
    named = bare if suffix in _PACKED else path
    return path if named.endswith(".mtx") else f"{path}.mtx"
