"""Checksums and upstream addresses of every data file, read from ``registry.json`` beside this module."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["REGISTRY_FILE", "Upstream", "bundled_digest", "bundled_names", "faces_digest", "upstream"]

REGISTRY_FILE = Path(__file__).resolve().parent / "registry.json"


@dataclass(frozen=True)
class Upstream:
    """One file in the public repository of the authors who published it, at a fixed commit."""

    repository: str
    commit: str
    path: str
    sha256: str
    size: int

    @property
    def mirror_path(self) -> str:
        """Where a mirror folder holds the file."""
        return f"upstream/{self.repository.replace('/', '__')}/{self.path}"


@cache
def _registry() -> dict[str, Any]:
    return json.loads(REGISTRY_FILE.read_text(encoding="utf-8"))


def bundled_names() -> list[str]:
    """File names in ``data/raw``."""
    return sorted(_registry()["bundled"])


def bundled_digest(name: str) -> str:
    """SHA-256 of the text inside a file of ``data/raw``."""
    return str(_registry()["bundled"][name]["sha256"])


def upstream(key: str) -> Upstream:
    """Return the pinned upstream file `key`, for instance ``"biodeg"`` or ``"synthetic2/20/train_1"``."""
    return Upstream(**_registry()["upstream"][key])


def upstream_keys() -> list[str]:
    """Return all keys that :func:`upstream` knows."""
    return sorted(_registry()["upstream"])


def faces_digest() -> str:
    """SHA-256 of the faces' images, thirds and sex, concatenated."""
    return str(_registry()["faces"]["content_sha256"])


def faces_source() -> tuple[str, str]:
    """Repository and commit that the faces come from."""
    faces = _registry()["faces"]
    return str(faces["repository"]), str(faces["commit"])
