"""A failure on one engine of three, in every kind of command: nothing hangs, nothing is wrong."""

import threading
import traceback
import warnings

import numpy as np
import pytest

import distnb as dnb
from distnb.engines.collectives import reductions, sorting, splitters
from distnb.engines.fusion.elementwise import Elementwise
from distnb.engines.fusion.group_messages import GroupMessages
from distnb.engines.runtime import creation
from tests.failures import support
from tests.failures.support import CASES, ERRORS, SLOWLY, World, plant, planted, reading, setting

ADD = "name == 'Apply' and op == 'add'"
RAISE = "raise ValueError('boom')"
OVER_IPYPARALLEL = [
    *("empty", "data", "parts", "halo", "out elsewhere", "masked", "assign to itself"),
    *(
        "to all",
        "sum",
        "argmin of rows",
        "sum of nothing",
        "matmul",
        "sort",
        "sort in place",
        "read",
    ),
]


@pytest.mark.cases(36)
@pytest.mark.parametrize("rank", range(3))
@pytest.mark.parametrize("name", CASES)
def test_one_rank_fails(three, name, rank):
    do, kind, text = ERRORS[(list(CASES).index(name) + rank) % len(ERRORS)]
    support.check_failure(three, CASES[name], rank, do, kind, text)


@pytest.mark.cases(5)
@pytest.mark.ways("openmpi")
@pytest.mark.parametrize("name", OVER_IPYPARALLEL)
def test_one_engine_fails(cluster, name):
    at = OVER_IPYPARALLEL.index(name)
    do, kind, text = ERRORS[at % len(ERRORS)]
    support.check_failure(cluster, CASES[name], at % 3, do, kind, text)


@pytest.mark.ways("openmpi")
def test_every_case_fails_under_spmd(tmp_path):
    assert support.spmd("failures", tmp_path) == "all is well\n"


@pytest.mark.cases(8)
@pytest.mark.parametrize("ranks", [(0, 1), (0, 2), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize(
    "name", ["aligned", "halo", "all to all", "sum", "argmin of rows", "to all", "sort in place"]
)
def test_several_ranks_fail(three, name, ranks):
    support.check_failure(three, CASES[name], ranks, RAISE, ValueError, "boom")


@pytest.mark.parametrize("n", [1, 2, 4])
def test_other_numbers_of_engines(n):
    with dnb.inprocess(n) as session:
        for name in ("data", "halo", "masked", "sum", "sort", "read"):
            support.check_failure(session, CASES[name], n - 1, RAISE, ValueError, "boom")


@pytest.mark.parametrize("rank", range(4))
def test_products_on_a_grid(rank):
    with dnb.inprocess(4) as session:
        support.check_failure(session, support.ON_A_GRID, rank, RAISE, ValueError, "boom")


@pytest.mark.parametrize("name", ["halo", "all to all", "argmax of rows", "read", "data"])
def test_a_failure_while_others_are_slow(cluster, name):
    case = CASES[name]
    w = World(cluster)
    for rank in (0, 2):
        plant(cluster, rank, case.when, SLOWLY.format(n=20))
    plant(cluster, 1, case.when, RAISE)
    with pytest.raises(ValueError, match="boom"):
        support.same(case.run(dnb, w.dist), 0)
    support.heal(cluster)
    w.check()
    support.work(cluster)


# Inside a command, after some of its messages have gone


def negative_powers(session, at):
    """Return x and y with ``x[1:] ** y[:-1]`` failing where it is computed for element ``at``."""
    exponents = np.ones(12, np.int64)
    exponents[at] = -1
    return dnb.arange(12), dnb.array(exponents, dist="block")


@pytest.mark.parametrize("at", range(11))
@pytest.mark.parametrize("dist", ["block", "cyclic"])
def test_a_kernel_fails_on_what_it_received(three, at, dist):
    x, y = negative_powers(three, at)
    y = y.redistribute(dist)
    keep = x + 1
    z = x[1:] ** y[:-1]
    after = z + x[1:]
    with pytest.raises(ValueError, match="negative integer powers"):
        after.to_numpy()
    assert reading(z) is reading(after) is dnb.LostArrayError
    np.testing.assert_array_equal(keep.to_numpy(), np.arange(1, 13))
    support.work(three)
    assert support.left_over(three) == 0


def failing_on(monkeypatch, owner, name, rank, when=lambda of: True):
    """Let a function of the engines raise when it is called on one rank, of whatever it is told."""
    real = getattr(owner, name)

    def fails(*args, **options):
        if threading.current_thread().name == f"distnb-engine-{rank}" and when(args[0]):
            raise MemoryError("no memory")
        return real(*args, **options)

    monkeypatch.setattr(owner, name, fails)


@pytest.mark.cases(24)
@pytest.mark.parametrize("rank", range(3))
@pytest.mark.parametrize(
    ("owner", "name", "case"),
    [
        (GroupMessages, "pack", "all to all"),
        (GroupMessages, "pack", "to all"),
        (Elementwise, "_pieces", "all to all"),
        (Elementwise, "targets", "assign to itself"),
        (Elementwise, "copy_back", "reverse"),
        (Elementwise, "piece", "halo"),
        (reductions._Values, "local", "sum"),
        (reductions._Values, "local", "sum of rows"),
        (reductions._Values, "result", "sum"),
        (reductions._Positions, "local", "argmin of rows"),
        (splitters.Splitters, "_sample", "sort"),
        (sorting.Sort, "_trade", "sort in place"),
        (sorting, "_cut", "sort of few columns"),
        (sorting, "_place", "sort of a view"),
        (creation, "adopt", "data"),
        (creation, "fill", "index"),
    ],
)
def test_out_of_memory_halfway(three, monkeypatch, owner, name, case, rank):
    w = World(three)
    case = CASES[case]
    with monkeypatch.context() as patch:
        failing_on(patch, owner, name, rank)
        found = case.run(dnb, w.dist)
        with pytest.raises(MemoryError, match="no memory"):
            three.flush()
    assert [reading(x) for x in support.arrays_in(found)] in ([], [dnb.LostArrayError])
    w.check(*case.writes)
    support.work(three)
    assert support.left_over(three) == 0


@pytest.mark.parametrize("rank", range(3))
@pytest.mark.parametrize(
    ("owner", "name"), [(GroupMessages, "pack"), (Elementwise, "targets"), (Elementwise, "_pieces")]
)
def test_one_of_several_fails_whose_messages_are_on_their_way(
    three, monkeypatch, owner, name, rank
):
    """Nobody takes them for those of the next: the others have what NumPy has."""
    arrays = [dnb.array(support.numbers(12 + k)) for k in range(5)]
    after = dnb.array(support.numbers(20))
    three.flush()
    calls = []
    with setting(flush_idle=60), monkeypatch.context() as patch:
        failing_on(patch, owner, name, rank, lambda _: calls.append(0) or len(calls) == 3)
        found = [a[1:-1] - a[2:] * a[:-2] for a in arrays]
        after[1:] += after[:-1]
        with pytest.raises(MemoryError, match="no memory"):
            three.flush()
    right = [x[1:-1] - x[2:] * x[:-2] for x in map(support.numbers, range(12, 17))]
    lost = [k for k, y in enumerate(found) if reading(y) is dnb.LostArrayError]
    assert len(lost) == 1
    for k, y in enumerate(found):
        if k not in lost:
            np.testing.assert_array_equal(y.to_numpy(), right[k])
    x = support.numbers(20)
    x[1:] += x[:-1].copy()
    np.testing.assert_array_equal(after.to_numpy(), x)
    support.work(three)
    assert support.left_over(three) == 0


def test_the_root_of_a_sort_fails(three, monkeypatch):
    w = World(three)
    with monkeypatch.context() as patch:
        failing_on(patch, splitters, "narrow", 0)
        found = dnb.sort(w.dist.row)
        with pytest.raises(MemoryError):
            three.flush()
    assert reading(found) is dnb.LostArrayError
    w.check()
    support.work(three)
    assert support.left_over(three) == 0


@pytest.mark.parametrize("name", ["sum", "argmax of rows", "sum of rows"])
def test_the_root_of_a_tree_fails_to_combine(three, monkeypatch, name):
    w = World(three)
    with monkeypatch.context() as patch:
        for kind in (reductions._Values, reductions._Positions):
            failing_on(patch, kind, "combine", 0)
        found = CASES[name].run(dnb, w.dist)
        with pytest.raises(MemoryError):
            three.flush()
    assert reading(found) is dnb.LostArrayError
    w.check()
    support.work(three)


# What is said


def test_the_note_names_operation_ranks_shapes_and_line(three):
    a = dnb.ones((7, 4))
    with planted(three, [0, 2], ADD, "raise OverflowError('too much')"):
        b = a + a[:, ::-1]  # this line
        with pytest.raises(OverflowError, match="too much") as raised:
            b.sum().item()
    note = "\n".join(raised.value.__notes__)
    assert "raised on ranks 0, 2 of 3 in 'add'\n" in note
    assert "local shapes: rank 0: [(3, 4), (3, 4)]; rank 2: [(2, 4), (2, 4)]\n" in note
    assert "recorded at test_failures.py line " in note
    assert "b = a + a[:, ::-1]  # this line\n" in note
    assert "Traceback (most recent call last)" in note
    assert "arrays that do not depend on it are unharmed" in note


@pytest.mark.parametrize(
    ("do", "kind", "text"),
    [
        ("raise KeyError('k')", KeyError, "k"),
        ("raise OSError(28, 'No space left')", OSError, "No space left"),
        ("b'\\xff'.decode()", UnicodeError, "invalid start byte"),
        ("raise np.exceptions.AxisError('axis 5')", np.exceptions.AxisError, "axis 5"),
        ("raise NotImplementedError", NotImplementedError, ""),
        ("raise SystemExit(3)", dnb.EngineError, "SystemExit: 3"),
        ("raise GeneratorExit", dnb.EngineError, "GeneratorExit"),
        ("raise Exception('plain')", Exception, "Exception: plain"),
        ("raise ExceptionGroup('some', [ValueError(1)])", ExceptionGroup, "some"),
        ("raise type('Sub', (ArithmeticError,), {})('x')", ArithmeticError, "x"),
        ("raise type('Two', (Exception,), {'__init__': lambda s, a, b: None})(1, 2)",
         Exception, "Two"),
        ("raise type('Mute', (Exception,), {'__str__': lambda s: 1 / 0})", Exception, "Mute"),
        ("exec('raise type(\"Bare\", (Exception,), {})(\"bare\")', {})", Exception, "bare"),
        ("raise type('Error', (ValueError,), {'__module__': None})('odd')", ValueError, "odd"),
    ],
)  # fmt: skip
def test_any_exception_comes_through(three, do, kind, text):
    a = dnb.ones(9)
    with planted(three, 1, ADD, do):
        b = a + 1
        with pytest.raises(kind) as raised:
            b.to_numpy()
    assert text in traceback.format_exception_only(raised.value)[0]
    assert reading(b) is dnb.LostArrayError
    support.work(three)


def test_a_failure_and_warnings_that_are_errors(three):
    zero = dnb.zeros(9)
    with planted(three, 1, ADD, RAISE):
        ratio = 1 / zero
        b = zero + 1
        with pytest.raises(ValueError, match="boom"):
            three.flush()
    assert reading(b) is dnb.LostArrayError
    assert np.isinf(ratio.to_numpy()).all()
    three.flush()


def test_a_warning_that_is_an_error_comes_once(three):
    ratio = 1 / dnb.zeros(9)
    with pytest.raises(RuntimeWarning, match="divide by zero encountered in divide"):
        ratio.to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isinf(ratio.to_numpy()).all()


# In which place of a batch, and when it is noticed


@pytest.mark.parametrize("place", [0, 7, 14])
def test_first_middle_and_last_command_of_a_batch(three, place):
    a = dnb.ones(9)
    three.flush()
    plant(three, 1, f"name == 'Apply' and c.ins[1] == {place}", RAISE)
    found = [a + k for k in range(15)]
    with pytest.raises(ValueError, match="boom"):
        three.flush()
    support.heal(three)
    for k, x in enumerate(found):
        if k == place:
            assert reading(x) is dnb.LostArrayError
        else:
            np.testing.assert_array_equal(x.to_numpy(), np.full(9, 1.0 + k))


def test_two_commands_of_a_batch_fail_on_two_ranks(three):
    a = dnb.arange(9.0)
    three.flush()
    plant(three, 0, "op == 'multiply'", "raise IndexError('second')")
    plant(three, 2, "op == 'add'", "raise ValueError('first')")
    good = a - 1
    b = a + 1
    c = a * 2
    of_b, of_c, of_both = b - 1, c[::-1] - 1, b - c
    with pytest.raises(ValueError, match="first") as raised:
        three.flush()
    assert "rank 2 of 3 in 'add'" in raised.value.__notes__[0]
    three.flush()
    support.heal(three)
    assert {reading(x) for x in (b, c, of_b, of_c, of_both)} == {dnb.LostArrayError}
    np.testing.assert_array_equal(good.to_numpy(), np.arange(-1.0, 8))


def test_it_is_raised_by_the_next_command_if_nothing_is_read(three):
    a = dnb.ones(9)
    with planted(three, 1, ADD, RAISE):
        b = a + 1
        three.send()
        while three.connection.sent:
            three._collect_oldest()
    with pytest.raises(ValueError, match="boom"):
        dnb.zeros(3)
    assert reading(b) is dnb.LostArrayError
    np.testing.assert_array_equal(dnb.zeros(3).to_numpy(), np.zeros(3))


def test_what_was_computed_from_it_before_the_client_knew(three):
    a = dnb.ones(9)
    with planted(three, 1, ADD, RAISE):
        b = a + 1
        three.send()
        c = b * 2
        three.send()
        d = c.sum()
        three._collect_oldest()
        with pytest.raises(ValueError, match="boom"):
            dnb.zeros(3)
        assert reading(d) is reading(c) is dnb.LostArrayError
        assert support.lost_on(three, d) == [True] * 3


def test_a_read_that_was_on_its_way(three):
    a = dnb.ones(9)
    operand, placed = a.operand, a.placed
    three.flush()
    support.everywhere(three, f"worker.store.bases[{operand.base}].lost = True")
    with pytest.raises(dnb.LostArrayError):
        three.gather(operand, placed, a.dtype)


def test_many_batches_on_their_way(cluster):
    a = dnb.zeros(9)
    cluster.flush()
    with planted(cluster, 2, "name == 'Apply' and c.ins[1] == 7", RAISE):
        good = dnb.zeros(9)
        with pytest.raises(ValueError, match="boom"):
            for k in range(60):
                a += k
                good += 1
                cluster.send()
            cluster.flush()
        cluster.flush()
    assert reading(a) is dnb.LostArrayError
    count = good.to_numpy()
    assert (count == count[0]).all()
    a[...] = good
    np.testing.assert_array_equal(a.to_numpy(), count)


def test_nothing_of_failed_reads_is_kept(three):
    a = dnb.ones(1000)
    with planted(three, 1, "name == 'Fetch'", RAISE), pytest.raises(ValueError, match="boom"):
        a.to_numpy()
    with planted(three, 1, ADD, RAISE), pytest.raises(ValueError, match="boom"):
        (a + 1).to_numpy()
    assert three.replies.values == {}


def test_nothing_is_kept_on_the_engines(three):
    keep = dnb.ones(9)
    three.flush()
    before = support.everywhere(three, "found = len(worker.store.bases)")
    for name in ("aligned", "sum", "data", "masked"):
        w = World(three)
        with planted(three, 1, CASES[name].when, RAISE):
            found = CASES[name].run(dnb, w.dist)
            with pytest.raises(ValueError, match="boom"):
                three.flush()
        del w, found
    three.flush()
    assert support.everywhere(three, "found = len(worker.store.bases)") == before
    np.testing.assert_array_equal(keep.to_numpy(), np.ones(9))


def test_a_failed_temporary_that_is_gone_already(three):
    a = dnb.ones(9)
    three.flush()
    plant(three, 1, ADD, RAISE)
    a + 1
    b = a * 2
    with pytest.raises(ValueError, match="boom"):
        three.flush()
    np.testing.assert_array_equal(b.to_numpy(), np.full(9, 2.0))


def test_a_failure_in_a_measured_window(three):
    a = dnb.ones(9)
    window = three.start_window()
    with planted(three, 1, ADD, RAISE):
        b = a + 1
        with pytest.raises(ValueError, match="boom"):
            b.to_numpy()
    report = three.end_window(window)
    assert any(row.op == "add" for row in report.ops)
    assert all(sum(e.spent) == e.now for e in report.engines)


# Lost arrays


def lose(session, x, rank=1):
    """Lose the content of an array."""
    with planted(session, rank, "name == 'Apply' and op == 'copy'", RAISE):
        x[...] = 7
        with pytest.raises(ValueError, match="boom"):
            session.flush()


def test_all_uses_of_a_lost_array_raise(three):
    x, good = dnb.arange(9.0), dnb.ones(9)
    view = x[2:5]
    lose(three, x)
    uses = [
        *(x.to_numpy, x.sum, x.copy, x.max, view.to_numpy, view.sum, lambda: x[0]),
        *(lambda: x + 1, lambda: good + x, lambda: np.add(good[:5], 1, out=x[:5]), x.tolist),
        *(lambda: x.redistribute("cyclic"), lambda: x.astype(int), lambda: np.asarray(x)),
        *(lambda: good.__setitem__(..., x), lambda: x.__setitem__(slice(2), 1), x.argmin),
        *(lambda: x.__iadd__(1), lambda: np.where(x, 1, 2), lambda: x.mean(), lambda: x @ good),
    ]  # fmt: skip
    for use in uses:
        with pytest.raises(dnb.LostArrayError, match="got no content"):
            use()
    assert "content lost" in repr(x)
    assert "content lost" not in repr(good)
    assert (x.shape, x.dtype, x.layout.owner(8)) == ((9,), np.dtype(float), 2)
    np.testing.assert_array_equal(good.to_numpy(), np.ones(9))
    assert three.connection.ready


def test_a_lost_array_prints_what_it_is(three):
    powers = dnb.arange(9) ** dnb.arange(-3, 6)
    total = powers.sum()
    with pytest.raises(ValueError, match="negative integer powers"):
        str(powers)
    for x in (powers, total):
        assert str(x) == f"{x}" == repr(x)
        assert "content lost" in str(x)
    with pytest.raises(dnb.LostArrayError):
        f"{total:.1f}"


def test_a_mask_does_not_heal(three):
    x, mask = dnb.ones(9), dnb.arange(9) > 4
    lose(three, x)
    with pytest.raises(dnb.LostArrayError):
        x[mask] = 1
    with pytest.raises(dnb.LostArrayError):
        np.add(dnb.ones(9), 1, out=x, where=mask)
    with pytest.raises(dnb.LostArrayError):
        np.copyto(x, 1.0, where=mask)
    assert reading(x) is dnb.LostArrayError


def test_a_mask_does_not_heal_on_the_engines(three):
    x, mask = dnb.ones(9), dnb.arange(9) > 4
    three.flush()
    plant(three, 1, "name == 'Apply' and op == 'copy'", RAISE)
    x[...] = 7
    three.send()
    x[mask] = 1  # recorded before it is known that x is lost
    with pytest.raises(ValueError, match="boom"):
        three.flush()
    assert reading(x) is dnb.LostArrayError
    assert support.lost_on(three, x) == [True] * 3


@pytest.mark.parametrize(
    "fill",
    [
        lambda x: x.fill(3.0),
        lambda x: x.__setitem__(..., 3),
        lambda x: x.__setitem__(slice(None), dnb.full(9, 3.0, dist="cyclic")),
        lambda x: np.add(dnb.ones(9), 2, out=x),
        lambda x: np.sum(dnb.ones((3, 9)), axis=0, out=x),
        lambda x: np.copyto(x, np.full(9, 3.0)),
    ],
)
def test_writing_all_of_a_lost_array_heals_it(three, fill):
    x = dnb.ones(9)
    view = x[::2]
    lose(three, x)
    fill(x)
    np.testing.assert_array_equal(x.to_numpy(), np.full(9, 3.0))
    np.testing.assert_array_equal(view.to_numpy(), np.full(5, 3.0))
    x += 1
    assert x.sum().item() == 36
    assert support.lost_on(three, x) == [False] * 3


def test_a_failure_while_healing(three):
    x = dnb.ones(9)
    lose(three, x)
    lose(three, x, rank=2)
    assert reading(x) is dnb.LostArrayError
    x[...] = 4
    assert x.sum().item() == 36


def test_an_old_loss_does_not_undo_healing(three):
    x = dnb.ones(9)
    with planted(three, 1, "name == 'Apply' and op == 'copy'", RAISE):
        x[...] = 7
        three.send()
        x += 1  # depends on it
        three.send()
        three._collect_oldest()
        with pytest.raises(ValueError, match="boom"):
            dnb.zeros(3)
        x[...] = 5
    assert x.sum().item() == 45


def test_out_of_memory_for_an_array_and_later_enough(three, monkeypatch):
    worker = three.transport.workers[1]
    three.flush()
    with monkeypatch.context() as patch:
        patch.setattr(worker.store.memory, "allocate", no_memory)
        x = dnb.zeros(9)
        with pytest.raises(MemoryError, match="not enough"):
            three.flush()
    assert reading(x) is dnb.LostArrayError
    x[...] = dnb.arange(9.0, dist="cyclic")
    np.testing.assert_array_equal(x.to_numpy(), np.arange(9.0))


def test_out_of_memory_again_while_healing(three, monkeypatch):
    worker = three.transport.workers[1]
    three.flush()
    with monkeypatch.context() as patch:
        patch.setattr(worker.store.memory, "allocate", no_memory)
        x = dnb.zeros(9)
        with pytest.raises(MemoryError):
            three.flush()
        x[...] = dnb.arange(9.0, dist="cyclic")
        with pytest.raises(MemoryError):
            three.flush()
    assert reading(x) is dnb.LostArrayError
    support.work(three)


@pytest.mark.parametrize("rank", range(3))
@pytest.mark.parametrize("name", ["sum", "argmin of rows", "aligned", "to all", "all to all"])
def test_out_of_memory_for_a_result(three, monkeypatch, name, rank):
    w = World(three)
    worker = three.transport.workers[rank]
    with monkeypatch.context() as patch:
        patch.setattr(worker.store.memory, "allocate", no_memory)
        found = CASES[name].run(dnb, w.dist)
        with pytest.raises(MemoryError, match="not enough"):
            three.flush()
    assert reading(found) is dnb.LostArrayError
    w.check()
    support.work(three)
    assert support.left_over(three) == 0


def no_memory(*args):
    raise MemoryError("not enough")


def test_what_follows_from_a_loss_has_its_reason(three):
    x = dnb.ones(9)
    plant(three, 1, "op == 'add'", RAISE)
    x += 1
    three.send()  # engines are asked for more before they have said so
    y = x * 2
    three.send()
    z = y + y
    with pytest.raises(ValueError, match="boom"):
        three.flush()
    for lost in (x, y, z):
        with pytest.raises(dnb.LostArrayError, match=r"'add' failed with ValueError, recorded at"):
            lost.to_numpy()
