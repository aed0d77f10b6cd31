/* SPDX-License-Identifier: BSD-3-Clause */
/* parts.h - recoveries that work in parts: in memory, larger than memory, one tile at a time, on
 * several devices and in several processes.
 *
 * A signal is cut into overlapping tiles (tiling.c). One loop (run.c) takes the samples in the box
 * of each, recovers it by the method of the plan, and delivers what it has a share in: source ->
 * recover -> sink.
 *
 * - Sources: samples in memory (samples.c), rows that the caller reads (slabs.c), or the samples of
 *   one tile from the caller (tiles.c).
 * - Sinks: cells that tiles are blended into (mosaic.c): of one signal in memory; of their own
 *   memory, which the caller takes in order or each process hands over (slabs.c). The journal
 * stands before them: a tile that it has is not recovered again.
 * - Who: consecutive tiles for each process of a communicator (ranks.c). Devices of a process are
 *   threads with such a communicator (devices.c).
 *
 * Whatever is chosen, the bits are the same. */
#pragma once

#include "csrec/comm.h"
#include "csrec/io.h"
#include "measurement/cut.h"
#include "method/gaussian/gaussian.h"
#include "method/method.h"

enum { CSREC_TILE_AXES = 3 };

/* Axes of the signal, preceded by axes of one entry. Cores are `stride` long but for the last ones
 * and begin at multiples of it. */
typedef struct csrec_tiling {
    int64_t extent[CSREC_TILE_AXES], count[CSREC_TILE_AXES], stride[CSREC_TILE_AXES], pad, tiles;
    csrec_shape shape; /* of the signal */
} csrec_tiling;

/* First and end along each axis. */
typedef struct csrec_box {
    int64_t at[CSREC_TILE_AXES][2];
} csrec_box;

typedef struct csrec_tile {
    csrec_box core;  /* its cell: the cores make up the signal */
    csrec_box reach; /* what it has a share in: half of what is around the core, too */
    csrec_box box;   /* what it is recovered with: `pad` entries around */
} csrec_tile;

/* Whether tiles of such a signal can be counted: no disk holds a larger one. */
bool csrec_tiling_bears(const csrec_shape *shape);

/* One tile. pad by the distance of the samples. */
csrec_tiling csrec_tiling_whole(const csrec_task *task);

/* Tiles of at most options->tile values without what is around them: what a recovery has whatever
 * the memory. */
csrec_tiling csrec_tiling_usual(const csrec_task *task);

/* Cuts the axis along which tiles are longest; false: smaller tiles would be mostly overlap. */
bool csrec_tiling_split(csrec_tiling *tiling);

csrec_tile csrec_tiling_tile(const csrec_tiling *tiling, int64_t number);

/* The extents of the largest tile. */
csrec_shape csrec_tiling_largest(const csrec_tiling *tiling);

/* The next cell after `cell` (-1: the first) that a tile reaches, and where; -1: none. Reach is
 * mutual: these are also the tiles that reach its cell. */
int64_t csrec_tiling_near(const csrec_tiling *tiling, int64_t tile, int64_t cell, csrec_box *where);

/* Tiles side by side, which have the same entries of the signal's first axis, and those entries:
 * first and end. Lines of tiles follow one another. */
int64_t csrec_tiling_line(const csrec_tiling *tiling);
csrec_slab csrec_tiling_rows(const csrec_tiling *tiling, int64_t line);

/* The box of entries of the signal's first axis. */
csrec_box csrec_tiling_slab(const csrec_tiling *tiling, csrec_slab slab);

/* The task of the tile with the most samples, of the extents of the largest. Without positions the
 * number of samples is what it can be. */
csrec_status csrec_tiling_task(const csrec_tiling *tiling, const csrec_measurement *measurement,
                               const csrec_task *whole, csrec_task *task);

/* In memory: those of an entry are side by side, entries in C order. */
typedef struct csrec_boxed {
    csrec_box box;
    double *values;
} csrec_boxed;

int64_t csrec_box_entries(const csrec_box *box);

/* What both have; false: nothing. */
bool csrec_box_common(const csrec_box *a, const csrec_box *b, csrec_box *both);

/* The values of an entry. */
double *csrec_boxed_at(const csrec_boxed *boxed, int64_t channels,
                       const int64_t at[CSREC_TILE_AXES]);

/* Copies the values of a box that both have. */
void csrec_boxed_copy(const csrec_boxed *from, int64_t channels, const csrec_box *box,
                      const csrec_boxed *to);

/* Blends a tile's values of a box into those of the tiles before it. Every entry becomes the
 * weighted mean of the tiles that reach it, with weights that are linear along the axes and sum to
 * 1, in the tiles' order: so no sum of weights is stored, and equal values keep their bits. */
void csrec_boxed_blend(const csrec_tiling *tiling, int64_t tile, int64_t channels,
                       const csrec_box *box, const csrec_boxed *from, const csrec_boxed *to);

/* The cells of a signal. Tiles may come in any order, and from other processes: what is not yet its
 * turn waits. */
typedef struct csrec_mosaic csrec_mosaic;

/* The tiling must outlive it. signal: the whole, or NULL: each cell has memory of its own from the
 * first tile that reaches it until csrec_mosaic_drop. */
csrec_status csrec_mosaic_create(const csrec_tiling *tiling, int64_t channels, double *signal,
                                 csrec_mosaic **mosaic, csrec_error *error);
void csrec_mosaic_destroy(csrec_mosaic *mosaic);

/* Blends what a tile has of `where` into a cell, now or when it is its turn. */
csrec_status csrec_mosaic_add(csrec_mosaic *mosaic, int64_t tile, int64_t cell,
                              const csrec_box *where, const csrec_boxed *values,
                              csrec_error *error);

/* The values of a whole cell, from another process. */
csrec_status csrec_mosaic_set(csrec_mosaic *mosaic, int64_t cell, const csrec_boxed *values,
                              csrec_error *error);

/* The cell, once all tiles that reach it are blended; NULL before. */
const csrec_boxed *csrec_mosaic_cell(const csrec_mosaic *mosaic, int64_t cell);
void csrec_mosaic_drop(csrec_mosaic *mosaic, int64_t cell);

/* Whether positions ascend, as those of most files do: then a search finds the samples of a range.
 * threads: as csrec_threads takes them. */
bool csrec_samples_ascend(const csrec_measurement *measurement, int threads);

/* The samples in a box of the tiling's signal, in their order, with positions in it; O(log n) for
 * each of its lines beside the copy if positions ascend, else O(n). csrec_measurement_clear
 * frees the part, even on failure. CSREC_MEMORY. */
csrec_status csrec_samples_select(const csrec_measurement *measurement, const csrec_tiling *tiling,
                                  const csrec_box *box, bool ascend, int threads,
                                  csrec_measurement *part);

/* What every tile must know of all samples: their number, ranges, mean and principal colours.
 * Survey bands of the signal's first axis apart, each with its samples in their order and in pieces
 * of any size, and join them in their order: it does not matter which process surveys a band. */
typedef struct csrec_survey {
    int64_t channels, n;
    double unit; /* of the sums: csrec_unit_of the samples so far */
    csrec_gaussian_colours colours;
    csrec_gaussian_axes axes; /* of these three csrec_survey_end */
    csrec_whole whole;
    const double *mean; /* [channels] */
    double value[];     /* [channels] of the least, of the most; the rest is samples.c's */
} csrec_survey;

/* Bytes of a survey, which may be sent: csrec_survey_end again makes it whole. */
size_t csrec_survey_size(int64_t channels);

/* Adds the samples of entries of the first axis to a band, by csrec_survey_add. */
typedef csrec_status (*csrec_survey_fn)(void *context, csrec_slab rows, csrec_survey *band,
                                        csrec_error *error);
void csrec_survey_add(csrec_survey *survey, int64_t n, const double *y);

/* Surveys a signal; processes of a communicator, or threads, share the bands. *survey is to be
 * freed, even on failure. */
csrec_status csrec_survey_make(const csrec_shape *shape, int64_t channels, csrec_comm *comm,
                               int threads, csrec_survey_fn add, void *context,
                               csrec_survey **survey, csrec_error *error);
/* All samples of a measurement; of the tiling only the signal counts. */
csrec_status csrec_survey_of(const csrec_measurement *measurement, const csrec_tiling *tiling,
                             csrec_survey **survey, csrec_error *error);
csrec_cut csrec_survey_cut(const csrec_survey *survey, const csrec_measurement *form);
/* Mean, principal colours and the properties of the whole, in units of `unit`. */
void csrec_survey_end(csrec_survey *survey, const csrec_shape *shape, double unit);

/* csrec_method_run. Where channels are measured at positions of their own, those of the same
 * positions are recovered together, and channels without a sample get their mean; NULL: 0. */
csrec_status csrec_channels_run(const csrec_method_type *method, const csrec_recovery *recovery,
                                const double *mean, csrec_error *error);

/* Recovered tiles kept in a file, so that a recovery that was killed goes on with what it had. Tile
 * k has its place in the file, so processes of any number share it, and each is whole by its
 * checksum: no order of writing matters. NULL: nothing is kept. */
typedef struct csrec_journal csrec_journal;

/* On all processes of the communicator (NULL: one). The file is used if it was begun with the same
 * key, tiling, channels and unit, else begun anew; path NULL: *journal = NULL, as on processes that
 * do not see the first one's file. CSREC_FILE: it cannot be made, or is another kind of file. */
csrec_status csrec_journal_open(const char *path, const char *key, const csrec_tiling *tiling,
                                int64_t channels, double unit, csrec_comm *comm,
                                csrec_journal **journal, csrec_error *error);
void csrec_journal_close(csrec_journal *journal);

/* Whether the tile is there: its values into values->values, which has room for the tile's box, and
 * its report. */
bool csrec_journal_take(const csrec_journal *journal, int64_t tile, csrec_boxed *values,
                        csrec_recover_report *report);

/* Keeps a tile's reach, which the values have. A file that cannot grow keeps no more: the recovery
 * goes on. */
void csrec_journal_keep(const csrec_journal *journal, int64_t tile, const csrec_boxed *values,
                        const csrec_recover_report *report);

/* Tags of messages; others are in ranks.c. */
enum { CSREC_TAG_TILING = 1 << 20, CSREC_TAG_JOURNAL, CSREC_TAG_CURVE, CSREC_TAG_RANKS };

/* The first of `n` things in a row that are process `rank`'s: consecutive, equal shares. */
int64_t csrec_ranks_first(const csrec_comm *comm, int64_t n, int rank);

/* Every process has `all`, of `size` bytes for each of n things, its own share of them filled: all
 * are filled then. */
csrec_status csrec_ranks_exchange(csrec_comm *comm, int64_t n, size_t size, void *all,
                                  csrec_error *error);

/* All processes take the first one's bytes. */
csrec_status csrec_ranks_tell(csrec_comm *comm, int tag, void *data, size_t bytes,
                              csrec_error *error);

/* What one process does of a recovery in tiles. */
typedef struct csrec_runner {
    const csrec_method_type *method;
    const csrec_tiling *tiling;
    const csrec_survey *survey;         /* ended */
    const csrec_recover_options *given; /* whose progress hears of tiles and may stop them: */
    bool strict; /* the recovery ends with CSREC_STOPPED; else the remaining tiles become a smooth
                    guess, also in the other processes, so that waiting ends soon */
    bool common; /* the processes are threads that blend into one signal: cells need not travel */
    bool stopped;
    csrec_comm *comm; /* these are of csrec_runner_open; comm NULL: one process */
    int64_t channels;
    csrec_mosaic *mosaic;
    csrec_journal *journal;
    int64_t first, end; /* this process's tiles, */
    int64_t done;       /* and the next of them */
} csrec_runner;

/* given->comm, given->journal; signal: as of csrec_mosaic_create. Close it even on failure. */
csrec_status csrec_runner_open(csrec_runner *runner, int64_t channels, double unit, double *signal,
                               csrec_error *error);
void csrec_runner_close(csrec_runner *runner);

/* Recovers the next tiles, up to `end`, from a measurement with the shape of the whole, which has
 * their samples. A tile without samples becomes the mean. */
csrec_status csrec_runner_run(csrec_runner *runner, const csrec_recovery *recovery, int64_t end,
                              csrec_error *error);

/* The same where measurement and options are yet to be converted to recovery->unit. signal not
 * NULL: the samples are those of one tile, whose values it becomes. */
csrec_status csrec_runner_run_in_unit(csrec_runner *runner, const csrec_recovery *recovery,
                                      int64_t end, csrec_error *error);

/* Values of entries [entries][channels] of a signal so surveyed, back to the units of y; NaN in
 * channels that are measured nowhere. CSREC_DATA: a value is not finite in a double. */
csrec_status csrec_survey_deliver(const csrec_survey *survey, double unit, int64_t entries,
                                  double *values, csrec_error *error);

/* Reports progress; whether it, or an earlier one, asked to stop. */
bool csrec_runner_stops(csrec_runner *runner, double residual);
csrec_status csrec_runner_stopped(csrec_error *error);

/* Adds a tile to the cells that it reaches, wherever they are, and takes what has arrived from
 * others (ranks.c). */
csrec_status csrec_runner_add(csrec_runner *runner, int64_t tile, const csrec_boxed *values,
                              csrec_error *error);

/* After the last tile: all cells are then in the mosaic of the first process. */
csrec_status csrec_runner_collect(csrec_runner *runner, csrec_error *error);

/* Waits until a cell of this process is whole; on the first process fetches that of another. */
csrec_status csrec_runner_fetch(csrec_runner *runner, int64_t cell, csrec_error *error);

/* On the others: gives cells to the first process until it calls csrec_runner_release. */
csrec_status csrec_runner_serve(csrec_runner *runner, csrec_error *error);
csrec_status csrec_runner_release(csrec_runner *runner, csrec_error *error);

/* Adds a tile's or a process's report to that of the whole. */
void csrec_report_add(const csrec_recover_report *one, csrec_recover_report *all);

/* On the first process *report becomes that of all. */
csrec_status csrec_runner_report(csrec_runner *runner, csrec_recover_report *report,
                                 csrec_error *error);

/* Recovers all of a signal in memory. */
csrec_status csrec_recover_tiles(const csrec_method_type *method, const csrec_recovery *recovery,
                                 const csrec_tiling *tiling, csrec_error *error);

/* What the thread of a device runs: options are those given, with its communicator, its share of
 * the threads, and progress that counts the work of all. */
typedef csrec_status (*csrec_rank_run)(const csrec_context *context,
                                       const csrec_recover_options *options, void *job,
                                       csrec_error *error);

/* Runs it on all devices of the list, at least two; fewer if threads cannot be started, which the
 * list then tells. The calling thread is rank 0: only it runs the progress callback. A stop that
 * progress requests reaches all. The failure of one ends all; its line names the device. */
csrec_status csrec_recover_devices(csrec_device_list *list, const csrec_recover_options *options,
                                   csrec_rank_run run, void *job, csrec_error *error);
