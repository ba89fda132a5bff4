"""Random programs with failures and interrupts at random: what can be read is right, always."""

import gc
import os
import random
import signal
import threading

import numpy as np
import pytest

import distnb as dnb
from tests.failures import support

DISTS = ["block", "cyclic", ("cyclic", 2), "replicated", ("engine", 0), ("irregular", 0)]
N = 13


class Program:
    """Arrays, each with what it must hold if it can be read."""

    def __init__(self, session, seed):
        self.session = session
        self.chance = random.Random(seed)
        self.pairs = [self.new() for _ in range(4)]

    def new(self):
        dist = self.chance.choice(DISTS)
        if dist == ("irregular", 0):
            inner = sorted(self.chance.randrange(N + 1) for _ in range(self.session.size - 1))
            dist = ("irregular", (0, *inner, N))
        value = np.array([self.chance.randrange(-9, 9) for _ in range(N)], float)
        return [value, dnb.array(value, dist=dist, session=self.session)]

    def step(self):
        """Do one thing to both; where distnb refuses, NumPy must not do it either."""
        p, q = self.chance.choice(self.pairs), self.chance.choice(self.pairs)
        kind = self.chance.randrange(9)
        (x, a), (y, b) = p, q
        if kind == 0:
            self.replace(a + b, x + y)
        elif kind == 1:
            self.replace(a[::-1] - b.sum(), x[::-1] - y.sum())
        elif kind == 2:
            a[1:] = b[:-1]
            x[1:] = y[:-1].copy()
        elif kind == 3:
            a += b[::-1]
            x += y[::-1].copy()
        elif kind == 4:
            np.maximum(a, b, out=a, where=b > 0)
            np.maximum(x, y.copy(), out=x, where=y.copy() > 0)
        elif kind == 5:
            self.replace(a.redistribute(self.chance.choice(DISTS[:5])), x.copy())
        elif kind == 6:
            a[b.argmax().item() :] = 1
            x[int(y.argmax()) :] = 1
        elif kind == 7:
            value = self.chance.randrange(9)
            a[...] = value
            x[...] = value
        else:
            self.replace(*self.new()[::-1])

    def replace(self, dist, value):
        dist, value = dist % 100, value % 100
        self.pairs[self.chance.randrange(len(self.pairs))] = [value, dist]

    def check(self):
        """Read all; make lost ones again."""
        for pair in self.pairs:
            try:
                found = pair[1].to_numpy()
            except dnb.LostArrayError:
                pair[1][...] = 0
                pair[0][...] = 0
            else:
                np.testing.assert_array_equal(found, pair[0])


class Gremlin:
    """Raises in an engine now and then."""

    def __init__(self, seed, rank, share, kinds):
        self.chance = random.Random(f"{seed} {rank}")
        self.share = share
        self.kinds = kinds

    def __call__(self, command):
        if self.chance.random() < self.share:
            raise self.chance.choice(self.kinds)("gremlin")


@pytest.mark.cases(6)
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kinds", [[ValueError, MemoryError], [ValueError, KeyboardInterrupt]])
def test_failures_at_random(seed, kinds):
    with dnb.inprocess(seed % 4 + 1) as session:
        program = Program(session, seed)
        session.flush()
        gremlins = [Gremlin(seed, r, 0.02, kinds) for r in range(session.size)]
        with support.setting(flush_idle=0.001 if seed % 2 else 60):
            for _ in range(12):
                for worker, gremlin in zip(session.transport.workers, gremlins, strict=True):
                    worker.executor.fault = gremlin
                for _ in range(12):
                    try:
                        program.step()
                        if program.chance.random() < 0.2:
                            session.send()
                    except (*kinds, dnb.LostArrayError) as error:
                        assert isinstance(error, dnb.LostArrayError) or str(error) in (
                            "",
                            "gremlin",
                        )
                support.heal_quietly(session, kinds)
                program.check()
        support.work(session)  # a batch, with which a new epoch begins
        assert support.left_over(session) == 0
        program.pairs.clear()
        gc.collect()
        session.flush()
        assert [len(w.store.bases) for w in session.transport.workers] == [0] * session.size


@pytest.mark.cases(1)
@pytest.mark.parametrize("seed", range(2))
def test_failures_at_random_on_a_cluster(cluster, seed):
    program = Program(cluster, seed)
    code = f"""
        from tests.failures.test_chance import Gremlin
        worker.executor.fault = Gremlin({seed}, {support.RANK}, 0.02, [ValueError, MemoryError])
    """
    for _ in range(6):
        cluster.flush()
        support.everywhere(cluster, code)
        for _ in range(15):
            try:
                program.step()
                if program.chance.random() < 0.2:
                    cluster.send()
            except (ValueError, MemoryError, dnb.LostArrayError):
                pass
        support.heal_quietly(cluster, [ValueError, MemoryError])
        program.check()


@pytest.mark.parametrize("kind", ["three", "cluster"])
def test_interrupts_at_random(request, interruptible, kind):
    """Ctrl-C at any instant of recording, sending and reading."""
    session = request.getfixturevalue(kind)
    program = Program(session, 7)
    session.flush()
    chance = random.Random(8)
    for _ in range(15):
        timer = threading.Timer(chance.uniform(0, 0.03), os.kill, (os.getpid(), signal.SIGINT))
        recorded = [pair[:] for pair in program.pairs]
        try:
            timer.start()
            while True:
                (session.flush if chance.random() < 0.3 else session.send)()
                [pair[1].to_numpy() for pair in program.pairs]
        except KeyboardInterrupt:
            pass
        timer.join()
        assert program.pairs == recorded
        program.check()
        for _ in range(3):
            program.step()
