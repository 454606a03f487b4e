"""A verdict that reads another result follows it."""

from fairpca.experiments import get, load_results, register, run, save_results, status
from fairpca.experiments.engine import registry


def test_verdicts_follow_changed_angles(tree, tmp_path, monkeypatch):
    """Angles of the toy result change: the claims are stale, and computed again they have other verdicts."""
    store, results = tmp_path / "store.sqlite", tree / "data" / "results"
    first = run("vu2022/claims", "paper", store=store, verbose=0)
    save_results("vu2022/claims", "paper", store=store, folder=results)
    assert not load_results("vu2022/claims").stale
    assert status("vu2022/claims", "paper", store=store).done == 1

    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))
    toy = load_results("vu2022/toy")
    table = toy.table.copy()
    table["value"] = table["value"].where(table["metric"] != "angle", 12.5)
    register(
        "vu2022/toy",
        cells=get("vu2022/toy").cells,
        run_cell=lambda **key: {"value": 1.0},
        tabulate=lambda frame: table,
    )
    run("vu2022/toy", "paper", store=store, verbose=0)
    save_results("vu2022/toy", "paper", store=store, folder=results)
    assert load_results("vu2022/claims").stale_reasons == ["the input vu2022/toy has changed"]
    assert status("vu2022/claims", "paper", store=store).done == 0
    again = run("vu2022/claims", "paper", store=store, verbose=0)
    assert not again.equals(first)
    save_results("vu2022/claims", "paper", store=store, folder=results)
    assert not load_results("vu2022/claims").stale
    assert "vu2022/toy" in load_results("vu2022/claims").provenance["inputs"]
