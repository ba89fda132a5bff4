"""Configuration of Sphinx."""

from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from docutils import nodes
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

autodoc_class_signature = "separated"  # users do not make these objects themselves
autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = f"distnb {release}"
html_sidebars = {"index": []}
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


def setup(app: Any) -> None:
    """Register what is defined here."""
    app.add_transform(InDarkToo)
