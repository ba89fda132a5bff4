"""Functions of matrices that a rank holds whole: a stack of them, or one.

Nothing is sent. A rank that holds all of a matrix that no other rank works on uses all cores of its
node: the engines' shares are for engines that work at the same time.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from math import prod

from distnb.engines.runtime.exchange import Exchange, Key
from distnb.engines.runtime.store import BaseTable
from distnb.engines.runtime.threads import share
from distnb.measure.events import COMPUTE, Clock
from distnb.ops import matrix_functions
from distnb.wire.protocol import Collective

__all__ = ["NAMES", "OnParts"]

#: What can be asked for.
NAMES = tuple(matrix_functions.FUNCTIONS)

#: Elements from which other threads are worth starting.
_LARGE = 1 << 16


class OnParts:
    """Apply a function of ``matrix_functions`` to whole bases, whose matrices are not split.

    ``command.op`` is its name, ``command.args`` are its plain arguments.
    """

    owed: list[Key] = []  # noqa: RUF012
    expected: list[Key] = []  # noqa: RUF012

    def __init__(self, command: Collective, store: BaseTable) -> None:
        self.name, self.args = command.op, command.args
        self.ins = [store.bases[x.base] for x in command.ins]
        self.outs = [store.bases[x.base] for x in command.outs]

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Compute the rank's part."""
        blocks = [base.block for base in self.ins]
        if any(block is None for block in blocks):
            return
        before = clock.switch(COMPUTE)
        with self._cores():
            found = matrix_functions.call(self.name, blocks, self.args)
        for base, value in zip(self.outs, found, strict=True):
            base.block[...] = value  # type: ignore[index]
        clock.switch(before)

    def _cores(self) -> AbstractContextManager[object]:
        base = self.ins[0]
        alone = base.layout.grid.size == 1 and prod(base.shape) >= _LARGE
        return all_cores() if alone else nullcontext()


def all_cores() -> AbstractContextManager[object]:
    """Let BLAS use all cores of the node for a while."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limits=share(1), user_api="blas")
