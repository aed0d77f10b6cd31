/* verdict.c - the sentences on top of the report page. */
#include <math.h>
#include <stdio.h>

#include "tools/common/input.h"
#include "page.h"

/* "a picture of 240 x 360 pixels". */
static void put_object(const cli_page *p) {
    static const char *const nouns[][2] = {
        {"signal", "values"}, {"picture", "pixels"}, {"volume", "values"}};
    const csrec_measurement *m = &p->job->in.measurement;
    const char *const *noun = nouns[m->shape.dims < 3 ? m->shape.dims - 1 : 2];
    char shape[192];
    fprintf(p->file, "a %s of %s %s", noun[0], cli_shape_text(&m->shape, shape), noun[1]);
    if (m->channels > 1) fprintf(p->file, " with %lld channels", (long long)m->channels);
}

static void put_samples(const cli_page *p) {
    const csrec_measurement *m = &p->job->in.measurement;
    int64_t entries = 0;
    csrec_shape_count(&m->shape, &entries);
    fprintf(p->file, " from %lld samples, %.3g %% of its positions: ", (long long)m->n,
            100.0 * (double)m->n / (double)entries);
}

/* In units of the samples, and as a PSNR, which an error of 0 does not have. */
static void put_expected(const cli_page *p) {
    double error = p->job->result.expected;
    if (!isfinite(error))
        fputs("the expected error is not known", p->file);
    else if (error > 0.0)
        fprintf(p->file, "<strong>expected error about %.3g (%.1f dB)</strong>", error,
                cli_job_expected_psnr(p->job));
    else
        fputs("<strong>expected error about 0</strong>", p->file);
}

static void put_true(const cli_page *p) {
    const cli_quality *q = &p->job->result.quality;
    if (!p->job->result.truth) return;
    if (!isfinite(q->psnr)) {
        fputs("; it is equal to the reference", p->file);
        return;
    }
    fprintf(p->file, "; <strong>true error %.3g (%.2f dB)</strong>",
            q->peak * pow(10.0, -q->psnr / 20.0), q->psnr);
    if (isfinite(q->ssim)) fprintf(p->file, ", SSIM %.4f", q->ssim);
}

static void put_units(const cli_page *p) {
    const double *scale = p->job->in.tones.scale;
    fputs("<p class=\"units\">Errors are root mean squares in units of the samples", p->file);
    if (scale[0] != scale[1]) fprintf(p->file, ", which reach from %g to %g", scale[0], scale[1]);
    fputs("; in dB (PSNR), more is better.</p>\n", p->file);
}

static void put_list(const cli_page *p, const char *kind, const cli_sentences *s, int from) {
    if (s->n <= from) return;
    fprintf(p->file, "<ul class=\"%s\">\n", kind);
    for (int i = from; i < s->n; i++) cli_page_text(p, "li", s->text[i]);
    fputs("</ul>\n", p->file);
}

/* The most important warning comes first; the others follow in a list. */
static void put_warnings(const cli_page *p) {
    const cli_sentences warnings = cli_job_warnings(p->job), remarks = cli_job_remarks(p->job);
    if (warnings.n) {
        fputs("<p class=\"warning\" role=\"note\"><strong>Warning:</strong> ", p->file);
        cli_page_text(p, "span", warnings.text[0]);
        fputs("</p>\n", p->file);
    }
    put_list(p, "warning", &warnings, 1);
    put_list(p, "remark", &remarks, 0);
}

static const char *opening(const cli_page *p) {
    char doubt[CSREC_DOUBT_SIZE];
    const csrec_recover_report *r = &p->job->result.report;
    if (r->outcome == CSREC_INTERRUPTED) return "Interrupted, the best so far: recovered";
    return csrec_doubt_result(r, doubt) ? "Not recovered:" : "Recovered";
}

void cli_page_verdict(const cli_page *p) {
    fprintf(p->file, "<p class=\"verdict\" id=\"verdict\">%s ", opening(p));
    put_object(p);
    put_samples(p);
    put_expected(p);
    put_true(p);
    fputs(".</p>\n", p->file);
    put_units(p);
    put_warnings(p);
}
