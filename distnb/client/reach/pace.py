"""Whether a step is small, and what is done about small ones that find engines busy.

Small steps are the notebook's, large ones the engines'. Where these come one after the other, three
ways are open: engines are waited for at each turn; they do small steps, too; or the notebook does
large steps. Where only large steps come, the notebook may do these, too: messages and commands cost
engines about as much as the smallest of them. Which way is best depends on how many steps of which
kind there are, and on what engines make of them together. So each is tried on as many bytes, and
the quickest one is taken until it is time to try again.
"""

from __future__ import annotations

from math import inf
from time import perf_counter

from distnb.client.session.large_steps import LargeSteps
from distnb.client.session.session import Session

__all__ = ["SMALL_STEP", "Pace", "judged_by"]

#: The ways.
WAIT, RECORD, NOTEBOOK = "wait", "record", "notebook"

#: Bytes that a step reads and writes, up to which it is small: about what takes as long as two
#: engines take for a batch of it, there and back.
SMALL_STEP = 8 << 20
#: The same right after a large step, which goes on with those that are not so small.
_TINY_STEP = 1 << 20
#: The same where the notebook does large steps, too; what is larger has no part in any price.
_LARGEST_STEP = 64 << 20
#: Turns, one after the other, from which on other ways are tried.
_TURNS = 3
#: Seconds between two turns that are somebody's pause.
_PAUSE = 0.25
#: Commands of engines between two turns, at most.
_BETWEEN = 64
#: Bytes of large steps that are done in a way that is tried; in the one that was best; and at most,
#: as these are doubled if it is the best once more. What engines do can well be another program's.
_TRIED, _KEPT = 128 << 20, 512 << 20
_MOST_KEPT = {WAIT: 512 * _KEPT, RECORD: 512 * _KEPT, NOTEBOOK: 16 * _KEPT}
#: Another way is taken if its price is a smaller part of that of the one which was best before.
_SAME = 0.85
#: Seconds for a byte, up to which engines are quicker than any notebook: what fused steps take.
_QUICK = 20e-12
#: Small steps, one after the other, that are recorded before engines are waited for; and at most.
_PATIENCE, _MOST_PATIENT = 6, 64


def judged_by(nbytes: int) -> int:
    """Return how many bytes of a step count in prices."""
    return nbytes if SMALL_STEP < nbytes <= _LARGEST_STEP else 0


class Pace:
    """The way in which small and large steps take turns, and what others took."""

    def __init__(self) -> None:
        self.way = WAIT
        #: Way -> seconds for a byte of large steps, while ways are tried.
        self._prices: dict[str, float] = {}
        #: The way that was best, and for how many bytes it is taken.
        self._best, self._kept = WAIT, _KEPT
        #: Bytes that this way has, and seconds that it is tried at most.
        self._quota, self._longest = _KEPT, inf
        #: Commands that engines had done when last waited for, and how often few were new.
        self._done = self._turns = 0
        #: When that was.
        self._before = perf_counter()

    def waited(self, session: Session) -> None:
        """Note that engines were waited for: arrays came in reach, or a mask was counted."""
        done = session.connection.finished
        if done == self._done:
            return
        soon = done - self._done <= _BETWEEN
        self._done = done
        if self._prices or self.way != WAIT:
            if self._is_over(session.large):
                self._judge(session)
        elif self._is_turn(session, soon) and session.large.nbytes >= _TRIED:
            self._judge(session)

    def _is_turn(self, session: Session, soon: bool) -> bool:
        """Count turns that come soon one after the other; tell whether these are many."""
        now, before = perf_counter(), self._before
        self._before = now
        if not soon or now - before > _PAUSE:
            self._turns = 0
            self._begin(session.large)
            return False
        self._turns += 1
        return self._turns >= _TURNS * (self._kept // _KEPT)

    def _begin(self, done: LargeSteps) -> None:
        """Begin to measure."""
        done.begin(0 if self.way == NOTEBOOK else self._quota)

    def _take(self, session: Session, way: str, quota: int, longest: float = inf) -> None:
        """Take a way, for so many bytes, or so many seconds at most."""
        self.way, self._quota, self._longest = way, quota, longest
        self._begin(session.large)

    def _judge(self, session: Session) -> None:
        """Take another way, when this one was tried, or taken for as long as it should."""
        self._prices[self.way] = session.large.price
        if self._is_found():
            self._choose(session)
            return
        for way in (NOTEBOOK, WAIT, RECORD):
            if way not in self._prices:
                self._take(session, way, _TRIED, min(self._prices.values()) * _TRIED)
                return
        self._choose(session)

    def _is_found(self) -> bool:
        """Tell whether no other way need be tried.

        Nor where the notebook is quicker for the first time: groups are not yet compiled.
        """
        waits, own = self._prices.get(WAIT, inf), self._prices.get(NOTEBOOK, inf)
        return waits < _QUICK or (self._best == WAIT and own < waits < inf)

    def _choose(self, session: Session) -> None:
        """Take the way that was best."""
        if self._best in self._prices:
            self._prices[self._best] *= _SAME
        best = min(self._prices, key=lambda way: self._prices[way])
        kept = 2 * self._kept if best == self._best else _KEPT
        self._best, self._kept = best, min(kept, _MOST_KEPT[best])
        self._turns, self._prices = 0, {}
        self._take(session, best, self._kept)

    def is_small(self, session: Session, nbytes: int) -> bool:
        """Tell whether a step on so much memory is the notebook's."""
        if nbytes <= _TINY_STEP or (nbytes <= SMALL_STEP and session.small_steps >= 0):
            return True
        counted = judged_by(nbytes)
        if counted and self._is_over(session.large):
            self._end(session)
        if self.way != NOTEBOOK:
            return False
        session.large.add(counted)
        return nbytes <= _LARGEST_STEP

    def _is_over(self, done: LargeSteps) -> bool:
        """Tell whether it is time to judge this way."""
        return done.nbytes >= self._quota or (done.nbytes > 0 and done.seconds > self._longest)

    def _end(self, session: Session) -> None:
        """Take another way, unless another thread has just done so."""
        with session.recorder.lock:  # as whoever waits has it
            session.flush()  # of what was too large for the notebook, or is under way
            if self._is_over(session.large):
                self._judge(session)

    def is_patient(self, session: Session) -> bool:
        """Tell whether a small step, which finds engines busy, is to be recorded."""
        session.small_steps = max(session.small_steps, 0) + 1
        most = _MOST_PATIENT if self.way == RECORD else _PATIENCE
        return session.small_steps < most and not (
            self.way == RECORD and self._is_over(session.large)
        )

    def wait(self, session: Session) -> None:
        """Wait for engines, for a small step."""
        many, session.small_steps = session.small_steps >= _MOST_PATIENT, 0
        session.flush()
        if self.way == RECORD and self._is_over(session.large):
            self._judge(session)
        elif self.way == RECORD and many:
            self._prices = {**self._prices, RECORD: inf} if self._prices else {WAIT: 0.0}
            self._choose(session)
