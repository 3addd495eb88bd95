"""Golden operators, one a file: exact arithmetic on whole canonical arrays."""

from tilesim.network.operators.add import Add as Add
from tilesim.network.operators.arg_max import ArgMax as ArgMax
from tilesim.network.operators.average_pool import AveragePool as AveragePool
from tilesim.network.operators.concatenation import Concatenation as Concatenation
from tilesim.network.operators.convolution import Convolution as Convolution
from tilesim.network.operators.depthwise_convolution import DepthwiseConvolution as DepthwiseConvolution
from tilesim.network.operators.dequantise import Dequantise as Dequantise
from tilesim.network.operators.fully_connected import FullyConnected as FullyConnected
from tilesim.network.operators.leaky_relu import LeakyRelu as LeakyRelu
from tilesim.network.operators.max_pool import MaxPool as MaxPool
from tilesim.network.operators.mean import Mean as Mean
from tilesim.network.operators.multiply import Multiply as Multiply
from tilesim.network.operators.normalise import Normalise as Normalise
from tilesim.network.operators.pad import Pad as Pad
from tilesim.network.operators.quantise import Quantise as Quantise
from tilesim.network.operators.rescale import Rescale as Rescale
from tilesim.network.operators.reshape import Reshape as Reshape
from tilesim.network.operators.resize_nearest import ResizeNearest as ResizeNearest
from tilesim.network.operators.slice import Slice as Slice
from tilesim.network.operators.softmax import Softmax as Softmax
from tilesim.network.operators.strided_slice import StridedSlice as StridedSlice
from tilesim.network.operators.subtract import Subtract as Subtract
from tilesim.network.operators.table import Table as Table
from tilesim.network.operators.top_k import TopK as TopK
from tilesim.network.operators.transpose_convolution import TransposeConvolution as TransposeConvolution
from tilesim.network.operators.windows import Padding as Padding
