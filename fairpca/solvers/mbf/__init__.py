"""MBF-PCA of Lee et al. (2022): largest variance under a bound on the MMD."""
