cdef class Collecting:
    cdef public long long since
    cdef public long long spent
