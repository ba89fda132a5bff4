"""What ``%px`` sees of an array: the same elements, writable on all engines or on none."""

import numpy as np
import pytest

import distnb as dnb
from distnb.engines.worker.local import LocalArray
from tests.contract.support import setting

pytestmark = pytest.mark.tier("test")


@pytest.mark.parametrize("dist", ["block", "cyclic", [("cyclic", 2)], [("cyclic", 3)]])
@pytest.mark.parametrize("at", [np.s_[:], np.s_[::-1], np.s_[0:15:2], np.s_[5:15], np.s_[2::-2]])
def test_parts_are_written_on_all_engines_or_on_none(dist, at):
    with setting(place="engines", cutoff=0), dnb.inprocess(3) as session:
        x, a = dnb.arange(16, dist=dist)[at], np.arange(16)[at]
        session.flush()
        workers = session.transport.workers
        parts = [LocalArray("x", w.store, x.operand, w.comm) for w in workers]
        for part in parts:
            np.testing.assert_array_equal(part.local, a[part.global_slices])
        written = {part.local.flags.writeable for part in parts if part.local.size}
        assert len(written) == 1
        assert dist != "block" or written == {True}
        if written == {True}:
            for part in parts:
                part.local[...] = -a[part.global_slices]
            np.testing.assert_array_equal(x, -a)
