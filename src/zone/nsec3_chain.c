/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/nsec3_chain.h"

#include "libknot/base/assert.h"
#include "src/zone/nsec3_records.h"

#include <stdlib.h>

static bool chain_ascends(const zone_nsec3_chain_t *chain)
{
	for (size_t i = 1; i < chain->count; i++) {
		if (memcmp(chain->hashes[i - 1], chain->hashes[i], ZONE_NSEC3_HASH_LEN) >= 0) {
			return false;
		}
	}
	return true;
}

knot_err_t zone_nsec3_chain_read(zone_nsec3_chain_t *chain, const zone_names_t *names, bool *ret_is_usable)
{
	assert(chain->hashes == NULL && names->compiled == 0);
	size_t count = names->tree_counts[TREE_NSEC3];
	unsigned label_count = names->collect->origin.label_count + 1u;
	*ret_is_usable = count > 0;
	if (count == 0) {
		return KNOT_OK;
	}
	chain->hashes = malloc(count * sizeof(*chain->hashes));
	chain->names = malloc(count * sizeof(*chain->names));
	if (chain->hashes == NULL || chain->names == NULL) {
		return KNOT_ENOMEM;
	}
	for (size_t i = zone_names_next(names, 0, TREE_NSEC3); i < names->count;
			i = zone_names_next(names, i + 1, TREE_NSEC3)) {
		knot_name_t owner = zone_group_name(zone_names_group(names, &names->list[i]));
		if (owner.label_count != label_count || !zone_nsec3_owner_hash(owner, chain->hashes[chain->count])) {
			*ret_is_usable = false;
			return KNOT_OK;
		}
		chain->names[chain->count++] = (uint32_t)i;
	}
	assert(chain->count == count);
	KNOT_ASSERT_SLOW(chain_ascends(chain));
	return KNOT_OK;
}

/* Hashes are uniform, so begin at the expected place. */
size_t zone_nsec3_chain_find(const zone_nsec3_chain_t *chain, const uint8_t hash[static ZONE_NSEC3_HASH_LEN])
{
	const size_t count = chain->count;
	assert(count > 0);
	size_t guess = (size_t)((uint64_t)load_be32(hash) * count >> 32);
	size_t low = guess, high = guess, step = 16; /* invariant sought: hashes[low] <= hash < hashes[high] */
	while (low > 0 && memcmp(chain->hashes[low], hash, ZONE_NSEC3_HASH_LEN) > 0) {
		high = low;
		low = low > step ? low - step : 0;
		step *= 2;
	}
	if (memcmp(chain->hashes[low], hash, ZONE_NSEC3_HASH_LEN) > 0) {
		return count - 1;
	}
	step = 16;
	while (high < count && memcmp(chain->hashes[high], hash, ZONE_NSEC3_HASH_LEN) <= 0) {
		low = high;
		high = high + step < count ? high + step : count;
		step *= 2;
	}
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (memcmp(chain->hashes[middle], hash, ZONE_NSEC3_HASH_LEN) <= 0) {
			low = middle;
		} else {
			high = middle;
		}
	}
	return low;
}

void zone_nsec3_chain_done(zone_nsec3_chain_t *chain)
{
	free(chain->hashes);
	free(chain->names);
	*chain = (zone_nsec3_chain_t){ 0 };
}
