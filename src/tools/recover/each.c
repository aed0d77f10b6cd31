/* SPDX-License-Identifier: BSD-3-Clause */
/* each.c - what single samples tell of their rays and noise, in words and JSON. */
#include <math.h>

#include "page.h"

bool cli_rays_text(const csrec_measurement *m, char text[192]) {
    double sum = 0.0, least, most;
    if (!m->rays) return false;
    for (int64_t i = 0; i < m->n; i++) sum += m->rays[i];
    cli_range_of(m->n, m->rays, &least, &most);
    snprintf(text, 192, "%.10g in all, %g to %g a sample", sum, least, most);
    return true;
}

static bool has_deviations(const csrec_measurement *m) {
    bool any = false;
    for (int64_t i = 0; i < m->n * m->channels && !any; i++) any = !isnan(m->deviation[i]);
    return any;
}

bool cli_noise_text(const csrec_measurement *m, const char *source, char text[192]) {
    double least, most;
    if (m->deviation && has_deviations(m)) {
        cli_range_of(m->n * m->channels, m->deviation, &least, &most);
        snprintf(text, 192, "%g to %g, of each sample", least, most);
        return true;
    }
    if (!m->rays) return false;
    if (m->sigma > 0.0)
        snprintf(text, 192, "%g of one ray%s%s%s", m->sigma, source && *source ? " (" : "",
                 source && *source ? source : "", source && *source ? ")" : "");
    else
        snprintf(text, 192, "in proportion to the light, by its rays");
    return true;
}

void cli_each_json(const csrec_measurement *m, cli_json *json) {
    double least, most;
    if (m->rays) {
        double sum = 0.0;
        for (int64_t i = 0; i < m->n; i++) sum += m->rays[i];
        cli_json_real(json, "rays", sum);
        cli_range_of(m->n, m->rays, &least, &most);
        cli_json_reals(json, "rays_range", 2, (double[]){least, most});
    }
    if (!m->deviation || !has_deviations(m)) return;
    cli_range_of(m->n * m->channels, m->deviation, &least, &most);
    cli_json_reals(json, "sigma_range", 2, (double[]){least, most});
}
