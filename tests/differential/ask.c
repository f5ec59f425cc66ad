/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ask several servers the same questions and compare the answers in normal form.
 *
 *   ask QUESTIONS SERVER SERVER...     SERVER = name=address@port[%namespace][/u|/t]
 *
 * QUESTIONS: records of one byte flags (1: by TCP, 2: maybe no server answers), two bytes length (big-endian), message.
 * The first server is the reference. /u, /t: this server gets only the questions for UDP, TCP. Each server has a thread
 * with its own sockets and a window of outstanding questions; an answer is recognised by its message id, which is the
 * question's number. That a server is silent is judged by what it has answered since, not by the clock alone: a busy
 * machine isn't a dropped answer.
 *
 * Normal form: header without id; question; per section the sorted list of records with lower-case, uncompressed names;
 * the OPT record apart: version, flags, size, options sorted. When both set TC only header and OPT are compared:
 * the rest of a truncated answer is not to be used (RFC 2181 9).
 *
 * Output per difference, tab-separated: server, number, letters of what differs, hex of question, reference, answer.
 * Letters: n one of them gave no answer; h header flags; r rcode; q question; A N D sections; o OPT; m malformed
 * answer; d a record twice, only here. A summary line per server goes to stderr. Deliberately independent of libknot:
 * it is the judge.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	WINDOW_UDP = 128, /* outstanding questions; all replies must fit into a default socket buffer */
	WINDOW_TCP = 64,
	TRY_MAX = 5,
	TRY_MS = 400,     /* grows with each try */
	DOUBTFUL_MAX = 2, /* tries where no answer may be the answer */
	TCP_MS = 2000,
	STALL_MS = 120000, /* who answers nothing for so long has ended */
	RECORD_MAX = 4096, /* records of one message */
	SERVER_MAX = 8,
};

typedef struct {
	const uint8_t *data;
	uint16_t len;
	bool tcp;
	bool doubtful; /* maybe no server answers it */
} question_t;

typedef struct {
	uint8_t *data; /* owned; NULL: no answer */
	uint32_t len;
} reply_t;

typedef struct {
	const char *name;
	struct sockaddr_storage address;
	socklen_t address_len;
	const char *namespace;
	bool udp, tcp;
	reply_t *replies; /* by question */
	double seconds;
	size_t asked, retries, strays;
} server_t;

static uint8_t *question_data; /* owned; the questions point into it */
static question_t *questions;
static size_t question_count;

static void die(const char *what)
{
	fprintf(stderr, "ask: %s: %s\n", what, strerror(errno));
	exit(2);
}

static uint64_t now_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static unsigned be16(const uint8_t *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

/* ---- Asking ---- */

typedef struct {
	size_t number;
	uint64_t due_ms;
	uint64_t turn; /* when it was sent, among all that was */
	int tries;     /* 0: slot is free */
	bool sent;     /* TCP: on the present connection */
} slot_t;

/* How far a server has come: it answers in the order of the questions. Where nothing later than a question has been
 * answered, one that was answered before is asked again as a probe. */
typedef struct {
	uint64_t sent, answered;    /* turns: the last one; the latest known to be answered */
	bool has_probe, is_probing; /* there is a question for it; it is under way */
	size_t probe;               /* number of the question */
	uint64_t probe_turn, probe_due_ms;
} pace_t;

static bool wanted(const server_t *s, size_t number)
{
	return questions[number].tcp ? s->tcp : s->udp;
}

static void keep(server_t *s, size_t number, const uint8_t *data, size_t len)
{
	reply_t *r = &s->replies[number];
	if (r->data != NULL) {
		return;
	}
	r->data = malloc(len);
	if (r->data == NULL) {
		die("memory");
	}
	memcpy(r->data, data, len);
	r->len = (uint32_t)len;
}

static int connected(const server_t *s, int type)
{
	int fd = socket(s->address.ss_family, type, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&s->address, s->address_len) != 0) {
		fprintf(stderr, "ask: %s: %s\n", s->name, strerror(errno));
		exit(2);
	}
	int size = 1 << 20, on = 1;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (type == SOCK_STREAM) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	}
	return fd;
}

static void send_udp(const server_t *s, int fd, size_t number)
{
	const question_t *q = &questions[number];
	uint8_t wire[65535];
	memcpy(wire, q->data, q->len);
	wire[0] = (uint8_t)(number >> 8);
	wire[1] = (uint8_t)number;
	while (send(fd, wire, q->len, 0) < 0) {
		if (errno == ECONNREFUSED) {
			continue; /* an older datagram's error; this one has not been sent */
		}
		if (errno != ENOBUFS && errno != EAGAIN && errno != EINTR) {
			fprintf(stderr, "ask: %s: %s\n", s->name, strerror(errno));
			exit(2);
		}
		usleep(1000);
	}
}

/* Among the outstanding questions each id is there once. */
static slot_t *slot_of(slot_t *slots, size_t count, unsigned id)
{
	for (size_t i = 0; i < count; i++) {
		if (slots[i].tries > 0 && (slots[i].number & 0xffff) == id) {
			return &slots[i];
		}
	}
	return NULL;
}

/* Ids come again after 65536 questions, a late answer may be meant for another one. */
static bool echoes(const question_t *q, const uint8_t *reply, size_t len)
{
	if (q->len < 12 || len < 12 || be16(q->data + 4) != 1 || be16(reply + 4) != 1) {
		return true;
	}
	size_t end = 12;
	while (end < q->len && q->data[end] != 0 && q->data[end] < 64) {
		end += q->data[end] + 1u;
	}
	end += 5;
	return end > q->len || (end <= len && memcmp(q->data + 12, reply + 12, end - 12) == 0);
}

/* A question whose time is up, and the server has gone on to later ones. */
static bool is_passed_over(const server_t *s, const pace_t *pace, const slot_t *slot, uint64_t now)
{
	if (pace->answered <= slot->turn && slot->due_ms + STALL_MS <= now) {
		fprintf(stderr, "ask: %s: nothing is answered any more, question %zu\n", s->name, slot->number);
		exit(2);
	}
	return pace->answered > slot->turn;
}

static void note_answer(pace_t *pace, const slot_t *slot)
{
	/* Of a question that was sent twice it isn't known which one was answered. */
	if (slot->tries == 1 && slot->turn > pace->answered) {
		pace->answered = slot->turn;
	}
	if (!pace->is_probing && !questions[slot->number].doubtful) {
		pace->has_probe = true;
		pace->probe = slot->number;
	}
}

/* True if the answer is the probe's. */
static bool note_probe(pace_t *pace, const uint8_t *reply, size_t len)
{
	if (!pace->is_probing || len < 2 || be16(reply) != (pace->probe & 0xffff) ||
			!echoes(&questions[pace->probe], reply, len)) {
		return false;
	}
	pace->is_probing = false;
	pace->answered = pace->probe_turn > pace->answered ? pace->probe_turn : pace->answered;
	return true;
}

/* True: the probe is to be sent. It keeps its turn when it is sent again. */
static bool wants_probe(pace_t *pace, slot_t *slots, size_t count, uint64_t now, uint64_t again_ms)
{
	if (!pace->has_probe || slot_of(slots, count, pace->probe & 0xffff) != NULL ||
			(pace->is_probing && pace->probe_due_ms > now)) {
		return false;
	}
	pace->probe_turn = pace->is_probing ? pace->probe_turn : ++pace->sent;
	pace->probe_due_ms = now + again_ms;
	pace->is_probing = true;
	return true;
}

static void ask_udp(server_t *s)
{
	slot_t slots[WINDOW_UDP] = { 0 };
	pace_t pace = { 0 };
	uint8_t wire[65535];
	int fd = connected(s, SOCK_DGRAM);
	for (size_t next = 0, busy = 0; next < question_count || busy > 0;) {
		uint64_t now = now_ms();
		bool is_in_doubt = false;
		for (size_t i = 0; i < WINDOW_UDP; i++) {
			slot_t *slot = &slots[i];
			if (slot->tries > 0 && slot->due_ms <= now) {
				if (!is_passed_over(s, &pace, slot, now)) {
					is_in_doubt = true;
				} else if (slot->tries == (questions[slot->number].doubtful ? DOUBTFUL_MAX : TRY_MAX)) {
					slot->tries = 0; /* stays without an answer */
					busy--;
				} else {
					send_udp(s, fd, slot->number);
					s->retries++;
					slot->tries++;
					slot->turn = ++pace.sent;
					slot->due_ms = now + (uint64_t)(TRY_MS * slot->tries);
				}
			}
			while (slot->tries == 0 && next < question_count &&
					slot_of(slots, WINDOW_UDP, next & 0xffff) == NULL) {
				if (!questions[next].tcp && wanted(s, next)) {
					*slot = (slot_t){
						.number = next, .due_ms = now + TRY_MS, .turn = ++pace.sent, .tries = 1
					};
					send_udp(s, fd, next);
					s->asked++;
					busy++;
				}
				next++;
			}
		}
		if (is_in_doubt && wants_probe(&pace, slots, WINDOW_UDP, now, TRY_MS)) {
			send_udp(s, fd, pace.probe);
		}
		struct pollfd pfd = { .fd = fd, .events = POLLIN };
		if (busy == 0 || poll(&pfd, 1, 50) <= 0) {
			continue;
		}
		ssize_t len;
		while ((len = recv(fd, wire, sizeof(wire), MSG_DONTWAIT)) >= 0) {
			slot_t *slot = len >= 2 ? slot_of(slots, WINDOW_UDP, be16(wire)) : NULL;
			if (slot == NULL || !echoes(&questions[slot->number], wire, (size_t)len)) {
				s->strays += !note_probe(
						&pace, wire, (size_t)len); /* to a question that was asked twice */
			} else {
				note_answer(&pace, slot);
				keep(s, slot->number, wire, (size_t)len);
				slot->tries = 0;
				busy--;
			}
		}
	}
	close(fd);
}

static bool send_tcp(int fd, size_t number)
{
	const question_t *q = &questions[number];
	uint8_t wire[2 + 65535];
	wire[0] = (uint8_t)(q->len >> 8);
	wire[1] = (uint8_t)q->len;
	memcpy(wire + 2, q->data, q->len);
	wire[2] = (uint8_t)(number >> 8);
	wire[3] = (uint8_t)number;
	return send(fd, wire, q->len + 2u, MSG_NOSIGNAL) == (ssize_t)q->len + 2;
}

/* One connection at a time. Where the server closes it, what is outstanding is asked again on the next, one by one
 * at first: a question that makes the server close twice when it is alone has no answer, its neighbours have. A
 * question that gets no answer in time, and others after it do, is given up; TCP loses nothing, so it isn't asked
 * again. */
static void ask_tcp(server_t *s)
{
	slot_t slots[WINDOW_TCP] = { 0 };
	pace_t pace = { 0 };
	static __thread uint8_t buffer[1 << 18];
	size_t filled = 0, window = WINDOW_TCP, next = 0, busy = 0;
	int fd = -1;
	while (next < question_count || busy > 0) {
		if (fd < 0) {
			fd = connected(s, SOCK_STREAM);
			filled = 0;
			pace.is_probing = false;
		}
		bool broken = false, is_in_doubt = false;
		uint64_t now = now_ms();
		size_t flying = 0;
		for (size_t i = 0; i < WINDOW_TCP; i++) {
			slot_t *slot = &slots[i];
			if (slot->sent && slot->due_ms <= now && is_passed_over(s, &pace, slot, now)) {
				*slot = (slot_t){ 0 };
				busy--;
			}
			is_in_doubt = is_in_doubt || (slot->sent && slot->due_ms <= now);
			flying += slot->sent;
		}
		for (size_t i = 0; i < WINDOW_TCP && flying < window && !broken; i++) {
			slot_t *slot = &slots[i];
			while (slot->tries == 0 && next < question_count &&
					slot_of(slots, WINDOW_TCP, next & 0xffff) == NULL) {
				if (questions[next].tcp && wanted(s, next)) {
					*slot = (slot_t){ .number = next, .tries = 1 };
					s->asked++;
					busy++;
				}
				next++;
			}
			if (slot->tries > 0 && !slot->sent) {
				slot->sent = true;
				slot->due_ms = now + TCP_MS;
				slot->turn = ++pace.sent;
				flying++;
				broken = !send_tcp(fd, slot->number);
			}
		}
		if (is_in_doubt && !broken && wants_probe(&pace, slots, WINDOW_TCP, now, STALL_MS)) {
			broken = !send_tcp(fd, pace.probe);
		}
		struct pollfd pfd = { .fd = fd, .events = POLLIN };
		if (!broken && flying > 0 && poll(&pfd, 1, 50) > 0) {
			ssize_t len = recv(fd, buffer + filled, sizeof(buffer) - filled, 0);
			broken = len <= 0;
			filled += len > 0 ? (size_t)len : 0;
		}
		size_t done = 0;
		while (filled - done >= 2 && filled - done - 2 >= be16(buffer + done)) {
			size_t len = be16(buffer + done);
			slot_t *slot = len >= 2 ? slot_of(slots, WINDOW_TCP, be16(buffer + done + 2)) : NULL;
			if (slot == NULL) {
				note_probe(&pace, buffer + done + 2, len);
			} else {
				note_answer(&pace, slot);
				keep(s, slot->number, buffer + done + 2, len);
				*slot = (slot_t){ 0 };
				busy--;
				flying--;
				window = window * 2 < WINDOW_TCP ? window * 2 : WINDOW_TCP;
			}
			done += len + 2;
		}
		memmove(buffer, buffer + done, filled - done);
		filled -= done;
		if (broken) {
			for (size_t i = 0; i < WINDOW_TCP; i++) {
				slot_t *slot = &slots[i];
				slot->tries += slot->sent && flying == 1;
				s->retries += slot->sent;
				slot->sent = false;
				if (slot->tries == 3) {
					*slot = (slot_t){ 0 };
					busy--;
				}
			}
			close(fd);
			fd = -1;
			window = 1;
		}
	}
	if (fd >= 0) {
		close(fd);
	}
}

static void *ask(void *arg)
{
	server_t *s = arg;
	if (s->namespace != NULL) {
		char path[256];
		snprintf(path, sizeof(path), "/run/netns/%s", s->namespace);
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || setns(fd, CLONE_NEWNET) != 0) {
			die(path);
		}
		close(fd);
	}
	uint64_t start = now_ms();
	if (s->udp) {
		ask_udp(s);
	}
	if (s->tcp) {
		ask_tcp(s);
	}
	s->seconds = (double)(now_ms() - start) / 1000;
	return NULL;
}

/* ---- Normal form ---- */

typedef struct {
	uint8_t *data; /* owner, type, class, TTL, RDATA in normal form */
	size_t len;
} record_t;

typedef struct {
	bool malformed;
	bool doubles;   /* a record came twice in a section */
	unsigned flags; /* without rcode */
	unsigned rcode; /* extended */
	const uint8_t *question;
	size_t question_len;
	record_t records[3][RECORD_MAX];
	size_t counts[3];
	record_t opt;  /* class, version and flags, sorted options; data NULL: none */
	uint8_t *heap; /* all of the above point into it */
	size_t heap_len;
} form_t;

/* Fields before and between the names of RDATA, for types whose names may come compressed or in other case:
 * a digit is a count of octets, n a name, s a character-string, * the rest. RFC 1035, 1183, 2163, 2230, 2782, 2915,
 * 4034. */
static const char *layout_of(unsigned type)
{
	static const struct {
		unsigned type;
		const char *layout;
	} rows[] = {
		{ 2, "n" },
		{ 3, "n" },
		{ 4, "n" },
		{ 5, "n" },
		{ 6, "nn*" },
		{ 7, "n" },
		{ 8, "n" },
		{ 9, "n" },
		{ 12, "n" },
		{ 14, "nn" },
		{ 15, "2n" },
		{ 17, "nn" },
		{ 18, "2n" },
		{ 21, "2n" },
		{ 24, "99n*" },
		{ 26, "2nn" },
		{ 30, "n*" },
		{ 33, "6n" },
		{ 35, "4sssn" },
		{ 36, "2n" },
		{ 39, "n" },
		{ 46, "99n*" },
		{ 47, "n*" },
		{ 58, "nn" },
		{ 64, "2n*" },
		{ 65, "2n*" },
		{ 107, "2n" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].type == type) {
			return rows[i].layout;
		}
	}
	return "*";
}

typedef struct {
	const uint8_t *msg;
	size_t len, pos;
	uint8_t *out; /* room for everything; sizes are checked by the caller's heap */
	size_t out_len, out_max;
	bool failed;
} walk_t;

static void put(walk_t *w, const uint8_t *data, size_t len)
{
	if (w->failed || len > w->out_max - w->out_len) {
		w->failed = true;
		return;
	}
	memcpy(w->out + w->out_len, data, len);
	w->out_len += len;
}

static void copy(walk_t *w, size_t len, size_t end)
{
	if (w->failed || w->pos > end || len > end - w->pos) {
		w->failed = true;
		return;
	}
	put(w, w->msg + w->pos, len);
	w->pos += len;
}

static void name(walk_t *w, size_t end)
{
	size_t at = w->pos, after = 0, total = 0;
	for (;;) {
		size_t limit = after == 0 ? end : w->len;
		if (at >= limit) {
			w->failed = true;
			return;
		}
		unsigned octet = w->msg[at];
		if (octet >= 0xc0) {
			if (at + 2 > limit || (be16(w->msg + at) & 0x3fff) >= at) {
				w->failed = true;
				return;
			}
			after = after == 0 ? at + 2 : after;
			at = be16(w->msg + at) & 0x3fff;
			continue;
		}
		if (octet > 63 || at + 1 + octet > limit || (total += octet + 1) > 255) {
			w->failed = true;
			return;
		}
		uint8_t label[64] = { (uint8_t)octet };
		for (size_t i = 0; i < octet; i++) {
			label[1 + i] = (uint8_t)tolower(w->msg[at + 1 + i]);
		}
		put(w, label, octet + 1);
		at += octet + 1;
		if (octet == 0) {
			break;
		}
	}
	w->pos = after != 0 ? after : at;
}

static void rdata(walk_t *w, unsigned type, size_t end)
{
	for (const char *field = layout_of(type); *field != '\0' && !w->failed; field++) {
		if (*field == 'n') {
			name(w, end);
		} else if (*field == 's') {
			copy(w, w->pos < end ? w->msg[w->pos] + 1u : 1, end);
		} else if (*field == '*') {
			copy(w, end - w->pos, end);
		} else {
			copy(w, (size_t)(*field - '0'), end);
		}
	}
	w->failed |= w->pos != end;
}

static int by_bytes(const void *a, const void *b)
{
	const record_t *x = a, *y = b;
	int order = memcmp(x->data, y->data, x->len < y->len ? x->len : y->len);
	return order != 0 ? order : (x->len > y->len) - (x->len < y->len);
}

/* The OPT record: size, version, flags, then its options in order of their bytes. */
static void opt(walk_t *w, form_t *f, size_t end)
{
	size_t start = w->out_len;
	copy(w, 2, end); /* class: payload size */
	f->rcode |= (unsigned)w->msg[w->pos] << 4;
	w->pos += 1;
	copy(w, 3, end); /* version and flags */
	w->pos += 2;
	record_t options[64];
	size_t count = 0;
	for (size_t pos = w->pos; pos < end; count++) {
		if (end - pos < 4 || be16(w->msg + pos + 2) > end - pos - 4 || count == 64) {
			w->failed = true;
			return;
		}
		options[count] = (record_t){ (uint8_t *)w->msg + pos, 4u + be16(w->msg + pos + 2) };
		pos += options[count].len;
	}
	qsort(options, count, sizeof(options[0]), by_bytes);
	for (size_t i = 0; i < count; i++) {
		put(w, options[i].data, options[i].len);
	}
	w->pos = end;
	f->opt = (record_t){ w->out + start, w->out_len - start };
}

/* Sections are sets (RFC 2181 5); what comes twice is remembered. */
static void unique(form_t *f, int s)
{
	size_t kept = 0;
	for (size_t i = 0; i < f->counts[s]; i++) {
		if (kept > 0 && by_bytes(&f->records[s][kept - 1], &f->records[s][i]) == 0) {
			f->doubles = true;
		} else {
			f->records[s][kept++] = f->records[s][i];
		}
	}
	f->counts[s] = kept;
}

static void normalise(const reply_t *reply, form_t *f)
{
	for (int s = 0; s < 3; s++) {
		f->counts[s] = 0;
	}
	f->opt = (record_t){ 0 };
	f->malformed = true;
	f->doubles = false;
	f->question_len = 0;
	if (reply->len < 12) {
		return;
	}
	walk_t w = { .msg = reply->data, .len = reply->len, .pos = 12, .out = f->heap, .out_max = f->heap_len };
	f->flags = be16(reply->data + 2) & 0xfff0;
	f->rcode = reply->data[3] & 0x0f;
	for (unsigned n = be16(reply->data + 4); n > 0 && !w.failed; n--) {
		/* As is, not in lower case: the question's letters must come back as they were sent. */
		size_t start = w.pos;
		name(&w, w.len);
		w.pos += 4;
		w.failed |= w.pos > w.len;
		f->question = reply->data + 12;
		f->question_len += w.pos - start;
	}
	w.out_len = 0;
	for (int s = 0; s < 3 && !w.failed; s++) {
		for (unsigned n = be16(reply->data + 6 + 2 * s); n > 0 && !w.failed; n--) {
			size_t start = w.out_len;
			name(&w, w.len);
			if (w.failed || w.len - w.pos < 10 || w.len - w.pos - 10 < be16(w.msg + w.pos + 8)) {
				return;
			}
			unsigned type = be16(w.msg + w.pos);
			size_t end = w.pos + 10 + be16(w.msg + w.pos + 8);
			if (type == 41 && s == 2) {
				if (w.out_len != start + 1 || f->opt.data != NULL) {
					return; /* not at the root, or two of them */
				}
				w.pos += 2;
				w.out_len = start;
				opt(&w, f, end);
				continue;
			}
			copy(&w, 8, end);
			w.pos += 2;
			rdata(&w, type, end);
			if (f->counts[s] == RECORD_MAX) {
				return;
			}
			f->records[s][f->counts[s]++] = (record_t){ f->heap + start, w.out_len - start };
		}
		qsort(f->records[s], f->counts[s], sizeof(record_t), by_bytes);
		unique(f, s);
	}
	f->malformed = w.failed || w.pos != w.len;
}

static bool same_records(const form_t *a, const form_t *b, int s)
{
	if (a->counts[s] != b->counts[s]) {
		return false;
	}
	for (size_t i = 0; i < a->counts[s]; i++) {
		if (by_bytes(&a->records[s][i], &b->records[s][i]) != 0) {
			return false;
		}
	}
	return true;
}

/* Letters of what differs; empty if nothing does. */
static void compare(const reply_t *reference, const reply_t *reply, form_t *a, form_t *b, char letters[static 12])
{
	*letters = '\0';
	if (reference->data == NULL || reply->data == NULL) {
		strcpy(letters, reference->data == reply->data ? "" : "n");
		return;
	}
	if (reference->len == reply->len && memcmp(reference->data, reply->data, reply->len) == 0 && reply->len >= 12 &&
			(be16(reply->data + 6) + be16(reply->data + 8)) == 0) {
		return; /* nothing in it that could be malformed in both */
	}
	normalise(reference, a);
	normalise(reply, b);
	char *out = letters;
	if (a->malformed || b->malformed) {
		*out++ = 'm';
	}
	if (b->doubles && !a->doubles) {
		*out++ = 'd';
	}
	if (a->flags != b->flags) {
		*out++ = 'h';
	}
	if (a->rcode != b->rcode) {
		*out++ = 'r';
	}
	if (a->question_len != b->question_len ||
			(a->question_len > 0 && memcmp(a->question, b->question, a->question_len) != 0)) {
		*out++ = 'q';
	}
	for (int s = 0; s < 3 && !(a->flags & b->flags & 0x0200); s++) {
		if (!same_records(a, b, s)) {
			*out++ = "AND"[s];
		}
	}
	if ((a->opt.data == NULL) != (b->opt.data == NULL) ||
			(a->opt.data != NULL && by_bytes(&a->opt, &b->opt) != 0)) {
		*out++ = 'o';
	}
	*out = '\0';
}

/* ---- Program ---- */

static void read_questions(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) != 0) {
		die(path);
	}
	uint8_t *data = question_data = malloc((size_t)st.st_size + 1);
	questions = calloc((size_t)st.st_size / 3 + 1, sizeof(*questions));
	if (data == NULL || questions == NULL || read(fd, data, (size_t)st.st_size) != st.st_size) {
		die(path);
	}
	close(fd);
	for (off_t pos = 0; pos + 3 <= st.st_size;) {
		uint16_t len = (uint16_t)be16(data + pos + 1);
		questions[question_count++] = (question_t){ data + pos + 3, len, data[pos] & 1, data[pos] & 2 };
		pos += 3 + len;
		if (pos > st.st_size || len < 2) {
			fprintf(stderr, "ask: %s: bad record %zu\n", path, question_count);
			exit(2);
		}
	}
}

static server_t read_server(char *text)
{
	server_t s = { .name = text, .udp = true, .tcp = true };
	char *address = strchr(text, '='), *port = strrchr(text, '@');
	if (address == NULL || port == NULL) {
		fprintf(stderr, "ask: not name=address@port: %s\n", text);
		exit(2);
	}
	*address++ = '\0';
	*port++ = '\0';
	char *only = strchr(port, '/');
	if (only != NULL) {
		*only++ = '\0';
		s.tcp = *only == 't';
		s.udp = *only == 'u';
	}
	char *namespace = strchr(port, '%');
	if (namespace != NULL) {
		*namespace ++ = '\0';
		s.namespace = namespace;
	}
	uint16_t number = htons((uint16_t)strtoul(port, NULL, 10));
	struct sockaddr_in *v4 = (struct sockaddr_in *)&s.address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&s.address;
	if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = number;
		s.address_len = sizeof(*v4);
	} else if (inet_pton(AF_INET6, address, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = number;
		s.address_len = sizeof(*v6);
	} else {
		fprintf(stderr, "ask: not an address: %s\n", address);
		exit(2);
	}
	s.replies = calloc(question_count, sizeof(reply_t));
	return s;
}

static void print_hex(const uint8_t *data, size_t len)
{
	putchar('\t');
	for (size_t i = 0; i < len; i++) {
		printf("%02x", data[i]);
	}
}

int main(int argc, char **argv)
{
	if (argc < 3 || argc - 2 > SERVER_MAX) {
		fprintf(stderr, "usage: ask QUESTIONS NAME=ADDRESS@PORT[%%NAMESPACE][/u|/t]...\n");
		return 2;
	}
	read_questions(argv[1]);
	server_t servers[SERVER_MAX];
	pthread_t threads[SERVER_MAX];
	size_t count = (size_t)argc - 2;
	for (size_t i = 0; i < count; i++) {
		servers[i] = read_server(argv[2 + i]);
		if (pthread_create(&threads[i], NULL, ask, &servers[i]) != 0) {
			die("thread");
		}
	}
	for (size_t i = 0; i < count; i++) {
		pthread_join(threads[i], NULL);
	}
	form_t *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));
	if (a == NULL || b == NULL) {
		die("memory");
	}
	a->heap_len = b->heap_len = 1 << 22;
	a->heap = malloc(a->heap_len);
	b->heap = malloc(b->heap_len);
	for (size_t i = 0; i < count; i++) {
		size_t answered = 0, differ = 0;
		for (size_t n = 0; n < question_count; n++) {
			answered += servers[i].replies[n].data != NULL;
			char letters[12] = "";
			if (i > 0 && wanted(&servers[i], n) && wanted(&servers[0], n)) {
				compare(&servers[0].replies[n], &servers[i].replies[n], a, b, letters);
			}
			if (*letters != '\0') {
				differ++;
				printf("%s\t%zu\t%s%s", servers[i].name, n, letters,
						questions[n].tcp ? "\ttcp" : "\tudp");
				print_hex(questions[n].data, questions[n].len);
				print_hex(servers[0].replies[n].data, servers[0].replies[n].len);
				print_hex(servers[i].replies[n].data, servers[i].replies[n].len);
				putchar('\n');
			}
		}
		fprintf(stderr, "%s\t%zu\t%zu\t%zu\t%zu\t%zu\t%.1f\n", servers[i].name, servers[i].asked, answered,
				servers[i].retries, servers[i].strays, differ, servers[i].seconds);
	}
	for (size_t i = 0; i < count; i++) {
		for (size_t n = 0; n < question_count; n++) {
			free(servers[i].replies[n].data);
		}
		free(servers[i].replies);
	}
	free(a->heap);
	free(b->heap);
	free(a);
	free(b);
	free(questions);
	free(question_data);
	return 0;
}
