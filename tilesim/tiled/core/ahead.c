/* A tensor control whose tile does nothing else, and of which nobody hears for some time: it is left alone until then,
   or until something comes in, and catches up, groups of like cycles at a time. */

static void free_ports(const Core *core, Tile *tile) {
    tile->wide_left = (i32)core->chip.wide_ports;
    tile->read_left = tile->write_left = 1;
}

/* Let as many cycles pass, behind one that is over, as are sure to be like it; at most so many. */
static i64 repeat(Engine *engine, i64 most) {
    int reads = engine->reads_now, results = engine->step > engine->written;
    if (engine->extra_now || OP(engine)->writes_wide || (reads && !engine->started)) return 0;
    if (!reads && (engine->kind == PORT || (!results && engine->kind != FLAG))) return 0;
    if (!results && engine->writes_now) return 0;
    if (reads && engine->issues_left - 1 < most) most = engine->issues_left - 1;
    if (results && engine->writes_left - 1 < most) most = engine->writes_left - 1;
    if (most <= 0) return 0;
    if (reads) engine->issues_left -= most;
    if (results) engine->writes_left -= most;
    return most;
}

/* Behind a group, let as many pass as are sure to be like it, if it was like the `last` one, which ended `at`: it has
   read in every cycle, and all that has been written meanwhile is of groups alike, too. */
static i64 repeat_groups(const Core *core, const Tile *tile, Engine *engine, const Engine *last, i64 at, i64 until) {
    const Columns *op = OP(engine);
    i64 cycles = core->cycle - at, most = (until - core->cycle - 1) / cycles;
    if (tile->mac->since > at || last->seen != engine->run) return 0;
    if (engine->written != last->written + 1 || engine->writes_left != last->writes_left) return 0;
    most = least(most, core->pool[op->runs + RUN_COLUMNS * engine->run] - engine->step - 1);
    most = least(most, engine->rises_at - engine->written - 1);
    if (engine->gate < op->gate_count) most = least(most, core->pool[op->gates + 3 * engine->gate] - engine->step);
    if (most <= 0) return 0;
    engine->step += most, engine->written += most;
    return most * cycles;
}

static void catch_up(Core *core, Tile *tile, i64 until) {
    Engine *engine = &tile->engines[TENSOR], last = *engine;
    i64 now = core->cycle, stirred = core->stirred, at = -1; /* no group has ended yet */
    unmark(core->ahead, tile->index);
    for (core->cycle = tile->left_at; core->cycle < until; core->cycle++) {
        free_ports(core, tile);
        arbitrate_tensor(core, tile, engine);
        commit_tensor(core, tile, engine);
        commit_flags(tile);
        core->cycle += repeat(engine, until - core->cycle - 1);
        if (engine->step == last.step) continue;
        core->cycle += repeat_groups(core, tile, engine, &last, at, until);
        last = *engine, at = core->cycle;
    }
    core->cycle = now;
    core->stirred = (i32)stirred;
}

/* Leave a tensor control alone for as long as that can be: if nobody else has anything to do, until it is through. */
static int goes_ahead(Core *core, Tile *tile) {
    const Engine *engine = &tile->engines[TENSOR];
    const Columns *op = OP(engine);
    i64 heard = tile->busy_engines == 1 << TENSOR ? op->rounds : heard_at(engine);
    i64 issues = engine->step < heard ? (heard - engine->step - 1) * op->least_issues + engine->issues_left : 0;
    i64 writes = (heard - engine->written - (engine->writes_left > 0)) * op->least_writes + engine->writes_left;
    i64 cycles = issues > writes ? issues : writes;
    if (cycles < 2) return 0;
    tile->left_at = core->cycle + 1;
    tile->wake_at = core->cycle + cycles;
    mark(core->ahead, tile->index);
    if (tile->wake_at < core->next_wake) core->next_wake = tile->wake_at;
    return 1;
}

static void wake_tiles(Core *core) {
    core->next_wake = NEVER;
    EACH(k, core->ahead) {
        i64 at = core->tiles[k].wake_at;
        if (at <= core->cycle) mark(core->awake, k);
        core->next_wake = sooner(core->cycle, core->next_wake, at);
    }
}

static i32 stirring(const Tile *tile) { return tile->busy_engines & ~tile->held; }

/* The tile's cycle begins, if it has not yet. */
static void ask_tile(Core *core, Tile *tile) {
    if (marked(core->asked, tile->index)) return;
    mark(core->asked, tile->index);
    if (marked(core->ahead, tile->index)) catch_up(core, tile, core->cycle);
    free_ports(core, tile);
    for (i32 left = stirring(tile) & ~(tile->begun & ~RING_BITS); left; left &= left - 1)
        request(core, tile, &tile->engines[__builtin_ctz(left)]);
}

/* An engine can go on in this very cycle. */
static void rouse(Core *core, Tile *tile, i32 engine) {
    tile->held &= ~(1 << engine);
    ask_tile(core, tile);
}
