"""How large the measured work is."""

from dataclasses import dataclass

from pipeline.chunking import RAW_TARGET


@dataclass(frozen=True)
class Sizes:
    repetitions: int
    width: int  # channels of the first stage of our ResNet-18
    image: int  # side of the inputs of our ResNet-18
    large_image: int  # side of the inputs of torchvision's ResNet-18
    images: int  # that ours extracts
    large_images: int  # that torchvision's does
    batch: int  # of extraction
    large_batch: int
    rows: int  # read
    row: tuple[int, int, int]  # the shape of one
    one_chunk: int  # rows of an array that fits into one chunk
    chunk: int  # bytes a chunk file aims at
    stitched: int  # rows a stitch is trained on
    stitch_batch: int
    step_batch: int
    grid: int  # images the grid of cells is trained on
    tested: int  # and tested on
    few: int  # of either, where several senders or two sizes are compared
    blocks: tuple[int, ...]  # of the network that is stitched there
    compared: int  # samples of the layers of networks that are compared
    measured: int  # samples of layers that are made up

    @property
    def bytes_needed(self) -> int:
        """Of disk at once, with room to spare: the larger extraction twice, and the arrays that are read."""
        # All legal cuts together have about 11 times the first one's numbers, which torchvision's has at half the side.
        ours = 4 * self.images * 12 * self.width * self.image**2
        torchvisions = 4 * self.large_images * 12 * 64 * self.large_image**2 // 4
        extraction = 2 * max(ours, torchvisions)
        compared = 4 * self.compared * 5 * 4 * self.width * self.image**2  # the blocks of five networks
        channels, height, width = self.row
        return max(extraction, compared) + 6 * self.rows * channels * height * width * 4 + 2**26


FULL = Sizes(
    repetitions=5, width=64, image=32, large_image=224, images=512, large_images=128, batch=128, large_batch=32,
    rows=12288, row=(128, 8, 8), one_chunk=4096, chunk=RAW_TARGET, stitched=384, stitch_batch=128, step_batch=128,
    grid=2000, tested=500, few=512, blocks=(2, 2, 2, 2), compared=1000, measured=5000,
)  # fmt: skip
QUICK = Sizes(
    repetitions=1, width=4, image=32, large_image=32, images=8, large_images=8, batch=4, large_batch=4,
    rows=640, row=(8, 2, 2), one_chunk=128, chunk=2**14, stitched=16, stitch_batch=8, step_batch=4,
    grid=24, tested=20, few=24, blocks=(1, 1), compared=48, measured=200,
)  # fmt: skip
