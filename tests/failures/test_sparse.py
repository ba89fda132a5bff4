"""A command of a sparse array that fails on one engine raises its error, hangs nobody, harms nothing."""

import numpy as np
import pytest
import scipy.sparse as sp

import distnb as dnb
from distnb import sparse
from tests.failures.support import planted

#: Command -> what records it, of a square array ``A`` and a vector ``x``.
STEPS = {
    "sparse.bring": lambda A, x: (A * x).data,
    "sparse.count": lambda A, x: dnb.repartition(A, by=np.arange(9.0)).sum(axis=1),
    "sparse.dense": lambda A, x: A.toarray(),
    "sparse.diagonal": lambda A, x: A.diagonal(),
    "sparse.each": lambda A, x: A + A,
    "sparse.fold": lambda A, x: A.redistribute(grid=(1, A.session.size)) @ x,
    "sparse.gather": lambda A, x: (A @ x, A @ x)[1],
    "sparse.hold": lambda A, x: A > 1,
    "sparse.lay": lambda A, x: A.redistribute(grid=(1, A.session.size)),
    "sparse.look": lambda A, x: (A * np.ones(A.shape)).data,
    "sparse.multiply": lambda A, x: A @ x,
    "sparse.pick": lambda A, x: (A * x).data,
    "sparse.plan": lambda A, x: A @ x,
    "sparse.points": lambda A, x: A[[0, 8], [8, 0]],
    "sparse.route": lambda A, x: sparse.csr_array((x, (x.astype(int), x.astype(int)))),
    "sparse.rows": lambda A, x: A[[8, 0, 4]],
    "sparse.rowwise": lambda A, x: A.sum(axis=1),
    "sparse.scatter": lambda A, x: x @ A,
    "sparse.spread": lambda A, x: (A * x[:, None]).data,
    "sparse.times": lambda A, x: A @ A,
    "sparse.turn": lambda A, x: A.tocsc(),
}


def values(found):
    """Return the elements of a result."""
    return (found if isinstance(found, dnb.DistArray) else found.toarray()).to_numpy()


@pytest.mark.cases(12)
@pytest.mark.parametrize("rank", [0, 2])
@pytest.mark.parametrize("op", STEPS)
def test_a_failure_on_one_engine_is_raised_and_all_goes_on(three, op, rank):
    a = sp.random_array((9, 9), density=0.4, rng=1, format="csr")
    A, x = sparse.csr_array(a, session=three), dnb.arange(9, session=three).astype(float)
    three.flush()
    fails = planted(three, rank, f"op == {op!r}", "raise ValueError('boom')")
    with fails, pytest.raises(ValueError, match="boom"):
        STEPS[op](A, x)
        three.flush()
    np.testing.assert_array_equal(A.toarray().to_numpy(), a.toarray())
    alone = values(STEPS[op](A, x))
    with dnb.inprocess(1) as one:
        B, y = sparse.csr_array(a, session=one), dnb.arange(9, session=one).astype(float)
        np.testing.assert_allclose(alone, values(STEPS[op](B, y)))


def test_all_commands_have_a_step():
    from distnb.engines.worker.executor import COLLECTIVES

    assert {op for op in COLLECTIVES if op.startswith("sparse.")} == {*STEPS}


def test_what_is_dropped_goes_from_the_engines(three):
    dnb.ones(3, session=three).sum().item()
    before = [len(w.store.bases) for w in three.transport.workers]
    A = sparse.eye_array(30, session=three)
    y = (A @ A + A.T.tocsr()) @ dnb.ones(30, session=three)
    assert float(y.sum()) == 60
    A.sum(axis=0).to_numpy()
    del A, y
    dnb.ones(3, session=three).sum().item()
    assert [len(w.store.bases) for w in three.transport.workers] == before
