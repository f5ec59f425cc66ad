/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/load/report_json.h"

#include "libknot/base/json.h"

enum { SCHEMA_VERSION = 20240530 };

static knot_json_t json_begin(FILE *out, const char *type)
{
	knot_json_t json = knot_json_of(knot_json_to_file, out);
	knot_json_open(&json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINE);
	knot_json_text(&json, "type", type);
	return json;
}

static void json_end(knot_json_t *json, FILE *out)
{
	knot_json_close(json);
	if (!knot_json_end(json)) {
		/* The stream keeps its error, which the end of the run looks at. */
	}
	fflush(out);
}

static const char *json_protocol(const gun_t *gun)
{
	static const char *const names[] = { [PROTOCOL_UDP] = "udp", [PROTOCOL_TCP] = "tcp", [PROTOCOL_QUIC] = "quic" };
	return names[gun->options->protocol];
}

void report_json_header(const gun_t *gun, FILE *out)
{
	const options_t *o = gun->options;
	knot_json_t json = json_begin(out, "header");
	knot_json_uint(&json, "schema_version", SCHEMA_VERSION);
	knot_json_text(&json, "generator", "kxdpgun " PACKAGE_VERSION " (" PACKAGE_NAME ")");
	knot_json_open(&json, "generator_params", KNOT_JSON_OBJECT, KNOT_JSON_LINE);
	knot_json_text(&json, "protocol", json_protocol(gun));
	const char mode[] = { o->mode, '\0' };
	knot_json_text(&json, "mode", mode);
	knot_json_text(&json, "target", o->target);
	knot_json_uint(&json, "port", gun->target_port);
	knot_json_double(&json, "duration", (double)gun->duration_ns / 1e9);
	knot_json_double(&json, "qps", o->qps);
	knot_json_uint(&json, "batch", gun->plan.schedule.batch);
	knot_json_text(&json, "infile", o->infile);
	knot_json_double(&json, "timeout", o->timeout_s);
	knot_json_uint(&json, "seed", o->seed);
	knot_json_text(&json, "profile", profile_names[o->profile]);
	knot_json_close(&json);
	knot_json_open(&json, "additional_info", KNOT_JSON_OBJECT, KNOT_JSON_LINE);
	knot_json_uint(&json, "threads", gun->lane_count);
	if (o->sockets) {
		knot_json_text(&json, "transport", "sockets");
	} else {
		knot_json_text(&json, "transport", "xdp");
		knot_json_text(&json, "interface", gun->interfaces[0].route.ifname);
		knot_json_text(&json, "mode", gun_mode_text(gun));
	}
	knot_json_close(&json);
	json_end(&json, out);
}

void report_json_thread(const gun_t *gun, const lane_t *lane, FILE *out)
{
	const worker_counts_t *c = &lane->worker.counts;
	knot_json_t json = json_begin(out, "thread_summary");
	knot_json_uint(&json, "thread_id", lane->index);
	knot_json_uint(&json, "sent", c->sent);
	if (!gun->options->drop) {
		knot_json_uint(&json, "received", c->replies);
	}
	knot_json_uint(&json, "lost", c->unsent);
	knot_json_text(&json, "error", lane->error);
	json_end(&json, out);
}

static void json_put_latency(knot_json_t *json, const char *name, const histogram_t *histogram)
{
	knot_json_open(json, name, KNOT_JSON_OBJECT, KNOT_JSON_LINE);
	knot_json_uint(json, "count", histogram->count);
	knot_json_uint(json, "mean", histogram_mean(histogram));
	for (unsigned i = 0; i < HISTOGRAM_SHOWN; i++) {
		knot_json_uint(json, histogram_shown_names[i], histogram_percentile(histogram, histogram_shown[i]));
	}
	knot_json_uint(json, "max", histogram->count > 0 ? histogram->max_ns : 0);
	knot_json_close(json);
}

static void json_put_ours(knot_json_t *json, const report_sample_t *s)
{
	knot_json_open(json, "counts", KNOT_JSON_OBJECT, KNOT_JSON_LINE);
#define JSON_COUNT(name, text) knot_json_uint(json, #name, s->counts.name);
	WORKER_COUNTS(JSON_COUNT)
#undef JSON_COUNT
	knot_json_uint(json, "waiting", s->waiting);
	knot_json_uint(json, "lost", report_lost(s));
	knot_json_close(json);
	json_put_latency(json, "latency_ns", &s->latency);
	json_put_latency(json, "send_delay_ns", &s->delay);
}

void report_json_stats(const gun_t *gun, const report_sample_t *s, report_kind_t kind, double seconds, FILE *out)
{
	const worker_counts_t *c = &s->counts;
	knot_json_t json = json_begin(out, kind == REPORT_PERIODIC ? "stats_periodic" : "stats_sum");
	knot_json_uint(&json, "runid", gun->start_wall_ns);
	knot_json_uint(&json, "since_ns", gun->start_wall_ns + s->since_ns);
	knot_json_uint(&json, "until_ns", gun->start_wall_ns + s->until_ns);
	knot_json_double(&json, "duration", seconds);
	knot_json_uint(&json, "queries", c->sent);
	knot_json_uint(&json, "responses", c->replies);
	knot_json_open(&json, "response_rcodes", KNOT_JSON_OBJECT, KNOT_JSON_LINE);
	for (unsigned i = 0; i < KNOT_RCODE_SLOTS; i++) {
		if (c->rcodes[i] > 0) {
			knot_json_uint(&json, knot_rcode_slot_name(i), c->rcodes[i]);
		}
	}
	knot_json_close(&json);
	if (gun->options->protocol != PROTOCOL_UDP) {
		knot_json_open(&json, "conn_info", KNOT_JSON_OBJECT, KNOT_JSON_LINE);
		knot_json_text(&json, "type", json_protocol(gun));
		knot_json_uint(&json, "handshakes", c->opened);
		knot_json_uint(&json, "handshakes_failed", c->refused);
		knot_json_uint(&json, "established", c->established);
		knot_json_uint(&json, "closed", c->closed);
		knot_json_uint(&json, "reset", c->reset);
		knot_json_uint(&json, "packets_sent", c->sent);
		knot_json_uint(&json, "packets_recieved", c->replies); /* Knot spells it so */
		knot_json_close(&json);
	}
	json_put_ours(&json, s);
	json_end(&json, out);
}

void report_json_step(const report_step_t *step, const histogram_t *latency, FILE *out)
{
	knot_json_t json = json_begin(out, "ramp_step");
	knot_json_double(&json, "rate", step->rate);
	knot_json_uint(&json, "due", step->due);
	knot_json_uint(&json, "sent", step->sent);
	knot_json_uint(&json, "matched", step->matched);
	knot_json_fixed(&json, "loss_percent", step->loss_percent, 4);
	knot_json_bool(&json, "good", step->is_good);
	json_put_latency(&json, "latency_ns", latency);
	knot_json_uint(&json, "send_delay_p99_ns", step->delay_p99_ns);
	json_end(&json, out);
}

void report_json_knee(const options_t *options, const report_knee_t *knee, FILE *out)
{
	knot_json_t json = json_begin(out, "ramp_knee");
	knot_json_double(&json, "loss_percent_max", options->ramp_loss_percent);
	knot_json_double(&json, "p99_ms_max", options->ramp_p99_ms);
	if (knee->rate > 0) {
		knot_json_double(&json, "rate", knee->rate);
	} else {
		knot_json_null(&json, "rate");
	}
	knot_json_bool(&json, "may_be_higher", knee->is_open);
	knot_json_bool(&json, "generator_late", knee->is_late);
	knot_json_uint(&json, "send_delay_p99_ns", knee->delay_p99_ns);
	json_end(&json, out);
}

void report_json_wrong(const judge_wrong_t *wrong, FILE *out)
{
	knot_json_t json = json_begin(out, "wrong_answer");
	knot_json_text(&json, "question", wrong->question);
	knot_json_text(&json, "fault", wrong->fault);
	knot_json_text(&json, "expected", wrong->expected);
	knot_json_text(&json, "came", wrong->came);
	json_end(&json, out);
}
