/* SPDX-License-Identifier: BSD-3-Clause */
/* scene.c - spheres of paint, metal, glass and marble on a tiled floor under an evening sky.
 *
 * Light at a hit: the sun through one shadow ray into its disc (rays of a pixel share the disc out
 * between them, which gives soft shadows), the sky dimmed by how much of it the spheres cover, and
 * mirrored or refracted rays, weighted by Fresnel's law in Schlick's form.
 *
 * A random path does one of these at each hit, drawn by their weights, as a path tracer does. It is
 * noisy, and its mean is the light of all of them. */
#include "scene.h"

#include <stdbool.h>
#include <stddef.h>

#include "csrec.h"
#include "texture.h"

enum { DEPTH_MAX = 7 };
static const double EPSILON = 1e-6;    /* keeps a ray from hitting where it starts */
static const double SUN_RADIUS = 0.07; /* radians; larger than the real one: softer shadows */
static const double GLASS_INDEX = 1.5;

typedef enum finish { PAINT, METAL, GLASS, MARBLE, FLOOR } finish;

typedef struct sphere {
    vec centre;
    double radius;
    finish finish;
    vec colour;
    double gloss; /* share of light mirrored head-on */
    vec sway;     /* how far it moves to either side */
} sphere;

static const sphere spheres[] = {
    {{-0.10, 1.30, 1.30}, 1.30, METAL, {0.93, 0.94, 0.96}, 0.92, {0, 0, 0}},
    {{-2.05, 0.85, -0.25}, 0.85, PAINT, {0.72, 0.05, 0.04}, 0.05, {0, 0, 0}},
    {{1.62, 0.75, -0.55}, 0.75, GLASS, {0.97, 0.99, 0.98}, 0.04, {0, 0, 0}},
    {{0.28, 0.42, -1.55}, 0.42, METAL, {1.00, 0.71, 0.29}, 0.85, {0, 0, 0.35}},
    {{-0.80, 0.34, -1.95}, 0.34, PAINT, {0.03, 0.38, 0.36}, 0.04, {0, 0, 0}},
    {{2.95, 1.05, 2.30}, 1.05, PAINT, {0.05, 0.13, 0.50}, 0.05, {0.5, 0, 0.2}},
    {{-3.10, 1.20, 3.30}, 1.20, MARBLE, {0.86, 0.83, 0.78}, 0.04, {0, 0, 0}},
    {{-1.15, 0.24, -2.75}, 0.24, METAL, {0.95, 0.64, 0.54}, 0.85, {0, 0, 0}},
    {{1.02, 0.22, -2.45}, 0.22, PAINT, {0.90, 0.55, 0.04}, 0.04, {0.3, 0, 0}},
    {{2.55, 0.38, -1.35}, 0.38, PAINT, {0.28, 0.04, 0.34}, 0.04, {0, 0, 0}},
};
enum { SPHERES = sizeof spheres / sizeof spheres[0] };

typedef struct hit {
    double t;
    vec point, normal; /* the normal points out of the sphere, also for a ray inside */
    finish finish;
    vec colour;
    double gloss;
    int sphere_index; /* -1: the floor */
} hit;

/* One camera ray and all that follow from it. */
typedef struct path {
    vec sun; /* direction into this path's part of the sun's disc */
    int64_t rays;
    double swing;                /* of the camera */
    bool random;                 /* of what follows a hit it takes one, drawn by */
    uint64_t seed, pixel, drawn; /* the next random number */
} path;

static double draw(path *walk) {
    return csrec_random_uniform(walk->seed, walk->pixel, walk->drawn++);
}

static vec place(const sphere *ball, double swing) {
    return vec_along(ball->centre, swing, ball->sway);
}

static vec sun_direction(void) {
    return vec_unit(vec_make(-0.80, 0.50, -0.36));
}

/* Nearest crossing with t > EPSILON, or INFINITY. */
static double sphere_crossing(const sphere *ball, double swing, vec from, vec d) {
    vec to = vec_sub(place(ball, swing), from);
    double middle = vec_dot(to, d);
    double root = ball->radius * ball->radius - (vec_dot(to, to) - middle * middle);
    if (root < 0) return INFINITY;
    root = sqrt(root);
    if (middle - root > EPSILON) return middle - root;
    return middle + root > EPSILON ? middle + root : INFINITY;
}

static bool scene_hit(double swing, vec from, vec d, hit *found) {
    double floor_t = d.y < 0 ? -from.y / d.y : INFINITY;
    *found = (hit){.t = floor_t > EPSILON ? floor_t : INFINITY, .sphere_index = -1};
    for (int i = 0; i < SPHERES; i++) {
        double t = sphere_crossing(&spheres[i], swing, from, d);
        if (t < found->t) found->t = t, found->sphere_index = i;
    }
    if (isinf(found->t)) return false;
    vec p = found->point = vec_along(from, found->t, d);
    if (found->sphere_index < 0) {
        found->normal = vec_make(0, 1, 0);
        found->finish = FLOOR;
        found->colour = texture_floor(p.x, p.z, found->t);
        found->gloss = 0.03;
        return true;
    }
    const sphere *ball = &spheres[found->sphere_index];
    found->normal = vec_scale(1 / ball->radius, vec_sub(p, place(ball, swing)));
    found->finish = ball->finish;
    found->gloss = ball->gloss;
    found->colour = ball->finish == MARBLE ? texture_marble(vec_scale(0.9, p), ball->colour,
                                                            vec_make(0.20, 0.26, 0.30))
                                           : ball->colour;
    return true;
}

/* Share of the sun's light that reaches a point; glass lets part of it through. */
static double sunlight(path *walk, vec from) {
    double light = 1;
    walk->rays++;
    for (int i = 0; i < SPHERES && light > 0; i++)
        if (!isinf(sphere_crossing(&spheres[i], walk->swing, from, walk->sun)))
            light *= spheres[i].finish == GLASS ? 0.55 : 0;
    return light;
}

/* Share of the sky that the spheres leave free above a surface: each covers the part
 * (n . d) r^2 / |d|^2 of the cosine-weighted half space (exact while it lies above the horizon). */
static double open_sky(double swing, const hit *at) {
    double open = 1;
    for (int i = 0; i < SPHERES; i++) {
        if (i == at->sphere_index) continue;
        vec to = vec_sub(place(&spheres[i], swing), at->point);
        double square = vec_dot(to, to), cosine = vec_dot(at->normal, to) / sqrt(square);
        double strength = spheres[i].finish == GLASS ? 0.5 : 1;
        if (cosine > 0)
            open *= 1 - strength * cosine * fmin(1, spheres[i].radius * spheres[i].radius / square);
    }
    return open;
}

/* Of a random path one of sun and sky, twice as bright, and the sky is open or it is not. */
static vec diffuse(path *walk, const hit *at) {
    const vec sun_colour = {1.75, 1.36, 0.92}, sky_colour = {0.26, 0.35, 0.52},
              floor_colour = {0.17, 0.14, 0.11};
    double facing = vec_dot(at->normal, walk->sun), sun = 1, sky = open_sky(walk->swing, at);
    if (walk->random) {
        sun = draw(walk) < 0.5 ? 2 : 0;
        sky = draw(walk) < sky ? 2 - sun : 0;
    }
    if (facing <= 0) sun = 0;
    if (sun > 0) sun *= facing * sunlight(walk, vec_along(at->point, 1e-5, at->normal));
    double up = 0.5 + 0.5 * at->normal.y;
    vec ambient = vec_scale(sky, vec_mix(floor_colour, sky_colour, up));
    return vec_mul(at->colour, vec_along(ambient, sun, sun_colour));
}

static vec radiance(path *walk, vec from, vec d, double weight, int depth);

/* Schlick: the share mirrored grows to 1 at grazing incidence. */
static double mirrored(double gloss, double cosine) {
    return gloss + (1 - gloss) * pow(1 - clamp01(cosine), 5);
}

/* The share that a path goes on with: as it is, or of a random path all or nothing. */
static double followed(path *walk, double share) {
    return walk->random ? draw(walk) < share : share;
}

static vec glass(path *walk, const hit *at, vec d, double weight, int depth) {
    bool inside = vec_dot(d, at->normal) > 0;
    vec n = inside ? vec_scale(-1, at->normal) : at->normal;
    double ratio = inside ? GLASS_INDEX : 1 / GLASS_INDEX, cosine = -vec_dot(d, n);
    double square = 1 - ratio * ratio * (1 - cosine * cosine); /* cosine^2 of the refracted ray */
    double share = square < 0 ? 1 : mirrored(at->gloss, inside ? sqrt(square) : cosine);
    const double taken = followed(walk, share);
    vec light = {0, 0, 0};
    if (taken > 0)
        light = vec_scale(taken,
                          radiance(walk, at->point, vec_reflect(d, n), weight * share, depth + 1));
    if (taken < 1) {
        vec bent = vec_unit(vec_along(vec_scale(ratio, d), ratio * cosine - sqrt(square), n));
        vec through = radiance(walk, at->point, bent, weight * (1 - share), depth + 1);
        light = vec_along(light, 1 - taken, vec_mul(at->colour, through));
    }
    return light;
}

static vec surface(path *walk, const hit *at, vec d, double weight, int depth) {
    if (at->finish == GLASS) return glass(walk, at, d, weight, depth);
    double share = mirrored(at->gloss, -vec_dot(d, at->normal));
    /* A polished floor far away would mirror only the horizon. */
    if (at->finish == FLOOR) share *= 0.55;
    const double taken = at->finish == METAL ? 1 : followed(walk, share);
    vec image = {0, 0, 0};
    if (taken > 0)
        image = radiance(walk, at->point, vec_reflect(d, at->normal), weight * share, depth + 1);
    if (at->finish == METAL) return vec_mul(at->colour, image);
    if (taken == 1) return image;
    return vec_along(vec_scale(1 - taken, diffuse(walk, at)), taken, image);
}

static vec radiance(path *walk, vec from, vec d, double weight, int depth) {
    const vec haze = {0.90, 0.70, 0.52};
    hit at;
    if (depth > DEPTH_MAX || weight < 0.004) return vec_make(0, 0, 0);
    walk->rays++;
    if (!scene_hit(walk->swing, from, d, &at)) return texture_sky(d, sun_direction());
    vec light = surface(walk, &at, d, weight, depth);
    return vec_mix(light, haze, 1 - exp(-at.t * at.t / 2600));
}

camera camera_make(int64_t width, int64_t height, double time) {
    const vec eye = {0.25 + 0.9 * sin(0.1 * time), 2.05, -9.2}, target = {-0.03, 0.98, 0};
    const double tangent = 0.335; /* of half the angle of view along the shorter side */
    camera view = {.width = width, .height = height, .eye = eye, .swing = sin(0.3 * time)};
    double shorter = (double)(width < height ? width : height);
    view.forward = vec_unit(vec_sub(target, eye));
    vec right = vec_unit(vec_cross(vec_make(0, 1, 0), view.forward));
    view.right = vec_scale(tangent * (double)width / shorter, right);
    view.up = vec_scale(tangent * (double)height / shorter, vec_cross(view.forward, right));
    return view;
}

/* A direction into the sun's disc; u, v in [0, 1). */
static vec into_sun(double u, double v) {
    vec sun = sun_direction();
    vec side = vec_unit(vec_cross(sun, vec_make(0, 1, 0))), other = vec_cross(side, sun);
    double radius = SUN_RADIUS * sqrt(u), angle = 6.283185307179586 * v;
    return vec_unit(
        vec_along(vec_along(sun, radius * cos(angle), side), radius * sin(angle), other));
}

/* Linear light in the encoding of sRGB, 0 to 1. */
static double encode(double x) {
    return clamp01(x <= 0.0031308 ? 12.92 * x : 1.055 * pow(x, 1 / 2.4) - 0.055);
}

/* To an 8-bit value; a soft shoulder keeps highlights from clipping. */
static uint8_t develop(double light) {
    double x = 0.85 * light;
    if (x > 0.7) x = 0.7 + 0.3 * (1 - exp(-(x - 0.7) / 0.3));
    return (uint8_t)(255 * encode(x) + 0.5);
}

/* Through (u, v) of the picture, 0 to 1 from the left and the top. */
static vec direction(const camera *view, double u, double v) {
    return vec_unit(
        vec_along(vec_along(view->forward, 2 * u - 1, view->right), 1 - 2 * v, view->up));
}

/* (u, v) of the picture at a part of a pixel, x and y from 0 to 1. */
static vec through(const camera *view, double row, double column, double x, double y) {
    return direction(view, (column + x) / (double)view->width, (row + y) / (double)view->height);
}

int64_t scene_trace(const camera *view, int64_t row, int64_t column, int rays_per_pixel,
                    uint64_t seed, vec *light) {
    int side = (int)lround(sqrt(rays_per_pixel)), count = side * side;
    path walk = {
        .swing = view->swing, .seed = seed, .pixel = (uint64_t)(row * view->width + column)};
    vec sum = {0, 0, 0};
    for (int i = 0; i < count; i++) {
        /* One ray in each cell of a side x side grid; the sun's disc is cut likewise and its cells
         * are dealt out in another order (7 is coprime to the counts in use). */
        int cell = (7 * i + 3) % count;
        double random[4];
        for (int k = 0; k < 4; k++) random[k] = draw(&walk);
        walk.sun = into_sun((cell % side + random[2]) / side, (cell / side + random[3]) / side);
        vec d = through(view, (double)row, (double)column, (i % side + random[0]) / side,
                        (i / side + random[1]) / side);
        sum = vec_add(sum, radiance(&walk, view->eye, d, 1, 0));
    }
    *light = vec_make(sum.x / count, sum.y / count, sum.z / count);
    return walk.rays;
}

int64_t scene_trace_pixel(const camera *view, int64_t row, int64_t column, int rays_per_pixel,
                          uint64_t seed, uint8_t rgb[3]) {
    vec light;
    int64_t rays = scene_trace(view, row, column, rays_per_pixel, seed, &light);
    rgb[0] = develop(light.x), rgb[1] = develop(light.y), rgb[2] = develop(light.z);
    return rays;
}

int64_t scene_trace_random(const camera *view, int64_t row, int64_t column, int64_t ray,
                           uint64_t seed, vec *light) {
    enum { DRAWS = 64 }; /* of a path at most: 4, and 3 at each of DEPTH_MAX + 1 hits */
    path walk = {.swing = view->swing,
                 .random = true,
                 .seed = seed,
                 .pixel = (uint64_t)(row * view->width + column),
                 .drawn = (uint64_t)ray * DRAWS};
    double random[4];
    for (int k = 0; k < 4; k++) random[k] = draw(&walk);
    walk.sun = into_sun(random[2], random[3]);
    vec d = through(view, (double)row, (double)column, random[0], random[1]);
    *light = radiance(&walk, view->eye, d, 1, 0);
    return walk.rays;
}

/* Mirrors and glass are looked into. */
static vec albedo(double swing, vec from, vec d, int depth) {
    hit at;
    if (!scene_hit(swing, from, d, &at)) return texture_sky(d, sun_direction());
    if ((at.finish != METAL && at.finish != GLASS) || depth == DEPTH_MAX) return at.colour;
    const bool inside = vec_dot(d, at.normal) > 0;
    const vec n = inside ? vec_scale(-1, at.normal) : at.normal;
    const double ratio = inside ? GLASS_INDEX : 1 / GLASS_INDEX, cosine = -vec_dot(d, n);
    const double square = 1 - ratio * ratio * (1 - cosine * cosine);
    const bool mirrors = at.finish == METAL || square < 0;
    const vec on = mirrors
                       ? vec_reflect(d, n)
                       : vec_unit(vec_along(vec_scale(ratio, d), ratio * cosine - sqrt(square), n));
    return vec_mul(at.colour, albedo(swing, at.point, on, depth + 1));
}

surface_of scene_look(const camera *view, int64_t row, int64_t column, int rays_per_pixel) {
    const int side = (int)lround(sqrt(rays_per_pixel)), count = side * side;
    const double far = 40;
    surface_of sum = {.depth = 0};
    for (int i = 0; i < count; i++) {
        const vec d = through(view, (double)row, (double)column, (i % side + 0.5) / side,
                              (i / side + 0.5) / side);
        hit at;
        const bool sky = !scene_hit(view->swing, view->eye, d, &at);
        sum.albedo = vec_along(sum.albedo, 1.0 / count, albedo(view->swing, view->eye, d, 0));
        if (!sky) sum.normal = vec_along(sum.normal, 1.0 / count, at.normal);
        sum.depth += fmin(sky ? far : at.t, far) / count;
    }
    sum.albedo = vec_make(encode(sum.albedo.x), encode(sum.albedo.y), encode(sum.albedo.z));
    return sum;
}

void scene_motion(const camera *view, const camera *before, int64_t row, int64_t column,
                  double motion[2]) {
    const vec d = through(view, (double)row, (double)column, 0.5, 0.5);
    vec was = d; /* of the sky, which is far away */
    hit at;
    if (scene_hit(view->swing, view->eye, d, &at)) {
        was = vec_sub(at.point, before->eye);
        if (at.sphere_index >= 0)
            was = vec_along(was, before->swing - view->swing, spheres[at.sphere_index].sway);
    }
    const vec right = before->right, up = before->up;
    const double ahead = vec_dot(was, before->forward);
    const double u = 0.5 + 0.5 * vec_dot(was, right) / vec_dot(right, right) / ahead;
    const double v = 0.5 - 0.5 * vec_dot(was, up) / vec_dot(up, up) / ahead;
    motion[0] = ahead > 0 ? v * (double)view->height - 0.5 - (double)row : NAN;
    motion[1] = ahead > 0 ? u * (double)view->width - 0.5 - (double)column : NAN;
}
