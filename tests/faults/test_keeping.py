"""Notebooks that end: the next one has the arrays again, bit for bit, or is told what is gone."""

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse
from IPython.core.interactiveshell import InteractiveShell

import distnb as dnb
from distnb.client.lasting import kept_arrays, visiting
from distnb.client.recovery import keeping
from distnb.client.session import current
from tests.failures import support
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("interruptible")

#: What all notebooks begin with.
HEAD = """
import os, signal, sys
import numpy as np
import distnb as dnb

def numbers(*shape):
    return (np.arange(np.prod(shape)) * 7919 % 104729 + 0.25).reshape(shape)

def die():
    os.kill(os.getpid(), signal.SIGKILL)

session = dnb.start({engines}, keep="10 min")
"""
DISTS = [None, "block", ("*", "block"), ("cyclic", "*"), ("block", "cyclic"), "replicated"]


def numbers(*shape):
    return (np.arange(np.prod(shape)) * 7919 % 104729 + 0.25).reshape(shape)


@pytest.fixture
def notebook(monkeypatch):
    """Runs code in a process of its own, which starts engines; what it keeps ends with the test."""
    with tempfile.TemporaryDirectory(prefix="k", dir="/tmp") as folder:
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.setattr(tempfile, "tempdir", folder)
        monkeypatch.setenv("DISTNB_ALLOW_ROOT", "1")
        monkeypatch.setenv("PYTHONPATH", str(support.ROOT))

        def run(code, engines=2):
            text = HEAD.format(engines=engines) + textwrap.dedent(code)
            return subprocess.run(
                [sys.executable, "-c", text],
                capture_output=True,
                text=True,
                timeout=100,
                check=False,
            )

        yield run
        for kept in keeping.found():
            os.kill(int(kept.folder.name.split("-")[-2]), signal.SIGKILL)


def test_a_killed_notebook_leaves_its_arrays(notebook):
    done = notebook(
        f"""
        for k, dist in enumerate({DISTS!r}):
            session[str(k)] = dnb.asarray(numbers(30, 41), dist=dist) * 2
        large = dnb.asarray(numbers(600, 1000), dist="block") + 1
        session["large"], session["view"] = large, large[10:20, ::-3]
        session["fixed"] = dnb.broadcast_to(large[0], (4, 1000))
        session["shape"], session["turned"] = large.reshape(1000, 600), large.T
        session["small"], session["none"] = dnb.arange(5), dnb.ones((0, 3), dist="block")
        columns = dnb.asarray(numbers(30, 41), dist=("*", "block"))
        session["columns"], session["part"] = columns, columns[3:9, ::2]
        dnb.config.place = "auto"
        columns[3, 2].item()  # which brings it in reach, where elements lie otherwise
        assert columns.dbase.near is not None
        dnb.config.place = "engines"
        session["number"] = large[3:].sum()
        large[2] = 7  # is in what was listed
        large.session.flush()
        die()
        """,
        engines=3,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    with dnb.attach() as session:
        assert session.size == 3
        for k, dist in enumerate(DISTS):
            found = session[str(k)]
            np.testing.assert_array_equal(found.to_numpy(), numbers(30, 41) * 2)
            np.testing.assert_array_equal((found + found).to_numpy(), numbers(30, 41) * 4)
            if dist is not None:
                assert found.layout == (dnb.asarray(numbers(30, 41), dist=dist) * 2).layout
        expected = numbers(600, 1000) + 1
        np.testing.assert_array_equal(session["shape"].to_numpy(), expected.reshape(1000, 600))
        assert float(session["number"]) == pytest.approx(expected[3:].sum(), rel=1e-12)
        expected[2] = 7
        np.testing.assert_array_equal(session["large"].to_numpy(), expected)
        np.testing.assert_array_equal(session["turned"].to_numpy(), expected.T)
        np.testing.assert_array_equal(session["fixed"].to_numpy()[3], expected[0])
        session["view"][1] = -1
        expected[11, ::-3] = -1
        np.testing.assert_array_equal(session["large"].to_numpy(), expected)
        session["part"][0] = -1
        expected = numbers(30, 41)
        expected[3, ::2] = -1
        np.testing.assert_array_equal(session["columns"].to_numpy(), expected)
        with pytest.raises(ValueError, match="read-only"):
            session["fixed"][0, 0] = 1
        assert session["small"].tolist() == [0, 1, 2, 3, 4]
        assert session["none"].shape == (0, 3)
        names = [x.name for x in dnb.arrays()]
        assert sorted(names) == sorted(session.named)
    assert not keeping.found()
    with pytest.raises(dnb.EngineError, match="kept session: got none"):
        dnb.attach()


def test_sparse_arrays_are_kept(notebook):
    """With what they share, and in products; others read them, too."""
    done = notebook(
        """
        import scipy.sparse
        rows = scipy.sparse.random_array((300, 200), density=0.1, rng=1, format="csr")
        A = dnb.sparse.csr_array(rows)
        names = {"A": A, "turned": A.T, "unsorted": A @ A.T, "triplets": A.tocoo(), "copy": A.copy()}
        names |= {"data": A.data, "blocks": A.redistribute(grid=(1, 2)), "whole": A.redistribute(False)}
        names |= {"coo": dnb.sparse.coo_array(rows.tocoo()), "none": dnb.sparse.csc_array((5, 4))}
        for name, x in names.items():
            session[name] = x
        die()
        """
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    rows = scipy.sparse.random_array((300, 200), density=0.1, rng=1, format="csr")
    expected = dict.fromkeys(["A", "triplets", "copy", "blocks", "whole", "coo"], rows)
    expected |= {
        "turned": rows.T,
        "unsorted": rows @ rows.T,
        "none": scipy.sparse.csc_array((5, 4)),
    }
    with dnb.inprocess(3):
        (other,) = dnb.others()
        assert "A         (300, 200) float64 csr, 6,000 stored elements, " in repr(other)
        for name, x in expected.items():
            np.testing.assert_array_equal(other[name].toarray().to_numpy(), x.toarray())
    with dnb.attach() as session:
        for name, x in expected.items():
            np.testing.assert_array_equal(session[name].toarray().to_numpy(), x.toarray())
            vector = np.arange(x.shape[1])
            np.testing.assert_allclose((session[name] @ dnb.array(vector)).to_numpy(), x @ vector)
        assert session["A"].structure is session["turned"].structure is session["copy"].structure
        session["data"][0] = 7
        assert [session[name].data[0] == 7 for name in ("A", "turned", "copy")] == [1, 1, 0]


@pytest.mark.tier("test-all")
def test_what_came_after_the_list_changes_nothing(notebook):
    """The names are other arrays then, and engines were given the memory of much else."""
    done = notebook(
        """
        a = dnb.asarray(numbers(700, 500), dist="block")
        b = a * 2
        session["a"], session["b"] = a, b
        del session.named["b"]
        for step in range(20):
            b = b * 1.5 + a
            c = [dnb.full((700, 500), step, dist="block") * 1.0 for _ in range(3)]
            a = a + 1
        session.flush()
        die()
        """
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    with dnb.attach() as session:
        np.testing.assert_array_equal(session["a"].to_numpy(), numbers(700, 500))
        np.testing.assert_array_equal(session["b"].to_numpy(), numbers(700, 500) * 2)


@pytest.mark.tier("test-all")
def test_what_is_being_written_is_lost_and_says_so(notebook):
    done = notebook(
        """
        a, b = (dnb.asarray(numbers(600, 500), dist="block") for _ in range(2))
        session["a"], session["b"] = a, b
        b += 1
        session.flush()
        rank = session.transport.about[1]["pid"]
        os.kill(rank, signal.SIGSTOP)  # it never does its part
        for _ in range(3):
            a *= 2.0
            session.send()
        import time
        time.sleep(1)
        os.kill(rank, signal.SIGKILL)
        die()
        """
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    with dnb.attach() as session:
        with pytest.raises(dnb.LostArrayError, match="the notebook ended while"):
            session["a"].sum()
        session["a"][...] = 3
        assert float(session["a"].sum()) == 3 * 600 * 500


@pytest.mark.tier("test-all")
def test_a_notebook_that_ends_in_order_and_what_closing_does(notebook):
    done = notebook("session['a'] = dnb.arange(200000.0)\nprint(dnb.arrays())")
    assert "a  (200000,) float64, 1.6 MB" in done.stdout, done.stderr
    session = dnb.attach()
    assert float(session["a"][-1]) == 199999
    assert dnb.attach() is session
    session["a"] += 1
    session["b"] = session["a"][1:]
    del session["a"]
    assert "a" not in session
    assert "b" in session
    session.keeping.let_go()  # as if this process had ended
    session.connection.keeps = False
    session._owner.stop()
    until(lambda: not keeping.found()[0].pid)
    with pytest.raises(dnb.EngineError, match=f"one that process {os.getpid()} uses"):
        keeping._ENGINES, before = 0.1, keeping._ENGINES  # it is this process that has it mapped
        try:
            keeping.mapped_by, there = (lambda fd: [os.getpid()]), keeping.mapped_by
            kept_arrays.take_up(keeping.found()[0])
        finally:
            keeping._ENGINES, keeping.mapped_by = before, there
            session.close()


def test_what_a_script_has_written_last(notebook):
    """It has no cells after which arrays are listed; small ones come back as copies."""
    done = notebook(
        """
        session["small"], session["large"] = dnb.ones(10), dnb.ones(200000)
        for name in ("small", "large"):
            session[name][...] += 1
        """
    )
    assert not done.returncode, done.stderr
    session = dnb.attach()
    assert [set(session[n].tolist()) for n in ("small", "large")] == [{2.0}, {2.0}]
    session.close()


@pytest.mark.tier("test-all")
@pytest.mark.parametrize("recover", ["auto", "never"])
def test_engines_that_die_before_the_notebook_does(notebook, recover):
    done = notebook(
        f"""
        dnb.config.recover = {recover!r}
        session["a"] = dnb.asarray(numbers(500, 600), dist="block")
        os.kill(session.transport.about[0]["pid"], signal.SIGKILL)
        while session.transport.alive():
            pass
        if dnb.config.recover == "auto":
            session["a"] += 1
            session["a"] = session["a"] * 1.0
        die()
        """
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    with dnb.attach() as session:
        expected = numbers(500, 600) + (recover == "auto")
        np.testing.assert_array_equal(session["a"].to_numpy(), expected)


@pytest.mark.tier("test-all")
@pytest.mark.parametrize("engines", [1, 3])
def test_engines_of_another_number(notebook, engines):
    done = notebook(
        f"""
        session["x"] = dnb.asarray(numbers(30, 41), dist=("*", "block"))
        session.resize({engines})
        session["x"] += 1
        session["y"] = session["x"] * 2
        die()
        """
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    with dnb.attach() as session:
        assert session.size == engines
        np.testing.assert_array_equal(session["y"].to_numpy(), (numbers(30, 41) + 1) * 2)
        assert session["y"].layout.base.grid.sizes == (engines,)


@pytest.mark.tier("test-all")
def test_one_of_several_is_chosen(notebook, capsys):
    """One that is attached is gone on with, whatever else there is."""
    for k in range(3):
        done = notebook(f"session['a'] = dnb.ones(3, dist='block') * {k}\ndie()")
        assert done.returncode == -signal.SIGKILL, done.stderr
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "distnb")
    session = dnb.attach()
    shell.run_line_magic("distnb", "attach")
    assert shell.user_ns["a"].session is session
    assert shell.user_ns["a"].tolist() == [2, 2, 2]
    shell.run_line_magic("distnb", "stop")
    shell.run_line_magic("unload_ext", "distnb")
    InteractiveShell.clear_instance()
    first, second = dnb.others()
    assert list(first) == first._ipython_key_completions_() == ["a"]
    with dnb.inprocess(1), pytest.raises(KeyError, match="a notebook that has ended: got no array"):
        first["b"]
    with first.attach() as session:
        assert session["a"].tolist() == [0, 0, 0]
        assert list(session) == session._ipython_key_completions_() == ["a"]
        assert "a (1 more kept: see dnb.others())" in capsys.readouterr().out
        with pytest.raises(dnb.EngineError, match=f"one that process {os.getpid()} uses"):
            first.attach()
    with second.attach() as session:
        assert session["a"].tolist() == [1, 1, 1]
    assert not keeping.found()


@pytest.mark.parametrize("where", ["notebook", "extension", "script"])
def test_a_notebook_whose_variables_give_no_names_is_told(monkeypatch, capsys, where):
    made = []
    monkeypatch.setattr(
        current, "keeping", lambda: SimpleNamespace(Keeping=lambda *a: made.append(a))
    )
    if where != "script":
        shell = InteractiveShell.instance()
    if where == "extension":
        shell.run_line_magic("load_ext", "distnb")
    try:
        with dnb.inprocess(1) as session:
            current._keep(session, 60.0)
    finally:
        if where == "extension":
            shell.run_line_magic("unload_ext", "distnb")
        InteractiveShell.clear_instance()
    assert len(made) == 1
    assert ("%load_ext distnb" in capsys.readouterr().out) == (where == "notebook")


@pytest.mark.tier("test-all")
def test_an_attempt_that_fails_leaves_all_to_the_next_one(notebook, monkeypatch):
    done = notebook("session['a'] = dnb.asarray(numbers(500, 600), dist='block') * 2\ndie()")
    assert done.returncode == -signal.SIGKILL, done.stderr

    def fail(*given):
        raise KeyboardInterrupt

    restore = kept_arrays._restore
    for what, instead in [
        (("list_arrays",), fail),
        (("_restore",), fail),
        (("_restore",), lambda *given: (restore(*given), fail())),
        (("current", "started"), fail),
    ]:
        with monkeypatch.context() as patch:
            holder = kept_arrays.current if len(what) == 2 else kept_arrays
            patch.setattr(holder, what[-1], instead)
            with pytest.raises(KeyboardInterrupt):
                dnb.attach()
    with dnb.attach() as session:
        np.testing.assert_array_equal(session["a"].to_numpy(), numbers(500, 600) * 2)


@pytest.mark.tier("test-all")
def test_what_was_to_be_read_from_a_file_is_told(notebook, tmp_path, capsys):
    pytest.importorskip("xarray")
    np.save(tmp_path / "a.npy", numbers(500, 600))
    done = notebook(
        f"""
        from distnb.libraries.xarray_manager import ChunkManager

        class File:
            shape, ndim, dtype = (500, 600), 2, np.dtype(float)

            def __getitem__(self, key):
                return np.load({str(tmp_path / "a.npy")!r}, mmap_mode="r")[key]

        data = ChunkManager().from_array(File(), (500, 600), dist="block")
        session["opened"], session["read"] = data, data + 1
        data = ChunkManager().from_array(File(), (500, 600), dist="block")
        session["unread"] = data
        die()
        """
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    with dnb.attach() as session:
        np.testing.assert_array_equal(session["read"].to_numpy(), numbers(500, 600) + 1)
        assert "unread" not in session
    assert "unread is gone: it was still to be read from a file" in capsys.readouterr().err


SHELL = """
import sys
from IPython.core.interactiveshell import InteractiveShell
names = {"np": np, "dnb": dnb, "numbers": numbers, "session": session}
shell = InteractiveShell.instance(colors="NoColor", user_ns=names)
shell.run_line_magic("load_ext", "distnb")
print("ready", flush=True)
for line in sys.stdin:
    shell.run_cell(line)
    print("done", flush=True)
"""


@pytest.fixture
def running(notebook):
    """Runs cells in a notebook of its own, and tells what they have printed."""
    text = HEAD.format(engines=2) + SHELL
    with subprocess.Popen(
        [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as shell:
        assert shell.stdout.readline() == "ready\n"

        def run(cell, until="done"):
            shell.stdin.write(cell + "\n")
            shell.stdin.flush()
            while (line := shell.stdout.readline()) != until + "\n":
                assert line, "it has ended"

        yield run
        shell.stdin.close()  # so that it ends in order, with all that it has started


def test_another_notebook_reads_what_stands_still(running, monkeypatch):
    monkeypatch.setattr(visiting, "_LOOKS", 2)
    running(
        f"x = [dnb.asarray(numbers(30, 41), dist=d) * 2 for d in {DISTS!r}]; a, b, c, d, e, f = x"
    )
    running("T = dnb.asarray(numbers(60, 50), dist='block') + 1; U = T * 1; view = T[10:20, ::-3]")
    running("dnb.config.place = 'engines'; T += 1; U = U + 0; small = np.arange(5) + dnb.array(0)")
    expected = numbers(60, 50) + 2
    with dnb.inprocess(3):
        (other,) = dnb.others()
        assert {"a", "f", "T", "U", "small", "view"} <= {x.name for x in other.arrays} == {*other}
        assert "T" in other
        assert "T      (60, 50) float64, 24 kB, rows in blocks on 2 engines" in repr(dnb.others())
        for name in "abcdef":
            np.testing.assert_array_equal(other[name].to_numpy(), numbers(30, 41) * 2)
        assert other["b"].layout.elements() == (410, 410, 410)
        np.testing.assert_array_equal(other["T"].to_numpy(), expected)
        np.testing.assert_array_equal(other["view"].to_numpy(), expected[10:20, ::-3])
        assert other["small"].tolist() == [*range(5)]
        mine = other["T"]
        mine += 1  # is a copy
        running(
            "T *= 2; session.flush(); print('come', flush=True); import sys; exec(sys.stdin.readline())",
            "come",
        )
        with pytest.raises(
            dnb.SessionError, match="may be writing, expected one that stands still"
        ):
            other["T"]
        np.testing.assert_array_equal(other["U"].to_numpy(), expected - 1)
        running(
            "dnb.config.place = 'auto'; U[0, 0] = 7; print(U.dbase.near is not None, flush=True); exec(sys.stdin.readline())",
            "True",
        )
        with pytest.raises(dnb.SessionError, match="may be writing"):
            other["U"]
        running("pass")
        np.testing.assert_array_equal(other["T"].to_numpy(), expected * 2)
        assert float(other["U"][0, 0]) == 7
        with pytest.raises(KeyError, match="got no array 'nothing', expected one of"):
            other["nothing"]


class Named:
    def __init__(self, session):
        self.session = session


def test_names_are_checked():
    with dnb.inprocess(2) as session, dnb.inprocess(1) as other:
        x = dnb.ones(3, dist="block")
        with pytest.raises(TypeError, match="expected the session's array"):
            session["x"] = x
        with pytest.raises(TypeError, match="expected the session's array"):
            other["x"] = np.ones(3)
        with pytest.raises(TypeError, match="expected an array; pass"):
            other["x"] = Named(other)
        other["eye"] = eye = dnb.sparse.eye_array(3)
        assert other["eye"] is eye
        del other["eye"]
        with pytest.raises(TypeError, match="expected a string"):
            other[3] = x
        other["x"] = x
        assert other["x"] is x
        with pytest.raises(KeyError, match=r"'y', expected 'x'"):
            other["y"]
        with pytest.raises(KeyError, match=r"'y', expected 'x'"):
            del other["y"]
        with pytest.raises(ValueError, match="name: got '', expected some letters"):
            other[""] = x
