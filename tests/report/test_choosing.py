"""Every way through the questions ends with commands that exist and run."""

import io
import itertools

import numpy as np
import pandas as pd
import pytest

from fairpca import cli
from fairpca.report import QUESTIONS, advise, known_methods

WAYS = [
    dict(zip([q.key for q in QUESTIONS], way, strict=True))
    for way in itertools.product(*(q.answers for q in QUESTIONS))
]


@pytest.mark.parametrize("answers", WAYS, ids=lambda a: "-".join(a.values()))
def test_every_way_ends_with_what_exists(answers):
    advice = advise(answers)
    settings = [f"{name}={value}" for name, value in advice.settings.items()]
    estimator = cli.estimator_of(advice.method, 2, settings)
    n = 600  # MMD² of alike groups is about two over their rows, which must lie below τ
    X, groups = np.random.default_rng(0).normal(size=(n, 5)), np.arange(n) % (2 if answers["groups"] == "two" else 3)
    assert estimator.set_params(n_components=2).fit(X, sensitive_features=groups).transform(X).shape[0] == n
    assert set(advice.compared.split(",")) <= set(known_methods())


def test_asked_on_a_terminal(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("sys.stdin", io.StringIO("what?\nquality\n1\nfew\nyes\n"))
    data = tmp_path / "my table.csv"
    assert cli.main(["choose", "--data", str(data), "--sensitive", "sex"]) == 0
    text = capsys.readouterr().out
    assert "Please answer with one of quality" in text
    compare, fit = text.strip().splitlines()[-2:]
    import shlex

    words = shlex.split(compare)[1:]
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.normal(size=(120, 12))).assign(sex=np.arange(120) % 2).to_csv(data, index=False)
    assert words[1] == str(data) and cli.main([*words[:-2], "--components", "2", "--parts", "2"]) == 0
    fitting = shlex.split(fit.replace(" D ", " 2 ").replace("m.npz", str(tmp_path / "m.npz")))[1:]
    fitting[-1] = str(tmp_path / "p.csv")
    assert cli.main(fitting) == 0


def test_no_answer_and_wrong_answers(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert cli.main(["choose", "--aim", "both"]) == 1
    assert "give it as --groups two|more" in capsys.readouterr().err
    with pytest.raises(ValueError, match="aim='beauty' is no answer"):
        advise({"aim": "beauty"})


@pytest.mark.parametrize(
    ("answers", "method", "settings"),
    [
        ("quality two few yes", "minmax", {}),
        ("secrecy two few yes", "mbfpca", {"tau": "0.01"}),
        ("secrecy two many yes", "mean", {"projection": "orthogonal"}),
        ("secrecy two few no", "mean", {"projection": "oblique"}),
        ("both two few yes", "mean", {"projection": "orthogonal"}),
    ],
)
def test_what_is_advised(answers, method, settings):
    advice = advise(dict(zip(["aim", "groups", "rows", "axes"], answers.split(), strict=True)))
    assert (advice.method, advice.settings) == (method, settings)
