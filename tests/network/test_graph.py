from tilesim.network.graph import titled


def test_titles_are_short() -> None:
    assert titled("conv1/Relu") == "conv1/Relu"
    assert titled("conv1/Relu;bn/Add;conv1/Conv2D") == "conv1/Relu;..."
    long = "/".join(f"block{k}" for k in range(40))
    assert titled(long) == "block0/block1/block2/block3/...ck36/block37/block38/block39"
    assert len(titled(f"{long};{long}")) < 70
