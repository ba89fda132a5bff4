"""Which tests run when: `make quick`, `make test`, `make test-all`, each with all of the one before.

A test is in the tier that ``pytest.mark.tier`` names, on itself or on its module. By default it is
*quick* in ``tests/unit`` if it does not use the fixture ``session``, and *test* elsewhere. Two marks
make *test* smaller than *test-all*:

- ``cases(n)``: of a function's parameters only so many, evenly chosen among those that have values
  that no other has; in the contract three, else, and two where it runs again in processes of its own;
- ``ways(...)``: the contract runs on three engines in this process, and what uses MPI runs on MPICH;
  a test runs in other ways where something can differ there, and these are named. Those of a whole
  module are taken by turns: about six of its functions run in each. ``ways(..., every=True)`` has
  them all.
"""

import os
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

from distnb.client.transport.mpiexec import find_mpiexec, mpi_family

TIERS = ("quick", "test", "test-all")
TIER = os.environ.get("DISTNB_TEST_TIER", "test-all")

#: Share of the random examples, and of the sizes of tables.
SCALE = float(os.environ.get("DISTNB_TEST_EXAMPLES", "1"))

#: The ways in which tests can run beside three engines in this process, and what each is.
WAYS = {
    "one": "one engine: nobody to send to",
    "four": "four engines: grids of two dimensions",
    "cutoff": "small arrays are in the notebook, as users have it",
    "unfused": "every operation runs by itself",
    "compiled": "whatever can be compiled is, at once",
    "reach": "the notebook computes whatever it can on the memory of engines",
    "auto": "the notebook computes what is small, as users have it",
    "spmd": "every rank of mpiexec runs the notebook's code, and is an engine",
    "started": "engines that distnb starts: other processes, sockets",
    "connected": "engines of a running ipyparallel cluster",
    "openmpi": "Open MPI in place of MPICH",
}

#: What a part of a session's word says of the way.
_OF_SESSION = {"start": "started", "connect": "connected", "1": "one", "4": "four"}

ROOT = Path(__file__).resolve().parents[1]
_UNIT, _CONTRACT = ROOT / "tests" / "unit", ROOT / "tests" / "contract"


def examples(n):
    """Return hypothesis settings for about ``n`` examples."""
    return settings(max_examples=max(2, round(n * SCALE)))


def some(items, n):
    """Return a list of all items, in *test* of so many, evenly chosen."""
    items = list(items)
    if TIER == "test-all" or n >= len(items):
        return items
    return [items[k * len(items) // n] for k in range(n)]


def chosen(items):
    """Return those of some tests that run in this tier."""
    if TIER == "test-all":
        return items
    found = [x for x in items if TIERS.index(tier_of(x)) <= TIERS.index(TIER)]
    on_open_mpi = mpi_family(find_mpiexec()) == "openmpi"
    return _some_cases([x for x in found if _is_asked_for(x, on_open_mpi)])


@cache
def _inside(folder, path):
    return folder in path.parents


def tier_of(item):
    """Return the first tier in which a test runs."""
    mark = item.get_closest_marker("tier")
    if mark:
        return TIERS[TIERS.index(*mark.args)]
    quick = _inside(_UNIT, item.path) and "session" not in item.fixturenames
    return "quick" if quick else "test"


def _is_asked_for(item, on_open_mpi):
    """Tell whether a test runs as this run would have it."""
    if not _inside(_CONTRACT, item.path):
        return not on_open_mpi or "openmpi" in _marked(item)
    word = item.callspec.params.get("session") if hasattr(item, "callspec") else None
    if word is None:  # it runs once, and not in every process that has a session
        return TIER == "test-all" or "DISTNB_TEST_SESSION" not in os.environ
    return isinstance(word, str)  # else its list of ways was empty


def ways_of(word):
    """Return the ways in which tests of the contract run in the session that a word names."""
    return {_OF_SESSION.get(part, part) for part in word.split(":")} & WAYS.keys()


def has_way(test, word):
    """Tell whether a test of the contract runs in the session that a word names."""
    ways = ways_of(word)
    if TIER == "test-all" or not ways:
        return True
    every = ways <= _marked(test, lambda place, mark: place is test or mark.kwargs.get("every"))
    return every or (ways <= _marked(test) and _has_turn(test, *ways))


#: Functions of a module of the contract that run in each of the module's other ways.
_TURNS = 6


def _has_turn(test, way):
    """Tell whether it is this function's turn to run in a way of its module."""
    names = [name for name in vars(test.module) if name.startswith("test_")]
    return (names.index(test.name) + [*WAYS].index(way)) % max(1, len(names) // _TURNS) == 0


def _marked(item, counts=lambda place, mark: True):
    """Return the ways with which a test is marked, by those marks that count."""
    marks = item.iter_markers_with_node("ways")
    marked = {way for place, mark in marks if counts(place, mark) for way in mark.args}
    if wrong := marked - WAYS.keys():
        raise pytest.UsageError(f"{item.nodeid}: ways: got {wrong}, expected some of {[*WAYS]}")
    return marked


#: Cases of a function of the contract that run before a release only, beyond so many.
_CASES = int(os.environ.get("DISTNB_TEST_CASES", "3"))


def _some_cases(items):
    """Thin the parameters of functions that are marked ``cases(n)``, and long tables."""
    groups = {}
    for item in items:
        mark = item.get_closest_marker("cases")
        thinned = mark or _inside(_CONTRACT, item.path)
        key = (item.path, item.originalname) if thinned else item
        groups.setdefault(key, (mark.args[0] if mark else _CASES, []))[1].append(item)
    keep = {x for n, group in groups.values() for x in varied(group, n)}
    return [item for item in items if item in keep]


def varied(cases, n):
    """Return so many cases of a function, evenly chosen among those that show most new values.

    In a product of parameters cases at even distances would all have the same value of one of them.
    """
    if n >= len(cases):
        return cases
    found, seen = [], set()
    for k in range(n):
        at = k * len(cases) // n
        left = [case for case in cases[at:] + cases[:at] if case not in found]
        found.append(max(left, key=lambda case: len(_values(case) - seen)))
        seen |= _values(found[-1])
    return found


def _values(case):
    """Return the values of a case's parameters, as its name has them; all processes agree on these."""
    return set(enumerate(case.callspec.id.split("-")))
