/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/dump.h"

#include "libknot/text/rdata_text.h"
#include "libknot/text/rr_text.h"
#include "src/zone/diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
	LINE_MAX_BYTES = KNOT_RR_OWNER_TEXT_MAX + 32 + KNOT_RDATA_TEXT_MAX,
	BUFFER_BYTES = 2 * LINE_MAX_BYTES,
};

/* A file's parts, in order. */
typedef enum { DUMP_SOA, DUMP_DATA, DUMP_RRSIG, DUMP_NSEC, DUMP_NSEC3, DUMP_NSEC3_RRSIG, DUMP_PARTS } dump_part_t;

static const char *const dump_heads[DUMP_PARTS] = {
	[DUMP_RRSIG] = ";; DNSSEC signatures\n",
	[DUMP_NSEC] = ";; DNSSEC NSEC chain\n",
	[DUMP_NSEC3] = ";; DNSSEC NSEC3 chain\n",
	[DUMP_NSEC3_RRSIG] = ";; DNSSEC NSEC3 signatures\n",
};

typedef struct {
	int fd;
	knot_err_t err; /* sticky */
	char *text;     /* owned, BUFFER_BYTES */
	size_t len;
	uint64_t count;       /* records */
	dump_part_t part;     /* what is shown */
	bool has[DUMP_PARTS]; /* parts that have records */
	const char *head;     /* written before the first record of the part; NULL: none, or done */
	const zone_skip_t *skip;
	const uint8_t *owner_wire; /* whose text follows; of one node at a time */
	size_t owner_len;
	char owner[KNOT_RR_OWNER_TEXT_MAX];
	uint16_t type;
	size_t type_len;
	char type_text[KNOT_TYPE_TEXT_MAX];
} dump_t;

static void dump_flush_buffer(dump_t *dump)
{
	for (size_t done = 0; done < dump->len && dump->err == KNOT_OK;) {
		ssize_t ret = write(dump->fd, dump->text + done, dump->len - done);
		if (ret > 0) {
			done += (size_t)ret;
		} else if (ret == 0 || errno != EINTR) {
			dump->err = ret == 0 ? KNOT_EIO : knot_err_of_errno(errno);
		}
	}
	dump->len = 0;
}

static void dump_put_bytes(dump_t *dump, const char *text, size_t len)
{
	memcpy(dump->text + dump->len, text, len);
	dump->len += len;
}

static void dump_put_number(dump_t *dump, uint32_t number)
{
	char digits[10];
	size_t len = 0;
	do {
		digits[sizeof(digits) - ++len] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	dump_put_bytes(dump, digits + sizeof(digits) - len, len);
}

static void take_owner(dump_t *dump, knot_name_t owner)
{
	if (dump->owner_wire == owner.wire) {
		return;
	}
	dump->owner_wire = owner.wire;
	dump->owner_len = knot_rr_print_owner(owner, dump->owner);
}

static void put_line(dump_t *dump, const zone_rr_t *rr)
{
	if (dump->len > BUFFER_BYTES - LINE_MAX_BYTES) {
		dump_flush_buffer(dump);
	}
	take_owner(dump, rr->owner);
	if (dump->type != rr->type) {
		dump->type = rr->type;
		dump->type_len = knot_rrtype_print(rr->type, dump->type_text);
	}
	dump_put_bytes(dump, dump->owner, dump->owner_len);
	dump_put_number(dump, rr->ttl);
	dump_put_bytes(dump, "\t", 1);
	dump_put_bytes(dump, dump->type_text, dump->type_len);
	dump_put_bytes(dump, "\t", 1);
	dump->len += knot_rdata_print(rr->type, rr->rdata, dump->text + dump->len, KNOT_RDATA_TEXT_MAX);
	dump_put_bytes(dump, "\n", 1);
	dump->count++;
}

static dump_part_t dump_part_of(const zone_rr_t *rr)
{
	switch (rr->type) {
	case KNOT_TYPE_SOA: return DUMP_SOA;
	case KNOT_TYPE_NSEC: return DUMP_NSEC;
	case KNOT_TYPE_NSEC3: return DUMP_NSEC3;
	case KNOT_TYPE_RRSIG: return load_be16(rr->rdata.data) == KNOT_TYPE_NSEC3 ? DUMP_NSEC3_RRSIG : DUMP_RRSIG;
	default: return DUMP_DATA;
	}
}

static bool put_record(const zone_rr_t *rr, void *ctx)
{
	dump_t *dump = ctx;
	dump_part_t part = dump_part_of(rr);
	dump->has[part] = true;
	if (part != dump->part || zone_skip_has(dump->skip, rr->type)) {
		return true;
	}
	if (dump->head != NULL) {
		dump_flush_buffer(dump);
		dump_put_bytes(dump, dump->head, strlen(dump->head));
		dump->head = NULL;
	}
	put_line(dump, rr);
	return dump->err == KNOT_OK;
}

static void put_head(dump_t *dump, const char *program)
{
	dump->len += (size_t)snprintf(dump->text, LINE_MAX_BYTES, ";; Zone dump (%.200s)\n", program);
}

static void put_end(dump_t *dump, uint64_t now_s)
{
	time_t now = (time_t)now_s;
	struct tm utc;
	char when[32] = "?";
	if (gmtime_r(&now, &utc) != NULL) {
		(void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &utc);
	}
	dump_flush_buffer(dump);
	dump->len = (size_t)snprintf(dump->text, LINE_MAX_BYTES, ";; Written %llu records\n;; Time %s UTC\n",
			(unsigned long long)dump->count, when);
	dump_flush_buffer(dump);
}

knot_err_t zone_dump(const zone_contents_t *zone, int fd, const zone_dump_params_t *params)
{
	dump_t dump = { .fd = fd, .err = KNOT_OK, .text = malloc(BUFFER_BYTES), .skip = params->skip };
	uint8_t *scratch = malloc(KNOT_RDATA_MAX);
	if (dump.text == NULL || scratch == NULL) {
		free(dump.text);
		free(scratch);
		return KNOT_ENOMEM;
	}
	put_head(&dump, params->program);
	(void)zone_each_of_node(zone, zone->apex, scratch, put_record, &dump);
	for (dump.part = DUMP_DATA; dump.part < DUMP_PARTS; dump.part++) {
		dump.head = dump_heads[dump.part];
		if (dump.part == DUMP_DATA || dump.has[dump.part]) {
			(void)zone_each_record(zone, scratch, put_record, &dump);
		}
	}
	put_end(&dump, params->now_s);
	free(scratch);
	free(dump.text);
	return dump.err;
}

/** Differences on their way into a file. */
typedef struct {
	dump_t dump;
	bool is_added; /* those that are new; else those that are gone */
} dump_diff_t;

static bool put_difference(const zone_rr_t *rr, bool is_added, void *ctx)
{
	dump_diff_t *diff = ctx;
	if (is_added == diff->is_added) {
		diff->dump.owner_wire = NULL; /* whether another name lies where one has lain isn't known */
		put_line(&diff->dump, rr);
	}
	return diff->dump.err == KNOT_OK;
}

knot_err_t zone_dump_diff(
		const zone_contents_t *before, const zone_contents_t *after, bool is_added, const char *head, int fd)
{
	dump_diff_t diff = { .dump = { .fd = fd, .text = malloc(BUFFER_BYTES) }, .is_added = is_added };
	if (diff.dump.text == NULL) {
		return KNOT_ENOMEM;
	}
	diff.dump.len = (size_t)snprintf(diff.dump.text, LINE_MAX_BYTES, ";; %.200s\n", head);
	knot_err_t err = zone_diff(before, after, put_difference, &diff);
	dump_flush_buffer(&diff.dump);
	free(diff.dump.text);
	return err == KNOT_OK ? diff.dump.err : err;
}
