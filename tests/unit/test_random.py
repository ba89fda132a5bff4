"""Random numbers depend on the seed, the stream and the global index, and are random enough."""

import threading
from itertools import islice, pairwise, product
from math import prod, sqrt
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from distnb.geometry.axes import BlockCyclic
from distnb.geometry.slices import Section, interval
from distnb.ops import philox as random
from distnb.ops.filling import drawer
from distnb.ops.philox import (
    DISTRIBUTIONS,
    TILE,
    fractions,
    runs_of,
    words_of,
)
from distnb.ops.variates import BLOCK, Numbers, one
from distnb.testing import axis_kinds, indices_of
from tests.tiers import examples

ONES = 2**64 - 1
#: Every distribution, with arguments that exercise its arithmetic, and a dtype.
CASES = [
    ("uniform", (0.0, 1.0), "f8"),
    ("uniform", (-3.0, 0.1), "f8"),
    ("uniform", (0.0, 1.0), "f4"),
    ("normal", (0.0, 1.0), "f8"),
    ("normal", (1.5, 0.3), "f4"),
    ("exponential", (2.0,), "f8"),
    ("exponential", (1.0,), "f4"),
    ("integers", (-5, 12), "i4"),
    ("integers", (-(2**62), 2**63), "i8"),
    ("integers", (0, 2**64), "u8"),
    ("integers", (0, 2), "?"),
    ("gamma", (0.4, 2.0), "f8"),
    ("standard_gamma", (3.0,), "f4"),
    ("poisson", (30.0,), "i8"),
    ("hypergeometric", (20, 30, 12), "i8"),  # NumPy draws halves of words
]
all_cases = pytest.mark.parametrize(("kind", "args", "dtype"), CASES)


def draw(kind, args, dtype, runs, n, seed=7, stream=3):
    out = np.empty(n, dtype)
    drawer(kind).fill(kind, seed, stream, args, runs, out)
    return out


def numbers(n, kind="uniform", args=(0.0, 1.0), dtype="f8", seed=7, stream=3):
    return draw(kind, args, dtype, [(0, n)], n, seed, stream)


# Philox


def philox(counter, key):
    """Encrypt one counter: the paper's definition, in Python's integers."""
    (c0, c1, c2, c3), (k0, k1) = counter, key
    for _ in range(10):
        p0, p1 = 0xD2E7470EE14C6C93 * c0, 0xCA5A826395121157 * c2
        c0, c1, c2, c3 = p1 >> 64 ^ c1 ^ k0, p1 & ONES, p0 >> 64 ^ c3 ^ k1, p0 & ONES
        k0, k1 = k0 + 0x9E3779B97F4A7C15 & ONES, k1 + 0xBB67AE8584CAA73B & ONES
    return c0, c1, c2, c3


def word(index, seed, stream, row):
    """Return a word of an index: a counter has four, and is counted before it is encrypted."""
    return philox((index // 4 + 1, stream, 0, 0), (seed, row))[index % 4]


# The vectors that the authors publish with their code (Random123, kat_vectors, philox4x64 10).
KNOWN = [
    (
        "0 0 0 0",
        "0 0",
        "16554d9eca36314c db20fe9d672d0fdc d7e772cee186176b 7e68b68aec7ba23b",
    ),
    (
        " ".join(["ffffffffffffffff"] * 4),
        " ".join(["ffffffffffffffff"] * 2),
        "87b092c3013fe90b 438c3c67be8d0224 9cc7d7c69cd777b6 a09caebf594f0ba0",
    ),
    (
        "243f6a8885a308d3 13198a2e03707344 a4093822299f31d0 082efa98ec4e6c89",
        "452821e638d01377 be5466cf34e90c6c",
        "a528f45403e61d95 38c72dbd566e9788 a5a1610e72fd18b5 57bd43b5e52b7fe6",
    ),
]


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN)
def test_known_answers(counter, key, answer):
    c, k, a = (tuple(int(x, 16) for x in text.split()) for text in (counter, key, answer))
    assert philox(c, k) == a


FAR = st.integers(0, ONES) | st.integers(0, 2**20)


@given(st.lists(FAR, min_size=1), st.integers(0, ONES), st.integers(0, ONES))
def test_words_are_those_of_the_definition(indices, seed, stream):
    rows = words_of(np.array(indices, np.uint64), seed, stream).tolist()
    assert rows == [[word(i, seed, stream, row) for i in indices] for row in range(2)]
    streams = np.full(len(indices), stream, np.uint64)
    assert words_of(np.array(indices, np.uint64), seed, streams, 1).tolist() == rows[:1]


@given(st.integers(0, ONES - 50), st.integers(0, ONES), st.integers(0, ONES), st.integers(1, 50))
def test_words_of_a_run(start, seed, stream, n):
    rows = words_of(np.arange(start, start + n, dtype=np.uint64), seed, stream).tolist()
    assert rows == [[word(start + i, seed, stream, row) for i in range(n)] for row in range(2)]


# One number for each index, however they are computed


@st.composite
def partitions(draw, n_max=3 * TILE):
    """Draw runs that partition [0, n), in any order: some long, many short, some empty."""
    n = draw(st.integers(0, n_max))
    step = draw(st.sampled_from((1, 2, 17, 1000, TILE, n_max)))
    offset = draw(st.integers(0, step - 1))
    cuts = {0, n, *range(offset, n, step), *draw(st.lists(st.integers(0, n), max_size=5))}
    ordered = sorted([*cuts, *draw(st.lists(st.sampled_from(sorted(cuts)), max_size=3))])
    runs = list(pairwise(ordered))
    draw(st.randoms(use_true_random=False)).shuffle(runs)
    return n, runs


@all_cases
def test_any_partition_gives_the_same_numbers(kind, args, dtype):
    whole = numbers(3 * TILE, kind, args, dtype)

    @examples(25)
    @given(partitions())
    def check(partition):
        n, runs = partition
        order = np.concatenate([np.arange(a, b) for a, b in runs]) if runs else np.arange(0)
        found = draw(kind, args, dtype, iter(runs), n)
        np.testing.assert_array_equal(found, whole[order], strict=True)

    check()


@all_cases
@pytest.mark.parametrize("tile", [1, 7, 100, 65536])
def test_the_size_of_tiles_does_not_matter(kind, args, dtype, tile, monkeypatch):
    n = 1000 if tile < 100 else 20000
    expected = numbers(n, kind, args, dtype)
    monkeypatch.setattr(random, "TILE", tile)
    np.testing.assert_array_equal(numbers(n, kind, args, dtype), expected, strict=True)


@pytest.mark.parametrize("start", [2**32 - 3, 2**40, 2**63 - 11])
def test_indices_beyond_32_bits(start):
    found = draw("integers", (0, 2**64), "u8", [(start, start + 10)], 10)
    assert found.tolist() == [word(i, 7, 3, 0) for i in range(start, start + 10)]


# Runs


@st.composite
def parts(draw):
    """Draw the shape of an array, and one coordinate's sections of each axis."""
    shape, sections = [], []
    for _ in range(draw(st.integers(0, 4))):
        n, p = draw(st.integers(0, 9)), draw(st.integers(1, 3))
        axis = draw(axis_kinds(n, p))
        shape.append(n)
        sections.append(axis.sections(n, p, draw(st.integers(0, p - 1))))
    return tuple(shape), tuple(sections)


def flat_indices(shape, sections):
    """Enumerate the indices of a part: by NumPy, on an array of all indices."""
    every = np.arange(prod(shape)).reshape(shape)
    owned = [np.array(indices_of(s), int) for s in sections]
    return every[np.ix_(*owned)].reshape(-1) if shape else every.reshape(-1)


@given(parts())
def test_runs_cover_a_part_in_its_order(part):
    runs = list(runs_of(*part))
    assert all(a < b for a, b in runs)
    assert [i for a, b in runs for i in range(a, b)] == flat_indices(*part).tolist()


@given(parts(), st.sampled_from(CASES), st.booleans())
def test_any_layout_gives_the_same_numbers(part, case, as_tuples):
    shape, _ = part
    kind, args, dtype = case
    expected = numbers(prod(shape), kind, args, dtype)[flat_indices(*part)]
    runs = runs_of(*part)
    found = draw(kind, args, dtype, iter(runs) if as_tuples else runs, expected.size)
    np.testing.assert_array_equal(found, expected, strict=True)


@given(st.integers(1, 60), st.integers(1, 5), st.integers(1, 7), st.integers(1, 12))
def test_the_parts_of_engines_make_the_whole(n, p, k, columns):
    whole = numbers(n * columns, "normal").reshape(n, columns)
    for c in range(p):
        rows = BlockCyclic(k).sections(n, p, c)
        runs = runs_of((n, columns), (rows, interval(0, columns)))
        local = draw("normal", (0.0, 1.0), "f8", runs, BlockCyclic(k).size(n, p, c) * columns)
        np.testing.assert_array_equal(local.reshape(-1, columns), whole[indices_of(rows)])


WHOLE = interval(0, 5)


@pytest.mark.parametrize(
    ("shape", "sections", "runs"),
    [
        ((), (), [(0, 1)]),
        ((5,), (WHOLE,), [(0, 5)]),
        ((4, 5), (interval(1, 3), WHOLE), [(5, 15)]),
        ((4, 5), (interval(0, 2), interval(1, 3)), [(1, 3), (6, 8)]),
        ((2, 5, 5), (interval(0, 2), WHOLE, WHOLE), [(0, 50)]),
        ((2, 4, 5), (interval(0, 2), interval(0, 1), WHOLE), [(0, 5), (20, 25)]),
        ((7,), ((Section(1, 2, 4, 2),),), [(1, 3), (5, 7)]),
        ((2, 5), (interval(0, 2), BlockCyclic(2).sections(5, 1, 0)), [(0, 10)]),
        ((2, 0), (interval(0, 2), ()), []),
        ((0, 5), ((), WHOLE), []),
        ((4, 5), ((), WHOLE), []),
    ],
)
def test_runs_are_as_long_as_whole_axes_allow(shape, sections, runs):
    assert list(runs_of(shape, sections)) == runs


def test_runs_are_not_stored():
    n = 2**40
    runs = runs_of((n, 2), ((Section(1, 1, 2, n // 2),), interval(1, 2)))
    assert list(islice(runs, 3)) == [(3, 4), (7, 8), (11, 12)]


# Edges


@all_cases
def test_empty_and_single(kind, args, dtype):
    assert draw(kind, args, dtype, [], 0).size == 0
    assert draw(kind, args, dtype, [(4, 4), (9, 9)], 0).size == 0
    assert draw(kind, args, dtype, [(5, 6)], 1)[0] == numbers(10, kind, args, dtype)[5]


@pytest.mark.parametrize("runs", [[], [(0, 9)], [(0, 11)], [(0, 10), (0, 2 * TILE)]])
def test_runs_that_do_not_fit_are_an_error(runs):
    for kind, args in (("uniform", (0.0, 1.0)), ("gamma", (2.0, 1.0))):
        with pytest.raises(ValueError, match="random numbers: got"):
            draw(kind, args, "f8", runs, 10)


def extreme(word, kind, args, dtype):
    """Return the number that a distribution makes of four times one word of 64 bits."""
    out = np.empty(1, dtype)
    words = np.full((2, 1), word, np.uint64)
    DISTRIBUTIONS[kind](words if kind == "integers" else fractions(words), out, *args)
    return out[0]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "g"])
def test_extremes_of_floats(dtype):
    bits = min(53, np.finfo(dtype).nmant + 1)
    assert extreme(0, "uniform", (0.0, 1.0), dtype) == 0
    assert extreme(ONES, "uniform", (0.0, 1.0), dtype) == 1 - 2.0**-bits
    assert extreme(0, "uniform", (2.0, 3.0), dtype) == 2


#: How many integers: any number, mostly next to where the arithmetic changes.
SPANS = st.one_of(
    st.integers(1, 2**64),
    *(st.integers(max(1, n - 2), min(n + 2, 2**64)) for n in (1, 2**32, 2**33, 2**64)),
)


@given(st.integers(0, ONES), st.integers(0, ONES), SPANS, st.data())
@example(ONES, 0, 2**32, None)
@example(0xFFFFFFFF_00000000, ONES, 2**32 + 1, None)
def test_integers_are_the_product_rounded_down(first, second, n, data):
    lowest, highest = max(-(2**63), -n), 2**63 - n if n <= 2**63 else 0
    low = data.draw(st.integers(lowest, highest)) if data else 0
    dtype = "u8" if low >= 0 else "i8"
    fraction, bits = (first, 64) if n <= 2**32 else (first << 64 | second, 128)
    expected = np.array([low + (fraction * n >> bits)]).astype(dtype)
    out = np.empty(1, dtype)
    DISTRIBUTIONS["integers"](np.array([[first], [second]], np.uint64), out, low, low + n)
    assert out[0] == expected[0]


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_integers_span_their_dtype(dtype):
    info = np.iinfo(dtype)
    low, high = int(info.min), int(info.max) + 1
    assert extreme(0, "integers", (low, high), dtype) == info.min
    assert extreme(ONES, "integers", (low, high), dtype) == info.max
    assert extreme(ONES, "integers", (high - 1, high), dtype) == info.max
    found = numbers(4000, "integers", (low, high), dtype).astype(float)
    assert abs(found.mean() - (low + high) / 2) < (high - low) / 12


def test_integers_in_a_range():
    found = numbers(5000, "integers", (-3, 4), "i8")
    assert set(found.tolist()) == set(range(-3, 4))
    booleans = numbers(5000, "integers", (0, 2), "?")
    assert 2300 < booleans.sum() < 2700


@pytest.mark.parametrize(("dtype", "bits"), [("f2", 11), ("f4", 24), ("f8", 53)])
def test_uniform_numbers_are_the_first_bits(dtype, bits):
    first, _ = words_of(np.arange(50, dtype=np.uint64), 7, 3).tolist()
    expected = [(w >> 64 - bits) / 2**bits for w in first]
    assert numbers(50, "uniform", (0.0, 1.0), dtype).tolist() == expected


@pytest.mark.parametrize(("kind", "args"), [("standard_normal", ()), ("beta", (2.0, 3.0))])
def test_numbers_of_a_block_are_numpys(kind, args):
    """A block has a counter to itself, and NumPy draws its numbers in order."""
    for block in (0, 1, 5, 2**40):
        counter, key = (np.array(x, np.uint64) for x in ((0, 3, block, 0), (7, 2)))
        bits = np.random.Philox(counter=counter, key=key)
        expected = getattr(np.random.Generator(bits), kind)(*args, BLOCK)
        out = np.empty(BLOCK)
        Numbers(kind, 7, 3, args).run(block * BLOCK, out)
        np.testing.assert_array_equal(out, expected)


def test_no_number_is_drawn_twice(monkeypatch):
    """Of a part's runs in order, each block's numbers before and between them are drawn once."""
    drawn = []
    method = Numbers._next
    monkeypatch.setattr(Numbers, "_next", lambda *a: drawn.append(a[1:]) or method(*a))
    draw("normal", (0.0, 1.0), "f8", [(10, 3 * BLOCK + 7)], 3 * BLOCK - 3)
    assert [(b, p, n) for b, p, n in drawn] == [
        (0, 10, BLOCK - 10),
        (1, 0, BLOCK),
        (2, 0, BLOCK),
        (3, 0, 7),
    ]


def test_numbers_of_earlier_versions():
    """A notebook's numbers should not change when distnb does: break this only on purpose."""
    np.testing.assert_array_equal(numbers(3), UNIFORM)
    np.testing.assert_array_equal(numbers(3, "integers", (0, 1000), "i8"), INTEGERS)
    np.testing.assert_array_equal(numbers(3, "normal"), NORMAL)
    np.testing.assert_array_equal(numbers(3, "exponential", (1.0,)), EXPONENTIAL)


UNIFORM = [0.43900223090044976, 0.1656586882435429, 0.98230470040924]
INTEGERS = [439, 165, 982]
NORMAL = [1.7737776080455723, 0.553799545900201, 1.1773297896620005]
EXPONENTIAL = [0.10240863058543945, 0.15512598463274635, 1.209619838032379]


# Statistics: of fixed numbers, so that they cannot fail by chance. Bounds are at about p = 1e-5.

N = 10**6
SIGMAS = 4.5


def kolmogorov(x, cdf):
    """Return sqrt(n) times the greatest distance of the empirical distribution from ``cdf``."""
    steps = np.arange(x.size + 1) / x.size
    at = cdf(np.sort(x))
    return sqrt(x.size) * max((steps[1:] - at).max(), (at - steps[:-1]).max())


def normal_cdf(x):
    return np.fromiter(map(NormalDist().cdf, x.tolist()), float, x.size)


CONTINUOUS = [  # arguments, mean, variance, fourth central moment, distribution function
    ("uniform", (0.0, 1.0), 1 / 2, 1 / 12, 1 / 80, lambda x: x),
    ("uniform", (-2.0, 4.0), 1.0, 3.0, 16.2, lambda x: (x + 2) / 6),
    ("normal", (0.0, 1.0), 0.0, 1.0, 3.0, normal_cdf),
    ("normal", (5.0, 2.0), 5.0, 4.0, 48.0, lambda x: normal_cdf((x - 5) / 2)),
    ("exponential", (0.5,), 0.5, 0.25, 9 / 16, lambda x: 1 - np.exp(-2 * x)),
]


@pytest.mark.parametrize(("kind", "args", "mean", "variance", "fourth", "cdf"), CONTINUOUS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_moments_and_distribution(kind, args, mean, variance, fourth, cdf, dtype):
    x = numbers(N, kind, args, dtype)
    assert x.dtype == dtype
    x = x.astype(float)
    assert abs(x.mean() - mean) < SIGMAS * sqrt(variance / N)
    assert abs(((x - mean) ** 2).mean() - variance) < SIGMAS * sqrt((fourth - variance**2) / N)
    assert kolmogorov(x, cdf) < 2.47


@pytest.mark.parametrize(("low", "high"), [(0, 2), (-3, 4), (0, 1000), (10**12, 10**12 + 100)])
def test_integers_are_equally_frequent(low, high):
    counts = np.bincount(numbers(N, "integers", (low, high), "i8") - low)
    n = high - low
    assert counts.size == n
    chi2 = ((counts - N / n) ** 2).sum() * n / N
    assert abs(chi2 - (n - 1)) < SIGMAS * sqrt(2 * (n - 1)) + 10  # its tail is not quite normal


def test_integers_of_a_wide_range_have_no_favourites():
    """With 64 bits a multiple of 3 would come up every other time."""
    found = numbers(N, "integers", (0, 3 * 2**62), "u8")
    counts = np.bincount(found % 3)
    np.testing.assert_allclose(counts / N, 1 / 3, atol=SIGMAS * sqrt(2 / 9 / N))


def test_every_bit_is_fair():
    rows = words_of(np.arange(N // 4, dtype=np.uint64), 7, 3)
    for row, bit in product(rows, range(64)):
        ones = int((row >> np.uint64(bit) & np.uint64(1)).sum())
        assert abs(ones - N // 8) < SIGMAS * sqrt(N / 16)


def correlation(x, y):
    return abs(np.corrcoef(x, y)[0, 1]) * sqrt(x.size)


@pytest.mark.parametrize("kind", ["uniform", "normal"])
@pytest.mark.parametrize("lag", [1, 2, 3, 64, 1024, TILE, 65536])
def test_indices_are_not_correlated(kind, lag):
    x = numbers(N, kind)
    assert correlation(x[:-lag], x[lag:]) < SIGMAS
    assert correlation(x[:-lag] ** 2, x[lag:] ** 2) < SIGMAS


@pytest.mark.parametrize("kind", ["uniform", "normal"])
@pytest.mark.parametrize(
    ("seed", "stream"),
    [(7, 2), (7, 4), (8, 3), (6, 3), (3, 7), (7 + 2**32, 3), (7, 3 + 2**32), (7 ^ 2**63, 3)],
)
def test_streams_and_seeds_are_not_correlated(kind, seed, stream):
    x, y = numbers(N, kind), numbers(N, kind, seed=seed, stream=stream)
    assert correlation(x, y) < SIGMAS
    assert correlation(x[1:], y[:-1]) < SIGMAS
    assert correlation(x[:-1], y[1:]) < SIGMAS


def test_the_two_rows_of_words_are_not_correlated():
    a, b = words_of(np.arange(N, dtype=np.uint64), 7, 3).astype(float)
    assert correlation(a, b) < SIGMAS


# All of an array, and one number


@all_cases
def test_whole_arrays_are_those_of_their_indices(kind, args, dtype):
    for stream, n in enumerate((1, 3, TILE - 1, TILE, TILE + 1, 2 * TILE + 3)):
        out = np.empty(n, dtype)
        drawer(kind).fill_all(kind, 7, stream, args, out)
        index = [(i, i + 1) for i in range(0, n, 2)]  # each by itself
        alone = draw(kind, args, dtype, index, len(index), stream=stream)
        assert (out == numbers(n, kind, args, dtype, stream=stream)).all(), n
        assert (out[::2] == alone).all(), n


@pytest.mark.parametrize(
    ("kind", "args", "dtype"),
    [case for case in CASES if case[2] in ("f8", "i8") or case[0] == "integers"],
)
def test_single_numbers_are_the_elements_of_arrays(kind, args, dtype):
    for stream in (*range(300), 2**40 + 5):
        found = drawer(kind).one(kind, 7, stream, args)
        assert found == numbers(1, kind, args, dtype, stream=stream)[0]
        assert type(found) is (float if dtype == "f8" else int)


def test_generators_of_threads_do_not_meet():
    """A draw sets NumPy's generator, and then asks it: each thread has one of its own."""
    found = {}

    def numbers_of(seed):
        return [one("normal", seed, stream, (0.0, 1.0)) for stream in range(2000)]

    def draw(seed):
        found[seed] = numbers_of(seed)

    threads = [threading.Thread(target=draw, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for seed in range(4):
        assert found[seed] == numbers_of(seed)
