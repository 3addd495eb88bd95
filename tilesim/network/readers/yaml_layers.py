"""What a YAML workload may say: the schema of its input and of every kind of layer."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, field_validator

from tilesim.config import Section

Count: TypeAlias = Annotated[int, Field(ge=1, le=1 << 16)]
Pair: TypeAlias = tuple[Count, Count]
Activation: TypeAlias = Literal["none", "relu", "relu6", "relu_n1_to_1"]


class InputSection(Section):
    """The network's one int8 input."""

    shape: list[Count] = Field(min_length=2, max_length=4)
    scale: float = Field(default=0.05, gt=1e-12, lt=1e6)
    zero_point: int = Field(default=0, ge=-128, le=127)


class LayerSection(Section):
    """What every layer has; without ``input`` it reads the layer before."""

    name: str
    input: str | None = None
    partition: Literal["spatial", "channel", "auto"] | None = None
    """How the layer is to be spread over the tiles of a chip that has several; by default as the others are."""

    @property
    def hints(self) -> dict[str, str]:
        """What machines may want to know."""
        return {} if self.partition is None else {"partition": self.partition}


class ActivatedSection(LayerSection):
    """A layer that an activation may end."""

    activation: Activation = "none"


class WindowSection(ActivatedSection):
    """A layer that moves a window over a map."""

    strides: Pair = (1, 1)
    padding: Literal["same", "valid"] = "same"


class ConvolutionSection(WindowSection):
    kind: Literal["convolution"]
    filters: Count
    kernel: Pair
    dilations: Pair = (1, 1)
    groups: Count = 1


class DepthwiseSection(WindowSection):
    kind: Literal["depthwise_convolution"]
    kernel: Pair
    dilations: Pair = (1, 1)
    channel_multiplier: Count = 1


class PoolSection(WindowSection):
    kind: Literal["max_pool", "average_pool"]
    window: Pair


class FullyConnectedSection(ActivatedSection):
    kind: Literal["fully_connected"]
    units: Count


class AddSection(ActivatedSection):
    kind: Literal["add"]
    other: str


class NormaliseSection(LayerSection):
    """Each element over ``(bias + alpha / size * squares) ** beta``, the squares those of ``size`` channels."""

    kind: Literal["normalise"]
    size: Count = 5
    alpha: float = Field(default=1e-4, ge=0, lt=1e6)
    beta: float = Field(default=0.75, ge=0, le=8)
    bias: float = Field(default=1.0, ge=1e-6, lt=1e6)


class SoftmaxSection(LayerSection):
    kind: Literal["softmax"]


class ReshapeSection(LayerSection):
    kind: Literal["reshape"]
    shape: list[Count] = Field(min_length=1, max_length=4)


AnyLayer: TypeAlias = Annotated[
    ConvolutionSection
    | DepthwiseSection
    | PoolSection
    | FullyConnectedSection
    | AddSection
    | NormaliseSection
    | SoftmaxSection
    | ReshapeSection,
    Field(discriminator="kind"),
]


class Workload(Section):
    """The whole file."""

    seed: int = Field(default=0, ge=0)
    input: InputSection
    layers: list[AnyLayer] = Field(min_length=1)

    @field_validator("layers")
    @classmethod
    def _unique(cls, layers: list[AnyLayer]) -> list[AnyLayer]:
        names = ["input", *(layer.name for layer in layers)]
        if repeated := sorted(name for name, count in Counter(names).items() if count > 1):
            raise ValueError(f"must have different names; {', '.join(repeated)} is there twice")
        return layers
