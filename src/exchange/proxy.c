/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/exchange/proxy.h"

#include <assert.h>

enum {
	VERSION_2_PROXY = 0x21,
	FAMILY_IPV4 = 0x10,
	FAMILY_IPV6 = 0x20,
	PROTOCOL_STREAM = 1,
	PROTOCOL_DATAGRAM = 2,
};

static void proxy_write_address(knot_writer_t *w, const exchange_address_t *address)
{
	if (address->sa.sa_family == AF_INET) {
		knot_write(w, &address->in.sin_addr, sizeof(address->in.sin_addr));
	} else {
		knot_write(w, &address->in6.sin6_addr, sizeof(address->in6.sin6_addr));
	}
}

static uint16_t proxy_port(const exchange_address_t *address)
{
	return ntohs(address->sa.sa_family == AF_INET ? address->in.sin_port : address->in6.sin6_port);
}

size_t proxy_write(const exchange_address_t *source, const exchange_address_t *destination, bool is_datagram,
		uint8_t ret_header[static PROXY_HEADER_MAX])
{
	static const uint8_t signature[12] = "\r\n\r\n\0\r\nQUIT\n";
	bool is_ipv4 = source->sa.sa_family == AF_INET;
	assert(source->sa.sa_family == destination->sa.sa_family && (is_ipv4 || source->sa.sa_family == AF_INET6));
	knot_writer_t w = knot_writer_of((knot_mut_bytes_t){ ret_header, PROXY_HEADER_MAX });
	knot_write(&w, signature, sizeof(signature));
	knot_write_u8(&w, VERSION_2_PROXY);
	knot_write_u8(&w, (uint8_t)((is_ipv4 ? FAMILY_IPV4 : FAMILY_IPV6) |
					  (is_datagram ? PROTOCOL_DATAGRAM : PROTOCOL_STREAM)));
	knot_write_u16(&w, is_ipv4 ? 12 : 36);
	proxy_write_address(&w, source);
	proxy_write_address(&w, destination);
	knot_write_u16(&w, proxy_port(source));
	knot_write_u16(&w, proxy_port(destination));
	assert(!w.failed);
	return w.len;
}
