/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/lookup/trace.h"

#include "src/dnstap/dnstap.h"
#include "src/sys/clock.h"

#include <arpa/inet.h>
#include <fstrm.h>
#include <stdio.h>
#include <stdlib.h>

struct lookup_trace {
	struct lookup_trace *next;
	char *path;                  /* owned */
	struct fstrm_writer *writer; /* owned */
	bool has_failed;
};

/* ---- Writing ---- */

static struct fstrm_writer *trace_open_writer(const char *path)
{
	struct fstrm_file_options *file = fstrm_file_options_init();
	struct fstrm_writer_options *options = fstrm_writer_options_init();
	fstrm_file_options_set_file_path(file, path);
	(void)fstrm_writer_options_add_content_type(options, DNSTAP_CONTENT_TYPE, strlen(DNSTAP_CONTENT_TYPE));
	struct fstrm_writer *writer = fstrm_file_writer_init(file, options);
	fstrm_file_options_destroy(&file);
	fstrm_writer_options_destroy(&options);
	if (writer != NULL && fstrm_writer_open(writer) != fstrm_res_success) {
		(void)fstrm_writer_destroy(&writer);
	}
	return writer;
}

lookup_trace_t *lookup_trace_open(lookup_t *lookup, const char *path)
{
	for (lookup_trace_t *trace = lookup->traces; trace != NULL; trace = trace->next) {
		if (strcmp(trace->path, path) == 0) {
			return trace;
		}
	}
	lookup_trace_t *trace = calloc(1, sizeof(*trace));
	char *copy = strdup(path);
	struct fstrm_writer *writer = trace != NULL && copy != NULL ? trace_open_writer(path) : NULL;
	if (writer == NULL) {
		lookup_error(lookup, "unable to open dnstap output file %s", path);
		free(copy);
		free(trace);
		return NULL;
	}
	*trace = (lookup_trace_t){ lookup->traces, copy, writer, false };
	lookup->traces = trace;
	return trace;
}

static void trace_take_address(const exchange_address_t *address, dnstap_address_t *ret_address)
{
	if (address->sa.sa_family == AF_INET) {
		ret_address->len = 4;
		ret_address->port = ntohs(address->in.sin_port);
		memcpy(ret_address->bytes, &address->in.sin_addr, 4);
	} else if (address->sa.sa_family == AF_INET6) {
		ret_address->len = 16;
		ret_address->port = ntohs(address->in6.sin6_port);
		memcpy(ret_address->bytes, &address->in6.sin6_addr, 16);
	}
}

static void trace_put(const ask_t *ask, dnstap_message_t *message)
{
	static const unsigned protocols[] = {
		[EXCHANGE_UDP] = DNSTAP_UDP,
		[EXCHANGE_TCP] = DNSTAP_TCP,
		[EXCHANGE_TLS] = DNSTAP_DOT,
		[EXCHANGE_HTTPS] = DNSTAP_DOH,
		[EXCHANGE_QUIC] = DNSTAP_DOQ,
	};
	lookup_trace_t *trace = ask->query->trace;
	knot_mut_bytes_t frame;
	message->protocol = protocols[ask->kind];
	message->query_at = ask->sent_at;
	trace_take_address(exchange_local(ask->exchange), &message->client);
	trace_take_address(exchange_remote(ask->exchange), &message->server);
	if (dnstap_write(message, "kdig " PACKAGE_VERSION, &frame) != KNOT_OK) {
		trace->has_failed = true;
		return;
	}
	trace->has_failed |= fstrm_writer_write(trace->writer, frame.data, frame.len) != fstrm_res_success;
	free(frame.data);
}

void lookup_trace_query(const ask_t *ask)
{
	dnstap_message_t message = { .type = DNSTAP_TOOL_QUERY, .query = ask->question->wire };
	if (ask->query->trace != NULL) {
		trace_put(ask, &message);
	}
}

void lookup_trace_reply(const ask_t *ask, knot_bytes_t wire)
{
	dnstap_message_t message = { .type = DNSTAP_TOOL_RESPONSE, .response = wire, .response_at = sys_clock_real() };
	if (ask->query->trace != NULL) {
		trace_put(ask, &message);
	}
}

bool lookup_traces_close(lookup_t *lookup)
{
	bool is_good = true;
	for (lookup_trace_t *trace = lookup->traces, *next; trace != NULL; trace = next) {
		next = trace->next;
		trace->has_failed |= fstrm_writer_close(trace->writer) != fstrm_res_success;
		(void)fstrm_writer_destroy(&trace->writer);
		if (trace->has_failed) {
			lookup_error(lookup, "unable to write dnstap output file %s", trace->path);
			is_good = false;
		}
		free(trace->path);
		free(trace);
	}
	lookup->traces = NULL;
	return is_good;
}

/* ---- Reading ---- */

static struct fstrm_reader *trace_open_reader(const char *path)
{
	struct fstrm_file_options *file = fstrm_file_options_init();
	struct fstrm_reader_options *options = fstrm_reader_options_init();
	fstrm_file_options_set_file_path(file, path);
	(void)fstrm_reader_options_add_content_type(options, DNSTAP_CONTENT_TYPE, strlen(DNSTAP_CONTENT_TYPE));
	struct fstrm_reader *reader = fstrm_file_reader_init(file, options);
	fstrm_file_options_destroy(&file);
	fstrm_reader_options_destroy(&options);
	if (reader != NULL && fstrm_reader_open(reader) != fstrm_res_success) {
		(void)fstrm_reader_destroy(&reader);
	}
	return reader;
}

bool lookup_replay_check(lookup_t *lookup, const char *path)
{
	struct fstrm_reader *reader = trace_open_reader(path);
	if (reader == NULL) {
		lookup_error(lookup, "unable to open dnstap input file %s", path);
		return false;
	}
	(void)fstrm_reader_destroy(&reader);
	return true;
}

/* "192.0.2.1@53(UDP)" */
static void trace_print_peer(const dnstap_message_t *message, char *ret_text, size_t max)
{
	static const char *const protocols[] = { "UDP", "UDP", "TCP", "TCP", "TCP", "UDP", "TCP", "QUIC" };
	char address[INET6_ADDRSTRLEN] = "";
	const dnstap_address_t *server = &message->server;
	if (server->len > 0) {
		inet_ntop(server->len == 4 ? AF_INET : AF_INET6, server->bytes, address, sizeof(address));
	}
	snprintf(ret_text, max, "%s@%u(%s)", address, server->port,
			message->protocol < KNOT_LEN(protocols) ? protocols[message->protocol] : "UDP");
}

static void trace_put_foot(lookup_t *lookup, const dnstap_message_t *message, bool is_query, size_t len)
{
	char peer[INET6_ADDRSTRLEN + 32];
	const struct timespec *at = is_query ? &message->query_at : &message->response_at;
	bool has_both = !is_query && message->query_at.tv_sec != 0 && message->response_at.tv_sec != 0;
	present_foot_t foot = { .is_query = is_query, .len = len, .peer = peer };
	if (has_both) {
		foot.elapsed_ms = (double)(at->tv_sec - message->query_at.tv_sec) * 1e3 +
				  (double)(at->tv_nsec - message->query_at.tv_nsec) / 1e6;
	}
	localtime_r(&at->tv_sec, &foot.when);
	trace_print_peer(message, peer, sizeof(peer));
	present_foot_put(&lookup->out, &foot);
}

static void trace_put_message(
		lookup_t *lookup, const lookup_query_t *query, const dnstap_message_t *message, bool is_query)
{
	static present_message_t read;
	knot_bytes_t wire = is_query ? message->query : message->response;
	bool is_good = present_read(wire, &read);
	if (query->style.format == PRESENT_JSON) {
		const struct timespec *at = is_query ? &message->query_at : &message->response_at;
		knot_json_t json = ask_json(lookup);
		ask_put_json_at(query, &read, at->tv_sec, NULL, &json);
		lookup->out.failed |= !knot_json_end(&json);
		return;
	}
	present_text_str(&lookup->out, lookup->count++ > 0 ? "\n" : "");
	if (!is_good) {
		present_wreck_put(&lookup->out, &query->style, &read);
	} else {
		present_message_put(&lookup->out, &query->style, &read);
	}
	if (query->style.shows & PRESENT_STATS) {
		trace_put_foot(lookup, message, is_query, wire.len);
	}
}

/* A frame's messages. False: it isn't one. */
static bool trace_put_frame(lookup_t *lookup, const lookup_query_t *query, knot_bytes_t frame)
{
	dnstap_message_t message;
	void *owner = NULL;
	knot_err_t err = dnstap_read(frame, &message, &owner);
	if (err != KNOT_OK) {
		return err == KNOT_ENOENT; /* of another kind */
	}
	if (message.query.len > 0 && query->shows_query) {
		trace_put_message(lookup, query, &message, true);
	}
	if (message.response.len > 0) {
		trace_put_message(lookup, query, &message, false);
	}
	dnstap_read_done(owner);
	return true;
}

bool lookup_replay(lookup_t *lookup, const lookup_query_t *query)
{
	struct fstrm_reader *reader = trace_open_reader(query->replay_path);
	fstrm_res result = fstrm_res_failure;
	bool is_good = reader != NULL;
	while (is_good && !lookup->has_failed_output) {
		const uint8_t *data;
		size_t len;
		result = fstrm_reader_read(reader, &data, &len);
		if (result != fstrm_res_success) {
			break;
		}
		is_good = trace_put_frame(lookup, query, (knot_bytes_t){ data, len });
		lookup_flush(lookup);
	}
	if (reader == NULL || !is_good || result != fstrm_res_stop) {
		lookup_error(lookup, "unable to read dnstap input file %s", query->replay_path);
		is_good = false;
	}
	if (reader != NULL) {
		(void)fstrm_reader_destroy(&reader);
	}
	return is_good;
}
