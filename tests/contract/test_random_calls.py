"""Random calls of NumPy's functions, methods and statements do what NumPy does."""

import numpy as np
import pytest

from tests.contract import random_calls
from tests.contract.support import setting
from tests.tiers import SCALE

pytestmark = pytest.mark.ways("one", "four")

#: Where arrays lie, and who computes.
PLACES = {
    "home": {"cutoff": 1 << 17},
    "engines": {"cutoff": 0, "place": "engines"},
    "reach": {"cutoff": 0, "place": "auto"},
}


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("place", PLACES)
def test_random_calls(session, place, part):
    n = round(3000 * SCALE)
    failed = []
    with setting(**PLACES[place]), np.errstate(all="ignore"):
        for seed in range(part * n, part * n + n):
            maker = random_calls.Maker(seed)
            line = maker.call()
            try:
                random_calls.check(session, line, maker.arrays)
            except random_calls.DiffersError as error:
                shown = {name: (x.dtype.char, x.shape) for name, (x, _) in maker.arrays.items()}
                failed.append(f"seed {seed}: {line}\n    {shown}\n    {error}")
    assert not failed, "\n".join(failed[:10])
