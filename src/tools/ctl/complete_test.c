/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/ctl/complete.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

/* What a server answers: the request as "CMD SECTION ID ITEM FILTERS", and its units as "SECTION ID ITEM DATA"; "-":
 * not there. */
static const struct {
	const char *request, *units[5];
} replies[] = {
	{ "conf-list zone - - z", { "zone example. - -", "zone example2. - -" } },
	{ "conf-list - - - s", { "server - - -", "remote - - -", "remotes - - -", "zone - - -", "acl - - -" } },
	{ "conf-list server - - s", { "server - listen -", "server - identity -", "server - async-start -" } },
	{ "conf-list server - - st", { "server - listen -", "server - identity -", "server - async-start -" } },
	{ "conf-list zone - - st",
			{ "zone - file -", "zone - acl -", "zone - semantic-checks -", "zone - storage -" } },
	{ "conf-list zone - - s", { "zone - file -", "zone - acl -", "zone - semantic-checks -" } },
	{ "conf-list zone - - -", { "zone example. - -" } },
	{ "conf-list zone - - t", { "zone example. - -", "zone new. - -" } },
	{ "conf-list acl - - -", { "acl a]b - -" } },
	{ "conf-list acl - - t", { "acl a]b - -", "acl from-net - -" } },
	{ "conf-list zone - semantic-checks s",
			{ "zone - semantic-checks off", "zone - semantic-checks on", "zone - semantic-checks on" } },
	{ "conf-get server - listen -", { "server - listen ::1@53", "server - listen 127.0.0.1@53" } },
	{ "stats - - - -", { "server - zone-count 1", "mod-stats A query-type 1", "mod-stats B query-type 1" } },
	{ "zone-stats - - - -", { "zone - size 1", "zone - max-ttl 1" } },
	{ "xdp-block - - - -", { "xdp-block 192.0.2.0/24 rate 1", "xdp-block 192.0.2.0/24 dropped 1" } },
};

static const char *word(char **rest)
{
	const char *got = strtok_r(NULL, " ", rest);
	return got == NULL || strcmp(got, "-") == 0 ? NULL : got;
}

static const char *shown(const char *text)
{
	return text != NULL ? text : "-";
}

static void answer(void *ctx, bool is_local, const knot_ctl_data_t *request, complete_unit_t on_unit, void *unit_ctx)
{
	unsigned *locals = ctx;
	*locals += is_local;
	char asked[256];
	snprintf(asked, sizeof(asked), "%s %s %s %s %s", (*request)[KNOT_CTL_IDX_CMD],
			shown((*request)[KNOT_CTL_IDX_SECTION]), shown((*request)[KNOT_CTL_IDX_ID]),
			shown((*request)[KNOT_CTL_IDX_ITEM]), shown((*request)[KNOT_CTL_IDX_FILTERS]));
	for (size_t i = 0; i < KNOT_LEN(replies); i++) {
		for (size_t j = 0; strcmp(replies[i].request, asked) == 0 && j < 5 && replies[i].units[j] != NULL;
				j++) {
			char line[128] = "x ", *rest = NULL;
			snprintf(line, sizeof(line), "x %s", replies[i].units[j]);
			(void)strtok_r(line, " ", &rest);
			knot_ctl_data_t unit = { 0 };
			unit[KNOT_CTL_IDX_SECTION] = word(&rest);
			unit[KNOT_CTL_IDX_ID] = word(&rest);
			unit[KNOT_CTL_IDX_ITEM] = word(&rest);
			unit[KNOT_CTL_IDX_DATA] = word(&rest);
			on_unit(unit_ctx, KNOT_CTL_TYPE_DATA, (const knot_ctl_data_t *)&unit);
		}
	}
	/* An error is no name. */
	knot_ctl_data_t error = { [KNOT_CTL_IDX_ERROR] = "bad",
		[KNOT_CTL_IDX_ID] = "WRONG",
		[KNOT_CTL_IDX_SECTION] = "WRONG",
		[KNOT_CTL_IDX_ITEM] = "WRONG",
		[KNOT_CTL_IDX_DATA] = "WRONG" };
	on_unit(unit_ctx, KNOT_CTL_TYPE_DATA, (const knot_ctl_data_t *)&error);
}

/* A line up to the cursor, and "stem: candidates" with what follows the only one in brackets. A final blank begins a
 * new word. */
static const struct {
	const char *line, *want;
	bool asks_conf; /* the configuration; else a server, or nobody */
} rows[] = {
	{ "zone-stat", "zone-stat: zone-stats zone-status", false },
	{ "conf-ex", "conf-ex: conf-export( )", false },
	{ "nonsense ", ":", false },
	{ "zone-re", "zone-re: zone-read zone-refresh zone-reload zone-restore zone-retransfer zone-revert", false },
	{ "zone-si", "zone-si: zone-sign( )", false },
	{ "zone-probe", "zone-probe:", false },
	{ "help zone-si", "zone-si: zone-sign( )", false },
	{ "status ", ": cert-key configure version workers", false },
	{ "status w", "w: workers( )", false },
	{ "stop ", ":", false },
	{ "zone-reload ", ": -- example. example2.", false },
	{ "zone-reload exa", "exa: example. example2.", false },
	{ "zone-reload -b exa", "exa: example. example2.", false },
	{ "zone-reload --f", "--f: --force( )", false },
	{ "zone-reload example. --", "--: --( )", false },
	{ "zone-check example2", "example2: example2.( )", true },
	{ "zone-begin example. +", "+: +benevolent( )", false },
	{ "zone-status +s", "+s: +serial( )", false },
	{ "zone-status +serial +s", "+s:", false }, /* given already */
	{ "zone-key-rollover example. ", ": ksk zsk", false },
	{ "zone-key-rollover -- k", "k: ksk( )", false },
	{ "zone-serial-set example. +", "+: +MAX( )", false },
	{ "zone-read example. ", ": @( )", false },
	{ "zone-read example. @ AA", "AA: AAAA( )", false },
	{ "zone-set example. www 300 TX", "TX: TXT( )", false },
	{ "zone-set example. www TXT x T", "T:", false },
	{ "zone-diff example. ", ": +file( )", false },
	{ "stats ", ": mod-stats.query-type server.zone-count", false },
	{ "stats mod", "mod: mod-stats.query-type( )", false },
	{ "zone-stats example. zone.s", "zone.s: zone.size( )", false },
	{ "conf-read ", ": acl remote remotes server zone", false },
	{ "conf-read remote", "remote: remote. remote[ remotes", false },
	{ "conf-read server", "server: server.()", false },
	{ "conf-read zone", "zone: zone. zone[", false },
	{ "conf-read ser", "ser: server()", false },
	{ "conf-read zone[", ": example.(])", false },
	{ "conf-get zone[", ": example. new.", false },
	{ "conf-get zone[example.]", ": .()", false },
	{ "conf-get zone[example.].f", "f: file( )", false },
	{ "conf-read acl[", ": a\\]b(])", false },
	{ "conf-read server.l", "l: listen( )", false },
	{ "conf-read server.listen zone.a", "a: acl( )", false },
	{ "conf-set zone[example.].semantic-checks ", ": off on", false },
	{ "conf-set zone[example.].semantic-checks of", "of: off( )", false },
	{ "conf-set zone.acl ", ": a]b from-net", false },
	{ "conf-set server.async-start ", ": off on", false },
	{ "conf-unset server.listen ", ": 127.0.0.1@53 ::1@53", false },
	{ "conf-unset server", "server: server.()", false },
	{ "xdp-block ", ": +comment +file +for +rate add list remove", false },
	{ "xdp-block remove ", ": +comment +file +for +rate 192.0.2.0/24 all", false },
	{ "xdp-block add ", ": +comment +file +for +rate", false },
	{ "top +", "+: +count +interval", false },
	{ "top +count ", ":", false },
	{ "conf-import ", ": +nopurge dir/ file.conf file.txt", false },
	{ "conf-import f", "f: file.conf file.txt", false },
	{ "conf-import dir", "dir: dir/()", false },
	{ "conf-import dir/", ": in( )", false },
	{ "conf-import .h", ".h: .hidden( )", false },
	{ "conf-import nowhere/x", "x:", false },
	{ "zone-flush +outdir ", ": dir/()", false },
	{ "zone-backup +backupdir d", "d: dir/()", false },
	{ "zone-backup +backupdir dir/ +noz", "+noz: +nozonefile( )", false },
};

static void print(const candidates_t *found, char *text, size_t max)
{
	size_t len = (size_t)snprintf(text, max, "%s:", found->stem);
	for (size_t i = 0; i < found->count; i++) {
		len += (size_t)snprintf(text + len, max - len, " %s", found->words[i]);
	}
	if (found->count == 1) {
		snprintf(text + len, max - len, "(%s)", found->end);
	}
}

static void lines(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		char line[256], got[1024], *words[16], *rest = NULL;
		snprintf(line, sizeof(line), "%s", rows[i].line);
		size_t count = 0, len = strlen(rows[i].line);
		for (char *one = strtok_r(line, " ", &rest); one != NULL; one = strtok_r(NULL, " ", &rest)) {
			words[count++] = one;
		}
		bool is_new = rows[i].line[len - 1] == ' ';
		complete_line_t at = {
			.words = (const char *const *)words,
			.count = count,
			.at = is_new ? count : count - 1,
			.offset = is_new ? 0 : strlen(words[count - 1]),
		};
		unsigned locals = 0;
		complete_source_t source = { answer, &locals };
		candidates_t found;
		complete(&at, &source, &found);
		print(&found, got, sizeof(got));
		candidates_free(&found);
		if (strcmp(got, rows[i].want) != 0) {
			fail_msg("%s:\n%s\n%s", rows[i].line, got, rows[i].want);
		}
		/* Names for a local action come from the configuration, for others from the server. */
		assert_int_equal(locals > 0, rows[i].asks_conf);
	}
}

/* In the middle of a word only what stands before the cursor counts. */
static void in_the_middle(void **state)
{
	(void)state;
	const char *words[] = { "zone-status", "+role" };
	unsigned locals = 0;
	complete_source_t source = { answer, &locals };
	complete_line_t line = { .words = words, .count = 2, .at = 0, .offset = 8 };
	candidates_t found;
	complete(&line, &source, &found);
	assert_string_equal(found.stem, "zone-sta");
	assert_int_equal(found.count, 2);
	assert_int_equal(candidates_shared(&found), strlen("zone-stat"));
	candidates_free(&found);
}

static void make_file(const char *path)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fclose(file);
}

static int enter_directory(void **state)
{
	static char path[] = "/tmp/complete-test-XXXXXX";
	*state = path;
	if (mkdtemp(path) == NULL || chdir(path) != 0 || mkdir("dir", 0700) != 0) {
		return -1;
	}
	make_file("file.conf");
	make_file("file.txt");
	make_file(".hidden");
	make_file("dir/in");
	return 0;
}

static int leave_directory(void **state)
{
	static const char *const made[] = { "file.conf", "file.txt", ".hidden", "dir/in" };
	for (size_t i = 0; i < KNOT_LEN(made); i++) {
		(void)unlink(made[i]);
	}
	(void)rmdir("dir");
	return chdir("/") == 0 ? rmdir(*state) : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(lines), cmocka_unit_test(in_the_middle) };
	return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
