"""What chips of all machines have in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tilesim.config import ConfigSection, Hertz
from tilesim.machines.keys import keys, spelt
from tilesim.printable import html_table, printable

Clock = Annotated[Hertz, Field(ge=1, le=10**12, description="cycles a second of everything on the chip")]


class Topology(ConfigSection):
    """A chip, as :func:`tilesim.load_topology` reads it. Its ``machine`` says of which kind it is; each kind has keys
    of its own, which ``tilesim topologies NAME`` lists, and so does a notebook.
    """

    machine: Annotated[str, Field(description="the kind of chip that this is")]
    name: Annotated[str, Field(description="what results call the chip")]
    description: Annotated[str, Field(description="what the list of chips says of it")] = ""
    clock_hz: Clock

    @property
    def arrays(self) -> int:
        """Its MAC arrays."""
        return 1

    def __repr__(self) -> str:
        return f"<Topology {self._summary}>"

    def _repr_html_(self) -> str:
        """Its keys, for a notebook."""
        return html_table(
            self._summary, ("key", "value", ""), ((key.key, spelt(key), key.meaning) for key in keys(self))
        )

    @property
    def _summary(self) -> str:
        return f"{printable(self.name)}: a {self.machine} machine at {self.clock_hz / 1e6:,g} MHz"
