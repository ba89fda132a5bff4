"""What is done when a module is imported, and what is put in the place of its functions."""

import importlib.util
import sys

import pytest

from distnb.libraries.hook import put_in_place, when_imported

SOURCE = {
    "__init__": "from distnb_guest.inner import twice\nfrom distnb_guest.later import Number",
    "inner": "def twice(x):\n    return 2 * x",
    "later": "class Number:\n    def half(self, x):\n        return x / 2",
}


@pytest.fixture
def guest(tmp_path, monkeypatch):
    """A library that can be imported."""
    folder = tmp_path / "distnb_guest"
    folder.mkdir()
    for name, text in SOURCE.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    yield "distnb_guest"
    for name in [name for name in sys.modules if name.partition(".")[0] == "distnb_guest"]:
        del sys.modules[name]


def test_who_asks_whether_it_is_there_does_not_use_it_up(guest):
    done = []
    when_imported(guest, lambda: done.append(1))
    assert importlib.util.find_spec(guest) is not None
    assert importlib.util.find_spec("distnb_stranger") is None
    assert done == []
    module = importlib.import_module(guest)
    assert done == [1]
    assert module.__loader__ is module.__spec__.loader
    assert module.__loader__.get_source(guest) == SOURCE["__init__"]
    when_imported(guest, lambda: done.append(2))
    assert done == [1, 2]


def test_functions_are_replaced_wherever_they_are(guest):
    module = importlib.import_module(guest)
    put_in_place(f"{guest}.inner", "twice", lambda twice: lambda x: twice(x) + 1)
    put_in_place(f"{guest}.later", "Number.half", lambda half: lambda self, x: half(self, x) + 1)
    assert module.twice(3) == sys.modules[f"{guest}.inner"].twice(3) == 7
    assert module.twice.__name__ == "twice"
    assert module.Number().half(4) == 3
    with pytest.warns(UserWarning, match=r"no distnb_guest\.inner\.thrice"):
        put_in_place(f"{guest}.inner", "thrice", lambda thrice: thrice)


def test_several_wait_for_one_module(guest):
    """As after %reload_ext."""
    done = []
    for k in range(3):
        when_imported(guest, lambda k=k: done.append(k))
    module = importlib.import_module(guest)
    assert sorted(done) == [0, 1, 2]
    for _ in range(2):
        put_in_place(f"{guest}.inner", "twice", lambda twice: lambda x: twice(x) + 1)
    assert module.twice(3) == 7
