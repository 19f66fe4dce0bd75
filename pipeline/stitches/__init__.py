"""The maps that can join a sender's cut to a receiver's."""

STITCHES = {
    "conv1x1": "pipeline.stitches.conv1x1:Conv1x1",
}
