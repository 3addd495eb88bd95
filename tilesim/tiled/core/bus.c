/* The instruction bus, and the controller that sends instructions over it. */

/* Whether no fence holds what follows; the flags return to 0, and the controller hears of it at once. */
static int look_at_fence(Core *core, i64 place) {
    BusStop *stop = &core->bus[place];
    if (stop->fence < 0) return 1;
    const Columns *fence = &core->ops[stop->fence];
    Tile *tile = &core->tiles[place];
    if (tile->busy_engines & fence->idle) return 0;
    tile->resets |= fence->reset;
    tile->changed |= fence->reset;
    mark(core->poked, place);
    core->fences += fence->increment;
    core->stirred = 1;
    stop->fence = -1;
    return 1;
}

static Fifo *buffer_of(Core *core, i64 place, i64 op) {
    if (place == core->chip.tiles) return &core->classifier.buffer;
    return &core->tiles[place].engines[core->ops[op].engine].buffer;
}

static int is_buffered(const Columns *op) { return op->kind == WORK_OP || op->kind == CLASSIFY_OP; }

static void copy_instruction(Core *core, i64 place, i64 op) {
    const Columns *row = &core->ops[op];
    if (row->kind == FENCE_OP) core->bus[place].fence = op;
    if (is_buffered(row)) fifo_put(core, buffer_of(core, place, op), op, 0);
    if (row->kind != WORK_OP) return;
    core->tiles[place].engines[row->engine].unfinished++;
    core->tiles[place].busy_engines |= 1 << row->engine;
    mark(core->awake, place);
}

static int enters(Core *core, BusStop *stop, i64 op) {
    if (!fifo_add(core, &stop->inbox, op, core->chip.bus_hop_cycles)) return 0;
    mark(core->active, stop - core->bus);
    return 1;
}

/* A cycle of a stop: what kind it is. */
static i32 live_stop(Core *core, i64 place) {
    BusStop *stop = &core->bus[place];
    for (;;) switch (stop->state) {
        case RESTS:
            if (fifo_head(&stop->inbox, core->cycle) < 0) return IDLE;
            stop->op = fifo_take(core, &stop->inbox);
            wake_bus(core, place - 1);
            stop->state = has_bit(core, core->ops[stop->op].header, place) ? ADMITS : FORWARDS;
            break;
        case ADMITS:
            if (!look_at_fence(core, place)) return FLAG;
            if (is_buffered(&core->ops[stop->op]) && !fifo_gets(core, buffer_of(core, place, stop->op))) return FIFO;
            stop->state = FORWARDS;
            break;
        case FORWARDS:
            if (place < core->ops[stop->op].last_stop && !enters(core, stop + 1, stop->op)) return CREDIT;
            stop->busy_left = core->ops[stop->op].words;
            stop->state = CARRIES;
            break;
        default:
            core->stirred = 1;
            if (stop->busy_left--) return BUSY;
            if (has_bit(core, core->ops[stop->op].header, place)) copy_instruction(core, place, stop->op);
            stop->state = RESTS;
        }
}

static void request_stop(Core *core, i64 place) {
    BusStop *stop = &core->bus[place];
    i32 kind = live_stop(core, place);
    note(core, stop->account, core->cycle, kind, stop->op);
    int carries = stop->state == CARRIES || (stop->state == RESTS && stop->inbox.count);
    look_at_fence(core, place);
    if (!carries && stop->active_until <= core->cycle) unmark(core->active, place);
}

static int dispatch(Core *core, const Columns *op, i64 number) {
    int in = op->kind == INFEED_OP, out = !in || op->source == SOURCE_RING;
    Fifo *infeed = &core->infeed.buffer, *outfeed = &core->outfeed.buffer;
    if ((in && !fifo_room(infeed, core->cycle)) || (out && !fifo_room(outfeed, core->cycle))) return 0;
    if (in) fifo_add(core, infeed, number, 1);
    if (out) fifo_add(core, outfeed, number, 1);
    core->outfeeds += out;
    return 1;
}

static int awaits_fence(Core *core, const Columns *op) {
    if (core->fences < op->count || (op->idle && core->through < core->outfeeds)) return 1;
    core->fences -= op->count;
    core->request += op->begins;
    return 0;
}

static i32 live_controller(Core *core) {
    Thread *controller = &core->controller;
    for (;;) {
        if (controller->state == CARRIES) {
            core->stirred = 1;
            if (controller->until--) return BUSY;
            controller->state = RESTS;
            log_row(&core->events, core->cycle, -1, core->next_op++, CONTROLLER_UNIT, RETIRED, 0);
        }
        if (core->next_op == core->end_op) return IDLE;
        if (core->cycle < core->program_at[core->request]) return HOST;
        const Columns *op = &core->ops[core->next_op];
        controller->until = 1;
        if (op->kind == SCALAR_FENCE_OP) {
            if (awaits_fence(core, op)) return FLAG;
        } else if (op->kind == INFEED_OP || op->kind == OUTFEED_OP) {
            if (!dispatch(core, op, core->next_op)) return FIFO;
        } else {
            if (!enters(core, &core->bus[0], core->next_op)) return CREDIT;
            controller->until = op->words;
        }
        controller->state = CARRIES;
    }
}
