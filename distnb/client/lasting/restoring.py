"""Arrays of a checkpoint again, on any number of engines."""

from __future__ import annotations

import os
from collections.abc import Iterable, MutableMapping
from typing import Any

import numpy as np

from distnb.client.files.reading import (
    Source,
    checksum_of,
    fill_from,
    once,
    read_here,
    summed,
)
from distnb.client.files.writing import is_stream
from distnb.client.handle.array import create, hosted
from distnb.client.lasting.assembled import KINDS, Parts, Shared, again
from distnb.client.lasting.checkpoints import Saved
from distnb.client.lasting.manifests import (
    Entry,
    Manifest,
    file_stamp,
    folder_of,
    lock,
    read_manifest,
    unlock,
)
from distnb.client.session import current
from distnb.client.session.session import Session
from distnb.common.errors import DistnbError, explain
from distnb.formats import npy
from distnb.formats.stored import Stored
from distnb.geometry.regrid import regridded
from distnb.geometry.views import View

__all__ = ["restore"]


def restore(
    path: str | os.PathLike[str],
    names: Iterable[str] | None = None,
    *,
    into: MutableMapping[str, Any] | None = None,
    session: Session | None = None,
) -> dict[str, Any]:
    """Return the arrays of a checkpoint, by their names: each engine reads its own parts.

    They lie as they did, on another number of engines by the same kinds along each axis. Views of
    one array are views of it again. All are read and compared with their checksums, or none.

    Parameters
    ----------
    path : str or path
        The folder that :func:`checkpoint` has written.
    names : iterable of str, optional
        Of the arrays that are wanted; by default all.
    into : mutable mapping, optional
        Where they are set by their names, too: ``into=globals()`` gives the notebook its variables
        again.
    session : Session, optional
        By default the current one.

    Returns
    -------
    dict
        Name -> array.

    Raises
    ------
    OSError
        If there is no checkpoint, one of its files is missing or cannot be read, or it is being
        written just now.
    ValueError
        If a file is not what was written, or the checkpoint is of a later version of distnb.
    KeyError
        If it has no array of a name.
    MemoryError
        If the engines have no room for them.

    See Also
    --------
    checkpoint : The way there.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2) as session:
    ...     session["A"] = dnb.ones((4, 4), dist=("*", "block"))
    ...     dnb.checkpoint("run")
    >>> with dnb.inprocess(4):
    ...     found = dnb.restore("run")
    ...     list(found), found["A"].layout.elements()
    (['A'], (4, 4, 4, 4))
    """
    if into is not None and not isinstance(into, MutableMapping):
        raise TypeError(explain("into", type(into).__name__, "a mapping", "pass into=globals()"))
    found = current.need(session)
    folder = once(found, folder_of, path)
    fd = once(found, lock, folder)
    try:
        manifest: Manifest = once(found, read_manifest, folder)
        wanted = _wanted(manifest, names, folder)
        files = {x.file for name in wanted for x in manifest.needed[name]}
        stamps = {f: once(found, file_stamp, folder, f) for f in manifest.files if f in files}
        bases = {f: _read(found, folder, f, manifest) for f in stamps}
    finally:
        if not found.transport.rank:
            unlock(fd)
    arrays, shared = dict[str, Any](), Shared()
    for name in wanted:
        each = [bases[file].alias(*shown) for file, *shown in manifest.needed[name]]
        parts = manifest.assembled.get(name)
        if parts is None:
            arrays[name] = each[0]
        else:
            made = parts._replace(arrays=tuple(each))
            arrays[name] = _assembled(folder, name, made, manifest.engines, shared)
    for file, x in bases.items():
        found.extensions[Saved].keep(x.dbase, folder, file, stamps[file])
    if into is not None:
        into.update(arrays)
    return arrays


def _wanted(manifest: Manifest, names: Iterable[str] | None, folder: str) -> list[str]:
    """Return the names of the arrays that are to be read."""
    if names is None:
        return list(manifest.needed)
    wanted = [names] if isinstance(names, str) else list(names)
    if unknown := [name for name in wanted if name not in manifest.needed]:
        there = f"some of {list(manifest.needed)}"
        raise KeyError(explain(f"checkpoint {folder}", f"names {unknown}", there, "name these"))
    return wanted


def _read(session: Session, folder: str, file: str, manifest: Manifest) -> Any:
    """Return the array of all of a file, when it has been read and compared."""
    entry, path = manifest.files[file], os.path.join(folder, file)
    stored = once(session, _described, path, entry)
    layout = regridded(entry.layout, entry.shape, manifest.engines, session.size)
    view, dtype = View.whole(entry.shape), np.dtype(entry.dtype)
    source = Source(stored)
    if layout.here:
        once(session, _check, session, stored, entry, True)
        return hosted(session, once(session, read_here, source, view))
    _check(session, stored, entry, False)
    out = create(session, entry.shape, dtype, layout, ("empty",), stays=True)
    if out.size:
        fill_from(source, view, out)
        session.flush()
    return out


def _assembled(folder: str, name: str, parts: Parts, engines: int, shared: Shared) -> Any:
    """Return what is made of several arrays, if they fit each other."""
    try:
        made = again(parts, engines, shared)
        KINDS[parts.kind].check(made)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, DistnbError):
            raise
        raise _damaged(f"{folder}: {name}", f"what cannot be ({error})") from None
    return made


def _described(path: str, entry: Entry) -> Stored:
    """Return what is in a file, if that is what the manifest says."""
    if is_stream(path):  # which may never end
        raise _damaged(path, "no regular file")
    try:
        stored, _ = npy.describe(path)
    except FileNotFoundError:
        raise FileNotFoundError(
            explain(f"file {path}", "none", "the one that the checkpoint has", "find it again")
        ) from None
    if (stored.shape, stored.dtype) != (entry.shape, entry.dtype):
        raise _damaged(path, f"shape {stored.shape} and dtype {stored.dtype}")
    return stored


def _check(session: Session, stored: Stored, entry: Entry, here: bool) -> None:
    """Raise ValueError if a file has not the checksums of its parts."""
    begin, length = int(stored.details[0]), sum([n for n, _ in entry.parts])
    if checksum_of(session, stored, begin, length, here) != summed(entry.parts):
        raise _damaged(stored.path, "other elements")


def _damaged(path: str, got: str) -> ValueError:
    return ValueError(
        explain(f"file {path}", got, "what was saved", "it was changed: use another checkpoint")
    )
