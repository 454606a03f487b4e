"""What Samadi et al. print: no table, and figures whose statements are claims."""

from fairpca.companion.published import load_claims, paper


def test_there_is_no_table():
    assert paper("samadi2018").tables == []


def test_every_figure_has_a_claim():
    claims = load_claims("samadi2018")
    where = " ".join(claims["where"])
    for figure in range(1, 5):
        assert f"fig{figure}" in set(claims["exhibit"]) and f"Figure {figure}" in where, figure
