"""Mutants change one thing, padding changes nothing, and a mutant meets the tests that call its function."""

import ast
import signal
import subprocess
import sys
from pathlib import Path

import mutate
import pytest
from mutations import mutants, padded

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
SOURCE = '''
"""A module."""
LIMIT = 0.25


class Scale:
    def of(self, values, power=2):
        """Sum of powers."""
        if len(values) > 3:
            raise ValueError(f"{len(values) + 1} values")
        return sum(v**power for v in values) - max(values)


def half(x: int = 4) -> float:
    def inner():
        return x / 2 if x >= LIMIT else -x

    return inner()
'''


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "fairpca" / "toy.py"
    path.parent.mkdir()
    path.write_text(SOURCE)
    return path


def run(source):
    space = {}
    exec(compile(source, "toy", "exec"), space)
    return space


def test_each_mutant_changes_one_place(module, tmp_path):
    found = list(mutants(module, tmp_path))
    plain = ast.unparse(ast.parse(SOURCE)).splitlines()
    for mutant in found:
        lines = mutant.source(SOURCE).splitlines()
        assert len(lines) == len(plain) and sum(a != b for a, b in zip(lines, plain, strict=True)) == 1, mutant
    changes = {(mutant.function, mutant.change) for mutant in found}
    assert ("", "0.25 -> 0.5") in changes
    assert ("Scale.of", "len(values) > 3 -> len(values) >= 3") in changes
    assert ("Scale.of", "max(values) -> min(values)") in changes
    assert ("half", "4 -> 5") in changes
    assert ("half.<locals>.inner", "x >= LIMIT -> x < LIMIT") in changes
    assert not any("values) + 1" in change for _, change in changes), "words of errors compute nothing"


def test_padding_changes_the_source_and_not_what_it_does():
    before, after = run(SOURCE), run(padded(SOURCE))
    assert ast.dump(ast.parse(padded(SOURCE))) != ast.dump(ast.parse(SOURCE))
    assert after["Scale"].of.__doc__ == "Sum of powers."
    assert before["half"]() == after["half"]() == 2 and after["Scale"]().of([1, 2]) == before["Scale"]().of([1, 2])


def test_tests_that_call_the_function_come_first_and_the_short_ones_before(module, tmp_path):
    def entry(seconds, *called, passed=True):
        return {"seconds": seconds, "passed": passed, "called": [f"fairpca/{name}" for name in called]}

    tests = mutate.Tests(
        {
            "slow": entry(20, "toy.py:half"),
            "quick": entry(1, "toy.py:half"),
            "huge": entry(900, "toy.py:half"),
            "class": entry(1, "toy.py:Scale.of"),
            "red": entry(0, "toy.py:half", passed=False),
            "elsewhere": entry(0, "other.py:f"),
        }
    )
    found = {(mutant.function, mutant.change): mutant for mutant in mutants(module, tmp_path)}
    assert tests.of(found["half", "4 -> 5"], budget=60) == ["quick", "slow"]
    assert tests.of(found["", "0.25 -> 0.5"], budget=60) == ["quick", "class", "slow"]
    inner = found["half.<locals>.inner", "x >= LIMIT -> x < LIMIT"]
    assert set(tests.of(inner, budget=60)) == {"quick", "slow", "class"}, "seen by nobody: the tests of its file"


@pytest.mark.parametrize(
    "code, log, expected",
    [
        (0, "3 passed", ("survived", "")),
        (-1, "", ("caught", "time limit")),
        (-signal.SIGKILL, "", ("caught", "time limit")),
        (1, "x\nFAILED tests/a.py::b - AssertionError\n1 failed", ("caught", "FAILED tests/a.py::b - AssertionError")),
        (2, "boom\n", ("caught", "boom")),
    ],
)
def test_verdicts(code, log, expected):
    assert mutate.judge(code, log) == expected


def test_the_time_limit_is_one_of_the_processor(tmp_path):
    """A test that loops for ever ends, however busy the machine is; one that is within the limit does not."""
    (tmp_path / "test_loop.py").write_text("def test_loop():\n    while True:\n        pass\n")
    (tmp_path / "test_fine.py").write_text("def test_fine():\n    pass\n")
    code = (
        "import os, sys, mutate\nfrom pathlib import Path\n"
        "here, name, seconds = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])\n"
        "arguments = [*mutate.OPTIONS, f'test_{name}.py']\n"
        "process = mutate.in_child(arguments, here, here / name, here / 'compiled', seconds=seconds)\n"
        "code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])\n"
        "print(*mutate.judge(code, (here / name).read_text()))\n"
    )
    for name, seconds, expected in (("loop", 1, "caught time limit"), ("fine", 60, "survived")):
        command = [sys.executable, "-c", code, str(tmp_path), name, str(seconds)]
        done = subprocess.run(command, cwd=SCRIPTS, capture_output=True, text=True, timeout=300)
        assert done.stdout.strip() == expected, done.stderr
