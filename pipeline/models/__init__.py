"""Architectures: what a network is built from, before it has learnt anything."""

ARCHITECTURES = {
    "autoencoder": "pipeline.models.autoencoder:Autoencoder",
    "lenet": "pipeline.models.lenet:LeNet",
    "small_resnet": "pipeline.models.small_resnet:SmallResNet",
    "small_vgg": "pipeline.models.small_vgg:SmallVGG",
    "timm_model": "pipeline.models.timm_model:TimmModel",
    "torchvision_model": "pipeline.models.torchvision_model:TorchvisionModel",
    "user": "pipeline.models.user:User",
    "vit_tiny": "pipeline.models.vit_tiny:ViTTiny",
}
