/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes of changes to a zone: whatever they are, they are refused or read; read, written and read again they say the
 * same. The first byte chooses the kind. */
#include "src/journal/changeset.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

typedef struct {
	changeset_writer_t writer;
	uint64_t sum; /* doesn't depend on the order within the removed and the added ones */
} seen_t;

static bool see(const changeset_rr_t *rr, bool is_added, void *ctx)
{
	seen_t *seen = ctx;
	uint64_t hash = 0xcbf29ce484222325 ^ rr->ttl ^ (uint64_t)rr->type << 32 ^ (uint64_t)is_added << 48;
	for (size_t i = 0; i < rr->owner.len + rr->rdata.len; i++) {
		hash = (hash ^ (i < rr->owner.len ? rr->owner.wire[i] : rr->rdata.data[i - rr->owner.len])) *
		       0x100000001b3;
	}
	seen->sum += hash * 0x9e3779b97f4a7c15;
	changeset_put(&seen->writer, rr, is_added);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len == 0) {
		return 0;
	}
	changeset_kind_t kind = data[0] % 2 == 0 ? CHANGESET_STEP : CHANGESET_WHOLE;
	seen_t first = { 0 }, second = { 0 };
	if (changeset_each((knot_bytes_t){ data + 1, len - 1 }, kind, see, &first) == KNOT_OK) {
		uint8_t *bytes;
		size_t bytes_len;
		if (changeset_finish(&first.writer, kind, &bytes, &bytes_len) != KNOT_OK || bytes_len > len - 1 ||
				changeset_each((knot_bytes_t){ bytes, bytes_len }, kind, see, &second) != KNOT_OK ||
				first.sum != second.sum) {
			abort();
		}
		free(bytes);
	}
	changeset_discard(&first.writer);
	changeset_discard(&second.writer);
	return 0;
}
