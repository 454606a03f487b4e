"""The attacks behind the fault table: they run, and they notice a runner that does not hold."""

import numpy as np

from fairpca.experiments import get
from fairpca.experiments.engine import store
from fairpca.experiments.faults import files, processes, runs, victim
from fairpca.experiments.faults.table import FAULTS, engine_digest


def problems(found):
    return [one.problem for one in found if one.problem]


def test_a_store_without_checksums_does_not_hold(tmp_path, monkeypatch):
    assert problems(files.damaged_store(tmp_path / "a", 40, np.random.default_rng(0), change="byte")) == []
    monkeypatch.setattr(store, "_checksum", lambda row: "")
    assert problems(files.damaged_store(tmp_path / "b", 40, np.random.default_rng(0), change="byte"))


def test_a_run_that_loses_a_cell_or_gives_another_result_does_not_hold(tmp_path):
    reference = processes.undisturbed(tmp_path / "reference")
    path = tmp_path / "reference" / "store.sqlite"
    assert processes.resumed(path, tmp_path / "one", reference) == ""
    other = {name: content + b" " for name, content in reference.items()}
    assert "another result" in processes.resumed(path, tmp_path / "two", other)
    run = processes.Victim(tmp_path / "three", direct=True, sleep=0.0)
    assert run.wait() == 0 and run.begun() == [str(split) for split in range(victim.CELLS)]


def test_runs_that_share_a_store(tmp_path):
    found = runs.together(tmp_path, 1, np.random.default_rng(0), runs=2)
    assert [one.problem for one in found] == [""]


def test_no_attack_is_forgotten():
    experiment = get("faults/runner")
    cells = experiment.grid("paper")
    assert {(cell["method"], cell["fault"]) for cell in cells} == set(FAULTS)
    assert {(cell["method"], cell["fault"]) for cell in experiment.grid("smoke")} < set(FAULTS)
    assert {"killed", "stopped", "together", "deadly cell", "disk", "damaged store", "cluster", "fit"} <= {
        family for family, _ in FAULTS
    }
    assert processes.CELLS == victim.CELLS and len(engine_digest()) == 32
