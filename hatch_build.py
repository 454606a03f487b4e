"""Add the repository's address to the metadata of the package."""

from __future__ import annotations

import os
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class RepositoryAddress(MetadataHookInterface):
    """Fill ``[project.urls]`` from REPOSITORY_URL and BOOK_URL; without them the package names no address."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set ``urls``; hatchling calls this while it builds."""
        repository, book = (os.environ.get(name, "").rstrip("/") for name in ("REPOSITORY_URL", "BOOK_URL"))
        pages = {"Documentation": book} if book else {}
        if repository:
            pages |= {"Source": repository, "Issues": f"{repository}/issues"}
            pages["Changelog"] = f"{repository}/blob/main/CHANGELOG.md"
        metadata["urls"] = pages
