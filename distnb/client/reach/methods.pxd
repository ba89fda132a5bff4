cimport distnb.common.ndarrays as nd
from distnb.client.handle.fields cimport Fields, at_hand, beside, fresh, near_of
from distnb.client.reach.small_reductions cimport accumulated, quick_reduction
from distnb.client.reach.small_products cimport product, quick_dot
from distnb.client.reach.small_steps cimport done, of_call, of_ufunc, quick_out, store
from distnb.client.reach.small_views cimport indexed

cpdef called(object ufunc, str method, tuple inputs, dict options)
