"""Text to numbers: blocks of whole lines, by the parsers of NumPy, of Arrow and of SciPy."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from distnb.formats.lines import Given, Quotes, blocks, located, refused
from distnb.formats.stored import module

__all__ = [
    "PARSERS",
    "blanks_of",
    "dtype_of",
    "kinds_of",
    "market_info",
    "quotes_of",
    "share",
    "table_of",
    "without_comments",
]


def _rows(
    reader: Callable[..., Any], text: bytes, dtype: str, options: dict[str, Any], first: str
) -> list[np.ndarray]:
    """Return rows as an array of two axes, as they are behind the first row of the file.

    So NumPy itself finds rows of another length, and takes nothing for an empty file.
    """
    # Lines end where they do in files: str.splitlines() knows more ends.
    lines = list(io.TextIOWrapper(io.BytesIO(text), options["encoding"]))
    given = {k: v for k, v in options.items() if k != "encoding"}
    return [reader([first, *lines], dtype=np.dtype(dtype), ndmin=2, **given)[1:]]


def blanks_of(parser: str, delimiter: object) -> str | None:
    r"""Return what a line has nothing else than if NumPy passes over it; None for all blanks.

    >>> blanks_of("loadtxt", ","), blanks_of("genfromtxt", ","), blanks_of("genfromtxt", 3)
    ('\r\n', ' \r\n', '\r\n')
    """
    if not delimiter:
        return None
    return " \r\n" if parser == "genfromtxt" and isinstance(delimiter, str) else "\r\n"


def _without(text: bytes, comments: str | Sequence[str]) -> bytes:
    """Return a text without comments."""
    marks = [comments] if isinstance(comments, str) else comments
    for mark in [m.encode() for m in marks]:
        if mark and mark in text:
            text = re.sub(re.escape(mark) + rb"[^\r\n]*", b"", text)
    return text


# -- tables ------------------------------------------------------------------------------------


def _csv() -> Any:
    import pyarrow.csv

    return pyarrow.csv


def quotes_of(options: dict[str, Any]) -> Given | None:
    """Return what fields are quoted by; None if by nothing."""
    quote = options["quote"]
    return (quote, options["delimiter"], options["comment"]) if quote else None


def _unsigned(text: bytes, options: dict[str, Any]) -> bytes:
    """Return text whose numbers have no plus sign: Arrow has floats for integers with one.

    >>> _unsigned(b"+5,-3,1e+3", {"delimiter": ",", "quote": None})
    b'5,-3,1e+3'
    """
    before = [b"\n", *[options[k].encode() for k in ("delimiter", "quote") if options[k]]]
    for mark in [mark for mark in before if mark + b"+" in text]:
        text = re.sub(re.escape(mark) + rb"\+(?=[\d.])", mark, text)
    return text[1:] if re.match(rb"\+[\d.]", text) else text


def _quotes_in(text: bytes, options: dict[str, Any]) -> Quotes | None:
    """Return how fields are quoted, if some of a text may be."""
    given = quotes_of(options)
    quotes = Quotes(*given) if given else None
    return quotes if quotes is not None and text in quotes else None


def without_comments(text: bytes, options: dict[str, Any]) -> bytes:
    r"""Return a text without its comments; what begins one does not in quotes.

    >>> without_comments(b'"a#1",b # c\n', {"comment": "#", "quote": '"', "delimiter": ","})
    b'"a#1",b \n'
    """
    if not options["comment"]:
        return text
    quotes = _quotes_in(text, options)
    return quotes.without_comments(text) if quotes else _without(text, options["comment"])


def _without_blank(text: bytes, quotes: Quotes | None, delimiter: str) -> bytes:
    r"""Return a text with nothing in lines of blanks, over which pandas passes.

    >>> _without_blank(b"  \n1, 2\n \t\r\n 3,4", None, ",")
    b'\n1, 2\n\r\n 3,4'
    """
    blanks = [mark for mark in (b" ", b"\t") if mark != delimiter.encode()]
    if not any(mark in text for mark in blanks):
        return text
    begun = b"\n" + text
    lines = re.compile(rb"\n[%b]+(?=[\r\n]|\Z)" % b"".join(blanks))
    if not lines.search(begun):
        return text
    shown = b"\n" + quotes.masked(text)[0] if quotes else begun
    cuts = [0, *[k for found in lines.finditer(shown) for k in (found.start() + 1, found.end())]]
    ends = [*cuts[1:], len(begun)]
    return b"".join([begun[i:j] for i, j in zip(cuts[::2], ends[::2], strict=True)])[1:]


def table_of(
    text: bytes,
    names: Sequence[str],
    wanted: Sequence[str],
    kinds: dict[str, str],
    options: dict[str, Any],
) -> Any:
    """Return columns as Arrow's table; those without a kind have the type that Arrow finds.

    The kind ``"U"`` is the text itself.
    """
    csv = module(_csv, "read_csv()", "pyarrow", "csv")
    from pyarrow import from_numpy_dtype, py_buffer, string

    quotes = _quotes_in(text, options)
    quoted = quotes is not None
    text = without_comments(_without_blank(text, quotes, options["delimiter"]), options)
    if text.isspace():
        text = b""
    return csv.read_csv(
        py_buffer(text or b"\n"),
        csv.ReadOptions(use_threads=False, column_names=list(names), block_size=1 << 22),
        csv.ParseOptions(
            delimiter=options["delimiter"],
            quote_char=options["quote"] or False,
            newlines_in_values=quoted,  # which takes longer
        ),
        csv.ConvertOptions(
            include_columns=list(wanted),
            column_types={
                k: string() if v == "U" else from_numpy_dtype(np.dtype(v)) for k, v in kinds.items()
            },
            null_values=list(options["missing"]),
            decimal_point=options["decimal"],
        ),
    )


#: Arrow's names of types that differ from NumPy's.
_ARROWS = {"double": "f8", "float": "f4", "halffloat": "f2", "null": "f8"}


def dtype_of(name: str) -> str | None:
    """Return the dtype of a type of Arrow; None if it is no number's.

    >>> dtype_of("double"), dtype_of("int16"), dtype_of("timestamp[ns]")
    ('<f8', '<i2', None)
    """
    if name in _ARROWS:
        return np.dtype(_ARROWS[name]).str
    return np.dtype(name).str if re.fullmatch("bool|u?int(8|16|32|64)", name) else None


def kinds_of(
    text: bytes, names: Sequence[str], wanted: Sequence[str], options: dict[str, Any]
) -> dict[str, str | None]:
    """Return the dtypes of columns as Arrow finds them; None for those that are no numbers.

    Arrow has floats for integers of 64 bits without a sign, which these do not hold.
    """
    text = _unsigned(text, options)
    found = table_of(text, names, wanted, {}, options)
    kinds = {field.name: dtype_of(str(field.type)) for field in found.schema}
    for name in [n for n in wanted if kinds[n] == "<f8" and _are_long(found[n])]:
        texts = table_of(text, names, [name], {name: "U"}, options)[name].drop_null()
        if all(map(_is_of_64_bits, texts.to_pylist())):  # those with a sign are an error then
            kinds[name] = "<u8"
    return kinds | dict.fromkeys(_in_hex(text, names, found, options))


def _are_long(column: Any) -> bool:
    """Tell whether floats may be integers that need all 64 bits."""
    given = column.drop_null().to_numpy()
    return bool((given >= 2.0**63).any()) and bool((given == np.floor(given)).all())


def _in_hex(text: bytes, names: Sequence[str], table: Any, options: dict[str, Any]) -> list[str]:
    """Return the columns in which Arrow took ``0xff`` for an integer: 64 bits it takes as signed.

    For pandas and NumPy these are text.
    """
    if b"x" not in text and b"X" not in text:  # of "0x" a search stops at each 0
        return []
    import pyarrow.compute as pc

    whole = [f.name for f in table.schema if re.fullmatch(r"u?int\d+", str(f.type))]
    texts = table_of(text, names, whole, dict.fromkeys(whole, "U"), options) if whole else {}
    return [n for n in whole if pc.any(pc.match_substring(texts[n], "x", ignore_case=True)).as_py()]


def _table(
    text: bytes,
    names: Sequence[str],
    wanted: Sequence[str],
    kinds: dict[str, str],
    free: frozenset[str],
    options: dict[str, Any],
) -> list[np.ndarray]:
    """Return columns; those in ``free`` are floats where they have to be."""

    def fails(name: str) -> bool:
        try:
            table_of(text, names, [name], {name: kinds[name]}, options)
        except ValueError:
            return True
        return False

    try:
        table = table_of(text, names, wanted, kinds, options)
    except ValueError:  # an integer column may have signs or fractions later on
        if (plain := _unsigned(text, options)) != text:
            return _table(plain, names, wanted, kinds, free, options)
        later = [
            k for k in wanted if k in free and kinds[k] != "|b1"
        ]  # which are text, with numbers
        wider = kinds | {k: "<f8" for k in later if fails(k)}
        if wider == kinds:
            raise
        table = table_of(text, names, wanted, wider, options)
        for name in [n for n in wanted if wider[n] != kinds[n]]:
            texts = table_of(text, names, [name], {name: "U"}, options)[name]
            _check_rounding(name, np.dtype(kinds[name]), table[name], texts)
    if hexadecimal := _in_hex(text, names, table, options):
        raise ValueError(f"a hexadecimal number in column {hexadecimal[0]!r}")
    return [_column(table[name], name, kinds[name], name in free) for name in wanted]


_WHOLE = re.compile(r"\s*[+-]?\d+\s*")


def _is_of_64_bits(text: str) -> bool:
    """Tell whether a field is an integer of 64 bits, with a sign or without."""
    return _WHOLE.fullmatch(text) is not None and -(2**63) <= int(text) < 2**64


def _check_rounding(name: str, kind: np.dtype, floats: Any, texts: Any) -> None:
    """Raise ValueError if what does not fit an integer dtype is another integer of 64 bits.

    Engines whose lines have none of these would give integers, and all together rounded floats.
    """
    if kind.kind not in "iu":
        return
    found, bounds = floats.to_numpy(), np.iinfo(kind)
    for k in np.flatnonzero((found < float(bounds.min)) | (found >= float(bounds.max))).tolist():
        text = str(texts[k])
        if _is_of_64_bits(text) and not bounds.min <= int(text) <= bounds.max:
            exact = "'u8', or " if kind.kind == "i" else ""
            do = f"give dtype={{{name!r}: ...}}: {exact}'f8' to round"
            raise ValueError(f"{text} is no {kind}, as other lines; {do}")


def _column(column: Any, name: str, kind: str, free: bool) -> np.ndarray:
    """Return a column as an array; what is missing is NaN."""
    missing = column.null_count > 0
    if missing and np.dtype(kind).kind not in "fc" and not free:
        raise ValueError(f"column {name!r} is missing, and {np.dtype(kind)} has no NaN")
    if missing and str(column.type) == "bool":
        column = column.cast("int8")
    found = column.to_numpy()
    return found.astype(float) if missing and found.dtype.kind != "f" else found


# -- triplets ----------------------------------------------------------------------------------


#: The end of a line, and what is blank, the same as for bytes.strip().
_END, _BLANKS = b"\n"[0], np.frombuffer(b" \t\r\n\v\f", np.uint8)
#: Bytes of text that SciPy parses at a time: what is made of them stays in the cache.
_PIECE = 1 << 20


def _market(text: bytes, *about: Any) -> list[np.ndarray]:
    """Return rows, columns and elements of Matrix Market's lines, with both halves."""
    found, at = list[tuple[np.ndarray, ...]](), 0
    while at < len(text) or not found:
        cut = text.find(b"\n", at + _PIECE) + 1 or len(text)
        found.append(_triplets(text[at:cut], *about))
        at = cut
    return [np.concatenate(several) for several in zip(*found, strict=True)]


def _triplets(
    text: bytes, shape: tuple[int, int], field: str, symmetry: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return those of a piece; SciPy is told how many lines there are, which are not empty."""
    from scipy.io import mmread

    if 0 in text:  # which ends a line for SciPy's parser, and it reads on behind the text
        raise ValueError("Invalid character: got a byte that is 0, expected text")
    if text and not text.endswith(b"\n"):
        text += b"\n"  # without one SciPy's parser may read on behind the text, and crash
    _check_numbers(text)
    marks = np.frombuffer(b"\n" + text, np.uint8)
    ends = marks == _END
    if (ends[:-1] & np.isin(marks[1:], _BLANKS)).any():
        return _triplets(_without_empty(text), shape, field, symmetry)
    count = np.count_nonzero(ends) - 1
    head = f"%%MatrixMarket matrix coordinate {field} {symmetry}\n{shape[0]} {shape[1]} {count}\n"
    try:
        found = mmread(io.BytesIO(head.encode() + text))
    except (ValueError, OverflowError) as error:  # it counts lines from this head on
        raise ValueError(re.sub(r"^Line \d+: ", "", str(error))) from None
    return found.row, found.col, found.data


#: Bytes that lines of most files have, and lines of good numbers of any kind.
_COMMON = b"0123456789+-.eE \t\r\n"
_LINES = re.compile(
    rb"(?:(?:[ \t\v\f]*+(?:[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|[-+]?(?:nan|inf|infinity))"
    rb"(?=\s))*+[ \t\v\f]*+\r*\n)*+",
    re.IGNORECASE,
)


def _check_numbers(text: bytes) -> None:
    """Raise ValueError if a line has more than numbers: SciPy's parser passes over the rest of it.

    Lines are looked at one by one only if a byte is rare, or an exponent or a sign out of place.
    """
    if (text.translate(None, _COMMON) or _breaks_off(text)) and not _LINES.fullmatch(text):
        raise ValueError("Invalid number")


def _breaks_off(text: bytes) -> bool:
    """Tell whether an exponent has no digit, or a sign is within a number."""
    marks = np.frombuffer(text + b"  ", np.uint8)
    digits, signs = marks - np.uint8(b"0"[0]) < 10, (marks == b"-"[0]) | (marks == b"+"[0])
    exponents = marks | 32 == b"e"[0]
    bare = exponents[:-2] & ~digits[1:-1] & ~(signs[1:-1] & digits[2:])
    within = signs[1:] & ~exponents[:-1] & (marks[:-1] > b" "[0])
    return bool(bare.any() or within.any())


def _numbers(text: bytes) -> list[np.ndarray]:
    """Check lines of numbers, and make nothing of them."""
    _check_numbers(text if text.endswith(b"\n") else text + b"\n")
    return [np.empty(0)]


def _without_empty(text: bytes) -> bytes:
    """Return lines that are not empty, without the blanks before them."""
    found = [line.strip() for line in text.split(b"\n")]
    return b"".join([line + b"\n" for line in found if line])


def market_info(head: bytes) -> tuple[int, int, int, str, str, str]:
    """Return rows, columns, lines, format, field and symmetry that a head tells of."""
    from scipy.io import mminfo

    found: tuple[int, int, int, str, str, str] = mminfo(io.BytesIO(head))
    return found


#: Name -> what makes arrays of a block of lines, all as long.
PARSERS: dict[str, Callable[..., list[np.ndarray]]] = {
    "genfromtxt": partial(_rows, np.genfromtxt),
    "loadtxt": partial(_rows, np.loadtxt),
    "market": _market,
    "numbers": _numbers,
    "table": _table,
}


def share(
    path: str,
    start: int,
    rank: int,
    size: int,
    quotes: Given | None,
    parser: str,
    args: Sequence[Any],
    within: bool = False,
    note: Callable[[int], None] = lambda nbytes: None,
) -> list[list[np.ndarray]]:
    """Return what one of ``size`` ranks parses: for each array its pieces.

    ``note`` is called with the bytes of each block; ``within``: whether the share begins in quotes.
    """

    def parse(text: bytes) -> list[np.ndarray]:
        return PARSERS[parser](text, *args)

    found, known = [], quotes and Quotes(*quotes)
    for at, text in blocks(path, start, rank, size, known or None, within):
        try:
            found.append(parse(text))
        except _BAD:
            shown = known.masked(text)[0] if known else text
            place = located(text, parse, shown)
            why = _reason(parse, text[place : shown.find(b"\n", place) + 1 or None])
            raise refused(path, at + place, text[place:], why, "numbers") from None
        note(len(text))
    return [[*several] for several in zip(*(found or [parse(b"")]), strict=True)]


#: What parsers raise for a text that they do not take.
_BAD = (ValueError, TypeError, OverflowError, IndexError)


#: What genfromtxt raises of a line, which is the second one for it.
_TOLD = re.compile(r"Some errors were detected !\n *Line #\d+ \(got (.*)\)")


def _reason(parse: Callable[[bytes], Any], line: bytes) -> str:
    """Return why a line cannot be parsed."""
    try:
        parse(line.rstrip(b"\n") + b"\n")
    except _BAD as error:
        told = _TOLD.sub(r"\1", str(error)).splitlines()[0]
        return re.sub(r" at row \d+(;.*)?", "", told).replace(", column", " in column")
    return "not as the lines before it"
