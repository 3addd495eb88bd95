"""Numbers and names that the arithmetic could not take."""

import pytest

from tests.tiled.programs import program
from tilesim.tiled.isa.checks.program import faults

SUM = "sum: tensorop tiles=0x1 operation=sum nest=[x:4,lane:4] input=@0x0+x*4 output=@0x40+x*4"
BARE = "t: tensorop tiles=0x1 operation={} nest=[x:4,lane:4] input=@0x0+x*4 output=@0x40+x*4"
ADD, LEAKY, LOOKUP = BARE.format("add") + " input_b=@0x0", BARE.format("leaky_relu"), BARE.format("table")


@pytest.mark.parametrize(
    ("run", "fault"),
    [
        (f"{SUM} rule=divde scaling=4,0", "rule must be a rule of sum, not 'divde'; did you mean 'divide'?"),
        (f"{SUM} rule=divide scaling=4", "scaling must hold 2 numbers for the rule divide, not 1"),
        (f"{SUM} rule=divide scaling=0,0", "scaling must divide by at least 1, not by 0"),
        (f"{SUM} rule=divide scaling=4,0 clamp=0,255", "clamp must lie in -128 to 127, the range of i8, not be 0, 255"),
        (f"{ADD} rule=shift scaling=2,32,1", "scaling must shift by 0 to 31 places, not by 2 and 32"),
        (f"{ADD} rule=shift scaling=-1,0,1", "scaling must shift by 0 to 31 places, not by -1 and 0"),
        (f"{LEAKY} rule=double scaling=1,2,3", "scaling must hold 4 numbers for the rule double, not 3"),
        (f"{LEAKY} rule=divide scaling=1,2,3,4", "rule must be a rule of leaky_relu, not 'divide'"),
        (LEAKY, "rule must say how the results of leaky_relu are requantised"),
        (f"{LOOKUP} input_type=i16 widths=16,8", "input_type and output_type must be i8 or u8 for table, which looks"),
        (f"{LOOKUP} output_type=i16", "input_type and output_type must be i8 or u8 for table, which looks up bytes"),
        (
            "classify rows=1 elements=4 function=argmax input_type=i16",
            "input_type must be i8 or u8 for the classifier, not i16",
        ),
        (f"{SUM} rule=divide scaling=4,4294967296", "scaling must be a number of 32 bits, not 4294967296"),
        (f"{SUM} rule=divide scaling=4,0 input_zero_point=-9999999999", "input_zero_point must be a number of 32 bits"),
        (SUM.replace("x:4", "x:99999999") + " rule=divide scaling=1,0", "nest must run at most 268435456 times"),
        (
            "classify rows=1 elements=4 function=softmx scaling=1,1,0,0,1",
            "function must be a function of the",
        ),
        ("classify rows=1 elements=4 function=softmax", "scaling must hold 5 numbers for softmax, not 0"),
        ("classify rows=1 elements=4 function=argmax scaling=1", "scaling must hold 0 numbers for argmax, not 1"),
        ("classify rows=1 elements=4 function=top_k_values", "scaling must hold 1 number for top_k_values, not 0"),
        (
            "classify rows=1 elements=4 function=top_k_indices scaling=5",
            "scaling must choose from 1 to 4 for top_k_indi",
        ),
        (
            "classify rows=1 elements=4 function=top_k_indices scaling=0",
            "scaling must choose from 1 to 4 for top_k_indi",
        ),
    ],
)
def test_a_number_or_name_without_a_meaning_is_a_fault(run: str, fault: str) -> None:
    assert any(fault in sentence for sentence in faults(program(run))), faults(program(run))


@pytest.mark.parametrize(
    ("head", "fault"),
    [
        (".layer name=a kind=add macs=-5", "layer 0 ('a'): macs must be 0 to"),
        (
            ".layer name=a kind=add macs=0 cut=[extent:4,4,8 rows:0,5 columns:0]",
            "cut must have 2 rows that rise from 0",
        ),
        (
            ".layer name=a kind=add macs=0 cut=[extent:4,4,8 rows:0,2]",
            "cut must have 1 columns that rise from 0 to at m",
        ),
        (".layer name=a kind=add macs=0 cut=[extent:4,4,8 columns:0 block:4]", "cut must have a block of channels, or"),
        (".layer name=a kind=add macs=0 cut=[extent:4,0,8 block:4]", "cut must be of an extent of at least 1 x 1 x 1"),
        (".region name=a memory=foo tiles=0x1 address=0 bytes=4", "memory must be a memory of a tile, not 'foo'"),
        (".region name=a memory=narrow tiles=0x1 address=-4 bytes=4", "must lie in the 2048 bytes of its memory"),
        (".region name=a memory=wide tiles=0x8 address=0 bytes=4", "tiles must name some of the 2 tiles, not 0x8"),
    ],
)
def test_what_a_program_says_of_itself_must_make_sense(head: str, fault: str) -> None:
    sentences = faults(program("", head=head))
    assert any(fault in sentence for sentence in sentences), sentences


TABLE = "t: tensorop tiles=0x1 operation=table nest=[x:4,lane:4] input=@0x0+x*4 output=@0x40+x*4"


@pytest.mark.parametrize(
    ("run", "fault"),
    [
        (TABLE, "parameters and output must be given for table, which looks up bytes"),
        (f"{TABLE} parameters=@0x18", "parameters must not cross the end of a row"),
        (f"{TABLE} parameters=@0xffffffc0", "parameters must stay inside the wide memory"),
        (f"{TABLE} parameters=@0x0 input_b=@0x0", "input_b must not be given for table, which has none"),
        (f"{TABLE.replace('table', 'maximum')} parameters=@0x0", "parameters must not be given for maximum, which has"),
        (f"{SUM} rule=divide scaling=4,0 parameters=@0x0", "parameters must not be given for sum, which has none"),
        (TABLE.replace("table", "multiply"), "input_b must be given for multiply"),
        (f"{TABLE.replace('table', 'multiply')} input_b=@0x0 rule=double scaling=1", "scaling must hold 5 numbers"),
    ],
)
def test_what_a_table_or_a_product_needs(run: str, fault: str) -> None:
    assert any(fault in sentence for sentence in faults(program(run))), faults(program(run))
