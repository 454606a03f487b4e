"""One setting, REPOSITORY_URL, fills metadata, badges, the package's links and the book's buttons."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import address
import pytest
import site_extras
import yaml

ROOT = Path(__file__).resolve().parents[2]
FILES = ("README.md", "CITATION.cff", "codemeta.json", "ro-crate-metadata.json")
DUMMY, BOOK = "https://example.org/group/fairpca", "https://example.org/book"


@pytest.fixture
def copies(tmp_path: Path) -> Path:
    for name in FILES:
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def test_the_files_in_the_repository_name_no_address(copies: Path) -> None:
    address.fill(copies, "", "")
    assert all((copies / name).read_text() == (ROOT / name).read_text() for name in FILES), "run: make address"


def test_an_address_fills_all_files_and_can_be_taken_out_again(copies: Path) -> None:
    address.fill(copies, DUMMY + "/", BOOK)
    citation = yaml.safe_load((copies / "CITATION.cff").read_text())
    assert (citation["repository-code"], citation["url"]) == (DUMMY, BOOK)
    meta = json.loads((copies / "codemeta.json").read_text())
    assert meta["codeRepository"] == DUMMY
    assert meta["issueTracker"] == DUMMY + "/issues"
    graph = json.loads((copies / "ro-crate-metadata.json").read_text())["@graph"]
    assert next(part for part in graph if part["@id"] == "./")["url"] == DUMMY
    assert (copies / "README.md").read_text().count(DUMMY + "/actions") == 2
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.citation-file-format"]
    assert subprocess.run([*check, str(copies / "CITATION.cff")], capture_output=True, check=False).returncode == 0
    address.fill(copies, "", "")
    assert all((copies / name).read_text() == (ROOT / name).read_text() for name in FILES)


@pytest.mark.parametrize("repository", ["", DUMMY])
def test_the_package_names_the_address(repository: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What hatchling asks while it builds a wheel."""
    monkeypatch.setenv("REPOSITORY_URL", repository)
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    metadata: dict[str, dict[str, str]] = {}
    module.RepositoryAddress(str(ROOT), {}).update(metadata)
    assert len(metadata["urls"]) == (3 if repository else 0)
    assert all(address.startswith(repository) for address in metadata["urls"].values())


@pytest.mark.parametrize("repository", ["", DUMMY])
def test_the_book_links_the_repository(repository: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPOSITORY_URL", repository)
    config = SimpleNamespace(html_theme_options={"use_repository_button": False})
    site_extras._link_repository(None, config)
    assert config.html_theme_options["use_repository_button"] is bool(repository)
    assert config.html_theme_options.get("repository_url", "") == repository
    assert ("launch_buttons" in config.html_theme_options) is bool(repository)
