/* SPDX-License-Identifier: BSD-3-Clause */
/* guide.h - what is known beside the samples: --guide. */
#pragma once

#include "options.h"
#include "report.h"

/* A member `guides`, cli_texts. */
#define CLI_GUIDE(struct_)                                                                         \
    CLI_ROW('G', "guide", CLI_READS, "FILE",                                                       \
            "What is known beside the samples, a picture or array of the signal's shape, perhaps " \
            "with channels: albedo, normals or depth of a rendering, the photograph of a depth "   \
            "map, other bands. NAME=FILE names it, FILE.exr has its layers. May be repeated.",     \
            .offset = offsetof(struct_, guides), .group = CLI_INPUT,                               \
            .brief = "known beside the samples: albedo, depth, a photograph")

/* Refuses stdin among the guides, where another input is stdin, too. */
int cli_guides_check(const cli_tool *tool, const cli_texts *guides, const char *input,
                     const char *mask);
/* Adds the guides. */
csrec_status cli_guides_read(const cli_texts *guides, csrec_measurement *measurement,
                             csrec_error *error);
/* Their names, "albedo, normal", into text, which it returns; of all planes, as "guides". */
const char *cli_guides_text(const csrec_measurement *measurement, char text[192]);
void cli_guides_json(const csrec_measurement *measurement, cli_json *json);
