"""environment.yml, pyproject.toml and requirements.lock say the same thing; the wheel works on its own."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import lock as lock_script
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf8"))
BOOK_TEXT, TEST_TEXT = (lock.read_text(encoding="utf8") for lock in lock_script.LOCKS.values())
LOCK_TEXT = BOOK_TEXT + TEST_TEXT
LOCK = [Requirement(line) for line in lock_script.requirements(LOCK_TEXT)]


def pinned_versions() -> dict[str, Version]:
    return {canonicalize_name(r.name): Version(next(iter(r.specifier)).version) for r in LOCK}


def test_lock_holds_exact_versions_only() -> None:
    for requirement in LOCK:
        assert [s.operator for s in requirement.specifier] == ["=="], requirement
        assert requirement.url is None
        assert not Version(next(iter(requirement.specifier)).version).local, f"{requirement} is on no public index"
    assert len({canonicalize_name(r.name) for r in LOCK}) == len(LOCK)
    for forbidden in ("://", "--index", "--find-links", "-e "):
        assert forbidden not in LOCK_TEXT


def test_lock_holds_the_digest_of_every_file() -> None:
    for line in LOCK_TEXT.replace("\\\n", " ").splitlines():
        if not line.startswith("#"):
            assert re.search(r" --hash=sha256:[0-9a-f]{64}\b", line), (
                f"{line.split()[0]} has no digest; run `make lock`"
            )
    installs = re.findall(r"^\t.* requirements.*\.lock$", (ROOT / "Makefile").read_text("utf8"), re.MULTILINE)
    assert len(installs) == 2
    assert all("--require-hashes" in install for install in installs)


@pytest.mark.parametrize(("system", "needs"), [("darwin", "appnope"), ("win32", "colorama"), ("linux", "pexpect")])
def test_lock_is_complete_on_every_system(system: str, needs: str) -> None:
    """With digests pip refuses what is not in the lock, so what one system alone needs must be there."""
    (locked,) = (requirement for requirement in LOCK if requirement.name == needs)
    assert locked.marker is None or locked.marker.evaluate({"sys_platform": system})


def test_what_the_book_needs_is_in_the_first_lock() -> None:
    named = {canonicalize_name(Requirement(line).name) for line in lock_script.requirements(BOOK_TEXT)}
    declared = {canonicalize_name(Requirement(r).name) for r in lock_script.declared(("book",))}
    assert declared <= named
    assert not {"playwright", "mypy", "polars", "duckdb"} & named, "only the tests need these"


def test_lock_satisfies_pyproject() -> None:
    pinned = pinned_versions()
    declared = [Requirement(r) for r in lock_script.declared()]
    assert {canonicalize_name(r.name) for r in declared} >= {"numpy", "cvxpy", "jupyter-book", "pytest", "hatchling"}
    for requirement in declared:
        name = canonicalize_name(requirement.name)
        assert name in pinned, f"{requirement} is not in the lock; run `make lock`"
        assert requirement.specifier.contains(pinned[name], prereleases=True), f"{requirement}, locked {pinned[name]}"


def test_lock_satisfies_what_the_locked_packages_ask_for() -> None:
    """The lock is complete: nothing is left for pip to choose."""
    from importlib.metadata import PackageNotFoundError, requires

    pinned = pinned_versions()
    for locked in LOCK:
        if locked.marker and not locked.marker.evaluate():
            continue
        try:
            needs = requires(locked.name) or []
        except PackageNotFoundError:
            pytest.fail(f"{locked} is locked but not installed here")
        for need in map(Requirement, needs):
            if need.marker is None or need.marker.evaluate({"extra": ""}):
                name = canonicalize_name(need.name)
                assert name in pinned, f"{locked.name} needs {need}, which is not in the lock"
                assert need.specifier.contains(pinned[name], prereleases=True), f"{locked.name} needs {need}"


def test_conda_environment_is_the_project() -> None:
    packages = [d for d in ENVIRONMENT["dependencies"] if isinstance(d, str)]
    (pip_section,) = (d["pip"] for d in ENVIRONMENT["dependencies"] if isinstance(d, dict))
    python = Requirement(next(d for d in packages if re.match(r"python\b", d)))
    assert python.specifier == Requirement("python" + PROJECT["requires-python"]).specifier
    # Beside digests pip takes no folder, so the package is installed by a line of its own.
    assert pip_section == ["-r requirements.lock"]
    # A conda package that is also a Python dependency would compete with the lock.
    assert {Requirement(d).name for d in packages} == {"python", "pip", "git", "make"}


def test_every_extra_that_others_refer_to_exists() -> None:
    extras = set(PROJECT["optional-dependencies"])
    for requirements in PROJECT["optional-dependencies"].values():
        for requirement in map(Requirement, requirements):
            if requirement.name == "fairpca":
                assert requirement.extras <= extras


def test_what_an_installation_brings_is_imported_by_the_package() -> None:
    named = {"scikit-learn": "sklearn"}
    imported = {
        name.partition(".")[0]
        for path in (ROOT / "fairpca").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf8")))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    for requirement in map(Requirement, [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["fast"]]):
        assert named.get(requirement.name, requirement.name) in imported, f"{requirement} is declared and not imported"


def test_wheel_carries_package_and_data(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        carried = set(archive.namelist())
    listed = subprocess.run(
        ["git", "ls-files", "fairpca", "data"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.splitlines():
        if name.startswith("fairpca/"):
            assert name in carried
        elif name.split("/")[1] in ("raw", "published", "results"):
            assert (f"fairpca/_{name}" in carried) is not name.endswith(".cells.csv.gz")
    assert not [name for name in carried if "__pycache__" in name or name.startswith("tests/")]


def test_wheel_works_away_from_the_source_tree(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import numpy as np, fairpca\n"
        "from fairpca._resources import data_path\n"
        "assert fairpca.__file__.startswith(sys.argv[1]), fairpca.__file__\n"
        "for kind in ('raw', 'published', 'results'):\n"
        "    assert str(data_path(kind)).startswith(sys.argv[1]) and any(data_path(kind).iterdir())\n"
        "rows = np.random.default_rng(0).normal(size=(30, 4))\n"
        "print(fairpca.PCA(2).fit(rows, sensitive_features=[0, 1] * 15).components_.shape)\n"
    )
    command = [sys.executable, "-c", program, str(site)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "(2, 4)"
