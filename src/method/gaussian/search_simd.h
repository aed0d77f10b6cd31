/* SPDX-License-Identifier: BSD-3-Clause */
/* search_simd.h - distances between patches, and the nearest of them: a part of the template
 * gaussian_simd.h. */
/* A lane is a shift along a row: distances of a reference are stored one after another. Squares are
 * summed down the columns of a tile of references, and their sums are kept at the rows where a
 * patch begins or ends. They never fall, and their differences are those of a patch's rows. */

enum { ACROSS = 4 };

/* down[slot[y]][x] = the sum over rows before y of (a[x] - b[x + lane])^2, or that is added, of
 * `count` columns of n. */
INLINE void sum_columns(const float *a, const float *b, int64_t width, int rows, const int *slot,
                        int count, int n, bool add, float *down) {
    vec sum[ACROSS] = {{0}};
    for (int y = 0; y <= rows; y++, a += width, b += width) {
        for (int k = 0; k < count && slot[y] >= 0; k++) {
            float *to = down + ((int64_t)slot[y] * n + k) * LANES;
            store(to, add ? load(to) + sum[k] : sum[k]);
        }
        for (int k = 0; k < count && y < rows; k++) {
            const vec e = spread(a[k]) - load(b + k);
            sum[k] += e * e;
        }
    }
}

/* The same of all n columns, guides and slices of a patch. The last columns are summed again with
 * some before them, unless something is added. */
static void sum_down(const csrec_group_search *s, const float *a, int64_t shift, int n, int rows,
                     const int *slot, float *down) {
    const int64_t slice = (int64_t)s->height * s->width;
    for (int i = 0; i < s->guides * s->patch_depth; i++) {
        const float *own = a + (i / s->patch_depth * s->depth + i % s->patch_depth) * slice;
        int x = 0;
        for (; n >= ACROSS && x < n && (i == 0 || x + ACROSS <= n); x += ACROSS) {
            const int at = x + ACROSS <= n ? x : n - ACROSS;
            sum_columns(own + at, own + shift + at, s->width, rows, slot, ACROSS, n, i > 0,
                        down + (int64_t)at * LANES);
        }
        for (; x < n; x++)
            sum_columns(own + x, own + shift + x, s->width, rows, slot, 1, n, i > 0,
                        down + (int64_t)x * LANES);
    }
}

/* to[0 .. n - 1] = the sum of `width` columns. */
static void sum_across(const float *column, int width, int n, float *to) {
    vec even = load(column), odd = {0};
    for (int x = 1; x + 1 < width; x += 2) {
        odd += load(column + (int64_t)x * LANES);
        even += load(column + (int64_t)(x + 1) * LANES);
    }
    if (width % 2 == 0) odd += load(column + (int64_t)(width - 1) * LANES);
    even += odd;
    if (n >= LANES)
        store(to, even);
    else
        memcpy(to, &even, (size_t)n * sizeof *to);
}

/* The distances of references in row r at LANES shifts from `first` on; sums: as above. */
static void search_row(const csrec_group_search *s, const float *start, const float *end, int n,
                       int first, float *distance) {
    const int side = 2 * s->radius + 1, shifts = csrec_group_shifts(s);
    for (int64_t i = 0; i < (int64_t)n * LANES; i += LANES)
        store(s->column + i, load(end + i) - load(start + i));
    for (int c = 0; c < s->columns; c++)
        sum_across(s->column + (int64_t)(s->x[c] - s->x[0]) * LANES, s->patch_width, side - first,
                   distance + (int64_t)c * shifts + first);
}

/* The shifts along a row of references that leave the picture. */
static void bound_row(const csrec_group_search *s, bool inside, float *distance) {
    const int side = 2 * s->radius + 1, shifts = csrec_group_shifts(s);
    for (int c = 0; c < s->columns; c++, distance += shifts) {
        const int from = inside ? s->radius - s->x[c] : side;
        const int end = s->width - s->patch_width - s->x[c] + s->radius + 1;
        for (int i = 0; i < side && i < from; i++) distance[i] = INFINITY;
        for (int i = end; i < side && inside; i++) distance[i] = INFINITY;
    }
}

/* Of the references of slice number l, at shifts by[0] and by[1]; slot: from the first row on. */
static void search_slice(const csrec_group_search *s, int l, const int by[3], const int *slot,
                         float *distance) {
    const int z = s->z[l], dy = by[1], bottom = s->y[s->rows - 1] + s->patch_height;
    const int low = s->y[0] > -dy ? s->y[0] : -dy, side = 2 * s->radius + 1;
    const int high = bottom < s->height - dy ? bottom : s->height - dy;
    const int n = s->x[s->columns - 1] + s->patch_width - s->x[0];
    const bool inside = z + by[0] >= 0 && z + by[0] + s->patch_depth <= s->depth && high > low;
    const float *a = s->guide + ((int64_t)z * s->height + low) * s->width + s->x[0];
    const int64_t shift = ((int64_t)by[0] * s->height + dy) * s->width - s->radius;
    const int64_t row = (int64_t)s->columns * csrec_group_shifts(s);
    float *down = s->column + (int64_t)n * LANES;
    for (int first = 0; first < side && inside; first += LANES) {
        sum_down(s, a, shift + first, n, high - low, slot + low - s->y[0], down);
        for (int r = 0; r < s->rows; r++) {
            const int y = s->y[r], end = y + s->patch_height;
            if (y < low || end > high) continue;
            search_row(s, down + (int64_t)slot[y - s->y[0]] * n * LANES,
                       down + (int64_t)slot[end - s->y[0]] * n * LANES, n, first,
                       distance + r * row);
        }
    }
    for (int r = 0; r < s->rows; r++)
        bound_row(s, inside && s->y[r] >= low && s->y[r] + s->patch_height <= high,
                  distance + r * row);
}

static void search(const csrec_group_search *s) {
    const int side = 2 * s->radius + 1, shifts = csrec_group_shifts(s);
    int slot[2 * CSREC_GROUP_TILE + 3 * CSREC_GROUP_EDGE], slots = 0;
    for (int y = s->y[0]; y <= s->y[s->rows - 1] + s->patch_height; y++) {
        bool kept = false;
        for (int r = 0; r < s->rows; r++) kept |= y == s->y[r] || y == s->y[r] + s->patch_height;
        slot[y - s->y[0]] = kept ? slots++ : -1;
    }
    for (int shift = 0; shift < shifts; shift += side) {
        int by[3];
        csrec_group_shift(s, shift, by);
        for (int l = 0; l < s->slices; l++)
            search_slice(s, l, by, slot,
                         s->distance + (int64_t)l * s->rows * s->columns * shifts + shift);
    }
}

/* Sums of squares eight columns at a time: the last eight of a row overlap with those before them,
 * and only the columns that are new count. */
static void rank(const csrec_group_search *s, const int at[3], int n, const uint16_t *shift,
                 float *out) {
    const int rows = s->patch_depth * s->patch_height, width = s->patch_width;
    const float *a = s->guide + ((int64_t)at[0] * s->height + at[1]) * s->width + at[2];
    const int whole = width / 8 * 8, last = whole ? width - 8 : 0, wide = whole ? 8 : width;
    for (int k = 0; k < n; k++) {
        int by[3];
        csrec_group_shift(s, shift[k], by);
        const float *b = a + ((int64_t)by[0] * s->height + by[1]) * s->width + by[2];
        float sum[8] = {0}, rest[8] = {0}, all = 0.0f;
        for (int i = 0; i < s->guides * rows; i++) {
            int64_t slice = (int64_t)(i / rows) * s->depth + i % rows / s->patch_height;
            int64_t row = slice * s->height + i % s->patch_height;
            const float *p = a + row * s->width, *q = b + row * s->width;
            for (int j = 0; j < whole; j += 8)
                for (int l = 0; l < 8; l++) sum[l] += (p[j + l] - q[j + l]) * (p[j + l] - q[j + l]);
            if (whole == width) continue;
            p += last, q += last;
            if (wide == 8)
                for (int l = 0; l < 8; l++) rest[l] += (p[l] - q[l]) * (p[l] - q[l]);
            else
                for (int l = 0; l < wide; l++) rest[l] += (p[l] - q[l]) * (p[l] - q[l]);
        }
        for (int l = 0; l < 8; l++) all += sum[l];
        for (int l = whole - last; l < wide; l++) all += rest[l];
        out[k] = all;
    }
}

/* The least of n in as many blocks as are wanted: the largest of these, which at least so many are
 * not above. */
static uint32_t most_of(const uint32_t *key, int n, int wanted) {
    const int block = n / wanted;
    uint32_t most = 0;
    for (int b = 0; b < wanted && block >= 8; b++) {
        uint32_t least = UINT32_MAX;
        for (int i = b * block; i < (b + 1) * block; i++) least = key[i] < least ? key[i] : least;
        most = most > least ? most : least;
    }
    return block >= 8 ? most : UINT32_MAX;
}

/* The least limit that `wanted` keys of n are not above; none is above `high`. */
static uint32_t limit_of(const uint32_t *key, int n, int wanted, uint32_t high) {
    uint32_t low = 0;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        int count = 0;
        for (int i = 0; i < n; i++) count += key[i] <= middle;
        if (count >= wanted)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Bits of non-negative floats have the order of their values. */
static int pick(const float *distance, int n, int wanted, uint32_t *key, int32_t *chosen) {
    const float infinity = INFINITY;
    uint32_t most, beyond;
    int kept = 0, picked = 0, below = 0;
    memcpy(&beyond, &infinity, sizeof beyond);
    memcpy(key, distance, (size_t)n * sizeof *key);
    most = most_of(key, n, wanted);
    if (most >= beyond) most = beyond - 1;
    for (int i = 0; i < n; i++) {
        chosen[kept] = i;
        kept += key[i] <= most;
    }
    for (int i = 0; i < kept; i++) key[i] = key[chosen[i]];
    if (wanted > kept) wanted = kept; /* 0: an estimate that is not finite */
    const uint32_t limit = limit_of(key, kept, wanted, most);
    for (int i = 0; i < kept; i++) below += key[i] < limit;
    for (int i = 0, equal = wanted - below; i < kept; i++) {
        chosen[picked] = chosen[i];
        picked += key[i] < limit || (key[i] == limit && equal > 0);
        equal -= key[i] == limit;
    }
    return picked;
}
