/* SPDX-License-Identifier: BSD-2-Clause */
/* What is sent, read by the reader of transfers, is what the zone has: AXFR of zones of all kinds, IXFR applied. */
#include "src/transfer/out.h"

#include "src/transfer/stream_in.h"
#include "src/zone/build.h"
#include "src/zone/records.h"
#include "src/zone/txn.h"

#include "libknot/rr/rdata_random.h"
#include "libknot/rr/rrdesc.h"
#include "libknot/rr/rrtype.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { ID = 4711, NOW_S = 1700000000 };

static const uint8_t zone_wire[] = "\4zone", root_wire[] = "";
static const knot_name_t zone_apex = { zone_wire, 6, 1 }, root_apex = { root_wire, 1, 0 };

/* ---- Sets of records ---- */

/* Records as text, one each. */
typedef struct {
	char **list;
	size_t count, room;
} rows_t;

static void rows_add(rows_t *rows, const zone_rr_t *rr)
{
	char owner[KNOT_NAME_TEXT_MAX];
	knot_name_print(rr->owner, owner);
	char *text = malloc(strlen(owner) + 32 + 2 * rr->rdata.len);
	assert_non_null(text);
	size_t len = (size_t)sprintf(text, "%s %u %u ", owner, rr->type, (unsigned)rr->ttl);
	for (size_t i = 0; i < rr->rdata.len; i++) {
		len += (size_t)sprintf(text + len, "%02x", rr->rdata.data[i]);
	}
	if (rows->count == rows->room) {
		rows->room = rows->room == 0 ? 64 : 2 * rows->room;
		rows->list = realloc(rows->list, rows->room * sizeof(*rows->list));
		assert_non_null(rows->list);
	}
	rows->list[rows->count++] = text;
}

static int rows_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void rows_sort(rows_t *rows)
{
	if (rows->count > 0) {
		qsort(rows->list, rows->count, sizeof(*rows->list), rows_compare);
	}
}

static void rows_free(rows_t *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		free(rows->list[i]);
	}
	free(rows->list);
	*rows = (rows_t){ 0 };
}

static bool rows_visit(const zone_rr_t *rr, void *ctx)
{
	rows_add(ctx, rr);
	return true;
}

static rows_t rows_of(const zone_contents_t *zone)
{
	static uint8_t scratch[KNOT_RDATA_MAX];
	rows_t rows = { 0 };
	assert_true(zone_each_record(zone, scratch, rows_visit, &rows));
	rows_sort(&rows);
	return rows;
}

static void rows_assert_same(rows_t *is, rows_t *want)
{
	rows_sort(is);
	for (size_t i = 0; i < is->count && i < want->count; i++) {
		assert_string_equal(is->list[i], want->list[i]);
	}
	assert_int_equal(is->count, want->count);
}

/* ---- A client ---- */

static const knot_tsig_key_t key = {
	.name = { (const uint8_t *)"\3key", 5, 1 },
	.algorithm = KNOT_TSIG_HMAC_SHA256,
	.secret = { (const uint8_t *)"0123456789abcdef", 16 },
};

typedef struct {
	bool is_ixfr, may_ixfr, has_opt, has_key, is_upper;
	uint32_t serial;
} want_t;

/* What came. */
typedef struct {
	rows_t rows, removed;
	stream_in_t stream;
	char owners[1 << 20]; /* in the order of the stream, each once per run */
	size_t owners_len;
	char last[KNOT_NAME_TEXT_MAX];
	size_t changesets;
	size_t messages, len_max, len_sum;
	uint16_t rcode;
	transfer_out_facts_t facts;
	char log[4 * TRANSFER_OUT_TEXT_MAX];
} got_t;

static knot_err_t got_begin(stream_in_kind_t kind, uint32_t serial, void *ctx)
{
	(void)kind, (void)serial, (void)ctx;
	return KNOT_OK;
}

static bool got_is_soa(const zone_rr_t *rr)
{
	return rr->type == KNOT_TYPE_SOA;
}

static knot_err_t got_record(const zone_rr_t *rr, bool is_added, void *ctx)
{
	got_t *got = ctx;
	rows_add(is_added ? &got->rows : &got->removed, rr);
	char owner[KNOT_NAME_TEXT_MAX];
	size_t len = knot_name_print(rr->owner, owner);
	if (strcmp(owner, got->last) != 0 && !got_is_soa(rr) && got->owners_len + len + 2 < sizeof(got->owners)) {
		got->owners_len += (size_t)sprintf(got->owners + got->owners_len, "%s\n", owner);
		strcpy(got->last, owner);
	}
	return KNOT_OK;
}

static knot_err_t got_changeset(uint32_t from, uint32_t to, void *ctx)
{
	(void)from, (void)to;
	((got_t *)ctx)->changesets++;
	return KNOT_OK;
}

static void got_free(got_t *take_got)
{
	rows_free(&take_got->rows);
	rows_free(&take_got->removed);
	free(take_got);
}

static void put_u16(uint8_t **at, unsigned number)
{
	store_be16(*at, (uint16_t)number);
	*at += 2;
}

/* The reply without records that the engine would make. */
static knot_bytes_t make_reply(const want_t *want, knot_name_t apex, uint8_t *out)
{
	uint8_t *at = out;
	put_u16(&at, ID);
	put_u16(&at, KNOT_FLAG_QR | KNOT_FLAG_AA);
	put_u16(&at, 1);
	put_u16(&at, 0);
	put_u16(&at, 0);
	put_u16(&at, want->has_opt);
	memcpy(at, apex.wire, apex.len);
	for (size_t i = 0; want->is_upper && i < apex.len; i++) {
		at[i] = at[i] >= 'a' && at[i] <= 'z' ? (uint8_t)(at[i] - 32) : at[i];
	}
	at += apex.len;
	put_u16(&at, want->is_ixfr ? KNOT_TYPE_IXFR : KNOT_TYPE_AXFR);
	put_u16(&at, KNOT_CLASS_IN);
	if (want->has_opt) {
		static const uint8_t opt[] = { 0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 8, 0, 9, 0, 4, 0, 0, 0,
			77 }; /* EXPIRE */
		memcpy(at, opt, sizeof(opt));
		at += sizeof(opt);
	}
	return (knot_bytes_t){ out, (size_t)(at - out) };
}

/* Both sides of an exchange whose request was signed. */
static void make_chains(knot_tsig_chain_t *client, knot_tsig_chain_t *server)
{
	uint8_t bytes[512];
	knot_msg_writer_t w;
	size_t len;
	knot_msg_begin(&w, (knot_mut_bytes_t){ bytes, sizeof(bytes) });
	assert_int_equal(knot_msg_put_question(&w, zone_apex, KNOT_TYPE_AXFR, KNOT_CLASS_IN), KNOT_OK);
	(void)knot_msg_finish(&w, ID, 0);
	knot_tsig_chain_begin(client, &key);
	knot_tsig_chain_begin(server, &key);
	assert_int_equal(knot_tsig_sign(client, &w, NOW_S, &len), KNOT_OK);
	uint8_t name[KNOT_NAME_MAX];
	knot_tsig_t tsig;
	assert_int_equal(knot_tsig_read((knot_bytes_t){ bytes, len }, name, &tsig), KNOT_OK);
	assert_int_equal(knot_tsig_verify_read(server, (knot_bytes_t){ bytes, len }, &tsig, NOW_S), KNOT_OK);
}

typedef struct {
	journal_t *journal;
	size_t reads;
} find_t;

static steps_out_budget_t budget = { .max = 1 << 20 };

static steps_out_verdict_t find_steps(knot_name_t zone, uint32_t serial_from, uint32_t serial_to, size_t len_max,
		steps_out_t **ret_steps, void *ctx)
{
	find_t *find = ctx;
	find->reads++;
	return find->journal == NULL ? STEPS_OUT_INCOMPLETE
				     : steps_out_read(find->journal, &budget, zone, serial_from, serial_to, len_max,
						       ret_steps);
}

static transfer_out_t *begin_transfer(const zone_contents_t *zone, const want_t *want, const knot_tsig_chain_t *chain)
{
	static const struct sockaddr_in remote = { .sin_family = AF_INET,
		.sin_port = 0x3930, /* in either byte order some port */
		.sin_addr = { 0x01010101 } };
	uint8_t reply[TRANSFER_OUT_TEMPLATE_MAX];
	transfer_out_t *out = transfer_out_new(&(transfer_out_ask_t){
			.contents = zone,
			.is_ixfr = want->is_ixfr,
			.may_ixfr = want->may_ixfr,
			.serial = want->serial,
			.reply = make_reply(want, zone_node_owner(zone->apex), reply),
			.chain = chain,
			.remote = (const struct sockaddr *)&remote,
			.now_us = 1000000,
	});
	assert_non_null(out);
	return out;
}

static void note_lines(got_t *got, size_t count, const transfer_out_line_t *lines)
{
	for (size_t i = 0; i < count; i++) {
		strcat(strcat(got->log, lines[i].text), "\n");
	}
}

/* One message at the client. */
static void take_message(got_t *got, const want_t *want, knot_tsig_chain_t *client, knot_bytes_t message)
{
	static uint8_t scratch[KNOT_RDATA_MAX];
	got->messages++;
	got->len_sum += message.len;
	got->len_max = message.len > got->len_max ? message.len : got->len_max;
	got->rcode = load_be16(message.data + 2) & KNOT_RCODE_MASK;
	assert_int_equal(load_be16(message.data + 2) & KNOT_FLAG_AA, got->rcode == 0 ? KNOT_FLAG_AA : 0);
	assert_int_equal(load_be16(message.data + 4), 1); /* the question */
	assert_int_equal(load_be16(message.data + 10), want->has_opt + want->has_key);
	if (want->has_key) {
		assert_int_equal(knot_tsig_verify(client, message, NOW_S), KNOT_OK);
		assert_int_equal(client->unsigned_count, 0);
	}
	if (got->rcode == KNOT_RCODE_NOERROR) {
		assert_int_equal(got->stream.state, STREAM_IN_MORE);
		stream_in_state_t state = stream_in_read(&got->stream, message, scratch);
		if (state == STREAM_IN_FAILED) {
			char text[STREAM_IN_TEXT_MAX];
			stream_in_print(&got->stream, text);
			fail_msg("message %zu: %s", got->messages, text);
		}
		assert_int_equal(got->stream.has_expire, want->has_opt);
	}
}

/* Transfer it. */
static got_t *transfer(const zone_contents_t *zone, const want_t *want, find_t *find)
{
	got_t *got = calloc(1, sizeof(*got));
	assert_non_null(got);
	stream_in_begin(&got->stream,
			&(stream_in_query_t){ .zone = zone_node_owner(zone->apex),
					.id = ID,
					.type = want->is_ixfr ? KNOT_TYPE_IXFR : KNOT_TYPE_AXFR,
					.serial = want->serial },
			&(stream_in_sink_t){ got_begin, got_record, got_changeset, NULL, got });
	knot_tsig_chain_t client, server;
	make_chains(&client, &server);
	transfer_out_t *out = begin_transfer(zone, want, want->has_key ? &server : NULL);
	transfer_out_line_t lines[TRANSFER_OUT_LINES_MAX];
	if (transfer_out_state(out) == TRANSFER_OUT_UNPREPARED) {
		transfer_out_prepare(out, find_steps, find);
		transfer_out_release(out);
	}
	transfer_out_facts_t facts = transfer_out_facts_at_begin(out);
	note_lines(got, transfer_out_print_begin(&facts, lines), lines);
	static uint8_t room[KNOT_MSG_MAX];
	while (transfer_out_state(out) == TRANSFER_OUT_READY) {
		memset(room, 0xA5, sizeof(room));
		size_t len = transfer_out_next(out, (knot_mut_bytes_t){ room, sizeof(room) }, NOW_S);
		take_message(got, want, &client, (knot_bytes_t){ room, len });
	}
	transfer_out_end(out, 2500000);
	got->facts = facts = transfer_out_facts(out);
	note_lines(got, transfer_out_print_end(&facts, lines), lines);
	assert_int_equal(got->facts.message_count, got->messages);
	assert_int_equal(got->facts.byte_count, got->len_sum);
	transfer_out_free(out);
	return got;
}

/* ---- AXFR ---- */

static zone_contents_t *build(knot_name_t origin, const char *text)
{
	const zone_build_params_t params = { .origin = origin, .default_ttl = 60, .checks = ZONE_CHECKS_OFF };
	zone_contents_t *zone;
	assert_int_equal(zone_build_text(knot_str_of(text), "test", &params, &zone), KNOT_OK);
	return zone;
}

/* Owners in the order of the zone, without names that have no records. */
static char *owners_of(const zone_contents_t *zone)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	zone_node_iter_t iter;
	zone_nodes_begin(zone, &iter);
	for (const zone_node_t *node; (node = zone_nodes_next(zone, &iter)) != NULL;) {
		unsigned count = zone_node_rrset_count(node);
		char owner[KNOT_NAME_TEXT_MAX];
		knot_name_print(zone_node_owner(node), owner);
		bool is_soa_only = node == zone->apex && count == 1 &&
				   !zone_rrset_has_sigs(zone_node_rrset_at(&zone->arena, node, 0));
		if (count > 0 && !is_soa_only) {
			fprintf(to, "%s\n", owner);
		}
	}
	fclose(to);
	return text;
}

/* All ways to ask for the whole of it give the whole of it. */
static void check_axfr(const zone_contents_t *zone)
{
	rows_t all = rows_of(zone);
	char *owners = owners_of(zone);
	for (unsigned bits = 0; bits < 16; bits++) {
		const want_t want = { .has_opt = bits & 1,
			.has_key = bits & 2,
			.is_upper = bits & 4,
			.is_ixfr = bits & 8,
			.serial = zone->serial - 1 };
		got_t *got = transfer(zone, &want, NULL);
		assert_int_equal(got->stream.state, STREAM_IN_DONE);
		assert_int_equal(got->facts.state, TRANSFER_OUT_DONE);
		rows_assert_same(&got->rows, &all);
		assert_int_equal(got->removed.count, 0);
		if (strlen(owners) < sizeof(got->owners) / 2) {
			assert_string_equal(got->owners, owners);
		}
		got_free(got);
	}
	free(owners);
	rows_free(&all);
}

static void test_small(void **state)
{
	(void)state;
	static const struct {
		const char *what;
		const knot_name_t *origin;
		const char *text;
	} rows[] = {
		{ "a SOA alone", &zone_apex, "@ SOA ns admin 5 1 2 3 4\n" },
		{ "apex first, glue where its name is", &zone_apex,
				"@ SOA ns.a.deep admin 5 1 2 3 4\n@ NS ns.a.deep\n@ A 192.0.2.1\nns.a.deep A "
				"192.0.2.2\n"
				"sub NS ns.sub\nsub NS ns.a.deep\nns.sub A 192.0.2.3\nns.sub AAAA 2001:db8::1\nz MX 5 "
				"sub\n"
				"*.w MX 5 x.w\n*.w MX 6 w\n*.w MX 7 *.w\n" },
		{ "the root zone", &root_apex,
				". SOA a.nic. b.nic. 7 1 2 3 4\n. NS a.nic.\na.nic. A 192.0.2.1\ncom. NS a.com.\n"
				"com. NS b.com.\na.com. A 192.0.2.1\nb.com. A 192.0.2.2\nnic. NS a.nic.\n* TXT x\n" },
		{ "NSEC", &zone_apex,
				"@ SOA ns admin 5 1 2 3 4\n@ RRSIG SOA 8 1 60 20300101000000 20200101000000 1 zone. "
				"AAAA\n"
				"@ NSEC b NS SOA RRSIG NSEC\n@ RRSIG NSEC 8 1 60 20300101000000 20200101000000 1 zone. "
				"BBBB\n"
				"@ DNSKEY 257 3 8 AAAA\nb A 192.0.2.1\nb 60 RRSIG A 8 2 60 20300101000000 "
				"20200101000000 1 zone. CCCC\n"
				"b NSEC @ A RRSIG NSEC\n" },
		{ "NSEC3, opt-out", &zone_apex,
				"@ SOA ns admin 5 1 2 3 4\n@ NSEC3PARAM 1 0 0 -\n"
				"0000000000000000000000000000000A NSEC3 1 1 0 - 0000000000000000000000000000000B SOA "
				"NSEC3PARAM\n"
				"0000000000000000000000000000000A RRSIG NSEC3 8 2 60 20300101000000 20200101000000 1 "
				"zone. DDDD\n"
				"0000000000000000000000000000000B NSEC3 1 1 0 - 0000000000000000000000000000000A NS\n"
				"b NS ns.b\nns.b A 192.0.2.1\nzz A 192.0.2.4\n" },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		print_message("%s\n", rows[i].what);
		zone_contents_t *zone = build(*rows[i].origin, rows[i].text);
		check_axfr(zone);
		zone_contents_free(zone);
	}
}

/* Many names in many messages; sets of all sizes meet the borders of messages. */
static char *large_text(unsigned names, unsigned seed)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	srandom(seed);
	fprintf(to, "@ SOA ns admin 5 1 2 3 4\n@ NSEC3PARAM 1 0 0 -\n");
	for (unsigned i = 0; i < names; i++) {
		unsigned kind = (unsigned)random() % 100;
		fprintf(to, "n%u NS ns%u.n%u\nn%u NS a.very.common.server.net.\nn%u NS ns.n%u\n", i, i % 7, i, i, i,
				(unsigned)random() % names);
		fprintf(to, "ns%u.n%u A 192.0.2.%u\n", i % 7, i, i % 250);
		if (kind < 20) {
			fprintf(to,
					"n%u DS 1 8 2 "
					"000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F\n"
					"n%u RRSIG DS 8 2 60 20300101000000 20200101000000 1 zone. AAAAAAAAAAAA\n",
					i, i);
		}
		if (kind < 60) {
			fprintf(to, "%032X NSEC3 1 1 0 - %032X NS\n", i, i + 1);
			fprintf(to, "%032X RRSIG NSEC3 8 2 60 20300101000000 20200101000000 1 zone. AAAAAAAA\n", i);
		}
		if (kind == 99) {
			unsigned records = (unsigned)random() % 900;
			for (unsigned r = 0; r < records; r++) {
				fprintf(to, "big%u.x.y%u MX %u m%u.x.y%u\n", i, i % 3, r, r, i % 5);
			}
		}
		if (kind == 98) {
			for (unsigned r = 0; r < 200; r++) {
				fprintf(to, "*.t%u TXT \"%0200u\"\n", i, r);
			}
		}
	}
	fclose(to);
	return text;
}

static void test_large(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 3; seed++) {
		char *text = large_text(3000, seed);
		zone_contents_t *zone = build(zone_apex, text);
		check_axfr(zone);
		got_t *got = transfer(zone, &(want_t){ .is_ixfr = false }, NULL);
		/* About as many messages as are needed: sets have up to 43 KB, and begin below 16 KB. */
		assert_in_range(got->messages, got->len_sum / 50000, got->len_sum / 9000);
		assert_in_range(got->len_max, 16384, 16384 + 45000);
		got_free(got);
		zone_contents_free(zone);
		free(text);
	}
}

/* All types, with random RDATA. */
static void test_types(void **state)
{
	(void)state;
	random_seed();
	const zone_build_params_t params = { .origin = zone_apex, .default_ttl = 60, .checks = ZONE_CHECKS_SOFT };
	static uint8_t rdata[KNOT_RDATA_MAX];
	static const uint8_t soa[] = "\1m\0\1r\0\0\0\0\7\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0";
	for (unsigned round = 0; round < 10; round++) {
		zone_txn_t *txn;
		zone_contents_t *zone;
		assert_int_equal(zone_txn_begin(NULL, &params, &txn), KNOT_OK);
		assert_int_equal(zone_txn_put(txn, zone_apex, KNOT_TYPE_SOA, 60, (knot_bytes_t){ soa, sizeof(soa) }),
				KNOT_OK);
		for (unsigned type = 1; type < 300; type++) {
			if (type == KNOT_TYPE_SOA || type == KNOT_TYPE_OPT || type == KNOT_TYPE_RRSIG ||
					type == KNOT_TYPE_NSEC3PARAM || type == KNOT_TYPE_NSEC3 ||
					knot_rrtype_is_meta((uint16_t)type)) {
				continue;
			}
			uint8_t wire[KNOT_NAME_MAX] = { 4, 'q', (uint8_t)(random() % 3), (uint8_t)type,
				(uint8_t)(type >> 8), 4, 'z', 'o', 'n', 'e', 0 };
			size_t len = random_rdata(knot_rrdesc((uint16_t)type), rdata, 4000);
			assert_int_equal(zone_txn_put(txn, knot_name_of(wire), (uint16_t)type, (uint32_t)random(),
							 (knot_bytes_t){ rdata, len }),
					KNOT_OK);
		}
		assert_int_equal(zone_txn_commit(txn, &zone), KNOT_OK);
		check_axfr(zone);
		zone_contents_free(zone);
	}
}

/* A set of `records` TXT of 255 bytes beside others. */
static zone_contents_t *build_with_set(unsigned records)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	fprintf(to, "@ SOA ns admin 5 1 2 3 4\na A 192.0.2.1\n");
	for (unsigned r = 0; r < records; r++) {
		fprintf(to, "b TXT \"%0255u\"\n", r);
	}
	fprintf(to, "c A 192.0.2.2\n");
	fclose(to);
	zone_contents_t *zone = build(zone_apex, text);
	free(text);
	return zone;
}

static void test_set_sizes(void **state)
{
	(void)state;
	enum { RECORD = 12 + 256, FIT = (65535 - 12 - 10 - 2 - 19 - 89) / RECORD }; /* with owner, OPT and TSIG */
	zone_contents_t *zone = build_with_set(FIT);
	check_axfr(zone);
	got_t *got = transfer(zone, &(want_t){ .has_key = true, .has_opt = true }, NULL);
	assert_int_equal(got->messages, 3); /* it goes whole into the second one */
	got_free(got);
	zone_contents_free(zone);
	/* Larger than any message. */
	zone = build_with_set(FIT + 1);
	for (unsigned signed_too = 0; signed_too < 2; signed_too++) {
		got = transfer(zone, &(want_t){ .has_key = signed_too, .has_opt = true }, NULL);
		assert_int_equal(got->facts.state, TRANSFER_OUT_FAILED);
		assert_int_equal(got->rcode, KNOT_RCODE_SERVFAIL);
		assert_non_null(strstr(got->log, "failed (transfer was not sent)\n"));
		got_free(got);
	}
	zone_contents_free(zone);
}

/* A transfer sees its version, whatever comes after it, and may be dropped after any message. */
static void test_hold(void **state)
{
	(void)state;
	const zone_build_params_t params = { .origin = zone_apex, .default_ttl = 60, .checks = ZONE_CHECKS_OFF };
	char *text = large_text(500, 9);
	zone_contents_t *zone = build(zone_apex, text);
	free(text);
	static uint8_t room[KNOT_MSG_MAX];
	for (unsigned drop_after = 0; drop_after < 5; drop_after++) {
		transfer_out_t *out = begin_transfer(zone, &(want_t){ .is_ixfr = false }, NULL);
		for (unsigned i = 0; i < drop_after; i++) {
			(void)transfer_out_next(out, (knot_mut_bytes_t){ room, sizeof(room) }, NOW_S);
		}
		zone_txn_t *txn;
		zone_contents_t *next;
		const uint8_t owner[] = { 2, 'n', (uint8_t)('0' + drop_after), 4, 'z', 'o', 'n', 'e', 0 };
		assert_int_equal(zone_txn_begin(zone, &params, &txn), KNOT_OK);
		assert_int_equal(zone_txn_remove_all(txn, knot_name_of(owner), KNOT_TYPE_NS), KNOT_OK);
		assert_int_equal(zone_txn_commit(txn, &next), KNOT_OK);
		zone_contents_free(zone); /* the transfer holds it */
		zone = next;
		if (drop_after < 4) {
			transfer_out_end(out, 3000000);
			transfer_out_facts_t facts = transfer_out_facts(out);
			transfer_out_line_t lines[TRANSFER_OUT_LINES_MAX];
			assert_int_equal(transfer_out_print_end(&facts, lines), 1);
			assert_int_equal(lines[0].level, LOG_DEBUG);
		} else {
			while (transfer_out_state(out) == TRANSFER_OUT_READY) {
				(void)transfer_out_next(out, (knot_mut_bytes_t){ room, sizeof(room) }, NOW_S);
			}
			assert_int_equal(transfer_out_state(out), TRANSFER_OUT_DONE);
		}
		transfer_out_free(out);
	}
	zone_contents_free(zone);
}

/* ---- IXFR ---- */

static char journal_dir[] = "/dev/shm/bowline-xfrout-XXXXXX";

static int journal_set_up(void **state)
{
	(void)state;
	return mkdtemp(journal_dir) != NULL ? 0 : -1;
}

static int journal_tear_down(void **state)
{
	(void)state;
	char path[128];
	static const char *const files[] = { "/j/data.mdb", "/j/lock.mdb", "/j", "" };
	for (size_t i = 0; i < KNOT_LEN(files); i++) {
		snprintf(path, sizeof(path), "%s%s", journal_dir, files[i]);
		(void)remove(path);
	}
	return 0;
}

static journal_t *open_journal(void)
{
	char path[128];
	static const char *const files[] = { "/j/data.mdb", "/j/lock.mdb" };
	for (size_t i = 0; i < KNOT_LEN(files); i++) {
		snprintf(path, sizeof(path), "%s%s", journal_dir, files[i]);
		(void)remove(path);
	}
	snprintf(path, sizeof(path), "%s/j", journal_dir);
	journal_t *journal;
	journal_reason_t reason;
	assert_int_equal(journal_open(&(journal_params_t){ .path = path, .size_max = 64 << 20 }, &journal, &reason),
			KNOT_OK);
	return journal;
}

enum { NAMES = 40 };

/* A zone in which the bits say which names there are. */
static zone_contents_t *build_of(uint64_t bits, uint32_t serial)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	fprintf(to, "@ SOA ns admin %u 1 2 3 4\n@ NS ns\n", serial);
	for (unsigned i = 0; i < NAMES; i++) {
		if (bits >> i & 1) {
			fprintf(to, "n%u.sub%u TXT \"%0200u\"\nn%u.sub%u MX %u m.n%u.sub%u\n", i, i % 3, i, i, i % 3, i,
					i, i % 4);
		}
	}
	fclose(to);
	zone_contents_t *zone = build(zone_apex, text);
	free(text);
	return zone;
}

typedef struct {
	changeset_writer_t *writer;
	const zone_contents_t *other;
	bool is_added;
} step_side_t;

static bool step_find(const zone_rr_t *rr, void *ctx)
{
	const zone_rr_t *wanted = ((void **)ctx)[0];
	bool *found = ((void **)ctx)[1];
	*found |= rr->type == wanted->type && rr->rdata.len == wanted->rdata.len &&
		  memcmp(rr->rdata.data, wanted->rdata.data, rr->rdata.len) == 0;
	return !*found;
}

/* Put a record that the other version doesn't have. */
static bool step_visit(const zone_rr_t *rr, void *ctx)
{
	step_side_t *side = ctx;
	static uint8_t scratch[KNOT_RDATA_MAX];
	bool found = false;
	void *args[] = { (void *)(uintptr_t)rr, &found };
	(void)zone_each_of_name(side->other, rr->owner, scratch, step_find, args);
	if (!found) {
		changeset_put(side->writer, &(changeset_rr_t){ rr->owner, rr->type, rr->ttl, rr->rdata },
				side->is_added);
	}
	return true;
}

static void store_step(journal_t *journal, const zone_contents_t *from, const zone_contents_t *to)
{
	static uint8_t scratch[KNOT_RDATA_MAX];
	changeset_writer_t writer = { 0 };
	(void)zone_each_record(from, scratch, step_visit, &(step_side_t){ &writer, to, false });
	(void)zone_each_record(to, scratch, step_visit, &(step_side_t){ &writer, from, true });
	uint8_t *data;
	journal_change_t change = { .serial_from = from->serial, .serial_to = to->serial, .time_s = NOW_S };
	assert_int_equal(changeset_finish(&writer, CHANGESET_STEP, &data, &change.payload.len), KNOT_OK);
	change.payload.data = data;
	const journal_limits_t wide = { .usage_max = 32 << 20, .depth_max = 1000 };
	assert_int_equal(journal_append(journal, zone_apex, &change, &wide, NULL), KNOT_OK);
	free(data);
}

static void rows_remove(rows_t *rows, const char *text)
{
	for (size_t i = 0; i < rows->count; i++) {
		if (strcmp(rows->list[i], text) == 0) {
			free(rows->list[i]);
			rows->list[i] = rows->list[--rows->count];
			return;
		}
	}
	fail_msg("not there: %s", text);
}

/* The records of `from` with what came are those of `to`. Right for one changeset, or ones that don't undo each other.
 */
static void check_applied(const zone_contents_t *from, const zone_contents_t *to, const got_t *got)
{
	rows_t rows = rows_of(from), want = rows_of(to);
	for (size_t i = 0; i < got->rows.count; i++) {
		if (rows.count == rows.room) {
			rows.room *= 2;
			rows.list = realloc(rows.list, rows.room * sizeof(*rows.list));
		}
		rows.list[rows.count++] = strdup(got->rows.list[i]);
	}
	for (size_t i = 0; i < got->removed.count; i++) {
		rows_remove(&rows, got->removed.list[i]);
	}
	rows_assert_same(&rows, &want);
	rows_free(&rows);
	rows_free(&want);
}

/* From each version to each later one. */
static void test_ixfr(void **state)
{
	(void)state;
	enum { VERSIONS = 8 };
	srandom(4);
	find_t find = { .journal = open_journal() };
	zone_contents_t *versions[VERSIONS];
	uint64_t bits = 0x5A5A5A5A5A;
	for (unsigned i = 0; i < VERSIONS; i++) {
		versions[i] = build_of(bits, 10 + i);
		if (i > 0) {
			store_step(find.journal, versions[i - 1], versions[i]);
		}
		for (unsigned changes = 0; changes < 1u + i * 2; changes++) {
			bits ^= UINT64_C(1) << (random() % NAMES);
		}
	}
	for (unsigned to = 1; to < VERSIONS; to++) {
		for (unsigned from = 0; from < to; from++) {
			want_t want = { .is_ixfr = true,
				.may_ixfr = true,
				.serial = 10 + from,
				.has_key = to & 1,
				.has_opt = from & 1 };
			got_t *got = transfer(versions[to], &want, &find);
			assert_int_equal(got->stream.state, STREAM_IN_DONE);
			assert_int_equal(got->stream.kind, STREAM_IN_IXFR);
			assert_int_equal(got->stream.serial_reached, 10 + to);
			check_applied(versions[from], versions[to], got);
			got_free(got);
		}
	}
	journal_close(find.journal);
	for (unsigned i = 0; i < VERSIONS; i++) {
		zone_contents_free(versions[i]);
	}
}

/* Several steps become one if that is smaller, else they stay. */
static void test_condensed(void **state)
{
	(void)state;
	find_t find = { .journal = open_journal() };
	static const uint64_t bits[] = { 0xF, 0xFF0F, 0xF, 0xF0F, 0xF00F };
	zone_contents_t *versions[KNOT_LEN(bits)];
	for (unsigned i = 0; i < KNOT_LEN(bits); i++) {
		versions[i] = build_of(bits[i], 10 + i);
		if (i > 0) {
			store_step(find.journal, versions[i - 1], versions[i]);
		}
	}
	const want_t want = { .is_ixfr = true, .may_ixfr = true, .serial = 10 };
	got_t *got = transfer(versions[4], &want, &find);
	assert_int_equal(got->changesets, 1);
	assert_in_range(got->rows.count, 9, 9); /* SOA, 4 names of 2 */
	assert_int_equal(got->removed.count, 1);
	check_applied(versions[0], versions[4], got);
	assert_non_null(strstr(got->log,
			"IXFR, outgoing, remote 1.1.1.1@12345 TCP, started, serial 10 -> 14\n"
			"IXFR, outgoing, remote 1.1.1.1@12345 TCP, finished, 1.50 seconds, 1 messages, "));
	got_free(got);
	journal_close(find.journal);
	for (unsigned i = 0; i < KNOT_LEN(bits); i++) {
		zone_contents_free(versions[i]);
	}
}

/* What can't be had as IXFR. */
static void test_fallback(void **state)
{
	(void)state;
	find_t find = { .journal = open_journal() };
	zone_contents_t *a = build_of(1, 10), *b = build_of(2, 11), *c = build_of(3, 12);
	rows_t all = rows_of(c);
	store_step(find.journal, a, b);
	static const struct {
		const char *what;
		uint32_t serial;
		bool may_ixfr;
		const char *log;
		size_t reads;
	} rows[] = {
		{ "provide-ixfr off", 10, false,
				"IXFR, outgoing, remote 1.1.1.1@12345 TCP, key key., cannot provide, fallback to AXFR\n"
				"AXFR, outgoing, remote 1.1.1.1@12345 TCP, key key., started, serial 12\n",
				0 },
		{ "no change begins there", 4, true,
				"IXFR, outgoing, remote 1.1.1.1@12345 TCP, key key., incomplete history, serial 4, "
				"fallback to AXFR\nAXFR, ",
				1 },
		{ "changes don't lead to the version", 10, true,
				"IXFR, outgoing, remote 1.1.1.1@12345 TCP, key key., incomplete history, serial 10, "
				"fallback to AXFR\nAXFR, ",
				1 },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		print_message("%s\n", rows[i].what);
		find.reads = 0;
		const want_t want = {
			.is_ixfr = true, .may_ixfr = rows[i].may_ixfr, .serial = rows[i].serial, .has_key = true
		};
		got_t *got = transfer(c, &want, &find);
		assert_int_equal(find.reads, rows[i].reads);
		assert_int_equal(got->rcode, 0);
		assert_ptr_equal(strstr(got->log, rows[i].log), got->log);
		assert_int_equal(got->stream.kind, STREAM_IN_AXFR);
		rows_assert_same(&got->rows, &all);
		got_free(got);
	}
	rows_free(&all);
	journal_close(find.journal);
	zone_contents_free(a);
	zone_contents_free(b);
	zone_contents_free(c);
}

/* Bounds of memory: too much is left alone. */
static void test_bounds(void **state)
{
	(void)state;
	journal_t *journal = open_journal();
	zone_contents_t *a = build_of(1, 10), *b = build_of(0xFFFF, 11);
	store_step(journal, a, b);
	steps_out_t *steps;
	assert_int_equal(steps_out_read(journal, &budget, zone_apex, 10, 11, 1000, &steps), STEPS_OUT_UNUSABLE);
	assert_int_equal(steps_out_read(journal, &budget, zone_apex, 10, 11, 1 << 20, &steps), STEPS_OUT_OK);
	assert_in_range(steps_out_len(steps), 1001, 1 << 20);
	/* What is in use counts, whoever has it. */
	steps_out_t *more;
	budget.max = steps_out_len(steps) * 3 / 2;
	assert_int_equal(steps_out_read(journal, &budget, zone_apex, 10, 11, 1 << 20, &more), STEPS_OUT_UNUSABLE);
	steps_out_drop(steps_out_ref(steps));
	assert_int_equal(budget.used, steps_out_len(steps));
	steps_out_drop(steps);
	assert_int_equal(budget.used, 0);
	budget.max = 1 << 20;
	assert_int_equal(steps_out_read(journal, &budget, root_apex, 10, 11, 1 << 20, &steps), STEPS_OUT_INCOMPLETE);
	journal_close(journal);
	zone_contents_free(a);
	zone_contents_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_small), cmocka_unit_test(test_large),
		cmocka_unit_test(test_types), cmocka_unit_test(test_set_sizes), cmocka_unit_test(test_hold),
		cmocka_unit_test(test_ixfr), cmocka_unit_test(test_condensed), cmocka_unit_test(test_fallback),
		cmocka_unit_test(test_bounds) };
	return cmocka_run_group_tests(tests, journal_set_up, journal_tear_down);
}
