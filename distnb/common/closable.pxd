cdef class Closable:
    cdef public bint closed
