"""What was renamed since 0.1 works, means the same, and warns with the new name."""

import inspect
import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from fairpca import FPCA, MBFPCA, RFPCA, MinMaxFairPCA, SolverResult
from fairpca._old_names import known_old_names
from fairpca.cli import main

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(40, 5)) * [3, 2, 1, 1, 1]
GROUPS = np.repeat(["a", "b"], 20)

CHANGED = [
    (FPCA, {"variant": "paper"}, {"variant": "printed"}),
    (FPCA, {"center": False}, {"centering": "none"}),
    (FPCA, {"standardise": True, "tie_tol": 1e-5}, {"options": {"standardise": True, "tie_tol": 1e-5}}),
    (FPCA, {"scale": "mean", "options": {"shift": "norm"}}, {"options": {"shift": "norm", "scale": "mean"}}),
    (FPCA, {"trace": "equal", "rounding": "fair"}, {"options": {"trace": "equal", "rounding": "fair"}}),
    (FPCA, {"shift": "tight"}, {"options": {"shift": "tight"}}),
    (FPCA, {"backend": "scs", "form": "printed"}, {"options": {"backend": "scs", "form": "printed"}}),
    (MBFPCA, {"schedule": "paper"}, {"solver": "repms"}),
    (MBFPCA, {"schedule": "continuation"}, {"solver": "continuation"}),
    (MBFPCA, {"paper_variant": "code"}, {"variant": "lee2022_code"}),
    (MBFPCA, {"paper_variant": "printed"}, {"variant": "printed"}),
    (MBFPCA, {"paper_options": {"rho_0": 2.0}}, {"options": {"repms": {"rho_0": 2.0}}}),
    (MBFPCA, {"tol": 1e-5, "max_iter": 7, "verbose": 1}, {"options": {"tol": 1e-5, "max_iter": 7, "verbose": 1}}),
    (MBFPCA, {"positive_label": "yes", "memory_limit": 9}, {"options": {"positive_label": "yes", "memory_limit": 9}}),
    (
        MBFPCA,
        {"approximation": "subsample", "approximation_size": 99},
        {"options": {"approximation": "subsample", "approximation_size": 99}},
    ),
    (MinMaxFairPCA, {"variant": "paper"}, {"variant": "printed"}),
    (MinMaxFairPCA, {"rounding": "none", "eta": 0.5}, {"options": {"rounding": "none", "eta": 0.5}}),
    (RFPCA, {"n_starts": 3, "retraction": "polar"}, {"options": {"n_starts": 3, "retraction": "polar"}}),
    (RFPCA, {"keep": "best", "tol": 1e-7}, {"options": {"keep": "best", "tol": 1e-7}}),
    (RFPCA, {"robust_value": "exact"}, {"variant": "corrected"}),
    (RFPCA, {"robust_value": "printed"}, {"variant": "printed"}),
    (RFPCA, {"robust_value": "printed", "reset_lam": True}, {"variant": "vu2022_code"}),
]


@pytest.mark.parametrize(("kind", "old", "new"), CHANGED, ids=lambda value: getattr(value, "__name__", None))
def test_old_parameters_work_and_warn(kind, old, new):
    with pytest.warns(FutureWarning, match=rf"^{kind.__name__}: .* now.*goes with 0\.3") as caught:
        model = kind(3, **old)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    for name in new.get("options", new):
        assert name in str(caught[0].message) or name in old.get("options", {})
    assert model.get_params() == kind(3, **new).get_params()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert clone(model).get_params() == model.get_params()
    with pytest.warns(FutureWarning):
        assert kind(3).set_params(**old).get_params() == kind(3, **new).get_params()


def test_every_old_parameter_is_tried():
    for kind in (FPCA, MBFPCA, MinMaxFairPCA, RFPCA):
        tried = {name for which, old, _ in CHANGED for name in old if which is kind}
        assert known_old_names(kind.__name__) <= tried
        assert not known_old_names(kind.__name__) & set(kind().get_params())


def test_names_of_today_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in (FPCA, MBFPCA, MinMaxFairPCA, RFPCA):
            assert type(kind(2).set_params(n_components=1)) is kind
        assert next(iter(inspect.signature(MinMaxFairPCA).parameters)) == "n_components"
        assert len(MinMaxFairPCA().path(ROWS, sensitive_features=GROUPS, n_components=[1, 2])) == 2


def test_both_names_at_once_are_refused():
    with pytest.raises(TypeError, match="old and the new name"):
        MBFPCA(schedule="paper", solver="repms")
    with pytest.raises(TypeError, match="one word now"):
        RFPCA(robust_value="exact", reset_lam=True)
    with pytest.raises(TypeError, match="unexpected keyword"):
        FPCA(never_was=1)


def test_old_paths():
    with pytest.warns(FutureWarning, match="n_components"):
        old = MinMaxFairPCA().path(ROWS, 3, sensitive_features=GROUPS)
    assert [model.n_components for model in old] == [1, 2, 3]
    with pytest.warns(FutureWarning, match="n_components"):
        assert len(MinMaxFairPCA().path(ROWS, d_max=2, sensitive_features=GROUPS)) == 2
    with pytest.warns(FutureWarning, match=r"alpha=…, lam=…"):
        grid = RFPCA().path(ROWS, GROUPS, lams=[0.0, 0.5], alphas=[0.1, 0.2])
    assert [(model.alpha, model.lam) for model in grid] == [(0.1, 0.0), (0.1, 0.5), (0.2, 0.0), (0.2, 0.5)]
    with pytest.warns(FutureWarning, match=r"takes .*lam=… now"):
        assert len(RFPCA().path(ROWS, sensitive_features=GROUPS, lams=[0.5])) == 1


def test_old_result():
    with pytest.warns(FutureWarning, match="bound=… and certificate=…"):
        result = SolverResult(np.eye(1), "optimal", 1.0, lower_bound=0.5, gap=0.5)
    assert (result.bound, result.gap, result.certificate) == (0.5, 0.5, "estimate")


def test_old_options_of_the_command(tmp_path, capsys):
    table = tmp_path / "people.csv"
    lines = [",".join(map(str, row)) + f",{group}" for row, group in zip(ROWS, GROUPS, strict=True)]
    table.write_text("\n".join(["v,w,x,y,z,sex", *lines]) + "\n")
    written = []
    for extra in (["--standardise"], []):
        out = tmp_path / f"out{len(extra)}.csv"
        command = ["fit", "rfpca", str(table), "--sensitive", "sex", "--out", str(out)]
        assert main([*command, *extra, *(["--set", "tol=1e-8"] if extra else [])]) == 0
        written.append(out.read_text())
    told = capsys.readouterr().err
    assert re.search(r"--standardise is the default now", told)
    assert re.search(r"RFPCA: tol is options=\{'tol': …\} now", told)
    assert written[0] == written[1]
    with pytest.raises(SystemExit):
        main(["fit", "--help"])
    assert "--standardise" not in capsys.readouterr().out
