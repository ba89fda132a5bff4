"""The table of where distnb is not NumPy is true: NumPy and distnb do what it says they do."""

import decimal
import fractions
import json
import operator
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import distnb as dnb

RULES = Path(__file__).resolve().parents[2] / "docs" / "rules.md"
_ROW = re.compile(r"^\| `(.+?)` \| `(.+?)` \| `(.+?)` \| (.+) \|$", re.MULTILINE)


def rows():
    """Return the lines of the table: code, NumPy's result, distnb's, and why."""
    section = RULES.read_text().partition("## Where distnb is not NumPy")[2].partition("\n## ")[0]
    return _ROW.findall(section)


@pytest.fixture(scope="module", autouse=True)
def _engines():
    before = dnb.config.cutoff, dnb.config.place
    dnb.config.cutoff, dnb.config.place = 0, "engines"
    try:
        with dnb.inprocess(3):
            yield
    finally:
        dnb.config.cutoff, dnb.config.place = before


def outcome(code, xp):
    """Return what an expression gives, as text, or the name of what it raises."""
    names = {"np": xp, "numpy": np, "operator": operator, "json": json}
    names |= {"Decimal": decimal.Decimal, "Fraction": fractions.Fraction}

    def told(text):
        dnb.session().flush()  # what came before is not counted
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            kept = eval(text, names)
        del kept
        return len(found)

    names["told"] = told
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return repr(eval(code, names))
        except Exception as error:  # whatever it is, the table says so
            return type(error).__name__
        finally:
            dnb.zeros(1).to_numpy()  # engines have told of what they computed before


def test_the_table_is_found():
    assert len(rows()) > 20


@pytest.mark.parametrize(("code", "numpys", "ours", "why"), rows(), ids=lambda text: text[:40])
def test_numpy_and_distnb_do_what_the_table_says(code, numpys, ours, why):
    assert numpys != ours
    assert why
    assert outcome(code, np) == numpys
    assert outcome(code, dnb) == ours
