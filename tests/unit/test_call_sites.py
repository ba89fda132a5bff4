"""The user's line is found however deep the library is when it asks."""

import collections
import sys
import threading

import IPython
import numpy as np
import pytest

import distnb as dnb
from distnb.client.batching.call_sites import CallSites, as_written, own_position, user_frame

CALLBACK = """
def through(function):
    return function()
"""


def as_library(module, source):
    """Return what a source defines, as if it were in a file beside a module."""
    made = {}
    exec(compile(source, module.__file__ + ".callback.py", "exec"), made)
    return made


def test_innermost_frame_of_the_user_is_found_through_any_number_of_library_frames():
    for module in (dnb, np):
        through = as_library(module, CALLBACK)["through"]
        for wrapped in (
            user_frame,
            lambda: through(user_frame),
            lambda: through(lambda: through(user_frame)),
        ):
            frame = through(wrapped)
            assert frame.f_code.co_filename == __file__


def test_line_inside_a_callback_counts_not_the_one_that_called_the_library():
    through = as_library(dnb, CALLBACK)["through"]

    def callback():
        return through(user_frame)

    assert through(callback).f_code is callback.__code__


@pytest.mark.parametrize(
    "cell",
    [
        "%%disttime\nx = 'a'\n",
        "%%disttime -o r\npass\n",
        "%distlayout A[1:]",
        "t = %timeit f('a', 2)",
    ],
)
def test_lines_of_magics_are_as_they_were_written(cell):
    made = IPython.core.inputtransformer2.TransformerManager().transform_cell(cell)
    assert "get_ipython" in made
    assert as_written(made.strip()) == cell.partition("\n")[0]


def test_lines_have_numbers_of_their_own():
    sites = CallSites()
    numbers = [sites.number() for _ in range(3)]
    other = sites.number()
    assert len(set(numbers)) == 1
    assert other != numbers[0]
    assert sites.line(other).endswith("other = sites.number()")


def test_people_are_told_of_the_line_that_called_a_library():
    """Warnings are given at the library's own, as NumPy's are."""
    sites = CallSites()
    for module in (collections, pytest):
        through = as_library(module, CALLBACK)["through"]
        found = through(sites.number)
        assert sites.line(found).endswith("found = through(sites.number)")
        assert sites.place(found)[0] == module.__file__ + ".callback.py"


def test_people_are_told_of_the_line_that_called_code_made_of_text():
    """As methods of dataclasses, and what ``exec`` runs: text has no line that can be shown."""
    made = {}
    exec(CALLBACK, made)
    sites = CallSites()
    found = made["through"](sites.number)
    assert sites.line(found).endswith('found = made["through"](sites.number)')
    name, _ = made["through"](lambda: own_position(sys._getframe(1)))
    assert name == __file__


def test_what_a_shell_shows_is_no_line():
    sites = CallSites()
    through = as_library(IPython.core.formatters, CALLBACK)["through"]
    thread = threading.Thread(
        target=through, args=[sites.number]
    )  # no line of the user's behind it
    thread.start()
    thread.join()
    assert sites.line(0) == "what the cell shows"


@pytest.mark.tier("test")
def test_operators_functions_and_methods_name_the_line_that_called_them():
    """The library is one, two or five frames deep when it records these."""
    with dnb.inprocess(2) as session:
        a = dnb.ones((40, 40), dist="block")
        made = [
            a + a,
            a.sum(axis=0),
            dnb.add(a, 1),
            np.add(a, a),
            dnb.sort(a),
            a @ a,
            a[::2].copy(),
        ]
        lines = [session.line(x.dbase.site) for x in made]
    for line, text in zip(
        lines,
        (
            "a + a",
            "a.sum(axis=0)",
            "dnb.add(a, 1)",
            "np.add(a, a)",
            "dnb.sort(a)",
            "a @ a",
            "a[::2].copy()",
        ),
        strict=True,
    ):
        assert line.startswith("test_call_sites.py line")
        assert line.endswith(f": {text},")
