from pathlib import Path

import pytest

from pipeline.tidying import tidy


def make(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_what_is_expected_stays_and_the_rest_goes(tmp_path: Path):
    make(tmp_path, "a/digit/0.csv", "a/digit/1.csv", "a/bw/0.csv", "b/digit/0.csv", "stray.txt")
    removed = tidy(tmp_path, [tmp_path / "a/digit/0.csv", tmp_path / "a/bw/0.csv"])

    assert files(tmp_path) == {"a/digit/0.csv", "a/bw/0.csv"}
    assert removed == [tmp_path / "a/digit/1.csv", tmp_path / "b", tmp_path / "stray.txt"]


def test_an_expected_folder_keeps_all_that_is_in_it(tmp_path: Path):
    make(tmp_path, "digit/0/weights.safetensors", "digit/0/deep/er.json", "digit/1/weights.safetensors")
    tidy(tmp_path, [tmp_path / "digit/0"])

    assert files(tmp_path) == {"digit/0/weights.safetensors", "digit/0/deep/er.json"}


def test_an_expected_file_that_is_missing_is_no_matter(tmp_path: Path):
    make(tmp_path, "a/0.csv")

    assert tidy(tmp_path, [tmp_path / "a/0.csv", tmp_path / "b/0.csv"]) == []


def test_a_folder_that_is_missing_is_no_matter(tmp_path: Path):
    assert tidy(tmp_path / "none", [tmp_path / "none/0.csv"]) == []


def test_a_link_goes_without_what_it_points_to(tmp_path: Path):
    make(tmp_path, "store/object", "cells/kept.csv")
    (tmp_path / "cells/file.csv").symlink_to(tmp_path / "store/object")
    (tmp_path / "cells/folder").symlink_to(tmp_path / "store")
    tidy(tmp_path / "cells", [tmp_path / "cells/kept.csv"])

    assert files(tmp_path) == {"store/object", "cells/kept.csv"}
    assert not (tmp_path / "cells/folder").is_symlink()


def test_a_file_where_a_folder_is_expected_goes(tmp_path: Path):
    make(tmp_path, "digit")

    assert tidy(tmp_path, [tmp_path / "digit/0.csv"]) == [tmp_path / "digit"]


def test_the_ignore_file_of_dvc_stays(tmp_path: Path):
    make(tmp_path, ".gitignore", "old/0.csv")
    tidy(tmp_path, [tmp_path / "new/0.csv"])

    assert files(tmp_path) == {".gitignore"}


def test_expecting_nothing_of_the_folder_is_our_own_mistake(tmp_path: Path):
    make(tmp_path, "cells/0.csv")
    with pytest.raises(AssertionError, match="holds none of the expected paths"):
        tidy(tmp_path / "cells", [tmp_path / "audits/0.csv"])

    assert files(tmp_path) == {"cells/0.csv"}
