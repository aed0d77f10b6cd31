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

/* Of channels, "Normal.X" and "albedo.R", the layer tells. */
const char *csrec_guide_kind(const char *layer) {
    char word[64], before[64];
    const char *dot = strrchr(layer, '.');
    simplify(layer, word);
    if (dot && word[0] && !word[1] && dot - layer < 64) {
        memcpy(before, layer, (size_t)(dot - layer));
        before[dot - layer] = '\0';
        simplify(before, before);
        const char *kind = kind_of(before);
        if (kind) return kind;
    }
    return kind_of(word);
}

bool csrec_guide_is_albedo(const char *name) {
    const char *kind = csrec_guide_kind(name);
    return kind && strcmp(kind, "albedo") == 0;
}
