"""A change of the source is one change, and the tests of its folder are asked."""

import ast
from pathlib import Path

import mutate

SOURCE = '''
"""A module."""
LIMIT = 0.25
__all__ = ["half"]

def half(x: int = 4) -> float:
    """Half of a number."""
    if x < -1:
        raise ValueError(f"{x + 1} is too small")
    return max(x / 2, LIMIT) if x > 3 and x != 5 else 0.0
'''


def test_each_change_is_one_and_no_words_are_changed():
    plain = ast.unparse(ast.parse(SOURCE)).splitlines()
    found = [i for i, node in enumerate(mutate.nodes(ast.parse(SOURCE))) if mutate.variant(node)]
    told = set()
    for number in found:
        text, words = mutate.changed(SOURCE, number)
        assert sum(a != b for a, b in zip(plain, text.splitlines(), strict=True)) == 1, words
        told.add(words.partition(": ")[2])
    assert {"0.25 -> 0.5", "4 -> 5", "x < -1 -> x >= -1", "x / 2 -> x * 2", "x > 3 -> x <= 3"} <= told
    assert not any("x + 1" in words or "A module" in words for words in told)


def test_tests_that_name_what_a_module_defines_come_first():
    assert mutate.tests_of(Path("fairpca/metrics/_mmd.py"))[0] == "tests/metrics/test_metrics.py"
    found = mutate.tests_of(Path("fairpca/solvers/minmax/dual.py"))
    assert {"tests/test_minmax.py", "tests/solvers/test_certificates.py"} <= set(found)
