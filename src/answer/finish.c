/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/answer/finish.h"

#include "libknot/base/assert.h"

static size_t finish_nsid_len(const answer_env_t *env, const answer_request_t *request)
{
	(void)request;
	return env->nsid.len;
}

static void finish_put_nsid(const answer_env_t *env, const answer_request_t *request, uint8_t *to)
{
	(void)request;
	memcpy(to, env->nsid.data, env->nsid.len);
}

static size_t finish_subnet_len(const answer_env_t *env, const answer_request_t *request)
{
	(void)env;
	return request->ecs_len;
}

static void finish_put_subnet(const answer_env_t *env, const answer_request_t *request, uint8_t *to)
{
	(void)env;
	memcpy(to, request->ecs, request->ecs_len);
	to[3] = 0; /* our answers fit every network, RFC 7871 7.2.1 */
}

static size_t finish_expire_len(const answer_env_t *env, const answer_request_t *request)
{
	(void)env, (void)request;
	return ANSWER_EXPIRE_LEN;
}

/* SOA EXPIRE of a zone whose master we are, RFC 7314 3.3: the last but one number of the SOA's RDATA. */
static void finish_put_expire(const answer_env_t *env, const answer_request_t *request, uint8_t *to)
{
	(void)env;
	const zone_contents_t *zone = request->contents;
	const zone_rrset_t *soa = zone_node_rrset(&zone->arena, zone->apex, KNOT_TYPE_SOA);
	assert(soa != NULL); /* the builder refuses a zone without */
	zone_block_t body = zone_rrset_body(soa);
	memcpy(to, body.bytes + body.len - 8, ANSWER_EXPIRE_LEN);
}

static size_t finish_zoneversion_len(const answer_env_t *env, const answer_request_t *request)
{
	(void)env, (void)request;
	return ANSWER_ZONEVERSION_LEN;
}

static void finish_put_zoneversion(const answer_env_t *env, const answer_request_t *request, uint8_t *to)
{
	(void)env;
	to[0] = request->contents->apex->owner_label_count;
	to[1] = 0; /* SOA-SERIAL */
	store_be32(to + 2, request->contents->serial);
}

/* In the order of the reply. */
static const struct {
	uint16_t code;
	uint8_t bit;
	bool is_of_zone; /* not without a version of the zone */
	size_t (*len)(const answer_env_t *env, const answer_request_t *request);
	void (*put)(const answer_env_t *env, const answer_request_t *request, uint8_t *to);
} finish_options[] = {
	{ KNOT_EDNS_NSID, ANSWER_OPTION_NSID, false, finish_nsid_len, finish_put_nsid },
	{ KNOT_EDNS_SUBNET, ANSWER_OPTION_SUBNET, false, finish_subnet_len, finish_put_subnet },
	{ KNOT_EDNS_EXPIRE, ANSWER_OPTION_EXPIRE, true, finish_expire_len, finish_put_expire },
	{ KNOT_EDNS_ZONEVERSION, ANSWER_OPTION_ZONEVERSION, true, finish_zoneversion_len, finish_put_zoneversion },
};

static bool finish_has_option(const answer_request_t *request, size_t i)
{
	return (request->options & finish_options[i].bit) != 0 &&
	       (!finish_options[i].is_of_zone || request->contents != NULL);
}

size_t answer_options_len(const answer_env_t *env, const answer_request_t *request)
{
	size_t len = 0;
	for (size_t i = 0; i < KNOT_LEN(finish_options); i++) {
		if (finish_has_option(request, i)) {
			len += KNOT_OPTION_HEAD_LEN + finish_options[i].len(env, request);
		}
	}
	return len;
}

uint32_t answer_put_options(const answer_env_t *env, const answer_request_t *request, knot_msg_writer_t *w)
{
	uint32_t codes = 0;
	for (size_t i = 0; i < KNOT_LEN(finish_options); i++) {
		if (!finish_has_option(request, i)) {
			continue;
		}
		uint8_t *to = knot_msg_open_option(w, finish_options[i].code, finish_options[i].len(env, request));
		assert(to != NULL); /* reserved */
		finish_options[i].put(env, request, to);
		codes |= finish_options[i].code < 16 ? 1u << finish_options[i].code : 0;
	}
	return codes;
}
