/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/control/metrics_server.h"

#include "src/control/xdp_sheet.h"

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

static void write_build(metrics_text_t *text)
{
	static const metrics_family_t build = { "knot_build", METRICS_INFO, NULL, "The program that runs" };
	metrics_family(text, &build);
	metrics_sample(text, (labels_t){ { "program", PACKAGE_NAME }, { "version", PACKAGE_VERSION } }, 1);
}

/* Bytes of memory, virtual and resident. */
static void read_memory(uint64_t *ret_virtual, uint64_t *ret_resident)
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

static uint64_t count_fds(void)
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

static double cpu_seconds(void)
{
	struct rusage usage = { 0 };
	(void)getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void write_process(metrics_text_t *text, const metrics_source_t *source)
{
	static const metrics_family_t start = { "process_start_time_seconds", METRICS_GAUGE, "seconds",
		"Start of the process since 1970" },
				      cpu = { "process_cpu_seconds", METRICS_COUNTER, "seconds",
					      "User and system time of the process" },
				      resident = { "process_resident_memory_bytes", METRICS_GAUGE, "bytes",
					      "Memory of the process that is in RAM" },
				      all = { "process_virtual_memory_bytes", METRICS_GAUGE, "bytes",
					      "Address space of the process" },
				      fds = { "process_open_fds", METRICS_GAUGE, NULL, "Open file descriptors" },
				      fds_max = { "process_max_fds", METRICS_GAUGE, NULL,
					      "Limit of open file descriptors" },
				      usage = { "knot_memory_usage_bytes", METRICS_GAUGE, "bytes",
					      "Memory of the process that is in RAM" };
	uint64_t virtual_bytes, resident_bytes;
	read_memory(&virtual_bytes, &resident_bytes);
	struct rlimit limit = { 0 };
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	metrics_family(text, &start);
	metrics_sample_real(text, NULL, source->started);
	metrics_family(text, &cpu);
	metrics_sample_real(text, NULL, cpu_seconds());
	metrics_family(text, &resident);
	metrics_sample(text, NULL, resident_bytes);
	metrics_family(text, &all);
	metrics_sample(text, NULL, virtual_bytes);
	metrics_family(text, &fds);
	metrics_sample(text, NULL, count_fds());
	metrics_family(text, &fds_max);
	metrics_sample(text, NULL, (uint64_t)limit.rlim_cur);
	char pid[24];
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	metrics_family(text, &usage);
	metrics_sample(text, (labels_t){ { "pid", pid } }, resident_bytes);
}

/* ---- Traffic ---- */

static void write_latency(metrics_text_t *text, const sys_counters_t *traffic)
{
	static const metrics_family_t duration = {
		"knot_request_duration_seconds",
		METRICS_HISTOGRAM,
		"seconds",
		"Time from receiving the batch that a request came in to handing over its replies",
	};
	metrics_family(text, &duration);
	for (unsigned protocol = 0; protocol < MODULE_PROTOCOL_END; protocol++) {
		if (!traffic_has_protocol((module_protocol_t)protocol)) {
			continue;
		}
		labels_t labels = { { "protocol", module_protocol_name((module_protocol_t)protocol) } };
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

static void write_traffic(metrics_text_t *text, net_t *net)
{
	static const metrics_family_t requests = { "knot_requests", METRICS_COUNTER, NULL,
		"Requests that were answered" },
				      replies = { "knot_replies", METRICS_COUNTER, NULL, "Replies by response code" },
				      drops = { "knot_dropped_requests", METRICS_COUNTER, NULL,
					      "What came in and was not answered" },
				      connections = { "knot_tcp_connections", METRICS_GAUGE, NULL,
					      "Open TCP connections over sockets" };
	const sys_counters_t *traffic = net_traffic(net);
	metrics_family(text, &requests);
	for (unsigned i = 0; i < MODULE_PROTOCOL_END; i++) {
		if (traffic_has_protocol((module_protocol_t)i)) {
			metrics_sample(text, (labels_t){ { "protocol", module_protocol_name((module_protocol_t)i) } },
					sys_counters_sum(traffic, TRAFFIC_REQUESTS + i));
		}
	}
	metrics_family(text, &replies);
	for (unsigned i = 0; i < MODULE_RCODE_END; i++) {
		if (module_rcode_name(i) != NULL) {
			metrics_sample(text, (labels_t){ { "rcode", module_rcode_name(i) } },
					sys_counters_sum(traffic, TRAFFIC_RCODES + i));
		}
	}
	metrics_family(text, &drops);
	for (unsigned i = 0; i < TRAFFIC_DROP_END; i++) {
		metrics_sample(text, (labels_t){ { "reason", traffic_drop_name((traffic_drop_t)i) } },
				sys_counters_sum(traffic, TRAFFIC_DROPS + i));
	}
	write_latency(text, traffic);
	metrics_family(text, &connections);
	metrics_sample(text, NULL, net_tcp_clients(net));
}

/* ---- Zones and workers ---- */

static void write_zones(metrics_text_t *text, const server_t *server)
{
	static const metrics_family_t zones = { "knot_zones", METRICS_GAUGE, NULL,
		"Zones by where their contents came from; none: not served" },
				      failed = { "knot_zones_failed", METRICS_GAUGE, NULL,
					      "Zones whose last job failed" },
				      images = { "knot_zones_unsaved", METRICS_GAUGE, NULL,
					      "Zones whose newest version has no image yet, or can have none" },
				      jobs = { "knot_zone_jobs", METRICS_GAUGE, NULL, "Jobs of zones" };
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
}

static void write_workers(metrics_text_t *text, const metrics_source_t *source)
{
	static const metrics_family_t workers = { "knot_workers", METRICS_GAUGE, NULL, "Threads" };
	net_workers_t net = net_workers(source->net);
	metrics_family(text, &workers);
	metrics_sample(text, (labels_t){ { "kind", "udp" } }, net.udp);
	metrics_sample(text, (labels_t){ { "kind", "tcp" } }, net.tcp);
	metrics_sample(text, (labels_t){ { "kind", "xdp" } }, net.xdp);
	metrics_sample(text, (labels_t){ { "kind", "background" } }, server_workers(source->server).workers);
}

/* ---- XDP ---- */

static const struct {
	metrics_family_t family;
	xdp_row_kind_t kind;
	const char *group, *label; /* label: for what the row's name has behind its group; NULL: none */
} queue_families[] = {
	{ { "knot_xdp_queue_received_packets", METRICS_COUNTER, NULL, "Packets that the kernel program saw" },
			XDP_ROW_RECEIVED, "received", NULL },
	{ { "knot_xdp_queue_sent_packets", METRICS_COUNTER, NULL, "Frames sent" }, XDP_ROW_COUNT, "sent", "protocol" },
	{ { "knot_xdp_queue_passed_packets", METRICS_COUNTER, NULL, "Packets passed to the kernel" }, XDP_ROW_FATE,
			"passed", "reason" },
	{ { "knot_xdp_queue_dropped_packets", METRICS_COUNTER, NULL, "Packets dropped" }, XDP_ROW_FATE, "dropped",
			"reason" },
	{ { "knot_xdp_queue_ring_descriptors", METRICS_GAUGE, NULL, "Fill levels of rings, and their size" },
			XDP_ROW_LEVEL, "ring", "level" },
};

static void write_row(metrics_text_t *text, const xdp_sheet_t *sheet, const xdp_row_t *row, const char *label)
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

static void write_queues(metrics_text_t *text, const xdp_sheet_t *sheets, size_t count)
{
	for (size_t family = 0; family < KNOT_LEN(queue_families); family++) {
		metrics_family(text, &queue_families[family].family);
		for (size_t i = 0; i < count; i++) {
			for (size_t j = 0; j < sheets[i].row_count; j++) {
				const xdp_row_t *row = &sheets[i].rows[j];
				if (row->kind == queue_families[family].kind &&
						strcmp(row->group, queue_families[family].group) == 0) {
					write_row(text, &sheets[i], row, queue_families[family].label);
				}
			}
		}
	}
}

static void write_interfaces(metrics_text_t *text, const xdp_sheet_t *sheets, size_t count)
{
	static const metrics_family_t interfaces = { "knot_xdp_interface", METRICS_INFO, NULL, "XDP interfaces" };
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

static const struct {
	const char *item, *help;
	bool is_level;
} known_items[] = {
	{ "zone-count", "Zones of the configuration", true },
	{ "zone-update-error", "Jobs of zones that failed", false },
	{ "tcp-io-timeout", "TCP connections closed because a message took too long", false },
	{ "tcp-idle-timeout", "TCP connections closed because nothing came", false },
	{ "request-protocol", "Requests by protocol", false },
	{ "server-operation", "Requests by operation", false },
	{ "request-bytes", "Bytes of requests", false },
	{ "response-bytes", "Bytes of replies", false },
	{ "edns-presence", "Messages with EDNS", false },
	{ "flag-presence", "Messages with the flag", false },
	{ "response-code", "Replies by response code", false },
	{ "request-edns-option", "Requests by EDNS option", false },
	{ "response-edns-option", "Replies by EDNS option", false },
	{ "reply-nodata", "Replies without data by type", false },
	{ "query-type", "Queries by type", false },
	{ "query-size", "Queries by size", false },
	{ "reply-size", "Replies by size", false },
	{ "tx_busy", "Frames on their way out, average of the queues", true },
	{ "fq_fill", "Fill level of fill rings, average of the queues", true },
	{ "rx_fill", "Fill level of receive rings, average of the queues", true },
	{ "tx_fill", "Fill level of send rings, average of the queues", true },
	{ "cq_fill", "Fill level of completion rings, average of the queues", true },
	{ "waiting", "Packets that wait in receive rings", true },
	{ "tcp-clients", "Connections over XDP, without those in TIME-WAIT", true },
	{ "tcp-half-open", "Connections over XDP that are being opened", true },
	{ "tcp-time-wait", "Connections over XDP in TIME-WAIT", true },
	{ "tcp-inbuf", "Bytes of queries over XDP that wait for their rest", true },
	{ "tcp-outbuf", "Bytes of replies over XDP that wait to be acknowledged", true },
	{ "tcp-memory", "Bytes that the TCP stack for XDP holds in all", true },
	{ "size", "Bytes of all records in wire format", true },
	{ "max-ttl", "The largest TTL of the zone", true },
};

static size_t find_item(const char *item)
{
	size_t i = 0;
	while (i < KNOT_LEN(known_items) && strcmp(known_items[i].item, item) != 0) {
		i++;
	}
	return i;
}

bool metrics_is_level(const char *item)
{
	size_t i = find_item(item);
	return i < KNOT_LEN(known_items) && known_items[i].is_level;
}

static bool ends_in(const char *string, const char *ending)
{
	size_t len = strlen(string), ending_len = strlen(ending);
	return len >= ending_len && strcmp(string + len - ending_len, ending) == 0;
}

metrics_family_t metrics_item_family(const char *prefix, const char *item, char ret_name[static METRICS_NAME_MAX])
{
	snprintf(ret_name, METRICS_NAME_MAX, "%s%s", prefix, item);
	for (char *c = ret_name; *c != '\0'; c++) {
		*c = isalnum((unsigned char)*c) ? *c : '_';
	}
	size_t i = find_item(item);
	return (metrics_family_t){
		.name = ret_name,
		.type = metrics_is_level(item) ? METRICS_GAUGE : METRICS_COUNTER,
		.unit = ends_in(item, "-bytes") ? "bytes" : NULL,
		.help = i < KNOT_LEN(known_items) ? known_items[i].help : "A counter of stats",
	};
}

typedef struct {
	char section[32], item[64], id[64];
	uint64_t value;
} kept_t;

typedef struct {
	kept_t *rows; /* owned */
	size_t count, max;
	bool failed;
} keep_t;

/* Modules have hundreds of counters that stay 0; knot-exporter doesn't show those either. */
static bool keep_counter(const counter_t *counter, void *ctx)
{
	keep_t *keep = ctx;
	if (counter->value == 0 && strncmp(counter->section, "mod-", 4) == 0) {
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
	return true;
}

static int compare_kept(const void *a, const void *b)
{
	const kept_t *x = a, *y = b;
	int order = strcmp(x->item, y->item);
	order = order != 0 ? order : strcmp(x->section, y->section);
	return order != 0 ? order : strcmp(x->id, y->id);
}

/* A family is in one piece, and what several instances of a module count is one sample. */
static void write_kept(metrics_text_t *text, keep_t *keep)
{
	char name[METRICS_NAME_MAX];
	metrics_family_t family;
	if (keep->count > 0) {
		qsort(keep->rows, keep->count, sizeof(*keep->rows), compare_kept);
	}
	for (size_t i = 0; i < keep->count; i++) {
		kept_t *row = &keep->rows[i];
		if (i == 0 || strcmp(row->item, row[-1].item) != 0) {
			family = metrics_item_family("knot_stats_", row->item, name);
			metrics_family(text, &family);
		}
		if (i + 1 < keep->count && compare_kept(row, row + 1) == 0) {
			row[1].value += row->value;
			continue;
		}
		metrics_sample(text, (labels_t){ { "module", row->section }, { "type", row->id } }, row->value);
	}
}

static void write_stats(metrics_text_t *text, const metrics_source_t *source, const counters_xdp_t *xdp)
{
	keep_t keep = { 0 };
	{
		RCU_READ_SECTION(guard);
		(void)counters_server(state_load(server_state(source->server), guard), source->server, source->net, xdp,
				keep_counter, &keep);
	}
	write_kept(text, &keep);
	text->failed |= keep.failed;
	free(keep.rows);
}

void metrics_server(metrics_text_t *text, const metrics_source_t *source)
{
	write_build(text);
	write_process(text, source);
	write_traffic(text, source->net);
	write_zones(text, source->server);
	write_workers(text, source);
	counters_xdp_t *xdp = counters_xdp_read(source->net);
	size_t count = 0;
	const xdp_sheet_t *sheets = xdp != NULL ? counters_xdp_sheets(xdp, &count) : NULL;
	if (count > 0) {
		write_interfaces(text, sheets, count);
		write_queues(text, sheets, count);
	}
	write_stats(text, source, count > 0 ? xdp : NULL);
	counters_xdp_free(xdp);
}
