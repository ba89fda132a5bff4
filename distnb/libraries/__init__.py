"""At home among other libraries: what xarray, pandas, h5py and Zarr do with distributed arrays.

What such a library calls, and what is put in the place of its functions when it is imported,
belongs here; files that it reads are for ``formats.libraries``. Nothing of distnb imports it but
the root, which says when.
"""
