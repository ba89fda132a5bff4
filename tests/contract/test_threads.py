"""Several Python threads on arrays of one session: results are those of some order."""

import asyncio
import random
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import distnb as dnb
from distnb.client.array.prefetch import Prefetch
from tests.contract.support import setting

#: Code in ``xp``, NumPy or distnb, vectors ``x`` of several lengths, matrices ``m``, a number ``k``.
CODE = (
    "(x * k).sum()|(x + k).max()|xp.sqrt(x * k).mean()|xp.sort(x * k)[:5]|xp.cumsum(x * k)[-1]|"
    "(m * k).sum(axis=0)|(m * k).sum(axis=1)|(m * k).T.copy()[0]|(m * k) @ m[0]|(m * k) @ m|"
    "xp.where(x > k / 9, x, k).sum()|x[x > k / 9].sum()|xp.histogram(x * k, 5)[0]|"
    "xp.median(x * k)|xp.var(m * k, axis=1)|xp.argmax(x * (k + 1))|xp.outer(x[:7], x[:5] * k)|"
    "xp.concatenate([x[:5] * k, x[-5:]])|xp.fft.fft(x[:40] * k)[3]|xp.dot(x, x * k)|"
    "xp.einsum('ij,j->i', m, m[0] * k)|xp.unique(xp.floor(x * k))|(x * k).reshape(-1, 10).sum(0)|"
    "xp.roll(x * k, 3)[:5]|float((x * k)[17])|xp.convolve(x[:50], x[:5] * k)|xp.all(x * k <= k)|"
    "xp.linalg.solve(m[:5, :5] + 9 * xp.eye(5), x[:5] * k)|(x[:40] * k).tolist()|"
    "xp.searchsorted(xp.sort(x * k), k / 2)|xp.stack([m[0] * k, m[1]]).sum(axis=1)"
).split("|")

#: Turns of each thread; lengths of vectors and of matrices' sides.
TURNS, LENGTHS, SIDES = 20, (50, 5_000, 300_000), (7, 60)


@pytest.fixture
def hasty(session):
    """Threads take turns much more often than they do by themselves."""
    if session.size > 1 and not session.transport.concurrent:
        pytest.skip("ranks must record the same, and threads record in any order")
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.ways("started")
@pytest.mark.parametrize("place", ["auto", "engines"])
def test_threads_get_numpys_results(session, hasty, place):
    rng = np.random.default_rng(5)
    vectors = [rng.random(n) for n in LENGTHS]
    matrices = [rng.random((n, n)) for n in SIDES]
    shared = {id(a): dnb.array(a) for a in (*vectors, *matrices)}
    wrong: list[object] = []

    def work(seed):
        chosen = random.Random(seed)
        for _ in range(TURNS):
            code, k = chosen.choice(CODE), chosen.randrange(8)
            x, m = chosen.choice(vectors), chosen.choice(matrices)
            names = {"np": np, "k": k}
            expected = eval(code, names | {"xp": np, "x": x, "m": m})
            found = eval(code, names | {"xp": dnb, "x": shared[id(x)], "m": shared[id(m)]})
            if not np.allclose(np.asarray(found), expected):
                wrong.append((code, len(x), len(m), k))

    with setting(place=place), ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(8)))
    assert not wrong


def test_an_element_of_one_thread_is_made_whatever_the_others_record(session, hasty):
    """It is recorded as soon as anything else is, by whoever does that."""
    x = dnb.arange(1000.0, dist="block")
    start, wrong = threading.Barrier(4), []

    def work(thread):
        start.wait()
        for i in range(100):
            element = x[(thread * 100 + i) % 1000]
            if float(element + 0) != (thread * 100 + i) % 1000:
                wrong.append((thread, i))

    with setting(place="engines"), ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert not wrong


#: What a thread does to its own rows ``s`` of shared arrays, of which the first is ``i``; ``flat``
#: is where they are in C order.
ROWS = (
    "a[s] += 1|a[s, 1] = v[s]|a.ravel()[flat][::3] += 2|a.reshape(-1)[flat] *= 2|a.T[2, s] -= v[s]|"
    "a[s][a[s] > 5] = 1|h[s] = a[s, 0]|h[s] += 1|xp.add(a[s, 3], 1, out=h[s])|a[i, 0] += 1|"
    "xp.multiply(a[s], 2, out=a[s], where=a[s] > 0)|a[i, 2] = float(a[s].sum()) % 9|v[s] += h[s]|"
    "h[i] = h[i + 1].item() + a[i, 1].item()|xp.add.at(a, (np.array([i, i]), np.array([0, 1])), 3)|"
    "a[np.array([i, i + 1])] = 7|xp.put(h, [i, i + 1], v[i].item())"
).split("|")


@pytest.mark.parametrize("place", ["auto", "engines"])
def test_coroutines_take_turns_where_they_await(session, place):
    if session.size > 1 and not session.transport.concurrent:
        pytest.skip("ranks must record the same, and wait for the same time")
    x = dnb.arange(3000.0)

    async def work(k):
        y = x * k
        await asyncio.sleep(0)
        y[k::9] += 1
        await asyncio.sleep(0)
        return y.sum().item(), await asyncio.to_thread(lambda: float(y[k]))

    async def forever():
        while True:
            assert (x + 1)[0].item() == 1
            await asyncio.sleep(0)

    async def all_of_them():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(forever(), 0.01)
        return await asyncio.gather(*map(work, range(5)))

    with setting(place=place):
        found = asyncio.run(all_of_them())
    for k, pair in enumerate(found):
        y = np.arange(3000.0) * k
        y[k::9] += 1
        assert pair == (y.sum(), y[k])


@pytest.mark.parametrize("place", ["auto", "engines"])
def test_threads_write_rows_of_their_own(session, hasty, place):
    """Of different elements no write is lost, wherever others have arrays moved meanwhile."""

    def work(xp, arrays, thread, seed, n):
        chosen, i = random.Random(seed), thread * n
        names = dict(zip("avh", arrays, strict=True), xp=xp, np=np, i=i)
        names |= {"s": slice(i, i + n), "flat": slice(4 * i, 4 * (i + n))}
        for _ in range(8):
            exec(chosen.choice(ROWS), names)

    def rounds(k):
        n, dist = (2, 40, 700)[k % 3], ("block", "cyclic", "replicated", "block")[k % 4]
        plain = [np.zeros((3 * n, 4)), np.arange(3.0 * n), np.zeros(3 * n)]
        a, v = (dnb.array(x, dist=dist) for x in plain[:2])
        shared = [a, v, dnb.array(plain[2])]
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(lambda t: work(dnb, shared, t, 3 * k + t, n), range(3)))
        for t in range(3):
            work(np, plain, t, 3 * k + t, n)
        return all(map(np.allclose, map(np.asarray, shared), plain))

    with setting(place=place, cutoff=1 << 16):  # so that ``h`` is in the notebook
        assert all(rounds(k) for k in range(12))


def test_no_thread_comes_between_where_walks_through_arrays_are_kept(session):
    """More arrays than are remembered are read by turns, which forgets the oldest walk."""

    class Walks(dict):
        def __iter__(self):
            oldest = next(super().__iter__())
            if not session.recorder.busy:  # another thread may forget it now
                del self[oldest]
            return iter([oldest])

    arrays = [dnb.arange(9.0, dist="block") + k for k in range(12)]
    session.extensions[Prefetch]._walks = Walks()
    with setting(place="engines"):
        assert [float(x[3]) for x in arrays] == [3.0 + k for k in range(12)]
