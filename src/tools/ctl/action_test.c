/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/ctl/action.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* A command line and its units as "ITEM=value ...|...", or "!" and the message. */
static const struct {
	const char *line, *want;
} rows[] = {
	{ "status", "CMD=status" },
	{ "status workers", "CMD=status TYPE=workers" },
	{ "status a b", "!command takes at most 1 arguments" },
	{ "stop x", "!command doesn't take arguments" },
	{ "-f stats", "CMD=stats FLAGS=F" },
	{ "stats mod-stats.query-type", "CMD=stats SECTION=mod-stats ITEM=query-type" },
	{ "zone-stats -- mod-stats", "CMD=zone-stats SECTION=mod-stats (all)" },
	{ "zone-stats", "!command requires at least 1 arguments" },
	{ "zone-status", "CMD=zone-status" },
	{ "zone-status a b +role +serial +role",
			"CMD=zone-status ZONE=a FILTERS=rs|CMD=zone-status ZONE=b FILTERS=rs" },
	{ "zone-status -- +events", "CMD=zone-status FILTERS=e (all)" },
	{ "zone-status a --", "!'--' can't be combined with other zones" },
	{ "zone-status +role a", "CMD=zone-status ZONE=a FILTERS=r" },
	{ "zone-status +nonsense", "!unknown filter: +nonsense" },
	{ "-b -f zone-reload a", "CMD=zone-reload FLAGS=FB ZONE=a" },
	{ "zone-flush a +outdir /x", "CMD=zone-flush ZONE=a DATA=/x FILTERS=d" },
	{ "zone-flush a +outdir", "CMD=zone-flush ZONE=a FILTERS=d" },
	{ "zone-reload a +outdir", "CMD=zone-reload ZONE=a|CMD=zone-reload ZONE=+outdir" },
	{ "zone-backup", "CMD=zone-backup" },
	{ "zone-backup a +nojournal +backupdir /d +quic", "CMD=zone-backup ZONE=a DATA=/d FILTERS=Jdq" },
	{ "zone-purge a", "!force option required!" },
	{ "zone-purge", "!force option required!" },
	{ "-f zone-purge", "!zone must be specified (or -- for all zones)" },
	{ "-f zone-purge +expire", "!zone must be specified (or -- for all zones)" },
	{ "-f zone-purge a +orphan +journal", "CMD=zone-purge FLAGS=F ZONE=a FILTERS=oj" },
	{ "zone-begin a +benevolent", "CMD=zone-begin ZONE=a FILTERS=b" },
	{ "zone-begin", "!command requires at least 1 arguments" },
	{ "zone-ksk-submitted a +ttl 60", "CMD=zone-ksk-submitted ZONE=a DATA=60 FILTERS=t" },
	{ "zone-read a", "CMD=zone-read ZONE=a" },
	{ "zone-read -- @ SOA", "CMD=zone-read OWNER=@ TYPE=SOA (all)" },
	{ "zone-read a b c d", "!command takes at most 3 arguments" },
	{ "zone-diff a b", "!command requires 1 arguments" },
	{ "zone-diff +file a", "CMD=zone-diff ZONE=a FILTERS=f" },
	{ "zone-diff a +f", "!unknown filter: +f" },
	{ "zone-set a www 300 TXT x y", "CMD=zone-set ZONE=a OWNER=www TTL=300 TYPE=TXT DATA=x y" },
	{ "zone-set a www 1h MX 10 m", "CMD=zone-set ZONE=a OWNER=www TTL=1h TYPE=MX DATA=10 m" },
	{ "zone-set a www 1h in MX 10 m", "CMD=zone-set ZONE=a OWNER=www TTL=1h TYPE=MX DATA=10 m" },
	{ "zone-set a www IN 1h MX 10 m", "CMD=zone-set ZONE=a OWNER=www TTL=1h TYPE=MX DATA=10 m" },
	{ "zone-set a www 1 2 A x", "CMD=zone-set ZONE=a OWNER=www TTL=1 TYPE=2 DATA=A x" },
	{ "zone-unset a www IN A", "CMD=zone-unset ZONE=a OWNER=www TYPE=A" },
	{ "zone-set a www TYPE65280 \\# 0", "CMD=zone-set ZONE=a OWNER=www TYPE=TYPE65280 DATA=\\# 0" },
	{ "zone-set a www", "!command requires at least 3 arguments" },
	{ "zone-set a www 300", "CMD=zone-set ZONE=a OWNER=www TTL=300" },
	{ "zone-set a www 300 300 x", "CMD=zone-set ZONE=a OWNER=www TTL=300 TYPE=300 DATA=x" },
	{ "zone-set a www nonsense", "CMD=zone-set ZONE=a OWNER=www TYPE=nonsense" },
	{ "zone-unset a www", "CMD=zone-unset ZONE=a OWNER=www" },
	{ "zone-unset a www 300 A 192.0.2.1", "CMD=zone-unset ZONE=a OWNER=www TTL=300 TYPE=A DATA=192.0.2.1" },
	{ "zone-unset a www 300", "CMD=zone-unset ZONE=a OWNER=www TTL=300" },
	{ "zone-unset a", "!command requires at least 2 arguments" },
	{ "zone-key-rollover a zsk", "CMD=zone-key-rollover ZONE=a TYPE=zsk" },
	{ "zone-serial-set a", "CMD=zone-serial-set ZONE=a" },
	{ "zone-serial-set a 5", "CMD=zone-serial-set ZONE=a TYPE== DATA=5" },
	{ "zone-serial-set a +5", "CMD=zone-serial-set ZONE=a TYPE=+ DATA=5" },
	{ "zone-serial-set a +MAX", "CMD=zone-serial-set ZONE=a TYPE=+ DATA=2147483647" },
	{ "zone-serial-set a MAX", "!invalid serial 'MAX'" },
	{ "zone-serial-set a 5x", "!invalid serial '5x'" },
	{ "conf-list", "CMD=conf-list FLAGS=s FILTERS=s" },
	{ "conf-read server zone[a.b].file",
			"CMD=conf-read SECTION=server|CMD=conf-read SECTION=zone ITEM=file ID=a.b" },
	{ "conf-read acl[x\\]y]", "CMD=conf-read SECTION=acl ID=x]y" },
	{ "conf-read acl[x", "!(missing bracket after identifier) x" },
	{ "conf-read [", "!(missing bracket after identifier) " },
	{ "conf-read server.", "!(missing item specification)" },
	{ "conf-read .version", "CMD=conf-read SECTION= ITEM=version" },
	{ "conf-read zone[a]x", "!(unexpected token) x" },
	{ "conf-set", "!invalid number of arguments" },
	{ "conf-begin x", "!invalid number of arguments" },
	{ "-f conf-set server.listen a b", "CMD=conf-set FLAGS=F SECTION=server ITEM=listen DATA=a FILTERS=F|"
					   "CMD=conf-set FLAGS=F SECTION=server ITEM=listen DATA=b FILTERS=F" },
	{ "conf-unset", "CMD=conf-unset" },
	{ "conf-unset zone[a]", "CMD=conf-unset SECTION=zone ID=a" },
	{ "conf-import", "!command requires 1 arguments" },
	{ "conf-import a +nopurge", "CMD=conf-import OWNER=a FILTERS=p" },
	{ "conf-export", "CMD=conf-export" },
	{ "conf-export a +schema", "CMD=conf-export OWNER=a FILTERS=s" },
	{ "conf-export a b", "!command takes at most 1 arguments" },
	{ "top", "CMD=top" },
	{ "top +interval 0.5 +count 3", "CMD=top ITEM=0.5 TTL=3 FILTERS=ic" },
	{ "top x", "!command doesn't take arguments" },
	{ "xdp-status", "CMD=xdp-status" },
	{ "xdp-status eth0", "CMD=xdp-status SECTION=eth0" },
	{ "xdp-status a b", "!command takes at most 1 arguments" },
	{ "xdp-capture", "!command requires 1 arguments" },
	{ "xdp-capture - +count 5 +filter udp +snaplen 96 +interface eth0",
			"CMD=xdp-capture SECTION=eth0 ITEM=96 OWNER=- TTL=5 DATA=udp FILTERS=cfsi" },
	{ "xdp-capture a b", "!command requires 1 arguments" },
	{ "xdp-capture a +count", "!missing value of filter: +count" },
	{ "xdp-capture a +nonsense", "!unknown filter: +nonsense" },
	{ "xdp-block", "!command requires at least 1 arguments" },
	{ "xdp-block nonsense", "!unknown word 'nonsense'" },
	{ "xdp-block add", "!missing prefix" },
	{ "xdp-block add 192.0.2.0/24 +rate 5", "CMD=xdp-block ID=192.0.2.0/24 TYPE=add DATA=5 FILTERS=r" },
	{ "xdp-block add ::/0", "CMD=xdp-block ID=::/0 TYPE=add" },
	{ "xdp-block add ::/0 +rate", "!missing value of filter: +rate" },
	{ "xdp-block remove ::/0 +rate 5", "!'remove' takes no rate, time, comment or file" },
	{ "xdp-block remove", "!missing prefix" },
	{ "xdp-block list", "CMD=xdp-block TYPE=list" },
	{ "xdp-block list ::/0", "CMD=xdp-block ID=::/0 TYPE=list" },
	{ "xdp-block add a b", "!command takes at most 2 arguments" },
	{ "xdp-check eth0", "CMD=xdp-check SECTION=eth0" },
};

static const char *const item_names[KNOT_CTL_IDX__COUNT] = {
	"CMD",
	"FLAGS",
	"ERROR",
	"SECTION",
	"ITEM",
	"ID",
	"ZONE",
	"OWNER",
	"TTL",
	"TYPE",
	"DATA",
	"FILTERS",
};

static void print_request(const request_t *request, char *text, size_t max)
{
	size_t len = 0;
	for (size_t i = 0; i < request->count; i++) {
		const char *separator = i > 0 ? "|" : "";
		for (unsigned j = 0; j < KNOT_CTL_IDX__COUNT; j++) {
			if (request->units[i][j] != NULL) {
				len += (size_t)snprintf(text + len, max - len, "%s%s=%s", separator, item_names[j],
						request->units[i][j]);
				separator = " ";
			}
		}
	}
	if (request->all_zones) {
		snprintf(text + len, max - len, " (all)");
	}
}

static void requests(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		char line[256], got[1024] = "!", *args[16], *rest = NULL;
		snprintf(line, sizeof(line), "%s", rows[i].line);
		size_t count = 0;
		request_flags_t flags = { 0 };
		for (char *word = strtok_r(line, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
			if (count == 0 && strcmp(word, "-f") == 0) {
				flags.force = true;
			} else if (count == 0 && strcmp(word, "-b") == 0) {
				flags.blocking = true;
			} else {
				args[count++] = word;
			}
		}
		const action_t *action = action_find(args[0]);
		assert_non_null(action);
		request_t request;
		if (action_request(action, flags, args + 1, count - 1, &request, got + 1)) {
			print_request(&request, got, sizeof(got));
			request_free(&request);
		}
		if (strcmp(got, rows[i].want) != 0) {
			fail_msg("%s:\n%s\n%s", rows[i].line, got, rows[i].want);
		}
	}
}

/* filters have one letter each, and no two of an action share it */
static void filters_are_distinct(void **state)
{
	(void)state;
	for (size_t i = 0; i < action_count; i++) {
		char seen[32] = "";
		for (const filter_t *filter = actions[i].filters; filter != NULL && filter->word != NULL; filter++) {
			assert_int_equal(filter->word[0], '+');
			assert_int_equal(strlen(filter->letters), 1);
			assert_null(strchr(seen, filter->letters[0]));
			strncat(seen, filter->letters, 1);
		}
	}
}

static void check_row(const action_t *action)
{
	bool is_filter_hinted = action->usage != NULL && strstr(action->usage, "<filter>") != NULL;
	bool is_listing = action->local != LOCAL_NONE || action->layout == LAYOUT_STATS ||
			  action->layout == LAYOUT_ZONE_STATUS || action->args == ARGS_ITEMS ||
			  (action->layout == LAYOUT_RECORDS && (action->flags & COMMAND_FREE) != 0);
	assert_non_null(action->help);
	assert_int_equal(action->help[strlen(action->help) - 1], '.');
	assert_non_null(action->doc);
	assert_int_equal((action->args == ARGS_NONE), action->usage == NULL);
	assert_true(!is_filter_hinted || action->filters != NULL);
	assert_int_equal(action->done == NULL, is_listing);
	assert_true(!action->is_absent || (action->local == LOCAL_NONE && (action->flags & COMMAND_OURS) == 0));
	size_t marks = 0;
	for (const char *p = action->doc; *p != '\0'; p++) {
		marks += *p == '`';
	}
	assert_int_equal(marks % 2, 0);
}

/* What help, completion and knotc(8) take from a row is there, and goes together. */
static void rows_are_sound(void **state)
{
	(void)state;
	assert_null(actions[0].name); /* the first group */
	for (size_t i = 0; i < action_count; i++) {
		assert_int_equal(actions[i].name == NULL, actions[i].title != NULL);
		if (actions[i].name != NULL) {
			assert_ptr_equal(action_find(actions[i].name), &actions[i]);
			check_row(&actions[i]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests),
		cmocka_unit_test(filters_are_distinct),
		cmocka_unit_test(rows_are_sound),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
