"""Whether a stitch and an objective go together between two cuts: asked before any stage works, and by each cell."""

from pipeline.objectives.base import Objective
from pipeline.stitches.base import Joining
from pipeline.stitches.places import features


def problem(objective: Objective, stitch: Joining, memory: int) -> str | None:
    """What is wrong, and what would be right; `memory` is the bytes that a cell may hold."""
    if objective.starts_at_identity:
        try:
            stitch.identity()
        except ValueError as error:
            return f"{error}; use start: random or direct"
    if objective.truncates and stitch.core.keeps_all:
        return "leaves directions out, and the map keeps every one; set source_rank and target_rank to null"
    if objective.solves or (objective.starts_at_identity and stitch.core.normalises):
        needed = _least_squares(objective, stitch)
        if needed > memory:
            source = features(stitch.before_shape())
            return (
                f"least squares over {source} features needs {needed / 1e9:.3g} GB and has {memory / 1e9:.3g}; "
                "use places: bilinear, a later cut, or more machine.memory_gb"
            )
    return None


def _least_squares(objective: Objective, stitch: Joining) -> int:
    """Bytes of products, as sums and as eigenvectors: source with source, with target, target with itself."""
    source, target = features(stitch.before_shape()), features(stitch.shapes[1])
    of_target = objective.truncates or stitch.core.keeps_all or stitch.core.rank is not None
    return 8 * (4 * source**2 + 2 * source * target + 4 * of_target * target**2)
