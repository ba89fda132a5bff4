from distnb.client.handle.fields cimport Fields
from distnb.client.reach.small_reductions cimport accumulated, quick_reduction
from distnb.client.reach.small_products cimport product
from distnb.client.reach.small_steps cimport indexed, of_ufunc, quick_out, store

cpdef called(object ufunc, str method, tuple inputs, dict options)
