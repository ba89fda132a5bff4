"""Which arrays there are, and what of the notebook keeps them: names, and IPython's outputs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from math import prod
from operator import itemgetter
from typing import Any, NamedTuple
from weakref import ReferenceType, ref

from distnb.client.bases import Base
from distnb.client.handle import Handle
from distnb.client.session import Session

__all__ = ["Held", "drop", "held", "shell"]

#: The last results, as IPython names them.
_LAST = ("_", "__", "___")


class Held(NamedTuple):
    """A base, and what keeps it.

    ``names`` are those of the notebook, ``outputs`` results of cells that IPython keeps, such as
    ``Out[3]``. Where both are empty, something else holds it: an object, a list, a running call.
    ``key`` refers to it weakly, for :func:`drop`.
    """

    key: ReferenceType[Base]
    names: tuple[str, ...]
    outputs: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: str
    layout: str
    nbytes: int
    line: str
    lost: bool

    @property
    def label(self) -> str:
        """Names, or what else keeps it."""
        return ", ".join(self.names) or ", ".join(self.outputs) or "(no name)"


def shell() -> Any:
    """Return IPython's shell, None where there is none."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


def held(session: Session, shell: Any, named: int = 1000) -> list[Held]:
    """Return a session's arrays, the largest first; for any thread.

    Dtype, layout and line are told of so many only.
    """
    found = {}
    for reference in list(session._bases.values()):
        base = reference()
        if base is not None:
            found[id(base)] = _Keepers(base, [], [])
    for is_output, name, array in _arrays(shell):
        base = array._base
        if base.session is session:
            keepers = found.setdefault(id(base), _Keepers(base, [], []))
            if is_output:
                keepers.outputs.append(name)
            else:
                whole = array._view.is_whole(base.shape)
                keepers.names.append(name if whole else f"{name} (view)")
    rows = [(_nbytes(keepers.base), keepers) for keepers in found.values()]
    rows.sort(key=itemgetter(0), reverse=True)
    return [
        _row(*row, _texts(session, row[1].base) if i < named else _NO_TEXTS)
        for i, row in enumerate(rows)
    ]


class _Keepers(NamedTuple):
    """A base, and the names and outputs that keep it."""

    base: Base
    names: list[str]
    outputs: list[str]


def _nbytes(base: Base) -> int:
    """Return the bytes on all engines together."""
    copies = 1 if base.host is not None else base.layout.copies
    return prod(base.shape) * base.dtype.itemsize * copies


_NO_TEXTS = ("", "", "")


def _texts(session: Session, base: Base) -> tuple[str, str, str]:
    """Return dtype, layout and line for reading."""
    line = session.line(base.site) if base.site >= 0 else ""
    return str(base.dtype), base.layout.spell(), line


def _row(nbytes: int, keepers: _Keepers, texts: tuple[str, str, str]) -> Held:
    base = keepers.base
    dtype, layout, line = texts
    return Held(
        ref(base),
        tuple(sorted(keepers.names)),
        tuple(keepers.outputs),
        base.shape,
        dtype,
        layout,
        nbytes,
        line,
        base.lost,
    )


def _arrays(shell: Any) -> Iterator[tuple[bool, str, Handle]]:
    """Yield (False, name, array) for variables, (True, name, array) for results that are kept."""
    if shell is None:
        return
    user = dict(shell.user_ns)
    for name, value in user.items():
        if isinstance(value, Handle) and not name.startswith("_"):
            yield False, name, value
    for number, value in dict(user.get("_oh", ())).items():
        if isinstance(value, Handle):
            yield True, f"Out[{number}]", value
    for name in _LAST:
        if isinstance(user.get(name), Handle):
            yield True, name, user[name]


def drop(shell: Any, key: ReferenceType[Base]) -> bool:
    """Delete all names and outputs of an array; tell whether nothing holds it any more."""
    base = key()
    if base is not None and shell is not None:
        user = shell.user_ns
        for space in (user, user.get("_oh", {}), getattr(shell, "user_ns_hidden", {})):
            for name in _names_in(space, base):
                del space[name]
        hook = vars(shell.displayhook)  # it has the last results once more
        for name in _names_in(hook, base):
            hook[name] = None
        last = getattr(shell, "last_execution_result", None)
        if last is not None and _names_in({"": last.result}, base):
            last.result = None
    del base
    return key() is None


def _names_in(space: dict[Any, Any], base: Base) -> list[Any]:
    return [name for name, x in space.items() if isinstance(x, Handle) and x._base is base]
