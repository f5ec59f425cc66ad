/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Input is read into a block that grows only for a record that does not fit. The lexer never sees the end of a block
 * as the end of the input: a record that touches it is started again after the block was refilled. So no part of
 * the scanner has to be able to stop and go on in the middle, and a record costs one pass but for one per block.
 */
#include "libknot/text/zonefile.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libknot/text/rdata_scan.h"

enum {
	BLOCK_SIZE = 256 * 1024, /* half a second-level cache: what is read is still there when it is scanned */
	RECORD_MAX = 16 * 1024 *
		     1024, /* bytes of text; 65535 bytes of RDATA need 262 KiB as \DDD, the rest is room for comments */
	INCLUDE_DEPTH_MAX = 16, /* files within files; bounds loops, and memory to as many blocks */
	RDATA_SIZE = 2048,    /* bytes of RDATA that a scan starts with: most zones are small, and nearly all records */
	NEAR_MAX = 48,        /* bytes of an offending token that are shown */
	INCLUDES_MAX = 10000, /* files of one scan: levels of them multiply, so that depth alone bounds nothing */
	LINES_PER_LOOK = 4096, /* records between two looks at `should_stop`: a millisecond or so */
};

/* Path of a file of this scan; records and faults point to it until the scan ends. */
typedef struct file_name {
	struct file_name *next;
	char text[];
} file_name_t;

/*
 * TTL, class and type as they were spelt between an owner and the RDATA, a blank behind them: the few spellings of a
 * file come again and again, and the same bytes say the same.
 */
typedef struct {
	uint64_t text[2], mask[2]; /* HEADER_MAX bytes; mask: all ones where there is text */
	const knot_rrdesc_t *row;
	uint32_t ttl;
	uint16_t type;
	uint8_t len; /* 0: empty */
	bool has_ttl;
} header_t;

enum { HEADERS = 8, HEADER_MAX = 16 };

/* What all files of a scan share. */
typedef struct {
	const knot_zonefile_params_t *params;
	rdata_scanner_t rdata;
	header_t headers[HEADERS];
	unsigned next_header; /* that is forgotten next */
	uint64_t owner_count; /* owners that had a number */
	file_name_t *file_names;
	unsigned depth;
	unsigned include_count;
	unsigned lines_left; /* until `should_stop` is asked again */
	bool is_stopped;     /* by a callback */
	bool has_faults;
	uint8_t *large_rdata; /* KNOT_RDATA_MAX bytes, once a record needs more than `rdata_bytes`; else NULL */
	uint8_t rdata_bytes[RDATA_SIZE];
} scan_t;

/* One file, or one text in memory. */
typedef struct {
	scan_t *scan;
	const char *path;
	lexer_t lex;
	int fd;                   /* -1: text in memory */
	uint64_t size, read_size; /* of a regular file when it was opened (0: unknown), and what was read of it */
	char *block;              /* owned; NULL for text in memory */
	size_t block_size;
	knot_err_t read_error;
	uint32_t ttl;           /* of records that name none */
	bool is_owner_known;    /* false after an owner that was a fault */
	const char *record_pos; /* where the record at hand starts, and its line */
	uint64_t record_line;
	knot_name_t origin, owner;
	uint8_t origin_wire[KNOT_NAME_MAX], owner_wire[KNOT_NAME_MAX];
	uint64_t owner_id;
	size_t owner_text_len;          /* 0: none remembered */
	char owner_text[KNOT_NAME_MAX]; /* spelling of `owner`: the same again needs no second look */
} input_t;

/* ---- faults ---- */

/* Appends at most NEAR_MAX bytes of a token, printable. */
static void print_near(char *text, size_t max, const token_t *tok)
{
	size_t len = strlen(text), count = tok->len < NEAR_MAX ? tok->len : NEAR_MAX;
	len += (size_t)snprintf(text + len, max - len, ", near '");
	for (size_t i = 0; i < count && len + 5 < max; i++) {
		uint8_t c = (uint8_t)tok->data[i];
		len += (size_t)snprintf(text + len, max - len, c >= ' ' && c <= '~' ? "%c" : "\\%03u", c);
	}
	snprintf(text + len, max - len, "%s'", tok->len > count ? "..." : "");
}

static void put_path(char *ret, size_t max, const char *path)
{
	size_t len = strlen(path);
	if (len < max) {
		memcpy(ret, path, len + 1);
	} else {
		snprintf(ret, max, "...%s", path + (len - (max - 4)));
	}
}

/* A token that says something: not the end of a line, which needs no showing. */
static bool has_text(const input_t *in, const token_t *tok)
{
	if (tok == NULL || tok->len == 0 || tok->kind == TOKEN_EOL) {
		return false;
	}
	bool is_crlf = tok->data[0] == '\r' && tok->data + 1 < in->lex.end && tok->data[1] == '\n';
	return tok->data[0] != '\n' && !is_crlf;
}

/* Parentheses that are open since an earlier line are where the mistake may be. */
static void print_open(const input_t *in, uint64_t line, char *text, size_t max)
{
	size_t len = strlen(text);
	if (in->lex.is_open && in->lex.open_line < line) {
		snprintf(text + len, max - len, ", in the parentheses opened in line %llu",
				(unsigned long long)in->lex.open_line);
	}
}

/* Reports one fault; `what` and `tok` may be NULL. */
static void zonefile_report_fault(
		input_t *in, uint64_t line, knot_err_t err, const char *reason, const char *what, const token_t *tok)
{
	knot_zone_fault_t fault = { .err = err, .line = line };
	put_path(fault.file, sizeof(fault.file), in->path);
	bool has_what = what != NULL && strstr(reason, what) == NULL; /* not "invalid IPv4 address in address" */
	snprintf(fault.reason, sizeof(fault.reason), "%s%s%s", reason, has_what ? " in " : "", has_what ? what : "");
	if (has_text(in, tok)) {
		print_near(fault.reason, sizeof(fault.reason), tok);
		size_t len = tok->len < sizeof(fault.token) ? tok->len : 0;
		memcpy(fault.token, tok->data, len);
		fault.token[len] = '\0';
	}
	print_open(in, line, fault.reason, sizeof(fault.reason));
	in->scan->has_faults = true;
	if (!in->scan->params->on_fault(&fault, in->scan->params->ctx)) {
		in->scan->is_stopped = true;
	}
}

/* Reports what stopped the scanner at the current token. */
static scan_status_t report_here(input_t *in, const char *reason)
{
	zonefile_report_fault(in, in->lex.line, KNOT_EPARSEFAIL, reason, NULL, &in->scan->rdata.tok);
	return SCAN_FAULT;
}

/* ---- input ---- */

/* Reads until the block is full or the input ends. */
static void zonefile_fill_buffer(input_t *in, size_t len)
{
	while (len < in->block_size && !in->lex.is_final) {
		ssize_t count = read(in->fd, in->block + len, in->block_size - len);
		if (count < 0 && errno == EINTR) {
			continue;
		}
		if (count < 0) {
			in->read_error = knot_err_of_errno(errno);
		}
		if (count <= 0) {
			in->lex.is_final = true;
			break;
		}
		in->read_size += (size_t)count;
		len += (size_t)count;
		/* All there was and less than asked for: no need to ask once more for the end. */
		in->lex.is_final = in->size > 0 && in->read_size >= in->size && len < in->block_size;
	}
	in->lex.end = in->block + len;
}

/* Keeps the bytes from `from` and reads more behind them. KNOT_ESPACE: they are too many. KNOT_ENOMEM. Then nothing
 * moved. */
static knot_err_t refill(input_t *in, const char *from)
{
	size_t kept = (size_t)(in->lex.end - from);
	size_t pos = (size_t)(in->lex.pos - from);
	if (from == in->block && kept == in->block_size) {
		char *block = in->block_size < RECORD_MAX ? realloc(in->block, in->block_size * 2) : NULL;
		if (block == NULL) {
			return in->block_size < RECORD_MAX ? KNOT_ENOMEM : KNOT_ESPACE;
		}
		in->block = block;
		in->block_size *= 2;
	} else {
		memmove(in->block, from, kept);
	}
	in->lex.pos = in->block + pos;
	zonefile_fill_buffer(in, kept);
	return KNOT_OK;
}

/* Skips to the next line by newlines alone, whatever the record looks like. */
static void skip_line(input_t *in)
{
	while (!lexer_skip_line(&in->lex) && !in->lex.is_final) {
		(void)refill(in, in->lex.pos);
	}
}

/* After a fault: skips the rest of the record. Its quotes and parentheses count, unless they are the fault. */
static void skip_record(input_t *in)
{
	token_t *tok = &in->scan->rdata.tok;
	while (tok->kind != TOKEN_EOL) {
		if (tok->kind == TOKEN_FAULT || (tok->kind == TOKEN_MORE && refill(in, in->lex.pos) != KNOT_OK)) {
			skip_line(in);
			return;
		}
		lexer_next(&in->lex, tok);
	}
}

static bool is_at_end(const input_t *in)
{
	return in->lex.is_final && in->lex.pos == in->lex.end;
}

/* ---- directives ---- */

static scan_status_t scan_file(scan_t *scan, const char *path, knot_name_t origin, uint32_t ttl, knot_err_t *ret_err);

/* Next token of a directive: a word or a quoted text; `reason` is reported if there is none. */
static scan_status_t directive_token(input_t *in, const char *reason)
{
	token_t *tok = &in->scan->rdata.tok;
	lexer_next(&in->lex, tok);
	if (tok->kind == TOKEN_MORE) {
		return SCAN_MORE;
	}
	if (tok->kind == TOKEN_FAULT) {
		return report_here(in, in->lex.reason);
	}
	if (reason != NULL && tok->kind == TOKEN_EOL) {
		zonefile_report_fault(in, in->record_line, KNOT_EPARSEFAIL, reason, NULL, NULL);
		return SCAN_FAULT;
	}
	return SCAN_OK;
}

static scan_status_t directive_end(input_t *in)
{
	scan_status_t status = directive_token(in, NULL);
	if (status == SCAN_OK && in->scan->rdata.tok.kind != TOKEN_EOL) {
		return report_here(in, "unexpected data");
	}
	return status;
}

static scan_status_t scan_origin(input_t *in)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
	scan_status_t status = directive_token(in, "invalid origin");
	if (status != SCAN_OK) {
		return status;
	}
	const char *reason = scan_name(&in->scan->rdata.tok, in->origin, wire, &name);
	if (reason != NULL) {
		return report_here(in, reason);
	}
	status = directive_end(in);
	if (status == SCAN_OK) {
		memcpy(in->origin_wire, wire, name.len);
		in->origin = (knot_name_t){ in->origin_wire, name.len, name.label_count };
		in->owner_text_len = 0;
	}
	return status;
}

static scan_status_t scan_ttl(input_t *in)
{
	uint32_t ttl;
	scan_status_t status = directive_token(in, "invalid zone TTL");
	if (status != SCAN_OK) {
		return status;
	}
	const token_t *tok = &in->scan->rdata.tok;
	const char *reason = tok->kind == TOKEN_WORD ? scan_period(tok->data, tok->len, &ttl) : "invalid zone TTL";
	if (reason != NULL) {
		return report_here(in, reason);
	}
	status = directive_end(in);
	if (status == SCAN_OK) {
		in->ttl = ttl;
	}
	return status;
}

/* Path of an included file: relative to the folder of the including one. NULL: no memory. */
static const char *join_path(input_t *in, knot_str_t name)
{
	const char *slash = strrchr(in->path, '/');
	size_t folder_len = name.data[0] != '/' && slash != NULL ? (size_t)(slash - in->path) + 1 : 0;
	file_name_t *file = malloc(sizeof(*file) + folder_len + name.len + 1);
	if (file == NULL) {
		return NULL;
	}
	memcpy(file->text, in->path, folder_len);
	memcpy(file->text + folder_len, name.data, name.len);
	file->text[folder_len + name.len] = '\0';
	file->next = in->scan->file_names;
	in->scan->file_names = file;
	return file->text;
}

/* RFC 1035 5.1: $INCLUDE file [origin]. Nothing of the included file's state is seen by the including one. */
static scan_status_t scan_include(input_t *in)
{
	uint8_t name[4096], wire[KNOT_NAME_MAX];
	size_t name_len = 0;
	knot_name_t origin = in->origin;
	if (in->scan->params->refuses_includes) {
		return report_here(in, "no files are included here");
	}
	scan_status_t status = directive_token(in, "missing file name");
	if (status != SCAN_OK) {
		return status;
	}
	token_t *tok = &in->scan->rdata.tok;
	const char *reason = scan_text(tok->data, tok->len, name, sizeof(name) - 1, &name_len);
	if (reason == NULL && (name_len == 0 || memchr(name, '\0', name_len) != NULL)) {
		reason = "invalid file name";
	}
	if (reason != NULL) {
		return report_here(in, reason);
	}
	status = directive_token(in, NULL);
	if (status == SCAN_OK && tok->kind != TOKEN_EOL) {
		reason = scan_name(tok, in->origin, wire, &origin);
		if (reason != NULL) {
			return report_here(in, reason);
		}
		status = directive_end(in);
	}
	if (status != SCAN_OK) {
		return status;
	}
	if (in->scan->depth == INCLUDE_DEPTH_MAX) {
		zonefile_report_fault(in, in->record_line, KNOT_ELOOP, "too many files included within each other",
				NULL, NULL);
		return SCAN_OK;
	}
	if (in->scan->include_count == INCLUDES_MAX) {
		zonefile_report_fault(in, in->record_line, KNOT_ELOOP, "more than 10000 files included", NULL, NULL);
		in->scan->is_stopped = true; /* those that follow have nothing new to say */
		return SCAN_OK;
	}
	_Static_assert(INCLUDES_MAX == 10000, "as the reason says");
	in->scan->include_count++;
	knot_err_t err = KNOT_ENOMEM;
	const char *path = join_path(in, (knot_str_t){ (const char *)name, name_len });
	uint64_t line = in->record_line;
	if (path == NULL || scan_file(in->scan, path, origin, in->ttl, &err) != SCAN_OK) {
		char text[160];
		snprintf(text, sizeof(text), "cannot include file, %s", knot_strerror(err));
		token_t near = { .data = (const char *)name, .len = name_len, .kind = TOKEN_WORD };
		zonefile_report_fault(in, line, KNOT_EFILE, text, NULL, &near);
	}
	return SCAN_OK;
}

static const struct {
	knot_str_t name;
	scan_status_t (*scan)(input_t *in);
} directives[] = {
	{ { "$ORIGIN", 7 }, scan_origin },
	{ { "$TTL", 4 }, scan_ttl },
	{ { "$INCLUDE", 8 }, scan_include },
};

static bool is_directive(const token_t *tok, knot_str_t name)
{
	if (tok->len != name.len) {
		return false;
	}
	for (size_t i = 1; i < name.len; i++) {
		if ((tok->data[i] & (char)~0x20) != name.data[i]) {
			return false;
		}
	}
	return true;
}

static scan_status_t scan_directive(input_t *in)
{
	for (size_t i = 0; i < KNOT_LEN(directives); i++) {
		if (is_directive(&in->scan->rdata.tok, directives[i].name)) {
			return directives[i].scan(in);
		}
	}
	bool is_generate = is_directive(&in->scan->rdata.tok, KNOT_STR("$GENERATE")); /* BIND's own */
	return report_here(in, is_generate ? "invalid directive, $GENERATE isn't supported" : "invalid directive");
}

/* ---- records ---- */

static scan_status_t scan_owner(input_t *in, const token_t *tok)
{
	if (tok->len == in->owner_text_len && tok->kind == TOKEN_WORD &&
			memcmp(tok->data, in->owner_text, tok->len) == 0) {
		return SCAN_OK;
	}
	in->owner_text_len = 0;
	in->is_owner_known = false;
	const char *reason = scan_name(tok, in->origin, in->owner_wire, &in->owner);
	if (reason != NULL) {
		return report_here(in, reason);
	}
	in->is_owner_known = true;
	in->owner_id = ++in->scan->owner_count;
	if (tok->len <= sizeof(in->owner_text)) {
		memcpy(in->owner_text, tok->data, tok->len);
		in->owner_text_len = tok->len;
	}
	return SCAN_OK;
}

/* The owner before this line's, spelt the same: no second look. */
static inline bool skip_same_owner(input_t *in)
{
	const char *p = in->lex.pos;
	size_t len = in->owner_text_len;
	if (len == 0 || (size_t)(in->lex.end - p) <= len || (p[len] != ' ' && p[len] != '\t') ||
			memcmp(p, in->owner_text, len) != 0) {
		return false;
	}
	in->lex.pos = p + len;
	return true;
}

/* What stands between owner and RDATA, if it was spelt like this before. */
static inline const header_t *known_header(const input_t *in)
{
	if (in->lex.end - in->lex.pos < HEADER_MAX) {
		return NULL;
	}
	uint64_t text[2];
	memcpy(text, in->lex.pos, HEADER_MAX);
	const header_t *headers = in->scan->headers;
	for (unsigned i = 0; i < HEADERS; i++) {
		const header_t *h = &headers[i];
		if ((((text[0] ^ h->text[0]) & h->mask[0]) | ((text[1] ^ h->text[1]) & h->mask[1])) == 0) {
			return h->len > 0 ? h : NULL;
		}
	}
	return NULL;
}

/* Remembers a header that was spelt from `start` (NULL: unknown) to where the lexer stands, on one line. */
static void remember_header(input_t *in, const char *start, const knot_zone_record_t *record, bool has_ttl)
{
	size_t len = start != NULL ? (size_t)(in->lex.pos - start) + 1 : SIZE_MAX;
	char_kind_t behind = lexer_kind_at(&in->lex, in->lex.pos);
	if (len > HEADER_MAX || behind != CHAR_BLANK || in->lex.is_open || in->lex.line != in->record_line) {
		return;
	}
	scan_t *scan = in->scan;
	header_t *h = &scan->headers[scan->next_header];
	scan->next_header = (scan->next_header + 1) % HEADERS;
	*h = (header_t){ .row = knot_rrdesc(record->type),
		.ttl = record->ttl,
		.type = record->type,
		.len = (uint8_t)len,
		.has_ttl = has_ttl };
	memcpy(h->text, start, len);
	memset(h->mask, 0xFF, len);
}

/* [TTL] [class] type in any order of the first two (RFC 1035 5.1); the current token is the first of them. */
static scan_status_t scan_header(input_t *in, const char *start, knot_zone_record_t *record)
{
	token_t *tok = &in->scan->rdata.tok;
	bool has_ttl = false, has_class = false;
	for (;; lexer_next(&in->lex, tok)) {
		if (tok->kind == TOKEN_MORE) {
			return SCAN_MORE;
		}
		if (tok->kind == TOKEN_FAULT) {
			return report_here(in, in->lex.reason);
		}
		if (tok->kind == TOKEN_EOL) {
			zonefile_report_fault(in, in->record_line, KNOT_EPARSEFAIL, "missing record type", NULL, NULL);
			return SCAN_FAULT;
		}
		if (tok->kind == TOKEN_WORD && !has_ttl && (uint8_t)(tok->data[0] - '0') < 10) {
			const char *reason = scan_period(tok->data, tok->len, &record->ttl);
			if (reason != NULL) {
				return report_here(in, reason);
			}
			has_ttl = true;
			continue;
		}
		if (tok->kind == TOKEN_WORD && !has_class && tok->len == 2 && (tok->data[0] & ~0x20) == 'I' &&
				(tok->data[1] & ~0x20) == 'N') {
			has_class = true;
			continue;
		}
		if (rdata_scan_type(&in->scan->rdata, tok, &record->type)) {
			remember_header(in, start, record, has_ttl);
			return SCAN_OK;
		}
		uint16_t rrclass;
		if (tok->kind != TOKEN_WORD || has_class ||
				knot_rrclass_scan((knot_str_t){ tok->data, tok->len }, &rrclass) != KNOT_OK) {
			return report_here(in, "unsupported record type");
		}
		if (rrclass != KNOT_CLASS_IN) {
			return report_here(in, "unsupported class");
		}
		has_class = true;
	}
}

static void zonefile_emit_record(input_t *in, knot_zone_record_t *record)
{
	const rdata_scanner_t *rdata = &in->scan->rdata;
	record->owner = in->owner;
	record->owner_id = in->owner_id;
	record->rrclass = KNOT_CLASS_IN;
	record->rdata = (knot_bytes_t){ rdata->out, rdata->len };
	record->file = in->path;
	record->line = in->record_line;
	if (record->type == KNOT_TYPE_RRSIG) {
		record->ttl = load_be32(rdata->out + 4); /* RFC 4034 3: that of the covered RRset; Knot does so too */
	}
	if (!in->scan->params->on_record(record, in->scan->params->ctx)) {
		in->scan->is_stopped = true;
	}
}

typedef enum {
	START_DONE,   /* a directive or a blank line, or the status isn't SCAN_OK */
	START_HEADER, /* the lexer stands before what follows the owner, as spelt or missing */
	START_TOKEN,  /* the current token is the first of what follows a missing owner */
} start_t;

/* What begins a line: the owner, or all of a directive. */
static scan_status_t scan_start(input_t *in, start_t *ret_start)
{
	token_t *tok = &in->scan->rdata.tok;
	char_kind_t first = lexer_kind_at(&in->lex, in->lex.pos);
	bool has_owner = first == CHAR_WORD || first == CHAR_ESCAPE || first == CHAR_QUOTE;
	const char *start = in->lex.pos;
	lexer_next(&in->lex, tok);
	*ret_start = START_DONE;
	if (tok->kind == TOKEN_EOL) {
		return SCAN_OK;
	}
	if (tok->kind == TOKEN_MORE) {
		return SCAN_MORE;
	}
	if (tok->kind == TOKEN_FAULT) {
		return report_here(in, in->lex.reason);
	}
	if (has_owner && tok->kind == TOKEN_WORD && tok->data[0] == '$') {
		return scan_directive(in);
	}
	if (has_owner && scan_owner(in, tok) != SCAN_OK) {
		return SCAN_FAULT;
	}
	if (!has_owner && !in->is_owner_known) {
		return report_here(in, "previous owner is invalid");
	}
	*ret_start = START_HEADER;
	if (!has_owner && !in->lex.is_open && in->lex.line == in->record_line) {
		in->lex.pos = start; /* nothing is lost by reading it again, as part of a known header */
	} else if (!has_owner) {
		*ret_start = START_TOKEN;
	}
	return SCAN_OK;
}

/* TTL, class and type; `start` says what was read so far. */
static scan_status_t scan_middle(input_t *in, start_t start, knot_zone_record_t *record, const knot_rrdesc_t **ret_row)
{
	const header_t *header = start == START_HEADER ? known_header(in) : NULL;
	if (header != NULL) {
		in->lex.pos += header->len;
		record->ttl = header->has_ttl ? header->ttl : in->ttl;
		record->type = header->type;
		*ret_row = header->row;
		return SCAN_OK;
	}
	const char *begin = start == START_HEADER ? in->lex.pos : NULL;
	record->ttl = in->ttl;
	if (start == START_HEADER) {
		lexer_next(&in->lex, &in->scan->rdata.tok);
	}
	scan_status_t status = scan_header(in, begin, record);
	*ret_row = knot_rrdesc(record->type);
	return status;
}

/* A record has more RDATA than there is room for: make all that one can have. False: there is, or no memory. */
static bool enlarge_rdata(scan_t *scan)
{
	if (scan->large_rdata != NULL) {
		return false;
	}
	scan->large_rdata = malloc(KNOT_RDATA_MAX);
	if (scan->large_rdata != NULL) {
		scan->rdata.out = scan->large_rdata;
		scan->rdata.max = KNOT_RDATA_MAX;
	}
	return scan->large_rdata != NULL;
}

static void rewind_record(input_t *in)
{
	in->lex.pos = in->record_pos;
	in->lex.line = in->record_line;
	in->lex.is_open = false;
}

/* The record at the lexer, or a directive or blank line. After SCAN_OK the lexer stands where the next is, or the same
 * again. */
static scan_status_t scan_record(input_t *in)
{
	rdata_scanner_t *rdata = &in->scan->rdata;
	token_t *tok = &rdata->tok;
	start_t start = START_HEADER;
	scan_status_t status = skip_same_owner(in) ? SCAN_OK : scan_start(in, &start);
	if (status != SCAN_OK || start == START_DONE) {
		return status;
	}
	knot_zone_record_t record = { 0 };
	const knot_rrdesc_t *row;
	status = scan_middle(in, start, &record, &row);
	if (status != SCAN_OK) {
		return status;
	}
	rdata->origin = in->origin;
	status = rdata_scan_record(rdata, row, record.type);
	if (status == SCAN_FAULT && rdata->is_full && enlarge_rdata(in->scan)) {
		rewind_record(in);
		return SCAN_OK;
	}
	if (status == SCAN_FAULT) {
		uint64_t line = tok->kind == TOKEN_EOL ? in->record_line : in->lex.line;
		zonefile_report_fault(in, line, KNOT_EPARSEFAIL, rdata->reason, rdata->what, tok);
	} else if (status == SCAN_OK) {
		zonefile_emit_record(in, &record);
	}
	return status;
}

/* The record at hand reaches over the end of the block: gets more of it and has it started again, or gives it up. */
static void restart_record(input_t *in)
{
	knot_err_t err = refill(in, in->record_pos);
	if (err == KNOT_OK) {
		in->record_pos = in->block;
		rewind_record(in);
		return;
	}
	zonefile_report_fault(in, in->record_line, err, err == KNOT_ESPACE ? "record is too long" : knot_strerror(err),
			NULL, NULL);
	skip_record(in); /* from where the lexer stands, so that its parentheses still count */
}

/* Asks now and then whether to go on at all. */
static bool is_stopped(scan_t *scan)
{
	const knot_zonefile_params_t *params = scan->params;
	if (scan->lines_left-- == 0) {
		scan->lines_left = LINES_PER_LOOK;
		bool should_stop = params->should_stop != NULL && params->should_stop(params->ctx);
		scan->is_stopped = scan->is_stopped || should_stop;
	}
	return scan->is_stopped;
}

static void scan_input(input_t *in)
{
	scan_t *scan = in->scan;
	scan->depth++;
	while (!is_stopped(scan) && !is_at_end(in)) {
		in->record_pos = in->lex.pos;
		in->record_line = in->lex.line;
		scan->rdata.lex = &in->lex;
		scan_status_t status = scan_record(in);
		if (status == SCAN_FAULT && !scan->is_stopped) {
			scan->rdata.lex = &in->lex;
			skip_record(in);
		} else if (status == SCAN_MORE) {
			restart_record(in);
		}
	}
	if (in->read_error != KNOT_OK && !scan->is_stopped) {
		zonefile_report_fault(in, in->lex.line, in->read_error, knot_strerror(in->read_error), NULL, NULL);
	}
	scan->depth--;
}

static void input_init(input_t *in, scan_t *scan, const char *path, knot_name_t origin, uint32_t ttl)
{
	*in = (input_t){ .scan = scan,
		.path = path,
		.fd = -1,
		.ttl = ttl,
		.is_owner_known = true,
		.lex = { .line = 1 },
		.owner_id = ++scan->owner_count };
	memcpy(in->origin_wire, origin.wire, origin.len);
	memcpy(in->owner_wire, origin.wire, origin.len);
	in->origin = (knot_name_t){ in->origin_wire, origin.len, origin.label_count };
	in->owner = (knot_name_t){ in->owner_wire, origin.len, origin.label_count };
}

/* Opens a file for in->fd. Included files must be regular: no FIFO may hold us up. */
static knot_err_t zonefile_open_file(input_t *in, struct stat *ret_info)
{
	bool is_included = in->scan->depth > 0;
	bool is_stdin = !is_included && strcmp(in->path, "-") == 0;
	int fd = is_stdin ? STDIN_FILENO : open(in->path, O_RDONLY | O_CLOEXEC | (is_included ? O_NONBLOCK : 0));
	if (fd < 0) {
		return knot_err_of_errno(errno);
	}
	if (fstat(fd, ret_info) != 0 || S_ISDIR(ret_info->st_mode) || (is_included && !S_ISREG(ret_info->st_mode))) {
		if (!is_stdin) {
			close(fd);
		}
		return KNOT_EFILE;
	}
	in->fd = fd;
	return KNOT_OK;
}

/* How large a block a file needs. */
static size_t block_size_of(const struct stat *info)
{
	bool is_small = S_ISREG(info->st_mode) && info->st_size < BLOCK_SIZE;
	return is_small ? (size_t)info->st_size + 1 : BLOCK_SIZE; /* +1: the end is seen without growing */
}

/* SCAN_FAULT: the file can't be read at all, *ret_err says why; everything else was reported. */
static scan_status_t scan_file(scan_t *scan, const char *path, knot_name_t origin, uint32_t ttl, knot_err_t *ret_err)
{
	input_t *in = malloc(sizeof(*in));
	if (in == NULL) {
		*ret_err = KNOT_ENOMEM;
		return SCAN_FAULT;
	}
	input_init(in, scan, path, origin, ttl);
	struct stat info;
	*ret_err = zonefile_open_file(in, &info);
	if (*ret_err != KNOT_OK) {
		free(in);
		return SCAN_FAULT;
	}
	if (scan->params->on_file != NULL) {
		scan->params->on_file(path, &info, scan->params->ctx);
	}
	in->size = S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
	in->block_size = block_size_of(&info);
	in->block = malloc(in->block_size);
	if (in->block != NULL) {
		in->lex.pos = in->lex.end = in->block;
		zonefile_fill_buffer(in, 0);
		bool is_unreadable = in->read_error != KNOT_OK && in->lex.end == in->block;
		*ret_err = in->read_error;
		if (!is_unreadable) {
			scan_input(in);
			*ret_err = KNOT_OK;
		}
	} else {
		*ret_err = KNOT_ENOMEM;
	}
	if (in->fd != STDIN_FILENO || strcmp(path, "-") != 0) {
		close(in->fd);
	}
	free(in->block);
	free(in);
	return *ret_err == KNOT_OK ? SCAN_OK : SCAN_FAULT;
}

static scan_t *scan_new(const knot_zonefile_params_t *params)
{
	scan_t *scan = malloc(sizeof(*scan));
	if (scan != NULL) {
		rdata_scanner_init(&scan->rdata, NULL, scan->rdata_bytes, sizeof(scan->rdata_bytes));
		scan->large_rdata = NULL;
		memset(scan->headers, 0, sizeof(scan->headers));
		scan->next_header = 0;
		scan->owner_count = 0;
		scan->params = params;
		scan->file_names = NULL;
		scan->depth = 0;
		scan->include_count = 0;
		scan->lines_left = 0;
		scan->is_stopped = false;
		scan->has_faults = false;
	}
	return scan;
}

static knot_err_t scan_finish(scan_t *scan, knot_err_t err)
{
	if (err == KNOT_OK && scan->has_faults) {
		err = KNOT_EPARSEFAIL;
	}
	for (file_name_t *file = scan->file_names, *next; file != NULL; file = next) {
		next = file->next;
		free(file);
	}
	free(scan->large_rdata);
	free(scan);
	return err;
}

knot_err_t knot_zonefile_scan(const char *path, const knot_zonefile_params_t *params)
{
	scan_t *scan = scan_new(params);
	if (scan == NULL) {
		return KNOT_ENOMEM;
	}
	knot_err_t err;
	(void)scan_file(scan, path, params->origin, params->default_ttl, &err);
	return scan_finish(scan, err);
}

knot_err_t knot_zonefile_scan_text(knot_str_t text, const char *path, const knot_zonefile_params_t *params)
{
	scan_t *scan = scan_new(params);
	if (scan == NULL) {
		return KNOT_ENOMEM;
	}
	input_t in;
	input_init(&in, scan, path, params->origin, params->default_ttl);
	in.lex.pos = text.data;
	in.lex.end = text.data + text.len;
	in.lex.is_final = true;
	scan_input(&in);
	return scan_finish(scan, KNOT_OK);
}
