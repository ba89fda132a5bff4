"""Hooks on an ipyparallel client: one order whoever comes first, and no trace in the end."""

import itertools

import pytest

import distnb as dnb
from distnb.client.session import current
from distnb.client.transport import client_hooks
from distnb.magics.cells import Cells, follow_cells


class Client:
    """The part of ipyparallel's client that takes hooks."""

    def __init__(self):
        self.log = []
        self.activated = 0

    def send_execute_request(self, code, ident=None):
        self.log.append(f"execute {code} on {ident}")
        return "executed"

    def send_apply_request(self, function):
        self.log.append(f"apply {function}")
        return "applied"

    def send_signal(self, sig, targets=None, block=None):
        self.log.append(f"signal {sig}")

    def _build_targets(self, targets):
        return targets

    def activate(self):
        self.activated += 1


def noting(client, word):
    def hook(send, *args, **kwargs):
        client.log.append(word)
        return send(*args, **kwargs)

    return hook


@pytest.mark.parametrize("kinds", list(itertools.permutations(client_hooks.KINDS)))
def test_hooks_are_called_in_one_order_whoever_comes_first(kinds):
    client = Client()
    for kind in kinds:
        client_hooks.install(client, kind, noting(client, kind))
    assert client.send_execute_request("x", ident=3) == "executed"
    assert client.send_apply_request("f") == "applied"
    assert client.log == ["answers", "names", "order", "execute x on 3", "order", "apply f"]


@pytest.mark.parametrize("kinds", list(itertools.permutations(client_hooks.KINDS)))
def test_uninstalling_leaves_the_client_as_it_was(kinds):
    client = Client()
    before = dict(vars(client))
    for kind in client_hooks.KINDS:
        client_hooks.install(client, kind, noting(client, kind))
        assert client_hooks.installed(client, kind) is not None
    assert vars(client) != before
    for kind in kinds:
        client_hooks.uninstall(client, kind)
        assert client_hooks.installed(client, kind) is None
        client_hooks.uninstall(client, kind)
    assert vars(client) == before
    client.send_execute_request("x")
    assert client.log == ["execute x on None"]


def test_one_hook_goes_and_the_other_stays():
    client = Client()
    for kind in client_hooks.KINDS:
        client_hooks.install(client, kind, noting(client, kind))
    client_hooks.uninstall(client, "order")
    client.send_execute_request("x")
    client.send_apply_request("f")
    assert client.log == ["answers", "names", "execute x on None", "apply f"]


def test_a_method_that_another_library_put_on_the_client_comes_back():
    client = Client()
    mine = client.send_apply_request = noting(client, "other")
    client_hooks.install(client, "order", noting(client, "order"))
    assert client.send_apply_request is not mine
    client_hooks.uninstall(client, "order")
    assert client.send_apply_request is mine


def test_a_hook_of_a_kind_replaces_the_one_before():
    client = Client()
    for word in ("first", "second"):
        client_hooks.install(client, "order", noting(client, word))
    client.send_apply_request("f")
    assert client.log == ["second", "apply f"]
    client_hooks.uninstall(client, "order")
    assert "send_apply_request" not in vars(client)


class Shell:
    """The part of IPython's shell that a follower of cells needs."""

    def __init__(self, **names):
        self.user_ns = names
        self.events = self

    def register(self, event, function):
        pass

    unregister = register


@pytest.fixture
def session(monkeypatch):
    with dnb.inprocess(2) as made:
        made.transport.client = Client()
        monkeypatch.setattr(current, "_CURRENT", [made])
        yield made


def test_names_are_told_before_code_once_for_all_engines(session):
    shell = Shell(a=dnb.ones((50, 50), session=session, dist="block"))
    client = session.transport.client
    follow_cells(shell)
    follow_cells(shell)
    assert client.activated == 1
    before = session.batches
    for engine in range(2):
        client.send_execute_request("x", ident=engine)
    assert session.batches == before + 1
    session.flush()
    users = [worker.executor.user for worker in session.transport.workers]
    assert all("a" in user for user in users)
    client.send_execute_request("y", ident=0)
    assert session.batches == before + 2
    assert client.log == ["execute x on 0", "execute x on 1", "execute y on 0"]


@pytest.mark.parametrize("recover", ["auto", "ask"])
def test_others_take_over_before_engines_are_looked_up(session, monkeypatch, recover):
    follow_cells(Shell())
    client, due = session.transport.client, [True]
    monkeypatch.setattr(session.connection, "keeps", True)
    monkeypatch.setattr(type(session.recovery), "due", property(lambda self: bool(due)))
    monkeypatch.setattr(type(session), "recover", lambda self: due.clear())
    monkeypatch.setattr(dnb.config, "recover", recover)
    if recover == "ask":
        with pytest.raises(dnb.EngineError, match=r"session.recover\(\) starts new ones"):
            client._build_targets("all")
        session.recover()
    assert client._build_targets("all") == "all"
    assert not due


def test_unloading_takes_the_hook_away_from_all_clients(session):
    shell, other = Shell(), Shell()
    cells = Cells(shell)
    client = session.transport.client
    before = dict(vars(client))
    follow_cells(shell)
    Cells(other).remove()
    assert "send_execute_request" in vars(client)
    cells.remove()
    assert vars(client) == {**before, "activated": 1}


def test_engines_that_die_in_a_hook_are_sent_nothing():
    """Nobody would answer: a hook may wait until others have taken over."""
    client = Client()
    client._engines = {0: "old"}

    def hook(send, *args, **kwargs):
        client._engines = {0: "new"}
        return send(*args, **kwargs)

    client_hooks.install(client, "names", hook)
    with pytest.raises(dnb.EngineError, match="some that have died since this was called"):
        client.send_execute_request("code", ident=b"old")
    client.send_execute_request("code", ident=b"new")
    assert client.log == ["execute code on b'new'"]
