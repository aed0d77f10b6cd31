/* SPDX-License-Identifier: BSD-3-Clause */
/* mutate_csv.c - changes a CSV text by its tokens: numbers, words, separators, lines. */
#include <stdio.h>

#include "fuzz.h"

static const char *const words[] = {"0",
                                    "1",
                                    "-1",
                                    "nan",
                                    "inf",
                                    "1e999",
                                    "1e-999",
                                    "5e-324",
                                    "1.7976931348623157e308",
                                    "1e38",
                                    "9223372036854775807",
                                    "9223372036854775808",
                                    "9007199254740993",
                                    "1.0e0",
                                    "0x10",
                                    "1,5",
                                    "",
                                    "row,col,value",
                                    "# shape: 3,4",
                                    "#",
                                    "r",
                                    "g",
                                    "b",
                                    "value",
                                    "value_2",
                                    "\"",
                                    "\"1\"",
                                    "\r\n",
                                    "\n",
                                    ";",
                                    "\t",
                                    ",",
                                    " ",
                                    "i0",
                                    "\xEF\xBB\xBF",
                                    "# shape: 4611686018427387904,2"};

enum { WORDS = sizeof words / sizeof *words };

static bool ends_token(uint8_t c) {
    return c == '\n' || c == ',' || c == ';' || c == '\t' || c == ' ';
}

/* A token: from a place that begins one, to where the next separator is. */
static void find(const uint8_t *data, size_t size, bool line, uint64_t *state, size_t *from,
                 size_t *to) {
    size_t at = fuzz_random_below(state, size + 1);
    while (at > 0 && !(line ? data[at - 1] == '\n' : ends_token(data[at - 1]))) at--;
    *from = *to = at;
    while (*to < size && !(line ? data[*to] == '\n' : ends_token(data[*to]))) ++*to;
    if (line && *to < size) ++*to;
}

static size_t splice(uint8_t *data, size_t size, size_t room, size_t from, size_t to,
                     const void *text, size_t length) {
    if (size - (to - from) + length > room) return size;
    memmove(data + from + length, data + to, size - to);
    memcpy(data + from, text, length);
    return size - (to - from) + length;
}

static size_t mutate(uint8_t *data, size_t size, size_t room, uint64_t *state) {
    size_t choice = fuzz_random_below(state, 8), from, to, other, end;
    char number[64];
    uint8_t text[256];
    find(data, size, choice >= 5, state, &from, &to);
    if (choice < 3) {
        const char *word = words[fuzz_random_below(state, WORDS)];
        return splice(data, size, room, from, choice ? to : from, word, strlen(word));
    }
    if (choice < 5) {
        int length = snprintf(number, sizeof number, "%.17g",
                              fuzz_numbers[fuzz_random_below(state, FUZZ_NUMBERS)]);
        return splice(data, size, room, from, to, number, (size_t)length);
    }
    find(data, size, true, state, &other, &end);
    if (end - other > sizeof text) return size;
    memcpy(text, data + other, end - other);
    if (choice == 7) end = other; /* the line goes */
    return splice(data, size, room, from, choice == 5 ? from : to, text, end - other);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed) {
    uint64_t state = seed;
    if (fuzz_random_below(&state, 4) == 0) return LLVMFuzzerMutate(data, size, room);
    for (size_t k = 1 + fuzz_random_below(&state, 4); k > 0; k--)
        size = mutate(data, size, room, &state);
    return size ? size : LLVMFuzzerMutate(data, size, room);
}
