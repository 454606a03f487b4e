"""A standing attack on the solvers: random and adversarial problems, each checked against something independent.

A *family* draws one problem from a generator of random numbers, solves it, and yields findings: what was checked, how
far it is off, and how far it may be. Everything follows from the seed, the family's name and the number of the case.

Public is the command ``fairpca selfcheck`` alone; what follows is for it and for tests, hence no ``__all__``.
"""

from fairpca.selfcheck._finding import Finding as Finding
from fairpca.selfcheck._run import Tally as Tally
from fairpca.selfcheck._run import check_case as check_case
from fairpca.selfcheck._run import families as families
from fairpca.selfcheck._run import run as run
