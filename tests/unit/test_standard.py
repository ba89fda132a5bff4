"""The Python array API standard: all its names, with its signatures; dtypes, devices, exchange."""

import inspect

import array_api_strict
import numpy as np
import pytest

import distnb as dnb

array_api_strict.set_array_api_strict_flags(api_version="2024.12")

#: What array_api_strict has besides the standard.
OWN = {
    *("ArrayAPIStrictFlags", "Device", "ModuleType", "get_array_api_strict_flags"),
    *("reset_array_api_strict_flags", "set_array_api_strict_flags", "broadcast_shapes"),
}


def names(module):
    return [n for n in dir(module) if not n.startswith("_") and n not in OWN]


def functions(module):
    return [n for n in names(module) if inspect.isfunction(getattr(module, n))]


@pytest.fixture
def session():
    with dnb.inprocess(2) as session:
        yield session


@pytest.mark.parametrize("name", names(array_api_strict))
def test_has_all_names(name):
    assert hasattr(dnb, name)


@pytest.mark.parametrize("name", functions(array_api_strict))
def test_takes_what_the_standard_says(name):
    check_signature(getattr(array_api_strict, name), getattr(dnb, name))


@pytest.mark.parametrize("extension", ["fft", "linalg"])
def test_extensions(extension):
    standards, ours = getattr(array_api_strict, extension), getattr(dnb, extension)
    for name in standards.__all__:
        assert hasattr(ours, name), name
        check_signature(getattr(standards, name), getattr(ours, name))


def check_signature(standards, ours):
    """Each parameter of the standard is taken, at its place or by its name, with its default."""
    wanted = list(inspect.signature(standards).parameters.values())
    found = inspect.signature(ours).parameters
    by_place = [p for p in found.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for i, p in enumerate(wanted):
        if p.kind is p.VAR_POSITIONAL:
            assert any(q.kind is q.VAR_POSITIONAL for q in found.values()), p
            continue
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            assert i < len(by_place), p
            ours = by_place[i]
        if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
            assert p.name in found, p
            ours = found[p.name]
            assert ours.kind is not ours.POSITIONAL_ONLY, p
        if p.default is not p.empty:
            assert ours.default is not ours.empty, p
    needed = [q for q in by_place if q.default is q.empty]
    places = [p for p in wanted if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    assert len(needed) <= len(places)


def test_namespace(session):
    x = dnb.ones(3)
    assert x.__array_namespace__() is dnb
    assert x.__array_namespace__(api_version="2023.12") is dnb
    with pytest.raises(ValueError, match="api_version"):
        x.__array_namespace__(api_version="1999.12")
    assert dnb.__array_api_version__ == "2024.12"


def test_inspection():
    info = dnb.__array_namespace_info__()
    assert info.capabilities()["boolean indexing"] is True
    assert info.capabilities()["data-dependent shapes"] is True
    assert info.default_device() == "cpu"
    assert info.devices() == ["cpu"]
    for kind, dtype in info.dtypes().items():
        assert getattr(dnb, kind) == dtype


def test_devices(session):
    x = dnb.ones((2, 3), device="cpu")
    assert x.device == "cpu"
    assert x.to_device("cpu") is x
    with pytest.raises(ValueError, match="device: got 'gpu'"):
        dnb.zeros(3, device="gpu")
    with pytest.raises(ValueError, match="device"):
        x.to_device("gpu")
    assert dnb.zeros_like(x, device="cpu").shape == (2, 3)


def test_copy_of_asarray(session):
    x = dnb.ones(3)
    assert dnb.asarray(x) is x
    assert dnb.asarray(x, copy=False) is x
    assert dnb.asarray(x, copy=True) is not x
    with pytest.raises(ValueError, match="copy"):
        dnb.asarray([1, 2], copy=False)
    with pytest.raises(ValueError, match="copy"):
        dnb.asarray(x, dtype=dnb.int8, copy=False)


def test_dtypes(session):
    x = dnb.ones(3, dtype=dnb.float32)
    assert dnb.result_type(x, dnb.int8) == np.float32
    assert dnb.result_type(x, 1.0) == np.float32
    assert dnb.result_type(x, dnb.ones(2)) == np.float64
    assert not dnb.can_cast(dnb.ones(2), dnb.float32)
    assert dnb.can_cast(x, dnb.float64)
    assert dnb.isdtype(x.dtype, "real floating")
    assert dnb.astype(x, dnb.int16).dtype == np.int16
    assert dnb.astype(x, dnb.float32, copy=False) is x
    assert np.result_type(x, np.int8) == np.float32


@pytest.mark.parametrize("name", ["float32", "float64", "complex64", "complex128"])
def test_finfo(session, name):
    for given in (getattr(dnb, name), dnb.ones(1, dtype=name)):
        found, numpys = dnb.finfo(given), np.finfo(name)
        for attribute in ("eps", "max", "min", "smallest_normal"):
            value = getattr(found, attribute)
            assert isinstance(value, float)
            assert value == getattr(numpys, attribute)
        assert found.bits == numpys.bits
        assert found.dtype == numpys.dtype
        assert found.precision == numpys.precision


def test_iinfo(session):
    assert dnb.iinfo(dnb.int8).max == dnb.iinfo(dnb.ones(1, dtype="int8")).max == 127
    with pytest.raises(ValueError, match="Invalid integer data type"):
        dnb.iinfo(dnb.float64)


def test_dlpack(session):
    x = dnb.arange(6.0)[::2]
    np.testing.assert_array_equal(np.from_dlpack(x), [0, 2, 4])
    assert dnb.from_dlpack(x) is x
    made = dnb.from_dlpack(np.arange(4))
    assert made.layout.base == dnb.arange(4).layout.base
    np.testing.assert_array_equal(made.to_numpy(), np.arange(4))
    assert x.__dlpack_device__() == np.ones(1).__dlpack_device__()
    with pytest.raises(BufferError, match="copy"):
        x.__dlpack__(copy=False)
    before, dnb.config.gather_budget = dnb.config.gather_budget, 8
    try:
        with pytest.raises(dnb.GatherError):
            np.from_dlpack(x)
    finally:
        dnb.config.gather_budget = before
