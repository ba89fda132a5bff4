"""The lookout: a thread that tells within moments that a process of this host has ended.

Sockets and ipyparallel tell of the same, but only whoever asks them: not while nothing is used.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
from collections.abc import Callable, Iterable
from weakref import WeakMethod

__all__ = ["Lookout"]

#: A method that is to be called, and with what.
_Tell = tuple[WeakMethod[Callable[[int], None]], int]


class Lookout:
    """Watches processes until the first of them ends, and then until it is given others.

    Where the system knows no descriptors of processes (Linux has them) it never tells anything.

    Examples
    --------
    >>> import subprocess, sys
    >>> class Listener:
    ...     heard = threading.Event()
    ...     def tell(self, generation): self.heard.set()
    >>> listener, lookout = Listener(), Lookout()
    >>> process = subprocess.Popen([sys.executable, "-c", ""])
    >>> lookout.watch([process.pid], listener.tell, 0)
    >>> listener.heard.wait(), process.wait()
    (True, 0)
    >>> lookout.close()
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: Process -> its descriptor, which is readable when it has ended.
        self._watched: dict[int, int] = {}
        self._tells: list[_Tell] = []
        #: Whether one had ended before it could be watched; whether nobody is to be told any more.
        self._late = self._closed = False
        self._changes, self._change = os.pipe()
        threading.Thread(target=self._look, name="distnb-lookout", daemon=True).start()

    def watch(self, pids: Iterable[int], tell: Callable[[int], None], generation: int) -> None:
        """Watch processes, too, and call a method in another thread when one of all has ended.

        It is called with ``generation``, that of the processes.
        """
        with self._lock:
            if self._closed or not hasattr(os, "pidfd_open"):
                return
            self._tells.append((WeakMethod(tell), generation))
            for pid in set(pids) - set(self._watched):
                try:
                    self._watched[pid] = os.pidfd_open(pid)
                except ProcessLookupError:
                    self._late = True
                except OSError:  # there are too many descriptors: it is told of when it is used
                    continue
            os.write(self._change, b"+")

    def close(self) -> None:
        """Tell nobody any more."""
        with self._lock:
            if not self._closed:
                self._closed = True
                os.write(self._change, b"-")

    def _look(self) -> None:
        while not self._closed:
            poll = select.poll()
            with self._lock:
                ended, self._late = self._late, False
                for descriptor in (self._changes, *self._watched.values()):
                    poll.register(descriptor, select.POLLIN)
            ready = [] if ended else [descriptor for descriptor, _ in poll.poll()]
            if self._changes in ready:
                os.read(self._changes, 64)
            elif not self._closed:
                self._tell()
        self._forget()
        for descriptor in (self._changes, self._change):
            os.close(descriptor)

    def _tell(self) -> None:
        """Call who wants to know; watch nothing until there is something else."""
        for tell, generation in self._forget():
            method = tell()
            if method is not None:
                with contextlib.suppress(Exception):  # who is told next must be
                    method(generation)

    def _forget(self) -> list[_Tell]:
        with self._lock:
            for descriptor in self._watched.values():
                os.close(descriptor)
            self._watched.clear()
            tells, self._tells = self._tells, []
            return tells
