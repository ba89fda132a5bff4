"""Several Ctrl-C close together, at random: ``python -m tests.faults.storm TRIALS``."""

import faulthandler
import os
import random
import signal
import sys
import threading
import time

os.environ |= {"DISTNB_CUTOFF": "0", "DISTNB_PLACE": "engines", "DISTNB_JIT": "0"}

import distnb as dnb

#: Seconds in which everything is over; a hang ends by then.
_PATIENCE = 380


def press(delays):
    """Press Ctrl-C after some seconds, and again after some more."""
    for delay in delays:
        time.sleep(delay)
        os.kill(os.getpid(), signal.SIGINT)


def turns(a, chance):
    """Compute until interrupted."""
    while True:
        x = a
        for _ in range(chance.choice([2, 10, 40])):
            x = x[::-1] + 1
        x.sum().item()


def trial(a, chance, gap):
    """Press several times, then read."""
    dnb.config.flush_size = chance.choice([1, 5, 100, 1000])
    delays = [chance.uniform(0.0005, 0.03)]
    delays += [chance.uniform(0, gap) for _ in range(chance.choice([1, 1, 2, 3]))]
    thread = threading.Thread(target=press, args=(delays,))
    while True:
        try:
            if thread.ident is None:
                thread.start()
                turns(a, chance)
            while thread.is_alive():
                time.sleep(0.001)
            time.sleep(0.001)
            break
        except KeyboardInterrupt:
            pass
    assert a.sum().item() == 40_000 * 39_999 / 2


def main():
    """Run the trials."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    faulthandler.dump_traceback_later(_PATIENCE, exit=True)
    trials, chance = int(sys.argv[1]), random.Random(7)
    with dnb.start(2) as session:
        a = dnb.arange(40_000.0)
        session.flush()
        for _ in range(trials):
            trial(a, chance, chance.choice([0.001, 0.004, 0.02]))
    print("all is well")


if __name__ == "__main__":
    main()
