/* SPDX-License-Identifier: BSD-3-Clause */
/* guide_names.c - what guides are, by their names and those of the layers of renderers. */
#include <ctype.h>
#include <string.h>

#include "measurement/guides.h"

/* Letters and digits of the name behind the last dot or slash, in lower case. */
static void simplify(const char *layer, char word[64]) {
    const char *dot = strrchr(layer, '.'), *slash = strrchr(layer, '/');
    const char *at = dot && dot > slash ? dot + 1 : slash ? slash + 1 : layer;
    size_t n = 0;
    for (; *at && n < 63; at++)
        if (isalnum((unsigned char)*at)) word[n++] = (char)tolower((unsigned char)*at);
    word[n] = '\0';
}

typedef struct naming {
    const char *kind, *words[16];
} naming;

static const char *kind_by(const naming *names, int n, const char *word, bool within) {
    for (int k = 0; k < n; k++)
        for (int i = 0; names[k].words[i]; i++)
            if (within ? strstr(word, names[k].words[i]) != NULL
                       : strcmp(word, names[k].words[i]) == 0)
                return names[k].kind;
    return NULL;
}

static const char *kind_of(const char *word) {
    static const naming others = {"",
                                  {"crypto", "varian", "motion", "specular", "coat", "sheen",
                                   "transmi", "reflection", "refraction", "normaliz", "shadow",
                                   "light", "composi"}};
    static const naming parts[] = {{"albedo",
                                    {"albedo", "diffcol", "diffusecol", "diffusefilter",
                                     "visiblediffuse", "basecol", "reflectance"}},
                                   {"normal", {"normal"}},
                                   {"depth", {"depth"}},
                                   {"position", {"position"}}};
    static const naming whole[] = {
        {"normal", {"n", "ng", "nn", "ns", "gn", "sn"}},
        {"depth", {"z", "pz", "dd", "mist", "distance", "zbuffer"}},
        {"position", {"p", "px", "py", "pos", "wp", "pworld", "worldp", "pointworld", "world"}}};
    if (kind_by(&others, 1, word, true)) return NULL;
    const char *kind = kind_by(parts, 4, word, true);
    return kind ? kind : kind_by(whole, 3, word, false);
}

/* Of channels, "Normal.X" and "albedo.R", the layer tells: its word. */
static bool find_layer(const char *channel, char word[64]) {
    char before[64];
    const char *dot = strrchr(channel, '.');
    simplify(channel, word);
    if (!dot || !word[0] || word[1] || dot - channel >= 64) return false;
    memcpy(before, channel, (size_t)(dot - channel));
    before[dot - channel] = '\0';
    simplify(before, word);
    return true;
}

/* Mitsuba's name for the second moments of a layer, see csrec_each_kind. */
static bool is_moment(const char *layer) {
    const char *slash = strrchr(layer, '/');
    return strncmp(slash ? slash + 1 : layer, "m2_", 3) == 0;
}

const char *csrec_guide_kind(const char *layer) {
    char word[64];
    if (is_moment(layer)) return NULL;
    if (find_layer(layer, word)) {
        const char *kind = kind_of(word);
        if (kind) return kind;
        simplify(layer, word);
    }
    return kind_of(word);
}

/* Whole words, as renderers document them, or their sources write them:
 *   - Cycles: "Debug Sample Count", a share of all samples (intern/cycles/kernel/film/read.h,
 *     film_get_pass_pixel_sample_count; integrator/pass_accessor.cpp, init_kernel_film_convert)
 *   - RenderMan: sampleCount (renderman.pixar.com/resources/RenderMan_20/risAOVs.html)
 *   - LuxCore: SAMPLECOUNT (wiki.luxcorerender.org, LuxCore SDL Reference Manual, film outputs)
 *   - Arnold: AA_inv_density, 1 / samples of the pixel (AiAOVSampleIteratorGetInvDensity: 1/9 of 3
 *     x 3 samples, as github.com/zpelgrims/lentil takes it)
 *   - pbrt-v4: Variance, of single samples (src/pbrt/film.cpp, GBufferFilm; util/math.h,
 *     VarianceEstimator)
 *   - Mitsuba 3: m2_, means of squares (src/integrators/moment.cpp)
 * V-Ray's VRaySampleRate is a colour for eyes (docs.chaos.com, Sample Rate). It is not documented
 * whether Arnold's variance is of samples or of their mean: "variance" is known by its case. */
const char *csrec_each_kind(const char *layer) {
    static const naming whole[] = {{"share", {"debugsamplecount"}},
                                   {"rays", {"rays", "spp", "samplecount"}},
                                   {"inverse", {"aainvdensity"}}};
    char word[64];
    const char *slash = strrchr(layer, '/'), *own = slash ? slash + 1 : layer;
    if (is_moment(layer)) return "moment";
    if (strncmp(own, "Variance", 8) == 0 && (!own[8] || own[8] == '.')) return "variance";
    find_layer(layer, word);
    return kind_by(whole, 3, word, false);
}

bool csrec_guide_is_albedo(const char *name) {
    const char *kind = csrec_guide_kind(name);
    return kind && strcmp(kind, "albedo") == 0;
}
