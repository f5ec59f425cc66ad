/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/load/playback.h"

#include "src/tools/load/hash.h"

#include <netinet/in.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	STREAMS = 4096, /* at a time: a new one takes the place of another with the same hash */
	STREAM_ROOM = 2 + QUERIES_MESSAGE_MAX,
	DNS_PORT = 53,
	TYPE_IPV4 = 0x0800,
	TYPE_IPV6 = 0x86DD,
	TYPE_CTAG = 0x8100,
	TYPE_STAG = 0x88A8,
	TCP_SYN = 2,
	IPV6_EXTENSIONS_MAX = 8,
};

typedef struct {
	uint64_t key;  /* 0: free */
	uint32_t next; /* sequence number that continues it */
	uint32_t skip; /* bytes of a message that is too long */
	uint16_t used;
	uint8_t bytes[STREAM_ROOM];
} stream_t;

struct playback {
	queries_t *queries;
	uint16_t port;
	bool times, has_first, failed;
	uint64_t first_ns, now_ns;
	stream_t streams[STREAMS];
};

playback_t *playback_new(queries_t *queries, uint16_t port, bool times)
{
	playback_t *p = calloc(1, sizeof(*p));
	if (p != NULL) {
		p->queries = queries;
		p->port = port;
		p->times = times;
	}
	return p;
}

void playback_free(playback_t *p)
{
	free(p);
}

static void playback_add(playback_t *p, knot_bytes_t message)
{
	if (!queries_is_query(message)) {
		return;
	}
	if (!p->has_first) {
		p->has_first = true;
		p->first_ns = p->now_ns;
	}
	/* Clocks of recordings may step back: times don't. */
	const queries_t *q = p->queries;
	uint64_t time_ns = p->now_ns > p->first_ns ? p->now_ns - p->first_ns : 0;
	uint64_t before_ns = p->times && q->count > 0 ? q->times_ns[q->count - 1] : 0;
	time_ns = time_ns > before_ns ? time_ns : before_ns;
	p->failed |= !queries_add_message(p->queries, message, p->times ? &time_ns : NULL);
}

/* Messages that are whole go to the list. */
static void stream_add(playback_t *p, stream_t *s, knot_bytes_t data)
{
	while (data.len > 0) {
		size_t skipped = s->skip < data.len ? s->skip : data.len;
		s->skip -= (uint32_t)skipped;
		data = (knot_bytes_t){ data.data + skipped, data.len - skipped };
		size_t wanted = s->used < 2 ? 2 : 2 + (size_t)load_be16(s->bytes);
		if (wanted > STREAM_ROOM) {
			s->skip = (uint32_t)(wanted - s->used);
			s->used = 0;
			continue;
		}
		size_t taken = wanted - s->used < data.len ? wanted - s->used : data.len;
		memcpy(s->bytes + s->used, data.data, taken);
		s->used = (uint16_t)(s->used + taken);
		data = (knot_bytes_t){ data.data + taken, data.len - taken };
		if (s->used > 2 && s->used == 2 + load_be16(s->bytes)) {
			playback_add(p, (knot_bytes_t){ s->bytes + 2, s->used - 2u });
			s->used = 0;
		} else if (s->used == 2 && load_be16(s->bytes) == 0) {
			s->used = 0;
		}
	}
}

static bool playback_is_ours(const playback_t *p, uint16_t port)
{
	return port == p->port || port == DNS_PORT;
}

static void playback_tcp(playback_t *p, uint64_t key, knot_bytes_t tcp)
{
	if (tcp.len < 20 || !playback_is_ours(p, load_be16(tcp.data + 2))) {
		return;
	}
	size_t header_len = (size_t)(tcp.data[12] >> 4) * 4;
	if (header_len < 20 || header_len > tcp.len) {
		return;
	}
	key = hash_mix(key ^ load_be32(tcp.data), 0x9E3779B97F4A7C15u) | 1;
	stream_t *s = &p->streams[key >> 52];
	uint32_t seq = load_be32(tcp.data + 4);
	if ((tcp.data[13] & TCP_SYN) != 0) {
		*s = (stream_t){ .key = key, .next = seq + 1 };
		return;
	}
	knot_bytes_t data = { tcp.data + header_len, tcp.len - header_len };
	if (s->key != key) { /* its begin wasn't recorded: take this for the begin of a message */
		*s = (stream_t){ .key = key, .next = seq };
	}
	if (seq == s->next && data.len > 0) {
		s->next += (uint32_t)data.len;
		stream_add(p, s, data);
	}
}

/* transport[0..len) of a packet between addresses with this hash. */
static void playback_transport(playback_t *p, uint8_t proto, uint64_t key, knot_bytes_t transport)
{
	if (proto == IPPROTO_TCP) {
		playback_tcp(p, key, transport);
	} else if (proto == IPPROTO_UDP && transport.len >= 8 && playback_is_ours(p, load_be16(transport.data + 2))) {
		size_t len = load_be16(transport.data + 4);
		if (len >= 8 && len <= transport.len) {
			playback_add(p, (knot_bytes_t){ transport.data + 8, len - 8 });
		}
	}
}

static void playback_ipv4(playback_t *p, knot_bytes_t ip)
{
	size_t header_len = ip.len >= 20 ? (ip.data[0] & 15u) * 4 : 0;
	size_t total = ip.len >= 20 ? load_be16(ip.data + 2) : 0;
	bool is_whole = header_len >= 20 && total >= header_len && total <= ip.len &&
			(load_be16(ip.data + 6) & 0x3FFF) == 0;
	if (is_whole) {
		uint64_t key = hash_bytes(0, ip.data + 12, 8);
		playback_transport(p, ip.data[9], key, (knot_bytes_t){ ip.data + header_len, total - header_len });
	}
}

static void playback_ipv6(playback_t *p, knot_bytes_t ip)
{
	if (ip.len < 40 || load_be16(ip.data + 4) > ip.len - 40) {
		return;
	}
	uint8_t next = ip.data[6];
	knot_bytes_t rest = { ip.data + 40, load_be16(ip.data + 4) };
	for (unsigned i = 0; i < IPV6_EXTENSIONS_MAX; i++) {
		if (next != IPPROTO_HOPOPTS && next != IPPROTO_ROUTING && next != IPPROTO_DSTOPTS) {
			playback_transport(p, next, hash_bytes(0, ip.data + 8, 32), rest);
			return;
		}
		size_t len = rest.len >= 8 ? (rest.data[1] + (size_t)1) * 8 : SIZE_MAX;
		if (len > rest.len) {
			return;
		}
		next = rest.data[0];
		rest = (knot_bytes_t){ rest.data + len, rest.len - len };
	}
}

static void playback_network(playback_t *p, unsigned type, knot_bytes_t bytes)
{
	while ((type == TYPE_CTAG || type == TYPE_STAG) && bytes.len >= 4) {
		type = load_be16(bytes.data + 2);
		bytes = (knot_bytes_t){ bytes.data + 4, bytes.len - 4 };
	}
	if (type == TYPE_IPV4) {
		playback_ipv4(p, bytes);
	} else if (type == TYPE_IPV6) {
		playback_ipv6(p, bytes);
	}
}

/* Link layers: bytes in front of the network layer, and where its type stands; without one the version says it. */
static const struct {
	int link;
	size_t len;
	int type_off; /* -1: none */
} links[] = {
	{ DLT_EN10MB, 14, 12 },
	{ DLT_LINUX_SLL, 16, 14 },
#ifdef DLT_LINUX_SLL2
	{ DLT_LINUX_SLL2, 20, 0 },
#endif
	{ DLT_RAW, 0, -1 },
	{ DLT_NULL, 4, -1 },
	{ DLT_LOOP, 4, -1 },
};

bool playback_packet(playback_t *p, int link, uint64_t time_ns, const uint8_t *bytes, size_t len)
{
	p->now_ns = time_ns;
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		if (links[i].link != link || len < links[i].len + 1) {
			continue;
		}
		knot_bytes_t rest = { bytes + links[i].len, len - links[i].len };
		unsigned version_type = rest.data[0] >> 4 == 6 ? TYPE_IPV6 : TYPE_IPV4;
		playback_network(p, links[i].type_off >= 0 ? load_be16(bytes + links[i].type_off) : version_type, rest);
		return !p->failed;
	}
	return !p->failed;
}

static bool playback_knows(int link)
{
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		if (links[i].link == link) {
			return true;
		}
	}
	return false;
}

static bool playback_read(playback_t *p, pcap_t *pcap, const char *path, char ret_error[static QUERIES_ERROR_MAX])
{
	struct pcap_pkthdr *header;
	const u_char *bytes;
	int code = 1;
	while ((code = pcap_next_ex(pcap, &header, &bytes)) == 1) {
		uint64_t time_ns = (uint64_t)header->ts.tv_sec * 1000000000 + (uint64_t)header->ts.tv_usec;
		if (!playback_packet(p, pcap_datalink(pcap), time_ns, bytes, header->caplen)) {
			snprintf(ret_error, QUERIES_ERROR_MAX, "failed loading '%.200s' (not enough memory)", path);
			return false;
		}
	}
	if (code != PCAP_ERROR_BREAK) {
		snprintf(ret_error, QUERIES_ERROR_MAX, "failed loading '%.200s' (%.200s)", path, pcap_geterr(pcap));
		return false;
	}
	return true;
}

bool playback_load(queries_t *queries, const char *path, uint16_t port, bool times,
		char ret_error[static QUERIES_ERROR_MAX])
{
	char error[PCAP_ERRBUF_SIZE];
	pcap_t *pcap = pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, error);
	if (pcap == NULL) {
		snprintf(ret_error, QUERIES_ERROR_MAX, "failed loading '%.200s' (%.200s)", path, error);
		return false;
	}
	playback_t *p = playback_new(queries, port, times);
	bool is_good = p != NULL && playback_knows(pcap_datalink(pcap));
	if (!is_good) {
		snprintf(ret_error, QUERIES_ERROR_MAX, "failed loading '%.200s' (%s)", path,
				p == NULL ? "not enough memory" : "a link layer that isn't known");
	}
	is_good = is_good && playback_read(p, pcap, path, ret_error);
	playback_free(p);
	pcap_close(pcap);
	return is_good;
}
