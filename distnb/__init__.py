"""distnb: the array of a notebook, spread over MPI engines.

    import distnb as dnb
    dnb.start(n=4)                 # or dnb.connect() to engines of your own cluster
    x = dnb.ones((10_000, 10_000))
    y = (x[1:] + x[:-1]).mean()    # plain NumPy; nothing is sent to the notebook
    float(y)

The functions of the array namespace are NumPy's; see the documentation for layouts (``dist=``).
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np

from distnb import fft, lib, linalg, namespace, numpys, random, sparse
from distnb.client.array.array_api import VERSION
from distnb.client.array.distarray import DistArray
from distnb.client.array.method_docs import complete_docstrings
from distnb.client.lasting.checkpoints import checkpoint
from distnb.client.lasting.kept_arrays import arrays, attach
from distnb.client.lasting.restoring import restore
from distnb.client.lasting.visiting import others
from distnb.client.record.placement import Placement
from distnb.client.reports.profiling import Profile, profile
from distnb.client.session.current import (
    connect,
    in_use,
    inprocess,
    need,
    session,
    spmd,
    start,
    subset,
)
from distnb.client.session.session import Session
from distnb.common.config import Config, config
from distnb.common.errors import (
    DistnbError,
    EngineError,
    GatherError,
    LayoutError,
    LostArrayError,
    SessionError,
)
from distnb.left_out import listing, refusal, unknown
from distnb.lib import scimath as emath
from distnb.libraries.hook import when_imported
from distnb.namespace import *  # noqa: F403
from distnb.numpys import *  # noqa: F403

__version__ = "0.1.0.dev0"
__array_api_version__ = VERSION
#: What there is and is not: all dtypes of the standard, one device, data-dependent shapes.
__array_namespace_info__ = np.__array_namespace_info__

__all__ = [  # noqa: PLE0604 - the functions
    *namespace.__all__,
    *numpys.__all__,
    "Config",
    "DistArray",
    "DistnbError",
    "EngineError",
    "GatherError",
    "LayoutError",
    "LostArrayError",
    "Placement",
    "Session",
    "SessionError",
    "arrays",
    "attach",
    "checkpoint",
    "choose_layout",
    "config",
    "connect",
    "dashboard",
    "emath",
    "fft",
    "graph",  # noqa: F405 - it is imported when it is asked for, as "learn" and "testing"
    "lib",
    "inprocess",
    "learn",  # noqa: F405
    "linalg",
    "others",
    "plot",  # noqa: F405
    "profile",
    "random",
    "restore",
    "session",
    "sparse",
    "special",  # noqa: F405
    "spmd",
    "start",
    "subset",
    "polynomial",  # noqa: F405 - these are imported when they are asked for
    "testing",  # noqa: F405
]


DistArray.namespace = sys.modules[__name__]
complete_docstrings(DistArray, sys.modules[__name__])


_unknown = unknown(__name__)


def _later(name: str) -> Any:
    """Import what few use when it is asked for."""
    if name in ("graph", "learn", "plot", "polynomial", "special", "testing"):
        return importlib.import_module(f"{__name__}.{name}")
    return _unknown(name)


#: What is left out says why.
__getattr__ = refusal(__name__, _later)


__dir__ = listing([*__all__, "__path__", "__version__"])


def _module(name: str) -> Any:
    """Return a module of distnb that is imported when it is used."""
    return importlib.import_module(f"{__name__}.{name}")


class _Views:
    """The pictures of layouts, imported when one is asked for."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_module("widgets"), name)


def _offer_public_names() -> None:
    """Let IPython offer after a dot what ``dir`` has: it adds all names of the class."""
    complete = getattr(sys.modules["IPython.utils.generics"], "complete_object", None)
    if complete is None:  # IPython gives up hooks of this module one by one
        return
    for kind in (DistArray, Session, sparse.csr_array, sparse.csc_array, sparse.coo_array):
        complete.register(kind, lambda value, _: dir(value))


Placement.views = _Views()
when_imported("matplotlib.projections", lambda: _module("plot"))
_COMPILED = [f"scipy.linalg.{name}" for name in ("_fblas", "_flapack", "blas", "lapack")]
_SCIPYS = """
    ndimage sparse sparse.csgraph sparse.linalg spatial spatial.distance spatial.transform optimize
    signal stats linalg linalg.interpolative interpolate io.wavfile
"""
_LIBRARIES = """
    numpy numpy.polynomial pandas h5py zarr pyarrow PIL.Image matplotlib.colors networkx
    sympy.core.numbers sympy.core.sympify statsmodels.base.data sparse.numba_backend
    matplotlib.axes._axes polars torch torch.utils.data._utils.collate
"""
_SCIKITS = [
    "sklearn.metrics.pairwise",
    "sklearn.model_selection._search",
    "sklearn.utils._param_validation",
]
_OTHERS = (*_COMPILED, *[f"scipy.{name}" for name in _SCIPYS.split()], *_SCIKITS)
for _library in (*_LIBRARIES.split(), *_OTHERS):
    when_imported(_library, lambda name=_library: _module("libraries.replaced").install(name))
when_imported("IPython.utils.generics", _offer_public_names)
when_imported("xarray", lambda: _module("libraries.xarray_indexing"))
Profile.shown = staticmethod(lambda report: _module("widgets.times.timing").TimeReport(report))


def dashboard(session: Session | None = None) -> Any:
    """Show a session's engines, the running cell and all arrays, kept up to date.

    While a cell runs it shows how far the engines are and what they spend their time on; buttons
    act when the cell has ended. It ends with the session, or by its ``close()``, and is a static
    page from then on.

    Parameters
    ----------
    session : Session, optional
        By default the one of the arrays that the last cell was about.

    Returns
    -------
    distnb.widgets.status.dashboard.Dashboard
        Shows itself in a notebook.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     board = dnb.dashboard()
    ...     board.close()
    >>> print(board)
    2 engines, in this process; ...
    """
    found = need(in_use() if session is None else session)
    return _module("widgets.status.dashboard").Dashboard(found)


def choose_layout(array: DistArray, name: str | None = None) -> Any:
    """Return a widget to choose where an array lies: axes, grid, block sizes, weights.

    It shows the picture, the balance, what the move would send, and what the last cell would have
    sent if the array had lain so. *Apply* moves the array in place, as ``array.move(dist)`` does,
    when the cell that runs has ended: all names and views of it follow.

    Parameters
    ----------
    array : DistArray
        A whole array, not a view.
    name : str, optional
        Its name in the line of code that does the same; by default the one you use.

    Returns
    -------
    distnb.widgets.layouts.chooser.LayoutChooser
        Shows itself in a notebook.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     print(dnb.choose_layout(dnb.zeros((4, 6), dist="block"), "A"))
    (4, 6) float64, 192 B: block x * on 2 engines
    imbalance 1.00 (max/mean of elements)
    the move: nothing is sent; afterwards imbalance 1.00
    No cell has computed anything yet, so its traffic cannot be told.
    """
    if not isinstance(array, DistArray):
        errors = _module("common.errors")
        got, do = type(array).__name__, "pass an array, and its name as name="
        raise TypeError(errors.explain("choose_layout()", got, "a distributed array", do))
    return _module("widgets.layouts.chooser").LayoutChooser(array, name)


def _show_users_lines(shell: Any) -> None:
    """Let tracebacks in a shell end at the user's line, by what is imported at the first one."""
    shown_by = shell.InteractiveTB

    def first(*args: Any, **named: Any) -> Any:
        _module("magics.tracebacks").Tracebacks(shell)
        return shown_by.structured_traceback(*args, **named)

    shown_by.structured_traceback = first


if _shell := "IPython" in sys.modules and sys.modules["IPython"].get_ipython():
    _show_users_lines(_shell)


def load_ipython_extension(shell: Any) -> None:
    """Register the magics (``%load_ext distnb``); starts nothing."""
    _module("magics").load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Take the magics away again."""
    _module("magics").unload(shell)
