/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * One zone file, questions spread over all of it: what a lookup and an answer cost, by size of the zone.
 *
 *   bench_scale lookup|answer FILE ORIGIN [count]
 *
 * lookup: from a name to the node that answers. answer: from Ethernet frame to Ethernet frame, as an AF_XDP worker does
 * it. Each in batches of 64 (walks made together) and one by one; owners chosen uniformly and by Zipf's law (s = 1). Of
 * ten questions eight ask below a delegation, one for a DS, one for a name that is not there; each pass has new ones.
 * Prints a line for each: "choice how nanoseconds" of CPU time, the median of several passes, after "load seconds
 * megabytes". With `count` nothing is timed: under callgrind only what measure_*() do is counted, with one dump per
 * line. The file is one of tests/bench/gen_tld.py: a delegation is a line "owner ttl IN NS …".
 */
#include "src/answer/answer_test_query.h"
#include "src/answer/answer_test_zones.h"
#include "src/net/request.h"
#include "src/zone/lookup.h"
#include "tests/bench/client_frame.h"

#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#define CAN_COUNT 1
#else
#define CAN_COUNT 0
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#define CALLGRIND_DUMP_STATS
#define CALLGRIND_ZERO_STATS
#endif

enum {
	BATCH = 64,
	QUESTIONS = 1 << 20, /* of a pass */
	QUESTIONS_COUNTED = 1 << 12,
	PASSES = 5,
	QNAME_MAX = 62, /* bytes of wire form; owners of gen_tld.py are shorter */
	FRAME_MAX = 128,
};

typedef struct {
	uint8_t wire[QNAME_MAX];
	uint8_t len, label_count;
} qname_t;

typedef struct {
	uint8_t bytes[FRAME_MAX - 2];
	uint16_t len;
} stored_frame_t;

typedef struct {
	qname_t name;
	stored_frame_t frame;
} question_t;

/* Delegations of the file: where their lines begin. */
typedef struct {
	const char *text;
	size_t text_len;
	size_t *at;
	size_t count;
} owners_t;

typedef struct {
	const zone_contents_t *contents;
	state_t state;
	traffic_batch_t traffic;
	request_limits_t limits;
	knot_name_t origin;
	owners_t owners;
	question_t *questions;
	size_t question_count;
	uint64_t random;
} bench_t;

/* Frames are answered in place. */
static uint8_t work[BATCH][FRAME_SIZE];

/* ---- Questions ---- */

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static bool is_delegation(const char *line, const char *end, const char *previous, size_t *ret_owner_len)
{
	const char *space = memchr(line, ' ', (size_t)(end - line));
	if (space == NULL || line[0] == '@' || line[0] == '$') {
		return false;
	}
	*ret_owner_len = (size_t)(space - line);
	const char *type = memchr(space + 1, ' ', (size_t)(end - space - 1));
	return type != NULL && end - type > 7 && memcmp(type, " IN NS ", 7) == 0 &&
	       (previous == NULL || memcmp(previous, line, *ret_owner_len + 1) != 0);
}

static owners_t find_owners(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	test_zones_check(fd >= 0 && fstat(fd, &status) == 0, path);
	owners_t o = { .text_len = (size_t)status.st_size };
	o.text = mmap(NULL, o.text_len, PROT_READ, MAP_PRIVATE, fd, 0);
	test_zones_check(o.text != MAP_FAILED, path);
	close(fd);
	size_t room = 0;
	const char *previous = NULL, *end = o.text + o.text_len;
	for (const char *line = o.text, *next; line < end; line = next) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		next = newline != NULL ? newline + 1 : end;
		size_t owner_len;
		if (!is_delegation(line, next, previous, &owner_len)) {
			continue;
		}
		if (o.count == room) {
			room = room * 2 + 1024;
			o.at = realloc(o.at, room * sizeof(*o.at));
			test_zones_check(o.at != NULL, "memory");
		}
		previous = line;
		o.at[o.count++] = (size_t)(line - o.text);
	}
	test_zones_check(o.count > 0, "no delegations in the file");
	return o;
}

/* An owner's number: each alike, or the k-th most popular as often as 1/k says, popularity scattered over the zone. */
static size_t choose(bench_t *b, bool is_zipf)
{
	uint64_t random = next_random(&b->random);
	if (!is_zipf) {
		return random % b->owners.count;
	}
	double unit = (double)(random >> 11) * 0x1p-53;
	uint64_t rank = (uint64_t)exp(unit * log((double)b->owners.count + 1)) - 1;
	return rank * 2654435761u % b->owners.count;
}

static void make_frame(const qname_t *name, uint16_t type, uint16_t id, stored_frame_t *ret_frame)
{
	static uint8_t frame[FRAME_SIZE];
	kxdp_packet_t packet = client_packet(frame);
	const test_query_t query = { .qtype = type, .id = id, .udp_payload = 1232, .dnssec_ok = true };
	size_t query_len = test_query_about(&query, (knot_name_t){ name->wire, name->len, name->label_count },
			packet.payload, FRAME_SIZE - FRAME_HEADERS);
	uint8_t *start;
	size_t len = kxdp_frame_reply(&packet, query_len, &start);
	test_zones_check(len > 0 && len <= sizeof(ret_frame->bytes), "frame");
	memcpy(ret_frame->bytes, start, len);
	ret_frame->len = (uint16_t)len;
}

static void make_question(bench_t *b, size_t number, bool is_zipf, question_t *ret_question)
{
	const char *owner = b->owners.text + b->owners.at[choose(b, is_zipf)];
	int len = (int)strcspn(owner, " ");
	unsigned kind = number % 10;
	uint16_t type = kind == 8 ? KNOT_TYPE_DS : kind == 9 || kind & 1 ? KNOT_TYPE_A : KNOT_TYPE_AAAA;
	char text[KNOT_NAME_MAX];
	snprintf(text, sizeof(text), "%s%.*s%s", kind < 8 ? "www." : "", len, owner, kind == 9 ? "x0" : "");
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
	test_zones_check(knot_name_scan(knot_str_of(text), b->origin, wire, &name) == KNOT_OK && name.len <= QNAME_MAX,
			text);
	ret_question->name = (qname_t){ .len = (uint8_t)name.len, .label_count = (uint8_t)name.label_count };
	memcpy(ret_question->name.wire, wire, name.len);
	make_frame(&ret_question->name, type, (uint16_t)number, &ret_question->frame);
}

/* ---- What is measured: BATCH questions, returns how many went well ---- */

static knot_name_t name_of(const question_t *question)
{
	return (knot_name_t){ question->name.wire, question->name.len, question->name.label_count };
}

__attribute__((noinline)) static unsigned measure_lookup_single(bench_t *b, const question_t *questions)
{
	unsigned good = 0;
	for (unsigned i = 0; i < BATCH; i++) {
		good += zone_lookup(b->contents, name_of(&questions[i])).encloser != NULL;
	}
	return good;
}

__attribute__((noinline)) static unsigned measure_lookup_batch(bench_t *b, const question_t *questions)
{
	zone_tree_walk_t walks[BATCH];
	uint8_t keys[BATCH][KNOT_NAME_KEY_MAX];
	for (unsigned i = 0; i < BATCH; i++) {
		walks[i] = (zone_tree_walk_t){
			.view = &b->contents->arena,
			.tree = &b->contents->auth,
			.key = keys[i],
			.key_len = knot_name_key(name_of(&questions[i]), keys[i]),
		};
	}
	zone_tree_warm(walks, BATCH);
	unsigned good = 0;
	for (unsigned i = 0; i < BATCH; i++) {
		good += zone_lookup_walked(b->contents, name_of(&questions[i]), keys[i], walks[i].key_len,
					walks[i].deepest)
					.encloser != NULL;
	}
	return good;
}

/* As the network card does it: not what we are asked about, but little, and the same at every size. */
static void receive(const question_t *questions)
{
	for (unsigned i = 0; i < BATCH; i++) {
		memcpy(work[i], questions[i].frame.bytes, sizeof(questions[i].frame.bytes));
	}
}

static unsigned answer_frames(bench_t *b, const question_t *questions, unsigned step)
{
	kxdp_packet_t packets[BATCH];
	knot_bytes_t messages[BATCH];
	answer_request_t requests[BATCH];
	unsigned good = 0;
	for (unsigned first = 0; first < BATCH; first += step) {
		for (unsigned i = first; i < first + step; i++) {
			if (kxdp_frame_parse(work[i], questions[i].frame.len, FRAME_SIZE, 1500, &packets[i]) !=
					KXDP_OK) {
				return 0;
			}
			messages[i] = (knot_bytes_t){ packets[i].payload, packets[i].payload_len };
		}
		answer_read(&b->state.env, b->state.zones, messages + first, step, requests + first);
		for (unsigned i = first; i < first + step; i++) {
			const kxdp_packet_t *p = &packets[i];
			answer_source_t from = { .protocol = ANSWER_UDP4_XDP, .remote = &p->remote.sa };
			size_t len = request_answer(&b->traffic, &b->limits, &b->state, &from, &requests[i],
					(knot_mut_bytes_t){ p->payload, p->payload_max });
			uint8_t *start;
			good += len > 0 && kxdp_frame_reply(p, len, &start) > 0;
		}
	}
	return good;
}

__attribute__((noinline)) static unsigned measure_answer_single(bench_t *b, const question_t *questions)
{
	return answer_frames(b, questions, 1);
}

__attribute__((noinline)) static unsigned measure_answer_batch(bench_t *b, const question_t *questions)
{
	return answer_frames(b, questions, BATCH);
}

/* Each reply fits its question: otherwise what was measured isn't an answer. */
static void check_replies(const question_t *questions, size_t first)
{
	for (unsigned i = 0; i < BATCH; i++) {
		const uint8_t *message = work[i] + FRAME_HEADERS;
		unsigned rcode = message[3] & KNOT_RCODE_MASK,
			 wanted = (first + i) % 10 == 9 ? KNOT_RCODE_NXDOMAIN : KNOT_RCODE_NOERROR;
		if (!(message[2] & 0x80) || rcode != wanted || load_be16(message) != (uint16_t)(first + i)) {
			fprintf(stderr, "wrong answer to question %zu: rcode %u\n", first + i, rcode);
			abort();
		}
	}
	(void)questions;
}

typedef unsigned (*measure_t)(bench_t *b, const question_t *questions);

static const struct {
	const char *name;
	bool has_frames;
	measure_t batch, single;
} modes[] = {
	{ "lookup", false, measure_lookup_batch, measure_lookup_single },
	{ "answer", true, measure_answer_batch, measure_answer_single },
};

/* ---- Running ---- */

static double cpu_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void make_questions(bench_t *b, bool is_zipf)
{
	for (size_t i = 0; i < b->question_count; i++) {
		make_question(b, i, is_zipf, &b->questions[i]);
	}
}

static double pass(bench_t *b, measure_t measure, bool has_frames)
{
	size_t good = 0;
	double begin = cpu_s();
	for (size_t i = 0; i < b->question_count; i += BATCH) {
		if (has_frames) {
			receive(&b->questions[i]);
		}
		good += measure(b, &b->questions[i]);
		if (has_frames && i % 4096 == 0) {
			check_replies(&b->questions[i], i);
		}
	}
	test_zones_check(good == b->question_count, "not all answered");
	return (cpu_s() - begin) * 1e9 / (double)b->question_count;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void run(bench_t *b, size_t mode, bool is_zipf, bool counts)
{
	double batch[PASSES], single[PASSES];
	for (unsigned i = 0; i < (counts ? 1 : PASSES); i++) {
		make_questions(b, is_zipf);
		if (counts) {
			CALLGRIND_START_INSTRUMENTATION;
			CALLGRIND_ZERO_STATS;
		}
		batch[i] = pass(b, modes[mode].batch, modes[mode].has_frames);
		if (counts) {
			CALLGRIND_DUMP_STATS;
		}
		make_questions(b, is_zipf);
		single[i] = pass(b, modes[mode].single, modes[mode].has_frames);
		if (counts) {
			CALLGRIND_DUMP_STATS;
			CALLGRIND_STOP_INSTRUMENTATION;
		}
	}
	qsort(batch, PASSES, sizeof(*batch), compare);
	qsort(single, PASSES, sizeof(*single), compare);
	const char *choice = is_zipf ? "zipf" : "uniform";
	printf("%s batch %.1f\n%s single %.1f\n", choice, batch[counts ? 0 : PASSES / 2], choice,
			single[counts ? 0 : PASSES / 2]);
}

static double resident_mb(void)
{
	long pages = 0, resident = 0, shared = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	if (f != NULL) {
		if (fscanf(f, "%ld %ld %ld", &pages, &resident, &shared) != 3) {
			resident = shared = 0;
		}
		fclose(f);
	}
	return (double)(resident - shared) * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

static zone_t *load(const char *path, knot_name_t origin)
{
	double before_mb = resident_mb(), begin = cpu_s();
	zone_t *zone = zone_new(origin);
	zone_build_params_t params = { .origin = origin,
		.default_ttl = 3600,
		.now_s = (uint64_t)time(NULL),
		.on_message = test_zones_on_message };
	zone_contents_t *contents;
	knot_err_t err = zone_build_file(path, &params, &contents);
	if (zone == NULL || err != KNOT_OK) {
		fprintf(stderr, "%s: %s\n", path, knot_strerror(err));
		exit(1);
	}
	test_zones_check(zone_publish(zone, contents) == NULL, "publish");
	printf("load %.3f %.1f\n", cpu_s() - begin, resident_mb() - before_mb);
	return zone;
}

int main(int argc, char **argv)
{
	size_t mode = 0;
	while (argc >= 4 && mode < KNOT_LEN(modes) && strcmp(argv[1], modes[mode].name) != 0) {
		mode++;
	}
	if (argc < 4 || mode == KNOT_LEN(modes)) {
		fprintf(stderr, "usage: bench_scale lookup|answer FILE ORIGIN [count]\n");
		return 1;
	}
	bool counts = argc > 4;
	if (counts && !CAN_COUNT) {
		fprintf(stderr, "bench_scale: valgrind/callgrind.h was not there when this was built; instructions "
				"can't be counted\n");
		return 2;
	}
	uint8_t wire[KNOT_NAME_MAX];
	bench_t b = { .random = 88172645463325252u, .question_count = counts ? QUESTIONS_COUNTED : QUESTIONS };
	test_zones_check(knot_name_scan(knot_str_of(argv[3]), knot_name_root, wire, &b.origin) == KNOT_OK, argv[3]);
	sys_rcu_register();
	zone_t *zone = load(argv[2], b.origin);
	zonedb_t *zones = zonedb_new(&zone, 1);
	b.questions = calloc(b.question_count, sizeof(*b.questions));
	test_zones_check(zones != NULL && b.questions != NULL, "memory");
	b.owners = find_owners(argv[2]);
	b.state.zones = zones;
	b.state.env = (answer_env_t){ .udp_payload_max_ipv4 = 1232, .udp_payload_max_ipv6 = 1232 };
	rcu_guard_t guard = sys_rcu_enter();
	b.contents = zone_contents(zone);
	run(&b, mode, false, counts);
	run(&b, mode, true, counts);
	sys_rcu_leave(&guard);
	free(b.questions);
	free(b.owners.at);
	munmap((void *)b.owners.text, b.owners.text_len);
	zonedb_free(zones);
	zone_free(zone);
	sys_rcu_unregister();
	return 0;
}
