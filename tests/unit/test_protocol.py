"""Messages come back as they were sent, and can carry nothing but data."""

import os
import pickle
import pickletools
import sys
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distnb import testing
from distnb.geometry import axes
from distnb.geometry.views import View
from distnb.ops import table
from distnb.wire import encoding, protocol
from distnb.wire.encoding import _ALLOWED, decode, encode, unpack
from distnb.wire.messages import Batch, Failure
from distnb.wire.protocol import (
    Apply,
    Ask,
    Bind,
    Collective,
    Create,
    Fetch,
    Free,
    Function,
    InNotebook,
    Lay,
    Operand,
    Reduce,
    Typed,
)
from tests.tiers import examples

COUNT = st.integers(0, 1 << 40)
SITE = st.just(0)  # engines need none
SHAPES = testing.shapes()
NAMES = st.text(max_size=8)
NUMBERS = st.one_of(
    st.booleans(), st.integers(), st.floats(allow_nan=False), st.complex_numbers(allow_nan=False)
)
DTYPES = testing.dtypes().map(lambda d: d.str)


@st.composite
def operands(draw):
    base, view = draw(testing.views(draw(SHAPES)))
    assert len(base) >= 0
    return Operand(draw(COUNT), view)


@st.composite
def creates(draw):
    shape = draw(SHAPES)
    layout = draw(testing.layouts(shape, draw(st.integers(1, 9))))
    how = draw(
        st.one_of(
            st.just(("empty",)),
            st.tuples(st.just("fill"), NUMBERS | st.builds(Typed, DTYPES, NUMBERS)),
            st.tuples(st.just("index"), COUNT, NUMBERS, NUMBERS),
            st.tuples(st.just("random"), NAMES, COUNT, COUNT, st.tuples(NUMBERS, NUMBERS)),
            st.tuples(st.just("data"), COUNT),
            st.tuples(st.just("local"), NAMES),
            st.tuples(st.just("at"), COUNT, st.just("fill"), NUMBERS),
        )
    )
    return Create(draw(COUNT), shape, draw(DTYPES), layout, how, draw(SITE))


OPERANDS = operands()
HERE = st.builds(InNotebook, SHAPES, DTYPES)
SCALARS = NUMBERS | st.builds(Typed, DTYPES, NUMBERS) | st.builds(Function, COUNT, st.just(""))
INPUTS = st.lists(OPERANDS | SCALARS, max_size=3).map(tuple)
OPTIONS = st.lists(st.tuples(NAMES, NAMES), max_size=2).map(tuple)
APPLIES = st.builds(
    Apply,
    st.sampled_from(sorted(table.ELEMENTWISE)),
    st.lists(OPERANDS, min_size=1, max_size=2).map(tuple),
    INPUTS,
    st.none() | OPERANDS,
    OPTIONS,
    SITE,
)
REDUCES = st.builds(
    Reduce, st.sampled_from(sorted(table.REDUCTIONS)), COUNT, OPERANDS, SHAPES, DTYPES, SITE
)
OTHERS = [
    st.builds(
        Collective,
        st.just("sort"),
        st.tuples(OPERANDS),
        st.tuples(OPERANDS),
        st.tuples(COUNT, st.none() | NAMES),
        SITE,
    ),
    st.builds(Fetch, COUNT, OPERANDS, SITE),
    st.builds(Fetch, COUNT, OPERANDS, SITE, COUNT),
    st.builds(Free, SHAPES),
    st.builds(Bind, st.lists(st.tuples(NAMES, OPERANDS | HERE), max_size=2).map(tuple)),
    st.builds(Ask, COUNT, NAMES, st.lists(COUNT | NAMES, max_size=3).map(tuple)),
    st.builds(Lay, COUNT, OPERANDS, COUNT, SITE),
]
COMMANDS = st.one_of(creates(), APPLIES, REDUCES, *OTHERS)
BATCHES = st.builds(Batch, COUNT, COUNT, st.lists(COMMANDS, max_size=4).map(tuple))


@given(BATCHES)
@examples(200)
def test_round_trip(batch):
    found = decode(encode(batch))
    assert found == batch
    assert same_types(found, batch)


def same_types(a, b):
    """Tell apart what is equal: a tuple from a command, True from 1, 2 from 2.0."""
    if type(a) is not type(b):
        return False
    return not isinstance(a, tuple) or all(map(same_types, a, b))


def test_every_command_is_tested():
    """Whoever adds a command adds it here: all of them make the round trip above."""
    tested = {Create, Apply, Reduce, Collective, Fetch, Free, Bind, Ask, Lay}
    commands = set(get_args(protocol.Command))
    unchecked = {c.__name__ for c in commands - tested}
    for name in unchecked:
        cls = getattr(protocol, name)
        empty = cls(*[()] * len(cls._fields))
        assert decode(encode(empty)) == empty
        assert type(decode(encode(empty))) is cls
    assert tested <= commands


@given(
    st.builds(Failure, COUNT, COUNT, st.tuples(NAMES), NAMES, NAMES, st.tuples(SHAPES, st.none()))
)
def test_failures_travel(failure):
    assert decode(encode(failure)) == failure


@pytest.mark.parametrize("name", sorted(axes.KINDS))
def test_every_kind_of_axis_travels(name):
    kind = axes.KINDS[name]
    made = {"BlockCyclic": (3,), "Irregular": ((0, 2, 5),), "SlicedBlock": (9, 1)}.get(
        kind.__name__, ()
    )
    axis = kind(*made)
    assert decode(encode(axis)) == axis


@pytest.mark.parametrize(
    "value", [float("inf"), float("-inf"), -0.0, 2**100, -(2**63), 1e-320, "ä\0b", b"x"]
)
def test_extreme_values_travel(value):
    found = decode(encode(Typed("<f8", value))).value
    assert type(found) is type(value)
    assert repr(found) == repr(value)


def test_messages_are_small():
    """A command costs about a hundred bytes, most of them once a message."""
    operand = Operand(12, View.whole((2048, 2048)))
    one = Apply("add", (operand,), (operand, operand), None, (), 3)
    assert len(encode(Batch(1, 0, (one,)))) < 500
    thousand = Batch(
        1, 0, tuple(one._replace(outs=(Operand(i, operand.view),)) for i in range(1000))
    )
    assert len(encode(thousand)) < 60_000


def turn(first, factor, site):
    """Return what a loop records in one turn."""
    view = View.whole((5,))
    layout = testing.Layout(testing.Grid.of((2,)), (axes.Block(),), (0,))
    return (
        Create(first + 1, (5,), "<f8", layout, ("fill", factor), site),
        Apply(
            "multiply",
            (Operand(first + 1, view),),
            (Operand(first, view), factor),
            Operand(9, view),
            (),
            site,
        ),
        Free((first,)),
        Reduce("sum", first + 2, Operand(first + 1, view), (0,), "<f8", site),
        Bind((("x", Operand(first + 1, view)),)),
        Fetch(first, Operand(first + 2, view), site),
    )


def test_turns_of_a_loop_have_one_text():
    one, other = (
        unpack(encode(Batch(k, 0, turn(first, factor, site))))
        for k, first, factor, site in [(1, 20, 0.5, 3), (2, 30, 1e9, 4)]
    )
    assert one.normalised == other.normalised
    assert (one.handles, other.handles) == ((21, 20, 9, 22), (31, 30, 9, 32))
    assert (one.values, other.values) == (((0.5,), 0.5, 20), ((1e9,), 1e9, 30))


def test_other_types_of_scalars_have_other_texts():
    texts = {
        unpack(encode(Batch(1, 0, (Apply("add", (), (x,), None, (), 0),)))).normalised
        for x in (True, 1, 1.0, 1j, Typed("<f8", 1.0), Typed("<f4", 1.0))
    }
    assert len(texts) == 6


# -- nothing but data --------------------------------------------------------------------------


class Runs:
    """Pickles to a call of any function."""

    def __init__(self, function, *args):
        self.call = function, args

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (os.system, ("touch attacked",)),
        (eval, ("open('attacked', 'w')",)),
        (exec, ("open('attacked', 'w')",)),
        (getattr, ("", "format")),
        (__import__, ("os",)),
        (open, ("attacked", "w")),
        (np.fromfile, ("attacked",)),
        (pickle.loads, (pickle.dumps(1),)),
        (print, ("attacked",)),
        (type, ("X", (), {})),
        (bytearray, (1 << 40,)),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_code_is_refused(function, args, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    attack = Runs(function, *args)
    for message in (
        attack,
        Batch(1, 0, (attack,)),
        Batch(1, 0, (Free((attack,)),)),
        Create(1, (attack,), "<f8", None, (), 0),
    ):
        for number in range(2, pickle.HIGHEST_PROTOCOL + 1):
            with pytest.raises(pickle.UnpicklingError, match="expected commands of distnb"):
                decode(pickle.dumps(message, protocol=number))
    assert os.listdir(tmp_path) == []
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "value",
    [
        np.arange(3),
        np.dtype("f4"),
        slice(1, 2),
        {1}.union,
        range(3),
        object(),
        test_messages_are_small,
        Runs,
        View,
    ],
)
def test_other_objects_are_refused(value):
    with pytest.raises(pickle.UnpicklingError, match="send data only"):
        decode(encode(Batch(1, 0, (value,))))


@pytest.mark.parametrize(
    "message",
    [
        (),
        (1, 2),
        (1, 2, 3),
        (1, 2, [("x", 3)]),
        (1, 2, [("a", 3)]),
        (1, 2, [()]),
        (1, 2, [("c", 3)]),
        (1,) * 9,
        (1, 2, 3, (), (), True),
        (1, 2, b"", (), ()),
        (1, 2, pickle.dumps(5), (), (), True),
        (1, 2, pickle.dumps([("x", 3)]), (), (), True),
        (1, 2, pickle.dumps([("a", 3)]), (), (), True),
        (1, 2, pickle.dumps([()]), (), (), True),
        (1, 2, pickle.dumps([("f", (3,))]), (7,), (), True),
    ],
    ids=str,
)
def test_tuples_that_are_no_batch_are_refused(message):
    with pytest.raises(pickle.UnpicklingError, match="expected a batch; send data only"):
        decode(pickle.dumps(message))


@pytest.mark.parametrize("named", _ALLOWED)
def test_messages_change_no_class(named):
    """Neither by attributes that a pickle sets of what it names, nor by state that it gives it."""
    name = b"".join(b"\x8c" + bytes([len(x)]) + x.encode() for x in named)
    for state in (b"}\x8c\x03set\x4b\x05s", b"N}\x8c\x03set\x4b\x05s\x86"):
        with pytest.raises(pickle.UnpicklingError, match="send data only"):
            decode(b"\x80\x04" + name + b"\x93" + state + b"b.")
    module, cls = named
    assert not hasattr(getattr(sys.modules[module], cls), "set")


def test_a_refusal_does_not_show_what_was_sent():
    """That may be as deep as it likes, or double with each byte."""
    deep = b"\x80\x04)" + b"\x85" * 100_000 + b"."
    doubling = b"\x80\x04)" + b"2\x86" * 200 + b"."
    of_text = b"\x80\x04\x8c\x08builtins\x8c\x03str\x93" + doubling[2:-1] + b"\x85R."
    with pytest.raises(pickle.UnpicklingError, match="got tuple, expected text"):
        decode(of_text)
    for message in (deep, doubling):
        with pytest.raises(pickle.UnpicklingError, match="got tuple, expected a batch"):
            decode(message)


def test_classes_are_named_by_the_message_as_they_are():
    """No detour over attributes of what is allowed reaches anything else."""
    for module, name in [
        ("distnb.wire.protocol", "pickle.loads"),
        ("distnb.wire.protocol", "io"),
        ("distnb.geometry.views", "View.whole"),
        ("distnb.geometry.views", "View.__init_subclass__"),
        ("distnb.geometry.views", "dataclass"),
        ("builtins", "complex.__class__"),
        ("distnb.geometry.axes", "__builtins__"),
        ("copyreg", "add_extension"),
        ("copyreg", "pickle"),
        ("copyreg", "constructor"),
    ]:
        raw = b"\x80\x04" + b"".join(b"\x8c" + bytes([len(x)]) + x.encode() for x in (module, name))
        with pytest.raises(pickle.UnpicklingError):
            decode(raw + b"\x93.")


@given(BATCHES, st.data())
@examples(300)
def test_damaged_messages_do_no_harm(batch, data):
    """They raise, or give some data; they never run anything."""
    raw = bytearray(encode(batch))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(raw) - 1))
        how = data.draw(st.integers(0, 2))
        if how == 0:
            raw[at] = data.draw(st.integers(0, 255))
        elif how == 1:
            del raw[at : at + data.draw(st.integers(1, 5))]
        else:
            raw[at:at] = data.draw(st.binary(min_size=1, max_size=5))
        if not raw:
            return
    decoded_is_data(bytes(raw))


@given(st.binary(max_size=60))
def test_noise_does_no_harm(raw):
    decoded_is_data(raw)


def decoded_is_data(raw):
    """Decode a message that may be nonsense."""
    if reserves_memory(raw):
        return
    try:
        found = decode(raw)
    except Exception:
        return
    assert only_data(found)


def reserves_memory(raw):
    """Tell whether pickle would reserve memory for more objects than there are."""
    try:
        for code, arg, _ in pickletools.genops(raw):
            if code.name.endswith("PUT") and arg > 1000:
                return True
            if isinstance(arg, bytes) and reserves_memory(arg):  # the text of a batch
                return True
    except Exception:
        pass  # decoding gets no further than this either
    return False


def only_data(found, above=()):
    """Tell whether something is made of numbers, text, and what the protocol knows."""
    if any(found is x for x in above):  # damage may put a list into itself
        return True
    if isinstance(found, list | tuple | set | frozenset):
        return all(only_data(x, (*above, found)) for x in found)
    if isinstance(found, dict):
        items = (*found, *found.values())
        return all(only_data(x, (*above, found)) for x in items)
    plain = (int, float, complex, str, bytes, bytearray, type(None))
    known = tuple(encoding._ALLOWED.values())
    return isinstance(found, (*plain, *known, type))


def test_what_is_sent_needs_no_code():
    """The messages themselves name classes of the protocol and nothing else."""
    layout = testing.Layout(testing.Grid.of((2,)), (axes.Block(),), (0,))
    create = Create(1, (4,), "<f8", layout, ("fill", 2j), 0)
    used = set()
    strings = []
    message = encode(Batch(1, 0, (create,)))
    for part in (message, unpack(message).normalised):
        for code, arg, _ in pickletools.genops(part):
            if isinstance(arg, str):
                strings.append(arg)
            if code.name == "STACK_GLOBAL":
                used.add(tuple(strings[-2:]))
    assert len(used) >= 4
    assert all(name in encoding._ALLOWED or name[0] == "copyreg" for name in used if "." in name[0])


def test_numbers_of_numpy_travel_as_pythons():
    view = View((np.int64(3),), ((0, np.int8(1), 1),))
    command = Fetch(0, Operand(1, view), 0)
    (found,) = decode(encode(Batch(1, 0, (command,)))).commands
    assert found == command
    assert [type(n) for n in (*found.operand.view.shape, *found.operand.view.dims[0])] == [int] * 4
    (found,) = decode(encode(Batch(1, 0, (Ask(0, np.str_("clocks")),)))).commands
    assert (type(found.what), found.what) == (str, "clocks")
