"""Machine code of loops: Numba makes it of their texts, and it runs without Numba.

Numba takes two seconds and 100 MB of each process that loads it and a first loop. What it makes is
plain code, which needs nothing of Numba's while it runs. So one process compiles, and writes an
object file; engines load that by LLVM's linker in milliseconds, a thirtieth of the time.

The function that is called is the one that Numba's own wrappers call. It returns what went wrong,
or 0, and gets a place for its result, one for an exception, and the arguments. An array is seven of
these, if it has one axis: what counts its references (nothing does), and its owner (none); how many
elements it has, and the bytes of each; where they are; its shape, and its strides.

This module is run as a program by the process that compiles, so it imports nothing of distnb.
Floating point errors of such code are the processor's flags, which are told under NumPy's names.
"""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import fcntl
import hashlib
import importlib
import os
import platform
import re
import signal
import sys
import threading
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["BrokenError", "MachineCode", "compiled", "host", "loaded", "name_of", "raised_flags"]

#: The types of numbers as Numba names them -> those of C.
_TYPES: dict[str, Any] = {
    "boolean": ctypes.c_bool,
    "bool_": ctypes.c_bool,
    **{f"{u}int{n}": getattr(ctypes, f"c_{u}int{n}") for u in ("", "u") for n in (8, 16, 32, 64)},
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}
#: Types of arguments in the text of a loop.
_SIGNATURE = re.compile(r'@njit\("void\((.*?)\)"')
_ARGUMENT = re.compile(r"(\w+)(\[[:, 1]*\])?")
#: Bytes of the checksum before an object.
_DIGEST = hashlib.sha256().digest_size
#: What Numba calls where nobody needs an array any more: arguments have no counter, so nobody does.
_GONE = "define void @NRT_MemInfo_call_dtor(ptr %counter) { ret void }"
#: What there is beside the text of a loop that was compiled, or cannot be.
_DONE = (".o", ".failed")
#: Seconds without work after which the process that compiles ends: it has taken 150 MB.
_IDLE = 60
#: LLVM's linker takes one object at a time.
_LINKING = threading.Lock()
#: Where a loop puts its result, nothing, and an exception, of which there is none.
_PLACES = (ctypes.c_void_p * 2)()
_RESULT, _ERROR = ctypes.addressof(_PLACES), ctypes.addressof(_PLACES) + ctypes.sizeof(_PLACES) // 2
#: Flag of the processor -> NumPy's name of the error.
_FLAGS = (
    {1: "invalid value", 4: "divide by zero", 8: "overflow", 16: "underflow"}
    if platform.machine() in ("x86_64", "AMD64", "i686")
    else {1: "invalid value", 2: "divide by zero", 4: "overflow", 8: "underflow"}
)


class BrokenError(Exception):
    """An object file is not what was written."""


class MachineCode:
    """A loop that is called with the arguments of its text: numbers, and arrays in C order.

    Parameters
    ----------
    address : int
        Where its code is.
    text : str
        Its text, whose signature says what arguments there are.
    """

    def __init__(self, address: int, text: str) -> None:
        types: list[Any] = []
        #: For each argument the number of its axes; that of a number is 0, or -1 if it is integral.
        self._ndims: list[int] = []
        for kind, axes in _arguments(text):
            ndim = axes.count(",") + bool(axes)
            if ndim:
                types += [ctypes.c_void_p] * 2 + [ctypes.c_int64] * 2 + [ctypes.c_void_p]
                types += [ctypes.c_int64] * (2 * ndim)
            else:
                types.append(_TYPES[kind])
            self._ndims.append(ndim or -("int" in kind))
        places = [ctypes.c_void_p] * 2
        self._run = ctypes.CFUNCTYPE(ctypes.c_int32, *places, *types)(address)
        #: Tells where the elements of an array are; a program has nothing of distnb.
        self._where = importlib.import_module("distnb.common.ndarrays").address

    def __call__(self, *args: Any) -> None:
        """Run it, without Python's lock."""
        given: list[Any] = []
        for ndim, x in zip(self._ndims, args, strict=True):
            if ndim > 0:
                given += (None, None, x.size, x.itemsize, self._where(x), *x.shape, *x.strides)
            else:
                given.append(int(x) if ndim else x)
        if self._run(_RESULT, _ERROR, *given):
            raise RuntimeError("compiled loop: got an exception, expected none")


def _arguments(text: str) -> list[tuple[str, str]]:
    """Return the types of a loop's arguments, and what of them are axes.

    >>> _arguments('@njit("void(int64, float64[::1], bool_[:, ::1])", nogil=True)')
    [('int64', ''), ('float64', '[::1]'), ('bool_', '[:, ::1]')]
    """
    found = _SIGNATURE.search(text)
    return _ARGUMENT.findall(found[1]) if found else []


def name_of(text: str) -> str:
    """Return the name under which a loop is kept, which follows from its text."""
    return f"k{hashlib.sha256(text.encode()).hexdigest()[:24]}"


def _llvm() -> Any:
    import llvmlite.binding

    return llvmlite.binding


@cache
def host() -> str:
    """Return what machine code depends on: the processor, and the release of LLVM's library."""
    import llvmlite

    llvm = _llvm()
    about = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    release = llvmlite.__version__
    return hashlib.sha256(repr((release, *about)).encode()).hexdigest()[:12]


def _machine() -> Any:
    """Return what makes code for this processor."""
    llvm = _llvm()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(
        llvm.get_host_cpu_name(), features, opt=3, codemodel="jitdefault", jit=True
    )


def compiled(name: str, text: str) -> bytes:
    """Return the object file of a loop, in which its function has a name; needs Numba."""
    llvm, names = _llvm(), dict[str, Any]()
    exec(text, names)
    kernel = names["kernel"]
    ((signature, found),) = kernel.overloads.items()
    module = llvm.parse_assembly(kernel.inspect_llvm(signature))
    module.link_in(llvm.parse_assembly(_GONE))
    machine = _machine()
    for thing in (*module.functions, *module.global_variables):
        if thing.name == found.fndesc.llvm_func_name:
            thing.name = name
        elif not thing.is_declaration:
            thing.linkage = "internal"  # Python's wrappers of it, that nobody calls, will go
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    options = llvm.create_pipeline_tuning_options(speed_level=0)
    passes.run(module, llvm.create_pass_builder(machine, options))
    missing = [x for x in _needs(module) if not hasattr(ctypes.CDLL(None), x)]
    if missing:
        raise RuntimeError(f"loop {name}: got calls of {missing}, expected none but libm's")
    made = machine.emit_object(module)
    return hashlib.sha256(made).digest() + bytes(made)


def _needs(module: Any) -> list[str]:
    """Return the names that other code is to have."""
    things = (*module.functions, *module.global_variables)
    return [x.name for x in things if x.is_declaration and not x.name.startswith("llvm.")]


@cache
def _linker() -> Any:
    llvm, machine = _llvm(), _machine()
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)


def loaded(name: str, text: str, data: bytes) -> MachineCode:
    """Return a loop of its object file; Numba is not needed."""
    digest, made = data[:_DIGEST], data[_DIGEST:]
    if hashlib.sha256(made).digest() != digest:  # LLVM ends the process that gives it such
        raise BrokenError(f"object file of {name}: got other bytes than were written")
    with _LINKING:
        linker = _linker()
        linker.add_object_file(_llvm().ObjectFileRef.from_data(made))
        linker.finalize_object()
        return MachineCode(linker.get_function_address(name), text)


@cache
def _libm() -> Any:
    return ctypes.CDLL(ctypes.util.find_library("m"))


def raised_flags() -> list[str]:
    """Return the floating point errors since the last call, as NumPy names them; forget them."""
    libm = _libm()
    flags = libm.fetestexcept(sum(_FLAGS))
    if flags:
        libm.feclearexcept(sum(_FLAGS))
    return [name for bit, name in _FLAGS.items() if flags & bit]


def _serve() -> None:
    """Compile what is written where each line that comes in says.

    One process of a folder at a time does so, for all: the others need not load Numba.
    """
    os.nice(5)  # engines and the notebook come first
    signal.alarm(_IDLE)
    for line in sys.stdin:
        signal.alarm(0)
        folder = Path(line.strip()).parent
        with open(folder / "lock", "w", encoding="utf-8") as lock:
            with contextlib.suppress(OSError):  # where files have no locks, several may be at it
                fcntl.flock(lock, fcntl.LOCK_EX)
            while waiting := _waiting(folder):
                _compile(*waiting[0])
        signal.alarm(_IDLE)


def _waiting(folder: Path) -> list[tuple[Path, str]]:
    """Return the texts in a folder that nobody has compiled, the oldest first.

    Those that are whole: others write them.
    """
    found = list[tuple[float, Path, str]]()
    for path in folder.glob("*.py"):
        with contextlib.suppress(OSError):  # whoever wrote it writes it anew
            if not any(path.with_suffix(x).exists() for x in _DONE):
                when, text = path.stat().st_mtime, path.read_text(encoding="utf-8")
                found += [(when, path, text)] if path.stem == name_of(text) else []
    return [(path, text) for _, path, text in sorted(found)]


def _compile(path: Path, text: str) -> None:
    """Write the object file of a text, or what went wrong."""
    try:
        made = compiled(path.stem, text)
        part = path.with_suffix(".part")
        part.write_bytes(made)
        part.replace(path.with_suffix(".o"))
    except Exception as error:
        path.with_suffix(".failed").write_text(repr(error), encoding="utf-8")


if __name__ == "__main__":
    import gc

    gc.disable()  # which would look through all modules again and again
    _serve()
