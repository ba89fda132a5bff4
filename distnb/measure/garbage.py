"""How long Python collects garbage, added up by what no signal can interrupt once it is compiled.

Python drops what is raised while it tells somebody of garbage. In a function of Python's it would
look at signals, and Ctrl-C be lost; in a compiled one it does not.
"""

from __future__ import annotations

from time import perf_counter_ns

__all__ = ["Collecting"]


class Collecting:
    """What ``gc.callbacks`` are to have, as long as it is to add up.

    Attributes
    ----------
    spent : int
        Nanoseconds so far.
    since : int
        When what is under way began, 0 if nothing is known to be.
    """

    __slots__ = ("since", "spent")

    def __init__(self) -> None:
        self.since = self.spent = 0

    def __call__(self, phase: str, info: object) -> None:
        """Note that Python begins or has done."""
        now = perf_counter_ns()
        if phase == "start":
            self.since = now
        elif self.since:
            self.spent += now - self.since
            self.since = 0
