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
    with setting(**PLACES[place]), np.errstate(all="ignore"):
        found = [random_calls.difference(session, seed) for seed in range(part * n, part * n + n)]
    failed = [text for text in found if text is not None]
    assert not failed, "\n".join(failed[:10])
