"""Imports go one way, without cycles, and private names stay in their package."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

from chapter_code import cells

import fairpca

ROOT = Path(__file__).resolve().parents[1]
SOURCES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (ROOT / "fairpca").rglob("*.py")
}
TREES = {module: ast.parse(path.read_text(encoding="utf8")) for module, path in SOURCES.items()}
# The files of the estimators, as `fairpca` knows them.
ESTIMATORS = " ".join(sorted({home.removeprefix("fairpca.") for home in fairpca._HOME.values()} - {"solvers"}))
# A unit knows those of its own line and of the lines below.
LAYERS = (
    "cli __main__",
    "companion",
    "report",
    "tables scale datasets plotting synthetic",
    f"{ESTIMATORS} _base _partial_fit",
    "metrics _sensitive",
    "_moments wide",
    "solvers",
    "linalg _row_space",
    "_compiled _moment_sums _archive _files _options _resources _threads _validation",
)
LEVEL = {unit: len(LAYERS) - number for number, line in enumerate(LAYERS) for unit in line.split()}
# Methods of classes that read by what is above them; imported when they are called.
DOORS = {
    ("fairpca._moments", "fairpca.scale.batches"),
    ("fairpca._moments", "fairpca.scale.cluster"),
}


def imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield (module, name) of everything that is imported from the package, also inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "fairpca":
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.partition(".")[0] == "fairpca")


def home(module: str, name: str) -> str:
    """Return the module that an import really names."""
    return f"{module}.{name}" if f"{module}.{name}" in SOURCES else module


def unit(module: str) -> str:
    return (module.split(".") + [""])[1]


EDGES = {
    module: {home(*found) for found in imported(tree)} - {"fairpca", module}
    - {target for source, target in DOORS if source == module}
    for module, tree in TREES.items()
}  # fmt: skip


def test_every_unit_has_its_layer():
    assert {unit(module) for module in SOURCES} - {""} == set(LEVEL)
    doors = {(module, home(*found)) for module, tree in TREES.items() for found in imported(tree)}
    assert doors >= DOORS, "a door that nobody uses"


def test_imports_go_down():
    up = [
        f"{module} imports {target}"
        for module, targets in EDGES.items()
        for target in targets
        if module != "fairpca" and LEVEL[unit(target)] > LEVEL[unit(module)]
    ]
    assert not up


def test_there_is_no_circle():
    """Among all modules; `fairpca` itself only gives names away, on first use."""
    packages = {module for module, path in SOURCES.items() if path.name == "__init__.py"}
    # A package that re-exports its modules is their front door: they may not come in by it.
    assert not {module: own for module, targets in EDGES.items() if (own := targets & packages & {parent(module)})}
    TopologicalSorter(EDGES).prepare()


def parent(module: str) -> str:
    return module.rpartition(".")[0]


def test_no_module_of_the_package_is_imported_by_a_string():
    """But for names that a package gives away on first use, which its `_HOME` lists."""
    hidden = [
        module
        for module, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__"))
        and module not in ("fairpca", "fairpca.solvers", "fairpca.companion._code", "fairpca.scale.readers")
    ]  # fmt: skip
    assert not hidden


def private(module: str, name: str) -> str | None:
    """Return the package that a private name belongs to, or None."""
    parts = [*module.split("."), *([name] if name else [])]
    for number, part in enumerate(parts):
        if part.startswith("_") and not part.startswith("__"):
            return ".".join(parts[:number])
    return None


def test_private_names_stay_in_their_package():
    taken = [
        f"{module} imports {'.'.join(found)}"
        for module, tree in TREES.items()
        for found in imported(tree)
        if (owner := private(*found)) is not None and module != owner and not module.startswith(f"{owner}.")
    ]
    assert not taken


def private_attributes(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield what is taken from another object by a name that begins with one underscore."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if owner not in ("self", "cls"):
                yield node.lineno, node.attr


def test_chapters_use_public_names_only():
    wrong = []
    for chapter in sorted((ROOT / "chapters").rglob("*.md")):
        for code in cells(chapter):
            wrong += [f"{chapter.stem}: {name}" for _, name in private_attributes(code)]
            for module, name in imported(code):
                inside = module.startswith("fairpca.solvers.") and module.count(".") != 2
                if private(module, name) is not None or inside:  # a family gives away what its modules have
                    wrong.append(f"{chapter.stem}: {module}.{name}")
    assert not wrong, "export it, or do without"


def test_private_attributes_stay_in_their_package():
    """What no file of the folder defines is another package's own affair, or another library's."""
    own: dict[Path, set[str]] = {}
    for module, tree in TREES.items():
        names = own.setdefault(SOURCES[module].parent, set())
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                names.add(node.attr)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
    of_package = set().union(*own.values())
    taken = [
        f"{module}:{line} {name}"
        for module, tree in TREES.items()
        for line, name in private_attributes(tree)
        if name in of_package - own[SOURCES[module].parent]
    ]
    assert not taken, "give it a public name, or do without"


def test_there_are_at_most_160_modules():
    assert len(SOURCES) <= 160
