"""How a computation scales: speed-up, efficiency, and where the rest went.

With T(k) the wall time on k engines, the engines have k T(k) seconds together. On the fewest
engines, b, the same work took b T(b), so the efficiency is b T(b) / (k T(k)). What is missing to 1
are seconds that the engines have spent beyond b T(b); each of them is in one class of time. So

    1 - efficiency = sum over classes of (S_c(k) - S_c(b)) / (k T(k)),

where S_c(k) are the seconds of all k engines in class c, exactly.

The same as a product, as POP's scaling tables have it: with the parallel efficiency PE(k), the
product of a report's ladder, and the seconds S(k) of computing,

    efficiency = PE(k) / PE(b) * S(b) / S(k).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from distnb.measure.events import CLASSES, COMPUTE, IDLE

__all__ = ["Run", "Scaling", "run_of"]


class Run(NamedTuple):
    """One run of a computation.

    Attributes
    ----------
    engines : int
        How many there were.
    seconds : float
        Wall time.
    spent : tuple of float
        Seconds of all engines together in each class; they add up to ``engines * seconds``.
    report : Report
        All that was measured.
    """

    engines: int
    seconds: float
    spent: tuple[float, ...]
    report: Any = None


def run_of(report: Any) -> Run:
    """Return the run that a report describes; what the engines' windows leave open is idle."""
    engines = len(report.engines)
    spent = [sum(e.spent[c] for e in report.engines) / 1e9 for c in range(len(CLASSES))]
    spent[IDLE] += engines * report.wall - sum(spent)
    return Run(engines, report.wall, tuple(spent), report)


class Scaling(NamedTuple):
    """Runs of one computation on several numbers of engines, the fewest first.

    >>> one = Run(1, 4.0, (4.0, 0.0, 0.0, 0.0, 0.0))
    >>> two = Run(2, 2.5, (4.0, 0.5, 0.0, 0.0, 0.5))
    >>> s = Scaling((one, two))
    >>> s.speedup, s.efficiency
    ((1.0, 1.6), (1.0, 0.8))
    >>> s.worked
    1.0
    >>> s.losses[1]
    (0.0, 0.1, 0.0, 0.0, 0.1)
    """

    runs: tuple[Run, ...]

    @property
    def engines(self) -> tuple[int, ...]:
        """How many engines each run had."""
        return tuple(run.engines for run in self.runs)

    @property
    def speedup(self) -> tuple[float, ...]:
        """How many times as fast as on the fewest engines each run was."""
        return tuple(self.runs[0].seconds / run.seconds for run in self.runs)

    @property
    def efficiency(self) -> tuple[float, ...]:
        """Speed-up over the ratio of engines."""
        fewest = self.runs[0].engines
        return tuple(s * fewest / n for s, n in zip(self.speedup, self.engines, strict=True))

    @property
    def worked(self) -> float:
        """The share of the engines' time in which they did anything, at most of all runs."""
        busy = ((sum(run.spent) - run.spent[IDLE], run.engines * run.seconds) for run in self.runs)
        return max(did / whole for did, whole in busy)

    @property
    def computing(self) -> tuple[float, ...]:
        """Seconds of computing on the fewest engines over those of each run; 1 is perfect."""
        first = self.runs[0].spent[COMPUTE]
        return tuple(first / run.spent[COMPUTE] if first else 1.0 for run in self.runs)

    @property
    def rungs(self) -> tuple[tuple[str, tuple[float, ...]], ...]:
        """The rungs of the reports' ladders: a name, and the efficiency of each run."""
        ladders = [run.report.ladder for run in self.runs if run.report is not None]
        return tuple(
            (same[0].name, tuple(rung.efficiency for rung in same))
            for same in zip(*ladders, strict=True)
        )

    @property
    def losses(self) -> tuple[tuple[float, ...], ...]:
        """For each run what each class of time takes from the efficiency; negative if it gives."""
        first = self.runs[0].spent
        return tuple(
            tuple(
                (now - before) / (run.engines * run.seconds)
                for now, before in zip(run.spent, first, strict=True)
            )
            for run in self.runs
        )
