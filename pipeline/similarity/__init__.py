"""Similarity indices between the representations of two layers."""

INDICES = {
    "linear_cka": "pipeline.similarity.linear_cka:LinearCKA",
    "rbf_cka": "pipeline.similarity.rbf_cka:RBFCKA",
    "mean_cca": "pipeline.similarity.mean_cca:MeanCCA",
    "svcca": "pipeline.similarity.svcca:SVCCA",
    "pwcca": "pipeline.similarity.pwcca:PWCCA",
    "procrustes": "pipeline.similarity.procrustes:Procrustes",
    "least_squares": "pipeline.similarity.least_squares:LeastSquares",
    "rsa": "pipeline.similarity.rsa:RSA",
    "distance_correlation": "pipeline.similarity.distance_correlation:DistanceCorrelation",
    "mutual_knn": "pipeline.similarity.mutual_knn:MutualKNN",
    "cknna": "pipeline.similarity.cknna:CKNNA",
    "second_order_cosine": "pipeline.similarity.second_order_cosine:SecondOrderCosine",
}
