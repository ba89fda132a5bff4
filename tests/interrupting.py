"""Ctrl-C for a block of a test, and for nothing else of the process that runs the tests."""

import os
import signal
import sys
import threading
import time

import pytest

#: Seconds after which a signal that came too early, or that Python dropped, is sent once more.
_AGAIN = 0.002


class CtrlC:
    """Press Ctrl-C some seconds after a block begins; the block must end by it, soon.

    The block may be interrupted wherever Python looks for signals, but neither this class nor
    pytest: there, the signal is sent once more. So it is where Python drops what a signal raises, in
    callbacks of its garbage collector (hypothesis has one) and of weak references.

    Parameters
    ----------
    *delays : float
        Seconds; after the first that comes through, all that come are ignored.
    within : float
        Seconds after Ctrl-C was pressed first in which the block must end.
    """

    def __init__(self, *delays, within=3.0):
        self.within = within
        self.timers = [threading.Timer(s, self._send) for s in delays]
        #: Whether the block runs, and whether Ctrl-C came through.
        self.open = self.came = False
        #: When it was pressed first, those left out that are sent once more.
        self.at = None

    def __enter__(self):
        self.before = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGALRM)}
        self.hook, sys.unraisablehook = sys.unraisablehook, self._dropped
        signal.signal(signal.SIGINT, self._come)
        signal.signal(signal.SIGALRM, lambda *_: self._send())
        for timer in self.timers:
            timer.start()
        self.open = True  # nothing that comes after this looks for signals
        return self

    def __exit__(self, kind, error, traceback):
        self.open, self.came = False, True  # what comes now is too late: sent again, it could kill
        end = time.monotonic()
        for timer in self.timers:
            timer.join()
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self.before.items():
            signal.signal(number, handler)
        sys.unraisablehook = self.hook
        if kind is None:
            pytest.fail("Ctrl-C did not come out of the block")
        if kind is not KeyboardInterrupt:
            return False
        taken = end - self.at
        assert taken < self.within, f"came out after {taken:.1f} s"
        return True

    def soon(self, delay=0.3):
        """Press Ctrl-C in some seconds, from within the block."""
        signal.setitimer(signal.ITIMER_REAL, delay)

    def _send(self):
        self.at = self.at or time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)  # so that it ends a wait of the main thread

    def _again(self):
        self.at = None
        self.soon(_AGAIN)

    def _come(self, number, frame):
        if self.came:
            return
        while frame and frame.f_code not in _OURS:
            frame = frame.f_back
        if frame or not self.open:
            self._again()
        else:
            self.came = True
            raise KeyboardInterrupt

    def _dropped(self, unraisable):
        if unraisable.exc_type is KeyboardInterrupt:
            self.came = False
            self._again()
        else:
            self.hook(unraisable)


_OURS = {CtrlC.__exit__.__code__, CtrlC._dropped.__code__}
