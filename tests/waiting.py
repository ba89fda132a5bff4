"""Events that tests wait for, as long as it takes: a watchdog ends a test that waits for ever."""

import time

#: Seconds between two looks.
_PAUSE = 0.01


def until(condition):
    """Return the first true result of a function that is called again and again."""
    while not (found := condition()):
        time.sleep(_PAUSE)
    return found


class Gate:
    """A place where an engine, of whichever process, waits until it is let through.

    It says by a file that it has come, and looks for a file that says that the gate is open.

    Attributes
    ----------
    folder : pathlib.Path
        Where the files are: another gate of the same folder is the same.
    say, stand, call : str
        Code for the engine, which knows ``os`` and ``time``: that it has come; that it waits; and
        that it waits in one call of C, in which Python does not look for signals.
    """

    def __init__(self, folder):
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self._come, self._open = folder / "come", folder / "open"
        self.say = f"open({str(self._come)!r}, 'w').close()"
        looks = f"iter(lambda: os.path.exists({str(self._open)!r}), True)"
        self.stand = f"({self.say}, [time.sleep({_PAUSE}) for _ in {looks}])"
        forever = "__import__('itertools').repeat"
        looks = f"map(os.access, {forever}({str(self._open)!r}), {forever}(os.F_OK))"
        self.call = f"({self.say}, any({looks}))"

    def come(self):
        """Tell whether somebody has come."""
        return self._come.exists()

    def open(self):
        """Let through who waits, and who comes."""
        self._open.touch()

    def shut(self):
        """Nobody has come, and who comes waits."""
        self._come.unlink(missing_ok=True)
        self._open.unlink(missing_ok=True)
