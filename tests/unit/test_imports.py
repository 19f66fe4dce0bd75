import hashlib
from pathlib import Path

from pipeline.imports import PACKAGE, code_digest, listing


def test_a_familys_table_is_no_part_of_the_code_that_work_is_keyed_by() -> None:
    variant, table = PACKAGE / "ranks/numerical.py", PACKAGE / "ranks/__init__.py"

    assert code_digest([variant, table]) == code_digest([variant])
    assert code_digest([variant, table]) != code_digest([table])


def test_a_users_own_package_is_part_of_it(tmp_path: Path) -> None:
    file = tmp_path / "__init__.py"
    file.write_text("width = 1")
    before = code_digest([file])

    file.write_text("width = 2")

    assert code_digest([file]) != before


def test_a_listing_has_the_sha_256_of_every_file_and_of_what_variants_import() -> None:
    lines = dict(line.split() for line in listing("pipeline.stages.dataset").splitlines())

    assert {"pipeline/stages/dataset.py", "pipeline/datasets/base.py", "pipeline/randomness.py"} <= set(lines)
    assert not [path for path in lines if path.endswith("__init__.py")]
    assert not {"pipeline/datasets/mnist.py", "pipeline/training.py"} & set(lines)
    for path, digest in lines.items():
        assert hashlib.sha256((PACKAGE.parent / path).read_bytes()).hexdigest() == digest
