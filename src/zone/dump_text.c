/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/dump_text.h"

#include "libknot/rr/rrtype.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

zone_dump_part_t zone_dump_part_of(uint16_t type, knot_bytes_t rdata)
{
	switch (type) {
	case KNOT_TYPE_SOA: return DUMP_SOA;
	case KNOT_TYPE_NSEC: return DUMP_NSEC;
	case KNOT_TYPE_NSEC3: return DUMP_NSEC3;
	case KNOT_TYPE_RRSIG: return load_be16(rdata.data) == KNOT_TYPE_NSEC3 ? DUMP_NSEC3_RRSIG : DUMP_RRSIG;
	default: return DUMP_DATA;
	}
}

const char *zone_dump_heading(zone_dump_part_t part)
{
	static const char *const headings[DUMP_PARTS] = {
		[DUMP_RRSIG] = ";; DNSSEC signatures\n",
		[DUMP_NSEC] = ";; DNSSEC NSEC chain\n",
		[DUMP_NSEC3] = ";; DNSSEC NSEC3 chain\n",
		[DUMP_NSEC3_RRSIG] = ";; DNSSEC NSEC3 signatures\n",
	};
	return headings[part];
}

knot_err_t zone_dump_text_init(zone_dump_text_t *text, int fd)
{
	*text = (zone_dump_text_t){ .fd = fd, .text = malloc(ZONE_DUMP_BUFFER), .max = ZONE_DUMP_BUFFER };
	text->err = text->text != NULL ? KNOT_OK : KNOT_ENOMEM;
	return text->err;
}

void zone_dump_text_done(zone_dump_text_t *text)
{
	free(text->text);
	text->text = NULL;
}

void zone_dump_text_flush(zone_dump_text_t *text)
{
	for (size_t done = 0; done < text->len && text->err == KNOT_OK;) {
		ssize_t written = write(text->fd, text->text + done, text->len - done);
		if (written > 0) {
			done += (size_t)written;
		} else if (written == 0 || errno != EINTR) {
			text->err = written == 0 ? KNOT_EIO : knot_err_of_errno(errno);
		}
	}
	text->len = 0;
}

static void text_grow(zone_dump_text_t *text)
{
	char *grown = realloc(text->text, 2 * text->max);
	if (grown == NULL) {
		text->err = KNOT_ENOMEM;
		text->len = 0;
		return;
	}
	text->text = grown;
	text->max *= 2;
}

/* Room for a line. */
static void text_reserve(zone_dump_text_t *text)
{
	if (text->len <= text->max - ZONE_LINE_MAX) {
		return;
	}
	if (text->is_held && text->err == KNOT_OK) {
		text_grow(text);
	} else {
		zone_dump_text_flush(text);
	}
}

static void text_put_bytes(zone_dump_text_t *text, const char *bytes, size_t len)
{
	memcpy(text->text + text->len, bytes, len);
	text->len += len;
}

static void text_put_number(zone_dump_text_t *text, uint32_t number)
{
	char digits[10];
	size_t len = 0;
	do {
		digits[sizeof(digits) - ++len] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	text_put_bytes(text, digits + sizeof(digits) - len, len);
}

static void text_take_owner(zone_dump_text_t *text, knot_name_t owner)
{
	if (text->owner_wire_len == owner.len && memcmp(text->owner_wire, owner.wire, owner.len) == 0) {
		return;
	}
	memcpy(text->owner_wire, owner.wire, owner.len);
	text->owner_wire_len = owner.len;
	text->owner_len = knot_rr_print_owner(owner, text->owner);
}

void zone_dump_text_put_rr(zone_dump_text_t *text, const zone_rr_t *rr)
{
	text_reserve(text);
	text_take_owner(text, rr->owner);
	if (text->type != rr->type) {
		text->type = rr->type;
		text->type_len = knot_rrtype_print(rr->type, text->type_text);
	}
	text_put_bytes(text, text->owner, text->owner_len);
	text_put_number(text, rr->ttl);
	text_put_bytes(text, "\t", 1);
	text_put_bytes(text, text->type_text, text->type_len);
	text_put_bytes(text, "\t", 1);
	text->len += knot_rdata_print(rr->type, rr->rdata, text->text + text->len, KNOT_RDATA_TEXT_MAX);
	text_put_bytes(text, "\n", 1);
	text->count++;
}

void zone_dump_text_put(zone_dump_text_t *text, const char *string)
{
	text_reserve(text);
	text_put_bytes(text, string, strlen(string));
}

void zone_dump_text_put_head(zone_dump_text_t *text, const char *program)
{
	char head[256];
	snprintf(head, sizeof(head), ";; Zone dump (%.200s)\n", program);
	zone_dump_text_put(text, head);
}

void zone_dump_text_put_end(zone_dump_text_t *text, uint64_t record_count, uint64_t now_s)
{
	time_t now = (time_t)now_s;
	struct tm utc;
	char when[32] = "?", end[128];
	if (gmtime_r(&now, &utc) != NULL) {
		(void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &utc);
	}
	snprintf(end, sizeof(end), ";; Written %" PRIu64 " records\n;; Time %s UTC\n", record_count, when);
	zone_dump_text_put(text, end);
}
