"""Files and folders appear whole or not at all."""

from pathlib import Path

import pytest

from pipeline.atomic import appear, digest, file_digest, replacing, write_json, write_text


def test_a_file_whose_writing_fails_is_as_it_was() -> None:
    path = Path("folder/file.txt")
    write_text(path, "before")

    with pytest.raises(RuntimeError, match="no more"), replacing(path) as temporary:
        temporary.write_text("half of aft")
        raise RuntimeError("no more")

    assert path.read_text() == "before"
    assert [file.name for file in path.parent.iterdir()] == ["file.txt"]


def test_a_read_only_file_is_replaced_and_what_it_was_linked_to_is_not() -> None:
    path, original = Path("file.txt"), Path("original.txt")
    original.write_text("cached")
    path.hardlink_to(original)
    original.chmod(0o444)

    write_text(path, "new")

    assert (path.read_text(), original.read_text()) == ("new", "cached")


def test_a_folder_takes_the_place_of_what_was_there() -> None:
    write_text(Path("old/kept.txt"), "old")
    write_text(Path("scratch/new/fresh.txt"), "new")

    appear(Path("scratch/new"), Path("old"))

    assert [path.name for path in Path("old").iterdir()] == ["fresh.txt"]
    assert list(Path("scratch").iterdir()) == []


def test_json_is_the_same_whatever_the_order_of_keys() -> None:
    write_json(Path("a.json"), {"b": 1, "a": [1, 2]})
    write_json(Path("b.json"), {"a": [1, 2], "b": 1})

    assert file_digest(Path("a.json")) == file_digest(Path("b.json"))


@pytest.mark.parametrize(("one", "other"), [(("a", "bc"), ("ab", "c")), ((b"1",), ("1",)), (([1],), ([1], []))])
def test_digests_of_different_parts_differ(one: tuple, other: tuple) -> None:
    assert digest(*one) != digest(*other)
    assert digest(*one) == digest(*one)
