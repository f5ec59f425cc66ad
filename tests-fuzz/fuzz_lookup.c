/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Servers of any kind to kdig: the whole of a query and of a transfer, with +validate, from the settings to what is
 * printed. The exchange with the server is played here, and so is the library for signatures: one that begins with
 * "GOOD" is right, all others are verified.
 *
 * Whatever comes: questions, verifications and hashes have bounds (KeyTrap, CVE-2023-50387; CVE-2023-50868), there is
 * one verdict of a reply that is validated, and an answer without a right signature is never called good.
 *
 * Input: settings (1 byte: bits 0 to 2 the question, 3 and 4 the format, 5 +validate, 6 +tcp, 7 +keepopen, with which
 * the question is asked twice), then what the server does, played.h.
 */
#include "libdnssec/key.h"
#include "libdnssec/sign.h"
#include "src/tools/lookup/lookup.h"
#include "src/zone/nsec3_hash.h"
#include "tests-fuzz/played.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	FORMAT_SHIFT = 3,
	VALIDATES = 0x20,
	IS_TCP = 0x40,
	KEEPS_OPEN = 0x80,
	ATTEMPTS_MAX = 3 + 1 + LOOKUP_BADCOOKIES_MAX + 1, /* with retries, TCP, cookies, a connection that is stale */
	FETCHES_MAX = 2 * 8,                              /* DNSKEY sets of a reply, over UDP and TCP */
	VERIFICATIONS_MAX = 1000,
	HASHES_MAX = 4000,    /* of NSEC3: one per RRSIG of a wildcard, and some per label of the name */
	RRSIG_FIXED_LEN = 18, /* before the signer's name, RFC 4034 3.1 */
	OUTPUT_MAX = 1 << 16,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
	const char *name, *type;
} questions[] = { { "www.z", "A" }, { "z", "MX" }, { "nx.z", "A" }, { "a.w.z", "TXT" }, { "sub.z", "DS" },
	{ "z", "AXFR" }, { "z", "IXFR=1" }, { "x.d.z", "A" } };

static unsigned attempts, fetches, verifications, right_verifications, hashes;
static int output;

/* ---- The library for signatures ---- */

void *fuzz_dlopen(const char *name, int flags);
void *fuzz_dlsym(void *library, const char *name);
bool __real_zone_nsec3_hash(const zone_nsec3_params_t *params, knot_name_t name, uint8_t *ret_hash);
bool __wrap_zone_nsec3_hash(const zone_nsec3_params_t *params, knot_name_t name, uint8_t *ret_hash);

bool __wrap_zone_nsec3_hash(const zone_nsec3_params_t *params, knot_name_t name, uint8_t *ret_hash)
{
	played_check(++hashes <= HASHES_MAX);
	return __real_zone_nsec3_hash(params, name, ret_hash);
}

static knot_err_t verify(dnssec_verifier_t *verifier, const knot_bytes_t *pieces, size_t count, knot_bytes_t signature)
{
	played_check(++verifications <= VERIFICATIONS_MAX);
	bool is_right = (signature.len >= 4 && memcmp(signature.data, "GOOD", 4) == 0) ||
			dnssec_verifier_verify(verifier, pieces, count, signature) == KNOT_OK;
	right_verifications += is_right;
	return is_right ? KNOT_OK : KNOT_ESIGNATURE;
}

void *fuzz_dlopen(const char *name, int flags)
{
	(void)name, (void)flags;
	return &output;
}

void *fuzz_dlsym(void *library, const char *name)
{
	static const struct {
		const char *name;
		void (*function)(void);
	} symbols[] = {
		{ "dnssec_key_from_rdata", (void (*)(void))dnssec_key_from_rdata },
		{ "dnssec_key_free", (void (*)(void))dnssec_key_free },
		{ "dnssec_verifier_new", (void (*)(void))dnssec_verifier_new },
		{ "dnssec_verifier_verify", (void (*)(void))verify },
		{ "dnssec_verifier_free", (void (*)(void))dnssec_verifier_free },
	};
	void *address = NULL;
	(void)library;
	for (size_t i = 0; i < KNOT_LEN(symbols); i++) {
		if (strcmp(symbols[i].name, name) == 0) {
			memcpy(&address, &symbols[i].function, sizeof(address));
		}
	}
	return address;
}

/* ---- The exchange ---- */

static void take_query(bool is_beside)
{
	if (is_beside) {
		played_check(++fetches <= FETCHES_MAX);
	} else {
		played_check(++attempts <= ATTEMPTS_MAX);
		fetches = verifications = right_verifications = hashes = 0;
	}
}

/* ---- What must hold ---- */

static bool is_signed_right(knot_name_t owner, uint16_t type)
{
	knot_message_t view;
	knot_message_rr_t rr;
	played_check(knot_message_begin(played_reply(), &view) == KNOT_OK);
	while (knot_message_next(&view, &rr)) {
		const uint8_t *rdata = played_reply().data + rr.rdata_off;
		if (rr.section == KNOT_SECTION_ANSWER && rr.type == KNOT_TYPE_RRSIG && rr.rdata_len > RRSIG_FIXED_LEN &&
				load_be16(rdata) == type && knot_name_eq(rr.owner, owner) &&
				memmem(rdata, rr.rdata_len, "GOOD", 4) != NULL) {
			return true;
		}
	}
	return false;
}

/* Of a reply that is called good: what has the name that was asked for is signed, but a CNAME that follows from a
 * DNAME. */
static void check_good(void)
{
	knot_message_t view;
	knot_message_rr_t rr;
	uint8_t name_wire[KNOT_NAME_MAX];
	knot_name_t name = { 0 };
	bool has_dname = false;
	played_check(right_verifications > 0);
	played_check(knot_message_begin(played_reply(), &view) == KNOT_OK);
	while (knot_message_next(&view, &rr)) {
		if (rr.section == KNOT_SECTION_QUESTION) {
			memcpy(name_wire, rr.owner.wire, rr.owner.len);
			name = (knot_name_t){ name_wire, rr.owner.len, rr.owner.label_count };
			continue;
		}
		has_dname |= rr.type == KNOT_TYPE_DNAME && is_signed_right(rr.owner, rr.type);
		if (rr.section == KNOT_SECTION_ANSWER && rr.type != KNOT_TYPE_RRSIG && knot_name_eq(rr.owner, name)) {
			played_check(is_signed_right(rr.owner, rr.type) || (has_dname && rr.type == KNOT_TYPE_CNAME));
		}
	}
}

/* What was printed since the last time, as far as it fits. Returns where its last verdict is; NULL: nowhere. */
static const char *take_verdict(const char *words, unsigned *ret_count)
{
	static char text[OUTPUT_MAX + 1];
	const char *verdict = NULL;
	off_t len = lseek(output, 0, SEEK_CUR);
	ssize_t got = pread(output, text, OUTPUT_MAX, len > OUTPUT_MAX ? len - OUTPUT_MAX : 0);
	played_check(got >= 0 && lseek(output, 0, SEEK_SET) == 0 && ftruncate(output, 0) == 0);
	text[got] = '\0';
	*ret_count = 0;
	for (const char *at = text; (at = strstr(at, words)) != NULL;) {
		at += strlen(words);
		bool is_verdict = strncmp(at, "good: ", 6) == 0 || strncmp(at, "insecure: ", 10) == 0 ||
				  strncmp(at, "bogus: ", 7) == 0;
		verdict = is_verdict ? at : verdict;
		*ret_count += is_verdict;
	}
	return verdict;
}

static void check_output(const lookup_query_t *query, bool is_good)
{
	unsigned count;
	const char *verdict = take_verdict("\n;; VALIDATION: ", &count);
	bool has_verdict =
			query->validates > 0 && query->style.format != PRESENT_JSON && query->operation == LOOKUP_QUERY;
	played_check(count <= (has_verdict ? attempts : 0));
	if (has_verdict && is_good) {
		played_check(verdict != NULL && verdict[0] != 'b');
		if (verdict[0] == 'g') {
			check_good();
		}
	}
}

/* ---- Running ---- */

static lookup_query_t settings_of(uint8_t bits, lookup_hosts_t *servers)
{
	static const char address[] = "192.0.2.1";
	lookup_query_t query = lookup_query_default();
	*servers = (lookup_hosts_t){ .hosts = { { address, sizeof(address) - 1, "53" } }, .count = 1 };
	query.servers = servers;
	query.name = questions[bits % KNOT_LEN(questions)].name;
	played_check(lookup_set_type(&query, questions[bits % KNOT_LEN(questions)].type));
	query.style.format = (present_format_t)(bits >> FORMAT_SHIFT & 3);
	query.validates = bits & VALIDATES ? 3 : 0;
	query.flag_do = query.validates > 0;
	query.is_tcp = bits & IS_TCP;
	query.keeps_open = bits & KEEPS_OPEN;
	query.has_cookie = true;
	query.cookie_len = LOOKUP_COOKIE_CLIENT_LEN;
	memcpy(query.cookie, "cookie!!", LOOKUP_COOKIE_CLIENT_LEN);
	return query;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	lookup_hosts_t servers;
	lookup_t lookup = { 0 };
	if (output == 0) {
		output = played_output();
	}
	if (size < 1) {
		return 0;
	}
	played_begin((knot_bytes_t){ data + 1, size - 1 }, take_query);
	lookup_query_t query = settings_of(data[0], &servers);
	for (unsigned i = 0; i < (query.keeps_open ? 2 : 1); i++) {
		attempts = 0;
		bool is_good = lookup_run(&lookup, &query);
		played_check(!is_good || attempts > 0);
		played_check(!(is_good && lookup.has_bogus));
		check_output(&query, is_good);
	}
	played_check(lookup_done(&lookup));
	return 0;
}
