"""What another engine would read in memory that has no content: that is no fault of its own."""

import numpy as np
import pytest

import distnb as dnb
from tests.failures import support
from tests.failures.support import plant


@pytest.mark.parametrize("rank", range(3))
def test_a_batch_after_the_one_that_failed(cluster, rank, gate, monkeypatch):
    """It was sent before anybody knew, and moves what the first one was to write."""
    numbers = np.arange(12000.0).reshape(600, 20)
    x, y = (dnb.array(numbers, dist="block") * 1 for _ in range(2))
    cluster.flush()
    gate.shut()
    monkeypatch.setattr("distnb.client.batching.lead._AHEAD", 1e9)  # who sends must not wait
    plant(cluster, rank, "name == 'Apply'", f"{gate.stand}; raise FloatingPointError('mine')")
    x += 1
    cluster.send()
    x[300:] = x[:300] * 2
    x[:-1] = x[1:]
    y[300:] = y[:300] * 2
    cluster.send()
    gate.open()
    with pytest.raises(FloatingPointError, match="mine"):
        cluster.flush()
    cluster.flush()  # nothing else is told of
    support.heal(cluster)
    with pytest.raises(dnb.LostArrayError, match="'add' failed with FloatingPointError"):
        x.to_numpy()
    wanted = np.concatenate([numbers[:300], numbers[:300] * 2])
    np.testing.assert_array_equal(y.to_numpy(), wanted)
