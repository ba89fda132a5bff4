"""What `make check` measures: each figure finds what it is there for, and fails where it grows."""

import json
from pathlib import Path

import pytest

from tools import house

ROOT = Path(__file__).resolve().parents[2]
#: A module with what a reader wants, and nothing else.
PLAIN = "def f(x: int) -> int:\n    return x\n"
REGISTRY = "from distnb.client.record.namespace import FUNCTIONS\n"


def built(folder, **sources):
    """Write a package of these sources, ``__`` for a dot, and return it."""
    package = folder / "distnb"
    for name, source in {"common__errors": PLAIN, **sources}.items():
        path = package / f"{name if '/' in name else name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
        for above in path.relative_to(package).parents:
            (package / above / "__init__.py").touch()  # keeps what is there
    return package


def figures(package):
    return {figure.name: figure for figure in house.figures(package, house.read(package))}


def value(package, name):
    return figures(package)[name].value


SOURCES = [
    ("circles", {"ops__a": "def f():\n    from distnb.ops import b", "ops__b": "from . import a"}),
    (
        "circles",
        {
            "ops__a": "from distnb.ops.b import f",
            "ops__b": "from distnb.ops.c import f",
            "ops__c": "if TYPE_CHECKING:\n    from distnb.ops.a import f",
        },
    ),
    ("modules beside their plural", {"ops__step": PLAIN, "ops__steps": PLAIN}),
    ("islands without a reason", {"ops__a": "from distnb.ops import b", "ops__b": PLAIN}),
    ("islands without a reason", {min(house.ISLANDS)[7:].replace(".", "__"): PLAIN}),
    ("reads of the registry", {"client__math__a": REGISTRY + "f = FUNCTIONS[1]"}),
    ("reads of the registry", {"client__math__a": REGISTRY + "f = FUNCTIONS.get(1)"}),
    ("reads of the registry", {"client__math__a": REGISTRY + "f = 1 in FUNCTIONS"}),
    ("attributes set on classes", {"client__math__a": "setattr(Array, 'f', f)"}),
    ("uses of globals()", {"client__math__a": "globals().update(f=1)"}),
    ("long modules", {"ops__a": "x = 1\n" * 501}),
]


@pytest.mark.parametrize(("name", "sources"), SOURCES)
def test_what_should_not_be_is_counted(tmp_path, name, sources):
    assert value(built(tmp_path), name) == 0
    found = figures(built(tmp_path, **sources))[name]
    assert found.value == len(found.places) == 1


GOOD = {
    # Two users, or an __init__ that lists what there is: no islands.
    "ops__a": "from distnb.ops import d",
    "ops__b": "from distnb.ops import d",
    "ops__d": PLAIN,
    "plans/__init__": "from distnb.plans import e",
    "plans__e": PLAIN,
    # To enter a function is what the registry is for; the protocols read it.
    "client__math__a": REGISTRY + "FUNCTIONS[1] = f\nFUNCTIONS.update({2: f})",
    "client__array__distarray": REGISTRY + "f = FUNCTIONS[1]",
    "client__math__b": "setattr(self, 'name', 1)",
}


def test_what_may_be_is_not_counted(tmp_path):
    found = figures(built(tmp_path, **GOOD))
    for name, _ in SOURCES:
        assert found[name].places == ()


def test_packages_have_five_to_fourteen_modules(tmp_path):
    def wrong(n):
        package = built(tmp_path / str(n), **{f"client__math__m{i}": "" for i in range(n)})
        places = figures(package)["packages of the wrong size"].places
        return any("distnb.client.math" in place for place in places)

    assert [n for n in range(3, 17) if wrong(n)] == [3, 4, 15, 16]


def test_a_package_of_packages_has_no_size(tmp_path):
    package = built(tmp_path, client__math__a="")
    assert set(house.packages(house.read(package))) == {"distnb.common", "distnb.client.math"}


def test_functions_are_measured_without_docstrings_comments_and_blank_lines(tmp_path):
    source = 'def f():\n    """Do."""\n    # so\n\n    return (\n        1)\n'
    package = built(tmp_path, common__errors=source)
    assert value(package, "longest function") == value(package, "median function") == 3


def test_docstrings_do_not_make_a_module_long(tmp_path):
    words = '"""Do.\n' + "\n" * 600 + '"""\n'
    source = f"def f():\n    {words}class A:\n    {words}    def g(self):\n        {words}"
    package = built(tmp_path, common__errors=source, common__config="\n" * 501)
    (place,) = figures(package)["long modules"].places
    assert place.endswith("config.py: 501 lines")


def test_the_share_of_any_is_of_the_clients_annotated_parameters(tmp_path):
    source = "def f(a, b: int, c: Any, *d: Any | None, e: list[Any]): ...\n"
    package = built(tmp_path, client__math__a=source, engines__worker__a="def g(a: Any): ...\n")
    assert value(package, "Any among the client's parameters") == 50.0


def test_a_figure_may_be_as_large_as_the_committed_one_and_no_larger(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(house, "COMMITTED", tmp_path / "house.json")
    monkeypatch.setattr(house.arrows, "violations", lambda folder: [])
    package = str(built(tmp_path, client__math__a="globals()"))
    assert house.main([package, "--write"]) == 0
    assert json.loads(house.COMMITTED.read_text())["uses of globals()"] == 1
    capsys.readouterr()
    built(tmp_path, client__math__b="globals()")
    assert house.main([package]) == 1
    assert "uses of globals(): 2, committed 1: WORSE" in capsys.readouterr().out
    built(tmp_path, client__math__a="", client__math__b="")
    assert house.main([package]) == 0
    assert house.main([str(tmp_path / "nowhere")]) == 1


@pytest.mark.tier("test-all")  # `make check` does it
def test_the_package_is_no_worse_than_committed():
    assert house.main([]) == 0


def test_reasons_are_for_modules_that_there_are():
    for name in house.ISLANDS:
        assert (ROOT / f"{name.replace('.', '/')}.py").is_file(), name
