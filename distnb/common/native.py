"""Modules that are compiled by Cython when distnb is installed, if there is a C compiler.

They are what each small step takes, and what no signal may interrupt. Their sources are Python,
and run as they are where they were not compiled; ``.pxd`` files beside them tell Cython the types.
What was compiled of other sources than those that are here is never found, for its folder has their
digest for a name.

This module is read by ``tools/native.py`` too, where nothing of distnb can be imported.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import source_hash
from pathlib import Path

__all__ = ["FOLDER", "MODULES", "digest", "first", "folders"]

#: What is compiled: folder in the package -> modules, those first that others need.
MODULES = {
    "common": ("closable",),
    "client/batching": ("entries",),
    "client/handle": ("fields",),
    "client/reach": (
        "promised_layouts",
        "small_views",
        "small_steps",
        "small_reductions",
        "small_products",
        "rehearsal",
        "whole_functions",
        "methods",
    ),
    "client/record": ("operators",),
    "measure": ("garbage",),
}

#: What is compiled where it can be, of C: without it NumPy does what it would do.
EXTRA = {"common": ("numpy_pool",), "ops": ("vector_math",)}

_PACKAGE = Path(__file__).resolve().parents[1]
#: Where compiled modules are, in folders as the package has them.
FOLDER = _PACKAGE / "native"


def sources() -> list[Path]:
    """Return what is compiled, and what tells the types."""
    stems = [_PACKAGE / folder / name for folder, names in MODULES.items() for name in names]
    stems.append(_PACKAGE / "common/ndarrays")  # in them, not by itself
    stems += [_PACKAGE / folder / name for folder, names in EXTRA.items() for name in names]
    found = [stem.with_suffix(kind) for stem in stems for kind in (".py", ".pxd", ".c")]
    return [path for path in found if path.exists()]


def digest() -> str:
    """Return what tells sources from others."""
    return source_hash(b"".join(path.read_bytes() for path in sources())).hex()


def first(package: str, folders: Iterable[str]) -> list[str]:
    """Return where to look for the modules of a package: compiled ones come first."""
    inside = package.partition(".")[2].replace(".", "/")
    return [*_COMPILED.get(inside, ()), *folders]


def _compiled() -> dict[str, list[str]]:
    """Return the folders with compiled modules, if there are all of them, and they are wanted."""
    if os.environ.get("DISTNB_NATIVE", "1") == "0" or not FOLDER.is_dir():
        return {}
    return {k: [str(v)] for k, v in folders(FOLDER / digest()).items()}


def folders(root: Path) -> dict[str, Path]:
    """Return the folders with compiled modules, if all are there for this Python."""
    suffix = EXTENSION_SUFFIXES[0]
    there = [(root / k / f"{name}{suffix}").exists() for k, v in MODULES.items() for name in v]
    return {k: root / k for k in (*MODULES, *EXTRA)} if all(there) else {}


_COMPILED = _compiled()
