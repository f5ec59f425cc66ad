/* SPDX-License-Identifier: BSD-2-Clause */
/** What the parts of keymgr share. */
#pragma once

#include "src/keys/zone_keys.h"
#include "src/tools/conf_choice.h"
#include "src/tools/managekeys/attributes.h"

/** One run. */
typedef struct {
	conf_choice_t choice;
	bool is_extended, is_json, lists_zones, has_colour;
	struct {
		const char *until, *policy, *ds_after, *ds_ttl; /* as they were said; NULL: they weren't */
		bool wants_svg;
	} plan;           /* options of `plan` */
	const char *tsig; /* -t: the name; NULL: not asked for */
	conf_t *conf;     /* owned */
	kasp_t *kasp;     /* owned */
	char kasp_path[4096];
	bool is_new; /* the database was made by this run */
	uint8_t zone_wire[KNOT_NAME_MAX];
	char zone_text[KNOT_NAME_TEXT_MAX]; /* as listings have it */
	const char *subject; /* the argument in front of the command, a zone or a keystore; NULL: "-", all, or the
				built-in one */
	zone_keys_env_t env;
	const char *const *arguments; /* behind the command; ends with NULL */
	size_t argument_count;
} keymgr_t;

/** What came of a command: its error has been told already, or is to be. */
typedef struct {
	knot_err_t err;
	bool is_told;  /* all there is to say was said */
	bool is_quiet; /* no "OK" */
} done_t;

/** How a command ends: with "OK" if there is no error; without it; with a complaint that says all. */
done_t keymgr_done(knot_err_t err);
done_t keymgr_shown(knot_err_t err);
done_t keymgr_refuse(const char *text);

/** "error: …" on standard error, with the format's text. Returns false. */
__attribute__((format(printf, 1, 2))) bool keymgr_complain(const char *format, ...);

/** What functions of zone_keys.h want of a zone; zone is borrowed. */
zone_keys_env_t keymgr_env_of(const keymgr_t *run, knot_name_t zone);

/** The keys of a zone in the database. The set is the caller's, also on an error. */
knot_err_t keymgr_read_keys(kasp_t *kasp, knot_name_t zone, keys_set_t *ret_set);

/** Write a key of the zone; shared_policy: the policy whose zones are to share it, NULL: none. */
knot_err_t keymgr_put_key(const keymgr_t *run, const kasp_key_t *key, const char *shared_policy);

/** Read the arguments from `first` on as attributes. Complains. */
bool keymgr_read_attributes(const keymgr_t *run, size_t first, bool is_set, attributes_t *ret_attributes);

/** Flags of the DNSKEY by the roles. */
uint16_t keymgr_flags(const attributes_t *attributes, bool is_ksk, bool has_adt);

/** Put the times that were said into a new key that has the defaults, and check them. Complains. KNOT_ESEMCHECK. */
knot_err_t keymgr_time_key(const attributes_t *attributes, kasp_key_t *key);

/** Write a key of the zone whose id, roles and times are set; the rest is of `found`. Prints the id. */
knot_err_t keymgr_put_found(const keymgr_t *run, const dnssec_key_t *found, kasp_key_t *key);

/** Commands of import.c. */
done_t keymgr_run_import_bind(const keymgr_t *run);
done_t keymgr_run_import_pem(const keymgr_t *run);
done_t keymgr_run_import_pub(const keymgr_t *run);
done_t keymgr_run_import_pkcs11(const keymgr_t *run);

/** Commands of trash.c. */
done_t keymgr_run_trash_list(const keymgr_t *run);
done_t keymgr_run_trash_discard(const keymgr_t *run);
done_t keymgr_run_import_trash(const keymgr_t *run);

/** Commands of keystore.c: they have a keystore in place of a zone. */
done_t keymgr_run_keystore_test(const keymgr_t *run);
done_t keymgr_run_keystore_bench(const keymgr_t *run);

/** The command of plan.c. */
done_t keymgr_run_plan(const keymgr_t *run);

/** Commands of offline.c. */
done_t keymgr_run_pregenerate(const keymgr_t *run);
done_t keymgr_run_generate_ksr(const keymgr_t *run);
done_t keymgr_run_sign_ksr(const keymgr_t *run);
done_t keymgr_run_validate_skr(const keymgr_t *run);
done_t keymgr_run_import_skr(const keymgr_t *run);
done_t keymgr_run_show_offline(const keymgr_t *run);
done_t keymgr_run_del_offline(const keymgr_t *run);

/** How times are printed. */
typedef enum { LIST_UNIX, LIST_HUMAN, LIST_ISO } list_times_t;

/** A time as a listing has it. */
enum { LIST_TIME_MAX = 64 };
list_times_t keymgr_times_of(const char *format);
void keymgr_print_time(uint64_t when_s, uint64_t now_s, list_times_t times, char text[static LIST_TIME_MAX]);

/** "KSK", "ZSK" or "CSK". */
const char *keymgr_role(bool is_ksk, bool is_zsk);

/** `list`: all keys of the zone, as the options say. */
knot_err_t keymgr_list(const keymgr_t *run, const keys_set_t *set, list_times_t times);

/** -t: a TSIG key. algorithm, bits: NULL: the default. */
bool keymgr_make_tsig(const char *name, const char *algorithm, const char *bits);
