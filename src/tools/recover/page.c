/* SPDX-License-Identifier: BSD-3-Clause */
/* page.c - a recovery as one self-contained page: verdict, pictures, charts, tables, downloads. */
#include "page.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

csrec_status cli_page_no_memory(const cli_page *p) {
    return cli_fail(p->error, CSREC_MEMORY, "%s: out of memory for its report", p->job->input);
}

/* An element with a text. */
static void put_element(const cli_page *p, const char *element, const char *text) {
    fprintf(p->file, "<%s>", element);
    cli_html_text(p->file, text);
    fprintf(p->file, "</%s>\n", element);
}

static void open_section(const cli_page *p, const char *id, const char *title) {
    fprintf(p->file, "<section aria-labelledby=\"%s\">\n<h2 id=\"%s\">%s</h2>\n", id, id, title);
}

static void close_section(const cli_page *p) {
    fputs("</section>\n", p->file);
}

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

/* In units of the samples, and as a PSNR, which an error of 0 does not have. */
static void put_expected(const cli_page *p) {
    double error = p->job->result.expected;
    if (!isfinite(error))
        fputs("the expected error is not known", p->file);
    else if (error > 0.0)
        fprintf(p->file, "<strong>expected error about %.3g (%.1f dB)</strong>", error,
                cli_job_psnr_of(p->job, error));
    else
        fputs("<strong>expected error about 0</strong>", p->file);
}

static double true_error(const cli_quality *q) {
    return q->peak * pow(10.0, -q->psnr / 20.0);
}

static void put_true(const cli_page *p) {
    const cli_quality *q = &p->job->result.quality;
    if (!p->job->result.truth) return;
    if (!isfinite(q->psnr)) {
        fputs("; it is equal to the reference", p->file);
        return;
    }
    fprintf(p->file, "; <strong>true error %.3g (%.2f dB)</strong>", true_error(q), q->psnr);
    if (isfinite(q->ssim)) fprintf(p->file, ", SSIM %.4f", q->ssim);
}

static void put_list(const cli_page *p, const char *kind, const cli_sentences *s, int from) {
    if (s->n <= from) return;
    fprintf(p->file, "<ul class=\"%s\">\n", kind);
    for (int i = from; i < s->n; i++) put_element(p, "li", s->text[i]);
    fputs("</ul>\n", p->file);
}

/* A row of a number of the recovery and of the other; NAN: not known. */
static void put_score(const cli_page *p, const char *name, const char *format, double own,
                      double other) {
    const double values[2] = {own, other};
    char text[32];
    if (isnan(own) && isnan(other)) return;
    fprintf(p->file, "<tr><th scope=\"row\">%s</th>", name);
    for (int i = 0; i < (p->job->result.simple.signal ? 2 : 1); i++) {
        snprintf(text, sizeof text, format, values[i]);
        put_element(p, "td", isfinite(values[i]) ? text : isnan(values[i]) ? "–" : "equal");
    }
    fputs("</tr>\n", p->file);
}

/* What leaving samples out tells is all there is without a reference. */
static void put_all_scores(const cli_page *p) {
    const cli_result *r = &p->job->result;
    const double other = r->simple.signal ? r->simple.expected : NAN;
    if (r->truth) {
        put_score(p, "PSNR, dB", "%.2f", r->quality.psnr, r->simple.quality.psnr);
        put_score(p, "SSIM", "%.4f", r->quality.ssim, r->simple.quality.ssim);
        if (p->job->a->labels)
            put_score(p, "values that differ", "%.2f %%", 100.0 * r->quality.wrong, NAN);
        put_score(p, "error", "%.3g", true_error(&r->quality), true_error(&r->simple.quality));
    } else {
        put_score(p, "expected PSNR, dB", "%.1f", cli_job_psnr_of(p->job, r->expected),
                  cli_job_psnr_of(p->job, other));
    }
    const double least = cli_job_psnr_of(p->job, r->most);
    if (isfinite(least)) put_score(p, "PSNR at least (95 % sure), dB", "%.1f", least, NAN);
    put_score(p, "expected error", "%.3g", r->expected, other);
}

/* Without any number, as of an interrupted recovery, there is no table. */
static void put_score_table(const cli_page *p) {
    const cli_result *r = &p->job->result;
    if (!r->truth && isnan(r->expected)) return;
    fputs("<table id=\"scores\">\n<tr><td></td><th scope=\"col\">recovery</th>", p->file);
    if (r->simple.signal) fprintf(p->file, "<th scope=\"col\">%s</th>", cli_simple_name(p->job));
    fputs("</tr>\n", p->file);
    put_all_scores(p);
    fputs("</table>\n", p->file);
    const double *scale = p->job->in.tones.scale;
    fputs("<p class=\"units\">Errors are root mean squares in units of the samples", p->file);
    if (scale[0] != scale[1]) fprintf(p->file, ", which reach from %g to %g", scale[0], scale[1]);
    fputs("; in dB (PSNR), more is better.</p>\n", p->file);
}

void cli_page_scores(const cli_page *p) {
    const cli_result *r = &p->job->result;
    const cli_sentences remarks = cli_job_remarks(p->job);
    fputs("<div class=\"scores\">\n", p->file);
    put_score_table(p);
    if (r->simple.signal)
        fprintf(p->file, "<p>Compared with %s: %s.</p>\n", cli_simple_name(p->job),
                cli_simple_words(p->job));
    if (isfinite(r->expected))
        fputs("<p>Expected errors need no reference: samples were left out and recovered.</p>\n",
              p->file);
    put_list(p, "remark", &remarks, 0);
    fputs("</div>\n", p->file);
}

/* The most important warning comes first; the others follow in a list. */
static void put_warnings(const cli_page *p) {
    const cli_sentences warnings = cli_job_warnings(p->job);
    if (warnings.n) {
        fputs("<p class=\"warning\" role=\"note\"><strong>Warning:</strong> ", p->file);
        put_element(p, "span", warnings.text[0]);
        fputs("</p>\n", p->file);
    }
    put_list(p, "warning", &warnings, 1);
}

static const char *opening(const cli_page *p) {
    char doubt[CSREC_DOUBT_SIZE];
    const csrec_recover_report *r = &p->job->result.report;
    if (r->outcome == CSREC_INTERRUPTED) return "Interrupted, the best so far: recovered";
    return csrec_doubt_result(r, doubt) ? "Not recovered:" : "Recovered";
}

static void put_verdict(const cli_page *p) {
    fprintf(p->file, "<p class=\"verdict\" id=\"verdict\">%s ", opening(p));
    put_object(p);
    const csrec_measurement *m = &p->job->in.measurement;
    fprintf(p->file, " from %lld samples, %.3g %% of its positions: ", (long long)m->n,
            100.0 * (double)m->n / (double)cli_entries(m));
    put_expected(p);
    put_true(p);
    fputs(".</p>\n", p->file);
    put_warnings(p);
}

/* Nothing is loaded from elsewhere. */
static void put_head(const cli_page *p) {
    FILE *file = p->file;
    fputs(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
        "style-src 'unsafe-inline'; script-src 'unsafe-inline'\"/>\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
        "<meta name=\"color-scheme\" content=\"light dark\"/>\n<link rel=\"icon\" "
        "href=\"data:,\"/>\n",
        file);
    fputs("<title>Recovery of ", file);
    cli_html_text(file, p->job->input);
    fprintf(file, "</title>\n<style>%s%s</style>\n</head>\n<body>\n", cli_page_style,
            cli_svg_style);
    fputs("<a class=\"skip\" href=\"#main\">Skip to the pictures</a>\n<header>\n<h1>Recovery of ",
          file);
    cli_html_text(file, p->job->input);
    fputs("</h1>\n", file);
    put_verdict(p);
    fputs("</header>\n<main id=\"main\" tabindex=\"-1\">\n", file);
}

static csrec_status put_signal(const cli_page *p) {
    open_section(p, "signal", "Samples, recovery and errors");
    csrec_status status =
        p->job->in.measurement.shape.dims == 1 ? cli_page_lines(p) : cli_page_panels(p);
    close_section(p);
    return status;
}

/* For readers who cannot see the chart, for the pointer and for downloads. */
static void put_numbers(const cli_page *p, const cli_chart *chart) {
    fputs("<details>\n<summary>Numbers</summary>\n<div class=\"wide\" tabindex=\"0\" "
          "role=\"region\" aria-label=\"Numbers: ",
          p->file);
    cli_html_text(p->file, chart->title);
    fputs("\"><table>\n<tr><th scope=\"col\">curve</th><th scope=\"col\">", p->file);
    cli_html_text(p->file, chart->x_label);
    fputs("</th><th scope=\"col\">", p->file);
    cli_html_text(p->file, chart->y_label);
    fputs("</th></tr>\n", p->file);
    for (int s = 0; s < chart->n_series; s++)
        for (int64_t i = 0; i < chart->series[s].n; i++) {
            fputs("<tr><th scope=\"row\">", p->file);
            cli_html_text(p->file, chart->series[s].name);
            fprintf(p->file, "</th><td>%.*g</td><td>%.6g</td></tr>\n", chart->fractions ? 6 : 10,
                    chart->series[s].x[i], chart->series[s].y[i]);
        }
    fputs("</table></div>\n</details>\n", p->file);
}

void cli_page_chart(const cli_page *p, const cli_chart *chart, const char *note) {
    cli_svg svg;
    cli_svg_open(&svg, p->file);
    fputs("<figure class=\"chart\">\n<div class=\"plot\">", p->file);
    cli_svg_begin(&svg, cli_chart_width, cli_chart_height, chart->title, false);
    cli_chart_draw(chart, &svg.canvas, 0.0, 0.0);
    cli_svg_end(&svg);
    fputs("</div>\n<figcaption>\n", p->file);
    if (note) put_element(p, "p", note);
    put_numbers(p, chart);
    fputs("</figcaption>\n</figure>\n", p->file);
}

/* A single point is no course; the verdict says what it says. */
static bool is_course(const cli_chart *chart) {
    for (int s = 0; s < chart->n_series; s++)
        if (chart->series[s].n > 1) return true;
    return false;
}

static csrec_status put_histogram(const cli_page *p) {
    cli_chart chart;
    double beyond;
    char note[96];
    snprintf(note, sizeof note, "%s", "");
    if (!cli_page_histogram(p->job, &chart, &beyond)) return cli_page_no_memory(p);
    if (beyond > 0.0)
        snprintf(note, sizeof note, "%.2g %% of the recovery's errors are larger than shown.",
                 beyond);
    if (chart.n_series > 0) cli_page_chart(p, &chart, *note ? note : NULL);
    cli_chart_clear(&chart);
    return CSREC_OK;
}

static csrec_status put_charts(const cli_page *p) {
    cli_chart charts[CLI_JOB_CHARTS];
    csrec_status status = put_histogram(p);
    int n = status ? 0 : cli_result_charts(&p->job->result, charts);
    if (n < 0) return cli_page_no_memory(p);
    for (int i = 0; i < n; i++) {
        if (is_course(&charts[i])) cli_page_chart(p, &charts[i], NULL);
        cli_chart_clear(&charts[i]);
    }
    return status;
}

static void put_facts(const cli_page *p, const char *id, const char *title, const cli_fact *facts,
                      int n) {
    open_section(p, id, title);
    fprintf(p->file, "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-labelledby=\"%s\">",
            id);
    fputs("<table>\n", p->file);
    for (int i = 0; i < n; i++) {
        fputs("<tr><th scope=\"row\">", p->file);
        cli_html_text(p->file, facts[i].name);
        fputs("</th>", p->file);
        put_element(p, "td", facts[i].value);
        fputs("</tr>\n", p->file);
    }
    fputs("</table></div>\n", p->file);
    close_section(p);
}

static void put_stages(const cli_page *p) {
    cli_stage stages[CLI_STAGES];
    double whole = 0.0;
    cli_job_stages(p->job, stages);
    for (int i = 0; i < CLI_STAGES; i++) whole += stages[i].seconds;
    open_section(p, "times", "Times");
    fputs("<table>\n", p->file);
    for (int i = 0; i < CLI_STAGES; i++)
        fprintf(p->file,
                "<tr><th scope=\"row\">%s</th><td class=\"seconds\">%.3f s</td><td><span "
                "class=\"time\" role=\"presentation\" style=\"width:%.2frem\"></span></td></tr>\n",
                stages[i].name, stages[i].seconds,
                whole > 0.0 ? 5.0 * stages[i].seconds / whole : 0.0);
    fputs("</table>\n", p->file);
    close_section(p);
}

/* The page's facts as --json prints them, on one line. */
static csrec_status put_json(const cli_page *p) {
    cli_text text;
    cli_json json;
    if (!cli_text_open(&text)) return cli_page_no_memory(p);
    cli_json_open(&json, text.file);
    cli_json_text(&json, "input", p->job->input);
    cli_job_json(p->job, &json);
    cli_json_close(&json);
    if (!cli_text_close(&text)) return cli_page_no_memory(p);
    for (char *at = text.bytes; *at; at++)
        if (*at == '\n') *at = ' ';
    fputs("<p id=\"facts\" class=\"seconds\" hidden=\"hidden\">", p->file);
    cli_html_text(p->file, text.bytes);
    fputs("</p>\n", p->file);
    free(text.bytes);
    return CSREC_OK;
}

/* Files are named after the output, whatever its name holds. The script adds the buttons. */
static csrec_status put_downloads(const cli_page *p) {
    const char *path = p->job->out.output, *name = NULL;
    if (!path || cli_is_dash(path)) path = p->job->input;
    char text[256];
    const int length = cli_input_name(path, &name);
    snprintf(text, sizeof text, "%.*s", length, name);
    fputs("<section id=\"downloads\" aria-labelledby=\"save\" hidden=\"hidden\" data-name=\"",
          p->file);
    cli_html_text(p->file, text);
    fputs("\">\n<h2 id=\"save\">Downloads</h2>\n<p>From this page, without a network. Pictures are "
          "as shown; .npy files hold the values shown under the pointer.</p>\n",
          p->file);
    csrec_status status = put_json(p);
    close_section(p);
    return status;
}

static void put_foot(const cli_page *p) {
    char date[64] = "";
    time_t now = time(NULL);
    struct tm utc;
    fflush(p->file);
    if (gmtime_r(&now, &utc)) strftime(date, sizeof date, ", %Y-%m-%d %H:%M UTC", &utc);
    fprintf(p->file, "</main>\n<footer><p>%s %s%s, %.1f MiB</p></footer>\n",
            p->job->request->all->name, csrec_version(), date,
            fmax((double)p->text->size / 1048576.0, 0.1));
    fprintf(p->file, "<script>\n%s</script>\n</body>\n</html>\n", cli_page_script);
    cli_fingerprint_comment(p->file, p->job->out.fingerprint);
}

static csrec_status put_page(const cli_page *p) {
    cli_fact facts[CLI_FACTS_MOST];
    put_head(p);
    csrec_status status = put_signal(p);
    fputs("<div class=\"flow\">\n", p->file);
    if (!status) status = put_charts(p);
    put_facts(p, "measured", "Measurement", facts, cli_job_measured(p->job, facts));
    put_facts(p, "settings", "Settings", facts, cli_job_settings(p->job, facts));
    put_stages(p);
    fputs("</div>\n", p->file);
    if (!status) status = put_downloads(p);
    open_section(p, "command", "Command to repeat this");
    fputs("<pre tabindex=\"0\" role=\"group\" aria-labelledby=\"command\"><code>", p->file);
    cli_html_text(p->file, p->job->out.command);
    fputs("</code></pre>\n", p->file);
    close_section(p);
    put_foot(p);
    return status;
}

csrec_status cli_job_page(void *context, csrec_files *files, csrec_error *error) {
    const cli_job *job = context;
    const char *path = job->out.page;
    cli_text text;
    cli_fail(error, CSREC_MEMORY, "%s: out of memory for the report", path);
    if (!cli_text_open(&text)) return CSREC_MEMORY;
    csrec_status status = put_page(&(cli_page){job, &text, text.file, error});
    if (!cli_text_close(&text)) return status ? status : CSREC_MEMORY;
    if (!status) status = csrec_files_add_bytes(files, path, text.bytes, text.size, error);
    free(text.bytes);
    return status;
}
