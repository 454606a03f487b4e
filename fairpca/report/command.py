"""The command that makes a report again, from what the report was asked for."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from fairpca.tables import Rules

__all__ = ["command"]

# Names of options where they differ from those of the fields.
_OPTIONS = {"numbers": "number", "categories": "category"}


def command(arguments: Mapping[str, Any]) -> str:
    """Return the line for a terminal; what is as by default is left out, the dimensions and the seed are not.

    Parameters
    ----------
    arguments : mapping
        As ``Analysis.arguments``.
    """
    words = ["fairpca", "report", str(arguments["data"]), "--sensitive", _joined(arguments["sensitive"])]
    for name, usual in (
        ("target", None), ("positive", None), ("components", None), ("seed", None), ("methods", None), ("parts", 5),
        ("level", 0.95), ("missing_groups", "error"), ("merge_groups_below", 0),
    ):  # fmt: skip
        words += _option(name, arguments.get(name), usual)
    usual_rules = {field.name: field.default for field in fields(Rules)}
    for name, value in arguments.get("rules", {}).items():
        words += _option(_OPTIONS.get(name, name), value, usual_rules[name])
    for name, value in arguments.get("reading", {}).items():
        words += _option(name, value, {"header_row": 1}.get(name, "auto"))
    for column, edges in arguments.get("cut", {}).items():
        words += ["--cut", f"{column}={','.join(f'{edge:g}' for edge in edges)}"]
    return shlex.join(words)


def _option(name: str, value: Any, usual: Any) -> list[str]:
    if isinstance(value, (list, tuple)):
        value = _joined(value) if value or name == "missing_marks" else None
        usual = None
    if value is None or value == usual:
        return []
    text = {"\t": "tab"}.get(value, value) if isinstance(value, str) else value
    return [f"--{name.replace('_', '-')}", str(text)]


def _joined(names: Any) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(list(names))
    return line.getvalue()
