"""Tables: columns as arrays, of text, of Parquet and of Arrow's files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, reduce
from operator import and_, eq, ge, gt, le, lt, or_
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.files.reading import once, read_view
from distnb.client.files.text import parsed
from distnb.client.files.writing import replacing, written
from distnb.client.handle.arguments import Dist, Grid
from distnb.client.handle.array import numeric
from distnb.client.handle.conversion import as_dist, in_layout
from distnb.client.record.creation import asarray
from distnb.client.session.current import need
from distnb.client.session.session import Session
from distnb.common.addresses import local_path
from distnb.common.errors import explain
from distnb.formats.libraries import arrow, parquet
from distnb.formats.libraries.columns import COMPARISONS, Filter, Table, check_folder
from distnb.formats.lines import Quotes, first_lines, line_of, located
from distnb.formats.stored import stamp_of
from distnb.formats.text import kinds_of, quotes_of, table_of, without_comments
from distnb.geometry.layout import make_layout

__all__: list[str] = []

#: What stands for a number that is missing, as pandas takes it.
_MISSING = ("", "#N/A", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", "<NA>")
#: Lines from which types are found.
_HEAD = 10_000


def read_csv(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    dtype: DTypeLike | Mapping[str, DTypeLike] | None = None,
    names: Sequence[str] | None = None,
    delimiter: str = ",",
    skiprows: int = 0,
    comment: str | None = None,
    missing: Sequence[str] = _MISSING,
    decimal: str = ".",
    quote: str | None = '"',
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
) -> dict[str, Any]:
    r"""Read columns of numbers from text; each engine parses a share of the lines.

    Columns lie where their lines were parsed; how many lines each engine has is read: this waits.
    Arrow parses (``pip install "distnb[csv]"``). A file may be compressed by gzip or Zstandard.

    Parameters
    ----------
    path : str or path
        The file, which all engines see. Fields in quotes may hold ends of lines.
    columns : sequence of str, optional
        Which columns; by default all, which have to be numbers then.
    dtype : dtype, or mapping of names to dtypes, optional
        By default bool, int64, uint64 or float64, whichever holds all that is in the first 10,000
        lines, and float64 where later ones of numbers have fractions. Integers of 64 bits that no
        one integer dtype holds are an error, in later lines those that it does not; longer ones
        are rounded.
    names : sequence of str, optional
        Of the columns, if the file has no line of names.
    delimiter, quote, decimal : str
        Between fields, around fields, within numbers; one ASCII character each.
    skiprows : int
        Lines before the names.
    comment : str, optional
        What begins a comment, up to the end of the line.
    missing : sequence of str
        Fields that are no number but NaN; a column with such is float64.
    dist, grid, session : optional
        As in :func:`distnb.array`; by default columns are cut where the engines' lines are.

    Returns
    -------
    dict
        Name -> array of one axis, in the order of ``columns``.

    Raises
    ------
    ValueError
        For a line with another number of fields, and for what is no number: the line is named.
    TypeError
        For columns of text; they are named.

    Examples
    --------
    >>> import distnb as dnb
    >>> with open("t.csv", "w") as file:
    ...     _ = file.write("x,y\n1,2.5\n2,\n")
    >>> with dnb.inprocess(2):
    ...     {name: c.to_numpy() for name, c in dnb.read_csv("t.csv").items()}
    {'x': array([1, 2]), 'y': array([2.5, nan])}
    """
    whole, at = local_path(path), need(session)
    stamp_of(whole)
    _check_mark("delimiter", delimiter)
    _check_mark("decimal", decimal)
    options: dict[str, Any] = {"comment": comment, "delimiter": delimiter, "decimal": decimal}
    options |= {"missing": tuple(missing), "quote": quote}
    start, lines = first_lines(whole, _HEAD, skiprows)
    _check_text(whole, lines)
    lines = _rows(lines, options)
    titles, skipped = _titles(whole, lines, options) if names is None else (list(names), 0)
    start += sum(map(len, lines[:skipped]))
    lines = lines[skipped:]
    asked = titles if columns is None else list(dict.fromkeys(columns))
    wanted = [_known(whole, name, titles) for name in asked]
    if not wanted:
        return {}
    kinds, free = _kinds(whole, start, lines, titles, wanted, dtype, options)
    given = (tuple(titles), tuple(wanted), kinds, free, options)
    found = parsed(at, whole, start, "table", given, (0,) * len(wanted), quotes_of(options))
    return {
        name: x if dist is None and grid is None else x.redistribute(dist, grid)
        for name, x in zip(wanted, found, strict=True)
    }


def _check_mark(name: str, mark: object) -> None:
    if not (isinstance(mark, str) and mark.isascii() and len(mark) == 1):
        do = "let pandas.read_csv() read it, and distnb.asarray() take its columns"
        raise ValueError(explain(name, repr(mark), "one ASCII character", do))


def _rows(lines: list[bytes], options: dict[str, Any]) -> list[bytes]:
    """Return rows: lines, with those behind them that begin in quotes; not one that is cut off."""
    given = quotes_of(options)
    if given is None:
        return lines
    text, found, begin = b"".join(lines), list[bytes](), 0
    if given[0].encode() not in text:
        return lines
    shown, within = Quotes(*given).masked(text)
    for line in shown.split(b"\n"):
        end = min(len(text), begin + len(line) + 1)
        found.append(text[begin:end])
        begin = end
    return found[: -1 if within or not found[-1] else None]


def _titles(path: str, lines: list[bytes], options: dict[str, Any]) -> tuple[list[str], int]:
    """Return the names in the first line that has any, and how many lines that took."""
    for k, line in enumerate(lines):
        bare = _decoded(path, line).rstrip("\r\n").encode()
        text = without_comments(bare, options).decode()
        if text.strip():
            how: Any = {"quotechar": options["quote"]} if options["quote"] else {"quoting": 3}
            import csv  # few need it

            (names,) = csv.reader([text], delimiter=options["delimiter"], **how)
            return [name.strip() for name in names], k + 1
    raise ValueError(explain(f"file {path}", "no line", "names of columns", "give names="))


def _decoded(path: str, line: bytes) -> str:
    try:
        return line.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        do = "convert it, or give names= and skiprows="
        told = explain(f"file {path}, names of columns", error, "UTF-8", do)
        raise ValueError(told) from None


def _known(path: str, name: str, titles: list[str]) -> str:
    if name not in titles:
        raise KeyError(explain(f"file {path}", f"column {name!r}", f"one of {titles}", "check it"))
    if titles.count(name) > 1:
        raise ValueError(
            explain(f"file {path}", f"several columns {name!r}", "one", "give names= and skiprows=")
        )
    return name


def _check_text(path: str, lines: list[bytes]) -> None:
    """Raise ValueError for text that is cut into lines in another way."""
    begin = lines[0] if lines else b""
    got = ""
    if begin.startswith((b"\xff\xfe", b"\xfe\xff")):
        got, do = "UTF-16", "convert it: iconv -f UTF-16 -t UTF-8"
    elif begin.endswith(b"\r") and not any(line.endswith(b"\n") for line in lines):
        got, do = "lines that end in carriage returns alone", "convert it: tr '\\r' '\\n'"
    if got:
        raise ValueError(explain(f"file {path}", got, "lines of UTF-8", do))


def _kinds(
    path: str,
    start: int,
    lines: list[bytes],
    titles: list[str],
    wanted: list[str],
    dtype: DTypeLike | Mapping[str, DTypeLike] | None,
    options: dict[str, Any],
) -> tuple[dict[str, str], frozenset[str]]:
    """Return the dtypes of columns, and of which of them nobody has asked for one."""
    asked = dtype if isinstance(dtype, Mapping) else dict.fromkeys(wanted, dtype)
    kinds: dict[str, str | None] = {}
    for name in wanted:
        kind: Any = asked.get(name)
        if kind is not None:
            kinds[name] = _parsable(numeric(kind)).str
    free = [name for name in wanted if name not in kinds]
    if free:
        try:
            kinds |= kinds_of(b"".join(lines), titles, free, options)
        except ValueError:  # engines are to find out in which line
            kinds |= dict.fromkeys(free, "<f8")
    text = [name for name, kind in kinds.items() if kind is None]
    if text:
        good = [name for name in titles if name not in text]
        place, line = _first_text(b"".join(lines), titles, text[0], options)
        got = f"text in columns {text} (line {line_of(path, start + place)}: {line!r})"
        do = f"use columns={good}" if good else "read it with pandas"
        raise TypeError(explain(f"file {path}", got, "numbers", do))
    return {name: str(kinds[name]) for name in wanted}, frozenset(free)


def _parsable(dtype: np.dtype) -> np.dtype:
    """Return a dtype that numbers are parsed to; raises TypeError for others."""
    if dtype.kind == "c" or dtype == np.float16:
        expected = "bool, an integer, float32 or float64"
        raise TypeError(explain("dtype", dtype, expected, "take one of these, then .astype"))
    return dtype


def _first_text(
    text: bytes, titles: list[str], name: str, options: dict[str, Any]
) -> tuple[int, str]:
    """Return where the first row is that has no number in a column, and what is there."""
    quotes = quotes_of(options)
    shown = Quotes(*quotes).masked(text)[0] if quotes else text
    place = located(
        text, lambda some: table_of(some, titles, [name], {name: "<f8"}, options), shown
    )
    return place, text[place:].split(b"\n", 1)[0][:60].decode(errors="replace").rstrip()


def read_parquet(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    filters: Sequence[Filter] | Sequence[Sequence[Filter]] | None = None,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
) -> dict[str, Any]:
    """Read columns of a Parquet file, or of a folder of them.

    A column has the dtype that holds it in all files; what names of folders say (``year=2024/``) is
    a column, too. Engines read groups of rows, each what it is to hold: nothing else is sent. Needs
    pyarrow (``pip install "distnb[parquet]"``). ``dnb.open(path, column)`` reads less.

    Parameters
    ----------
    path : str or path
        The file or the folder, which all engines see.
    columns : sequence of str, optional
        Which columns; by default all, which have to be numbers then.
    filters : sequence of (column, comparison, value), optional
        Which rows: those that match all of them, or all of one of several sequences, as pyarrow
        has them; columns of text, dates and the like, too. Comparisons are ``==``, ``!=``, ``<``,
        ``<=``, ``>``, ``>=``, ``in`` and ``not in``. What is missing matches the last one alone;
        NaN matches ``!=`` and ``not in``, and is ``in`` a list with NaN. Groups of rows in which
        the file tells that none matches are not read.
    dist, grid, session : optional
        As in :func:`distnb.array`; by default columns are cut where groups of rows end.

    Returns
    -------
    dict
        Name -> array of one axis, in the order of ``columns``. Elements that are missing are NaN; a
        column of integers with such is float64. Where a file was written without statistics,
        engines look for these first.

    Raises
    ------
    TypeError
        For columns of text and the like, and for numbers that are compared with text; they are
        named.
    ValueError
        For a column that is not in all files; the first one without it is named.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.to_parquet("t", {"x": dnb.arange(3, dist="block"), "y": dnb.ones(3)})
    ...     {name: c.to_numpy() for name, c in dnb.read_parquet("t").items()}
    {'x': array([0, 1, 2]), 'y': array([1., 1., 1.])}
    """
    whole = local_path(path)
    table = parquet.table(whole)
    wanted = _wanted(table, columns)
    asked = [] if filters is None else _several(filters)
    compared = [name for each in asked for name, _, _ in each]
    table.check(compared, numbers=False)
    _look_for_missing(table, {*wanted, *compared}, session)
    if asked:
        return _filtered(table, wanted, asked, (dist, grid), session)
    return _columns(table, wanted, dist, grid, session)


def read_feather(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
) -> dict[str, Any]:
    """Read columns of a file of Arrow's, which is one of Feather, or of a folder of them.

    Engines read batches of rows, each what it is to hold: nothing else is sent. As of Parquet, a
    column has the dtype that holds it in all files. Needs pyarrow (``pip install
    "distnb[arrow]"``). ``dnb.open(path, column)`` reads less.

    Parameters
    ----------
    path : str or path
        The file or the folder, which all engines see.
    columns : sequence of str, optional
        Which columns; by default all, which have to be numbers then.
    dist, grid, session : optional
        As in :func:`distnb.array`; by default columns are cut where batches end.

    Returns
    -------
    dict
        Name -> array of one axis, in the order of ``columns``. Elements that are missing are NaN; a
        column of integers with such is float64.

    Raises
    ------
    TypeError
        For columns of text and the like; they are named.
    ValueError
        For a column that is not in all files, and for a file that is none of Arrow's.

    Examples
    --------
    >>> import distnb as dnb
    >>> from pyarrow import feather, table
    >>> feather.write_feather(table({"x": [1, 2, 3]}), "t.feather")
    >>> with dnb.inprocess(2):
    ...     {name: c.to_numpy() for name, c in dnb.read_feather("t.feather").items()}
    {'x': array([1, 2, 3])}
    """
    table = arrow.table(local_path(path))
    wanted = _wanted(table, columns)
    return _columns(table, wanted, dist, grid, session)


def _wanted(table: Table, columns: Sequence[str] | None) -> list[str]:
    """Return which columns are asked for, by default all; raise if some cannot be had."""
    found = list(table.names if columns is None else dict.fromkeys(columns))
    table.check(found)
    return found


def _look_for_missing(table: Table, names: Iterable[str], session: Session | None) -> None:
    """Let engines look for elements that are missing, of what is else of floats for safety."""
    untold = [name for name in sorted(names) if table.untold(name)]
    found = [read_view(*table.missing(name), session=session).any() for name in untold]
    for name, missing in zip(untold, found, strict=True):
        if not missing:
            table.complete(name)


def _columns(
    table: Table, wanted: Sequence[str], dist: Dist, grid: Grid, session: Session | None
) -> dict[str, Any]:
    """Return columns, each as it is read."""
    return {
        name: read_view(*table.column(name), dist=dist, grid=grid, session=session)
        for name in wanted
    }


def _several(filters: Sequence[Filter] | Sequence[Sequence[Filter]]) -> list[list[Filter]]:
    """Return sequences of filters, of which one has to match; raise ValueError for others."""
    given: list[Any] = [*filters]
    if not given or not all(given):
        raise ValueError(explain("filters", repr(filters), "some", "give None for all rows"))
    several = [[*each] for each in given] if isinstance(given[0][0], tuple) else [given]
    for each in [one for found in several for one in found]:
        if len(each) != 3 or each[1] not in COMPARISONS:
            expected = f"(column, comparison, value), comparisons {[*COMPARISONS]}"
            raise ValueError(explain("filters", repr(each), expected, "write it so"))
    return several


def _filtered(
    table: Table,
    wanted: Sequence[str],
    filters: list[list[Filter]],
    where: tuple[Dist, Grid],
    session: Session | None,
) -> dict[str, Any]:
    """Return the rows of columns that match."""
    compared = [name for each in filters for name, _, _ in each]
    filters = [[_comparable(table, *each) for each in some] for some in filters]
    groups = table.matching(filters)
    read = {
        name: read_view(*table.column(name, groups), session=session)
        for name in dict.fromkeys([*wanted, *filter(table.is_of_numbers, compared)])
    }

    def missing(name: str) -> Any:
        lacking = table.lacks(name)
        return read_view(*table.missing(name, groups), session=session) if lacking else False

    def matches(name: str, comparison: str, value: object) -> Any:
        exact = not table.is_rounded(name) or not _are_integers(value)
        if table.is_of_numbers(name) and exact:
            return _matches(read[name], comparison, value, partial(missing, name))
        return read_view(*table.matches(name, comparison, value, groups), session=session)

    mask = reduce(or_, [reduce(and_, [matches(*one) for one in some]) for some in filters])
    found = {name: read[name][mask] for name in wanted}
    if where == (None, None):
        return found
    return {name: x.redistribute(*where) for name, x in found.items()}


def _comparable(table: Table, name: str, comparison: str, value: object) -> Filter:
    """Return a filter that compares numbers with numbers; raise TypeError for others."""
    numbers = table.is_of_numbers(name)
    return name, comparison, table.numeric(name, comparison, value) if numbers else value


def _are_integers(value: object) -> bool:
    """Tell whether a number, or each of several, is an integer of 64 bits, as Arrow compares."""
    values: Any = value if isinstance(value, list | tuple | set | frozenset) else [value]
    known = [isinstance(v, int | np.integer) and not isinstance(v, bool) for v in values]
    return bool(known) and all(known) and all(-(2**63) <= v < 2**64 for v in values)


def _matches(x: Any, comparison: str, value: Any, missing: Callable[[], Any]) -> Any:
    """Return which elements match; ``missing`` tells which are missing, and not NaN in the file."""
    if value is None:
        return np.zeros_like(x, bool)
    if comparison in ("in", "not in"):
        found = reduce(or_, [x == each for each in value], np.zeros_like(x, bool))
        if not all(each <= np.inf for each in value):  # Arrow looks up NaN as any other number
            found |= np.isnan(x) & np.logical_not(missing())
        return found if comparison == "in" else ~found
    if comparison == "!=":
        return (x != value) & np.logical_not(missing())
    return {"=": eq, "==": eq, "<": lt, "<=": le, ">": gt, ">=": ge}[comparison](x, value)


def to_parquet(
    path: str | os.PathLike[str], columns: Mapping[str, ArrayLike], **options: object
) -> None:
    """Write columns as a folder of Parquet files, one of each engine's rows.

    Others read the folder as one table: ``pandas.read_parquet(path)``. It appears whole, or not at
    all, in place of one that was there. Columns are brought into blocks first: nothing else is
    sent. Needs pyarrow.

    Parameters
    ----------
    path : str or path
        The folder.
    columns : mapping of str to array
        Of one axis, all as long.
    **options
        Of ``pyarrow.parquet.write_table``, as ``compression=``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.to_parquet("t", {"x": dnb.arange(3, dist="block")})
    ...     dnb.open("t", "x")[1:].to_numpy()
    array([1, 2])
    """
    _write(path, ".parquet", columns, options)


def to_feather(
    path: str | os.PathLike[str], columns: Mapping[str, ArrayLike], **options: object
) -> None:
    """Write columns as a folder of Arrow's files, which are those of Feather, one of each engine.

    Others read the folder as one table: ``pyarrow.dataset.dataset(path, format="feather")``. What
    is sent, and how it appears, is as for :func:`to_parquet`. Needs pyarrow (``pip install
    "distnb[arrow]"``).

    Parameters
    ----------
    path : str or path
        The folder.
    columns : mapping of str to array
        Of one axis, all as long.
    **options
        Of ``pyarrow.feather.write_feather``, as ``compression=``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.to_feather("f", {"x": dnb.arange(3, dist="block")})
    ...     dnb.read_feather("f")["x"].to_numpy()
    array([0, 1, 2])
    """
    _write(path, ".arrow", columns, options)


def _write(
    path: str | os.PathLike[str],
    suffix: str,
    columns: Mapping[str, ArrayLike],
    options: dict[str, object],
) -> None:
    """Write columns as a folder of files whose names end so."""
    if not hasattr(columns, "items"):
        got, do = type(columns).__name__, 'write {"x": x}'
        raise TypeError(explain("columns", got, "a mapping of names to arrays", do))
    found = {name: asarray(x) for name, x in columns.items()}
    for name, x in found.items():
        if x.dtype.kind == "c":
            do = "write x.real and x.imag"
            raise TypeError(explain(f"column {name!r}", f"{x.dtype}", "real numbers", do))
    shapes = {x.shape for x in found.values()}
    if len(shapes) != 1 or len(*shapes) != 1:
        raise ValueError(
            explain("columns", f"shapes {sorted(shapes)}", "one axis, as long", "slice them")
        )
    session = next(iter(found.values())).session
    layout = make_layout(next(iter(shapes)), session.size, "block")
    there = [in_layout(as_dist(x, session), layout) for x in found.values()]
    once(session, check_folder, local_path(path), suffix)
    with replacing(local_path(path), session, folder=True) as folder:
        written("file.table", 2, there, (folder, suffix, tuple(found), options))
