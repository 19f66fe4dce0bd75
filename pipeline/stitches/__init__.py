"""The maps that can join a sender's cut to a receiver's."""

STITCHES = {
    "bn_conv_bn": "pipeline.stitches.bn_conv_bn:BnConvBn",
    "conv1x1": "pipeline.stitches.conv1x1:Conv1x1",
    "convolution": "pipeline.stitches.convolution:Convolution",
    "low_rank": "pipeline.stitches.low_rank:LowRank",
    "orthogonal": "pipeline.stitches.orthogonal:Orthogonal",
}
