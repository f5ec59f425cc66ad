/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of zone images: whatever is in one with a right checksum, it is refused or consistent, and written again it
 * is the same. */
#include "src/store/record.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { CHECKSUM_OFF = 8, CHECKED_FROM = 16 };

/* All that a reader of the record would touch. */
static uint64_t use(const store_record_t *record)
{
	uint64_t sum = 0, pieces = 0;
	for (uint32_t i = 0; i < record->chunk_count; i++) {
		sum += record->chunk_lens[i];
	}
	for (uint32_t i = 0; i < record->piece_count; i++) {
		pieces += record->pieces[i].len;
	}
	if (sum != record->size || (record->flags & STORE_RECORD_INLINE ? record->piece_count != 0 : pieces != sum)) {
		abort();
	}
	for (uint64_t i = 0; record->flags & STORE_RECORD_INLINE && i < record->size; i++) {
		sum += record->inline_bytes[i];
	}
	for (size_t i = 0; i < record->head.len; i++) {
		sum += record->head.data[i];
	}
	return sum;
}

static uint8_t *write_again(const store_record_t *record, size_t *ret_len)
{
	store_source_t *sources = malloc((record->source_count + (size_t)1) * sizeof(*sources));
	knot_bytes_t *chunks = malloc((record->chunk_count + (size_t)1) * sizeof(*chunks));
	bool is_inline = record->flags & STORE_RECORD_INLINE;
	if (sources == NULL || chunks == NULL) {
		abort();
	}
	store_record_sources(record, sources);
	const uint8_t *from = record->inline_bytes;
	for (uint32_t i = 0; is_inline && i < record->chunk_count; i++) {
		chunks[i] = (knot_bytes_t){ from, record->chunk_lens[i] };
		from += record->chunk_lens[i];
	}
	*ret_len = store_record_len(record, sources) + (is_inline ? record->size : 0);
	uint8_t *bytes = malloc(*ret_len);
	if (bytes == NULL) {
		abort();
	}
	store_record_write(record, sources, chunks, bytes);
	free(sources);
	free(chunks);
	return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len + 1);
	if (copy == NULL) {
		return 0;
	}
	memcpy(copy, data, len);
	if (len > CHECKED_FROM) {
		uint64_t seed, checksum;
		memcpy(&seed, copy, sizeof(seed));
		checksum = XXH3_64bits_withSeed(copy + CHECKED_FROM, len - CHECKED_FROM, seed);
		memcpy(copy + CHECKSUM_OFF, &checksum, sizeof(checksum));
	}
	store_record_t record, second;
	const char *what;
	if (store_record_read((knot_bytes_t){ copy, len }, &record, &what) == KNOT_OK) {
		uint64_t sum = use(&record);
		size_t again_len, third_len;
		uint8_t *again = write_again(&record, &again_len);
		if (again_len != len ||
				store_record_read((knot_bytes_t){ again, again_len }, &second, &what) != KNOT_OK ||
				use(&second) != sum) {
			abort();
		}
		uint8_t *third = write_again(&second, &third_len);
		if (third_len != again_len || memcmp(again, third, again_len) != 0) {
			abort();
		}
		free(third);
		free(again);
	}
	free(copy);
	return 0;
}
