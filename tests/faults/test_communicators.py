"""What code in ``%px`` does with its communicator does nothing to the session."""

import numpy as np
import pytest

import distnb as dnb

FORGOTTEN = """
import numpy as np
from mpi4py import MPI
comm = x.comm
for tag in (0, 1, 4, 16, 32767):
    comm.Isend([np.ones(5), MPI.DOUBLE], (comm.rank + 1) % comm.size, tag)
    comm.Isend([np.empty(0), MPI.DOUBLE], (comm.rank + 1) % comm.size, tag)
forgotten = [comm.Irecv([np.empty(9), MPI.DOUBLE], MPI.ANY_SOURCE, MPI.ANY_TAG) for _ in range(30)]
"""
ENDED = """
def said(use):
    try:
        use()
    except Exception as error:
        return str(error)
x.comm.Free()
found = said(MPI.Finalize), said(lambda: x.comm)
"""


@pytest.mark.ways("openmpi")
def test_forgotten_messages_a_freed_communicator_and_the_end_of_mpi(cluster):
    client = cluster.transport.client
    with dnb.connect(client=client) as session:
        x = dnb.arange(9.0)
        session.bind([("x", x.bound)])
        client[:].execute(FORGOTTEN, block=True)
        for code in ("", ENDED):
            client[:].execute(code, block=True)
            np.testing.assert_array_equal(dnb.sort(x[::-1]).to_numpy(), np.arange(9.0))
            np.testing.assert_array_equal((x + x[::-1]).to_numpy(), np.full(9, 8.0))
        for finalize, freed in client[:].pull("found", block=True):
            assert finalize.startswith("MPI.Finalize(): got a call on an engine")
            assert freed.startswith("x.comm: got a communicator that was freed")
