"""What ``%px`` sees of an array: the same elements, writable on all engines or on none."""

from types import SimpleNamespace

import numpy as np
import pytest

import distnb as dnb
from distnb.engines.worker.local import LocalArray, as_parts
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
        for part in parts:
            part.local = a[part.global_slices].astype(np.float32) * 3
        np.testing.assert_array_equal(x, 3 * a)


@pytest.mark.parametrize("at", [np.s_[:, :], np.s_[1:, ::-2], np.s_[3::-1]])
@pytest.mark.parametrize("turned", [False, True])
def test_parts_of_several_blocks_are_written_by_assignment(turned, at):
    with setting(place="engines", cutoff=0), dnb.inprocess(3) as session:
        base, want = (
            dnb.arange(60, dist=[("cyclic", 2)]).reshape(6, 10),
            np.arange(60).reshape(6, 10),
        )
        base = base.redistribute(("*", ("cyclic", 2)))
        x, a = base[at], want[at]
        x, a = (x.T, a.T) if turned else (x, a)
        session.flush()
        parts = [LocalArray("x", w.store, x.operand, w.comm) for w in session.transport.workers]
        for part in parts:
            part.local = part.local + 100
        a += 100
        np.testing.assert_array_equal(base, want)
        with pytest.raises(ValueError, match="broadcast"):
            parts[0].local = np.ones(7)


def test_names_of_what_is_gone_or_lost_do_not_keep_others_from_being_parts():
    """As those that a session has left which was closed from elsewhere."""
    with setting(place="engines", cutoff=0), dnb.inprocess(2) as session:
        x, gone, lost = (dnb.arange(16) for _ in range(3))
        session.flush()
        worker = session.transport.workers[0]
        user = {
            name: LocalArray(name, worker.store, array.operand, worker.comm)
            for name, array in (("gone", gone), ("lost", lost), ("x", x))
        }
        worker.store.bases[lost.operand.base].lost = True
        del gone
        session.flush()
        events = SimpleNamespace(register=lambda *_: None)
        as_parts(user, SimpleNamespace(events=events))
        assert [type(user[name]) for name in user] == [LocalArray, LocalArray, np.ndarray]
        worker.store.bases[lost.operand.base].lost = False
