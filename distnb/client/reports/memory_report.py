"""What fills the engines' memory: arrays by name, those without one, the pool, all else."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import prod
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from distnb.client.batching.replies import MISSING
from distnb.client.handle.array import Array
from distnb.client.lasting.assembled import dense_parts, is_array
from distnb.client.lasting.checkpoints import Next, next_of
from distnb.client.session.bases import Base, bases_of
from distnb.client.session.session import Session
from distnb.geometry.layout import Layout
from distnb.measure.quantities import size_text
from distnb.wire.protocol import Ask

__all__ = ["ArrayMemory", "EngineMemory", "MemorySurvey", "reached", "survey"]

#: How deep a search for what refers to arrays goes, and into how many items of a container.
_DEPTH, _WIDTH = 3, 1000
#: Where IPython keeps the last results.
_RESULTS = ("_", "__", "___")
#: What holds arrays of functions that have failed.
LAST_ERROR = "the last error"
#: What is said of what an object has for itself.
_PRIVATE = " (inside)"
#: A path into one of them, or into an output.
_INSIDE = re.compile(r"^(Out\[\d+\]|_{1,3})[.\[].*$")


class ArrayMemory(NamedTuple):
    """A base on the engines, or an array in the notebook, and who holds it.

    Attributes
    ----------
    names : tuple of str
        Names of arrays that are all of it.
    views : tuple of str
        Names of arrays that are a part of it, or look at it another way.
    referrers : tuple of str
        What else keeps it: ``Out[3]``, ``frames[0]`` ...
    shape, dtype, layout
        What it is, as text.
    bytes : tuple of int
        Its bytes on each engine.
    line : str
        The line that made it.
    disk : tuple of int
        Its bytes of each engine, if it is on disk; then none are in memory.
    """

    names: tuple[str, ...]
    views: tuple[str, ...]
    referrers: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: str
    layout: Layout
    bytes: tuple[int, ...]
    line: str
    disk: tuple[int, ...] = ()

    @property
    def total(self) -> int:
        """Bytes on all engines."""
        return sum(self.bytes)

    @property
    def notebook(self) -> int:
        """Bytes in the notebook, if it is there."""
        return 0 if self.bytes or self.disk else prod(self.shape) * np.dtype(self.dtype).itemsize

    @property
    def named(self) -> bool:
        """Whether it, or a view of it, has a name in the notebook."""
        return bool(self.names or self.views)

    @property
    def together(self) -> object:
        """A key of what goes with it, if all of its names do: as the parts of a sparse array."""
        return (self.names, self.views) if self.named else id(self)


class EngineMemory(NamedTuple):
    """The memory of one engine in bytes; ``available`` and ``total`` are its node's."""

    host: str
    named: int
    unnamed: int
    pool: int
    other: int
    available: int
    total: int
    #: Of arrays on disk, what they will take of its memory when they are back.
    disk: int = 0


class Deaths(NamedTuple):
    """What becomes of arrays that lie in the engines' own memory, if engines die.

    ``seconds``: what making them again takes; ``lost``: names of those that cannot be.
    """

    seconds: float
    lost: tuple[str, ...]


class MemorySurvey(NamedTuple):
    """What is in the memory of the engines, and in the notebook in place of it."""

    engines: tuple[EngineMemory, ...]
    arrays: tuple[ArrayMemory, ...]
    here: tuple[ArrayMemory, ...]
    #: What checkpoints would write again: if the machine is lost, this is.
    checkpoints: tuple[Next, ...] = ()
    #: Where engines have arrays to themselves: what becomes of these if they die.
    deaths: Deaths | None = None

    @property
    def advice(self) -> str:
        """What would free most."""
        freed: Counter[object] = Counter()
        for each in self.arrays:
            freed[each.together] += each.total
        most = max(self.arrays, key=lambda held: freed[held.together], default=None)
        if most is None or not most.total:
            return "engines hold no array"
        size = size_text(freed[most.together])
        if most.named:
            hold = "hold" if len(most.referrers) > 1 else "holds"
            too = f"; {', '.join(most.referrers)} {hold} it too" if most.referrers else ""
            return f"del {', '.join((*most.names, *most.views))} would free most: {size}{too}"
        if not most.referrers:
            return f"the largest array, {size}, has no name; what holds it was not found"
        if most.referrers == (LAST_ERROR,):
            return f"the last error holds the largest array, {size}, until there is another one"
        kept = any(h.startswith("Out[") or h in _RESULTS for h in most.referrers)
        how = f"dropping {most.referrers[0].removesuffix(_PRIVATE)}"
        how = "%reset -f out" if kept else how
        return f"{how} would free most: {size}; {', '.join(most.referrers)} holds it"


def survey(session: Session, namespace: Mapping[str, Any]) -> MemorySurvey:
    """Return what is in the engines' memory; ``namespace`` is that of the notebook."""
    found = referrers_of(namespace)
    for name, named in session.named.items():
        for x in dense_parts(named):
            found.setdefault(id(x.dbase), []).append((f'session["{name}"]', False))
    bases = bases_of(session)
    surveys = session.ask(lambda slot: Ask(slot, "survey"))
    surveys = [{} if s is MISSING else s for s in surveys]
    arrays = [
        _held(
            session,
            base,
            found.get(id(base), []),
            [s.get("held", {}).get(base.handle, 0) for s in surveys],
        )
        for base in bases
    ]
    there = {id(base) for base in bases}
    here = {id(x.dbase): x.dbase for x, _ in reached(namespace) if id(x.dbase) not in there}
    inside = [
        _held(session, base, found[key], [])
        for key, base in here.items()
        if base.session is session
    ]
    order = sorted(arrays, key=lambda held: (-held.total, -sum(held.disk)))
    hosts = [about["host"] for about in session.transport.about]
    engines = tuple(_engines(surveys, hosts, order))
    names = {b.handle: (*held.names, *held.views) for b, held in zip(bases, arrays, strict=True)}
    return MemorySurvey(
        engines, tuple(order), tuple(inside), next_of(session), _deaths(session, names)
    )


def _deaths(session: Session, names: Mapping[int, tuple[str, ...]]) -> Deaths | None:
    lineage = session.recovery.lineage
    if lineage is None:
        return None
    with session.recorder.lock:  # it changes with what is taken in
        found = lineage.forecast()
    lost = [names[handle] or ("one without a name",) for handle in found.lost if handle in names]
    return Deaths(found.seconds, tuple([name for each in lost for name in each]))


def _held(
    session: Session, base: Base, found: list[tuple[str, bool]], sizes: list[int]
) -> ArrayMemory:
    direct = [
        (path, whole) for path, whole in found if path.isidentifier() and path not in _RESULTS
    ]
    return ArrayMemory(
        tuple(path for path, whole in direct if whole),
        tuple(path for path, whole in direct if not whole),
        roots(path for path, _ in found if not path.isidentifier() or path in _RESULTS),
        base.shape,
        str(base.dtype),
        base.layout,
        () if base.disk is not None else tuple(sizes),
        session.line(base.site) if base.site >= 0 else "",
        () if base.disk is None else tuple(sizes),
    )


def _engines(
    surveys: list[dict[str, Any]], hosts: list[str], arrays: list[ArrayMemory]
) -> Iterator[EngineMemory]:
    """Yield the memory of each engine; what threads of a process share is divided among them."""
    there = [held for held in arrays if held.bytes]
    for rank, (found, host) in enumerate(zip(surveys, hosts, strict=True)):
        together = [s for s in surveys if s.get("pid") == found.get("pid")]
        known = sum(sum(s.get("held", {}).values()) + s.get("pool", 0) for s in together)
        other = max(0, found.get("process", 0) - known) // len(together)
        yield EngineMemory(
            host,
            sum(held.bytes[rank] for held in there if held.named),
            sum(held.bytes[rank] for held in there if not held.named),
            found.get("pool", 0),
            other,
            found.get("available", 0),
            found.get("total", 0),
            sum(held.disk[rank] for held in arrays if held.disk),
        )


def roots(paths: Iterable[str]) -> tuple[str, ...]:
    """Return paths in the notebook, those into results of IPython's without what is inside.

    >>> roots(["Out[11].array", "frames[0]", "Out[11].base", "__.array"])
    ('Out[11]', 'frames[0]', '__')
    """
    return tuple(dict.fromkeys(_INSIDE.sub(r"\1", path) for path in paths))


def referrers_of(namespace: Mapping[str, Any]) -> dict[int, list[tuple[str, bool]]]:
    """Return who holds each base: a path in the notebook, and whether it is all of the base."""
    found: dict[int, list[tuple[str, bool]]] = {}
    for x, path in reached(namespace):
        found.setdefault(id(x.dbase), []).append((path, x.dview.is_whole(x.dbase.shape)))
    return found


def reached(namespace: Mapping[str, Any], depth: int = _DEPTH) -> Iterator[tuple[Array, str]]:
    """Yield the arrays that the notebook reaches, each once for every name and once elsewhere.

    ``depth`` counts containers and objects on the way. What has a name of its own is found by that.
    """
    seen = {id(namespace)}
    for name, value in sorted([*namespace.items()], key=_is_result):
        if name == "Out" or name in _RESULTS or not name.startswith("_"):
            yield from _walk(value, name, seen, depth)
    for value in _in_the_last_error():
        for x, _ in _walk(value, LAST_ERROR, seen, depth):
            yield x, LAST_ERROR


def _in_the_last_error() -> Iterator[Any]:
    """Yield what functions had in which the last error was raised: it is kept for debuggers."""
    traceback = getattr(sys, "last_traceback", None)
    while traceback is not None:
        frame, traceback = traceback.tb_frame, traceback.tb_next
        if frame.f_locals is not frame.f_globals:  # else these are the notebook's names
            yield from [*frame.f_locals.values()]


def _is_result(item: tuple[str, Any]) -> bool:
    return item[0] == "Out" or item[0] in _RESULTS


def _walk(value: Any, path: str, seen: set[int], depth: int) -> Iterator[tuple[Array, str]]:
    parts = dense_parts(value) if is_array(value) else ()
    yield from [(x, path) for x in parts]
    if (
        depth == 0
        or id(value) in seen
        or isinstance(value, Array | str | bytes | type | ModuleType | Session)
    ):
        return
    seen.add(id(value))
    own = {id(x.dbase) for x in parts}
    for key, item in _items(value):
        inside = path if path.endswith(_PRIVATE) else f"{path}{key}"
        found = _walk(item, inside, seen, depth - 1)
        yield from [(x, where) for x, where in found if id(x.dbase) not in own]


def _attribute(key: str) -> str:
    """Return how an attribute is told of: a private one is nobody's to use."""
    return _PRIVATE if key.startswith("_") else f".{key}"


def _items(value: Any) -> Iterable[tuple[str, Any]]:
    """Return what a container or an object holds, with how it is reached."""
    if isinstance(value, dict):
        return [(f"[{key!r}]", item) for key, item in list(value.items())[:_WIDTH]]
    if isinstance(value, list | tuple | set | frozenset):
        return [(f"[{i}]", item) for i, item in enumerate(list(value)[:_WIDTH])]
    inside = getattr(value, "__dict__", None)
    if isinstance(inside, dict) and not callable(value):
        return [(_attribute(key), item) for key, item in list(inside.items())[:_WIDTH]]
    return ()
