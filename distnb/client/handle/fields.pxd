cimport cython

cimport distnb.common.ndarrays as nd
from distnb.common.closable cimport Closable

cdef class Fields:
    cdef object __weakref__
    cdef public object _base, _key, _near, _owner, _placed, _view, _whole
    cdef public object promise, single, spec, writeable
    cdef public Closable session

@cython.locals(found=Fields)
cpdef fresh(object session, object near, object promise)

@cython.locals(found=Fields)
cpdef viewed(Fields x, object taken, object base, tuple key)

cpdef near_of(Fields x)

cpdef bint is_away(Fields x)
