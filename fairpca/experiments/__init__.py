"""One module an exhibit family: the grids of cells that reproduce the papers."""
