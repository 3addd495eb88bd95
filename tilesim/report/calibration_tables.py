"""A calibration as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tilesim.printable import alternatives, counted, printable
from tilesim.report.calibration import (
    CalibratedKey,
    CalibrationDocument,
    CalibrationErrors,
    CalibrationFit,
    CalibrationPoint,
)
from tilesim.report.sensitivity import value_words
from tilesim.report.tables import folded, left, right, table
from tilesim.report.words import Ending

NO_TRAIN = "no points: nothing can be fitted to this table"
NO_TEST = "no points: how far the model is off elsewhere, this table does not say"
UNDETERMINED = "not by these points: doubled, they move by less than 1 %"


def calibration_tables(document: CalibrationDocument) -> Group:
    """Every point with its error, good or bad; what that is in the mean and at worst; and what was fitted."""
    parts: list[RenderableType] = [_heading(document), "", _points(document), "", _summary(document)]
    if missing := [point for point in document["points"] if point["simulated"] is None]:
        parts += ["", Text("Did not run", "bold"), *map(_missing, missing)]
    if fit := document["fit"]:
        parts += ["", Text("Fitted to the train points", "bold"), _keys(fit), *_notes(fit)]
    return Group(*parts)


def setting_words(fit: CalibrationFit) -> str:
    """What was fitted, as the words of a command line."""
    return " ".join(f"--set {setting}" for setting in fit["settings"])


def _heading(document: CalibrationDocument) -> Text:
    points = document["points"]
    chips = alternatives(list(dict.fromkeys(point["topology"] for point in points))).replace(" or ", " and ")
    more = f"; {document['left_out']} of other chips left out" if document["left_out"] else ""
    name = printable(Path(document["table"]).name)
    return Text.assemble((name, "bold"), f": {counted(len(points), 'point')} of {printable(chips)}{more}")


def _points(document: CalibrationDocument) -> Table:
    is_fitted = document["fit"] is not None
    several = len({point["topology"] for point in document["points"]}) > 1
    lines = table(
        *folded("model"),
        *(left("chip") if several else ()),
        *(() if is_fitted else folded("condition")),
        *right("published", "simulated", "error", *(("fitted", "error") if is_fitted else ()), "use"),
    )
    for point in document["points"]:
        chip = [printable(point["topology"])] * several
        after = [_amount(point, point["fitted"]), error_words(point["fitted_error"])] * is_fitted
        before = (
            f"{point['value']:,.4g} {point['unit']}",
            _amount(point, point["simulated"]),
            error_words(point["error"]),
        )
        lines.add_row(*_names(point, is_fitted, chip), *before, *after, point["use"])
    return lines


def _names(point: CalibrationPoint, below: bool, chip: list[str]) -> Iterator[RenderableType]:
    """What says which point it is: its condition below the model, or in a column of its own."""
    conditions = [*map(printable, filter(None, point["condition"].split("; ")))]
    if below:
        yield Group(Ending(printable(point["model"])), *(Text(f"  {each}", overflow="fold") for each in conditions))
        yield from chip
    else:
        yield Ending(printable(point["model"]))
        yield from chip
        yield Text("\n".join(conditions), overflow="fold")


def _amount(point: CalibrationPoint, value: float | None) -> str:
    """In the unit of the published value, which stands beside it."""
    return "-" if value is None else f"{value:,.0f}" if point["unit"] == "cycles" else f"{value:,.4g}"


def error_words(error: float | None) -> str:
    """``+1.2%`` is too much; ``-`` where nobody knows."""
    return "-" if error is None else f"{error:+.1%}"


def _summary(document: CalibrationDocument) -> Table:
    lines = table(*left("", "points"), *right("mean error", "worst"), *folded(""))
    lines.columns[1].justify = "right"
    for errors in document["errors"]:
        lines.add_row(*_errors_row(document, errors, fitted=False))
        if document["fit"] and errors["points"]:
            lines.add_row(*_errors_row(document, errors, fitted=True))
    return lines


def _errors_row(document: CalibrationDocument, errors: CalibrationErrors, fitted: bool) -> Iterator[str | Text]:
    mean, worst, line = (
        (errors["fitted_mean"], errors["fitted_worst"], errors["fitted_worst_line"])
        if fitted
        else (errors["mean"], errors["worst"], errors["worst_line"])
    )
    yield f"{errors['use']}, fitted" if fitted else errors["use"]
    yield str(errors["points"])
    yield "-" if mean is None else f"{mean:.1%}"
    yield error_words(worst)
    worst_of = next((point for point in document["points"] if point["line"] == line), None)
    none = NO_TEST if errors["use"] == "test" else NO_TRAIN
    yield Text(printable(f"{worst_of['model']} on {worst_of['topology']}") if worst_of else none)


def _missing(point: CalibrationPoint) -> Text:
    return Text(printable(f"line {point['line']}, {point['model']}: {'; '.join(point['reason'].splitlines())}"))


def _keys(fit: CalibrationFit) -> Table:
    lines = table(*folded("key"), *right("chip", "fitted", "change"), *folded("determined to"))
    for key in fit["keys"]:
        change = float(key["fitted"]) / float(key["value"]) - 1
        lines.add_row(
            Ending(printable(key["key"])),
            printable(value_words(key["key"], key["value"])),
            printable(value_words(key["key"], key["fitted"])),
            error_words(change) if change else "0",
            _determined(key),
        )
    return lines


def _determined(key: CalibratedKey) -> str:
    """How far it may be changed before the points move noticeably."""
    if key["determined"] == "not":
        return UNDETERMINED
    if key["determined"] == "together":
        return f"only together with {' and '.join(key['partners']) or 'the others'}; alone {_within(key['alone'])}"
    same = key["together"] is not None and key["alone"] is not None and key["together"] < 1.2 * key["alone"]
    return _within(key["alone"]) if same else f"{_within(key['together'])}; alone {_within(key['alone'])}"


def _within(change: float | None) -> str:
    return "any" if change is None else f"{change:.1%}"


def _notes(fit: CalibrationFit) -> Iterator[Text]:
    yield Text("Determined to: raised by this, the train points move by 1 % in the mean square.")
    if len(fit["keys"]) == fit["points"]:
        yield Text(f"As many keys as points, {fit['points']}: what errors are left says nothing of the model.")
    if not fit["settled"]:
        yield Text(f"After {fit['rounds']} rounds it had not settled; begin again from the values below with --set.")
