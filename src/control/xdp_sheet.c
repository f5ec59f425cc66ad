/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/control/xdp_sheet.h"

#include <stdio.h>
#include <stdlib.h>

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
	const char *group;
	const char *name; /* NULL with a filter: its counters' own; '_' is printed as '-' */
	source_t from;
} source_row_t;

/* a - b, or 0: counters are read while they move. */
static uint64_t without(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Packets whose frames were in order. */
static uint64_t taken_in(const queue_status_t *queue, kxdp_kind_t kind, bool takes_partial)
{
	const uint64_t *received = queue->stats.of[kind].received;
	return received[KXDP_OK] + (takes_partial ? received[KXDP_PARTIAL_CHECKSUM] : 0);
}

static uint64_t refused_partial(const queue_status_t *queue, kxdp_kind_t kind, bool takes_partial)
{
	(void)kind;
	return takes_partial ? 0 : queue->stats.received[KXDP_PARTIAL_CHECKSUM];
}

/* Replies that left, whichever way. */
static uint64_t answered(const queue_status_t *queue, kxdp_kind_t kind, bool takes_partial)
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
UDP_LOST(lost_tx_full, tx_full)
UDP_LOST(lost_relay, relay_failed)
UDP_LOST(lost_kernel_limit, kernel_limited)
UDP_LOST(lost_kernel, kernel_failed)

/* Datagrams that get no answer: no question, or a module says so. */
static uint64_t no_reply(const queue_status_t *queue, kxdp_kind_t kind, bool takes_partial)
{
	uint64_t replies = answered(queue, KXDP_UDP4, takes_partial) + answered(queue, KXDP_UDP6, takes_partial) +
			   UDP_SUM(tx_full) + UDP_SUM(relay_failed) + UDP_SUM(kernel_limited) + UDP_SUM(kernel_failed);
	(void)kind;
	return without(taken_in(queue, KXDP_UDP4, takes_partial) + taken_in(queue, KXDP_UDP6, takes_partial), replies);
}

/* Segments that the TCP stack had use for; those that it refused are rows of their own. */
static uint64_t taken_tcp(const queue_status_t *queue, kxdp_kind_t kind, bool takes_partial)
{
	(void)kind;
	const kxdp_tcp_stats_t *tcp = &queue->tcp;
	uint64_t refused = tcp->dropped_unknown + tcp->dropped_invalid + tcp->dropped_limit + tcp->dropped_inbuf;
	return without(taken_in(queue, KXDP_TCP4, takes_partial) + taken_in(queue, KXDP_TCP6, takes_partial),
			queue->has_tcp ? refused : 0);
}

/* Frames put into the send ring. */
static uint64_t sent(const queue_status_t *queue, kxdp_kind_t kind, bool takes_partial)
{
	(void)takes_partial;
	return queue->stats.of[kind].replied + queue->stats.of[kind].sent;
}

#define FILTER(rows, group)                                                                                            \
	{                                                                                                              \
		rows, group, NULL,                                                                                     \
		{                                                                                                      \
			.filter = group                                                                                \
		}                                                                                                      \
	}
#define VALUE(rows, group, name, function, packets)                                                                    \
	{                                                                                                              \
		rows, group, name,                                                                                     \
		{                                                                                                      \
			.value = function, .kind = packets                                                             \
		}                                                                                                      \
	}
#define STAT(rows, group, name, field)                                                                                 \
	{                                                                                                              \
		rows, group, name,                                                                                     \
		{                                                                                                      \
			.off64 = offsetof(queue_status_t, stats.field)                                                 \
		}                                                                                                      \
	}
#define LEVEL(name, field)                                                                                             \
	{                                                                                                              \
		XDP_ROW_LEVEL, "ring", name,                                                                           \
		{                                                                                                      \
			.off32 = offsetof(queue_status_t, field)                                                       \
		}                                                                                                      \
	}
#define REFUSED(name, verdict) STAT(XDP_ROW_FATE, "dropped", name, received[verdict])
#define TCP_REFUSED(name, field)                                                                                       \
	{                                                                                                              \
		XDP_ROW_FATE, "dropped", name,                                                                         \
		{                                                                                                      \
			.off64 = offsetof(queue_status_t, tcp.field)                                                   \
		}                                                                                                      \
	}
#define BATCH(name, row) STAT(XDP_ROW_COUNT, "batch", name, batches[row])
#define TCP(name)        { XDP_ROW_COUNT, "tcp", "tcp-" #name, { .off64 = offsetof(queue_status_t, tcp.name) } },

/* In the order of printing. */
static const source_row_t source_rows[] = { FILTER(XDP_ROW_RECEIVED, "received"),
	VALUE(XDP_ROW_FATE, "answered", "answered-udp4", answered, KXDP_UDP4),
	VALUE(XDP_ROW_FATE, "answered", "answered-udp6", answered, KXDP_UDP6),
	VALUE(XDP_ROW_FATE, "taken", "taken-tcp", taken_tcp, KXDP_OTHER_KIND),
	VALUE(XDP_ROW_FATE, "no-reply", "no-reply", no_reply, KXDP_OTHER_KIND), FILTER(XDP_ROW_FATE, "passed"),
	FILTER(XDP_ROW_FATE, "dropped"), STAT(XDP_ROW_FATE, "dropped", "dropped-ring-full", rx_full),
	STAT(XDP_ROW_FATE, "dropped", "dropped-no-frame", rx_dropped), REFUSED("dropped-foreign", KXDP_FOREIGN),
	REFUSED("dropped-fragment", KXDP_FRAGMENT), REFUSED("dropped-bad-length", KXDP_BAD_LENGTH),
	REFUSED("dropped-bad-header", KXDP_BAD_HEADER), REFUSED("dropped-bad-address", KXDP_BAD_ADDRESS),
	REFUSED("dropped-bad-ip-checksum", KXDP_BAD_IP_CHECKSUM),
	REFUSED("dropped-bad-udp-checksum", KXDP_BAD_UDP_CHECKSUM),
	REFUSED("dropped-bad-tcp-checksum", KXDP_BAD_TCP_CHECKSUM),
	VALUE(XDP_ROW_FATE, "dropped", "dropped-partial-checksum", refused_partial, KXDP_OTHER_KIND),
	VALUE(XDP_ROW_FATE, "dropped", "dropped-tx-full", lost_tx_full, KXDP_OTHER_KIND),
	VALUE(XDP_ROW_FATE, "dropped", "dropped-relay", lost_relay, KXDP_OTHER_KIND),
	VALUE(XDP_ROW_FATE, "dropped", "dropped-kernel-limit", lost_kernel_limit, KXDP_OTHER_KIND),
	VALUE(XDP_ROW_FATE, "dropped", "dropped-kernel", lost_kernel, KXDP_OTHER_KIND),
	TCP_REFUSED("dropped-tcp-unknown", dropped_unknown), TCP_REFUSED("dropped-tcp-invalid", dropped_invalid),
	TCP_REFUSED("dropped-tcp-limit", dropped_limit), TCP_REFUSED("dropped-tcp-inbuf", dropped_inbuf),
	{ XDP_ROW_FATE, "waiting", "waiting", { .off32 = offsetof(queue_status_t, stats.rx_fill) } },
	FILTER(XDP_ROW_COUNT, "redirected"), VALUE(XDP_ROW_COUNT, "sent", "sent-udp4", sent, KXDP_UDP4),
	VALUE(XDP_ROW_COUNT, "sent", "sent-udp6", sent, KXDP_UDP6),
	VALUE(XDP_ROW_COUNT, "sent", "sent-tcp4", sent, KXDP_TCP4),
	VALUE(XDP_ROW_COUNT, "sent", "sent-tcp6", sent, KXDP_TCP6),
	STAT(XDP_ROW_COUNT, "sent", "sent-relayed", relayed), STAT(XDP_ROW_COUNT, "sent", "sent-by-kernel", by_kernel),
	STAT(XDP_ROW_COUNT, "unsent", "unsent-reply", tx_full),
	STAT(XDP_ROW_COUNT, "unsent", "unsent-frame", send_full),
	STAT(XDP_ROW_COUNT, "unsent", "unsent-relay", relay_failed),
	STAT(XDP_ROW_COUNT, "unsent", "unsent-kernel-limit", kernel_limited),
	STAT(XDP_ROW_COUNT, "unsent", "unsent-kernel", kernel_failed),
	STAT(XDP_ROW_COUNT, "ring", "ring-rx-invalid", rx_invalid),
	STAT(XDP_ROW_COUNT, "ring", "ring-tx-invalid", tx_invalid),
	STAT(XDP_ROW_COUNT, "ring", "ring-fq-empty", fq_empty), STAT(XDP_ROW_COUNT, "ring", "ring-tx-empty", tx_empty),
	LEVEL("ring-size", ring_size), LEVEL("ring-tx-busy", stats.tx_busy), LEVEL("ring-fq-fill", stats.fq_fill),
	LEVEL("ring-rx-fill", stats.rx_fill), LEVEL("ring-tx-fill", stats.tx_fill),
	LEVEL("ring-cq-fill", stats.cq_fill), BATCH("batch-0", 0), BATCH("batch-1", 1), BATCH("batch-2-to-3", 2),
	BATCH("batch-4-to-7", 3), BATCH("batch-8-to-15", 4), BATCH("batch-16-to-31", 5), BATCH("batch-32-to-63", 6),
	BATCH("batch-64", 7), KXDP_TCP_STATS(TCP) };
_Static_assert(KXDP_BATCH_ROWS == 8, "a row each");

/* ---- Rows of one interface ---- */

/* A new row of zeros, one per queue; '_' in the name becomes '-'. NULL: no memory. */
static uint64_t *add_row(xdp_sheet_t *sheet, xdp_row_kind_t kind, const char *group, const char *name)
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
	*row = (xdp_row_t){ .kind = kind, .group = group, .values = values };
	snprintf(row->name, sizeof(row->name), "%s", name);
	for (char *p = row->name; *p != '\0'; p++) {
		*p = *p == '_' ? '-' : *p;
	}
	return values;
}

static bool is_of(const char *name, const char *group)
{
	size_t len = strlen(group);
	return strncmp(name, group, len) == 0 && (name[len] == '\0' || name[len] == '-');
}

/* The kernel program's counters of a group. All queues have the same rows. */
static void add_filter_rows(xdp_sheet_t *sheet, const source_row_t *source)
{
	const net_xdp_iface_status_t *iface = sheet->iface;
	size_t count = iface->queue_count > 0 ? iface->queues[0].filter_count : 0;
	for (size_t i = 0; i < count; i++) {
		const char *name = iface->queues[0].filter[i].name;
		uint64_t *values = is_of(name, source->from.filter) ? add_row(sheet, source->kind, source->group, name)
								    : NULL;
		for (size_t j = 0; values != NULL && j < iface->queue_count; j++) {
			values[j] = i < iface->queues[j].filter_count ? iface->queues[j].filter[i].packets : 0;
		}
	}
}

static uint64_t value_of(const source_t *from, const queue_status_t *queue, bool takes_partial)
{
	if (from->value != NULL) {
		return from->value(queue, from->kind, takes_partial);
	}
	const char *base = (const char *)queue;
	return from->off64 != 0 ? *(const uint64_t *)(const void *)(base + from->off64)
				: *(const uint32_t *)(const void *)(base + from->off32);
}

/* Of the TCP stack: not there where there is none. */
static bool is_tcp(const source_t *from)
{
	return from->off64 >= offsetof(queue_status_t, tcp) &&
	       from->off64 < offsetof(queue_status_t, tcp) + sizeof(kxdp_tcp_stats_t);
}

/* A queue keeps its stack, with its counters, also when TCP has been switched off. */
static bool has_tcp(const net_xdp_iface_status_t *iface)
{
	for (size_t i = 0; i < iface->queue_count; i++) {
		if (iface->queues[i].has_tcp) {
			return true;
		}
	}
	return false;
}

static void add_source(xdp_sheet_t *sheet, const source_row_t *source, bool takes_partial)
{
	const net_xdp_iface_status_t *iface = sheet->iface;
	if (source->from.filter != NULL) {
		add_filter_rows(sheet, source);
		return;
	}
	if (is_tcp(&source->from) && !has_tcp(iface)) {
		return;
	}
	uint64_t *values = add_row(sheet, source->kind, source->group, source->name);
	for (size_t i = 0; values != NULL && i < iface->queue_count; i++) {
		bool is_there = !is_tcp(&source->from) || iface->queues[i].has_tcp;
		values[i] = is_there ? value_of(&source->from, &iface->queues[i], takes_partial) : 0;
	}
}

knot_err_t xdp_sheet_make(const net_xdp_iface_status_t *iface, bool is_virtual, xdp_sheet_t *ret_sheet)
{
	xdp_sheet_t sheet = { .iface = iface };
	for (size_t i = 0; i < KNOT_LEN(source_rows); i++) {
		add_source(&sheet, &source_rows[i], is_virtual); /* as xdp/ decides it: doc/adr/0005 */
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
