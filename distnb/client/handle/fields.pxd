cimport cython

cimport distnb.common.ndarrays as nd
from distnb.client.batching.entries cimport Entry, reached
from distnb.common.closable cimport Closable

cdef class Fields:
    cdef object __weakref__
    cdef public Entry _base
    cdef public object _key, _near, _owner, _placed, _view, _whole
    cdef public object promise, single, spec, writeable
    cdef public Closable session

@cython.locals(found=Fields)
cpdef fresh(object session, object near, object promise)

@cython.locals(found=Fields)
cpdef viewed(Fields x, object taken, Entry base, tuple key)

@cython.locals(base=Entry)
cpdef Entry base_of(Fields x)

cpdef near_of(Fields x)

cpdef bint stayed(Fields x, object near)

cpdef bint is_away(Fields x)

@cython.locals(one=Fields)
cpdef at_hand(object x)

@cython.locals(base=Entry, found=Fields)
cpdef beside(Fields x, object shown)
