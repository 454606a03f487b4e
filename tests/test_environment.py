"""environment.yml, pyproject.toml and requirements.lock say the same thing; the wheel works on its own."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf8"))


def declared(*extras: str) -> list[Requirement]:
    """Return what the package needs with these extras and those that they name."""
    found = [Requirement(line) for line in PROJECT["dependencies"]]
    for extra in extras:
        for requirement in map(Requirement, PROJECT["optional-dependencies"][extra]):
            found += declared(*requirement.extras) if requirement.name == "fairpca" else [requirement]
    return found


def locked(name: str) -> dict[str, Requirement]:
    text = (ROOT / name).read_text(encoding="utf8")
    assert not re.search(r"://|--index|--find-links|^-e ", text, re.MULTILINE)
    lines = re.findall(r"^([^#\s].*?)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", text, re.MULTILINE)
    assert "".join(f"{line}{digests}\n" for line, digests in lines) == re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)
    found = [Requirement(line) for line, _ in lines]
    for requirement in found:
        assert [s.operator for s in requirement.specifier] == ["=="] and requirement.url is None, requirement
        assert not version(requirement).local, f"{requirement} is on no public index"
    assert len({r.name for r in found}) == len(found)
    return {canonicalize_name(requirement.name): requirement for requirement in found}


def version(requirement: Requirement) -> Version:
    return Version(next(iter(requirement.specifier)).version)


BOOK, LOCK = locked("requirements.lock"), locked("requirements-test.lock")


def test_installation_compares_the_digests() -> None:
    installs = re.findall(r"^\t\$\(PIP\).* requirements.*\.lock$", (ROOT / "Makefile").read_text("utf8"), re.MULTILINE)
    assert len(installs) == 2 and all("--require-hashes" in install for install in installs)


@pytest.mark.parametrize(("system", "needs"), [("darwin", "appnope"), ("win32", "colorama"), ("linux", "pexpect")])
def test_lock_is_complete_on_every_system(system: str, needs: str) -> None:
    """With digests pip refuses what is not in the lock, so what one system alone needs must be there."""
    for lock in (BOOK, LOCK):
        assert lock[needs].marker is None or lock[needs].marker.evaluate({"sys_platform": system})


def test_locks_satisfy_pyproject() -> None:
    for lock, extras in ((BOOK, ("book",)), (LOCK, ("book", "test"))):
        for requirement in declared(*extras):
            pinned = lock.get(canonicalize_name(requirement.name))
            assert pinned, f"{requirement} is not in the lock; run `make lock`"
            assert requirement.specifier.contains(version(pinned), prereleases=True), f"{requirement}, locked {pinned}"
    assert {name: version(pin) for name, pin in BOOK.items()}.items() <= {
        n: version(p) for n, p in LOCK.items()
    }.items()
    assert not {"playwright", "mypy", "polars", "duckdb"} & set(BOOK), "only the tests need these"


def test_lock_satisfies_what_the_locked_packages_ask_for() -> None:
    """The lock is complete: nothing is left for pip to choose."""
    from importlib.metadata import PackageNotFoundError, requires

    for pinned in LOCK.values():
        if pinned.marker and not pinned.marker.evaluate():
            continue
        try:
            needs = requires(pinned.name) or []
        except PackageNotFoundError:
            pytest.fail(f"{pinned} is locked but not installed here")
        for need in map(Requirement, needs):
            if need.marker is None or need.marker.evaluate({"extra": ""}):
                name = canonicalize_name(need.name)
                assert name in LOCK, f"{pinned.name} needs {need}, which is not in the lock"
                assert need.specifier.contains(version(LOCK[name]), prereleases=True), f"{pinned.name} needs {need}"


def test_conda_environment_is_the_project() -> None:
    packages = [d for d in ENVIRONMENT["dependencies"] if isinstance(d, str)]
    (pip_section,) = (d["pip"] for d in ENVIRONMENT["dependencies"] if isinstance(d, dict))
    python = Requirement(next(d for d in packages if re.match(r"python\b", d)))
    assert python.specifier == Requirement("python" + PROJECT["requires-python"]).specifier
    # Beside digests pip takes no folder, so the package is installed by a line of its own.
    assert pip_section == ["-r requirements.lock"]
    # A conda package that is also a Python dependency would compete with the lock.
    assert {Requirement(d).name for d in packages} == {"python", "pip", "git", "make"}


def test_what_an_installation_brings_is_imported_by_the_package() -> None:
    named = {"scikit-learn": "sklearn"}
    sources = [path.read_text("utf8") for path in (ROOT / "fairpca").rglob("*.py")]
    imported = set(re.findall(r"^\s*(?:from|import) (\w+)", "\n".join(sources), re.MULTILINE))
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
