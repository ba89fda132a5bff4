"""Which arrays there are, and what of the notebook holds them: names, and IPython's outputs."""

from __future__ import annotations

import sys
from math import prod
from operator import itemgetter
from typing import Any, NamedTuple
from weakref import ReferenceType, ref

from distnb.client.lasting.assembled import dense_parts, is_array
from distnb.client.reports.memory_report import reached
from distnb.client.session.bases import Base, bases_of
from distnb.client.session.session import Session
from distnb.geometry.layout import Layout

__all__ = ["Referred", "arrays_of", "drop", "shell"]

#: The last results, as IPython names them.
_LAST = ("_", "__", "___")


class Referred(NamedTuple):
    """A base, and what refers to it.

    ``names`` are those of the notebook, ``referrers`` what else is known to hold it: ``Out[3]``,
    ``_``, ``frames[0]``. Where both are empty, it is deeper inside something, or in a running call.
    ``key`` refers to it weakly, for :func:`drop`.
    """

    key: ReferenceType[Base]
    names: tuple[str, ...]
    referrers: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: str
    layout: Layout
    nbytes: int
    line: str
    lost: bool

    @property
    def label(self) -> str:
        """Names, or what else holds it."""
        return ", ".join(self.names or self.referrers) or "(no name)"

    @property
    def can_drop(self) -> bool:
        """Whether :func:`drop` would delete something."""
        return bool(self.names) or any(x in _LAST or x.startswith("Out[") for x in self.referrers)


def shell() -> Any:
    """Return IPython's shell, None where there is none."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


def arrays_of(session: Session, shell: Any, named: int = 1000) -> list[Referred]:
    """Return a session's arrays, the largest first; for any thread.

    Dtype and line are told of so many only.
    """
    found = {id(base): _Found(base, [], []) for base in bases_of(session)}
    for array, path in reached({} if shell is None else shell.user_ns, 1):
        base = array.dbase
        if base.session is session:
            held = found.setdefault(id(base), _Found(base, [], []))
            if path in _LAST or not path.isidentifier():
                held.referrers.append(path)
            else:
                whole = array.dview.is_whole(base.shape)
                held.names.append(path if whole else f"{path} (view)")
    rows = [(_nbytes(held.base), held) for held in found.values()]
    rows.sort(key=itemgetter(0), reverse=True)
    return [
        _row(*row, _texts(session, row[1].base) if i < named else _NO_TEXTS)
        for i, row in enumerate(rows)
    ]


class _Found(NamedTuple):
    """A base, its names, and what else holds it."""

    base: Base
    names: list[str]
    referrers: list[str]


def _nbytes(base: Base) -> int:
    """Return the bytes on all engines together."""
    copies = 1 if base.host is not None else base.layout.copies
    return prod(base.shape) * base.dtype.itemsize * copies


_NO_TEXTS = ("", "")


def _texts(session: Session, base: Base) -> tuple[str, str]:
    """Return dtype and line for reading."""
    return str(base.dtype), session.line(base.site) if base.site >= 0 else ""


def _row(nbytes: int, held: _Found, texts: tuple[str, str]) -> Referred:
    base = held.base
    dtype, line = texts
    return Referred(
        ref(base),
        tuple(sorted(held.names)),
        tuple(held.referrers),
        base.shape,
        dtype,
        base.layout,
        nbytes,
        line,
        bool(base.lost) and base.handle not in base.session.unfinished.wanted,
    )


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
    return [
        name
        for name, x in space.items()
        if is_array(x) and any(part.dbase is base for part in dense_parts(x))
    ]
