"""Random programs whose results are NumPy's, whatever happens to engines meanwhile."""

import random

import numpy as np

import distnb as dnb

#: How arrays lie that must be as they were.
LAYOUTS = [None, "block", ("*", "block"), ("cyclic", "*"), ("block", "cyclic"), "replicated"]
#: What is said of arrays that are lost.
WHY = ("engines died", "a command that writes it", "was interrupted", "failed")


class Program:
    """Random statements on arrays and on NumPy's, of whole numbers, so that results are exact."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.np, self.dist = {}, {}
        for k, layout in enumerate(LAYOUTS):
            self.make(f"x{k}", layout)

    def make(self, name, layout):
        data = np.arange(300 * 40).reshape(300, 40) * (len(self.np) + 1) % 1009
        self.np[name], self.dist[name] = data, dnb.array(data, dist=layout)

    def pick(self):
        return self.chance.choice([*self.np])

    def both(self, do):
        """Do something on both sides; the result is that of the engines and of NumPy."""
        return do(self.dist), do(self.np)

    def statement(self):
        a, b, c = self.pick(), self.pick(), self.pick()
        k = self.chance.randrange(1, 5)
        kinds = [
            lambda x: x.__setitem__(c, x[a] + x[b]),
            lambda x: x.__setitem__(c, (x[a] * k - x[b])[::-1] + 1),
            lambda x: x[a].__iadd__(k),
            lambda x: x[a].__iadd__(x[b]),
            lambda x: x[a].__setitem__(slice(k, 100 + k), 7 * k),
            lambda x: x[a].__setitem__(slice(None), x[b] * 2),
            lambda x: x[a].__setitem__(slice(10, 20), x[b][20:30]),
            lambda x: x.__setitem__(c, x[a].cumsum(axis=0) % 1009),
            lambda x: x.__setitem__(c, x[a][:, ::-1].copy()),
            lambda x: x.__setitem__(c, x[b] + x[a].sum(axis=0)),
        ]
        do = self.chance.choice(kinds)
        self.both(do)
        for name, data in self.np.items():  # small numbers stay exact
            if np.abs(data).max() > 1 << 40:
                self.both(lambda x, name=name: x.__setitem__(name, x[name] % 1009))

    def check(self):
        """Each array is NumPy's, or says that it is lost; return how many are."""
        gone = []
        for name, data in self.np.items():
            try:
                np.testing.assert_array_equal(self.dist[name].to_numpy(), data, name)
            except dnb.LostArrayError as error:
                assert any(why in str(error) for why in WHY), error
                gone.append(name)
        for name in gone:
            self.make(name, None)
        return len(gone)
