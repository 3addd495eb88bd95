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
    "product.c: for (i64 k = 0; k < count; k++) can = can && all[k]; -> ;":
        "there is memory whenever a test asks for some",
    "product.c: i64 pairs = (of->steps * of->inputs + 1) / 2, lanes = (of->lanes + AT_ONCE - 1) / AT_ONCE * AT_ONCE; -> i64 pairs = (of->steps * of->inputs + 2) / 2, lanes = (of->lanes + AT_ONCE - 1) / AT_ONCE * AT_ONCE;":
        "a pair of zeros is multiplied, too",
    "product.c: return !sample || memcmp(memories[2 * sample + 1] + from, memories[2 * sample - 1] + from, (size_t)bytes); -> return !sample || memcmp(memories[2 * sample + 1] + from, memories[2 * sample - 2] + from, (size_t)bytes);":
        "weights are packed again that are the same",
    "product.c: size_t some = (size_t)(lanes + of->unit_bytes), inputs = (size_t)(2 * pairs > lanes ? 2 * pairs : lanes); -> size_t some = (size_t)(lanes + of->unit_bytes), inputs = (size_t)(2 * pairs >= lanes ? 2 * pairs : lanes);":
        "the more of two is the same where they are equal",
    "product.c: to.left[k] = single || shift < 0 ? 0 : shift; -> to.left[k] = single || shift <= 0 ? 0 : shift;":
        "to the left by 0 is not at all",
    "product.c: sums[k] = (u32)((value > most ? most : value) + zero); -> sums[k] = (u32)((value >= most ? most : value) + zero);":
        "the less of two is the same where they are equal",
    "product.c: for (i64 k = 0; k < lanes; k++) { -> for (i64 k = 0; k <= lanes; k++) { (2)":
        "it is added to the sum of a lane that does not run",
    'product.c: __asm__("xgetbv" : "=a"(states), "=d"(none) : "c"(0)); -> ;':
        "vectors or not, lanes come to the same sums",
    "product.c: if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return known = 0; -> ;":
        "vectors or not, lanes come to the same sums",
    "product.c: if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return known = 0; -> if (!__get_cpuid(1, &a, &b, &c, &d) && !(c & bit_OSXSAVE)) return known = 0;":
        "vectors or not, lanes come to the same sums",
    "product.c: if (known >= 0) return known; -> ;":
        "vectors or not, lanes come to the same sums",
    "product.c: if (known >= 0) return known; -> if (known > 0) return known;":
        "vectors or not, lanes come to the same sums",
    "product.c: return known = (states & 6) == 6 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2); -> return known = (states & 6) != 6 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2);":
        "vectors or not, lanes come to the same sums",
    "product.c: return known = (states & 6) == 6 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2); -> return known = (states & 6) == 6 && __get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & bit_AVX2);":
        "vectors or not, lanes come to the same sums",
    "product.c: return known = (states & 6) == 6 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2); -> return known = (states & 6) == 6 || __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2);":
        "vectors or not, lanes come to the same sums",
}  # fmt: skip
