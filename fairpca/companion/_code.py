"""What the result of a function depends on: its code, what it uses of its page, and the package modules behind it."""

from __future__ import annotations

import ast
import dis
import functools
import hashlib
import importlib
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import CodeType
from typing import Any

import joblib

from fairpca.datasets import digest, names
from fairpca.experiments.engine.store import canonical_json

PACKAGE = "fairpca"
# Modules that run, show or file results. A change in them does not change a number.
ASIDE = ("cli", "own_data", "plotting", "published", "report", "scale", "tables")


class Code:
    """The code behind a function of a page.

    Comments, docstrings and layout do not count. Functions and constants of the page are followed, and so are all
    modules that the used objects of the package import.

    Parameters
    ----------
    function : callable
        Defined on the page.
    settings : sequence of dict
        The arguments with which it is called.

    Attributes
    ----------
    digest : str
        Changes with the code, and with the value of each constant that it uses.
    data : dict
        SHA-256 by name of each data set that the code or an argument names.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        settings: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        texts: list[str] = []
        constants: list[str] = []
        modules: set[str] = set()
        seen: list[Any] = []
        pending: list[tuple[str, Any]] = [("", function)]
        while pending:
            name, item = pending.pop()
            if any(item is other for other in seen):
                continue
            seen.append(item)  # kept, so that no other object gets its address
            home = item.__name__ if inspect.ismodule(item) else getattr(item, "__module__", None) or ""
            ours = home.partition(".")[0] == PACKAGE
            modules |= {home} if ours else set()
            if hasattr(item, "cache_info") and not ours:
                raise TypeError(
                    f"{name or function.__name__} has a cache, which worker processes cannot load. "
                    "Remove the decorator, or move the function to fairpca/companion."
                )
            if isinstance(item, functools.partial):
                pending += [
                    (f"{name}.func", item.func),
                    (f"{name}.args", (item.args, item.keywords)),
                ]
            elif inspect.isfunction(item) and home in (
                function.__module__,
                "__main__",
            ):
                texts.append(_text(item))
                modules |= set(_imported(item.__code__))
                used = [(each, item.__globals__.get(each, each)) for each in _globals(item.__code__)]
                pending += [(each, value) for each, value in used if value is not each]
                pending += [(f"{name}.cell", cell.cell_contents) for cell in item.__closure__ or ()]
                pending.append((f"{name}.defaults", (item.__defaults__, item.__kwdefaults__)))
            elif inspect.isclass(item) and home in (function.__module__, "__main__"):
                pending += [(f"{item.__name__}.{key}", value) for key, value in vars(item).items() if key[:2] != "__"]
                pending += [(base.__name__, base) for base in item.__bases__]
            elif not callable(item) and not inspect.ismodule(item):
                texts.append(f"{name} = {joblib.hash(item)}")
                constants.append(repr(item))
        closure = sorted(_closure(frozenset(modules)))
        texts = sorted(texts) + [f"{module} {_module_digest(module)}" for module in closure]
        self.digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]
        own = [_skeleton(_tree(module)) for module in closure if module.startswith(f"{PACKAGE}.companion.")]
        named = "\n".join([*texts, *constants, *own])
        self._always = {name for name in names() if f"'{name}'" in named}
        given = {value for setting in settings for value in setting.values() if isinstance(value, str)}
        self.data = {name: digest(name) for name in names() if name in self._always | given}

    def key(self, setting: Mapping[str, Any]) -> str:
        """Return what identifies the result of one cell: its arguments and its data."""
        used = [value for name, value in self.data.items() if name in self._always or name in setting.values()]
        return str(joblib.hash((self.digest, canonical_json(setting), used)))


def _text(function: Callable[..., Any]) -> str:
    try:
        return _skeleton(ast.parse(textwrap.dedent(inspect.getsource(function))))
    except (
        OSError,
        SyntaxError,
    ):  # made by exec, or a lambda inside a longer expression
        code = function.__code__
        return f"{code.co_code.hex()} {code.co_names} {[c for c in code.co_consts if not isinstance(c, CodeType)]}"


def _skeleton(node: Any) -> str:
    """Write a syntax tree without docstrings, positions and empty fields, which differ between versions of Python."""
    if isinstance(node, list):
        return f"[{','.join(map(_skeleton, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = dict(ast.iter_fields(node))
    if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
        fields["body"] = fields["body"][1:]
    inside = (f"{name}={_skeleton(value)}" for name, value in fields.items() if value is not None and value != [])
    return f"{type(node).__name__}({','.join(inside)})"


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


def _globals(code: CodeType) -> Iterator[str]:
    for part in _codes(code):
        yield from (step.argval for step in dis.get_instructions(part) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"))


def _imported(code: CodeType) -> Iterator[str]:
    for part in _codes(code):
        found = [step.argval for step in dis.get_instructions(part) if step.opname == "IMPORT_NAME"]
        yield from (name for name in found if name.partition(".")[0] == PACKAGE)


def _aside(module: str) -> bool:
    """Whether a module does not count: it runs, shows or files results."""
    unit, _, rest = module.removeprefix(f"{PACKAGE}.").partition(".")
    return unit in ASIDE or unit.startswith("_cli") or (unit == "companion" and (not rest or rest.startswith("_")))


@cache
def _closure(modules: frozenset[str]) -> frozenset[str]:
    found: set[str] = set()
    pending = [module for module in modules if not _aside(module)]
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += [module for module in _imports(name) if not _aside(module)]
    return frozenset(found)


@cache
def _imports(module: str) -> tuple[str, ...]:
    found: set[str] = set()
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == PACKAGE:
            found |= {_home(str(node.module), alias.name) for alias in node.names}
    return tuple(name for name in found if name.partition(".")[0] == PACKAGE)


def _home(module: str, name: str) -> str:
    """Return the module that an imported name comes from, also where the package gives it away on first use."""
    if _aside(module):
        return module
    value = getattr(importlib.import_module(module), name, None)
    if inspect.ismodule(value) or (value is None and find_spec(f"{module}.{name}")):
        return f"{module}.{name}"
    return getattr(value, "__module__", None) or module


@cache
def _tree(module: str) -> ast.Module:
    spec = find_spec(module)
    return ast.parse(Path(spec.origin).read_text(encoding="utf8") if spec and spec.origin else "")


@cache
def _module_digest(module: str) -> str:
    return hashlib.sha256(_skeleton(_tree(module)).encode()).hexdigest()
