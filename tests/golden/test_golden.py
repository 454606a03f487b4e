"""The command line prints and writes for ten tables what was recorded; `python tests/golden/record.py` records anew."""

import pytest
import record


@pytest.mark.parametrize("name", record.TABLES)
def test_the_command_line_prints_and_writes_what_was_recorded(name):
    recorded = (record.HERE / f"{name}.txt").read_text(encoding="utf8")
    found = record.differences(recorded, record.transcript(name))
    assert not found, "\n".join([*found, "If this is on purpose, run: python tests/golden/record.py"])


def test_a_number_or_a_word_that_differs_is_seen():
    lines = "$ fairpca fit\n| status: optimal, objective 0.25\n= p.csv\n  a,b\n  1.25,-3\n"
    assert not record.differences(lines, lines.replace("1.25", "1.250001"))
    assert len(record.differences(lines, lines.replace("1.25", "1.2501"))) == 1
    assert len(record.differences(lines, lines.replace("-3", "3"), only_files=True)) == 1
    words = lines.replace("optimal", "best")
    assert record.differences(lines, words) and not record.differences(lines, words, only_files=True)
    for other in (lines.replace("  1.25,-3\n", ""), lines.replace("a,b", "a,c")):
        assert record.differences(lines, other) and record.differences(lines, other, only_files=True)
