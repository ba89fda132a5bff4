cimport cython

cimport distnb.common.ndarrays as nd

from distnb.client.handle.fields cimport Fields, fresh, is_away, near_of
from distnb.client.reach.small_steps cimport done

@cython.locals(home=bint)
cpdef quick_reduction(str op, Fields x, object axis, bint keepdims)
cdef bint _same_order(str op, Fields x, object near)
cpdef accumulated(object ufunc, object x, dict options)
