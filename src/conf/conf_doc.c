/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Print what the schema's rows say: `conf_doc man` the manual page knot.conf(5), `conf_doc rst` the reference of the
 * manual (conf_doc_rst.c), `conf_doc schema` the JSON Schema of conf-export +schema, `conf_doc dict` the fuzzer's
 * words.
 *
 * Runs while the tree is built, so that none of them is kept by hand.
 */
#include "src/conf/conf_doc.h"
#include "src/conf/io.h"

/* ---- roff ---- */

/** Text of a paragraph: nothing in it is a command. */
static void conf_doc_put_text(const char *text)
{
	for (; *text != '\0'; text++) {
		switch (*text) {
		case '\\': fputs("\\e", stdout); break;
		case '-': fputs("\\-", stdout); break;
		case '\'': fputs("\\(aq", stdout); break;
		case '"': fputs("\\(dq", stdout); break;
		default: putchar(*text);
		}
	}
}

static void put_bold(const char *text)
{
	fputs("\\fB", stdout);
	conf_doc_put_text(text);
	fputs("\\fP", stdout);
}

static void put_heading(const char *text)
{
	fputs(".SH ", stdout);
	conf_doc_put_text(text);
	putchar('\n');
}

static const char preface[] =
		".SH DESCRIPTION\n"
		"The configuration of\n"
		".BR knotd (8)\n"
		"is a text file of sections, which are keywords in column 0, and of items indented below them with "
		"spaces. "
		"The grammar and the items are those of Knot DNS. Sections with identifiers have a block for each of "
		"them, "
		"which begins with a dash:\n"
		".PP\n"
		".EX\n"
		"server:\n"
		"    listen: [ 192.0.2.1@53, 2001:db8::1@53 ]   # comment\n"
		"\n"
		"zone:\n"
		"  - domain: example.com\n"
		"    file: \\(dq/etc/zones/example.com.zone\\(dq\n"
		".EE\n"
		".IP \\(bu 2\n"
		"The keys of a block stand in the same column. Tabulators are not allowed.\n"
		".IP \\(bu 2\n"
		"After the colon comes at least one space. A value with spaces or one of the characters # [ ] , stands "
		"in "
		"double "
		"quotes. \\e\\(dq is a quote.\n"
		".IP \\(bu 2\n"
		"A list in brackets is the same as the item once for each element. Of an item that can have only one "
		"value the "
		"last counts.\n"
		".IP \\(bu 2\n"
		"A comment begins with # at the start of a line or after a space.\n"
		".IP \\(bu 2\n"
		"Sections may come several times. An identifier comes once, before anything refers to it.\n"
		".PP\n"
		"An item that is known but asks for something that this version can\\(aqt do is refused when the "
		"configuration "
		"is "
		"loaded, with the reason \\(dqnot supported yet\\(dq. Values that ask for nothing (off, none) are "
		"accepted, "
		"and so "
		"are items that only tune or define what an item that is refused would switch on; the latter are "
		"marked "
		"\\(dqno effect "
		"yet\\(dq below.\n"
		".SH VALUES\n"
		".TP\n\\fIinteger\\fP\nDecimal number.\n"
		".TP\n\\fItime\\fP\nNumber of seconds, or with one of the units s, m, h, d, w, M (30 days), y (365 "
		"days).\n"
		".TP\n\\fIsize\\fP\nNumber of bytes, or with one of the units B, K, M, G, which are powers of 1024.\n"
		".TP\n\\fIboolean\\fP\non or true, off or false.\n"
		".TP\n\\fIstring\\fP\nText.\n"
		".TP\n\\fIhexstring\\fP\nText, or bytes as 0x and pairs of hexadecimal digits.\n"
		".TP\n\\fIbase64\\fP\nBytes in base64.\n"
		".TP\n\\fIdname\\fP\nDomain name; the final dot may be missing.\n"
		".TP\n\\fIaddress\\fP\nIPv4 or IPv6 address, optionally with @port. Of a wildcard or link\\-local "
		"address "
		"%interface may follow. Anything that does not look like an address is the path of a UNIX socket.\n"
		".TP\n\\fInetwork\\fP\naddress, address/prefix length, address\\-address, or the path of a UNIX "
		"socket.\n"
		".TP\n\\fIreference\\fP\nIdentifier of a block in the section named.\n"
		".TP\n\\fImodule\\fP\nmod\\-name, or mod\\-name/id with an identifier of that section.\n"
		".TP\n\\fItype\\fP\nMnemonic of a record type, or TYPEn.\n";

/* ---- Rows ---- */

const char *conf_doc_type(const conf_row_t *row)
{
	switch (row->type) {
	case CONF_INT: return row->unit == CONF_UNIT_TIME ? "time" : row->unit == CONF_UNIT_SIZE ? "size" : "integer";
	case CONF_BOOL: return "boolean";
	case CONF_STR: return "string";
	case CONF_HEX: return "hexstring";
	case CONF_B64: return "base64";
	case CONF_DNAME: return "dname";
	case CONF_ADDR: return "address";
	case CONF_NET: return "network";
	case CONF_OPT: return NULL;
	case CONF_OPTINT: return "time";
	case CONF_REF: return "reference";
	case CONF_MODREF: return "module";
	case CONF_RRTYPE: return "type";
	}
	return NULL;
}

static void conf_doc_put_options(const conf_row_t *row)
{
	bool is_first = true;
	for (const conf_option_t *option = row->options; option != NULL && option->name != NULL; option++) {
		fputs(is_first ? "" : " | ", stdout);
		conf_doc_put_text(option->name);
		is_first = false;
	}
}

/** The item's line: name, what its value is, whether it can be repeated. */
static void put_synopsis(const conf_row_t *row)
{
	fputs(".TP\n", stdout);
	put_bold(row->name);
	fputs("\\fB:\\fP ", stdout);
	conf_doc_put_options(row);
	const char *type = conf_doc_type(row);
	if (type != NULL) {
		printf("%s\\fI%s\\fP", row->options != NULL ? " | " : "", type);
	}
	if (row->percent) {
		fputs(" | \\fIinteger\\fP%", stdout);
	}
	for (size_t i = 0; i < KNOT_LEN(row->ref) && row->ref[i] != NULL; i++) {
		fputs(i == 0 ? " to " : " or ", stdout);
		conf_doc_put_text(row->ref[i]);
	}
	fputs(row->multi ? " ...\n" : "\n", stdout);
}

static void put_range(const conf_row_t *row)
{
	char range[CONF_ROW_RANGE_MAX];
	if (conf_row_range(row, range)[0] != '\0') {
		fputs(" Range: ", stdout);
		conf_doc_put_text(range);
		fputs(".", stdout);
	}
}

static void conf_doc_put_default(const conf_row_t *row)
{
	if (row->dflt != NULL) {
		fputs(" Default: ", stdout);
		put_bold(row->dflt);
		fputs(".", stdout);
	} else if (row->dflt_doc != NULL) {
		fputs(" Default: ", stdout);
		conf_doc_put_text(row->dflt_doc);
		fputs(".", stdout);
	}
	if (row->port != 0) {
		printf(" Default port: %u.", row->port);
	}
}

static void put_effect(const conf_section_t *section, const conf_row_t *row)
{
	if (row->support == CONF_TUNING) {
		fputs(" No effect yet.", stdout);
	} else if (row->support == CONF_REFUSED && row->harmless != NULL) {
		fputs(" Not supported yet, except for ", stdout);
		put_bold(row->harmless);
		fputs(".", stdout);
	} else if (row->support == CONF_REFUSED) {
		fputs(" Not supported yet.", stdout);
	} else if (row->effect == CONF_ON_RESTART) {
		fputs(" A change takes effect after a restart.", stdout);
	} else if (row->effect == CONF_ON_ZONE_RELOAD && section->is != 0) {
		fputs(" A change loads the zone again.", stdout);
	}
}

static void conf_doc_put_row(const conf_section_t *section, const conf_row_t *row)
{
	put_synopsis(row);
	conf_doc_put_text(row->doc);
	if (row->rfc != NULL) {
		printf(" (%s.)", row->rfc);
	}
	if (row->required) {
		fputs(" Required.", stdout);
	}
	put_range(row);
	if (row->count_max > 0) {
		printf(" At most %zu values.", row->count_max);
	}
	conf_doc_put_default(row);
	put_effect(section, row);
	putchar('\n');
}

static void conf_doc_put_section(const conf_section_t *section)
{
	put_heading(section->name);
	conf_doc_put_text(section->doc);
	putchar('\n');
	if (section->is_module && section->support == CONF_REFUSED) {
		fputs("This module is not supported yet: a block may be there, a reference to it is refused.\n",
				stdout);
	}
	if (section->kind == CONF_DIRECTIVE) {
		printf(".PP\n\\fB%s:\\fP \\fIstring\\fP ...\n", section->name);
		return;
	}
	if (section == &conf_section_template) {
		fputs("A template has the items of the section zone but domain and template, and these:\n", stdout);
	}
	for (size_t i = 0; i < section->row_count; i++) {
		const conf_row_t *row = &section->rows[i];
		if (conf_row_told_in(section, row)) {
			conf_doc_put_row(section, row);
		}
	}
}

static void put_man(void)
{
	printf(".\\\" SPDX-License-Identifier: BSD-2-Clause\n"
	       ".TH knot.conf 5 \"\" \"%s %s\" \"File formats\"\n"
	       ".SH NAME\nknot.conf \\- configuration of the DNS server\n",
			PACKAGE_NAME, PACKAGE_VERSION);
	fputs(preface, stdout);
	for (size_t i = 0; i < conf_section_count; i++) {
		conf_doc_put_section(conf_sections[i]);
	}
	printf(".SH FILES\n.TP\n.I %s/knot.conf\nRead when no other file is named.\n"
	       ".SH SEE ALSO\n.BR knotd (8),\n.BR knotc (8)\n",
			KNOT_CONFIG_DIR);
}

/* ---- Words for the fuzzer ---- */

static void put_dict(void)
{
	fputs("\"\\x0a\"\n\"\\x0a    \"\n\"\\x0a  - \"\n\"[ \"\n\", \"\n\" "
	      "]\"\n\"\\\"\"\n\"192.0.2.1@53\"\n\"::1\"\n\"mod-stats/a\"\n",
			stdout);
	for (size_t i = 0; i < conf_section_count; i++) {
		const conf_section_t *section = conf_sections[i];
		if (section != &conf_section_include) { /* would read files */
			printf("\"\\x0a%s:\"\n", section->name);
		}
		for (size_t j = 0; j < section->row_count && section->kind != CONF_DIRECTIVE; j++) {
			const conf_row_t *row = &section->rows[j];
			if (conf_row_in(section, row)) {
				printf("\"%s: \"\n", row->name);
			}
			for (const conf_option_t *option = row->options; option != NULL && option->name != NULL;
					option++) {
				printf("\"%s\"\n", option->name);
			}
		}
	}
}

int main(int argc, char **argv)
{
	const char *what = argc == 2 ? argv[1] : "";
	if (strcmp(what, "man") == 0) {
		put_man();
	} else if (strcmp(what, "rst") == 0) {
		conf_doc_rst();
	} else if (strcmp(what, "schema") == 0) {
		(void)conf_io_export_schema(stdout); /* a failure shows below */
	} else if (strcmp(what, "dict") == 0) {
		put_dict();
	} else {
		fprintf(stderr, "usage: conf_doc man|rst|schema|dict\n");
		return 1;
	}
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
