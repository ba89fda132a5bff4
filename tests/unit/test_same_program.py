"""What tells whether ranks of SPMD run the same program; tests/mpi has programs that do not."""

from functools import reduce
from operator import or_

from hypothesis import given
from hypothesis import strategies as st

from distnb.engines.worker.plan_cache import NormalisedBatch
from distnb.engines.worker.same_program import differ, digits
from distnb.geometry.layout import make_layout
from distnb.geometry.views import View
from distnb.wire.encoding import encode, unpack
from distnb.wire.messages import Batch
from distnb.wire.protocol import Create, Free, Operand, Reduce

NUMBERS = st.integers(0, 2**32 - 1)


SAME = st.builds(lambda n, k: [n] * k, NUMBERS, st.integers(1, 5))


@given(st.lists(NUMBERS, min_size=1, max_size=5) | SAME)
def test_a_union_tells_whether_digests_differ(numbers):
    union = reduce(or_, map(digits, numbers))
    assert differ(union) == (len(set(numbers)) > 1)


def digest(*commands):
    batch = NormalisedBatch(unpack(encode(Batch(1, 0, commands))).normalised)
    return batch.digest, batch.described()


def made(base, n, site=0):
    return Create(base, (n,), "<f8", make_layout((n,), 3), ("empty",), site)


def test_a_digest_is_of_the_commands_wherever_deletions_and_lines_are():
    first, second = made(10, 8, site=3), made(11, 9, site=4)
    found = digest(first, second)
    assert found == digest(Free((7,)), first, Free((8, 9)), second)
    assert found == digest(made(20, 8), Free((7,)), made(30, 9))  # other handles
    assert found[1] == ("create (8,)", "create (9,)")
    for other in ((second, first), (first,), (first, made(11, 10)), (first, second, second)):
        assert digest(*other) != found


def test_what_two_commands_do_to_the_same_array_is_not_what_they_do_to_two():
    def reduced(*bases):
        views = [Operand(base, View.whole((8,))) for base in bases]
        return digest(
            made(1, 8),
            made(2, 8),
            *(Reduce("sum", 5 + k, x, (0,), "<f8", 0) for k, x in enumerate(views)),
        )

    assert reduced(1, 1) != reduced(1, 2)
    assert reduced(1, 1)[1] == reduced(1, 2)[1]  # which is not what a person can tell
