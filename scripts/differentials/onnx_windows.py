"""Random windows, and the pools that move them over maps."""

from __future__ import annotations

from typing import Any

from scripts.differentials.onnx_forms import apply, moved
from scripts.differentials.onnx_sketch import Sketch, Value


def window(s: Sketch, shape: tuple[int, ...], *, dilated: bool = False) -> tuple[dict[str, Any], tuple[int, int]]:
    """Attributes of a window that fits maps (N, C, H, W), and the (H', W') that it makes.

    ``auto_pad`` of the SAME kinds comes without dilations, which ONNX Runtime refuses there.
    """
    auto = s.pick("", "", "", "VALID", "SAME_UPPER", "SAME_LOWER")
    same = auto.startswith("SAME")
    axes = [_axis(s, length, same, dilated=dilated, padded=not auto) for length in shape[2:]]
    kernel, strides, dilations, before, after, made = (list(part) for part in zip(*axes, strict=True))
    attributes: dict[str, Any] = {"kernel_shape": kernel, "strides": strides}
    if max(dilations) > 1:
        attributes["dilations"] = dilations
    if auto:
        attributes["auto_pad"] = auto
    elif max(*before, *after) or s.chance(0.5):
        attributes["pads"] = [*before, *after]
    return attributes, (made[0], made[1])


def _axis(s: Sketch, length: int, same: bool, *, dilated: bool, padded: bool) -> tuple[int, int, int, int, int, int]:
    """Taps, stride, dilation, padding before and after, and how many windows there are."""
    stride = s.pick(1, 1, 2, 3)
    if same:
        return s.number(1, 4), stride, 1, 0, 0, -(-length // stride)
    dilation = s.pick(1, 1, 1, 2) if dilated else 1
    most = min(4, (length - 1) // dilation + 1)
    taps = s.number(1, most)
    before, after = (s.number(0, taps - 1) if padded else 0 for _ in range(2))
    windows = (length + before + after - (taps - 1) * dilation - 1) // stride + 1
    return taps, stride, dilation, before, after, windows


def average_pool(s: Sketch, x: Value) -> Value:
    attributes, size = window(s, x.shape)
    if s.chance(0.5):
        attributes["count_include_pad"] = 1
    taps = attributes["kernel_shape"][0] * attributes["kernel_shape"][1]
    return apply(s, "AveragePool", [x], _averaged(s, x, (*x.shape[:2], *size), taps), **attributes)


def global_average_pool(s: Sketch, x: Value) -> Value:
    y = _averaged(s, x, (*x.shape[:2], 1, 1), x.shape[2] * x.shape[3])
    return apply(s, "GlobalAveragePool", [x], y)


def _averaged(s: Sketch, x: Value, shape: tuple[int, ...], taps: int) -> Value:
    return s.like(x, shape) if s.chance(0.4) else s.result(shape, x.farthest, float(x.scale) / taps)


def max_pool(s: Sketch, x: Value) -> Value:
    attributes, size = window(s, x.shape)
    return moved(s, "MaxPool", x, (*x.shape[:2], *size), **attributes)
