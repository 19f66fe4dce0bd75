"""What code a module runs: its imports inside the package, followed to the end.

A stage depends on a listing of these files, and unfinished work is keyed by their contents: DVC sees neither
by itself.
"""

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from pipeline.atomic import digest, file_digest

PACKAGE = Path(__file__).parent


def closure(*modules: str) -> frozenset[Path]:
    """The package's files that the named modules import, at their top or within, and their own."""
    return _followed(_file(module) for module in modules)


def listing(module: str) -> str:
    """A line for each file that the module runs, with the SHA-256 of its contents.

    That is its closure, and what the variants of the families whose tables it imports do import in turn. The variants
    themselves are dependencies of their own, and tables decide nothing: a line more must not undo finished work.
    """
    own = closure(module)
    families = {path.parent for path in own if _is_table(path)}
    variants = _followed(path for family in families for path in family.glob("*.py"))
    files = own | {path for path in variants if path.parent not in families}
    lines = sorted(f"{path.relative_to(PACKAGE.parent)} {file_digest(path)}" for path in files if not _is_init(path))
    return "\n".join([*lines, ""])


def code_digest(paths: Iterable[Path]) -> str:
    """One digest for the contents of the files, whatever folder they lie in.

    Tables of families are not counted either.
    """
    return digest(*sorted((path.name, path.read_text()) for path in paths if not _is_init(path)))


def _is_init(path: Path) -> bool:
    return path.name == "__init__.py" and PACKAGE in path.parents


def _is_table(path: Path) -> bool:
    return _is_init(path) and path.parent not in (PACKAGE, PACKAGE / "stages")


def _followed(files: Iterable[Path | None]) -> frozenset[Path]:
    found: set[Path] = set()
    waiting = list(files)
    while waiting:
        path = waiting.pop()
        if path is not None and path not in found:
            found.add(path)
            waiting.extend(_file(name) for name in _imported(path))
    return frozenset(found)


def _file(module: str) -> Path | None:
    """The file of a module of this package; a name inside a module belongs to that module's file."""
    parts = module.split(".")
    if parts[0] != PACKAGE.name:
        return None
    path = PACKAGE.joinpath(*parts[1:])
    candidates = [
        path.with_suffix(".py"),
        path / "__init__.py",
        path.parent.with_suffix(".py"),
        path.parent / "__init__.py",
    ]
    return next((candidate for candidate in candidates if candidate.is_file()), None)


@cache
def _imported(path: Path) -> tuple[str, ...]:
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.extend(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.extend([node.module, *(f"{node.module}.{alias.name}" for alias in node.names)])
    return tuple(names)
