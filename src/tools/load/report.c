/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/load/report.h"

#include "src/tools/load/report_json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Sums ---- */

void report_take(const gun_t *gun, report_sample_t *ret_sample)
{
	memset(ret_sample, 0, sizeof(*ret_sample));
	uint64_t now_ns = gun_now(gun);
	uint64_t since_ns = now_ns > gun->plan.timeout_ns ? now_ns - gun->plan.timeout_ns : 0;
	for (unsigned i = 0; i < gun->lane_count; i++) {
		const lane_t *lane = &gun->lanes[i];
		worker_counts_add(&ret_sample->counts, &lane->worker.counts);
		worker_times_add(&ret_sample->latency, &ret_sample->delay, &lane->worker);
		if (!__atomic_load_n(&lane->is_over, __ATOMIC_ACQUIRE)) {
			ret_sample->waiting += flight_waiting(&lane->worker.flight, since_ns);
		}
	}
	ret_sample->until_ns = now_ns;
}

void report_difference(const report_sample_t *before, const report_sample_t *after, report_sample_t *ret_difference)
{
	if (before == NULL) {
		*ret_difference = *after;
		return;
	}
	const uint64_t *a = (const uint64_t *)&before->counts, *b = (const uint64_t *)&after->counts;
	uint64_t *to = (uint64_t *)&ret_difference->counts;
	for (size_t i = 0; i < sizeof(after->counts) / sizeof(*to); i++) {
		to[i] = b[i] - a[i];
	}
	histogram_difference(&before->latency, &after->latency, &ret_difference->latency);
	histogram_difference(&before->delay, &after->delay, &ret_difference->delay);
	ret_difference->since_ns = before->until_ns;
	ret_difference->until_ns = after->until_ns;
	ret_difference->waiting = after->waiting;
}

/* ---- Header and threads ---- */

static const char *report_protocol(const gun_t *gun)
{
	static const char *const names[] = { [PROTOCOL_UDP] = "UDP", [PROTOCOL_TCP] = "TCP", [PROTOCOL_QUIC] = "QUIC" };
	return names[gun->options->protocol];
}

void report_header(const gun_t *gun, FILE *out)
{
	const options_t *o = gun->options;
	if (o->json) {
		report_json_header(gun, out);
		return;
	}
	char mode[16] = "";
	if (o->mode != MODE_NORMAL || o->full_handshakes) {
		snprintf(mode, sizeof(mode), " mode %c", o->mode);
	}
	if (o->sockets) {
		fprintf(out, "using sockets, threads %u, %s%s\n", gun->lane_count, report_protocol(gun), mode);
		return;
	}
	fputs("using interface ", out);
	for (size_t i = 0; i < gun->interface_count; i++) {
		fprintf(out, "%s%s", i > 0 ? "," : "", gun->interfaces[i].route.ifname);
	}
	fprintf(out, ", XDP threads %u, %s%s, %s mode\n", gun->lane_count, report_protocol(gun), mode,
			gun_mode_text(gun));
}

void report_threads(const gun_t *gun, FILE *out)
{
	for (unsigned i = 0; i < gun->lane_count; i++) {
		const lane_t *lane = &gun->lanes[i];
		if (gun->options->json) {
			report_json_thread(gun, lane, out);
			continue;
		}
		fprintf(out, "thread#%02u: sent %" PRIu64, i, lane->worker.counts.sent);
		if (!gun->options->drop) {
			fprintf(out, ", received %" PRIu64, lane->worker.counts.replies);
		}
		if (lane->worker.counts.unsent > 0) {
			fprintf(out, ", lost %" PRIu64, lane->worker.counts.unsent);
		}
		fprintf(out, "%s%s\n", lane->error[0] != '\0' ? ", error: " : "", lane->error);
	}
}

/* ---- Statistics ---- */

static double report_rate(uint64_t count, double seconds)
{
	return seconds > 0 ? (double)count / seconds : 0;
}

static unsigned report_percent(uint64_t part, uint64_t whole)
{
	return whole > 0 ? (unsigned)((double)part * 100 / (double)whole) : 0;
}

/* Knot's lines: "total replies:     1010 (1010 pps) (100%)". */
static void report_total(FILE *out, const char *what, uint64_t count, double seconds, const uint64_t *whole)
{
	fprintf(out, "total %-12s %" PRIu64 " (%.0f pps)", what, count, report_rate(count, seconds));
	if (whole != NULL) {
		fprintf(out, " (%u%%)", report_percent(count, *whole));
	}
	fputc('\n', out);
}

/* A duration, in a unit that leaves three digits or more. */
static void report_duration(FILE *out, uint64_t ns)
{
	if (ns < 10000000) {
		fprintf(out, "%.1f us", (double)ns / 1e3);
	} else {
		fprintf(out, "%.2f ms", (double)ns / 1e6);
	}
}

static void report_latency_line(FILE *out, const char *what, const histogram_t *histogram)
{
	fprintf(out, "%-18s ", what);
	for (unsigned i = 0; i < HISTOGRAM_SHOWN; i++) {
		fprintf(out, "%s ", histogram_shown_names[i]);
		report_duration(out, histogram_percentile(histogram, histogram_shown[i]));
		fputs(", ", out);
	}
	fputs("max ", out);
	report_duration(out, histogram->count > 0 ? histogram->max_ns : 0);
	fputc('\n', out);
}

/* What Debian's kxdpgun prints, in its words. */
static void report_like_knot(const gun_t *gun, const report_sample_t *s, double seconds, FILE *out)
{
	const worker_counts_t *c = &s->counts;
	static const char *const opened[] = { "queries:", "SYNs:", "initials:" };
	static const char *const established[] = { NULL, "established:", "handshakes:" };
	const protocol_t protocol = gun->options->protocol;
	const bool is_tcp = protocol == PROTOCOL_TCP;
	const uint64_t whole = protocol != PROTOCOL_UDP ? c->opened : c->sent;
	report_total(out, opened[protocol], whole, seconds, NULL);
	if (established[protocol] != NULL) {
		report_total(out, established[protocol], c->established, seconds, &c->opened);
	}
	if (gun->options->drop) {
		return;
	}
	const uint64_t asked = gun->options->mode == MODE_REUSE || gun->options->sockets ? c->sent : whole;
	report_total(out, "replies:", c->replies, seconds, &asked);
	if (is_tcp) {
		report_total(out, "closed:", c->closed, seconds, &c->opened);
	}
	if (c->reset > 0) {
		report_total(out, "reset:", c->reset, seconds, &c->opened);
	}
	fprintf(out, "average DNS reply size: %" PRIu64 " B\n", c->replies > 0 ? c->reply_bytes / c->replies : 0);
	if (!gun->options->sockets) {
		double bps = report_rate(c->wire_bytes * 8, seconds);
		fprintf(out, "average Ethernet reply rate: %.0f bps (%.2f Mbps)\n", bps, bps / 1e6);
	}
	for (unsigned i = 0; i < KNOT_RCODE_SLOTS; i++) {
		if (c->rcodes[i] > 0) {
			fprintf(out, "responded %s: %*s%" PRIu64 "\n", knot_rcode_slot_name(i),
					(int)(9 - strlen(knot_rcode_slot_name(i)) > 0
									? 9 - strlen(knot_rcode_slot_name(i))
									: 0),
					"", c->rcodes[i]);
		}
	}
}

/* Counters that stay out of sight while they are 0. */
static void report_rest(const worker_counts_t *c, FILE *out)
{
	const struct {
		const char *what;
		uint64_t count;
	} rows[] = {
		{ "malformed replies", c->malformed },
		{ "truncated replies", c->truncated },
		{ "wrong TSIGs", c->bad_tsig },
		{ "bad frames", c->bad_frames },
		{ "lost connections", c->refused },
		{ "segments sent again", c->resent },
		{ "transfer messages", c->messages },
		{ "transfer records", c->records },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].count > 0) {
			fprintf(out, "%s: %" PRIu64 "\n", rows[i].what, rows[i].count);
		}
	}
}

/* The modes of TCP that ask nothing, or ignore what comes. */
static bool report_has_replies(const gun_t *gun)
{
	return strchr("12357", gun->options->mode) == NULL;
}

static void report_ours(const gun_t *gun, const report_sample_t *s, FILE *out)
{
	const worker_counts_t *c = &s->counts;
	if (gun->options->drop || !report_has_replies(gun)) {
		report_latency_line(out, "send delay:", &s->delay);
		return;
	}
	fprintf(out,
			"matched: %" PRIu64 ", lost: %" PRIu64 ", late: %" PRIu64 ", duplicate: %" PRIu64
			", unexpected: %" PRIu64 "\n",
			c->matched, report_lost(s), c->late, c->duplicate, c->unexpected);
	report_rest(c, out);
	report_latency_line(out, "latency:", &s->latency);
	report_latency_line(out, "send delay:", &s->delay);
	if (gun->model != NULL) {
		fprintf(out, "verified: %" PRIu64 ", wrong: %" PRIu64 ", not verifiable: %" PRIu64 "\n", c->verified,
				c->wrong, c->unverified);
	}
}

/* Of sending: what comes after the end of the schedule is waiting for the last replies. */
static uint64_t report_end_ns(const gun_t *gun, const report_sample_t *s, report_kind_t kind)
{
	if (kind == REPORT_SUM && !__atomic_load_n(&gun->stop, __ATOMIC_RELAXED)) {
		return gun->duration_ns; /* it may end as soon as the last query is answered */
	}
	return s->until_ns < gun->duration_ns ? s->until_ns : gun->duration_ns;
}

void report_stats(const gun_t *gun, const report_sample_t *s, report_kind_t kind, FILE *out)
{
	uint64_t end_ns = report_end_ns(gun, s, kind);
	double seconds = end_ns > s->since_ns ? (double)(end_ns - s->since_ns) / 1e9 : 0;
	if (gun->options->json) {
		report_json_stats(gun, s, kind, seconds, out);
		return;
	}
	report_like_knot(gun, s, seconds, out);
	fprintf(out, "duration: %.0f s\n", seconds < 1 ? 0 : seconds);
	report_ours(gun, s, out);
	fflush(out);
}

/* ---- Ramp ---- */

/** Of one step, all threads. */
typedef struct {
	histogram_t latency, delay;
} report_times_t;

static void report_step(const gun_t *gun, unsigned step, report_step_t *ret_step, report_times_t *times)
{
	memset(times, 0, sizeof(*times));
	*ret_step = (report_step_t){ .rate = gun->pieces[step].rate };
	for (unsigned i = 0; i < gun->lane_count; i++) {
		const worker_t *w = &gun->lanes[i].worker;
		ret_step->sent += w->steps[step].sent;
		ret_step->matched += w->steps[step].matched;
		histogram_merge(&times->latency, &w->latency[step]);
		histogram_merge(&times->delay, &w->delay[step]);
	}
	ret_step->due = schedule_piece_messages(&gun->plan.schedule, step);
	uint64_t missing = ret_step->due > ret_step->matched ? ret_step->due - ret_step->matched : 0;
	ret_step->loss_percent = ret_step->due > 0 ? 100.0 * (double)missing / (double)ret_step->due : 0;
	ret_step->p99_ns = histogram_percentile(&times->latency, 99);
	ret_step->delay_p99_ns = histogram_percentile(&times->delay, 99);
	const options_t *o = gun->options;
	ret_step->is_good = ret_step->loss_percent <= o->ramp_loss_percent &&
			    (double)ret_step->p99_ns <= o->ramp_p99_ms * 1e6;
}

static void report_step_text(const report_step_t *s, const histogram_t *latency, double seconds, FILE *out)
{
	fprintf(out, "%12.0f %12.0f %12.0f %8.3f%%", s->rate, (double)s->sent / seconds, (double)s->matched / seconds,
			s->loss_percent);
	for (unsigned i = 0; i < HISTOGRAM_SHOWN; i++) {
		fprintf(out, " %10.3f", (double)histogram_percentile(latency, histogram_shown[i]) / 1e6);
	}
	fprintf(out, " %10.3f%s\n", (double)latency->max_ns / 1e6, s->is_good ? "" : "  *");
}

/*
 * What a step says of the knee. If the generator itself took a good part of what the knee allows, a step that isn't
 * good tells nothing of the server.
 */
static void report_note_step(const options_t *o, const report_step_t *step, report_knee_t *knee)
{
	if (knee->is_open) {
		knee->delay_p99_ns = step->delay_p99_ns;
		knee->is_late = !step->is_good && (double)step->delay_p99_ns > o->ramp_p99_ms * 1e6 / 2;
	}
	knee->is_open &= step->is_good;
	knee->rate = step->is_good && step->rate > knee->rate ? step->rate : knee->rate;
}

static void report_knee_text(const gun_t *gun, const report_knee_t *knee, FILE *out)
{
	const options_t *o = gun->options;
	if (knee->rate == 0) {
		fprintf(out, "knee: below the lowest rate (* more than %g%% lost or p99 above %g ms)\n",
				o->ramp_loss_percent, o->ramp_p99_ms);
	} else {
		fprintf(out, "knee: %.0f queries/s%s (at most %g%% lost, p99 at most %g ms; * not)\n", knee->rate,
				knee->is_open ? " or more" : "", o->ramp_loss_percent, o->ramp_p99_ms);
	}
	if (knee->is_late) {
		fputs("the generator itself was late, by p99 ", out);
		report_duration(out, knee->delay_p99_ns);
		fputs(": it had too little CPU, the server may do better\n", out);
	}
}

void report_ramp(const gun_t *gun, FILE *out)
{
	const options_t *o = gun->options;
	report_times_t *times = calloc(1, sizeof(*times));
	if (times == NULL) {
		return;
	}
	if (!o->json) {
		fprintf(out, "\n%12s %12s %12s %9s", "rate", "sent/s", "replies/s", "lost");
		for (unsigned i = 0; i < HISTOGRAM_SHOWN; i++) {
			fprintf(out, " %7s ms", histogram_shown_names[i]);
		}
		fprintf(out, " %7s ms\n", "max");
	}
	report_knee_t knee = { .is_open = true };
	for (unsigned i = 0; i < gun->plan.step_count; i++) {
		report_step_t step;
		report_step(gun, i, &step, times);
		if (o->json) {
			report_json_step(&step, &times->latency, out);
		} else {
			report_step_text(&step, &times->latency, o->ramp.seconds, out);
		}
		report_note_step(o, &step, &knee);
	}
	free(times);
	if (o->json) {
		report_json_knee(o, &knee, out);
	} else {
		report_knee_text(gun, &knee, out);
	}
}

/* ---- Wrong answers, files ---- */

void report_wrong(const gun_t *gun, FILE *out)
{
	unsigned shown = 0;
	for (unsigned i = 0; i < gun->lane_count; i++) {
		const judge_t *judge = gun->lanes[i].worker.judge;
		for (size_t k = 0; judge != NULL && k < judge_wrong_count(judge) && shown < gun->options->verify_show;
				k++) {
			judge_wrong_t wrong = judge_wrong(judge, k);
			shown++;
			if (gun->options->json) {
				report_json_wrong(&wrong, out);
				continue;
			}
			fprintf(out, "\nwrong answer to %s: %s\nexpected:\n%scame:\n%s", wrong.question, wrong.fault,
					wrong.expected, wrong.came);
		}
	}
}

bool report_latency_file(const char *path, const histogram_t *latency)
{
	FILE *out = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");
	bool is_good = out != NULL && histogram_write_table(latency, 5, out) == 0;
	is_good = (out == NULL || (out == stdout ? fflush(out) : fclose(out)) == 0) && is_good;
	if (!is_good) {
		fprintf(stderr, "error: can't write '%s' (%s)\n", path, strerror(errno));
	}
	return is_good;
}
