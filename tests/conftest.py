"""What all tests share: hypothesis profiles; ``HYPOTHESIS_PROFILE=ci`` repeats its examples.

Small arrays are on engines in the tests, for these are small and about engines. Tests of the cutoff
set it.
"""

import faulthandler
import gc
import os

os.environ.setdefault("DISTNB_CUTOFF", "0")  # before distnb is imported, here and by engines
# Compiled loops have tests of their own; elsewhere nothing is to be compiled in the background.
os.environ.setdefault("DISTNB_JIT", "0")

# All that engines of one node have for each other is lent, small as it is.
os.environ.setdefault("DISTNB_SHARED", "1")

import pytest
from hypothesis import settings

settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
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


def pytest_configure(config):
    """Keep the real standard error: that of a test is captured."""
    config.stash[_STDERR] = os.dup(2)


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
