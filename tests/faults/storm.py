"""Several Ctrl-C close together, at random: ``python -m tests.faults.storm TRIALS``.

Among them are other signals, whose handlers raise something else.
"""

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


#: What handlers raise.
RAISED = {
    signal.SIGINT: KeyboardInterrupt,
    signal.SIGALRM: TimeoutError,
    signal.SIGTERM: SystemExit,
    signal.SIGUSR1: ValueError,
}


def raises(number, frame):
    """Raise what the signal is to raise, while something is computed: that is where it is caught."""
    while frame is not None:
        if frame.f_code is turns.__code__:
            raise RAISED[number]
        frame = frame.f_back


def press(presses):
    """Send a signal after some seconds, and others after some more."""
    for delay, number in presses:
        time.sleep(delay)
        os.kill(os.getpid(), number)


def turns(a, chance, pressing):
    """Compute until interrupted; what comes too early, or where Python drops it, interrupts nobody."""
    while pressing.is_alive():
        x = a
        for _ in range(chance.choice([2, 10, 40])):
            x = x[::-1] + 1
        x.sum().item()


def trial(a, chance, gap):
    """Press several times, then read."""
    dnb.config.flush_size = chance.choice([1, 5, 100, 1000])
    delays = [chance.uniform(0.0005, 0.03)]
    delays += [chance.uniform(0, gap) for _ in range(chance.choice([1, 1, 2, 3]))]
    presses = [(delay, chance.choice(list(RAISED))) for delay in delays]
    thread = threading.Thread(target=press, args=(presses,))
    while True:
        try:
            if thread.ident is None:
                thread.start()
                turns(a, chance, thread)
            while thread.is_alive():
                time.sleep(0.001)
            time.sleep(0.001)
            break
        except tuple(RAISED.values()) as error:
            assert type(error) in RAISED.values()  # distnb's own are derived from these
    assert a.sum().item() == 40_000 * 39_999 / 2


def main():
    """Run the trials."""
    for number in RAISED:
        signal.signal(number, raises)
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
