/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/control/metrics.h"

#include "src/control/dashboard.h"
#include "src/control/health.h"
#include "src/control/http_host.h"
#include "src/control/metrics_render.h"
#include "src/control/metrics_top.h"
#include "src/control/peer_wait.h"
#include "src/net/listen.h"
#include "src/sys/clock.h"
#include "src/sys/log.h"
#include "src/sys/thread.h"

#include <assert.h>
#include <limits.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	LISTENERS_MAX = CONF_METRICS_LISTEN_MAX,
	CONNECTIONS_MAX = 16,  /* per address; more wait in the kernel's queue */
	QUEUE_MAX = 64,        /* … which is short: the last one in it waits for all others, at worst */
	SILENCE_S = 5,         /* a connection without progress is closed */
	LIFE_MS = 60000,       /* and any connection after so long, so that trickling bytes hold no place for ever */
	GRACE_MS = 250,        /* a request may take so long before it makes room for another connection */
	REPLY_GRACE_MS = 5000, /* a reply may take so long to be read before that */
	REQUEST_MEMORY = 32 << 10, /* bytes per connection: request line, headers, reply's head */
	BLOCK = 32 << 10,          /* bytes of the body made at once */
	ROOM_MS = 50,              /* how soon to look again for a connection to close, where none may be closed yet */
	LOOK_MS = 1000, /* how often the age of connections is looked at, and whether an address can be served on now */
};

typedef struct {
	int fd;            /* -1: none */
	uint64_t since_ms; /* when it came */
	bool has_asked;    /* its request is whole: a reply is made and sent */
} visitor_t;

typedef struct {
	conf_addr_t addr;
	struct MHD_Daemon *daemon; /* owned, with its socket */
	int epoll_fd;              /* borrowed from daemon */
	int listen_fd;             /* borrowed from daemon */
	uint64_t room_ms;          /* not looked before for who makes room */
	visitor_t visitors[CONNECTIONS_MAX];
	metrics_t *metrics;
} listener_t;

/** An address that can't be served on: another program has it, or its device isn't there yet. */
typedef struct {
	conf_addr_t addr;
	knot_err_t err; /* that was logged since the last reload */
} failure_t;

struct metrics {
	metrics_source_t source;
	metrics_top_t top; /* the thread's */
	sys_thread_t thread;
	int wake_fd; /* owned: eventfd */
	atomic_bool stopping;
	atomic_bool changed;                  /* the configuration: look at the addresses */
	listener_t *listeners[LISTENERS_MAX]; /* owned; the thread's */
	size_t count;
	failure_t failures[LISTENERS_MAX]; /* the thread's: tried again and again */
	size_t failure_count;
	uint64_t retry_ms;
};

/* ---- Replies ---- */

static ssize_t metrics_read_body(void *ctx, uint64_t position, char *buffer, size_t max)
{
	(void)position;
	long len = metrics_render_read(ctx, buffer, max);
	return len > 0 ? (ssize_t)len : len == 0 ? MHD_CONTENT_READER_END_OF_STREAM : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void metrics_free_body(void *ctx)
{
	metrics_render_free(ctx);
}

/* Send and forget. Connections are closed after a reply: a scrape every few seconds needs no more, and none stays for
 * long. */
static enum MHD_Result metrics_send_reply(struct MHD_Connection *connection, unsigned status,
		struct MHD_Response *response, const char *content_type)
{
	if (response == NULL) {
		return MHD_NO;
	}
	(void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
	(void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	(void)MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	(void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	enum MHD_Result result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static struct MHD_Response *metrics_make_constant(const char *text, size_t len)
{
	return MHD_create_response_from_buffer(len, (void *)text, MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result metrics_reply_text(struct MHD_Connection *connection, unsigned status, const char *text)
{
	struct MHD_Response *response = metrics_make_constant(text, strlen(text));
	if (response != NULL && status == MHD_HTTP_METHOD_NOT_ALLOWED) {
		(void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	}
	return metrics_send_reply(connection, status, response, "text/plain; charset=utf-8");
}

static enum MHD_Result metrics_reply_page(struct MHD_Connection *connection)
{
	size_t len;
	const char *page = dashboard_page(&len);
	struct MHD_Response *response = metrics_make_constant(page, len);
	if (response != NULL) {
		(void)MHD_add_response_header(response, "Content-Security-Policy",
				"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
				"connect-src 'self'; frame-ancestors 'none'");
	}
	return metrics_send_reply(connection, MHD_HTTP_OK, response, "text/html; charset=utf-8");
}

static enum MHD_Result metrics_reply_exposition(const metrics_t *metrics, struct MHD_Connection *connection)
{
	const char *zones = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "zones");
	unsigned parts = METRICS_SERVER | METRICS_ZONES;
	if (zones != NULL && strcmp(zones, "off") == 0) {
		parts = METRICS_SERVER;
	} else if (zones != NULL && strcmp(zones, "only") == 0) {
		parts = METRICS_ZONES;
	} else if (zones != NULL && strcmp(zones, "on") != 0) {
		return metrics_reply_text(connection, MHD_HTTP_BAD_REQUEST, "zones is on, off or only\n");
	}
	metrics_format_t format = metrics_negotiate(
			MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT));
	metrics_render_t *render = metrics_render_new(&metrics->source, format, parts);
	if (render == NULL) {
		return MHD_NO;
	}
	struct MHD_Response *response = MHD_create_response_from_callback(
			MHD_SIZE_UNKNOWN, BLOCK, metrics_read_body, render, metrics_free_body);
	if (response == NULL) {
		metrics_render_free(render);
		return MHD_NO;
	}
	(void)MHD_add_response_header(response, MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ACCEPT);
	return metrics_send_reply(connection, MHD_HTTP_OK, response, metrics_content_type(format));
}

static enum MHD_Result metrics_reply_health(struct MHD_Connection *connection, const health_t *health)
{
	char line[HEALTH_TEXT_MAX + 2];
	int len = snprintf(line, sizeof(line), "%s\n", health->text);
	assert(len > 0 && (size_t)len < sizeof(line));
	struct MHD_Response *response = MHD_create_response_from_buffer((size_t)len, line, MHD_RESPMEM_MUST_COPY);
	return metrics_send_reply(connection, health->is_good ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE, response,
			"text/plain; charset=utf-8");
}

static enum MHD_Result metrics_reply_ready(const metrics_t *metrics, struct MHD_Connection *connection)
{
	const char *zones = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "zones");
	if (zones != NULL && strcmp(zones, "all") != 0) {
		return metrics_reply_text(connection, MHD_HTTP_BAD_REQUEST, "zones is all, or left out\n");
	}
	health_t health = health_of_service(metrics->source.server, metrics->source.net, zones != NULL);
	return metrics_reply_health(connection, &health);
}

static enum MHD_Result metrics_reply_top(metrics_t *metrics, struct MHD_Connection *connection)
{
	size_t len;
	char *text = metrics_top_answer(
			&metrics->top, net_looks(metrics->source.net), server_state(metrics->source.server), &len);
	if (text == NULL) {
		return MHD_NO;
	}
	struct MHD_Response *response = MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE);
	if (response == NULL) {
		free(text);
	}
	return metrics_send_reply(connection, MHD_HTTP_OK, response, "application/json");
}

/* Whether the request names this server. Browsers can't reach a UNIX socket. */
static bool metrics_is_for_us(const metrics_t *metrics, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *client =
			MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	if (client != NULL && client->client_addr != NULL && client->client_addr->sa_family == AF_UNIX) {
		return true;
	}
	char machine[HOST_NAME_MAX + 1] = "", identity[HOST_NAME_MAX + 1] = "";
	(void)gethostname(machine, sizeof(machine) - 1);
	{
		RCU_READ_SECTION(guard);
		const char *configured = state_load(server_state(metrics->source.server), guard)->conf->server.identity;
		snprintf(identity, sizeof(identity), "%s", configured != NULL ? configured : "");
	}
	const char *const names[] = { machine, identity };
	const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
	return http_host_is_ours(host, names, KNOT_LEN(names));
}

static enum MHD_Result metrics_reply_path(metrics_t *metrics, struct MHD_Connection *connection, const char *url)
{
	if (strcmp(url, "/metrics") == 0) {
		return metrics_reply_exposition(metrics, connection);
	}
	if (strcmp(url, "/ready") == 0) {
		return metrics_reply_ready(metrics, connection);
	}
	if (strcmp(url, "/top") == 0) {
		return metrics_reply_top(metrics, connection);
	}
	if (strcmp(url, "/healthz") == 0) {
		health_t health = health_of_process();
		return metrics_reply_health(connection, &health);
	}
	return strcmp(url, "/") == 0 ? metrics_reply_page(connection)
				     : metrics_reply_text(connection, MHD_HTTP_NOT_FOUND,
						       "not found; there are /metrics, /healthz, /ready, /top and /\n");
}

static void metrics_note_request(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	if (info != NULL && info->socket_context != NULL) {
		((visitor_t *)info->socket_context)->has_asked = true;
	}
}

static enum MHD_Result metrics_serve_request(void *ctx, struct MHD_Connection *connection, const char *url,
		const char *method, const char *version, const char *upload, size_t *upload_len, void **io_request)
{
	static char seen;
	metrics_t *metrics = ctx;
	(void)version;
	(void)upload;
	(void)upload_len;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
		return metrics_reply_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
	}
	if (*io_request == NULL) { /* the head only: libmicrohttpd calls again when the request is whole */
		*io_request = &seen;
		return MHD_YES;
	}
	metrics_note_request(connection);
	if (!metrics_is_for_us(metrics, connection)) {
		return metrics_reply_text(connection, MHD_HTTP_MISDIRECTED_REQUEST,
				"the host that the request names is not this server: use an address, localhost, the "
				"machine's name, or what `server: identity:` says\n");
	}
	return metrics_reply_path(metrics, connection, url);
}

/* ---- Connections ---- */

static void metrics_note_visitor(void *ctx, struct MHD_Connection *connection, void **socket_ctx,
		enum MHD_ConnectionNotificationCode what)
{
	listener_t *listener = ctx;
	(void)socket_ctx;
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	if (info == NULL) {
		return;
	}
	int from = what == MHD_CONNECTION_NOTIFY_STARTED ? -1 : info->connect_fd;
	int to = what == MHD_CONNECTION_NOTIFY_STARTED ? info->connect_fd : -1;
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		if (listener->visitors[i].fd == from) {
			listener->visitors[i] = (visitor_t){ to, sys_clock_ms(), false };
			*socket_ctx = to >= 0 ? &listener->visitors[i] : NULL;
			return;
		}
	}
}

static bool metrics_is_full(const listener_t *listener)
{
	size_t count = 0;
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		count += listener->visitors[i].fd >= 0;
	}
	return count == CONNECTIONS_MAX;
}

static void metrics_end_visitor(const visitor_t *visitor, uint64_t now_ms)
{
	static sys_log_repeats_t repeats;
	(void)shutdown(visitor->fd, SHUT_RDWR);
	sys_log_repeated(&repeats, SYS_LOG_SERVER, LOG_NOTICE,
			"metrics, closed a connection that was open for %u ms to make room for another one",
			(unsigned)(now_ms - visitor->since_ms));
}

/*
 * All places are taken and another client connects: close the connections whose request has been incomplete for too
 * long, all of them, as a thousand more may wait in the kernel's queue; where all have asked, the one that has been
 * reading its reply for longest. Where none may be closed yet, the new one waits.
 */
static void metrics_make_room(listener_t *listener)
{
	uint64_t now_ms = sys_clock_ms(), reading_ms[CONNECTIONS_MAX];
	bool has_room = false;
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		const visitor_t *visitor = &listener->visitors[i];
		reading_ms[i] = visitor->has_asked ? visitor->since_ms : 0;
		if (visitor->fd >= 0 && !visitor->has_asked && now_ms - visitor->since_ms >= GRACE_MS) {
			metrics_end_visitor(visitor, now_ms);
			has_room = true;
		}
	}
	size_t longest = has_room ? CONNECTIONS_MAX
				  : peer_wait_longest(reading_ms, CONNECTIONS_MAX, now_ms, REPLY_GRACE_MS);
	if (longest < CONNECTIONS_MAX) {
		metrics_end_visitor(&listener->visitors[longest], now_ms);
	}
}

static bool metrics_end_late_visitors(listener_t *listener)
{
	bool any = false;
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		visitor_t *visitor = &listener->visitors[i];
		any |= visitor->fd >= 0;
		if (visitor->fd >= 0 && sys_clock_ms() - visitor->since_ms >= LIFE_MS) {
			(void)shutdown(visitor->fd, SHUT_RDWR);
		}
	}
	return any;
}

/* ---- Listeners ---- */

static void metrics_log_http(void *ctx, const char *format, va_list arguments)
{
	int errnum = errno; /* of what libmicrohttpd did */
	char text[256];
	(void)ctx;
	vsnprintf(text, sizeof(text), format, arguments);
	text[strcspn(text, "\n")] = '\0';
	log_server(LOG_DEBUG, "metrics, %s", text);
	errno = errnum;
}

/*
 * Have the socket served. It is libmicrohttpd's from here on, which on failure closes it or, without descriptors for
 * itself, leaves it open: that is found out by the number of the socket.
 */
static knot_err_t metrics_start_daemon(listener_t *listener, int take_fd)
{
	struct stat made, left;
	bool is_known = fstat(take_fd, &made) == 0;
	errno = 0;
	listener->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_ERROR_LOG, 0, NULL, NULL, metrics_serve_request,
			listener->metrics, MHD_OPTION_EXTERNAL_LOGGER, metrics_log_http, NULL, MHD_OPTION_LISTEN_SOCKET,
			(MHD_socket)take_fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
			MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENCE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
			(size_t)REQUEST_MEMORY, MHD_OPTION_NOTIFY_CONNECTION, metrics_note_visitor, listener,
			MHD_OPTION_END);
	if (listener->daemon == NULL) {
		knot_err_t err = errno != 0 ? knot_err_of_errno(errno) : KNOT_ENOMEM;
		listen_unlink(&listener->addr);
		if (is_known && fstat(take_fd, &left) == 0 && left.st_dev == made.st_dev &&
				left.st_ino == made.st_ino) {
			close(take_fd);
		}
		return err;
	}
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(listener->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	listener->epoll_fd = info->epoll_fd;
	listener->listen_fd = take_fd;
	return KNOT_OK;
}

static void metrics_close_listener(listener_t *listener)
{
	listen_unlink(&listener->addr);    /* while no other server can take the path */
	MHD_stop_daemon(listener->daemon); /* closes the socket, too */
	free(listener);
}

static bool metrics_is_same_addr(const conf_addr_t *a, const conf_addr_t *b)
{
	return a->len == b->len && memcmp(&a->ss, &b->ss, a->len) == 0 && strcmp(a->device, b->device) == 0;
}

static failure_t *metrics_find_failure(metrics_t *metrics, const conf_addr_t *addr)
{
	for (size_t i = 0; i < metrics->failure_count; i++) {
		if (metrics_is_same_addr(&metrics->failures[i].addr, addr)) {
			return &metrics->failures[i];
		}
	}
	return NULL;
}

/* To be tried again; logged when it is new. */
static void metrics_note_failure(metrics_t *metrics, const conf_addr_t *addr, knot_err_t err)
{
	failure_t *failure = metrics_find_failure(metrics, addr);
	if (failure == NULL) {
		assert(metrics->failure_count < LISTENERS_MAX);
		failure = &metrics->failures[metrics->failure_count++];
		*failure = (failure_t){ .addr = *addr, .err = KNOT_OK };
	}
	if (failure->err != err) {
		char text[CONF_ADDR_TEXT_MAX];
		failure->err = err;
		log_server(LOG_ERR, "metrics, failed to serve on %s (%s)", conf_addr_print(addr, text),
				knot_strerror(err));
	}
}

static void metrics_forget_failure(metrics_t *metrics, const conf_addr_t *addr)
{
	failure_t *failure = metrics_find_failure(metrics, addr);
	if (failure != NULL) {
		*failure = metrics->failures[--metrics->failure_count];
	}
}

static void metrics_open_listener(metrics_t *metrics, const conf_addr_t *addr)
{
	char text[CONF_ADDR_TEXT_MAX];
	(void)conf_addr_print(addr, text);
	listener_t *listener = calloc(1, sizeof(*listener));
	int fd = -1;
	knot_err_t err = listener != NULL ? net_listen(metrics->source.net, addr, &fd) : KNOT_ENOMEM;
	if (err == KNOT_OK) {
		(void)listen(fd, QUEUE_MAX); /* the queue of a socket that listens becomes shorter */
		listener->addr = *addr;
		listener->metrics = metrics;
		for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
			listener->visitors[i].fd = -1;
		}
		err = metrics_start_daemon(listener, fd);
	}
	if (err != KNOT_OK) {
		metrics_note_failure(metrics, addr, err);
		free(listener);
		return;
	}
	metrics_forget_failure(metrics, addr);
	log_server(LOG_INFO, "metrics, binding to %s", text);
	assert(metrics->count < LISTENERS_MAX);
	metrics->listeners[metrics->count++] = listener;
}

static bool metrics_has_addr(const conf_addr_t *addrs, size_t count, const conf_addr_t *addr)
{
	for (size_t i = 0; i < count; i++) {
		if (metrics_is_same_addr(&addrs[i], addr)) {
			return true;
		}
	}
	return false;
}

static size_t metrics_read_addrs(const metrics_t *metrics, conf_addr_t ret_addrs[static LISTENERS_MAX])
{
	RCU_READ_SECTION(guard);
	const conf_addrs_t *conf =
			&state_load(server_state(metrics->source.server), guard)->conf->server.metrics_listen;
	size_t count = 0;
	for (size_t i = 0; i < conf->count && count < LISTENERS_MAX; i++) { /* the schema allows no more */
		if (!metrics_has_addr(ret_addrs, count, &conf->data[i])) {
			ret_addrs[count++] = conf->data[i];
		}
	}
	return count;
}

/* Close what is not wanted any more, open what is not open. */
static void metrics_follow_conf(metrics_t *metrics)
{
	conf_addr_t wanted[LISTENERS_MAX];
	size_t count = metrics_read_addrs(metrics, wanted);
	for (size_t i = metrics->count; i-- > 0;) {
		if (!metrics_has_addr(wanted, count, &metrics->listeners[i]->addr)) {
			metrics_close_listener(metrics->listeners[i]);
			metrics->listeners[i] = metrics->listeners[--metrics->count];
		}
	}
	for (size_t i = metrics->failure_count; i-- > 0;) {
		if (!metrics_has_addr(wanted, count, &metrics->failures[i].addr)) {
			metrics->failures[i] = metrics->failures[--metrics->failure_count];
		}
	}
	for (size_t i = 0; i < count; i++) {
		bool is_open = false;
		for (size_t j = 0; j < metrics->count; j++) {
			is_open |= metrics_is_same_addr(&wanted[i], &metrics->listeners[j]->addr);
		}
		if (!is_open) {
			metrics_open_listener(metrics, &wanted[i]);
		}
	}
}

/* ---- The thread ---- */

/* Milliseconds until something has to be done though nothing happens; -1: nothing. */
static int metrics_time_left(const metrics_t *metrics, bool has_visitors)
{
	int left = has_visitors || metrics->top.look != NULL || metrics->failure_count > 0 ? LOOK_MS : -1;
	for (size_t i = 0; i < metrics->count; i++) {
		if (metrics_is_full(metrics->listeners[i]) && left > ROOM_MS) {
			left = ROOM_MS;
		}
		MHD_UNSIGNED_LONG_LONG ms;
		if (MHD_get_timeout(metrics->listeners[i]->daemon, &ms) == MHD_YES &&
				(left < 0 || ms < (unsigned)left)) {
			left = ms < LOOK_MS ? (int)ms : LOOK_MS;
		}
	}
	return left;
}

/*
 * libmicrohttpd takes the listening socket out of its epoll when the last place is taken, and only puts it back at the
 * beginning of a run after the one in which a place became free.
 */
static void metrics_serve_visitors(listener_t *listener)
{
	bool was_full = metrics_is_full(listener);
	(void)MHD_run(listener->daemon);
	if (was_full && !metrics_is_full(listener)) {
		(void)MHD_run(listener->daemon);
	}
}

static void metrics_run_thread(void *arg)
{
	metrics_t *metrics = arg;
	bool has_visitors = false;
	while (!atomic_load(&metrics->stopping)) {
		bool is_changed = atomic_exchange(&metrics->changed, false);
		for (size_t i = 0; is_changed && i < metrics->failure_count; i++) {
			metrics->failures[i].err = KNOT_OK; /* an operator who reloads wants to know */
		}
		if (is_changed || (metrics->failure_count > 0 && sys_clock_ms() >= metrics->retry_ms)) {
			metrics_follow_conf(metrics);
			metrics->retry_ms = sys_clock_ms() + LOOK_MS;
		}
		struct pollfd fds[1 + 2 * LISTENERS_MAX] = { { .fd = metrics->wake_fd, .events = POLLIN } };
		struct pollfd *waiting = &fds[1 + metrics->count]; /* clients for which there is no place */
		for (size_t i = 0; i < metrics->count; i++) {
			listener_t *listener = metrics->listeners[i];
			fds[1 + i] = (struct pollfd){ .fd = listener->epoll_fd, .events = POLLIN };
			waiting[i] = (struct pollfd){
				.fd = metrics_is_full(listener) && sys_clock_ms() >= listener->room_ms
						      ? listener->listen_fd
						      : -1,
				.events = POLLIN,
			};
		}
		if (poll(fds, 1 + 2 * metrics->count, metrics_time_left(metrics, has_visitors)) <= 0) {
			memset(waiting, 0, metrics->count * sizeof(*waiting));
		}
		if (fds[0].revents != 0) {
			uint64_t count;
			(void)!read(metrics->wake_fd, &count, sizeof(count));
		}
		metrics_top_end_idle(&metrics->top, net_looks(metrics->source.net));
		has_visitors = false;
		for (size_t i = 0; i < metrics->count; i++) {
			if (waiting[i].revents != 0) {
				metrics_make_room(metrics->listeners[i]);
				metrics->listeners[i]->room_ms = sys_clock_ms() + ROOM_MS;
			}
			metrics_serve_visitors(metrics->listeners[i]);
			has_visitors |= metrics_end_late_visitors(metrics->listeners[i]);
		}
	}
	while (metrics->count > 0) {
		metrics_close_listener(metrics->listeners[--metrics->count]);
	}
	metrics_top_stop(&metrics->top, net_looks(metrics->source.net));
}

/* ---- Life ---- */

knot_err_t metrics_new(server_t *server, net_t *net, metrics_t **ret_metrics)
{
	metrics_t *metrics = calloc(1, sizeof(*metrics));
	if (metrics == NULL) {
		return KNOT_ENOMEM;
	}
	struct timespec now = sys_clock_real();
	metrics->source =
			(metrics_source_t){ server, net, (double)now.tv_sec + (double)(now.tv_nsec / 1000000) / 1000 };
	metrics->changed = true;
	metrics->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (metrics->wake_fd < 0) {
		knot_err_t err = knot_err_of_errno(errno);
		free(metrics);
		return err;
	}
	*ret_metrics = metrics;
	return KNOT_OK;
}

knot_err_t metrics_start(metrics_t *metrics)
{
	metrics->thread = (sys_thread_t){ .name = "metrics", .cpu = -1, .run = metrics_run_thread, .arg = metrics };
	return sys_thread_start(&metrics->thread);
}

static void metrics_wake_thread(const metrics_t *metrics)
{
	uint64_t one = 1;
	(void)!write(metrics->wake_fd, &one, sizeof(one));
}

void metrics_reconfigure(metrics_t *metrics)
{
	atomic_store(&metrics->changed, true);
	metrics_wake_thread(metrics);
}

void metrics_stop(metrics_t *metrics)
{
	atomic_store(&metrics->stopping, true);
	metrics_wake_thread(metrics);
	sys_thread_join(&metrics->thread);
}

void metrics_free(metrics_t *take_metrics)
{
	if (take_metrics != NULL) {
		close(take_metrics->wake_fd);
		free(take_metrics);
	}
}
