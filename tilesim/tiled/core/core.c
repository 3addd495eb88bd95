/* The whole chip, cycle by cycle; cycles in which nothing can happen are skipped. */
#include "core.h"
#include "common.c"
#include "engine.c"
#include "ahead.c"
#include "ring.c"
#include "bus.c"
#include "host.c"

/* In the order in which ports serve them: ring, mesh, copies, tensor control. */
static void arbitrate_tile(Core *core, Tile *tile) {
    u64 asks = (u64)(stirring(tile) & tile->begun), first = asks & (1 << RING_PRODUCER | MESH_BITS);
    for (u64 left = first | (asks & COPY_BITS) << 16 | (asks & 1 << TENSOR) << 32; left; left &= left - 1) {
        Engine *engine = &tile->engines[__builtin_ctzll(left) % 16];
        ROLES[engine->number].arbitrate(core, tile, engine);
    }
}

/* A tile whose engines all wait sleeps until something comes from outside. */
static void settle(Core *core, Tile *tile) {
    commit_flags(tile);
    i32 left = stirring(tile);
    int rests = !left || (left == 1 << TENSOR && tile->works && goes_ahead(core, tile));
    (rests ? unmark : mark)(core->awake, tile->index);
}

static void commit_tile(Core *core, Tile *tile) {
    for (i32 left = stirring(tile); left; left &= left - 1)
        commit_engine(core, tile, &tile->engines[__builtin_ctz(left)]);
    settle(core, tile);
}

/* From outside flags are raised and reset, and neighbours have written. */
static void hear(Core *core, Tile *tile) {
    if (marked(core->ahead, tile->index)) catch_up(core, tile, core->cycle + 1);
    for (i32 busy = tile->busy_engines >> MESH_OUT_NORTH; busy; busy &= busy - 1)
        hear_of_writes(core, tile, &tile->engines[MESH_OUT_NORTH + __builtin_ctz(busy)]);
    settle(core, tile);
}

static void note_master(Core *core, const Thread *thread, i32 kind, i64 node) {
    int sent = kind == CREDIT && !core->stops[node].has_outgoing;
    note(core, thread->account, core->cycle, thread->acted || sent ? BUSY : kind, thread->op);
}

static void step(Core *core) {
    i64 tiles = core->chip.tiles, stops = tiles + 3;
    core->stirred = 0;
    i32 outfeed = live_outfeed(core), host_infeed = live_host_infeed(core), infeed = live_infeed(core);
    note(core, core->host_infeed.account, core->cycle, host_infeed, core->host_sent);
    EACH(k, core->active) request_stop(core, k);
    i32 classifier = live_classifier(core), controller = live_controller(core);
    note(core, core->controller.account, core->cycle, controller, core->next_op);
    if (core->cycle >= core->next_wake) wake_tiles(core);
    EACH(k, core->awake) ask_tile(core, &core->tiles[k]);
    EACH(k, core->carrying) if (core->stops[k].wakes_at <= core->cycle)
        arbitrate_stop(core, &core->stops[k], &core->stops[k ? k - 1 : stops - 1]);
    EACH(k, core->asked) arbitrate_tile(core, &core->tiles[k]);
    note_master(core, &core->infeed, infeed, 0);
    note(core, core->outfeed.account, core->cycle, core->outfeed.acted ? BUSY : outfeed, core->taken + (outfeed == HOLD));
    note_master(core, &core->classifier, classifier, tiles + 1);
    core->passed += core->passing;
    core->passing = core->outfeed.acted = core->classifier.acted = 0;
    EACH(k, core->asked) commit_tile(core, &core->tiles[k]);
    EACH(k, core->poked) hear(core, &core->tiles[k]);
    for (i64 k = 0; k < core->chip.bitmap_words; k++) core->asked[k] = core->poked[k] = 0;
    core->stirred |= core->credited_count > 0;
    while (core->credited_count) {
        Stop *stop = core->credited[--core->credited_count];
        stop->credits++;
        if (stop->wakes_at == NEVER) stop->wakes_at = 0;
    }
    judge_passages(core);
}

/* The next cycle in which something is sure to come, NEVER: none. */
static i64 next_event(const Core *core) {
    i64 now = core->cycle, next = sooner(now, core->next_wake, core->program_at[core->request]);
    const Fifo *queues[] = {&core->host_queue, &core->forwarded, &core->infeed.buffer, &core->outfeed.buffer};
    const Thread *threads[] = {&core->host_infeed, &core->infeed, &core->outfeed, &core->classifier};
    for (int k = 0; k < 4; k++) {
        if (queues[k]->count) next = sooner(now, next, queues[k]->at[queues[k]->head]);
        next = sooner(now, next, threads[k]->until);
    }
    EACH(k, core->carrying) {
        const Stop *stop = &core->stops[k];
        if (stop->count) next = sooner(now, next, stop->waiting[stop->head].at);
        next = sooner(now, next, stop->wakes_at);
    }
    EACH(k, core->active)
        if (core->bus[k].inbox.count) next = sooner(now, next, core->bus[k].inbox.at[core->bus[k].inbox.head]);
    EACH(k, core->awake) for (int number = 0; number < ENGINES; number++) {
        const Engine *engine = &core->tiles[k].engines[number];
        const Link *link = engine->link;
        if (link && link->count) next = sooner(now, next, link->arrivals[link->head]);
        next = sooner(now, sooner(now, next, engine->addressed_at), engine->begins_at);
    }
    return next;
}

/* Whether nothing is in the middle of something. */
static int is_over(const Core *core, i64 rows_out) {
    for (i64 k = 0; k < core->chip.accounts; k++)
        if (core->accounts[k].cause != IDLE) return 0;
    EACH(k, core->carrying) if (core->stops[k].count || core->stops[k].has_outgoing) return 0;
    return core->next_op == core->end_op && core->host_sent == core->host_sendings &&
           core->steps_begun == core->step_count && core->received.count == rows_out;
}

/* Run the instructions from `first` to `end` with what the host sends, its steps, and so many rows back to it; `cycles`
   says how far it is, and then the first cycle, and that after the last. What came of it: one of OUTCOMES. */
i64 core_run(Core *core, i64 first, i64 end, const Sending *sendings, i64 sending_count, Step *steps,
             i64 step_count, i64 rows_out, i64 latest, volatile i64 *cycles) {
    core->start = core->steps_end = core->cycle;
    for (i64 k = 0; k < core->chip.accounts; k++) {
        count(core, &core->accounts[k], core->start);
        core->accounts[k].since = core->start;
        memset(core->accounts[k].cycles, 0, sizeof core->accounts[k].cycles);
    }
    memset(core->spent, 0, (size_t)(core->chip.tiles * core->chip.layers * CAUSES) * sizeof(i64));
    for (i64 k = 0; k < core->chip.tiles; k++) core->tiles[k].tensor_end = core->start;
    core->events.count = core->deliveries.count = core->waits.count = core->received.count = 0;
    core->passed = core->host_sent = core->steps_begun = core->taken = core->programs = core->request = 0;
    for (i64 k = 0; k < core->chip.requests; k++) core->program_at[k] = core->chip.announces ? NEVER : 0;
    core->next_op = first, core->end_op = end, core->sendings = sendings, core->host_sendings = sending_count;
    core->steps = steps, core->step_count = step_count;
    begin_steps(core);
    for (i64 next = 0; next != NEVER; core->cycle = next == NEVER ? core->cycle : next) {
        step(core);
        cycles[0] = core->cycle - core->start;
        if (core->collided) return COLLIDED;
        if (core->cycle > latest) return ENDLESS;
        next = core->stirred ? core->cycle + 1 : next_event(core);
    }
    cycles[0] = core->start;
    cycles[1] = core->steps_end > core->last_arrival ? core->steps_end : core->last_arrival;
    for (i64 k = 0; k < core->chip.accounts; k++)
        if (core->accounts[k].active_until > cycles[1]) cycles[1] = core->accounts[k].active_until;
    return is_over(core, rows_out) ? ENDED : HUNG;
}

static Account *next_account(Core *core) { return &core->accounts[core->chip.accounts++]; }

static void new_tile(Core *core, i64 index) {
    Tile *tile = &core->tiles[index];
    tile->index = index;
    for (i32 k = 0; k < ENGINES; k++) {
        Engine *engine = &tile->engines[k];
        *engine = (Engine){.account = next_account(core), .link = engine->link, .op = -1, .number = k};
        fifo_new(core, &engine->buffer, core->chip.buffer_depth, core->chip.buffer_depth);
    }
    tile->mac = next_account(core);
    i64 columns = core->chip.columns, row = index / columns, column = index % columns;
    i64 steps[] = {-columns, 1, columns, -1};
    int beside[] = {row > 0, column + 1 < columns, (index + columns) < core->chip.tiles, column > 0};
    for (int side = 0; side < 4; side++) {
        Link *link = &tile->links[side];
        link->account = next_account(core);
        if (!beside[side]) continue;
        link->from = index, link->to = index + steps[side];
        link->arrivals = zeros(core, core->chip.mesh_room_beats, sizeof(i64));
        link->sender = &tile->engines[MESH_OUT_NORTH + side];
        link->receiver = &core->tiles[link->to].engines[MESH_IN_NORTH + (side ^ 2)];
        link->sender->link = link->receiver->link = link;
    }
}

/* A chip at rest, which `traces` whatever its units do, or not; the tables must outlive it. */
Core *core_new(const Chip *chip, const Columns *ops, const i64 *pool, const u64 *bitmaps, i64 traces) {
    Core *core = calloc(1, sizeof(Core));
    *core = (Core){ops, pool, bitmaps, *chip, .next_wake = NEVER, .traces = (i32)traces};
    core->chip.accounts = 0;
    core->accounts = zeros(core, chip->accounts, sizeof(Account));
    core->tiles = zeros(core, chip->tiles, sizeof(Tile));
    core->stops = zeros(core, chip->tiles + 3, sizeof(Stop));
    core->bus = zeros(core, chip->tiles + 1, sizeof(BusStop));
    for (i64 k = 0; k < chip->tiles; k++) new_tile(core, k);
    for (i64 k = 0, credits = chip->ring_hop_cycles + 1; k < chip->tiles + 3; k++) {
        core->stops[k] = (Stop){.account = next_account(core), .node = (i32)k, .open = -1, .credits = credits};
        core->stops[k].waiting = zeros(core, credits, sizeof(Packet));
    }
    for (i64 k = 0; k <= chip->tiles; k++) {
        core->bus[k] = (BusStop){.account = next_account(core), .op = -1, .fence = -1};
        fifo_new(core, &core->bus[k].inbox, chip->bus_hop_cycles + 1, chip->bus_hop_cycles + 1);
    }
    Thread *threads[] = {&core->host_infeed, &core->host_outfeed, &core->infeed,
                         &core->outfeed,     &core->classifier,   &core->controller};
    for (int k = 0; k < 6; k++) {
        *threads[k] = (Thread){.account = next_account(core), .op = -1};
        fifo_new(core, &threads[k]->buffer, chip->buffer_depth, chip->buffer_depth);
    }
    fifo_new(core, &core->host_queue, chip->host_queue_rows, chip->host_rows);
    fifo_new(core, &core->forwarded, FORWARDED_ROWS, FORWARDED_ROWS);
    core->program_at = zeros(core, chip->requests + 1, sizeof(i64));
    core->transfers = zeros(core, chip->transfers, sizeof(Transfer));
    core->passages = zeros(core, 2 * (chip->tiles + 3), sizeof(Passage));
    core->credited = zeros(core, 2 * (chip->tiles + 3), sizeof(Stop *));
    u64 **sets[] = {&core->awake, &core->asked, &core->poked, &core->ahead, &core->carrying, &core->active};
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) *sets[k] = zeros(core, chip->bitmap_words, sizeof(u64));
    core->spent = zeros(core, chip->tiles * chip->layers * CAUSES, sizeof(i64));
    return core;
}

void core_free(Core *core) {
    Log logs[] = {core->events, core->deliveries, core->waits, core->wakes, core->received};
    for (size_t k = 0; k < sizeof logs / sizeof *logs; k++) free(logs[k].data);
    for (i64 k = 0; k < core->chip.accounts; k++) free(core->accounts[k].notes.data);
    for (void **block = core->blocks, **next; block; block = next) {
        next = block[0];
        free(block);
    }
    free(core);
}

/* What is read out, one of READOUTS, the last for each account: how many numbers there are, and where they stand. */
i64 core_read(const Core *core, i64 what, const i64 **numbers) {
    i64 spent = core->chip.tiles * core->chip.layers * CAUSES, a_transfer = sizeof(Transfer) / sizeof(i64);
    const Log read[] = {core->events, core->deliveries, core->waits, {core->spent, spent, 0},
                        core->received, {core->program_at, core->chip.requests, 0},
                        {(i64 *)core->transfers, core->transfer_count * a_transfer, 0}, core->wakes};
    const Log *log = what < READ_NOTES ? &read[what] : &core->accounts[what - READ_NOTES].notes;
    *numbers = log->data;
    return log->count;
}

/* The cycles of each account by kind when the run is over, at `end`; tensor controls that rest have no more work. */
void core_accounts(Core *core, i64 end, i64 *cycles) {
    for (i64 k = 0; k < core->chip.accounts; k++) {
        Account *account = &core->accounts[k];
        i64 place = k < core->chip.tiles * ACCOUNTS_A_TILE ? k % ACCOUNTS_A_TILE : -1;
        int works = place == TENSOR || place == ENGINES; /* with its MAC array */
        if (works && account->cause == IDLE) note(core, account, account->since, WORK, -1);
        count(core, account, end);
        memcpy(cycles + k * KINDS, account->cycles, sizeof account->cycles);
    }
}
