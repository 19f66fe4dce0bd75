"""The command line: one command a stage, and `bill`, `check`, `cuts` and `study`; prints our errors."""

import logging
import os
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from pipeline import paths
from pipeline.errors import ParamsError, PipelineError
from pipeline.loading import load_params, read_yaml, typed_params
from pipeline.params import Params

BAD_INPUT = 2
INTERRUPTED = 130  # as of a shell: 128 and the number of SIGINT


class _Commands(click.Group):
    """Prints an error raised on purpose as one line; every other one is a bug and keeps its traceback."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        try:
            code = super().main(*arguments, **options | {"standalone_mode": False})
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            code = BAD_INPUT
        except click.UsageError as error:  # click's own way is to print how the command is used as well
            where = error.ctx.command_path if error.ctx else "pipeline"
            message = error.format_message().rstrip(".")
            click.echo(f"error: {where}: {message}; {where} --help tells what it takes", err=True)
            code = BAD_INPUT
        except click.Abort:
            code = INTERRUPTED
        sys.exit(code or 0)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except PipelineError as error:
            _tell(error)
            raise click.exceptions.Exit(BAD_INPUT) from error


def _tell(error: PipelineError) -> None:
    for line in str(error).splitlines():
        click.echo(f"error: {line}", err=True)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Backstitch: stitch networks together, and say what a stitch that works does not show.

    The stages below are run by `dvc repro` in a study's folder; `bill`, `check`, `cuts`, `mend` and `study` are for
    you.
    """
    logging.basicConfig(format="%(message)s", stream=sys.stderr)
    logging.getLogger("pipeline").setLevel(logging.INFO)


def _run(stage: str, arguments: Sequence[Any], outputs: Sequence[Path]) -> None:
    """One stage of the study in this folder, and a note of what it took."""
    params = load_params(paths.PARAMS)
    if params.machine.threads:  # read by every numerical library when it is first imported
        os.environ.setdefault("OMP_NUM_THREADS", str(params.machine.threads))
    from pipeline import journal  # imports one: before the line above, two threads would wait for each other

    started = time.perf_counter()
    run: Callable[..., None] = import_module(f"pipeline.stages.{stage}").run
    run(params, *arguments)
    journal.record(stage, arguments, time.perf_counter() - started, outputs)


@main.command()
@click.argument("name")
def dataset(name: str) -> None:
    """Prepare dataset NAME."""
    _run("dataset", [_known("datasets", name)], [paths.dataset(name)])


@main.command()
@click.argument("model")
def plan(model: str) -> None:
    """Write down all that MODEL stands for."""
    _run("plan", [_known("models", model)], [paths.plan(model)])


@main.command()
@click.argument("model")
@click.argument("seed", type=int)
def train(model: str, seed: int) -> None:
    """Train the network of MODEL and SEED."""
    _run("train", [_known("models", model), seed], [paths.network(model, seed)])


@main.command()
@click.argument("model")
@click.argument("seed", type=int)
@click.argument("dataset")
def extract(model: str, seed: int, dataset: str) -> None:
    """Store a network's activations on DATASET."""
    _known("datasets", dataset)
    _run("extract", [_known("models", model), seed, dataset], [paths.activations(model, seed, dataset)])


@main.command()
@click.argument("sender")
@click.argument("receiver")
@click.argument("seed", type=int)
def stitch(sender: str, receiver: str, seed: int) -> None:
    """Stitch SENDER into RECEIVER at every pair of cuts."""
    pair = [_known("models", sender), _known("models", receiver), seed]
    _run("stitch", pair, [paths.stitches(sender, receiver, seed), paths.cells(sender, receiver, seed)])


@main.command()
@click.argument("receiver")
@click.argument("seed", type=int)
def control(receiver: str, seed: int) -> None:
    """Stitch RECEIVER's controls into it: itself, an untrained network, noise."""
    _run("control", [_known("models", receiver), seed], [paths.controls(receiver, seed)])


@main.command()
@click.argument("receiver")
@click.argument("seed", type=int)
def detect(receiver: str, seed: int) -> None:
    """Fit RECEIVER's detectors of what is out of its distribution."""
    _run("detect", [_known("models", receiver), seed], [paths.detectors(receiver, seed)])


@main.command()
@click.argument("sender")
@click.argument("receiver")
@click.argument("seed", type=int)
def audit(sender: str, receiver: str, seed: int) -> None:
    """Take the ranks of what the stitches make, and ask the detectors."""
    pair = [_known("models", sender), _known("models", receiver), seed]
    _run("audit", pair, [paths.audit(sender, receiver, seed)])


@main.command()
@click.argument("index")
def compare(index: str) -> None:
    """Compare all layers of all networks by INDEX."""
    _run("compare", [_known("similarity", index)], [paths.comparison(index)])


@main.command()
def trial() -> None:
    """Try how far each index can be believed on the study's own networks."""
    _run("trial", [], [paths.TRIALS])


@main.command()
def report() -> None:
    """Write the study's report."""
    _run("report", [], [paths.REPORTS])


@main.command()
@click.option("--record", is_flag=True, help="Then list each stage's code, for DVC to depend on.")
def check(record: bool) -> None:
    """Find all that is wrong with the study in this folder, in seconds."""
    from pipeline.stages import listing

    params = _checked()
    click.echo("nothing wrong found")
    if record:
        listing.run(params.similarity)


def _checked() -> Params:
    """The study's params, if nothing is wrong with them; else a line each, and the end."""
    from pipeline.stages.check import check as problems_of

    params = _params_without_names_checked()
    found = problems_of(params)
    for error in found:
        _tell(error)
    if found:
        raise SystemExit(BAD_INPUT)
    return params


@main.command()
@click.argument("model")
@click.option("--input", "shape", default="", metavar="CxHxW", help="Shape of an input; its dataset's by default.")
def cuts(model: str, shape: str) -> None:
    """Print the legal cuts of MODEL: one of params.yaml, or a torchvision model by name."""
    from pipeline.stages.cuts import table

    for line in table(model, shape):
        click.echo(line)


@main.command()
@click.option("--rate", default=5.0, metavar="R", help="Multiplications a second of the device, in 10^12.")
def bill(rate: float) -> None:
    """Print what the study in this folder will take: bytes of stores, and hours of one device."""
    from pipeline.stages.bill import table

    if not 0 < rate < float("inf"):
        raise ParamsError(f"--rate: is {rate:g}; it should be a number above 0")
    for line in table(_checked(), rate):
        click.echo(line)


@main.command()
@click.option("--remote", default="", metavar="NAME", help="A remote of DVC's; the default one by default.")
@click.option("--dry-run", is_flag=True, help="Only look.")
def mend(remote: str, dry_run: bool) -> None:
    """Check what a remote holds of the study in this folder, and push again what is damaged there."""
    from pipeline import mending

    read, findings = mending.mend(remote, dry_run)
    for finding in findings:
        click.echo(f"mended: {finding}" if finding.mended else f"error: {finding}", err=not finding.mended)
    click.echo(f"{read} objects read on the remote, {len(findings)} not right")
    if not all(finding.mended for finding in findings):
        raise SystemExit(BAD_INPUT)


@main.group()
def study() -> None:
    """Make studies, and have DVC see them."""


@study.command()
@click.argument("name")
def new(name: str) -> None:
    """Make studies/NAME, a copy of the default study's params to edit."""
    from pipeline.stages.study import new as make

    click.echo(f"made {make(name)}; edit its params.yaml, then run dvc repro there")


@study.command("use")
@click.argument("name")
def use_study(name: str) -> None:
    """Have DVC see studies/NAME, which it leaves alone until then."""
    from pipeline.stages.study import use

    click.echo(f"DVC sees {use(name)}; run dvc repro there")


def _known(section: str, name: str) -> str:
    from pipeline.errors import choices

    names = getattr(load_params(paths.PARAMS), section)
    if name not in names:
        raise ParamsError(f"{section}: {name} is not defined in {paths.PARAMS}; {choices(name, names)}")
    return name


def _params_without_names_checked() -> Params:
    """`check` reports every undefined name and not only the first."""
    return typed_params(read_yaml(paths.PARAMS))
