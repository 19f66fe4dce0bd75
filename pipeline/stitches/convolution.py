from dataclasses import dataclass
from typing import final

from torch import Tensor, nn

from pipeline.arrays import Shape
from pipeline.stitches.base import Affine, Stitch


@final
@dataclass(frozen=True)
class Convolution(Stitch):
    """An affine map of every place and its neighbours, of maps alone (Bansal et al. 2021, figure 4)."""

    kernel: int  # places on a side; beyond the edges there are zeros

    def __post_init__(self) -> None:
        if self.kernel < 1 or self.kernel % 2 == 0:
            raise ValueError(f"kernel: is {self.kernel}; it should be 1, 3, 5 or another odd number")

    def seen(self, arranged: Shape) -> tuple[nn.Module, Shape]:
        if len(arranged) != 3:
            raise ValueError(f"a kernel of {self.kernel} needs maps, whose places have neighbours")
        return Windows(self.kernel), (arranged[0] * self.kernel**2, *arranged[1:])

    def core(self, inputs: int, outputs: int) -> Affine:
        return Affine(inputs, outputs)


class Windows(nn.Module):
    """Every place with the features of all that its kernel covers."""

    def __init__(self, kernel: int) -> None:
        super().__init__()
        self.kernel = kernel

    def forward(self, maps: Tensor) -> Tensor:
        columns = nn.functional.unfold(maps, self.kernel, padding=self.kernel // 2)
        return columns.unflatten(2, maps.shape[2:])

    def extra_repr(self) -> str:
        return f"{self.kernel}"
