"""Text in parts that end where lines do, of plain and of compressed files."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import IO, Any, TypeAlias

import numpy as np

from distnb.common.errors import explain
from distnb.formats.stored import module

__all__ = [
    "BLOCK",
    "Given",
    "Quotes",
    "blocks",
    "bytes_of_share",
    "ends_within",
    "first_lines",
    "line_of",
    "located",
    "open_text",
    "refused",
    "turn_of",
]

#: Bytes of text that are parsed at a time: they, and what is made of them, reuse the same memory.
BLOCK = 1 << 22
#: Bytes that are looked at for quotes at a time: they stay in the cache.
_GLANCE = 1 << 20
#: Bytes of a row with quotes: a quote that nobody closed makes all behind it one row.
_LONGEST = 1 << 26
#: Bytes that the header of a frame of Zstandard has at most.
_FRAME = 18
_END, _SPACE = b"\n "
#: Lines that end at a line feed.
_ENDED = re.compile(rb"[^\n]*\n|[^\n]+")
#: What text is quoted by: quote, delimiter, and what begins a comment, if anything does.
Given: TypeAlias = tuple[str, str, str | None]
#: Whether a text ends within quotes, for one that begins without and one that begins within.
Turn: TypeAlias = tuple[bool | None, bool | None]


@contextmanager
def open_text(path: str) -> Iterator[Any]:
    """Open a file of text, plain, or compressed by gzip or Zstandard."""
    with open(path, "rb") as file:
        magic = file.read(4)
        file.seek(0)
        if magic[:2] == b"\x1f\x8b" or path.endswith(".gz"):
            import gzip  # few need it

            with gzip.GzipFile(fileobj=file) as packed, _whole(path):
                yield packed
        elif magic == b"\x28\xb5\x2f\xfd" or _is_skipped(magic):
            zstd = module(_zstandard, f"file {path}", "zstandard", "zstd")
            with _whole(path, zstd.ZstdError):
                _check_frames(file, zstd)
                yield zstd.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        else:
            yield file


@contextmanager
def _whole(path: str, *others: Any) -> Iterator[None]:
    """Raise ValueError that names a file whose compressed bytes are no good."""
    import zlib  # few need it

    try:
        yield
    except (EOFError, OSError, zlib.error, *others) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the disk's
            raise
        told = explain(f"file {path}", error, "good compressed text", "get it again")
        raise ValueError(told) from None


def _check_frames(file: Any, zstd: Any) -> None:
    """Raise EOFError if a file of Zstandard ends within a frame: the library ends there, too."""
    size, at = file.seek(0, os.SEEK_END), 0
    while at < size:
        file.seek(at)
        head = file.read(_FRAME)
        if _is_skipped(head):
            at += 8 + int.from_bytes(head[4:8], "little")
            continue
        about, last = zstd.get_frame_parameters(head), False
        at += zstd.frame_header_size(head)
        while not last:
            file.seek(at)
            block = file.read(3)
            if len(block) < 3:
                break
            word = int.from_bytes(block, "little")
            last, repeated = bool(word & 1), word >> 1 & 3 == 1
            at += 3 + (1 if repeated else word >> 3)
        at += 4 * about.has_checksum if last else size
    if at > size:
        raise EOFError("the file ends within a frame")
    file.seek(0)


def _is_skipped(head: bytes) -> bool:
    """Tell whether a frame of Zstandard holds no text: pzstd begins files with one."""
    return head[1:4] == b"\x2a\x4d\x18" and head[0] >> 4 == 5


def _zstandard() -> Any:
    import zstandard

    return zstandard


def first_lines(path: str, n: int, skip: int = 0, returns: bool = True) -> tuple[int, list[bytes]]:
    """Return some lines after those to be skipped, and where they begin.

    ``returns``: whether a carriage return alone ends one, too, as for NumPy and pandas.
    """
    with open_text(path) as file:
        lines = _lines(file, returns)
        start = sum([len(line) for line in islice(lines, skip)])
        return start, list(islice(lines, n))


def _lines(file: Any, returns: bool) -> Iterator[bytes]:
    rest = b""
    while some := file.read(1 << 16):
        text = rest + some
        *found, rest = text.splitlines(keepends=True) if returns else _ENDED.findall(text)
        yield from found  # the last one may go on
    if rest:
        yield rest


def blocks(
    path: str,
    start: int,
    rank: int,
    size: int,
    quotes: Quotes | None = None,
    within: bool = False,
    block: int = 0,
) -> Iterator[tuple[int, bytes]]:
    """Yield this rank's share of the lines from a place on, block by block, with their places.

    Shares have as many bytes; a line belongs to the share in which it begins. With ``quotes`` lines
    are those that end outside of them; ``within`` tells whether the first one in the share
    begins in some.
    """
    end = _length(path)
    low, high = (start + (end - start) * r // size for r in (rank, rank + 1))
    with open_text(path) as file:
        at, rest = _first_line(file, low, start)
        if within and quotes is not None:
            at, rest = _behind_quotes(file, path, at, rest, quotes)
        while at < high:
            some = file.read(block or BLOCK)
            text = rest + some
            if not text:
                return
            shown = text if quotes is None else _masked(path, at, text, quotes, not some)
            cut = _cut(shown, high - at, not some)
            if cut:
                yield at, text[:cut]
            at, rest = at + cut, text[cut:]


def _masked(path: str, at: int, text: bytes, quotes: Quotes, last: bool) -> bytes:
    """Return a text without the line ends in quotes; raise ValueError if these are never closed."""
    shown, within = quotes.masked(text)
    row = shown.rfind(b"\n") + 1
    if within and (last or len(text) - row > _LONGEST):
        raise refused(path, at + row, text[row:], "a quote is not closed", "as many as open")
    return shown


def _behind_quotes(
    file: IO[bytes], path: str, at: int, text: bytes, quotes: Quotes
) -> tuple[int, bytes]:
    """Return where the first line begins behind what begins in quotes, and what was read of it."""
    some = file.read(_GLANCE)
    while True:
        text += some
        cut = quotes.masked(text, True)[0].find(b"\n") + 1
        if cut or not some:
            return at + (cut or len(text)), text[cut:] if cut else b""
        if len(text) > _LONGEST:
            raise refused(path, at, text, "a quote before it is not closed", "as many as open")
        some = file.read(len(text))


# -- quotes ------------------------------------------------------------------------------------


class Quotes:
    r"""How fields are quoted: a quote counts where a field begins, and twice within is a quote.

    >>> Quotes('"', ",").masked(b'1,"a\nb"\n2,5" long\n')
    (b'1,"a b"\n2,5" long\n', False)
    """

    def __init__(self, quote: str, delimiter: str, comment: str | None = None) -> None:
        self._quote, self._comment = quote.encode(), (comment or "").encode()
        ends = [delimiter.encode(), b"\r", b"\n"]
        self._before = [each[0] for each in (self._quote, *ends)]
        q, begins = re.escape(self._quote), b"".join(map(re.escape, ends))
        field = b"(?<![^%b])%b(?:[^%b]++|%b%b)*+(?P<end>%b?)" % (begins, q, q, q, q, q)
        note = b"|%b[^\r\n]*" % re.escape(self._comment) if comment else b""
        self._parts = re.compile(field + note)
        self._rest = re.compile(b"(?:[^%b]++|%b%b)*+(?P<end>%b?)" % (q, q, q, q))

    def __contains__(self, text: bytes) -> bool:
        return self._quote in text

    def masked(self, text: bytes, within: bool = False) -> tuple[bytes, bool]:
        """Return a text with blanks for line ends in quotes, and whether it ends in quotes."""
        if text not in self:
            return (_blank(text) if within else text), within
        ends = self._turn(text)[within]
        if ends is None:
            return self._by_fields(text, within)
        shown = np.array(np.frombuffer(text, np.uint8))
        lines = np.flatnonzero(shown == _END)
        before = np.searchsorted(np.flatnonzero(shown == self._quote[0]), lines)
        shown[lines[before & 1 != within]] = _SPACE
        return shown.tobytes(), ends

    def without_comments(self, text: bytes) -> bytes:
        """Return a text without its comments; what begins one does not in quotes."""
        return self._parts.sub(lambda found: b"" if found["end"] is None else found[0], text)

    def turn(self, text: bytes, then: Turn = (False, True)) -> Turn:
        """Return how a text ends that comes after another; None where only ``masked`` tells."""
        if text not in self:
            return then
        own = self._turn(text)
        return _after(own, then[0]), _after(own, then[1])

    def _turn(self, text: bytes) -> Turn:
        """Return what counting quotes tells: every other one has to be where a field begins."""
        if self._comment and self._comment in text:
            return None, None
        marks = np.frombuffer(text, np.uint8)
        at = np.flatnonzero(marks == self._quote[0])
        good = np.isin(marks[at - 1], self._before) | (at == 0)
        odd = bool(len(at) & 1)
        return (odd if good[::2].all() else None), (not odd if good[1::2].all() else None)

    def _by_fields(self, text: bytes, within: bool) -> tuple[bytes, bool]:
        """Do the same as ``masked`` one quoted field after the other."""
        begin, first = b"", self._rest.match(text)
        if within and first is not None:
            begin, text = _blank(first[0]), text[first.end() :]
            if not first["end"]:
                return begin, True
        last: list[Any] = []

        def show(found: re.Match[bytes]) -> bytes:
            last[:] = [found["end"]]
            return found[0] if found["end"] is None else _blank(found[0])

        shown = begin + self._parts.sub(show, text)
        return shown, last == [b""]


def _after(turn: Turn, before: bool | None) -> bool | None:
    return None if before is None else turn[before]


def _blank(text: bytes) -> bytes:
    return text.replace(b"\n", b" ")


def turn_of(
    path: str, start: int, rank: int, size: int, quotes: Quotes, look: Callable[[], None]
) -> Turn:
    """Return whether a share ends within quotes, if it begins without, or within; see ``Quotes``.

    The shares here are of all lines, wherever they end.
    """
    turn: Turn = (False, True)
    for _, text in blocks(path, start, rank, size, block=_GLANCE):
        look()
        turn = quotes.turn(text, turn)
    return turn


def ends_within(
    path: str,
    start: int,
    rank: int,
    size: int,
    quotes: Quotes,
    within: bool,
    look: Callable[[], None],
) -> bool:
    """Return the same where counting quotes does not tell."""
    for _, text in blocks(path, start, rank, size, block=_GLANCE):
        look()
        within = quotes.masked(text, within)[1]
    return within


def _length(path: str) -> int:
    """Return how many bytes of text a file has; one that is compressed is read for that."""
    with open_text(path) as file:
        if isinstance(file, io.BufferedReader):
            return file.seek(0, 2)
        end = 0
        while some := file.read(1 << 20):
            end += len(some)
        return end


def bytes_of_share(path: str, start: int, size: int) -> int:
    """Return about how many bytes of a file each rank parses; 0 of one that is compressed."""
    with open_text(path) as file:
        plain = isinstance(file, io.BufferedReader)
    return (os.path.getsize(path) - start) // size if plain else 0


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


def located(text: bytes, parse: Callable[[bytes], Any], shown: bytes = b"") -> int:
    r"""Return where in a text the first line begins that cannot be parsed by itself.

    ``shown`` has the line ends that count.

    >>> located(b"1\n2\nx\n3\n", lambda some: [float(s) for s in some.split()])
    4
    """
    low, high, shown = 0, len(text), shown or text
    while True:
        middle = shown.find(b"\n", (low + high) // 2, high - 1) + 1
        middle = middle or shown.rfind(b"\n", low, (low + high) // 2) + 1
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
    line = text.split(b"\n", 1)[0][:60].decode(errors="replace").rstrip()
    return ValueError(
        explain(f"file {path}, line {line_of(path, at)}", f"{line!r} ({why})", wanted, "mend it")
    )
