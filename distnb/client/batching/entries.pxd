from distnb.common.closable cimport Closable

cdef class Entry:
    cdef object __weakref__
    cdef public object _layout, disk, dtype, host, kept, known, look, lost, memory, near, promise, shape
    cdef public object sharing
    cdef public bint apart, exported
    cdef public long long handle, nbytes, since, site, turn
    cdef public Closable session

cpdef reached(Entry base, Closable session, object near, object layout)
cpdef come(Entry base, Closable session, object shape, object dtype)
