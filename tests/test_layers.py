"""Imports go one way, without cycles, and private names stay in their package."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from chapter_code import cells

import fairpca

ROOT = Path(__file__).resolve().parents[1]
SOURCES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (ROOT / "fairpca").rglob("*.py")
}
# The files of the estimators, as `fairpca` knows them.
ESTIMATORS = " ".join(sorted({home.removeprefix("fairpca.") for home in fairpca._HOME.values()} - {"solvers"}))
# What stands lower knows nothing of what stands higher. Units of one line may know each other, but not in a circle.
LAYERS = (
    "cli _cli_choose _cli_compare _cli_fit _cli_moments _cli_model _cli_report _cli_table __main__",
    "companion",
    "experiments",
    "published",
    "report plotting",
    "own_data",
    f"{ESTIMATORS} _base _collects _frontier",
    "metrics datasets synthetic",
    "_sensitive scale",
    "wide",
    "_moments",
    "solvers",
    "_row_space",
    "linalg _options _archive _moment_sums",
    "_validation _resources _tables _outputs _interrupts _threads",
)
LEVEL = {unit: len(LAYERS) - number for number, line in enumerate(LAYERS) for unit in line.split()}


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
    module: {home(*found) for found in imported(ast.parse(path.read_text(encoding="utf8")))}
    for module, path in SOURCES.items()
}


def test_every_unit_has_its_layer():
    assert {unit(module) for module in SOURCES} - {""} <= set(LEVEL)


@pytest.mark.parametrize("module", sorted(set(SOURCES) - {"fairpca"}))
def test_imports_go_down(module):
    for target in EDGES[module] - {"fairpca"}:
        assert LEVEL[unit(target)] <= LEVEL[unit(module)], f"{module} imports {target}, which stands above it"


def test_there_is_no_circle():
    """Among all modules; `fairpca` itself only gives names away, on first use."""
    packages = {module for module, path in SOURCES.items() if path.name == "__init__.py"}
    graph = {}
    for module, targets in EDGES.items():
        # A package that re-exports its modules is their front door: they may not come in by it.
        graph[module] = {target for target in targets if target not in ("fairpca", module)}
        assert not graph[module] & packages & {module.rpartition(".")[0]}, f"{module} imports its own package"
    TopologicalSorter(graph).prepare()


def private(module: str, name: str) -> str | None:
    """Return the package that a private name belongs to, or None."""
    parts = [*module.split("."), *([name] if name else [])]
    for number, part in enumerate(parts):
        if part.startswith("_") and not part.startswith("__"):
            return ".".join(parts[:number])
    return None


@pytest.mark.parametrize("module", sorted(SOURCES))
def test_private_names_stay_in_their_package(module):
    for found in imported(ast.parse(SOURCES[module].read_text(encoding="utf8"))):
        owner = private(*found)
        assert owner is None or module == owner or module.startswith(f"{owner}."), f"{module} imports {'.'.join(found)}"


@pytest.mark.parametrize("chapter", sorted((ROOT / "chapters").rglob("*.md")), ids=lambda path: path.stem)
def test_chapters_import_public_names_only(chapter):
    for code in cells(chapter):
        for module, name in imported(code):
            assert private(module, name) is None, f"{module}.{name} is private; export it, or do without"
            if module.startswith("fairpca.solvers."):
                assert module.count(".") == 2, f"{module} is a part of a family; import from the family"


def private_attributes(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield what is taken from another object by a name that begins with one underscore."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if owner not in ("self", "cls"):
                yield node.lineno, node.attr


def test_private_attributes_stay_in_their_package():
    """What no file of the folder defines is another package's own affair, or another library's."""
    trees = {path: ast.parse(path.read_text(encoding="utf8")) for path in SOURCES.values()}
    own: dict[Path, set[str]] = {}
    for path, tree in trees.items():
        names = own.setdefault(path.parent, set())
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                names.add(node.attr)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
    of_package = set().union(*own.values())
    taken = [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path, tree in trees.items()
        for line, name in private_attributes(tree)
        if name in of_package - own[path.parent]
    ]
    assert not taken, "give it a public name, or do without"


@pytest.mark.parametrize("chapter", sorted((ROOT / "chapters").rglob("*.md")), ids=lambda path: path.stem)
def test_chapters_use_public_attributes_only(chapter):
    assert [found for cell in cells(chapter) for found in private_attributes(cell)] == []
