"""What a YAML workload may say: the schema of its input and of every kind of layer."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, field_validator

from tilesim.config import ConfigSection

Count: TypeAlias = Annotated[int, Field(ge=1, le=1 << 16)]
Pair: TypeAlias = tuple[Count, Count]
Activation: TypeAlias = Literal["none", "relu", "relu6", "relu_n1_to_1"]


class InputSection(ConfigSection):
    """The network's one int8 input."""

    shape: Annotated[
        list[Count],
        Field(
            min_length=2, max_length=4, description="batch first, channels last; a map has [1, rows, columns, channels]"
        ),
    ]
    scale: Annotated[float, Field(gt=1e-12, lt=1e6, description="the real value of a step")] = 0.05
    zero_point: Annotated[int, Field(ge=-128, le=127, description="the integer that stands for 0")] = 0


class LayerSection(ConfigSection):
    """What every layer has; without ``input`` it reads the layer before."""

    name: Annotated[str, Field(description="what results call the layer, unlike any other and `input`")]
    input: Annotated[
        str | None, Field(description="a layer above that it reads, or `input`; if not given, the layer before")
    ] = None
    partition: Annotated[
        Literal["spatial", "channel", "auto", "one"] | None,
        Field(description="how it is spread over the tiles of a chip; if not given, as the other layers are"),
    ] = None

    @property
    def hints(self) -> dict[str, str]:
        """What machines may want to know."""
        said = {"partition": self.partition, "loop_order": getattr(self, "loop_order", None)}
        return {what: word for what, word in said.items() if word is not None}


class ActivatedSection(LayerSection):
    """A layer that an activation may end."""

    activation: Annotated[Activation, Field(description="what cuts the output's range")] = "none"


class WindowSection(ActivatedSection):
    """A layer that moves a window over a map."""

    strides: Annotated[Pair, Field(description="rows and columns from a window to the next")] = (1, 1)
    padding: Annotated[
        Literal["same", "valid"],
        Field(description="a border as TensorFlow Lite has it, or windows inside the map only"),
    ] = "same"


class ConvolutionSection(WindowSection):
    """A convolution of a map of four axes, with seeded weights and bias."""

    kind: Literal["convolution"]
    filters: Annotated[Count, Field(description="output channels")]
    kernel: Annotated[Pair, Field(description="rows and columns of the window")]
    dilations: Annotated[Pair, Field(description="rows and columns from an element of the window to the next")] = (1, 1)
    groups: Annotated[Count, Field(description="parts of the channels that are convolved apart; divides both")] = 1
    loop_order: Annotated[
        Literal["rows", "blocks", "pixels", "inputs"] | None,
        Field(description="what its outermost loop goes over on a tile; if not given, what the machine finds best"),
    ] = None


class DepthwiseSection(WindowSection):
    """A convolution of each channel alone, with seeded weights and bias."""

    kind: Literal["depthwise_convolution"]
    kernel: Annotated[Pair, Field(description="rows and columns of the window")]
    dilations: Annotated[Pair, Field(description="rows and columns from an element of the window to the next")] = (1, 1)
    channel_multiplier: Annotated[Count, Field(description="output channels of each input channel")] = 1
    loop_order: Annotated[
        Literal["rows", "blocks", "pixels"] | None,
        Field(description="what its outermost loop goes over on a tile; if not given, what the machine finds best"),
    ] = None


class PoolSection(WindowSection):
    """The largest element of each window, or the average of those inside the map."""

    kind: Literal["max_pool", "average_pool"]
    window: Annotated[Pair, Field(description="rows and columns of the window")]


class FullyConnectedSection(ActivatedSection):
    """Every output from every input, with seeded weights and bias; the input is flattened."""

    kind: Literal["fully_connected"]
    units: Annotated[Count, Field(description="outputs")]
    loop_order: Annotated[
        Literal["rows", "blocks", "pixels", "inputs"] | None,
        Field(description="what its outermost loop goes over on a tile; if not given, what the machine finds best"),
    ] = None


class AddSection(ActivatedSection):
    """The sum of two maps, element by element."""

    kind: Literal["add"]
    other: Annotated[str, Field(description="the layer above that is added, or `input`")]


class NormaliseSection(LayerSection):
    """Each element over ``(bias + alpha / size * squares) ** beta``, the squares those of ``size`` channels."""

    kind: Literal["normalise"]
    size: Annotated[Count, Field(description="channels whose squares are added, its own in the middle")] = 5
    alpha: Annotated[float, Field(ge=0, lt=1e6, description="a factor: see the formula")] = 1e-4
    beta: Annotated[float, Field(ge=0, le=8, description="an exponent: see the formula")] = 0.75
    bias: Annotated[float, Field(ge=1e-6, lt=1e6, description="a summand: see the formula")] = 1.0


class SoftmaxSection(LayerSection):
    """Shares that add up to 1, along the last axis."""

    kind: Literal["softmax"]


class ReshapeSection(LayerSection):
    """The same elements in the same order, as another shape."""

    kind: Literal["reshape"]
    shape: Annotated[list[Count], Field(min_length=1, max_length=4, description="the new shape, of as many elements")]


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


class Workload(ConfigSection):
    """The whole file."""

    seed: Annotated[int, Field(ge=0, description="what the pseudo-random weights are made from")] = 0
    input: Annotated[InputSection, Field(description="the network's one int8 input")]
    layers: Annotated[
        list[AnyLayer], Field(min_length=1, description="in order; the output of the last is the network's")
    ]

    @field_validator("layers")
    @classmethod
    def _unique(cls, layers: list[AnyLayer]) -> list[AnyLayer]:
        names = ["input", *(layer.name for layer in layers)]
        if repeated := sorted(name for name, count in Counter(names).items() if count > 1):
            raise ValueError(f"must have different names; {', '.join(repeated)} is there twice")
        return layers
