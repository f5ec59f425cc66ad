/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/clock_watch.h"

#include <time.h>

#include "libknot/rr/rrtype.h"
#include "src/sign/plan.h"
#include "src/sign/rdata.h"
#include "src/sys/clock.h"
#include "src/sys/interval.h"
#include "src/sys/log.h"
#include "src/zone/records.h"

enum {
	GREAT_MS = 3600 * 1000, /* a jump that keys and signatures notice */
	BEHIND_S = 3600,
	TEXT_MAX = 40,
};

/* ---- Jumps while the server runs ---- */

static const char *clock_print(uint64_t when_s, char text[static TEXT_MAX])
{
	struct tm utc;
	time_t when = (time_t)when_s;
	if (gmtime_r(&when, &utc) == NULL || strftime(text, TEXT_MAX, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0) {
		text[0] = '\0';
	}
	return text;
}

static void clock_log(int64_t moved_ms)
{
	char before[TEXT_MAX], after[TEXT_MAX], length[TEXT_MAX];
	uint64_t now_s = sys_clock_wall();
	int64_t moved_s = (moved_ms + (moved_ms < 0 ? -500 : 500)) / 1000;
	sys_interval_print(moved_s, length, sizeof(length));
	log_server(LOG_WARNING, "clock was set from %s to %s (%s), planning events again",
			clock_print(now_s - (uint64_t)moved_s, before), clock_print(now_s, after), length);
}

/* The time by the monotonic clock at which the wall clock will show what it was to show. After a great jump all is
 * looked at now, as it may be late, or signed by the other clock. */
static uint64_t clock_shift(uint64_t due_ms, int64_t moved_ms, uint64_t now_ms)
{
	bool is_great = moved_ms >= GREAT_MS || moved_ms <= -GREAT_MS;
	if (is_great || due_ms <= now_ms || (moved_ms > 0 && due_ms - now_ms <= (uint64_t)moved_ms)) {
		return now_ms;
	}
	return (uint64_t)((int64_t)due_ms - moved_ms);
}

static void clock_plan_again(server_t *server, entry_t *entry, int64_t moved_ms) SYS_REQUIRES(server->jobs.lock)
{
	static const event_t by_wall[] = { EVENT_DNSSEC, EVENT_VALIDATE };
	for (size_t i = 0; i < KNOT_LEN(by_wall); i++) {
		agenda_item_t item;
		uint64_t now_ms = sys_clock_ms();
		if (jobs_find(&server->jobs, entry, by_wall[i], &item) && item.due_ms > now_ms &&
				(item.how & EVENT_BY_OPERATOR) == 0) {
			jobs_cancel(&server->jobs, entry, by_wall[i]);
			(void)jobs_plan(&server->jobs, entry, by_wall[i], clock_shift(item.due_ms, moved_ms, now_ms),
					item.how);
		}
	}
}

void server_look_at_clock(server_t *server)
{
	sys_mutex_lock(&server->jobs.lock);
	uint64_t now_ms = sys_clock_ms();
	int64_t moved_ms = sys_jump_look(&server->jump, sys_clock_real_ns() / 1000000, now_ms);
	if (moved_ms >= GREAT_MS || moved_ms <= -GREAT_MS) {
		server->jumped_ms = now_ms;
	}
	sys_mutex_unlock(&server->jobs.lock);
	if (moved_ms == 0) {
		return;
	}
	clock_log(moved_ms);
	for (size_t first = 0, total = 1; first < total; first += SERVER_CHUNK) {
		sys_mutex_lock(&server->jobs.lock);
		total = zonedb_count(server->zones);
		for (size_t i = first; i < total && i < first + SERVER_CHUNK; i++) {
			clock_plan_again(server, entry_of(zonedb_zones(server->zones)[i]), moved_ms);
		}
		sys_mutex_unlock(&server->jobs.lock);
	}
}

void clock_note_expired(server_t *server, zone_t *zone)
{
	sys_mutex_lock(&server->jobs.lock);
	entry_of(zone)->had_expired = true;
	server->expired_ms = sys_clock_ms();
	sys_mutex_unlock(&server->jobs.lock);
}

static uint64_t clock_rest_s(uint64_t then_ms, uint64_t hold_s)
{
	uint64_t past_s = (sys_clock_ms() - then_ms) / 1000;
	return past_s < hold_s ? hold_s - past_s : 0;
}

uint64_t clock_hold_s(server_t *server, zone_t *zone, uint64_t hold_s)
{
	sys_mutex_lock(&server->jobs.lock);
	uint64_t jump_s = server->jumped_ms != 0 ? clock_rest_s(server->jumped_ms, hold_s) : 0;
	entry_t *entry = entry_of(zone);
	uint64_t expired_s = entry->had_expired ? clock_rest_s(server->expired_ms, hold_s) : 0;
	entry->had_expired = expired_s > 0; /* that of another zone, later, doesn't concern it */
	sys_mutex_unlock(&server->jobs.lock);
	return jump_s > expired_s ? jump_s : expired_s;
}

/* ---- Clocks that are behind ---- */

typedef struct {
	const keys_set_t *set;
	uint64_t now_s;
	clock_signed_t found;
} clock_reading_t;

static bool clock_is_own(const keys_set_t *set, uint8_t algorithm, uint16_t tag)
{
	for (size_t i = 0; i < set->count; i++) {
		if (set->keys[i].algorithm == algorithm && set->keys[i].tag == tag) {
			return true;
		}
	}
	return false;
}

static bool clock_see(const zone_rr_t *rr, void *ctx)
{
	clock_reading_t *reading = ctx;
	const uint8_t *rdata = rr->rdata.data;
	if (rr->type != KNOT_TYPE_RRSIG || rr->rdata.len < SIGN_RRSIG_SIGNER_OFF ||
			sign_rrsig_covered(rr->rdata) != KNOT_TYPE_SOA ||
			!clock_is_own(reading->set, rdata[2], load_be16(rdata + SIGN_RRSIG_TAG_OFF))) {
		return true;
	}
	clock_signed_t *found = &reading->found;
	uint64_t begin_s = sign_rrsig_time(load_be32(rdata + SIGN_RRSIG_INCEPTION_OFF), reading->now_s);
	uint64_t end_s = sign_rrsig_time(load_be32(rdata + SIGN_RRSIG_EXPIRATION_OFF), reading->now_s);
	uint64_t made_s = begin_s + SIGN_INCEPTION_OFFSET_S;
	found->is_known = true;
	found->signed_s = made_s > found->signed_s ? made_s : found->signed_s;
	found->expires_s = end_s > found->expires_s ? end_s : found->expires_s;
	return true;
}

clock_signed_t clock_read_signed(const zone_contents_t *served, const keys_set_t *set, uint64_t now_s)
{
	clock_reading_t reading = { .set = set, .now_s = now_s };
	bool is_read = served != NULL && served->is_signed && zone_read_apex(served, clock_see, &reading) == KNOT_OK;
	return is_read ? reading.found : (clock_signed_t){ .is_known = false };
}

bool clock_is_behind(const clock_signed_t *signed_at, const keys_set_t *set, bool is_automatic, uint64_t now_s,
		uint64_t *ret_then_s)
{
	uint64_t signed_s = signed_at->is_known ? signed_at->signed_s : 0, created_s = 0;
	for (size_t i = 0; i < set->count && is_automatic; i++) {
		uint64_t key_s = set->keys[i].times.created;
		created_s = key_s > created_s ? key_s : created_s;
	}
	*ret_then_s = created_s > signed_s ? created_s : signed_s;
	return created_s > now_s || signed_s > now_s + BEHIND_S;
}
