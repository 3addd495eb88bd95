/* A tensor control whose tile does nothing else, and of which nobody hears for some time: it is left alone until then,
   or until something comes in, and catches up, groups of like cycles at a time. */

static void free_ports(const Core *core, Tile *tile) {
    tile->wide_left = (i32)core->chip.wide_ports;
    tile->read_left = tile->write_left = 1;
}

/* Let as many cycles pass, behind one that is over, as are sure to be like it; at most so many. */
static i64 repeat(const Core *core, Engine *engine, i64 most) {
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

static void catch_up(Core *core, Tile *tile, i64 until) {
    Engine *engine = &tile->engines[TENSOR];
    i64 now = core->cycle, stirred = core->stirred;
    unmark(core->ahead, tile->index);
    for (core->cycle = tile->left_at; core->cycle < until; core->cycle++) {
        free_ports(core, tile);
        arbitrate_tensor(core, tile, engine);
        commit_tensor(core, tile, engine);
        commit_flags(tile);
        core->cycle += repeat(core, engine, until - core->cycle - 1);
    }
    core->cycle = now;
    core->stirred = (i32)stirred;
}

/* What groups from `first` up to `end` take of a column of their runs, at least; `run` is not behind the first's. */
static i64 taken(const Core *core, const Columns *op, i64 run, i64 first, i64 end, int column) {
    i64 cycles = 0;
    for (i64 left = FEW_RUNS; first < end && left--; run++) {
        const i64 *groups = core->pool + op->runs + RUN_COLUMNS * run;
        i64 stop = groups[0] < end ? groups[0] : end;
        if (stop > first) cycles += (stop - first) * groups[column];
        if (stop > first) first = stop;
    }
    return cycles;
}

/* Leave a tensor control alone for as long as that can be: if nobody else has anything to do, until it is through. */
static int goes_ahead(Core *core, Tile *tile) {
    const Engine *engine = &tile->engines[TENSOR];
    const Columns *op = OP(engine);
    i64 heard = tile->busy_engines == 1 << TENSOR ? op->rounds : heard_at(core, engine);
    i64 issues = taken(core, op, engine->run, engine->step + 1, heard, 2);
    i64 writes = taken(core, op, engine->seen, engine->written + (engine->writes_left > 0), heard, 3);
    if (engine->step < heard) issues += engine->issues_left;
    writes += engine->writes_left;
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
    EACH(k, core->ahead, core->chip.tiles) {
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
    tile->works = 0;
    free_ports(core, tile);
    for (i32 left = stirring(tile); left; left &= left - 1) request(core, tile, &tile->engines[__builtin_ctz(left)]);
}

/* An engine can go on in this very cycle. */
static void rouse(Core *core, Tile *tile, i32 engine) {
    tile->held &= ~(1 << engine);
    ask_tile(core, tile);
}
