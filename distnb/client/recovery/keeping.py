"""Sessions that outlive their notebook: its memory is held by a keeper, which a new notebook asks.

What a session has is listed in its segment after each cell, when engines have done what they were
asked: names, and where their elements lie. That stays as it is until the next list, whatever
becomes of the arrays meanwhile; but for what engines write in place, of which a note is made
before, as of what the notebook itself may write. The keeper
(:mod:`distnb.client.recovery.keeper`) holds the segment, and nothing else.

Others read arrays by that list (:mod:`distnb.client.lasting.visiting`). For them a number in the
segment counts when what is listed begins to change, and ends; it is odd while nothing does.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import re
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from distnb.client.recovery import keeper
from distnb.client.recovery.shared_memory import SharedMemory
from distnb.common.errors import EngineError, explain
from distnb.common.leftovers import folder_prefix, own_folders
from distnb.common.shared_segments import SharedSegment, mapped_by
from distnb.wire.progress import batch_of
from distnb.wire.protocol import Command, Create

__all__ = ["Keeping", "Kept", "found", "seconds_of", "torn"]

#: Seconds that a keeper has to answer, and that the engines of a notebook that ended have to end.
_ANSWER, _ENGINES = 5.0, 20.0
_UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86400}


def seconds_of(time: str | float, what: str = "keep") -> float:
    """Return a time that is given as ``'1 h'``, or in seconds; ``what`` it is for."""
    do = f"pass {what}='1 h'"
    if isinstance(time, str):
        text = re.fullmatch(r"\s*(\d+\.?\d*)\s*(s|min|h|d)\s*", time)
        if text and float(text[1]) > 0:
            return float(text[1]) * _UNITS[text[2]]
        raise ValueError(explain(what, repr(time), "a time such as '30 min'", do))
    if isinstance(time, bool) or not isinstance(time, int | float | np.number):
        raise TypeError(explain(what, repr(time), "a time such as '30 min'", do))
    if not 0 < time < float("inf"):
        raise ValueError(explain(what, repr(time), "seconds above 0", do))
    return float(time)


class Keeping:
    """What lets a session outlive its notebook.

    Parameters
    ----------
    memory : SharedMemory
        The session's, which is had.
    facts : dict
        What whoever looks for it is told: engines, seconds, and when it was started.
    line : socket, optional
        That to a keeper which holds it already.
    """

    def __init__(
        self, memory: SharedMemory, facts: dict[str, Any], line: socket.socket | None = None
    ) -> None:
        self.facts = facts
        #: Whether it is that of a notebook before this one.
        self.taken = line is not None
        self._memory = memory
        self._line = line
        self._owner = os.getpid()
        #: Handle -> number in the list, and place -> number.
        self._listed: dict[int, int] = {}
        self._places: dict[int, int] = {}
        #: Numbers of what was written.
        self._written: set[int] = set()
        #: What the list needs, and the list itself.
        self._held: list[np.ndarray] = []
        if line is None:
            self._start()
        atexit.register(memory.segment.stay)

    def _start(self) -> None:
        """Start a keeper, and hold it."""
        fd, script = self._memory.segment.fd, str(keeper.__file__)
        given = folder_prefix(), str(fd), str(self.facts["seconds"])
        command = [sys.executable, "-I", "-S", script, *given]
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=(fd,),
            start_new_session=True,  # no signal for the notebook's group is for it
            text=True,
        )
        assert process.stdout is not None
        folder = process.stdout.readline().strip()
        process.stdout.close()
        process.returncode = 0  # it outlives this process, and nobody is to wait for it
        if not folder:
            raise EngineError("keeper: got none, expected one for keep=; leave out keep=")
        (Path(folder) / keeper.FACTS).write_text(json.dumps(self.facts))
        self.let_go()  # that of a keeper that was killed
        self._line, memory, _ = _ask(Path(folder), keeper.HOLD)
        os.close(memory)

    def tell(self, **facts: Any) -> None:
        """Let whoever looks for it be told something else, by another keeper."""
        self.facts |= facts
        line, self._line = self._line, None
        self._start()
        if line is not None:
            with contextlib.suppress(OSError):
                line.send(keeper.END)
            line.close()

    def sends(self, commands: Iterable[Command]) -> None:
        """Note what engines are about to write of what is listed."""
        for command in commands if self._places else ():
            if type(command) is Create:
                if command.how[0] == "same" and command.how[1] in self._places:
                    self._listed[command.base] = self._places[command.how[1]]
                continue
            for handle in command.writes:
                if handle in self._listed:
                    self._wrote(self._listed[handle])
        if self._memory.shown:  # to code on engines, which may write at any time
            for handle in self._memory.seen & self._listed.keys():
                self._wrote(-1 - self._listed[handle])

    def reached(self, memory: np.ndarray) -> None:
        """Note that the notebook may write by itself, and untold, into memory of what is listed."""
        number = self._places.get(self._memory.place(memory))
        if number is not None:
            self._wrote(-1 - number)

    def _wrote(self, mark: int) -> None:
        """Note that what has a number in the list is written; once."""
        if mark not in self._written:
            self.begin()
            self._written.add(mark)
            written = self._memory.segment.written
            written[1 + written[0]] = mark
            written[0] += 1

    def begin(self) -> bool:
        """Note that what is listed may change from now on; tell whether it did not before."""
        cells = self._memory.segment.cells
        rested = bool(cells[0] % 2)
        cells[0] += rested
        return rested

    def rest(self) -> None:
        """Note that what is listed stays as it is now, as no cell runs."""
        cells = self._memory.segment.cells
        cells[0] += 1 - cells[0] % 2

    @property
    def most(self) -> int:
        """How many bases may be listed, each of which may be noted in two ways."""
        return (len(self._memory.segment.written) - 1) // 2

    def write(
        self,
        text: bytes,
        listed: dict[int, int],
        places: dict[int, int],
        held: list[np.ndarray],
        near: Sequence[np.ndarray] = (),
    ) -> None:
        """Take another list for the one before; engines have done what they were asked.

        ``listed``: handle -> number, of bases that they may write; ``places``: place -> number;
        ``held``: what it needs; ``near``: the memory of what the notebook may write.
        """
        if self._line is None or select.select([self._line], [], [], 0)[0]:
            self._start()  # the keeper was killed
        segment = self._memory.segment
        memory = self._memory.keep(8 + len(text), 0)
        if memory is None:
            raise MemoryError("shared memory: no room for the list of what is kept")
        memory[:8] = np.frombuffer(np.int64(len(text)).tobytes(), np.uint8)
        memory[8:] = np.frombuffer(text, np.uint8)
        self.begin()
        segment.cells[0] += 2
        segment.listed[0] = self._memory.place(memory)
        segment.written[0] = 0
        segment.ended[:] = batch_of(segment.begun)
        self._listed, self._places, self._held = listed, places, [memory, *held]
        self._written = set()
        for each in near:
            self.reached(each)
        segment.cells[0] += 2

    def listed(self) -> bytes:
        """Return the list that whoever had the segment before has left; b"" if there is none."""
        segment = self._memory.segment
        place = int(segment.listed[0])
        if not place:
            return b""
        length = int(np.frombuffer(segment.read(place, 8), np.int64)[0])
        self._held = [self._memory.claim(place, 8 + length)]
        return segment.read(place + 8, length)

    def let_go(self) -> None:
        """Leave the keeper to others."""
        if self._line is not None:
            self._line.close()

    def close(self) -> None:
        """Let the keeper end."""
        atexit.unregister(self._memory.segment.stay)
        if self._line is not None and os.getpid() == self._owner:
            with contextlib.suppress(OSError):
                self._line.send(keeper.END)
            self._line.close()
        self._listed, self._places, self._held = {}, {}, []


def torn(segment: SharedSegment, engines: int) -> set[int]:
    """Return the numbers of what engines were writing that have not done it.

    That holds until there is another list, whatever other engines say that they do.
    """
    begun, ended = batch_of(segment.begun[:engines]), segment.ended[:engines]
    if (begun == begun[0]).all() and (ended == begun).all():
        segment.written[0] = 0
    else:
        segment.ended[:] = -1
    return {mark for mark in segment.written[1 : 1 + segment.written[0]].tolist() if mark >= 0}


class Kept(NamedTuple):
    """A session that was kept: its keeper's folder, and what it is."""

    folder: Path
    facts: dict[str, Any]
    #: The process that holds it, 0 if none does.
    pid: int

    @contextlib.contextmanager
    def seen(self) -> Iterator[int]:
        """Look at its memory, of which this gives a descriptor; whoever holds it goes on."""
        line, fd, _ = _ask(self.folder, keeper.LOOK)
        line.close()
        try:
            yield fd
        finally:
            os.close(fd)

    def take(self) -> tuple[socket.socket, SharedSegment]:
        """Hold it from now on; return the line to its keeper, and its segment.

        Raises EngineError if somebody else does, or if its engines have not ended.
        """
        line, fd, answer = _ask(self.folder, keeper.HOLD)
        try:
            if answer["busy"]:
                raise EngineError(_busy(answer["busy"]))
            until = time.monotonic() + _ENGINES
            while others := mapped_by(fd):
                if time.monotonic() > until:
                    raise EngineError(_busy(others[0]))
                time.sleep(0.05)
            return line, SharedSegment(os.fstat(fd).st_size, fd)
        except BaseException:
            line.close()
            os.close(fd)
            raise


def _busy(pid: int) -> str:
    return explain("session", f"one that process {pid} uses", "one that nobody does", "end that")


def found() -> list[Kept]:
    """Return the sessions of this user that are kept, the one that was started last coming last."""
    kept = []
    for folder in own_folders():
        try:
            facts = json.loads((folder / keeper.FACTS).read_text())
            line, fd, answer = _ask(folder, keeper.LOOK)
        except (OSError, ValueError, EngineError):
            continue
        line.close()
        os.close(fd)
        kept.append(Kept(folder, facts, int(answer["busy"])))
    return sorted(kept, key=lambda k: k.facts["started"])


def _ask(folder: Path, what: bytes) -> tuple[socket.socket, int, dict[str, Any]]:
    """Ask a keeper; return the line to it, the memory, and its answer."""
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    line.settimeout(_ANSWER)
    try:
        there = os.open(folder, os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            line.connect(f"/proc/self/fd/{there}/{keeper.SOCKET}")  # which is short
        finally:
            os.close(there)
        line.send(what)
        text, fds, *_ = socket.recv_fds(line, 4096, 1)
        (fd,) = fds
        return line, fd, json.loads(text)
    except BaseException as error:
        line.close()
        if not isinstance(error, OSError | ValueError):
            raise
        raise EngineError(f"keeper: {error}; it has ended, start engines anew") from error
