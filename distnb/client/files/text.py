"""Text: each engine parses a share of the lines, and writes those of its own rows."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.batching.call_sites import from_users_line
from distnb.client.files.members import put
from distnb.client.files.numpys import File, path_of
from distnb.client.files.reading import once, told
from distnb.client.files.writing import append, is_stream, replacing
from distnb.client.handle.arguments import Dist, Grid
from distnb.client.handle.array import Array, create, storable
from distnb.client.handle.conversion import array_of, record_collective
from distnb.client.record.creation import asarray
from distnb.client.record.namespace import stands_for
from distnb.client.session.current import need
from distnb.client.session.session import Session
from distnb.common.config import config
from distnb.common.errors import explain
from distnb.formats.encodings import encoded, packed
from distnb.formats.lines import Given, first_lines
from distnb.formats.stored import stamp_of
from distnb.formats.text import blanks_of, share
from distnb.geometry.axes import Whole, cut_at
from distnb.geometry.layout import Grid as Ranks
from distnb.geometry.layout import Ints, Layout

__all__ = ["naming", "parsed"]

#: Lines in which the first row is to be.
_HEAD = 1000
#: Names of files that NumPy expands, and engines do not.
_PACKED = (".bz2", ".xz", ".lzma")


def parsed(
    session: Session,
    path: str,
    start: int,
    parser: str,
    args: tuple[Any, ...],
    inner: Ints,
    quotes: Given | None = None,
) -> list[Array]:
    """Return the arrays that engines parse, cut where their shares of the lines end.

    ``inner`` has for each array the length of its second axis, 0 if it has none.
    """
    if os.path.getsize(path) <= config.cutoff:
        arrays = share(path, start, 0, 1, quotes, parser, args)
        return [array_of(session, np.concatenate(pieces)) for pieces in arrays]
    p = session.size
    counts = told(session, 1 + len(inner))
    given = (path, stamp_of(path), start, quotes, parser, *args)
    record_collective("file.parse", (counts,), (), given)
    found = counts.to_numpy()
    cuts = (0, *accumulate(found[:, 0].tolist()))
    outs = []
    for k, columns in enumerate(inner):
        dtype = np.result_type(*[chr(code) for code in found[:, 1 + k]])
        more = (columns,) if columns else ()
        axes = (cut_at(cuts), *(Whole() for _ in more))
        layout = Layout(Ranks.of((p,)), axes, (0, *(-1 for _ in more)))
        outs.append(create(session, (cuts[-1], *more), dtype, layout, ("empty",), stays=True))
    record_collective("file.hold", outs, (counts,))
    return outs


def _by_engines(
    name: str,
    file: File,
    skip: int,
    dtype: DTypeLike,
    options: dict[str, Any],
    session: Session | None,
) -> Array | None:
    """Return the rows of a file; None if that is for NumPy, as of one that is small or no file."""
    path, kind = path_of(file), np.dtype(dtype)
    if path is None or not os.path.isfile(path) or not storable(kind) or path.endswith(_PACKED):
        return None
    wanted: Any = options.get("usecols")
    if options["encoding"] == "bytes" or not np.size(wanted):
        return None
    options["encoding"] = _code(options["encoding"])
    if "\n".encode(options["encoding"]) != b"\n":  # lines cannot be told apart by this byte
        return None
    start, lines = first_lines(path, _HEAD, skip)
    if any(line.endswith(b"\r") for line in lines[:1]):
        return None  # shares of engines end at other ends of lines
    found = _first_row(name, lines, kind, options)
    if found is None:
        return None
    columns, first = found
    given = (kind.str, options, first)
    return parsed(need(session), path, start, name, given, (columns,))[0]


def _code(encoding: str | None) -> str:
    """Return the encoding of a file of text, as Python opens it: without one the locale's."""
    if encoding is not None and encoding != "locale":
        return encoding
    import locale  # few need it

    return locale.getpreferredencoding(False)


def _first_row(
    name: str, lines: list[bytes], kind: np.dtype, options: dict[str, Any]
) -> tuple[int, str] | None:
    """Return how many columns the first row has, and its line; None if it is not good."""
    given = {k: v for k, v in options.items() if k != "encoding"}
    blanks = blanks_of(name, given["delimiter"])
    for line in lines:
        bare = text = line.decode(options["encoding"], "replace").replace("\r\n", "\n")
        for mark in _several(given["comments"]) or ():
            bare = bare.split(mark, 1)[0] if mark else bare
        if bare.strip(blanks):
            try:
                with np.errstate(all="ignore"):  # engines tell of it
                    columns = int(getattr(np, name)([text], dtype=kind, **given).size)
            except Exception:  # NumPy is to raise it, of the whole file
                return None
            return (columns, text) if columns else None
    return None


def _shaped(x: Array, ndmin: int, unpack: bool) -> Any:
    """Return rows with the axes that NumPy gives them."""
    if x.ndim > ndmin:
        x = x.squeeze()
    if x.ndim < ndmin:
        x = x.reshape((-1,) if ndmin == 1 else (-1, 1))
    return x.T if unpack else x


@stands_for(np.loadtxt)
def loadtxt(
    fname: File,
    dtype: DTypeLike = float,
    comments: str | Sequence[str] | None = "#",
    delimiter: str | None = None,
    converters: object = None,
    skiprows: int = 0,
    usecols: int | Sequence[int] | None = None,
    unpack: bool = False,
    ndmin: int = 0,
    encoding: str | None = None,
    max_rows: int | None = None,
    *,
    quotechar: str | None = None,
    like: object = None,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
) -> Any:
    """Read numbers from text: each engine parses a share of the lines.

    Rows lie where their lines were parsed, in irregular blocks; how many each engine has is read:
    this waits. With ``converters``, ``max_rows`` or ``quotechar``, and of what is no file or a
    small one, NumPy reads in the notebook. A file may be compressed by gzip or Zstandard.

    Parameters
    ----------
    fname : str, path, open file or sequence of lines
        The file, which all engines see.
    dtype : dtype
        Element type.
    comments : str or sequence of str, optional
        What begins a comment, up to the end of the line.
    delimiter : str, optional
        Between numbers; by default blanks.
    converters : callable or dict, optional
        What makes numbers of texts.
    skiprows : int
        Lines before the first that counts.
    usecols : int or sequence of int, optional
        Which columns; by default all.
    unpack : bool
        Whether to return the transpose, to be taken apart by columns.
    ndmin : {0, 1, 2}
        The least number of axes.
    encoding : str, optional
        Of the text.
    max_rows : int, optional
        How many rows; by default all.
    quotechar : str, optional
        What is around fields.
    like : optional
        Changes nothing.
    dist : bool, str, tuple, DistArray or layout, optional
        How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
        ``('*', 'block')``, or as another array; see :func:`distnb.array`.
    grid : int or tuple of int, optional
        Engines along each split axis.
    session : Session, optional
        Where it is made; by default the current one.

    Returns
    -------
    DistArray
        A row for each line; of one axis for one line or one column.

    Raises
    ------
    ValueError
        For a line that is no row of numbers; it is named.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.savetxt("x.txt", dnb.array([[1, 2], [3, 4]], dist="block"), "%d")
    ...     dnb.loadtxt("x.txt", int).to_numpy()
    array([[1, 2],
           [3, 4]])
    """
    text = {"comments": comments, "delimiter": delimiter, "encoding": encoding}
    others = {"converters": converters, "max_rows": max_rows, "quotechar": quotechar}
    found = None
    if all(x is None for x in others.values()) and ndmin in (0, 1, 2):
        options = text | {"comments": _several(comments), "usecols": usecols}
        found = _by_engines("loadtxt", fname, skiprows, dtype, options, session)
    if found is not None:
        return _laid(_shaped(found, ndmin, unpack), dist, grid)
    rows = {"skiprows": skiprows, "usecols": usecols, "unpack": unpack, "ndmin": ndmin}
    numpys: Any = np.loadtxt
    with naming(fname):
        whole = _plain(fname, from_users_line(numpys, fname, dtype, **text, **others, **rows))
    return asarray(whole, dist=dist, grid=grid, session=session)


@contextmanager
def naming(file: File) -> Iterator[None]:
    """Name the file in what NumPy raises."""
    path = path_of(file)
    try:
        yield
    except FileNotFoundError:
        raise
    except Exception as error:
        content = isinstance(error, ValueError | EOFError) or (
            type(error).__module__ in ("zlib", "_lzma")
            or (isinstance(error, OSError) and error.errno is None)  # of gzip and bz2
        )
        if path is None or path in str(error) or not content:
            raise
        if isinstance(error, UnicodeDecodeError):
            error.reason += f", in file {path}"
            raise
        raise ValueError(f"file {path}: {error}") from None


def _plain(file: File, found: object) -> Any:
    """Return what NumPy has read; raise TypeError for what is no array of numbers."""
    if isinstance(found, np.ma.MaskedArray):
        do = "give filling_values=, or use numpy.genfromtxt"
        raise TypeError(explain(f"file {path_of(file) or '(open)'}", "usemask=True", "no mask", do))
    if isinstance(found, np.ndarray) and found.dtype.names != () and not storable(found.dtype):
        named, kind = path_of(file), found.dtype
        got = f"text ({kind})" if kind.names is None else f"columns {kind.names} of several dtypes"
        do = "give dtype= and usecols=, or use distnb.read_csv"
        raise TypeError(explain(f"file {named or '(open)'}", got, "numbers of one dtype", do))
    return found


def _several(comments: str | Sequence[str] | None) -> list[str] | None:
    """Return what begins comments; NumPy takes bytes, too."""
    marks: Any = [comments] if isinstance(comments, str | bytes) else comments
    return marks and [m.decode("latin1") if isinstance(m, bytes) else m for m in marks]


def _laid(x: Array, dist: Dist, grid: Grid) -> Any:
    return x if dist is None and grid is None else x.redistribute(dist, grid)


#: Arguments of ``genfromtxt`` that engines know; any other is for NumPy.
_KNOWN = {"comments", "delimiter", "missing_values", "filling_values", "usecols", "encoding"}


@stands_for(np.genfromtxt)
def genfromtxt(
    fname: File,
    dtype: DTypeLike | None = float,
    comments: str = "#",
    delimiter: str | None = None,
    skip_header: int = 0,
    *args: object,
    unpack: bool = False,
    ndmin: int = 0,
    encoding: str | None = None,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    **options: object,
) -> Any:
    """Read numbers from text where some are missing.

    Each engine parses a share of the lines if no more is asked for than ``delimiter``,
    ``missing_values``, ``filling_values`` and ``usecols``: rows lie, and this waits, as by
    :func:`loadtxt`. Else NumPy reads in the notebook.

    Parameters
    ----------
    fname : str, path, open file or sequence of lines
        The file, which all engines see.
    dtype : dtype, optional
        Element type; None finds it out.
    comments : str
        What begins a comment, up to the end of the line.
    delimiter : str, optional
        Between numbers; by default blanks.
    skip_header : int
        Lines before the first that counts.
    *args, **options
        Others of ``numpy.genfromtxt``.
    unpack : bool
        Whether to return the transpose, to be taken apart by columns.
    ndmin : {0, 1, 2}
        The least number of axes.
    encoding : str, optional
        Of the text.
    dist : bool, str, tuple, DistArray or layout, optional
        How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
        ``('*', 'block')``, or as another array; see :func:`distnb.array`.
    grid : int or tuple of int, optional
        Engines along each split axis.
    session : Session, optional
        Where it is made; by default the current one.

    Returns
    -------
    DistArray
        A row for each line; NaN, or what ``filling_values`` says, where a number is missing. With
        ``dtype=None`` of no line NumPy's array without a field, as nothing tells its dtype.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.genfromtxt(["1,2", "3,"], delimiter=",").to_numpy()
    array([[ 1.,  2.],
           [ 3., nan]])
    """
    found = None
    options |= {"comments": comments, "delimiter": delimiter, "encoding": encoding}
    if not args and dtype is not None and options.keys() <= _KNOWN and comments:
        found = _by_engines("genfromtxt", fname, skip_header, dtype, dict(options), session)
    if found is None:
        given: Any = options | {"unpack": unpack, "ndmin": ndmin}
        for name in ("comments", "delimiter"):
            del given[name]
        numpys: Any = np.genfromtxt
        with naming(fname):
            whole = _plain(
                fname,
                from_users_line(
                    numpys, fname, dtype, comments, delimiter, skip_header, *args, **given
                ),
            )
        if whole.dtype.names == ():  # of no line nothing tells a dtype
            return whole
        return asarray(whole, dist=dist, grid=grid, session=session)
    return _laid(_shaped(found, ndmin, unpack), dist, grid)


@stands_for(np.savetxt)
def savetxt(
    fname: File,
    X: ArrayLike,  # noqa: N803 - NumPy's name
    fmt: str | Sequence[str] = "%.18e",
    delimiter: str = " ",
    newline: str = "\n",
    header: str = "",
    footer: str = "",
    comments: str = "# ",
    encoding: str | None = None,
) -> None:
    """Write an array as text: each engine makes the lines of its rows.

    The file appears whole, or not at all. It is compressed if its name ends in ``.gz``, ``.bz2``,
    ``.xz`` or ``.zst``, by each engine its own rows. To an open file the notebook writes, within
    the gather budget.

    Parameters
    ----------
    fname : str, path or open file
        Which is written.
    X : array_like
        Of one or two axes.
    fmt : str or sequence of str
        How a number, each of a row, or a row is written.
    delimiter : str
        Between the numbers of a row.
    newline : str
        After a row.
    header, footer : str
        What is written before and after all rows, as comments.
    comments : str
        What begins these.
    encoding : str, optional
        Of the text; by default that of the locale, and Latin-1 for open files of bytes.

    Examples
    --------
    >>> from pathlib import Path
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.savetxt("x.txt", dnb.array([[1, 2], [3, 4]], dist="block"), "%d", header="a b")
    ...     Path("x.txt").read_text().splitlines()
    ['# a b', '1 2', '3 4']
    """
    path = path_of(fname)
    text = (delimiter, newline, header, footer, comments, encoding)
    if not isinstance(X, Array) or path is None or is_stream(path):
        plain: Any = X.__array__() if isinstance(X, Array) else X
        np.savetxt(fname, plain, fmt, *text)
        return
    begin, row, end = _format(X, fmt, text)
    code, suffix = _code(encoding), os.path.splitext(path)[1]
    begin += "" if X.size else row * X.shape[0]  # of rows without columns there is nothing else
    row.encode(code)  # which raises
    bare = begin.encode(code) if begin or end or X.size else b""  # with the mark of their order
    first, last = (b"".join(packed([x], suffix)) for x in (bare, encoded(end, code)))
    with replacing(path, X.session) as name:
        once(X.session, put, name, 0, first)
        done = append(X, name, len(first), "text", (row, code, suffix))
        once(X.session, put, name, len(first) + sum([n for n, _, _ in done]), last)


def _format(x: Array, fmt: str | Sequence[str], text: tuple[Any, ...]) -> tuple[str, str, str]:
    """Return header, format of a row, and footer as NumPy makes them; raise what it raises."""
    delimiter, newline, header, footer, comments, _ = text
    columns = x.shape[1] if x.ndim == 2 else 1
    sample = np.ones((min(1, len(x)), *x.shape[1:]) if x.ndim else (), x.dtype)
    numpys: Any = np.savetxt
    numpys(io.StringIO(), sample, fmt, *text)  # which raises
    several = [fmt] * columns if isinstance(fmt, str) and fmt.count("%") == 1 else fmt
    if x.dtype.kind == "c" and isinstance(fmt, str) and fmt.count("%") == 1:
        several = [f" ({fmt}+{fmt}j)"] * columns
    row = several if isinstance(several, str) else delimiter.join(several)
    begin, end = (
        comments + words.replace("\n", f"\n{comments}") + newline if words else ""
        for words in (header, footer)
    )
    return begin, row + newline, end
