"""Datasets: where labelled images come from."""

DATASETS = {
    "cifar10": "pipeline.datasets.cifar10:CIFAR10",
    "colour_digits": "pipeline.datasets.colour_digits:ColourDigits",
    "digits": "pipeline.datasets.digits:Digits",
    "fashion_mnist": "pipeline.datasets.fashion_mnist:FashionMNIST",
    "grouped_labels": "pipeline.datasets.grouped_labels:GroupedLabels",
    "image_array": "pipeline.datasets.image_array:ImageArray",
    "image_folder": "pipeline.datasets.image_folder:ImageFolder",
    "mnist": "pipeline.datasets.mnist:MNIST",
    "noise": "pipeline.datasets.noise:Noise",
    "noisy_labels": "pipeline.datasets.noisy_labels:NoisyLabels",
    "renormalised": "pipeline.datasets.renormalised:Renormalised",
    "resized": "pipeline.datasets.resized:Resized",
    "rotated": "pipeline.datasets.rotated:Rotated",
    "scrambled": "pipeline.datasets.scrambled:Scrambled",
    "svhn": "pipeline.datasets.svhn:SVHN",
    "synthetic": "pipeline.datasets.synthetic:Synthetic",
}
