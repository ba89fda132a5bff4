"""Configuration of Sphinx."""

import re
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

project = "distnb"
author = "The distnb developers"
copyright = f"2026, {author}"
release = version = version_of("distnb")

extensions = [
    "myst_nb",
    "sphinx_design",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # pages run as tests, and `make docs` runs notebooks/run.py before
nb_mime_priority_overrides = [("html", "text/html", 0)]  # what widgets are without a kernel

templates_path = ["_templates"]  # of the pages of functions, methods and classes

autodoc_class_signature = "separated"  # users do not make these objects themselves
autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = f"distnb {release}"
# Beside the reference there would be a tree of 900 functions.
_PLAIN = ("index", "api", "ops", "conformance", "glossary", "generated/*")
html_sidebars: dict[str, list[str]] = {name: [] for name in _PLAIN}
html_theme_options = {
    "header_links_before_dropdown": 6,
    "navigation_with_keys": True,
    "show_toc_level": 2,
    "navbar_align": "left",
}


class InDarkToo(SphinxTransform):
    """Shows ``name-dark.png`` beside ``name.png`` where it is there, each on pages of its colours.

    So pages name one picture, as code hosts show it.
    """

    default_priority = 500

    def apply(self, **_: Any) -> None:
        """Add the dark pictures of a page."""
        folder = Path(self.env.doc2path(self.env.docname)).parent
        for image in list(self.document.findall(nodes.image)):
            path = Path(image["uri"])
            twin = path.with_stem(f"{path.stem}-dark")
            if (folder / twin).exists():
                dark = image.deepcopy()
                dark["uri"] = twin.as_posix()
                image["classes"].append("only-light")
                dark["classes"].append("only-dark")
                image.parent.insert(image.parent.index(image) + 1, dark)


class NamesLead(SphinxTransform):
    """Makes names in tables, and those of the operations, links to the pages of the functions.

    They are code in backticks on the pages, as code hosts show them.
    """

    default_priority = 500

    def apply(self, **_: Any) -> None:
        """Wrap the names of a page in references; those that are of nothing stay as they are."""
        if not str(self.document.get("source")).endswith(".md"):
            return  # a docstring, or a part of one that a table shows
        text = (Path(self.env.srcdir) / "api.md").read_text(encoding="utf-8")
        known = set(re.findall(r"^   ([a-zA-Z_][\w.]*)$", text, re.MULTILINE))
        operations = self.env.docname == "ops"
        for literal in list(self.document.findall(nodes.literal)):
            if isinstance(literal.parent, addnodes.pending_xref):
                continue  # a link already
            found = re.match(r"(dnb\.|distnb\.)?([a-zA-Z_]\w*(?:\.\w+)*)(\(|$)", literal.astext())
            if found and (operations or (found[1] and _in_table(literal))):
                rooms = ["", "linalg.", "fft."] if operations else [""]
                if operations and "fft" in _section_ids(literal):
                    rooms.reverse()
                names = [name for room in rooms if (name := room + found[2]) in known]
                if names:
                    self._link(literal, f"distnb.{names[0]}")

    def _link(self, literal: nodes.literal, target: str) -> None:
        link = addnodes.pending_xref(
            "", refdomain="py", reftype="obj", reftarget=target, refwarn=True, refexplicit=True
        )
        literal.replace_self(link)
        link += literal


def _section_ids(node: nodes.Node | None) -> list[str]:
    while node is not None and not isinstance(node, nodes.section):
        node = node.parent
    return [] if node is None else list(node["ids"])


def _in_table(node: nodes.Node | None) -> bool:
    while node is not None and not isinstance(node, nodes.entry):
        node = node.parent
    return node is not None


def setup(app: Any) -> None:
    """Register what is defined here."""
    app.add_transform(InDarkToo)
    app.add_transform(NamesLead)
