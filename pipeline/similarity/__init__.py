"""Similarity indices between the representations of two layers."""

INDICES = {
    "linear_cka": "pipeline.similarity.linear_cka:LinearCKA",
}
