"""What a checkpoint says of itself: a manifest, which is JSON, and its folder.

Elements are in files of NumPy's format beside it. A manifest takes the place of the one before when
all that it names is on the disk, so that one of them always holds.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import zlib
from collections.abc import Iterable
from dataclasses import astuple
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from distnb.client.files.writing import is_stream, sync
from distnb.client.lasting.assembled import Parts
from distnb.client.lasting.checking import (
    check_layout,
    check_parts,
    check_view,
    natural,
    need,
)
from distnb.common.addresses import is_address, local_path
from distnb.common.errors import explain
from distnb.geometry.axes import KINDS
from distnb.geometry.layout import Grid, Ints, Layout
from distnb.geometry.views import View

__all__ = [
    "Entry",
    "Manifest",
    "Named",
    "UnsureError",
    "because",
    "drop_others",
    "file_stamp",
    "folder_of",
    "lock",
    "new_file",
    "read_manifest",
    "unlock",
    "write_manifest",
]

#: The version of the format; a reader refuses others.
VERSION = 1
MANIFEST, LOCK = "manifest.json", "checkpoint.lock"
_FILE = re.compile(r"distnb-\w*-[0-9a-f]{12}\.npy")
#: The longest name of a file has so many of the bytes of an array's name.
_LONGEST = 120
#: What comes of taking for a manifest what is none.
_WRONG = (
    *(LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError),
    SyntaxError,  # of a dtype
)
_KIND_OF = {kind: name for name, kind in KINDS.items()}


class UnsureError(OSError):
    """A new manifest is in place, and nobody knows whether it is on the disk."""

    def __str__(self) -> str:
        return str(self.args[-1])


class Entry(NamedTuple):
    """A file of elements, and what they are.

    ``layout`` is that of the base on so many engines as the manifest tells; ``parts`` are bytes
    and CRC-32 of its elements, one part after the other.
    """

    shape: Ints
    dtype: str
    layout: Layout
    parts: tuple[tuple[int, int], ...]


class Named(NamedTuple):
    """An array: its file, what it shows of that, and whether it can be written."""

    file: str
    view: View
    writeable: bool


class Manifest(NamedTuple):
    """What is in a checkpoint: files and arrays by their names, and how many engines there were.

    ``assembled`` are those that are made of several arrays.
    """

    engines: int
    files: dict[str, Entry]
    arrays: dict[str, Named]
    assembled: dict[str, Parts]

    @property
    def needed(self) -> dict[str, tuple[Named, ...]]:
        """What each name needs."""
        made = {name: parts.arrays for name, parts in self.assembled.items()}
        return {name: (x,) for name, x in self.arrays.items()} | made


# -- text ------------------------------------------------------------------------------------------


def encoded(manifest: Manifest) -> bytes:
    """Return a manifest as text.

    >>> from distnb.geometry.layout import default_layout
    >>> entry = Entry((4, 3), "<f8", default_layout((4, 3), 2), ((48, 7), (48, 9)))
    >>> file = "distnb-T-0123456789ab.npy"
    >>> named = Named(file, View.whole((4, 3)), True)
    >>> there = Manifest(2, {file: entry}, {"T": named}, {})
    >>> decoded(encoded(there), "x") == there
    True
    """
    files = {name: {**e._asdict(), "layout": _told(e.layout)} for name, e in manifest.files.items()}
    body = {**manifest._asdict(), "files": files}
    body["arrays"] = {name: x._asdict() for name, x in manifest.arrays.items()}
    if manifest.assembled:
        body["assembled"] = {name: _told_parts(x) for name, x in manifest.assembled.items()}
    else:
        del body["assembled"]
    text = {"distnb checkpoint": VERSION, "crc32": _check(body), **body}
    return json.dumps(text, indent=1).encode()


def _check(body: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(body, sort_keys=True).encode())


def decoded(text: bytes, path: str) -> Manifest:
    """Return what a text says; raise ValueError if it is no manifest, or not as it was written."""
    try:
        found = json.loads(text)
        version, check = found.pop("distnb checkpoint"), found.pop("crc32", None)
    except _WRONG:
        raise _damaged(path, "no manifest of a checkpoint") from None
    if version != VERSION:
        raise ValueError(
            explain(
                f"checkpoint {path}",
                f"version {version!r}",
                f"version {VERSION}",
                "use the distnb that wrote it",
            )
        )
    if check != _check(found):
        raise _damaged(path, "another checksum")
    try:
        return _manifest(found)
    except _WRONG as error:
        raise _damaged(path, f"what cannot be ({error})") from None


def _manifest(told: dict[str, Any]) -> Manifest:
    """Return what there is; raise some error if it cannot be."""
    engines = told["engines"]
    need(natural(engines) and engines, "engines")
    files = {name: _entry(e, engines) for name, e in told["files"].items()}
    need(all(map(_FILE.fullmatch, files)), "names of files")
    arrays = {n: _named(x, files) for n, x in told["arrays"].items()}
    made = {n: _parts(x, files) for n, x in told.get("assembled", {}).items()}
    need(not arrays.keys() & made.keys(), "names")
    return Manifest(engines, files, arrays, made)


def _damaged(path: str, got: str) -> ValueError:
    return ValueError(
        explain(f"file {path}", got, "what dnb.checkpoint() wrote", "use another checkpoint")
    )


def _told(layout: Layout) -> dict[str, Any]:
    axes = [[_KIND_OF[type(axis)], *astuple(axis)] for axis in layout.axes]
    return {"grid": astuple(layout.grid), "axes": axes, "dims": layout.dims}


def _told_parts(parts: Parts) -> dict[str, Any]:
    facts = [_told(x) if isinstance(x, Layout) else x for x in parts.facts]
    return {**parts._asdict(), "facts": facts, "arrays": [x._asdict() for x in parts.arrays]}


def _parts(told: dict[str, Any], files: dict[str, Entry]) -> Parts:
    facts = [_layout(x) if isinstance(x, dict) else _tuples(x) for x in told["facts"]]
    arrays, shape = [_named(x, files) for x in told["arrays"]], _tuples(told["shape"])
    need(all(map(natural, shape)) and isinstance(told["text"], str), "assembled array")
    return Parts(told["kind"], shape, told["text"], tuple(facts), tuple(arrays))


def _layout(told: dict[str, Any]) -> Layout:
    grid = Grid(*_tuples(told["grid"]))
    axes = tuple([KINDS[name](*_tuples(args)) for name, *args in told["axes"]])
    return Layout(grid, axes, _tuples(told["dims"]))


def _entry(told: dict[str, Any], engines: int) -> Entry:
    made, shape = _layout(told["layout"]), _tuples(told["shape"])
    entry = Entry(shape, told["dtype"], made, _tuples(told["parts"]))
    check_parts(shape, entry.dtype, entry.parts)
    check_layout(made, shape, engines)
    return entry


def _named(told: dict[str, Any], files: dict[str, Entry]) -> Named:
    entry, view = files[told["file"]], View(*_tuples(told["view"]))
    check_view(view, entry.shape, np.dtype(entry.dtype).itemsize)
    need(isinstance(told["writeable"], bool), "writeable")
    repeats = any(axis < 0 and n > 1 for n, (axis, _, _) in zip(view.shape, view.dims, strict=True))
    return Named(told["file"], view, told["writeable"] and not repeats)


def _tuples(x: Any) -> Any:
    """Return lists within lists as tuples."""
    return tuple([_tuples(each) for each in x]) if isinstance(x, list) else x


# -- folders ---------------------------------------------------------------------------------------


def folder_of(path: object) -> str:
    """Return the whole path of a folder for a checkpoint; refuse what is none."""
    if not isinstance(path, str | os.PathLike):
        kind = type(path).__name__
        raise TypeError(explain("checkpoint", kind, "the path of a folder", "pass its name"))
    if is_address(os.fspath(path)):
        got = f"the address {os.fspath(path)}"
        raise ValueError(explain("checkpoint", got, "a folder", "name one that is mounted here"))
    found = os.path.realpath(local_path(os.fspath(path)))
    if os.path.lexists(found) and not Path(found).is_dir():
        raise NotADirectoryError(
            explain(f"checkpoint {found}", "a file", "a folder", "name another one")
        )
    return found


def lock(folder: str, write: bool = False) -> int:
    """Keep others from writing a checkpoint, and from reading it if it is to be written here.

    Returns a descriptor, which is to be closed; below 0 if there is nothing to hold. Raises OSError
    if others are at it.
    """
    if write:
        _prepare(folder)
    try:
        fd = os.open(os.path.join(folder, LOCK), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:  # a copy of one, or none
        return -1
    try:
        _hold(fd, folder, write)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _prepare(folder: str) -> None:
    """Make the folder; refuse one with other files in it."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise because(error, folder, "a folder to write in", "name another one") from None
    there = set(os.listdir(folder))
    if there and LOCK not in there and MANIFEST not in there:
        raise FileExistsError(
            explain(
                f"folder {folder}", "other files in it", "none, or a checkpoint", "name another"
            )
        )
    flags = os.O_CREAT | os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
    os.close(os.open(os.path.join(folder, LOCK), flags, 0o666))


def unlock(fd: int) -> None:
    """Let others in, also while a forked child has the descriptor, too."""
    if fd >= 0:
        with contextlib.suppress(OSError):  # not all file systems lock
            fcntl.flock(fd, fcntl.LOCK_UN)
        os.close(fd)


def because(error: OSError, folder: str, expected: str, do: str) -> OSError:
    """Return an error of the same kind and number that says more."""
    found = type(error)(explain(f"checkpoint {folder}", error, expected, do))
    found.errno = error.errno
    return found


def _hold(fd: int, folder: str, write: bool) -> None:
    try:
        fcntl.flock(fd, (fcntl.LOCK_EX if write else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BlockingIOError(
            explain(
                f"checkpoint {folder}",
                "one that is read" if write else "one that is being written",
                "one that nobody is at",
                "try again in a while",
            )
        ) from None
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
            raise


def read_manifest(folder: str) -> Manifest:
    """Return what is in a checkpoint."""
    path = os.path.join(folder, MANIFEST)
    if is_stream(path):  # which may never end
        raise _damaged(path, "no regular file")
    try:
        return decoded(Path(path).read_bytes(), path)
    except FileNotFoundError:
        raise FileNotFoundError(
            explain(f"checkpoint {folder}", f"no {MANIFEST} in it", "one", "name its folder")
        ) from None


def file_stamp(folder: str, name: str) -> Ints:
    """Return what changes when a file is written, cut or replaced; nothing if there is none."""
    try:
        found = os.stat(os.path.join(folder, name))
    except OSError:
        return ()
    return found.st_size, found.st_mtime_ns, found.st_ino


def write_manifest(folder: str, manifest: Manifest) -> None:
    """Let a manifest take the place of the one before; what it names is on the disk before."""
    path = os.path.join(folder, MANIFEST)
    part = f"{path}.part"
    text = encoded(manifest)
    decoded(text, path)  # what could not be read again is not to take the place of what can
    for name in manifest.files:
        sync(os.path.join(folder, name))
    with open(part, "wb") as file:
        file.write(text)
    sync(part)
    _sync_names(folder)
    os.replace(part, path)
    try:
        _sync_names(folder)
    except OSError as error:
        do = "write it again; a crash of the machine may leave this one or the one before"
        got = f"the new one, but {error}"
        why = explain(f"checkpoint {folder}", got, "one that is on the disk", do)
        raise UnsureError(error.errno, why) from error


def _sync_names(folder: str) -> None:
    """Bring the names in a folder to the disk, where file systems do that."""
    try:
        sync(folder)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS):
            raise


def new_file(folder: str, name: str, head: bytes, length: int) -> str:
    """Make a file for an array that has a name, as long as it is to be; return its name."""
    stem = re.sub(r"\W", "_", name).encode()[:_LONGEST].decode(errors="ignore")
    found = f"distnb-{stem}-{os.urandom(6).hex()}.npy"
    path = os.path.join(folder, found)
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666)
    try:
        os.write(fd, head)
        os.ftruncate(fd, length)
    except BaseException:
        os.unlink(path)
        raise
    finally:
        os.close(fd)
    return found


def drop_others(folder: str, made: Iterable[str] | None = None) -> None:
    """Remove files of arrays that the manifest of a folder does not name.

    Of those that were ``made``; by default all that have names such as only checkpoints give.
    """
    try:
        there = os.listdir(folder)
        named = read_manifest(folder).files if MANIFEST in there else {}
    except (OSError, ValueError):  # then nobody knows
        return
    for name in there if made is None else made:
        if _FILE.fullmatch(name) and name not in named:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, name))
