"""What distnb leaves out of NumPy's and SciPy's names on purpose: each says why when it is touched.

And what modules list of their names, for completion.
``docs/rules.md`` lists it, and a test holds the page to this table. A name that is neither here nor
offered is an oversight: a test goes through all of NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from distnb.common.errors import explain

__all__ = ["LEFT_OUT", "LeftOut", "listing", "refusal", "unknown"]


class LeftOut(NamedTuple):
    """Names of a module that are left out for one reason."""

    module: str
    names: str
    why: str
    do: str


#: Why SciPy's matrices are left out.
_MATRIX = "its result is a matrix, for which * is the matrix product"

LEFT_OUT: tuple[LeftOut, ...] = (
    LeftOut(
        "distnb",
        "matrix asmatrix bmat matlib",
        "NumPy itself advises against matrices",
        "use arrays of two axes, @ and block",
    ),
    LeftOut(
        "distnb",
        "char strings",
        "arrays hold numbers, and no text",
        "use numpy.strings on arrays of the notebook",
    ),
    LeftOut(
        "distnb",
        "rec recarray record fromregex",
        "elements have no fields",
        "use an array for each field",
    ),
    LeftOut(
        "distnb",
        "longdouble clongdouble float128 complex256 float96 complex192",
        "long doubles differ from machine to machine",
        "use float64 or complex128",
    ),
    LeftOut(
        "distnb",
        "ma",
        "masked arrays are a class of their own",
        "use where=, nan and the nan functions",
    ),
    LeftOut(
        "distnb",
        "memmap",
        "engines share no file",
        "use numpy.memmap, and distnb.asarray to send each engine its part",
    ),
    LeftOut(
        "distnb",
        "frompyfunc",
        "it makes arrays of Python objects, which no engine can hold",
        "use distnb.vectorize(function, otypes=[float]), or distnb.map for a function of arrays",
    ),
    LeftOut(
        "distnb",
        "nested_iters",
        "it walks over memory, which is on the engines",
        "use whole-array operations, or distnb.ndenumerate",
    ),
    LeftOut(
        "distnb",
        "core ctypeslib f2py get_include test",
        "it is about NumPy's own memory, code and build",
        "import it from numpy",
    ),
    LeftOut("distnb.linalg", "test", "these are NumPy's own tests", "import it from numpy"),
    LeftOut("distnb.polynomial", "test", "these are NumPy's own tests", "import it from numpy"),
    LeftOut("distnb.fft", "test", "these are NumPy's own tests", "import it from numpy"),
    LeftOut(
        "distnb.random",
        "test bit_generator mtrand",
        "it is about NumPy's own generators",
        "import it from numpy.random",
    ),
    LeftOut(
        "distnb.random",
        "get_bit_generator set_bit_generator",
        "numbers are functions of their global index, whatever the generator",
        "use seed(), get_state() and set_state()",
    ),
    LeftOut(
        "distnb.lib",
        "Arrayterator npyio",
        "it reads memory and files piece by piece, for NumPy alone",
        "slice the array, or use distnb.load and distnb.save",
    ),
    LeftOut(
        "distnb.lib",
        "add_docstring add_newdoc introspect test tracemalloc_domain",
        "it is about NumPy's own code",
        "import it from numpy.lib",
    ),
    LeftOut(
        "distnb.lib.array_utils",
        "byte_bounds",
        "an array lies in the memory of several processes",
        "ask x.layout where its elements are",
    ),
    LeftOut(
        "distnb.testing",
        "BLAS_SUPPORTS_FPE HAS_LAPACK64 HAS_REFCOUNT IS_64BIT IS_EDITABLE IS_INSTALLED IS_MUSL "
        "IS_PYPY IS_PYSTON IS_WASM NOGIL_BUILD NUMPY_ROOT check_support_sve extbuild jiffies "
        "memusage measure overrides rundocs runstring run_threaded test print_assert_equal "
        "decorate_methods break_cycles assert_no_gc_cycles build_err_msg assert_array_compare "
        "verbose TestCase",
        "it is for NumPy's own tests",
        "import it from numpy.testing",
    ),
    LeftOut(
        "distnb.sparse",
        "eye identity",
        _MATRIX,
        "use distnb.sparse.eye_array",
    ),
    LeftOut(
        "distnb.sparse",
        "diags spdiags",
        _MATRIX,
        "use distnb.sparse.diags_array",
    ),
    LeftOut(
        "distnb.sparse",
        "random rand",
        _MATRIX,
        "use distnb.sparse.random_array",
    ),
    LeftOut(
        "distnb.sparse",
        "bmat",
        _MATRIX,
        "use distnb.sparse.block_array",
    ),
    LeftOut(
        "distnb.sparse",
        "csr_matrix",
        _MATRIX,
        "use distnb.sparse.csr_array",
    ),
    LeftOut(
        "distnb.sparse",
        "csc_matrix",
        _MATRIX,
        "use distnb.sparse.csc_array",
    ),
    LeftOut(
        "distnb.sparse",
        "coo_matrix",
        _MATRIX,
        "use distnb.sparse.coo_array",
    ),
    LeftOut(
        "distnb.sparse",
        "bsr_matrix dia_matrix dok_matrix lil_matrix spmatrix",
        _MATRIX,
        "use distnb.sparse.csr_array, and .to_scipy() for SciPy's",
    ),
    LeftOut(
        "distnb.sparse",
        "bsr_array dia_array dok_array lil_array",
        "engines hold rows, columns or triplets",
        "use distnb.sparse.csr_array, and .to_scipy() for SciPy's",
    ),
    LeftOut(
        "distnb.sparse",
        "isspmatrix isspmatrix_bsr isspmatrix_coo isspmatrix_csc isspmatrix_csr isspmatrix_dia "
        "isspmatrix_dok isspmatrix_lil",
        "there are no matrices, for which * is the matrix product",
        "use distnb.sparse.issparse, and .format",
    ),
    LeftOut(
        "distnb.sparse.linalg",
        "LinearOperator aslinearoperator bicg cgs eigs eigsh expm_multiply funm_multiply_krylov "
        "gcrotmk gmres lgmres lobpcg lsmr lsqr matrix_power minres onenormest qmr svds tfqmr",
        "SciPy's has engines multiply, and keeps vectors in the notebook",
        "import it from scipy.sparse.linalg, and pass it the array as it is",
    ),
    LeftOut(
        "distnb.sparse.linalg",
        "expm factorized inv is_sptriangular spbandwidth spilu splu spsolve spsolve_triangular",
        "it looks into all of the array, which is on the engines",
        "import it from scipy.sparse.linalg, and pass it .to_scipy(); or use an iterative one",
    ),
    LeftOut(
        "distnb.sparse.linalg",
        "ArpackError ArpackNoConvergence LaplacianNd MatrixRankWarning SuperLU use_solver",
        "it is about SciPy's own code",
        "import it from scipy.sparse.linalg",
    ),
)


def listing(names: Iterable[str]) -> Callable[[], list[str]]:
    """Return a module's ``__dir__``: what is there for users.

    >>> listing(["ones"])()
    ['__doc__', '__file__', '__name__', 'ones']
    """
    return lambda: sorted([*names, "__doc__", "__file__", "__name__"])


def unknown(module: str) -> Callable[[str], Any]:
    """Return what raises AttributeError for a name, in Python's words."""

    def raises(name: str) -> Any:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return raises


def refusal(module: str, otherwise: Callable[[str], Any] | None = None) -> Callable[[str], Any]:
    """Return a module's ``__getattr__``, which says why a name is left out.

    ``otherwise`` returns what names are that are not left out, or raises AttributeError.

    >>> refusal("distnb")("memmap")
    Traceback (most recent call last):
    ...
    AttributeError: distnb.memmap: got a name of NumPy's that is left out (engines share no file),
    expected one of dir(distnb); use numpy.memmap, and distnb.asarray to send each engine its part
    """
    reasons = {name: row for row in LEFT_OUT if row.module == module for name in row.names.split()}

    def missing(name: str) -> Any:
        row = reasons.get(name)
        if row is None:
            return (otherwise or unknown(module))(name)
        whose = "SciPy's" if module.startswith("distnb.sparse") else "NumPy's"
        got = f"a name of {whose} that is left out ({row.why})"
        raise AttributeError(explain(f"{module}.{name}", got, f"one of dir({module})", row.do))

    return missing
