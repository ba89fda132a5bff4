"""Checkpoints: what was saved is there again, bit for bit, or it is told what is wrong with it."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import zlib

import numpy as np
import pytest
import scipy.sparse

import distnb as dnb
from distnb.client.files import writing
from distnb.client.lasting import checkpoints, kept_arrays, manifests
from distnb.client.lasting.checkpoints import Saved
from tests.failures import support
from tests.failures.support import planted, setting
from tests.failures.test_files import tiny  # noqa: F401

DISTS = [None, "block", ("*", "block"), ("cyclic", "*"), ("block", "cyclic"), "replicated"]


def numbers(*shape):
    return (np.arange(np.prod(shape)) * 7919 % 104729 + 0.25).reshape(shape)


def files(folder):
    return {name for name in os.listdir(folder) if name.endswith(".npy")}


def file_of(folder, name):
    return json.loads((folder / "manifest.json").read_text())["arrays"][name]["file"]


def same(x, expected):
    np.testing.assert_array_equal(x.to_numpy(), expected)
    assert x.dtype == expected.dtype


@pytest.fixture(params=[1, 3])
def session(request):
    with dnb.inprocess(request.param) as made:
        yield made


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("cutoff", [0, 1 << 17])
def test_all_kinds_on_another_number_of_engines(session, size, cutoff, tmp_path):
    expected = {}
    with setting(cutoff=cutoff):
        for k, dist in enumerate(DISTS):
            session[f"kind {k}/é"] = dnb.asarray(numbers(31, 40), dist=dist) * 2
            expected[f"kind {k}/é"] = numbers(31, 40) * 2
        for dtype in ("?", "i1", "u2", "f4", "c16"):
            session[dtype] = dnb.arange(40, dist="block").astype(dtype)
            expected[dtype] = np.arange(40).astype(dtype)
        for shape in ((), (0, 3), (1,), (2, 3, 4)):
            session[str(shape)] = dnb.ones(shape, dist="block" if shape else None)
            expected[str(shape)] = np.ones(shape)
    layouts = {name: x.layout for name, x in session.named.items()}
    dnb.checkpoint(tmp_path / "there")
    with dnb.inprocess(size) as other:
        found = dnb.restore(tmp_path / "there")
        assert found.keys() == expected.keys()
        for name, x in found.items():
            same(x, expected[name])
            if size == session.size:
                assert x.layout == layouts[name]
        assert not other.named


@pytest.mark.parametrize("size", [1, 2, 4])
def test_sparse_arrays_on_another_number_of_engines(session, size, tmp_path):
    rows = scipy.sparse.random_array((31, 40), density=0.2, rng=1, format="csr")
    csr = dnb.sparse.csr_array(rows, dist="nnz")
    names = {"A": csr, "turned": csr.T, "triplets": csr.tocoo()}
    names["whole"] = csr.redistribute("replicated")
    names |= {"coo": dnb.sparse.coo_array(rows.tocoo()), "data": csr.data, "square": csr @ csr.T}
    names["blocks"] = csr.redistribute(grid=(1, session.size))
    expected = {name: x.to_scipy() for name, x in names.items() if name != "data"}
    for name, x in names.items():
        session[name] = x
    dnb.checkpoint(tmp_path)
    with dnb.inprocess(size):
        if size < session.size:
            with pytest.raises(dnb.LayoutError, match=f"in blocks on {session.size} engines"):
                dnb.restore(tmp_path)
            del expected["blocks"]
        found = dnb.restore(tmp_path, [*expected, "data"])
        for name, x in expected.items():
            np.testing.assert_array_equal(found[name].toarray().to_numpy(), x.toarray())
            vector = np.arange(x.shape[1])
            np.testing.assert_allclose((found[name] @ dnb.array(vector)).to_numpy(), x @ vector)
        found["data"][0] = 7
        assert found["A"].data[0] == found["turned"].data[0] == 7


def test_views_of_one_array_are_views_of_it_again(session, tmp_path):
    a = dnb.asarray(numbers(20, 30), dist="block")
    session["a"], session["turned"], session["some"] = a, a.T, a[3:9, ::-2]
    session["fixed"] = dnb.broadcast_to(a[0], (1000, 30))
    dnb.checkpoint(tmp_path)
    assert len(files(tmp_path)) == 1
    expected = numbers(20, 30)
    found = dnb.restore(tmp_path)
    found["some"][1] = -1
    expected[4, ::-2] = -1
    same(found["a"], expected)
    same(found["turned"], expected.T)
    with pytest.raises(ValueError, match="read-only"):
        found["fixed"][0] = 1
    same(a, numbers(20, 30))


def test_only_what_was_written_to_is_saved_again(session, tmp_path):
    with setting(place="engines", cutoff=0):
        for name in "abcd":
            session[name] = dnb.asarray(numbers(20, 30), dist="block") * 1
        dnb.checkpoint(tmp_path)
        first = {name: file_of(tmp_path, name) for name in "abcd"}
        dnb.checkpoint(tmp_path)
        assert {name: file_of(tmp_path, name) for name in "abcd"} == first
        session["b"][3] = 7
        session["c"] = session["c"] * 2
        assert session["d"].sum().item() == numbers(20, 30).sum()
        dnb.checkpoint(tmp_path)
        changed = {name for name in "abcd" if file_of(tmp_path, name) != first[name]}
        assert changed == {"b", "c"}
        assert len(files(tmp_path)) == 4
        expected = numbers(20, 30)
        same(dnb.restore(tmp_path)["c"], expected * 2)
        expected[3] = 7
        same(dnb.restore(tmp_path)["b"], expected)
        dnb.checkpoint(tmp_path, names=["a"])
        assert files(tmp_path) == {first["a"]}


def test_what_the_notebook_writes_in_reach_is_saved_again(session, tmp_path):
    x = session["x"] = dnb.asarray(numbers(200, 300), dist="block") * 1.0
    for step in range(4):
        x[step, 0] = -step  # the notebook does it, or the engines
        if step % 2:
            x += dnb.ones((200, 300), dist="block")
        expected = x.to_numpy()
        dnb.checkpoint(tmp_path)
        same(dnb.restore(tmp_path)["x"], expected)


def test_what_was_restored_is_not_saved_again_unless_it_is_written(session, tmp_path):
    with setting(place="engines", cutoff=0):
        session["a"] = dnb.asarray(numbers(20, 30), dist="block") * 1
        session["b"] = session["a"] + 1
        dnb.checkpoint(tmp_path)
        first = {name: file_of(tmp_path, name) for name in "ab"}
        with dnb.inprocess(2) as other:
            for name, x in dnb.restore(tmp_path).items():
                other[name] = x
            other["a"] += 1
            dnb.checkpoint(tmp_path)
            assert file_of(tmp_path, "b") == first["b"]
            same(dnb.restore(tmp_path)["a"], numbers(20, 30) + 1)
        dnb.checkpoint(tmp_path)  # what the other one saved is not taken for this one's
        same(dnb.restore(tmp_path)["a"], numbers(20, 30))


def test_some_names_into_a_namespace(session, tmp_path):
    session["a"], session["b"] = dnb.arange(9, dist="block"), dnb.ones(3)
    dnb.checkpoint(str(tmp_path))
    into = {"b": 1}
    dnb.restore(tmp_path, "a", into=into)
    assert into["b"] == 1
    same(into["a"], np.arange(9))
    with pytest.raises(KeyError, match=r"names \['c'\]"):
        dnb.restore(tmp_path, ["a", "c"])
    with pytest.raises(KeyError, match=r"names \['c'\]"):
        dnb.checkpoint(tmp_path, ["a", "c"])


def test_what_was_not_read_from_a_file_yet_is_left_out(session, tmp_path):
    pytest.importorskip("xarray")
    from distnb.libraries.xarray_manager import ChunkManager

    class File:
        shape, ndim, dtype = (500, 600), 2, np.dtype(float)

        def __getitem__(self, key):
            return numbers(500, 600)[key]

    session["x"], session["y"] = ChunkManager().from_array(File(), (500, 600)), dnb.ones(3)
    with pytest.warns(UserWarning, match="checkpoint: x is left out"):
        dnb.checkpoint(tmp_path)
    assert list(dnb.restore(tmp_path)) == ["y"]
    assert session["x"][3].sum().item() == numbers(500, 600)[3].sum()
    session["x"] = session["x"] * 1
    dnb.checkpoint(tmp_path)
    same(dnb.restore(tmp_path)["x"], numbers(500, 600))


def test_nothing_without_names(session, tmp_path):
    with pytest.raises(ValueError, match="no arrays with names"):
        dnb.checkpoint(tmp_path / "there")
    assert not (tmp_path / "there").exists()


@pytest.fixture
def there(tmp_path):
    """A checkpoint of an array of engines and one of the notebook."""
    with dnb.inprocess(2) as session:
        session["large"] = dnb.asarray(numbers(200, 300), dist="block")
        session["small"] = dnb.arange(4)
        dnb.checkpoint(tmp_path / "there")
    with dnb.inprocess(3):
        yield tmp_path / "there"


@pytest.mark.parametrize("name", ["large", "small"])
def test_files_that_are_not_what_was_saved(there, name):
    path = there / file_of(there, name)
    text = path.read_bytes()
    path.write_bytes(text[:-1] + bytes([text[-1] ^ 4]))
    with pytest.raises(ValueError, match=f"{path.name}: got other elements"):
        dnb.restore(there)
    path.write_bytes(text[:-3])
    with pytest.raises(ValueError, match=f"{path.name}: got .* bytes, expected at least"):
        dnb.restore(there)
    np.save(path, np.ones(3, np.float32))
    with pytest.raises(ValueError, match=f"{path.name}: got shape"):
        dnb.restore(there)
    path.unlink()
    with pytest.raises(FileNotFoundError, match=f"{path.name}: got none"):
        dnb.restore(there)
    others = {"large", "small"} - {name}
    assert dnb.restore(there, others).keys() == others


def test_manifests_that_are_none(there):
    path = there / "manifest.json"
    text = path.read_text()
    session = dnb.session()
    session["x"] = dnb.ones(3)
    for other, message in [
        (text.replace('"distnb checkpoint": 1', '"distnb checkpoint": 2'), "got version 2"),
        (text.replace("200", "100"), "another checksum"),
        (text[:-9], "no manifest"),
        ("[]", "no manifest"),
        ("[" * 100_000, "no manifest"),
    ]:
        path.write_text(other)
        for use in (dnb.restore, dnb.checkpoint):
            with pytest.raises(ValueError, match=message):
                use(there)
    path.write_text(text)
    assert dnb.restore(there).keys() == {"large", "small"}
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"no manifest\.json in it"):
        dnb.restore(there)


def forged(folder, change):
    """Change a manifest, with a checksum that holds."""
    path = folder / "manifest.json"
    told = json.loads(path.read_text())
    body = {k: v for k, v in told.items() if k not in ("distnb checkpoint", "crc32")}
    change(body)
    check = zlib.crc32(json.dumps(body, sort_keys=True).encode())
    path.write_text(json.dumps({"distnb checkpoint": 1, "crc32": check, **body}))


def renamed(body):
    """Name a file outside of the folder."""
    old = body["arrays"]["large"]["file"]
    body["arrays"]["large"]["file"] = f"../{old}"
    body["files"][f"../{old}"] = body["files"].pop(old)


SOME = ([0, 0, 1], [1, 0, 1])
FORGED = [
    ("file", {"parts": []}),
    ("file", {"parts": [[-8, 0], [480008, 0]]}),
    ("file", {"parts": "abc"}),
    ("file", {"dtype": "|O"}),
    ("file", {"dtype": "xyz"}),
    ("file", {"dtype": None}),
    ("file", {"shape": [-200, -300]}),
    ("file", {"shape": [10**12, 10**12]}),
    ("file", {"shape": 5}),
    ("layout", {"axes": [["whole"]]}),
    ("layout", {"axes": [["zzz"], ["zzz"]]}),
    ("layout", {"axes": [["irregular", [0, 5, 10**6]], ["*"]]}),
    ("layout", {"dims": [7, 8]}),
    ("layout", {"dims": [0, 0]}),
    ("layout", {"grid": [0, [10**7], [1]]}),
    ("layout", {"grid": [5, [2], [1]]}),
    ("layout", {"grid": [0, [2], [0]]}),
    ("layout", {"grid": [0.0, [2], [1]]}),
    ("view", [[1000, 1000], SOME, []]),
    ("view", [[200, 300], ([0, -5000, 1], [1, 0, 1]), []]),
    ("view", [[-3, 300], SOME, []]),
    ("view", [[200, 300], ([9, 0, 1], [1, 0, 1]), []]),
    ("view", [[300], [[1, 0, 1]], [[0, 10**9]]]),
    ("view", [[200, 300], ([0, 0, 10**6], [1, 0, 1]), []]),
    ("view", [[200.0, 300], SOME, []]),
    ("view", [[200, 300], [], []]),
    ("view", [[200, 200], ([0, 0, 1], [0, 0, 1]), []]),
    ("view", [[10**12, 10**12], ([-1, 0, 0], [-1, 0, 0]), [[0, 0], [1, 0]]]),
    ("array", {"file": "nope.npy"}),
    ("array", {"writeable": "no"}),
    ("body", {"engines": 0}),
    ("body", {"engines": "2"}),
    ("body", {"files": None}),
    ("body", {"arrays": []}),
]


@pytest.mark.parametrize(("where", "what"), FORGED, ids=str)
def test_manifests_that_cannot_be(there, where, what):
    def change(body):
        array = body["arrays"]["large"]
        file = body["files"][array["file"]]
        places = {"body": body, "array": array, "file": file, "layout": file["layout"]}
        if where == "view":
            array["view"] = what
        else:
            places[where].update(what)

    forged(there, lambda body: None)
    assert dnb.restore(there).keys() == {"large", "small"}
    forged(there, change)
    with pytest.raises(ValueError, match=r"manifest\.json: got what cannot be"):
        dnb.restore(there)


@pytest.mark.parametrize(
    "what",
    [
        {"kind": "other"},
        {"shape": [4, 3]},
        {"arrays": []},
        {"facts": []},
        {"facts": ["coo"]},
        {"facts": {"0": "csc"}},
        {"facts": {"1": 7}},
        {"facts": {"2": [3, 2**62]}},
        {"facts": {"2": [2, 4]}},
        {"facts": {"3": 3}},
        {"facts": {"4": [0, 1, 5]}},
        {"facts": {"4": [0, 9, 3]}},
        {"facts": {"5": "yes"}},
    ],
    ids=str,
)
def test_sparse_arrays_that_cannot_be(tmp_path, what):
    with dnb.inprocess(2) as session:
        session["S"] = dnb.sparse.csr_array([[0, 2, 0, 1], [0, 0, 0, 0], [3, 0, 0, 0]])
        dnb.checkpoint(tmp_path)

        def change(body):
            told = body["assembled"]["S"]
            if isinstance(what.get("facts"), dict):
                ((k, fact),) = what["facts"].items()
                told["facts"][int(k)] = fact
            else:
                told.update(what)

        forged(tmp_path, change)
        with pytest.raises(ValueError, match="got what cannot be"):
            dnb.restore(tmp_path)


@pytest.mark.parametrize("elements", [[9, 1, 0], [-1, 3, 0]], ids=str)
def test_places_of_sparse_arrays_that_cannot_be(tmp_path, elements):
    """Of which the checksum holds."""
    with dnb.inprocess(2) as session:
        csr = session["S"] = dnb.sparse.csr_array([[0, 2, 0, 1], [0, 0, 0, 0], [3, 0, 0, 0]])
        csr.structure.indices[...] = elements
        dnb.checkpoint(tmp_path)
        with pytest.raises(ValueError, match="S: got what cannot be"):
            dnb.restore(tmp_path)


def test_files_that_a_checkpoint_does_not_have(there):
    path = there / file_of(there, "large")
    shutil.copy(path, there.parent)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(ValueError, match="no regular file"):
        dnb.restore(there)
    forged(there, renamed)
    with pytest.raises(ValueError, match="got what cannot be"):
        dnb.restore(there)
    (there / "manifest.json").unlink()
    os.mkfifo(there / "manifest.json")
    with pytest.raises(ValueError, match="no regular file"):
        dnb.restore(there)


def test_what_repeats_elements_is_read_only(there):
    view = [[200, 300], ([-1, 0, 0], [1, 0, 1]), [[0, 0]]]
    forged(there, lambda body: body["arrays"]["large"].update(view=view))
    with pytest.raises(ValueError, match="read-only"):
        dnb.restore(there)["large"][0] = 1


def test_folders_that_are_none(session, tmp_path):
    session["x"] = dnb.ones(3)
    (tmp_path / "file").write_text("mine")
    for use in (dnb.restore, dnb.checkpoint):
        with pytest.raises(NotADirectoryError, match="got a file, expected a folder"):
            use(tmp_path / "file")
        with pytest.raises(TypeError, match="got int, expected the path"):
            use(3)
        with pytest.raises(ValueError, match="the address"):
            use("s3://some/where")
    with pytest.raises(FileExistsError, match="other files in it"):
        dnb.checkpoint(tmp_path)
    with pytest.raises(FileNotFoundError):
        dnb.restore(tmp_path / "nowhere")
    with pytest.raises(OSError, match="expected a folder to write in; name another one") as one:
        dnb.checkpoint(tmp_path / "file" / "there")
    assert one.value.__suppress_context__  # which says the same, in other words
    assert os.listdir(tmp_path) == ["file"]


def test_a_folder_that_may_not_be_written(session, tmp_path, monkeypatch):
    def refuse(*given):
        raise PermissionError(13, "Permission denied")

    session["x"] = dnb.ones(3)
    dnb.checkpoint(tmp_path)
    session["x"] += 1
    monkeypatch.setattr(checkpoints, "new_file", refuse)  # root may do everything
    with pytest.raises(PermissionError, match="what was there before stays") as one:
        dnb.checkpoint(tmp_path)
    assert one.value.__suppress_context__
    same(dnb.restore(tmp_path)["x"], np.ones(3))


def test_two_at_a_time(session, tmp_path):
    here = tmp_path / "there"
    session["x"] = dnb.ones(3)
    dnb.checkpoint(here)
    fd = manifests.lock(str(here))
    with pytest.raises(BlockingIOError, match="one that is read"):
        dnb.checkpoint(here)
    dnb.restore(here)
    os.close(fd)
    fd = manifests.lock(str(here), True)
    with pytest.raises(BlockingIOError, match="being written"):
        dnb.restore(here)
    os.close(fd)
    dnb.checkpoint(here)
    shutil.copytree(here, tmp_path / "copy")
    (tmp_path / "copy" / "checkpoint.lock").unlink()
    same(dnb.restore(tmp_path / "copy")["x"], np.ones(3))


@pytest.mark.parametrize("cutoff", [0, 1 << 24])
def test_a_full_disk_leaves_the_one_before(tiny, cutoff):  # noqa: F811
    with dnb.inprocess(3) as session, setting(cutoff=cutoff):
        session["x"] = dnb.arange(3)
        dnb.checkpoint(tiny / "there")
        before = files(tiny / "there")
        session["x"] = dnb.asarray(numbers(500, 600))
        with pytest.raises(OSError, match="No space left on device.*stays") as raised:
            dnb.checkpoint(tiny / "there")
        assert raised.value.errno == errno.ENOSPC
        assert files(tiny / "there") == before
        same(dnb.restore(tiny / "there")["x"], np.arange(3))


@pytest.mark.parametrize("what", ["raise KeyboardInterrupt", "raise OSError(5, 'Input/output')"])
def test_what_fails_in_between_leaves_the_one_before(three, tmp_path, what):
    three["x"] = dnb.arange(900.0, dist="block", session=three)
    three["y"] = dnb.ones(900, dist="block", session=three)
    dnb.checkpoint(tmp_path, session=three)
    before = files(tmp_path)
    three["x"] += 1
    three["y"] += 1
    fails = planted(three, 1, "op == 'file.write'", what)
    with fails, pytest.raises((KeyboardInterrupt, OSError)):
        dnb.checkpoint(tmp_path, session=three)
    assert files(tmp_path) == before
    same(dnb.restore(tmp_path, session=three)["x"], np.arange(900.0))
    dnb.checkpoint(tmp_path, session=three)
    found = dnb.restore(tmp_path, session=three)
    same(found["x"], np.arange(900.0) + 1)
    same(found["y"], np.ones(900) + 1)


@pytest.mark.parametrize(
    "when", ["write_manifest", "drop_others", "replace", "sync", "record_collective"]
)
def test_an_interrupt_in_the_notebook_leaves_a_whole_one(session, tmp_path, monkeypatch, when):
    session["x"] = dnb.asarray(numbers(200, 300), dist="block")
    dnb.checkpoint(tmp_path)
    session["x"] += 1
    other = dnb.ones((200, 300), dist="block") + 1
    holder, name = {
        "write_manifest": (checkpoints, when),
        "drop_others": (checkpoints, when),
        "replace": (os, when),
        "sync": (manifests, when),
        "record_collective": (writing, when),
    }[when]
    real = getattr(holder, name)

    def interrupted(*args):
        if when in ("replace", "record_collective"):
            real(*args)  # the new one is in place, or engines are still to write it
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(holder, name, interrupted)
        with pytest.raises(KeyboardInterrupt):
            dnb.checkpoint(tmp_path)
    same(other, np.full((200, 300), 2.0))
    same(dnb.restore(tmp_path)["x"], numbers(200, 300) + (when in ("replace", "drop_others")))
    dnb.checkpoint(tmp_path)
    assert len(files(tmp_path)) == 1
    same(dnb.restore(tmp_path)["x"], numbers(200, 300) + 1)


def test_a_killed_notebook_leaves_the_one_before(tmp_path):
    code = """
import os, signal, sys
import distnb as dnb
from distnb.client.lasting import checkpoints
with dnb.inprocess(2) as session:
    session["x"] = dnb.arange(9, dist="block")
    dnb.checkpoint(sys.argv[1])
    session["x"] += 1
    checkpoints.write_manifest = lambda *given: os.kill(os.getpid(), signal.SIGKILL)
    dnb.checkpoint(sys.argv[1])
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(support.ROOT)},
        capture_output=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert len(files(tmp_path)) == 2
    with dnb.inprocess(1) as session:
        same(dnb.restore(tmp_path)["x"], np.arange(9))
        session["x"] = dnb.ones(3)
        dnb.checkpoint(tmp_path)
        assert len(files(tmp_path)) == 1


@pytest.mark.cases(1)
@pytest.mark.parametrize("rank", [0, 1])
def test_an_engine_that_dies_while_it_writes(doomed, tmp_path, rank):
    doomed["x"] = dnb.asarray(numbers(500, 600), dist="block", session=doomed)
    doomed["x"] += 1
    dnb.checkpoint(tmp_path, session=doomed)
    doomed["x"] += 1
    support.plant(doomed, rank, "op == 'file.write'", "os.kill(os.getpid(), 9)")
    dnb.checkpoint(tmp_path, session=doomed)  # others start, and write it
    found = dnb.restore(tmp_path, session=doomed)["x"]
    same(found, numbers(500, 600) + 2)
    assert len(files(tmp_path)) == 1


def test_lost_arrays_are_named_and_nothing_is_written(three, tmp_path):
    three["x"] = dnb.arange(900.0, dist="block", session=three)
    three["y"] = dnb.ones(900, dist="block", session=three)
    dnb.checkpoint(tmp_path, session=three)
    with (
        planted(three, 1, "op == 'sort'", "raise MemoryError('no room')"),
        pytest.raises(MemoryError),
    ):
        three["x"].sort()
        three.flush()
    with pytest.raises(dnb.LostArrayError, match="checkpoint of x: got lost content"):
        dnb.checkpoint(tmp_path, session=three)
    same(dnb.restore(tmp_path, session=three)["x"], np.arange(900.0))
    three["x"][...] = 3
    dnb.checkpoint(tmp_path, session=three)
    same(dnb.restore(tmp_path, session=three)["x"], np.full(900, 3.0))


def test_every_so_often(session, tmp_path, monkeypatch, capsys):
    now = [100.0]
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: now[0])
    x = session["x"] = dnb.arange(9, dist="block")
    for step in range(6):
        dnb.checkpoint(tmp_path, every="5 min")
        same(dnb.restore(tmp_path)["x"], np.arange(9) + step // 3 * 3)
        now[0] += 100
        x += 1
    assert checkpoints.repeat(session) == 300.0  # it was time
    same(dnb.restore(tmp_path)["x"], np.arange(9) + 6)
    now[0] += 50
    assert checkpoints.repeat(session) == 250.0
    now[0] += 250
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "_write_all", lambda *given: 1 / 0)
        assert checkpoints.repeat(session) == 300.0
    assert "no checkpoint was written: division by zero" in capsys.readouterr().err
    plans = session.extensions[Saved].plans
    plans[str(tmp_path)] = plans[str(tmp_path)]._replace(names=("y",))
    now[0] += 300
    checkpoints.repeat(session)
    assert "written: checkpoint: got names ['y']" in capsys.readouterr().err
    dnb.checkpoint(tmp_path, every="never")
    assert checkpoints.repeat(session) is None
    for every in (0, "5 parsec", "0 s"):
        with pytest.raises(ValueError, match="every: got"):
            dnb.checkpoint(tmp_path, every=every)
    with pytest.raises(TypeError, match="every: got"):
        dnb.checkpoint(tmp_path, every=True)
    assert not session.extensions[Saved].plans


@pytest.mark.parametrize("how", ["missing", "cut", "changed", "replaced"])
@pytest.mark.parametrize("restored", [False, True])
def test_a_file_that_is_not_as_it_was_is_written_anew(session, tmp_path, how, restored):
    with setting(place="engines", cutoff=0):
        session["x"] = dnb.asarray(numbers(20, 30), dist="block") * 1
        dnb.checkpoint(tmp_path)
        if restored:
            session["x"] = dnb.restore(tmp_path)["x"]
        path = tmp_path / file_of(tmp_path, "x")
        text = path.read_bytes()
        if how == "missing":
            path.unlink()
        elif how == "cut":
            os.truncate(path, len(text) - 3)
        elif how == "changed":
            path.write_bytes(text[:-1] + bytes([text[-1] ^ 4]))
            os.utime(path, ns=(0, 0))
        else:
            other = tmp_path / "other"
            other.write_bytes(text[:-1] + bytes([text[-1] ^ 4]))
            os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
            other.replace(path)
        dnb.checkpoint(tmp_path)
        same(dnb.restore(tmp_path)["x"], numbers(20, 30))


def test_what_px_code_was_shown_is_saved_each_time(session, tmp_path):
    with setting(place="engines", cutoff=0):
        x = session["x"] = dnb.asarray(numbers(20, 30), dist="block") * 1
        dnb.checkpoint(tmp_path)
        session.bind([("x", x.operand)])
        for _ in range(2):
            before = file_of(tmp_path, "x")
            dnb.checkpoint(tmp_path)
            assert file_of(tmp_path, "x") != before


def test_files_of_others_stay(session, tmp_path, monkeypatch):
    def full(*given):
        raise OSError(28, "No space left on device")

    session["x"] = dnb.ones(3)
    dnb.checkpoint(tmp_path)
    mine = tmp_path / "result-0123456789ab.npy"
    mine.write_bytes(b"mine")
    dnb.checkpoint(tmp_path)
    assert mine.exists()
    (tmp_path / "manifest.json").unlink()
    before = files(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "write_manifest", full)
        with pytest.raises(OSError, match="No space"):
            dnb.checkpoint(tmp_path)
    assert files(tmp_path) == before
    assert len(before) == 2


def test_long_names_of_all_kinds_of_characters(session, tmp_path):
    names = ["\U00020000" * 80, "é" * 200, "x" * 300, "a/b", "."]
    for name in names:
        session[name] = dnb.ones(3)
    dnb.checkpoint(tmp_path)
    assert list(dnb.restore(tmp_path)) == names


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EIO])
@pytest.mark.parametrize("when", [1, 2])
def test_names_that_cannot_be_brought_to_the_disk(session, tmp_path, monkeypatch, number, when):
    real, count = manifests.sync, []

    def fails(path):
        if not os.path.isdir(path):
            return real(path)
        count.append(path)
        if len(count) == when:
            raise OSError(number, os.strerror(number))
        return None

    x = session["x"] = dnb.asarray(numbers(20, 30), dist="block") * 1
    dnb.checkpoint(tmp_path)
    x += 1
    with monkeypatch.context() as patch:
        patch.setattr(manifests, "sync", fails)
        if number == errno.EINVAL:  # a file system that cannot
            dnb.checkpoint(tmp_path)
        else:
            told = "what was there before stays" if when == 1 else "got the new one, but"
            with pytest.raises(OSError, match=told) as raised:
                dnb.checkpoint(tmp_path)
            assert raised.value.errno == number
    new = number == errno.EINVAL or when == 2
    same(dnb.restore(tmp_path)["x"], numbers(20, 30) + new)


def test_a_forked_child_does_not_hold_the_lock(session, tmp_path):
    session["x"] = dnb.ones(3)
    dnb.checkpoint(tmp_path)
    fd = manifests.lock(str(tmp_path), True)
    child = os.dup(fd)  # as a child has it
    manifests.unlock(fd)
    dnb.checkpoint(tmp_path)
    os.close(child)


@pytest.fixture
def notebook(session, monkeypatch):
    """The variables of a notebook."""
    variables = {}
    mine = [lambda asked: [(n, x) for n, x in variables.items() if x.session is asked]]
    monkeypatch.setattr(kept_arrays, "NOTEBOOKS", mine)
    return variables


def test_of_a_name_and_a_variable_the_later_one_is_saved(session, notebook, tmp_path):
    def saved():
        dnb.checkpoint(tmp_path)
        return dnb.restore(tmp_path)["V"].to_numpy().max()

    notebook["V"] = session["V"] = dnb.ones(9, dist="block")
    assert saved() == 1
    notebook["V"] = notebook["V"] + 1
    assert saved() == 2
    assert session["V"].max().item() == 1
    session["V"] = notebook["V"] + 1
    assert saved() == 3
    notebook["V"] = notebook["V"] * 2
    assert saved() == 4
    assert [x.name for x in dnb.arrays()] == ["V"]
    del notebook["V"]
    assert saved() == 3


def test_an_attached_name_is_dropped_when_its_variable_is_bound_anew(session, notebook, tmp_path):
    names = session.extensions[kept_arrays.Names]
    for name in "ab":
        session.named[name] = dnb.ones(9, dist="block")
    names.attached = {"a", "b"}
    dnb.arrays()
    notebook["a"] = session["a"]
    dnb.arrays()
    notebook["a"], notebook["b"] = session["a"] + 1, session["b"] + 1
    dnb.checkpoint(tmp_path)
    assert [x.to_numpy().max() for x in dnb.restore(tmp_path).values()] == [2, 2]
    assert list(session.named) == ["b"]  # no variable had that one
