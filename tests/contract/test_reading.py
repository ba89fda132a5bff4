"""Elements are copies of now, however late they are read; reading one at once sends no copy."""

import numpy as np
import pytest

import distnb as dnb


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u8", "?", "c16"])
def test_an_element_is_the_value_of_its_time(session, dtype):
    x = np.arange(12).reshape(3, 4).astype(dtype)
    a = dnb.array(x)
    early, late, used = a[1, 2], a[2, 3], a[0, 1]
    assert early.item() == x[1, 2]
    a[...] = 0
    assert late.item() == x[2, 3]
    assert early.item() == x[1, 2]  # again, after the write
    np.testing.assert_array_equal((early + used + a).to_numpy(), x[1, 2] + x[0, 1] + 0 * x)
    early[...] = 1
    assert early.item() == 1
    assert a[1, 2].item() == 0
    assert early.dtype == x.dtype


def test_reading_an_element_moves_nothing_else(session):
    if not session.transport.concurrent:
        pytest.skip("ranks that record for themselves agree on every batch")
    a = dnb.arange(1000.0)
    session.flush()
    float(a[1])
    window = session.start_window()
    for i in range(5):
        assert float(a[i * 10]) == i * 10
    report = session.end_window(window)
    if a.here is None:
        assert {op.op for op in report.ops} == {"fetch"}
        assert sum(e.messages for e in report.engines) == 0


def test_an_element_of_a_lost_array_is_lost(session):
    a = dnb.array(np.arange(1, 7))
    with pytest.raises(ValueError, match="negative integer powers"):
        b = a ** dnb.array(np.full(6, -1))
        one = b[3]
        one.item()
    if a.here is None:
        with pytest.raises(dnb.LostArrayError):
            one.item()
        with pytest.raises(dnb.LostArrayError):
            (one + 1).to_numpy()
        one[...] = 5
        assert (one + 1).item() == 6
