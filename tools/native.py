"""Compile the modules that ``distnb/common/native.py`` lists, as a hook of the build or by itself.

``python tools/native.py`` compiles them in a checkout. Without a C compiler, Cython or Python's
headers nothing is compiled, the wheel is one for all machines, and these modules are interpreted.
"""

from __future__ import annotations

import os
import runpy
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # as a command
    BuildHookInterface = object

ROOT = Path(__file__).resolve().parents[1]
NATIVE = runpy.run_path(str(ROOT / "distnb/common/native.py"))

#: No attribute of None is read as if it were an array; functions are methods, as Python's are.
_DIRECTIVES = {"language_level": 3, "nonecheck": True, "binding": True, "auto_pickle": False}

#: How modules of C are compiled that need more than others. Loops are vectorised if the compiler
#: may take other orders than C's; the linker is not told, as it would let all of the process lose
#: its smallest numbers.
_OPTIONS: dict[str, dict[str, list[str]]] = {
    "vector_math": {
        "extra_compile_args": ["-O3", "-ffast-math", "-g0", "-w"],
        "libraries": ["mvec", "m"],
    },
}
#: What Cython makes is calls of Python's functions, one after the other: more of the compiler's
#: work makes them no faster, and installing takes half as long again.
_USUAL = ["-O1", "-g0", "-w"]


class NativeHook(BuildHookInterface):  # type: ignore[misc]
    """Compile modules into the package before it is packed; in place if it is editable."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and add what came of it to the wheel."""
        folder = compiled()
        if folder is None:
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        if version != "editable":
            build_data["force_include"][str(folder)] = str(folder.relative_to(ROOT))


def compiled() -> Path | None:
    """Return the folder of the compiled modules, which are compiled if they are not there yet."""
    folder: Path = NATIVE["FOLDER"] / NATIVE["digest"]()
    if NATIVE["folders"](folder):
        return folder
    began = time.monotonic()
    try:
        compile_into(folder)
    except (Exception, SystemExit) as error:  # setuptools exits where there is no compiler
        print(f"small steps are interpreted, as they could not be compiled: {error}")
        return None
    print(f"compiled for small steps, in {time.monotonic() - began:.0f} s")
    return folder


def compile_into(folder: Path) -> None:
    """Compile the modules into a folder, which is there when all of them are."""
    import numpy
    from Cython.Build import cythonize
    from setuptools import Distribution
    from setuptools.command.build_ext import build_ext

    names = [f"distnb/{k}/{name}.py" for k, v in NATIVE["MODULES"].items() for name in v]
    with tempfile.TemporaryDirectory() as work:
        os.chdir(ROOT)
        cores = os.cpu_count() or 1
        made = cythonize(
            names, build_dir=work, compiler_directives=_DIRECTIVES, quiet=True, nthreads=cores
        )
        made += [of_c(k, name) for k, v in NATIVE["EXTRA"].items() for name in v]
        for each in made:
            each.extra_compile_args = each.extra_compile_args or _USUAL
            each.include_dirs = [numpy.get_include()]
            each.define_macros = [("NPY_TARGET_VERSION", "NPY_2_1_API_VERSION")]
        command = build_ext(Distribution({"name": "distnb", "ext_modules": made}))
        command.build_lib, command.build_temp = f"{work}/lib", work
        command.parallel = cores
        command.ensure_finalized()
        command.run()
        put(Path(work, "lib/distnb"), folder)


def of_c(folder: str, name: str) -> Any:
    """Return a module of C, which distnb does without where it cannot be compiled."""
    from setuptools import Extension

    options = _OPTIONS.get(name, {})
    source = f"distnb/{folder}/{name}"
    return Extension(source.replace("/", "."), [f"{source}.c"], optional=True, **options)


def put(made: Path, folder: Path) -> None:
    """Put compiled modules into their folder, each at once; remove those of other sources."""
    for path in made.rglob("*.so"):
        place = folder / path.relative_to(made)
        place.parent.mkdir(parents=True, exist_ok=True)
        new = shutil.copy(path, place.with_suffix(".new"))
        os.replace(new, place)
    for other in folder.parent.iterdir():
        if other != folder:
            shutil.rmtree(other)


if __name__ == "__main__":
    compiled()
