"""The launcher of MPI: where it is, whose it is, and the environment that its engines need."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

from distnb.common.errors import LauncherError, explain
from distnb.common.machine import cores

__all__ = ["THREADS", "engine_environment", "find_mpiexec", "for_one_host", "mpi_family"]

#: Environment variables of the owner that would mislead the engines: it may be a rank itself, or
#: an engine. ``PMIX_MCA_`` are settings and stay.
FOREIGN = re.compile(r"PMI_|PMIX_(?!MCA_)|OMPI_COMM_WORLD_|HYDI_|IPP_(?!ENABLE_CURVE$)")

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
ROOT_CONFIRMED = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")

#: Engines of one host, by shared memory, which needs no memory that is registered. Without a cache
#: of it nothing has to be noted where memory comes and goes: where there is none for the note, UCX
#: says that data may be corrupted, so often that the pipe which IPython reads is full, and hangs.
_UCX = {"UCX_TLS": "posix,self,cma", "UCX_RCACHE_ENABLE": "n", "UCX_MEM_EVENTS": "n"}
#: Settings for one host, by family of MPI: no listeners on the network, more ranks than cores
#: allowed, ranks free to use all cores (they have threads), no error per shared window.
#: Two spellings where Open MPI 5 renamed them.
SETTINGS: dict[str, dict[str, str]] = {
    "mpich": dict(_UCX),
    "openmpi": {
        **_UCX,
        "OMPI_MCA_btl": "^tcp,ofi",  # ofi takes 1 s to start
        "OMPI_MCA_osc": "^ucx",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PRTE_MCA_hwloc_default_binding_policy": "none",
        "OMPI_MCA_hwloc_base_binding_policy": "none",
    },
    "other": {},
}


def find_mpiexec(asked: str | None = None) -> str:
    """Return the absolute path of the MPI launcher.

    The one installed beside this Python comes first: a Jupyter kernel runs by absolute path and
    often has another environment's PATH.
    """
    beside = [
        os.path.dirname(sys.executable),
        os.path.join(sys.prefix, "bin"),
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", "posix_user"),
    ]
    path = os.pathsep.join([*beside, os.environ.get("PATH", os.defpath)])
    found = shutil.which(asked or "mpiexec", path=path)
    if found is None:
        do = "pip install distnb[mpich], or pass mpiexec= with the launcher of your MPI"
        got = f"no executable {asked!r}" if asked else "no mpiexec beside Python or on PATH"
        raise LauncherError(explain("MPI launcher", got, "mpiexec", do))
    return os.path.abspath(found)


def for_one_host(mpiexec: str) -> str:
    """Return the launcher to start engines of this host with: MPICH has one that opens no port.

    Its usual one listens to the whole network, wherever its processes are.
    """
    alone = f"{mpiexec}.gforker"
    return alone if mpi_family(mpiexec) == "mpich" and os.access(alone, os.X_OK) else mpiexec


@functools.cache
def mpi_family(mpiexec: str) -> str:
    """Return "mpich", "openmpi" or "other": whose launcher this is."""
    try:
        text = subprocess.check_output(
            [mpiexec, "--version"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return "other"  # starting it will tell what is wrong
    if re.search(rb"(?i)open.?mpi|open.?rte|prrte|prterun", text):
        return "openmpi"
    # Intel's launcher is a Hydra too, with other settings.
    return "mpich" if re.search(rb"(?i)hydra|mpich", text) and b"Intel" not in text else "other"


def engine_environment(outer: Mapping[str, str], family: str, n: int) -> dict[str, str]:
    """Return the environment of n engines; what the user has set stays."""
    settings = SETTINGS[family] | _root_settings(outer, family)
    # OPENBLAS_ and MKL_ would win over an OMP_NUM_THREADS that the user has set.
    threads = outer.get(THREADS[0], str(max(1, cores() // n)))
    settings |= dict.fromkeys(THREADS, threads)
    environment = {name: value for name, value in outer.items() if not FOREIGN.match(name)}
    environment = settings | environment
    environment["PYTHONPATH"] = os.pathsep.join(_python_path(environment.get("PYTHONPATH")))
    return environment


def _python_path(outer: str | None) -> list[str]:
    """Return PYTHONPATH with the folder of distnb first, so that engines run the same distnb.

    A site-packages folder is left out: PYTHONPATH comes before the standard library, which some
    packages would then hide. Engines find it by themselves, and have the working directory first.
    """
    home = str(Path(__file__).absolute().parents[3])
    installed = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    return [*([] if home in installed else [home]), *([outer] if outer else [])]


def _root_settings(outer: Mapping[str, str], family: str) -> dict[str, str]:
    """Return what lets root run Open MPI, if the user wants that; else refuse.

    Open MPI itself would refuse too, but only after a while and in other words.
    """
    if family != "openmpi" or os.geteuid() != 0:
        return {}
    if outer.get("DISTNB_ALLOW_ROOT") == "1":
        return dict.fromkeys(ROOT_CONFIRMED, "1")
    if all(outer.get(name) == "1" for name in ROOT_CONFIRMED):
        return {}
    do = (
        "run as another user, or install distnb[mpich] instead of distnb[openmpi], "
        "or set DISTNB_ALLOW_ROOT=1 if you accept that a mistake can damage the system"
    )
    raise PermissionError(explain("user", "root with Open MPI", "an ordinary user", do))
