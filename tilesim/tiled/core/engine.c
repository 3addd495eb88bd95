/* What engines of a tile do in a cycle: request, arbitrate, commit. */

#define OP(engine) ((engine)->columns)
#define HAS_BEGUN(tile, engine) ((tile)->begun >> (engine)->number & 1)

/* What a tensor control has waited for before it began. */
static void wait_is_over(Core *core, Tile *tile, const Engine *engine, i64 cause, i64 until) {
    if (engine->number != TENSOR || until == tile->tensor_end) return;
    log_row(&core->waits, tile->index, engine->op, cause, tile->tensor_end, until, 0);
    tile->tensor_end = until;
}

static int passes_next_gates(Core *core, Tile *tile, Engine *engine, i64 step) {
    const Columns *op = OP(engine);
    while (engine->gate < op->gate_count) {
        const i64 *gate = core->pool + op->gates + 3 * engine->gate;
        if (gate[0] != step) break;
        if (!met(core, tile, engine, gate[1], gate[2])) return 0;
        engine->gate++;
        if (step < 0) wait_is_over(core, tile, engine, CAUSE_FLAG + gate[1], core->cycle);
    }
    return 1;
}

/* Whether the flags that hold iteration `step`, or the begin, have counted enough: each in turn, until it has. */
static int passes_gates(Core *core, Tile *tile, Engine *engine, i64 step) {
    return engine->gate == OP(engine)->gate_count || passes_next_gates(core, tile, engine, step);
}

static i64 next_rise(const Core *core, const Engine *engine) {
    const Columns *op = OP(engine);
    if (op->rise_period) return engine->rises_at + op->rise_period;
    return engine->rise < op->rise_count ? core->pool[op->rises + engine->rise] : NEVER;
}

/* With which iteration others hear of an engine: its flag rises, or it is through. */
static i64 heard_at(const Engine *engine) { return least(engine->rises_at, OP(engine)->rounds); }

/* `done` iterations are through: the flag rises if that completes the loop. */
static void rise(Core *core, Tile *tile, Engine *engine, i64 done) {
    if (done != engine->rises_at) return;
    engine->rise++;
    engine->rises_at = next_rise(core, engine);
    raise_flag(tile, OP(engine)->flag, engine->op);
    if (done == OP(engine)->rounds) return;
    log_row(&core->events, core->cycle, tile->index, engine->op, engine->number, ROSE, done);
}

static void next_group(Core *core, Engine *engine) {
    if (engine->step == OP(engine)->rounds) return;
    const i64 *run = core->pool + OP(engine)->runs + RUN_COLUMNS * engine->run;
    if (engine->step == run[0]) run = core->pool + OP(engine)->runs + RUN_COLUMNS * ++engine->run;
    engine->extras_left = run[1];
    engine->issues_left = run[2];
    engine->started = 0;
}

/* Of the group that is written. */
static i64 writes_of(const Core *core, Engine *engine) {
    const i64 *run = core->pool + OP(engine)->runs;
    while (engine->written >= run[RUN_COLUMNS * engine->seen]) engine->seen++;
    return run[RUN_COLUMNS * engine->seen + 3];
}

/* Something comes in over a link. */
static void stir(Core *core, const Link *link) {
    i32 receiver = 1 << link->receiver->number, *held = &core->tiles[link->to].held;
    if (!(*held & receiver)) return;
    *held &= ~receiver;
    mark(core->awake, link->to);
}

static void begin(Core *core, Tile *tile, Engine *engine) {
    Link *link = engine->link;
    *engine = (Engine){engine->account, link, engine->columns, engine->op, engine->number, .transfer = -1,
                       .gate = engine->gate, .unfinished = engine->unfinished, .buffer = engine->buffer};
    engine->rises_at = next_rise(core, engine);
    tile->begun |= 1 << engine->number;
    core->stirred = 1;
    log_row(&core->events, core->cycle, tile->index, engine->op, engine->number, BEGAN, 0);
    if (engine->number == TENSOR) next_group(core, engine);
    if (engine->number >= MESH_OUT_NORTH) {
        link->transfer++;
        link->waiting++;
        link->sent = link->written = 0;
        link->heard_at = heard_at(engine) * OP(engine)->beats_an_access;
        stir(core, link);
    }
    if (engine->number == RING_PRODUCER)
        engine->transfer = new_transfer(core, engine->op, 0, OP(engine)->rounds, OP(engine)->destinations, tile->index);
}

static void request(Core *core, Tile *tile, Engine *engine) {
    if (engine->op < 0) {
        if (fifo_head(&engine->buffer, core->cycle) < 0) return;
        engine->op = fifo_take(core, &engine->buffer);
        engine->columns = core->ops + engine->op;
        wake_bus(core, tile->index);
        engine->begins_at = begins_at(core, engine->op, tile->index);
        engine->addressed_at = engine->begins_at + core->chip.fill_cycles;
        engine->gate = 0, engine->noted = -1;
        wait_is_over(core, tile, engine, IDLE, engine->begins_at);
        wait_is_over(core, tile, engine, TRAVERSAL, engine->addressed_at);
    }
    if (!HAS_BEGUN(tile, engine)) {
        engine->kind = core->cycle < engine->begins_at ? HOLD : core->cycle < engine->addressed_at ? TRAVERSAL : FLAG;
        if (engine->kind != FLAG || !passes_gates(core, tile, engine, BEFORE_IT_BEGINS)) return;
        begin(core, tile, engine);
    }
    if (engine->number == RING_CONSUMER) {
        engine->open = passes_gates(core, tile, engine, engine->step);
        engine->taken_now = engine->row = 0;
    } else if (engine->number == RING_PRODUCER) {
        engine->reads_now = 0;
        if (engine->packet && engine->parts == core->chip.ring_parts)
            offer(core, tile->index + 1, engine->transfer, engine->step - 1);
    }
}

static int take(i32 *left) { return *left > 0 && (*left)--; }

/* Why nothing is read: a port, if nothing else held it, or if what made the queue full waits for one. */
static i32 reason(i32 held, int write_denied) { return !held || (held == FIFO && write_denied) ? PORT : held; }

static i32 tensor_holds(Core *core, Tile *tile, Engine *engine) {
    const Columns *op = OP(engine);
    if (engine->step == op->rounds) return FIFO;
    if (engine->started) return 0;
    if (!passes_gates(core, tile, engine, engine->step)) return FLAG;
    if (engine->step - engine->written >= core->chip.output_fifo_groups) return FIFO;
    i64 apart = core->pool[op->runs + RUN_COLUMNS * engine->run + 4];
    return engine->step - apart >= engine->written ? HAZARD : 0;
}

static void arbitrate_tensor(Core *core, Tile *tile, Engine *engine) {
    const Columns *op = OP(engine);
    engine->extra_now = engine->reads_now = 0;
    i32 held = tensor_holds(core, tile, engine);
    int results = engine->step > engine->written;
    engine->writes_now = results && take(op->writes_wide ? &tile->wide_left : &tile->write_left);
    engine->kind = reason(held, results && !engine->writes_now);
    if (held) return;
    while (engine->extras_left && take(&tile->wide_left)) {
        engine->extra_now = engine->started = 1;
        engine->extras_left--;
    }
    if (engine->extras_left || (engine->extra_now && !tile->wide_left)) return;
    if (tile->read_left && (!op->has_weights || tile->wide_left)) {
        tile->read_left--;
        tile->wide_left -= (i32)op->has_weights;
        engine->reads_now = 1;
    }
}

static void advance_tensor(Core *core, Tile *tile, Engine *engine) {
    if (engine->writes_now) {
        if (!engine->writes_left) engine->writes_left = writes_of(core, engine);
        if (!--engine->writes_left) rise(core, tile, engine, ++engine->written);
    }
    if (engine->reads_now) {
        engine->started = 1;
        if (!--engine->issues_left) {
            engine->step++;
            next_group(core, engine);
        }
    }
}

static i32 cause_of(const Engine *engine, i32 kind) { return kind == FLAG ? CAUSE_FLAG + engine->awaited : kind; }

/* In this layer the tile's tensor control spends its cycles on something else from now on. */
static void spend(Tile *tile, i64 *on, i64 cycle) {
    if (on == tile->spending) return;
    if (tile->spending) *tile->spending += cycle - tile->spent_until;
    tile->spending = on, tile->spent_until = cycle;
}

static void commit_tensor(Core *core, Tile *tile, Engine *engine) {
    i64 op = engine->op, layer = tile->index * core->chip.layers + OP(engine)->layer;
    i32 held = cause_of(engine, engine->kind), cause = held, any = 0;
    if (HAS_BEGUN(tile, engine)) {
        cause = engine->reads_now ? BUSY : held;
        spend(tile, core->spent + layer * CAUSES + cause, core->cycle);
        any = engine->reads_now || engine->extra_now || engine->writes_now;
        advance_tensor(core, tile, engine);
        tile->works = any;
        core->stirred |= any;
    }
    note(core, tile->mac, core->cycle, cause == HOLD ? IDLE : cause, op);
    note(core, engine->account, core->cycle, any ? BUSY : held, op);
}

static i32 copy_holds(Core *core, Tile *tile, Engine *engine) {
    if (engine->step == OP(engine)->rounds) return FIFO;
    if (engine->reads) return 0;
    if (!passes_gates(core, tile, engine, engine->step)) return FLAG;
    return engine->queued == ROW_BUFFERS ? FIFO : 0;
}

static void arbitrate_copy(Core *core, Tile *tile, Engine *engine) {
    int gathers = engine->number == NARROW_TO_WIDE;
    i32 held = copy_holds(core, tile, engine);
    engine->reads_now = !held && take(gathers ? &tile->read_left : &tile->wide_left);
    engine->writes_now = engine->queued && take(gathers ? &tile->wide_left : &tile->write_left);
    engine->kind = reason(held, engine->queued && !engine->writes_now);
}

static i32 advance_copy(Core *core, Tile *tile, Engine *engine) {
    const Columns *op = OP(engine);
    if (engine->writes_now && !--engine->writes_left) {
        engine->queued--;
        engine->writes_left = op->writes_a_row;
        rise(core, tile, engine, ++engine->written);
    }
    if (engine->reads_now && ++engine->reads == op->reads_a_row) {
        if (!engine->queued++) engine->writes_left = op->writes_a_row;
        engine->reads = 0;
        engine->step++;
    }
    return engine->reads_now || engine->writes_now ? BUSY : engine->kind;
}

static i32 advance_consumer(Core *core, Tile *tile, Engine *engine) {
    if (engine->row) rise(core, tile, engine, engine->written = ++engine->step);
    return engine->taken_now || engine->row ? BUSY : engine->open ? FIFO : FLAG;
}

static void arbitrate_producer(Core *core, Tile *tile, Engine *engine) {
    if (engine->packet) return;
    engine->kind = passes_gates(core, tile, engine, engine->step) ? PORT : FLAG;
    engine->reads_now = engine->kind == PORT && take(&tile->wide_left);
}

static i32 advance_producer(Core *core, Tile *tile, Engine *engine) {
    if (!engine->packet) {
        if (!engine->reads_now) return engine->kind;
        engine->step++;
        engine->packet = 1;
        engine->parts = core->chip.ring_parts;
        return BUSY;
    }
    if (core->stops[tile->index + 1].has_outgoing) return CREDIT;
    if (!--engine->parts) {
        engine->packet = 0;
        rise(core, tile, engine, engine->written = engine->step);
    }
    return BUSY;
}

static i32 mesh_out_holds(Core *core, Tile *tile, Engine *engine) {
    if (!engine->register_parts && engine->step == OP(engine)->rounds) return CREDIT;
    if (!engine->register_parts && !passes_gates(core, tile, engine, engine->step)) return FLAG;
    return engine->link->sent - engine->link->written < core->chip.mesh_room_beats ? 0 : CREDIT;
}

static void arbitrate_mesh_out(Core *core, Tile *tile, Engine *engine) {
    const Columns *op = OP(engine);
    engine->kind = mesh_out_holds(core, tile, engine);
    i32 *port = op->reads_wide ? &tile->wide_left : &tile->read_left;
    engine->reads_now = !engine->kind && (engine->register_parts || take(port));
    if (engine->reads_now && !engine->register_parts) {
        engine->register_parts = op->beats_an_access;
        engine->step++;
    }
    if (!engine->kind) engine->kind = PORT;
}

static i32 advance_mesh_out(Core *core, Tile *tile, Engine *engine) {
    Link *link = &tile->links[engine->number - MESH_OUT_NORTH];
    if (engine->reads_now) {
        link->arrivals[(link->head + link->count++) % core->chip.mesh_room_beats] =
            core->cycle + core->chip.mesh_hop_cycles;
        link->sent++;
        engine->register_parts--;
        stir(core, link);
    }
    i32 kind = engine->reads_now ? BUSY : engine->kind;
    i32 of_link = kind == BUSY || kind == CREDIT ? kind : IDLE;
    if (kind != engine->noted) note(core, link->account, core->cycle, of_link, engine->op);
    return kind;
}

static i32 mesh_in_holds(Core *core, Tile *tile, Engine *engine) {
    const Link *link = engine->link;
    if (OP(engine)->fill) return engine->fills ? 0 : passes_gates(core, tile, engine, engine->fill_step) ? FIFO : FLAG;
    if (!engine->register_parts && !passes_gates(core, tile, engine, engine->step)) return FLAG;
    int here = link && engine->transfer == link->transfer && link->count && link->arrivals[link->head] <= core->cycle;
    return here ? 0 : FIFO;
}

static int may_make(Core *core, Tile *tile, Engine *engine) {
    const Columns *op = OP(engine);
    if (!op->fill || engine->fill_step == op->rounds || engine->fills == FILL_WORDS) return 0;
    return engine->made > 0 || passes_gates(core, tile, engine, engine->fill_step);
}

static void arbitrate_mesh_in(Core *core, Tile *tile, Engine *engine) {
    Link *link = engine->link;
    if (engine->transfer < 0 && link && !OP(engine)->fill && link->waiting) {
        link->waiting--;
        engine->transfer = link->transfer;
    }
    i32 held = mesh_in_holds(core, tile, engine);
    engine->makes_now = may_make(core, tile, engine);
    int completes = engine->register_parts == OP(engine)->parts_an_access - 1;
    i32 *port = core->chip.mesh_to_wide ? &tile->wide_left : &tile->write_left;
    engine->writes_now = !held && (!completes || take(port));
    engine->kind = held ? held : PORT;
}

static int lacks_room(const Engine *sender) {
    return sender->kind == CREDIT && (sender->register_parts || sender->step < OP(sender)->rounds);
}

static i32 advance_mesh_in(Core *core, Tile *tile, Engine *engine) {
    Link *link = engine->link;
    if (engine->writes_now && OP(engine)->fill)
        engine->fills--;
    else if (engine->writes_now) {
        link->head = (link->head + 1) % core->chip.mesh_room_beats;
        link->count--;
        if (++link->written == link->heard_at || lacks_room(link->sender)) mark(core->poked, link->from);
    }
    if (engine->writes_now && ++engine->register_parts == OP(engine)->parts_an_access) {
        engine->register_parts = 0;
        rise(core, tile, engine, engine->written = ++engine->step);
    }
    if (engine->makes_now) {
        engine->fills++;
        if (++engine->made == OP(engine)->words_an_access) engine->made = 0, engine->fill_step++;
    }
    return engine->writes_now || engine->makes_now ? BUSY : engine->kind;
}

/* What engines ask of their memories' ports, and what they then do: the kind of cycle that it was. */
static const struct {
    void (*arbitrate)(Core *, Tile *, Engine *);
    i32 (*advance)(Core *, Tile *, Engine *);
} ROLES[ENGINES] = {
    [TENSOR] = {arbitrate_tensor, NULL},
    [RING_CONSUMER] = {NULL, advance_consumer},
    [RING_PRODUCER] = {arbitrate_producer, advance_producer},
    [NARROW_TO_WIDE ... WIDE_TO_NARROW] = {arbitrate_copy, advance_copy},
    [MESH_IN_NORTH ... MESH_IN_WEST] = {arbitrate_mesh_in, advance_mesh_in},
    [MESH_OUT_NORTH ... MESH_OUT_WEST] = {arbitrate_mesh_out, advance_mesh_out},
};

static void retire(Core *core, Tile *tile, Engine *engine) {
    note(core, engine->account, core->cycle + 1, IDLE, -1);
    if (engine->number == TENSOR) {
        note(core, tile->mac, core->cycle + 1, IDLE, -1);
        tile->tensor_end = core->cycle + 1;
        tile->works = 0;
        spend(tile, NULL, core->cycle + 1);
    }
    log_row(&core->events, core->cycle, tile->index, engine->op, engine->number, RETIRED, 0);
    engine->op = -1;
    tile->begun &= ~(1 << engine->number);
    tile->held &= ~(1 << engine->number);
    if (!--engine->unfinished) tile->busy_engines &= ~(1 << engine->number);
    core->stirred = 1;
    wake_bus(core, tile->index);
}

/* Whether an engine can't go on before a flag changes, or something comes in. */
static int waits(const Engine *engine, i32 kind) {
    if (kind == FLAG || engine->number == RING_CONSUMER) return kind == FLAG || kind == FIFO || kind == BUSY;
    if (engine->number >= MESH_OUT_NORTH || engine->number == RING_PRODUCER) return kind == CREDIT;
    if (engine->number < MESH_IN_NORTH || kind != FIFO) return 0;
    const Link *link = engine->link;
    return !link || !(link->count || link->waiting);
}

static void commit_engine(Core *core, Tile *tile, Engine *engine) {
    if (engine->op < 0) return;
    i32 kind = engine->kind, begun = HAS_BEGUN(tile, engine), asks = 0; /* for a port, at least */
    if (engine->number == TENSOR) {
        commit_tensor(core, tile, engine);
        asks = tile->works || (begun && engine->step > engine->written);
    } else {
        if (begun) kind = ROLES[engine->number].advance(core, tile, engine);
        asks = begun && (kind == BUSY || kind == PORT || engine->queued);
        if (asks) core->stirred = 1;
        if (engine->number == RING_CONSUMER && !engine->row) asks = 0;
        i32 cause = cause_of(engine, kind);
        if (cause != engine->noted) note(core, engine->account, core->cycle, cause, engine->op);
        engine->noted = cause;
    }
    if (!asks && waits(engine, kind)) tile->held |= 1 << engine->number;
    if (!asks && kind == FLAG) tile->held_by[engine->awaited] |= 1 << engine->number;
    if (begun && engine->written == OP(engine)->rounds) retire(core, tile, engine);
}

/* A neighbour has written what the tile hears of. */
static void hear_of_writes(Core *core, Tile *tile, Engine *engine) {
    if (!HAS_BEGUN(tile, engine)) return;
    Link *link = engine->link;
    if (lacks_room(engine)) tile->held &= ~(1 << engine->number);
    if (link->written != link->heard_at) return;
    engine->written = link->written / OP(engine)->beats_an_access;
    rise(core, tile, engine, engine->written);
    link->heard_at = heard_at(engine) * OP(engine)->beats_an_access;
    if (engine->written < OP(engine)->rounds) return;
    retire(core, tile, engine);
    note(core, link->account, core->cycle + 1, IDLE, -1);
}
