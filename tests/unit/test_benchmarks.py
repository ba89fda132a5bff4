"""What the benchmarks say about their results, and that every peer has code or a reason."""

import json
import re

import numpy as np
import pytest
from matplotlib.figure import Figure

from benchmarks import peers, picture, report, run
from benchmarks.peers import Peer
from benchmarks.workloads import CASES, HOLDOUT, Case


def results(**seconds):
    row = {
        name.replace("_", "+"): {"seconds": t, "times": [t], "runs": 1}
        for name, t in seconds.items()
    }
    case = {"name": "W1", "what": "sweep", "shape": [8, 9], "steps": 2, "peers": row}
    return {"cases": [case], "micro": [], "planning": [], "scale": "full"}


def test_ratios_and_goals():
    found = results(NumPy=0.06, distnb=0.012, mpi4py_NumPy=0.012, mpi4py_Numba=0.011)
    row = found["cases"][0]
    assert report.ratio(row, "distnb") == 5.0
    assert report.ratio(row, "distnb", "dask threads") is None
    goals = {goal: met for _, goal, _, met in report.goals(found)}
    assert goals == {"6 x NumPy": False, "1 x mpi4py+NumPy": True, "0.87 x mpi4py+Numba": True}


def test_tables_show_the_best_and_the_reasons():
    found = results(NumPy=0.06, distnb=0.0125)
    found["cases"][0]["peers"] |= {"numexpr": {"without": "no loops"}}
    found["cases"][0]["peers"] |= {"Numba": {"error": "ValueError: x", "times": [1.0]}}
    assert "| W1 | sweep | 8 x 9 | 60.0 ms | **12.5 ms** | - | failed |" in report.times(found)
    assert "| W1 | 4.80 | - | - |" in report.speeds(found)
    assert "| numexpr | all | no loops |" in report.reasons(found)
    assert "| Numba | all | ValueError: x |" in report.reasons(found)


def test_first_runs_of_turns_stand_apart():
    found = results(NumPy=0.005, distnb=0.004)
    assert "W1" not in report.rested(found)  # a run in each turn
    ours = {"times": [0.005], "runs": 2, "rested": 0.006, "seconds": 0.004}
    found["cases"][0]["peers"] |= {"distnb": ours, "Numba": {"error": "x", "rested": 1.0}}
    assert "| W1 | - | 6.00 ms | - |" in report.rested(found)
    assert "**4.00 ms**" in report.times(found)


def test_planning_is_a_table_of_engines_and_blocks():
    found = results(NumPy=0.06, distnb=0.012)
    common = {"dist": "cyclic", "ndim": 1, "client_us": 1.0}
    found["planning"] = [
        {"operation": "shifted", "engines": 4, "blocks": 9, "engine_us": 150.0, **common},
        {"operation": "shifted", "engines": 4096, "blocks": 9, "engine_us": 250.0, **common},
        {"operation": "aligned", "engines": 4, "blocks": 9, "engine_us": 300.0, **common},
    ]
    text = report.planning(found)
    assert "| an engine plans | 4 engines, 9 blocks | 4,096 engines, 9 blocks |" in text
    assert "| shifted, 1-D cyclic | 150 us | 250 us |" in text
    assert "| aligned, 1-D cyclic | 300 us | - |" in text
    goals = {name: (got, met) for name, _, got, met in report.goals(found)}
    assert goals["plan shifted"] == ("250 us at worst", False)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(123.4, "123 s"), (1.5, "1.50 s"), (0.0123, "12.3 ms"), (4e-6, "4.00 us"), (5e-9, "5.00 ns")],
)
def test_times_have_three_digits(seconds, text):
    assert report.span(seconds) == text


class Doubles(Peer):
    """Runs plain functions, right or wrong."""

    def __init__(self, code):
        super().__init__(1, "small")
        self.codes = {"X": code}


def test_a_wrong_result_is_an_error_and_in_place_work_starts_afresh():
    def double(xp, a, steps):
        for _ in range(steps):
            a += a
        return a

    def wrong(a, steps):
        return double(np, a, steps) + 1e-3

    def broken(a, steps):
        raise OSError("no")

    case = Case("X", "doubling", double, lambda n: (np.ones(n),), (8, 2), (4, 2), (0,))
    everyone = {"right": Doubles(lambda a, steps: double(np, a, steps))}
    everyone |= {"wrong": Doubles(wrong), "broken": Doubles(broken), "absent": "not installed"}
    row = run.contest(case, everyone, "small", 3)["peers"]
    assert row["right"]["equal"]
    assert len(row["right"]["times"]) == row["right"]["runs"] == 3
    assert row["right"]["rested"] == row["right"]["seconds"]
    assert row["wrong"] == {"error": "ArithmeticError: the result is not NumPy's"}
    assert row["broken"] == {"error": "OSError: no"}
    assert row["absent"] == {"without": "not installed"}


@pytest.mark.parametrize("name", ["numexpr", "Numba", "dask threads"])
def test_every_case_has_code_or_a_reason(name):
    if why := peers.missing(name):
        pytest.skip(why)
    peer = peers.make(name, 2, "small")
    assert [c.name for c in CASES + HOLDOUT if peer.without(c) == "not written"] == []


def test_the_page_is_made_from_the_published_run():
    assert report.PAGE.read_text() == report.page(json.loads(report.DATA.read_text()))


def case(name, what="", *, distnb, **others):
    peers_ = {name: {"seconds": 1 / speed} for name, speed in others.items()}
    row = {"NumPy": {"seconds": 1.0}, "distnb": {"seconds": 1 / distnb}, **peers_}
    return {"name": name, "what": what, "shape": [8], "steps": 0, "peers": row}


def test_picture_has_blocks_of_like_cases_with_the_fastest_first():
    cases = [case("W1", "sweep", distnb=2.0), case("W3", "prices", distnb=9.0)]
    cases += [case("W2 sum", "a.sum()", distnb=0.9), case("W11", "one element", distnb=0.01)]
    cases += [case("L1", "svd", distnb=1.0), case("S rows", "rows", distnb=1.0)]
    cases += [case("I mask", "a[a > 0.5].sum()", distnb=4.0)]
    cases += [case("P heat", "Heat", distnb=1.0), case("P julia", "Julia", distnb=2.0)]
    columns = [
        [(block.title, [row["name"] for row in block.rows]) for block in column]
        for column in picture.blocks({"cases": cases})
    ]
    assert columns == [
        [
            ("Kernels", ["W3", "W1"]),
            ("One pass over memory", ["W2 sum"]),
            ("Linear algebra, Fourier", ["L1"]),
            ("Masks and indices", ["I mask"]),
            ("Small steps", ["S rows", "W11"]),
        ],
        [("Programs", ["P julia", "P heat"])],
    ]


def drawn(*cases):
    """Return the axes of the first column, and the texts in it."""
    figure = Figure()
    axes = figure.subplots()
    picture.draw(axes, picture.blocks({"cases": list(cases)})[0], 9.0)
    return axes, [text.get_text() for text in axes.texts]


def test_axis_of_the_picture_is_a_tenth_to_twenty_whatever_the_outliers():
    axes, texts = drawn(
        case("W1", "sweep", distnb=2.0), case("W3", "b", distnb=310), case("W11", "c", distnb=2e-4)
    )
    assert axes.get_xscale() == "log"
    assert axes.get_xlim() == picture.LIMITS == (0.1, 20.0)
    assert {bar.get_x() for bar in axes.patches} == {1.0}
    assert [1 + bar.get_width() for bar in axes.patches] == pytest.approx([20.0, 2.0, 0.1])
    assert texts == ["Kernels", "310 →", "Small steps", "← 0.0002"]


def test_marks_of_others_are_on_the_axis():
    axes, _ = drawn(case("W1", "sweep", distnb=2.0, Numba=5.0, numexpr=1e-3))
    assert [mark.get_offsets().tolist() for mark in axes.collections] == [[[5.0, 1.0]]]


def test_names_in_the_picture_are_short_and_whole_words():
    published = json.loads(report.DATA.read_text(encoding="utf-8"))
    for row in published["cases"]:
        words = picture.short(row)
        assert 0 < len(words) <= picture.LONGEST
        said = f"{row['what']} {row['name']}"
        whole = {*said.split(), *re.split(r"[ ,_]", said)}
        assert row["name"] in picture.SHORT or set(words.split()) <= whole
    per_block = [block.rows for column in picture.blocks(published) for block in column]
    for rows in per_block:  # no two of a block are called the same
        assert len({picture.short(row) for row in rows}) == len(rows)
