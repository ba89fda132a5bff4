"""Parquet: columns of numbers in groups of rows, by pyarrow; a table is a file or a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from distnb.common.addresses import opened
from distnb.common.errors import explain
from distnb.formats.stored import Box, Stored, check_same, module, stamp_of
from distnb.formats.text import dtype_of
from distnb.geometry.views import View

__all__ = ["Column", "columns_of", "describe", "write_part"]


def _load() -> Any:
    import pyarrow.parquet

    return pyarrow.parquet


def _parquet() -> Any:
    return module(_load, "Parquet", "pyarrow", "parquet")


def _opened(path: str) -> Any:
    try:
        return _parquet().ParquetFile(opened(path))
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise ValueError(
            explain(f"file {path}", error, "a good Parquet file", "check it")
        ) from None


def _files(path: str) -> list[str]:
    """Return the files of a table, in order."""
    if not Path(path).is_dir():
        return [path]
    return sorted(str(p) for p in Path(path).glob("**/*.parquet"))


def columns_of(path: str) -> dict[str, str | None]:
    """Return the dtypes of a table's columns; None for those that are no numbers."""
    files = _files(path)
    if not files:
        raise FileNotFoundError(explain(f"folder {path}", "no *.parquet", "some", "check the path"))
    with _opened(files[0]) as file:
        found = {field.name: dtype_of(str(field.type)) for field in file.schema_arrow}
    for name, kind in found.items():
        if kind is not None and np.dtype(kind).kind not in "fc" and _missing(files, name):
            found[name] = "<f8"
    return found


def _missing(files: list[str], name: str) -> bool:
    """Tell whether some elements of a column may be missing."""
    for path in files:
        with _opened(path) as file:
            known, at = file.metadata, file.schema_arrow.get_field_index(name)
            for k in range(known.num_row_groups):
                told = known.row_group(k).column(at).statistics
                if not known.row_group(k).num_rows:
                    continue
                if told is None or not told.has_null_count or told.null_count:
                    return True
    return False


def describe(path: str, name: str | None) -> tuple[Stored, View]:
    """Return what is in a column."""
    columns = columns_of(path)
    if name is None and len(columns) == 1:
        (name,) = columns
    if name is None or name not in columns:
        raise KeyError(
            explain(f"file {path}", f"name {name!r}", f"one of {list(columns)}", "give name=")
        )
    kind = columns[name]
    if kind is None:
        good = [key for key, k in columns.items() if k is not None]
        raise TypeError(
            explain(f"file {path}", f"column {name!r}, no numbers", "numbers", f"use one of {good}")
        )
    rows = [(file, k, n) for file, k, n in _groups(_files(path))]
    stamp = () if Path(path).is_dir() else stamp_of(path)
    shape = (sum([n for _, _, n in rows]),)
    chunks = (rows[0][2],) if rows and rows[0][2] else ()
    stored = Stored("parquet", path, stamp, shape, kind, chunks, (name, tuple(rows)))
    return stored, View.whole(shape)


def _groups(files: list[str]) -> Iterator[tuple[str, int, int]]:
    """Yield files, numbers of groups in them, and their rows."""
    for path in files:
        with _opened(path) as file:
            for k in range(file.num_row_groups):
                yield path, k, int(file.metadata.row_group(k).num_rows)


class Column:
    """Reads boxes of a column, group by group."""

    def __init__(self, stored: Stored) -> None:
        check_same(stored.path, stored.stamp)
        self._name, self._groups = stored.details
        self._dtype = np.dtype(stored.dtype)
        self._open: dict[str, Any] = {}
        self._last: tuple[int, np.ndarray] = (-1, np.empty(0))

    def close(self) -> None:
        """Close the files."""
        for file in self._open.values():
            file.close()

    def read(self, box: Box, out: np.ndarray) -> None:
        """Read a box."""
        (rows,) = box
        at = 0
        for number, (_, _, n) in enumerate(self._groups):
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
            path, k, _ = self._groups[number]
            if path not in self._open:
                self._open[path] = _opened(path)
            try:
                table = self._open[path].read_row_group(k, columns=[self._name], use_threads=False)
                column = table.column(0)
                if column.null_count and str(column.type) == "bool":
                    column = column.cast("int8")
                found = column.to_numpy()
            except (OSError, ValueError) as error:
                raise ValueError(
                    explain(f"file {path}, row group {k}", error, "good data", "check it")
                ) from None
            self._last = (number, found)
        return self._last[1]


def write_part(path: str, names: list[str], columns: list[np.ndarray], options: Any) -> None:
    """Write a file of columns, and bring it to the disk."""
    pq = _parquet()
    from pyarrow import table

    pq.write_table(table(dict(zip(names, columns, strict=True))), path, **options)
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
