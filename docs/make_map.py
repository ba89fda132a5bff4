"""Write the map of the code in ``docs/architecture.md``: rooms, who may import them, their modules.

``python docs/make_map.py`` takes the words from the first lines of docstrings, and the order from
``tools/arrows.py``. A test tells when the page is not what it would write.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import arrows  # noqa: E402 - as a script, it is not beside tools

PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- made by docs/make_map.py -->\n", "<!-- end of what is made -->\n"


def rooms(above: str = arrows.PACKAGE) -> list[str]:
    """Return the packages, in order, each before those in it."""
    inside = [f"{above}.{name}" for name in arrows.ORDER.get(above, "").split()]
    return [each for room in inside if room in arrows.ORDER for each in (room, *rooms(room))]


def importers(room: str) -> list[str]:
    """Return which packages may import a package: those after it, and after what it is in."""
    found: list[str] = []
    below = room
    while below != arrows.PACKAGE:
        above, _, name = below.rpartition(".")
        order = arrows.ORDER[above].split()
        later = [f"{above}.{other}" for other in order[order.index(name) + 1 :]]
        found += [other for other in later if other in arrows.ORDER and not apart(other, room)]
        below = above
    return found


def apart(one: str, other: str) -> bool:
    """Tell whether two packages are of sides that never meet."""
    return any(arrows.within(one, a) and arrows.within(other, b) for a, b in arrows.APART.items())


def docstring(name: str) -> str:
    """Return the docstring of a module, in Markdown."""
    path = ROOT.joinpath(*name.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return re.sub(r"(:\w+:)?`+~?([^`]+)`+", r"`\2`", text).replace("|", r"\|")


def purpose(room: str) -> str:
    """Return what belongs in a package; who may import it has a column of its own."""
    sentences = re.split(r"(?<=\.)\s+", docstring(room))
    return " ".join(s.replace("\n", " ") for s in sentences if "import" not in s)


def short(name: str) -> str:
    """Return the name of a package within ``distnb``."""
    return f"`{name.removeprefix(arrows.PACKAGE + '.')}`"


def table() -> Iterator[str]:
    """Yield the rows of the rooms."""
    yield "| room | what belongs there | may be imported by |"
    yield "|---|---|---|"
    for room in rooms():
        users = ", ".join(map(short, importers(room))) or "nobody"
        yield f"| {short(room)} | {purpose(room)} | {users} |"


def modules(room: str) -> Iterator[str]:
    """Yield the modules of a package, if there are any beside the packages in it."""
    inside = arrows.ORDER[room].split()
    there = [name for name in inside if f"{room}.{name}" not in arrows.ORDER]
    if not there:
        return
    yield f"**{short(room)}**\n"
    yield "| module | what is in it |"
    yield "|---|---|"
    for name in there:
        words = docstring(f"{room}.{name}").partition("\n")[0].removesuffix(".")
        yield f"| `{name}` | {words} |"
    yield ""


def made() -> str:
    """Return the map."""
    return "\n".join([*table(), "", *(line for room in rooms() for line in modules(room))])


def page(text: str) -> str:
    """Return the page with the map as it is now."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{made()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
