"""Text in parts that end where lines do, of plain and of compressed files."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import IO, Any

from distnb.common.errors import explain
from distnb.formats.stored import module

__all__ = ["BLOCK", "blocks", "first_lines", "line_of", "located", "open_text", "refused"]

#: Bytes of text that are parsed at a time.
BLOCK = 1 << 24


@contextmanager
def open_text(path: str) -> Iterator[Any]:
    """Open a file of text, plain, or compressed by gzip or Zstandard."""
    with open(path, "rb") as file:
        magic = file.read(4)
        file.seek(0)
        if magic[:2] == b"\x1f\x8b":
            import gzip  # few need it

            with gzip.GzipFile(fileobj=file) as packed:
                yield packed
        elif magic == b"\x28\xb5\x2f\xfd":
            zstd = module(_zstandard, f"file {path}", "zstandard", "zstd")
            yield zstd.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        else:
            yield file


def _zstandard() -> Any:
    import zstandard

    return zstandard


def first_lines(path: str, n: int, skip: int = 0) -> tuple[int, list[bytes]]:
    """Return some lines after those to be skipped, and where they begin."""
    with open_text(path) as file:
        lines = _lines(file)
        start = sum([len(line) for line in islice(lines, skip)])
        return start, list(islice(lines, n))


def _lines(file: Any) -> Iterator[bytes]:
    rest = b""
    while some := file.read(1 << 16):
        found = (rest + some).split(b"\n")
        rest = found.pop()
        yield from [line + b"\n" for line in found]
    if rest:
        yield rest


def blocks(path: str, start: int, rank: int, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield this rank's share of the lines from a place on, block by block, with their places.

    Shares have as many bytes; a line belongs to the share in which it begins.
    """
    end = _length(path)
    low, high = (start + (end - start) * r // size for r in (rank, rank + 1))
    with open_text(path) as file:
        at, rest = _first_line(file, low, start)
        while at < high:
            some = file.read(BLOCK)
            text = rest + some
            if not text:
                return
            cut = _cut(text, high - at, not some)
            if cut:
                yield at, text[:cut]
            at, rest = at + cut, text[cut:]


def _length(path: str) -> int:
    """Return how many bytes of text a file has; one that is compressed is read for that."""
    with open_text(path) as file:
        if isinstance(file, io.BufferedReader):
            return file.seek(0, 2)
        end = 0
        while some := file.read(1 << 20):
            end += len(some)
        return end


def _first_line(file: IO[bytes], low: int, start: int) -> tuple[int, bytes]:
    """Return where the first line begins that does from a place on, and what was read of it."""
    if low == start:
        file.seek(start)
        return start, b""
    at = low - 1
    file.seek(at)
    while some := file.read(1 << 16):
        cut = some.find(b"\n") + 1
        if cut:
            return at + cut, some[cut:]
        at += len(some)
    return at, b""


def _cut(text: bytes, most: int, last: bool) -> int:
    """Return where the lines end that begin within so many bytes, as far as they are there."""
    if len(text) >= most:
        cut = text.find(b"\n", most - 1) + 1
        if cut:
            return cut
    return len(text) if last else text.rfind(b"\n") + 1


def located(text: bytes, parse: Callable[[bytes], Any]) -> int:
    r"""Return where in a text the first line begins that cannot be parsed by itself.

    >>> located(b"1\n2\nx\n3\n", lambda some: [float(s) for s in some.split()])
    4
    """
    low, high = 0, len(text)
    while True:
        middle = text.find(b"\n", (low + high) // 2, high - 1) + 1
        middle = middle or text.rfind(b"\n", low, (low + high) // 2) + 1
        if not low < middle < high:
            return low
        try:
            parse(text[low:middle])
        except Exception:  # whatever the parser raises
            high = middle
        else:
            low = middle


def line_of(path: str, at: int) -> int:
    """Return the number of the line that begins at a place of a file, from 1 on."""
    found = 1
    with open_text(path) as file:
        while at > 0 and (some := file.read(min(at, 1 << 20))):
            found += some.count(b"\n")
            at -= len(some)
    return found


def refused(path: str, at: int, text: bytes, why: object, wanted: str) -> ValueError:
    """Return the error for a line."""
    line = text.split(b"\n", 1)[0][:60].decode("latin-1").rstrip()
    return ValueError(
        explain(f"file {path}, line {line_of(path, at)}", f"{line!r} ({why})", wanted, "mend it")
    )
