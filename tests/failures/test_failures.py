"""A failure on one engine of three, in every kind of command: nothing hangs, nothing is wrong."""

import itertools
import time
import warnings

import numpy as np
import pytest

import distnb as dnb
from distnb.client import session as sessions
from tests.failures import support
from tests.failures.support import CASES, ERRORS, SLOWLY, Case, World, plant, planted, reading

pytestmark = pytest.mark.timeout(30)

ADD = "name == 'Apply' and op == 'add'"
ERROR = itertools.cycle(ERRORS)
RAISE = "raise ValueError('boom')"


@pytest.mark.parametrize("rank", range(3))
@pytest.mark.parametrize("name", CASES)
def test_one_rank_fails(three, name, rank):
    do, kind, text = ERRORS[(list(CASES).index(name) + rank) % len(ERRORS)]
    support.check_failure(three, CASES[name], rank, do, kind, text)


@pytest.mark.parametrize("name", CASES)
def test_one_mpi_rank_fails(cluster, name):
    at = list(CASES).index(name)
    do, kind, text = ERRORS[at % len(ERRORS)]
    support.check_failure(cluster, CASES[name], at % 3, do, kind, text)


@pytest.mark.parametrize("ranks", [(0, 1), (0, 2), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("name", ["aligned", "halo", "all to all", "sum", "argmin of rows", "to all"])
def test_several_ranks_fail(three, name, ranks):
    support.check_failure(three, CASES[name], ranks, RAISE, ValueError, "boom")


@pytest.mark.parametrize("name", ["halo", "all to all", "sum", "argmax of rows", "read", "data"])
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
