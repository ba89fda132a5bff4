"""Ctrl-C for a block of a test, and for nothing else of the process that runs the tests."""

import os
import signal
import sys
import threading

import pytest

#: Seconds after which a signal that came too early, or that Python dropped, is sent once more.
_AGAIN = 0.002


class CtrlC:
    """Press Ctrl-C some seconds after a block begins, or after something else; the block ends by it.

    The block may be interrupted wherever Python looks for signals, but neither this class nor
    pytest: there, the signal is sent once more. So it is where Python drops what a signal raises, in
    callbacks of its garbage collector (hypothesis has one) and of weak references.

    Parameters
    ----------
    *delays : float
        Seconds; after the first that comes through, all that come are ignored.
    after : callable, optional
        Tells whether that has happened after which the seconds are counted.
    then : callable, optional
        Is called when Ctrl-C has been pressed.
    number : int, optional
        Another signal to send in place of Ctrl-C's.
    error : type, optional
        What its handler raises.
    """

    def __init__(
        self,
        *delays,
        after=lambda: True,
        then=lambda: None,
        number=signal.SIGINT,
        error=KeyboardInterrupt,
    ):
        self.after, self.then, self.number, self.error = after, then, number, error
        self.ended = threading.Event()
        self.threads = [threading.Thread(target=self._press, args=(delay,)) for delay in delays]
        #: Whether the block runs, and whether Ctrl-C came through.
        self.open = self.came = False

    def __enter__(self):
        self.before = {n: signal.getsignal(n) for n in (self.number, signal.SIGALRM)}
        self.hook, sys.unraisablehook = sys.unraisablehook, self._dropped
        signal.signal(self.number, self._come)
        signal.signal(signal.SIGALRM, lambda *_: self._send())
        for thread in self.threads:
            thread.start()
        self.open = True  # nothing that comes after this looks for signals
        return self

    def __exit__(self, kind, error, traceback):
        self.open, self.came = False, True  # what comes now is too late: sent again, it could kill
        self.ended.set()
        for thread in self.threads:
            thread.join()
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self.before.items():
            signal.signal(number, handler)
        sys.unraisablehook = self.hook
        if kind is None:
            pytest.fail("Ctrl-C did not come out of the block")
        return kind is self.error

    def soon(self, delay=0.3):
        """Press Ctrl-C in some seconds, from within the block."""
        signal.setitimer(signal.ITIMER_REAL, delay)

    def _press(self, delay):
        while not self.after():
            if self.ended.wait(0.01):
                return
        if not self.ended.wait(delay):
            self._send()
        self.then()

    def _send(self):
        os.kill(os.getpid(), self.number)  # so that it ends a wait of the main thread

    def _again(self):
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
            raise self.error

    def _dropped(self, unraisable):
        if unraisable.exc_type in (KeyboardInterrupt, self.error):
            self.came = False
            self._again()
        else:
            self.hook(unraisable)


_OURS = {CtrlC.__exit__.__code__, CtrlC._dropped.__code__}
