cimport cython

cimport distnb.common.ndarrays as nd

from distnb.client.handle.fields cimport Fields, fresh, is_away, near_of
from distnb.client.reach.promised_layouts cimport promised
from distnb.client.reach.rehearsal cimport part
from distnb.client.reach.small_steps cimport done

@cython.locals(nbytes=Py_ssize_t, large=bint)
cpdef product(Fields x, Fields y, object long, bint seen=*, object run=*)
cdef bint _is_of_vector(object one, object other)
cpdef quick_dot(Fields x, Fields y, bint seen=*)
