cimport cython

from distnb.client.handle.fields cimport Fields

cdef class Promise:
    cdef public object _args, _find, _found, depth

@cython.locals(x=Fields)
cpdef promised(object session, object away, object near)
cdef bint _alike(object known)
cpdef tuple told(Fields x)
