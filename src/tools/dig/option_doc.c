/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Print the part of kdig(1) about +options, in roff, from their rows. Runs while the tree is built.
 */
#include "src/tools/dig/options.h"

#include <stdio.h>

static void option_doc_put_text(const char *text)
{
	for (; *text != '\0'; text++) {
		switch (*text) {
		case '\\': fputs("\\e", stdout); break;
		case '-': fputs("\\-", stdout); break;
		case '\'': fputs("\\(aq", stdout); break;
		default: putchar(*text); break;
		}
	}
}

/** What the page says beyond the line of the help. */
static const struct {
	const char *name, *text;
} option_more[] = {
	{ "multiline", "Also turns on +header, +opt and +stats." },
	{ "short", "Turns off +header, +opt and +stats." },
	{ "crypto", "Without them a DNSKEY record shows its key tag." },
	{ "all", "Without them nothing is printed; +noall +answer prints the records of the answer only." },
	{ "opttext", "Otherwise they are printed in hex." },
	{ "tcp", "A truncated reply over UDP is asked for again over TCP, unless +ignore is given." },
	{ "keepopen", "If it goes to the same server in the same way. With UDP it means nothing." },
	{ "tls", "This is the opportunistic profile of RFC 8310. Each option that begins with +tls- implies it; "
		 "+tls-ca, +tls-pin and +tls-hostname make it strict, and may be combined. The last of +tls, "
		 "+https and +quic is used." },
	{ "tls-ca", "May be given several times. Without +tls-hostname the certificate has to be of the server's name, "
		    "as it was written behind @." },
	{ "tls-pin", "May be given several times: one of them has to be right." },
	{ "tls-hostname", "By the system's CAs, unless +tls-ca says others. With +https it is the authority, too." },
	{ "https", "The path is /dns-query by default. A scheme in front of the authority is passed over. The "
		   "authority is verified as if by +tls-hostname; without @server it is the server." },
	{ "bufsize", "0 is the default." },
	{ "padding", "Without this option queries are padded if they are encrypted. +nopadding: never." },
	{ "alignment", "Goes before +padding." },
	{ "subnet", "An address, with the length of a prefix behind a slash or as a whole." },
	{ "edns", "+noedns: none, and no option that is said before it." },
	{ "retry", "Transfers aren't repeated." },
	{ "cookie", "A client's cookie of 8 bytes, which may be followed by the server's. Without a value one is "
		    "drawn." },
	{ "badcookie", "When the server replies with BADCOOKIE, at most 10 times." },
	{ "ednsopt", "May be given several times. +noednsopt takes back all." },
	{ "proxy", "It says that the query comes from SRC and goes to DST, whose ports are 0 and 53 by default." },
	{ "validate", "The DNSKEY records of the zones that signed are asked for from the same server; there is no "
		      "chain of trust. "
		      "Level 1 prints the result, 2 what is wrong, too, 3 (the default) what is right, too. A reply "
		      "that is bogus makes "
		      "the exit status 1." },
	{ "json", "One object for each reply; with +qr one with queryMessage and responseMessage; for a transfer a "
		  "list of "
		  "messages." },
	{ "idnout", "This is so by default if standard output is a terminal." },
};

static const char *option_doc_more(const char *name)
{
	for (size_t i = 0; i < KNOT_LEN(option_more); i++) {
		if (strcmp(option_more[i].name, name) == 0) {
			return option_more[i].text;
		}
	}
	return "";
}

/* True if each text belongs to a row. */
static bool option_doc_check(const option_row_t *rows, size_t count)
{
	size_t found = 0;
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < KNOT_LEN(option_more); k++) {
			found += strcmp(rows[i].name, option_more[k].name) == 0;
		}
	}
	return found == KNOT_LEN(option_more);
}

static void option_doc_put_row(const option_row_t *row)
{
	fputs(".TP\n\\fB+\\fR[\\fBno\\fR]\\fB", stdout);
	option_doc_put_text(row->name);
	fputs("\\fR", stdout);
	if (row->argument != OPTION_TAKES_NOTHING) {
		fputs(row->argument == OPTION_MAY_TAKE ? "[\\fB=\\fI" : "\\fB=\\fI", stdout);
		option_doc_put_text(row->value);
		fputs(row->argument == OPTION_MAY_TAKE ? "\\fR]" : "\\fR", stdout);
	}
	putchar('\n');
	option_doc_put_text(row->doc);
	putchar(' ');
	option_doc_put_text(option_doc_more(row->name));
	putchar('\n');
}

int main(void)
{
	size_t count;
	const option_row_t *rows = dig_options(&count);
	if (!option_doc_check(rows, count)) {
		fputs("option_doc: a text without an option\n", stderr);
		return 1;
	}
	for (size_t i = 0; i < count; i++) {
		if (!rows[i].is_hidden) {
			option_doc_put_row(&rows[i]);
		}
	}
	return fflush(stdout) == 0 ? 0 : 1;
}
