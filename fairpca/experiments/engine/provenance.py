"""Where a stored result comes from: code, versions, machine, cost; no host names and no paths."""

from __future__ import annotations

import datetime
import functools
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import fairpca

_PACKAGES = ("numpy", "scipy", "pandas", "scikit-learn", "pymanopt", "numba", "cvxpy", "clarabel", "fairlearn")
_RESULTS = "data/results"


@functools.cache
def source() -> dict[str, Any]:
    """Commit, platform and processor of this process, taken once: what is loaded stays.

    The commit is None where it does not say which code computes: outside a repository, or with uncommitted changes.
    """
    commit, changes = commit_and_changes()
    return {
        "commit": None if changes else commit,
        "platform": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "processors": os.cpu_count(),
    }


def now() -> str:
    """Date and time (UTC), to the second."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def package_versions() -> dict[str, str]:
    """Versions of the packages that results depend on."""
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            # An optional package that is not installed took no part in the result.
            continue
    return found


def _processor() -> str:
    description = Path("/proc/cpuinfo")
    if description.is_file():
        for line in description.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def commit_and_changes() -> tuple[str | None, list[str]]:
    """Commit of the source tree, or None, and what is not as in it; stored results themselves do not count."""
    root = _root()
    if not (root / ".git").exists():
        return None, []
    try:
        commit = _git(root, "rev-parse", "--verify", "HEAD")
        status = _git(root, "status", "--porcelain", "--", ".", f":(exclude){_RESULTS}")
    except (OSError, subprocess.CalledProcessError):
        return None, []
    return commit, [line[3:] for line in status.splitlines()]


def is_ancestor(commit: str) -> bool | None:
    """Whether a commit is in the history of the source tree; None where that cannot be known."""
    root = _root()
    try:
        if not (root / ".git").exists() or _git(root, "rev-parse", "--is-shallow-repository") == "true":
            return None
        _git(root, "merge-base", "--is-ancestor", commit, "HEAD")
    except subprocess.CalledProcessError:
        return False
    except OSError:
        return None
    return True


def _root() -> Path:
    return Path(fairpca.__file__).resolve().parents[1]


def _git(root: Path, *arguments: str) -> str:
    # Only looked at: a run that is killed while git refreshes its index would leave the repository locked.
    command = ["git", "--no-optional-locks", "-C", str(root), *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return result.stdout.rstrip()
