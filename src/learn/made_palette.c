/* made_palette.c - tones and colours. In natural pictures the channels agree but for a little: the
 * principal axes of colour are nearly those of the cosine transform over the channels, grey, then
 * warm against cold, then green against magenta, with falling variance. */
#include <string.h>

#include "learn/made_scene.h"

/* Axis k of the colours beside grey; 0 where the channels are too few. */
static float colour_axis(int channels, int k, int c) {
    if (k + 1 >= channels) return 0;
    float angle = 3.14159265f * (float)(k + 1) * ((float)c + 0.5f) / (float)channels;
    return (k == 1 ? 0.6f : 1.0f) * 1.41421356f * cosf(angle);
}

csrec_made_palette csrec_made_palette_draw(csrec_made_draws *d, int channels) {
    csrec_made_palette p = {.channels = channels};
    p.contrast = csrec_made_between(d, 15, 80);
    p.mean = csrec_made_between(d, 70, 180);
    p.chroma = csrec_made_chance(d, 0.1f) ? 0 : csrec_made_scale(d, 0.04f, 0.5f) * p.contrast;
    for (int k = 0; k < 2; k++) p.cast[k] = 0.6f * p.chroma * csrec_made_normal(d);
    p.saturated = csrec_made_chance(d, 0.3f) ? csrec_made_between(d, 0, 0.3f) : 0;
    p.grain = csrec_made_chance(d, 0.6f) ? 0.18f * p.contrast * csrec_made_uniform(d) : 0;
    return p;
}

void csrec_made_chroma_draw(csrec_made_draws *d, int channels, float size, float *gain) {
    float warm = size * csrec_made_normal(d), green = size * csrec_made_normal(d);
    for (int c = 0; c < channels; c++)
        gain[c] = warm * colour_axis(channels, 0, c) + green * colour_axis(channels, 1, c);
}

void csrec_made_tone_draw(csrec_made_draws *d, const csrec_made_palette *palette, float brightness,
                          float *tone) {
    memset(tone, 0, CSREC_MADE_CHANNELS_MAX * sizeof *tone);
    tone[0] = brightness;
    if (palette->channels == 1) return;
    csrec_made_chroma_draw(d, palette->channels, palette->chroma, tone);
    bool pure = csrec_made_chance(d, palette->saturated);
    for (int c = 0; c < palette->channels; c++) {
        tone[c] += brightness + palette->cast[0] * colour_axis(palette->channels, 0, c) +
                   palette->cast[1] * colour_axis(palette->channels, 1, c);
        if (pure) tone[c] = csrec_made_between(d, 0, 255);
    }
}

/* A texture is a change of light in half of all surfaces, the same in every channel, of the share
 * of light that is reflected in most others, and of colour alone in a few. */
void csrec_made_gain_draw(csrec_made_draws *d, const csrec_made_palette *palette, const float *tone,
                          float *gain) {
    for (int c = 0; c < CSREC_MADE_CHANNELS_MAX; c++) gain[c] = 1;
    if (palette->channels == 1) return;
    float sort = csrec_made_uniform(d), sum = 1;
    for (int c = 0; c < palette->channels; c++) sum += tone[c];
    if (sort < 0.4f && sum > 40)
        for (int c = 0; c < palette->channels; c++)
            gain[c] = fminf(2.0f, fmaxf(0.0f, tone[c] * (float)palette->channels / sum));
    else if (sort > 0.9f)
        csrec_made_chroma_draw(d, palette->channels, 0.5f, gain);
}

csrec_made_surface csrec_made_surface_flat(csrec_made_draws *d, const csrec_made_palette *palette,
                                           float brightness) {
    csrec_made_surface f = {.texture = CSREC_MADE_FLAT};
    csrec_made_tone_draw(d, palette, brightness, f.tone);
    return f;
}

/* Shares of the textures, in their order. */
static const float texture_share[CSREC_MADE_TEXTURES] = {0.30f, 0.18f, 0.09f, 0.06f, 0.19f,
                                                         0.05f, 0.04f, 0.04f, 0.03f, 0.02f};

/* Three fine pixels to 80 of the picture a period. */
static void waves_draw(csrec_made_draws *d, const csrec_made_canvas *canvas,
                       csrec_made_surface *f) {
    float scale = (float)canvas->scale;
    float frequency = csrec_made_scale(d, 1.0f / 80, 1.0f / 3) / scale;
    float angle = 6.2831853f * csrec_made_uniform(d);
    f->fu = frequency * cosf(angle);
    f->fv = frequency * sinf(angle);
    f->phase = csrec_made_uniform(d);
    f->warp = csrec_made_chance(d, 0.5f) ? csrec_made_between(d, 0, 0.32f) : 0;
    f->second = csrec_made_between(d, 0.3f, 1);
    f->threshold = csrec_made_between(d, -0.7f, 0.7f);
    f->salt = csrec_made_word(d);
    if (f->texture == CSREC_MADE_BRICKS || f->texture == CSREC_MADE_DOTS) {
        f->second = csrec_made_between(d, 0.8f, 2.5f); /* bricks lie */
        f->warp *= 0.2f;
        f->fu *= 0.5f;
        f->fv *= 0.5f;
    }
}

csrec_made_surface csrec_made_surface_draw(csrec_made_draws *d, const csrec_made_canvas *canvas,
                                           const csrec_made_palette *palette, int texture) {
    float brightness = palette->mean + palette->contrast * csrec_made_normal(d) *
                                           (csrec_made_chance(d, 0.6f) ? 1.0f : 0.3f);
    csrec_made_surface f = csrec_made_surface_flat(d, palette, brightness);
    f.texture = texture < 0 ? csrec_made_pick(d, texture_share, CSREC_MADE_TEXTURES) : texture;
    float share = csrec_made_uniform(d);
    f.amplitude = palette->contrast * (0.05f + 0.8f * share * share);
    f.grain = palette->grain;
    csrec_made_gain_draw(d, palette, f.tone, f.gain);
    f.noise = csrec_made_bank_table(canvas->bank, csrec_made_below(d, CSREC_MADE_TABLES));
    f.noise_scale = csrec_made_scale(d, 0.22f, 1.8f) / (float)canvas->scale;
    waves_draw(d, canvas, &f);
    if (f.texture == CSREC_MADE_RAMP) f.amplitude *= csrec_made_between(d, -1, 1);
    return f;
}
