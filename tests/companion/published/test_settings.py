"""Settings: every stated one has an answer, or the paper's declaration says why not."""

from fairpca.companion import published


def test_every_stated_setting_is_judged_or_declared_open():
    board = published.scoreboard()
    for paper in published.papers():
        settings = board[(board["paper"] == paper.name) & (board["kind"] == "setting")]
        assert set(settings["id"]) == set(published.load_settings(paper.name)["id"])
        assert (settings["reason"].ne("") | settings["verdict"].ne("not yet")).all()
