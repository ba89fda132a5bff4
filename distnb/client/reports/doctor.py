"""What could be cheaper in a cell: pure analysis of its commands, and of what these took.

Each rule looks at all commands of the cell and yields findings: on which line, how often, what it
cost, and the cheaper way as code. What costs next to nothing is not worth a word.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from distnb.client.reports.cell_trace import (
    Act,
    CellTrace,
    Diagnosis,
    Finding,
)
from distnb.client.session.journal import Cell
from distnb.common.config import config
from distnb.geometry.layout import Layout
from distnb.geometry.views import Placed, View
from distnb.wire.protocol import Apply, Collective, Command, Create, Fetch, Local, Operand, Reduce

__all__ = ["diagnose", "spelled"]

#: Share of the cell's time, and seconds, below which a finding is not worth a word.
WORTH, LEAST = 0.02, 1e-3
#: How often something must come again to be a pattern.
ELEMENTS, SMALL, AGAIN = 16, 100, 3
#: Elements on an engine below which an operation is small.
FEW = 4096
#: Share of an operand above which moving it is no halo.
MUCH = 0.25
#: Bytes from which a gather is a large one.
LARGE = 1 << 16


# -- one element at a time -----------------------------------------------------------------------


def element_loops(trace: CellTrace) -> Iterator[Finding]:
    """Find loops that read or write single elements of one array."""
    for line, acts in trace.by_line(trace.acts).items():
        for read in (True, False):
            counts = Counter(_element_of(trace, a.command, read) for a in acts)
            del counts[None]
            base, n = counts.most_common(1)[0] if counts else (None, 0)
            if base is None or n < ELEMENTS:
                continue
            found = [a for a in acts if _element_of(trace, a.command, read) == base]
            batches = {a.batch for a in found}
            seconds = sum(a.seconds for a in acts if a.batch in batches)
            nbytes = sum(a.bytes for a in found)
            what, instead = _element_loop(trace, base, n, read)
            yield Finding("element by element", line, n, seconds, nbytes, what, instead)


def _element_of(trace: CellTrace, command: Command, read: bool) -> int | None:
    """Return the base of which a command reads, or writes, one element of many; else None."""
    x: Any = None
    if isinstance(command, Apply):
        x = command.outs[0] if not read else command.ins[0] if command.op == "copy" else None
    elif isinstance(command, Fetch) and read:
        x = command.operand
    return x.base if trace.is_one_of_many(x) else None


def _element_loop(trace: CellTrace, base: int, n: int, read: bool) -> tuple[str, str]:
    """Return what was seen, and the cheaper way."""
    name = trace.name(base)
    if not read:
        what = f"{n:,} elements of {name} are written one by one, each by a command of its own"
        return what, f"{name}[...] = values  # all at once: an array, or an expression of slices"
    what = f"{n:,} elements of {name} are read one by one, and the notebook waits for each"
    shape, dtype, _ = trace.specs[base]
    if prod(shape) * dtype.itemsize > LARGE << 8:
        return what, f"{name}[1:] - {name}[:-1]  # whole slices in one operation, for example"
    return what, f"here = {name}.to_numpy()  # once, before the loop; then read here[...]"


# -- many small operations -----------------------------------------------------------------------


def small_operations(trace: CellTrace) -> Iterator[Finding]:
    """Find lines whose operations are so small that engines spend their time on bookkeeping."""
    computing = (Apply, Reduce, Local, Collective)
    for line, acts in trace.by_line(trace.acts).items():
        found = [
            a for a in acts if isinstance(a.command, computing) and _is_small(trace, a.command)
        ]
        single = sum(
            _element_of(trace, a.command, read) is not None for a in found for read in (True, False)
        )
        if len(found) - single < SMALL or single >= ELEMENTS:
            continue
        busy = sum(a.busy for a in acts)
        nbytes = sum(a.bytes for a in found)
        what, instead = _smaller(trace, found)
        reads = sum(isinstance(a.command, Fetch) for a in acts)
        if reads >= SMALL:
            what += f"; {reads:,} values are read, and the notebook waits for each"
        yield Finding("many small operations", line, len(found), busy, nbytes, what, instead)


def _is_small(trace: CellTrace, command: Command) -> bool:
    sizes = [max(prod(x.view.shape), 1) for x in command.reads] or [FEW * trace.size]
    return max(sizes) < FEW * trace.size


def _smaller(trace: CellTrace, found: list[Act]) -> tuple[str, str]:
    """Return what was seen, and the cheaper way."""
    each = sum(a.busy for a in found) / len(found)
    what = f"{len(found):,} operations on few elements, {each * 1e6:,.0f} us each"
    views = [x for a in found for x in a.command.reads[:1]]
    base, _ = Counter(x.base for x in views).most_common(1)[0] if views else (0, 0)
    slices, name = {x.view for x in views if x.base == base}, trace.name(base)
    parts = sum(x.base == base and trace.is_part(x) for x in views)
    if len(slices) > len(found) / 4 or parts > len(found) / 2:
        of = [a.command for a in found if any(x.base == base for x in a.command.reads)]
        rows = _rows_of(trace.specs[base][0], slices) if base in trace.specs else ""
        return f"{what}: a loop over slices of {name}", _at_once(f"{name}{rows}", of)
    most = max((trace.nbytes_of_base(x) for x in views), default=LARGE)
    limit = 1 << max(most - 1, 1).bit_length()
    if limit <= config.cutoff:  # they are on engines because that was asked for
        return what, f"# leave out dist= where {name} is made: small arrays stay in the notebook"
    return what, f"dnb.config.cutoff = {limit}  # small arrays stay in the notebook"


def _rows_of(shape: Sequence[int], slices: Collection[View]) -> str:
    """Return the index of the part of an array in which all slices are, empty if that is all."""
    fixed = [view.fixed for view in slices]
    axes = {axis for each in fixed for axis, _ in each}
    if len(axes) != 1 or not all(fixed):
        return ""
    (axis,) = axes
    first, last = (f(each[0][1] for each in fixed) for f in (min, max))
    if last + 1 - first == shape[axis] or last + 1 - first > 2 * len(slices):
        return ""
    return f"[{':, ' * axis}{first or ''}:{last + 1}]"


def _at_once(name: str, commands: Sequence[Any]) -> str:
    """Return the operation on an array, or a part, that does what some do on its slices."""
    op, _ = Counter(c.op for c in commands).most_common(1)[0]
    first = next(c for c in commands if c.op == op)
    instead, why = "", "# one operation on the whole array instead of one for each slice"
    if isinstance(first, Reduce) and first.operand.view.fixed and hasattr(np.ndarray, op):
        reduced = sorted(first.operand.view.dims[d][0] for d in first.axes)
        axes = reduced[0] if len(reduced) == 1 else tuple(reduced)
        instead = f"{name}.{op}(axis={axes})  "
    elif isinstance(first, Apply) and isinstance(ufunc := getattr(np, op, None), np.ufunc):
        instead = f"np.{op}({name}{', ...' * (ufunc.nin > 1)})  "
    return instead + why


# -- what is moved -------------------------------------------------------------------------------


class Move(NamedTuple):
    """An operand that is moved for a command: most of its elements travel."""

    act: Act
    source: Operand
    out: Operand
    version: int
    moved: int


def _moves(trace: CellTrace) -> Iterator[Move]:
    """Yield the operands of which much is moved."""
    versions: Counter[int] = Counter()
    for act in trace.acts:
        command = act.command
        if isinstance(command, Apply):
            out = command.outs[0]
            for x in command.ins:
                if type(x) is Operand:
                    count = trace.moved(out, x)
                    if count > MUCH * prod(x.view.shape) > 0:
                        yield Move(act, x, out, versions[x.base], count)
        versions.update(command.writes)


def repeated_moves(trace: CellTrace) -> Iterator[Finding]:
    """Find arrays that are moved again and again, and operands that never lie together."""
    groups = defaultdict(list)
    for move in _moves(trace):
        source, target = trace.specs[move.source.base], trace.specs[move.out.base]
        key = (move.act.line, source[0], source[2], move.source.view.dims, target[2])
        groups[key].append(move)
    for (line, *_), moves in groups.items():
        if len(moves) < AGAIN:
            continue
        same, n = Counter((m.source, m.version) for m in moves).most_common(1)[0]
        if n >= AGAIN:
            chosen = [m for m in moves if (m.source, m.version) == same]
            yield _moved_again(trace, line, chosen)
        elif "redistribute" in line or not _is_inner(moves[0]):
            yield _apart(trace, line, moves)


def _is_inner(move: Move) -> bool:
    """Tell whether a copy into a whole new array may be part of what a function does."""
    command: Any = move.act.command
    return command.op == "copy" and _is_whole(move.out)


def _is_whole(x: Operand) -> bool:
    return all(start == 0 and step == 1 for _, start, step in x.view.dims) and not x.view.fixed


def _totals(trace: CellTrace, moves: Sequence[Move]) -> tuple[float, int]:
    """Return seconds and bytes of moves."""
    size = sum(m.moved * trace.specs[m.source.base][1].itemsize for m in moves)
    return sum(m.act.busy for m in moves), size


def _moved_again(trace: CellTrace, line: str, moves: list[Move]) -> Finding:
    source, out = moves[0].source.base, moves[0].out.base
    seconds, nbytes = _totals(trace, moves[1:])
    before, after = trace.specs[source][2], trace.specs[out][2]
    name = trace.name(source)
    what = (
        f"the same elements of {name} go from {before.spell()} to {after.spell()} "
        f"{len(moves):,} times"
    )
    instead = f"{name} = {name}.redistribute({spelled(after)})  # once, before the loop"
    return Finding("repeated redistribution", line, len(moves), seconds, nbytes, what, instead)


def _apart(trace: CellTrace, line: str, moves: list[Move]) -> Finding:
    source, out = moves[0].source.base, moves[0].out.base
    seconds, nbytes = _totals(trace, moves)
    before, after = trace.specs[source][2], trace.specs[out][2]
    origin = trace.origin(source)
    if "redistribute" in line:
        kind = "repeated redistribution"
        what = f"arrays go from {before.spell()} to {after.spell()} {len(moves):,} times"
    else:
        kind = "operands that lie apart"
        name = trace.name(origin)
        moved = name if origin == source else f"a result that follows {name}"
        what = (
            f"each call moves {moved} from {before.spell()} to {after.spell()}, "
            f"where {trace.name(out, 'the result')} lies"
        )
    instead = f"dist={spelled(after, bare=True)}  # where {trace.name(origin)} is made"
    return Finding(kind, line, len(moves), seconds, nbytes, what, instead)


def spelled(layout: Layout, bare: bool = False) -> str:
    """Return the arguments that ask for a layout.

    >>> from distnb.geometry.layout import make_layout
    >>> spelled(make_layout((8, 8), 4, ("*", "block")))
    "('*', 'block')"
    >>> spelled(make_layout((8, 8), 4, ("block", "block"), (4, 1)))
    "('block', 'block'), grid=(4, 1)"
    """
    if not any(d >= 0 for d in layout.dims):
        return f"('engine', {layout.grid.first})" if layout.grid.size == 1 else "'replicated'"
    words = ", ".join(axis.spell() for axis in layout.axes)
    grid = f", grid={layout.grid.sizes}" if len(layout.grid.sizes) > 1 else ""
    return f"({words}{',' * (len(layout.axes) == 1)}){grid}"


# -- reductions along the split axis ---------------------------------------------------------------


def split_reductions(trace: CellTrace) -> Iterator[Finding]:
    """Find reductions along a split axis that would be free if another one were split."""
    chosen = [a for a in trace.acts if isinstance(a.command, Reduce) and _could_be_free(trace, a)]
    for line, acts in trace.by_line(chosen).items():
        if len(acts) < AGAIN:
            continue
        command: Any = acts[0].command
        placed = trace.placed(command.operand)
        assert placed is not None
        kept = _longest_kept(placed, command.axes)
        words = tuple("block" if d == kept else "*" for d in range(len(placed.view.shape)))
        name = trace.name(command.operand.base)
        what = f"{name} is reduced along a split axis ({command.axes[0]}): engines meet each time"
        instead = f"dist={words}  # where {name} is made; or {name} = {name}.redistribute({words})"
        seconds, nbytes = sum(a.blocked for a in acts), sum(a.bytes for a in acts)
        yield Finding(
            "reduction along the split axis", line, len(acts), seconds, nbytes, what, instead
        )


def _could_be_free(trace: CellTrace, act: Act) -> bool:
    command: Any = act.command
    placed = trace.placed(command.operand)
    if placed is None or placed.layout.split == 1:
        return False
    split = {d for d, m in enumerate(placed.maps) if m is not None}
    kept = _longest_kept(placed, command.axes)
    reduced = split & set(command.axes)
    return bool(reduced) and kept is not None and placed.view.shape[kept] >= trace.size


def _longest_kept(placed: Placed, axes: Sequence[int]) -> int | None:
    shape = placed.view.shape
    return max((d for d in range(len(shape)) if d not in axes), key=shape.__getitem__, default=None)


# -- what comes to the notebook ---------------------------------------------------------------


#: Words on a line that say that the elements are wanted in the notebook.
_MEANT = ("to_numpy", "tolist", "asnumpy")


def _fetched(trace: CellTrace, act: Act) -> int:
    """Return the bytes that a command brings to the notebook."""
    command = act.command
    return trace.nbytes(command.operand) if isinstance(command, Fetch) else 0


def _function(line: str) -> str | None:
    """Return the function of NumPy that a line calls; None if that is somebody else's.

    >>> _function("cell line 1: np.linalg.norm(np.asarray(A))")
    'linalg.norm'
    """
    found = re.findall(r"\b(?:np|numpy)\.([a-z_.0-9]+)\(", line)
    return next((name for name in found if name not in ("array", "asarray")), None)


def _on_engines(line: str, name: str) -> str:
    """Return what does on the engines what a line does with an array in the notebook."""
    function = _function(line)
    if function is None:
        return f"dnb.map_blocks(f, {name})  # a function f of parts; or reduce {name} before"
    return f"dnb.{function}({name})  # on the engines"


def gathers(trace: CellTrace) -> Iterator[Finding]:
    """Find arrays that come to the notebook unasked, or again and again."""
    found = [a for a in trace.acts if _fetched(trace, a) >= LARGE]
    for line, acts in trace.by_line(found).items():
        meant = ": " not in line or any(word in line for word in _MEANT)  # the text may be unknown
        if meant and len(acts) < AGAIN:
            continue
        command: Any = acts[0].command
        name = trace.name(command.operand.base)
        nbytes = sum(_fetched(trace, a) for a in acts)
        often = "" if len(acts) == 1 else f" {len(acts):,} times"
        what = f"{name} comes to the notebook{often}"
        what += "" if meant else ", though the line does not ask for it: NumPy computes there"
        instead = (
            f"here = {name}.to_numpy()  # once, before the loop"
            if meant
            else _on_engines(line, name)
        )
        seconds = sum(a.seconds for a in acts)
        yield Finding("gather", line, len(acts), seconds, nbytes, what, instead)


# -- results that nobody reads ----------------------------------------------------------------


def unused_results(trace: CellTrace) -> Iterator[Finding]:
    """Find results that were dropped in the cell without having been read."""
    made = {a.command.base for a in trace.acts if isinstance(a.command, Create)}
    computed = {
        base for a in trace.acts if type(a.command) is not Create for base in a.command.writes
    }
    read = {x.base for a in trace.acts for x in a.command.reads}
    dropped = (made & computed & trace.freed) - read
    wasted = [a for a in trace.acts if (w := a.command.writes) and dropped.issuperset(w)]
    for line, acts in trace.by_line(wasted).items():
        results = {base for a in acts for base in a.command.writes}
        seconds, nbytes = sum(a.busy for a in acts), sum(a.bytes for a in acts)
        what = f"{len(results):,} results are computed here and dropped without being read"
        if len(results) == 1:
            what = "the result is dropped without being read"
        yield Finding(
            "unused result", line, len(results), seconds, nbytes, what, "# leave the line out"
        )


RULES = (
    element_loops,
    small_operations,
    repeated_moves,
    split_reductions,
    gathers,
    unused_results,
)


def diagnose(
    cell: Cell,
    line: Callable[[int], str],
    names: Mapping[int, str],
    size: int,
    least: float | None = None,
) -> Diagnosis:
    """Return what could be cheaper in a cell.

    Parameters
    ----------
    cell : Cell
        What it did.
    line : callable
        From the number of a source line to its text.
    names : mapping
        Handle -> name in the notebook.
    size : int
        Number of engines.
    least : float, optional
        Seconds from which something is worth a word; by default 2 % of the cell's, and a ms.
    """
    trace = CellTrace(cell, line, names, size)
    worth = max(LEAST, WORTH * cell.seconds) if least is None else least
    found = [f for rule in RULES for f in rule(trace) if f.seconds >= worth]
    order = tuple(sorted(found, key=lambda f: -f.seconds))
    first = next((act.line for act in trace.acts), "")
    return Diagnosis(order, cell.seconds, len(trace.acts), cell.left, first)
