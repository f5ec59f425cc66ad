/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/ctl/message.h"
#include "src/tools/ctl/output.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define D KNOT_CTL_TYPE_DATA
#define X KNOT_CTL_TYPE_EXTRA

enum { UNITS_MAX = 8 };

typedef struct {
	knot_ctl_type_t type;
	knot_ctl_data_t data;
} unit_t;

#define SECTION [KNOT_CTL_IDX_SECTION]
#define ITEM    [KNOT_CTL_IDX_ITEM]
#define ID      [KNOT_CTL_IDX_ID]
#define ZONE    [KNOT_CTL_IDX_ZONE]
#define OWNER   [KNOT_CTL_IDX_OWNER]
#define TTL     [KNOT_CTL_IDX_TTL]
#define TYPE    [KNOT_CTL_IDX_TYPE]
#define DATA    [KNOT_CTL_IDX_DATA]
#define FILTERS [KNOT_CTL_IDX_FILTERS]
#define FLAGS   [KNOT_CTL_IDX_FLAGS]
#define ERR     [KNOT_CTL_IDX_ERROR]

#define PACKETS                                                                                                        \
	"a: mode native, mtu 1500\n"                                                                                   \
	"          sum  0\n"                                                                                           \
	"received    9  9\n"                                                                                           \
	"passed\n"                                                                                                     \
	"  group     9\n"                                                                                              \
	"Every packet received is in one of the other rows.\n"                                                         \
	"\n"                                                                                                           \
	"b\n"                                                                                                          \
	"          sum\n"                                                                                              \
	"received    3\n"                                                                                              \
	"Received and the sum of the other rows differ by -3: while traffic flows, rows are of different moments.\n"
#define RULES                                                                                                          \
	"prefix     rate  dropped\n"                                                                                   \
	"::/0          5        7\n"                                                                                   \
	"192.0.2.1  drop       10\n"

static const struct {
	const char *what, *action;
	bool extended, color, all_zones;
	unsigned count;
	unit_t units[UNITS_MAX];
	const char *want35, *want36;
	bool fails;
} rows[] = {
	{ .what = "a trigger without reply", .action = "zone-reload", .want35 = "OK\n", .want36 = "OK\n" },
	{ .what = "status",
			.action = "status",
			.count = 1,
			.units = { { D, { DATA = NULL } } },
			.want35 = "Running\n",
			.want36 = "Running\n" },
	{ .what = "status while loading",
			.action = "status",
			.count = 1,
			.units = { { D, { FILTERS = "l" } } },
			.want35 = "Loading\n",
			.want36 = "Loading\n" },
	{ .what = "status detail",
			.action = "status",
			.count = 1,
			.units = { { D, { TYPE = "version", DATA = "Version: 1" } } },
			.want35 = "Version: 1\n",
			.want36 = "Version: 1\n" },
	{ .what = "zone status, unset fields hidden, serial always shown",
			.action = "zone-status",
			.count = 3,
			.units = { { D, { ZONE = "a.", TYPE = "role", DATA = "master" } },
					{ X, { ZONE = "a.", TYPE = "serial", DATA = "-" } },
					{ X, { ZONE = "a.", TYPE = "freeze", DATA = "-" } } },
			.want35 = "[a.] role: master | serial: -\n",
			.want36 = "[a.] role: master | serial: -\n" },
	{ .what = "zone status, extended, two zones, the first field unset",
			.action = "zone-status",
			.extended = true,
			.count = 3,
			.units = { { D, { ZONE = "a.", TYPE = "freeze", DATA = "-" } },
					{ X, { ZONE = "a.", TYPE = "load", DATA = "-" } },
					{ D, { ZONE = "b.", TYPE = "freeze", DATA = "yes" } } },
			.want35 = "[a.] freeze: - | load: -\n[b.] freeze: yes\n",
			.want36 = "[a.] freeze: - | load: -\n[b.] freeze: yes\n" },
	{ .what = "colours by markers",
			.action = "zone-status",
			.color = true,
			.count = 2,
			.units = { { D, { ZONE = "a.", TYPE = "role", DATA = "slave", FILTERS = "se" } },
					{ D, { ZONE = "b.", TYPE = "role", DATA = "master", FLAGS = "m" } } },
			.want35 = "[\x1B[31ma.\x1B[0m] role: \x1B[1mslave\x1B[0m\n[\x1B[1m\x1B[32m\x1B[4mb.\x1B[0m] "
				  "role: \x1B[1mmaster\x1B[0m\n",
			.want36 = "[\x1B[31ma.\x1B[0m] role: \x1B[1mslave\x1B[0m\n[\x1B[1m\x1B[32m\x1B[4mb.\x1B[0m] "
				  "role: \x1B[1mmaster\x1B[0m\n" },
	{ .what = "trigger error with and without zone",
			.action = "zone-reload",
			.fails = true,
			.count = 2,
			.units = { { D, { ZONE = "a", ERR = "bad" } }, { D, { ERR = "worse" } } },
			.want35 = "error: [a] (bad)\nerror: (worse)\n",
			.want36 = "error: (bad) [a]\nerror: (worse)\n" },
	{ .what = "trigger error with the request's words",
			.action = "zone-key-rollover",
			.fails = true,
			.count = 1,
			.units = { { D, { ZONE = "a", TYPE = "ksk", ERR = "bad" } } },
			.want35 = "error: [a] (bad)\n",
			.want36 = "error: (bad) [a] ksk\n" },
	{ .what = "counters",
			.action = "stats",
			.count = 2,
			.units = { { D, { SECTION = "server", ITEM = "zone-count", DATA = "1" } },
					{ X, { SECTION = "mod-stats", ITEM = "query-type", ID = "A", DATA = "2" } } },
			.want35 = "server.zone-count = 1\nmod-stats.query-type[A] = 2\n",
			.want36 = "server.zone-count: 1\nmod-stats.query-type[A]: 2\n" },
	{ .what = "counters of a zone",
			.action = "zone-stats",
			.count = 1,
			.units = { { D, { ZONE = "a.", SECTION = "zone", ITEM = "size", DATA = "1" } } },
			.want35 = "[a.] zone.size = 1\n",
			.want36 = "zone.size: 1\n" },
	{ .what = "counters of all zones",
			.action = "zone-stats",
			.all_zones = true,
			.count = 1,
			.units = { { D, { ZONE = "a.", SECTION = "zone", ITEM = "size", DATA = "1" } } },
			.want35 = "[a.] zone.size = 1\n",
			.want36 = "[a.] zone.size: 1\n" },
	{ .what = "unknown counter",
			.action = "stats",
			.fails = true,
			.count = 1,
			.units = { { D, { SECTION = "x", ITEM = "y", ERR = "bad" } } },
			.want35 = "error: (bad) x.y\n",
			.want36 = "error: (bad) x.y\n" },
	{ .what = "records and differences",
			.action = "zone-diff",
			.count = 2,
			.units = { { D, { ZONE = "a.", OWNER = "b.a.", TTL = "5", TYPE = "A", DATA = "192.0.2.1",
							FILTERS = "-" } },
					{ D, { ZONE = "a.", OWNER = "b.a.", TTL = "5", TYPE = "A", DATA = "192.0.2.2",
							     FLAGS = "+" } } },
			.want35 = "[a.] -b.a. 5 A 192.0.2.1\n[a.] +b.a. 5 A 192.0.2.2\n",
			.want36 = "-b.a. 5 A 192.0.2.1\n+b.a. 5 A 192.0.2.2\n" },
	{ .what = "error of a record",
			.action = "zone-set",
			.fails = true,
			.count = 1,
			.units = { { D, { ZONE = "a", OWNER = "b", TTL = "5", TYPE = "A", DATA = "x", ERR = "bad" } } },
			.want35 = "error: (bad) [a] b 5 A x\n",
			.want36 = "error: (bad) [a] b 5 A x\n" },
	{ .what = "configuration",
			.action = "conf-read",
			.count = 4,
			.units = { { D, { SECTION = "zone", ITEM = "domain", DATA = "a." } },
					{ D, { SECTION = "zone", ID = "a.", ITEM = "acl", DATA = "x" } },
					{ X, { SECTION = "zone", ID = "a.", ITEM = "acl", DATA = "y" } },
					{ D, { SECTION = "server" } } },
			.want35 = "zone.domain = a.\nzone[a.].acl = x y\nserver\n",
			.want36 = "zone.domain a.\nzone[a.].acl x\ny\nserver\n" },
	{ .what = "values are bold, each on its own",
			.action = "conf-get",
			.color = true,
			.count = 2,
			.units = { { D, { SECTION = "server", ITEM = "listen", DATA = "a" } },
					{ X, { SECTION = "server", ITEM = "listen", DATA = "b" } } },
			.want35 = "server.listen = \x1B[1ma\x1B[0m \x1B[1mb\x1B[0m\n",
			.want36 = "server.listen \x1B[1ma\x1B[0m\n\x1B[1mb\x1B[0m\n" },
	{ .what = "differences of the configuration",
			.action = "conf-diff",
			.count = 4,
			.units = { { D, { SECTION = "server", ITEM = "listen", DATA = "a", FILTERS = "-" } },
					{ D, { SECTION = "server", ITEM = "listen", DATA = "a", FILTERS = "+" } },
					{ X, { SECTION = "server", ITEM = "listen", DATA = "b", FILTERS = "+" } },
					{ D, { SECTION = "zone", ITEM = "domain", DATA = "a.", FLAGS = "+" } } },
			.want35 = "-server.listen = a\n+server.listen = a b\n+zone.domain = a.\n",
			.want36 = "-server.listen a\n+server.listen a\nb\n+zone.domain a.\n" },
	{ .what = "names of the schema",
			.action = "conf-list",
			.count = 3,
			.units = { { D, { SECTION = "server" } }, { D, { SECTION = "server", ITEM = "listen" } },
					{ D, { SECTION = "zone", ITEM = "semantic-checks", DATA = "soft" } } },
			.want35 = "server\nserver.listen\nzone.semantic-checks = soft\n",
			.want36 = "server\nserver.listen\nzone.semantic-checks soft\n" },
	{ .what = "brackets in identifiers, of a name with its backslash",
			.action = "conf-get",
			.count = 2,
			.units = { { D, { SECTION = "remote", ID = "]a]]b", ITEM = "via", DATA = "x]" } },
					{ D, { SECTION = "zone", ID = "a\\]b.", ITEM = "file", DATA = "y" } } },
			.want35 = "remote[\\]a\\]\\]b].via = x]\nzone[a\\]b.].file = y\n",
			.want36 = "remote[\\]a\\]\\]b].via x]\nzone[a\\]b.].file y\n" },
	{ .what = "identifiers",
			.action = "conf-list",
			.count = 1,
			.units = { { D, { SECTION = "zone", ID = "a." } } },
			.want35 = "zone[a.]\n",
			.want36 = "zone[a.]\n" },
	{ .what = "a fault of a commit",
			.action = "conf-commit",
			.fails = true,
			.count = 1,
			.units = { { D, { SECTION = "remote", ID = "x", ITEM = "address",
							ERR = "no remote address defined" } } },
			.want35 = "error: (no remote address defined) remote[x].address\n",
			.want36 = "error: (no remote address defined) remote[x].address\n" },
	{ .what = "an error of a whole transaction",
			.action = "conf-get",
			.fails = true,
			.count = 1,
			.units = { { D, { ERR = "no active transaction" } } },
			.want35 = "error: (no active transaction)\n",
			.want36 = "error: (no active transaction)\n" },
	{ .what = "records of all zones",
			.action = "zone-read",
			.all_zones = true,
			.count = 2,
			.units = { { D, { ZONE = "a.", OWNER = "a.", TTL = "5", TYPE = "NS", DATA = "b." } },
					{ D, { ZONE = "b.", OWNER = "b.", TTL = "5", TYPE = "NS", DATA = "b." } } },
			.want35 = "[a.] a. 5 NS b.\n[b.] b. 5 NS b.\n",
			.want36 = "[a.] a. 5 NS b.\n[b.] b. 5 NS b.\n" },
	{ .what = "a serial",
			.action = "zone-serial-set",
			.count = 1,
			.units = { { D, { ZONE = "a.", DATA = "5" } } },
			.want35 = "[a.] 5\n",
			.want36 = "5\n" },
	{ .what = "a counter without a value",
			.action = "stats",
			.count = 1,
			.units = { { D, { SECTION = "server", ITEM = "x" } } },
			.want35 = "server.x = \n",
			.want36 = "server.x: \n" },
	{ .what = "error of a detail",
			.action = "status",
			.fails = true,
			.count = 1,
			.units = { { D, { TYPE = "x", ERR = "invalid parameter" } } },
			.want35 = "error: (invalid parameter) x\n",
			.want36 = "error: (invalid parameter) x\n" },
	{ .what = "error of an item",
			.action = "conf-set",
			.fails = true,
			.count = 1,
			.units = { { D, { SECTION = "server", ITEM = "version", DATA = "a", ERR = "bad" } } },
			.want35 = "error: (bad) server.version = a\n",
			.want36 = "error: (bad) server.version a\n" },
	{ .what = "packets of two interfaces",
			.action = "xdp-status",
			.count = 8,
			.units = { { D, { SECTION = "a", ITEM = "mode", TYPE = "interface", DATA = "native" } },
					{ X, { SECTION = "a", ITEM = "mtu", TYPE = "interface", DATA = "1500" } },
					{ X, { SECTION = "a", ITEM = "received", TYPE = "received", DATA = "9" } },
					{ X, { SECTION = "a", ITEM = "received", TYPE = "received", ID = "0",
							     DATA = "9" } },
					{ X, { SECTION = "a", ITEM = "passed-group", TYPE = "passed", DATA = "9" } },
					{ X, { SECTION = "a", ITEM = "difference", TYPE = "difference", DATA = "0" } },
					{ D, { SECTION = "b", ITEM = "received", TYPE = "received", DATA = "3" } },
					{ X, { SECTION = "b", ITEM = "difference", TYPE = "difference",
							     DATA = "-3" } } },
			.want35 = PACKETS,
			.want36 = PACKETS },
	{ .what = "no interfaces",
			.action = "xdp-status",
			.want35 = "No XDP interface\n",
			.want36 = "No XDP interface\n" },
	{ .what = "rules",
			.action = "xdp-block",
			.count = 4,
			.units = { { D, { SECTION = "xdp-block", ITEM = "rate", ID = "::/0", DATA = "5" } },
					{ X, { SECTION = "xdp-block", ITEM = "dropped", ID = "::/0", DATA = "7" } },
					{ D, { SECTION = "xdp-block", ITEM = "rate", ID = "192.0.2.1", DATA = "0" } },
					{ X, { SECTION = "xdp-block", ITEM = "dropped", ID = "192.0.2.1",
							     DATA = "10" } } },
			.want35 = RULES,
			.want36 = RULES },
	{ .what = "error of a rule",
			.action = "xdp-block",
			.fails = true,
			.count = 1,
			.units = { { D, { ID = "::/0", ERR = "bad" } } },
			.want35 = "error: (bad) ::/0\n",
			.want36 = "error: (bad) ::/0\n" },
};

/* What a reply looks like; *ret_good: output_end()'s verdict. Free the text. */
static char *print(size_t row, format_t format, bool *ret_good)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	assert_non_null(out);
	output_t output = {
		.out = out,
		.action = action_find(rows[row].action),
		.format = format,
		.extended = rows[row].extended,
		.color = rows[row].color,
		.all_zones = rows[row].all_zones,
	};
	assert_non_null(output.action);
	output_begin(&output);
	for (unsigned i = 0; i < rows[row].count; i++) {
		output_unit(&output, rows[row].units[i].type, &rows[row].units[i].data);
	}
	*ret_good = output_end(&output, NULL);
	fclose(out);
	return text;
}

static void formats(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		const char *wants[] = { [FORMAT_35] = rows[i].want35, [FORMAT_36] = rows[i].want36 };
		for (format_t format = FORMAT_35; format <= FORMAT_36; format++) {
			bool is_good;
			char *text = print(i, format, &is_good);
			if (strcmp(text, wants[format]) != 0 || is_good == rows[i].fails) {
				fail_msg("%s, format %d, %d:\n%s%s", rows[i].what, format, is_good, text,
						wants[format]);
			}
			free(text);
		}
	}
}

static void json_replies(void **state)
{
	(void)state;
	bool is_good;
	char *text = print(0, FORMAT_RAW, &is_good);
	assert_string_equal(text, "{\"command\": \"zone-reload\", \"reply\": [], \"ok\": true}\n");
	assert_true(is_good);
	free(text);
	text = print(7, FORMAT_RAW, &is_good);
	assert_string_equal(text, "{\"command\": \"zone-reload\", \"reply\": [\n"
				  "  {\"kind\": \"data\", \"error\": \"bad\", \"zone\": \"a\"},\n"
				  "  {\"kind\": \"data\", \"error\": \"worse\"}\n], \"ok\": false}\n");
	assert_false(is_good);
	free(text);
}

/* An ERROR unit fails any action and its text is printed once, in each format. */
static void errors_of_any_action(void **state)
{
	(void)state;
	for (size_t i = 0; i < action_count; i++) {
		for (format_t format = FORMAT_35; actions[i].name != NULL && format <= FORMAT_RAW; format++) {
			char *text = NULL;
			size_t len;
			FILE *out = open_memstream(&text, &len);
			assert_non_null(out);
			output_t output = { .out = out, .action = &actions[i], .format = format };
			knot_ctl_data_t unit = { ERR = "it is bad", ZONE = "a.", SECTION = "s", ITEM = "i", ID = "d",
				DATA = "x" };
			messages_keep(format == FORMAT_JSON);
			output_begin(&output);
			output_unit(&output, D, (const knot_ctl_data_t *)&unit);
			assert_false(output_end(&output, NULL));
			fclose(out);
			const char *found = strstr(text, "it is bad");
			assert_non_null(found);
			assert_null(strstr(found + 1, "it is bad"));
			assert_int_equal(text[len - 1], '\n');
			assert_non_null(strstr(text, output_is_json(format) ? "\"ok\": false" : "error: "));
			free(text);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats),
		cmocka_unit_test(errors_of_any_action),
		cmocka_unit_test(json_replies),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
