/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/kasp/offline_text.h"

#include "libdnssec/key.h"
#include "libknot/base/encode.h"
#include "libknot/text/zonefile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

/* ---- Printing ---- */

static const char indent[] = "\t\t\t\t";

enum { TIME_TEXT_MAX = 40, RRSIG_TTL_AT = 4 };

static void print_time(uint64_t when_s, const char *format, char ret_text[static TIME_TEXT_MAX])
{
	time_t when = (time_t)when_s;
	struct tm utc;
	if (gmtime_r(&when, &utc) == NULL || strftime(ret_text, TIME_TEXT_MAX, format, &utc) == 0) {
		ret_text[0] = '\0';
	}
}

/* Lines of 40 characters. */
static void print_lines(const char *text, size_t len, FILE *out)
{
	enum { LINE_LEN = 40 };
	for (size_t i = 0; i < len; i += LINE_LEN) {
		int part = (int)(len - i < LINE_LEN ? len - i : LINE_LEN);
		fprintf(out, "%s%.*s\n", indent, part, text + i);
	}
}

static void print_base64(knot_bytes_t bytes, FILE *out)
{
	char *text = malloc(KNOT_BASE64_LEN(bytes.len) + 1);
	if (text != NULL) {
		print_lines(text, knot_base64_print(bytes, text), out);
	}
	free(text);
}

static void print_dnskey(knot_bytes_t rdata, FILE *out)
{
	enum { HEAD_LEN = 4 };
	dnssec_key_t *key;
	uint16_t flags = load_be16(rdata.data);
	fprintf(out, "%u %u %u (\n", flags, rdata.data[2], rdata.data[3]);
	print_base64((knot_bytes_t){ rdata.data + HEAD_LEN, rdata.len - HEAD_LEN }, out);
	fprintf(out, "%s)", indent);
	if (dnssec_key_from_rdata(rdata, &key) == KNOT_OK) {
		fprintf(out, " ; %s, %s (%ub), id = %u", (flags & DNSSEC_FLAG_SEP) != 0 ? "KSK" : "ZSK",
				dnssec_key_algorithm_row(key)->name, dnssec_key_bits(key), dnssec_key_tag(key));
		dnssec_key_free(key);
	}
	fputc('\n', out);
}

static void print_ds(knot_bytes_t rdata, FILE *out)
{
	enum { HEAD_LEN = 4 };
	const knot_bytes_t digest = { rdata.data + HEAD_LEN, rdata.len - HEAD_LEN };
	char *text = malloc(KNOT_HEX_LEN(digest.len));
	fprintf(out, "%u %u %u (\n", load_be16(rdata.data), rdata.data[2], rdata.data[3]);
	if (text != NULL) {
		print_lines(text, knot_hex_print(digest, KNOT_HEX_UPPER, text), out);
	}
	free(text);
	fprintf(out, "%s)\n", indent);
}

static void print_rrsig(knot_bytes_t rdata, FILE *out)
{
	enum { EXPIRES_AT = 8, BEGINS_AT = 12, TAG_AT = 16, SIGNER_AT = 18 };
	char type[KNOT_TYPE_TEXT_MAX], expires[TIME_TEXT_MAX], begins[TIME_TEXT_MAX], signer[KNOT_NAME_TEXT_MAX];
	knot_name_t name = knot_name_of(rdata.data + SIGNER_AT);
	size_t head_len = SIGNER_AT + name.len;
	(void)knot_rrtype_print(load_be16(rdata.data), type);
	(void)knot_name_print(name, signer);
	print_time(load_be32(rdata.data + EXPIRES_AT), "%Y%m%d%H%M%S", expires);
	print_time(load_be32(rdata.data + BEGINS_AT), "%Y%m%d%H%M%S", begins);
	fprintf(out, "%s %u %u %u %s (\n%s%s %u %s\n", type, rdata.data[2], rdata.data[3],
			load_be32(rdata.data + RRSIG_TTL_AT), expires, indent, begins, load_be16(rdata.data + TAG_AT),
			signer);
	print_base64((knot_bytes_t){ rdata.data + head_len, rdata.len - head_len }, out);
	fprintf(out, "%s)\n", indent);
}

void kasp_offline_print(const char *head, uint64_t when_s, const kasp_offline_t *offline, knot_name_t zone, FILE *out)
{
	static void (*const printers[KASP_OFFLINE_SETS])(knot_bytes_t rdata, FILE * out) = {
		[KASP_OFFLINE_DNSKEY] = print_dnskey,
		[KASP_OFFLINE_CDNSKEY] = print_dnskey,
		[KASP_OFFLINE_CDS] = print_ds,
		[KASP_OFFLINE_RRSIG] = print_rrsig,
	};
	char date[TIME_TEXT_MAX], owner[KNOT_NAME_TEXT_MAX], type[KNOT_TYPE_TEXT_MAX];
	print_time(when_s, "%Y-%m-%dT%H:%M:%SZ", date);
	(void)knot_name_print(zone, owner);
	fprintf(out, "%s%" PRIu64 " (%s) =========\n", head, when_s, date);
	for (unsigned i = 0; i < KASP_OFFLINE_SETS; i++) {
		(void)knot_rrtype_print(kasp_offline_type(i), type);
		for (size_t j = 0; j < offline->sets[i].count; j++) {
			const kasp_offline_rr_t *rr = &offline->sets[i].rrs[j];
			/* Signatures have the TTL of what they cover (RFC 4034 3); some databases don't have it. */
			uint32_t ttl = i == KASP_OFFLINE_RRSIG ? load_be32(rr->rdata.data + RRSIG_TTL_AT) : rr->ttl;
			fprintf(out, "%-20s\t%u %s ", owner, ttl, type);
			printers[i](rr->rdata, out);
		}
	}
}

void kasp_offline_print_end(const char *head, uint64_t now_s, const char *program, FILE *out)
{
	char date[TIME_TEXT_MAX];
	print_time(now_s, "%Y-%m-%dT%H:%M:%SZ", date);
	fprintf(out, "%sgenerated at %s by %s\n", head, date, program);
}

/* ---- Reading ---- */

/* A file on its way. */
typedef struct {
	knot_str_t rest; /* lines that aren't read yet */
	uint64_t line;   /* number of the first of them */
	const char *keyword;
	knot_name_t zone;
	kasp_offline_file_t *file;
	knot_err_t err;      /* of the section that is read */
	uint64_t fault_line; /* within it; 0: none */
} parse_t;

static knot_str_t parse_line(knot_str_t rest)
{
	const char *end = memchr(rest.data, '\n', rest.len);
	return (knot_str_t){ rest.data, end != NULL ? (size_t)(end - rest.data) + 1 : rest.len };
}

static void parse_skip(parse_t *parse, knot_str_t line)
{
	parse->rest.data += line.len;
	parse->rest.len -= line.len;
	parse->line++;
}

/* The next word of a line; empty: there is none. */
static knot_str_t parse_word(knot_str_t *line)
{
	while (line->len > 0 && (*line->data == ' ' || *line->data == '\t')) {
		line->data++;
		line->len--;
	}
	knot_str_t word = { line->data, 0 };
	while (word.len < line->len && memchr(" \t\r\n", line->data[word.len], 4) == NULL) {
		word.len++;
	}
	line->data += word.len;
	line->len -= word.len;
	return word;
}

/* True if the line begins with ";; <keyword> <version>"; what is behind stays in *line. */
static bool parse_head(const parse_t *parse, knot_str_t *line)
{
	return knot_str_eq(parse_word(line), KNOT_STR(";;")) &&
	       knot_str_eq(parse_word(line), knot_str_of(parse->keyword)) && parse_word(line).len > 0;
}

static bool is_number(knot_str_t word)
{
	for (size_t i = 0; i < word.len; i++) {
		if (word.data[i] < '0' || word.data[i] > '9') {
			return false;
		}
	}
	return word.len > 0;
}

/* YYYYMMDDhhmmss as a number. False: there is no such time, or it is before 1970. */
static bool parse_date(uint64_t number, uint64_t *ret_s)
{
	const struct tm utc = { .tm_sec = (int)(number % 100),
		.tm_min = (int)(number / 100 % 100),
		.tm_hour = (int)(number / 10000 % 100),
		.tm_mday = (int)(number / 1000000 % 100),
		.tm_mon = (int)(number / 100000000 % 100) - 1,
		.tm_year = (int)(number / 10000000000) - 1900 };
	struct tm same = utc;
	time_t when = timegm(&same); /* a day that there isn't becomes another one */
	*ret_s = (uint64_t)when;
	return when >= 0 && same.tm_sec == utc.tm_sec && same.tm_min == utc.tm_min && same.tm_hour == utc.tm_hour &&
	       same.tm_mday == utc.tm_mday && same.tm_mon == utc.tm_mon && same.tm_year == utc.tm_year;
}

/* Seconds since 1970, or YYYYMMDDhhmmss, which has more digits than any number of seconds. What signatures can't say
 * (RFC 4034 3.1.5) is none. */
static bool parse_time(knot_str_t word, uint64_t *ret_s)
{
	enum { DATE_LEN = 14 };
	uint64_t number = 0;
	if (!is_number(word) || word.len > DATE_LEN) {
		return false;
	}
	for (size_t i = 0; i < word.len; i++) {
		number = number * 10 + (uint64_t)(word.data[i] - '0');
	}
	*ret_s = number;
	return (word.len != DATE_LEN || parse_date(number, ret_s)) && *ret_s <= UINT32_MAX;
}

static bool parse_record(const knot_zone_record_t *record, void *ctx)
{
	parse_t *parse = ctx;
	kasp_offline_section_t *section = &parse->file->sections[parse->file->count - 1];
	uint8_t lower[KNOT_NAME_MAX];
	knot_name_lower(record->owner, lower);
	if (!knot_name_eq(knot_name_of(lower), parse->zone)) {
		return true;
	}
	parse->err = kasp_offline_add(&section->records, record->type, record->ttl, record->rdata);
	if (parse->err == KNOT_ENOTSUP) {
		parse->err = KNOT_EMALF;
		parse->fault_line = record->line;
	}
	return parse->err == KNOT_OK;
}

static bool parse_fault(const knot_zone_fault_t *fault, void *ctx)
{
	parse_t *parse = ctx;
	parse->err = KNOT_EMALF;
	parse->fault_line = fault->line;
	return false;
}

/* The lines up to the next head. */
static knot_str_t parse_body(parse_t *parse)
{
	knot_str_t body = { parse->rest.data, 0 };
	while (parse->rest.len > 0) {
		knot_str_t line = parse_line(parse->rest), words = line;
		if (parse_head(parse, &words)) {
			break;
		}
		body.len += line.len;
		parse_skip(parse, line);
	}
	return body;
}

static knot_err_t parse_section(parse_t *parse, uint64_t when_s)
{
	enum { DEFAULT_TTL_S = 3600 };
	kasp_offline_file_t *file = parse->file;
	bool is_behind = file->count == 0 || file->sections[file->count - 1].when_s < when_s;
	kasp_offline_section_t *sections = realloc(file->sections, (file->count + 1) * sizeof(*sections));
	if (sections == NULL || !is_behind) {
		file->sections = sections != NULL ? sections : file->sections;
		return is_behind ? KNOT_ENOMEM : KNOT_EMALF;
	}
	file->sections = sections;
	sections[file->count++] = (kasp_offline_section_t){ .when_s = when_s };
	uint64_t first = parse->line;
	knot_str_t body = parse_body(parse);
	const knot_zonefile_params_t scan = { .origin = parse->zone,
		.default_ttl = DEFAULT_TTL_S,
		.refuses_includes = true, /* it comes from another machine */
		.on_record = parse_record,
		.on_fault = parse_fault,
		.ctx = parse };
	parse->err = KNOT_OK;
	knot_err_t err = knot_zonefile_scan_text(body, "", &scan);
	err = parse->err != KNOT_OK ? parse->err : err;
	if (err != KNOT_OK && parse->fault_line > 0) {
		parse->line = first + parse->fault_line - 1;
	}
	return err == KNOT_EPARSEFAIL ? KNOT_EMALF : err;
}

/* *ret_is_whole: the last line was read. */
static knot_err_t parse_next(parse_t *parse, bool *ret_is_whole)
{
	knot_str_t line = parse_line(parse->rest), words = line;
	uint64_t when_s;
	if (!parse_head(parse, &words)) {
		/* Comments and empty lines may stand before the first section. */
		bool is_nothing = line.data[0] == ';' || line.data[0] == '\n' || line.data[0] == '\r';
		if (is_nothing) {
			parse_skip(parse, line);
		}
		return is_nothing ? KNOT_OK : KNOT_EMALF;
	}
	knot_str_t word = parse_word(&words);
	if (word.len > 0 && word.data[0] >= '0' && word.data[0] <= '9') {
		if (!parse_time(word, &when_s)) {
			return KNOT_EMALF;
		}
		parse_skip(parse, line);
		return parse_section(parse, when_s);
	}
	parse_skip(parse, line);
	*ret_is_whole = true;
	return KNOT_OK;
}

/* What stands behind the last line, as of a mail, isn't read; but sections there would be lost without a word. */
static knot_err_t parse_end(parse_t *parse)
{
	while (parse->rest.len > 0) {
		knot_str_t line = parse_line(parse->rest), words = line;
		if (parse_head(parse, &words)) {
			return KNOT_EMALF;
		}
		parse_skip(parse, line);
	}
	return KNOT_OK;
}

knot_err_t kasp_offline_parse(knot_str_t text, const char *keyword, knot_name_t zone, kasp_offline_file_t *ret_file,
		uint64_t *ret_line)
{
	kasp_offline_file_t file = { .count = 0 };
	parse_t parse = { .rest = text, .line = 1, .keyword = keyword, .zone = zone, .file = &file };
	knot_err_t err = KNOT_OK;
	bool is_whole = false;
	while (err == KNOT_OK && !is_whole && parse.rest.len > 0) {
		err = parse_next(&parse, &is_whole);
	}
	err = err == KNOT_OK && !is_whole ? KNOT_EMALF : err;
	err = err == KNOT_OK ? parse_end(&parse) : err;
	if (err != KNOT_OK) {
		*ret_line = parse.line;
		kasp_offline_file_done(&file);
		return err;
	}
	*ret_file = file;
	return KNOT_OK;
}

void kasp_offline_file_done(kasp_offline_file_t *file)
{
	for (size_t i = 0; i < file->count; i++) {
		kasp_offline_done(&file->sections[i].records);
	}
	free(file->sections);
	*file = (kasp_offline_file_t){ .count = 0 };
}
