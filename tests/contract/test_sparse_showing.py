"""What a sparse array shows of itself in a notebook."""

import re

import numpy as np
import pytest

import distnb as dnb
from tests.unit.pages import check_svg, parse

scipy = pytest.importorskip("scipy")


def test_a_card_has_elements_facts_and_engines(session):
    if session.transport.rank is not None:
        pytest.skip("ranks do not show elements unless all of them are asked to")
    x = np.arange(60.0).reshape(12, 5) % 7
    a = dnb.sparse.csr_array(x)
    for each in (a, a.T, a.tocoo(), a.tocsc()):
        root = parse(each._repr_html_())
        check_svg(root)
        words = "".join(root.itertext())
        dense = each.toarray().to_numpy()
        shown = re.findall(r"\((\d+), (\d+)\)\t([\d.]+)", words)
        assert len(shown) == 8
        assert all(dense[int(i), int(j)] == float(v) for i, j, v in shown)
        assert f"{each.shape} float64 {each.format}, {a.nnz} stored elements (85 %)" in words


def test_cards_of_what_has_no_elements(session):
    if session.transport.rank is not None:
        pytest.skip("ranks do not show elements unless all of them are asked to")
    empty = dnb.sparse.csr_array((5, 5))
    assert "0 stored elements (0 %)" in empty._repr_html_()
    a = dnb.sparse.eye_array(3)
    assert "(2, 2)\t1.0" in a._repr_html_()
    with dnb.inprocess(2):
        b = dnb.sparse.eye_array(3)
    assert "closed session" in b._repr_html_()
