"""Check that imports inside the package point one way only.

``python tools/arrows.py [package folder]`` reads every file with ``ast``, imports inside functions
and under ``TYPE_CHECKING`` included, prints each import that goes against the order of its folder,
and exits with 1 if there is one. The order of a folder is a line of the table below: as long as no
import goes against it, there is no circle either. To turn an arrow, edit the table, and say why in
the review.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = "distnb"

#: Folder -> its modules and packages, in order: each may import those before it, and what is in
#: them. What is not listed is an error, and so is what is listed and not there.
ORDER: dict[str, str] = {
    "distnb": """
        common geometry ops measure wire plans formats engines client widgets magics
        numpys left_out lib fft linalg random sparse polynomial special namespace strategies testing
        pictures libraries plot applications graph learn
    """,
    "distnb.applications": """
        adjacency pagerank paths components triangles betweenness kmeans recommender decomposition
        solvers
    """,
    "distnb.pictures": "binning reducing arguments live axes",
    "distnb.libraries": "hook sparse_operands replaced xarray_indexing xarray_parts xarray_manager",
    "distnb.common": """
        native ndarrays closable errors addresses config machine leftovers insistence interrupts
        lazy calling shared_segments memory_pool
    """,
    "distnb.geometry": "slices axes layout regrid boxes views overlaps",
    "distnb.ops": """
        fast orders compressed scalars philox variates samplers parameters filling matrix_functions
        semirings sparse_parts table weights
    """,
    "distnb.measure": """
        quantities replay comparison source_lines metrics advice events garbage notebook_clock
        records snapshot
    """,
    "distnb.wire": "exceptions protocol messages progress encoding channel replies stream",
    "distnb.plans": """
        transfer traffic gather_scatter segments halos temporaries forecast host_parts
    """,
    "distnb.formats": """
        stored objects boxes plain npy archives encodings lines text libraries table
    """,
    "distnb.formats.libraries": "hdf5 zarrs columns parquet arrow tiff images",
    "distnb.engines": "runtime fusion collectives linalg sparse parts files worker server",
    "distnb.engines.runtime": """
        comm exchange node memory store zero_copy peer_blocks creation threads user_functions
    """,
    "distnb.engines.fusion": """
        reduction_blocks compressed groups amounts loops machine_code compiled_loops compiler
        windows compiled_rows kernels replicas group_messages elementwise
    """,
    "distnb.engines.collectives": """
        single_engine reductions scans segmented splitters sorting selecting searching
        indexed_blocks gather_scatter masks fourier packing pencils
    """,
    "distnb.engines.linalg": "whole_matrices triangular tsqr summa panels blacs scalapack",
    "distnb.engines.sparse": "parts semirings needs products local rows routes",
    "distnb.engines.parts": "blocks tickets arguments tasks results",
    "distnb.engines.files": "owned reading writing appending parsing",
    "distnb.engines.worker": """
        agreement same_program steps postings plan_cache local survey executor worker
    """,
    "distnb.engines.server": """
        peer_auth curve monitor batch_server self_report kernels entry start controller
    """,
    "distnb.client": """
        transport batching recovery session handle reach record shape select math linalg stats
        signal files array lasting sparse parts reports
    """,
    "distnb.client.transport": """
        turns contract inprocess spmd client_hooks ipyparallel_transport monitor socket_client
        socket_transport mpiexec watchdog joining lookout launch
    """,
    "distnb.client.batching": """
        error_states call_sites failures budget lead rounds entries handle_table user_functions
        deferred recorder connection replies
    """,
    "distnb.client.recovery": """
        shared_memory rerun ledger lineage unfinished renewal keeper keeping
    """,
    "distnb.client.session": """
        journal own_lines windows observing progress sharing large_steps session bases current
    """,
    "distnb.client.handle": """
        arguments indexing fields array living scalars glimpse host_arrays conversion operands
        copies spilling
    """,
    "distnb.client.reach": """
        promised_layouts small_views rehearsal pace admission small_steps engines_order
        small_reductions small_products aliasing kept_order whole_functions methods decorators
    """,
    "distnb.client.record": """
        ufunc_options operation_cache operations operators eager placement
        reducing namespace gather_scatter advanced_indexing creation ranges index_arrays as_arrays
    """,
    "distnb.client.files": "reading unread writing members opening numpys text tables market",
    "distnb.client.array": """
        prefetch reading migration local_access printing showing facts aspects flags distarray
        stand_ins
        array_api method_docs
    """,
    "distnb.client.lasting": """
        assembled kept_arrays visiting checking manifests checkpoints restoring resizing
    """,
    "distnb.client.shape": """
        viewing reshaping flat joining splitting splits repeating turning grids parts brackets
        walking
    """,
    "distnb.client.select": "taking placing coordinates sorting ordering searching counting",
    "distnb.client.math": """
        ufunc_texts ufuncs reductions scans differences composed pickling mapping blocks core_axes
        stacks along_axis padding bits
    """,
    "distnb.client.linalg": """
        matrix_commands contraction_commands contractions einsum grid_products products
        panel_commands scalapack_commands factorization_commands qdwh factorizations norms chains
        diagonals
    """,
    "distnb.client.stats": """
        sets statistics nans weighted quantiles histograms bit_generators drawing shuffling
        random_texts random legacy
    """,
    "distnb.client.signal": "fft_commands fft convolution polynomials spacing",
    "distnb.client.sparse": """
        scipys structure base commands dense balance creation arithmetic reductions indexing
        compressed coordinates construction semirings
    """,
    "distnb.client.parts": "cuts operands results foreach partners",
    "distnb.client.reports": """
        cell_trace doctor subset_copies scaling memory_bandwidth profiling memory_report referrers
    """,
    "distnb.widgets": "drawing layouts times status",
    "distnb.widgets.drawing": "text markup bars matrices page showing plots staying",
    "distnb.widgets.layouts": """
        engine_memory picture layout_svg layout_view card halo migration several sparse_view
        proposal chooser
    """,
    "distnb.widgets.times": """
        columns account ladder glance operations changes trace pages timeline timing scaling
    """,
    "distnb.widgets.status": "status usage doctor dashboard_view dashboard",
    "distnb.lib": "array_utils format mixins scimath stride_tricks",
    "distnb.magics": """
        arguments completion expressions tracebacks cells engines distlocal disttime distmem
        distscale distdoctor
    """,
}

#: Sides that never meet, whatever the order says.
APART = {
    "distnb.client": "distnb.engines",
    "distnb.magics": "distnb.engines",
    "distnb.widgets": "distnb.engines",
}
#: What ``distnb/__init__.py`` does not import, though it comes after everything.
TOP_APART = ("distnb.engines", "distnb.strategies")

#: A folder or module -> the other packages that it may import; those in brackets inside functions
#: only. What holds for a folder holds for all in it. The standard library is always allowed.
OTHERS: dict[str, str] = {
    "distnb": "numpy",
    "distnb.engines": "mpi4py [llvmlite] [scipy] [threadpoolctl]",
    "distnb.engines.server.batch_server": "zmq",
    "distnb.engines.server.curve": "zmq",
    "distnb.engines.server.monitor": "zmq",
    "distnb.engines.server.start": "ipyparallel",
    "distnb.engines.server.controller": "ipyparallel",
    "distnb.client.array.distarray": "numpy [pyarrow]",
    "distnb.client.math.pickling": "cloudpickle",
    "distnb.wire.exceptions": "cloudpickle",
    "distnb.applications": "numpy [scipy]",
    "distnb.common.addresses": "[fsspec]",
    "distnb.common.machine": "[threadpoolctl]",
    "distnb.formats": "numpy [pyarrow] [scipy] [zstandard]",
    "distnb.formats.libraries": "numpy [PIL] [h5netcdf] [h5py] [pyarrow] [tifffile] [zarr]",
    "distnb.client.sparse": "numpy [scipy]",
    "distnb.client.transport.client_hooks": "ipyparallel",
    "distnb.client.transport.ipyparallel_transport": "ipyparallel",
    "distnb.client.transport.joining": "ipyparallel",
    "distnb.client.transport.launch": "ipyparallel traitlets zmq",
    "distnb.client.transport.monitor": "zmq",
    "distnb.client.transport.socket_client": "zmq",
    "distnb.client.transport.socket_transport": "ipyparallel zmq",
    "distnb.magics": "IPython [jedi]",
    "distnb.widgets": "ipywidgets matplotlib [IPython]",
    "distnb.pictures": "numpy matplotlib",
    "distnb.plot": "matplotlib",
    "distnb.ops.compressed": "numpy [scipy]",
    "distnb.ops.sparse_parts": "numpy [scipy]",
    "distnb.special": "numpy [scipy]",
    "distnb.libraries": "numpy [xarray]",
    "distnb.libraries.xarray_indexing": "numpy xarray",
    "distnb.libraries.xarray_manager": "numpy xarray [zarr]",
    "distnb.widgets.status.dashboard": "anywidget ipywidgets traitlets",
    "distnb.widgets.times.timeline": "anywidget traitlets",
    "distnb.strategies": "*",
}


class Import(NamedTuple):
    """One module that a line imports."""

    line: int
    target: str
    in_function: bool


def violations(folder: Path) -> list[str]:
    """Return ``path:line: message`` for each import below ``folder`` that the tables do not allow.

    And for each module that the order does not list.
    """
    files = {module_name(path, folder): path for path in sorted(folder.rglob("*.py"))}
    modules = set(files) | {name.rpartition(".")[0] for name in files}
    found = unlisted(files, folder)
    for name, path in files.items():
        is_package = path.name == "__init__.py"
        for item in imports(ast.parse(path.read_bytes(), str(path)), name, is_package, modules):
            why = against(name, item)
            if why:
                where = " inside a function" if item.in_function else ""
                found.append(f"{path}:{item.line}: {name} imports {item.target}{where}: {why}")
    return found


def unlisted(files: dict[str, Path], folder: Path) -> list[str]:
    """Return what the order does not list, or lists and is not there."""
    there = {name for name in files if name != PACKAGE}
    listed = {f"{above}.{name}" for above, names in ORDER.items() for name in names.split()}
    unknown = [
        f"{files[name]}:1: {name} has no place in the order; add it to tools/arrows.py"
        for name in sorted(there - listed)
    ]
    return unknown + [f"{folder}:1: there is no {name}" for name in sorted(listed - there)]


def module_name(path: Path, folder: Path) -> str:
    """Return the dotted name of a file of the package in ``folder``."""
    parts = path.relative_to(folder).with_suffix("").parts
    return ".".join((PACKAGE, *parts)).removesuffix(".__init__")


def against(name: str, item: Import) -> str:
    """Return why the tables do not allow an import; nothing if they do."""
    if not within(item.target, PACKAGE):
        return "" if other_allowed(name, item) else "no package that it may import"
    if name == "distnb.strategies" or within(name, "distnb.applications"):
        return ""  # as a user's code
    if name == PACKAGE:
        never = any(within(item.target, side) for side in TOP_APART)
        return "nothing that a user imports needs it" if never else ""
    if any(within(name, one) and within(item.target, other) for one, other in APART.items()):
        return "the two sides never meet"
    mine, its = name.split("."), item.target.split(".")
    common = next((i for i, (a, b) in enumerate(zip(mine, its, strict=False)) if a != b), None)
    if common is None:  # one is the other, or below it: a package may import what it holds
        return "" if len(mine) <= len(its) else "its own package comes after it"
    order = ORDER.get(".".join(mine[:common]), "").split()
    if its[common] not in order or mine[common] not in order:
        return ""  # told as unlisted
    return "" if order.index(its[common]) < order.index(mine[common]) else "against the order"


def other_allowed(name: str, item: Import) -> bool:
    """Tell whether a module may import a module of another package."""
    package = item.target.partition(".")[0]
    if package in sys.stdlib_module_names:
        return True
    allowed = " ".join(names for key, names in OTHERS.items() if within(name, key)).split()
    inside = f"[{package}]" in allowed and item.in_function
    return package in allowed or "*" in allowed or inside


def within(name: str, above: str) -> bool:
    """Tell whether module ``name`` is ``above`` or below it."""
    return name == above or name.startswith(above + ".")


def imports(
    tree: ast.AST, name: str, is_package: bool, modules: set[str], in_function: bool = False
) -> Iterator[Import]:
    """Yield every import below ``tree``, the source of module ``name``."""
    for node in ast.iter_child_nodes(tree):
        for target in targets(node, name, is_package, modules):
            yield Import(node.lineno, target, in_function)  # type: ignore[attr-defined]
        function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from imports(node, name, is_package, modules, in_function or function)


def targets(node: ast.AST, name: str, is_package: bool, modules: set[str]) -> list[str]:
    """Return the modules that one node imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        source = absolute(node, name, is_package)
        names = (f"{source}.{alias.name}" for alias in node.names)
        # What is no module is an attribute of the source.
        return [each if each in modules else source for each in names]
    if isinstance(node, ast.Call):
        return named_by_string(node, name, is_package)
    return []


def absolute(node: ast.ImportFrom, name: str, is_package: bool) -> str:
    """Return the absolute name of the module that ``from ... import`` names."""
    if not node.level:
        return node.module or ""
    parts = name.split(".")
    base = parts[: len(parts) - node.level + is_package]
    return ".".join([*base, *filter(None, [node.module])])


def named_by_string(node: ast.Call, name: str, is_package: bool) -> list[str]:
    """Return the module in ``import_module("...")`` or ``__import__("...")``."""
    function = node.func.attr if isinstance(node.func, ast.Attribute) else None
    function = node.func.id if isinstance(node.func, ast.Name) else function
    if function not in {"import_module", "__import__"} or not node.args:
        return []
    first = node.args[0]
    if not (isinstance(first, ast.Constant) and isinstance(first.value, str)):
        return []
    text = first.value
    level = len(text) - len(text.lstrip("."))
    return [absolute(ast.ImportFrom(text[level:] or None, [], level), name, is_package)]


def main(arguments: list[str]) -> int:
    """Print the violations; return the exit status."""
    default = Path(__file__).resolve().parent.parent / PACKAGE
    folder = Path(arguments[0]) if arguments else default
    count = sum(1 for _ in folder.rglob("*.py"))
    if not count:
        print(f"{folder}: no Python files", file=sys.stderr)
        return 1
    found = violations(folder)
    print(*found, sep="\n", end="\n" if found else "")
    print(f"arrows: {count} modules, {len(found)} imports against the order")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
