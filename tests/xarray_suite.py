"""Run xarray's own tests of arrays that are not NumPy's, with ours: ``python -m tests.xarray_suite``.

They are parametrized by libraries, one of which is JAX, which is not installed: distnb stands for it.
"""

import sys
import types

import pytest
import xarray.tests

import distnb as dnb

# xarray passes on edge_order=None, which numpy.gradient refuses, and so do we
LEFT_OUT = ["differentiate"]


def main():
    """Return pytest's exit code."""
    dnb.config.cutoff, dnb.config.place = 0, "engines"
    jax = types.SimpleNamespace(config=types.SimpleNamespace(update=lambda *_: None), numpy=dnb)
    array_object = types.SimpleNamespace(Array=dnb.DistArray)
    xarray.tests.requires_jax = pytest.mark.filterwarnings("ignore")
    with pytest.MonkeyPatch.context() as patch, dnb.inprocess(3):
        for name, module in {
            "jax": jax,
            "jax.numpy": dnb,
            "array_api_strict": dnb,
            "array_api_strict._array_object": array_object,
        }.items():
            patch.setitem(sys.modules, name, module)
        from xarray.tests import test_duck_array_wrapping as wrapping

        # results of no axes are scalars to NumPy, so none of its ndarrays; they stay on engines
        wrapping.NAMESPACE_ARRAYS["jax.numpy"]["attrs"]["array"] = "DistArray"
        wrapping.NAMESPACE_ARRAYS["jax.numpy"]["xfails"] = dict.fromkeys(LEFT_OUT, "as NumPy's")
        modules = [f"xarray.tests.{m}" for m in ("test_array_api", "test_duck_array_wrapping")]
        chosen = "test_array_api or jax.numpy"
        options = [
            "-q",
            "--tb=short",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            "-c",
            "/dev/null",
        ]
        return pytest.main([*options, "-W", "ignore", "--pyargs", *modules, "-k", chosen])


if __name__ == "__main__":
    sys.exit(main())
