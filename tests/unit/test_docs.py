"""Every example runs: those of the pages, of the README and of the docstrings."""

from __future__ import annotations

import ast
import dataclasses
import doctest
import functools
import importlib
import importlib.util
import inspect
import itertools
import json
import pkgutil
import re
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from matplotlib import pyplot
from traitlets.config import Config

import distnb as dnb
from distnb import magics
from distnb.client.session import current
from distnb.common import native
from docs import themes
from tests.browser.views import VIEWS
from tests.contract.support import known_to_xarray
from tools import arrows

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
FOUND = [m.name for m in pkgutil.walk_packages(dnb.__path__, "distnb.")]
#: Modules of C, which say in their sources what they do.
OF_C = {f"distnb.{folder}.{name}" for folder, names in native.EXTRA.items() for name in names}
MODULES = ["distnb", *(m for m in FOUND if m not in OF_C)]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    """A fenced block of a page: its language, its text, and the line before its text."""

    language: str
    text: str
    line: int


def blocks_of(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in re.finditer(r"^```(\S*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        yield Block(found[1], found[2], text.count("\n", 0, found.start()) + 1)


def examples(language: str, prompts: bool, without: str = "\0") -> list:
    """Return parameters: a page, and its blocks in a language, with or without prompts."""
    found = []
    for page in PAGES:
        blocks = [
            b
            for b in blocks_of(page)
            if b.language == language and (">>>" in b.text) == prompts and without not in b.text
        ]
        if blocks:
            found.append(pytest.param(page, blocks, id=page.name))
    return found


#: Methods of arrays that show the examples of their functions.
WITH_FUNCTIONS = {name for name, f in vars(dnb.DistArray).items() if hasattr(f, "documented_by")}


def check(test: doctest.DocTest) -> None:
    """Run a doctest; fail with what it reports."""
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    if runner.run(test, out=report.append).failed:
        pytest.fail("".join(report), pytrace=False)


@pytest.fixture(autouse=True)
def tidy(monkeypatch, tmp_path):
    """Run in an empty folder; close what an example leaves open."""
    monkeypatch.chdir(tmp_path)
    pyplot.switch_backend("agg")
    before = list(current._CURRENT)
    monkeypatch.setattr(dnb.config, "cutoff", dnb.Config.cutoff)  # as readers have it
    monkeypatch.setattr(dnb.config, "show_wait", 60.0)  # elements, however busy the machine is
    yield
    for session in [s for s in current._CURRENT if s not in before]:
        session.close()
    pyplot.close("all")


@pytest.mark.tier("test")
@pytest.mark.parametrize(("page", "blocks"), examples("python", prompts=True))
def test_prompts_on_pages(page, blocks, tmp_path, monkeypatch):
    lines = [""] * page.read_text(encoding="utf-8").count("\n")
    for block in blocks:  # keep line numbers
        text = block.text.splitlines()
        lines[block.line : block.line + len(text)] = text
    name = page.name
    test = doctest.DocTestParser().get_doctest("\n".join(lines) + "\n", {}, name, str(page), 0)
    known = known_to_xarray(tmp_path, monkeypatch) if name == "xarray.md" else nullcontext()
    with known:
        check(test)


@pytest.mark.tier("test")
@pytest.mark.parametrize(("page", "blocks"), examples("python", prompts=False))
def test_scripts_on_pages(page, blocks, monkeypatch):
    monkeypatch.setattr(dnb, "start", lambda n=None: dnb.inprocess(n or 2))
    monkeypatch.setattr(dnb, "connect", lambda **_: dnb.inprocess(2))
    names = {"__name__": "__main__", "get_config": Config}  # which profiles are read with
    for block in blocks:
        exec(compile("\n" * block.line + block.text, str(page), "exec"), names)


@pytest.mark.tier("test")
@pytest.mark.parametrize(("page", "blocks"), examples("ipython", prompts=False, without="%px"))
def test_cells_on_pages(page, blocks):
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "distnb")
    try:
        with dnb.inprocess(3):
            shell.user_ns |= {"dnb": dnb, "np": np, "A": dnb.ones((9, 9))}
            for block in blocks:
                shell.run_cell(block.text).raise_error()
    finally:
        shell.run_line_magic("unload_ext", "distnb")
        shell.user_ns.clear()
        InteractiveShell.clear_instance()


@pytest.mark.tier("test")
@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    module = importlib.import_module(name)
    told = {f"{name}.DistArray.{method}" for method in WITH_FUNCTIONS}  # the functions' examples
    for test in doctest.DocTestFinder(exclude_empty=True).find(module):
        if test.examples and test.name not in told:
            check(test)


def test_reference_names_everything_public():
    pages = [(ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("api.md", "ops.md")]
    words = set(re.findall(r"\w+", " ".join(pages)))
    assert set(dnb.__all__) - words == set()


def entries() -> set[str]:
    """Return the names in the reference that have a page of their own."""
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    tables = re.findall(r"   :toctree: generated\n(?:   :.*\n)*\n((?:   \S+\n)+)", text)
    return set(" ".join(tables).split())


def test_every_public_function_has_a_page():
    named = {
        "": dnb,
        "fft.": dnb.fft,
        "linalg.": dnb.linalg,
        "plot.": dnb.plot,
        "graph.": dnb.graph,
    }
    for prefix, module in named.items():
        functions = {
            f"{prefix}{name}"
            for name in module.__all__
            if inspect.isroutine(found := getattr(module, name))
            and str(found.__module__).startswith("distnb")
        }
        assert functions - entries() == set()


def test_pages_of_the_reference_are_about_what_is_there():
    for name in entries():
        assert pkgutil.resolve_name(f"distnb.{name}") is not None, name


def test_page_of_operations_is_made_of_the_operations():
    make_ops = script("make_ops")
    coverage = "## NumPy's names"  # these depend on its version
    found = make_ops.PAGE.read_text(encoding="utf-8").partition(coverage)[0]
    assert found == make_ops.page().partition(coverage)[0], "run docs/make_ops.py"


def script(name):
    """Return a script of ``docs`` as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows_after(text: str, head: str) -> list[list[str]]:
    """Return the rows of the table with this head."""
    lines = text[text.index(head) :].partition("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def test_map_of_the_code_is_that_of_the_code():
    make_map = script("make_map")
    text = make_map.PAGE.read_text(encoding="utf-8")
    assert text == make_map.page(text), "run docs/make_map.py"


def test_map_of_the_code_names_every_module():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    words = set(re.findall(r"\w+", text[: text.index("### Import arrows")]))
    assert {name.rpartition(".")[2] for name in MODULES} - words == set()


def rooms_of(name: str) -> set[str]:
    """Return the packages where a function or class is defined."""
    if name.startswith("distnb."):
        found = functools.reduce(getattr, name.split(".")[1:], dnb)
        return {found.__module__.rpartition(".")[0]}
    return {module.rpartition(".")[0] for module in MODULES if name in defined_in(module)}


@functools.cache
def defined_in(module: str) -> set[str]:
    """Return the names of a module's functions and classes."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return set()
    path = Path(spec.origin)
    if path.suffix == ".so":  # of a module that is compiled
        path = ROOT.joinpath(*module.split(".")).with_suffix(".py")
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def test_names_are_in_the_rooms_where_a_reader_looks_for_them():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = rows_after(text, "| name | room |")
    assert len(rows) == 21
    for words, room in rows:
        name = words.partition("`")[2].partition("`")[0]
        assert rooms_of(name) == {f"distnb.{room.strip('`')}"}, name


def test_who_may_import_a_room_is_what_the_arrows_allow():
    """As the table says it, asked of ``tools/arrows.py`` for each pair of rooms."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    listed = {
        f"distnb.{room.strip('`')}": [f"distnb.{name}" for name in re.findall(r"`(.*?)`", users)]
        for room, _, users in rows_after(text, "| room | what belongs there")
    }
    assert set(listed) == set(arrows.ORDER) - {arrows.PACKAGE}
    full = [room for room in listed if not any(other.startswith(f"{room}.") for other in listed)]
    for target, source in itertools.permutations(full, 2):
        item = arrows.Import(1, f"{target}.one", in_function=False)
        told = any(arrows.within(source, user) for user in listed[target])
        assert told == (not arrows.against(f"{source}.other", item)), (source, target)


def test_modules_that_the_pages_name_are_there():
    """Also in the text: ``client.record.operations.elementwise`` in backticks."""
    sides = "|".join(room.partition(".")[2] for room in arrows.ORDER if room.count(".") == 1)
    for page in PAGES:
        for name in re.findall(rf"`((?:{sides})(?:\.[a-z_]+)+)`", page.read_text(encoding="utf-8")):
            assert pkgutil.resolve_name(f"distnb.{name}") is not None, (page, name)


@functools.cache
def anchors_of(page: Path) -> set[str]:
    """Return what links can name of a page: its headings, as code hosts and myst spell them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    found: set[str] = set()
    for title in re.findall(r"^#{1,3} (.*)$", text, re.MULTILINE):
        slug = re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
        others = (f"{slug}-{n}" for n in itertools.count(1))
        found.add(next(s for s in itertools.chain([slug], others) if s not in found))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for link, _, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(#?)([^)\s]*)\)", text):
        target = (page.parent / link) if link else page
        assert target.exists(), link
        assert not anchor or anchor in anchors_of(target), (link, anchor)


def test_anchors_are_those_of_the_headings():
    assert {"layouts", "choose-by-hand"} <= anchors_of(ROOT / "docs" / "layouts.md")
    assert "nowhere" not in anchors_of(ROOT / "docs" / "layouts.md")
    assert "distscale-is-it-worth-more-engines-and-what-is-in-the-way" in anchors_of(
        ROOT / "docs" / "glance.md"
    )


def told(page: Path) -> str:
    """Return the text of a page; of a notebook, its cells without what they print."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        text = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    return text


@pytest.mark.parametrize(
    "word", ["csv", "pandas", "slurm", "pbs", "ssh", "timeit", "timing", "faq", "troubleshooting"]
)
def test_search_finds_a_heading(word):
    """Words of headings come first in what a search of the built pages finds."""
    heads = [
        head
        for page in (ROOT / "docs").glob("*.md")
        for head in re.findall(r"^#{1,3} .*$", page.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert any(word in re.findall(r"\w+", head.lower()) for head in heads)


@functools.cache
def said() -> str:
    """Return all strings of the code, a line each: what its messages are made of."""
    found = []
    for path in sorted((ROOT / "distnb").rglob("*.py")):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        found += [
            n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)
        ]
    return "\n".join(" ".join(text.split()) for text in found)


def test_messages_on_the_page_of_troubleshooting_are_those_of_the_code():
    text = told(ROOT / "docs" / "troubleshooting.md")
    seen = [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| ")]
    quoted = [words for cell in seen for words in re.findall(r"`([^`]+)`", cell)]
    messages = [words for words in quoted if words.count(" ") > 1 and "magic function" not in words]
    assert len(messages) > 25
    for message in messages:
        for part in re.split(r"(?:[:,] )?\b(?:got|expected)\b|\d+", message):
            known = part.strip() in said()
            assert known, (message, part)


@pytest.mark.parametrize("page", PAGES + NOTEBOOKS, ids=lambda page: page.name)
def test_magics_that_pages_name_are_registered(page):
    known = {(kind, name) for kind, names in magics._names().items() for name in names}
    named = {
        ("cell" if sign == "%%" else "line", name)
        for sign, name in re.findall(r"(?<!%)(%%?)(dist\w*)", told(page))
    }
    assert named - known == set()


def test_every_magic_is_on_the_page_of_magics():
    page = told(ROOT / "docs" / "magics.md")
    for kind, names in magics._names().items():
        sign = "%%" if kind == "cell" else "%"
        assert [n for n in names if not re.search(rf"(?<!%){sign}{n}\b", page)] == [], kind


def test_every_setting_is_in_the_table_of_settings():
    rows = rows_after(told(ROOT / "docs" / "quickstart.md"), "| setting | default |")
    assert {row[0].strip("`") for row in rows} == {f.name for f in dataclasses.fields(dnb.Config)}


def test_pictures_of_pages_are_there_in_dark_colours_too():
    """All but screens, which pages show twice, those of times, and those that notebooks draw."""
    others = {"report.png", "time.png"}
    folder = ROOT / "docs" / "images"
    light = {
        path
        for path in folder.glob("*.png")
        if not path.stem.endswith("-dark") and not path.stem.startswith("gallery-")
    }
    for path in light - {folder / name for name in others}:
        twin = path.with_stem(f"{path.stem}-dark")
        assert pyplot.imread(twin).shape[:2] == pyplot.imread(path).shape[:2], path
        assert pyplot.imread(twin)[0, 0, :3].max() < 0.2, twin
        assert pyplot.imread(path)[0, 0, :3].min() > 0.9, path


def test_pictures_are_drawn_in_both_styles():
    ground = {}
    for path in themes.in_both(Path("speed.png")):
        ground[path.name] = pyplot.rcParams["savefig.facecolor"]
    assert ground == {"speed.png": "white", "speed-dark.png": themes.GROUND}
    assert pyplot.rcParams["savefig.facecolor"] == "auto"


def test_every_view_is_shown_in_light_and_dark_with_its_question():
    page = (ROOT / "docs" / "glance.md").read_text(encoding="utf-8")
    for name, view in VIEWS.items():
        assert f": {view.question[0].lower()}{view.question[1:]}\n" in page
        for theme in ("light", "dark"):
            path = f"images/screens/{name}-{theme}.png"
            assert f"]({path})" in page
            assert (ROOT / "docs" / path).exists()
