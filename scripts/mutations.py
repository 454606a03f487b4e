"""Small changes of a source that a good test notices: comparison, sign, constant, index, default; see `mutate.py`."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

NEGATED: dict[type, type] = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
# Next to a whole number the limit itself matters; between two measured numbers it is never met.
SHIFTED: dict[type, type] = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
OPERATORS: dict[type, type] = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
CALLS = {"max": "min", "min": "max", "maximum": "minimum", "minimum": "maximum", "argmax": "argmin", "argmin": "argmax"}
CALLS |= {"any": "all", "all": "any", "sum": "mean", "ceil": "floor", "floor": "ceil"}


@dataclass(frozen=True)
class Mutant:
    """One change: where, what it says, and what stands there then."""

    path: str
    line: int
    function: str  # the qualified name of the innermost function around it; empty in the module's or a class's body
    change: str
    place: tuple[str | int, ...]
    node: ast.AST

    def source(self, original: str) -> str:
        """Return the changed source."""
        tree = ast.parse(original)
        target: object = tree
        for step in self.place[:-1]:
            target = target[step] if isinstance(step, int) else getattr(target, step)  # type: ignore[index]
        last = self.place[-1]
        if isinstance(last, int):
            target[last] = self.node  # type: ignore[index]
        else:
            setattr(target, last, self.node)
        return ast.unparse(ast.fix_missing_locations(tree))


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


def _is_whole(node: ast.AST) -> bool:
    """Whether a side of a comparison is a count: a whole number, a length, a size."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int)
    return "len(" in ast.unparse(node) or (isinstance(node, ast.Attribute) and node.attr in ("size", "ndim"))


def _other_number(value: float) -> float:
    """Return a number that differs enough to matter: limits and tolerances by powers of ten, others by one or twice."""
    if isinstance(value, int):
        return value // 10 if value >= 20 else value + 1
    if value == 0:
        return 1.0
    return value * 1000 if abs(value) < 1e-4 else value * 2


def _variants(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what a node may be replaced by."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in NEGATED:
        other = copy.deepcopy(node)
        kind, sides = type(node.ops[0]), (node.left, node.comparators[0])
        counts = any(_is_whole(side) for side in sides)
        other.ops[0] = (SHIFTED if counts and kind in SHIFTED else NEGATED)[kind]()
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
        yield ast.Constant(_other_number(node.value))
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


def _places(
    tree: ast.AST, inherited: tuple[str | int, ...] = (), inside: str = "", function: str = ""
) -> Iterator[tuple[tuple[str | int, ...], ast.AST, str]]:
    """Yield the way to every part of a source, the part, and the function that it stands in."""
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        children = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
        for number, child in children:
            if not isinstance(child, ast.AST) or _silent(child):
                continue
            place = (*inherited, field) if number is None else (*inherited, field, number)
            within = inside, function
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                within = f"{inside}{child.name}.<locals>.", f"{inside}{child.name}"
            elif isinstance(child, ast.ClassDef):
                within = f"{inside}{child.name}.", ""
            yield place, child, function
            yield from _places(child, place, *within)


def mutants(path: Path, root: Path) -> Iterator[Mutant]:
    """Yield every mutant of one file."""
    tree = ast.parse(path.read_text(encoding="utf8"))
    for place, node, function in _places(tree):
        for other in _variants(node):
            words = f"{ast.unparse(node)} -> {ast.unparse(other)}"[:120]
            line = getattr(node, "lineno", 0)
            yield Mutant(str(path.relative_to(root)), line, function, words, place, other)


def padded(source: str) -> str:
    """Return a source that does the same and reads otherwise: every function begins with a statement without effect."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.body.insert(bool(ast.get_docstring(node, clean=False)), ast.parse("None is None").body[0])
    return ast.unparse(ast.fix_missing_locations(tree))
