cimport cython

cimport distnb.common.ndarrays as nd

from distnb.client.batching.entries cimport Entry
from distnb.client.handle.fields cimport Fields

cdef class Promise:
    cdef public object _args, _find, _found
    cdef public int depth

@cython.locals(x=Fields, base=Entry, made=Promise, known=list, alike=bint)
cpdef promised(object session, object away, object near)
cpdef tuple told(Fields x)
cpdef tuple seen_of(object promise, tuple shape, object seen)
cdef _moved_index(object layout, tuple shape, tuple seen)
cdef _moved_item(object layout, tuple shape, d, k)
