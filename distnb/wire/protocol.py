"""What travels between the client and the engines: commands, batches and replies.

Commands are data: tuples of numbers, strings and tuples, and the frozen classes of the layout
vocabulary. :mod:`distnb.wire.encoding` makes bytes of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from distnb.geometry.layout import Ints, Layout
from distnb.geometry.views import View

__all__ = [
    "FUNCTION",
    "PROTOCOL",
    "Apply",
    "Batch",
    "Bind",
    "Clocks",
    "Collective",
    "Command",
    "Create",
    "Describe",
    "Failure",
    "Fetch",
    "Free",
    "Function",
    "InNotebook",
    "Local",
    "Operand",
    "Packed",
    "Param",
    "Reduce",
    "Reply",
    "Survey",
    "Typed",
    "title",
    "written",
]

#: Version of the messages; client and engines must agree.
PROTOCOL = 7


class Operand(NamedTuple):
    """A view of a base on the engines."""

    base: int
    view: View


class InNotebook(NamedTuple):
    """An array that no engine holds, as ``%px`` is told of it."""

    shape: Ints
    dtype: str
    #: No base on the engines has this handle.
    base: int = 0


class Typed(NamedTuple):
    """A NumPy scalar: it has a dtype of its own, unlike a Python number, which is weak."""

    dtype: str
    value: Any


class Function(NamedTuple):
    """A function of the user's, which engines have under a number; only the number travels."""

    number: int
    name: str = ""


class Create(NamedTuple):
    """Make a base. ``how`` is a row of ``ops.CREATIONS`` with its arguments.

    ``('empty',)``, ``('fill', value)``, ``('index', axis, start, step)``: the global index along
    an axis, scaled; ``('random', kind, key, args)``; ``('data', slot)``: buffer ``slot`` of the
    message holds this rank's part; ``('local', name)``.
    """

    base: int
    shape: Ints
    dtype: str
    layout: Layout
    how: tuple[Any, ...]
    site: int


class Apply(NamedTuple):
    """Apply an elementwise operation to operands of one shape (already broadcast).

    ``ins`` holds Operands, Typed scalars and Python scalars, and first of all the Function that
    ``'map'`` calls; ``where`` a mask or None; ``options`` the ufunc's ``casting`` and ``dtype``.
    """

    op: str
    outs: tuple[Operand, ...]
    ins: tuple[Any, ...]
    where: Operand | None
    options: tuple[tuple[str, str], ...]
    site: int


class Reduce(NamedTuple):
    """Reduce a view along ``axes`` into a new base, whose axes are the kept ones in order."""

    op: str
    out: int
    operand: Operand
    axes: Ints
    dtype: str
    site: int


class Local(NamedTuple):
    """Apply a function to what each rank holds of whole bases that were brought into place.

    ``op`` is a row of ``ops.LOCALS``; ranks that hold nothing of the output do nothing. Or it is
    ``'adopt'``: the output gets the memory of the one input, whose elements it has in C order.
    """

    op: str
    out: Operand
    ins: tuple[Operand, ...]
    site: int


class Collective(NamedTuple):
    """Fill whole bases by messages between the ranks that depend on the elements.

    ``op`` is a row of ``COLLECTIVES`` in :mod:`distnb.engines.worker.executor`; ``args`` are its
    own. A base in both ``outs`` and ``ins`` is worked on in place.
    """

    op: str
    outs: tuple[Operand, ...]
    ins: tuple[Operand, ...]
    args: tuple[Any, ...]
    site: int


class Fetch(NamedTuple):
    """Send this rank's part of a view with the reply, as value ``slot``."""

    slot: int
    operand: Operand
    site: int


class Free(NamedTuple):
    """Drop bases, and functions, whose numbers are negative."""

    bases: Ints


class Bind(NamedTuple):
    """Give arrays names in the engines' user namespace, for ``%px``; drop the names before.

    Each name comes with an Operand, or with InNotebook.
    """

    names: tuple[tuple[str, Any], ...]


class Clocks(NamedTuple):
    """Send the engine's time account with the reply, as value ``slot``."""

    slot: int


class Survey(NamedTuple):
    """Send what is in the engine's memory with the reply, as value ``slot``."""

    slot: int


class Describe(NamedTuple):
    """Send the shape and dtype of a variable of the user namespace as value ``slot``."""

    slot: int
    name: str


Command = (
    Create | Apply | Reduce | Local | Collective | Fetch | Free | Bind | Clocks | Survey | Describe
)


def written(command: Command) -> Ints:
    """Return the bases that a command writes."""
    if isinstance(command, Apply | Collective):
        return tuple(o.base for o in command.outs)
    if isinstance(command, Create):
        return (command.base,)
    if isinstance(command, Local):
        return (command.out.base,)
    return (command.out,) if isinstance(command, Reduce) else ()


def title(command: Command) -> str:
    """Return what a command does, as reports and messages name it."""
    if isinstance(command, Apply) and command.op == "map":
        return f"map ({command.ins[0].name})"
    return str(getattr(command, "op", type(command).__name__.lower()))


class Batch(NamedTuple):
    """The commands of one flush, in program order.

    ``epoch`` rises after an abort: engines then take a fresh communicator, so that no message of
    an abandoned command can meet one of a later command. ``fuse``: whether elementwise commands
    may run in groups, one pass over memory each.
    """

    number: int
    epoch: int
    commands: tuple[Command, ...]
    fuse: bool = True


#: The kind of a Param that stands for the number of a function.
FUNCTION = "function"


class Param(NamedTuple):
    """Stands in a batch's text for its value ``index``.

    ``kind`` tells what it is: the dtype of a NumPy scalar, the type of a Python scalar, a field, or
    FUNCTION.
    """

    kind: str
    index: int  # type: ignore[assignment]  # not tuple.index


class Packed(NamedTuple):
    """A batch as it travels: what is the same when a loop comes round again, and the rest.

    ``text`` are the encoded commands, where bases are numbered in the order in which they appear,
    and Params stand for scalars. ``handles`` are those of the bases, ``values`` of the Params.
    """

    number: int
    epoch: int
    text: bytes
    handles: Ints
    values: tuple[Any, ...]
    fuse: bool


class Failure(NamedTuple):
    """What went wrong in one command on one rank.

    ``kinds`` are the names of the exception's class and its bases, the nearest first, and
    ``shapes`` the local shapes of the arrays involved.
    """

    index: int  # type: ignore[assignment]  # not tuple.index
    rank: int
    kinds: tuple[str, ...]
    message: str
    traceback: str
    shapes: tuple[Ints | None, ...]


class Reply(NamedTuple):
    """What one rank answers to a batch.

    ``lost``: bases whose content is undefined after a failure. ``warnings``: (command index, text)
    of floating point warnings. ``values``: slot -> array, bytes or None. ``times``: an
    :class:`distnb.measure.records.Times` of the commands. ``aborted``: this rank gave up.
    ``failed``: a command failed on some rank; all ranks say the same.
    """

    rank: int
    failures: tuple[Failure, ...]
    lost: Ints
    warnings: tuple[tuple[int, str], ...]
    values: dict[int, Any]
    times: Any
    aborted: bool
    failed: bool = False
