"""Hooks on an ipyparallel client: what is done around the sending of code, calls and signals.

A hook gets what sends, and the arguments for it::

    def hook(send, *args, **kwargs):
        ...                            # before the message leaves
        return send(*args, **kwargs)

There is at most one hook of each kind on a client, whoever comes first, and they are called in the
order of :data:`KINDS`. When the last one is uninstalled the client is as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from distnb.common.errors import EngineError, explain

if TYPE_CHECKING:
    import ipyparallel

__all__ = ["KINDS", "Hook", "install", "installed", "uninstall"]

#: Kind of hook -> the client's methods that it is around; the outer kind first. Interrupted code is
#: answered before all else; the names of arrays are told in a batch, and batches on their way come
#: before the message itself. It is for engines that are there when these are looked up.
KINDS = {
    "answers": ("send_execute_request", "send_signal"),
    "names": ("send_execute_request",),
    "order": ("send_execute_request", "send_apply_request"),
    "engines": ("_build_targets",),
}


class Hook(Protocol):
    """What is done around the sending of a message."""

    def __call__(self, send: Callable[..., Any], /, *args: object, **kwargs: object) -> Any:
        """Call ``send`` with the other arguments, and return what it returns."""


class _Hooked:
    """A method of a client with hooks around it."""

    def __init__(self, client: ipyparallel.Client, send: Callable[..., Any]) -> None:
        self.send = send
        self.hooks: dict[str, Hook] = {}
        self._client = client

    def __call__(self, *args: object, **kwargs: object) -> Any:
        send: Callable[..., Any] = self._to_known
        for kind in reversed(KINDS):
            if kind in self.hooks:
                send = partial(self.hooks[kind], send)
        return send(*args, **kwargs)

    def _to_known(self, *args: object, **kwargs: Any) -> Any:
        """Send to an engine that is there: others may have taken over since it was chosen.

        For the answer of one that has died the client would wait for ever.
        """
        ident = kwargs.get("ident")
        if isinstance(ident, bytes) and ident.decode() not in self._client._engines.values():
            got = "some that have died since this was called"
            raise EngineError(
                explain("engines", got, "all alive", "call it again, for the new ones")
            )
        return self.send(*args, **kwargs)


def install(client: ipyparallel.Client, kind: str, hook: Hook) -> None:
    """Put a hook on a client, in place of one of its kind."""
    for name in KINDS[kind]:
        method = getattr(client, name)
        if not isinstance(method, _Hooked):
            method = _Hooked(client, method)
            setattr(client, name, method)
        method.hooks[kind] = hook


def installed(client: ipyparallel.Client, kind: str) -> Hook | None:
    """Return the hook of a kind on a client, None if there is none."""
    method = getattr(client, KINDS[kind][0])
    return method.hooks.get(kind) if isinstance(method, _Hooked) else None


def uninstall(client: ipyparallel.Client, kind: str) -> None:
    """Take a hook away; harmless if there is none."""
    for name in KINDS[kind]:
        method = getattr(client, name)
        if isinstance(method, _Hooked):
            method.hooks.pop(kind, None)
            if not method.hooks:
                _restore(client, name, method.send)


def _restore(client: ipyparallel.Client, name: str, send: Callable[..., Any]) -> None:
    """Give a client its method back: that of its class, or an attribute that was there before."""
    delattr(client, name)
    if getattr(client, name) != send:
        setattr(client, name, send)
