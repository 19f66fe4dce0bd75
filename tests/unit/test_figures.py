import inspect
import re
import subprocess
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

import pipeline
from pipeline.errors import ParamsError
from pipeline.figures import FIGURES
from pipeline.figures.base import Evidence, Figure
from pipeline.figures.example import CUTS, MODELS, SEEDS, example_evidence
from pipeline.figures.style import COLOURS, FAINT, INK, LINES, PAPER, add_legend, colour, rendered, settings
from pipeline.figures.tables import summarised, where
from pipeline.registry import build, lookup

OPTIONS: dict[str, dict[str, object]] = {
    "paintings": {"width": 7.0, "images": 6},
    "accuracy_by_cut": {"width": 7.0},
    "accuracy_by_sender": {"width": 7.0},
    "layer_grid": {"width": 7.0, "measure": "accuracy"},
    "cka": {"width": 7.5, "index": "linear_cka", "value": "raw"},
    "learning_curves": {"width": 6.0, "scale": "log"},
    "rank_by_cut": {"width": 7.0, "rank": "numerical", "scale": "linear"},
    "scores_by_cut": {"width": 7.0, "detector": "mahalanobis"},
    "swatches": {"width": 7.0, "per_class": 2, "classes": 10},
    "truncations": {"width": 7.0, "trial": "sensitivity"},
}


def figure(name: str, **options: object) -> Figure:
    return build(f"figures.{name}", FIGURES, name, OPTIONS[name] | options)


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    return example_evidence()


def of_reference(axes: Axes) -> np.ndarray:
    """Heights of the dashed line."""
    return next(
        np.asarray(line.get_ydata())
        for line in axes.lines
        if line.get_linestyle() == "--" and np.size(line.get_xdata())
    )


def title(axes: Axes) -> str:
    """Which side it stands on is a setting."""
    return axes.get_title("left") or axes.get_title()


def first_band(axes: Axes) -> np.ndarray:
    """Corners of the first sender's band, x and y."""
    return np.asarray(axes.collections[0].get_paths()[0].vertices)


def pixels(axes: Axes) -> np.ndarray:
    """The numbers of the one image; NaN where it is blank."""
    shown = np.ma.asarray(axes.images[0].get_array())
    return shown.filled(np.nan) if shown.dtype.kind == "f" else shown.filled()


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_drawn_at_the_width_asked_for(name: str, evidence: Evidence):
    assert figure(name, width=5.5).draw(evidence).get_figwidth() == 5.5


@pytest.mark.parametrize(("letters", "columns"), [(4, 5), (20, 2), (200, 1)])
def test_a_legend_has_as_many_columns_as_there_is_room_for(letters: int, columns: int):
    with settings():
        drawing = Drawing(figsize=(7, 3), layout="constrained")
        axes = drawing.subplots()
        handles = [axes.plot([], [], label=letters * "m")[0] for _ in range(9)]

        add_legend(drawing, handles, 5)

        drawing.draw_without_rendering()
        (legend,) = drawing.legends
        assert len({round(text.get_window_extent().x0) for text in legend.get_texts()}) == columns
        assert columns == 1 or legend.get_window_extent().width <= drawing.bbox.width


@pytest.mark.parametrize("name", FIGURES)
def test_the_same_evidence_gives_the_same_bytes(name: str, evidence: Evidence):
    first, second = rendered(figure(name), evidence), rendered(figure(name), example_evidence())

    assert first == second
    assert first["svg"].startswith(b"<?xml")
    assert first["pdf"].startswith(b"%PDF")


def test_another_process_with_other_hashes_gives_the_same_bytes(evidence: Evidence):
    code = (
        "import hashlib; from pipeline.figures.rank_by_cut import RankByCut; "
        "from pipeline.figures.style import rendered; from pipeline.figures.example import example_evidence; "
        "files = rendered(RankByCut(7.0, 'numerical', 'linear'), example_evidence()); "
        "print(hashlib.sha256(files['svg'] + files['pdf']).hexdigest())"
    )
    root = str(Path(pipeline.__file__).parents[1])

    def digest(seed: str) -> str:
        environment = {"PYTHONPATH": root, "PYTHONHASHSEED": seed}
        return subprocess.run(
            [sys.executable, "-c", code], capture_output=True, env=environment, check=True
        ).stdout.decode()

    assert digest("1") == digest("2")


@pytest.mark.parametrize("name", FIGURES)
def test_no_file_says_when_it_was_made(name: str, evidence: Evidence):
    files = rendered(figure(name), evidence)

    assert b"<dc:date>" not in files["svg"]
    assert b"CreationDate" not in files["pdf"]


@pytest.mark.parametrize("name", FIGURES)
def test_letters_are_drawn_and_need_no_font(name: str, evidence: Evidence):
    svg = rendered(figure(name), evidence, ["svg"])["svg"].decode()

    assert "<text" not in svg
    assert "#DejaVuSans-" in svg


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_says_what_it_shows(name: str):
    first, *rest = (inspect.getdoc(lookup("figures", FIGURES, name)) or "").split("\n\n")

    assert first.endswith(".")
    assert rest


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("width", [0.5, 41, float("nan")])
def test_a_width_that_cannot_be_meant_is_refused(name: str, width: float):
    with pytest.raises(ParamsError, match=rf"figures\.{name}\.width: is {width:g} inches; it should be from 1 to 40"):
        figure(name, width=width)


@pytest.mark.parametrize(("option", "limit"), [("per_class", 4), ("classes", 20)])
def test_swatches_beyond_what_is_kept_are_refused(option: str, limit: int):
    for value in (0, limit + 1):
        with pytest.raises(
            ParamsError, match=rf"figures\.swatches\.{option}: is {value}; it should be from 1 to {limit}"
        ):
            figure("swatches", **{option: value})


def test_an_index_that_was_not_computed_is_refused(evidence: Evidence):
    with pytest.raises(
        ParamsError, match=r"figures\.cka\.index: linear_cca was not measured; did you mean linear_cka or"
    ):
        figure("cka", index="linear_cca").draw(evidence)


def test_accuracy_has_a_panel_for_each_receiver_and_objective(evidence: Evidence):
    other = evidence.cells.assign(receiver="bw")
    both = replace(evidence, cells=pandas.concat([evidence.cells, other]))
    titles = list(map(title, figure("accuracy_by_cut").draw(both).axes))

    assert titles == [f"into {receiver} by {how}" for receiver in ("digit", "bw") for how in ("task", "direct")]


def test_many_objectives_have_lines_of_panels_that_can_be_read(evidence: Evidence):
    many = [where(evidence.cells, objective="task").assign(objective=f"task-penalty-{i}") for i in range(10)]
    with settings():
        drawing = figure("accuracy_by_cut").draw(replace(evidence, cells=pandas.concat(many)))
        drawing.draw_without_rendering()
        panels = [axes.get_window_extent().width / drawing.dpi for axes in drawing.axes]
        right = drawing.get_tightbbox().x1

    assert list(map(title, drawing.axes)) == [f"into digit by task-penalty-{i}" for i in range(10)]
    assert min(panels) > 1
    assert right <= drawing.get_figwidth()


def every_layer_into_every_layer(evidence: Evidence) -> Evidence:
    """Cells of one cut in both networks are as they were; all others have 0."""
    crossed = [
        where(evidence.cells, receiver_cut=target).assign(receiver_cut=target, sender_cut=source)
        for source, target in product(CUTS, CUTS)
    ]
    cells = pandas.concat(crossed, ignore_index=True)
    apart = (cells["sender_cut"] != cells["receiver_cut"]) & (cells["measure"] == "accuracy")
    return replace(evidence, cells=cells.assign(value=cells["value"].mask(apart, 0.0)))


def test_lines_over_cuts_are_of_cells_that_are_cut_alike(evidence: Evidence):
    crossed = figure("accuracy_by_cut").draw(every_layer_into_every_layer(evidence)).axes[0]
    level = figure("accuracy_by_cut").draw(evidence).axes[0]

    assert [sorted(np.asarray(line.get_ydata())) for line in crossed.lines] == [
        sorted(np.asarray(line.get_ydata())) for line in level.lines
    ]


def test_cells_without_a_cut_in_common_are_drawn_all(evidence: Evidence):
    painted = evidence.cells.assign(receiver_cut="input")
    axes = figure("accuracy_by_cut").draw(replace(evidence, cells=painted, cuts={m: ["input"] for m in MODELS})).axes[0]
    marks = [line for line in axes.lines if line.get_linestyle() == "None"]

    assert sum(np.size(line.get_ydata()) for line in marks) == len(MODELS) * len(SEEDS) * len(CUTS)


def test_the_grid_shows_each_cell_where_its_names_say(evidence: Evidence):
    drawing = figure("layer_grid").draw(every_layer_into_every_layer(evidence))
    task = where(evidence.cells, measure="accuracy", objective="task", sender="bw", receiver_cut="layer2")

    shown = pixels(drawing.axes[0])
    down, across = (list(MODELS).index("bw") * len(CUTS) + CUTS.index("layer2"), CUTS.index("layer2"))
    assert shown.shape == (len(MODELS) * len(CUTS), len(CUTS))
    assert shown[down, across] == pytest.approx(task["value"].mean())
    assert shown[down, across + 1] == 0
    assert [title(axes) for axes in drawing.axes[:2]] == ["task", "direct"]


def test_more_maps_than_names_have_room_for_go_into_rows(evidence: Evidence):
    task = where(evidence.cells, objective="task")
    four = pandas.concat([task.assign(objective=name) for name in ("task", "direct", "match", "match-free")])
    *maps, bar = figure("layer_grid").draw(replace(evidence, cells=four)).axes
    places = [axes.get_position() for axes in maps]

    assert [place.x0 == places[0].x0 for place in places] == [True, False, True, False]
    assert places[0].y0 == places[1].y0 > places[2].y1
    assert [any(label.get_text() for label in axes.get_yticklabels()) for axes in maps] == [True, False, True, False]
    assert places[0].y0 < bar.get_position().y0 < bar.get_position().y1 < places[0].y1


def test_the_grid_of_accuracies_goes_up_to_the_tenth_above_the_highest(evidence: Evidence):
    image = figure("layer_grid").draw(replace(evidence, cells=evidence.cells.assign(value=0.43))).axes[0].images[0]

    assert image.get_clim() == (0, 0.5)


def test_the_grid_of_a_measure_without_a_scale_has_that_of_its_numbers(evidence: Evidence):
    ranks = where(evidence.audits, measure="numerical")
    means = summarised(ranks, ["sender", "objective", "receiver_cut"], "value", mean="mean")["mean"].tolist()
    image = figure("layer_grid", measure="numerical").draw(evidence).axes[0].images[0]

    assert image.get_clim() == (min(means), max(means))
    with pytest.raises(ParamsError, match=r"^figures.layer_grid.measure: error was not measured; choose from"):
        figure("layer_grid", measure="error").draw(evidence)


def test_each_sender_and_control_has_its_cells_on_a_line(evidence: Evidence):
    own = {"digit": "digit"}
    axes = figure("accuracy_by_sender").draw(replace(evidence, own=own)).axes[0]
    marks = [line for line in axes.lines if line.get_linestyle() == "None"]
    (dotted,) = [line for line in axes.lines if line.get_linestyle() == ":" and np.size(line.get_xdata())]
    home = where(evidence.networks, model="digit", data="digit", measure="accuracy")["value"].mean()

    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == [*(model.replace("_", " ") for model in MODELS), "random", "noise"]
    assert [round(float(np.mean(np.asarray(line.get_ydata())))) for line in marks] == list(range(7))
    assert np.asarray(dotted.get_xdata()).tolist() == [home, home]


def test_ranks_of_controls_are_drawn_too(evidence: Evidence):
    noise = where(evidence.audits, sender="bw", measure="numerical").assign(sender="noise")
    axes = figure("rank_by_cut").draw(replace(evidence, control_audits=noise)).axes[0]
    (line,) = [line for line in axes.lines if line.get_linestyle() == ":" and np.size(line.get_ydata())]
    rows = where(noise, objective="task")

    assert line.get_ydata() == pytest.approx([where(rows, receiver_cut=cut)["value"].mean() for cut in CUTS])


def test_the_dashed_line_is_the_receivers_own_accuracy_on_the_data_of_the_stitches(evidence: Evidence):
    drawing = figure("accuracy_by_cut").draw(evidence)

    for axes in drawing.axes:
        assert of_reference(axes) == pytest.approx([(0.98 + 0.976) / 2] * 2)


def test_the_dashed_line_of_ranks_counts_each_seed_once(evidence: Evidence):
    drawing = figure("rank_by_cut").draw(evidence)
    own = evidence.audits[evidence.audits["measure"] == "receiver_numerical"]
    expected = [own[(own["receiver_cut"] == cut) & (own["sender"] == "bw")]["value"].mean() for cut in CUTS]

    assert of_reference(drawing.axes[0]) == pytest.approx(expected)


def test_every_cell_has_a_mark(evidence: Evidence):
    axes = figure("accuracy_by_cut").draw(evidence).axes[1]
    marked = [line for line in axes.lines if line.get_linestyle() == "None"]
    heights = sorted(float(height) for line in marked for height in np.asarray(line.get_ydata()))
    direct = where(evidence.cells, objective="direct", measure="accuracy")

    assert heights == sorted(direct["value"])


def test_bands_of_accuracy_reach_from_the_lowest_result_to_the_highest(evidence: Evidence):
    axes = figure("accuracy_by_cut").draw(evidence).axes[1]
    band = first_band(axes)
    first = where(evidence.cells, objective="direct", sender=MODELS[0], measure="accuracy")

    assert band[:, 1].min() == min(first["value"])
    assert band[:, 1].max() == max(first["value"])


def test_one_seed_has_no_deviation_and_is_drawn(evidence: Evidence):
    alone = replace(evidence, audits=evidence.audits[evidence.audits["seed"] == 0])
    axes = figure("rank_by_cut").draw(alone).axes[0]
    band = first_band(axes)
    ranks = alone.audits[(alone.audits["measure"] == "numerical") & (alone.audits["objective"] == "task")]

    assert set(band[:, 1]) == set(ranks[ranks["sender"] == MODELS[0]]["value"])


def test_cuts_stand_in_the_receivers_order_and_not_the_alphabets(evidence: Evidence):
    backwards = {model: list(reversed(cuts)) for model, cuts in evidence.cuts.items()}
    axes = figure("accuracy_by_cut").draw(replace(evidence, cuts=backwards)).axes[0]

    assert [label.get_text() for label in axes.get_xticklabels()] == list(reversed(CUTS))


def test_a_model_has_one_colour_in_all_figures(evidence: Evidence):
    without = replace(evidence, cells=evidence.cells[evidence.cells["sender"] != "correlated"])
    axes = figure("accuracy_by_cut").draw(without).axes[0]

    assert axes.lines[0].get_color() == COLOURS[1]
    assert colour(list(evidence.cuts), "digit") == COLOURS[1]


def test_the_map_shows_each_pair_where_its_names_say(evidence: Evidence):
    drawing = figure("cka").draw(evidence)
    layers = [(model, cut) for model in MODELS for cut in CUTS]
    rows = where(evidence.similarity, measure="linear_cka")

    for axes, seed in zip(drawing.axes, SEEDS, strict=False):
        shown = pixels(axes)
        down, across = layers.index(("digit", "layer2")), layers.index(("bw", "conv1"))
        pair = rows[(rows["model"] == "digit") & (rows["seed"] == 0) & (rows["cut"] == "layer2")]
        pair = pair[(pair["other_model"] == "bw") & (pair["other_seed"] == seed) & (pair["other_cut"] == "conv1")]
        assert shown[down, across] == pair["value"].item()


def test_the_map_of_calibrated_values_shows_those(evidence: Evidence):
    raw, calibrated = (figure("cka", value=value).draw(evidence) for value in ("raw", "calibrated"))

    assert pixels(calibrated.axes[0]) == pytest.approx((pixels(raw.axes[0]) - 0.1) / 0.9)
    assert calibrated.axes[-1].get_ylabel() == "linear cka calibrated on correlated"


def test_a_map_of_calibrated_values_that_there_are_not_is_refused(evidence: Evidence):
    without = replace(evidence, similarity=where(evidence.similarity, measure="linear_cka"))

    with pytest.raises(
        ParamsError, match=r"^figures\.cka\.value: linear_cka_calibrated was not measured; did you mean"
    ):
        figure("cka", value="calibrated").draw(without)


def test_a_pair_that_was_not_compared_stays_blank(evidence: Evidence):
    fewer = evidence.similarity[evidence.similarity["other_model"] != "bw"]
    shown = pixels(figure("cka").draw(replace(evidence, similarity=fewer)).axes[0])

    assert np.isnan(shown[:, -len(CUTS) :]).all()
    assert not np.isnan(shown[:, : -len(CUTS)]).any()


def test_one_seed_has_one_map(evidence: Evidence):
    rows = evidence.similarity
    alone = rows[(rows["seed"] == 0) & (rows["other_seed"] == 0)]

    assert sum(len(axes.images) for axes in figure("cka").draw(replace(evidence, similarity=alone)).axes) == 1


def test_layers_too_many_to_be_named_are_not(evidence: Evidence):
    many = {model: [f"layer{i}" for i in range(40)] for model in MODELS}
    axes = figure("cka").draw(replace(evidence, cuts=many)).axes[0]

    assert not any(label.get_text() for label in axes.get_xticklabels())
    assert {text.get_text() for text in axes.texts} == {model.replace("_", " ") for model in MODELS}


def test_swatches_show_the_images_unchanged(evidence: Evidence):
    drawing = figure("swatches", per_class=1, classes=2).draw(evidence)
    shown = pixels(drawing.axes[1])

    assert (shown[:, :28] == evidence.swatches["digit"]["0"][0]).all()
    assert (shown[:, 28:] == evidence.swatches["digit"]["1"][0]).all()


def test_a_class_with_too_few_images_is_filled_with_blanks(evidence: Evidence):
    one = {"0": evidence.swatches["bw"]["0"][:1]}
    shown = pixels(figure("swatches").draw(replace(evidence, swatches={"bw": one})).axes[0])

    assert shown.shape == (28, 56, 3)
    assert (shown[:, 28:] == 255).all()
    assert (shown[:, :28] == one["0"][0]).all()


def test_each_network_has_a_learning_curve_and_each_model_a_name(evidence: Evidence):
    drawing = figure("learning_curves").draw(evidence)

    assert len(drawing.axes[0].lines) == len(MODELS) * len(SEEDS)
    assert [text.get_text() for text in drawing.legends[0].get_texts()] == [model.replace("_", " ") for model in MODELS]


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_reaches_beyond_the_edge(name: str, evidence: Evidence):
    with settings():
        drawing = figure(name).draw(evidence)
        drawing.draw_without_rendering()
        box = drawing.get_tightbbox()

    assert min(box.x0, box.y0) >= 0
    assert box.x1 <= drawing.get_figwidth()
    assert box.y1 <= drawing.get_figheight()


def test_the_palette_and_the_page_colours_are_all_different():
    colours = [*COLOURS, INK, FAINT, LINES, PAPER]
    assert len(set(colours)) == len(colours)
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in colours)


def test_controls_are_drawn_beside_senders_and_named_in_the_key(evidence: Evidence):
    cells = where(evidence.cells, sender="bw")
    drawing = figure("accuracy_by_cut").draw(replace(evidence, controls=cells.assign(sender="noise")))
    (line,) = [line for line in drawing.axes[0].lines if line.get_linestyle() == ":" and np.size(line.get_ydata())]
    rows = where(cells, measure="accuracy", objective="task")

    assert line.get_ydata() == pytest.approx([where(rows, receiver_cut=cut)["value"].mean() for cut in CUTS])
    assert "noise (control)" in [text.get_text() for text in drawing.legends[0].get_texts()]


def test_stitches_of_some_classes_are_drawn_beside_the_receiver_on_those(evidence: Evidence):
    some = evidence.networks.assign(measure="accuracy_of_2", value=0.123)
    networks = pandas.concat([evidence.networks, some], ignore_index=True)
    axes = figure("accuracy_by_cut").draw(replace(evidence, networks=networks, classes=2)).axes[0]
    (dashed,) = [line for line in axes.lines if line.get_linestyle() == "--" and np.size(line.get_ydata())]

    assert set(np.asarray(dashed.get_ydata())) == {0.123}


def test_a_truncated_layer_is_a_line_from_what_loses_nothing_on(evidence: Evidence):
    drawing = figure("truncations").draw(evidence)
    lines = [[line for line in axes.lines if np.size(line.get_xdata())] for axes in drawing.axes]

    assert [axes.get_title() for axes in drawing.axes] == ["linear cka", "procrustes"]
    assert [len(of_index) for of_index in lines] == [2 * len(MODELS)] * 2
    second = lines[0][2]  # of the second model, the first cut
    assert np.asarray(second.get_xdata()) == pytest.approx([0, 0.25, 0.5, 1, 2])
    assert np.asarray(second.get_ydata()) == pytest.approx([1, 0.9975, 0.995, 0.99, 0.98])


@pytest.mark.parametrize("trials", [pandas.DataFrame(), example_evidence().trials.query("trial == 'shortcut'")])
def test_truncations_that_were_not_made_are_refused(evidence: Evidence, trials: pandas.DataFrame):
    with pytest.raises(ParamsError, match=r"figures\.truncations\.trial: sensitivity has truncated nothing; its cuts"):
        figure("truncations").draw(replace(evidence, trials=trials))
