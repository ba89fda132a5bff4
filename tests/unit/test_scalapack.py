"""What ScaLAPACK is told of bases, and what does not need it."""

import signal

import numpy as np
import pytest

from distnb.common import interrupts
from distnb.common.interrupts import deferred_interrupts, interruptible, shielded
from distnb.engines.linalg.scalapack import Matrix
from distnb.engines.runtime.store import LocalBase
from distnb.geometry.layout import make_layout


@pytest.mark.parametrize("grid", [(1, 1), (3, 1), (1, 2), (2, 3)])
@pytest.mark.parametrize("shape", [(7, 11), (1, 5), (12, 12)])
def test_every_element_is_where_scalapack_looks_for_it(shape, grid):
    layout = make_layout(shape, grid[0] * grid[1], (("cyclic", 2),) * 2, grid)
    found = np.full(shape, -1)
    for rank in layout.grid.ranks():
        local = layout.local_shape(shape, rank)
        matrix = Matrix(LocalBase(shape, np.dtype(float), layout, np.empty(local)), rank)
        columns, rows = matrix.indices(0), matrix.indices(1)
        assert (len(columns), len(rows)) == local
        found[np.ix_(columns, rows)] = rank
        # as in ScaLAPACK's INDXG2P; ranks run along columns of its grid
        owners = (columns // 2 % grid[0])[:, None] * grid[1] + rows // 2 % grid[1]
        assert (owners == rank).all()
        assert matrix.descriptor.tolist() == [1, 0, *shape[::-1], 2, 2, 0, 0, max(1, local[1])]
    assert (found >= 0).all()


def test_parts_share_what_says_where_the_matrix_is():
    layout = make_layout((4, 4), 1, (("cyclic", 2),) * 2, (1, 1))
    matrix = Matrix(LocalBase((4, 4), np.dtype(float), layout, np.empty((4, 4))), 0)
    part = matrix.part(2, 1)
    matrix.descriptor[1] = 7
    assert part.given[1:3] == (2, 1)
    assert part.given[3][1] == 7
    assert matrix.given[1:3] == (1, 1)


def test_interrupts_wait_until_ranks_are_back():
    """The signal that stops engines does nothing in a shield, and comes through after it."""
    log = []
    before = signal.getsignal(interrupts.STOP)
    interrupts.listen()

    def inside():
        signal.raise_signal(interrupts.STOP)
        log.append("back")

    try:
        with (
            deferred_interrupts(forget=True, handler=signal.default_int_handler),
            pytest.raises(KeyboardInterrupt),
        ):
            interruptible(lambda: shielded(inside))
    finally:
        signal.signal(interrupts.STOP, before)
    assert log == ["back"]
