/* fit.c - the pursuit on one grid, run to its limit in closed form. */
#include "method/adaptive/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIGIT_MAX = 11, TABLE_MAX = 22, WAYS = 3 };

static int bit_length(uint64_t x) {
    return x ? 64 - __builtin_clzll(x) : 0;
}

/* ------------------------------------------------------------------ memory */

void csrec_fit_clear(csrec_fit *fit) {
    if (!fit) return;
    for (int k = 0; k < 2; k++) {
        free(fit->row[k]);
        free(fit->order[k]);
    }
    free(fit->first);
    free(fit->sibling);
    free(fit->stack);
    free(fit->upward);
    free(fit->node);
    free(fit->mean);
    free(fit->plain);
    free(fit->value);
    free(fit->table);
    free(fit->fork);
    free(fit->way);
    *fit = (csrec_fit){0};
}

/* About one leaf per entry: then most rows end their search at the table. */
static int table_bits_for(int32_t leaves) {
    int bits = bit_length((uint64_t)leaves);
    return bits < TABLE_MAX ? bits : TABLE_MAX;
}

csrec_status csrec_fit_create(int32_t n, int32_t channels, bool threshold, csrec_fit *fit) {
    size_t count = (size_t)n, ids = 2 * count;
    *fit = (csrec_fit){.n = n, .channels = channels};
    bool ok = true;
    for (int k = 0; k < 2; k++) {
        fit->row[k] = malloc(count * sizeof *fit->row[k]);
        fit->order[k] = malloc(count * sizeof *fit->order[k]);
        ok = ok && fit->row[k] && fit->order[k];
    }
    fit->first = malloc((count + 1) * sizeof *fit->first);
    fit->sibling = malloc(count * sizeof *fit->sibling);
    fit->stack = malloc(count * sizeof *fit->stack);
    fit->upward = malloc(count * sizeof *fit->upward);
    fit->node = malloc(count * sizeof *fit->node);
    fit->mean = malloc(ids * (size_t)channels * sizeof *fit->mean);
    fit->plain = malloc((threshold ? 3 * ids : 1) * sizeof *fit->plain);
    fit->value = malloc(ids * (size_t)channels * sizeof *fit->value);
    fit->table = malloc(((size_t)1 << table_bits_for(n)) * sizeof *fit->table);
    fit->fork = malloc(count * sizeof *fit->fork);
    fit->way = malloc((count << WAYS) * sizeof *fit->way);
    ok = ok && fit->fork && fit->way && fit->first && fit->sibling && fit->stack && fit->upward &&
         fit->node && fit->mean && fit->plain && fit->value && fit->table;
    if (!ok) {
        csrec_fit_clear(fit);
        return CSREC_MEMORY;
    }
    if (threshold) {
        fit->weight = fit->plain + ids;
        fit->size = fit->weight + ids;
    }
    return CSREC_OK;
}

double csrec_fit_bytes(double n, double channels, bool threshold) {
    double each = 2 * (sizeof(uint64_t) + sizeof(int32_t)) /* row, order */
                  + 4 * sizeof(int32_t)                    /* first, sibling, stack, upward */
                  + sizeof(csrec_fit_node) + 2 * channels * (sizeof(float) + sizeof(int32_t)) +
                  (threshold ? 6 * sizeof(float) : 0);
    double table = sizeof(int32_t) * ldexp(1.0, table_bits_for((int32_t)fmin(n, INT32_MAX)));
    /* Few rows need a search beyond the table: about one fork per four leaves. */
    return n * each + table + n / 4 * (sizeof(csrec_fit_fork) + (sizeof(int32_t) << WAYS));
}

/* ------------------------------------------------------------------ tree */

/* One counting pass over `digit` bits from `shift` on; stable. */
static void sort_digit(csrec_fit *fit, int shift, int digit) {
    int32_t at[(1 << DIGIT_MAX) + 1] = {0}, n = fit->n;
    const uint64_t *row = fit->row[0];
    const int32_t *order = fit->order[0];
    uint64_t *to = fit->row[1], mask = (UINT64_C(1) << digit) - 1;
    int32_t *order_to = fit->order[1];
    for (int32_t i = 0; i < n; i++) at[((row[i] >> shift) & mask) + 1]++;
    for (int32_t d = 0; d < 1 << digit; d++) at[d + 1] += at[d];
    for (int32_t i = 0; i < n; i++) {
        int32_t k = at[(row[i] >> shift) & mask]++;
        to[k] = row[i];
        order_to[k] = order[i];
    }
    uint64_t *swap_row = fit->row[0];
    fit->row[0] = fit->row[1];
    fit->row[1] = swap_row;
    int32_t *swap_order = fit->order[0];
    fit->order[0] = fit->order[1];
    fit->order[1] = swap_order;
}

static void sort_rows(csrec_fit *fit) {
    for (int32_t i = 0; i < fit->n; i++) fit->order[0][i] = i;
    int passes = (fit->bits + DIGIT_MAX - 1) / DIGIT_MAX;
    for (int k = 0, done = 0; k < passes; k++) {
        int digit = (fit->bits - done) / (passes - k);
        sort_digit(fit, done, digit);
        done += digit;
    }
}

/* Samples of equal row share a leaf. */
static void merge_equal(csrec_fit *fit) {
    uint64_t *row = fit->row[0];
    int32_t leaves = 0;
    for (int32_t i = 0; i < fit->n; i++) {
        bool fresh = i == 0 || row[i] != row[leaves - 1];
        if (!fresh) continue;
        fit->first[leaves] = i;
        row[leaves++] = row[i];
    }
    fit->first[leaves] = fit->n;
    fit->leaves = leaves;
}

/* Node g is the split between leaves g and g + 1; its shift is just above their highest
 * differing bit. The stack holds the open nodes, in falling levels. */
static void link_nodes(csrec_fit *fit) {
    const uint64_t *row = fit->row[0];
    csrec_fit_node *node = fit->node;
    int32_t nodes = fit->leaves - 1, *stack = fit->stack, open = 0, closed = 0;
    for (int32_t g = 0; g <= nodes; g++) {
        int shift = g < nodes ? bit_length(row[g] ^ row[g + 1]) : 64;
        int32_t last = nodes + g;
        while (open && node[stack[open - 1]].shift < shift) {
            int32_t top = stack[--open];
            node[top].child[1] = last;
            fit->upward[closed++] = top;
            last = top;
        }
        fit->root = last;
        if (g == nodes) break;
        node[g] = (csrec_fit_node){row[g] >> shift, {last, 0}, shift};
        stack[open++] = g;
    }
}

static void link_siblings(csrec_fit *fit) {
    int32_t nodes = fit->leaves - 1;
    fit->sibling[0] = 0; /* for a single leaf */
    for (int32_t g = 0; g < nodes; g++)
        for (int side = 0; side < 2; side++) {
            int32_t leaf = fit->node[g].child[side] - nodes;
            if (leaf >= 0) fit->sibling[leaf] = fit->node[g].child[1 - side];
        }
}

/* ------------------------------------------------------------------ values */

static void leaf_means(csrec_fit *fit, const float *z) {
    int32_t channels = fit->channels, nodes = fit->leaves - 1;
    for (int32_t leaf = 0; leaf < fit->leaves; leaf++) {
        float *mean = fit->mean + (int64_t)(nodes + leaf) * channels;
        int32_t first = fit->first[leaf], end = fit->first[leaf + 1];
        for (int32_t c = 0; c < channels; c++) {
            float sum = 0.0f;
            for (int32_t i = first; i < end; i++)
                sum += z[(int64_t)fit->order[0][i] * channels + c];
            mean[c] = end - first > 1 ? sum / (float)(end - first) : sum;
        }
    }
}

static void limit(csrec_fit *fit) {
    int32_t channels = fit->channels;
    for (int32_t k = 0; k < fit->leaves - 1; k++) {
        int32_t id = fit->upward[k];
        const int32_t *child = fit->node[id].child;
        float *mean = fit->mean + (int64_t)id * channels;
        const float *left = fit->mean + (int64_t)child[0] * channels;
        const float *right = fit->mean + (int64_t)child[1] * channels;
        for (int32_t c = 0; c < channels; c++) mean[c] = 0.5f * (left[c] + right[c]);
    }
}

static bool is_left_out(const csrec_fit *fit, int32_t id, float threshold) {
    int32_t left = fit->node[id].child[0], right = fit->node[id].child[1];
    float scale = sqrtf(fit->size[left] * fit->size[right] / fit->size[id]);
    return fabsf(fit->plain[left] - fit->plain[right]) * scale < threshold;
}

/* Least squares over the subtree given its value v is weight (v - mean)^2 + constant. Minimised
 * over d for the children's values v + d and v - d: weight 4 wl wr / (wl + wr) around the middle;
 * for a dropped column, d = 0: weights add. */
static void weigh_upward(csrec_fit *fit, int32_t c, float threshold) {
    int32_t channels = fit->channels, nodes = fit->leaves - 1;
    float *plain = fit->plain, *weight = fit->weight, *size = fit->size, *mean = fit->mean + c;
    for (int32_t leaf = 0; leaf <= nodes; leaf++) {
        int32_t id = nodes + leaf;
        weight[id] = size[id] = (float)(fit->first[leaf + 1] - fit->first[leaf]);
        plain[id] = mean[(int64_t)id * channels];
    }
    for (int32_t k = 0; k < nodes; k++) {
        int32_t id = fit->upward[k], left = fit->node[id].child[0], right = fit->node[id].child[1];
        float wl = weight[left], wr = weight[right];
        float ml = mean[(int64_t)left * channels], mr = mean[(int64_t)right * channels];
        size[id] = size[left] + size[right];
        plain[id] = (plain[left] * size[left] + plain[right] * size[right]) / size[id];
        bool out = is_left_out(fit, id, threshold);
        weight[id] = out ? wl + wr : 4.0f * wl * wr / (wl + wr);
        mean[(int64_t)id * channels] = out ? (ml * wl + mr * wr) / (wl + wr) : 0.5f * (ml + mr);
    }
}

/* Replaces the means by the minimising values, from the root down. */
static void settle_downward(csrec_fit *fit, int32_t c, float threshold) {
    int32_t channels = fit->channels;
    float *mean = fit->mean + c;
    for (int32_t k = fit->leaves - 2; k >= 0; k--) {
        int32_t id = fit->upward[k], left = fit->node[id].child[0], right = fit->node[id].child[1];
        float v = mean[(int64_t)id * channels], d = 0.0f;
        float *ml = mean + (int64_t)left * channels, *mr = mean + (int64_t)right * channels;
        if (!is_left_out(fit, id, threshold)) {
            float wl = fit->weight[left], wr = fit->weight[right];
            d = (wr * (v - *mr) - wl * (v - *ml)) / (wl + wr);
        }
        *ml = v + d;
        *mr = v - d;
    }
}

/* A least squares fit may exceed the range of its samples; sums must not overflow. */
static int32_t to_units(float value, float units) {
    const float most = 0x1p26f;
    float scaled = value * units;
    scaled = scaled < most ? scaled : most;
    return (int32_t)lrintf(scaled > -most ? scaled : -most);
}

/* ------------------------------------------------------------------ search */

/* State of a row's search `depth` bits below node `id`, an entry for each value of these bits:
 * a node, or ~id of the node or leaf where the search ended, because it is a leaf or because
 * the row leaves its block. */
static void descend(const csrec_fit *fit, int32_t id, int bits, int depth, int32_t *entry) {
    int32_t nodes = fit->leaves - 1;
    entry[0] = id < nodes ? id : ~id;
    for (int d = 0; d < depth; d++) {
        int bit = bits - 1 - d;
        for (int32_t v = (1 << d) - 1; v >= 0; v--) {
            int32_t at = entry[v], half[2] = {at, at};
            const csrec_fit_node *node = &fit->node[at < 0 ? 0 : at];
            if (at >= 0 && node->shift == bit + 1) {
                half[0] = node->child[0] < nodes ? node->child[0] : ~node->child[0];
                half[1] = node->child[1] < nodes ? node->child[1] : ~node->child[1];
            } else if (at >= 0) {
                half[1 - ((node->prefix >> (bit - node->shift)) & 1)] = ~at;
            }
            entry[2 * v] = half[0];
            entry[2 * v + 1] = half[1];
        }
    }
}

/* Nodes among the entries become forks. */
static void fork_entries(csrec_fit *fit, int32_t count, int32_t *entry) {
    for (int32_t k = 0; k < count; k++) {
        if (entry[k] < 0) continue;
        const csrec_fit_node *node = &fit->node[entry[k]];
        fit->fork[fit->forks] = (csrec_fit_fork){node->prefix, node->shift, entry[k]};
        entry[k] = fit->forks++;
    }
}

/* The first table resolves most of the bits that distinguish leaves; each fork resolves WAYS. */
static void fill_tables(csrec_fit *fit) {
    int bits = table_bits_for(fit->leaves);
    fit->table_bits = bits < fit->bits ? bits : fit->bits;
    fit->forks = 0;
    descend(fit, fit->root, fit->bits, fit->table_bits, fit->table);
    fork_entries(fit, 1 << fit->table_bits, fit->table);
    for (int32_t k = 0; k < fit->forks; k++) {
        int32_t *entry = fit->way + (int64_t)k * (1 << WAYS);
        descend(fit, fit->fork[k].id, fit->fork[k].shift, WAYS, entry);
        fork_entries(fit, 1 << WAYS, entry);
    }
}

/* All rows of the block descend one fork per round; finished ones leave `active`. Without
 * data-dependent branches the loads of different rows overlap. Rows are shifted left by WAYS - 1
 * bits, for the forks whose block has fewer. */
static void search(const csrec_fit *fit, int count, const uint64_t *rows, int32_t *id) {
    int16_t active[CSREC_FIT_BLOCK];
    int left = 0, shift = fit->bits - fit->table_bits;
    for (int k = 0; k < count; k++) {
        int32_t entry = fit->table[rows[k] >> shift];
        id[k] = entry;
        active[left] = (int16_t)k;
        left += entry >= 0;
    }
    while (left) {
        int kept = 0;
        for (int a = 0; a < left; a++) {
            int k = active[a];
            uint64_t row = rows[k];
            int32_t at = id[k];
            const csrec_fit_fork *fork = &fit->fork[at];
            int32_t way = (int32_t)((row << (WAYS - 1)) >> (fork->shift - 1)) & ((1 << WAYS) - 1);
            int32_t next = fit->way[(int64_t)at * (1 << WAYS) + way];
            next = row >> fork->shift == fork->prefix ? next : ~fork->id;
            id[k] = next;
            active[kept] = (int16_t)k;
            kept += next >= 0;
        }
        left = kept;
    }
    for (int k = 0; k < count; k++) id[k] = ~id[k];
}

void csrec_fit_build(csrec_fit *fit, int bits, const float *z, float threshold, float units) {
    fit->bits = bits;
    sort_rows(fit);
    merge_equal(fit);
    link_nodes(fit);
    link_siblings(fit);
    leaf_means(fit, z);
    if (threshold > 0.0f && fit->weight) {
        for (int32_t c = 0; c < fit->channels; c++) {
            weigh_upward(fit, c, threshold);
            settle_downward(fit, c, threshold);
        }
    } else {
        limit(fit);
    }
    int64_t values = (2 * (int64_t)fit->leaves - 1) * fit->channels;
    for (int64_t k = 0; k < values; k++) fit->value[k] = to_units(fit->mean[k], units);
    fill_tables(fit);
}

/* Without z_i, a leaf of k samples has the mean mean - (z_i - mean) / (k - 1). */
static void add_shared_leaf(const csrec_fit *fit, int32_t leaf, const float *z, float units,
                            int32_t *sum) {
    int32_t channels = fit->channels, first = fit->first[leaf], end = fit->first[leaf + 1];
    for (int32_t c = 0; c < channels; c++) {
        float own = fit->mean[(int64_t)(fit->leaves - 1 + leaf) * channels + c], mean = 0.0f;
        for (int32_t i = first; i < end; i++) mean += z[(int64_t)fit->order[0][i] * channels + c];
        mean /= (float)(end - first);
        for (int32_t i = first; i < end; i++) {
            int64_t at = (int64_t)fit->order[0][i] * channels + c;
            sum[at] += to_units(own - (z[at] - mean) / (float)(end - first - 1), units);
        }
    }
}

void csrec_fit_add_samples(const csrec_fit *fit, const float *z, float units, int32_t *sum) {
    int32_t channels = fit->channels;
    for (int32_t leaf = 0; leaf < fit->leaves; leaf++) {
        int32_t first = fit->first[leaf];
        if (fit->first[leaf + 1] - first > 1) {
            add_shared_leaf(fit, leaf, z, units, sum);
            continue;
        }
        const int32_t *value = fit->value + (int64_t)fit->sibling[leaf] * channels;
        int32_t *at = sum + (int64_t)fit->order[0][first] * channels;
        for (int32_t c = 0; c < channels; c++) at[c] += value[c];
    }
}

void csrec_fit_add_rows(const csrec_fit *fit, int count, const uint64_t *rows, int32_t *sum) {
    int32_t id[CSREC_FIT_BLOCK], channels = fit->channels;
    search(fit, count, rows, id);
    if (channels == 1) {
        for (int k = 0; k < count; k++) sum[k] += fit->value[id[k]];
        return;
    }
    for (int k = 0; k < count; k++)
        for (int32_t c = 0; c < channels; c++)
            sum[(int64_t)k * channels + c] += fit->value[(int64_t)id[k] * channels + c];
}
