"""What tells whether activations look like the receiver's own."""

DETECTORS = {
    "energy": "pipeline.detectors.energy:Energy",
    "mahalanobis": "pipeline.detectors.mahalanobis:Mahalanobis",
    "nearest": "pipeline.detectors.nearest:Nearest",
    "tail_energy": "pipeline.detectors.tail_energy:TailEnergy",
}
