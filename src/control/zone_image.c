/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Commands for what is stored of zones: zone-image, zone-purge.
 */
#include "src/control/session.h"

#include "src/event/zone_edit.h"
#include "src/sys/log.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- zone-image ---- */

enum { VALUE_MAX = PATH_MAX + IMAGES_REASON_MAX };

typedef struct {
	const session_t *session;
	const images_info_t *info;
} image_facts_t;

static void zone_image_print_state(const image_facts_t *facts, char text[static VALUE_MAX])
{
	static const char *const states[] = {
		[IMAGES_READ] = "current",
		[IMAGES_NONE] = "none",
		[IMAGES_STALE] = "stale",
		[IMAGES_DAMAGED] = "damaged",
	};
	const images_info_t *info = facts->info;
	bool has_reason = info->verdict == IMAGES_STALE || info->verdict == IMAGES_DAMAGED;
	snprintf(text, VALUE_MAX, "%s%s%s%s", states[info->verdict], has_reason ? " (" : "",
			has_reason ? info->reason : "", has_reason ? ")" : "");
}

static void zone_image_print_serial(const image_facts_t *facts, char text[static VALUE_MAX])
{
	snprintf(text, VALUE_MAX, "%" PRIu32, facts->info->serial);
}

static void zone_image_print_size(const image_facts_t *facts, char text[static VALUE_MAX])
{
	snprintf(text, VALUE_MAX, "%" PRIu64, facts->info->size);
}

static void zone_image_print_pieces(const image_facts_t *facts, char text[static VALUE_MAX])
{
	snprintf(text, VALUE_MAX, "%" PRIu32, facts->info->pieces);
}

static void zone_image_print_saved(const image_facts_t *facts, char text[static VALUE_MAX])
{
	session_print_time(facts->session, facts->info->saved_s, text, VALUE_MAX);
}

static void zone_image_print_source(const image_facts_t *facts, char text[static VALUE_MAX])
{
	snprintf(text, VALUE_MAX, "%s", facts->info->path);
}

/* In the order of the reply. */
static const struct {
	const char *name;
	void (*print)(const image_facts_t *facts, char text[static VALUE_MAX]);
} image_fields[] = {
	{ "image", zone_image_print_state },
	{ "serial", zone_image_print_serial },
	{ "size", zone_image_print_size },
	{ "pieces", zone_image_print_pieces },
	{ "saved", zone_image_print_saved },
	{ "source", zone_image_print_source },
};

command_result_t command_zone_image(session_t *session, const session_zone_t *zone)
{
	images_info_t info;
	knot_err_t err = server_zone_image(session->server, zone->name, &info);
	if (err != KNOT_OK) {
		return command_result(err);
	}
	image_facts_t facts = { .session = session, .info = &info };
	bool is_known = info.verdict == IMAGES_READ || info.saved_s != 0;
	for (size_t i = 0; i < KNOT_LEN(image_fields); i++) {
		char text[VALUE_MAX] = "-";
		if (i == 0 || is_known) {
			image_fields[i].print(&facts, text);
		}
		knot_ctl_data_t unit = {
			[KNOT_CTL_IDX_ZONE] = zone->text,
			[KNOT_CTL_IDX_TYPE] = image_fields[i].name,
			[KNOT_CTL_IDX_DATA] = text,
		};
		session_send(session, i == 0 ? KNOT_CTL_TYPE_DATA : KNOT_CTL_TYPE_EXTRA, &unit);
	}
	return command_result(KNOT_OK);
}

/* ---- zone-purge ---- */

static bool zone_image_purges_all(const session_t *session)
{
	const char *filters = session->args[KNOT_CTL_IDX_FILTERS];
	return filters == NULL || *filters == '\0';
}

/* All that Knot DNS stores of a zone was asked for; expiring it doesn't count. */
static bool zone_image_purges_data(const session_t *session)
{
	bool is_all = true;
	for (const char *filter = "fjtkc"; *filter != '\0'; filter++) {
		is_all = is_all && session_filter(session, *filter);
	}
	return is_all || zone_image_purges_all(session);
}

/* What the filters mean. Catalogs have nothing that could be removed; keys have to be named. An image is kept contents,
 * as a journal is, and goes with it: changes after it can't be followed any more. */
static unsigned zone_image_scan_purge_mask(const session_t *session)
{
	static const struct {
		char filter;
		unsigned what;
	} filters[] = {
		{ 'e', SERVER_PURGE_CONTENTS },
		{ 'f', SERVER_PURGE_FILE },
		{ 'j', SERVER_PURGE_JOURNAL | SERVER_PURGE_IMAGE },
		{ 'i', SERVER_PURGE_IMAGE },
		{ 't', SERVER_PURGE_TIMERS },
		{ 'k', SERVER_PURGE_KASP },
		{ 'y', SERVER_PURGE_KEYS },
	};
	if (zone_image_purges_all(session)) {
		return SERVER_PURGE_CONTENTS | SERVER_PURGE_FILE | SERVER_PURGE_JOURNAL | SERVER_PURGE_IMAGE |
		       SERVER_PURGE_TIMERS | SERVER_PURGE_KASP;
	}
	unsigned mask = 0;
	for (size_t i = 0; i < KNOT_LEN(filters); i++) {
		mask |= session_filter(session, filters[i].filter) ? filters[i].what : 0;
	}
	return mask;
}

/* The unit names a zone; else it is for all, and their images go together. */
static bool zone_image_has_zone(const session_t *session)
{
	return session->args[KNOT_CTL_IDX_ZONE] != NULL;
}

static command_result_t zone_image_purge_zone(session_t *session, const session_zone_t *zone)
{
	unsigned mask = zone_image_scan_purge_mask(session) &
			~(zone_image_has_zone(session) ? 0u : (unsigned)SERVER_PURGE_IMAGE);
	/* A client that waits must not lose the zone's transaction by it, as in Knot DNS 3.5. */
	if ((mask & SERVER_PURGE_CONTENTS) != 0 && session_flag(session, 'B') &&
			server_edit_is_open(session->server, zone->name)) {
		return command_result(KNOT_ETXNMANY);
	}
	knot_err_t err = mask != 0 ? server_zone_purge(session->server, zone->name, mask) : KNOT_OK;
	if (err == KNOT_OK) {
		log_zone(LOG_NOTICE, zone->name,
				zone_image_purges_data(session) ? "zone purged" : "requested zone data purged");
	}
	return command_result(err);
}

/* Zones that are not configured have images, journals and timers only. */
static knot_err_t zone_image_purge_orphans(session_t *session)
{
	do {
		uint8_t wire[KNOT_NAME_MAX];
		char text[KNOT_NAME_TEXT_MAX];
		session_zone_t zone = { .name = { 0 } };
		knot_err_t err = KNOT_OK;
		if (session->args[KNOT_CTL_IDX_ZONE] != NULL) {
			err = session_scan_zone(session, wire, text, &zone);
		}
		err = err == KNOT_OK ? server_purge_orphans(session->server, zone.name) : err;
		if (err != KNOT_OK) {
			session_send_error(session, knot_strerror(err));
		}
	} while (session_next(session) && session->args[KNOT_CTL_IDX_ZONE] != NULL);
	return KNOT_OK;
}

command_result_t command_zone_purge(session_t *session)
{
	session_assert_alone(session);
	if (session_filter(session, 'o')) {
		return command_result(zone_image_purge_orphans(session));
	}
	bool of_all = !zone_image_has_zone(session) && (zone_image_scan_purge_mask(session) & SERVER_PURGE_IMAGE) != 0;
	knot_err_t err = session_each_zone(session, zone_image_purge_zone, false);
	/* Last: a zone without contents isn't saved again. */
	knot_err_t images_err = of_all ? server_purge_images(session->server) : KNOT_OK;
	return command_result(err == KNOT_OK ? images_err : err);
}
