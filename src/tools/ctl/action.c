/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/ctl/action.h"

#include "src/tools/ctl/must.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const filter_t status_filters[] = {
	{ .word = "+role", .letters = "r" },
	{ .word = "+serial", .letters = "s" },
	{ .word = "+transaction", .letters = "t" },
	{ .word = "+freeze", .letters = "f" },
	{ .word = "+catalog", .letters = "c" },
	{ .word = "+events", .letters = "e" },
	{ .word = "+contents", .letters = "o" },
	{ 0 },
};

static const filter_t flush_filters[] = {
	{ .word = "+outdir", .letters = "d", .has_value = true, .kind = VALUE_DIRECTORY },
	{ 0 },
};

static const filter_t backup_filters[] = {
	{ .word = "+backupdir", .letters = "d", .has_value = true, .kind = VALUE_DIRECTORY },
	{ .word = "+zonefile", .letters = "z" },
	{ .word = "+nozonefile", .letters = "Z" },
	{ .word = "+journal", .letters = "j" },
	{ .word = "+nojournal", .letters = "J" },
	{ .word = "+timers", .letters = "t" },
	{ .word = "+notimers", .letters = "T" },
	{ .word = "+kaspdb", .letters = "k" },
	{ .word = "+nokaspdb", .letters = "K" },
	{ .word = "+keysonly", .letters = "o" },
	{ .word = "+nokeysonly", .letters = "O" },
	{ .word = "+catalog", .letters = "c" },
	{ .word = "+nocatalog", .letters = "C" },
	{ .word = "+quic", .letters = "q" },
	{ .word = "+noquic", .letters = "Q" },
	{ 0 },
};

static const filter_t purge_filters[] = {
	{ .word = "+expire", .letters = "e" },
	{ .word = "+zonefile", .letters = "f" },
	{ .word = "+journal", .letters = "j" },
	{ .word = "+timers", .letters = "t" },
	{ .word = "+keys", .letters = "y" },
	{ .word = "+kaspdb", .letters = "k" },
	{ .word = "+catalog", .letters = "c" },
	{ .word = "+image", .letters = "i" },
	{ .word = "+orphan", .letters = "o" },
	{ 0 },
};

static const filter_t begin_filters[] = { { .word = "+benevolent", .letters = "b" }, { 0 } };
static const filter_t submitted_filters[] = { { .word = "+ttl", .letters = "t", .has_value = true }, { 0 } };
static const filter_t import_filters[] = { { .word = "+nopurge", .letters = "p" }, { 0 } };
static const filter_t export_filters[] = { { .word = "+schema", .letters = "s" }, { 0 } };
static const filter_t capture_filters[] = {
	{ .word = "+filter", .letters = "f", .has_value = true },
	{ .word = "+count", .letters = "c", .has_value = true, .value = KNOT_CTL_IDX_TTL },
	{ .word = "+snaplen", .letters = "s", .has_value = true, .value = KNOT_CTL_IDX_ITEM },
	{ .word = "+interface",
			.letters = "i",
			.has_value = true,
			.value = KNOT_CTL_IDX_SECTION,
			.kind = VALUE_INTERFACE },
	{ 0 },
};
static const filter_t top_filters[] = {
	{ .word = "+count", .letters = "c", .has_value = true, .value = KNOT_CTL_IDX_TTL },
	{ .word = "+interval", .letters = "i", .has_value = true, .value = KNOT_CTL_IDX_ITEM },
	{ 0 },
};
static const filter_t block_filters[] = { { .word = "+rate", .letters = "r", .has_value = true }, { 0 } };

/* clang-format off */
const action_t actions[] = {
	{ "exit", ARGS_NONE, LAYOUT_TRIGGER, LOCAL_EXIT, NULL, NULL, false, "", "Exit interactive mode.", false },
	{ "help", ARGS_NONE, LAYOUT_TRIGGER, LOCAL_HELP, NULL, NULL, false, "", "List the actions.", true },
	{ .name = NULL },
	{ "status", ARGS_DETAIL, LAYOUT_STATUS, LOCAL_NONE, NULL, "Running", false, "[<detail>]", "Check if the server is running.", false },
	{ "stop", ARGS_NONE, LAYOUT_TRIGGER, LOCAL_NONE, NULL, "Stopped", false, "", "Stop the server if running.", false },
	{ "reload", ARGS_NONE, LAYOUT_TRIGGER, LOCAL_NONE, NULL, "Reloaded", false, "", "Reload the server configuration and modified zones. (#)", false },
	{ "stats", ARGS_COUNTER, LAYOUT_STATS, LOCAL_NONE, NULL, NULL, false, "[<module>[.<counter>]]", "Show global statistics counter(s).", false },
	{ "top", ARGS_FILTERS, LAYOUT_STATS, LOCAL_TOP, top_filters, NULL, false, "[+count <n>] [+interval <seconds>]", "Watch queries, latency and drops live.", true },
	{ .name = NULL },
	{ "zone-check", ARGS_ZONES, LAYOUT_TRIGGER, LOCAL_ZONE_CHECK, NULL, NULL, false, "[<zone>...]", "Check if the zone can be loaded. (*)", false },
	{ "zone-status", ARGS_ZONES, LAYOUT_ZONE_STATUS, LOCAL_NONE, status_filters, NULL, false, "[<zone>...] [<filter>...]", "Show the zone status.", false },
	{ "zone-reload", ARGS_ZONES, LAYOUT_TRIGGER, LOCAL_NONE, NULL, "OK", false, "[<zone>...]", "Reload a zone from a disk. (#)", false },
	{ "zone-refresh", ARGS_ZONES, LAYOUT_TRIGGER, LOCAL_NONE, NULL, "OK", false, "[<zone>...]", "Force secondary zone refresh. (#)", false },
	{ "zone-notify", ARGS_ZONES, LAYOUT_TRIGGER, LOCAL_NONE, NULL, "OK", false, "[<zone>...]", "Send a NOTIFY message to all configured remotes. (#)", false },
	{ "zone-retransfer", ARGS_ZONES, LAYOUT_TRIGGER, LOCAL_NONE, NULL, "OK", false, "[<zone>...]", "Force secondary zone retransfer (no serial check). (#)", false },
	{ "zone-flush", ARGS_ZONES, LAYOUT_TRIGGER, LOCAL_NONE, flush_filters, "OK", false, "[<zone>...] [<filter>...]", "Flush zone journal into the zone file. (#)", false },
	{ "zone-backup", ARGS_ZONES, LAYOUT_TRIGGER, LOCAL_NONE, backup_filters, "OK", false, "[<zone>...] +backupdir <dir> [<filter>...]", "Backup zone data and metadata. (#)", false },
	{ "zone-restore", ARGS_ZONES, LAYOUT_TRIGGER, LOCAL_NONE, backup_filters, "OK", false, "[<zone>...] +backupdir <dir> [<filter>...]", "Restore zone data and metadata. (#)", false },
	{ "zone-sign", ARGS_ZONES, LAYOUT_TRIGGER, LOCAL_NONE, NULL, "OK", false, "[<zone>...]", "Re-sign the automatically signed zone. (#)", false },
	{ "zone-validate", ARGS_ZONES, LAYOUT_TRIGGER, LOCAL_NONE, NULL, "OK", false, "[<zone>...]", "Trigger DNSSEC validation of the zone. (#)", false },
	{ "zone-keys-load", ARGS_ZONES, LAYOUT_TRIGGER, LOCAL_NONE, NULL, "OK", false, "[<zone>...]", "Re-load keys from KASP database, sign the zone. (#)", false },
	{ "zone-key-rollover", ARGS_ROLLOVER, LAYOUT_TRIGGER, LOCAL_NONE, NULL, "OK", false, "<zone> ksk|zsk", "Trigger immediate key rollover. (#)", false },
	{ "zone-ksk-submitted", ARGS_ZONES_NEEDED, LAYOUT_TRIGGER, LOCAL_NONE, submitted_filters, "OK", false, "<zone>... [<filter>...]", "When KSK submission, confirm parent's DS presence.", false },
	{ "zone-freeze", ARGS_ZONES, LAYOUT_TRIGGER, LOCAL_NONE, NULL, "OK", false, "[<zone>...]", "Temporarily postpone automatic zone-changing events. (#)", false },
	{ "zone-thaw", ARGS_ZONES, LAYOUT_TRIGGER, LOCAL_NONE, NULL, "OK", false, "[<zone>...]", "Dismiss zone freeze. (#)", false },
	{ "zone-xfr-freeze", ARGS_ZONES, LAYOUT_TRIGGER, LOCAL_NONE, NULL, "OK", false, "[<zone>...]", "Temporarily disable outgoing AXFR/IXFR.", false },
	{ "zone-xfr-thaw", ARGS_ZONES, LAYOUT_TRIGGER, LOCAL_NONE, NULL, "OK", false, "[<zone>...]", "Dismiss outgoing XFR freeze.", false },
	{ .name = NULL },
	{ "zone-read", ARGS_NODE, LAYOUT_RECORDS, LOCAL_NONE, NULL, NULL, false, "<zone> [<owner> [<type>]]", "Get zone data that are currently being presented.", false },
	{ "zone-begin", ARGS_ZONES_NEEDED, LAYOUT_TRIGGER, LOCAL_NONE, begin_filters, "OK", false, "<zone>... [<filter>...]", "Begin a zone transaction.", false },
	{ "zone-commit", ARGS_ZONES_NEEDED, LAYOUT_TRIGGER, LOCAL_NONE, NULL, "OK", false, "<zone>...", "Commit the zone transaction.", false },
	{ "zone-abort", ARGS_ZONES_NEEDED, LAYOUT_TRIGGER, LOCAL_NONE, NULL, "OK", false, "<zone>...", "Abort the zone transaction.", false },
	{ "zone-diff", ARGS_ZONE, LAYOUT_RECORDS, LOCAL_NONE, NULL, NULL, false, "<zone>", "Get zone changes within the transaction.", false },
	{ "zone-get", ARGS_NODE, LAYOUT_RECORDS, LOCAL_NONE, NULL, NULL, false, "<zone> [<owner> [<type>]]", "Get zone data within the transaction.", false },
	{ "zone-set", ARGS_ADD, LAYOUT_RECORDS, LOCAL_NONE, NULL, "OK", false, "<zone> <owner> [<ttl>] <type> <rdata>", "Add zone record within the transaction.", false },
	{ "zone-unset", ARGS_REMOVE, LAYOUT_RECORDS, LOCAL_NONE, NULL, "OK", false, "<zone> <owner> [<type> [<rdata>]]", "Remove zone data within the transaction.", false },
	{ "zone-purge", ARGS_ZONES_NEEDED, LAYOUT_TRIGGER, LOCAL_NONE, purge_filters, "OK", true, "<zone>... [<filter>...]", "Purge zone data, zone file, journal, timers, and KASP data. (#)", false },
	{ "zone-stats", ARGS_ZONE_COUNTER, LAYOUT_STATS, LOCAL_NONE, NULL, NULL, false, "<zone> [<module>[.<counter>]]", "Show zone statistics counter(s).", false },
	{ "zone-serial-set", ARGS_SERIAL, LAYOUT_RECORDS, LOCAL_NONE, NULL, "OK", false, "<zone> [[+]<serial>]", "Set or increase the zone serial.", false },
	{ .name = NULL },
	{ "zone-image", ARGS_ZONES, LAYOUT_ZONE_STATUS, LOCAL_NONE, NULL, NULL, false, "[<zone>...]", "Show the image that a zone would be started from.", true },
	{ "xdp-status", ARGS_INTERFACE, LAYOUT_XDP_STATUS, LOCAL_NONE, NULL, "No XDP interface", false, "[<interface>]", "Show where the packets of XDP interfaces ended, per queue.", true },
	{ "xdp-capture", ARGS_FILE_NEEDED, LAYOUT_STATS, LOCAL_XDP_CAPTURE, capture_filters, NULL, false, "<filename>|- [+filter <expression>] [+count <n>] [+snaplen <n>] [+interface <name>]", "Write the traffic of XDP interfaces as pcapng.", true },
	{ "xdp-block", ARGS_BLOCK, LAYOUT_XDP_BLOCK, LOCAL_NONE, block_filters, "OK", false, "add|remove|list [<prefix>] [+rate <n>]", "Drop or limit queries in the XDP program by source prefix.", true },
	{ "xdp-check", ARGS_INTERFACE, LAYOUT_TRIGGER, LOCAL_XDP_CHECK, NULL, NULL, false, "[<interface>]", "Check if XDP can work, and how well; needs no server.", true },
	{ .name = NULL },
	{ "conf-init", ARGS_NONE, LAYOUT_CONF, LOCAL_CONF_INIT, NULL, NULL, false, "", "Initialize the confdb. (*)", false },
	{ "conf-check", ARGS_NONE, LAYOUT_CONF, LOCAL_CONF_CHECK, NULL, NULL, false, "", "Check the server configuration. (*)", false },
	{ "conf-import", ARGS_FILE_NEEDED, LAYOUT_CONF, LOCAL_CONF_IMPORT, import_filters, NULL, false, "<filename> [+nopurge]", "Import a config file into the confdb. (*)", false },
	{ "conf-export", ARGS_FILE, LAYOUT_CONF, LOCAL_CONF_EXPORT, export_filters, NULL, false, "[<filename>] [+schema]", "Export the confdb into a config file or stdout. (*)", false },
	{ "conf-list", ARGS_ITEMS, LAYOUT_CONF, LOCAL_NONE, NULL, NULL, false, "[<item>...]", "List the confdb sections or section items.", false },
	{ "conf-read", ARGS_ITEMS, LAYOUT_CONF, LOCAL_NONE, NULL, NULL, false, "[<item>...]", "Get the item from the active confdb.", false },
	{ "conf-begin", ARGS_NONE, LAYOUT_CONF, LOCAL_NONE, NULL, "OK", false, "", "Begin a writing confdb transaction.", false },
	{ "conf-commit", ARGS_NONE, LAYOUT_CONF, LOCAL_NONE, NULL, "OK", false, "", "Commit the confdb transaction.", false },
	{ "conf-abort", ARGS_NONE, LAYOUT_CONF, LOCAL_NONE, NULL, "OK", false, "", "Rollback the confdb transaction.", false },
	{ "conf-diff", ARGS_ITEMS, LAYOUT_CONF, LOCAL_NONE, NULL, NULL, false, "[<item>...]", "Get the item difference within the transaction.", false },
	{ "conf-get", ARGS_ITEMS, LAYOUT_CONF, LOCAL_NONE, NULL, NULL, false, "[<item>...]", "Get the item data within the transaction.", false },
	{ "conf-set", ARGS_SET, LAYOUT_CONF, LOCAL_NONE, NULL, "OK", false, "<item> [<data>...]", "Set the item data within the transaction.", false },
	{ "conf-unset", ARGS_UNSET, LAYOUT_CONF, LOCAL_NONE, NULL, "OK", false, "[<item>] [<data>...]", "Unset the item data within the transaction.", false },
};
/* clang-format on */
const size_t action_count = KNOT_LEN(actions);

const action_t *action_find(const char *name)
{
	for (size_t i = 0; i < action_count; i++) {
		if (actions[i].name != NULL && strcmp(actions[i].name, name) == 0) {
			return &actions[i];
		}
	}
	return NULL;
}

/* ---- Building requests; memory failures end the tool ---- */

/* A copy that lives as long as the request. */
static const char *keep(request_t *request, const char *text, size_t len)
{
	request->strings = must(realloc(request->strings, (request->string_count + 1) * sizeof(char *)));
	char *copy = must(strndup(text, len));
	request->strings[request->string_count++] = copy;
	return copy;
}

static const char *keep_all(request_t *request, const char *text)
{
	return keep(request, text, strlen(text));
}

static knot_ctl_data_t *add_unit(request_t *request, const knot_ctl_data_t *like)
{
	request->units = must(realloc(request->units, (request->count + 1) * sizeof(*request->units)));
	knot_ctl_data_t *unit = &request->units[request->count++];
	memcpy(unit, like, sizeof(*unit));
	return unit;
}

void request_free(request_t *request)
{
	for (size_t i = 0; i < request->string_count; i++) {
		free(request->strings[i]);
	}
	free(request->strings);
	free(request->rest);
	free(request->units);
	*request = (request_t){ 0 };
}

/* What the functions below work on: words not used yet, the unit that every unit starts from. */
typedef struct {
	const action_t *action;
	request_t *request;
	const char *const *args;
	size_t count;
	knot_ctl_data_t base;
	char *error;
} builder_t;

__attribute__((format(printf, 2, 3))) static bool bad(builder_t *b, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(b->error, ACTION_ERROR_MAX, format, args);
	va_end(args);
	return false;
}

static bool check_count(builder_t *b, size_t min, size_t max)
{
	if (b->count >= min && b->count <= max) {
		return true;
	}
	if (b->action->layout == LAYOUT_CONF && b->action->local == LOCAL_NONE) {
		return bad(b, "invalid number of arguments");
	}
	if (max == 0) {
		return bad(b, "command doesn't take arguments");
	}
	if (min == max) {
		return bad(b, "command requires %zu arguments", min);
	}
	return b->count < min ? bad(b, "command requires at least %zu arguments", min)
			      : bad(b, "command takes at most %zu arguments", max);
}

/*
 * Take the filter words, which begin with '+' and stand anywhere, out of the arguments. Where there are no filters,
 * such a word is one like any other. Which filters are needed, and which value of one is, the server says.
 */
static bool take_filters(builder_t *b)
{
	const filter_t *filters = b->action->filters;
	if (filters == NULL) {
		return true;
	}
	const char **rest = must(calloc(b->count + 1, sizeof(*rest)));
	free(b->request->rest);
	b->request->rest = rest;
	size_t rest_count = 0;
	char letters[32] = "";
	for (size_t i = 0; i < b->count; i++) {
		if (b->args[i][0] != '+') {
			rest[rest_count++] = b->args[i];
			continue;
		}
		const filter_t *filter = filters;
		while (filter->word != NULL && strcmp(filter->word, b->args[i]) != 0) {
			filter++;
		}
		if (filter->word == NULL) {
			return bad(b, "unknown filter: %s", b->args[i]);
		}
		if (strchr(letters, filter->letters[0]) == NULL && strlen(letters) + 1 < sizeof(letters)) {
			strncat(letters, filter->letters, 1);
		}
		if (filter->has_value && i + 1 == b->count && b->action->is_ours) {
			return bad(b, "missing value of filter: %s", b->args[i]);
		}
		if (filter->has_value && i + 1 < b->count) {
			knot_ctl_idx_t value = filter->value != 0 ? filter->value : KNOT_CTL_IDX_DATA;
			b->base[value] = keep_all(b->request, b->args[++i]);
		}
	}
	b->args = rest;
	b->count = rest_count;
	if (letters[0] != '\0') {
		b->base[KNOT_CTL_IDX_FILTERS] = keep_all(b->request, letters);
	}
	return true;
}

/* "--" stands for all zones: then there is no ZONE item. */
static void put_zone(builder_t *b, knot_ctl_data_t *unit, const char *zone)
{
	if (strcmp(zone, "--") == 0) {
		b->request->all_zones = true;
	} else {
		(*unit)[KNOT_CTL_IDX_ZONE] = keep_all(b->request, zone);
	}
}

static bool build_zones(builder_t *b, size_t min)
{
	if (!take_filters(b)) {
		return false;
	}
	if (b->count < min && b->action->force_needed) {
		return bad(b, "zone must be specified (or -- for all zones)");
	}
	if (!check_count(b, min, SIZE_MAX)) {
		return false;
	}
	if (b->count == 0 || (b->count == 1 && strcmp(b->args[0], "--") == 0)) {
		b->request->all_zones = b->count == 1;
		add_unit(b->request, &b->base);
		return true;
	}
	for (size_t i = 0; i < b->count; i++) {
		if (strcmp(b->args[i], "--") == 0) {
			return bad(b, "'--' can't be combined with other zones");
		}
		put_zone(b, add_unit(b->request, &b->base), b->args[i]);
	}
	return true;
}

static void put_counter(builder_t *b, knot_ctl_data_t *unit, const char *text)
{
	const char *dot = strchr(text, '.');
	(*unit)[KNOT_CTL_IDX_SECTION] = keep(b->request, text, dot != NULL ? (size_t)(dot - text) : strlen(text));
	if (dot != NULL) {
		(*unit)[KNOT_CTL_IDX_ITEM] = keep_all(b->request, dot + 1);
	}
}

/* The words from `first` on, joined with blanks. */
static const char *join(builder_t *b, size_t first)
{
	size_t len = 1;
	for (size_t i = first; i < b->count; i++) {
		len += strlen(b->args[i]) + 1;
	}
	char *text = must(calloc(1, len));
	size_t pos = 0;
	for (size_t i = first; i < b->count; i++) {
		pos += (size_t)snprintf(text + pos, len - pos, "%s%s", i > first ? " " : "", b->args[i]);
	}
	const char *kept = keep(b->request, text, pos);
	free(text);
	return kept;
}

/* Digits only: a TTL. Types are mnemonics or "TYPE123". */
static bool is_ttl(const char *text)
{
	return text[0] != '\0' && strspn(text, "0123456789") == strlen(text);
}

/*
 * zone owner [ttl] [type [rdata...]]. Whether the type is one, and whether what is missing is needed, the server says:
 * it knows more types than this program when it is newer.
 */
static bool build_record(builder_t *b, size_t min)
{
	if (!check_count(b, min, SIZE_MAX)) {
		return false;
	}
	knot_ctl_data_t *unit = add_unit(b->request, &b->base);
	put_zone(b, unit, b->args[0]);
	(*unit)[KNOT_CTL_IDX_OWNER] = keep_all(b->request, b->args[1]);
	size_t next = 2;
	if (next < b->count && is_ttl(b->args[next])) {
		(*unit)[KNOT_CTL_IDX_TTL] = keep_all(b->request, b->args[next++]);
	}
	if (next < b->count) {
		(*unit)[KNOT_CTL_IDX_TYPE] = keep_all(b->request, b->args[next++]);
	}
	if (next < b->count) {
		(*unit)[KNOT_CTL_IDX_DATA] = join(b, next);
	}
	return true;
}

static bool build_node(builder_t *b)
{
	if (!check_count(b, 1, 3)) {
		return false;
	}
	knot_ctl_data_t *unit = add_unit(b->request, &b->base);
	put_zone(b, unit, b->args[0]);
	if (b->count > 1) {
		(*unit)[KNOT_CTL_IDX_OWNER] = keep_all(b->request, b->args[1]);
	}
	if (b->count > 2) {
		(*unit)[KNOT_CTL_IDX_TYPE] = keep_all(b->request, b->args[2]);
	}
	return true;
}

static bool build_serial(builder_t *b)
{
	if (!check_count(b, 1, 2)) {
		return false;
	}
	knot_ctl_data_t *unit = add_unit(b->request, &b->base);
	put_zone(b, unit, b->args[0]);
	if (b->count == 1) {
		return true;
	}
	const char *serial = b->args[1];
	bool is_relative = serial[0] == '+';
	serial += is_relative;
	bool is_max = is_relative && strcasecmp(serial, "MAX") == 0;
	if (!is_max && (serial[0] == '\0' || strspn(serial, "0123456789") != strlen(serial))) {
		return bad(b, "invalid serial '%s'", b->args[1]);
	}
	(*unit)[KNOT_CTL_IDX_TYPE] = is_relative ? "+" : "=";
	/* The largest step that serial arithmetic allows, RFC 1982 3.1. */
	(*unit)[KNOT_CTL_IDX_DATA] = is_max ? "2147483647" : keep_all(b->request, serial);
	return true;
}

/* section[id].item, each part but the first optional; "\]" within the id is a bracket. */
static bool put_item(builder_t *b, knot_ctl_data_t *unit, const char *text)
{
	size_t len = strcspn(text, "[.");
	(*unit)[KNOT_CTL_IDX_SECTION] = keep(b->request, text, len);
	const char *rest = text + len;
	if (*rest == '[') {
		char *id = must(strdup(rest + 1));
		size_t out = 0, in = 0;
		while (id[in] != '\0' && id[in] != ']') {
			in += id[in] == '\\' && id[in + 1] == ']';
			id[out++] = id[in++];
		}
		bool is_closed = id[in] == ']';
		if (is_closed) {
			(*unit)[KNOT_CTL_IDX_ID] = keep(b->request, id, out);
			rest += 1 + in + 1;
		}
		free(id);
		if (!is_closed) {
			return bad(b, "(missing bracket after identifier) %s", text + len + 1);
		}
	}
	if (*rest == '.') {
		if (rest[1] == '\0') {
			return bad(b, "(missing item specification)");
		}
		(*unit)[KNOT_CTL_IDX_ITEM] = keep_all(b->request, rest + 1);
		return true;
	}
	return *rest == '\0' ? true : bad(b, "(unexpected token) %s", rest);
}

static bool build_items(builder_t *b)
{
	for (size_t i = 0; i < b->count; i++) {
		if (!put_item(b, add_unit(b->request, &b->base), b->args[i])) {
			return false;
		}
	}
	if (b->count == 0) {
		add_unit(b->request, &b->base);
	}
	return true;
}

/* One unit per value. */
static bool build_set(builder_t *b, size_t min)
{
	if (!check_count(b, min, SIZE_MAX)) {
		return false;
	}
	for (size_t i = 1; i < b->count || i == 1; i++) {
		knot_ctl_data_t *unit = add_unit(b->request, &b->base);
		if (b->count > 0 && !put_item(b, unit, b->args[0])) {
			return false;
		}
		if (i < b->count) {
			(*unit)[KNOT_CTL_IDX_DATA] = keep_all(b->request, b->args[i]);
		}
	}
	return true;
}

static bool build_interface(builder_t *b)
{
	knot_ctl_data_t *unit = add_unit(b->request, &b->base);
	if (b->count > 0) {
		(*unit)[KNOT_CTL_IDX_SECTION] = keep_all(b->request, b->args[0]);
	}
	return check_count(b, 0, 1);
}

/* The file is the OWNER of the one unit: it never leaves the tool. */
static bool build_file(builder_t *b, size_t min)
{
	if (!take_filters(b)) {
		return false;
	}
	knot_ctl_data_t *unit = add_unit(b->request, &b->base);
	if (b->count > 0) {
		(*unit)[KNOT_CTL_IDX_OWNER] = keep_all(b->request, b->args[0]);
	}
	return check_count(b, min, 1);
}

static bool build_block(builder_t *b)
{
	static const struct {
		const char *verb;
		size_t prefixes_min;
		bool has_rate;
	} verbs[] = { { "add", 1, true }, { "remove", 1, false }, { "list", 0, false } };
	if (!take_filters(b) || !check_count(b, 1, 2)) {
		return false;
	}
	for (size_t i = 0; i < KNOT_LEN(verbs); i++) {
		if (strcmp(verbs[i].verb, b->args[0]) != 0) {
			continue;
		}
		if (b->base[KNOT_CTL_IDX_FILTERS] != NULL && !verbs[i].has_rate) {
			return bad(b, "'%s' takes no rate", verbs[i].verb);
		}
		knot_ctl_data_t *unit = add_unit(b->request, &b->base);
		(*unit)[KNOT_CTL_IDX_TYPE] = keep_all(b->request, b->args[0]);
		if (b->count > 1) {
			(*unit)[KNOT_CTL_IDX_ID] = keep_all(b->request, b->args[1]);
		}
		return b->count > verbs[i].prefixes_min ? true : bad(b, "missing prefix");
	}
	return bad(b, "unknown word '%s'", b->args[0]);
}

static bool build(builder_t *b)
{
	knot_ctl_data_t *unit;
	switch (b->action->args) {
	case ARGS_NONE: add_unit(b->request, &b->base); return check_count(b, 0, 0);
	case ARGS_DETAIL:
		unit = add_unit(b->request, &b->base);
		if (b->count > 0) {
			(*unit)[KNOT_CTL_IDX_TYPE] = keep_all(b->request, b->args[0]);
		}
		return check_count(b, 0, 1);
	case ARGS_COUNTER:
		unit = add_unit(b->request, &b->base);
		if (b->count > 0) {
			put_counter(b, unit, b->args[0]);
		}
		return check_count(b, 0, 1);
	case ARGS_ZONE_COUNTER:
		if (!check_count(b, 1, 2)) {
			return false;
		}
		unit = add_unit(b->request, &b->base);
		put_zone(b, unit, b->args[0]);
		if (b->count > 1) {
			put_counter(b, unit, b->args[1]);
		}
		return true;
	case ARGS_ZONES: return build_zones(b, 0);
	case ARGS_ZONES_NEEDED: return build_zones(b, 1);
	case ARGS_NODE: return build_node(b);
	case ARGS_ZONE:
		if (!check_count(b, 1, 1)) {
			return false;
		}
		put_zone(b, add_unit(b->request, &b->base), b->args[0]);
		return true;
	case ARGS_ADD: return build_record(b, 3);
	case ARGS_REMOVE: return build_record(b, 2);
	case ARGS_ROLLOVER:
		if (!check_count(b, 2, 2)) {
			return false;
		}
		unit = add_unit(b->request, &b->base);
		put_zone(b, unit, b->args[0]);
		(*unit)[KNOT_CTL_IDX_TYPE] = keep_all(b->request, b->args[1]);
		return true;
	case ARGS_SERIAL: return build_serial(b);
	case ARGS_ITEMS: return build_items(b);
	case ARGS_SET: return build_set(b, 1);
	case ARGS_UNSET: return build_set(b, 0);
	case ARGS_FILE: return build_file(b, 0);
	case ARGS_FILE_NEEDED: return build_file(b, 1);
	case ARGS_INTERFACE: return build_interface(b);
	case ARGS_BLOCK: return build_block(b);
	case ARGS_FILTERS:
		if (!take_filters(b)) {
			return false;
		}
		add_unit(b->request, &b->base);
		return check_count(b, 0, 0);
	}
	return false;
}

bool action_request(const action_t *action, request_flags_t flags, char *const args[], size_t count,
		request_t *ret_request, char ret_error[static ACTION_ERROR_MAX])
{
	request_t request = { 0 };
	builder_t b = { .action = action,
		.request = &request,
		.args = (const char *const *)args,
		.count = count,
		.error = ret_error };
	const char *letters = flags.force && flags.blocking ? "FB" : flags.force ? "F" : flags.blocking ? "B" : NULL;
	b.base[KNOT_CTL_IDX_CMD] = action->name;
	b.base[KNOT_CTL_IDX_FLAGS] = letters;
	if (action->layout == LAYOUT_CONF) {
		/*
		 * Configuration commands have their letters among the filters (Knot 3.5) or the flags (Knot 3.2);
		 * listing means the schema.
		 */
		const char *schema = strcmp(action->name, "conf-list") == 0 ? "s" : "";
		char all[8];
		snprintf(all, sizeof(all), "%s%s", letters != NULL ? letters : "", schema);
		if (all[0] != '\0') {
			b.base[KNOT_CTL_IDX_FLAGS] = b.base[KNOT_CTL_IDX_FILTERS] = keep_all(&request, all);
		}
	}
	bool is_good = action->force_needed && !flags.force ? bad(&b, "force option required!") : build(&b);
	if (!is_good) {
		request_free(&request);
		return false;
	}
	*ret_request = request;
	return true;
}
