/* SPDX-License-Identifier: BSD-2-Clause */
/* The manual's reference: a chapter per section, a paragraph with a field list per item. */
#include "src/conf/conf_doc.h"

/** Text in which nothing is markup. */
static void conf_doc_rst_put_text(const char *text)
{
	for (; *text != '\0'; text++) {
		if (strchr("\\*`|_", *text) != NULL) {
			putchar('\\');
		}
		putchar(*text);
	}
}

/** A literal; one can't be empty. */
static void put_literal(const char *text)
{
	printf("``%s``", text[0] != '\0' ? text : "\"\"");
}

/** Blank-separated words, each as a literal. */
static void put_words(const char *words)
{
	for (bool is_first = true; *words != '\0'; is_first = false) {
		int len = (int)strcspn(words, " ");
		printf("%s``%.*s``", is_first ? "" : ", ", len, words);
		words += len;
		words += *words == ' ';
	}
}

static void put_heading(const char *text, char underline)
{
	printf("\n``%s``\n", text);
	for (size_t i = 0; i < strlen(text) + 4; i++) {
		putchar(underline);
	}
	fputs("\n\n", stdout);
}

static const char values[] =
		".. _conf-values:\n\n"
		"Types of values\n"
		"---------------\n\n"
		"integer\n   Decimal number.\n"
		"time\n   Number of seconds, or with one of the units ``s``, ``m``, ``h``, ``d``, ``w``, ``M`` (30 "
		"days), "
		"``y`` (365 days).\n"
		"size\n   Number of bytes, or with one of the units ``B``, ``K``, ``M``, ``G``, which are powers of "
		"1024.\n"
		"boolean\n   ``on`` or ``true``, ``off`` or ``false``.\n"
		"option\n   One of the names listed.\n"
		"string\n   Text.\n"
		"hexstring\n   Text, or bytes as ``0x`` and pairs of hexadecimal digits.\n"
		"base64\n   Bytes in base64.\n"
		"dname\n   Domain name; the final dot may be missing.\n"
		"address\n   IPv4 or IPv6 address, optionally with ``@port``. Of a wildcard or link-local address "
		"``%interface`` may follow. Anything "
		"that does not look like an address is the path of a UNIX socket.\n"
		"network\n   Address, address/prefix length, address-address, or the path of a UNIX socket.\n"
		"reference\n   Identifier of a block in the section named, which comes before.\n"
		"module\n   ``mod-name``, or ``mod-name/id`` with an identifier of that section.\n"
		"type\n   Mnemonic of a record type, or ``TYPEn``.\n";

/* ---- Fields ---- */

static void conf_doc_rst_put_options(const conf_row_t *row)
{
	for (const conf_option_t *option = row->options; option->name != NULL; option++) {
		printf("%s``%s``", option == row->options ? "" : ", ", option->name);
	}
}

static void put_type(const conf_row_t *row)
{
	const char *type = conf_doc_type(row);
	fputs(":Type: ", stdout);
	if (row->options != NULL) {
		fputs(type == NULL ? "option: " : "", stdout);
		conf_doc_rst_put_options(row);
		fputs(type == NULL ? "" : ", or ", stdout);
	}
	fputs(type != NULL ? type : "", stdout);
	for (size_t i = 0; i < KNOT_LEN(row->ref) && row->ref[i] != NULL; i++) {
		printf("%s:ref:`conf-%s`", i == 0 ? " to " : " or ", row->ref[i]);
	}
	fputs(row->percent ? ", or integer with ``%``" : "", stdout);
	fputs(row->or_empty ? ", or ``\"\"``: none" : "", stdout);
	fputs(row->or_default ? "; ``default`` needs no block" : "", stdout);
	if (row->multi) {
		fputs("; several", stdout);
	}
	if (row->count_max > 0) {
		printf(", at most %zu", row->count_max);
	}
	putchar('\n');
}

static void put_range(const conf_row_t *row)
{
	char range[CONF_ROW_RANGE_MAX];
	if (conf_row_range(row, range)[0] != '\0') {
		printf(":Range: %s\n", range);
	}
}

static void conf_doc_rst_put_default(const conf_row_t *row)
{
	if (row->required) {
		fputs(":Required: yes\n", stdout);
	}
	if (row->dflt != NULL) {
		fputs(":Default: ", stdout);
		put_literal(row->dflt);
		putchar('\n');
	} else if (row->dflt_doc != NULL) {
		fputs(":Default: ", stdout);
		conf_doc_rst_put_text(row->dflt_doc);
		putchar('\n');
	}
	if (row->port != 0) {
		printf(":Default port: %u\n", row->port);
	}
}

/** Whether we do what the item asks for, and else what happens to it. */
static void put_support(const conf_section_t *section, const conf_row_t *row)
{
	switch (row->support) {
	case CONF_WORKS: break;
	case CONF_OBSOLETE: fputs(":State: obsolete, without effect\n", stdout); return;
	case CONF_TUNING: fputs(":State: accepted, no effect yet\n", stdout); return;
	case CONF_REFUSED:
		fputs(":State: not supported yet: refused", stdout);
		if (row->harmless != NULL) {
			fputs(", except for ", stdout);
			put_words(row->harmless);
		}
		putchar('\n');
		return;
	}
	if (section->kind == CONF_MULTI && row == conf_id_row(section)) {
		return;
	}
	fputs(row->effect == CONF_ON_RESTART ? ":Change: after a restart\n"
			: row->effect == CONF_ON_ZONE_RELOAD && section->is != 0
					? ":Change: at once; the zone is loaded again\n"
					: ":Change: at once\n",
			stdout);
}

static void conf_doc_rst_put_row(const conf_section_t *section, const conf_row_t *row)
{
	printf("\n.. _conf-%s-%s:\n", section->name, row->name);
	put_heading(row->name, '~');
	put_type(row);
	put_range(row);
	conf_doc_rst_put_default(row);
	put_support(section, row);
	putchar('\n');
	conf_doc_rst_put_text(row->doc);
	if (row->rfc != NULL) {
		printf(" (%s)", row->rfc);
	}
	putchar('\n');
}

/* ---- Sections ---- */

static void put_scope(const conf_section_t *section)
{
	printf("A module: as ``%s/id``%s in the item ``module`` of a zone or template%s.%s\n\n", section->name,
			section->module_needs_id ? "" : ", or without configuration as the name alone,",
			section->module_global ? ", or in ``global-module`` of the template ``default``" : "",
			section->support == CONF_REFUSED
					? " **Not supported yet**: a block may be there, a reference to it is refused."
					: "");
}

static void conf_doc_rst_put_section(const conf_section_t *section)
{
	printf("\n.. _conf-%s:\n", section->name);
	put_heading(section->name, '-');
	conf_doc_rst_put_text(section->doc);
	fputs("\n\n", stdout);
	if (section->is_module) {
		put_scope(section);
	}
	if (section->kind == CONF_DIRECTIVE) {
		printf(":Type: string, several\n");
		return;
	}
	if (section->kind == CONF_MULTI) {
		printf("A block for each identifier: ``- %s:``.\n", conf_id_row(section)->name);
	}
	if (section == &conf_section_template) {
		fputs("\nA template has the items of the section :ref:`conf-zone` but ``domain`` and ``template``, and "
		      "these:\n",
				stdout);
	}
	for (size_t i = 0; i < section->row_count; i++) {
		const conf_row_t *row = &section->rows[i];
		if (conf_row_told_in(section, row)) {
			conf_doc_rst_put_row(section, row);
		}
	}
}

/** All that is refused, in one place: operators that bring a configuration along need it first. */
static void put_refused(void)
{
	fputs("\n.. _conf-refused:\n\nNot supported yet\n-----------------\n\n"
	      "These are known and checked, and refused when they ask for something: a server that ignores what it was "
	      "told would be worse than "
	      "one that does not start. Values that ask for nothing are accepted.\n\n",
			stdout);
	for (size_t i = 0; i < conf_section_count; i++) {
		const conf_section_t *section = conf_sections[i];
		if (section->is_module && section->support == CONF_REFUSED) {
			printf("- module :ref:`conf-%s`\n", section->name);
		}
		for (size_t j = 0; j < section->row_count && section != &conf_section_template; j++) {
			const conf_row_t *row = &section->rows[j];
			if (row->support != CONF_REFUSED || !conf_row_in(section, row)) {
				continue;
			}
			printf("- :ref:`%s.%s <conf-%s-%s>`", section->name, row->name, section->name, row->name);
			if (row->harmless != NULL) {
				fputs(", but for ", stdout);
				put_words(row->harmless);
			}
			putchar('\n');
		}
	}
}

void conf_doc_rst(void)
{
	fputs(values, stdout);
	put_refused();
	for (size_t i = 0; i < conf_section_count; i++) {
		conf_doc_rst_put_section(conf_sections[i]);
	}
}
