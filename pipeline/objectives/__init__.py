"""The ways to find a stitch."""

OBJECTIVES = {
    "direct": "pipeline.objectives.direct:Direct",
    "match": "pipeline.objectives.match:Match",
    "task": "pipeline.objectives.task:Task",
}
