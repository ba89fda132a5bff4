"""What travels between the client and the engines: commands, batches and replies.

Commands are data: tuples of numbers, strings and tuples, and the frozen classes of the layout
vocabulary. They are encoded with pickle's compact format, but decoded by an unpickler that can
build the classes listed here and nothing else, so a message cannot carry code.
"""

from __future__ import annotations

import io
import pickle
from typing import Any, NamedTuple

from distnb import axes
from distnb.layout import Grid, Ints, Layout
from distnb.views import View

__all__ = [
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
    "InNotebook",
    "Local",
    "Operand",
    "Reduce",
    "Reply",
    "Typed",
    "decode",
    "encode",
    "written",
]

#: Version of the messages; client and engines must agree.
PROTOCOL = 3


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

    ``ins`` holds Operands, Typed scalars and Python scalars; ``where`` a mask or None; ``options``
    the ufunc's ``casting`` and ``dtype``.
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

    ``op`` is a row of ``COLLECTIVES`` in :mod:`distnb.engines.executor`; ``args`` are its own. A
    base in both ``outs`` and ``ins`` is worked on in place.
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
    """Drop bases."""

    bases: Ints


class Bind(NamedTuple):
    """Give arrays names in the engines' user namespace, for ``%px``; drop the names before.

    Each name comes with an Operand, or with InNotebook.
    """

    names: tuple[tuple[str, Any], ...]


class Clocks(NamedTuple):
    """Send the engine's time account with the reply, as value ``slot``."""

    slot: int


class Describe(NamedTuple):
    """Send the shape and dtype of a variable of the user namespace as value ``slot``."""

    slot: int
    name: str


Command = Create | Apply | Reduce | Local | Collective | Fetch | Free | Bind | Clocks | Describe


def written(command: Command) -> Ints:
    """Return the bases that a command writes."""
    if isinstance(command, Apply | Collective):
        return tuple(o.base for o in command.outs)
    if isinstance(command, Create):
        return (command.base,)
    if isinstance(command, Local):
        return (command.out.base,)
    return (command.out,) if isinstance(command, Reduce) else ()


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
    of floating point warnings. ``values``: slot -> array, bytes or None. ``times``: one row for
    each command as in :mod:`distnb.events`. ``aborted``: this rank gave up. ``failed``: a command
    failed on some rank; all ranks say the same.
    """

    rank: int
    failures: tuple[Failure, ...]
    lost: Ints
    warnings: tuple[tuple[int, str], ...]
    values: dict[int, Any]
    times: Any
    aborted: bool
    failed: bool = False


_ALLOWED: dict[tuple[str, str], Any] = {
    (cls.__module__, cls.__qualname__): cls
    for cls in (
        *(
            Operand,
            InNotebook,
            Typed,
            Create,
            Apply,
            Reduce,
            Fetch,
            Free,
            Bind,
            Clocks,
            Describe,
            Local,
            Collective,
            Batch,
            Failure,
        ),
        *(Layout, Grid, View),
        *axes.KINDS.values(),
        complex,
    )
}


class _DataUnpickler(pickle.Unpickler):
    """Builds the classes of the protocol and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if module == "copyreg" and name in ("__newobj__", "_reconstructor"):
            return super().find_class(module, name)
        found = _ALLOWED.get((module, name))
        if found is None:
            raise pickle.UnpicklingError(
                f"message: got {module}.{name}, expected commands of distnb; send data only"
            )
        return found


def encode(message: object) -> bytes:
    """Return a message as bytes.

    >>> decode(encode(Batch(1, 0, (Free((7,)),))))
    Batch(number=1, epoch=0, commands=(Free(bases=(7,)),), fuse=True)
    """
    if isinstance(message, Batch):
        flat: Any = [_flat(c) for c in message.commands]
        message = tuple(message._replace(commands=flat))
    return pickle.dumps(message, protocol=5)


def decode(data: bytes) -> Any:
    """Return the message that :func:`encode` made; raise UnpicklingError on anything else."""
    found = _DataUnpickler(io.BytesIO(data)).load()
    if type(found) is not tuple:
        return found
    try:
        batch = Batch(*found)
        return batch._replace(commands=tuple([_round(c) for c in batch.commands]))
    except (TypeError, ValueError) as error:
        raise pickle.UnpicklingError(
            f"message: got {str(found)[:80]}, expected a batch; send data only"
        ) from error


# Pickle writes plain tuples several times faster than named ones. So the commands that come by the
# thousand travel as plain tuples, with a letter in front, and their operands as pairs.


def _flat(command: Command) -> Any:
    if type(command) is Apply:
        op, outs, ins, where, options, site = command
        pairs = tuple([tuple(x) if type(x) is Operand else x for x in ins])
        mask = None if where is None else tuple(where)
        return ("a", op, tuple([tuple(o) for o in outs]), pairs, mask, options, site)
    if type(command) is Create:
        return ("c", *command)
    return ("f", command.bases) if type(command) is Free else command


def _round(command: Any) -> Command:
    """Undo :func:`_flat`."""
    if type(command) is not tuple:
        return command
    kind, *fields = command
    if kind == "a":
        op, outs, pairs, mask, options, site = fields
        make = Operand._make
        ins = tuple([make(x) if type(x) is tuple else x for x in pairs])
        where = None if mask is None else make(mask)
        return Apply(op, tuple([make(o) for o in outs]), ins, where, options, site)
    if kind in ("c", "f"):
        return Create(*fields) if kind == "c" else Free(*fields)
    raise ValueError(f"got a command {kind!r}")
