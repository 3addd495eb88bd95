/* Accounts, queues, flags, logs. */

/* So many more numbers of a log. */
static void *more(Log *log, i64 count) {
    if (log->count + count > log->capacity) {
        log->capacity = log->capacity ? 2 * log->capacity : 4096;
        log->data = realloc(log->data, (size_t)log->capacity * sizeof(i64));
    }
    log->count += count;
    return log->data + log->count - count;
}

/* Count the cycles of what has gone on until then. */
static void count(const Core *core, Account *account, i64 cycle) {
    u64 since = (u64)account->since; /* of a run that is given up it may be too late for a note */
    if (account->since >= cycle) return;
    account->cycles[account->cause < CAUSE_FLAG ? account->cause : FLAG] += cycle - account->since;
    if (account->cause != IDLE) account->active_until = cycle;
    if (core->traces)
        *(u64 *)more(&account->notes, 1) = since << NOTED_CYCLE | (u64)(account->op + 1) << NOTED_WORK | account->cause;
}

static void note(const Core *core, Account *account, i64 cycle, i32 cause, i64 op) {
    if (cause == account->cause && (op == account->op || cause == IDLE)) return;
    count(core, account, cycle);
    account->since = cycle;
    account->cause = cause;
    account->op = op;
}

/* Memory that goes with the core. */
static void *zeros(Core *core, i64 count, size_t size) {
    void **block = calloc(1, 2 * sizeof(void *) + (size_t)count * size);
    block[0] = core->blocks;
    core->blocks = block;
    return block + 2;
}

static void log_row(Log *log, i64 a, i64 b, i64 c, i64 d, i64 e, i64 f) {
    memcpy(more(log, LOG_COLUMNS), (i64[]){a, b, c, d, e, f}, LOG_COLUMNS * sizeof(i64));
}

/* Each number of a set, in order, also of those that come behind the one at hand. */
#define EACH(k, set) \
    for (i64 k, word = 0; word < core->chip.bitmap_words; word++) \
        for (u64 gone = 0, left_; (left_ = (set)[word] & ~gone) && (k = 64 * word + __builtin_ctzll(left_), 1); \
             gone = left_ ^ (left_ - 1))

static void mark(u64 *set, u64 k) { set[k / 64] |= (u64)1 << k % 64; }
static void unmark(u64 *set, u64 k) { set[k / 64] &= ~((u64)1 << k % 64); }
static int marked(const u64 *set, u64 k) { return set[k / 64] >> k % 64 & 1; }
static i64 least(i64 a, i64 b) { return a < b ? a : b; }
static i64 sooner(i64 now, i64 soonest, i64 at) { return at > now && at < soonest ? at : soonest; }

static void wake_bus(Core *core, i64 place) {
    if (place < 0) return;
    mark(core->active, place);
    core->bus[place].active_until = core->cycle + 1;
}

static int has_bit(const Core *core, i64 bitmap, i64 bit) {
    return bit >= 0 && bit < 64 * core->chip.bitmap_words && marked(core->bitmaps + bitmap, bit);
}

/* When an instruction that is taken up begins on a tile (-1: around them): now, or at the end of its hold. */
static i64 begins_at(const Core *core, i64 op, i64 tile) {
    const i64 *hold = core->pool + core->ops[op].holds, *end = hold + 2 * core->ops[op].hold_count;
    i64 at = 0;
    for (; hold < end; hold += 2)
        if (hold[0] == EVERYWHERE || hold[0] == tile) at = core->start + hold[1];
    return at > core->cycle ? at : core->cycle;
}

/* A unit around the tiles is through with its instruction. */
static void rests(Core *core, Thread *thread, i64 unit) {
    log_row(&core->events, core->cycle, -1, thread->op, unit, RETIRED, 0);
    thread->state = RESTS;
    thread->op = -1;
    core->stirred = 1;
}

static void fifo_new(Core *core, Fifo *fifo, i64 depth, i64 most) {
    fifo->depth = depth;
    fifo->capacity = most < 1 ? 1 : depth < most ? depth : most;
    fifo->at = zeros(core, fifo->capacity, sizeof(i64));
    fifo->item = zeros(core, fifo->capacity, sizeof(i32));
    fifo->freed_in = -1;
}

static int fifo_room(const Fifo *fifo, i64 cycle) {
    return fifo->used - (fifo->freed_in < cycle ? fifo->freed : 0) < fifo->depth;
}

/* Whether there is room for one item more, which then is its. */
static int fifo_gets(Core *core, Fifo *fifo) {
    if (!fifo_room(fifo, core->cycle)) return 0;
    fifo->used++;
    core->stirred = 1;
    return 1;
}

static void fifo_put(Core *core, Fifo *fifo, i64 item, i64 later_cycles) {
    i64 place = (fifo->head + fifo->count++) % fifo->capacity;
    fifo->at[place] = core->cycle + later_cycles;
    fifo->item[place] = (i32)item;
    core->stirred = 1;
}

static int fifo_add(Core *core, Fifo *fifo, i64 item, i64 later_cycles) {
    if (!fifo_gets(core, fifo)) return 0;
    fifo_put(core, fifo, item, later_cycles);
    return 1;
}

static int fifo_head(const Fifo *fifo, i64 cycle) {
    return fifo->count && fifo->at[fifo->head] <= cycle ? fifo->item[fifo->head] : -1;
}

static int fifo_take(Core *core, Fifo *fifo) {
    if (fifo->freed_in < core->cycle) {
        fifo->used -= fifo->freed;
        fifo->freed = 0;
    }
    fifo->freed_in = core->cycle;
    fifo->freed++;
    core->stirred = 1;
    int item = fifo->item[fifo->head];
    fifo->head = (fifo->head + 1) % fifo->capacity;
    fifo->count--;
    return item;
}

/* A unit around the tiles takes up its next instruction: BUSY, when it begins. */
static i32 takes_up(Core *core, Thread *thread) {
    if (thread->op < 0) {
        if (fifo_head(&thread->buffer, core->cycle) < 0) return IDLE;
        thread->op = fifo_take(core, &thread->buffer);
        thread->until = begins_at(core, thread->op, -1);
        wake_bus(core, core->chip.tiles);
    }
    return core->cycle < thread->until ? HOLD : BUSY;
}

static i64 new_transfer(Core *core, i64 op, i64 shift, i64 rows, i64 destinations, i64 sender) {
    core->transfers[core->transfer_count] = (Transfer){op, shift, rows, destinations, 0, sender, 0};
    return core->transfer_count++;
}

/* What a node wants to send. */
static void offer(Core *core, i64 node, i64 number, i64 row) {
    const Transfer *transfer = &core->transfers[number];
    core->stops[node].outgoing = (Packet){core->cycle, number, row, transfer->destinations, row == transfer->rows - 1};
    core->stops[node].has_outgoing = 1;
    if (!core->stops[node].passings) core->stops[node].wakes_at = 0;
    mark(core->carrying, node);
}

/* Whether a flag has counted enough for an engine, or for the MAC array; who waited is noted with who raised it. */
static int met(Core *core, const Tile *tile, Engine *engine, i64 flag, i64 expected) {
    const Account *who = engine->number == TENSOR ? tile->mac : engine->account;
    engine->awaited = (i32)flag;
    if (tile->flags[flag] < expected + core->chip.strict_compare) return 0;
    if (core->traces && who->cause == CAUSE_FLAG + flag)
        log_row(&core->wakes, core->cycle, who - core->accounts, tile->raised_by[flag], 0, 0, 0);
    return 1;
}

static void raise_flag(Tile *tile, i64 flag, i64 op) {
    tile->raised_by[flag] = op;
    tile->rises[flag]++;
    tile->changed |= 1 << flag;
}

static void commit_flags(Tile *tile) {
    for (; tile->changed; tile->changed &= tile->changed - 1) {
        int flag = __builtin_ctzll((u64)tile->changed);
        if (tile->resets >> flag & 1) tile->flags[flag] = 0;
        tile->flags[flag] += tile->rises[flag];
        tile->held &= ~tile->held_by[flag];
        tile->rises[flag] = tile->held_by[flag] = 0;
    }
    tile->resets = 0;
}
