"""What chips of all machines have in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tilesim.config import Hertz, Section

Clock = Annotated[Hertz, Field(ge=1, le=10**12, description="cycles a second of everything on the chip")]


class Topology(Section):
    """A chip. Its ``machine`` says of which kind it is; each kind has keys of its own."""

    machine: Annotated[str, Field(description="the kind of chip that this is")]
    name: Annotated[str, Field(description="what results call the chip")]
    description: Annotated[str, Field(description="what the list of chips says of it")] = ""
    clock_hz: Clock

    @property
    def arrays(self) -> int:
        """Its MAC arrays."""
        return 1
