"""What Samadi et al. print: no table, and figures whose statements are claims."""

from fairpca.companion.published import exhibits, load_claims


def test_there_is_no_table():
    assert exhibits("samadi2018") == []


def test_every_figure_has_a_claim():
    claims = load_claims("samadi2018")
    where = " ".join(claims["where"])
    for figure in range(1, 5):
        assert f"fig{figure}" in set(claims["exhibit"]) and f"Figure {figure}" in where, figure
