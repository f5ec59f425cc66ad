/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/control/xdp_sheet.h"

#include "xdp/bpf/abi.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef net_xdp_queue_status_t queue_status_t;

/* ---- What there is ---- */

/* A value that isn't a field; kind: of packets. */
typedef uint64_t (*value_t)(const queue_status_t *queue, kxdp_kind_t kind, bool takes_partial);

/* Where the values of a row are: exactly one of filter, value, off64, off32. */
typedef struct {
	const char *filter; /* all counters of the kernel program with names "filter" or "filter-..." */
	value_t value;
	kxdp_kind_t kind;
	size_t off64, off32; /* in queue_status_t, not 0 */
} source_t;

typedef struct {
	xdp_row_kind_t kind;
	sys_counter_kind_t counts;
	const char *group;
	const char *name; /* NULL with a filter: its counters' own; '_' is printed as '-' */
	const char *help; /* as above */
	source_t from;
} source_row_t;

/* a - b, or 0: counters are read while they move. */
static uint64_t sheet_subtract(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Packets whose frames were in order. */
static uint64_t sheet_read_taken_in(const queue_status_t *queue, kxdp_kind_t kind, bool takes_partial)
{
	const uint64_t *received = queue->stats.of[kind].received;
	return received[KXDP_OK] + (takes_partial ? received[KXDP_PARTIAL_CHECKSUM] : 0);
}

static uint64_t sheet_read_refused_partial(const queue_status_t *queue, kxdp_kind_t kind, bool takes_partial)
{
	(void)kind;
	return takes_partial ? 0 : queue->stats.received[KXDP_PARTIAL_CHECKSUM];
}

/* Replies that left, whichever way. */
static uint64_t sheet_read_answered(const queue_status_t *queue, kxdp_kind_t kind, bool takes_partial)
{
	(void)takes_partial;
	return queue->stats.of[kind].replied + queue->stats.of[kind].relayed + queue->stats.of[kind].by_kernel;
}

#define UDP_SUM(field) (queue->stats.of[KXDP_UDP4].field + queue->stats.of[KXDP_UDP6].field)
#define UDP_LOST(name, field)                                                                                          \
	static uint64_t name(const queue_status_t *queue, kxdp_kind_t kind, bool takes_partial)                        \
	{                                                                                                              \
		(void)kind, (void)takes_partial;                                                                       \
		return UDP_SUM(field);                                                                                 \
	}
UDP_LOST(sheet_read_lost_tx_full, tx_full)
UDP_LOST(sheet_read_lost_relay, relay_failed)
UDP_LOST(sheet_read_lost_kernel_limit, kernel_limited)
UDP_LOST(sheet_read_lost_kernel, kernel_failed)

/* Datagrams that get no answer: not a query, or a module says so. */
static uint64_t sheet_read_no_reply(const queue_status_t *queue, kxdp_kind_t kind, bool takes_partial)
{
	uint64_t replies = sheet_read_answered(queue, KXDP_UDP4, takes_partial) +
			   sheet_read_answered(queue, KXDP_UDP6, takes_partial) + UDP_SUM(tx_full) +
			   UDP_SUM(relay_failed) + UDP_SUM(kernel_limited) + UDP_SUM(kernel_failed);
	(void)kind;
	return sheet_subtract(sheet_read_taken_in(queue, KXDP_UDP4, takes_partial) +
					      sheet_read_taken_in(queue, KXDP_UDP6, takes_partial),
			replies);
}

/* Segments that the TCP stack had use for; those that it refused are rows of their own. */
static uint64_t sheet_read_taken_tcp(const queue_status_t *queue, kxdp_kind_t kind, bool takes_partial)
{
	(void)kind;
	const kxdp_tcp_stats_t *tcp = &queue->tcp;
	uint64_t refused = tcp->dropped_unknown + tcp->dropped_invalid + tcp->dropped_limit + tcp->dropped_inbuf;
	return sheet_subtract(sheet_read_taken_in(queue, KXDP_TCP4, takes_partial) +
					      sheet_read_taken_in(queue, KXDP_TCP6, takes_partial),
			queue->has_tcp ? refused : 0);
}

/* Frames put into the send ring. */
static uint64_t sheet_read_sent(const queue_status_t *queue, kxdp_kind_t kind, bool takes_partial)
{
	(void)takes_partial;
	return queue->stats.of[kind].replied + queue->stats.of[kind].sent;
}

#define COUNT               SYS_COUNTER_COUNT
#define LEVEL               SYS_COUNTER_LEVEL
#define BYTES               SYS_COUNTER_BYTES
#define SIZE_OF(field)      sizeof(((queue_status_t *)NULL)->field)
#define OFF_IF(field, size) (SIZE_OF(field) == (size) ? offsetof(queue_status_t, field) : 0)

/* In the order of printing. */
static const source_row_t source_rows[] = {
/* clang-format off */
#define COUNTER_QUEUE_FILTER(row_kind, group) { row_kind, COUNT, group, NULL, NULL, { .filter = group } },
#define COUNTER_QUEUE_VALUE(row_kind, group, item, function, packets, help) \
	{ row_kind, COUNT, group, item, help, { .value = sheet_read_##function, .kind = packets } },
#define COUNTER_QUEUE(row_kind, group, item, field, help) \
	{ row_kind, (row_kind) == XDP_ROW_LEVEL || SIZE_OF(field) == 4 ? LEVEL : COUNT, group, item, help, \
		{ .off64 = OFF_IF(field, 8), .off32 = OFF_IF(field, 4) } },
#define TCP_ROW(name, kind, help) \
	{ XDP_ROW_COUNT, kind, "tcp", "tcp-" #name, help, { .off64 = offsetof(queue_status_t, tcp.name) } },
#define COUNTER_QUEUE_TCP(row_kind, group) KXDP_TCP_STATS(TCP_ROW)
#include "src/sys/counters.def"
	/* clang-format on */
};
_Static_assert(KXDP_BATCH_ROWS == 8, "a row each");

/* ---- Rows of one interface ---- */

static void sheet_print_name(const char *name, char text[static XDP_SHEET_NAME_MAX])
{
	size_t len = strlen(name);
	assert(len < XDP_SHEET_NAME_MAX);
	for (size_t i = 0; i <= len; i++) {
		text[i] = name[i] == '_' ? '-' : name[i];
	}
}

/* A new row of zeros, one per queue; '_' in the name becomes '-'. NULL: no memory. */
static uint64_t *sheet_add_row(xdp_sheet_t *sheet, const source_row_t *source, const char *name, const char *help)
{
	if (sheet->row_count == sheet->row_max) {
		size_t max = 2 * sheet->row_max + 64;
		xdp_row_t *rows = realloc(sheet->rows, max * sizeof(*rows));
		sheet->failed |= rows == NULL;
		if (rows == NULL) {
			return NULL;
		}
		sheet->rows = rows;
		sheet->row_max = max;
	}
	uint64_t *values = calloc(sheet->iface->queue_count + 1, sizeof(*values));
	sheet->failed |= values == NULL;
	if (values == NULL) {
		return NULL;
	}
	xdp_row_t *row = &sheet->rows[sheet->row_count++];
	*row = (xdp_row_t){
		.kind = source->kind,
		.counts = source->counts,
		.group = source->group,
		.help = help,
		.values = values,
	};
	sheet_print_name(name, row->name);
	return values;
}

static bool sheet_is_in_group(const char *name, const char *group)
{
	size_t len = strlen(group);
	return strncmp(name, group, len) == 0 && (name[len] == '\0' || name[len] == '-');
}

/* The kernel program's counters of a group. All queues have the same rows. */
static void sheet_add_filter_rows(xdp_sheet_t *sheet, const source_row_t *source)
{
	const net_xdp_iface_status_t *iface = sheet->iface;
	size_t count = iface->queue_count > 0 ? iface->queues[0].filter_count : 0;
	for (size_t i = 0; i < count; i++) {
		const kxdp_filter_count_t *row = &iface->queues[0].filter[i];
		uint64_t *values = sheet_is_in_group(row->name, source->from.filter)
						   ? sheet_add_row(sheet, source, row->name, row->what)
						   : NULL;
		for (size_t j = 0; values != NULL && j < iface->queue_count; j++) {
			values[j] = i < iface->queues[j].filter_count ? iface->queues[j].filter[i].packets : 0;
		}
	}
}

static uint64_t sheet_read_value(const source_t *from, const queue_status_t *queue, bool takes_partial)
{
	assert((from->value != NULL) + (from->off64 != 0) + (from->off32 != 0) == 1);
	if (from->value != NULL) {
		return from->value(queue, from->kind, takes_partial);
	}
	const char *base = (const char *)queue;
	return from->off64 != 0 ? *(const uint64_t *)(const void *)(base + from->off64)
				: *(const uint32_t *)(const void *)(base + from->off32);
}

/* Of the TCP stack: not there where there is none. */
static bool sheet_is_tcp(const source_t *from)
{
	return from->off64 >= offsetof(queue_status_t, tcp) &&
	       from->off64 < offsetof(queue_status_t, tcp) + sizeof(kxdp_tcp_stats_t);
}

/* A queue keeps its stack, with its counters, also when TCP has been switched off. */
static bool sheet_has_tcp(const net_xdp_iface_status_t *iface)
{
	for (size_t i = 0; i < iface->queue_count; i++) {
		if (iface->queues[i].has_tcp) {
			return true;
		}
	}
	return false;
}

static void sheet_add_source(xdp_sheet_t *sheet, const source_row_t *source, bool takes_partial)
{
	const net_xdp_iface_status_t *iface = sheet->iface;
	if (source->from.filter != NULL) {
		sheet_add_filter_rows(sheet, source);
		return;
	}
	if (sheet_is_tcp(&source->from) && !sheet_has_tcp(iface)) {
		return;
	}
	uint64_t *values = sheet_add_row(sheet, source, source->name, source->help);
	for (size_t i = 0; values != NULL && i < iface->queue_count; i++) {
		bool is_there = !sheet_is_tcp(&source->from) || iface->queues[i].has_tcp;
		values[i] = is_there ? sheet_read_value(&source->from, &iface->queues[i], takes_partial) : 0;
	}
}

knot_err_t xdp_sheet_make(const net_xdp_iface_status_t *iface, bool is_virtual, xdp_sheet_t *ret_sheet)
{
	xdp_sheet_t sheet = { .iface = iface };
	for (size_t i = 0; i < KNOT_LEN(source_rows); i++) {
		sheet_add_source(&sheet, &source_rows[i], is_virtual); /* as xdp/ decides it: doc/adr/0005 */
	}
	if (sheet.failed) {
		xdp_sheet_free(&sheet);
		return KNOT_ENOMEM;
	}
	*ret_sheet = sheet;
	return KNOT_OK;
}

void xdp_sheet_free(xdp_sheet_t *sheet)
{
	for (size_t i = 0; i < sheet->row_count; i++) {
		free(sheet->rows[i].values);
	}
	free(sheet->rows);
	*sheet = (xdp_sheet_t){ 0 };
}

/* ---- Description ---- */

static bool sheet_describe_row(
		const source_row_t *source, const char *name, const char *help, xdp_describe_cb cb, void *ctx)
{
	xdp_row_t row = { .kind = source->kind, .counts = source->counts, .group = source->group, .help = help };
	sheet_print_name(name, row.name);
	return cb(&row, ctx);
}

bool xdp_sheet_describe(xdp_describe_cb cb, void *ctx)
{
#define FILTER_ROW(constant, name, group, what) { name, what },
	static const struct {
		const char *name, *what;
	} filters[] = { FILTER_COUNTS(FILTER_ROW) };
#undef FILTER_ROW
	for (size_t i = 0; i < KNOT_LEN(source_rows); i++) {
		const source_row_t *source = &source_rows[i];
		bool go_on = true;
		if (source->from.filter == NULL) {
			go_on = sheet_describe_row(source, source->name, source->help, cb, ctx);
		}
		for (size_t j = 0; source->from.filter != NULL && j < KNOT_LEN(filters) && go_on; j++) {
			go_on = !sheet_is_in_group(filters[j].name, source->from.filter) ||
				sheet_describe_row(source, filters[j].name, filters[j].what, cb, ctx);
		}
		if (!go_on) {
			return false;
		}
	}
	return true;
}

uint64_t xdp_sheet_sum(const xdp_sheet_t *sheet, const xdp_row_t *row)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < sheet->iface->queue_count; i++) {
		sum += row->values[i];
	}
	return sum;
}

int64_t xdp_sheet_difference(const xdp_sheet_t *sheet, size_t queue)
{
	uint64_t received = 0, fates = 0;
	for (size_t i = 0; i < sheet->row_count; i++) {
		received += sheet->rows[i].kind == XDP_ROW_RECEIVED ? sheet->rows[i].values[queue] : 0;
		fates += sheet->rows[i].kind == XDP_ROW_FATE ? sheet->rows[i].values[queue] : 0;
	}
	return (int64_t)(received - fates);
}
