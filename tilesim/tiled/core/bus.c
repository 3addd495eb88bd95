/* The instruction bus, and the controller that sends instructions over it. */

static int fence_is_through(const Core *core, i64 place, i64 fence) {
    if (place == core->chip.tiles) return 1;
    return !(core->tiles[place].busy_engines & core->ops[fence].idle);
}

/* Whether no fence holds what follows; the flags return to 0, and the controller hears of it at once. */
static int look_at_fence(Core *core, i64 place) {
    BusStop *stop = &core->bus[place];
    if (stop->fence >= 0 && fence_is_through(core, place, stop->fence)) {
        const Columns *fence = &core->ops[stop->fence];
        Tile *tile = &core->tiles[place];
        tile->resets |= fence->reset;
        tile->changed = tile->poked = 1;
        core->fences += fence->increment;
        core->stirred = 1;
        stop->fence = -1;
    }
    return stop->fence < 0;
}

static Fifo *buffer_of(Core *core, i64 place, i64 op) {
    return place == core->chip.tiles ? &core->classifier.buffer : &core->tiles[place].engines[core->ops[op].engine].buffer;
}

static int is_buffered(const Columns *op) {
    return op->kind == WORK_OP || op->kind == CLASSIFY_OP;
}

static void copy_instruction(Core *core, i64 place, i64 op) {
    BusStop *stop = &core->bus[place];
    if (core->ops[op].kind == FENCE_OP) {
        stop->fence = op;
        core->stirred = 1;
    } else if (is_buffered(&core->ops[op])) {
        fifo_put(core, buffer_of(core, place, op), op, 0);
        if (place < core->chip.tiles) {
            Tile *tile = &core->tiles[place];
            Engine *engine = &tile->engines[core->ops[op].engine];
            engine->unfinished++;
            tile->busy_engines |= 1 << engine->number;
            tile->awake = 1;
        }
    }
}

static int enters(Core *core, BusStop *stop, i64 op) {
    if (!fifo_room(&stop->inbox, core->cycle)) return 0;
    fifo_reserve(core, &stop->inbox);
    fifo_put(core, &stop->inbox, op, core->chip.bus_hop_cycles);
    stop->active = 1;
    return 1;
}

static void wake_bus(Core *core, i64 place) {
    if (place < 0) return;
    core->bus[place].active = 1;
    core->bus[place].active_until = core->cycle + 1;
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
        case ADMITS: {
            if (!look_at_fence(core, place)) return FLAG;
            if (is_buffered(&core->ops[stop->op])) {
                Fifo *buffer = buffer_of(core, place, stop->op);
                if (!fifo_room(buffer, core->cycle)) return FIFO;
                fifo_reserve(core, buffer);
            }
            stop->state = FORWARDS;
            break;
        }
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
    note(stop->account, core->cycle, live_stop(core, place));
    int carries = stop->state == CARRIES || (stop->state == RESTS && stop->inbox.count);
    look_at_fence(core, place);
    stop->active = carries || stop->active_until > core->cycle;
}

static int dispatch(Core *core, const Columns *op, i64 number) {
    int in = op->kind == INFEED_OP, out = !in || op->source == SOURCE_RING;
    if (!core->controller.posted) {
        core->outfeeds += out;
        core->controller.posted = 1;
    }
    if (in && !core->controller.got) {
        if (!fifo_room(&core->infeed.buffer, core->cycle)) return 0;
        fifo_reserve(core, &core->infeed.buffer);
        core->controller.got = 1;
    }
    if (out) {
        if (!fifo_room(&core->outfeed.buffer, core->cycle)) return 0;
        fifo_reserve(core, &core->outfeed.buffer);
    }
    if (in) fifo_put(core, &core->infeed.buffer, number, 1);
    if (out) fifo_put(core, &core->outfeed.buffer, number, 1);
    core->controller.posted = core->controller.got = 0;
    return 1;
}

static int awaits_fence(Core *core, const Columns *op) {
    Thread *controller = &core->controller;
    if (!controller->got) {
        if (core->fences < op->count) return 1;
        core->fences -= op->count;
        controller->got = 1;
    }
    if (op->idle && core->through < core->outfeeds) return 1;
    controller->got = 0;
    return 0;
}

static i32 live_controller(Core *core) {
    Thread *controller = &core->controller;
    for (;;) {
        if (controller->state == CARRIES) {
            core->stirred = 1;
            if (controller->until--) return BUSY;
            controller->state = RESTS;
            core->next_op++;
        }
        if (core->next_op == core->end_op) return IDLE;
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
