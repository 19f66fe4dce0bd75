"""Ranks of a representation, each from the spectrum of its covariance."""

RANKS = {
    "numerical": "pipeline.ranks.numerical:Numerical",
}
