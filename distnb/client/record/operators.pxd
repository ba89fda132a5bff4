from distnb.client.handle.fields cimport Fields
from distnb.client.reach.small_steps cimport quick, quick_into, quick_one, quick_pair
