/* SPDX-License-Identifier: BSD-3-Clause */
/* merge.c - reads the measurement of a recovery: one input, or all joined by --merge. */
#include <stdlib.h>

#include "tools/common/input.h"
#include "recover.h"

int cli_recoveries(const cli_recover_arguments *a) {
    return a->merge ? 1 : a->inputs.n;
}

csrec_read_options cli_job_read_options(cli_job *job) {
    const cli_recover_arguments *a = job->a;
    return (csrec_read_options){.mask = a->mask,
                                .channels_last = a->channels_last,
                                .channels_first = a->channels_first,
                                .volume = a->volume,
                                .has_unknown = a->unknown_given,
                                .unknown = a->unknown,
                                .labels = a->labels,
                                .progress = cli_progress_report,
                                .context = job->progress,
                                .grid = a->grid ? &job->request->grid : NULL,
                                .coordinates = a->coordinates,
                                .values = a->values,
                                .cell_means = a->cell_means,
                                .placement = &job->in.placement,
                                .facts = &job->in.facts};
}

static csrec_status read_one(cli_job *job, const char *input, csrec_measurement *measurement,
                             csrec_error *error) {
    const cli_recover_arguments *a = job->a;
    const csrec_read_options options = cli_job_read_options(job);
    csrec_status status = csrec_measurement_read_with(input, &options, measurement, error);
    if (status || !a->merge || !job->in.placement.dims) return status;
    csrec_measurement_clear(measurement);
    return cli_fail(
        error, CSREC_UNSUPPORTED,
        "%.200s: has real coordinates, whose grid may differ from file to file; join the lines "
        "of the files instead of --merge",
        input);
}

void cli_job_tell_reading(const cli_job *job) {
    const csrec_placement *p = &job->in.placement;
    char shape[192], step[192] = "", shared[96] = "", moved[96] = "";
    size_t used = 0;
    if (job->a->quiet) return;
    if (job->in.facts.note[0]) cli_note(job->tool, "note: %s: %s", job->input, job->in.facts.note);
    if (p->stepped)
        cli_note(job->tool,
                 "note: %s: whole numbers with a common step, taken as positions%s; --grid H,W "
                 "makes them coordinates%s",
                 job->input, *p->list.header ? "" : " row, column", *p->list.header ? "" : " x, y");
    if (!p->dims) return;
    for (int d = 0; d < p->dims; d++)
        used +=
            (size_t)snprintf(step + used, sizeof step - used, "%s%.6g", d ? " x " : "", p->step[d]);
    if (p->shared)
        snprintf(shared, sizeof shared, "; %lld samples share cells, which have their means",
                 (long long)p->shared);
    if (p->moved > 0.0)
        snprintf(moved, sizeof moved, "; values are those of the middles, changed by up to %.3g",
                 p->moved);
    cli_note(
        job->tool,
        "note: %s: %s, on a grid of %s cells of %s; the farthest sample is %.2g cells from the "
        "middle of its own%s%s; --grid gives another%s",
        job->input,
        p->whole ? "whole numbers that are no likely positions are coordinates"
                 : "real coordinates",
        cli_shape_text(&job->in.measurement.shape, shape), step, p->farthest, shared, moved,
        p->whole ? ", a header row,col or a comment '# shape: H,W' positions" : "");
}

void cli_placement_json(const csrec_placement *p, cli_json *json) {
    if (!p->dims) return;
    cli_json_begin(json, "grid");
    cli_json_reals(json, "origin", p->dims, p->origin);
    cli_json_reals(json, "step", p->dims, p->step);
    cli_json_real(json, "farthest", p->farthest);
    cli_json_integer(json, "shared", p->shared);
    cli_json_real(json, "moved", p->moved);
    cli_json_end(json);
}

/* The library counts parts; a user names files. */
static void name_part(const cli_operands *inputs, csrec_error *error) {
    int part = 0, length = 0;
    csrec_error told = *error;
    if (sscanf(told.text, "part %d: %n", &part, &length) == 1 && part >= 1 && part <= inputs->n)
        cli_fail(error, CSREC_DATA, "%.200s: %.250s", inputs->text[part - 1], told.text + length);
}

static csrec_status read_all(cli_job *job, csrec_measurement *part, const csrec_measurement **parts,
                             csrec_error *error) {
    const cli_operands *inputs = &job->a->inputs;
    csrec_status status = CSREC_OK;
    for (int i = 0; i < inputs->n && !status; i++) {
        status = read_one(job, inputs->text[i], &part[i], error);
        parts[i] = &part[i];
    }
    if (status) return status;
    status = csrec_measurement_merge(inputs->n, parts, &job->in.measurement, job->in.contradictions,
                                     error);
    if (status) name_part(inputs, error);
    return status;
}

bool cli_samples_contradict(const cli_samples *samples, char text[CSREC_DOUBT_SIZE]) {
    char place[192];
    if (!samples->contradictions[0]) return false;
    snprintf(text, CSREC_DOUBT_SIZE,
             "Merged scans contradict each other at %lld position%s, first at %.80s; their mean is "
             "used.",
             (long long)samples->contradictions[0], samples->contradictions[0] == 1 ? "" : "s",
             cli_place_text(&samples->measurement.shape, samples->contradictions[1], place));
    return true;
}

csrec_status cli_job_read(cli_job *job, csrec_error *error) {
    const int n = job->a->inputs.n;
    if (!job->a->merge) return read_one(job, job->input, &job->in.measurement, error);
    csrec_measurement *part = calloc((size_t)n, sizeof *part);
    const csrec_measurement **parts = calloc((size_t)n, sizeof *parts);
    csrec_status status = part && parts
                              ? read_all(job, part, parts, error)
                              : cli_fail(error, CSREC_MEMORY, "%s: out of memory", job->input);
    for (int i = 0; part && i < n; i++) csrec_measurement_clear(&part[i]);
    free(parts);
    free(part);
    return status;
}
