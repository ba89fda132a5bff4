"""Whether a step is small, and what is done about small ones that find engines busy.

Small steps are the notebook's, large ones the engines'. Where these come one after the other, three
ways are open: engines are waited for at each turn; they do small steps, too; or the notebook does
large steps. Where only large steps come, the notebook may do these, too: messages and commands cost
engines about as much as the smallest of them. Which way is best depends on how many steps of which
kind there are, and on what engines make of them together. So each is tried on as many bytes, that
which is taken first, and the quickest one is taken until it is time to try again. A new program
begins in the notebook, for many are over before engines would have begun. It goes on there where
engines are slower as long as their loops are not compiled, which is done meanwhile.
"""

from __future__ import annotations

from math import inf
from time import perf_counter

from distnb.client.session.large_steps import ENOUGH, PAUSE, LargeSteps
from distnb.client.session.session import Session

__all__ = ["SMALL_STEP", "Pace", "Paces", "judged_by"]

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
#: Commands of engines between two turns, at most.
_BETWEEN = 64
#: Bytes of large steps that are done in a way that is tried, at least and at most: as many as take
#: so many seconds, for what it costs to begin is no price.
_TRIED, _MOST_TRIED, _TRIAL = 128 << 20, 1 << 30, 0.02
#: How many times as long as it takes in the quickest way it may take to begin with another, which
#: is not measured: engines plan then.
_BEGINS = 4
#: Bytes of large steps that the notebook does of a new program before other ways are tried, and
#: seconds that it does them at most.
_FIRST, _FIRST_SECONDS = 1 << 30, 0.25
#: How many times as many are done in the one that was best; and at most, as these are as many times
#: more if it is the best once more. What engines do can well be another program's.
_KEPT = 4
_MOST_KEPT = {WAIT: 256, RECORD: 256, NOTEBOOK: 128}
#: Another way is taken if its price is a smaller part of that of the one which was best before.
_SAME = 0.85
#: Seconds without a large step, after which another program begins, and those that NumPy needs for
#: a byte of one at most; and how many programs are known.
_ANOTHER, _SLOWEST, _PROGRAMS = 0.05, 2e-9, 64
#: Seconds for a byte, up to which engines are quicker than the notebook, which goes through memory
#: once for each step: what fused steps take.
_QUICK = 50e-12
#: Seconds after which engines are tried again whose loops were not yet compiled, at first and at
#: most: what is on disk is there soon; it takes three to begin with Numba, and half for a loop.
_GROWS, _MOST_GROWS = 0.4, 12.0
#: Small steps, one after the other, that are recorded before engines are waited for; and at most.
_PATIENCE, _MOST_PATIENT = 6, 64


def judged_by(nbytes: int) -> int:
    """Return how many bytes of a step count in prices."""
    return nbytes if SMALL_STEP < nbytes <= _LARGEST_STEP else 0


class Pace:
    """The way in which small and large steps take turns, and what others took."""

    def __init__(self) -> None:
        self.way = NOTEBOOK
        #: Way -> seconds for a byte of large steps, while ways are tried; whether one is measured.
        self._prices, self._measured = dict[str, float](), False
        #: Bytes of each that is tried; the way that was best, and for how many times as many.
        self._tried, self._best, self._kept = _TRIED, WAIT, _KEPT
        #: Bytes that this way has, and seconds that it is tried at most.
        self._quota, self._longest = _FIRST, _FIRST_SECONDS
        #: Commands that engines had done when last waited for, and how often few were new.
        self._done = self._turns = 0
        #: Whether engines had loops that are yet to be compiled when tried last; when to try again,
        #: and how many seconds later than the last time.
        self._young, self._grown, self._grows = False, 0.0, _GROWS
        #: When that was.
        self._before = perf_counter()

    def waited(self, session: Session) -> None:
        """Note that engines were waited for: arrays came in reach, or a mask was counted."""
        done = session.connection.finished
        if done == self._done:
            return
        soon = done - self._done <= _BETWEEN
        self._done = done
        if self._prices or self._measured or self.way != WAIT:
            self._turns += 1
            if self._is_over(session):
                self._judge(session)
        elif self._is_turn(session, soon) and session.large.nbytes >= _TRIED:
            self._judge(session)

    def _is_turn(self, session: Session, soon: bool) -> bool:
        """Count turns that come soon one after the other; tell whether these are many."""
        now, before = perf_counter(), self._before
        self._before = now
        if not soon or now - before > PAUSE:
            self._turns = 0
            self._begin(session.large)
            return False
        self._turns += 1
        return self._turns >= _TURNS * (self._kept // _KEPT)

    def _begin(self, done: LargeSteps, pause: float = inf) -> None:
        """Begin to measure."""
        done.begin(0 if self.way == NOTEBOOK else self._quota, pause)

    def _take(self, session: Session, way: str, quota: int, longest: float = inf) -> None:
        """Take a way, for so many bytes, or so many seconds at most."""
        self.way, self._quota, self._longest = way, quota, longest
        session.connection.young = False
        self._begin(session.large, longest)

    def _judge(self, session: Session) -> None:
        """Take another way, when this one was measured; measure it when it was taken long enough.

        What it costs to begin is no price, nor what else a program does meanwhile.
        """
        price = session.large.price
        if self.way != NOTEBOOK:
            self._young = self._young or session.connection.young
        if self._young and price > self._prices.get(NOTEBOOK, inf):
            self._prices[self.way] = price
            self._choose(session)
            return
        if not self._measured:
            self._measure(session, price)
            return
        self._measured, self._prices[self.way] = False, price
        if self._is_found():
            self._choose(session)
            return
        for way in (NOTEBOOK, WAIT, RECORD):
            if not self._is_known(way):
                self._take(session, way, _TRIED, _BEGINS * min(self._prices.values()) * self._tried)
                return
        self._choose(session)

    def _measure(self, session: Session, price: float) -> None:
        """Begin to measure a way that is taken."""
        if not self._prices:
            self._tried = int(min(max(_TRIED, _TRIAL / max(price, 1e-12)), _MOST_TRIED))
        longest = min(self._prices.values(), default=inf) * self._tried
        self._measured, self._quota, self._longest = True, self._tried, longest
        self._begin(session.large, min(longest, price * self._tried))

    def _is_found(self) -> bool:
        """Tell whether no other way need be tried.

        Nor where the notebook is quicker for the first time: groups are not yet compiled.
        """
        waits, own = self._prices.get(WAIT, inf), self._prices.get(NOTEBOOK, inf)
        return waits < _QUICK or (self._best == WAIT and own < waits < inf)

    def _is_known(self, way: str) -> bool:
        """Tell whether a way was tried; where nobody waits, recording and waiting are one."""
        alike = not self._turns and way != NOTEBOOK
        return way in self._prices or (alike and not self._prices.keys() <= {NOTEBOOK})

    def _choose(self, session: Session) -> None:
        """Take the way that was best."""
        if self._best in self._prices:
            self._prices[self._best] *= _SAME
        best = min(self._prices, key=lambda way: self._prices[way])
        young, self._young = self._young, False
        if young and best == NOTEBOOK:
            self._go_on(session)
            return
        self._grown, self._grows = 0.0, _GROWS
        kept = _KEPT * self._kept if best == self._best else _KEPT
        self._best, self._kept = best, min(kept, _MOST_KEPT[best])
        self._measured, self._turns, self._prices = False, 0, {}
        # What engines do without the notebook is judged as seldom as at first.
        self._take(session, best, self._tried * self._kept * (4 if best == WAIT else 1))

    def _go_on(self, session: Session) -> None:
        """Go on in the notebook, until engines may have compiled their loops."""
        self._measured, self._turns, self._prices = False, 0, {}
        self._grown, self._grows = perf_counter() + self._grows, min(2 * self._grows, _MOST_GROWS)
        self._take(session, NOTEBOOK, 0)

    def leave(self, session: Session) -> None:
        """Let another program begin: what is measured will be measured anew."""
        if not self._measured:
            self._quota = max(self._quota - session.large.nbytes, 1)

    def go_on(self, session: Session) -> None:
        """Go on with the program that this is of."""
        self._turns, self._done = 0, session.connection.finished
        self._begin(session.large, self._longest)

    def is_small(self, session: Session, nbytes: int) -> bool:
        """Tell whether a step on so much memory, which is not so small, is the notebook's."""
        counted = judged_by(nbytes)
        if counted and self._is_over(session):
            self._end(session)
        if self.way != NOTEBOOK:
            return False
        if nbytes > _LARGEST_STEP:
            if self._best == WAIT and not self._prices and not self._measured:
                self._take(session, WAIT, ENOUGH)  # others are to go with such a step
            return False
        session.large.add(counted)
        return True

    def _is_over(self, session: Session) -> bool:
        """Tell whether it is time to judge this way."""
        done = session.large
        if self._grown and self.way == NOTEBOOK and not self._measured:
            return done.nbytes > 0 and perf_counter() > self._grown
        if done.nbytes >= self._quota:
            return True
        return done.nbytes > 0 and done.seconds > self._longest

    def _end(self, session: Session) -> None:
        """Take another way, unless another thread has just done so."""
        with session.recorder.lock:  # as whoever waits has it
            session.flush()  # of what was too large for the notebook, or is under way
            if self._is_over(session):
                self._judge(session)

    def is_patient(self, session: Session) -> bool:
        """Tell whether a small step, which finds engines busy, is to be recorded."""
        session.small_steps = max(session.small_steps, 0) + 1
        most = _MOST_PATIENT if self.way == RECORD else _PATIENCE
        return session.small_steps < most and not (self.way == RECORD and self._is_over(session))

    def wait(self, session: Session) -> None:
        """Wait for engines, for a small step."""
        many, session.small_steps = session.small_steps >= _MOST_PATIENT, 0
        session.flush()
        if self.way == RECORD and self._is_over(session):
            self._judge(session)
        elif self.way == RECORD and many:
            # Waiting is right, however much it costs: a row of small steps is not for engines.
            self._prices = {**self._prices, RECORD: inf} if self._prices else {WAIT: 0.0}
            self._choose(session)


class Paces:
    """The pace of each program, or each cell.

    What comes after a pause is taken for another program. It is the same one as before if its first
    large step is on as many bytes.
    """

    def __init__(self) -> None:
        self.now = Pace()
        self._known = dict[int, Pace]()
        #: Seconds after which what comes is another program.
        self._pause = _ANOTHER

    def is_small(self, session: Session, nbytes: int) -> bool:
        """Tell whether a step on so much memory is the notebook's."""
        if nbytes <= _TINY_STEP or (nbytes <= SMALL_STEP and session.small_steps >= 0):
            return True
        if counted := judged_by(nbytes):
            if session.large.idle > self._pause:
                with session.recorder.lock:
                    self._begin(session, nbytes)
            self._pause = _ANOTHER + _SLOWEST * counted
        return self.now.is_small(session, nbytes)

    def _begin(self, session: Session, nbytes: int) -> None:
        """Go on with the program whose first large step is on so many bytes."""
        found = self._known.pop(nbytes, None) or Pace()
        self._known[nbytes] = found
        if len(self._known) > _PROGRAMS:
            del self._known[next(iter(self._known))]
        self.now.leave(session)
        self.now = found
        found.go_on(session)

    def waited(self, session: Session) -> None:
        """Note that engines were waited for: arrays came in reach, or a mask was counted."""
        session.large.touch()
        self.now.waited(session)
