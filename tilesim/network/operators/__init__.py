"""Golden operators, one a file: exact arithmetic on whole canonical arrays."""

from tilesim.network.operators.add import Add
from tilesim.network.operators.average_pool import AveragePool
from tilesim.network.operators.concatenation import Concatenation
from tilesim.network.operators.convolution import Convolution
from tilesim.network.operators.depthwise_convolution import DepthwiseConvolution
from tilesim.network.operators.dequantise import Dequantise
from tilesim.network.operators.fully_connected import FullyConnected
from tilesim.network.operators.max_pool import MaxPool
from tilesim.network.operators.mean import Mean
from tilesim.network.operators.multiply import Multiply
from tilesim.network.operators.normalise import Normalise
from tilesim.network.operators.pad import Pad
from tilesim.network.operators.quantise import Quantise
from tilesim.network.operators.rescale import Rescale
from tilesim.network.operators.reshape import Reshape
from tilesim.network.operators.resize_nearest import ResizeNearest
from tilesim.network.operators.slice import Slice
from tilesim.network.operators.softmax import Softmax
from tilesim.network.operators.table import Table
from tilesim.network.operators.windows import Padding

__all__ = [
    "Add",
    "AveragePool",
    "Concatenation",
    "Convolution",
    "DepthwiseConvolution",
    "Dequantise",
    "FullyConnected",
    "MaxPool",
    "Mean",
    "Multiply",
    "Normalise",
    "Pad",
    "Padding",
    "Quantise",
    "Rescale",
    "Reshape",
    "ResizeNearest",
    "Slice",
    "Softmax",
    "Table",
]
