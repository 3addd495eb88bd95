/* The whole chip, cycle by cycle; cycles in which nothing can happen are skipped. */
#include "core.h"

#include "common.c"
#include "engine.c"
#include "ring.c"
#include "bus.c"
#include "host.c"

static const i32 BY_PRIORITY[] = {
    MESH_IN_NORTH, MESH_IN_EAST, MESH_IN_SOUTH, MESH_IN_WEST, MESH_OUT_NORTH, MESH_OUT_EAST,
    MESH_OUT_SOUTH, MESH_OUT_WEST, NARROW_TO_WIDE, WIDE_TO_NARROW, TENSOR,
};

/* The tile's cycle begins, if it has not yet. */
static void ask_tile(Core *core, Tile *tile) {
    if (tile->asked) return;
    tile->asked = 1;
    tile->stirred = 0;
    tile->wide_left = (i32)core->chip.wide_ports;
    tile->read_left = tile->write_left = 1;
    for (i32 busy = tile->busy_engines; busy; busy &= busy - 1) request(core, tile, &tile->engines[__builtin_ctz(busy)]);
}

static void arbitrate_tile(Core *core, Tile *tile) {
    claim_producer(core, tile, &tile->engines[RING_PRODUCER]);
    for (size_t k = 0; k < sizeof BY_PRIORITY / sizeof *BY_PRIORITY; k++)
        if (tile->busy_engines >> BY_PRIORITY[k] & 1) arbitrate_engine(core, tile, &tile->engines[BY_PRIORITY[k]]);
}

static int has_beats(const Core *core, const Tile *tile) {
    for (int side = 0; side < 4; side++) {
        const Link *link = link_into(core, tile, side);
        if (link && (link->count || link->waiting)) return 1;
    }
    return 0;
}

/* A tile in which nothing has happened sleeps until something comes from outside. */
static void commit_tile(Core *core, Tile *tile) {
    for (i32 busy = tile->busy_engines; busy; busy &= busy - 1)
        commit_engine(core, tile, &tile->engines[__builtin_ctz(busy)]);
}

static void commit_late(Core *core, Tile *tile) {
    int heard = tile->poked;
    for (i32 busy = tile->busy_engines >> MESH_OUT_FIRST; busy; busy &= busy - 1)
        hear_of_writes(core, tile, &tile->engines[MESH_OUT_FIRST + __builtin_ctz(busy)]);
    int changed = tile->changed != 0;
    commit_flags(tile);
    tile->awake = changed || heard || tile->stirred || tile->engines[RING_PRODUCER].packet || has_beats(core, tile);
    tile->asked = tile->poked = 0;
}

static i32 shown(const Core *core, const Thread *thread, i32 kind, i64 node) {
    int sent = kind == CREDIT && !core->stops[node].has_outgoing;
    return thread->acted || sent ? BUSY : kind;
}

static void commit_threads(Core *core, i32 infeed, i32 outfeed, i32 classifier) {
    note(core->infeed.account, core->cycle, shown(core, &core->infeed, infeed, 0));
    note(core->outfeed.account, core->cycle, core->outfeed.acted ? BUSY : outfeed);
    note(core->classifier.account, core->cycle, shown(core, &core->classifier, classifier, core->chip.tiles + 1));
    core->passed += core->passing;
    core->passing = 0;
    core->outfeed.acted = core->classifier.acted = 0;
}

static void step(Core *core) {
    i64 tiles = core->chip.tiles, stops = tiles + 3;
    core->stirred = 0;
    note(core->host_infeed.account, core->cycle, live_host_infeed(core));
    i32 outfeed = live_outfeed(core), infeed = live_infeed(core);
    for (i64 k = 0; k <= tiles; k++)
        if (core->bus[k].active) request_stop(core, k);
    i32 classifier = live_classifier(core);
    note(core->controller.account, core->cycle, live_controller(core));
    for (i64 k = 0; k < tiles; k++)
        if (core->tiles[k].awake) ask_tile(core, &core->tiles[k]);
    for (i64 k = 0; k < stops; k++) arbitrate_stop(core, &core->stops[k], &core->stops[k ? k - 1 : stops - 1]);
    for (i64 k = 0; k < tiles; k++)
        if (core->tiles[k].asked) arbitrate_tile(core, &core->tiles[k]);
    commit_threads(core, infeed, outfeed, classifier);
    for (i64 k = 0; k < tiles; k++)
        if (core->tiles[k].asked) commit_tile(core, &core->tiles[k]);
    for (i64 k = 0; k < tiles; k++)
        if (core->tiles[k].asked || core->tiles[k].poked) commit_late(core, &core->tiles[k]);
    for (i64 k = 0; k < stops; k++) {
        if (core->stops[k].returned) core->stirred = 1;
        core->stops[k].credits += core->stops[k].returned;
        core->stops[k].returned = 0;
    }
    judge_passages(core);
}

static i64 sooner(i64 now, i64 soonest, i64 at) {
    return at > now && at < soonest ? at : soonest;
}

/* The next cycle in which something is sure to come, NEVER: none. */
static i64 next_event(const Core *core) {
    i64 now = core->cycle, next = NEVER;
    const Fifo *queues[] = {&core->host_queue, &core->forwarded, &core->infeed.buffer, &core->outfeed.buffer};
    const Thread *threads[] = {&core->host_infeed, &core->infeed, &core->outfeed, &core->classifier};
    for (int k = 0; k < 4; k++) {
        if (queues[k]->count) next = sooner(now, next, queues[k]->at[queues[k]->head]);
        if (threads[k]->state != RESTS) next = sooner(now, next, threads[k]->until);
    }
    for (i64 k = 0; k < core->chip.tiles + 3; k++)
        if (core->stops[k].count) next = sooner(now, next, core->stops[k].waiting[core->stops[k].head].at);
    for (i64 k = 0; k <= core->chip.tiles; k++)
        if (core->bus[k].inbox.count) next = sooner(now, next, core->bus[k].inbox.at[core->bus[k].inbox.head]);
    for (i64 k = 0; k < 4 * core->chip.tiles; k++) {
        const Link *link = &core->tiles[k / 4].links[k % 4];
        if (link->count) next = sooner(now, next, link->arrivals[link->head]);
    }
    return next;
}

/* Whether nothing is in the middle of something. */
static int is_over(const Core *core, i64 rows_out) {
    if (core->next_op < core->end_op || core->host_sent < core->host_rows || core->received != rows_out) return 0;
    if (core->infeed.op >= 0 || core->outfeed.op >= 0 || core->classifier.op >= 0) return 0;
    for (i64 k = 0; k < core->chip.tiles + 3; k++)
        if (core->stops[k].count || core->stops[k].has_outgoing) return 0;
    for (i64 k = 0; k <= core->chip.tiles; k++)
        if (core->bus[k].state != RESTS || core->bus[k].inbox.count) return 0;
    for (i64 k = 0; k < core->chip.tiles; k++)
        if (core->tiles[k].busy_engines) return 0;
    return 1;
}

static void restart(Core *core, i64 first, i64 end, i64 rows) {
    core->start = core->cycle;
    for (i64 k = 0; k < core->chip.accounts; k++) {
        settle(&core->accounts[k], core->start);
        memset(core->accounts[k].cycles, 0, sizeof core->accounts[k].cycles);
    }
    memset(core->spent, 0, (size_t)(core->chip.tiles * core->chip.layers * CAUSES) * sizeof(i64));
    for (i64 k = 0; k < core->chip.tiles; k++) core->tiles[k].tensor_end = core->start;
    core->events.count = core->deliveries.count = core->waits.count = 0;
    core->passed = core->host_sent = core->received = 0;
    core->host_rows = rows;
    core->next_op = first;
    core->end_op = end;
}

/* Run the instructions from `first` to `end` with so many rows from the host, up to so many back to it; the first
   cycle and that after the last stand in `cycles`. What came of it: one of OUTCOMES. */
i64 core_run(Core *core, i64 first, i64 end, i64 rows_in, i64 rows_out, i64 latest, i64 *cycles) {
    restart(core, first, end, rows_in);
    for (;;) {
        step(core);
        if (core->collided) return COLLIDED;
        if (core->stirred)
            core->cycle++;
        else {
            i64 next = next_event(core);
            core->cycle = next == NEVER ? core->cycle + 1 : next;
            if (next == NEVER) break;
        }
        if (core->cycle > latest) return ENDLESS;
    }
    cycles[0] = core->start;
    cycles[1] = core->start > core->last_arrival ? core->start : core->last_arrival;
    for (i64 k = 0; k < core->chip.accounts; k++) {
        if (core->accounts[k].active_until > cycles[1]) cycles[1] = core->accounts[k].active_until;
    }
    return is_over(core, rows_out) ? ENDED : HUNG;
}

static Account *next_account(Core *core) {
    return &core->accounts[core->chip.accounts++];
}

static void new_thread(Core *core, Thread *thread) {
    thread->account = next_account(core);
    thread->op = -1;
    fifo_new(&thread->buffer, core->chip.buffer_depth, core->chip.buffer_depth);
}

static void new_tile(Core *core, i64 index) {
    Tile *tile = &core->tiles[index];
    i64 columns = core->chip.columns, row = index / columns, column = index % columns;
    int beside[] = {row > 0, column + 1 < columns, (index + columns) < core->chip.tiles, column > 0};
    i64 steps[] = {-columns, 1, columns, -1};
    tile->index = index;
    for (i32 k = 0; k < ENGINES; k++) {
        tile->engines[k].account = next_account(core);
        tile->engines[k].op = -1;
        tile->engines[k].number = k;
        fifo_new(&tile->engines[k].buffer, core->chip.buffer_depth, core->chip.buffer_depth);
    }
    tile->mac = next_account(core);
    for (int side = 0; side < 4; side++) {
        tile->links[side].account = next_account(core);
        tile->links[side].to = beside[side] ? (i32)(index + steps[side]) : -1;
        tile->links[side].arrivals = zeros(core->chip.mesh_room_beats, sizeof(i64));
    }
}

static void new_stop(Core *core, i64 node) {
    Stop *stop = &core->stops[node];
    stop->account = next_account(core);
    stop->node = (i32)node;
    stop->open = -1;
    stop->credits = core->chip.ring_hop_cycles + 1;
    stop->waiting = zeros(stop->credits, sizeof(Packet));
}

static void new_bus_stop(Core *core, i64 place) {
    BusStop *stop = &core->bus[place];
    stop->account = next_account(core);
    stop->op = stop->fence = -1;
    fifo_new(&stop->inbox, core->chip.bus_hop_cycles + 1, core->chip.bus_hop_cycles + 1);
}

/* A chip at rest; the tables must outlive it. */
Core *core_new(const Chip *chip, const Columns *ops, const i64 *pool, const u64 *bitmaps) {
    Core *core = zeros(1, sizeof(Core));
    core->ops = ops;
    core->pool = pool;
    core->bitmaps = bitmaps;
    core->chip = *chip;
    core->chip.accounts = 0;
    core->accounts = zeros(chip->accounts, sizeof(Account));
    core->tiles = zeros(chip->tiles, sizeof(Tile));
    core->stops = zeros(chip->tiles + 3, sizeof(Stop));
    core->bus = zeros(chip->tiles + 1, sizeof(BusStop));
    for (i64 k = 0; k < chip->tiles; k++) new_tile(core, k);
    for (i64 k = 0; k < chip->tiles + 3; k++) new_stop(core, k);
    for (i64 k = 0; k <= chip->tiles; k++) new_bus_stop(core, k);
    new_thread(core, &core->host_infeed);
    core->host_outfeed = next_account(core);
    new_thread(core, &core->infeed);
    new_thread(core, &core->outfeed);
    new_thread(core, &core->classifier);
    new_thread(core, &core->controller);
    fifo_new(&core->host_queue, chip->host_queue_rows, chip->host_rows);
    fifo_new(&core->forwarded, FORWARDED_ROWS, FORWARDED_ROWS);
    core->arrivals = zeros(chip->outputs, sizeof(i64));
    core->transfers = zeros(chip->transfers, sizeof(Transfer));
    core->passages = zeros(6 * (chip->tiles + 3), sizeof(i64));
    core->spent = zeros(chip->tiles * chip->layers * CAUSES, sizeof(i64));
    return core;
}

void core_free(Core *core) {
    for (i64 k = 0; k < core->chip.tiles; k++) {
        for (int e = 0; e < ENGINES; e++) fifo_free(&core->tiles[k].engines[e].buffer);
        for (int side = 0; side < 4; side++) free(core->tiles[k].links[side].arrivals);
    }
    for (i64 k = 0; k < core->chip.tiles + 3; k++) free(core->stops[k].waiting);
    for (i64 k = 0; k <= core->chip.tiles; k++) fifo_free(&core->bus[k].inbox);
    Fifo *queues[] = {&core->host_infeed.buffer, &core->infeed.buffer, &core->outfeed.buffer, &core->classifier.buffer,
                      &core->controller.buffer, &core->host_queue, &core->forwarded};
    for (size_t k = 0; k < sizeof queues / sizeof *queues; k++) fifo_free(queues[k]);
    void *arrays[] = {core->accounts, core->tiles, core->stops, core->bus, core->arrivals, core->transfers,
                      core->passages, core->spent, core->events.data, core->deliveries.data, core->waits.data, core};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) free(arrays[k]);
}

/* What is read out: how many numbers there are of each of READOUTS, and where they stand. */
i64 core_read(const Core *core, i64 what, const i64 **numbers) {
    const Log *logs[] = {&core->events, &core->deliveries, &core->waits};
    if (what < 3) {
        *numbers = logs[what]->data;
        return logs[what]->count;
    }
    *numbers = what == READ_SPENT ? core->spent : what == READ_ARRIVALS ? core->arrivals : (const i64 *)core->transfers;
    if (what == READ_SPENT) return core->chip.tiles * core->chip.layers * CAUSES;
    return what == READ_ARRIVALS ? core->chip.outputs : core->transfer_count * (i64)(sizeof(Transfer) / sizeof(i64));
}

/* The cycles of each account by kind, up to `end`; what a unit did last goes on to there; of a tensor
   control that rests at last there is no more work. */
void core_accounts(const Core *core, i64 end, i64 *cycles) {
    for (i64 k = 0; k < core->chip.accounts; k++) {
        const Account *account = &core->accounts[k];
        memcpy(cycles + k * KINDS, account->cycles, sizeof account->cycles);
        i64 place = k < core->chip.tiles * ACCOUNTS_A_TILE ? k % ACCOUNTS_A_TILE : -1;
        int works = place == TENSOR || place == ENGINES; /* with its MAC array */
        cycles[k * KINDS + (works && account->kind == IDLE ? WORK : account->kind)] += end - account->since;
    }
}
