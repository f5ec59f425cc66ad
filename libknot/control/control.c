/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/control/unit.h"

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
	TIMEOUT_DEFAULT_MS = 30000,
	BUFFER_MIN = 16384,                /* bytes; grows up to what one unit needs */
	BUFFER_KEPT = 1 << 20,             /* bytes kept from one connection to the next */
	INPUT_MAX = KNOT_CTL_UNIT_MAX + 1, /* a unit and the type byte behind it */
	OUTPUT_FLUSH = 65536,              /* send without waiting for BLOCK from here on, unless set larger */
};

typedef struct {
	uint8_t *data; /* owned */
	size_t max;    /* bytes allocated */
	size_t pos;    /* first byte in use */
	size_t len;    /* end of the bytes in use */
} buffer_t;

struct knot_ctl {
	int fd;                     /* -1: not connected */
	int timeout_ms;             /* of each wait; -1: none */
	int call_timeout_ms;        /* of all waits of a call; -1: none */
	size_t flush_len;           /* bytes of output from which on it is sent */
	buffer_t in;                /* [0..pos) was handed over with the last unit, [pos..len) was received after it */
	knot_ctl_scanner_t scanner; /* of the unit at in.pos */
	buffer_t out;               /* [0..len) waits to be sent */
};

/* Room for `want` more bytes behind `len`; moves [pos..len) to the front first. */
static knot_err_t buffer_room(buffer_t *buffer, size_t want, size_t max)
{
	if (buffer->pos > 0) {
		memmove(buffer->data, buffer->data + buffer->pos, buffer->len - buffer->pos);
		buffer->len -= buffer->pos;
		buffer->pos = 0;
	}
	size_t need = buffer->len + want;
	if (need <= buffer->max) {
		return KNOT_OK;
	}
	if (need > max) {
		return KNOT_ERANGE;
	}
	size_t size = buffer->max > 0 ? buffer->max : BUFFER_MIN;
	while (size < need) {
		size *= 2;
	}
	uint8_t *data = realloc(buffer->data, size);
	if (data == NULL) {
		return KNOT_ENOMEM;
	}
	buffer->data = data;
	buffer->max = size;
	return KNOT_OK;
}

/* Empty it for another connection; what a large reply took is given back. */
static void buffer_reset(buffer_t *buffer)
{
	if (buffer->max > BUFFER_KEPT) {
		free(buffer->data);
		*buffer = (buffer_t){ 0 };
	}
	buffer->pos = buffer->len = 0;
}

knot_ctl_t *knot_ctl_alloc(void)
{
	knot_ctl_t *ctx = calloc(1, sizeof(*ctx));
	if (ctx != NULL) {
		ctx->fd = -1;
		ctx->timeout_ms = TIMEOUT_DEFAULT_MS;
		ctx->call_timeout_ms = -1;
		ctx->flush_len = OUTPUT_FLUSH;
	}
	return ctx;
}

void knot_ctl_free(knot_ctl_t *ctx)
{
	if (ctx != NULL) {
		knot_ctl_close(ctx);
		free(ctx->in.data);
		free(ctx->out.data);
		free(ctx);
	}
}

void knot_ctl_set_timeout(knot_ctl_t *ctx, int timeout_ms)
{
	ctx->timeout_ms = timeout_ms > 0 ? timeout_ms : -1;
}

void knot_ctl_set_call_timeout(knot_ctl_t *ctx, int timeout_ms)
{
	ctx->call_timeout_ms = timeout_ms > 0 ? timeout_ms : -1;
}

void knot_ctl_set_buffer(knot_ctl_t *ctx, size_t bytes)
{
	ctx->flush_len = bytes > OUTPUT_FLUSH ? bytes : OUTPUT_FLUSH;
}

void knot_ctl_adopt(knot_ctl_t *ctx, int take_fd)
{
	knot_ctl_close(ctx);
	int flags = fcntl(take_fd, F_GETFL);
	if (flags >= 0) {
		(void)fcntl(take_fd, F_SETFL, flags | O_NONBLOCK);
	}
	ctx->fd = take_fd;
}

void knot_ctl_close(knot_ctl_t *ctx)
{
	if (ctx->fd >= 0) {
		close(ctx->fd);
		ctx->fd = -1;
	}
	buffer_reset(&ctx->in);
	buffer_reset(&ctx->out);
	ctx->scanner = (knot_ctl_scanner_t){ 0 };
}

static uint64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Wait until the socket is ready for `events` or fails; interrupted waits go on with the time that is left. */
static knot_err_t wait_ready(int fd, short events, int timeout_ms)
{
	uint64_t end_ms = timeout_ms >= 0 ? now_ms() + (uint64_t)timeout_ms : 0;
	int left_ms = timeout_ms;
	while (true) {
		struct pollfd pfd = { .fd = fd, .events = events };
		int count = poll(&pfd, 1, left_ms);
		if (count > 0) {
			return KNOT_OK;
		}
		if (count < 0 && errno != EINTR) {
			return knot_err_of_errno(errno);
		}
		if (timeout_ms >= 0) {
			uint64_t now = now_ms();
			if (now >= end_ms) {
				return KNOT_ETIMEOUT;
			}
			left_ms = (int)(end_ms - now);
		}
	}
}

/* The same within a call that is to end at end_ms; 0: it may take any time. */
static knot_err_t wait_in_call(const knot_ctl_t *ctx, short events, uint64_t end_ms)
{
	int timeout_ms = ctx->timeout_ms;
	if (end_ms != 0) {
		uint64_t now = now_ms();
		int left_ms = now < end_ms ? (int)(end_ms - now) : 0;
		timeout_ms = timeout_ms < 0 || left_ms < timeout_ms ? left_ms : timeout_ms;
	}
	return wait_ready(ctx->fd, events, timeout_ms);
}

static uint64_t end_of_call(const knot_ctl_t *ctx)
{
	return ctx->call_timeout_ms >= 0 ? now_ms() + (uint64_t)ctx->call_timeout_ms : 0;
}

static knot_err_t connect_ready(int fd, const struct sockaddr_un *addr, int timeout_ms)
{
	uint64_t end_ms = timeout_ms >= 0 ? now_ms() + (uint64_t)timeout_ms : 0;
	while (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) != 0) {
		if (errno == EINTR) {
			continue;
		}
		if (errno != EAGAIN) {
			return knot_err_of_errno(errno);
		}
		/* A full backlog of a UNIX socket gives EAGAIN and can't be waited for with poll(): look again soon. */
		if (timeout_ms >= 0 && now_ms() >= end_ms) {
			return KNOT_ETIMEOUT;
		}
		(void)poll(NULL, 0, 10);
	}
	return KNOT_OK;
}

int knot_ctl_connect(knot_ctl_t *ctx, const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	size_t len = strlen(path);
	if (len == 0 || len >= sizeof(addr.sun_path)) {
		return len == 0 ? KNOT_EINVAL : KNOT_ESPACE;
	}
	memcpy(addr.sun_path, path, len + 1);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		return knot_err_of_errno(errno);
	}
	knot_err_t err = connect_ready(fd, &addr, ctx->timeout_ms);
	if (err != KNOT_OK) {
		close(fd);
		return err;
	}
	knot_ctl_close(ctx);
	ctx->fd = fd;
	return KNOT_OK;
}

static knot_err_t control_flush_buffer(knot_ctl_t *ctx)
{
	buffer_t *out = &ctx->out;
	const uint64_t end_ms = end_of_call(ctx);
	while (out->pos < out->len) {
		ssize_t sent = send(ctx->fd, out->data + out->pos, out->len - out->pos, MSG_NOSIGNAL);
		if (sent >= 0) {
			out->pos += (size_t)sent;
			continue;
		}
		if (errno == EPIPE || errno == ECONNRESET) {
			return KNOT_ECONNCLOSED;
		}
		if (errno != EAGAIN && errno != EINTR) {
			return knot_err_of_errno(errno);
		}
		knot_err_t err = wait_in_call(ctx, POLLOUT, end_ms);
		if (err != KNOT_OK) {
			return err;
		}
	}
	out->pos = out->len = 0;
	return KNOT_OK;
}

int knot_ctl_send(knot_ctl_t *ctx, knot_ctl_type_t type, knot_ctl_data_t *data)
{
	if (ctx->fd < 0) {
		return KNOT_ECONNCLOSED;
	}
	const knot_ctl_data_t *items = (const knot_ctl_data_t *)data;
	size_t len;
	knot_err_t err = knot_ctl_unit_len(type, items, &len);
	if (err != KNOT_OK) {
		return err;
	}
	buffer_t *out = &ctx->out;
	if (out->len > 0 && out->len + len > ctx->flush_len) {
		err = control_flush_buffer(ctx);
	}
	if (err == KNOT_OK) {
		err = buffer_room(out, len, ctx->flush_len + KNOT_CTL_UNIT_MAX);
	}
	if (err != KNOT_OK) {
		return err;
	}
	knot_writer_t writer = knot_writer_of((knot_mut_bytes_t){ out->data + out->len, out->max - out->len });
	knot_ctl_unit_write(&writer, type, items);
	assert(!writer.failed && writer.len == len);
	out->len += len;
	return type == KNOT_CTL_TYPE_BLOCK || type == KNOT_CTL_TYPE_END ? control_flush_buffer(ctx) : KNOT_OK;
}

/* Read what is there, at least one byte. */
static knot_err_t receive_some(knot_ctl_t *ctx, uint64_t end_ms)
{
	buffer_t *in = &ctx->in;
	knot_err_t err = buffer_room(in, 1, INPUT_MAX);
	while (err == KNOT_OK) {
		ssize_t len = recv(ctx->fd, in->data + in->len, in->max - in->len, 0);
		if (len > 0) {
			in->len += (size_t)len;
			return KNOT_OK;
		}
		if (len == 0 || errno == ECONNRESET) {
			return KNOT_ECONNCLOSED;
		}
		if (errno != EAGAIN && errno != EINTR) {
			return knot_err_of_errno(errno);
		}
		err = wait_in_call(ctx, POLLIN, end_ms);
	}
	return err;
}

/*
 * Terminate an item within the input buffer: its value moves over the second byte of its length, so nothing behind it
 * is overwritten.
 */
static const char *terminate(knot_bytes_t item)
{
	uint8_t *text = (uint8_t *)item.data - 1;
	memmove(text, item.data, item.len);
	text[item.len] = '\0';
	return (const char *)text;
}

int knot_ctl_receive(knot_ctl_t *ctx, knot_ctl_type_t *type, knot_ctl_data_t *data)
{
	if (ctx->fd < 0) {
		return KNOT_ECONNCLOSED;
	}
	knot_ctl_unit_t unit;
	size_t used;
	const uint64_t end_ms = end_of_call(ctx);
	while (true) {
		const buffer_t *in = &ctx->in;
		knot_ctl_scan_t scan = KNOT_CTL_SCAN_MORE;
		if (in->len > in->pos) {
			knot_bytes_t bytes = { in->data + in->pos, in->len - in->pos };
			scan = knot_ctl_scan_on(&ctx->scanner, bytes, &unit, &used);
		}
		if (scan == KNOT_CTL_SCAN_UNIT) {
			break;
		}
		if (scan == KNOT_CTL_SCAN_BAD) {
			return KNOT_EINVAL;
		}
		knot_err_t err = receive_some(ctx, end_ms);
		if (err != KNOT_OK) {
			return err;
		}
	}
	ctx->in.pos += used;
	*type = unit.type;
	for (unsigned i = 0; data != NULL && i < KNOT_CTL_IDX__COUNT; i++) {
		(*data)[i] = unit.items[i].data != NULL ? terminate(unit.items[i]) : NULL;
	}
	return KNOT_OK;
}
