"""FPCA of Olfat and Aswani (2019), as used by Lee et al. (2022): a semidefinite programme, certified."""
