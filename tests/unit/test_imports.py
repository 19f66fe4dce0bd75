from pathlib import Path

from pipeline.imports import PACKAGE, code_digest


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
