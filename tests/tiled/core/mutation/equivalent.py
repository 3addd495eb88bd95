"""Changes of a line of the core that change nothing, and why not: they are drawn, and not tried."""
# ruff: noqa: E501  # lines of the core, twice each

EQUIVALENT = {
    "engine.c: if (on == tile->spending) return; -> ;":
        "cycles are added in two parts instead of one",
    "common.c: core->bus[place].active_until = core->cycle + 1; -> ;":
        "who wakes a stop is asked after it in a cycle, so that its mark stays until the next",
    "bus.c: if (!carries && stop->active_until <= core->cycle) unmark(core->active, place); -> ;":
        "a stop is asked that has nothing to carry, and does nothing",
    "common.c: core->blocks = block; -> ;":
        "memory is not given back, which changes no run",
    "core.c: if (core->accounts[k].active_until > cycles[1]) cycles[1] = core->accounts[k].active_until; -> if (core->accounts[k].active_until >= cycles[1]) cycles[1] = core->accounts[k].active_until;":
        "the most of two is the same where they are equal",
    "core.c: if (core->cycle > latest) return ENDLESS; -> ;":
        "nothing that is covered goes on for ever: transfers wait, and do not circulate",
    "ring.c: unmark(core->carrying, stop->node); -> ;":
        "a stop is asked that has nothing to carry, and does nothing",
}  # fmt: skip
