cimport cython

cimport distnb.common.ndarrays as nd

from distnb.client.batching.entries cimport Entry
from distnb.client.handle.fields cimport Fields

cdef class Promise:
    cdef public object _args, _find, _found, _shape
    cdef public int _size, depth

cpdef promised(object session, object away, object near)
@cython.locals(base=Entry, one=Promise)
cdef _of_whole(Fields x, object near)
@cython.locals(made=Promise)
cdef _of_pieces(object session, object away, object near)
@cython.locals(one=Promise, what=tuple)
cdef tuple _known(Fields x, Promise made)
@cython.locals(base=Entry)
cpdef tuple told(Fields x)
cpdef tuple seen_of(object promise, tuple shape, object seen)
cdef _moved_index(object layout, tuple shape, tuple seen)
cdef _moved_item(object layout, tuple shape, d, k)
