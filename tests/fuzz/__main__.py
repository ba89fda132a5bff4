"""Give readers damaged bytes: ``python -m tests.fuzz COUNT [NAME [SEED [FIRST]]]``.

Each input has a seed of its own, which is told when something is wrong with it; ``FIRST`` begins
with that. The process has so much memory: whoever takes more fails. An input that takes a minute
ends it.
"""

import faulthandler
import gc
import random
import resource
import sys
import time
import warnings
from collections import Counter

from tests.fuzz import files, messages, sockets

#: Bytes of address space that there are for the inputs.
_MEMORY = 1 << 30
#: Bytes by which what is held may grow meanwhile.
_GROWTH = 1 << 27
#: Seconds for so many inputs.
_PATIENCE, _SOME = 60, 100

TARGETS = {
    make.__name__: make
    for make in (
        messages.batches,
        messages.heads,
        sockets.local,
        sockets.between_hosts,
        sockets.strangers,
        sockets.keepers,
        sockets.questions,
        sockets.encrypted,
        files.npy,
        files.npz,
        files.tables,
        files.triplets,
        files.checkpoints,
    )
}

#: Files of other libraries, whose threads take memory: each is run by its name.
LIBRARIES = {
    make.__name__: make
    for make in (files.arrow, files.tiff, files.pictures, files.zarr, files.hdf5, files.parquet)
}


def _memory(which):
    """Return bytes of address space (0), or of memory (1), of this process, without garbage."""
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[which]) * resource.getpagesize()


def fuzz(name, count, seed, first=0):
    """Run a target; return how often it came out how."""
    found = Counter()
    with (TARGETS | LIBRARIES)[name]() as one:
        for k in range(first, first + count):
            if k % _SOME == 0 or k == first:
                faulthandler.dump_traceback_later(_PATIENCE, exit=True)
            if k - first == min(10_000, count // 2):
                before = _memory(1)
            try:
                found[one(random.Random(f"{name} {seed} {k}"))] += 1
            except BaseException:
                print(f"{name}: seed {seed}, input {k}", file=sys.stderr)
                raise
        grown = _memory(1) - before
    faulthandler.cancel_dump_traceback_later()
    assert grown < _GROWTH, f"{name}: {grown} bytes more after {count} inputs"
    return found


def main():
    """Run one target, or all."""
    count, name, seed, first = [*sys.argv[1:], *(None,) * 4][:4]
    warnings.simplefilter("ignore")
    limit = _memory(0) + _MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for each in TARGETS if name in (None, "all") else [name]:
        begin = time.monotonic()
        found = fuzz(each, int(count), int(seed or 0), int(first or 0))
        seconds = time.monotonic() - begin
        words = ", ".join(f"{n:,} {what}" for what, n in found.most_common(6))
        print(f"{each}: {found.total():,} inputs in {seconds:.0f} s: {words}", flush=True)


if __name__ == "__main__":
    main()
