/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * kzonesign: signs a zone file by the zone's policy and keys; see doc/man/kzonesign.1.
 */
#include "libknot/base/json.h"
#include "libknot/base/number.h"
#include "src/conf/conf.h"
#include "src/conf/version.h"
#include "src/sign/by_keys.h"
#include "src/sign/by_offline.h"
#include "src/sign/sign.h"
#include "src/sys/file.h"
#include "src/tools/conf_choice.h"
#include "src/tools/zonesign/output.h"
#include "src/validate/validate.h"

#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

typedef struct {
	conf_choice_t choice;
	const char *out_dir; /* NULL: the zone file is replaced */
	const char *zone;
	bool may_roll;
	bool only_verifies;
	bool is_json;
	uint64_t now_s;
} params_t;

/** The zone on its way. Zero: nothing. */
typedef struct {
	const params_t *params;
	conf_t *conf; /* owned */
	conf_zone_t settings;
	kasp_t *kasp;              /* owned */
	zone_contents_t *contents; /* owned */
	zone_keys_t keys;          /* owned */
	zone_keys_env_t env;
	conf_policy_times_t times;
	keys_outcome_t outcome;
	sign_result_t result;
	bool has_rolled;
	char path[PATH_MAX]; /* of the zone file */
	zone_skip_t skip;    /* conf `zonefile-skip` */
} zonesign_t;

__attribute__((format(printf, 2, 3))) static void zonesign_say(const char *level, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fflush(stdout);
	fprintf(stderr, "%s: ", level);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}

static void zonesign_help(void)
{
	printf("Usage: kzonesign [-c | -C <path>] [parameters] <zone_name>\n"
	       "\n"
	       "Parameters:\n"
	       " -c, --config <file>      Path to a textual configuration file.\n"
	       "                           (default %s)\n"
	       " -C, --confdb <dir>       Path to a configuration database directory.\n"
	       "                           (default %s)\n"
	       " -o, --outdir <dir_name>  Output directory.\n"
	       " -r, --rollover           Allow key rollovers and NSEC3 re-salt.\n"
	       " -v, --verify             Only verify if zone is signed correctly.\n"
	       " -t, --time <timestamp>   Current time specification.\n"
	       "                           (default current UNIX time)\n"
	       " -j, --json               Print JSON.\n"
	       " -h, --help               Print the program help.\n"
	       " -V, --version            Print the program version.\n",
			conf_choice_default_config(), conf_choice_default_confdb());
}

/* ---- What the zone is ---- */

static bool zonesign_read_conf(zonesign_t *sign)
{
	char error[CONF_CHOICE_ERROR_MAX];
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
	size_t index;
	if (knot_name_scan(knot_str_of(sign->params->zone), knot_name_root, wire, &name) != KNOT_OK) {
		zonesign_say("error", "invalid zone name '%s'", sign->params->zone);
		zonesign_help();
		return false;
	}
	if (!conf_choice_load(&sign->params->choice, &sign->conf, error)) {
		zonesign_say("error", "%s", error);
		return false;
	}
	if (!conf_zone_find(sign->conf, name, &index)) {
		zonesign_say("error", "zone '%s' not configured", sign->params->zone);
		return false;
	}
	sign->settings = conf_zone(sign->conf, index);
	if (sign->settings.policy.count == 0) {
		zonesign_say("warning", "DNSSEC policy not configured for zone '%s', taking defaults",
				sign->params->zone);
	}
	return true;
}

static void zonesign_on_message(const zone_message_t *message, void *ctx)
{
	static const char *const levels[] = {
		[ZONE_MESSAGE_NOTICE] = "notice",
		[ZONE_MESSAGE_WARNING] = "warning",
		[ZONE_MESSAGE_ERROR] = "error",
	};
	const zonesign_t *sign = ctx;
	bool is_found_again = sign->params->only_verifies && message->level == ZONE_MESSAGE_NOTICE;
	if (!is_found_again) {
		zonesign_say(levels[message->level], "%s", message->text);
	}
}

static zone_build_params_t zonesign_build_params(zonesign_t *sign)
{
	return (zone_build_params_t){ .origin = sign->settings.name,
		.default_ttl = sign->settings.default_ttl,
		.checks = ZONE_CHECKS_SOFT,
		.size_max = sign->settings.zone_max_size,
		.skip = &sign->skip,
		.now_s = sign->params->now_s,
		.on_message = zonesign_on_message,
		.ctx = sign };
}

static bool zonesign_load_zone(zonesign_t *sign)
{
	zone_build_params_t params = zonesign_build_params(sign);
	sign->skip = zone_skip_of(sign->settings.zonefile_skip.data, sign->settings.zonefile_skip.count);
	knot_err_t err = conf_zone_file(&sign->settings, sign->path, sizeof(sign->path));
	err = err == KNOT_OK ? zone_build_file(sign->path, &params, &sign->contents) : err;
	if (err != KNOT_OK) {
		zonesign_say("error", "failed to load zone contents (%s), file '%s'", knot_strerror(err), sign->path);
	}
	return err == KNOT_OK;
}

/* ---- Keys ---- */

static bool zonesign_take_ttl(const zone_rr_t *rr, void *ctx)
{
	if (rr->type == KNOT_TYPE_SOA) {
		*(uint32_t *)ctx = rr->ttl;
	}
	return true;
}

static knot_err_t zonesign_open_kasp(zonesign_t *sign)
{
	char reason[KASP_REASON_MAX];
	const conf_database_t *database = &sign->conf->database;
	const kasp_params_t params = { .path = database->kasp_db, .size_max = database->kasp_db_max_size };
	knot_err_t err = kasp_open(&params, reason, &sign->kasp);
	if (err != KNOT_OK) {
		zonesign_say("error", "failed to open key database (%s)",
				reason[0] != '\0' ? reason : knot_strerror(err));
	}
	return err;
}

static void zonesign_describe_zone(zonesign_t *sign)
{
	uint32_t soa_ttl_s = 0;
	if (zone_read_apex(sign->contents, zonesign_take_ttl, &soa_ttl_s) != KNOT_OK) {
		soa_ttl_s = 0;
	}
	sign->env = (zone_keys_env_t){ .conf = sign->conf,
		.policy = conf_zone_policy(sign->conf, &sign->settings),
		.kasp = sign->kasp,
		.kasp_path = sign->conf->database.kasp_db,
		.zone = sign->settings.name,
		.now_s = sign->params->now_s };
	sign->times = conf_policy_times(sign->env.policy, sign->env.zone, soa_ttl_s, sign->contents->max_ttl);
}

/* A zone without any keys gets its first ones, also if keys may not be rolled. */
static knot_err_t zonesign_roll(zonesign_t *sign)
{
	bool is_first = sign->keys.set.count == 0;
	if (is_first && !sign->params->may_roll) {
		zonesign_say("error", "[%s] DNSSEC, no keys are available", sign->params->zone);
		zonesign_say("error", "[%s] DNSSEC, failed to load keys (%s)", sign->params->zone,
				knot_strerror(KNOT_ENOSIGNKEYS));
	}
	if (!is_first && !sign->params->may_roll) {
		return KNOT_OK;
	}
	sign->has_rolled = true;
	knot_err_t err = zone_keys_roll(&sign->env, &sign->keys, &sign->times, 0, &sign->outcome);
	return err == KNOT_OK ? zone_keys_resalt(&sign->env, &sign->keys) : err;
}

static knot_err_t zonesign_take_keys(zonesign_t *sign)
{
	knot_err_t err = zone_keys_load(&sign->env, &sign->keys);
	err = err == KNOT_OK ? zonesign_roll(sign) : err;
	bool is_new = err == KNOT_OK && (sign->outcome.is_changed || sign->keys.is_salt_new);
	return is_new ? zone_keys_save(&sign->env, &sign->keys, &sign->times, &sign->outcome) : err;
}

/* The server or keymgr may change the keys at the same time. */
static knot_err_t zonesign_get_keys(zonesign_t *sign)
{
	enum { TRIES_MAX = 5 };
	knot_err_t err = zonesign_take_keys(sign);
	for (unsigned i = 0; err == KNOT_ETRYAGAIN && i < TRIES_MAX; i++) {
		zone_keys_done(&sign->keys);
		err = zonesign_take_keys(sign);
	}
	for (uint16_t tag; err == KNOT_OK && zone_keys_drop_unusable(&sign->env, &sign->keys, &tag);) {
		zonesign_say("warning", "[%s] DNSSEC, key %u cannot be used with NSEC3", sign->params->zone, tag);
	}
	return err == KNOT_OK ? zone_keys_open(&sign->env, &sign->keys) : err;
}

/* ---- Signing ---- */

/* The path of the zone file, or of one with its name in the other folder. */
static bool zonesign_out_path(const zonesign_t *sign, char ret_path[static PATH_MAX])
{
	const char *name = strrchr(sign->path, '/');
	int len = sign->params->out_dir == NULL ? snprintf(ret_path, PATH_MAX, "%s", sign->path)
						: snprintf(ret_path, PATH_MAX, "%s/%s", sign->params->out_dir,
								  name != NULL ? name + 1 : sign->path);
	return len > 0 && len < PATH_MAX;
}

static bool zonesign_tell_unsigned(const zonesign_t *sign, knot_err_t err)
{
	if (err != KNOT_OK) {
		zonesign_say("error", "failed to sign the zone (%s%s%s)", knot_strerror(err),
				sign->keys.reason[0] != '\0' ? ", " : "", sign->keys.reason);
	}
	return err == KNOT_OK;
}

static bool zonesign_tell_unwritten(const zonesign_t *sign, const char *path, knot_err_t err)
{
	if (err != KNOT_OK && sign->params->out_dir != NULL) {
		zonesign_say("error", "failed to flush signed zone to '%s' file (%s)", sign->params->out_dir,
				knot_strerror(err));
	} else if (err != KNOT_OK) {
		zonesign_say("error", "failed to update zone file '%s' (%s)", path, knot_strerror(err));
	}
	return err == KNOT_OK;
}

/* Signed records go to the file as they are made. */
static bool zonesign_make(zonesign_t *sign, const sign_plan_t *plan)
{
	char path[PATH_MAX] = "";
	const zone_dump_params_t how = {
		.program = PACKAGE_STRING, .now_s = (uint64_t)time(NULL), .skip = &sign->skip
	};
	zone_build_params_t params = zonesign_build_params(sign);
	zone_txn_t *txn = NULL;
	output_t output;
	bool is_named = zonesign_out_path(sign, path);
	knot_err_t err = is_named ? output_begin(&output, path, &how, params.size_max) : KNOT_ESPACE;
	if (err != KNOT_OK) {
		return zonesign_tell_unwritten(sign, path, err);
	}
	const sign_sink_t sink = output_sink(&output);
	err = zone_txn_begin(sign->contents, &params, &txn);
	err = err == KNOT_OK ? sign_zone(txn, &sink, plan, &sign->result) : err;
	zone_txn_discard(txn);
	bool is_unwritten = output.err != KNOT_OK && output.err != KNOT_EZONESIZE;
	bool is_good = is_unwritten ? zonesign_tell_unwritten(sign, path, err) : zonesign_tell_unsigned(sign, err);
	is_good = is_good && zonesign_tell_unwritten(sign, path, output_end(&output));
	output_done(&output);
	return is_good;
}

static bool zonesign_sign(zonesign_t *sign)
{
	sign_by_keys_t by_keys = { .keys = NULL };
	sign_by_offline_t offline = { .next_s = 0 };
	knot_err_t err = zonesign_get_keys(sign);
	err = err == KNOT_OK ? sign_by_keys(&sign->env, &sign->keys, &sign->times, &by_keys) : err;
	by_keys.plan.spread_parts = sign_spread_parts(sign->contents);
	if (err == KNOT_OK && sign->env.policy->is_offline_ksk) {
		err = sign_by_offline(&sign->env, &offline, &by_keys.plan);
	}
	bool is_good = zonesign_tell_unsigned(sign, err) && zonesign_make(sign, &by_keys.plan);
	sign_by_keys_done(&by_keys);
	sign_by_offline_done(&offline);
	return is_good;
}

/* ---- Verifying ---- */

/* An object, with what all have. */
static knot_json_t zonesign_begin_json(const zonesign_t *sign)
{
	char name[KNOT_NAME_TEXT_MAX];
	knot_json_t json = knot_json_of(knot_json_to_file, stdout);
	knot_name_print(sign->settings.name, name);
	knot_json_open(&json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	knot_json_text(&json, "zone", name);
	return json;
}

/* hint: of what is wrong; NULL: nothing is, or nobody knows where. */
static bool zonesign_put_verdict(const zonesign_t *sign, knot_err_t err, const validate_result_t *hint)
{
	knot_json_t json = zonesign_begin_json(sign);
	knot_json_bool(&json, "valid", err == KNOT_OK);
	if (err != KNOT_OK) {
		knot_json_text(&json, "reason", knot_strerror(err));
	}
	if (hint != NULL) {
		char owner[KNOT_NAME_TEXT_MAX], type[KNOT_TYPE_TEXT_MAX];
		knot_name_print(knot_name_of(hint->owner), owner);
		knot_rrtype_print(hint->type, type);
		knot_json_text(&json, "owner", owner);
		knot_json_text(&json, "type", type);
	}
	knot_json_close(&json);
	return knot_json_end(&json);
}

static bool zonesign_verify(const zonesign_t *sign)
{
	const conf_policy_t *policy = conf_zone_policy(sign->conf, &sign->settings);
	const validate_options_t options = { .now_s = sign->params->now_s, .thread_count = policy->threads };
	validate_result_t result;
	knot_err_t err = validate_zone(sign->contents, &options, &result);
	bool has_hint = err != KNOT_OK && result.has_hint, is_written = true;
	if (sign->params->is_json) {
		is_written = zonesign_put_verdict(sign, err, has_hint ? &result : NULL);
	} else if (err == KNOT_OK) {
		printf("DNSSEC validation successful\n");
	}
	if (err == KNOT_OK) {
		return is_written;
	}
	zonesign_say("error", "DNSSEC validation failed (%s)", knot_strerror(err));
	if (has_hint) {
		char owner[KNOT_NAME_TEXT_MAX], type[KNOT_TYPE_TEXT_MAX];
		knot_name_print(knot_name_of(result.owner), owner);
		knot_rrtype_print(result.type, type);
		zonesign_say("error", "affected node: '%s' type '%s'", owner, type);
	}
	return false;
}

/* ---- What comes next ---- */

static uint64_t zonesign_earlier(uint64_t a_s, uint64_t b_s)
{
	return a_s == 0 || (b_s != 0 && b_s < a_s) ? b_s : a_s;
}

static bool zonesign_waits_for_parent(const zonesign_t *sign)
{
	const keys_set_t *set = &sign->keys.set;
	for (size_t i = 0; i < set->count; i++) {
		if (keys_use(set->keys, set->count, i, sign->params->now_s).is_ready) {
			return true;
		}
	}
	return false;
}

/** Times in seconds since 1970; 0: never. */
typedef struct {
	uint64_t signing_s;
	uint64_t rollover_s, salt_s; /* only with rollovers */
	bool is_submission_needed;
} zonesign_next_t;

static zonesign_next_t zonesign_next(const zonesign_t *sign)
{
	uint64_t expires_s = sign->result.earliest_expiration_s, refresh_s = sign->times.refresh_s;
	zonesign_next_t next = { .signing_s = expires_s > refresh_s ? expires_s - refresh_s : 0 };
	if (sign->has_rolled) {
		uint64_t action_s = sign->outcome.next.kind != KEYS_NOTHING ? sign->outcome.next.due_s : 0;
		next.rollover_s = zonesign_earlier(action_s, sign->outcome.next_timer_s);
		next.salt_s = zone_keys_salt_due(&sign->env, &sign->keys);
		next.is_submission_needed = zonesign_waits_for_parent(sign);
	}
	return next;
}

static void zonesign_report_text(const zonesign_next_t *next, bool has_rolled)
{
	printf("Next signing: %" PRIu64 "\n", next->signing_s);
	if (has_rolled) {
		printf("Next roll-over: %" PRIu64 "\n", next->rollover_s);
	}
	if (next->salt_s != 0) {
		printf("Next NSEC3 re-salt: %" PRIu64 "\n", next->salt_s);
	}
	if (next->is_submission_needed) {
		printf("KSK submission to parent zone needed\n");
	}
}

static void zonesign_put_time(knot_json_t *json, const char *name, uint64_t time_s)
{
	if (time_s != 0) {
		knot_json_uint(json, name, time_s);
	}
}

static bool zonesign_report_json(const zonesign_t *sign, const zonesign_next_t *next)
{
	knot_json_t json = zonesign_begin_json(sign);
	zonesign_put_time(&json, "next-signing", next->signing_s);
	zonesign_put_time(&json, "next-roll-over", next->rollover_s);
	zonesign_put_time(&json, "next-nsec3-re-salt", next->salt_s);
	if (sign->has_rolled) {
		knot_json_bool(&json, "ksk-submission-needed", next->is_submission_needed);
	}
	knot_json_close(&json);
	return knot_json_end(&json);
}

static bool zonesign_report(const zonesign_t *sign)
{
	zonesign_next_t next = zonesign_next(sign);
	if (sign->params->is_json) {
		return zonesign_report_json(sign, &next);
	}
	zonesign_report_text(&next, sign->has_rolled);
	return true;
}

static bool zonesign_make_signed(zonesign_t *sign)
{
	if (zonesign_open_kasp(sign) != KNOT_OK) {
		return false;
	}
	zonesign_describe_zone(sign);
	return zonesign_sign(sign) && zonesign_report(sign);
}

static bool zonesign_run(const params_t *params)
{
	zonesign_t *sign = calloc(1, sizeof(*sign));
	if (sign == NULL) {
		zonesign_say("error", "%s", knot_strerror(KNOT_ENOMEM));
		return false;
	}
	sign->params = params;
	bool is_good = zonesign_read_conf(sign) && zonesign_load_zone(sign);
	if (is_good) {
		is_good = params->only_verifies ? zonesign_verify(sign) : zonesign_make_signed(sign);
	}
	zone_keys_done(&sign->keys);
	zone_contents_free(sign->contents);
	kasp_close(sign->kasp);
	conf_free(sign->conf);
	free(sign);
	return is_good;
}

/* ---- Options ---- */

typedef enum { OPTIONS_RUN, OPTIONS_DONE, OPTIONS_WRONG } options_t;

static bool zonesign_choose(const char **choice, const char *value, conf_choice_t *choices)
{
	if (conf_choice_is_made(choices)) {
		zonesign_say("error", "configuration already initialized");
		return false;
	}
	*choice = value;
	return true;
}

static bool zonesign_read_time(const char *text, uint64_t *ret_s)
{
	char *end;
	errno = 0;
	unsigned long long number = strtoull(text, &end, 10);
	bool is_time = text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 && number > 0 &&
		       number <= UINT32_MAX;
	if (is_time) {
		*ret_s = number;
	}
	return is_time;
}

static options_t zonesign_option(int c, params_t *params)
{
	switch (c) {
	case 'c': return zonesign_choose(&params->choice.config, optarg, &params->choice) ? OPTIONS_RUN : OPTIONS_WRONG;
	case 'C': return zonesign_choose(&params->choice.confdb, optarg, &params->choice) ? OPTIONS_RUN : OPTIONS_WRONG;
	case 'o': params->out_dir = optarg; return OPTIONS_RUN;
	case 'r': params->may_roll = true; return OPTIONS_RUN;
	case 'j': params->is_json = true; return OPTIONS_RUN;
	case 'v': params->only_verifies = true; return OPTIONS_RUN;
	case 't':
		if (zonesign_read_time(optarg, &params->now_s)) {
			return OPTIONS_RUN;
		}
		zonesign_say("error", "invalid time '%s', use seconds since 1970, such as 1767225600", optarg);
		zonesign_help();
		return OPTIONS_WRONG;
	case 'h': zonesign_help(); return OPTIONS_DONE;
	case 'V': conf_version_print("kzonesign", optarg != NULL); return OPTIONS_DONE;
	default: zonesign_help(); return OPTIONS_WRONG;
	}
}

static options_t zonesign_options(int argc, char **argv, params_t *params)
{
	static const struct option known[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "confdb", required_argument, NULL, 'C' },
		{ "outdir", required_argument, NULL, 'o' },
		{ "rollover", no_argument, NULL, 'r' },
		{ "verify", no_argument, NULL, 'v' },
		{ "time", required_argument, NULL, 't' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", optional_argument, NULL, 'V' },
		{ 0 },
	};
	int c;
	while ((c = getopt_long(argc, argv, "c:C:o:rvt:jhV::", known, NULL)) != -1) {
		options_t found = zonesign_option(c, params);
		if (found != OPTIONS_RUN) {
			return found;
		}
	}
	if (argc != optind + 1) {
		if (argc == optind) {
			zonesign_say("error", "missing zone name");
		} else {
			zonesign_say("error", "superfluous argument '%s', one zone is signed", argv[optind + 1]);
		}
		zonesign_help();
		return OPTIONS_WRONG;
	}
	params->zone = argv[optind];
	return OPTIONS_RUN;
}

int main(int argc, char **argv)
{
	if (!sys_file_hold_streams()) {
		return EXIT_FAILURE;
	}
	(void)prctl(PR_SET_DUMPABLE, 0); /* a core would have private keys */
	params_t params = { .now_s = (uint64_t)time(NULL) };
	options_t options = zonesign_options(argc, argv, &params);
	bool is_good = options == OPTIONS_DONE || (options == OPTIONS_RUN && zonesign_run(&params));
	bool is_written = sys_file_end_output();
	return is_good && is_written ? EXIT_SUCCESS : EXIT_FAILURE;
}
