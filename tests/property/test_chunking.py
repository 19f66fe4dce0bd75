"""Chunks against counting by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.chunking import ALIGN, PACKED_ROWS, RAW_TARGET, Bill, bill, packed_chunks, plan_chunks, raw_chunks

samples = st.integers(1, 1_000)
row_bytes = st.integers(1, 1 << 22)
targets = st.integers(1, 1 << 27)


@given(samples, row_bytes, targets, st.sampled_from([1, 16, 128]))
def test_every_row_lies_in_exactly_one_chunk(n: int, size: int, target: int, align: int) -> None:
    chunks = plan_chunks(n, size, target, align)

    covered = [row for k in range(chunks.count) for row in range(*chunks.span(k))]
    assert covered == list(range(n))
    assert all(chunks.span(chunks.of(row)[0])[0] + chunks.of(row)[1] == row for row in range(0, n, 97))


@given(samples, row_bytes, targets, st.sampled_from([1, 16, 128]))
def test_what_fits_one_chunk_is_not_padded_and_no_file_wastes_more_than_an_alignment(
    n: int, size: int, target: int, align: int
) -> None:
    chunks = plan_chunks(n, size, target, align)

    if n * size <= target:
        assert (chunks.count, chunks.padding) == (1, 0)
    else:
        assert chunks.rows % align == 0
    assert chunks.padding <= chunks.count * align


@given(samples, row_bytes)
def test_raw_chunks_stay_near_their_target(n: int, size: int) -> None:
    chunks = raw_chunks(n, size)

    assert chunks.rows * size <= max(RAW_TARGET, 0) + ALIGN * size


@given(samples, row_bytes)
def test_shards_hold_whole_inner_chunks(n: int, size: int) -> None:
    assert packed_chunks(n, size).rows % PACKED_ROWS == 0


@given(samples, row_bytes, st.integers(1, 512))
def test_the_bill_of_a_raw_array_is_what_its_files_will_hold(n: int, size: int, batch: int) -> None:
    chunks, cost = raw_chunks(n, size), bill("raw", n, size, batch)

    assert cost.bytes == sum(chunks.rows * size + 4 for _ in range(chunks.count))
    assert cost.files == chunks.count + 1


def test_bills_add_up() -> None:
    assert Bill(1, 2, 3) + Bill(10, 20, 30) == Bill(11, 22, 33)


@pytest.mark.parametrize(("n", "size"), [(0, 4), (4, 0)])
def test_nothing_cannot_be_chunked(n: int, size: int) -> None:
    with pytest.raises(ValueError, match="cannot be chunked"):
        plan_chunks(n, size, 100, 1)
