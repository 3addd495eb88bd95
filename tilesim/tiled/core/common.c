/* Accounts, queues, flags, logs. */

static void note(Account *account, i64 cycle, i32 kind) {
    if (kind == account->kind) return;
    i64 cycles = cycle - account->since;
    if (cycles > 0) {
        account->cycles[account->kind] += cycles;
        if (account->kind != IDLE) account->active_until = cycle;
    }
    account->since = cycle;
    account->kind = kind;
}

static void settle(Account *account, i64 cycle) {
    i32 kind = account->kind;
    note(account, cycle, kind == IDLE ? BUSY : IDLE);
    account->kind = kind;
}

static void *zeros(i64 count, size_t size) {
    return calloc((size_t)(count > 0 ? count : 1), size);
}

static void log_row(Log *log, i64 a, i64 b, i64 c, i64 d, i64 e, i64 f) {
    if (log->count + LOG_COLUMNS > log->capacity) {
        log->capacity = log->capacity ? 2 * log->capacity : 4096;
        log->data = realloc(log->data, (size_t)log->capacity * sizeof(i64));
    }
    i64 row[LOG_COLUMNS] = {a, b, c, d, e, f};
    memcpy(log->data + log->count, row, sizeof row);
    log->count += LOG_COLUMNS;
}

static int has_bit(const Core *core, i64 bitmap, i64 bit) {
    return bit >= 0 && bit < 64 * core->chip.bitmap_words && (core->bitmaps[bitmap + bit / 64] >> (bit % 64) & 1);
}

static void fifo_new(Fifo *fifo, i64 depth, i64 most) {
    fifo->depth = depth;
    fifo->capacity = depth < most ? depth : most;
    if (fifo->capacity < 1) fifo->capacity = 1;
    fifo->at = zeros(fifo->capacity, sizeof(i64));
    fifo->item = zeros(fifo->capacity, sizeof(i32));
    fifo->freed_in = -1;
}

static void fifo_free(Fifo *fifo) {
    free(fifo->at);
    free(fifo->item);
}

static int fifo_room(const Fifo *fifo, i64 cycle) {
    return fifo->used - (fifo->freed_in < cycle ? fifo->freed : 0) < fifo->depth;
}

static void fifo_reserve(Core *core, Fifo *fifo) {
    fifo->used++;
    core->stirred = 1;
}

static void fifo_put(Core *core, Fifo *fifo, i64 item, i64 later_cycles) {
    i64 place = (fifo->head + fifo->count++) % fifo->capacity;
    fifo->at[place] = core->cycle + later_cycles;
    fifo->item[place] = (i32)item;
    core->stirred = 1;
}

static int fifo_head(const Fifo *fifo, i64 cycle) {
    return fifo->count && fifo->at[fifo->head] <= cycle ? fifo->item[fifo->head] : -1;
}

static int fifo_take(Core *core, Fifo *fifo) {
    if (fifo->freed_in < core->cycle) {
        fifo->used -= fifo->freed;
        fifo->freed = 0;
        fifo->freed_in = core->cycle;
    }
    fifo->freed++;
    core->stirred = 1;
    int item = fifo->item[fifo->head];
    fifo->head = (fifo->head + 1) % fifo->capacity;
    fifo->count--;
    return item;
}

static int met(const Core *core, const Tile *tile, i64 flag, i64 expected) {
    return core->chip.strict_compare ? tile->flags[flag] > expected : tile->flags[flag] >= expected;
}

static void raise_flag(Tile *tile, i64 flag, i64 increment) {
    tile->rises[flag] += increment;
    tile->changed = 1;
}

static void commit_flags(Tile *tile) {
    if (!tile->changed) return;
    for (int flag = 0; flag < FLAGS; flag++) {
        if (tile->resets >> flag & 1) tile->flags[flag] = 0;
        tile->flags[flag] += tile->rises[flag];
        tile->rises[flag] = 0;
    }
    tile->resets = tile->changed = 0;
    tile->awake = 1;
}
