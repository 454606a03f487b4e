"""Three groups for which the best map of one dimension has two: each varies along its own axis of the same plane."""

import numpy as np
import pandas as pd


def three_axes(n=100, shift=0.0):
    """Rows of four features and their groups; axes at 0, 60 and 120 degrees, so that no direction serves all."""
    rng = np.random.default_rng(0)
    group = np.repeat(list("abc"), n)
    plane = rng.normal(size=(3 * n, 2))
    for number, name in enumerate("abc"):
        axis = np.array([np.cos(number * np.pi / 3), np.sin(number * np.pi / 3)])
        plane[group == name] += 5 * rng.normal(size=(n, 1)) * axis
    X = np.hstack([plane, plane]) + rng.normal(size=(3 * n, 4)) + shift
    return pd.DataFrame(X, columns=list("uvwx")), group
