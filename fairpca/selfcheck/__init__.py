"""A standing attack on the solvers: random and adversarial problems, each checked against something independent.

A *family* draws one problem from a generator of random numbers, solves it, and yields findings: what was checked, how
far it is off, and how far it may be. Everything follows from the seed, the family's name and the number of the case.
"""

from fairpca.selfcheck._finding import Finding
from fairpca.selfcheck._run import Tally, check_case, families, run

__all__ = ["Finding", "Tally", "check_case", "families", "run"]
