/* SPDX-License-Identifier: BSD-3-Clause */
/* Names and texts: every status and enumeration has one, and names parse back. */
#include "check.h"

TEST(texts_differ) {
    for (int a = CSREC_OK; a <= CSREC_STOPPED; a++)
        for (int b = CSREC_OK; b < a; b++)
            assert_string_not_equal(csrec_status_text((csrec_status)a),
                                    csrec_status_text((csrec_status)b));
    assert_non_null(csrec_status_text((csrec_status)999));
}

TEST(names_parse_back) {
    for (int i = 0; i < 4; i++) {
        csrec_pattern pattern = CSREC_PATTERN_NONE;
        assert_true(csrec_pattern_parse(csrec_pattern_name((csrec_pattern)i), &pattern));
        assert_int_equal(pattern, i);
    }
    csrec_order order = CSREC_ORDER_MORTON;
    assert_true(csrec_order_parse("raster", &order));
    assert_int_equal(order, CSREC_ORDER_RASTER);
    assert_false(csrec_order_parse("spiral", &order));
    csrec_columns columns = CSREC_COLUMNS_PAPER;
    assert_true(csrec_columns_parse("two-sided", &columns));
    assert_int_equal(columns, CSREC_COLUMNS_TWO_SIDED);
}
