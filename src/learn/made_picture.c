/* made_picture.c - which kind a picture is. */
#include "learn/made_scene.h"

enum { SCALE_MAX = 3 };

/* Kinds and their shares. Leaves as the network was found to learn from; noise alone, one in eight;
 * and a little of what else is recovered: text on flat ground and on leaves (documents, signs),
 * drawings and cartoons, repeated motifs (walls, fabrics, facades), spots and bodies (microscopy,
 * tomography), reliefs (elevation, radar). */
enum { LEAVES, BENT, NOISE, TEXT, SIGNS, DRAWING, MOTIF, SPOTS, RELIEF, KINDS };
static const float kind_share[KINDS] = {0.52f, 0.15f, 0.125f, 0.025f, 0.02f,
                                        0.04f, 0.05f, 0.035f, 0.035f};

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* A canvas of three times the size; a mask takes 5 bytes a pixel. */
size_t csrec_made_room(int channels, int size) {
    size_t mask = 5 * (size_t)size * (size_t)size + 64;
    return larger(mask, csrec_made_canvas_room(channels, SCALE_MAX * size));
}

/* Paper is mostly light, a screen often dark. */
static csrec_made_palette paper_draw(csrec_made_draws *d, const csrec_made_palette *palette) {
    csrec_made_palette paper = *palette;
    float sort = csrec_made_uniform(d);
    if (sort < 0.5f) paper.mean = csrec_made_between(d, 190, 255);
    if (sort > 0.8f) paper.mean = csrec_made_between(d, 0, 60);
    return paper;
}

static void shapes_draw(csrec_made_field *f, csrec_made_draws *d, const csrec_made_palette *palette,
                        int kind) {
    csrec_made_canvas canvas;
    int scale = csrec_made_chance(d, 0.6f) ? 2 : 3;
    csrec_made_canvas_start(&canvas, f->bank, f->channels, f->size, scale, f->work);
    csrec_made_palette paper = paper_draw(d, palette);
    if (kind == TEXT || kind == SIGNS)
        csrec_made_text_draw(&canvas, d, kind == TEXT ? &paper : palette);
    if (kind == DRAWING) csrec_made_lines_draw(&canvas, d, palette);
    if (kind == MOTIF) csrec_made_motif_draw(&canvas, d, palette);
    if (kind == TEXT) {
        csrec_made_surface ground = csrec_made_surface_flat(d, &paper, paper.mean);
        csrec_made_canvas_close(&canvas, &ground);
    }
    if (canvas.n_open) csrec_made_leaves_draw(&canvas, d, palette);
    bool is_bent = kind == BENT || (kind == MOTIF && csrec_made_chance(d, 0.3f));
    csrec_made_canvas_reduce(&canvas, d, is_bent, f->picture);
}

void csrec_made_picture(const csrec_made_bank *bank, uint64_t seed, uint64_t number, int channels,
                        int size, void *work, float *picture) {
    csrec_made_draws d = csrec_made_draws_of(seed, number, CSREC_MADE_FOR_PICTURE);
    csrec_made_palette palette = csrec_made_palette_draw(&d, channels);
    csrec_made_field field = {bank, channels, size, picture, work};
    int kind = csrec_made_pick(&d, kind_share, KINDS);
    if (kind == NOISE)
        csrec_made_noise_draw(&field, &d, &palette);
    else if (kind == RELIEF)
        csrec_made_relief_draw(&field, &d, &palette);
    else if (kind == SPOTS)
        csrec_made_spots_draw(&field, &d, &palette);
    else
        shapes_draw(&field, &d, &palette, kind);
    csrec_made_finish(&field, &d, &palette);
}
