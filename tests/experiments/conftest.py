"""What tests of the engine and of the papers' experiments share."""

import shutil
from pathlib import Path

import pytest

from fairpca import _resources
from fairpca.experiments.engine import registry

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A source tree with a copy of the stored results and of the published tables."""
    for kind in ("results", "published"):
        shutil.copytree(ROOT / "data" / kind, tmp_path / "data" / kind)
    (tmp_path / "data" / "raw").symlink_to(ROOT / "data" / "raw")
    monkeypatch.setattr(_resources, "_PACKAGE", tmp_path / "fairpca")
    return tmp_path


@pytest.fixture(autouse=True)
def _registry_as_it_was():
    """Forget what a test has registered."""
    registry.names()  # imports register once a process, so all of them must be there before
    before = dict(registry._REGISTRY)
    yield
    registry._REGISTRY.clear()
    registry._REGISTRY.update(before)
