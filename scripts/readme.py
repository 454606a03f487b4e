"""Write the README's tables from what the papers declare: python scripts/readme.py."""

from __future__ import annotations

import re
from pathlib import Path

from fairpca.published.pages import exhibits_table, papers_table

README = Path(__file__).resolve().parents[1] / "README.md"


def with_tables(text: str) -> str:
    for name, table in (("papers", papers_table()), ("exhibits", exhibits_table())):
        pattern = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
        text, found = re.subn(
            pattern, lambda match, table=table: f"{match[1]}{table}\n{match[2]}", text, flags=re.DOTALL
        )
        if found != 1:
            raise ValueError(f"README.md needs one part between <!-- {name} --> and <!-- end -->; it has {found}.")
    return text


if __name__ == "__main__":
    README.write_text(with_tables(README.read_text(encoding="utf8")), encoding="utf8")
