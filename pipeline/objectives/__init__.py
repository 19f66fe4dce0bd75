"""The ways to find a stitch."""

OBJECTIVES = {
    "assignment": "pipeline.objectives.assignment:Assignment",
    "class_map": "pipeline.objectives.class_map:ClassMap",
    "direct": "pipeline.objectives.direct:Direct",
    "match": "pipeline.objectives.match:Match",
    "task": "pipeline.objectives.task:Task",
}
