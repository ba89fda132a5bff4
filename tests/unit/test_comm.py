"""What a communicator does where there is no memory: what is matched nobody else can receive."""

from types import SimpleNamespace

import numpy as np
import pytest

from distnb.engines.runtime import comm

pytestmark = pytest.mark.tier("test")


class Short:
    """What MPI offers to receive, which fails as often as is said, for want of memory."""

    def __init__(self, fails):
        self.fails, self.posted = fails, []

    def _made(self, *_):
        if self.fails:
            self.fails -= 1
            raise RuntimeError("Out of memory")
        return SimpleNamespace(Commit=lambda: self, Free=lambda: None)

    Create_hvector = Create_struct = _made

    def Free(self):
        pass

    def Irecv(self, what):
        self._made()
        self.posted.append(what)
        return SimpleNamespace(Test=lambda: True)


@pytest.mark.parametrize("into", [np.empty(300_000, np.uint8), None], ids=["wanted", "dropped"])
def test_a_message_is_received_with_the_memory_that_is_kept(into, monkeypatch):
    spare = comm._Spare()
    monkeypatch.setattr(comm, "_spare", spare)
    spare.keep()
    short = Short(1)
    assert comm._MPIIncoming(short, 300_000, short).receive(into).test()
    assert len(short.posted) == 1
    assert spare._kept is None  # it was lent
    short.fails = 2  # nothing is left
    with pytest.raises(RuntimeError, match="Out of memory"):
        comm._MPIIncoming(short, 300_000, short).receive(into)
    assert comm._MPIIncoming(short, 300_000, short).receive(into).test()
    assert spare._kept  # had again
