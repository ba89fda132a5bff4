"""Tables: columns of numbers in groups of rows, of a file or of all files of a folder."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from numbers import Number
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias
from urllib.parse import unquote

import numpy as np

from distnb.common.errors import explain
from distnb.formats.stored import Box, Stored, check_same, good, stamp_of
from distnb.formats.text import dtype_of
from distnb.geometry.layout import Ints
from distnb.geometry.views import View

__all__ = ["COMPARISONS", "Column", "Filter", "Sheet", "Table", "brought", "check_folder"]


class Sheet(Protocol):
    """An open file of a table, of which columns of groups of rows are read.

    ``path``: where it is. ``schema``: what Arrow says of its columns; ``rows``: of each group.
    """

    path: str
    schema: Any
    rows: tuple[int, ...]

    def missing(self, name: str) -> bool | None:
        """Tell whether some elements of a column are missing; None if nothing says it."""

    def ends(self, group: int, name: str) -> tuple[Any, Any] | None:
        """Return the least and the greatest element of a column in a group, if they are told."""

    def read(self, group: int, name: str) -> Any:
        """Return a column of a group, as Arrow's."""

    def close(self) -> None:
        """Close the file."""


def _files(path: str, suffixes: tuple[str, ...]) -> list[str]:
    """Return the files of a table, in order; as for others, hidden ones are none of its."""
    if not Path(path).is_dir():
        return [path]
    every = [p for p in Path(path).glob("**/*") if p.suffix in suffixes]
    found = [p.relative_to(path) for p in every]
    return sorted(str(path / p) for p in found if not any(part[0] in "._" for part in p.parts))


#: Up to here all integers are floats of 64 bits.
_EXACT = 1 << 53
#: What the name of a folder says where a value is missing.
_NONE = "__HIVE_DEFAULT_PARTITION__"


def _in_names(path: str, file: str) -> dict[str, str]:
    """Return the columns that names of folders tell of.

    >>> _in_names("t", "t/year=2024/month=3/a.parquet")
    {'year': '2024', 'month': '3'}
    """
    parts = [part.partition("=") for part in Path(file).relative_to(path).parts[:-1]]
    return {name: unquote(value) for name, is_one, value in parts if is_one}


def _kind_of(value: str) -> str | None:
    """Return the dtype of what the name of a folder says."""
    for kind in (int, float):
        with contextlib.suppress(ValueError, OverflowError):
            return np.array([kind("nan" if value == _NONE else value)]).dtype.str
    return None


def _number(text: str | bytes) -> Any:
    """Return the number that a text says; the text if it says none."""
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def _is_number(value: Any) -> bool:
    """Tell whether something is a real number: an array's without axes, too."""
    kind = getattr(value, "dtype", None) or np.asarray(value).dtype
    return kind.kind in "biuf" or (kind.kind == "O" and isinstance(value, Number))


#: Column, comparison, and a number, or several.
Filter: TypeAlias = tuple[str, str, Any]
#: Files, and numbers of groups of rows in them.
Groups: TypeAlias = frozenset[tuple[str, int]]
#: Comparisons, as pyarrow names them -> which groups may match: of least and greatest element.
COMPARISONS: dict[str, Callable[[Any, Any, Any], bool]] = {
    "==": lambda low, high, v: low <= v <= high,
    "=": lambda low, high, v: low <= v <= high,
    "!=": lambda low, high, v: True,
    "<": lambda low, high, v: low < v,
    "<=": lambda low, high, v: low <= v,
    ">": lambda low, high, v: high > v,
    ">=": lambda low, high, v: high >= v,
    # NaN may be in any group: least and greatest leave it out
    "in": lambda low, high, v: any(not (each < low or each > high) for each in v),
    "not in": lambda low, high, v: True,
}


def _ends(sheet: Sheet, group: int, name: str, named: dict[str, str]) -> tuple[Any, Any] | None:
    """Return the least and the greatest element of a column in a group, if they are told."""
    if name in named:
        value: Any = named[name]
        if value == _NONE:
            return None
        value = float(value) if _kind_of(value) else value
        return value, value
    return sheet.ends(group, name)


def _may(ends: tuple[Any, Any] | None, comparison: str, value: Any) -> bool:
    """Tell whether some element may match.

    >>> _may((2, 5), "<", 2), _may((2, 5), "in", [1, 3]), _may(None, "<", 2)
    (False, True, True)
    """
    try:
        return ends is None or bool(COMPARISONS[comparison](*ends, value))
    except TypeError:  # Arrow compares more than Python, as dates and times
        return True


#: Comparison, and what with, if anything, as bytes of Arrow's: engines get plain data alone.
Test: TypeAlias = tuple[str, bytes]


def _test(comparison: str, value: Any) -> Test:
    """Return a comparison as it travels."""
    import pyarrow as pa

    given = [*value] if comparison.endswith("in") else [value]
    # else Arrow would compare unsigned integers as signed ones, and refuse the large ones
    natural = bool(given) and all(isinstance(v, int | np.integer) and v >= 0 for v in given)
    values = pa.table({"value": pa.array(given, "uint64" if natural else None)})
    found = pa.BufferOutputStream()
    with pa.ipc.new_stream(found, values.schema) as writer:
        writer.write_table(values)
    return comparison, found.getvalue().to_pybytes()


def _matched(column: Any, test: Test) -> np.ndarray:
    """Return which elements match, as pyarrow finds them; those that are missing do not.

    By the comparison ``missing`` they alone do.
    """
    import pyarrow as pa
    from pyarrow.dataset import dataset
    from pyarrow.parquet import filters_to_expression

    comparison, packed = test
    if comparison == "missing":
        return np.asarray(column.is_null())
    values = pa.ipc.open_stream(packed).read_all()["value"].combine_chunks()
    value = values if comparison.endswith("in") else values[0]
    asked = {"found": filters_to_expression([("x", comparison, value)])}
    found = dataset(pa.table({"x": column})).to_table(columns=asked, use_threads=False)
    matched: np.ndarray = found["found"].fill_null(False).to_numpy()
    return matched


class _File(NamedTuple):
    """What a file tells of itself.

    Dtypes of columns (None: no numbers), rows of its groups, names that several columns have, and
    those of integers. ``untold``: dtypes of those of floats, if none of their elements is missing,
    which nothing tells.
    """

    path: str
    stamp: Ints
    kinds: dict[str, str | None]
    rows: tuple[int, ...]
    several: frozenset[str]
    integers: frozenset[str]
    untold: dict[str, str]


def _look(sheet: Sheet, stamp: Ints, root: str) -> _File:
    """Return what a file tells; integers of which some may be missing are floats."""
    named = _in_names(root, sheet.path) if sheet.path != root else {}
    names = [field.name for field in sheet.schema]
    kinds = {field.name: dtype_of(str(field.type)) for field in sheet.schema}
    integers = [name for name, kind in kinds.items() if kind and np.dtype(kind).kind in "iu"]
    untold = dict[str, str]()
    for name, kind in kinds.items():
        if kind is None or np.dtype(kind).kind in "fc" or (some := sheet.missing(name)) is False:
            continue
        kinds[name] = "<f8"
        if some is None:
            untold[name] = kind
    told = {name: _kind_of(value) for name, value in named.items()}
    several = frozenset([name for name in kinds if names.count(name) > 1])
    whole = frozenset(integers) - told.keys()
    untold = {name: kind for name, kind in untold.items() if name not in told}
    return _File(sheet.path, stamp, kinds | told, sheet.rows, several, whole, untold)


def _only(kinds: dict[str, str], name: str) -> dict[str, str]:
    return {name: kinds[name]} if name in kinds else {}


class Table:
    """What is known of the columns of a file, or of all files of a folder.

    ``open_sheet`` opens a file of the ``format``, whose names in a folder end in ``suffixes``.
    """

    def __init__(
        self, path: str, format: str, suffixes: tuple[str, ...], open_sheet: Callable[[str], Sheet]
    ) -> None:
        self.path, self._format, self._open = path, format, open_sheet
        self._files = [self._look(file) for file in _files(path, suffixes)]
        if not self._files:
            ends = " or ".join(f"*{suffix}" for suffix in suffixes)
            told = explain(f"folder {path}", f"no {ends}", "some", "check the path")
            raise FileNotFoundError(told)
        self.names = list(dict.fromkeys(name for file in self._files for name in file.kinds))

    def _look(self, file: str) -> _File:
        stamp = stamp_of(file)
        with contextlib.closing(self._open(file)) as sheet:
            return _look(sheet, stamp, self.path)

    def _without(self, name: str) -> str | None:
        """Return the first file that does not have a column, if there is one."""
        return next((file.path for file in self._files if name not in file.kinds), None)

    def _dtype(self, name: str) -> str | None:
        """Return the dtype that holds a column of all files; None if that is no number's."""
        found = [file.kinds.get(name) for file in self._files]
        return None if None in found else np.result_type(*[str(kind) for kind in found]).str

    def is_of_numbers(self, name: str) -> bool:
        """Tell whether a column is of numbers."""
        return self._dtype(name) is not None

    def untold(self, name: str) -> bool:
        """Tell whether a column is of of floats only as nothing tells that none is missing."""
        kinds = [file.untold.get(name, file.kinds[name]) for file in self._files]
        told = None in kinds or np.result_type(*[str(kind) for kind in kinds]).kind == "f"
        return not told and any(name in file.untold for file in self._files)

    def lacks(self, name: str) -> bool:
        """Tell whether some elements of a column may be missing."""
        for file in self._files:
            named = _in_names(self.path, file.path) if file.path != self.path else {}
            with contextlib.closing(self._open(file.path)) as sheet:
                if named.get(name) == _NONE or sheet.missing(name) is not False:
                    return True
        return False

    def missing(self, name: str, groups: Groups | None = None) -> tuple[Stored, View]:
        """Return what tells which elements of a column are missing, and so not in the file."""
        return self._rows(name, "|b1", groups, ("missing", b""))

    def complete(self, name: str) -> None:
        """Note that no element of a column is missing."""
        files = self._files
        self._files = [f._replace(kinds={**f.kinds, **_only(f.untold, name)}) for f in files]

    def numeric(self, name: str, comparison: str, value: Any) -> Any:
        """Return what a column of numbers is compared with; raise TypeError if that is no number.

        As for pyarrow, it may be one of several as the names of folders say it.
        """
        several = comparison.endswith("in")
        values = [each for each in value if each is not None] if several else [value]
        if several and any(name in _in_names(self.path, file.path) for file in self._files):
            values = [_number(each) if isinstance(each, str | bytes) else each for each in values]
        wrong = [each for each in values if each is not None and not _is_number(each)]
        if wrong:
            got = f"({name!r}, {comparison!r}, {value!r})"
            expected = f"numbers, as the column has ({np.dtype(self._dtype(name))})"
            raise TypeError(explain("filters", got, expected, "compare it with these"))
        return values if several else value

    def is_rounded(self, name: str) -> bool:
        """Tell whether a column of floats is of integers, of which large ones become others."""
        kind = self._dtype(name)
        if kind is None or np.dtype(kind).kind != "f":
            return False
        return any(name in file.integers for file in self._files)

    def check(self, names: Sequence[str], numbers: bool = True) -> None:
        """Raise unless each of several columns is in all files, and of numbers if it has to be."""
        good = [name for name in self.names if self._dtype(name) is not None]
        for name in names:
            absent = self._without(name) if name in self.names else None
            if absent is not None:
                told = explain(f"file {absent}", f"no {name!r}", "one", f"use columns={good}")
                raise ValueError(told)
            if any(name in file.several for file in self._files):
                got, do = f"several columns {name!r}", "name them apart, or use other columns="
                raise ValueError(explain(f"file {self.path}", got, "one", do))
            if name not in self.names:
                got, expected = f"column {name!r}", f"one of {self.names}"
                raise KeyError(explain(f"file {self.path}", got, expected, "check it"))
        text = [name for name in names if name not in good]
        if text and numbers:
            got, do = f"no numbers in {text}", f"use columns={good}" if good else "use pyarrow"
            raise TypeError(explain(f"file {self.path}", got, "numbers", do))

    def matching(self, filters: Sequence[Sequence[Filter]]) -> Groups:
        """Return the groups of rows of which some may match all of one of several filters."""
        names, found = {name for several in filters for name, _, _ in several}, []
        for path, _, _, rows, *_ in self._files:
            named = _in_names(self.path, path) if path != self.path else {}
            with contextlib.closing(self._open(path)) as sheet:
                for k in range(len(rows)):
                    ends = {name: _ends(sheet, k, name, named) for name in names}
                    if any(all(_may(ends[n], op, v) for n, op, v in each) for each in filters):
                        found.append((path, k))
        return frozenset(found)

    def matches(
        self, name: str, comparison: str, value: Any, groups: Groups
    ) -> tuple[Stored, View]:
        """Return what tells which elements of a column match, of some groups of rows."""
        return self._rows(name, "|b1", groups, _test(comparison, value))

    def column(self, name: str, groups: Groups | None = None) -> tuple[Stored, View]:
        """Return what is in a column; of some groups of rows alone, if they are given."""
        kind = self._dtype(name)
        assert kind is not None
        return self._rows(name, kind, groups)

    def _rows(
        self, name: str, kind: str, groups: Groups | None, test: Test | None = None
    ) -> tuple[Stored, View]:
        rows = [
            (file.path, file.stamp, k, n)
            for file in self._files
            for k, n in enumerate(file.rows)
            if groups is None or (file.path, k) in groups
        ]
        shape = (sum([row[-1] for row in rows]),)
        chunks = (rows[0][-1],) if rows and rows[0][-1] else ()
        details = (name, tuple(rows), test)
        found = Stored(self._format, self.path, (), shape, kind, chunks, details)
        return found, View.whole(shape)

    def describe(self, name: str | None) -> tuple[Stored, View]:
        """Return what is in a column; without a name, in the only one."""
        if name is None and len(self.names) == 1:
            (name,) = self.names
        if name is None:
            told = explain(f"file {self.path}", "name None", f"one of {self.names}", "give name=")
            raise KeyError(told)
        self.check([name])
        return self.column(name)


class Column:
    """Reads boxes of a column, group by group, of files that ``open_sheet`` opens."""

    def __init__(self, stored: Stored, open_sheet: Callable[[str], Sheet]) -> None:
        self._path, (self._name, self._groups, self._test) = stored.path, stored.details
        self._dtype = np.dtype(stored.dtype)
        self._opener, self._open, self._same = open_sheet, dict[str, Sheet](), set[str]()
        self._last: tuple[int, np.ndarray] = (-1, np.empty(0))

    def close(self) -> None:
        """Close the files."""
        for file in self._open.values():
            file.close()

    def read(self, box: Box, out: np.ndarray) -> None:
        """Read a box."""
        (rows,) = box
        at = 0
        for number, (*_, n) in enumerate(self._groups):
            first, end = (
                min(len(rows), max(0, -((rows.start - place) // rows.step)))
                for place in (at, at + n)
            )
            if first < end:
                here = rows[first:end]
                part = slice(here.start - at, here.stop - at, here.step)
                out[first:end] = self._group(number)[part]
            at += n

    def _group(self, number: int) -> np.ndarray:
        if self._last[0] != number:
            path, stamp, k, n = self._groups[number]
            if path not in self._same:  # each file of a folder may be written by itself
                check_same(path, stamp)
                self._same.add(path)
            self._last = (number, self._elements(path, k, n))
        return self._last[1]

    def _elements(self, path: str, group: int, n: int) -> np.ndarray:
        named = _in_names(self._path, path) if path != self._path else {}
        value = named.get(self._name)
        if value is not None and self._test is None:
            return np.full(n, float("nan") if value == _NONE else value).astype(self._dtype)
        if self._test is not None:
            with good(path, f"what compares so in {self._name!r}", f", row group {group}"):
                return _matched(self._arrow(path, group, n, value), self._test)
        with good(path, "good data", f", row group {group}"):
            column = self._arrow(path, group, n, value)
            if column.null_count and self._dtype.kind in "biu":
                raise ValueError("elements that are missing, where it tells of none")
            if column.null_count and str(column.type) == "bool":
                column = column.cast("int8")
            found: np.ndarray = column.to_numpy()
        self._check_rounding(path, group, found)
        return found

    def _arrow(self, path: str, group: int, n: int, value: str | None) -> Any:
        """Return a column of a group, as Arrow's; of text that the name of a folder tells."""
        if value is not None:
            import pyarrow as pa

            return pa.array([None if value == _NONE else value] * n, "string")
        if path not in self._open:
            self._open[path] = self._opener(path)
        return self._open[path].read(group, self._name)

    def _check_rounding(self, path: str, group: int, found: np.ndarray) -> None:
        """Raise ValueError for integers that are floats for nothing, and would be others."""
        if self._dtype.kind != "f" or found.dtype.kind not in "iu":
            return
        wide = (found > _EXACT) | (found < -_EXACT)
        if wide.any() and self._open[path].missing(self._name) is None:
            where, got = f"file {path}, row group {group}", f"{found[wide][0]} in {self._name!r}"
            expected = "a count of elements that are missing, without which it would be rounded"
            raise ValueError(explain(where, got, expected, "use distnb.read_parquet, which counts"))


def check_folder(path: str, suffix: str) -> None:
    """Raise FileExistsError unless a folder is no other's than a table's, if there is one."""
    if Path(path).is_dir() and not all(name.endswith(suffix) for name in os.listdir(path)):
        got, expected = "other files in it", "none, or those of a table"
        raise FileExistsError(explain(f"folder {path}", got, expected, "name a new one"))


def brought(path: str) -> None:
    """Bring a file that was written to the disk."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
