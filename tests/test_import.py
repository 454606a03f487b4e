"""What `import fairpca` pulls in, seen from a fresh interpreter."""

import json
import pkgutil
import subprocess
import sys

import pytest

import fairpca

HEAVY = [
    "matplotlib",
    "seaborn",
    "cvxpy",
    "clarabel",
    "numba",
    "llvmlite",
    "sklearn",
    "dask",
    "distributed",
    "requests",
    "pooch",
]
HEAVY += ["fairlearn", "pymanopt", "PIL"]


def modules_after(statement):
    code = f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_plain_import_is_light():
    loaded = modules_after("import fairpca")
    assert "fairpca" in loaded
    assert loaded.isdisjoint(HEAVY)


@pytest.mark.parametrize(
    "statement, absent",
    [
        ("from fairpca import GroupMoments", ["matplotlib", "numba", "cvxpy", "requests", "dask", "sklearn"]),
        ("from fairpca import PCA", ["matplotlib", "numba", "cvxpy", "requests", "dask", "fairlearn"]),
        ("from fairpca import metrics", ["matplotlib", "numba", "cvxpy", "requests", "dask", "fairlearn", "sklearn"]),
        ("from fairpca import synthetic", ["matplotlib", "numba", "cvxpy", "sklearn"]),
        ("from fairpca import scale", ["matplotlib", "numba", "cvxpy", "dask", "sklearn"]),
        ("from fairpca import plotting", ["matplotlib", "seaborn", "numba", "cvxpy", "sklearn"]),
        ("import fairpca; dir(fairpca)", ["sklearn", "numba"]),
    ],
)
def test_parts_load_only_what_they_need(statement, absent):
    assert modules_after(statement).isdisjoint(absent)


def test_unknown_name():
    with pytest.raises(AttributeError, match="no attribute 'Fairness'"):
        fairpca.Fairness  # noqa: B018


# What a program written for version 0.1 may import; none of it may go.
OF_0_1 = {
    "fairpca": "FPCA MBFPCA PCA RFPCA GroupMoments MinMaxFairPCA SolverResult __version__ datasets metrics synthetic",
    "fairpca.metrics": "LinearSVM LinearSeparation MMDTest SVMReport ab_difference average_reconstruction_error "
    "communality delta_dp delta_eod delta_eop delta_f_lin explained_variance_percent ks_separation linear_svm "
    "max_reconstruction_loss median_bandwidth mmd_permutation_test mmd_squared pairwise_mmd_squared principal_angles "
    "rbf_svm_predictions rbf_svm_report reconstruction_errors reconstruction_losses subspace_distance",
    "fairpca.datasets": "ChecksumError DataError Dataset describe fetch load load_adult load_biodeg load_compas "
    "load_credit load_default_credit load_e_coli load_energy load_german load_german_credit load_image load_letter "
    "load_lfw load_lfw_24x24 load_magic load_parkinsons load_skillcraft load_statlog load_steel load_synthetic1 "
    "load_synthetic2 load_taiwan_credit load_wine_quality names split_text where",
    "fairpca.plotting": "PALETTE GroupStyle group_style new_axes plot_biplot plot_boxes plot_convergence "
    "plot_densities plot_directions plot_faces plot_group_curves plot_plane_map plot_projection plot_spectrum "
    "plot_tradeoff plot_verdicts use_style",
    "fairpca.synthetic": "Sample lee_figure5 lee_synthetic1 lee_synthetic2 samadi_figure2 vu_radius vu_toy",
    "fairpca.cli": "main",
}


@pytest.mark.parametrize("module", OF_0_1)
def test_names_of_0_1_are_still_there(module):
    """By ``from … import …`` and as attributes after ``import fairpca`` alone, each in a fresh interpreter."""
    wanted = OF_0_1[module].split()
    code = f"import fairpca\nfor name in {wanted}:\n    assert getattr({module}, name) is not None, name\n"
    subprocess.run([sys.executable, "-c", code], check=True)
    subprocess.run([sys.executable, "-c", f"from {module} import {', '.join(wanted)}"], check=True)


# The files of the estimators are no part of it: the classes are attributes of the package themselves.
ESTIMATORS = {home.removeprefix("fairpca.") for home in fairpca._HOME.values()} - {"solvers"}
FOUND = {info.name for info in pkgutil.iter_modules(fairpca.__path__)}
MODULES = sorted(name for name in FOUND - ESTIMATORS if not name.startswith("_"))


@pytest.mark.parametrize("module", MODULES)
def test_modules_are_attributes_of_the_package(module):
    code = f"import fairpca\nassert fairpca.{module}.__name__ == 'fairpca.{module}'\nassert '{module}' in dir(fairpca)"
    subprocess.run([sys.executable, "-c", code], check=True)
