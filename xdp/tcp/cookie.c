/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SYN cookies (RFC 4987 3.6): the initial sequence number says all that a SYN said.
 *
 *     31         25 24          7 6    4 3      0
 *     | flow, 7 bits | SYN, 18 bits | MSS | scale |
 *
 * Both parts are keyed hashes: of the flow, the lower seven bits and the minute; and of that and the SYN's sequence
 * number. A cookie is good for one to two minutes; guessing one takes 2^24 ACKs on average. The first part tells an ACK
 * of ours that came before the one in front of it from a stranger's, 63 times of 64. The second one is long: an ACK
 * that passed for that of the first segment would leave the first segment out. scale 15: the option was absent.
 */
#include "xdp/tcp/stack.h"

enum {
	SLOT_US = 64 * SECOND_US,
	SCALE_NONE = 15,
	INFO_BITS = 7,
};

#define INFO_MASK ((1u << INFO_BITS) - 1)
#define FLOW_MASK 0xfe000000u
#define SYN_MASK  (~FLOW_MASK & ~INFO_MASK)

/* The largest that is not more than the SYN's is taken, else the first. */
static const uint16_t msss[8] = { KXDP_TCP_MSS_MIN, 256, 536, 1220, 1380, 1440, 1460, 8940 };

/* RFC 6528 3: a clock of 4 us and a secret that depends on the flow. */
uint32_t tcp_initial_sequence(const kxdp_tcp_t *tcp, const kxdp_flow_t *flow)
{
	uint64_t words[5];
	memcpy(words, flow->remote, 16);
	memcpy(words + 2, flow->local, 16);
	words[4] = (uint64_t)flow->remote_port << 16 | flow->local_port;
	return (uint32_t)kxdp_siphash24(&tcp->key, words, KNOT_LEN(words)) + (uint32_t)(tcp->now_us / 4);
}

static uint32_t cookie_compute(
		const kxdp_tcp_t *tcp, const kxdp_flow_t *flow, uint32_t peer_isn, uint32_t info, uint64_t slot)
{
	uint64_t words[6];
	memcpy(words, flow->remote, 16);
	memcpy(words + 2, flow->local, 16);
	words[4] = (uint64_t)flow->remote_port << 16 | flow->local_port;
	words[5] = slot << INFO_BITS | info;
	uint64_t ours[2] = { kxdp_siphash24(&tcp->key, words, KNOT_LEN(words)), peer_isn };
	uint32_t syn = (uint32_t)kxdp_siphash24(&tcp->key, ours, KNOT_LEN(ours));
	return ((uint32_t)ours[0] & FLOW_MASK) | (syn & SYN_MASK) | info;
}

uint32_t tcp_cookie_make(kxdp_tcp_t *tcp, const kxdp_segment_t *syn)
{
	uint16_t mss = syn->mss;
	if (mss == 0) {
		mss = tcp_is_ipv4(syn->flow.remote) ? MSS_DEFAULT_IPV4 : MSS_DEFAULT_IPV6;
	}
	uint32_t index = KNOT_LEN(msss) - 1;
	while (index > 0 && msss[index] > mss) {
		index--;
	}
	uint32_t scale = syn->scale >= 0 ? (uint32_t)syn->scale : SCALE_NONE;
	tcp->cookie_time_us = tcp->now_us > 0 ? tcp->now_us : 1;
	stat_inc(&tcp->stats.cookies_sent);
	return cookie_compute(tcp, &syn->flow, syn->seq, index << 4 | scale, tcp->now_us / SLOT_US);
}

bool tcp_cookies_are_out(const kxdp_tcp_t *tcp)
{
	return tcp->cookie_time_us != 0 && tcp->now_us - tcp->cookie_time_us < 2ull * SLOT_US;
}

tcp_cookie_verdict_t tcp_cookie_read(
		kxdp_tcp_t *tcp, const kxdp_segment_t *segment, uint16_t *ret_mss, int8_t *ret_scale)
{
	uint32_t got = segment->ack - 1, info = got & INFO_MASK, scale = info & 15;
	uint64_t slot = tcp->now_us / SLOT_US;
	tcp_cookie_verdict_t verdict = TCP_COOKIE_BAD;
	for (uint64_t age = 0; age <= 1 && age <= slot && verdict != TCP_COOKIE_GOOD; age++) {
		uint32_t wrong = got ^ cookie_compute(tcp, &segment->flow, segment->seq - 1, info, slot - age);
		if (wrong == 0) {
			verdict = TCP_COOKIE_GOOD;
		} else if ((wrong & FLOW_MASK) == 0) {
			verdict = TCP_COOKIE_LATER;
		}
	}
	stat_inc(verdict == TCP_COOKIE_GOOD ? &tcp->stats.cookies_good : &tcp->stats.cookies_bad);
	if (verdict == TCP_COOKIE_GOOD) {
		*ret_mss = msss[info >> 4];
		*ret_scale = scale != SCALE_NONE ? (int8_t)scale : -1;
	}
	return verdict;
}
