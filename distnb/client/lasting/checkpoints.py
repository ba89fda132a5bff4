"""Checkpoints: arrays that have names, in a folder, each engine writing its own parts.

A folder holds one checkpoint: a manifest, and a file for the memory of each array. What nothing has
written since it was saved there is not written again.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from math import prod
from typing import Any, NamedTuple

import numpy as np

from distnb.client.array.migration import whole
from distnb.client.batching.call_sites import warn_user
from distnb.client.files.reading import in_boxes, once
from distnb.client.files.writing import wait_for_writers, write
from distnb.client.handle.array import Array
from distnb.client.handle.copies import seen
from distnb.client.lasting.assembled import dense_parts, parts_of
from distnb.client.lasting.kept_arrays import named_arrays, to_have_names
from distnb.client.lasting.manifests import (
    MANIFEST,
    Entry,
    Manifest,
    Named,
    UnsureError,
    because,
    drop_others,
    file_stamp,
    folder_of,
    lock,
    new_file,
    read_manifest,
    unlock,
    write_manifest,
)
from distnb.client.session import current
from distnb.client.session.bases import Base
from distnb.client.session.session import Session
from distnb.common.errors import LostArrayError, explain
from distnb.formats import npy
from distnb.formats.stored import Stored
from distnb.geometry.layout import Ints
from distnb.geometry.views import View
from distnb.wire.protocol import Collective, Command, Create, Operand

__all__ = ["Next", "Saved", "checkpoint", "next_of", "repeat"]


class _Plan(NamedTuple):
    """A checkpoint that is written again and again."""

    seconds: float
    names: tuple[str, ...] | None
    last: float


class _Last(NamedTuple):
    """The last checkpoint in a folder: when it was whole, of which names, and at what speed."""

    when: float
    names: tuple[str, ...] | None
    bytes_per_second: float


class Next(NamedTuple):
    """What a checkpoint would write again if it were asked for now.

    Attributes
    ----------
    folder : str
        Where it is.
    age : float
        Seconds since the last one there.
    names : tuple of str
        Arrays that were written to since, or may have been.
    nbytes : int
        Their bytes.
    seconds : float
        What writing them takes, as the last one took; 0 where that is not known.
    """

    folder: str
    age: float
    names: tuple[str, ...]
    nbytes: int
    seconds: float


class Saved:
    """What of a session is in checkpoints as it is, and which are to be written by themselves.

    A base that the notebook had in reach loses its mark in ``kept`` when it leaves; what engines
    write is seen when it is sent, whichever thread recorded it.
    """

    def __init__(self) -> None:
        #: Handle of a base -> folder -> the file that has it as it is, and that file's stamp.
        self.files: dict[int, dict[str, tuple[str, Ints]]] = {}
        #: What others had asked engines for when that was last trusted.
        self._foreign = -1
        #: Folder -> plan.
        self.plans: dict[str, _Plan] = {}
        #: Folder -> the last checkpoint in it.
        self.last: dict[str, _Last] = {}

    def find(self, base: Base, folder: str) -> str | None:
        """Return the file that has a base as it is now, None if that is not known to all ranks."""
        mine = self._known(base, folder)
        return mine if all(file == mine for file in base.session.transport.share(mine)) else None

    def _known(self, base: Base, folder: str) -> str | None:
        if self._foreign != base.session.foreign:
            self.files.clear()
        if not _trusted(base) or base.kept is None or Saved not in base.kept:
            return None
        file, stamp = self.files.get(base.handle, {}).get(folder, ("", ()))
        return file if file and file_stamp(folder, file) == stamp else None

    def keep(self, base: Base, folder: str, file: str, stamp: Ints) -> None:
        """Note that a file has a base as it is, and had this stamp then."""
        session = base.session
        if not _trusted(base):
            return
        if self._foreign != session.foreign:
            self.files.clear()
            self._foreign = session.foreign
        if base.kept is None or Saved not in base.kept:  # what was saved before is another content
            base.kept = {**(base.kept or {}), Saved: True}
            self.files.pop(base.handle, None)
        self.files.setdefault(base.handle, {})[folder] = file, stamp
        session.looks, session.watch = True, self._sends

    def _sends(self, commands: Iterable[Command]) -> None:
        """Forget what is about to be written."""
        if self.files:
            for handle in [h for command in commands for h in command.writes]:
                self.files.pop(handle, None)

    def forget_others(self, session: Session) -> None:
        """Forget bases that are gone."""
        there = session.handles.entries
        self.files = {h: found for h, found in self.files.items() if h in there}


def _trusted(base: Base) -> bool:
    """Tell whether all writes are seen: not what ``%px`` code was shown, which may write later."""
    return seen(base) and not base.session.memory.shown


# -- what users call -------------------------------------------------------------------------------


def checkpoint(
    path: str | os.PathLike[str],
    names: Iterable[str] | None = None,
    *,
    every: str | float | None = None,
    session: Session | None = None,
) -> None:
    """Write the arrays that have names into a folder, from where :func:`restore` has them again.

    Those that :func:`arrays` lists: the notebook's variables, and what ``session["T"] = A`` named.
    Each engine writes its own parts, in NumPy's format. What was not written to since the last
    checkpoint in the folder is not saved again. The folder holds one checkpoint, which is whole at
    any time: the one before, until the new one is on the disk.

    Parameters
    ----------
    path : str or path
        The folder, which is made; all hosts share it. It may have a checkpoint, or nothing.
    names : iterable of str, optional
        Of the arrays that are to be in it; by default all.
    every : str or float, optional
        Write it now, unless that was done within this time, such as ``'5 min'`` or seconds; and in
        a notebook again by itself, when a cell ends or while none runs, if that time has passed and
        a cell was run. The cell that comes then waits until it is written. ``'never'`` ends that.
    session : Session, optional
        By default the current one.

    Raises
    ------
    OSError
        If it cannot be written: no room, no permission, a file in place of the folder, a folder
        with other files in it, or somebody else is at it. The checkpoint before stays.
    LostArrayError
        If the content of one of the arrays is lost; nothing is written.
    KeyError, ValueError
        If there is no array of a name, or there are no names at all.

    See Also
    --------
    restore : The way back.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2) as session:
    ...     session["T"] = dnb.arange(10, dist="block")
    ...     dnb.checkpoint("run")
    >>> with dnb.inprocess(3):
    ...     dnb.restore("run")["T"].sum().item()
    45

    In a notebook, every five minutes:

    >>> dnb.checkpoint("run", every="5 min")  # doctest: +SKIP
    """
    found = current.need(session)
    folder = once(found, folder_of, path)
    plans = found.extensions[Saved].plans
    if every == "never":
        plans.pop(folder, None)
        return
    wanted = None if names is None else _strings(names)
    if every is None:
        _write(found, folder, wanted)
        return
    seconds = current.keeping().seconds_of(every, "every")
    if folder not in plans or once(found, _due, plans[folder]._replace(seconds=seconds)):
        _write(found, folder, wanted)
        last = time.monotonic()
    else:
        last = plans[folder].last
    plans[folder] = _Plan(seconds, wanted, last)


def repeat(session: Session) -> float | None:
    """Write the checkpoints for which it is time; return the seconds until the next one.

    None if there is none. What goes wrong is told, and tried again after as much time.
    """
    plans = session.extensions[Saved].plans
    for folder, plan in list(plans.items()):
        if not _due(plan):
            continue
        plans[folder] = plan._replace(last=time.monotonic())
        try:
            with session.journal.paused():  # this is not what the cell computes
                _write(session, folder, plan.names)
        except Exception as error:
            why = error.args[0] if isinstance(error, KeyError) else error  # its text has quotes
            print(f"distnb: no checkpoint was written: {why}", file=sys.stderr)
        plans[folder] = plan._replace(last=time.monotonic())
    now = time.monotonic()
    return min([max(0.0, p.last + p.seconds - now) for p in plans.values()], default=None)


def next_of(session: Session) -> tuple[Next, ...]:
    """Return what the checkpoints of a session would write now, the last one first."""
    saved: Saved = session.extensions[Saved]
    found, now, arrays = [], time.monotonic(), named_arrays(session)
    for folder, last in saved.last.items():
        changed = [
            (name, x.dbase)
            for name, named in arrays.items()
            if last.names is None or name in last.names
            for x in dense_parts(named)
            if saved.find(x.dbase, folder) is None
        ]
        nbytes = sum(map(_nbytes, {id(base): base for _, base in changed}.values()))
        seconds = nbytes / last.bytes_per_second if last.bytes_per_second else 0.0
        names = tuple(dict(changed))
        found.append(Next(folder, now - last.when, names, nbytes, seconds))
    return tuple(sorted(found, key=lambda next_: next_.age))


def _due(plan: _Plan) -> bool:
    return time.monotonic() - plan.last >= plan.seconds


def _strings(names: Iterable[str]) -> tuple[str, ...]:
    found = (names,) if isinstance(names, str) or not np.iterable(names) else tuple(names)
    if not all(isinstance(name, str) for name in found):
        raise TypeError(explain("names", repr(found), "strings", "pass names=['T']"))
    return found


# -- how it is written -----------------------------------------------------------------------------


def _write(session: Session, folder: str, names: tuple[str, ...] | None) -> None:
    """Write a checkpoint of what there is now."""
    arrays = _chosen(session, names)
    with session.recorder.lock:  # nobody sends anything meanwhile
        session.flush()
        _check(arrays)
        fd, made = once(session, lock, folder, True), list[str]()
        try:
            begin = time.monotonic()
            read = {name: x for name, x in arrays.items() if _is_read(name, x)}
            nbytes = _write_all(session, folder, read, made)
            _note(session.extensions[Saved], folder, names, nbytes, begin)
        except BaseException as error:
            wait_for_writers(session, error)
            if not session.transport.rank:
                drop_others(folder, made)
            if isinstance(error, OSError) and not isinstance(error, UnsureError):
                do = "make room or use another folder; what was there before stays"
                raise because(error, folder, "one that is whole", do) from None
            raise
        finally:
            if not session.transport.rank:
                unlock(fd)


def _chosen(session: Session, names: tuple[str, ...] | None) -> dict[str, Any]:
    """Return the arrays that are to be written, by their names."""
    there = named_arrays(session)
    if names is not None and (unknown := [name for name in names if name not in there]):
        expected = f"some of {sorted(there)}"
        raise KeyError(explain("checkpoint", f"names {unknown}", expected, "name these"))
    found = there if names is None else {name: there[name] for name in names}
    if not found:
        raise ValueError(explain("checkpoint", "no arrays with names", "some", to_have_names()))
    return found


def _check(arrays: dict[str, object]) -> None:
    """Refuse arrays whose content is lost."""
    dense = [(name, x) for name, named in arrays.items() for x in dense_parts(named)]
    for _, x in dense:
        x.session.unfinished.finish()
    lost = {name: x.dbase.lost for name, x in dense if x.dbase.lost}
    if lost:
        why = next(iter(lost.values()))
        raise LostArrayError(
            explain(
                f"checkpoint of {', '.join(lost)}",
                "lost content" + (f" ({why})" if isinstance(why, str) else ""),
                "arrays that are there",
                "write them anew, or leave them out with names=",
            )
        )


def _is_read(name: str, named: object) -> bool:
    """Tell whether an array has been read, if it is from a file; say so if it was not."""
    looks = [x.dbase.look for x in dense_parts(named)]
    if not any(look is not None and look.unread for look in looks):
        return True
    warn_user(f"checkpoint: {name} is left out, for it was still to be read from a file")
    return False


def _note(
    saved: Saved, folder: str, names: tuple[str, ...] | None, nbytes: int, begin: float
) -> None:
    """Note a checkpoint that is whole; where nothing was written, the speed is that of before."""
    now, before = time.monotonic(), saved.last.get(folder)
    known = 0.0 if before is None else before.bytes_per_second
    speed = nbytes / (now - begin) if nbytes and now > begin else known
    saved.last[folder] = _Last(now, names, speed)


def _write_all(session: Session, folder: str, arrays: dict[str, Any], made: list[str]) -> int:
    """Write what has changed, then the manifest; return bytes, tell which files are ``made``."""
    begin, saved = time.monotonic(), session.extensions[Saved]
    before: Manifest = once(session, _before, folder, session.size)
    now = Manifest(session.size, {}, {}, {})
    files = dict[int, str]()
    written = list[tuple[Base, str]]()

    def saved_as(name: str, x: Array) -> Named:
        base = x.dbase
        if id(base) not in files:
            known = saved.find(base, folder)
            if known is not None and known in before.files:
                files[id(base)] = known
                now.files[known] = before.files[known]._replace(layout=base.layout)
            else:
                file, now.files[file] = _write_one(whole(base), folder, name, made)
                files[id(base)] = file
                written.append((base, file))
        return Named(files[id(base)], x.dview, x.writeable)

    for name, x in arrays.items():
        if (parts := parts_of(x)) is None:
            now.arrays[name] = saved_as(name, x)
        else:
            there = tuple([saved_as(name, each) for each in parts.arrays])
            now.assembled[name] = parts._replace(arrays=there)
    once(session, write_manifest, folder, now)
    once(session, drop_others, folder)
    saved.forget_others(session)
    for base, file in written:
        saved.keep(base, folder, file, once(session, file_stamp, folder, file))
    _tell_lineage(session, folder, written, time.monotonic() - begin)
    return sum(_nbytes(base) for base, _ in written)


def _tell_lineage(
    session: Session, folder: str, written: list[tuple[Base, str]], seconds: float
) -> None:
    """Let new engines read there what takes longer to make again; reading takes as writing did."""
    lineage, found = session.recovery.lineage, dict[int, tuple[Command, ...]]()
    if lineage is None:
        return
    for base, file in written:
        if not in_boxes(base.layout):  # these are read through others, in turns
            continue
        handle, shape, site, view = base.handle, base.shape, base.site, View.whole(base.shape)
        stored, _ = npy.describe(os.path.join(folder, file))
        made = Create(handle, shape, base.dtype.str, base.layout, ("empty",), site)
        args = tuple(stored), view
        found[handle] = made, Collective("file.read", (Operand(handle, view),), (), args, site)
    lineage.saved(found, seconds)


def _nbytes(base: Base) -> int:
    return prod(base.shape) * base.dtype.itemsize


def _before(folder: str, size: int) -> Manifest:
    """Return what the folder has; nothing if there is no manifest."""
    there = MANIFEST in os.listdir(folder)
    return read_manifest(folder) if there else Manifest(size, {}, {}, {})


def _write_one(x: Array, folder: str, name: str, made: list[str]) -> tuple[str, Entry]:
    """Write all of a base into a new file."""
    head = npy.header(x.shape, x.dtype)
    file = once(x.session, new_file, folder, name, head, len(head) + x.nbytes)
    made.append(file)
    path = os.path.join(folder, file)
    stored = Stored("npy", path, (), x.shape, x.dtype.str, (), (len(head),))
    parts = tuple(write(x, stored, summed=True))
    return file, Entry(x.shape, x.dtype.str, x.dbase.layout, parts)
