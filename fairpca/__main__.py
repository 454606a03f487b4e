"""``python -m fairpca`` is the command ``fairpca``."""

import sys

from fairpca.cli import main

if __name__ == "__main__":
    sys.exit(main())
