"""What all tests share: tiers, engines, hypothesis profiles; ``HYPOTHESIS_PROFILE=ci`` repeats its examples.

Small arrays are on engines in the tests, for these are small and about engines. Tests of the cutoff
set it.
"""

import faulthandler
import gc
import os
import sys

os.environ.setdefault("DISTNB_CUTOFF", "0")  # before distnb is imported, here and by engines
# So do the engines compute, whatever is small; the way "reach" has the notebook do it.
os.environ.setdefault("DISTNB_PLACE", "engines")
# Compiled loops have tests of their own; elsewhere nothing is to be compiled in the background.
os.environ.setdefault("DISTNB_JIT", "0")

# All that engines of one node have for each other is lent, small as it is.
os.environ.setdefault("DISTNB_SHARED", "1")

import pytest
from hypothesis import settings

import distnb as dnb
from distnb.client.transport import socket_transport
from tests import tiers
from tests.waiting import Gate

# jsonschema, which nbformat imports, would make a parser of its grammar: three seconds a process.
sys.modules.setdefault("rfc3987_syntax", None)

_EXAMPLES = max(2, round(settings.default.max_examples * min(1, tiers.SCALE)))
settings.register_profile("default", deadline=None, max_examples=_EXAMPLES)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

_STDERR = pytest.StashKey[int]()

# A full collection goes through all that pytest and Numba keep: a second, in which no engine that is
# a thread gets on. There is one between two modules instead.
gc.set_threshold(700, 10, 1000)


@pytest.fixture(scope="module", autouse=True)
def collect():
    """Collect what the module before this one has left; what stays stays to the end."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish():
    """Leave what is there to the system: to look through it takes seconds, in each process."""
    gc.freeze()


def pytest_configure(config):
    """Keep the real standard error: that of a test is captured."""
    config.stash[_STDERR] = os.dup(2)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Leave out what is not in the tier; begin with what may take longest."""
    kept = tiers.chosen(items)
    config.hook.pytest_deselected(items=list(set(items) - set(kept)))
    items[:] = sorted(kept, key=_watchdog, reverse=True)
    for item in items:  # one worker of xdist starts what these share, and runs them all
        params = item.callspec.params if hasattr(item, "callspec") else {}
        asked = {"engines"} if params.get("kind") == "cluster" else set()  # by its name
        for shared in _SHARED & {*item.fixturenames, *asked}:
            item.add_marker(pytest.mark.xdist_group(shared))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Let one worker run all tests of a module, where those that share engines are a group."""
    if config.option.dist != "loadgroup":
        return None
    from tests.scheduling import ModuleScheduling

    return ModuleScheduling(config, log)


def _watchdog(item):
    mark = item.get_closest_marker("timeout")
    return max(_LONG, *mark.args) if mark else _LONG


#: Seconds: no test with a shorter watchdog is a long one.
_LONG = 300

#: Fixtures that start processes, for all tests of a run.
_SHARED = {"engines", "ipcluster", "labs"}


@pytest.fixture(scope="session")
def engines():
    """Three engines that distnb has started, for all tests that leave them as they were."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISTNB_ALLOW_ROOT", "1")
        # the engines import the tests' own support
        path = [str(tiers.ROOT), os.environ.get("PYTHONPATH", "")]
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, path)))
        patch.setattr(socket_transport, "_PATIENCE", 60.0)  # where machines are slow, too
        session = dnb.start(3, beside=True)
    with session:
        yield session


@pytest.hookimpl(wrapper=True)
def pytest_timeout_set_timer(item, settings):
    """Show where a test hangs, just before its watchdog: xdist does not pass on what that tells."""
    faulthandler.dump_traceback_later(0.98 * settings.timeout, file=item.config.stash[_STDERR])
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_timeout_cancel_timer():
    """Its watchdog sleeps."""
    faulthandler.cancel_dump_traceback_later()
    return (yield)


@pytest.fixture
def gate(tmp_path):
    """A place where engines wait; it is open in the end."""
    made = Gate(tmp_path / "gate")
    yield made
    made.open()
