/* Tensorops of products: what the lanes of tiles make of the bytes in their own memories. Sums have 32 bits and wrap. */
#include "../core/core.h"
#if defined __x86_64__ && !defined PLAIN
#include <cpuid.h>
#include <immintrin.h>
#endif

typedef int16_t i16;
typedef uint32_t u32;
typedef uint8_t u8;

#define AT_ONCE 8 /* lanes */
#define WORD 4    /* bytes: a copy of so many takes an instruction */

/* Compiled where it is called, for what the machine there knows. */
#define INLINE static inline __attribute__((always_inline))

typedef u32 __attribute__((aligned(1), may_alias)) Loose; /* wherever it stands */

/* What lanes scale their sums with: `bias` is added, then shifted `left` and multiplied; then `nudge` is added, below 0
   `away`, too, and then shifted `up` and, without its lower half, `down`. */
typedef struct { i64 *nudge, *away, *up; i32 *bias, *left, *multiplier, *down; } Scales;

/* An instruction, the bytes at which its operands begin, and what is worked with. */
typedef struct {
    const Product *of;
    const i64 *bases;
    i64 pairs; /* of products */
    ProductRow *rows;
    ProductBlock *blocks;
    ProductStep *steps;
    i64 *runs;
    i16 *inputs, *row, *weights;
    u32 *sums;
    Scales scales;
    u8 *made;
} Work;

/* Bytes less their zero point. */
INLINE void widen(i16 *to, const u8 *from, i64 count, i64 flip, i64 zero) {
    for (i64 k = 0; k < count; k++) to[k] = (i16)((from[k] ^ (i32)flip) - (i32)zero);
}

/* The weights of a block as they are multiplied: some lanes after others, pairs of products of each; of lanes that
   multiply inputs of their own, as they stand. */
INLINE void pack(const Work *work, const u8 *from) {
    const Product *of = work->of;
    const i64 count = of->inputs;
    for (i64 step = 0, k = 0; step < of->steps; step++) {
        i16 *row = of->depthwise ? work->weights + step * of->lanes : work->row;
        widen(row, from + work->steps[step].weights, of->lanes * count, of->weight_flip, of->weight_zero);
        if (of->depthwise) continue;
        for (i64 input = 0; input < count; input++, k++) {
            i16 *to = work->weights + (k & ~1) * AT_ONCE + (k & 1);
            row = work->row + input;
            for (i64 lane = 0; lane < of->lanes; lane += AT_ONCE, to += 2 * AT_ONCE * work->pairs)
                for (i64 j = 0; j < AT_ONCE; j++, row += count) to[2 * j] = *row;
        }
    }
}

INLINE void gather(const Work *work, const u8 *from, i64 run_bytes) {
    const Product *of = work->of;
    i16 *to = work->inputs;
    for (i64 k = 0; k < of->runs; k++, to += run_bytes)
        widen(to, from + work->runs[k], run_bytes, of->input_flip, of->input_zero);
}

#if defined __x86_64__ && !defined PLAIN
#define VECTORS __attribute__((target("avx2")))

/* Whether machine and system know AVX2. Not every compiler brings what __builtin_cpu_supports asks. */
static int has_vectors(void) {
    static int known = -1; /* a virtual machine takes long over cpuid */
    u32 a, b, c, d, states, none;
    if (known >= 0) return known;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return known = 0;
    __asm__("xgetbv" : "=a"(states), "=d"(none) : "c"(0));
    return known = (states & 6) == 6 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2);
}

/* The same as below. */
VECTORS static void convolve_vectors(const Work *work) {
    const __m256i *weights = (const __m256i *)work->weights;
    for (u32 *sums = work->sums, *end = sums + work->of->lanes; sums < end; sums += AT_ONCE) {
        __m256i all = _mm256_setzero_si256();
        for (i64 k = 0; k < work->pairs; k++, weights++) {
            __m256i pair = _mm256_set1_epi32((i32) * (const Loose *)(work->inputs + 2 * k));
            all = _mm256_add_epi32(all, _mm256_madd_epi16(pair, _mm256_loadu_si256(weights)));
        }
        _mm256_storeu_si256((__m256i *)sums, all);
    }
}
#else
#define VECTORS
static int has_vectors(void) { return 0; }
static void convolve_vectors(const Work *work) { (void)work; }
#endif

/* All lanes multiply the same inputs. */
static void convolve(const Work *work) {
    const i16 *weights = work->weights;
    for (u32 *sums = work->sums, *end = sums + work->of->lanes; sums < end; sums += AT_ONCE) {
        memset(sums, 0, AT_ONCE * sizeof *sums);
        for (const i16 *pair = work->inputs, *last = pair + 2 * work->pairs; pair < last; pair += 2)
            for (i64 k = 0; k < AT_ONCE; k++, weights += 2) sums[k] += (u32)(pair[0] * weights[0] + pair[1] * weights[1]);
    }
}

/* Each lane multiplies inputs of its own. */
INLINE void multiply(const Work *work, const u8 *inputs) {
    const Product *of = work->of;
    const i16 *weights = work->weights;
    memset(work->sums, 0, (size_t)of->lanes * sizeof *work->sums);
    for (i64 step = 0; step < of->steps; step++, weights += of->lanes) {
        widen(work->inputs, inputs + work->steps[step].input, of->lanes, of->input_flip, of->input_zero);
        for (i64 k = 0; k < of->lanes; k++) work->sums[k] += (u32)(work->inputs[k] * weights[k]);
    }
}

/* The parameters of a block's lanes, by the rule `single` or `double`; 0: a shift that no compiler writes. */
INLINE int read_lanes(const Work *work, const u8 *parameters) {
    const i64 size = work->of->register_bytes, high = (i64)1 << 31, lanes = work->of->lanes;
    const Scales to = work->scales;
    memcpy(to.bias, parameters, (size_t)lanes * sizeof(i32));
    memcpy(to.multiplier, parameters + size, (size_t)lanes * sizeof(i32));
    for (i64 k = 0; k < lanes; k++) {
        i32 shift = (i32)((const Loose *)(parameters + 2 * size))[k], single = (i32)work->of->single;
        if (shift < -31 || shift > 30) return 0;
        i32 right = single || shift < 0 ? 31 - shift : 31, twice = !single && shift < 0; /* rounded twice */
        i64 half = (i64)1 << (right - 1);
        to.nudge[k] = twice ? half + high / 2 : half, to.away[k] = twice ? -high : 0;
        to.left[k] = single || shift < 0 ? 0 : shift;
        to.up[k] = right < 32 ? 32 - right : 0, to.down[k] = right < 32 ? 0 : right - 32;
    }
    return 1;
}

/* Sums become bytes, in words that lanes fill, or else zeros. */
INLINE void finish(const Work *work, i64 lanes, u8 *to) {
    const Product *of = work->of;
    const i32 least = (i32)of->least, most = (i32)of->most, zero = (i32)of->output_zero;
    const i64 unit = of->unit_bytes;
    u32 *sums = work->sums;
    u8 *made = work->made;
    const Scales by = work->scales;
    for (i64 k = 0; k < lanes; k++) {
        i64 product = (i64)(i32)((sums[k] + (u32)by.bias[k]) << by.left[k]) * by.multiplier[k];
        product += by.nudge[k] + (product < -(1 << 30) ? by.away[k] : 0);
        i32 value = (i32)((u64)product << by.up[k] >> 32) >> by.down[k];
        value = value < least ? least : value;
        sums[k] = (u32)((value > most ? most : value) + zero);
    }
    for (i64 k = 0; k < lanes; k++) made[k] = (u8)sums[k];
    memset(made + lanes, 0, (size_t)unit);
    for (i64 k = 0; k < lanes; k += unit, to += of->word_stride_bytes)
        if (unit == WORD) *(Loose *)to = *(const Loose *)(made + k);
        else memcpy(to, made + k, (size_t)unit);
}

INLINE void add_sums(const Work *work, i64 lanes, const u8 *from) {
    for (i64 k = 0; k < lanes; k++) work->sums[k] += ((const Loose *)from)[k];
}

INLINE void carry_row(const Work *work, const ProductBlock *block, const ProductRow *row, u8 *const *both, int vectors) {
    const Product *of = work->of;
    const i64 *bases = work->bases, lanes = block == work->blocks + of->blocks - 1 ? of->last_lanes : of->lanes;
    const u8 *inputs = both[0] + bases[INPUT] + block->input + row->input;
    if (of->depthwise)
        multiply(work, inputs);
    else {
        of->run_bytes == WORD ? gather(work, inputs, WORD) : gather(work, inputs, of->run_bytes);
        (vectors ? convolve_vectors : convolve)(work);
    }
    if (bases[SUMS_IN] >= 0) add_sums(work, lanes, both[1] + bases[SUMS_IN] + block->sums_in + row->sums_in);
    if (bases[SUMS_OUT] < 0)
        finish(work, lanes, both[0] + bases[OUTPUT] + block->output + row->output);
    else
        memcpy(both[1] + bases[SUMS_OUT] + block->sums_out + row->sums_out, work->sums, (size_t)lanes * sizeof(u32));
}

/* Whether a sample has other bytes than the one before. */
static int differs(u8 *const *memories, i64 sample, i64 from, i64 bytes) {
    return !sample || memcmp(memories[2 * sample + 1] + from, memories[2 * sample - 1] + from, (size_t)bytes);
}

INLINE int carry_block(const Work *work, const ProductBlock *block, u8 *const *memories, i64 samples, int vectors) {
    const Product *of = work->of;
    i64 weights = work->bases[WEIGHTS] + block->weights, parameters = work->bases[PARAMETERS] + block->parameters;
    i64 bytes = 2 * of->register_bytes + of->lanes * (i64)sizeof(i32);
    for (i64 k = 0; k < samples; k++) {
        if (differs(memories, k, weights + of->weights_from, of->weights_bytes))
            pack(work, memories[2 * k + 1] + weights);
        if (work->bases[SUMS_OUT] < 0 && differs(memories, k, parameters, bytes))
            if (!read_lanes(work, memories[2 * k + 1] + parameters)) return 0;
        for (i64 row = 0; row < of->rows; row++) carry_row(work, block, work->rows + row, memories + 2 * k, vectors);
    }
    return 1;
}

VECTORS static int carry_by_vectors(const Work *work, const ProductBlock *block, u8 *const *memories, i64 samples) {
    return carry_block(work, block, memories, samples, 1);
}

/* How far the iterations of a nest move operands; NULL: there is no memory. Behind how many loops it has come their
   bounds, from the outermost on, each with how far it moves each operand. */
static void *unrolled(const i64 **nest, i64 count, size_t size) {
    i64 operands = (i64)(size / sizeof(i64)), loops = *(*nest)++, *moves = calloc((size_t)count, size);
    const i64 *loop = *nest += loops * (operands + 1);
    for (i64 done = operands; loops-- && moves; done *= *loop) {
        loop -= operands + 1;
        for (i64 k = done; k < done * *loop; k++) moves[k] = moves[k - done] + loop[1 + k % operands];
    }
    return moves;
}

/* Carry an instruction out in some samples of tiles' memories, narrow and wide in turn; 0, and to be done once more: some
   are scaled in a way that is not known here, or there is no memory. */
i64 core_product(const Product *of, const i64 *bases, u8 *const *memories, i64 samples) {
    i64 pairs = (of->steps * of->inputs + 1) / 2, lanes = (of->lanes + AT_ONCE - 1) / AT_ONCE * AT_ONCE;
    size_t some = (size_t)(lanes + of->unit_bytes), inputs = (size_t)(2 * pairs > lanes ? 2 * pairs : lanes);
    const i64 *nest = (const i64 *)(of + 1);
    i64 *a;
    Work work = {.of = of, .bases = bases, .pairs = pairs};
    work.rows = unrolled(&nest, of->rows, sizeof(ProductRow));
    work.blocks = unrolled(&nest, of->blocks, sizeof(ProductBlock));
    work.steps = unrolled(&nest, of->steps, sizeof(ProductStep));
    work.runs = unrolled(&nest, of->runs, sizeof(i64));
    void *const all[] = {
        work.rows, work.blocks, work.steps, work.runs,
        work.inputs = calloc(inputs, sizeof(i16)),
        work.row = calloc(some, (size_t)of->inputs * sizeof(i16)),
        work.weights = calloc((size_t)(lanes * pairs), 2 * sizeof(i16)),
        work.sums = calloc(some, sizeof(u32)),
        work.made = calloc(some, 1),
        a = calloc(some, 3 * sizeof(i64) + 4 * sizeof(i32)),
    };
    i32 *b = (i32 *)(a + 3 * some);
    work.scales = (Scales){a, a + some, a + 2 * some, b, b + some, b + 2 * some, b + 3 * some};
    i64 can = 1, count = sizeof all / sizeof *all;
    for (i64 k = 0; k < count; k++) can = can && all[k];
    for (ProductBlock *block = work.blocks, *end = block + of->blocks; block < end && can; block++)
        can = has_vectors() ? carry_by_vectors(&work, block, memories, samples)
                            : carry_block(&work, block, memories, samples, 0);
    for (i64 k = 0; k < count; k++) free(all[k]);
    return can;
}
