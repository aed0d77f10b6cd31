/* recover_page.c - a recovery as one self-contained page: pictures, charts, tables. */
#include "recover_page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "html.h"
#include "recover_chart.h"
#include "recover_facts.h"
#include "recover_view.h"
#include "text.h"
#include "fingerprint.h"

static const char style[] =
    ":root{color-scheme:light dark;--paper:#fff;--text:#1a1a1a;--soft:#f2f2f2;--edge:#c8c8c8;"
    "--warn:#8a4b00;--link:#0060b0}"
    "@media (prefers-color-scheme:dark){:root{--paper:#1c1c1c;--text:#e8e8e8;--soft:#2a2a2a;"
    "--edge:#505050;--warn:#ffb870;--link:#64b5f6}}"
    "*{box-sizing:border-box}"
    "body{margin:0 auto;max-width:75rem;padding:1rem;background:var(--paper);color:var(--text);"
    "font:1rem/1.5 system-ui,sans-serif}"
    "h1{font-size:1.4rem;overflow-wrap:anywhere}h2{font-size:1.15rem}"
    ".skip{position:absolute;left:-99rem}.skip:focus{position:static}"
    "a{color:var(--link)}:focus-visible{outline:3px solid var(--link);outline-offset:2px}"
    ".grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,18rem),1fr));"
    "gap:1rem}.plots{grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr))}"
    "figure{margin:0}figcaption{padding:.3rem 0}"
    "img,svg{width:100%;height:auto;border:1px solid var(--edge)}"
    "img{image-rendering:pixelated;background:repeating-conic-gradient(#888 0 25%,#777 0 50%) 0 0/"
    "12px 12px}"
    ".wide{overflow-x:auto}table{border-collapse:collapse}"
    "th,td{text-align:left;padding:.15rem .8rem .15rem 0;border-bottom:1px solid var(--edge);"
    "vertical-align:top;font-weight:normal}td{font-variant-numeric:tabular-nums}"
    "pre{background:var(--soft);border:1px solid var(--edge);padding:.6rem;overflow-x:auto;"
    "white-space:pre-wrap;overflow-wrap:anywhere}"
    ".warnings{border-left:4px solid var(--warn);padding-left:1.6rem}svg{max-width:48rem}"
    ".bar{display:inline-block;height:.7rem;background:var(--link)}"
    ".scale{display:block;height:.6rem;border:1px solid var(--edge)}";

/* Data for the parts of the page. */
typedef struct page {
    const cli_job *job;
    FILE *file;
    csrec_error *error;
} page;

static void tag(const page *p, const char *name, const char *text) {
    fprintf(p->file, "<%s>", name);
    cli_html_text(p->file, text);
    fprintf(p->file, "</%s>", name);
}

static void open_section(const page *p, const char *id, const char *title) {
    fprintf(p->file, "<section aria-labelledby=\"%s\">\n<h2 id=\"%s\">%s</h2>\n", id, id, title);
}

static void close_section(const page *p) {
    fputs("</section>\n", p->file);
}

/* ------------------------------------------------------------------ head -------------------- */

static void put_head(const page *p) {
    FILE *file = p->file;
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
          "<meta name=\"color-scheme\" content=\"light dark\"/>\n<link rel=\"icon\" "
          "href=\"data:,\"/>\n"
          "<title>Recovery of ",
          file);
    cli_html_text(file, p->job->input);
    fprintf(file, "</title>\n<style>%s%s</style>\n</head>\n<body>\n", style, cli_svg_style);
    fputs("<a class=\"skip\" href=\"#main\">Skip to the pictures</a>\n<header>\n<h1>Recovery of ",
          file);
    cli_html_text(file, p->job->input);
    fputs("</h1>\n<p>", file);
}

static void put_summary(const page *p) {
    const cli_job *job = p->job;
    int64_t entries = 0;
    csrec_shape_count(&job->measurement.shape, &entries);
    fprintf(p->file, "%s from %.4g %% of its positions in %.3g s",
            job->report.outcome == CSREC_INTERRUPTED ? "Interrupted recovery" : "Recovered",
            100.0 * (double)job->measurement.n / (double)entries, job->report.seconds_total);
    if (job->truth && isfinite(job->quality.psnr))
        fprintf(p->file, ", PSNR <strong>%.2f dB</strong>", job->quality.psnr);
    if (job->truth && !isfinite(job->quality.psnr)) fputs(", equal to the reference", p->file);
    if (job->truth && isfinite(job->quality.ssim))
        fprintf(p->file, ", SSIM %.4f", job->quality.ssim);
    fputs(".</p>\n</header>\n<main id=\"main\" tabindex=\"-1\">\n", p->file);
}

static void put_sentences(const page *p, const char *id, const char *title, cli_sentences s) {
    if (s.n == 0) return;
    open_section(p, id, title);
    fprintf(p->file, "<ul class=\"%s\">\n", id);
    for (int i = 0; i < s.n; i++) {
        tag(p, "li", s.text[i]);
        fputc('\n', p->file);
    }
    fputs("</ul>\n", p->file);
    close_section(p);
}

/* ------------------------------------------------------------------ pictures ---------------- */

/* The false colours from smallest to largest, as a strip. */
static void put_scale(const page *p, const cli_view *view) {
    uint8_t rgb[3];
    fputs("<span class=\"scale\" role=\"presentation\" style=\"background:linear-gradient(90deg",
          p->file);
    for (int k = 0; k <= 10; k++) {
        cli_error_color(k / 10.0, rgb);
        fprintf(p->file, ",rgb(%d %d %d)", rgb[0], rgb[1], rgb[2]);
    }
    fprintf(p->file, ")\"></span>from 0 to %.4g", view->error_most);
}

static csrec_status put_picture(const page *p, cli_view *view, cli_view_kind kind,
                                const char *title, const char *alt) {
    uint8_t *bytes = NULL;
    size_t n = 0;
    csrec_status status = cli_view_encode(p->job, view, kind, &bytes, &n, p->error);
    if (status) return status;
    fprintf(p->file, "<figure>\n<img alt=\"%s\" width=\"%lld\" height=\"%lld\" ", alt,
            (long long)((view->width + view->factor - 1) / view->factor),
            (long long)((view->height + view->factor - 1) / view->factor));
    cli_html_png(p->file, bytes, n);
    fprintf(p->file, "/>\n<figcaption>%s", title);
    if (kind == CLI_VIEW_ERROR) put_scale(p, view);
    fputs("</figcaption>\n</figure>\n", p->file);
    free(bytes);
    return CSREC_OK;
}

static void put_view_note(const page *p, const cli_view *view) {
    const csrec_measurement *m = &p->job->measurement;
    if (m->shape.dims > 2)
        fputs("<p>The middle plane of the last two axes is shown.</p>\n", p->file);
    if (m->channels != 1 && m->channels != 3)
        fprintf(p->file, "<p>The first of %lld channels is shown; the error is that of all.</p>\n",
                (long long)m->channels);
    if (view->factor > 1)
        fprintf(p->file, "<p>A pixel is the mean of %lld x %lld.</p>\n", (long long)view->factor,
                (long long)view->factor);
}

static csrec_status put_pictures(const page *p, cli_view *view) {
    const cli_job *job = p->job;
    char alt[128];
    fputs("<div class=\"grid\">\n", p->file);
    snprintf(alt, sizeof alt, "The %lld samples; positions that were not sampled are transparent",
             (long long)job->measurement.n);
    csrec_status status = put_picture(p, view, CLI_VIEW_SAMPLES, "Samples", alt);
    if (!status)
        status = put_picture(p, view, CLI_VIEW_RECOVERY, "Recovery", "The recovered signal");
    if (!status && job->truth)
        status = put_picture(p, view, CLI_VIEW_REFERENCE, "Reference", "The reference");
    if (job->truth)
        snprintf(alt, sizeof alt, "Where the recovery differs from the reference, PSNR %.2f dB",
                 job->quality.psnr);
    if (!status && job->truth)
        status = put_picture(p, view, CLI_VIEW_ERROR, "Absolute error, brighter is larger: ", alt);
    fputs("</div>\n", p->file);
    put_view_note(p, view);
    return status;
}

/* ------------------------------------------------------------------ signals in 1-D ---------- */

enum { POINTS = 400 };

static bool add_line(cli_chart *chart, const char *name, int64_t n) {
    cli_series *series = &chart->series[chart->n_series++];
    snprintf(series->name, sizeof series->name, "%s", name);
    return cli_series_create(series, n);
}

static void add_point(cli_chart *chart, double x, double y) {
    cli_series *series = &chart->series[chart->n_series - 1];
    series->x[series->n] = x;
    series->y[series->n++] = y;
}

/* Long signals are shown by every k-th entry. */
static bool make_line(const cli_job *job, const char *name, const double *signal,
                      cli_chart *chart) {
    int64_t entries = job->measurement.shape.dim[0], step = (entries + POINTS - 1) / POINTS;
    if (!signal) return true;
    if (!add_line(chart, name, POINTS)) return false;
    chart->series[chart->n_series - 1].plain = true;
    for (int64_t i = 0; i < entries; i += step)
        add_point(chart, (double)i, signal[i * job->measurement.channels]);
    return true;
}

static bool make_dots(const cli_job *job, cli_chart *chart) {
    const csrec_measurement *m = &job->measurement;
    int64_t step = (m->n + POINTS - 1) / POINTS;
    if (!add_line(chart, "samples", POINTS)) return false;
    chart->series[chart->n_series - 1].dots = true;
    for (int64_t i = 0; i < m->n; i += step)
        add_point(chart, (double)m->index[i], m->y[i * m->channels]);
    return true;
}

static void put_chart(const page *p, const cli_chart *chart) {
    cli_svg svg;
    cli_svg_open(&svg, p->file);
    fputs("<figure>\n", p->file);
    cli_svg_begin(&svg, cli_chart_width, cli_chart_height, chart->title, false);
    cli_chart_draw(chart, &svg.canvas, 0.0, 0.0);
    cli_svg_end(&svg);
}

static csrec_status put_line(const page *p) {
    cli_chart chart = {.title = "Signal", .x_label = "position", .y_label = "value"};
    bool made = make_dots(p->job, &chart) &&
                make_line(p->job, "reference", p->job->truth, &chart) &&
                make_line(p->job, "recovery", p->job->signal, &chart);
    if (made) {
        put_chart(p, &chart);
        fputs("<figcaption>The signal, at no more than 400 positions</figcaption>\n</figure>\n",
              p->file);
    } else {
        snprintf(p->error->text, sizeof p->error->text, "%s: out of memory for its report",
                 p->job->input);
    }
    cli_chart_clear(&chart);
    return made ? CSREC_OK : CSREC_MEMORY;
}

static csrec_status put_signal(const page *p) {
    cli_view view;
    open_section(p, "signal", "Samples and recovery");
    csrec_status status = cli_view_of(p->job, &view) ? put_pictures(p, &view) : put_line(p);
    close_section(p);
    return status;
}

/* ------------------------------------------------------------------ charts ------------------ */

/* The same numbers as a table, for readers who cannot see the chart. */
static void put_numbers(const page *p, const cli_chart *chart) {
    fputs("<figcaption>", p->file);
    cli_html_text(p->file, chart->title);
    fputs(
        "<details>\n<summary>Numbers</summary>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" "
        "aria-label=\"Numbers of the chart\"><table>\n<tr><th scope=\"col\">curve</th>"
        "<th scope=\"col\">",
        p->file);
    cli_html_text(p->file, chart->x_label);
    fputs("</th><th scope=\"col\">", p->file);
    cli_html_text(p->file, chart->y_label);
    fputs("</th></tr>\n", p->file);
    for (int s = 0; s < chart->n_series; s++)
        for (int64_t i = 0; i < chart->series[s].n; i++) {
            fputs("<tr><th scope=\"row\">", p->file);
            cli_html_text(p->file, chart->series[s].name);
            fprintf(p->file, "</th><td>%.10g</td><td>%.6g</td></tr>\n", chart->series[s].x[i],
                    chart->series[s].y[i]);
        }
    fputs("</table></div>\n</details></figcaption>\n</figure>\n", p->file);
}

static csrec_status put_charts(const page *p) {
    cli_chart charts[CLI_JOB_CHARTS];
    int n = cli_job_charts(p->job, charts);
    if (n < 0) {
        snprintf(p->error->text, sizeof p->error->text, "%s: out of memory for its report",
                 p->job->input);
        return CSREC_MEMORY;
    }
    open_section(p, "steps", "Progress of the recovery");
    fputs("<div class=\"grid plots\">\n", p->file);
    for (int i = 0; i < n; i++) {
        put_chart(p, &charts[i]);
        put_numbers(p, &charts[i]);
        cli_chart_clear(&charts[i]);
    }
    fputs("</div>\n", p->file);
    close_section(p);
    return CSREC_OK;
}

/* ------------------------------------------------------------------ tables ------------------ */

static void put_facts(const page *p, const char *id, const char *title, const cli_fact *facts,
                      int n) {
    open_section(p, id, title);
    fprintf(p->file, "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-labelledby=\"%s\">",
            id);
    fputs("<table>\n", p->file);
    for (int i = 0; i < n; i++) {
        fputs("<tr><th scope=\"row\">", p->file);
        cli_html_text(p->file, facts[i].name);
        fputs("</th>", p->file);
        tag(p, "td", facts[i].value);
        fputs("</tr>\n", p->file);
    }
    fputs("</table></div>\n", p->file);
    close_section(p);
}

static void put_stages(const page *p) {
    cli_stage stages[CLI_STAGES];
    double whole = 0.0;
    cli_job_stages(p->job, stages);
    for (int i = 0; i < CLI_STAGES; i++) whole += stages[i].seconds;
    open_section(p, "times", "Times");
    fputs("<table>\n", p->file);
    for (int i = 0; i < CLI_STAGES; i++)
        fprintf(p->file,
                "<tr><th scope=\"row\">%s</th><td>%.4f s</td><td><span class=\"bar\" "
                "role=\"presentation\" style=\"width:%.2frem\"></span></td></tr>\n",
                stages[i].name, stages[i].seconds,
                whole > 0.0 ? 8.0 * stages[i].seconds / whole : 0.0);
    fputs("</table>\n", p->file);
    close_section(p);
}

static void put_command(const page *p) {
    open_section(p, "command", "Command to repeat this");
    fputs("<pre tabindex=\"0\" role=\"region\" aria-labelledby=\"command\"><code>", p->file);
    cli_html_text(p->file, p->job->command);
    fputs("</code></pre>\n", p->file);
    close_section(p);
}

static void put_foot(const page *p) {
    char date[64] = "";
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc)) strftime(date, sizeof date, ", %Y-%m-%d %H:%M UTC", &utc);
    fprintf(p->file, "</main>\n<footer><p>%s %s%s</p></footer>\n</body>\n</html>\n",
            p->job->tool->name, csrec_version(), date);
    cli_fingerprint_comment(p->file, p->job->fingerprint);
}

static csrec_status put_page(const page *p) {
    cli_fact facts[CLI_FACTS_MOST];
    put_head(p);
    put_summary(p);
    put_sentences(p, "warnings", "Warnings", cli_job_warnings(p->job));
    put_sentences(p, "remarks", "Remarks", cli_job_remarks(p->job));
    csrec_status status = put_signal(p);
    if (!status) status = put_charts(p);
    put_facts(p, "measured", "Measurement", facts, cli_job_measured(p->job, facts));
    put_facts(p, "settings", "Settings", facts, cli_job_settings(p->job, facts));
    put_stages(p);
    put_command(p);
    put_foot(p);
    return status;
}

csrec_status cli_job_page(const cli_job *job, csrec_files *files, csrec_error *error) {
    const char *path = job->page;
    cli_text text;
    snprintf(error->text, sizeof error->text, "%s: out of memory for the report", path);
    if (!cli_text_open(&text)) return CSREC_MEMORY;
    csrec_status status = put_page(&(page){job, text.file, error});
    if (!cli_text_close(&text)) return status ? status : CSREC_MEMORY;
    if (!status) status = csrec_files_add_bytes(files, path, text.bytes, text.size, error);
    free(text.bytes);
    return status;
}
