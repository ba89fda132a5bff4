"""Parquet: columns of numbers in groups of rows, by pyarrow; a table is a file or a folder."""

from __future__ import annotations

from typing import Any

import numpy as np

from distnb.common.addresses import opened
from distnb.common.errors import explain
from distnb.formats.libraries.columns import Column, Table, brought
from distnb.formats.stored import Stored, good, module
from distnb.geometry.views import View

__all__ = ["describe", "reader", "table", "write_part"]


def _load() -> Any:
    import pyarrow.parquet

    return pyarrow.parquet


def _parquet() -> Any:
    return module(_load, "Parquet", "pyarrow", "parquet")


class _Sheet:
    """An open file: its groups of rows tell of their elements."""

    def __init__(self, path: str) -> None:
        with good(path, "a good Parquet file"):
            self._file = _parquet().ParquetFile(opened(path))
            self.schema = self._file.schema_arrow
        self.path, self._known = path, self._file.metadata
        groups = range(self._known.num_row_groups)
        self.rows = tuple([int(self._known.row_group(k).num_rows) for k in groups])

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def missing(self, name: str) -> bool | None:
        """Tell whether some elements of a column are missing; None if nothing says it."""
        told = [self._told(k, name) for k, n in enumerate(self.rows) if n]
        counts = [each.null_count if each and each.has_null_count else None for each in told]
        if None in counts:
            fields = [field for field in self.schema if field.name == name]
            return None if any(field.nullable for field in fields) else False
        return any(counts)

    def ends(self, group: int, name: str) -> tuple[Any, Any] | None:
        """Return the least and the greatest element of a column in a group, if they are told."""
        told = self._told(group, name)
        return (told.min, told.max) if told is not None and told.has_min_max else None

    def _told(self, group: int, name: str) -> Any:
        """Return what a group tells of a column."""
        known = self._known.row_group(group)
        leaves = [(i, known.column(i)) for i in range(known.num_columns)]
        i, leaf = next(((i, x) for i, x in leaves if x.path_in_schema == name), (0, None))
        if leaf is None:
            return None
        kinds = leaf.physical_type, self._file.schema.column(i).physical_type
        if kinds[0] != kinds[1]:  # of which the library would end the process
            told = explain(f"file {self.path}", f"{kinds[0]} in {name!r}", kinds[1], "check it")
            raise ValueError(told)
        return leaf.statistics

    def read(self, group: int, name: str) -> Any:
        """Return a column of a group."""
        return self._file.read_row_group(group, columns=[name], use_threads=False).column(0)


def table(path: str) -> Table:
    """Return what is known of a table."""
    return Table(path, "parquet", (".parquet",), _Sheet)


def describe(path: str, name: str | None) -> tuple[Stored, View]:
    """Return what is in a column; without a name, in the only one."""
    return table(path).describe(name)


def reader(stored: Stored) -> Column:
    """Open a column to read it."""
    return Column(stored, _Sheet)


def write_part(path: str, names: list[str], columns: list[np.ndarray], options: Any) -> None:
    """Write a file of columns, and bring it to the disk."""
    pq = _parquet()
    from pyarrow import table

    pq.write_table(table(dict(zip(names, columns, strict=True))), path, **options)
    brought(path)
