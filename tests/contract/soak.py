"""Draw random calls as long as asked: ``python -m tests.contract.soak SECONDS [SEED]``.

They are those of test_random_calls, on one to four engines of this process in turn, wherever arrays
may lie. Each that differs from NumPy is printed with its seed, from which it is drawn again.
"""

import itertools
import os
import sys
import time
import warnings

os.environ.setdefault("DISTNB_CUTOFF", "0")  # before distnb is imported
os.environ.setdefault("DISTNB_PLACE", "engines")
os.environ.setdefault("DISTNB_JIT", "0")

import numpy as np

from tests.contract import random_calls
from tests.contract.support import open_session, setting
from tests.contract.test_random_calls import PLACES

#: Seconds with one session, and calls with one setting.
SPELL, CALLS = 120, 200


def soak(seconds, seed):
    """Compare calls until the time is over; return how many, and how many differed."""
    end, n, bad = time.monotonic() + seconds, 0, 0
    for size in itertools.cycle((3, 1, 4, 2)):
        until = min(end, time.monotonic() + SPELL)
        with open_session(f"inprocess:{size}") as session, np.errstate(all="ignore"):
            while time.monotonic() < until:
                place = list(PLACES)[n // CALLS % len(PLACES)]
                with setting(**PLACES[place]):
                    for at in range(seed + n, seed + n + CALLS):
                        wrong = random_calls.difference(session, at)
                        if wrong:
                            bad += 1
                            print(f"{size} engines, {place}, {wrong}", flush=True)
                n += CALLS
        if time.monotonic() >= end:
            return n, bad


if __name__ == "__main__":
    warnings.filterwarnings("ignore", category=RuntimeWarning)
    done, differed = soak(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    print(f"{done} calls, of which {differed} differed")
    sys.exit(bool(differed))
