"""Arrays without elements: no engine is asked of them, and the results are those of engines."""

import numpy as np
import pytest

import distnb as dnb
from tests.contract.support import numbered, same, setting
from tests.contract.test_reach import FUNCTIONS, STEPS, facts_of

pytestmark = pytest.mark.usefixtures("notebook")

MADE = {
    "nothing selected": lambda a: a[a[:, 0] > 99],
    "no rows": lambda a: a[:0],
    "no columns": lambda a: a[:, 5:],
    "nothing taken": lambda a: a[np.zeros(0, int)],
}


def outcome(step, x):
    """Return facts of a result, or what was raised. How nothing lies matters to nobody."""
    try:
        with np.errstate(all="ignore"):
            found = step(x)
        return [facts_of(y)[1:] for y in (found if isinstance(found, list) else [found])]
    except (ValueError, IndexError, TypeError, np.linalg.LinAlgError) as error:
        return type(error)


@pytest.mark.cases(2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dist", ["block", "cyclic", "replicated", ("*", "block")], ids=str)
@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_steps_give_what_engines_give(make, dist):
    found = {}
    for place in ("engines", "notebook"):
        with setting(place=place):
            x = make(dnb.array(numbered((6, 5)), dist=dist))
            for what, step in (STEPS | FUNCTIONS).items():
                facts = outcome(step, x)
                assert found.setdefault(what, facts) == facts, (what, place)


TAKING_NOTHING = {
    "sum of nothing": lambda np, x: x[x > 1e9].sum(),
    "any of nothing": lambda np, x: (x[x > 1e9] == 0).any(),
    "sorted": lambda np, x: np.sort(x[x > 1e9]),
    "joined": lambda np, x: np.concatenate([x[x > 1e9], x[:2]]),
    "taken by none": lambda np, x: x[np.nonzero(x > 1e9)[0]].prod(),
    "running": lambda np, x: np.cumsum(x[:0]),
    "largest, or 0": lambda np, x: x[x < 3].max(initial=0),
    "sum from 2": lambda np, x: np.sum(x, initial=2),
    "least where": lambda np, x: np.min(x, initial=1e9, where=x > 3),
    "product of rows": lambda np, x: x[:4].reshape(2, 2).prod(axis=1, initial=2, keepdims=True),
}


@pytest.mark.parametrize("step", TAKING_NOTHING.values(), ids=TAKING_NOTHING)
def test_no_engine_is_asked(session, step):
    x = numbered(40)
    with setting(flush_idle=60):
        a = dnb.array(x, dist="block")
        step(dnb, a)
        before = session.connection.batches, session.changes
        found = step(dnb, a)
        assert (session.connection.batches, session.changes) == before
    same(found, step(np, x))


@pytest.mark.parametrize("initial", [0.0, -0.0, 2.5, np.nan])
def test_reductions_begin_with_a_number(initial):
    for x in (np.array([-0.0, -0.0]), numbered(7), numbered((3, 4))):
        a = dnb.array(x, dist="block")
        for place in ("engines", "auto"):
            with setting(place=place):
                for op in ("sum", "prod", "max", "min"):
                    found = getattr(a, op)(axis=0, initial=initial)
                    expected = getattr(x, op)(axis=0, initial=initial)
                    same(found, expected)
                    if op == "sum":  # of 0.0 and -0.0 NumPy takes either for the larger one
                        assert (np.signbit(np.asarray(found)) == np.signbit(expected)).all()
