/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Signed messages of any shape: what can't be read is refused, and nothing is authentic that the key didn't sign. What
 * stands before a TSIG that can be read, signed again with the key, is authentic, on both sides of a chain.
 *
 * Input: one byte (its lower half: the algorithm), then the message.
 */
#include "libknot/msg/sign.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

/* As the answer to a request that was signed: with or without a TSIG of its own, never authentic. */
static void check_answer(const knot_tsig_key_t *key, knot_bytes_t message)
{
	knot_tsig_chain_t chain;
	knot_tsig_chain_begin(&chain, key);
	for (knot_tsig_position_t at = KNOT_TSIG_AT_FIRST; at <= KNOT_TSIG_AT_LATER; at++) {
		chain.position = at;
		for (unsigned i = 0; i < 3; i++) {
			if (knot_tsig_verify(&chain, message, 1700000000) != KNOT_OK) {
				break;
			}
			check(at == KNOT_TSIG_AT_LATER && !knot_tsig_is_complete(&chain));
		}
		knot_tsig_chain_done(&chain);
	}
}

static void check_signed_again(const knot_tsig_key_t *key, knot_bytes_t message, const knot_tsig_t *was)
{
	static uint8_t room[KNOT_MSG_MAX + 512];
	memcpy(room, message.data, was->off);
	knot_msg_writer_t w = { .data = room, .len = was->off, .max = sizeof(room) };
	w.counts[KNOT_SECTION_ADDITIONAL] = (uint16_t)(load_be16(room + 10) - 1);
	store_be16(room + 10, w.counts[KNOT_SECTION_ADDITIONAL]);
	knot_tsig_chain_t client, server;
	knot_tsig_chain_begin(&client, key);
	knot_tsig_chain_begin(&server, key);
	for (unsigned i = 0; i < 3; i++) {
		knot_msg_writer_t again = w;
		uint8_t name[KNOT_NAME_MAX];
		knot_tsig_t tsig;
		size_t len;
		check(knot_tsig_sign(i == 0 ? &client : &server, &again, was->time_s, &len) == KNOT_OK);
		check(len == again.len && len == w.len + knot_tsig_len(&server));
		if (len > KNOT_MSG_MAX) {
			return;
		}
		check(knot_tsig_read((knot_bytes_t){ room, len }, name, &tsig) == KNOT_OK && tsig.off == was->off);
		knot_err_t err = knot_tsig_verify_read(
				i == 0 ? &server : &client, (knot_bytes_t){ room, len }, &tsig, was->time_s);
		check(err == (was->time_s != 0 ? KNOT_OK : KNOT_TSIG_EBADTIME));
		if (err != KNOT_OK) {
			return;
		}
		store_be16(room + 10, w.counts[KNOT_SECTION_ADDITIONAL]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t secret[] = "a secret that no seed is signed with";
	if (size < 1 || size - 1 > KNOT_MSG_MAX) {
		return 0;
	}
	knot_tsig_algorithm_t algorithm = (data[0] & 0x0f) % KNOT_TSIG_ALGORITHM_END;
	uint8_t *copy = malloc(size);
	memcpy(copy, data, size);
	knot_bytes_t message = { copy + 1, size - 1 };
	uint8_t name[KNOT_NAME_MAX], lower[KNOT_NAME_MAX];
	knot_tsig_t tsig;
	knot_tsig_key_t key = { knot_name_of((const uint8_t *)"\3key\2ex"), algorithm, { secret, sizeof(secret) } };
	check_answer(&key, message);
	if (knot_tsig_read(message, name, &tsig) == KNOT_OK) {
		check(tsig.off >= KNOT_MSG_HEADER_LEN && tsig.off < message.len);
		knot_name_lower(tsig.key, lower);
		key.name = knot_name_of(lower);
		knot_tsig_chain_t chain;
		knot_tsig_chain_begin(&chain, &key);
		check(knot_tsig_verify_read(&chain, message, &tsig, tsig.time_s) != KNOT_OK);
		check_answer(&key, message);
		check_signed_again(&key, message, &tsig);
	}
	free(copy);
	return 0;
}
