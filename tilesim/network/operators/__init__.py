"""Golden operators, one a file: exact arithmetic on whole canonical arrays."""

from tilesim.network.operators.add import Add
from tilesim.network.operators.average_pool import AveragePool
from tilesim.network.operators.convolution import Convolution
from tilesim.network.operators.depthwise_convolution import DepthwiseConvolution
from tilesim.network.operators.dequantise import Dequantise
from tilesim.network.operators.fully_connected import FullyConnected
from tilesim.network.operators.max_pool import MaxPool
from tilesim.network.operators.padding import Padding
from tilesim.network.operators.quantise import Quantise
from tilesim.network.operators.rescale import Rescale
from tilesim.network.operators.reshape import Reshape
from tilesim.network.operators.softmax import Softmax

__all__ = [
    "Add",
    "AveragePool",
    "Convolution",
    "DepthwiseConvolution",
    "Dequantise",
    "FullyConnected",
    "MaxPool",
    "Padding",
    "Quantise",
    "Rescale",
    "Reshape",
    "Softmax",
]
