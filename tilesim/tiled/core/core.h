/* The timing core: what each unit of a tiled chip does in a cycle, on flat tables and without data.
   It follows tilesim/tiled/stepped cycle by cycle, but asks only the units that can do something. Its columns.h is made
   from tilesim/tiled/flat/columns.py. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int64_t i64;
typedef int32_t i32;
typedef uint64_t u64;

#include "columns.h"

#define RING_BITS (1 << RING_CONSUMER | 1 << RING_PRODUCER)
#define MESH_BITS ((1 << RING_CONSUMER_B) - (1 << MESH_IN_NORTH))
#define COPY_BITS (1 << NARROW_TO_WIDE | 1 << WIDE_TO_NARROW)

typedef struct { i64 *data, count, capacity; } Log; /* growing numbers that are read out */

/* The cycles of a unit by kind; what was noted last, its cause and whose it is, goes on until something else is. */
typedef struct { i64 since, op, cause, active_until, cycles[KINDS]; Log notes; } Account;

/* At most `depth` items, places kept for items on their way included; one that is freed in t can be used from t + 1. */
typedef struct { i64 *at, depth, used, freed, freed_in, capacity, head, count; i32 *item; } Fifo;

/* Whoever carries instructions out in a tile; what is looked at in every cycle stands together. */
typedef struct Engine {
    Account *account;
    struct Link *link; /* mesh */
    const Columns *columns; /* of the latest instruction */
    i32 op, number, kind, step, written; /* `op`: a row, -1: none; iterations begun, and through */
    i32 reads_now, writes_now, makes_now, register_parts, noted, gate, rise, seen, writes_left;
    i32 extra_now, started, extras_left, issues_left, run;      /* tensor control */
    i32 reads, queued;                                          /* copies: words of a row, and rows */
    i32 fills, made, fill_step;                                 /* mesh */
    i32 transfer, parts, packet, row, open, taken_now;          /* ring */
    i32 awaited, unfinished; /* `awaited`: the flag */
    i64 begins_at, addressed_at, rises_at; /* after a hold, with its first address; the iteration that raises its flag */
    Fifo buffer;
} Engine;

/* Beats on their way to a neighbour, by when they arrive. `transfer` is the number of the sender's latest instruction,
   `waiting` those that no receiver has met; at `heard_at` beats written the sender's flag rises, or it is through. */
typedef struct Link {
    Account *account;
    Engine *sender, *receiver;
    i64 *arrivals, head, count, sent, written, heard_at, transfer, waiting, from, to;
} Link;

typedef struct {
    Engine engines[ENGINES];
    Link links[4];
    Account *mac;
    i64 flags[FLAGS], rises[FLAGS], raised_by[FLAGS]; /* last, by which instruction; -1: a tail */
    i64 resets, changed;
    i64 index, tensor_end, spent_until, left_at, wake_at;
    i64 *spending;
    i32 wide_left, read_left, write_left;
    i32 works, busy_engines, begun, held, held_by[FLAGS]; /* engines are held by flags, or until something comes in */
} Tile;

typedef struct { i64 op, shift, rows, destinations, afloat, sender, sent; } Transfer;
typedef struct { i64 at; i32 transfer, row, left, tail; } Packet;
typedef struct { Packet packet; i32 parts, own, taken, forwarded; } Passing;

/* A stop of the data ring: what has arrived, what goes through, and the link to the next one. */
typedef struct {
    Account *account;
    Packet *waiting;
    i64 head, count, credits, open, op, wakes_at, delivered; /* `delivered`: where its last rows are in that log */
    Packet outgoing;
    Passing passing[2];
    i32 passings, has_outgoing, node;
} Stop;
typedef struct { Stop *stop; i64 transfer; i32 tail; } Passage;

/* A stop of the instruction bus. */
typedef struct { Account *account; Fifo inbox; i64 op, busy_left, fence, active_until; i32 state; } BusStop;

/* What a unit around the tiles, or a stop of their bus, is at. */
enum { RESTS, ADMITS, FORWARDS, CARRIES, TURNS, READS, SENDS, ENTERS, REPLIES };

/* A unit around the tiles. */
typedef struct {
    Account *account;
    Fifo buffer;
    i64 op, until, transfer, row, transfers_done;
    i32 state, acted, posted, got;
} Thread;

typedef struct { i64 owed, until; } Carrier; /* one way of the host's link */

typedef struct {
    const Columns *ops;
    const i64 *pool;
    const u64 *bitmaps;
    Chip chip;
    i64 cycle, next_wake, credited_count;
    i32 stirred, collided, traces;
    Account *accounts;
    Tile *tiles;
    Stop *stops, **credited; /* those that get a credit back in this cycle */
    BusStop *bus;
    u64 *awake, *asked, *poked, *ahead; /* tiles: `ahead` is a tensor control that nobody sees until `wake_at` */
    u64 *carrying, *active;             /* stops of the ring and of the instruction bus */
    Thread host_infeed, host_outfeed, infeed, outfeed, classifier, controller;
    Fifo host_queue, forwarded;
    const Sending *sendings;
    Step *steps; /* of the host's own processor */
    Carrier to_chip, from_chip;
    i64 host_sendings, host_sent, step_count, steps_begun, steps_end, last_arrival, programs, request;
    i64 *program_at; /* when each request's instructions are there */
    i64 passed, passing, fences, outfeeds, through, taken; /* `taken`: rows of the outfeed, and its ends */
    i64 next_op, end_op, start, transfer_count, passage_count;
    Transfer *transfers;
    Passage *passages; /* of this cycle */
    i64 *spent; /* tile, layer, cause */
    Log events, deliveries, waits, wakes, received; /* `received`: when each row was at the host */
    void **blocks; /* of memory */
} Core;
