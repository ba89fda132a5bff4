"""Arrow's files, which are those of Feather: columns of numbers in batches of rows, by pyarrow."""

from __future__ import annotations

from typing import Any

import numpy as np

from distnb.common.addresses import opened
from distnb.formats.libraries.columns import Column, Table, brought
from distnb.formats.stored import Stored, good, module
from distnb.formats.text import dtype_of
from distnb.geometry.views import View

__all__ = ["SUFFIXES", "describe", "reader", "table", "write_part"]

#: What names of such files end in.
SUFFIXES = (".arrow", ".feather")


def _load() -> Any:
    import pyarrow.ipc

    return pyarrow


def _values(kind: Any) -> Any:
    """Return the type of elements, of which each may be kept once (a categorical of pandas)."""
    return getattr(kind, "value_type", kind) if str(kind).startswith("dictionary") else kind


class _Sheet:
    """An open file; of batches, which may be compressed, a column is read by itself."""

    def __init__(self, path: str) -> None:
        self._pa = module(_load, "Arrow", "pyarrow", "arrow")
        self.path, self._columns = path, dict[str, Any]()
        with good(path, "a good Arrow file"):
            found = opened(path)
            pa = self._pa  # nothing is mapped: as of plain files
            self._file = pa.OSFile(path) if found is path else pa.PythonFile(found, mode="r")
            stored = pa.ipc.open_file(self._file).schema
            self.schema = pa.schema([pa.field(f.name, _values(f.type)) for f in stored])
            fields = [field.name for field in self.schema]
            quick = [f.name for f in self.schema if dtype_of(str(f.type))]
            self.rows: tuple[int, ...] = ()
            if fields:  # nothing but a column tells how long batches are
                first = (quick or fields)[0]
                many = range(self._reader(first).num_record_batches)
                self.rows = tuple([len(self._batch(k, first)) for k in many])

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _reader(self, name: str) -> Any:
        """Return what reads batches of one column."""
        if name not in self._columns:
            ipc, places = self._pa.ipc, self.schema.get_all_field_indices(name)
            options = ipc.IpcReadOptions(included_fields=places[:1], use_threads=False)
            self._columns[name] = ipc.open_file(self._file, options=options)
        return self._columns[name]

    def _batch(self, group: int, name: str) -> Any:
        found = self._reader(name).get_batch(group)
        found.validate()  # what a damaged file tells may not be there
        return found

    def _elements(self, group: int, name: str) -> Any:
        found = self._batch(group, name).column(0)
        return found.dictionary_decode() if hasattr(found, "dictionary_decode") else found

    def missing(self, name: str) -> bool:
        """Tell whether some elements of a column are missing."""
        with good(self.path, "a good Arrow file"):
            return any(self._elements(k, name).null_count for k in range(len(self.rows)))

    def ends(self, group: int, name: str) -> None:
        """Return None: batches tell nothing of their elements."""

    def read(self, group: int, name: str) -> Any:
        """Return a column of a batch."""
        return self._pa.chunked_array([self._elements(group, name)])


def table(path: str) -> Table:
    """Return what is known of a table."""
    return Table(path, "arrow", SUFFIXES, _Sheet)


def describe(path: str, name: str | None) -> tuple[Stored, View]:
    """Return what is in a column; without a name, in the only one."""
    return table(path).describe(name)


def reader(stored: Stored) -> Column:
    """Open a column to read it."""
    return Column(stored, _Sheet)


def write_part(path: str, names: list[str], columns: list[np.ndarray], options: Any) -> None:
    """Write a file of columns, and bring it to the disk."""
    module(_load, "Arrow", "pyarrow", "arrow")
    from pyarrow import feather, table

    feather.write_feather(table(dict(zip(names, columns, strict=True))), path, **options)
    brought(path)
