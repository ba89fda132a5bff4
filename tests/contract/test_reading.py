"""Elements on engines are copies of now, however late they are read; reading one sends no copy."""

import numpy as np
import pytest

import distnb as dnb
from distnb.client.array import prefetch
from tests.contract.support import setting

pytestmark = [
    pytest.mark.ways("one", "spmd", "started"),
    pytest.mark.usefixtures("engines_only"),
]


@pytest.fixture
def notebook(session):
    """One process that records for all engines."""
    if not session.transport.concurrent:
        pytest.skip("ranks that record for themselves agree on every batch")


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u8", "?", "c16"])
def test_an_element_is_the_value_of_its_time(session, dtype):
    x = np.arange(12).reshape(3, 4).astype(dtype)
    a = dnb.array(x)
    early, late, used = a[1, 2], a[2, 3], a[0, 1]
    assert early.item() == x[1, 2]
    a[...] = 0
    assert late.item() == x[2, 3]
    assert early.item() == x[1, 2]  # again, after the write
    np.testing.assert_array_equal((early + used + a).to_numpy(), x[1, 2] + x[0, 1] + 0 * x)
    kept = early
    early += early
    assert (early.item(), kept.item(), a[1, 2].item()) == (x[1, 2] + x[1, 2], x[1, 2], 0)
    assert early.dtype == x.dtype


@pytest.mark.usefixtures("notebook")
def test_reading_an_element_moves_nothing_else(session):
    a = dnb.arange(1000.0)
    session.flush()
    float(a[1])
    window = session.start_window()
    for i in range(5):
        assert float(a[i * 10]) == i * 10
    report = session.end_window(window)
    if a.here is None:
        assert {op.op for op in report.ops} == {"fetch"}
        assert sum(e.messages for e in report.engines) == 0


WALKS = {
    "forward": [(i, j) for i in range(6) for j in range(30)],
    "backward": [(i, -j) for i in range(6) for j in range(1, 30)],
    "down": [(i, j) for j in range(5) for i in range(23)],
    "up by threes": [(22 - i, j) for j in (1, 8) for i in range(0, 23, 3)],
    "in steps": [(4, j) for j in range(0, 30, 7)] * 2,
    "diagonal": [(i, i) for i in range(23)],
    "in the same place": [(3, 4)] * 5,
}


@pytest.mark.parametrize("dist", [None, "replicated", ("*", ("cyclic", 3)), ("block", "cyclic")])
@pytest.mark.parametrize("walk", WALKS)
def test_elements_that_are_read_one_after_the_other(session, walk, dist):
    x = np.arange(23 * 30).reshape(23, 30)
    a = dnb.array(x, dist=dist)
    assert [int(a[at]) for at in WALKS[walk]] == [x[at] for at in WALKS[walk]]


@pytest.mark.parametrize("dtype", ["?", "i2", "f4", "c16"])
def test_what_is_read_ahead_has_its_dtype_and_is_a_copy(session, dtype):
    x = (np.arange(40) % 3).astype(dtype)
    a = dnb.array(x)
    view = a[::-1]
    for i in range(len(view)):
        one = view[i]
        found = np.array(one)
        assert (found.dtype, found.shape, found) == (x.dtype, (), x[39 - i])
        found[...] = 0
        assert np.array(one) == x[39 - i]
    assert [(v, type(v)) for v in view] == [(v, type(v)) for v in x[::-1]]
    np.testing.assert_array_equal(a.to_numpy(), x)


@pytest.mark.parametrize("n", [50, 700_000])
@pytest.mark.parametrize("step", [1, -1])
def test_a_loop_over_elements_sees_what_it_writes(session, n, step):
    x = np.arange(float(n))
    a = (dnb.array(x, dist="block") * 1.0)[::step]
    x = (x * 1.0)[::step]

    def walk(y, add):
        seen = []
        for i, v in enumerate(y):
            seen.append(v)
            if i in (3, 11):
                y[i + 1 : i + 4] = 7.5 + i
            if i == 20:
                y += 1
            if i == 30:
                add(y[25:], 1000, out=y[25:])
            if i == 40:
                return seen, next(iter(y))

    (found, first), (want, one) = walk(a, dnb.add), walk(x, np.add)
    assert found == want
    assert [type(v) for v in found] == [np.float64] * 41
    assert first == one
    assert list(a[:1000]) == list(x[:1000])
    assert max(a) == max(x)


def test_a_loop_over_rows_gives_views(session):
    a = dnb.array(np.arange(12.0).reshape(4, 3), dist="cyclic") + 0
    for i, row in enumerate(a[::-1]):
        row[1] = -i
    np.testing.assert_array_equal(a[:, 1].to_numpy(), [-3, -2, -1, 0])


def test_writes_show_in_what_is_read_next(session):
    x = np.arange(60.0)
    a = dnb.array(x)
    for i in range(60):
        if i % 7 == 5:
            a[i - 1 :] += 100
            x[i - 1 :] += 100
        if i == 40:
            a = a * 2
            x = x * 2
        assert float(a[i]) == x[i]
    for i in range(1, 60):
        a[i] = a[i - 1].item() + 1  # what comes next was written just now
    np.testing.assert_array_equal(a.to_numpy(), x[0] + np.arange(60))


def test_elements_that_were_read_are_operands_like_others(session):
    a = dnb.arange(50.0)
    read = [a[i] for i in range(20)]
    values = [float(one) for one in read]
    assert values == list(range(20))
    last = [a[i] for i in (30, 31, 32, 33)]
    for one in last:
        float(one)
    a[...] = 0
    total = last[0] + last[1] * a[:3] + sum(read)
    np.testing.assert_array_equal(total.to_numpy(), [220.0] * 3)
    last[3] += 5
    assert (last[3].item(), a[33].item()) == (38, 0)


@pytest.mark.usefixtures("notebook")
def test_reading_ahead_asks_seldom(session, monkeypatch):
    monkeypatch.setattr(prefetch, "_FRESH", 1e9)  # however slow the machine is
    a = dnb.arange(5000.0)
    session.flush()
    before = session.batches
    for i in range(2000):
        assert float(a[i]) == i
    if a.here is None:
        assert 10 <= session.batches - before < 20  # 1, 1, 2, 4 ... 1024


@pytest.mark.usefixtures("notebook")
def test_reading_ahead_in_two_arrays(session, monkeypatch):
    monkeypatch.setattr(prefetch, "_FRESH", 1e9)
    a, b = dnb.arange(2000.0), dnb.arange(2000.0) * 2
    session.flush()
    before = session.batches
    assert sum(float(a[i]) * float(b[-i - 1]) for i in range(1000)) == sum(
        i * (3998.0 - 2 * i) for i in range(1000)
    )
    if a.here is None:
        assert 18 <= session.batches - before < 40
    assert float(a[1000]) == 1000
    b[998] = 7  # is in what was read ahead
    assert [float(b[999]), float(b[998]), float(a[1001])] == [1998, 7, 1001]


@pytest.mark.usefixtures("notebook")
def test_elements_read_here_and_there_come_at_once(session, monkeypatch):
    """As ``networkx.from_numpy_array`` reads those of edges: it asked engines for each."""
    monkeypatch.setattr(prefetch, "_FRESH", 1e9)
    values = np.arange(1200.0).reshape(30, 40)
    a = dnb.asarray(values.copy())
    places = np.random.default_rng(0).integers(0, 30, (200, 2)).tolist()
    session.flush()
    before = session.batches
    assert [float(a[i, j]) for i, j in places] == [values[i, j] for i, j in places]
    view = a[::-2, 3:].T
    assert [float(view[i, j // 2]) for i, j in places] == [
        values[29 - 2 * (j // 2), 3 + i] for i, j in places
    ]
    if a.here is None:
        assert session.batches - before < 9
    for i, j in places[:9]:
        a[i, j] += 1  # each is as it is now, and nothing is fetched for one
        values[i, j] += 1
        assert float(a[i, j]) == values[i, j]


@pytest.mark.usefixtures("notebook")
def test_an_element_that_nobody_wants_is_not_copied(session):
    a = dnb.arange(1000.0)
    session.flush()
    before = session.recorded
    for i in range(5):
        a[i]
    a += 1
    assert session.recorded - before == (1 if a.here is None else 0)
    one, two = a[7], a[8]
    session.flush()  # two is the last one; it is made when a cell ends as well
    assert session.recorded - before == (5 if a.here is None else 0)
    assert (one.item(), two.item()) == (8, 9)


def test_an_element_is_asked_for_once(session):
    a = dnb.arange(1000.0)
    one = a[3]
    assert one.item() == 3
    before = session.batches
    assert one.item() == 3
    one.to_numpy()[...] = 7
    assert float(one) == 3
    assert session.batches == before


def test_an_element_keeps_its_array_only_until_it_is_copied(session):
    a = dnb.zeros(1000)
    one = a[3]
    there = len(session.bases())
    del a
    session.flush()
    assert len(session.bases()) <= there
    assert one.item() == 0


def test_an_element_of_a_lost_array_is_lost(session):
    a = dnb.array(np.arange(1, 7))
    with pytest.raises(ValueError, match="negative integer powers"):
        b = a ** dnb.array(np.full(6, -1))
        one = b[3]
        one.item()
    if a.here is None:
        with pytest.raises(dnb.LostArrayError):
            one.item()
        with pytest.raises(dnb.LostArrayError):
            (one + 1).to_numpy()


def test_a_loop_over_an_array_reads_it_once(session, engines_only):
    x = np.arange(5000.0) ** 2 % 977
    a = dnb.array(x, dist="cyclic")
    session.flush()
    before = session.batches
    assert list(a) == list(x)
    assert session.batches == before + 1
    assert [type(v) for v in a[:2]] == [np.float64] * 2
    assert (max(a), min(a), sorted(a), tuple(a)) == (max(x), min(x), sorted(x), tuple(x))
    assert list(enumerate(a)) == list(enumerate(x))
    assert sum(a) == sum(x)
    assert set(a) == set(x)
    assert [v * 2 for v in a[::-3]] == [v * 2 for v in x[::-3]]
    first, *_, last = a
    assert (first, last) == (x[0], x[-1])
    assert list(dnb.zeros(0, dist="block")) == []
    before = session.batches
    assert list(zip(a, a[::-1], strict=True)) == list(zip(x, x[::-1], strict=True))
    assert session.batches == before + 2


def test_loops_over_two_arrays_see_what_they_write(session, engines_only):
    x, y = np.arange(60.0), np.arange(60.0) * 3
    a, b = dnb.array(x, dist="block") * 1.0, dnb.array(y, dist="cyclic") * 1.0

    def walk(x, y):
        for i, (v, w) in enumerate(zip(x, y, strict=True)):
            yield v, w
            if i % 7 == 3:
                y[i + 1 :] += v
            if i == 20:
                x[22:25] = -w

    assert list(walk(a, b)) == list(walk(x, y))


@pytest.mark.parametrize("place", ["engines", "auto", "notebook"])
@pytest.mark.parametrize("cutoff", [0, 1 << 17])
def test_a_loop_sees_what_it_writes(session, place, cutoff):
    def fill(np):
        a, out = np.zeros(9), []
        other = a[::-1]
        for i, v in enumerate(a):
            out.append(float(v))
            if i < 8:
                a[i + 1] = v + 1
            if i == 4:
                other[0] = 77.0
                np.add(a[5:8], 10, out=a[5:8])
        return out

    with setting(place=place, cutoff=cutoff):
        assert fill(dnb) == fill(np)


def test_round_and_rows(session):
    a = dnb.array([[1.2345, 2.5], [3.25, -4.0]])
    assert round(a.mean(), 3) == round(a.to_numpy().mean(), 3)
    assert [row.shape for row in a] == [(2,), (2,)]
    with pytest.raises(TypeError, match="iteration over a 0-d array"):
        iter(dnb.array(3.0, dist="replicated"))


@pytest.mark.usefixtures("notebook")
def test_rows_read_one_by_one_come_several_at_a_time(session, monkeypatch):
    """As PyTorch's ``DataLoader`` reads samples: it asked engines for each."""
    monkeypatch.setattr(prefetch, "_FRESH", 1e9)
    values = np.arange(12000.0).reshape(300, 40)
    a = dnb.asarray(values.copy())
    session.flush()
    before = session.batches
    for i in range(300):
        np.testing.assert_array_equal(a[i].to_numpy(), values[i])
    for k in range(39, 3, -2):  # other parts are another walk
        np.testing.assert_array_equal(a[5:290:3, k].to_numpy(), values[5:290:3, k])
    for i in np.random.default_rng(0).permutation(300).tolist():
        np.testing.assert_array_equal(np.asarray(a[i, ::-1]), values[i, ::-1])
    if a.here is None:
        assert session.batches - before < 30
    found = a[7].to_numpy()
    found[:] = -1  # is the caller's own
    for i in range(290, 300):
        a[i] *= 2  # each is as it is now
        np.testing.assert_array_equal(a[i].to_numpy(), 2 * values[i])
    np.testing.assert_array_equal(a[7].to_numpy(), values[7])


@pytest.mark.usefixtures("notebook")
def test_a_list_of_elements_asks_seldom(session, monkeypatch):
    """``np.array([x[i] for i in ...])`` had each element copied, and asked for it twice."""
    monkeypatch.setattr(prefetch, "_FRESH", 1e9)
    a = dnb.arange(500.0)
    session.flush()
    before = session.batches
    found = np.array([a[i] for i in range(200)])
    np.testing.assert_array_equal(found, np.arange(200.0))
    if a.here is None:
        assert session.batches - before < 20


@pytest.mark.usefixtures("notebook")
def test_elements_that_wait_are_as_they_were(session):
    """Reading one of them leaves the others to be made, but not beyond the next write."""
    a = dnb.arange(50.0)
    some = [a[i] for i in range(20)]
    assert [float(some[3]), float(some[17])] == [3, 17]
    b = dnb.asarray(np.arange(4.0)) + a[:4]
    assert [float(b[3]), float(some[4])] == [6, 4]
    more = [a[i] for i in range(20, 40)]
    assert float(more[0]) == 20
    a[...] = -1
    assert [float(one) for one in some + more] == list(range(40))
    if a.here is not None:
        return
    more = [a[i] for i in range(20, 40)]
    with setting(place="auto"):  # where reading may bring all in reach, and writes are NumPy's
        assert float(more[1]) == -1
        a[...] = 5
        a[21] += 1
    assert [float(one) for one in more] == [-1] * 20


@pytest.mark.usefixtures("notebook")
def test_an_element_whose_reading_was_interrupted_is_read_again(session, monkeypatch):
    """It was lost, though nothing had written what it is read from."""

    def interrupted(*_):
        raise KeyboardInterrupt

    a = dnb.arange(50.0)
    some = [a[i] for i in range(5)]
    if a.here is not None:
        return
    with monkeypatch.context() as broken:
        broken.setattr(type(session), "gather", interrupted)
        for one in some[1::2]:
            with pytest.raises(KeyboardInterrupt):
                float(one)
    assert float(some[1]) == 1
    a[...] = -1
    assert [float(one) for one in some] == list(range(5))


def test_an_element_of_an_element_that_waits(session):
    x = dnb.arange(10.0)
    y, other = x[3], x[5]
    z = y[()]
    last = z[()]
    x[3] = 7
    assert [float(found) for found in (last, z, other, y, x[3])] == [3, 3, 5, 3, 7]
    y = x[4]
    assert [float(found) for found in (y[()][()], y, x[4])] == [4, 4, 4]
