"""One suite for all transports: ``DISTNB_TEST_SESSION`` says which session the tests run in.

A word may end in ``:cutoff``: small arrays live in the notebook then, as users have it; in
``:unfused``: every operation runs by itself; or in ``:compiled``: what can be compiled is, at once.
``inprocess:N``, ``start:N`` (engines that are started), ``connect`` or ``connect:ID`` (engines of
a running cluster), or ``spmd`` (this process is one rank of ``mpiexec``). By default the tests run
in this process with 1, 2, 3 and 4 engines, two of them in all these ways.
"""

import contextlib
import os

import pytest
from hypothesis import HealthCheck, Phase, settings

import distnb as dnb
from distnb.client.session import current
from distnb.engines.fusion.compiler import Compiler, available
from tests import tiers
from tests.compiling import at_once
from tests.contract import support

KINDS = os.environ.get(
    "DISTNB_TEST_SESSION",
    "inprocess:1 inprocess:2:cutoff inprocess:2:unfused inprocess:2:compiled inprocess:3 "
    "inprocess:4 inprocess:3:reach inprocess:2:auto",
)

# All ranks must run the same examples: nothing may depend on a clock, on chance or on a file.
settings.register_profile(
    "together",
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
settings.register_profile(
    "contract",
    deadline=None,
    phases=[phase for phase in Phase if phase is not Phase.explain],  # it traces every line: slow
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
if KINDS.startswith("spmd"):
    settings.load_profile("together")
elif "HYPOTHESIS_PROFILE" not in os.environ:
    settings.load_profile("contract")


def pytest_ignore_collect(collection_path):
    """Leave out modules that name none of the ways of a run: to read them takes longer than that."""
    if tiers.TIER == "test-all" or "DISTNB_TEST_SESSION" not in os.environ:
        return None
    ways = set().union(*map(tiers.ways_of, KINDS.split()))
    if not ways or not collection_path.name.startswith("test_"):
        return None
    text = collection_path.read_text(encoding="utf-8")
    return None if any(f'"{way}"' in text for way in ways) else True


def pytest_collection_modifyitems(items):
    """Accept floating point warnings: those of engines come when a batch is answered."""
    here = os.path.dirname(__file__)
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.filterwarnings("ignore:.* encountered in:RuntimeWarning"))
            # Of engines that are threads: the filters of the test are theirs.
            item.add_marker(pytest.mark.filterwarnings("ignore:Casting complex values to real"))
            if KINDS.startswith("spmd") and KINDS != "spmd:1" and "tmp_path" in item.fixturenames:
                item.add_marker(pytest.mark.skip(reason="each rank has a folder of its own"))
    ours = [item for item in items if str(item.path).startswith(here)]
    dropped = set(ours) - set(support.thin_parameters(ours))
    items[:] = [item for item in items if item not in dropped]


def pytest_generate_tests(metafunc):
    """Let a test run in the ways that its tier has."""
    if "session" in metafunc.fixturenames:
        kinds = [kind for kind in KINDS.split() if tiers.has_way(metafunc.definition, kind)]
        metafunc.parametrize("session", kinds, indirect=True, scope="session")


@pytest.fixture(scope="session")
def session(request):
    """The session in which all tests run; it is the current one."""
    kind, _ = support.parted(request.param)  # settings are for its tests: it outlives them
    with support.open_session(kind) as found:
        yield found


@pytest.fixture(autouse=True)
def unseen(request):
    """No rank's code has arrays of an earlier test: of what it may write, SPMD keeps no copies."""
    yield
    if KINDS.startswith("spmd") and "session" in request.fixturenames:
        request.getfixturevalue("session").memory.shown = False


@pytest.fixture(scope="session")
def compiler():
    """What compiles for engines of this process."""
    if not available():
        pytest.skip("Numba is not installed")
    return Compiler(wait=True)


@pytest.fixture
def engines_only():
    """All arrays are on engines, small ones too, and these compute: for tests of what they do."""
    with support.setting(cutoff=0, place="engines"):
        yield


@pytest.fixture
def second(session):
    """Another session on engines of the same kind; the first is the current one again afterwards."""
    with support.another(session) as found:
        yield found
    assert dnb.session() is session


@pytest.fixture
def books(session):
    """Comparisons that are made at the end of the test."""
    found = support.Books()
    yield found
    if session.connection.ready:
        found.close()


@pytest.fixture(autouse=True)
def quiet_engines(request):
    """Fail a test that leaves an error behind, which would surface in the next one."""
    if "session" not in request.fixturenames:
        yield
        return
    session = request.getfixturevalue("session")
    if dnb.session() is not session:  # other tests of this process may have had others
        current.become_current(session)
    word = request.node.callspec.params["session"]
    if word.endswith(":compiled"):
        compiling = at_once(session, request.getfixturevalue("compiler"))
    else:
        compiling = contextlib.nullcontext()
    with compiling, support.setting(**support.parted(word)[1]):
        yield
        session.flush()


@pytest.fixture
def far(session):
    """Small arrays are on engines, too, whatever the way."""
    with support.setting(cutoff=0):
        yield
    session.flush()


@pytest.fixture
def notebook(session):
    """The notebook computes what it would by default; under SPMD there is none."""
    if not session.transport.concurrent:
        pytest.skip("ranks that record for themselves have no notebook beside them")
    with support.setting(place="auto"):
        yield
    session.flush()
