/* The host's links, infeed, outfeed and the classifier. */

/* When a link is through with what it begins with now; what is left of a cycle is that of what follows at once. */
static i64 carry(const Core *core, Carrier *link, i64 owes, i64 pays) {
    link->owed = owes + (core->cycle == link->until ? link->owed : 0);
    link->until = core->cycle + link->owed / pays;
    link->owed %= pays;
    return link->until;
}

/* The host's steps, in turn: each begins when the rows that it reads are there, which may be known ahead. */
static void begin_steps(Core *core) {
    for (; core->steps_begun < core->step_count; core->steps_begun++) {
        Step *step = core->steps + core->steps_begun;
        if (core->received.count < step->rows) return;
        i64 there = step->rows ? core->received.data[step->rows - 1] : core->start;
        step->ends_at = core->steps_end = (there > core->steps_end ? there : core->steps_end) + step->cycles;
    }
}

static i32 live_host_infeed(Core *core) {
    Thread *thread = &core->host_infeed;
    for (;;) {
        const Sending *sending = core->sendings + core->host_sent;
        if (thread->state == CARRIES) {
            if (core->cycle < thread->until) return BUSY;
            i64 later = core->chip.host_latency_cycles + (core->to_chip.owed > 0);
            if (sending->is_row) fifo_put(core, &core->host_queue, 0, later);
            if (!sending->is_row && !sending->pause_cycles) core->program_at[core->programs++] = core->cycle + later;
            core->host_sent++;
            thread->state = RESTS;
        } else if (thread->state == RESTS) {
            if (core->host_sent == core->host_sendings) return IDLE;
            if (core->steps_begun < sending->step) return HOST;
            if (sending->step) thread->until = core->steps[sending->step - 1].ends_at;
            if (core->cycle < thread->until) return HOST;
            thread->until = core->cycle + sending->pause_cycles;
            thread->state = ADMITS;
        } else {
            if (core->cycle < thread->until) return HOST;
            if (sending->is_row && !fifo_gets(core, &core->host_queue)) return FIFO;
            thread->until = carry(core, &core->to_chip, sending->owes, core->chip.to_chip_pays);
            thread->state = CARRIES;
        }
    }
}

/* What a row on its way to the ring waits for; 0: it is there. */
static i32 sends(Core *core, Thread *thread, i64 node) {
    if (thread->state == SENDS) {
        if (core->stops[node].has_outgoing) return CREDIT;
        thread->until = core->cycle + core->chip.ring_parts - 1;
        thread->state = ENTERS;
    }
    return core->cycle < thread->until ? BUSY : 0;
}

static void begin_infeed(Core *core) {
    Thread *thread = &core->infeed;
    const Columns *op = &core->ops[thread->op];
    if (thread->row == op->rounds) thread->row = 0, thread->transfers_done++;
    if (thread->transfers_done == op->transfers) {
        rests(core, thread, INFEED_UNIT);
        return;
    }
    if (!thread->row)
        thread->transfer = new_transfer(core, thread->op, thread->transfers_done, op->rounds, op->destinations, -1);
    thread->until = core->cycle + core->chip.data_row_cycles;
    thread->state = READS;
}

/* Whether the next row is there; else what is waited for. */
static i32 awaits_row(Core *core, const Columns *op) {
    if (op->source == SOURCE_DATA) return core->cycle < core->infeed.until ? BUSY : 0;
    Fifo *queue = op->source == SOURCE_HOST ? &core->host_queue : &core->forwarded;
    if (fifo_head(queue, core->cycle) < 0) return op->source == SOURCE_HOST ? HOST : FIFO;
    fifo_take(core, queue);
    return 0;
}

static i32 live_infeed(Core *core) {
    Thread *thread = &core->infeed;
    for (;;) {
        const Columns *op = thread->op < 0 ? NULL : &core->ops[thread->op];
        i32 kind;
        switch (thread->state) {
        case RESTS:
            if ((kind = takes_up(core, thread)) != BUSY) return kind;
            thread->transfers_done = thread->row = 0;
            thread->state = TURNS;
            break;
        case TURNS:
            if (core->passed < op->turn) return FLAG;
            begin_infeed(core);
            break;
        case READS:
            if ((kind = awaits_row(core, op))) return kind;
            offer(core, 0, thread->transfer, thread->row);
            thread->state = SENDS;
            break;
        default:
            if ((kind = sends(core, thread, 0))) return kind;
            thread->row++;
            begin_infeed(core);
        }
    }
}

static void next_row_of_outfeed(Core *core) {
    Thread *thread = &core->outfeed;
    const Columns *op = &core->ops[thread->op];
    i64 rows = op->rounds * (op->kind == INFEED_OP ? op->transfers : 1);
    core->stirred = 1;
    core->taken++;
    if (++thread->row < rows) {
        thread->posted = 1, thread->got = 0;
        thread->state = READS;
        return;
    }
    core->through++;
    rests(core, thread, OUTFEED_UNIT);
}

static i32 live_outfeed(Core *core) {
    Thread *thread = &core->outfeed;
    i32 kind;
    for (;;) switch (thread->state) {
        case RESTS:
            if ((kind = takes_up(core, thread)) != BUSY) return kind;
            thread->row = -1;
            next_row_of_outfeed(core);
            break;
        case READS:
            if (!thread->got) return FIFO;
            thread->state = core->ops[thread->op].kind == OUTFEED_OP ? SENDS : ENTERS;
            if (thread->state == ENTERS) break;
            const i64 *owes = core->pool + core->ops[thread->op].owes + thread->row;
            thread->until = carry(core, &core->from_chip, *owes, core->chip.from_chip_pays);
            note(core, core->host_outfeed.account, core->cycle, BUSY, core->received.count);
            break;
        case SENDS:
            if (core->cycle < thread->until) return BUSY;
            note(core, core->host_outfeed.account, core->cycle, IDLE, -1);
            core->last_arrival = core->cycle + core->chip.host_latency_cycles + (core->from_chip.owed > 0);
            memcpy(more(&core->received, 1), &core->last_arrival, sizeof(i64));
            begin_steps(core);
            next_row_of_outfeed(core);
            break;
        default:
            if (!fifo_add(core, &core->forwarded, 0, 0)) return FIFO;
            next_row_of_outfeed(core);
        }
}

static i32 live_classifier(Core *core) {
    Thread *thread = &core->classifier;
    i64 node = core->chip.tiles + 1;
    for (;;) {
        const Columns *op = thread->op < 0 ? NULL : &core->ops[thread->op];
        i32 kind;
        switch (thread->state) {
        case RESTS:
            if ((kind = takes_up(core, thread)) != BUSY) return kind;
            thread->row = thread->got = 0;
            thread->state = READS;
            break;
        case READS:
            if (thread->got) thread->row++;
            thread->got = 0;
            if ((thread->posted = thread->row < op->rounds)) return FIFO;
            thread->until = core->cycle + op->classify_cycles;
            thread->state = TURNS;
            break;
        case TURNS:
            if (core->cycle < thread->until) return BUSY;
            thread->transfer = new_transfer(core, thread->op, 0, op->reply_rows, 1, core->chip.tiles);
            log_row(&core->events, core->cycle, -1, thread->op, CLASSIFIER_UNIT, RETIRED, thread->transfer);
            thread->row = 0;
            thread->state = REPLIES;
            break;
        case REPLIES:
            offer(core, node, thread->transfer, thread->row);
            thread->state = SENDS;
            break;
        default:
            if ((kind = sends(core, thread, node))) return kind;
            core->stirred = 1;
            thread->state = ++thread->row < op->reply_rows ? REPLIES : RESTS;
            if (thread->state == RESTS) thread->op = -1;
        }
    }
}
