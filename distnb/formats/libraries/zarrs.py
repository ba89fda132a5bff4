"""Zarr: arrays in chunks, in folders and zip files, by zarr-python."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from distnb.common.addresses import exists, is_address, member_of, queried
from distnb.common.errors import explain
from distnb.common.interrupts import unbroken
from distnb.formats.npy import check_dtype
from distnb.formats.stored import Box, Place, Stored, check_same, module
from distnb.geometry.layout import Ints
from distnb.geometry.views import View

__all__ = ["ZarrArray", "attributes", "create", "describe", "list_again", "place", "stored_of"]

#: Elements of a chunk, where none are asked for.
_CHUNK = 1 << 20
#: Files that tell what is in a folder.
_HEADS = ("zarr.json", ".zarray", ".zgroup")


def _load() -> Any:
    import zarr

    return zarr


def _zarr() -> Any:
    return module(_load, "Zarr", "zarr", "zarr")


def describe(path: str, name: str | None) -> tuple[Stored, View]:
    """Return what is in an array."""
    if not (is_zarr(path) if is_address(path) else os.path.exists(path)):
        raise FileNotFoundError(explain(f"file {path}", "none", "a Zarr array", "check the path"))
    found = _array(path, name)
    check_dtype(found.dtype, f"{path}, array {found.name}")
    stored = Stored("zarr", path, (), *_facts(found), (found.path,))
    return stored, View.whole(stored.shape)


def attributes(stored: Stored) -> dict[str, Any]:
    """Return the attributes of an array."""
    return dict(_array(stored.path, stored.details[0] or None).attrs)


def _facts(array: Any) -> tuple[Ints, str, Ints]:
    """Return shape, dtype and chunks of an array of the library's: those that are read at once."""
    return tuple(array.shape), array.dtype.str, tuple(array.shards or array.chunks)


def _store(path: str) -> Any:
    """Return where chunks are: a folder, a zip file, or an address."""
    if is_address(path):
        found, store = queried(path), _zarr().storage.FsspecStore
        if found is None:
            return store.from_url(path, read_only=True)
        return store(found[0], path=found[1], read_only=True)
    return _zarr().storage.ZipStore(path, mode="r") if Path(path).is_file() else path


def _array(path: str, name: str | None) -> Any:
    """Return an array by its name, or the only one; raise KeyError, which tells what there is."""
    zarr = _zarr()
    store = _store(path)
    try:
        if is_address(path) and name:  # there may be no list of what is there
            return zarr.open_array(store, path=name, mode="r")
        found = zarr.open(store, mode="r")
    except Exception as error:  # zarr has many, one for each way to be none
        raise ValueError(explain(f"file {path}", error, "a good Zarr array", "check it")) from None
    if isinstance(found, zarr.Array):
        return found
    names = [key for key, member in found.members(max_depth=None) if isinstance(member, zarr.Array)]
    if name is None and len(names) == 1:
        return found[names[0]]
    if name not in names:
        raise KeyError(explain(f"file {path}", f"name {name!r}", f"one of {names}", "give name="))
    return found[name]


class ZarrArray:
    """Reads and writes boxes."""

    def __init__(self, stored: Stored, mode: str = "r") -> None:
        zarr = _zarr()
        check_same(stored.path, ())
        self._path = stored.path
        inner = stored.details[0] or None
        try:
            self._array = zarr.open_array(_store(stored.path), path=inner, mode=mode)
        except Exception as error:  # zarr has many, and protocols have theirs
            raise ValueError(
                explain(f"file {stored.path}", error, "a good Zarr array", "check it")
            ) from None
        found, known = _facts(self._array), (stored.shape, stored.dtype, stored.chunks)
        if found != known:  # chunks of another array would be read as if they were of this one
            raise OSError(
                explain(
                    f"file {stored.path}",
                    "shape {}, dtype {}, chunks {}".format(*found),
                    "{}, {}, {}, as when it was opened".format(*known),
                    "open it again",
                )
            )

    @classmethod
    def to_write(cls, stored: Stored) -> ZarrArray:
        """Open an array to write it."""
        return cls(stored, "r+")

    def close(self) -> None:
        """Do nothing: files of chunks are open only while they are read."""

    def read(self, box: Box, out: np.ndarray) -> None:
        """Read a box."""
        try:
            out[...] = self._array[tuple([slice(r.start, r.stop, r.step) for r in box])]
        except Exception as error:  # those of codecs, and of protocols
            where = tuple([(r.start, r.stop) for r in box])
            raise ValueError(
                explain(f"file {self._path}, elements {where}", error, "good chunks", "check them")
            ) from None

    def write(self, box: Box, data: np.ndarray) -> None:
        """Write a box."""
        try:
            self._array[tuple([slice(r.start, r.stop) for r in box])] = data
        except BaseException:
            _settle()
            raise


#: Tasks that wait for others, and not for each other: engines that are threads share a loop.
_SETTLING = "distnb settles"


def _settle() -> None:
    """Wait for writes that the library still does: they would make anew what is removed."""
    import asyncio

    from zarr.core.sync import sync

    async def others() -> None:
        own = asyncio.current_task()
        if own is not None:
            own.set_name(_SETTLING)
        tasks = {task for task in asyncio.all_tasks() if task.get_name() != _SETTLING}
        if tasks:
            await asyncio.wait(tasks, timeout=10)

    sync(others())


def place(path: str, name: str | None, overwrite: bool) -> Place:
    """Return where an array is to be: a folder in that of a group, of which others stay."""
    parts = [part for part in (name or "").split("/") if part]
    at, version = path, {} if not is_zarr(path) else {"zarr_format": _version(path)}
    while parts and is_zarr(at) and not _is_array(at) and os.path.lexists(f"{at}/{parts[0]}"):
        at = f"{at}/{parts.pop(0)}"
    if not is_zarr(at):
        if os.path.lexists(at) and (Path(at).is_file() or os.listdir(at)):
            told = explain(f"folder {at}", "other files", "none, or a Zarr array", "name a new one")
            raise FileExistsError(told)
        return Place(at, "/".join(parts) or None, path, options=version)
    array = _is_array(at)
    if parts and not array:
        inner = "/".join(parts[1:]) or None
        return Place(f"{at}/{parts[0]}", inner, path, options=version)
    if parts or not overwrite:
        errors = _zarr().errors
        got = f"an array{' in place of a group' * bool(parts)}" if array else "a group"
        do = "use another name=" + ", or overwrite=True" * (not parts)
        kind = errors.ContainsArrayError if array else errors.ContainsGroupError
        told = explain(f"folder {at}", got, "nothing of this name", do)
        raise kind.__new__(kind, told)  # whose __init__ has words of its own up to Zarr 3.0
    return Place(at, None, path, options=version if at != path else {})


def _is_array(path: str) -> bool:
    return isinstance(_node(path), _zarr().Array)


def _version(path: str) -> int:
    """Return the version of the format."""
    return int(_node(path).metadata.zarr_format)


def _node(path: str) -> Any:
    try:
        return _zarr().open(path, mode="r")
    except Exception as error:  # zarr has many, one for each way to be none
        raise ValueError(
            explain(f"folder {path}", error, "a good Zarr array", "check it")
        ) from None


def list_again(path: str) -> None:
    """Write the list of all that is in a group, if it has one."""
    if not _is_array(path) and _node(path).metadata.consolidated_metadata is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it is no part of version 3
            _zarr().consolidate_metadata(path)


def create(path: str, name: str | None, shape: Ints, dtype: np.dtype, options: Any) -> Stored:
    """Make a folder with an array that is to be filled; the library goes on after Ctrl-C."""
    return unbroken(lambda: _created(path, name, shape, dtype, options))


def _created(path: str, name: str | None, shape: Ints, dtype: np.dtype, options: Any) -> Stored:
    given = {"chunks": _chunks(shape), **options}
    if "attrs" in given:
        given["attributes"] = given.pop("attrs")
    zarr = _zarr()
    if name:
        version = given.pop("zarr_format", 3)
        group = zarr.create_group(path, zarr_format=version)
        made = group.create_array(name, shape=shape, dtype=dtype, **given)
    else:
        made = zarr.create_array(path, shape=shape, dtype=dtype, **given)
    return Stored("zarr", path, (), *_facts(made), (made.path,))


def _chunks(shape: Ints) -> Ints:
    """Return chunks of about so many elements: as many axes whole as fit.

    >>> _chunks((5000, 5000)), _chunks((3,))
    ((209, 5000), (3,))
    """
    found, room = list[int](), _CHUNK
    for n in reversed(shape):
        found.append(max(1, min(n, room)))
        room //= found[-1]
    return tuple(reversed(found))


def stored_of(target: Any) -> Stored | None:
    """Return what an array of the library's in a folder is; None if it is anything else."""
    zarr = sys.modules.get("zarr")
    if zarr is None or not isinstance(target, zarr.Array):
        return None
    if not isinstance(target.store, zarr.storage.LocalStore):
        return None
    path = os.path.abspath(target.store.root)
    return Stored("zarr", path, (), *_facts(target), (target.path,))


def is_zarr(path: str) -> bool:
    """Tell whether a folder is an array or a group of Zarr."""
    if is_address(path):
        return any(exists(member_of(path, name)) for name in _HEADS)
    return any((Path(path) / name).exists() for name in _HEADS)


def in_zip(path: str) -> bool:
    """Tell whether a zip file has what such a folder has."""
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            return any(name in archive.namelist() for name in _HEADS)
    except Exception:  # whoever reads it tells what is wrong
        return False
