/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/dnstap/dnstap.h"

#include "src/dnstap/dnstap.pb-c.h"

#include <protobuf-c/protobuf-c.h>
#include <stdlib.h>

/* ---- Writing ---- */

/* The library takes what isn't const and doesn't change it. */
static ProtobufCBinaryData dnstap_data(knot_bytes_t bytes)
{
	return (ProtobufCBinaryData){ .len = bytes.len, .data = (uint8_t *)bytes.data };
}

static ProtobufCBinaryData dnstap_address_data(const dnstap_address_t *address)
{
	return dnstap_data((knot_bytes_t){ address->bytes, address->len });
}

static void dnstap_fill(Dnstap__Message *to, const dnstap_message_t *from)
{
	to->type = (Dnstap__Message__Type)from->type;
	to->has_socket_family = from->client.len > 0 || from->server.len > 0;
	to->socket_family = from->client.len == 16 || from->server.len == 16 ? DNSTAP__SOCKET_FAMILY__INET6
									     : DNSTAP__SOCKET_FAMILY__INET;
	to->has_socket_protocol = from->protocol != DNSTAP_NONE;
	to->socket_protocol = (Dnstap__SocketProtocol)from->protocol;
	to->has_query_address = to->has_query_port = from->client.len > 0;
	to->query_address = dnstap_address_data(&from->client);
	to->query_port = from->client.port;
	to->has_response_address = to->has_response_port = from->server.len > 0;
	to->response_address = dnstap_address_data(&from->server);
	to->response_port = from->server.port;
	to->has_query_time_sec = to->has_query_time_nsec = from->query_at.tv_sec != 0;
	to->query_time_sec = (uint64_t)from->query_at.tv_sec;
	to->query_time_nsec = (uint32_t)from->query_at.tv_nsec;
	to->has_query_message = from->query.len > 0;
	to->query_message = dnstap_data(from->query);
	to->has_response_time_sec = to->has_response_time_nsec = from->response_at.tv_sec != 0;
	to->response_time_sec = (uint64_t)from->response_at.tv_sec;
	to->response_time_nsec = (uint32_t)from->response_at.tv_nsec;
	to->has_response_message = from->response.len > 0;
	to->response_message = dnstap_data(from->response);
}

knot_err_t dnstap_write(const dnstap_message_t *message, const char *version, knot_mut_bytes_t *ret_frame)
{
	Dnstap__Dnstap frame = DNSTAP__DNSTAP__INIT;
	Dnstap__Message inner = DNSTAP__MESSAGE__INIT;
	dnstap_fill(&inner, message);
	frame.type = DNSTAP__DNSTAP__TYPE__MESSAGE;
	frame.message = &inner;
	frame.has_version = true;
	frame.version = dnstap_data((knot_bytes_t){ (const uint8_t *)version, strlen(version) });
	size_t len = dnstap__dnstap__get_packed_size(&frame);
	uint8_t *bytes = malloc(len);
	if (bytes == NULL) {
		return KNOT_ENOMEM;
	}
	*ret_frame = (knot_mut_bytes_t){ bytes, dnstap__dnstap__pack(&frame, bytes) };
	return KNOT_OK;
}

/* ---- Reading ---- */

static void dnstap_take_address(
		bool has_address, ProtobufCBinaryData data, uint32_t port, dnstap_address_t *ret_address)
{
	if (has_address && (data.len == 4 || data.len == 16)) {
		memcpy(ret_address->bytes, data.data, data.len);
		ret_address->len = (uint8_t)data.len;
		ret_address->port = (uint16_t)port;
	}
}

static knot_bytes_t dnstap_bytes(bool has_data, ProtobufCBinaryData data)
{
	return has_data && data.len <= UINT16_MAX ? (knot_bytes_t){ data.data, data.len } : (knot_bytes_t){ NULL, 0 };
}

/* Zeros, if it is no time: two of them can be subtracted, and each has a date. */
static struct timespec dnstap_time(uint64_t seconds, uint32_t nanoseconds)
{
	static const uint64_t end_of_year_9999 = 253402300799;
	bool is_good = seconds <= end_of_year_9999 && nanoseconds < 1000000000;
	return is_good ? (struct timespec){ (time_t)seconds, nanoseconds } : (struct timespec){ 0 };
}

knot_err_t dnstap_read(knot_bytes_t frame, dnstap_message_t *ret_message, void **ret_owner)
{
	Dnstap__Dnstap *read =
			frame.len <= DNSTAP_FRAME_MAX ? dnstap__dnstap__unpack(NULL, frame.len, frame.data) : NULL;
	if (read == NULL) {
		return KNOT_EMALF;
	}
	const Dnstap__Message *from = read->message;
	if (read->type != DNSTAP__DNSTAP__TYPE__MESSAGE || from == NULL) {
		dnstap__dnstap__free_unpacked(read, NULL);
		return KNOT_ENOENT;
	}
	*ret_message = (dnstap_message_t){
		.type = (unsigned)from->type,
		.protocol = from->has_socket_protocol ? (unsigned)from->socket_protocol : DNSTAP_NONE,
		.query_at = dnstap_time(from->query_time_sec, from->query_time_nsec),
		.response_at = dnstap_time(from->response_time_sec, from->response_time_nsec),
		.query = dnstap_bytes(from->has_query_message, from->query_message),
		.response = dnstap_bytes(from->has_response_message, from->response_message),
	};
	dnstap_take_address(from->has_query_address, from->query_address, from->query_port, &ret_message->client);
	dnstap_take_address(
			from->has_response_address, from->response_address, from->response_port, &ret_message->server);
	*ret_owner = read;
	return KNOT_OK;
}

void dnstap_read_done(void *take_owner)
{
	if (take_owner != NULL) {
		dnstap__dnstap__free_unpacked(take_owner, NULL);
	}
}
