"""The size of a package, in words."""

from pathlib import Path

from tests.scripts import script


def test_functions_classes_and_folders_are_counted(tmp_path: Path) -> None:
    (tmp_path / "units").mkdir()
    (tmp_path / "units" / "ring.py").write_text("class Ring:\n    def send(self):\n        return 1\n")
    (tmp_path / "bus.py").write_text("class Ring:\n    pass\n\n\ndef one():\n    pass\n\n\ndef two(): pass\n")
    assert [*script("size").report(tmp_path)] == [
        "12 lines in 2 modules, 2 classes",
        "functions: 3; median 2 lines, p90 2, most 2",
        "modules above 400 lines: none",
        "class names that stand more than once: 1: Ring x2",
        "      9  bus.py",
        "      3  units",
    ]
