from distnb.client.handle.fields cimport Fields, is_away, near_of
from distnb.client.reach.promised_layouts cimport Promise, told

cdef class Part:
    cdef public object layout, shape, view, dtype

cpdef Part part(Fields x)
cdef int _depth(object x)
