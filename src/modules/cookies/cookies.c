/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mod-cookies: a client that sends a cookie gets one for its address, and over UDP no answer without it (RFC 7873).
 *
 * Random secrets need no state and no timer: the one of a period follows from the process's key and the number of the
 * period, which a cookie's own time gives. So a cookie of the last period is still known, and a reload, or another
 * instance without secrets, makes the same ones.
 */
#include "src/modules/module.h"

#include "src/modules/cookies/cookie.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>

enum { SECRETS_MAX = 2 };
enum { COUNT_PRESENCE, COUNT_DROPPED, COUNT_BAD, COUNT_END };

typedef struct {
	module_instance_t base;
	uint32_t lifetime_s;
	uint32_t slip;
	unsigned secret_count; /* 0: random ones */
	kxdp_siphash_key_t secrets[SECRETS_MAX];
	sys_counters_t *counters; /* owned; COUNT_… */
} cookies_t;

static const sys_counter_info_t items[] = {
	[COUNT_PRESENCE] = { "mod-cookies", "presence", SYS_COUNTER_COUNT, "Requests with a cookie" },
	[COUNT_DROPPED] = { "mod-cookies", "dropped", SYS_COUNTER_COUNT,
			"Requests with a bad cookie that were dropped because of mod-cookies.badcookie-slip" },
};

/* ---- Secrets ---- */

static pthread_once_t master_once = PTHREAD_ONCE_INIT;
static kxdp_siphash_key_t master;
static bool has_master;

static void cookies_make_master(void)
{
	has_master = getrandom(&master, sizeof(master), 0) == (ssize_t)sizeof(master);
}

/* The random secret of the period that a time falls into. */
static kxdp_siphash_key_t cookies_secret_of(const cookies_t *cookies, uint32_t time_s)
{
	uint64_t words[2] = { time_s / cookies->lifetime_s, 0 };
	kxdp_siphash_key_t secret = { .k0 = kxdp_siphash24(&master, words, 2) };
	words[1] = 1;
	secret.k1 = kxdp_siphash24(&master, words, 2);
	return secret;
}

/* Whether it is a good cookie. *ret_is_fresh: it may be sent back as it is. */
static bool cookies_know(
		const cookies_t *cookies, const uint8_t *cookie, const answer_source_t *source, bool *ret_is_fresh)
{
	uint32_t now_s = (uint32_t)source->turn->wall_s;
	if (!cookie_is_current(cookie, now_s)) {
		return false;
	}
	uint32_t made_s = load_be32(cookie + COOKIE_TIME_OFF);
	*ret_is_fresh = (int32_t)(now_s - made_s) < COOKIE_RENEW_AFTER_S;
	if (cookies->secret_count == 0) {
		kxdp_siphash_key_t secret = cookies_secret_of(cookies, made_s);
		return cookie_is_made_by(cookie, &secret, source->remote);
	}
	if (cookie_is_made_by(cookie, &cookies->secrets[0], source->remote)) {
		return true;
	}
	*ret_is_fresh = false;
	return cookies->secret_count > 1 && cookie_is_made_by(cookie, &cookies->secrets[1], source->remote);
}

/* ---- Stages ---- */

/* The option's length makes sense, RFC 7873 5.2.2. */
static bool cookies_is_well_formed(size_t len)
{
	return len == COOKIE_CLIENT_LEN || (len >= COOKIE_LEN_MIN && len <= COOKIE_LEN_MAX);
}

/* The last cookie of a request. */
static knot_bytes_t cookies_find(const answer_request_t *request)
{
	knot_bytes_t cookie = { NULL, 0 };
	knot_edns_option_t option;
	size_t pos = 0;
	while (knot_edns_next(request->query.edns.options, &pos, &option)) {
		if (option.code == KNOT_EDNS_COOKIE) {
			cookie = option.data;
		}
	}
	return cookie;
}

/* Over UDP without a good cookie, which the reply brings. */
static answer_refusal_t cookies_refuse(const cookies_t *cookies)
{
	if (cookies->slip == 1 || sys_counters_next(cookies->counters, COUNT_BAD) % cookies->slip == 0) {
		return ANSWER_REFUSAL_BAD_COOKIE;
	}
	sys_counters_add(cookies->counters, COUNT_DROPPED, 1);
	return ANSWER_REFUSAL_SILENT;
}

static answer_refusal_t cookies_gate(module_instance_t *instance, const answer_source_t *source,
		const answer_request_t *request, module_notes_t *notes)
{
	const cookies_t *cookies = (const cookies_t *)instance;
	bool has_cookie = (request->query.edns.option_bits >> KNOT_EDNS_COOKIE & 1) != 0;
	if (!has_cookie || request->kind == ANSWER_KIND_REFUSED) {
		return ANSWER_REFUSAL_NONE;
	}
	sys_counters_add(cookies->counters, COUNT_PRESENCE, 1);
	if (notes->cookie_len > 0) {
		return ANSWER_REFUSAL_NONE; /* the server's instance has done it */
	}
	knot_bytes_t cookie = cookies_find(request);
	if (!cookies_is_well_formed(cookie.len)) {
		return ANSWER_REFUSAL_BAD_OPTION;
	}
	bool is_fresh = false;
	bool is_known = cookie.len == COOKIE_LEN && cookies_know(cookies, cookie.data, source, &is_fresh);
	static_assert((int)COOKIE_LEN == (int)sizeof(notes->cookie), "a cookie fits");
	notes->cookie_len = COOKIE_LEN;
	notes->finish_len = (uint16_t)(notes->finish_len + KNOT_OPTION_HEAD_LEN + COOKIE_LEN);
	memcpy(notes->cookie, cookie.data, is_known && is_fresh ? COOKIE_LEN : COOKIE_CLIENT_LEN);
	if (!is_known || !is_fresh) {
		kxdp_siphash_key_t secret =
				cookies->secret_count > 0 ? cookies->secrets[0]
							  : cookies_secret_of(cookies, (uint32_t)source->turn->wall_s);
		cookie_make(notes->cookie, &secret, source->remote, (uint32_t)source->turn->wall_s);
	}
	notes->is_source_known |= is_known;
	bool may_be_forged = answer_is_udp(source->protocol) && source->remote->sa_family != AF_UNIX;
	return is_known || !may_be_forged ? ANSWER_REFUSAL_NONE : cookies_refuse(cookies);
}

static uint32_t cookies_finish(module_instance_t *instance, module_notes_t *notes, knot_msg_writer_t *w)
{
	(void)instance;
	uint32_t codes = 0;
	if (notes->cookie_len > 0 && w->opt_off != 0) {
		uint8_t *to = knot_msg_open_option(w, KNOT_EDNS_COOKIE, notes->cookie_len);
		if (to != NULL) {
			memcpy(to, notes->cookie, notes->cookie_len);
			codes = 1u << KNOT_EDNS_COOKIE;
			notes->cookie_len = 0; /* of two instances the first one puts it */
		}
	}
	return codes;
}

/* ---- Instances ---- */

static void cookies_free(module_instance_t *instance)
{
	cookies_t *cookies = (cookies_t *)instance;
	sys_counters_free(cookies->counters);
	explicit_bzero(cookies->secrets, sizeof(cookies->secrets));
	free(cookies);
}

static knot_err_t cookies_make(const conf_t *conf, const conf_modref_t *ref, module_instance_t **ret_instance)
{
	const conf_mod_cookies_t *settings = conf_mod(conf, CONF_MOD_COOKIES, ref->id);
	(void)pthread_once(&master_once, cookies_make_master);
	cookies_t *cookies = calloc(1, sizeof(*cookies));
	if (cookies == NULL) {
		return KNOT_ENOMEM;
	}
	cookies->base.api = &module_cookies_api;
	cookies->lifetime_s = settings->secret_lifetime_s;
	cookies->slip = settings->badcookie_slip;
	assert(cookies->lifetime_s > 0 && cookies->slip > 0 && settings->secrets.count <= SECRETS_MAX);
	for (size_t i = 0; i < settings->secrets.count; i++) {
		assert(settings->secrets.data[i].len == COOKIE_SECRET_LEN);
		cookies->secrets[i] = cookie_key(settings->secrets.data[i].data);
		cookies->secret_count++;
	}
	cookies->counters = sys_counters_new(COUNT_END);
	if (cookies->counters == NULL || (!has_master && cookies->secret_count == 0)) {
		cookies_free(&cookies->base);
		return KNOT_ENOMEM;
	}
	*ret_instance = &cookies->base;
	return KNOT_OK;
}

static const sys_counter_info_t *cookies_item(const module_instance_t *instance, unsigned index)
{
	(void)instance;
	return index < KNOT_LEN(items) ? &items[index] : NULL;
}

static bool cookies_counters(const module_instance_t *instance, const char *only, module_counter_cb cb, void *ctx)
{
	return module_counters_plain(((const cookies_t *)instance)->counters, items, KNOT_LEN(items), only, cb, ctx);
}

const module_api_t module_cookies_api = {
	.name = "mod-cookies",
	.make = cookies_make,
	.free = cookies_free,
	.gate = cookies_gate,
	.finish = cookies_finish,
	.item = cookies_item,
	.counters = cookies_counters,
};
