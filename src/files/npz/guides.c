/* SPDX-License-Identifier: BSD-3-Clause */
/* guides.c - what a measurement may have beside y: guides, guide_names and sequence; rays, and
 * sigma of each sample. */
#include <string.h>

#include "files/npz/npz.h"
#include "measurement/each.h"
#include "measurement/guides.h"

static csrec_status read_sequence(const csrec_npz *npz, csrec_measurement *m, csrec_error *error) {
    int64_t flag = 0, count;
    if (!csrec_npz_has(npz, "sequence")) return CSREC_OK;
    csrec_status status = csrec_npz_integers(npz, "sequence", 1, false, &flag, &count, error);
    m->sequence = flag != 0;
    return status;
}

static csrec_status check_planes(const csrec_npz_member *member, const csrec_shape *shape,
                                 csrec_error *error) {
    const csrec_shape *own = &member->header.shape;
    bool fits = own->dims == shape->dims + 1 && own->dim[0] <= CSREC_GUIDES_MOST &&
                !member->header.is_complex;
    for (int d = 0; d < shape->dims && fits; d++) fits = own->dim[d + 1] == shape->dim[d];
    if (fits) return CSREC_OK;
    return csrec_fail(error, CSREC_DATA,
                      "%s: is not [K, shape of the signal] of 1 to %d real planes; save "
                      "numpy.stack(planes)",
                      member->name, CSREC_GUIDES_MOST);
}

static csrec_status read_names(const csrec_npz *npz, csrec_guides *guides, csrec_error *error) {
    csrec_npz_member member;
    if (!csrec_npz_has(npz, "guide_names")) return CSREC_OK;
    csrec_status status = csrec_npz_begin(npz, "guide_names", &member, error);
    if (status) return status;
    csrec_npy_header one = member.header;
    if (one.kind != 'U' && one.kind != 'S')
        status = csrec_fail(error, CSREC_DATA, "%s: holds numbers; save a text for each plane",
                            member.name);
    else if (one.count != guides->n)
        status = csrec_fail(error, CSREC_DATA,
                            "%s: %lld names for %lld planes of 'guides'; save one for each",
                            member.name, (long long)one.count, (long long)guides->n);
    one.count = 1;
    for (int64_t k = 0; k < guides->n && !status; k++)
        status = csrec_npy_text(&member.reader, &one, member.name, guides->name[k],
                                CSREC_GUIDE_NAME, error);
    return csrec_npz_end(&member, status, error);
}

csrec_status csrec_npz_guides_read(const csrec_npz *npz, bool planes, csrec_measurement *m,
                                   csrec_error *error) {
    csrec_npz_member member;
    int64_t entries = 0;
    csrec_status status = read_sequence(npz, m, error);
    if (status || !planes || !csrec_npz_has(npz, "guides")) return status;
    CSREC_TRY(csrec_npz_begin(npz, "guides", &member, error));
    csrec_shape_count(&m->shape, &entries);
    status = check_planes(&member, &m->shape, error);
    if (!status && !(m->guides = csrec_guides_create(member.header.shape.dim[0], entries)))
        status = csrec_memory_fail(error, member.name);
    if (!status)
        status = csrec_npy_values_f32(&member.reader, &member.header, member.name,
                                      m->guides->values, error);
    status = csrec_npz_end(&member, status, error);
    return status ? status : read_names(npz, m->guides, error);
}

void csrec_npz_guides_add(const csrec_measurement *m, csrec_npz_names *names,
                          csrec_npz_field *fields, int *count) {
    static const uint8_t yes = 1;
    const csrec_guides *g = m->guides;
    size_t width = 1;
    int64_t values = 0;
    if (m->sequence) fields[(*count)++] = (csrec_npz_field){"sequence", "b1", {0}, &yes, 1};
    if (!g) return;
    csrec_shape shape = {m->shape.dims + 1, {g->n}};
    memcpy(shape.dim + 1, m->shape.dim, (size_t)m->shape.dims * sizeof *shape.dim);
    csrec_shape_count(&shape, &values);
    fields[(*count)++] =
        (csrec_npz_field){"guides", "f4", shape, g->values, (uint64_t)values * sizeof *g->values};
    for (int64_t k = 0; k < g->n; k++)
        if (strlen(g->name[k]) > width) width = strlen(g->name[k]);
    *names = (csrec_npz_names){.descr = ""};
    for (int64_t k = 0; k < g->n; k++)
        for (size_t i = 0; g->name[k][i]; i++)
            names->letter[(size_t)k * width + i] = (unsigned char)g->name[k][i];
    snprintf(names->descr, sizeof names->descr, "U%zu", width);
    fields[(*count)++] = (csrec_npz_field){"guide_names",
                                           names->descr,
                                           {1, {g->n}},
                                           names->letter,
                                           (uint64_t)g->n * width * sizeof *names->letter};
}

bool csrec_npz_is_each(const csrec_npz *npz) {
    csrec_npz_member member;
    if (!csrec_npz_has(npz, "sigma") || csrec_npz_begin(npz, "sigma", &member, NULL)) return false;
    const bool each = member.header.count > 1 || member.header.shape.dims > 1;
    csrec_npz_leave(&member);
    return each;
}

/* An array [n], or where `wide` also [n, channels]; *once: it is the former. */
static csrec_status begin_each(const csrec_npz *npz, const char *field, const csrec_measurement *m,
                               bool wide, csrec_npz_member *member, bool *once,
                               csrec_error *error) {
    csrec_status status = csrec_npz_begin(npz, field, member, error);
    if (status) return status;
    const csrec_shape *own = &member->header.shape;
    const bool row = own->dims == 1 && own->dim[0] == m->n && !member->header.is_complex;
    *once = row || !wide;
    if (row || (wide && own->dims == 2 && own->dim[0] == m->n && own->dim[1] == m->channels &&
                !member->header.is_complex))
        return CSREC_OK;
    status =
        csrec_fail(error, CSREC_DATA,
                   "%s: has %lld elements for %lld samples of %lld channels; save one for each "
                   "sample%s",
                   member->name, (long long)member->header.count, (long long)m->n,
                   (long long)m->channels, wide ? " or value, or a single number" : "");
    return csrec_npz_end(member, status, error);
}

static csrec_status read_each(const csrec_npz *npz, const char *field, csrec_measurement *m,
                              bool wide, double *to, csrec_error *error) {
    csrec_npz_member member;
    bool once = true;
    CSREC_TRY(begin_each(npz, field, m, wide, &member, &once, error));
    csrec_status status =
        csrec_npy_values_f64(&member.reader, &member.header, member.name, to, error);
    for (int64_t i = m->n * m->channels; wide && once && i-- > 0;) to[i] = to[i / m->channels];
    return csrec_npz_end(&member, status, error);
}

csrec_status csrec_npz_each_read(const csrec_npz *npz, csrec_measurement *m, csrec_error *error) {
    const bool rays = csrec_npz_has(npz, "rays"), each = csrec_npz_is_each(npz);
    csrec_status status = csrec_each_allocate(rays, each, m);
    if (status) return csrec_fail(error, status, "%s: out of memory", npz->name);
    if (rays) status = read_each(npz, "rays", m, false, m->rays, error);
    if (!status && each) status = read_each(npz, "sigma", m, true, m->deviation, error);
    return status;
}
