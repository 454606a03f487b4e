"""Where a stored result comes from: code, versions, machine, cost; no host names and no paths."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import fairpca

_PACKAGES = ("numpy", "scipy", "pandas", "scikit-learn", "pymanopt", "numba", "cvxpy", "clarabel", "fairlearn")


def provenance() -> dict[str, Any]:
    """Versions, platform, processor, date and commit of this run."""
    return {
        "fairpca": fairpca.__version__,
        "python": platform.python_version(),
        "packages": package_versions(),
        "platform": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "processors": os.cpu_count(),
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        **_commit(),
    }


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


def _commit() -> dict[str, Any]:
    """Commit of the source tree, and whether it had changes; nothing outside a source tree."""
    root = Path(fairpca.__file__).resolve().parents[1]
    if not (root / ".git").exists():
        return {}
    try:
        commit = _git(root, "rev-parse", "HEAD")
        changed = _git(root, "status", "--porcelain", "--untracked-files=no", "--", "fairpca") != ""
    except (OSError, subprocess.CalledProcessError):
        return {}
    return {"commit": commit, "commit_has_changes": changed}


def _git(root: Path, *arguments: str) -> str:
    result = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True)
    return result.stdout.strip()
