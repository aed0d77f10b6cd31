/* recipe.c - the grids of each pass of an adaptive recovery. docs/pictures.md lists
 * rejected alternatives. */
#include "method/adaptive/recipe.h"

static const struct {
    float aspect;
    int angles, grids;
} kinds[] = {{1, 1, 4}, {3, 6, 2}, {5, 10, 2}, {8, 14, 2}};

const float csrec_class_alpha[] = {0.0f, 0.5f};

const csrec_feature_pass csrec_feature_passes[] = {{0.2f, {0.1f, 0.40f, 4}, 3, 2.0},
                                                   {0.3f, {0.2f, 0.30f, 4}, 3, 2.0},
                                                   {0.4f, {0.3f, 0.25f, 4}, 2, 1.5},
                                                   {0.4f, {0.4f, 0.20f, 5}, 2, 1.5},
                                                   {0.4f, {0.4f, 0.20f, 5}, 2, 1.5}};

/* Random streams of the grids, distinct from those of base/random.h. */
static const uint64_t first_stream = UINT64_C(1) << 32;

void csrec_classes_list(csrec_grid_class list[CSREC_CLASSES]) {
    int first = 0;
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
        for (int angle = 0; angle < kinds[kind].angles; angle++) {
            *list++ = (csrec_grid_class){.draw = {kinds[kind].aspect, kinds[kind].angles, angle},
                                         .first = first,
                                         .grids = kinds[kind].grids};
            first += kinds[kind].grids;
        }
}

void csrec_recipe_class(const csrec_grid_class *class, int pass, int grid, uint64_t seed,
                        csrec_axes *axes) {
    uint64_t number = (uint64_t)(pass * CSREC_CLASS_GRIDS + class->first + grid);
    csrec_axes_draw_class(&class->draw, seed, first_stream + number, axes);
}

void csrec_recipe_feature(int pass, int grid, uint64_t seed, csrec_axes *axes) {
    const int before = CSREC_CLASS_PASSES * CSREC_CLASS_GRIDS;
    uint64_t number = (uint64_t)(before + pass * CSREC_FEATURE_GRIDS + grid);
    csrec_axes_draw_feature(&csrec_feature_passes[pass].draw, seed, first_stream + number, axes);
}
