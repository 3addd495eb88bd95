/* The data ring: packets of one wide row pass from stop to stop. */

static Thread *thread_at(Core *core, i64 k) { return k == core->chip.tiles + 1 ? &core->classifier : &core->outfeed; }

/* Whether the node takes a packet in this cycle. */
static int is_ready(Core *core, i64 node) {
    if (node > core->chip.tiles) return thread_at(core, node)->posted;
    if (node == 0) return 0;
    Tile *tile = &core->tiles[node - 1];
    Engine *consumer = &tile->engines[RING_CONSUMER];
    if (consumer->op < 0 && !consumer->buffer.count) return 0;
    if (!(tile->held >> RING_CONSUMER & 1)) ask_tile(core, tile);
    return HAS_BEGUN(tile, consumer) && consumer->open;
}

/* The rows that an instruction takes, as far as they follow one another in a transfer. */
static void deliver_row(Core *core, i64 node, i64 op, i64 place, const Packet *packet) {
    Log *log = &core->deliveries;
    i64 *latest = &core->stops[node].delivered, *last = log->data + *latest;
    int same = *latest < log->count && last[0] == node && last[1] == op && last[3] == packet->transfer;
    if (same && last[2] + last[5] == place && last[4] + last[5] == packet->row) {
        last[5]++;
        return;
    }
    *latest = log->count;
    log_row(log, node, op, place, packet->transfer, packet->row, 1);
}

static void accept(Core *core, i64 node, const Packet *packet, int last) {
    core->stirred = 1;
    if (node > core->chip.tiles) {
        Thread *thread = thread_at(core, node);
        thread->acted = 1;
        if (!last) return;
        deliver_row(core, node, thread->op, thread->row, packet);
        thread->got = 1, thread->posted = 0;
        return;
    }
    Tile *tile = &core->tiles[node - 1];
    Engine *consumer = &tile->engines[RING_CONSUMER];
    rouse(core, tile, RING_CONSUMER);
    consumer->taken_now = 1;
    if (!last) return;
    deliver_row(core, node, consumer->op, consumer->step, packet);
    consumer->row = 1;
    tile->wide_left--;
}

static void hear_tail(Core *core, i64 node) {
    core->passing += node == 0;
    if (node == 0 || node > core->chip.tiles) return;
    raise_flag(&core->tiles[node - 1], FLAG_ORDINAL, -1);
    mark(core->poked, node - 1);
}

static void pass(Core *core, Stop *stop, Packet packet, i64 left, int own, int taken) {
    core->passages[core->passage_count++] = (Passage){stop, packet.transfer, packet.tail};
    core->stirred = 1;
    stop->passing[stop->passings++] = (Passing){packet, core->chip.ring_parts, own, taken, left > 0};
    if (left) {
        Stop *next = &core->stops[stop->node < core->chip.tiles + 2 ? stop->node + 1 : 0];
        i64 places = core->chip.ring_hop_cycles + 1;
        stop->credits--;
        stop->op = core->transfers[packet.transfer].op;
        packet.left = left;
        packet.at = core->cycle + core->chip.ring_hop_cycles;
        next->waiting[(next->head + next->count++) % places] = packet;
        if (!marked(core->carrying, next->node)) next->wakes_at = packet.at;
        mark(core->carrying, next->node);
    } else
        core->transfers[packet.transfer].afloat--;
}

/* Begin to take and forward what stands first, if that can be; what becomes of the link. */
static i32 pass_on(Core *core, Stop *stop) {
    i32 link = IDLE, foreign = 0;
    for (int k = 0; k < stop->passings; k++) {
        if (stop->passing[k].forwarded) link = BUSY;
        foreign |= !stop->passing[k].own;
    }
    if (foreign || !stop->count || stop->waiting[stop->head].at > core->cycle) return link;
    Packet packet = stop->waiting[stop->head];
    const Transfer *transfer = &core->transfers[packet.transfer];
    int taken = has_bit(core, core->ops[transfer->op].to, stop->node - 1 - transfer->shift);
    i64 left = packet.left - taken;
    if (taken && !is_ready(core, stop->node)) return link;
    if (left && (link == BUSY || !stop->credits)) return link == BUSY ? link : CREDIT;
    stop->head = (stop->head + 1) % (core->chip.ring_hop_cycles + 1);
    stop->count--;
    pass(core, stop, packet, left, 0, taken);
    return left ? BUSY : link;
}

static i32 send_own(Core *core, Stop *stop) {
    if (!stop->credits) return CREDIT;
    Transfer *transfer = &core->transfers[stop->outgoing.transfer];
    if (stop->node && stop->node <= core->chip.tiles) rouse(core, &core->tiles[stop->node - 1], RING_PRODUCER);
    stop->has_outgoing = 0;
    transfer->afloat++, transfer->sent = stop->outgoing.tail;
    pass(core, stop, stop->outgoing, stop->outgoing.left, 1, 0);
    return BUSY;
}

/* Let one more part of a packet go where it goes. */
static void pass_part(Core *core, Stop *stop, Stop *upstream, Passing *passing) {
    int last = !--passing->parts;
    core->stirred = 1;
    if (passing->taken) accept(core, stop->node, &passing->packet, last);
    if (last && !passing->own) core->credited[core->credited_count++] = upstream;
    if (last && passing->packet.tail) hear_tail(core, stop->node);
}

static void arbitrate_stop(Core *core, Stop *stop, Stop *upstream) {
    if (!stop->count && !stop->has_outgoing && !stop->passings) {
        note(core, stop->account, core->cycle, IDLE, -1);
        unmark(core->carrying, stop->node);
        return;
    }
    i32 kind = pass_on(core, stop), kept = 0;
    if (kind == CREDIT && !stop->passings) stop->wakes_at = NEVER; /* until there is one */
    if (stop->has_outgoing && kind != BUSY) kind = send_own(core, stop);
    for (int k = 0; k < stop->passings; k++) {
        pass_part(core, stop, upstream, &stop->passing[k]);
        if (stop->passing[k].parts) stop->passing[kept++] = stop->passing[k];
    }
    note(core, stop->account, core->cycle, kind, stop->op);
    stop->passings = kept;
    if (kind == IDLE && !kept && !stop->has_outgoing && stop->count) stop->wakes_at = stop->waiting[stop->head].at;
    if (kept != 1 || !stop->passing->forwarded || stop->passing->own || stop->node > core->chip.tiles) return;
    stop->wakes_at = core->cycle + stop->passing->parts; /* until its last part a packet lets nothing else happen */
    stop->passing->parts = 1;
}

/* Transfers meet if at some stop a packet of one lies between the first and the last of another. */
static void judge_passages(Core *core) {
    for (i64 k = 0; k < core->passage_count; k++) {
        const Passage *passage = &core->passages[k];
        i64 open = passage->stop->open;
        const Transfer *other = &core->transfers[open < 0 ? 0 : open];
        if (open >= 0 && open != passage->transfer && !(other->sent && !other->afloat)) core->collided = 1;
        passage->stop->open = passage->tail ? -1 : passage->transfer;
    }
    core->passage_count = 0;
}
