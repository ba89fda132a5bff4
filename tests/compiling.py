"""Engines of this process that compile whatever they can, at once, for arrays of any size."""

import contextlib

from distnb.engines.fusion import compiler, kernels, loops

#: Elements of a tile, so that small arrays have several.
_TILE = 16


@contextlib.contextmanager
def at_once(session, made=None, stream=1 << 25):
    """Have the engines of an in-process session compile for a while; yield the compiler.

    Results of ``stream`` bytes or more go to memory past the caches.
    Nothing is left behind for tests that are run in between: what was found out of signatures holds
    for tiles of one size only.
    """
    made = made or compiler.Compiler(wait=True)
    executors = [worker.executor for worker in session.transport.workers]
    before = (
        *(loops.TILE, kernels._COMES_BACK, kernels._STREAMED, kernels._ROW),
        [executor.compiler for executor in executors],
    )
    _set(_TILE, 1, stream, 1, [made] * len(executors), executors)
    try:
        yield made
    finally:
        _set(*before, executors)


def _set(tile, comes_back, stream, row, compilers, executors):
    loops.TILE, kernels._COMES_BACK = tile, comes_back
    kernels._STREAMED, kernels._ROW = stream, row
    for executor, made in zip(executors, compilers, strict=True):
        executor.compiler = made
    loops.group_plan.cache_clear()
    kernels.program.cache_clear()
