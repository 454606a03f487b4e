"""What the published programs of compared methods do otherwise than one expects, and how that was checked."""

from __future__ import annotations

import pandas as pd

__all__ = ["remarks"]

_READ = "read at commit"
# Work (key of the bibliography), program and commit, what it does, what follows for users.
_REMARKS = (
    (
        "kleindessner2023",
        "amazon-science/fair-pca 6137f01, FairPCA.transform",
        "returns the d fair coordinates and, beside them, PCA's d coordinates times the cube of the trade-off",
        "the trade-off scales the leak and does not limit it: whatever rescales columns brings the group back",
    ),
    (
        "kleindessner2023",
        "amazon-science/fair-pca 6137f01, construct_pipeline",
        "fits everything, also the means and deviations of the columns, on the positives for equal opportunity",
        "rows of the other class are scaled by statistics that are not theirs",
    ),
    (
        "belrose2023",
        "EleutherAI/concept-erasure 114032d, LeaceFitter.eraser",
        "drops singular values of the whitened cross-covariance below 0.01, whatever the number of rows",
        "weak differences stay as they are, however certain many rows make them; lower svd_tol",
    ),
    (
        "belrose2023",
        "EleutherAI/concept-erasure 114032d, LeaceFitter.update",
        "reads a vector of integer labels as one numeric column",
        "with three groups or more one direction is erased where several are needed; give one column a group",
    ),
    (
        "belrose2023",
        "EleutherAI/concept-erasure 1685ea9, QuadraticFitter.eraser",
        "moves classes to the plain average of their means, and to a barycentre weighted by their sizes",
        "the mean of all rows changes where classes differ in size",
    ),
    (
        "lee2023",
        "HanseulJo/fair-streaming-pca 6bfd15e, FairStreamingPCA",
        "divides a group's sum by the size of the block, and takes second moments about zero",
        "the estimated mean difference depends on the groups' shares, and means enter the covariance gap",
    ),
    (
        "wang2025",
        "zywang0701/StablePCA 17864ba and 0f70db4, simu-fairpca.py and PCA_MP.fit",
        "the simulation reads an attribute P that PCA_MP does not set, and goes on after the error; the least number "
        "of iterations is 500, which is also the largest that the simulation allows",
        "its table of fair PCA comes out empty; the tolerance is never used",
    ),
)


def remarks() -> pd.DataFrame:
    """Return one row a remark: ``cite, where, found, follows, checked``.

    None was found by running: the programs were read, at the commits that are named.
    """
    frame = pd.DataFrame(_REMARKS, columns=["cite", "where", "found", "follows"])
    return frame.assign(checked=_READ)
