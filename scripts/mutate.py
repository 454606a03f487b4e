"""Change one thing at a time in the package, and list the changes that no test of the same folder notices.

    python scripts/mutate.py fairpca/metrics --count 50
    python scripts/mutate.py fairpca/solvers/minmax --seed 7 --tests tests/solvers tests/test_minmax.py

The checkout is never touched: everything happens in a copy. A change is a comparison, sign, constant, default or call
that becomes another one. The first test that fails has noticed it. Tests that name what the module defines come first;
those that have not ended in time have noticed nothing ("late"). With --log a run goes on where the last one ended.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import resource
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# Loaded once, before the processes of the changes; nothing of fairpca may be.
HEAVY = ("scipy.optimize", "scipy.linalg", "pandas", "sklearn.pipeline", "sklearn.svm", "joblib")
OPTIONS = ["-q", "-x", "-n0", "-p", "no:cacheprovider", "--no-header"]
COMPARISONS: dict[type, type] = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OPERATORS: dict[type, type] = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
CALLS = {"max": "min", "maximum": "minimum", "argmax": "argmin", "any": "all", "sum": "mean", "ceil": "floor"}
CALLS |= {other: name for name, other in CALLS.items()}


def variant(node: ast.AST) -> ast.AST | None:
    """Return what a node is replaced by, if it is one of those that are."""
    other = copy.deepcopy(node)
    match other:
        case ast.Compare(ops=[first, *_]):
            other.ops[0] = COMPARISONS[type(first)]()
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            if any(
                isinstance(side, ast.JoinedStr) or isinstance(getattr(side, "value", 0), str) for side in (left, right)
            ):
                return None
            other.op = OPERATORS[type(op)]()
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            return other.operand
        case ast.BoolOp(op=op):
            other.op = ast.Or() if isinstance(op, ast.And) else ast.And()
        case ast.Constant(value=bool() as value):
            other.value = not value
        case ast.Constant(value=int() as value):
            other.value = value + 1 if value < 20 else value // 10
        case ast.Constant(value=float() as value):
            other.value = 1.0 if value == 0 else value * (1000 if abs(value) < 1e-4 else 2)
        case ast.Call(func=ast.Attribute(attr=name) as function) if name in CALLS:
            function.attr = CALLS[name]
        case ast.Call(func=ast.Name(id=name) as function) if name in CALLS:
            function.id = CALLS[name]
        case _:
            return None
    return other


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a source that compute something: no messages of errors, annotations or exported names."""
    for field, value in ast.iter_fields(tree):
        for child in value if isinstance(value, list) else [value]:
            silent = (
                isinstance(child, ast.Raise) or "__all__" in ast.dump(child)[:80]
                if isinstance(child, ast.AST)
                else True
            )
            if not silent and field not in ("annotation", "returns", "decorator_list"):
                yield child
                yield from nodes(child)


def changed(source: str, number: int) -> tuple[str, str]:
    """Return the source with one of its parts replaced, and the change in words."""
    tree = ast.parse(source)
    old = list(nodes(tree))[number]
    found = variant(old)
    assert found is not None
    new: ast.AST = found
    words = f"line {getattr(old, 'lineno', '?')}: {ast.unparse(old)} -> {ast.unparse(new)}"

    class Replace(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return new if node is old else self.generic_visit(node)

    return ast.unparse(ast.fix_missing_locations(Replace().visit(tree))), words


def tests_of(path: Path) -> list[str]:
    """Return the tests of a module, those that name it or what it defines first, then those of its folder."""
    parts = path.relative_to("fairpca").parts
    names = {parts[-1].removesuffix(".py").strip("_"), *parts[:-1]}
    folder = ROOT.joinpath("tests", *parts[:-1])
    found = [*folder.rglob("test_*.py")] if len(parts) > 1 else []
    found += [file for name in names for file in (ROOT / "tests").glob(f"test*{name}*.py")]
    found += [ROOT / "tests/solvers/test_certificates.py"] * (parts[0] == "solvers")
    defined = [getattr(node, "name", "") for node in ast.parse((ROOT / path).read_text(encoding="utf8")).body]
    words = [name for name in (*defined, parts[-1].removesuffix(".py")) if name not in ("", "__init__")]

    def rank(file: Path) -> tuple[bool, str]:
        text = file.read_text(encoding="utf8")
        return not any(word in text for word in words), str(file.relative_to(ROOT))

    return [file for _, file in sorted(map(rank, set(found)))] or ["tests"]


def verdict(tree: Path, tests: list[str], seconds: int) -> str:
    """Run tests in a process of its own until one fails or its processor time is over; return what came of it."""
    if not (process := os.fork()):
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        with (tree / "log").open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        os.chdir(tree)
        os.environ |= {"PYTHONPATH": str(tree), "NUMBA_CACHE_DIR": str(tree / "compiled")}
        sys.path[:0], sys.dont_write_bytecode = [str(tree)], True
        try:
            os._exit(int(pytest.main([*OPTIONS, *tests])))
        finally:
            os._exit(pytest.ExitCode.INTERNAL_ERROR)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if code in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise SystemExit((tree / "log").read_text(encoding="utf8"))
    return "SURVIVED" if code == 0 else "caught" if code > 0 else "late"


def main(arguments: list[str] | None = None) -> int:
    """Draw changes, evenly over the files, and print those that survive."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="+", help="files or folders of the package")
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=60, help="processor time that the tests of one change may take")
    parser.add_argument("--tests", nargs="+", help="tests that are asked instead of those of the folder")
    parser.add_argument("--log", type=Path, help="file of results; the changes in it are not tried again")
    options = parser.parse_args(arguments)
    rng, found = random.Random(options.seed), Counter[str]()
    known = options.log.read_text(encoding="utf8").splitlines() if options.log and options.log.exists() else []
    files = [
        file
        for name in options.targets
        for file in ([ROOT / name] if name.endswith(".py") else (ROOT / name).rglob("*.py"))
    ]
    places = {
        file: [i for i, node in enumerate(nodes(ast.parse(file.read_text()))) if variant(node)]
        for file in sorted(files)
    }
    for module in HEAVY:
        __import__(module)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "copy")
        leave = shutil.ignore_patterns(".git", ".venv", "_build", "_executed", "__pycache__", ".*_cache")
        shutil.copytree(ROOT, tree, ignore=leave)
        for count in range(options.count):
            file = rng.choice([file for file, left in places.items() if left])
            number = places[file].pop(rng.randrange(len(places[file])))
            path, source = file.relative_to(ROOT), file.read_text(encoding="utf8")
            text, words = changed(source, number)
            if count < len(known):
                line = known[count]
            else:
                (tree / path).write_text(text, encoding="utf8")
                line = f"{verdict(tree, options.tests or tests_of(path), options.seconds)} {path} {words[:160]}"
                (tree / path).write_text(source, encoding="utf8")
                if options.log:
                    with options.log.open("a", encoding="utf8") as log:
                        print(line, file=log)
            found[line.split()[0]] += 1
            print(line, flush=True)
    print(", ".join(f"{number} {word}" for word, number in found.items()), f"of {options.count} changes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
