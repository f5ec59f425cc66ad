/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/managekeys/keymgr.h"

#include "libdnssec/algorithm.h"
#include "libknot/base/json.h"
#include "src/sys/interval.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { RSA_LAST = 10 };

/** A key as listings show it. */
typedef struct {
	const kasp_key_t *key;
	unsigned bits;
	const conf_keystore_t *store; /* NULL: the private key is missing */
} shown_t;

static shown_t list_look(const keymgr_t *run, const kasp_key_t *key)
{
	uint8_t rdata[DNSSEC_KEY_RDATA_MAX];
	dnssec_key_t *public;
	shown_t shown = { .key = key, .store = zone_keys_find_store(&run->env, key->id) };
	size_t len = keys_dnskey(key, false, rdata);
	if (dnssec_key_from_rdata((knot_bytes_t){ rdata, len }, &public) == KNOT_OK) {
		shown.bits = dnssec_key_bits(public);
		dnssec_key_free(public);
	}
	return shown;
}

static const char *list_backend(const shown_t *shown)
{
	return shown->store == NULL ? "-" : shown->store->backend == CONF_KEYSTORE_PKCS11 ? "PKCS11" : "PEM";
}

static const char *list_store(const shown_t *shown)
{
	return shown->store == NULL || shown->store->id[0] == '\0' ? "-" : shown->store->id;
}

list_times_t keymgr_times_of(const char *format)
{
	return strcasecmp(format, "human") == 0 ? LIST_HUMAN : strcasecmp(format, "iso") == 0 ? LIST_ISO : LIST_UNIX;
}

void keymgr_print_time(uint64_t when_s, uint64_t now_s, list_times_t times, char text[static LIST_TIME_MAX])
{
	time_t when = (time_t)when_s;
	struct tm utc;
	if (times == LIST_ISO && gmtime_r(&when, &utc) != NULL) {
		(void)strftime(text, LIST_TIME_MAX, "%Y-%m-%dT%H:%M:%SZ", &utc);
	} else if (times == LIST_HUMAN && when_s == 0) {
		snprintf(text, LIST_TIME_MAX, "0");
	} else if (times == LIST_HUMAN) {
		sys_interval_print((int64_t)when_s - (int64_t)now_s, text, LIST_TIME_MAX);
	} else {
		snprintf(text, LIST_TIME_MAX, "%" PRIu64, when_s);
	}
}

/* ---- Brief ---- */

const char *keymgr_role(bool is_ksk, bool is_zsk)
{
	return is_ksk && is_zsk ? "CSK" : is_ksk ? "KSK" : "ZSK";
}

static void list_print_algorithm(const shown_t *shown)
{
	const dnssec_algorithm_t *algorithm = dnssec_algorithm_find(shown->key->algorithm);
	if (algorithm != NULL) {
		printf("%s", algorithm->name);
	} else {
		printf("%u", shown->key->algorithm);
	}
	if (shown->key->algorithm <= RSA_LAST) {
		printf("/%u", shown->bits);
	}
}

static void list_print_colour(const keymgr_t *run, const char *colour, const char *text)
{
	printf("%s%s%s", run->has_colour ? colour : "", text, run->has_colour ? "\x1B[0m" : "");
}

static void list_print_flags(const keymgr_t *run, const shown_t *shown)
{
	conf_keystores_t stores = conf_policy_keystores(run->env.conf, run->env.policy);
	const kasp_key_t *key = shown->key;
	printf("%s%s%s", (key->flags & DNSSEC_FLAG_ADT) != 0 ? " ADT" : "", key->is_public_only ? " public-only" : "",
			key->is_for_later ? " for-later" : "");
	if (shown->store == NULL && !key->is_public_only) {
		printf(" missing");
	} else if (stores.count > 1 && shown->store != NULL) {
		printf(" %s/%s", list_backend(shown), list_store(shown));
	}
}

static void list_brief(const keymgr_t *run, const shown_t *shown, list_times_t times)
{
	size_t count;
	char text[LIST_TIME_MAX], tag[8];
	const attributes_time_t *rows = attributes_times(&count);
	const kasp_key_t *key = shown->key;
	const char *colour = key->is_ksk && key->is_zsk ? "\x1B[93m" : key->is_ksk ? "\x1B[31m" : "\x1B[32m";
	printf("%s ", key->id);
	snprintf(tag, sizeof(tag), "%5u", key->tag);
	list_print_colour(run, "\x1B[1m", tag);
	printf(" ");
	list_print_colour(run, colour, keymgr_role(key->is_ksk, key->is_zsk));
	printf(" ");
	list_print_algorithm(shown);
	list_print_flags(run, shown);
	for (size_t i = 0; i < count; i++) {
		uint64_t when_s = attributes_time(&key->times, &rows[i]);
		if (when_s != 0) {
			keymgr_print_time(when_s, run->env.now_s, times, text);
			printf(" %s=%s", rows[i].name, text);
		}
	}
	printf("\n");
}

static uint64_t list_order(const kasp_key_t *key)
{
	uint64_t pre_s = key->times.pre_active, publish_s = key->times.publish;
	uint64_t first_s = pre_s != 0 && (publish_s == 0 || pre_s < publish_s) ? pre_s : publish_s;
	return first_s != 0 ? first_s : UINT64_MAX;
}

static int list_compare(const void *va, const void *vb)
{
	const shown_t *a = va, *b = vb;
	uint64_t a_s = list_order(a->key), b_s = list_order(b->key);
	return a_s != b_s ? (a_s < b_s ? -1 : 1) : strcmp(a->key->id, b->key->id);
}

/* ---- Extended and JSON ---- */

static const char *list_yes(bool is_true)
{
	return is_true ? "yes" : "no ";
}

static void list_extended(const keymgr_t *run, const shown_t *shown, list_times_t times)
{
	size_t count;
	char text[LIST_TIME_MAX];
	const attributes_time_t *rows = attributes_times(&count);
	const kasp_key_t *key = shown->key;
	printf("%s ksk=%s zsk=%s tag=%05u algorithm=%-2u size=%-4u adt=%s public-only=%s for-later=%s missing=%s "
	       "trash=%s keystore=%s/%s",
			key->id, list_yes(key->is_ksk), list_yes(key->is_zsk), key->tag, key->algorithm, shown->bits,
			list_yes((key->flags & DNSSEC_FLAG_ADT) != 0), list_yes(key->is_public_only),
			list_yes(key->is_for_later), list_yes(shown->store == NULL && !key->is_public_only),
			list_yes(false), list_backend(shown), list_store(shown));
	for (size_t i = 0; i < count; i++) {
		keymgr_print_time(attributes_time(&key->times, &rows[i]), run->env.now_s, times, text);
		printf(" %s=%s", rows[i].name, text);
	}
	printf("\n");
}

static void list_json(const keymgr_t *run, const shown_t *shown, list_times_t times, knot_json_t *json)
{
	size_t count;
	char text[LIST_TIME_MAX];
	const attributes_time_t *rows = attributes_times(&count);
	const kasp_key_t *key = shown->key;
	knot_json_open(json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	knot_json_text(json, "zone", run->zone_text);
	knot_json_text(json, "id", key->id);
	knot_json_bool(json, "ksk", key->is_ksk);
	knot_json_bool(json, "zsk", key->is_zsk);
	knot_json_uint(json, "tag", key->tag);
	knot_json_uint(json, "algorithm", key->algorithm);
	knot_json_uint(json, "size", shown->bits);
	knot_json_bool(json, "adt", (key->flags & DNSSEC_FLAG_ADT) != 0);
	knot_json_bool(json, "public-only", key->is_public_only);
	knot_json_bool(json, "for-later", key->is_for_later);
	knot_json_bool(json, "missing", shown->store == NULL && !key->is_public_only);
	knot_json_bool(json, "trash", false);
	knot_json_text(json, "backend", list_backend(shown));
	knot_json_text(json, "keystore", list_store(shown));
	for (size_t i = 0; i < count; i++) {
		uint64_t when_s = attributes_time(&key->times, &rows[i]);
		if (times == LIST_UNIX) {
			knot_json_uint(json, rows[i].name, when_s);
		} else {
			keymgr_print_time(when_s, run->env.now_s, times, text);
			knot_json_text(json, rows[i].name, text);
		}
	}
	knot_json_close(json);
}

/* ---- All ---- */

knot_err_t keymgr_list(const keymgr_t *run, const keys_set_t *set, list_times_t times)
{
	shown_t *shown = calloc(set->count + 1, sizeof(*shown));
	if (shown == NULL) {
		return KNOT_ENOMEM;
	}
	for (size_t i = 0; i < set->count; i++) {
		shown[i] = list_look(run, &set->keys[i]);
	}
	bool is_json = run->is_json && !run->is_extended;
	knot_json_t json = knot_json_of(knot_json_to_file, stdout);
	if (!is_json && !run->is_extended) {
		qsort(shown, set->count, sizeof(*shown), list_compare);
	}
	if (is_json) {
		knot_json_open(&json, NULL, KNOT_JSON_LIST, KNOT_JSON_LINES);
	}
	for (size_t i = 0; i < set->count; i++) {
		if (is_json) {
			list_json(run, &shown[i], times, &json);
		} else if (run->is_extended) {
			list_extended(run, &shown[i], times);
		} else {
			list_brief(run, &shown[i], times);
		}
	}
	if (is_json) {
		knot_json_close(&json);
	}
	bool is_written = !is_json || knot_json_end(&json);
	free(shown);
	return is_written ? KNOT_OK : KNOT_EFILE;
}
