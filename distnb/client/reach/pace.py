"""Whether a step is small, and what is done about small ones that find engines busy.

Small steps are the notebook's, large ones the engines'. Where these come one after the other, three
ways are open: engines are waited for at each turn; they do small steps, too; or the notebook does
large steps. Which one is best depends on how many steps of which kind there are, and on what
engines make of them together. So each is tried on as many bytes, and the quickest one is taken
until it is time to try again.
"""

from __future__ import annotations

from time import perf_counter

from distnb.client.session.session import Session

__all__ = [
    "MASKED_STEP",
    "SMALL_STEP",
    "Pace",
]

#: The ways.
WAIT, RECORD, NOTEBOOK = "wait", "record", "notebook"

#: Bytes that a step reads and writes, up to which it is small: about what takes as long as two
#: engines take for a batch of it, there and back.
SMALL_STEP = 8 << 20
#: The same right after a large step, which goes on with those that are not so small.
_TINY_STEP = 1 << 20
#: The same where the notebook does large steps, too.
_LARGE_STEP = 24 << 20
#: The same where engines are waited for at each mask, to count what it leaves: before that nothing
#: more can be recorded, and engines have nothing to do.
MASKED_STEP = 64 << 20
#: Turns, one after the other, from which on other ways are tried.
_TURNS = 3
#: Seconds between two turns that are somebody's pause.
_PAUSE = 0.25
#: Commands of engines between two turns, at most.
_BETWEEN = 64
#: Bytes of large steps that are done in a way that is tried; in the one that was best; and at most,
#: as these are doubled if it is the best once more. What engines do can well be another program's.
_TRIED, _KEPT = 128 << 20, 512 << 20
_MOST_KEPT = {WAIT: 512 * _KEPT, RECORD: 512 * _KEPT, NOTEBOOK: 8 * _KEPT}
#: Another way is taken if its price is a smaller part of that of the one which was best before.
_SAME = 0.85
#: Small steps, one after the other, that are recorded before engines are waited for; and at most.
_PATIENCE, _MOST_PATIENT = 6, 64


class Pace:
    """The way in which small and large steps take turns, and what others took."""

    def __init__(self) -> None:
        self.way = WAIT
        #: Way -> seconds for a byte of large steps, while ways are tried.
        self._prices: dict[str, float] = {}
        #: The way that was best, and for how many bytes it is taken.
        self._best, self._kept = WAIT, _KEPT
        #: Since when large steps are measured, bytes of the notebook's, and how many this way has;
        #: to wait goes on until there are turns.
        self._since, self._nbytes, self._quota = perf_counter(), 0, 0
        #: Commands that engines had done when last waited for, and how often few were new.
        self._done = self._turns = 0
        #: When that was.
        self._before = perf_counter()
        #: Bytes up to which the notebook does large steps.
        self._limit = _LARGE_STEP

    def waited(self, session: Session, *, masks: bool = False) -> None:
        """Note that engines were waited for: arrays came in reach, or a mask was counted."""
        done = session.connection.finished
        if done == self._done:
            return
        limit = MASKED_STEP if masks else _LARGE_STEP
        soon = done - self._done <= _BETWEEN
        self._done = done
        self._limit = max(limit, self._limit) if soon else limit
        if self.way == WAIT:
            self._turn(session, soon)
        elif self._is_done(session):
            self._judge(session, session.large)

    def _turn(self, session: Session, soon: bool) -> None:
        """Count turns that come soon one after the other; try other ways if these are many."""
        now = perf_counter()
        if not soon or now - self._before > _PAUSE:
            self._turns = 0
            self._begin(session)
        else:
            self._turns += 1
            needed = _TURNS * (self._kept // _KEPT if self._best == WAIT else 1)
            if self._turns >= needed and session.large >= _TRIED:
                self._judge(session, session.large)
        self._before = now

    def _begin(self, session: Session) -> None:
        """Begin to measure."""
        self._since, self._nbytes, session.large = perf_counter(), 0, 0

    def _price(self, nbytes: int) -> float:
        """Return the seconds for a byte of steps that have just ended."""
        return (perf_counter() - self._since) / nbytes

    def _take(self, session: Session, way: str, quota: int = 0) -> None:
        """Take a way, for so many bytes."""
        self.way, self._quota = way, quota
        session.to_and_fro = way == NOTEBOOK
        self._begin(session)

    def _judge(self, session: Session, nbytes: int) -> None:
        """Take another way, when so many bytes were done in this one."""
        if not self._prices and self.way != WAIT:  # the best was taken for as long as it should
            self._turns = _TURNS - 1
            self._take(session, WAIT)
            return
        self._prices[self.way] = self._price(nbytes)
        if self.way == WAIT:
            self._take(session, NOTEBOOK, _TRIED)
        elif self.way == NOTEBOOK and not self._is_found():
            self._take(session, RECORD, _TRIED)
        else:
            self._choose(session)

    def _is_found(self) -> bool:
        """Tell whether the notebook is quicker for the first time: groups are not yet compiled."""
        return self._best == WAIT and self._prices[NOTEBOOK] < self._prices[WAIT]

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
        if self.way == NOTEBOOK and self._nbytes >= self._quota:
            self._judge_notebook(session)
        if self.way != NOTEBOOK:
            return False
        self._nbytes += nbytes
        return nbytes <= self._limit

    def _judge_notebook(self, session: Session) -> None:
        """Take another way, unless another thread has just done so."""
        with session.recorder.lock:  # as whoever waits has it
            session.flush()  # of what was too large for the notebook
            if self.way == NOTEBOOK and self._nbytes >= self._quota:
                self._judge(session, self._nbytes)

    def is_patient(self, session: Session) -> bool:
        """Tell whether a small step, which finds engines busy, is to be recorded."""
        session.small_steps = max(session.small_steps, 0) + 1
        most = _MOST_PATIENT if self.way == RECORD else _PATIENCE
        return session.small_steps < most and not self._is_done(session)

    def _is_done(self, session: Session) -> bool:
        """Tell whether engines had all steps of this way; waiting goes on until there are turns."""
        return self.way == RECORD and session.large >= self._quota

    def wait(self, session: Session) -> None:
        """Wait for engines, for a small step."""
        many, session.small_steps = session.small_steps >= _MOST_PATIENT, 0
        session.flush()
        if self._is_done(session):
            self._judge(session, session.large)
        elif self.way == RECORD and many:
            self._turns, self._prices = 0, {}
            self._take(session, WAIT)
