"""Figures by name; each is a file of that name."""

FIGURES = {
    "accuracy_by_cut": "pipeline.figures.accuracy_by_cut:AccuracyByCut",
    "accuracy_by_sender": "pipeline.figures.accuracy_by_sender:AccuracyBySender",
    "cka": "pipeline.figures.cka:CKA",
    "layer_grid": "pipeline.figures.layer_grid:LayerGrid",
    "learning_curves": "pipeline.figures.learning_curves:LearningCurves",
    "paintings": "pipeline.figures.paintings:Paintings",
    "rank_by_cut": "pipeline.figures.rank_by_cut:RankByCut",
    "scores_by_cut": "pipeline.figures.scores_by_cut:ScoresByCut",
    "swatches": "pipeline.figures.swatches:Swatches",
    "truncations": "pipeline.figures.truncations:Truncations",
}
