"""Changes of a line of the core that change nothing, and why not: they are drawn, and not tried."""
# ruff: noqa: E501  # lines of the core, twice each

EQUIVALENT = {
    "ahead.c: i64 cycles = core->cycle - at, most = (until - core->cycle - 1) / cycles; -> i64 cycles = core->cycle - at, most = (until - core->cycle - 2) / cycles;":
        "a group that could be passed over is gone through",
    "ahead.c: most = least(most, engine->rises_at - engine->written - 1); -> most = least(most, engine->rises_at - engine->written - 2);":
        "a group that could be passed over is gone through",
    "ahead.c: core->cycle += repeat(engine, until - core->cycle - 1); -> ;":
        "cycles are gone through one by one",
    "ahead.c: i64 issues = engine->step < heard ? (heard - engine->step - 1) * op->least_issues + engine->issues_left : 0; -> i64 issues = engine->step < heard ? (heard - engine->step - 2) * op->least_issues + engine->issues_left : 0;":
        "a tile is looked at sooner than need be",
    "ahead.c: i64 writes = (heard - engine->written - (engine->writes_left > 0)) * op->least_writes + engine->writes_left; -> i64 writes = (heard - engine->written - (engine->writes_left >= 0)) * op->least_writes + engine->writes_left;":
        "a tile is looked at sooner than need be",
    "ahead.c: i64 cycles = issues > writes ? issues : writes; -> i64 cycles = issues >= writes ? issues : writes;":
        "the more of two is the same where they are equal",
    "ahead.c: if (tile->wake_at < core->next_wake) core->next_wake = tile->wake_at; -> if (tile->wake_at <= core->next_wake) core->next_wake = tile->wake_at;":
        "the sooner of two is the same where they are equal",
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
