"""What asks of each similarity index whether it can be believed on a study's own networks."""

TRIALS = {
    "layer_identification": "pipeline.trials.layer_identification:LayerIdentification",
    "layer_monotonicity": "pipeline.trials.layer_monotonicity:LayerMonotonicity",
    "shortcut": "pipeline.trials.shortcut:Shortcut",
    "random_labels": "pipeline.trials.random_labels:RandomLabels",
    "sensitivity": "pipeline.trials.sensitivity:Sensitivity",
    "specificity": "pipeline.trials.specificity:Specificity",
}
