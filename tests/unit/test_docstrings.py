"""What Shift-Tab shows of a public function: its parameters, what is sent, and an example."""

from __future__ import annotations

import importlib
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import distnb as dnb

#: Where users find functions.
PUBLIC = ("distnb", *(f"distnb.{n}" for n in "linalg fft random sparse graph learn".split()))
#: Room -> functions whose docstrings still miss something, at most. It may only shrink.
MISSING: dict[str, int] = {}
#: A word with which a docstring says where things are, and what goes from there.
PLACES = re.compile(
    r"\b(sen[dt]s?|travels?|lies?|layout|stays?|follows?|engines?|notebook|waits?|views?|messages)\b",
    re.IGNORECASE,
)


def functions() -> Iterator[tuple[str, Any]]:
    """Return the functions of distnb's own that users see, each once, with its public name."""
    seen = set()
    for name in PUBLIC:
        module = importlib.import_module(name)
        for word in getattr(module, "__all__", dir(module)):
            thing = getattr(module, word)
            room = getattr(thing, "__module__", None) or ""
            ours = room.startswith("distnb.") and not word.startswith("_")
            if ours and inspect.isroutine(thing) and id(thing) not in seen:
                seen.add(id(thing))
                yield f"{name}.{word}", thing


def sections(thing: Any) -> dict[str, str]:
    """Return the sections of a docstring by their headings; what comes before has none."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", inspect.getdoc(thing) or "", flags=re.MULTILINE)
    return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))


def described(section: str) -> set[str]:
    """Return the names of the parameters that a section is about."""
    heads = re.findall(r"^(\S.*)$", section, flags=re.MULTILINE)
    return {name.strip(" *") for head in heads for name in head.partition(" :")[0].split(",")}


def missing(thing: Any) -> list[str]:
    """Return what the docstring of a function does not say."""
    found, signature = sections(thing), inspect.signature(thing)
    told = described(found.get("Parameters", ""))
    faults = [f"parameter {name}" for name in signature.parameters if name not in told]
    if signature.return_annotation not in (None, "None") and "Returns" not in found:
        faults.append("what it returns")
    text = "\n".join(body for head, body in found.items() if head not in ("Parameters", "Examples"))
    if not PLACES.search(text):
        faults.append("where the result lies, or what is sent")
    if ">>> " not in found.get("Examples", ""):
        faults.append("an example")
    return faults


FUNCTIONS = dict(functions())


def methods() -> Iterator[tuple[str, Any]]:
    """Return the methods of arrays that users see."""
    for name in dir(dnb.DistArray.__new__(dnb.DistArray)):  # as they are completed
        thing = inspect.getattr_static(dnb.DistArray, name)
        if inspect.isfunction(thing) and not name.startswith("_"):
            yield name, thing


def room_of(thing: Any) -> str:
    return thing.__module__.rpartition(".")[0]


def test_public_functions_tell_their_parameters_what_is_sent_and_an_example():
    done = {name: thing for name, thing in FUNCTIONS.items() if room_of(thing) not in MISSING}
    assert {name: missing(thing) for name, thing in done.items() if missing(thing)} == {}


def test_methods_of_arrays_tell_the_same():
    found = dict(methods())
    assert {"sum", "reshape", "redistribute"} <= set(found)
    faults = {name: [f for f in missing(x) if f != "parameter self"] for name, x in found.items()}
    assert {name: found for name, found in faults.items() if found} == {}
    assert sum(hasattr(x, "documented_by") for x in found.values()) > 30


def test_no_more_is_missing_than_there_was():
    found = Counter(room_of(thing) for thing in FUNCTIONS.values() if missing(thing))
    assert {room: n for room, n in found.items() if n > MISSING.get(room, 0)} == {}


def test_the_functions_are_those_that_users_see():
    assert {"distnb.add", "distnb.sum", "distnb.linalg.svd", "distnb.fft.rfft"} <= set(FUNCTIONS)
    assert len(FUNCTIONS) > 400


def test_what_is_missing_is_found():
    def bare(x, axis=None):
        """Do something."""

    assert missing(bare) == [
        "parameter x",
        "parameter axis",
        "what it returns",
        "where the result lies, or what is sent",
        "an example",
    ]
    assert missing(dnb.add) == []
