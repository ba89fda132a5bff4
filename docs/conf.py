"""Configuration of Sphinx."""

from importlib.metadata import version as version_of

project = "distnb"
author = "The distnb developers"
copyright = f"2026, {author}"
release = version = version_of("distnb")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_class_signature = "separated"  # users do not make these objects themselves
autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False

html_theme = "furo"
html_title = f"distnb {release}"
