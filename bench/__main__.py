"""`python -m bench`: the table of ratios, a line as soon as it is known."""

import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from bench import extraction, grid, measures, plot, reading, repeating, stepping, stitching
from bench.ratios import Row
from bench.sizes import FULL, QUICK, Sizes
from bench.table import line, markdown
from bench.workspace import machine, workspace

PARTS: dict[str, Callable[[Sizes], Iterator[Row]]] = {
    "extraction": extraction.rows,
    "reading": reading.rows,
    "stitching": stitching.rows,
    "stepping": stepping.rows,
    "grid": grid.rows,
    "measures": measures.rows,
    "repeating": lambda sizes: repeating.rows(repeating.TOP, sizes.repetitions),
}
LONG = {"grid", "measures"}  # half an hour each: only when they are asked for


@click.command()
@click.option("--quick", is_flag=True, help="Tiny sizes: tries every part, and measures nothing worth knowing.")
@click.option("--only", multiple=True, type=click.Choice(list(PARTS)), help="This part; may be given again.")
@click.option(
    "--markdown",
    "page",
    type=click.Path(path_type=Path),
    help="Write them into this page as well; what it has of other parts stays.",
)
def main(quick: bool, only: tuple[str, ...], page: Path | None) -> None:
    """Ratios of our times to those of what limits us, taken side by side."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that a run cut short leaves nothing on the disk
    sizes = QUICK if quick else FULL
    here = machine()
    click.echo(here)
    rows, _ = measure(only or tuple(part for part in PARTS if part not in LONG), sizes)
    if page:
        before = page.read_text(encoding="utf-8") if page.exists() else ""
        page.write_text(markdown(rows, here, before), encoding="utf-8")
        plot.draw(rows, page.with_name(plot.NAME))


def measure(parts: tuple[str, ...], sizes: Sizes) -> tuple[list[Row], list[str]]:
    """The rows of the parts, each in an empty folder of its own, and why others are missing."""
    rows, skipped = list[Row](), list[str]()
    for part in parts:
        with workspace(sizes.bytes_needed):
            try:
                for row in PARTS[part](sizes):
                    click.echo(line(row))
                    rows.append(row)
            except repeating.Skipped as reason:
                click.echo(str(reason))
                skipped.append(str(reason))
    return rows, skipped


if __name__ == "__main__":
    main()
