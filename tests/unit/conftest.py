"""Tests of `make quick` open no session; those that do wait for `make test`."""

import pytest

from distnb.client.session.session import Session
from tests import tiers


@pytest.fixture(autouse=True)
def no_session(request, monkeypatch):
    """Fail a quick test that opens a session."""

    def opens(self, *args, **options):
        pytest.fail("a test that opens a session is marked tier('test')")

    if tiers.tier_of(request.node) == "quick":
        monkeypatch.setattr(Session, "__init__", opens)
