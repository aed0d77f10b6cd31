/* recipe.h - the grids of each pass of an adaptive recovery (adaptive.c). */
#ifndef CSREC_METHOD_ADAPTIVE_RECIPE_H
#define CSREC_METHOD_ADAPTIVE_RECIPE_H

#include "method/adaptive/rows.h"

/* Names of the stages in progress reports. */
#define CSREC_STAGE_CLASSES "adaptive grids, classes"
#define CSREC_STAGE_FEATURES "adaptive grids, features"

enum {
    CSREC_CLASSES = 31,
    CSREC_CLASS_PASSES = 2,
    CSREC_CLASS_GRIDS = 64, /* in a pass, summed over classes */
    CSREC_FEATURE_PASSES = 5,
    CSREC_FEATURE_GRIDS = 28,  /* in a pass; at most 31: 31 * 2^26 < 2^31 */
    CSREC_PASSES_AVERAGED = 2, /* last passes whose mean is the result */
};

/* Grids of one elongation, along one of `angles` directions, `number`. */
typedef struct csrec_grid_class {
    csrec_class_draw draw;
    int first, grids; /* range of the pass's grids */
} csrec_grid_class;

typedef struct csrec_feature_pass {
    float alpha; /* the pass fits y - alpha u */
    csrec_feature_draw draw;
    int radius; /* of the features */
    double width;
} csrec_feature_pass;

extern const float csrec_class_alpha[CSREC_CLASS_PASSES];
extern const csrec_feature_pass csrec_feature_passes[CSREC_FEATURE_PASSES];

void csrec_classes_list(csrec_grid_class list[CSREC_CLASSES]);

/* Draws the axes of grid < class->grids of a class, or of a grid of a feature pass. */
void csrec_recipe_class(const csrec_grid_class *class, int pass, int grid, uint64_t seed,
                        csrec_axes *axes);
void csrec_recipe_feature(int pass, int grid, uint64_t seed, csrec_axes *axes);

#endif
