cimport distnb.common.ndarrays as nd
from distnb.client.handle.fields cimport Fields, at_hand, beside, fresh, is_away, near_of
from distnb.client.reach.small_reductions cimport accumulated, quick_reduction
from distnb.client.reach.small_products cimport product, quick_dot
from distnb.client.reach.small_steps cimport done, of_call, of_ufunc, quick_out, store
from distnb.client.reach.small_views cimport indexed, laid, with_units
from distnb.client.reach.whole_functions cimport into_given, step

cpdef called(object ufunc, str method, tuple inputs, dict options)
cpdef _of_method(object ufunc, str method, tuple inputs, dict options)
cdef _along(object ufunc, str method, object x, dict options)
cdef _at(object ufunc, tuple inputs)
cdef _reduced(object ufunc, Fields x, dict options)
cdef _outer(object ufunc, Fields x, object y)
cdef _by_segments(object ufunc, Fields x, object indices)
cpdef reshaped(object x, object shape)
