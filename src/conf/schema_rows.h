/* SPDX-License-Identifier: BSD-2-Clause */
/** Short spellings for the tables in schema_*.c, and the checks they name. Not for other files. */
#pragma once

#include "src/conf/store.h"
#include "src/conf/value.h"

/* clang-format off */
#define INT(from, to)   .type = CONF_INT, .min = (from), .max = (to)
#define TIME(from, to)  INT(from, to), .unit = CONF_UNIT_TIME
#define SIZE(from, to)  INT(from, to), .unit = CONF_UNIT_SIZE
#define BOOL            .type = CONF_BOOL
#define STR             .type = CONF_STR
#define OPT(names)      .type = CONF_OPT, .options = (names)
#define REF1(section)   .type = CONF_REF, .ref = { (section) }
#define REF_REMOTE      .type = CONF_REF, .ref = { "remote", "remotes" }
#define MULTI           .multi = true
#define TOGETHER        .together = true

#define RESTART         .effect = CONF_ON_RESTART
#define ZONE_RELOAD     .effect = CONF_ON_ZONE_RELOAD

#define TUNING          .support = CONF_TUNING
#define REFUSED         .support = CONF_REFUSED
#define REFUSED_BUT(values) .support = CONF_REFUSED, .harmless = (values)
#define FOR(what)       .feature = (what)

#define KILO (INT64_C(1) << 10)
#define MEGA (INT64_C(1) << 20)
#define GIGA (INT64_C(1) << 30)
#define TERA (INT64_C(1) << 40)
#define MAX31 INT64_C(2147483647)
#define MAX32 INT64_C(4294967295)
#define MAX48 ((INT64_C(1) << 48) - 1)
#define DAY   INT64_C(86400)

#define COMMENT { .name = "comment", STR, .doc = "Free text, ignored by the server." }
#define ROWS(table) .rows = (table), .row_count = KNOT_LEN(table)
/* clang-format on */

const char *conf_check_port(const conf_check_value_t *value);
const char *conf_check_zonefile(const conf_check_value_t *value);
const char *conf_check_xdp_listen(const conf_check_value_t *value);
const char *conf_check_xdp_block(const conf_check_value_t *value);
const char *conf_check_power_of_two(const conf_check_value_t *value);
const char *conf_check_module_prefix(const conf_check_value_t *value);
const char *conf_check_modulo(const conf_check_value_t *value);
const char *conf_check_serial_modulo(const conf_check_value_t *value);
const char *conf_check_no_dot(const conf_check_value_t *value);
const char *conf_check_owner(const conf_check_value_t *value);
const char *conf_check_pin(const conf_check_value_t *value);
const char *conf_check_group(const conf_check_value_t *value);
const char *conf_check_keystore_id(const conf_check_value_t *value);
const char *conf_check_rrtype(const conf_check_value_t *value);
const char *conf_check_skipped_type(const conf_check_value_t *value);

bool conf_lint_listen(const conf_check_value_t *value, conf_lint_result_t *ret_result);
bool conf_lint_user(const conf_check_value_t *value, conf_lint_result_t *ret_result);
bool conf_lint_xdp_listen(const conf_check_value_t *value, conf_lint_result_t *ret_result);

const char *conf_check_server(const conf_block_view_t *block, conf_view_t all);
const char *conf_check_xdp(const conf_block_view_t *block, conf_view_t all);
const char *conf_check_acl(const conf_block_view_t *block, conf_view_t all);
const char *conf_check_keystore(const conf_block_view_t *block, conf_view_t all);
const char *conf_check_remote(const conf_block_view_t *block, conf_view_t all);
const char *conf_check_policy(const conf_block_view_t *block, conf_view_t all);
const char *conf_check_delegation(const conf_block_view_t *block, conf_view_t all);
const char *conf_check_template(const conf_block_view_t *block, conf_view_t all);
const char *conf_check_zone(const conf_block_view_t *block, conf_view_t all);
const char *conf_check_cookies(const conf_block_view_t *block, conf_view_t all);
const char *conf_check_dnserr(const conf_block_view_t *block, conf_view_t all);
const char *conf_check_geoip(const conf_block_view_t *block, conf_view_t all);
const char *conf_check_noudp(const conf_block_view_t *block, conf_view_t all);
const char *conf_check_rrl(const conf_block_view_t *block, conf_view_t all);
const char *conf_check_synthrecord(const conf_block_view_t *block, conf_view_t all);

bool conf_notice_algorithm(const conf_block_view_t *block, conf_view_t all, char room[static CONF_NOTICE_MAX]);
bool conf_notice_iterations(const conf_block_view_t *block, conf_view_t all, char room[static CONF_NOTICE_MAX]);
bool conf_notice_journal(const conf_block_view_t *block, conf_view_t all, char room[static CONF_NOTICE_MAX]);

/* ---- What checks of blocks look at ---- */

static inline bool conf_block_has(const conf_block_view_t *block, const char *name)
{
	return conf_block_find(block, name).data != NULL;
}

/** A boolean or an option. */
static inline unsigned conf_block_option(const conf_block_view_t *block, const char *name, unsigned dflt)
{
	knot_bytes_t value = conf_block_find(block, name);
	return value.data != NULL ? value.data[0] : dflt;
}

static inline int64_t conf_block_number(const conf_block_view_t *block, const char *name, int64_t dflt)
{
	knot_bytes_t value = conf_block_find(block, name);
	return value.data != NULL ? conf_value_int(value) : dflt;
}
