"""Failures and interrupts under SPMD; run on every rank by the tests, with the part's name.

All ranks record the same commands. A rank whose check fails ends the whole job.
"""

import os
import signal
import sys
import threading
import time
import traceback
from pathlib import Path

import distnb as dnb
from tests import tiers
from tests.contract.support import closed
from tests.failures import support
from tests.failures.support import CASES, ERRORS, World, planted
from tests.waiting import Gate, until


def failures(session, folder):
    """Each case fails on one of the ranks."""
    for at, case in tiers.some(enumerate(CASES.values()), 20):
        do, kind, text = ERRORS[at % len(ERRORS)]
        support.check_failure(session, case, at % session.size, do, kind, text, steps=5)


def interrupts(session, folder):
    """SIGINT to all ranks, then to one only, while one rank is slow and the others wait for it."""
    for at, hit in enumerate(([0, 1, 2], [0], [1], [2])):
        gate = Gate(folder / str(at))
        w = World(session)
        late = w.dist.a + 1
        waits = threading.Event()
        mine = threading.Thread(target=interrupt, args=(gate, waits))
        with planted(session, 1, "name == 'Reduce'", gate.stand), dnb.profile(session) as report:
            if session.transport.rank in hit:
                mine.start()
            w.dist.c += 1
            total = w.dist.b.sum()
            interrupted = stopped(lambda: (waits.set(), total.item()))
            # A rank may hear of it from another one before its own signal comes.
            stopped(lambda: (mine.join(), time.sleep(0.05)) if mine.ident else None)
        assert interrupted
        closed(report, session)
        assert support.reading(total) is dnb.LostArrayError
        w.check("a", "c") if support.reading(late) else w.check("c")
        support.work(session, seed=len(hit))


def interrupt(gate, waits):
    """Interrupt this rank when one is slow; that one hears of it when it looks for messages again."""
    until(gate.come)
    waits.wait()
    time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGINT)
    gate.open()


def wait(session, folder):
    """Wait for a rank that is not in a hurry."""
    total = dnb.ones(9).sum()
    if session.transport.rank == 0:
        print("ready", flush=True)
    with planted(session, 1, "name == 'Reduce'", Gate(folder).stand):
        dnb.ones(9).sum().item()
    total.item()


def stopped(function):
    """Tell whether Ctrl-C ends a call."""
    try:
        function()
    except KeyboardInterrupt:
        return True
    return False


def main():
    part = {"failures": failures, "interrupts": interrupts, "wait": wait}[sys.argv[1]]
    with dnb.spmd() as session:
        part(session, Path(sys.argv[2]))
        if session.transport.rank == 0:
            print("all is well")


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
