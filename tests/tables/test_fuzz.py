"""Malformed files and combinations of options: never a traceback, never a half-written file, always a remedy.

300 cases in each run of the tests; FAIRPCA_FUZZ=5000 tries as many by hand, FAIRPCA_FUZZ_SEED=1 others.
"""

import contextlib
import io
import os
import re
import warnings

import numpy as np
import pytest

from fairpca import cli

CASES = int(os.environ.get("FAIRPCA_FUZZ", "300"))
SEED = int(os.environ.get("FAIRPCA_FUZZ_SEED", "0"))
BLOCK = 20
# Words by which a message says what to do.
REMEDY = re.compile(
    r"--\w|\bexport\b|"
    r"\bgive\b|\bsay\b|\bput\b|\bsave\b|\bfill\b|\bmend\b|\bfit\b|\bwrite\b|\bremove\b|\blook for\b|\bleave\b"
    r"|\bmerge\b"
    r"|\bchoose\b|\bclean\b|\bdivide\b|\brename\b|\bdownload\b|\bget it\b|\bknown are\b|\bparameters are\b|\bcut\b"
    r"|\blower\b|\braise\b|\buse\b|\binstall\b|\bneeds two\b|\bmust lie\b|\bfix\b|\bpass\b|\btakes\b",
    re.IGNORECASE,
)


def good(rng):
    n = int(rng.integers(2, 40))
    separator = str(rng.choice([",", ";", "\t"]))
    header = ["x", "y", "word", "sex", "day"]
    rows = [
        [f"{rng.normal():.3g}", str(rng.integers(0, 5)), str(rng.choice(["red", "blue", "grün"])),
         str(rng.choice(["f", "m"])), f"2020-0{rng.integers(1, 9)}-1{rng.integers(0, 9)}"]
        for _ in range(n)
    ]  # fmt: skip
    return "\n".join(separator.join(row) for row in [header, *rows]) + "\n"


NASTY = [
    "", "NaN", "inf", "-inf", "1e308", "1e-308", "?", "x" * 5000, '"', '""', "=cmd|' /C calc'!A0", "\x1b[31m", "٣",
    "1,5", "1.234,5", "0x10", "1_000", "9" * 4500, "\u202e", "None", "True", "2020-13-45", "\ufeff", "a\nb", "-" * 300,
]  # fmt: skip


def malformed(rng):
    """Bytes of a file that was a table once."""
    text = good(rng)
    for _ in range(int(rng.integers(0, 4))):
        kind = int(rng.integers(0, 9))
        place = int(rng.integers(0, len(text) + 1))
        if kind == 0:
            text = text[:place]
        elif kind == 1:
            text = text[:place] + str(rng.choice(NASTY)) + text[place:]
        elif kind == 2:
            text = re.sub(
                r"(?m)^(.*?)([,;\t])", lambda m: str(rng.choice(NASTY)) + m[2], text, count=int(rng.integers(1, 4))
            )
        elif kind == 3:
            text = text.replace("sex", str(rng.choice(["sex,sex", "", "x", "SEX", "sex "])), 1)
        elif kind == 4:
            text = text.partition("\n")[2]
        elif kind == 5:
            text = "\n" * int(rng.integers(1, 4)) + text
        elif kind == 6:
            text = text.replace("\n", str(rng.choice(["\r\n", "\r", ",\n"])))
        elif kind == 7:
            text = text.replace("m", "f")
        else:
            text = text + text[:place]
    content = text.encode(str(rng.choice(["utf-8", "utf-16", "utf-8-sig", "latin-1"])), "replace")
    if rng.random() < 0.15:
        broken = bytearray(content)
        for place in rng.integers(0, max(len(broken), 1), 3):
            if broken:
                broken[place] = int(rng.integers(0, 256))
        content = bytes(broken)
    return content


def options(rng, folder):
    """Options of a command, most of them meant well."""

    def some(flag, values, chance):
        return [flag, str(rng.choice(values))] if rng.random() < chance else []

    shared = [
        "--sensitive",
        str(rng.choice(["sex", "sex", "sex", "sex", "word", "sex,word", "x", "gender", "", '"', "y"])),
    ]
    shared += some("--target", ["y", "word", "sex", "nothing"], 0.3)
    shared += some("--drop", ["word", "x", "x,y,word,day", '"a,b"', "nothing"], 0.2)
    shared += some("--separator", [",", ";", "tab", "", "ab", '"'], 0.15)
    shared += some("--encoding", ["utf-8", "latin-1", "ascii", "klingon"], 0.1)
    shared += some("--header", ["yes", "no"], 0.15)
    shared += some("--missing", ["impute", "drop", "error"], 0.3)
    shared += some("--missing-groups", ["own", "drop"], 0.3)
    shared += some("--scale", ["none"], 0.2)
    shared += some("--max-levels", ["1", "2", "-4"], 0.1)
    shared += some("--cut", ["x=0", "y=1,2", "sex=1", "=", "x=nan"], 0.15)
    shared += some("--category", ["y", "x", "nothing"], 0.1) + some("--keep", ["x", "word"], 0.1)
    name = str(
        rng.choice(["t.csv", "t.csv", "t.csv", "t.csv", "t.txt", "t.gz", "t.parquet", "t.xlsx", "t.json", "t.zip"])
    )
    method = str(rng.choice(["pca", "pca", "minmax", "nonsense"]))
    fit = ["fit", method, str(folder / name), *shared, *some("--components", ["1", "2", "9", "-1"], 0.5)]
    fit += some("--set", ["tol=1e-6", "tol=x", "nothing=1", "tol", "tol=" + "9" * 4500], 0.15)
    outputs = [["--out", str(folder / "o.csv")], ["--model", str(folder / "m.npz")]]
    fit += outputs[0] + outputs[1] if rng.random() < 0.5 else outputs[int(rng.integers(0, 2))]
    fit += ["--report"] if rng.random() < 0.3 else []
    apply = ["apply", str(folder / "kept.npz"), str(folder / name), "--out", str(folder / "o.csv")]
    apply += some("--with", ["sex", "nothing", '"'], 0.3) + some("--unknown-levels", ["none"], 0.5)
    return name, (fit if rng.random() < 0.8 else apply)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    (folder / "t.csv").write_text(good(np.random.default_rng(5)))
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        command = ["fit", "pca", str(folder / "t.csv"), "--sensitive", "sex", "--model", str(folder / "m.npz")]
        assert cli.main(command) == 0
    return (folder / "m.npz").read_bytes()


@pytest.mark.parametrize("block", range(max(CASES // BLOCK, 1)))
def test_no_traceback_no_half_file_always_a_remedy(block, kept, tmp_path):
    for case in range(BLOCK):
        rng = np.random.default_rng([block, case, SEED])
        folder = tmp_path / str(case)
        folder.mkdir()
        name, arguments = options(rng, folder)
        (folder / name).write_bytes(malformed(rng))
        (folder / "kept.npz").write_bytes(kept)
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                code = cli.main(arguments)
            except SystemExit as stop:  # wrong usage, said by argparse
                code = stop.code
        told = f"block {block}, case {case}: {arguments}\n{err.getvalue()}"
        assert code in (0, 1, 2), told
        assert "Traceback" not in err.getvalue() and "\x1b" not in err.getvalue() + out.getvalue(), told
        after = {path.name: path.read_bytes() for path in folder.iterdir()}
        assert {key: after[key] for key in before} == before, f"an input was changed, {told}"
        if code:
            assert set(after) == set(before), f"something was written, {told}"
            last = err.getvalue().strip().splitlines()[-1] if err.getvalue().strip() else ""
            assert "error: " in err.getvalue() and (code == 2 or REMEDY.search(err.getvalue())), told
            assert len(last) < 3000, f"a very long message, {told[:500]}"
        else:
            wanted = {arguments[i + 1].rpartition("/")[2] for i, a in enumerate(arguments) if a in ("--out", "--model")}
            assert set(after) - set(before) == wanted, told
