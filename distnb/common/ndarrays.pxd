# Of what NumPy's headers do without its table of functions, which modules would have to import.
cimport numpy as cnp

cdef extern from *:
    """
    static PyObject *distnb_bare(PyObject *kind, PyObject *none) {
        return ((PyTypeObject *)kind)->tp_new((PyTypeObject *)kind, none, NULL);
    }
    """
    object distnb_bare(object kind, object none)

cdef extern from "Python.h":
    ctypedef struct PyObject
    ctypedef struct PySliceObject:
        PyObject *start
        PyObject *stop
        PyObject *step
    PyObject *Py_None
    void *PyEval_GetGlobals()

cdef inline Py_ssize_t running():
    return <Py_ssize_t>PyEval_GetGlobals()

cdef inline bint is_of(str package):
    cdef void *found = PyEval_GetGlobals()
    if found is NULL:
        return True
    return str((<dict>found).get("__name__", "")).startswith(package)

cdef inline object bare(object kind):
    return distnb_bare(kind, ())

cdef enum:
    COMPILED = 1
    QUICK = 1 << 23
    HALF = 1 << 22
    POOLED = 1 << 17

cdef inline Py_ssize_t address(cnp.ndarray a):
    return <Py_ssize_t>cnp.PyArray_DATA(a)

cdef inline Py_ssize_t nbytes(cnp.ndarray a):
    cdef Py_ssize_t found = cnp.PyArray_ITEMSIZE(a)
    cdef int i
    for i in range(cnp.PyArray_NDIM(a)):
        found *= cnp.PyArray_DIM(a, i)
    return found

cdef inline bint same_shape(cnp.ndarray a, cnp.ndarray b):
    cdef int i
    if cnp.PyArray_NDIM(a) != cnp.PyArray_NDIM(b):
        return False
    for i in range(cnp.PyArray_NDIM(a)):
        if cnp.PyArray_DIM(a, i) != cnp.PyArray_DIM(b, i):
            return False
    return True

cdef inline Py_ssize_t of_both(cnp.ndarray a, cnp.ndarray b):
    cdef int i, ours = cnp.PyArray_NDIM(a), theirs = cnp.PyArray_NDIM(b)
    cdef Py_ssize_t n, m
    cdef double found = 1  # views that repeat elements have any number of them
    for i in range(1, max(ours, theirs) + 1):
        n = cnp.PyArray_DIM(a, ours - i) if i <= ours else 1
        m = cnp.PyArray_DIM(b, theirs - i) if i <= theirs else 1
        found *= max(n, m)
    return <Py_ssize_t>min(found, <double>QUICK)

cdef inline bint in_c(cnp.ndarray a):
    return cnp.PyArray_IS_C_CONTIGUOUS(a)

cdef inline bint is_fixed(object k, object kinds):
    cdef PySliceObject *parts = <PySliceObject *>k
    return (
        _is_of(parts.start, kinds) and _is_of(parts.stop, kinds) and _is_of(parts.step, kinds)
    )

cdef inline bint _is_of(PyObject *part, object kinds):
    if part is Py_None:
        return True
    kind = type(<object>part)
    return kind is int or kind in kinds
