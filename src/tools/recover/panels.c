/* SPDX-License-Identifier: BSD-3-Clause */
/* panels.c - style and script of the report page, and its pictures: what was measured, recovered
 * and is true, and the errors with their scales. */
#include <stdlib.h>

#include "page.h"

const char cli_page_style[] =
    ":root{color-scheme:light dark;--paper:#fff;--text:#1a1a1a;--soft:#f2f2f2;--edge:#c8c8c8;"
    "--warn:#8a4b00;--link:#0060b0;--hole:#2e1f70;--zoom:1;--x:0;--y:0;--cut:50%}\n"
    "@media (prefers-color-scheme:dark){:root{--paper:#1c1c1c;--text:#e8e8e8;--soft:#2a2a2a;"
    "--edge:#505050;--warn:#ffb870;--link:#64b5f6}}\n"
    "*{box-sizing:border-box}[hidden]{display:none!important}\n"
    "body{margin:0 auto;max-width:75rem;padding:1rem;background:var(--paper);color:var(--text);"
    "font:1rem/1.5 system-ui,sans-serif}\n"
    "h1{font-size:1.3rem;overflow-wrap:anywhere}h2{font-size:1.15rem;margin:1.5rem 0 .5rem}\n"
    ".skip{position:absolute;left:-99rem}.skip:focus{position:static}\n"
    "a{color:var(--link)}:focus-visible{outline:3px solid var(--link);outline-offset:2px}\n"
    ".verdict{font-size:1.2rem;margin:.5rem 0}.units{margin:.5rem 0}\n"
    ".warning{border-left:4px solid var(--warn);background:var(--soft);margin:.5rem 0;"
    "padding:.4rem .8rem}ul.warning,ul.remark{padding-left:2rem}\n"
    "figure{margin:0;min-width:0}figcaption{padding:.3rem 0}\n"
    /* Pictures: as many columns as leave no picture alone in a row. */
    ".panels,.charts{display:grid;gap:1rem;margin:1rem 0}\n"
    "@media (min-width:40rem){.of-2,.of-4,.of-6{grid-template-columns:1fr 1fr}}\n"
    "@media (min-width:56rem){.charts{grid-template-columns:1fr 1fr}"
    ".of-3,.of-5,.of-6{grid-template-columns:1fr 1fr 1fr}}\n"
    ".charts figure:only-child{grid-column:1/-1;max-width:48rem}\n"
    ".frame{position:relative;overflow:hidden;width:100%;aspect-ratio:var(--ratio);"
    "max-width:max(8rem,85vh*var(--ratio));border:1px solid var(--edge);cursor:zoom-in}\n"
    ".frame img{position:absolute;width:calc(100%*var(--zoom));height:calc(100%*var(--zoom));"
    "left:calc(-100%*var(--zoom)*var(--x));top:calc(-100%*var(--zoom)*var(--y))}\n"
    ".small,.zoomed img{image-rendering:pixelated}.zoomed .frame{touch-action:none}\n"
    ".holes,.key{background:var(--hole)}\n"
    ".key{display:inline-block;width:.9rem;height:.9rem;vertical-align:-.1rem;"
    "border:1px solid var(--edge)}\n"
    ".bar{display:block;height:.8rem;border:1px solid var(--edge);margin-top:.2rem}\n"
    ".numbers{display:grid;grid-template-columns:repeat(8,1fr);font-variant-numeric:tabular-nums}"
    ".numbers span{grid-column:span 2;justify-self:center;white-space:nowrap}"
    ".numbers :first-child{grid-column:span 1;justify-self:start}"
    ".numbers :last-child{grid-column:span 1;justify-self:end}\n"
    ".tools{display:flex;flex-wrap:wrap;gap:.5rem;align-items:center;position:sticky;top:0;"
    "z-index:1;padding:.5rem 0;background:var(--paper)}\n"
    "button,select{font:inherit;padding:.1rem .7rem;min-height:2.2rem}output{min-width:3rem;"
    "text-align:center}\n"
    ".sides{display:flex;gap:.5rem;justify-content:space-between;align-items:center}\n"
    "#compare{max-width:48rem;margin:0 auto}#compare .frame{margin:0 auto}"
    "#cut{display:block;width:100%;margin:.5rem 0}\n"
    ".over{position:absolute;inset:0;overflow:hidden;clip-path:inset(0 0 0 var(--cut))}\n"
    ".line{position:absolute;top:0;bottom:0;left:var(--cut);width:2px;background:#fff;"
    "box-shadow:0 0 0 1px #000}\n"
    /* Charts and tables fill columns from top to bottom. */
    ".flow{columns:22rem;column-gap:2rem}.flow>*{break-inside:avoid;padding-bottom:1rem}"
    ".flow h2{margin-top:0}\n"
    "svg{width:100%;height:auto;border:1px solid var(--edge)}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;width:100%}\n"
    "th,td{text-align:left;padding:.15rem .8rem .15rem 0;border-bottom:1px solid var(--edge);"
    "vertical-align:top;font-weight:normal}th{white-space:nowrap}"
    "td{font-variant-numeric:tabular-nums;overflow-wrap:anywhere}\n"
    ".seconds{white-space:nowrap;overflow-wrap:normal}.time{display:inline-block;height:.7rem;"
    "background:var(--link)}\n"
    "pre{background:var(--soft);border:1px solid var(--edge);padding:.6rem;overflow-x:auto;"
    "white-space:pre-wrap;overflow-wrap:anywhere}\n";

/* The part of the pictures that is seen has its corner at (x, y) and the extent 1 / zoom, as shares
 * of the whole; style variables hand it to all pictures at once. */
const char cli_page_script[] =
    "(function () {\n"
    "  'use strict';\n"
    "  const by = id => document.getElementById(id);\n"
    "  const pictures = by('pictures'), compare = by('compare');\n"
    "  if (!compare) return;\n"
    "  let zoom = 1, x = 0, y = 0, drag = null, moved = false;\n"
    "  const clamp = v => Math.min(Math.max(v, 0), 1 - 1 / zoom);\n"
    "  function show() {\n"
    "    x = clamp(x);\n"
    "    y = clamp(y);\n"
    "    pictures.style.setProperty('--zoom', zoom);\n"
    "    pictures.style.setProperty('--x', x);\n"
    "    pictures.style.setProperty('--y', y);\n"
    "    pictures.classList.toggle('zoomed', zoom > 1);\n"
    "    by('zoom').textContent = zoom + ' \\u00d7';\n"
    "  }\n"
    /* (u, v): the point of the frame that stays where it is. */
    "  function magnify(factor, u, v) {\n"
    "    const next = Math.min(Math.max(zoom * factor, 1), 64);\n"
    "    x += u / zoom - u / next;\n"
    "    y += v / zoom - v / next;\n"
    "    zoom = next;\n"
    "    show();\n"
    "  }\n"
    "  function move(u, v) {\n"
    "    x += u / zoom;\n"
    "    y += v / zoom;\n"
    "    show();\n"
    "  }\n"
    "  by('in').onclick = () => magnify(2, 0.5, 0.5);\n"
    "  by('out').onclick = () => magnify(0.5, 0.5, 0.5);\n"
    "  by('whole').onclick = () => magnify(0, 0, 0);\n"
    "  function watch(frame) {\n"
    "    const place = e => {\n"
    "      const box = frame.getBoundingClientRect();\n"
    "      return [(e.clientX - box.left) / box.width, (e.clientY - box.top) / box.height];\n"
    "    };\n"
    "    frame.tabIndex = 0;\n"
    "    frame.setAttribute('role', 'group');\n"
    "    frame.setAttribute('aria-label', 'Picture: plus, minus and arrow keys magnify and move');"
    "\n"
    "    frame.ondragstart = e => e.preventDefault();\n"
    "    frame.onpointerdown = e => { drag = place(e); moved = false; };\n"
    "    frame.onpointermove = e => {\n"
    "      if (!drag) return;\n"
    "      const now = place(e), du = drag[0] - now[0], dv = drag[1] - now[1];\n"
    "      if (!moved) moved = Math.hypot(du, dv) > 0.01;\n"
    "      if (!moved) return;\n"
    "      move(du, dv);\n"
    "      drag = now;\n"
    "    };\n"
    "    frame.onclick = e => { if (!moved) magnify(2, ...place(e)); };\n"
    "    frame.onkeydown = e => {\n"
    "      const step = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1],"
    " ArrowDown: [0, 0.1] }[e.key];\n"
    "      const factor = { '+': 2, '-': 0.5 }[e.key];\n"
    "      if (factor) magnify(factor, 0.5, 0.5);\n"
    "      if (!step) return;\n"
    "      move(...step);\n"
    "      e.preventDefault();\n"
    "    };\n"
    "  }\n"
    "  window.addEventListener('pointerup', () => { drag = null; });\n"
    "  const frame = compare.querySelector('.frame'), left = by('left');\n"
    "  const copy = id => by(id).querySelector('img').cloneNode();\n"
    "  const part = name => {\n"
    "    const made = document.createElement('div');\n"
    "    made.className = name;\n"
    "    return made;\n"
    "  };\n"
    "  const over = part('over');\n"
    "  over.append(copy('recovery'));\n"
    "  document.querySelectorAll('figure[data-look]').forEach(figure =>\n"
    "    left.append(new Option(figure.querySelector('b').textContent, figure.id)));\n"
    "  left.onchange = () => frame.replaceChildren(copy(left.value), over, part('line'));\n"
    "  left.selectedIndex = left.options.length - 1;\n"
    "  left.onchange();\n"
    "  frame.style.cssText = by('recovery').querySelector('.frame').style.cssText;\n"
    "  by('cut').oninput = e => compare.style.setProperty('--cut', e.target.value + '%');\n"
    "  document.querySelectorAll('.frame').forEach(watch);\n"
    "  by('tools').hidden = compare.hidden = false;\n"
    "  show();\n"
    "})();\n";

typedef struct panel {
    const char *id, *title, *alt;
    bool look; /* the recovery can be compared with this picture */
} panel;

/* Opens the figure and its caption. */
static csrec_status open_panel(const cli_page *p, const panel *own, const csrec_image *image) {
    enum { SMALL = 128 }; /* width below which pixels are shown as squares */
    uint8_t *bytes = NULL;
    size_t n = 0;
    int64_t height = image->pixels.shape.dim[0], width = image->pixels.shape.dim[1];
    csrec_status status = csrec_image_encode(image, &bytes, &n, p->error);
    if (status) return status;
    fprintf(p->file, "<figure id=\"%s\"%s>\n<div class=\"frame\" style=\"--ratio:%.6g\"><img",
            own->id, own->look ? " data-look=\"1\"" : "", (double)width / (double)height);
    fprintf(p->file, " class=\"%s%s\" alt=\"%s\" width=\"%lld\" height=\"%lld\" ",
            width < SMALL ? "small" : "large", image->alpha ? " holes" : "", own->alt,
            (long long)width, (long long)height);
    cli_html_png(p->file, bytes, n);
    fprintf(p->file, "/></div>\n<figcaption><b>%s</b>\n", own->title);
    free(bytes);
    return CSREC_OK;
}

static void close_panel(const cli_page *p) {
    fputs("</figcaption>\n</figure>\n", p->file);
}

/* Takes the plane over. */
static csrec_status put_tones(const cli_page *p, const panel *own, const cli_view *view,
                              cli_plane *plane) {
    csrec_image image = {0};
    csrec_status status = cli_plane_tones(plane, view, &image);
    cli_plane_clear(plane);
    if (status) cli_page_no_memory(p);
    if (!status) status = open_panel(p, own, &image);
    csrec_image_clear(&image);
    return status;
}

/* ------------------------------------------------------------------ samples, signals -------- */

/* Blended: a picture's only; elsewhere they have neighbours outside of the plane. */
static csrec_status put_samples(const cli_page *p, const cli_view *view, bool blended) {
    static const panel own[2] = {
        {"samples", "Samples", "The samples; other pixels are not known", true},
        {"blend", "Samples, blended", "The samples, blended linearly", true}};
    cli_plane plane;
    if (blended && p->job->in.measurement.shape.dims > 2) return CSREC_OK;
    if (cli_plane_samples(&p->job->in.measurement, view, &plane)) return cli_page_no_memory(p);
    if (blended && cli_plane_blend(&plane)) {
        cli_plane_clear(&plane);
        return cli_page_no_memory(p);
    }
    csrec_status status = put_tones(p, &own[blended], view, &plane);
    if (status) return status;
    fputs(blended ? "linearly, without a recovery\n" : "<span class=\"key\"></span> not sampled\n",
          p->file);
    close_panel(p);
    return CSREC_OK;
}

static csrec_status put_signal(const cli_page *p, const panel *own, const cli_view *view,
                               const double *signal) {
    cli_plane plane;
    if (cli_plane_signal(&p->job->in.measurement, view, signal, &plane))
        return cli_page_no_memory(p);
    csrec_status status = put_tones(p, own, view, &plane);
    if (!status) close_panel(p);
    return status;
}

/* ------------------------------------------------------------------ errors ------------------ */

/* The false colours as a strip, with numbers below. */
static void put_bar(const cli_page *p, double most, bool cut) {
    enum { NUMBERS = 5, STOPS = 10 };
    uint8_t rgb[3];
    fputs("<span class=\"bar\" role=\"presentation\" style=\"background:linear-gradient(90deg",
          p->file);
    for (int k = 0; k <= STOPS; k++) {
        cli_colormap_color(cli_colormap_info(0), (double)k / STOPS, rgb);
        fprintf(p->file, ",rgb(%d %d %d)", rgb[0], rgb[1], rgb[2]);
    }
    fputs(")\"></span>\n<span class=\"numbers\">", p->file);
    for (int k = 0; k < NUMBERS; k++)
        fprintf(p->file, "<span>%s%.3g</span>", cut && k == NUMBERS - 1 ? "≥ " : "",
                most * k / (NUMBERS - 1));
    fputs("</span>\n", p->file);
}

/* The colours end at the 99th percentile, so that a few large errors do not darken the rest; at the
 * largest if hardly a pixel has an error. */
static csrec_status put_error_plane(const cli_page *p, const panel *own, const cli_plane *plane) {
    double percentile, largest;
    csrec_image image = {0};
    if (cli_plane_range(plane, &percentile, &largest)) return cli_page_no_memory(p);
    bool cut = percentile > 0.0 && percentile < largest;
    double most = cut ? percentile : largest > 0.0 ? largest : 1.0;
    csrec_status status = cli_plane_colors(plane, most, &image);
    if (status) cli_page_no_memory(p);
    if (!status) status = open_panel(p, own, &image);
    csrec_image_clear(&image);
    if (status) return status;
    fputs(p->job->in.measurement.channels > 1
              ? "root mean square over all channels, in units of the samples\n"
              : "in units of the samples\n",
          p->file);
    put_bar(p, most, cut);
    if (cut)
        fprintf(p->file, "The scale ends at the 99th percentile, %.4g; the largest is %.4g.\n",
                percentile, largest);
    else
        fprintf(p->file, "The largest is %.4g.\n", largest);
    close_panel(p);
    return CSREC_OK;
}

static csrec_status put_errors(const cli_page *p, const panel *own, const cli_view *view,
                               const double *a, const double *b) {
    cli_plane plane;
    if (cli_plane_errors(&p->job->in.measurement, view, a, b, &plane)) return cli_page_no_memory(p);
    csrec_status status = put_error_plane(p, own, &plane);
    cli_plane_clear(&plane);
    return status;
}

/* What needs the script stays hidden without it. */
static void put_tools(const cli_page *p) {
    fputs("<div class=\"tools\" id=\"tools\" hidden=\"hidden\">\n"
          "<button type=\"button\" id=\"out\" aria-label=\"Smaller\">−</button>\n"
          "<output id=\"zoom\">1 ×</output>\n"
          "<button type=\"button\" id=\"in\" aria-label=\"Larger\">+</button>\n"
          "<button type=\"button\" id=\"whole\">Whole</button>\n"
          "<span>All pictures together: click to magnify, drag or use the arrow keys to move."
          "</span>\n</div>\n"
          "<figure id=\"compare\" hidden=\"hidden\">\n<div class=\"frame\"></div>\n<figcaption>\n"
          "<input type=\"range\" id=\"cut\" min=\"0\" max=\"100\" value=\"50\" "
          "aria-label=\"Where the recovery begins\"/>\n"
          "<span class=\"sides\"><label>Left: <select id=\"left\"></select></label>"
          "<span>Right: Recovery</span></span>\n</figcaption>\n</figure>\n",
          p->file);
}

static void put_notes(const cli_page *p, const cli_view *view) {
    const csrec_measurement *m = &p->job->in.measurement;
    if (m->shape.dims > 2)
        fputs("<p>The middle plane of the last two axes is shown.</p>\n", p->file);
    if (m->channels != 1 && m->channels != 3)
        fprintf(p->file, "<p>The first of %lld channels is shown; errors are those of all.</p>\n",
                (long long)m->channels);
    if (view->factor > 1)
        fprintf(p->file,
                "<p>A pixel is the mean of %lld x %lld, of errors the root mean square.</p>\n",
                (long long)view->factor, (long long)view->factor);
}

/* Of those that are the same for every signal. */
enum { RECOVERY, REFERENCE, ERROR, EXPECTED };
static const panel panels[] = {
    {"recovery", "Recovery", "The recovered signal", false},
    {"reference", "Reference", "The reference", true},
    {"error", "True error", "Where the recovery differs from the reference", false},
    {"expected", "Expected error", "Where the recovery is expected to be wrong", false}};

static csrec_status put_all(const cli_page *p, const cli_view *view) {
    const cli_job *job = p->job;
    csrec_status status = CSREC_OK;
    if (cli_job_has_points(job)) {
        status = put_samples(p, view, false);
        if (!status) status = put_samples(p, view, true);
    }
    if (!status) status = put_signal(p, &panels[RECOVERY], view, job->result.signal);
    if (!status && job->result.truth)
        status = put_signal(p, &panels[REFERENCE], view, job->result.truth);
    if (!status && job->result.truth)
        status = put_errors(p, &panels[ERROR], view, job->result.signal, job->result.truth);
    if (!status && job->result.uncertainty)
        status = put_errors(p, &panels[EXPECTED], view, job->result.uncertainty, NULL);
    return status;
}

csrec_status cli_page_panels(const cli_page *p) {
    const cli_job *job = p->job;
    cli_view view;
    cli_view_of(job, &view);
    const int samples = cli_job_has_points(job) ? 1 + (job->in.measurement.shape.dims == 2) : 0;
    int count = 1 + samples + (job->result.truth ? 2 : 0) + (job->result.uncertainty != NULL);
    put_notes(p, &view);
    put_tools(p);
    fprintf(p->file, "<div class=\"panels of-%d\">\n", count);
    csrec_status status = put_all(p, &view);
    fputs("</div>\n", p->file);
    return status;
}
