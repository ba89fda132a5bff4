"""The pool from which NumPy takes memory for the results of small steps."""

import gc
import subprocess
import sys
import weakref
from contextvars import copy_context

import numpy as np
import pytest
from numpy._core.multiarray import get_handler_name

import distnb as dnb
from distnb.client.recovery import shared_memory
from distnb.common.memory_pool import NUMPYS_POOL, keep_numpys
from tests.contract.support import setting

pytestmark = pytest.mark.skipif(NUMPYS_POOL is None, reason="nothing could be compiled")

#: Bytes: of what is malloc's, kept, and in huge pages.
SIZES = [1, 1000, (1 << 16) - 1, 1 << 16, 100_000, 1 << 20, (1 << 21) - 64, 1 << 21, 5_000_000]


@pytest.fixture(autouse=True)
def pool():
    """An empty pool with room, in a context that uses it."""
    gc.collect()  # of what others have left, nothing comes back meanwhile
    keep_numpys(0)
    keep_numpys(1 << 25)
    context = copy_context()
    context.run(NUMPYS_POOL.use)
    yield context.run
    keep_numpys(0)
    assert NUMPYS_POOL.held() == 0
    keep_numpys(dnb.config.pool_bytes)  # of a session that others share


def place(x):
    return x.__array_interface__["data"][0]


def test_only_a_context_that_uses_it_has_it(pool):
    assert get_handler_name(pool(np.empty, 1 << 20)) == "distnb_pool"
    assert get_handler_name(np.empty(1 << 20)) == "default_allocator"


@pytest.mark.parametrize("nbytes", SIZES)
def test_what_came_back_is_used_again(pool, nbytes):
    x = pool(np.empty, nbytes, np.uint8)
    x[:] = 7
    at = place(x)
    del x
    assert (NUMPYS_POOL.held() >= nbytes) == (nbytes >= 1 << 16)
    y = pool(np.empty, nbytes, np.uint8)
    assert NUMPYS_POOL.held() == 0
    assert nbytes < 1 << 16 or place(y) == at


def test_memory_that_is_less_than_twice_as_large_is_used_rather_than_new_pages(pool):
    x = pool(np.ones, 8 << 20, np.uint8)
    at = place(x)
    del x
    for n in (7 << 20, 5 << 20):
        y = pool(np.zeros, n, np.uint8)
        assert place(y) == at
        assert not y.any()
        del y
    assert place(pool(np.empty, 4 << 20, np.uint8)) != at


@pytest.mark.parametrize("nbytes", SIZES)
def test_zeros_are_zero(pool, nbytes):
    x = pool(np.empty, nbytes, np.uint8)
    x[:] = 255
    del x
    assert not pool(np.zeros, nbytes, np.uint8).any()


@pytest.mark.parametrize("old", SIZES)
@pytest.mark.parametrize("new", SIZES)
def test_resizing_keeps_what_fits(pool, old, new):
    x = pool(np.empty, old, np.uint8)
    x[:] = np.arange(old) % 251
    x.resize(new, refcheck=False)
    assert get_handler_name(x) == "distnb_pool"
    both = min(old, new)
    np.testing.assert_array_equal(x[:both], np.arange(both) % 251)
    assert not x[both:].any()


def test_no_more_is_kept_than_told_and_the_oldest_goes_first(pool):
    several = [pool(np.empty, 8 << 20, np.uint8) for _ in range(6)]
    places = [place(x) for x in several]
    while several:
        del several[0]
    assert 2 * (8 << 20) < NUMPYS_POOL.held() <= 1 << 25
    again = pool(np.empty, 8 << 20, np.uint8)
    assert place(again) == places[-1]
    keep_numpys(0)
    assert NUMPYS_POOL.held() == 0


def test_what_does_not_fit_is_refused_and_not_kept(pool):
    with pytest.raises(MemoryError):
        pool(np.empty, 1 << 55, np.uint8)
    large = pool(np.zeros, (1 << 25) + 1, np.uint8)
    assert not large[-1]
    del large
    assert NUMPYS_POOL.held() == 0


@pytest.mark.tier("test")
def test_results_of_small_steps_are_from_it_and_come_back(monkeypatch):
    monkeypatch.setattr(shared_memory, "_OPEN", weakref.WeakSet())  # without what others share
    with dnb.inprocess(2), setting(place="auto", cutoff=1 << 20):
        a, b = dnb.ones(20_000), dnb.ones((3, 20_000))  # at home
        for x in (a + 1, a * a, dnb.exp(a), b + a, b - b.mean(axis=0), dnb.concatenate([a, a])):
            assert get_handler_name(x.near) == "distnb_pool"
        del x
        gc.collect()
        held = NUMPYS_POOL.held()
        assert held >= a.nbytes
        for _ in range(20):
            a = a * 0.5 + 1.0
        assert NUMPYS_POOL.held() <= held + a.nbytes
        far = dnb.ones(200_000)  # in reach: its results promise a layout, which a rehearsal finds
        assert dnb.sort(far + 1).layout == far.layout
    assert NUMPYS_POOL.held() == 0


LIMITED = """
import resource
from contextvars import copy_context
import numpy as np
from distnb.common.memory_pool import NUMPYS_POOL
context = copy_context()
context.run(NUMPYS_POOL.use)
NUMPYS_POOL.keep_at_most(1 << 30)
large = context.run(np.empty, 1 << 28, np.uint8)
del large
assert NUMPYS_POOL.held() > 1 << 28
free = (1 << 28) - 1  # beside what is kept
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + free, used + free))
other = context.run(np.empty, 400 << 20, np.uint8)
assert NUMPYS_POOL.held() == 0
try:
    context.run(np.empty, 400 << 20, np.uint8)
except MemoryError:
    print("refused")
"""


@pytest.mark.tier("test")
def test_what_is_kept_goes_back_where_there_is_no_other_memory():
    done = subprocess.run(
        [sys.executable, "-c", LIMITED], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.stdout == "refused\n", done.stderr
