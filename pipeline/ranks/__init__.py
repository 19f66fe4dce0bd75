"""Ranks of a representation, each from the spectrum of its covariance."""

RANKS = {
    "effective": "pipeline.ranks.effective:Effective",
    "numerical": "pipeline.ranks.numerical:Numerical",
    "participation": "pipeline.ranks.participation:Participation",
}
