/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The schema: one row per item of knot.conf, one per section.
 *
 * Parsing, range checks, defaults, "not supported yet", effects of a reload and the manual page all follow from the
 * rows: a new item is a row (schema_*.c) and the use of its field. Constant tables, no state.
 */
#pragma once

#include "src/conf/conf.h"

/** What the text of a value must look like, and the binary form it is kept in (value.h). */
typedef enum {
	CONF_INT,
	CONF_BOOL,
	CONF_STR,
	CONF_HEX,
	CONF_B64,
	CONF_DNAME,
	CONF_ADDR,
	CONF_NET,
	CONF_OPT,
	CONF_OPTINT, /* name of an option, or an integer */
	CONF_REF,    /* id of a block of section `ref[0]` or `ref[1]` */
	CONF_MODREF, /* mod-name or mod-name/id */
	CONF_RRTYPE,
} conf_type_t;

typedef enum { CONF_UNIT_NONE, CONF_UNIT_TIME, CONF_UNIT_SIZE } conf_measure_t;

/** Whether we do what an item asks for. */
typedef enum {
	CONF_WORKS,
	CONF_REFUSED,  /* "not supported yet", except for the values in `.harmless`, which ask for nothing */
	CONF_TUNING,   /* any value is accepted: it tunes or defines something that only a refused item could enable */
	CONF_OBSOLETE, /* accepted with a notice */
} conf_support_t;

/** When a change takes effect. */
typedef enum {
	CONF_ON_RELOAD,
	CONF_ON_RESTART,
	CONF_ON_ZONE_RELOAD, /* on reload, which then loads the zone again */
} conf_effect_t;

/** What a relative path is joined with. */
typedef enum {
	CONF_PATH_AS_IS,
	CONF_PATH_START, /* the directory in which the server was started */
	CONF_PATH_RUNDIR,
	CONF_PATH_STORAGE,
} conf_path_base_t;

/** Type of the struct member that a row fills; follows from the member by CONF_AT(). */
typedef enum {
	CONF_FIELD_NONE,
	CONF_FIELD_BOOL,
	CONF_FIELD_U8,
	CONF_FIELD_U16,
	CONF_FIELD_U32,
	CONF_FIELD_U64,
	CONF_FIELD_I64,
	CONF_FIELD_STR,
	CONF_FIELD_BYTES,
	CONF_FIELD_STRS,
	CONF_FIELD_ADDRS,
	CONF_FIELD_XDP_LISTENS,
	CONF_FIELD_XDP_BLOCKS,
	CONF_FIELD_MODREFS,
	CONF_FIELD_KEYS,
	CONF_FIELD_GROUPS,
	CONF_FIELD_ACLS,
	CONF_FIELD_EXTERNALS,
	CONF_FIELD_KEYSTORES,
	CONF_FIELD_SUBMISSIONS,
	CONF_FIELD_DELEGATIONS,
	CONF_FIELD_SYNCS,
	CONF_FIELD_POLICIES,
	CONF_FIELD_NETS,
	CONF_FIELD_BYTES_LIST,
	CONF_FIELD_PEERS,
	CONF_FIELD_TYPES,
	CONF_FIELD_OWNERS,
	CONF_FIELD_BITS, /* the numbers of all options that are set, joined with | */
	CONF_FIELD_SET,  /* a bit for each option that is set */
	CONF_FIELD_HAS,  /* a bool: the item was set */
} conf_field_t;

/* clang-format off */
#define CONF_FIELD_OF(member) _Generic((member), \
	bool: CONF_FIELD_BOOL, uint8_t: CONF_FIELD_U8, uint16_t: CONF_FIELD_U16, uint32_t: CONF_FIELD_U32, \
	uint64_t: CONF_FIELD_U64, int64_t: CONF_FIELD_I64, const char *: CONF_FIELD_STR, knot_bytes_t: CONF_FIELD_BYTES, \
	conf_strs_t: CONF_FIELD_STRS, conf_addrs_t: CONF_FIELD_ADDRS, conf_xdp_listens_t: CONF_FIELD_XDP_LISTENS, \
	conf_xdp_blocks_t: CONF_FIELD_XDP_BLOCKS, conf_modrefs_t: CONF_FIELD_MODREFS, conf_keys_t: CONF_FIELD_KEYS, \
	conf_groups_t: CONF_FIELD_GROUPS, conf_acls_t: CONF_FIELD_ACLS, conf_externals_t: CONF_FIELD_EXTERNALS, \
	conf_keystores_t: CONF_FIELD_KEYSTORES, conf_submissions_t: CONF_FIELD_SUBMISSIONS, conf_dnskey_syncs_t: CONF_FIELD_SYNCS, \
	conf_policies_t: CONF_FIELD_POLICIES, conf_delegations_t: CONF_FIELD_DELEGATIONS, \
	conf_nets_t: CONF_FIELD_NETS, conf_peers_t: CONF_FIELD_PEERS, \
	conf_types_t: CONF_FIELD_TYPES, conf_owners_t: CONF_FIELD_OWNERS, conf_bits_t: CONF_FIELD_BITS, \
	conf_set_t: CONF_FIELD_SET, conf_bytes_list_t: CONF_FIELD_BYTES_LIST)
/* clang-format on */

/** The member that a row fills. */
#define CONF_AT(type, member) .field = CONF_FIELD_OF(((type *)0)->member), .field_off = offsetof(type, member)
/** A bool that says whether the block has the item. */
#define CONF_HAS_AT(type, member) .field = CONF_FIELD_HAS, .field_off = offsetof(type, member)

/** A name of an option and its number. The first name of a number is the one that is printed. */
typedef struct {
	const char *name; /* NULL ends the list */
	int id;
} conf_option_t;

typedef struct conf_section conf_section_t;
typedef struct conf_row conf_row_t;

/** A block while it is read, with the items set so far; conf_block_find() of store.h looks into it. */
typedef struct conf_block_view {
	const conf_section_t *section;
	knot_bytes_t id;    /* binary form; len 0 in a group */
	knot_bytes_t items; /* packed, see store.h */
} conf_block_view_t;

typedef struct conf_txn conf_txn_t;

/** The configuration to read: the published one, or a transaction on top of it. See txn.h. */
typedef struct {
	const conf_store_t *store; /* sealed, borrowed */
	const conf_txn_t *txn;     /* borrowed; NULL: without changes */
} conf_view_t;

/** What a check of one value may look at. */
typedef struct {
	const conf_row_t *row;
	knot_bytes_t value;      /* binary form */
	conf_block_view_t block; /* without the value */
} conf_check_value_t;

/** Why the value is wrong, a static string; NULL: it is right. */
typedef const char *(*conf_check_t)(const conf_check_value_t *value);

/** What a lint found: static strings. */
typedef struct {
	conf_severity_t severity;
	const char *reason, *hint; /* hint: NULL if there is none */
} conf_lint_result_t;
/** Check facts of the machine, and values that are valid but probably a mistake. True: something was found. */
typedef bool (*conf_lint_t)(const conf_check_value_t *value, conf_lint_result_t *ret_result);

/**
 * all: the configuration that the block belongs to, for what it inherits. While a file is read, as far as it was read.
 */
typedef const char *(*conf_block_check_t)(const conf_block_view_t *block, conf_view_t all);

/**
 * A notice about a valid block: writes the message behind "config, " to `room` and returns true; false: no notice.
 */
enum { CONF_NOTICE_MAX = 512 };
typedef bool (*conf_block_notice_t)(const conf_block_view_t *block, conf_view_t all, char room[static CONF_NOTICE_MAX]);

struct conf_row {
	const char *name;
	conf_type_t type;
	bool multi;      /* may have several values */
	bool required;   /* the block must have it; `.missing` is the reason when it doesn't */
	bool together;   /* takes part in a check of the block: zones without such rows need no check */
	bool not_zero;   /* an integer may be anything in its range but 0 */
	bool percent;    /* an integer may have the unit % */
	bool or_empty;   /* a reference may be "", which means none */
	bool secret;     /* the log doesn't show it: conf_may_be_secret(), conf_io_is_public() */
	bool or_default; /* a reference to "default" needs no block */
	uint8_t only_in; /* 0: everywhere; CONF_ONLY_TEMPLATE, CONF_ONLY_ZONE */
	conf_measure_t unit;
	int64_t min, max; /* of CONF_INT and CONF_OPTINT, in base units */
	size_t count_max; /* of a multi row, 0: no limit */
	const conf_option_t *options;
	const char *dflt;     /* as written in a file; NULL: none, or computed */
	const char *dflt_doc; /* what the manual says of a computed default */
	const char *ref[2];   /* names of sections */
	conf_path_base_t path;
	uint16_t port; /* default port of an address */
	conf_effect_t effect;
	conf_support_t support;
	const char *harmless; /* blank-separated values that a refused row accepts; "" in it is `""` */
	const char *feature;  /* of a refused row: the feature that it asks for, as the summary of a migration names it
			       */
	conf_field_t field;
	size_t field_off;
	conf_check_t check;
	conf_check_t warn; /* as check, but the value is accepted */
	conf_lint_t lint;  /* checks that only conf-check makes: users, interfaces, spellings of addresses */
	const char *missing;
	const char *pattern; /* what a text must look like, as JSON Schema has it (ECMA-262); checks decide; this is for
				documents */
	const char *rfc;
	const char *doc;
};

enum { CONF_ONLY_TEMPLATE = 1, CONF_ONLY_ZONE = 2 };

typedef enum { CONF_GROUP, CONF_MULTI, CONF_DIRECTIVE } conf_section_kind_t;

struct conf_section {
	const char *name;
	conf_section_kind_t kind; /* MULTI: the first row is the identifier */
	const conf_row_t *rows;
	size_t row_count;
	uint8_t is; /* CONF_ONLY_*: which rows of a shared table belong here */
	bool is_module;
	bool module_needs_id;            /* can't be referenced without configuration */
	bool module_global, module_zone; /* where it may be referenced */
	conf_support_t support;          /* of a module: whether it may be referenced */
	size_t struct_size;              /* of the typed struct; 0: none */
	conf_block_check_t check;
	conf_block_notice_t notices[2]; /* reported before the checks */
	const char *doc;
};

/** Sections in the order of the schema. */
extern const conf_section_t *const conf_sections[];
extern const size_t conf_section_count;

/* Indexes of sections that code names. */
typedef enum {
	CONF_S_MODULE,
	CONF_S_SERVER,
	CONF_S_XDP,
	CONF_S_CONTROL,
	CONF_S_LOG,
	CONF_S_STATISTICS,
	CONF_S_DATABASE,
	CONF_S_KEYSTORE,
	CONF_S_KEY,
	CONF_S_REMOTE,
	CONF_S_REMOTES,
	CONF_S_ACL,
	CONF_S_SUBMISSION,
	CONF_S_DNSKEY_SYNC,
	CONF_S_POLICY,
	CONF_S_EXTERNAL,
	CONF_S_DELEGATION,
	CONF_S_TEMPLATE,
	CONF_S_ZONE,
	CONF_S_INCLUDE,
	CONF_S_CLEAR,
	CONF_S_MOD_ALIAS,
	CONF_S_MOD_AUTHSIGNAL,
	CONF_S_MOD_COOKIES,
	CONF_S_MOD_DNSERR,
	CONF_S_MOD_DNSPROXY,
	CONF_S_MOD_DNSTAP,
	CONF_S_MOD_GEOIP,
	CONF_S_MOD_NOUDP,
	CONF_S_MOD_ONLINESIGN,
	CONF_S_MOD_PROBE,
	CONF_S_MOD_QUERYACL,
	CONF_S_MOD_RRL,
	CONF_S_MOD_STATS,
	CONF_S_MOD_SYNTHRECORD,
	CONF_S_MOD_WHOAMI,
	CONF_S_COUNT,
} conf_section_index_t;

extern const conf_section_t conf_section_module, conf_section_server, conf_section_xdp, conf_section_control,
		conf_section_log, conf_section_statistics, conf_section_database, conf_section_keystore,
		conf_section_key, conf_section_remote, conf_section_remotes, conf_section_acl, conf_section_submission,
		conf_section_dnskey_sync, conf_section_policy, conf_section_external, conf_section_delegation,
		conf_section_template, conf_section_zone, conf_section_include, conf_section_clear,
		conf_section_mod_alias, conf_section_mod_authsignal, conf_section_mod_cookies, conf_section_mod_dnserr,
		conf_section_mod_dnsproxy, conf_section_mod_dnstap, conf_section_mod_geoip, conf_section_mod_noudp,
		conf_section_mod_onlinesign, conf_section_mod_probe, conf_section_mod_queryacl, conf_section_mod_rrl,
		conf_section_mod_stats, conf_section_mod_synthrecord, conf_section_mod_whoami;

/** The section of a module that has settings. */
extern const conf_section_t *const conf_mod_sections[CONF_MOD_END];

/** Section of this name; conf_section_count: there is none. */
size_t conf_section_find(knot_str_t name);

/** Row of this name in a section; row_count: there is none. */
size_t conf_row_find(const conf_section_t *section, knot_str_t name);

/** True if an item of the section is secret. */
bool conf_section_has_secret(const conf_section_t *section);

/** True if the value of an item may be a secret: the item is one; or the section has one and not this item, whose name
 * may be a slip of the pen. section: NULL: not known. Names that the schema doesn't have are allowed. */
bool conf_may_be_secret(const char *section, const char *item);

/** True if the row belongs to the section (tables of zone and template are shared). */
static inline bool conf_row_in(const conf_section_t *section, const conf_row_t *row)
{
	return row->only_in == 0 || row->only_in == section->is;
}

/** True if the section's part of the manual describes the row. A template has the rows of a zone: its part describes
 * only those that a zone doesn't have. */
static inline bool conf_row_told_in(const conf_section_t *section, const conf_row_t *row)
{
	return conf_row_in(section, row) && (section != &conf_section_template || row->only_in == CONF_ONLY_TEMPLATE);
}

/** The identifier of a multi section: the first of its rows. */
static inline const conf_row_t *conf_id_row(const conf_section_t *section)
{
	const conf_row_t *row = section->rows;
	while (!conf_row_in(section, row)) {
		row++;
	}
	return row;
}
