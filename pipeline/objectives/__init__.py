"""The ways to find a stitch."""

OBJECTIVES = {
    "task": "pipeline.objectives.task:Task",
    "direct": "pipeline.objectives.direct:Direct",
}
