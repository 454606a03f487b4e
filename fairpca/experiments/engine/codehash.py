"""A hash of the code that computes a cell: changes when that code changes, and only then.

The source of the function is normalised (no docstrings, comments, annotations, positions, or words of errors and
warnings) and so is, recursively, the source of everything it refers to inside its own package: functions, classes,
constants, through imports at the top of a module or inside a function, through attributes of modules, decorators and
base classes. The analysis is static and over-inclusive: a name that cannot be told apart counts as a reference.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib
import importlib.util
import linecache
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import CodeType, ModuleType
from typing import Any

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
# Fields that say nothing about what the code does, or that exist only in some versions of Python.
_IGNORED_FIELDS = {"annotation", "returns", "type_comment", "type_params", "kind", "ctx"}
_PACKAGE = __name__.partition(".")[0]


def code_hash(function: Callable[..., Any]) -> str:
    """Return 32 hexadecimal digits that identify the code behind `function`.

    Parameters
    ----------
    function : callable
        A function, partial (also of a mapping of functions), numba dispatcher or wrapped function. Its own top-level
        package and ``fairpca`` are followed; other packages are not.

    Returns
    -------
    str
        First 32 hexadecimal digits of a SHA-256.
    """
    pieces = code_pieces(function)
    if not pieces:
        raise ValueError(
            f"The file with {getattr(function, '__qualname__', function)!r} has changed since it was loaded, so nobody "
            "can say which code would compute. Start again."
        )
    digest = hashlib.sha256()
    for label in sorted(pieces):
        digest.update(f"{label}\0{pieces[label]}\0".encode())
    return digest.hexdigest()[:32]


def code_pieces(function: Callable[..., Any]) -> dict[str, str]:
    """Return, by name, the normalised source of everything behind `function` (to see why a hash changed)."""
    return _Collector().collect(function)


def script_sources(function: Callable[..., Any]) -> dict[str, list[str]]:
    """Lines, by file name, of the scripts and notebook cells behind `function`, which no other process can import."""
    collector = _Collector()
    collector._add_live(function, "start")
    return collector.scripts


# --------------------------------------------------------------------------------------------------------------------
# Normalised source


def _is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _normalise(node: Any) -> str:
    """Text of a syntax tree that is the same for all supported versions of Python."""
    if isinstance(node, ast.AST):
        if isinstance(node, ast.Constant):
            return f"Constant({type(node.value).__name__}:{node.value!r})"
        if isinstance(node, ast.JoinedStr):
            return f"JoinedStr({_normalise_fstring(node)})"
        if _only_tells(node):
            # The type of an error may steer whoever catches it; its words do not.
            kind = getattr(node, "exc", None)
            return f"{type(node).__name__}({_normalise(kind.func if isinstance(kind, ast.Call) else kind)})"
        parts = []
        for name, value in ast.iter_fields(node):
            if name in _IGNORED_FIELDS or value is None or value == []:
                continue
            if name == "decorator_list":
                value = [decorator for decorator in value if not _registers(decorator)]
            parts.append(f"{name}={_normalise(value)}")
        return f"{type(node).__name__}({','.join(parts)})"
    if isinstance(node, list):
        # A bare string among statements is a docstring or a comment in disguise.
        return "[" + ",".join(_normalise(item) for item in node if not _is_docstring(item)) + "]"
    return repr(node)


def _only_tells(node: ast.AST) -> bool:
    """Whether a node is what an error or a warning says: better words do not change any result."""
    if isinstance(node, ast.Raise):
        return True
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    return node.func.attr == "warn" and isinstance(node.func.value, ast.Name) and node.func.value.id == "warnings"


def _normalise_fstring(node: ast.JoinedStr) -> str:
    """Parts of an f-string with neighbouring literals joined, as versions of Python split them differently."""
    parts: list[str] = []
    literal = ""
    for value in node.values:
        if isinstance(value, ast.Constant):
            literal += str(value.value)
            continue
        parts += [repr(literal), _normalise(value)]
        literal = ""
    return ",".join([*parts, repr(literal)])


def _registers(decorator: ast.expr) -> bool:
    """Whether a decorator is the registry's, which says nothing about what the function computes."""
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(target, ast.Name | ast.Attribute) and (getattr(target, "id", getattr(target, "attr", ""))) == (
        "register"
    )


# --------------------------------------------------------------------------------------------------------------------
# Modules


@dataclass(frozen=True)
class _Import:
    """What a name stands for: a module (`attribute` is None) or something in it."""

    module: str
    attribute: str | None = None


@dataclass
class _Module:
    """The top level of one source file."""

    name: str
    statements: list[ast.stmt]
    definitions: dict[str, list[ast.stmt]] = field(default_factory=dict)
    imports: dict[str, _Import] = field(default_factory=dict)
    # By identity of the statement; the same statement is behind many functions.
    read: dict[int, tuple[str, set[tuple[_Import, tuple[str, ...]]]]] = field(default_factory=dict)


@functools.lru_cache(maxsize=512)
def _parse(name: str, is_package: bool, source: str) -> _Module:
    module = _Module(name, ast.parse(source).body)
    for statement in _top_level(module.statements):
        if isinstance(statement, ast.Import | ast.ImportFrom):
            module.imports.update(_imported(statement, name, is_package))
        for defined in _defined_names(statement):
            module.definitions.setdefault(defined, []).append(statement)
    return module


def _top_level(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of a module, those inside `if`, `try`, `with` and loops included."""
    for statement in statements:
        yield statement
        for block in ("body", "orelse", "finalbody"):
            if not isinstance(statement, _DEFINITIONS):
                yield from _top_level(getattr(statement, block, []))
        for handler in getattr(statement, "handlers", []):
            yield from _top_level(handler.body)


def _defined_names(statement: ast.stmt) -> set[str]:
    """Names that a top-level statement binds or changes (`table["x"] = 1` and `table.update(…)` change `table`)."""
    if isinstance(statement, _DEFINITIONS):
        return {statement.name}
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign | ast.AugAssign | ast.For):
        targets = [statement.target]
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        called = statement.value.func
        targets = [called.value] if isinstance(called, ast.Attribute) else []
    return {base for target in targets for base in _base_names(target)}


def _base_names(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Attribute | ast.Subscript | ast.Starred):
        yield from _base_names(target.value)
    elif isinstance(target, ast.Tuple | ast.List):
        for element in target.elts:
            yield from _base_names(element)


def _imported(statement: ast.Import | ast.ImportFrom, module: str, is_package: bool) -> dict[str, _Import]:
    """Names that an import statement binds in `module`."""
    names: dict[str, _Import] = {}
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            bound = alias.asname or alias.name.partition(".")[0]
            names[bound] = _Import(alias.name if alias.asname else bound)
        return names
    source = statement.module or ""
    if statement.level:
        parents = module.split(".")
        keep = len(parents) - statement.level + (1 if is_package else 0)
        source = ".".join([*parents[:keep], *([source] if source else [])])
    for alias in statement.names:
        names[alias.asname or alias.name] = _Import(source, alias.name)
    return names


# --------------------------------------------------------------------------------------------------------------------
# References


def _bound_names(function: ast.AST) -> set[str]:
    """Names local to a function: arguments and whatever it assigns, without those of nested functions."""
    bound: set[str] = set()
    free: set[str] = set()
    arguments = getattr(function, "args", None)
    if isinstance(arguments, ast.arguments):
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        bound |= {argument.arg for argument in every if argument is not None}
    body = getattr(function, "body", [])
    pending: list[ast.AST] = list(body) if isinstance(body, list) else [body]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            bound.add(node.id)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            free |= set(node.names)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
        if isinstance(node, _DEFINITIONS):
            bound.add(node.name)
        elif not isinstance(node, ast.Lambda):
            pending.extend(ast.iter_child_nodes(node))
    return bound - free


class _References(ast.NodeVisitor):
    """All dotted names that a statement of `module` reads, resolved to imports or to the module's own names."""

    def __init__(self, module: _Module, is_package: bool) -> None:
        self.module = module
        self.is_package = is_package
        self.scopes: list[set[str]] = []
        self.found: set[tuple[_Import, tuple[str, ...]]] = set()
        self.local_imports: list[dict[str, _Import]] = []

    def visit(self, node: ast.AST) -> None:
        if _only_tells(node):
            return
        if isinstance(node, _FUNCTIONS):
            self._visit_function(node)
        elif isinstance(node, ast.Attribute | ast.Name):
            self._visit_dotted(node)
        else:
            self._visit_children(node)

    def _visit_children(self, node: ast.AST, skip: frozenset[str] = frozenset()) -> None:
        for name, value in ast.iter_fields(node):
            if name in _IGNORED_FIELDS or name in skip:
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not (name == "decorator_list" and _registers(child)):  # type: ignore[arg-type]
                    self.visit(child)

    def _visit_function(self, node: ast.AST) -> None:
        # Defaults and decorators are evaluated outside the function.
        for part in (getattr(node, "decorator_list", []), node.args.defaults, node.args.kw_defaults):  # type: ignore[attr-defined]
            for child in part:
                if child is not None and not _registers(child):
                    self.visit(child)
        imports: dict[str, _Import] = {}
        for child in ast.walk(node):
            if isinstance(child, ast.Import | ast.ImportFrom):
                imports.update(_imported(child, self.module.name, self.is_package))
        self.scopes.append(_bound_names(node) - set(imports))
        self.local_imports.append(imports)
        body = node.body  # type: ignore[attr-defined]
        for child in body if isinstance(body, list) else [body]:
            self.visit(child)
        self.scopes.pop()
        self.local_imports.pop()

    def _visit_dotted(self, node: ast.Attribute | ast.Name) -> None:
        attributes: list[str] = []
        base: ast.AST = node
        while isinstance(base, ast.Attribute):
            attributes.insert(0, base.attr)
            base = base.value
        if not isinstance(base, ast.Name):
            self.visit(base)
            return
        for scope, imports in zip(reversed(self.scopes), reversed(self.local_imports), strict=True):
            if base.id in imports:
                self.found.add((imports[base.id], tuple(attributes)))
                return
            if base.id in scope:
                return
        if base.id in self.module.imports:
            self.found.add((self.module.imports[base.id], tuple(attributes)))
        if base.id in self.module.definitions:
            self.found.add((_Import(self.module.name, base.id), tuple(attributes)))


def _read(statement: ast.stmt, module: _Module, is_package: bool) -> tuple[str, set[tuple[_Import, tuple[str, ...]]]]:
    """Return the normalised source of a statement of `module`, and what it refers to."""
    if id(statement) not in module.read:
        references = _References(module, is_package)
        references.visit(statement)
        module.read[id(statement)] = _normalise(statement), references.found
    return module.read[id(statement)]


class _Collector:
    """Follows references from one function through its package."""

    def __init__(self) -> None:
        self.roots = {_PACKAGE}
        self.pieces: dict[str, str] = {}
        self.scripts: dict[str, list[str]] = {}
        self.modules: dict[str, tuple[_Module, bool] | None] = {}
        self.pending: list[tuple[_Import, tuple[str, ...]]] = []
        self.seen: set[tuple[_Import, tuple[str, ...]]] = set()

    def collect(self, function: Callable[..., Any]) -> dict[str, str]:
        self._add_live(function, "start")
        while self.pending:
            self._resolve(*self.pending.pop())
        return self.pieces

    # -- starting points: live objects ---------------------------------------------------------------------------

    def _add_live(self, thing: Any, label: str) -> None:
        if isinstance(thing, functools.partial):
            self._add_live(thing.func, label)
            for position, value in [*enumerate(thing.args), *sorted(thing.keywords.items())]:
                self._add_live(value, f"{label}.partial.{position}")
            return
        if isinstance(thing, Mapping):  # its own text would show addresses of functions
            self.pieces[label] = repr(list(thing))
            for key, value in thing.items():
                self._add_live(value, f"{label}[{key!r}]")
            return
        for link in ("py_func", "__wrapped__", "__func__"):
            inner = getattr(thing, link, None)
            if inner is not None:
                self._add_live(inner, label)
        code = getattr(thing, "__code__", None)
        if isinstance(code, CodeType):
            self._add_function(thing, code, label)
        elif isinstance(thing, type):
            self._add_reference(_Import(thing.__module__, thing.__qualname__.partition(".")[0]))
        elif callable(thing):
            self._add_live(type(thing), label)
        else:
            self.pieces[label] = repr(thing)

    def _add_function(self, function: Any, code: CodeType, label: str) -> None:
        name = function.__module__
        self.roots.add(name.partition(".")[0])
        if self._module(name) is None:
            # A script or a notebook cell: there is nothing to import, but the source is known.
            lines = linecache.getlines(code.co_filename)
            source = "".join(lines)
            if not source:
                raise ValueError(
                    f"The source of {function.__qualname__!r} (module {name!r}) cannot be read, so results computed "
                    "with it could not be told apart from those of other code. Put the function into a file."
                )
            self.scripts[code.co_filename] = lines
            self.modules[name] = (_parse(name, False, source), False)
        found = self._module(name)
        assert found is not None
        for statement in found[0].statements:
            start = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", []))])
            if start <= code.co_firstlineno <= (statement.end_lineno or start):
                self._add_statement(f"{name}:{function.__qualname__}", statement, name)
        for variable, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            if cell.cell_contents is not function:
                self._add_live(cell.cell_contents, f"{label}.closure.{variable}")

    # -- static part ------------------------------------------------------------------------------------------------

    def _module(self, name: str) -> tuple[_Module, bool] | None:
        if name not in self.modules:
            self.modules[name] = None
            if name.partition(".")[0] in self.roots and name != "__main__":
                try:
                    spec = importlib.util.find_spec(name)
                except (ModuleNotFoundError, ValueError):
                    spec = None
                if spec is not None and spec.origin is not None and spec.origin.endswith(".py"):
                    is_package = spec.submodule_search_locations is not None
                    with open(spec.origin, encoding="utf-8") as file:
                        self.modules[name] = (_parse(name, is_package, file.read()), is_package)
        return self.modules[name]

    def _add_reference(self, target: _Import, attributes: tuple[str, ...] = ()) -> None:
        # Names that refer to each other in a circle are followed once.
        if target.module.partition(".")[0] in self.roots and (target, attributes) not in self.seen:
            self.seen.add((target, attributes))
            self.pending.append((target, attributes))

    def _add_statement(self, label: str, statement: ast.stmt, module_name: str) -> None:
        if label in self.pieces:
            return
        module = self._module(module_name)
        assert module is not None
        self.pieces[label], found = _read(statement, *module)
        for target, attributes in found:
            self._add_reference(target, attributes)

    def _resolve(self, target: _Import, attributes: tuple[str, ...]) -> None:
        if target.attribute is None:
            if attributes:
                self._resolve(_Import(target.module, attributes[0]), attributes[1:])
            else:
                self._add_whole_module(target.module)
            return
        module = self._module(target.module)
        if module is None:
            return
        if target.attribute in module[0].definitions:
            for position, statement in enumerate(module[0].definitions[target.attribute]):
                self._add_statement(f"{target.module}:{target.attribute}:{position}", statement, target.module)
        elif module[0].imports.get(target.attribute, target) != target:  # a package may import its own submodule
            self._add_reference(module[0].imports[target.attribute], attributes)
        elif self._module(f"{target.module}.{target.attribute}") is not None:
            self._resolve(_Import(f"{target.module}.{target.attribute}"), attributes)
        else:
            self._resolve_live(target, attributes)

    def _resolve_live(self, target: _Import, attributes: tuple[str, ...]) -> None:
        """Names that a module makes up on demand (`__getattr__`) or takes in by `import *`."""
        thing = getattr(importlib.import_module(target.module), target.attribute or "", None)
        if isinstance(thing, ModuleType):
            self._resolve(_Import(thing.__name__), attributes)
            return
        home, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
        if isinstance(home, str) and isinstance(name, str):
            found = _Import(home, name.partition(".")[0])
            if found != target:
                self._add_reference(found, attributes)

    def _add_whole_module(self, name: str) -> None:
        """A module handed on as a value: anything in it may be used."""
        module = self._module(name)
        if module is None:
            return
        for defined in module[0].definitions:
            self._add_reference(_Import(name, defined))
