/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of the configuration database: with a right checksum and whatever in it, one is refused, or written again it
 * reads the same. */
#include "src/conf/db_record.h"
#include "src/conf/txn.h"

#include <stdlib.h>
#include <string.h>

enum { CHECKSUM_LEN = 8 };

static uint64_t fnv(uint64_t sum, const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		sum = (sum ^ data[i]) * UINT64_C(1099511628211);
	}
	return sum;
}

/* doc/formats/conf-db.md */
static void put_checksum(knot_bytes_t key, uint8_t *record, size_t len)
{
	uint64_t sum = fnv(fnv(UINT64_C(14695981039346656037), key.data, key.len), record + CHECKSUM_LEN,
			len - CHECKSUM_LEN);
	for (size_t i = 0; i < CHECKSUM_LEN; i++) {
		record[i] = (uint8_t)(sum >> 8 * (CHECKSUM_LEN - 1 - i));
	}
}

/* The only block of a store. */
static conf_block_view_t only_block(const conf_store_t *store, size_t *ret_section)
{
	conf_block_view_t block;
	for (*ret_section = 0; *ret_section < CONF_S_COUNT; (*ret_section)++) {
		conf_cursor_t cursor = { .view = { .store = store }, .section = *ret_section };
		if (conf_view_next(&cursor, &block)) {
			return block;
		}
	}
	abort();
}

static conf_store_t *new_store(void)
{
	conf_store_t *store = conf_store_new();
	if (store == NULL) {
		abort();
	}
	return store;
}

/* Lengths of texts and their spelling may differ; what they mean may not. */
static void check_again(const conf_store_t *store)
{
	size_t section, again_section;
	conf_block_view_t block = only_block(store, &section);
	uint8_t key[CONF_DB_KEY_MAX];
	conf_db_buffer_t record = { 0 }, scratch = { 0 };
	knot_bytes_t key_bytes = { key, conf_db_key_put(section, block.id, key) };
	conf_store_t *again = new_store();
	if (key_bytes.len == 0 || conf_db_block_put(key_bytes, section, block.id, block.items, &record) != KNOT_OK ||
			conf_db_block_get(key_bytes, (knot_bytes_t){ record.data, record.len }, (conf_sink_t){ 0 },
					again, &scratch) != KNOT_OK) {
		abort();
	}
	conf_block_view_t other = only_block(again, &again_section);
	if (section != again_section || block.id.len != other.id.len || block.items.len != other.items.len ||
			memcmp(block.items.data, other.items.data, block.items.len) != 0) {
		abort();
	}
	conf_store_free(again);
	free(record.data);
	free(scratch.data);
}

/* data: length of the key, the key, the record without its checksum. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len < 1 || len < 1 + (size_t)data[0]) {
		return 0;
	}
	knot_bytes_t key = { data + 1, data[0] };
	size_t record_len = CHECKSUM_LEN + len - 1 - key.len;
	uint8_t *record = malloc(record_len);
	if (record == NULL) {
		abort();
	}
	memcpy(record + CHECKSUM_LEN, data + 1 + key.len, record_len - CHECKSUM_LEN);
	put_checksum(key, record, record_len);
	conf_store_t *store = new_store();
	conf_db_buffer_t scratch = { 0 };
	if (conf_db_block_get(key, (knot_bytes_t){ record, record_len }, (conf_sink_t){ 0 }, store, &scratch) ==
			KNOT_OK) {
		check_again(store);
	}
	conf_store_free(store);
	free(scratch.data);
	free(record);
	uint64_t commits;
	(void)conf_db_format_get((knot_bytes_t){ data, len }, &commits);
	return 0;
}
