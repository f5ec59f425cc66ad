/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The server's side of a control connection: the bytes of a client, any shape, against a server with zones and a
 * configuration in memory.
 *
 * What it sends must be units of the protocol, with no more ends of blocks than were asked for, and whatever was begun
 * can be aborted after it. Left out are requests that would write files where the input says: those that flush or
 * commit, and any value with a slash in it.
 */
#include "src/control/session.h"
#include "src/event/conf_edit.h"
#include "src/event/zone_edit.h"

#include "libknot/control/unit.h"
#include "src/sys/clock.h"
#include "src/sys/log.h"
#include "src/sys/rcu.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 65536, SOCKET_BYTES = 4 << 20, TIMEOUT_MS = 20 };

static server_t *server;
static net_t *net;
static control_t *control; /* without sockets */
static sys_rwlock_t lock;

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

/* ---- The server ---- */

static char dir[] = "/tmp/fuzz-session-XXXXXX";

static void remove_dir(void)
{
	char command[64];
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	(void)!system(command);
}

static void write_file(const char *name, const char *text)
{
	char path[96];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *file = fopen(path, "w");
	check(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void tell(void *ctx, const conf_fault_t *fault)
{
	(void)ctx;
	fprintf(stderr, "%s\n", fault->text);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	static const char zone[] = "@ 60 SOA ns admin 1 2 3 4 5\n@ NS ns\nns A 192.0.2.1\n*.w TXT a\nsub NS ns\n";
	static const conf_host_t host = { .cpu_count = 1, .nofile_max = 1024, .hostname = "fuzz", .version = "fuzz" };
	char text[1024];
	static char path[96];
	sys_rwlock_init(&lock);
	check(mkdtemp(dir) != NULL && atexit(remove_dir) == 0);
	write_file("a.zone", zone);
	write_file("b.zone", zone);
	snprintf(text, sizeof(text),
			"server:\n  background-workers: 1\n  rundir: %s\nlog:\n  - target: stderr\n    any: critical\n"
			"database:\n  storage: %s\nmod-stats:\n  - id: s\n"
			"template:\n  - id: default\n    storage: %s\n    global-module: mod-stats/s\n    module: "
			"mod-stats/s\n    zonefile-sync: -1\n"
			"zone:\n  - domain: a\n  - domain: b\n  - domain: c\n",
			dir, dir, dir);
	write_file("conf", text);
	snprintf(path, sizeof(path), "%s/conf", dir);
	sys_rcu_register();
	sys_log_close();
	conf_t *conf;
	check(conf_load(path, &host, (conf_sink_t){ tell, NULL }, &conf) == KNOT_OK);
	check(net_new(conf, NULL, &net) == KNOT_OK);
	static server_params_t params;
	params = (server_params_t){ .conf_path = path, .host = &host, .uid = getuid(), .gid = getgid() };
	check(server_new(conf, &params, &server) == KNOT_OK && server_start(server) == KNOT_OK);
	const control_params_t control_params = { .server = server, .net = net };
	check(control_new(&control_params, &control) == KNOT_OK);
	server_load_zones(server);
	while (server_is_loading(server)) {
		sys_clock_sleep_ns(1000000);
	}
	sys_log_close();
	return 0;
}

/* ---- A connection ---- */

typedef struct {
	const uint8_t *data;
	size_t size;
	size_t blocks; /* ends of blocks among them, more or less: bytes of this value */
} input_t;

static bool holds_text(knot_bytes_t item, const char *text)
{
	return item.len >= strlen(text) && memmem(item.data, item.len, text, strlen(text)) != NULL;
}

/* False: it would write files, or end or wait. */
static bool is_harmless(const input_t *input)
{
	static const char *const left_out[] = { "conf-commit", "zone-flush", "zone-backup", "zone-restore",
		"xdp-capture" };
	if (memchr(input->data, '/', input->size) != NULL) {
		return false;
	}
	for (size_t i = 0; i < KNOT_LEN(left_out); i++) {
		if (holds_text((knot_bytes_t){ input->data, input->size }, left_out[i])) {
			return false;
		}
	}
	return true;
}

/* All bytes that the server sent. */
static void check_reply(int fd, size_t blocks_max)
{
	static uint8_t reply[SOCKET_BYTES];
	size_t len = 0;
	for (ssize_t got;
			len < sizeof(reply) && (got = recv(fd, reply + len, sizeof(reply) - len, MSG_DONTWAIT)) > 0;) {
		len += (size_t)got;
	}
	size_t pos = 0, blocks = 0;
	knot_ctl_scanner_t scanner = { 0 };
	knot_ctl_scan_t scan = KNOT_CTL_SCAN_UNIT;
	while (scan == KNOT_CTL_SCAN_UNIT) {
		knot_ctl_unit_t unit;
		size_t used;
		scan = knot_ctl_scan_on(&scanner, (knot_bytes_t){ reply + pos, len - pos }, &unit, &used);
		check(scan != KNOT_CTL_SCAN_BAD);
		if (scan == KNOT_CTL_SCAN_UNIT) {
			pos += used;
			blocks += unit.type == KNOT_CTL_TYPE_BLOCK;
		}
	}
	check(blocks <= blocks_max);
}

static void serve(input_t input)
{
	int pair[2], bytes = SOCKET_BYTES;
	check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	for (size_t i = 0; i < 2; i++) {
		(void)setsockopt(pair[i], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	}
	check(send(pair[0], input.data, input.size, MSG_DONTWAIT) == (ssize_t)input.size &&
			shutdown(pair[0], SHUT_WR) == 0);
	knot_ctl_t *ctl = knot_ctl_alloc();
	check(ctl != NULL);
	knot_ctl_set_timeout(ctl, TIMEOUT_MS);
	knot_ctl_adopt(ctl, pair[1]);
	peer_wait_t wait = { 0 };
	session_t session = {
		.control = control, .server = server, .net = net, .ctl = ctl, .lock = &lock, .wait = &wait
	};
	session_serve(&session);
	check(!session.is_locked && session.skip_since_ms == 0 && atomic_load(&wait.since_ms) == 0);
	check_reply(pair[0], input.blocks);
	knot_ctl_free(ctl);
	close(pair[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	input_t input = { .data = data, .size = size };
	if (size == 0 || size > INPUT_MAX || !is_harmless(&input)) {
		return -1;
	}
	for (size_t i = 0; i < size; i++) {
		input.blocks += data[i] == KNOT_CTL_TYPE_BLOCK;
	}
	serve(input);
	/* What was begun is open to any connection, and ends here. */
	static const uint8_t aborts[] = "\1\20\0\12zone-abort\3\1\20\0\12conf-abort\3\1\20\0\11zone-thaw\3";
	serve((input_t){ .data = aborts, .size = sizeof(aborts) - 1, .blocks = 3 });
	check(!server_edits_are_open(server) && !server_conf_is_open(server));
	return 0;
}
