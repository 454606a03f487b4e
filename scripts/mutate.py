"""Change one thing at a time in the package and see whether the tests that belong to it notice.

    python scripts/mutate.py --count 300 --seed 0 --jobs 2 --out mutants.csv
    python scripts/mutate.py fairpca/metrics --count 50

Every mutant lives in its own copy of the tree, so the checkout is never touched. The tests of a module are those at
the mirrored place: ``fairpca/solvers/rfpca/exact.py`` is tested by ``tests/solvers/rfpca``. Tests of the code hash are
left out, since they notice every change and know no wrong number. Run by hand; the last result is in CONTRIBUTING.
"""

from __future__ import annotations

import argparse
import ast
import copy
import csv
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parents[1]
TARGETS = ("fairpca/solvers", "fairpca/metrics", "fairpca/published", "fairpca/experiments", "fairpca/_moments.py")
TARGETS += ("fairpca/linalg.py", "fairpca/minmax.py", "fairpca/fpca.py", "fairpca/mbfpca.py", "fairpca/rfpca.py")
LEFT_OUT = ("test_results_current.py", "test_codehash.py")
COMPARISONS: dict[type, type] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: dict[type, type] = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
CALLS = {"max": "min", "min": "max", "maximum": "minimum", "minimum": "maximum", "argmax": "argmin", "argmin": "argmax"}
CALLS |= {"any": "all", "all": "any", "sum": "mean", "ceil": "floor", "floor": "ceil"}


@dataclass(frozen=True)
class Mutant:
    """One change: where, what it says, and the source with it."""

    path: str
    line: int
    change: str
    source: str


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


def _variants(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what a node may be replaced by."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        other = copy.deepcopy(node)
        other.ops[0] = COMPARISONS[type(node.ops[0])]()
        yield other
    elif (
        isinstance(node, ast.BinOp) and type(node.op) in OPERATORS and not (_is_text(node.left) or _is_text(node.right))
    ):
        other = copy.deepcopy(node)
        other.op = OPERATORS[type(node.op)]()
        yield other
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        yield copy.deepcopy(node.operand)
    elif isinstance(node, ast.BoolOp):
        other = copy.deepcopy(node)
        other.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield other
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield ast.Constant(node.value + 1 if isinstance(node.value, int) else node.value * 2 + (node.value == 0))
    elif isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in CALLS:
            other = copy.deepcopy(node)
            setattr(other.func, "attr" if isinstance(node.func, ast.Attribute) else "id", CALLS[name])
            yield other
        elif name == "abs" and len(node.args) == 1:
            yield copy.deepcopy(node.args[0])


def _silent(node: ast.AST) -> bool:
    """Whether a part of the source computes nothing: words of errors, annotations, names that are exported."""
    if isinstance(node, ast.Raise):
        return True
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets)
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _places(tree: ast.AST, inherited: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], ast.AST]]:
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        children = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
        for number, child in children:
            if not isinstance(child, ast.AST) or _silent(child):
                continue
            place = (*inherited, field) if number is None else (*inherited, field, number)
            yield place, child
            yield from _places(child, place)


def _replaced(tree: ast.Module, place: tuple[str | int, ...], node: ast.AST) -> str:
    changed = copy.deepcopy(tree)
    target: object = changed
    for step in place[:-1]:
        target = target[step] if isinstance(step, int) else getattr(target, step)  # type: ignore[index]
    last = place[-1]
    if isinstance(last, int):
        target[last] = node  # type: ignore[index]
    else:
        setattr(target, last, node)
    return ast.unparse(ast.fix_missing_locations(changed))


def mutants(path: Path, root: Path = ROOT) -> Iterator[Mutant]:
    """Yield every mutant of one file."""
    tree = ast.parse(path.read_text(encoding="utf8"))
    for place, node in _places(tree):
        for other in _variants(node):
            words = f"{ast.unparse(node)} -> {ast.unparse(other)}"
            yield Mutant(str(path.relative_to(root)), getattr(node, "lineno", 0), words, _replaced(tree, place, other))


def tests_of(path: str, root: Path = ROOT) -> list[str]:
    """Return the tests that belong to a file of the package, the closest ones first."""
    inside = Path(path).relative_to("fairpca")
    stem = inside.stem.lstrip("_")
    places: list[Path] = []
    folder = root / "tests" / inside.parent
    if folder == root / "tests":
        named = root / "tests" / f"test_{stem}.py"
        places = [named] if named.exists() else [root / "tests" / stem]
        places.append(root / "tests" / "test_sklearn_contract.py")
    else:
        places = sorted(folder.glob("test_*.py"), key=lambda file: stem not in file.stem) or [folder]
        while not any(place.exists() for place in places):
            folder = folder.parent
            places = sorted(folder.glob("test_*.py")) or [folder]
    return [str(place.relative_to(root)) for place in places if place.exists() and place.name not in LEFT_OUT]


def verdict(mutant: Mutant, tree: Path, seconds: float) -> tuple[str, str]:
    """Put the mutant into a copy of the tree, run its tests, and put the file back."""
    file = tree / mutant.path
    original = file.read_text(encoding="utf8")
    file.write_text(mutant.source, encoding="utf8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-n0",
        "-p",
        "no:cacheprovider",
        *tests_of(mutant.path, tree),
    ]
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    try:
        process = subprocess.Popen(
            command, cwd=tree, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True,
        )  # fmt: skip
        try:
            output = process.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return "caught", "time limit"
    finally:
        file.write_text(original, encoding="utf8")
    if process.returncode == 0:
        return "survived", ""
    failed = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return "caught", (failed or [output.strip().splitlines()[-1] if output.strip() else "no output"])[0][:160]


def sample(targets: list[str], count: int, seed: int) -> list[Mutant]:
    """Draw mutants evenly over the files, so that long files do not get them all."""
    rng = random.Random(seed)
    files = sorted({file for target in targets for file in _files(ROOT / target)})
    pools = []
    for file in files:
        found = list(mutants(file))
        rng.shuffle(found)
        pools.append(found)
    rng.shuffle(pools)
    drawn: list[Mutant] = []
    while len(drawn) < count and any(pools):
        drawn += [pool.pop() for pool in pools if pool]
    return drawn[:count]


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    return sorted(file for file in path.rglob("*.py") if file.name != "__init__.py")


def main(arguments: list[str] | None = None) -> int:
    """Draw mutants, run them, write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", default=list(TARGETS), help="files or folders of the package")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=300.0, help="time limit for the tests of one mutant")
    parser.add_argument("--out", type=Path, default=Path("mutants.csv"))
    options = parser.parse_args(arguments)
    drawn = sample([target for target in options.targets if (ROOT / target).exists()], options.count, options.seed)
    trees: SimpleQueue[Path] = SimpleQueue()
    survived = 0
    with tempfile.TemporaryDirectory() as scratch, options.out.open("w", newline="", encoding="utf8") as out:
        for number in range(options.jobs):
            tree = Path(scratch) / str(number)
            leave = shutil.ignore_patterns(".git", ".venv", "_build", "_executed", "__pycache__", ".*_cache")
            shutil.copytree(ROOT, tree, ignore=leave)
            trees.put(tree)

        def one(mutant: Mutant) -> tuple[Mutant, str, str]:
            tree = trees.get()
            try:
                return mutant, *verdict(mutant, tree, options.seconds)
            finally:
                trees.put(tree)

        table = csv.writer(out)
        table.writerow(["path", "line", "change", "verdict", "by"])
        with ThreadPoolExecutor(options.jobs) as pool:
            for done, (mutant, outcome, by) in enumerate(pool.map(one, drawn), start=1):
                survived += outcome == "survived"
                table.writerow([mutant.path, mutant.line, mutant.change[:120], outcome, by])
                out.flush()
                print(f"{done}/{len(drawn)} {outcome}: {mutant.path}:{mutant.line} {mutant.change[:80]}", flush=True)
    print(f"{len(drawn) - survived} of {len(drawn)} mutants caught, {survived} survived.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
