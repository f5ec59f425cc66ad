/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/control/metrics_server.h"

#include "libknot/msg/rcode.h"
#include "src/control/xdp_sheet.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define NS_PER_S 1e9

typedef const metrics_label_t labels_t[METRICS_LABELS_MAX];

/* ---- Build and process ---- */

static void metrics_server_write_build(metrics_text_t *text)
{
	static const metrics_family_t build = { "knot_build", METRICS_INFO, NULL,
		"The program that runs, and its version" };
	metrics_family(text, &build);
	metrics_sample(text, (labels_t){ { "program", PACKAGE_NAME }, { "version", PACKAGE_VERSION } }, 1);
}

/* Bytes of memory, virtual and resident. */
static void metrics_server_read_memory(uint64_t *ret_virtual, uint64_t *ret_resident)
{
	uint64_t pages[2] = { 0, 0 };
	FILE *statm = fopen("/proc/self/statm", "re");
	if (statm != NULL) {
		if (fscanf(statm, "%" SCNu64 " %" SCNu64, &pages[0], &pages[1]) != 2) {
			pages[0] = pages[1] = 0;
		}
		fclose(statm);
	}
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	*ret_virtual = pages[0] * page;
	*ret_resident = pages[1] * page;
}

static uint64_t metrics_server_count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	uint64_t count = 0;
	while (dir != NULL && readdir(dir) != NULL) {
		count++;
	}
	if (dir != NULL) {
		closedir(dir);
	}
	return count >= 3 ? count - 3 : 0; /* without ".", ".." and the folder itself */
}

static double metrics_server_read_cpu_seconds(void)
{
	struct rusage usage = { 0 };
	(void)getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void metrics_server_write_process(metrics_text_t *text, const metrics_source_t *source)
{
	static const metrics_family_t start = { "process_start_time_seconds", METRICS_GAUGE, "seconds",
		"When the process was started, in seconds since 1970" },
				      cpu = { "process_cpu_seconds", METRICS_COUNTER, "seconds",
					      "User and system CPU time of the process" },
				      resident = { "process_resident_memory_bytes", METRICS_GAUGE, "bytes",
					      "Resident memory of the process" },
				      all = { "process_virtual_memory_bytes", METRICS_GAUGE, "bytes",
					      "Virtual memory of the process" },
				      fds = { "process_open_fds", METRICS_GAUGE, NULL,
					      "File descriptors that the process has open" },
				      fds_max = { "process_max_fds", METRICS_GAUGE, NULL,
					      "File descriptors that the process may have open" },
				      usage = { "knot_memory_usage_bytes", METRICS_GAUGE, "bytes",
					      "Resident memory of the process, under knot-exporter's name" };
	uint64_t virtual_bytes, resident_bytes;
	metrics_server_read_memory(&virtual_bytes, &resident_bytes);
	struct rlimit limit = { 0 };
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	metrics_family(text, &start);
	metrics_sample_real(text, NULL, source->started);
	metrics_family(text, &cpu);
	metrics_sample_real(text, NULL, metrics_server_read_cpu_seconds());
	metrics_family(text, &resident);
	metrics_sample(text, NULL, resident_bytes);
	metrics_family(text, &all);
	metrics_sample(text, NULL, virtual_bytes);
	metrics_family(text, &fds);
	metrics_sample(text, NULL, metrics_server_count_fds());
	metrics_family(text, &fds_max);
	metrics_sample(text, NULL, (uint64_t)limit.rlim_cur);
	char pid[24];
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	metrics_family(text, &usage);
	metrics_sample(text, (labels_t){ { "pid", pid } }, resident_bytes);
}

/* ---- Traffic ---- */

static void metrics_server_write_latency(metrics_text_t *text, const sys_counters_t *traffic)
{
	static const metrics_family_t duration = {
		"knot_request_duration_seconds",
		METRICS_HISTOGRAM,
		"seconds",
		"Time from receiving the batch that a request came in to handing over the batch's replies",
	};
	metrics_family(text, &duration);
	for (unsigned protocol = 0; protocol < ANSWER_PROTOCOL_END; protocol++) {
		if (!answer_protocol_is_spoken((answer_protocol_t)protocol)) {
			continue;
		}
		labels_t labels = { { "protocol", answer_protocol_name((answer_protocol_t)protocol) } };
		uint64_t count = 0;
		for (unsigned i = 0; i < TRAFFIC_BUCKETS; i++) {
			count += sys_counters_sum(traffic, TRAFFIC_LATENCY + protocol * TRAFFIC_BUCKETS + i);
			metrics_bucket(text, labels,
					i < TRAFFIC_BOUNDS ? (double)traffic_bound_ns(i) / NS_PER_S : INFINITY, count);
		}
		double sum = (double)sys_counters_sum(traffic, TRAFFIC_TIME + protocol) / NS_PER_S;
		metrics_histogram_end(text, labels, count, sum);
	}
}

static void metrics_server_write_traffic(metrics_text_t *text, net_t *net)
{
	static const metrics_family_t requests = { "knot_requests", METRICS_COUNTER, NULL,
		"Requests that were answered, by protocol" },
				      replies = { "knot_replies", METRICS_COUNTER, NULL,
					      "Replies by response code, whatever modules are configured" },
				      drops = { "knot_dropped_requests", METRICS_COUNTER, NULL,
					      "What came in and got no answer, by reason" },
				      connections = { "knot_tcp_connections", METRICS_GAUGE, NULL,
					      "TCP connections over sockets that are open now; over AF_XDP see "
					      "knot_xdp_queue_tcp_connections" };
	const sys_counters_t *traffic = net_traffic(net);
	metrics_family(text, &requests);
	for (unsigned i = 0; i < ANSWER_PROTOCOL_END; i++) {
		if (answer_protocol_is_spoken((answer_protocol_t)i)) {
			metrics_sample(text, (labels_t){ { "protocol", answer_protocol_name((answer_protocol_t)i) } },
					sys_counters_sum(traffic, TRAFFIC_REQUESTS + i));
		}
	}
	metrics_family(text, &replies);
	for (unsigned i = 0; i < KNOT_RCODE_SLOTS; i++) {
		if (knot_rcode_slot_name(i) != NULL) {
			metrics_sample(text, (labels_t){ { "rcode", knot_rcode_slot_name(i) } },
					sys_counters_sum(traffic, TRAFFIC_RCODES + i));
		}
	}
	metrics_family(text, &drops);
	for (unsigned i = 0; i < TRAFFIC_DROP_END; i++) {
		metrics_sample(text, (labels_t){ { "reason", traffic_drop_name((traffic_drop_t)i) } },
				sys_counters_sum(traffic, TRAFFIC_DROPS + i));
	}
	metrics_server_write_latency(text, traffic);
	metrics_family(text, &connections);
	metrics_sample(text, NULL, net_tcp_clients(net));
}

/* ---- Zones and workers ---- */

/* Which zones fail: bounded, as an exposition must not grow with what goes wrong. */
static void metrics_server_write_failed_zones(metrics_text_t *text, const server_t *server, size_t failed)
{
	enum { FAILED_SHOWN = 100 };
	static const metrics_family_t family = { "knot_zone_failed", METRICS_GAUGE, NULL,
		"1 for a zone whose last load or change failed; the first 100 by name, knot_zones_failed counts all" };
	metrics_family(text, &family);
	server_zone_health_t *zones = failed > 0 ? calloc(FAILED_SHOWN, sizeof(*zones)) : NULL;
	size_t count = zones != NULL ? server_zone_healths(server, NULL, true, zones, FAILED_SHOWN) : 0;
	for (size_t i = 0; i < count; i++) {
		char name[KNOT_NAME_TEXT_MAX];
		(void)knot_name_print(knot_name_of(zones[i].name), name);
		metrics_sample(text, (labels_t){ { "zone", name } }, 1);
	}
	free(zones);
}

/* Servers that zones are refreshed from: one whose time stands still has nothing for anybody. */
static void metrics_server_write_primaries(metrics_text_t *text, const server_t *server)
{
	static const metrics_family_t family = { "knot_remote_last_refresh_timestamp_seconds", METRICS_GAUGE, "seconds",
		"When this remote last had just what some secondary zone has, in seconds since 1970" };
	server_primary_t *primaries;
	size_t count;
	if (server_primaries(server, &primaries, &count) != KNOT_OK) {
		return;
	}
	metrics_family(text, &family);
	for (size_t i = 0; i < count; i++) {
		metrics_sample(text, (labels_t){ { "remote", primaries[i].id } }, primaries[i].last_s);
	}
	free(primaries);
}

static void metrics_server_write_zones(metrics_text_t *text, const server_t *server)
{
	static const metrics_family_t
			zones = { "knot_zones", METRICS_GAUGE, NULL,
				"Zones by where their contents came from; none: not loaded, so not served" },
			failed = { "knot_zones_failed", METRICS_GAUGE, NULL,
				"Zones whose last load or change failed; what they had before is served" },
			images = { "knot_zones_unsaved", METRICS_GAUGE, NULL,
				"Zones whose newest version has no image on disk: saving it waits, or failed" },
			jobs = { "knot_zone_jobs", METRICS_GAUGE, NULL,
				"Loads and changes of zones that wait or run now" };
	server_counts_t counts = server_counts(server);
	metrics_family(text, &zones);
	metrics_sample(text, (labels_t){ { "contents", "none" } }, counts.origins[SERVER_ORIGIN_NONE]);
	metrics_sample(text, (labels_t){ { "contents", "file" } }, counts.origins[SERVER_ORIGIN_FILE]);
	metrics_sample(text, (labels_t){ { "contents", "image" } }, counts.origins[SERVER_ORIGIN_IMAGE]);
	metrics_family(text, &failed);
	metrics_sample(text, NULL, counts.failed);
	metrics_family(text, &images);
	metrics_sample(text, (labels_t){ { "state", "waiting" } }, counts.unsaved);
	metrics_sample(text, (labels_t){ { "state", "failed" } }, counts.save_failed);
	metrics_family(text, &jobs);
	metrics_sample(text, (labels_t){ { "state", "pending" } }, counts.pending);
	metrics_sample(text, (labels_t){ { "state", "running" } }, counts.running);
	metrics_server_write_failed_zones(text, server, counts.failed);
	metrics_server_write_primaries(text, server);
}

static void metrics_server_write_workers(metrics_text_t *text, const metrics_source_t *source)
{
	static const metrics_family_t workers = { "knot_workers", METRICS_GAUGE, NULL,
		"Threads that answer queries, by kind, and those for background work" };
	net_workers_t net = net_workers(source->net);
	metrics_family(text, &workers);
	metrics_sample(text, (labels_t){ { "kind", "udp" } }, net.udp);
	metrics_sample(text, (labels_t){ { "kind", "tcp" } }, net.tcp);
	metrics_sample(text, (labels_t){ { "kind", "xdp" } }, net.xdp);
	metrics_sample(text, (labels_t){ { "kind", "background" } }, server_workers(source->server).workers);
}

/* ---- XDP ---- */

/* A family for the rows of a group that count so; each row of xdp_sheet.c has one. */
static const struct {
	metrics_family_t family; /* name NULL: the same numbers are in another family */
	const char *group;
	sys_counter_kind_t counts;
	const char *label; /* for what the row's name has behind its group; NULL: nothing is there */
} queue_families[] = {
	{ { "knot_xdp_queue_received_packets", METRICS_COUNTER, NULL, "Packets that reached the kernel program" },
			"received", SYS_COUNTER_COUNT, NULL },
	{ { "knot_xdp_queue_redirected_packets", METRICS_COUNTER, NULL,
			  "Packets that the kernel program handed to the server's socket, by protocol" },
			"redirected", SYS_COUNTER_COUNT, "protocol" },
	{ { "knot_xdp_queue_passed_packets", METRICS_COUNTER, NULL,
			  "Packets left to the kernel's network stack, by reason" },
			"passed", SYS_COUNTER_COUNT, "reason" },
	{ { "knot_xdp_queue_dropped_packets", METRICS_COUNTER, NULL,
			  "Packets dropped by the kernel, its program or the server, by reason" },
			"dropped", SYS_COUNTER_COUNT, "reason" },
	{ { "knot_xdp_queue_answered_packets", METRICS_COUNTER, NULL,
			  "Queries that were answered, whichever way the reply went, by protocol" },
			"answered", SYS_COUNTER_COUNT, "protocol" },
	{ { "knot_xdp_queue_taken_packets", METRICS_COUNTER, NULL, "TCP segments that the server's TCP stack took in" },
			"taken", SYS_COUNTER_COUNT, "protocol" },
	{ { "knot_xdp_queue_unanswered_packets", METRICS_COUNTER, NULL,
			  "Datagrams that are in order but get no answer: not a query, or a module says so" },
			"no-reply", SYS_COUNTER_COUNT, NULL },
	{ { NULL, METRICS_GAUGE, NULL, NULL }, "waiting", SYS_COUNTER_LEVEL, NULL }, /* ring_descriptors, rx-fill */
	{ { "knot_xdp_queue_sent_packets", METRICS_COUNTER, NULL,
			  "Frames put into the send ring by protocol, and replies sent by other ways" },
			"sent", SYS_COUNTER_COUNT, "protocol" },
	{ { "knot_xdp_queue_unsent_packets", METRICS_COUNTER, NULL, "Frames that could not be sent, by reason" },
			"unsent", SYS_COUNTER_COUNT, "reason" },
	{ { "knot_xdp_queue_ring_events", METRICS_COUNTER, NULL, "What the kernel found wrong with a queue's rings" },
			"ring", SYS_COUNTER_COUNT, "event" },
	{ { "knot_xdp_queue_ring_descriptors", METRICS_GAUGE, NULL,
			  "Descriptors in each ring of a queue now, and the room in a ring (level=\"size\")" },
			"ring", SYS_COUNTER_LEVEL, "level" },
	{ { "knot_xdp_queue_batches", METRICS_COUNTER, NULL,
			  "Times that so many packets were received at once; large batches mean a busy server" },
			"batch", SYS_COUNTER_COUNT, "packets" },
	{ { "knot_xdp_queue_tcp_events", METRICS_COUNTER, NULL,
			  "What the TCP stack for AF_XDP counts: segments, connections, retransmissions, resets" },
			"tcp", SYS_COUNTER_COUNT, "event" },
	{ { "knot_xdp_queue_tcp_connections", METRICS_GAUGE, NULL,
			  "TCP connections over AF_XDP now; clients: all but those in TIME-WAIT" },
			"tcp", SYS_COUNTER_LEVEL, "state" },
	{ { "knot_xdp_queue_tcp_memory_bytes", METRICS_GAUGE, "bytes",
			  "Bytes that the TCP stack for AF_XDP holds: unread queries, unacknowledged replies, all "
			  "memory" },
			"tcp", SYS_COUNTER_BYTES, "use" },
};

static size_t metrics_server_find_queue_family(const xdp_row_t *row)
{
	size_t i = 0;
	while (i < KNOT_LEN(queue_families) &&
			(strcmp(queue_families[i].group, row->group) != 0 || queue_families[i].counts != row->counts)) {
		i++;
	}
	assert(i < KNOT_LEN(queue_families));
	return i;
}

static void metrics_server_write_row(
		metrics_text_t *text, const xdp_sheet_t *sheet, const xdp_row_t *row, const char *label)
{
	const char *rest = row->name + strlen(row->group);
	for (size_t i = 0; i < sheet->iface->queue_count; i++) {
		char queue[24];
		snprintf(queue, sizeof(queue), "%u", sheet->iface->queues[i].index);
		labels_t labels = { { "interface", sheet->iface->ifname }, { "queue", queue },
			{ label, *rest == '-' ? rest + 1 : rest } };
		metrics_sample(text, labels, row->values[i]);
	}
}

static void metrics_server_write_queues(metrics_text_t *text, const xdp_sheet_t *sheets, size_t count)
{
	for (size_t family = 0; family < KNOT_LEN(queue_families); family++) {
		if (queue_families[family].family.name == NULL) {
			continue;
		}
		metrics_family(text, &queue_families[family].family);
		for (size_t i = 0; i < count; i++) {
			for (size_t j = 0; j < sheets[i].row_count; j++) {
				const xdp_row_t *row = &sheets[i].rows[j];
				if (metrics_server_find_queue_family(row) == family) {
					metrics_server_write_row(text, &sheets[i], row, queue_families[family].label);
				}
			}
		}
	}
}

static void metrics_server_write_interfaces(metrics_text_t *text, const xdp_sheet_t *sheets, size_t count)
{
	static const metrics_family_t interfaces = { "knot_xdp_interface", METRICS_INFO, NULL,
		"XDP interfaces with their state, mode and driver" };
	static const char *const states[] = {
		[NET_XDP_UP] = "up",
		[NET_XDP_GONE] = "gone",
		[NET_XDP_SOCKETS] = "sockets",
	};
	metrics_family(text, &interfaces);
	for (size_t i = 0; i < count; i++) {
		const net_xdp_iface_status_t *iface = sheets[i].iface;
		labels_t labels = { { "interface", iface->ifname[0] != '\0' ? iface->ifname : iface->listen },
			{ "state", states[iface->state] }, { "mode", iface->mode }, { "driver", iface->driver } };
		metrics_sample(text, labels, 1);
	}
}

/* ---- Everything that `stats` shows ---- */

static bool metrics_server_ends_in(const char *string, const char *ending)
{
	size_t len = strlen(string), ending_len = strlen(ending);
	return len >= ending_len && strcmp(string + len - ending_len, ending) == 0;
}

metrics_family_t metrics_item_family(const char *prefix, const char *item, sys_counter_kind_t kind, const char *help,
		char ret_name[static METRICS_NAME_MAX])
{
	snprintf(ret_name, METRICS_NAME_MAX, "%s%s", prefix, item);
	for (char *c = ret_name; *c != '\0'; c++) {
		*c = isalnum((unsigned char)*c) ? *c : '_';
	}
	/* Names are knot-exporter's: a gauge must not be called _count, so promtool says. */
	metrics_type_t level = metrics_server_ends_in(item, "-count") ? METRICS_UNKNOWN : METRICS_GAUGE;
	return (metrics_family_t){
		.name = ret_name,
		.type = kind == SYS_COUNTER_COUNT ? METRICS_COUNTER : level,
		.unit = metrics_server_ends_in(item, "-bytes") ? "bytes" : NULL,
		.help = help,
	};
}

typedef struct {
	char section[32], item[64], id[64];
	uint64_t value;
	sys_counter_kind_t kind;
	const char *help; /* static */
} kept_t;

typedef struct {
	kept_t *rows; /* owned */
	size_t count, max;
	bool failed;
} keep_t;

/* Modules have hundreds of counters that stay 0; knot-exporter doesn't show those either. What is of queues and not
 * knot-exporter's has families with better labels. */
static bool metrics_server_keep_counter(const counter_t *counter, void *ctx)
{
	keep_t *keep = ctx;
	if (counter->is_elsewhere || (counter->value == 0 && strncmp(counter->section, "mod-", 4) == 0)) {
		return true;
	}
	if (keep->count == keep->max) {
		size_t max = 2 * keep->max + 256;
		kept_t *grown = realloc(keep->rows, max * sizeof(*grown));
		if (grown == NULL) {
			keep->failed = true;
			return false;
		}
		keep->rows = grown;
		keep->max = max;
	}
	kept_t *row = &keep->rows[keep->count++];
	snprintf(row->section, sizeof(row->section), "%s", counter->section);
	snprintf(row->item, sizeof(row->item), "%s", counter->item);
	snprintf(row->id, sizeof(row->id), "%s", counter->id != NULL ? counter->id : "");
	row->value = counter->value;
	row->kind = counter->kind;
	row->help = counter->help;
	return true;
}

static int metrics_server_compare_kept(const void *a, const void *b)
{
	const kept_t *x = a, *y = b;
	int order = strcmp(x->item, y->item);
	order = order != 0 ? order : strcmp(x->section, y->section);
	return order != 0 ? order : strcmp(x->id, y->id);
}

/* A family is in one piece, and what several instances of a module count is one sample. */
static void metrics_server_write_kept(metrics_text_t *text, keep_t *keep)
{
	char name[METRICS_NAME_MAX];
	metrics_family_t family;
	if (keep->count > 0) {
		qsort(keep->rows, keep->count, sizeof(*keep->rows), metrics_server_compare_kept);
	}
	for (size_t i = 0; i < keep->count; i++) {
		kept_t *row = &keep->rows[i];
		if (i == 0 || strcmp(row->item, row[-1].item) != 0) {
			family = metrics_item_family("knot_stats_", row->item, row->kind, row->help, name);
			metrics_family(text, &family);
		}
		if (i + 1 < keep->count && metrics_server_compare_kept(row, row + 1) == 0) {
			row[1].value += row->value;
			continue;
		}
		/* `type` as knot-exporter has it; of an interface, the label that all other families have, too. */
		bool is_interface = strcmp(row->section, "xdp") == 0;
		labels_t labels = { { "module", row->section }, { "type", row->id },
			{ is_interface ? "interface" : NULL, row->id } };
		metrics_sample(text, labels, row->value);
	}
}

static void metrics_server_write_stats(
		metrics_text_t *text, const metrics_source_t *source, const counters_reading_t *reading)
{
	keep_t keep = { 0 };
	{
		RCU_READ_SECTION(guard);
		(void)counters_server(state_load(server_state(source->server), guard), source->net, reading,
				metrics_server_keep_counter, &keep);
	}
	metrics_server_write_kept(text, &keep);
	text->failed |= keep.failed;
	free(keep.rows);
}

void metrics_server(metrics_text_t *text, const metrics_source_t *source)
{
	assert(!sys_rcu_is_reading());
	counters_reading_t *reading = counters_read(source->server, source->net);
	if (reading == NULL) {
		text->failed = true;
		return;
	}
	metrics_server_write_build(text);
	metrics_server_write_process(text, source);
	metrics_server_write_traffic(text, source->net);
	metrics_server_write_zones(text, source->server);
	metrics_server_write_workers(text, source);
	size_t count;
	const xdp_sheet_t *sheets = counters_xdp_sheets(reading, &count);
	if (count > 0) {
		metrics_server_write_interfaces(text, sheets, count);
		metrics_server_write_queues(text, sheets, count);
	}
	metrics_server_write_stats(text, source, reading);
	counters_reading_free(reading);
}
