"""RFPCA of Vu et al. (2022): exact for two groups, majorise-minimise for more, the paper's subgradient method."""
