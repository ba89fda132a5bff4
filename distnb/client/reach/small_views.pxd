cimport cython

cimport distnb.common.ndarrays as nd

from distnb.client.handle.fields cimport Fields, base_of, fresh, near_of, viewed
from distnb.client.reach.promised_layouts cimport promised

cpdef indexed(Fields x, object key)
cpdef bint is_plain(object key)
@cython.locals(depth=int)
cdef _seen(Fields x)
cpdef turned(Fields x, object axes)
@cython.locals(made=Fields, shown=Fields)
cpdef laid(object session, object found, object away)
cpdef with_units(Fields x, object shown)
