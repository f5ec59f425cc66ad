/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/load/model.h"

#include "libknot/text/zonefile.h"
#include "src/tools/zonecheck/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_TTL_S = 3600, TABLE_MIN = 1024, NSEC3_LABEL_LEN = 32 };

/* ---- Arrays ---- */

static bool model_grow(void **io_array, size_t size, size_t count, size_t more, size_t *io_room)
{
	if (count + more <= *io_room) {
		return true;
	}
	size_t room = *io_room * 2 > count + more ? *io_room * 2 : count + more + 1024;
	void *array = realloc(*io_array, room * size);
	if (array != NULL) {
		*io_array = array;
		*io_room = room;
	}
	return array != NULL;
}

static bool model_put_bytes(model_t *m, const uint8_t *bytes, size_t len, uint64_t *ret_off)
{
	if (!model_grow((void **)&m->bytes, 1, m->used, len, &m->size)) {
		return false;
	}
	memcpy(m->bytes + m->used, bytes, len);
	*ret_off = m->used;
	m->used += len;
	return true;
}

/* ---- Nodes ---- */

static bool model_enlarge_table(model_t *m)
{
	if ((m->node_count + 1) * 2 <= m->table_size) {
		return true;
	}
	size_t size = m->table_size > 0 ? m->table_size * 2 : TABLE_MIN;
	uint32_t *table = malloc(size * sizeof(*table));
	if (table == NULL) {
		return false;
	}
	memset(table, 0xFF, size * sizeof(*table));
	for (uint32_t i = 0; i < m->node_count; i++) {
		size_t at = m->nodes[i].hash & (size - 1);
		while (table[at] != MODEL_NONE) {
			at = (at + 1) & (size - 1);
		}
		table[at] = i;
	}
	free(m->table);
	m->table = table;
	m->table_size = size;
	return true;
}

/* Several zones may have the same name: the cut's and the apex's. */
static uint32_t model_find_hashed(const model_t *m, uint32_t zone, knot_name_t lower, uint64_t hash)
{
	if (m->table_size == 0) {
		return MODEL_NONE;
	}
	for (size_t at = hash & (m->table_size - 1); m->table[at] != MODEL_NONE; at = (at + 1) & (m->table_size - 1)) {
		const model_node_t *n = &m->nodes[m->table[at]];
		if (n->hash == hash && n->zone == zone && n->name_len == lower.len &&
				memcmp(m->bytes + n->name_off, lower.wire, lower.len) == 0) {
			return m->table[at];
		}
	}
	return MODEL_NONE;
}

uint32_t model_find(const model_t *m, uint32_t zone, knot_name_t lower)
{
	return model_find_hashed(m, zone, lower, model_name_hash(lower));
}

static uint32_t model_add_node(model_t *m, uint32_t zone, knot_name_t lower)
{
	uint64_t hash = model_name_hash(lower), off;
	uint32_t found = model_find_hashed(m, zone, lower, hash);
	if (found != MODEL_NONE) {
		return found;
	}
	if (m->node_count >= MODEL_NONE || !model_enlarge_table(m) ||
			!model_grow((void **)&m->nodes, sizeof(*m->nodes), m->node_count, 1, &m->node_room) ||
			!model_put_bytes(m, lower.wire, lower.len, &off)) {
		return MODEL_NONE;
	}
	uint32_t node = (uint32_t)m->node_count++;
	m->nodes[node] = (model_node_t){ .name_off = off,
		.hash = hash,
		.first = MODEL_NONE,
		.zone = zone,
		.name_len = lower.len,
		.label_count = lower.label_count };
	size_t at = hash & (m->table_size - 1);
	while (m->table[at] != MODEL_NONE) {
		at = (at + 1) & (m->table_size - 1);
	}
	m->table[at] = node;
	return node;
}

/* ---- Records ---- */

uint32_t model_record_after(const model_t *m, uint32_t record, uint16_t type, uint16_t covered)
{
	while (record != MODEL_NONE && (m->records[record].type != type || m->records[record].covered != covered)) {
		record = m->records[record].next;
	}
	return record;
}

uint32_t model_record(const model_t *m, uint32_t node, uint16_t type, uint16_t covered)
{
	return node != MODEL_NONE ? model_record_after(m, m->nodes[node].first, type, covered) : MODEL_NONE;
}

static bool model_has_record(const model_t *m, uint32_t node, uint64_t hash, knot_bytes_t rdata)
{
	for (uint32_t r = m->nodes[node].first; r != MODEL_NONE; r = m->records[r].next) {
		if (m->records[r].hash == hash && m->records[r].rdata_len == rdata.len &&
				memcmp(m->bytes + m->records[r].rdata_off, rdata.data, rdata.len) == 0) {
			return true;
		}
	}
	return false;
}

typedef struct {
	model_t *model;
	uint32_t zone;
	knot_name_t origin;
	char *error;
	bool failed;
	uint32_t last_node; /* of the record before */
	uint64_t last_id;
	uint8_t rdata[KNOT_RDATA_MAX];
} load_t;

static bool load_add(load_t *load, const knot_zone_record_t *record)
{
	model_t *m = load->model;
	if (record->owner_id != load->last_id) {
		uint8_t wire[KNOT_NAME_MAX];
		knot_name_lower(record->owner, wire);
		load->last_node = model_add_node(
				m, load->zone, (knot_name_t){ wire, record->owner.len, record->owner.label_count });
		load->last_id = record->owner_id;
	}
	uint32_t node = load->last_node;
	if (node == MODEL_NONE) {
		return false;
	}
	memcpy(load->rdata, record->rdata.data, record->rdata.len);
	knot_rdata_canonical(record->type, (knot_mut_bytes_t){ load->rdata, record->rdata.len });
	knot_bytes_t rdata = { load->rdata, record->rdata.len };
	uint64_t hash = model_rdata_hash(record->type, rdata), off;
	if (model_has_record(m, node, hash, rdata)) {
		return true;
	}
	if (!model_grow((void **)&m->records, sizeof(*m->records), m->record_count, 1, &m->record_room) ||
			!model_put_bytes(m, rdata.data, rdata.len, &off)) {
		return false;
	}
	uint32_t same = model_record(m, node, record->type, 0);
	m->records[m->record_count] = (model_record_t){ .rdata_off = off,
		.hash = hash,
		.next = m->nodes[node].first,
		/* Records of a set have one TTL (RFC 2181 5.2): as servers do, that of the first. */
		.ttl = same != MODEL_NONE ? m->records[same].ttl : record->ttl,
		.type = record->type,
		.rdata_len = (uint16_t)rdata.len,
		.covered = record->type == KNOT_TYPE_RRSIG ? load_be16(rdata.data) : 0 };
	m->nodes[node].first = (uint32_t)m->record_count++;
	return true;
}

static bool load_on_record(const knot_zone_record_t *record, void *ctx)
{
	load_t *load = ctx;
	/* What is outside of the zone isn't served. */
	if (knot_name_in(record->owner, load->origin) && !load_add(load, record)) {
		snprintf(load->error, MODEL_ERROR_MAX, "not enough memory for the zone");
		load->failed = true;
	}
	return !load->failed;
}

static bool load_on_fault(const knot_zone_fault_t *fault, void *ctx)
{
	load_t *load = ctx;
	snprintf(load->error, MODEL_ERROR_MAX, "zone file %.150s:%llu: %.200s", fault->file,
			(unsigned long long)fault->line, fault->reason);
	load->failed = true;
	return false;
}

/* ---- What follows from the records ---- */

/* Empty non-terminals: every name between a name and the apex exists (RFC 4592 2.2.2). */
static bool zone_add_parents(model_t *m, uint32_t zone)
{
	const uint8_t apex_labels = m->zones[zone].label_count;
	for (uint32_t i = 0; i < m->node_count; i++) {
		if (m->nodes[i].zone != zone || m->nodes[i].is_hidden) {
			continue;
		}
		knot_name_t name = model_name(m, i);
		uint8_t wire[KNOT_NAME_MAX];
		memcpy(wire, name.wire, name.len);
		name.wire = wire;
		for (unsigned up = 1; name.label_count > apex_labels + up; up++) {
			size_t before = m->node_count;
			if (model_add_node(m, zone, knot_name_strip(name, up)) == MODEL_NONE) {
				return false;
			}
			if (m->node_count == before) {
				break; /* it is there, and so are those above it, or they will be */
			}
		}
	}
	return true;
}

/* A node that has only NSEC3 and its signatures is in the chain, not in the zone. */
static void zone_mark_nodes(model_t *m, uint32_t zone)
{
	for (uint32_t i = 0; i < m->node_count; i++) {
		model_node_t *n = &m->nodes[i];
		if (n->zone != zone) {
			continue;
		}
		bool has_nsec3 = false, has_others = false;
		for (uint32_t r = n->first; r != MODEL_NONE; r = m->records[r].next) {
			bool is_chain = m->records[r].type == KNOT_TYPE_NSEC3 ||
					m->records[r].covered == KNOT_TYPE_NSEC3;
			has_nsec3 |= is_chain;
			has_others |= !is_chain;
		}
		n->is_hidden = has_nsec3 && !has_others;
		n->is_cut = i != m->zones[zone].apex && model_record(m, i, KNOT_TYPE_NS, 0) != MODEL_NONE;
		n->has_dname = model_record(m, i, KNOT_TYPE_DNAME, 0) != MODEL_NONE;
	}
}

static const model_t *sorted_model; /* qsort() has no context that all systems agree on; loading is one thread's */

static int zone_compare_names(const void *a, const void *b)
{
	return knot_name_cmp(
			model_name(sorted_model, *(const uint32_t *)a), model_name(sorted_model, *(const uint32_t *)b));
}

static int zone_compare_hashes(const void *a, const void *b)
{
	return memcmp(((const model_nsec3_t *)a)->hash, ((const model_nsec3_t *)b)->hash, ZONE_NSEC3_HASH_LEN);
}

static int zone_base32hex_value(uint8_t c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'v' ? c - 'a' + 10 : -1;
}

/* The hash that the first label of an NSEC3's owner is (RFC 5155 3). */
static bool zone_read_hash(knot_name_t owner, uint8_t ret_hash[static ZONE_NSEC3_HASH_LEN])
{
	if (owner.wire[0] != NSEC3_LABEL_LEN) {
		return false;
	}
	uint64_t bits = 0;
	for (unsigned i = 0; i < NSEC3_LABEL_LEN; i++) {
		int value = zone_base32hex_value(owner.wire[1 + i]);
		if (value < 0) {
			return false;
		}
		bits = bits << 5 | (unsigned)value;
		if (i % 8 == 7) { /* 40 bits */
			for (unsigned k = 0; k < 5; k++) {
				ret_hash[i / 8 * 5 + k] = (uint8_t)(bits >> (32 - 8 * k));
			}
		}
	}
	return true;
}

/* The chain that NSEC3PARAM names; others may be there while the zone changes its parameters. */
static bool zone_is_of_chain(const model_zone_t *z, knot_bytes_t rdata)
{
	const zone_nsec3_params_t *params = &z->nsec3_params;
	return rdata.len >= 5 && rdata.data[0] == params->algorithm &&
	       load_be16(rdata.data + 2) == params->iterations && rdata.data[4] == params->salt_len &&
	       rdata.len >= 5u + params->salt_len && memcmp(rdata.data + 5, z->salt, params->salt_len) == 0;
}

static bool zone_read_params(model_t *m, model_zone_t *z)
{
	uint32_t record = model_record(m, z->apex, KNOT_TYPE_NSEC3PARAM, 0);
	if (record == MODEL_NONE) {
		return false;
	}
	knot_bytes_t rdata = model_rdata(m, &m->records[record]);
	if (rdata.len < 5 || rdata.len < 5u + rdata.data[4]) {
		return false;
	}
	z->nsec3_params.algorithm = rdata.data[0];
	z->nsec3_params.iterations = load_be16(rdata.data + 2);
	z->nsec3_params.salt_len = rdata.data[4];
	memcpy(z->salt, rdata.data + 5, rdata.data[4]);
	return true;
}

static bool zone_collect_chains(model_t *m, uint32_t zone)
{
	model_zone_t *z = &m->zones[zone];
	bool has_params = zone_read_params(m, z);
	size_t nsec_room = 0, nsec3_room = 0;
	for (uint32_t i = 0; i < m->node_count; i++) {
		if (m->nodes[i].zone != zone) {
			continue;
		}
		if (model_record(m, i, KNOT_TYPE_NSEC, 0) != MODEL_NONE) {
			if (!model_grow((void **)&z->nsec, sizeof(*z->nsec), z->nsec_count, 1, &nsec_room)) {
				return false;
			}
			z->nsec[z->nsec_count++] = i;
		}
		uint32_t nsec3 = model_record(m, i, KNOT_TYPE_NSEC3, 0);
		model_nsec3_t entry = { .node = i };
		if (has_params && nsec3 != MODEL_NONE && zone_is_of_chain(z, model_rdata(m, &m->records[nsec3])) &&
				zone_read_hash(model_name(m, i), entry.hash)) {
			if (!model_grow((void **)&z->nsec3, sizeof(*z->nsec3), z->nsec3_count, 1, &nsec3_room)) {
				return false;
			}
			z->nsec3[z->nsec3_count++] = entry;
		}
	}
	sorted_model = m;
	if (z->nsec_count > 0) {
		qsort(z->nsec, z->nsec_count, sizeof(*z->nsec), zone_compare_names);
	}
	if (z->nsec3_count > 0) {
		qsort(z->nsec3, z->nsec3_count, sizeof(*z->nsec3), zone_compare_hashes);
	}
	z->is_signed = model_record(m, z->apex, KNOT_TYPE_RRSIG, KNOT_TYPE_SOA) != MODEL_NONE;
	z->has_nsec3 = z->nsec3_count > 0;
	z->has_nsec = z->nsec_count > 0 && !z->has_nsec3;
	return true;
}

/* ---- Loading ---- */

static bool zone_load(model_t *m, const source_t *source, const char *path, char ret_error[static MODEL_ERROR_MAX])
{
	model_zone_t *zones = realloc(m->zones, (m->zone_count + 1) * sizeof(*zones));
	load_t *load = calloc(1, sizeof(*load));
	if (zones == NULL || load == NULL) {
		m->zones = zones != NULL ? zones : m->zones;
		free(load);
		snprintf(ret_error, MODEL_ERROR_MAX, "not enough memory");
		return false;
	}
	m->zones = zones;
	uint32_t zone = (uint32_t)m->zone_count++;
	zones[zone] = (model_zone_t){ .label_count = source->origin.label_count, .path = path };
	*load = (load_t){ .model = m, .zone = zone, .origin = source->origin, .error = ret_error };
	const knot_zonefile_params_t params = {
		.origin = source->origin,
		.default_ttl = DEFAULT_TTL_S,
		.on_record = load_on_record,
		.on_fault = load_on_fault,
		.ctx = load,
	};
	zones[zone].apex = model_add_node(m, zone, source->origin);
	knot_err_t err = source->text.data != NULL ? knot_zonefile_scan_text(source->text, source->path, &params)
						   : knot_zonefile_scan(source->path, &params);
	bool is_good = err == KNOT_OK && !load->failed && zones[zone].apex != MODEL_NONE;
	if (!is_good && !load->failed) {
		snprintf(ret_error, MODEL_ERROR_MAX, "failed loading zone file '%.200s' (%s)", path,
				knot_strerror(err));
	}
	free(load);
	if (is_good && model_record(m, zones[zone].apex, KNOT_TYPE_SOA, 0) == MODEL_NONE) {
		snprintf(ret_error, MODEL_ERROR_MAX, "zone file '%.200s' has no SOA", path);
		return false;
	}
	if (is_good) {
		zone_mark_nodes(m, zone);
		is_good = zone_add_parents(m, zone) && zone_collect_chains(m, zone);
		if (!is_good) {
			snprintf(ret_error, MODEL_ERROR_MAX, "not enough memory for the zone");
		}
	}
	return is_good;
}

static bool model_load_source(model_t *m, const char *path, char ret_error[static MODEL_ERROR_MAX])
{
	source_t source;
	char error[SOURCE_ERROR_MAX];
	if (!source_open(path, NULL, &source, error)) {
		snprintf(ret_error, MODEL_ERROR_MAX, "zone file '%.150s': %.300s", path, error);
		return false;
	}
	bool is_good = zone_load(m, &source, path, ret_error);
	source_close(&source);
	return is_good;
}

bool model_load(const char *const *paths, size_t count, model_t **ret_model, char ret_error[static MODEL_ERROR_MAX])
{
	model_t *m = calloc(1, sizeof(*m));
	bool is_good = m != NULL;
	if (!is_good) {
		snprintf(ret_error, MODEL_ERROR_MAX, "not enough memory");
	}
	for (size_t i = 0; i < count && is_good; i++) {
		is_good = model_load_source(m, paths[i], ret_error);
	}
	if (!is_good) {
		model_free(m);
		return false;
	}
	*ret_model = m;
	return true;
}

bool model_load_text(knot_str_t text, knot_name_t origin, model_t **ret_model, char ret_error[static MODEL_ERROR_MAX])
{
	model_t *m = calloc(1, sizeof(*m));
	source_t source = { .path = "text", .text = text, .origin = origin };
	if (m == NULL || !zone_load(m, &source, "text", ret_error)) {
		model_free(m);
		return false;
	}
	*ret_model = m;
	return true;
}

void model_free(model_t *m)
{
	if (m == NULL) {
		return;
	}
	for (size_t i = 0; i < m->zone_count; i++) {
		free(m->zones[i].nsec);
		free(m->zones[i].nsec3);
	}
	free(m->zones);
	free(m->bytes);
	free(m->records);
	free(m->nodes);
	free(m->table);
	free(m);
}

/* ---- Looking up ---- */

uint32_t model_zone_of(const model_t *m, knot_name_t lower)
{
	uint32_t best = MODEL_NONE;
	for (uint32_t i = 0; i < m->zone_count; i++) {
		bool is_in = knot_name_in(lower, model_name(m, m->zones[i].apex));
		if (is_in && (best == MODEL_NONE || m->zones[i].label_count > m->zones[best].label_count)) {
			best = i;
		}
	}
	return best;
}

uint32_t model_zone_above(const model_t *m, knot_name_t lower)
{
	return lower.label_count > 0 ? model_zone_of(m, knot_name_strip(lower, 1)) : MODEL_NONE;
}

uint32_t model_nsec_covering(const model_t *m, uint32_t zone, knot_name_t lower)
{
	const model_zone_t *z = &m->zones[zone];
	if (!z->has_nsec) {
		return MODEL_NONE;
	}
	/* The last one that isn't behind the name; the apex's is before all. */
	size_t low = 0, high = z->nsec_count;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (knot_name_cmp(model_name(m, z->nsec[middle]), lower) <= 0) {
			low = middle;
		} else {
			high = middle;
		}
	}
	return z->nsec[low];
}

/* The place of the last hash that isn't above; *ret_exact: it is the name's own. */
static uint32_t model_nsec3_at(const model_t *m, uint32_t zone, knot_name_t lower, bool *ret_exact)
{
	const model_zone_t *z = &m->zones[zone];
	uint8_t hash[ZONE_NSEC3_HASH_LEN];
	*ret_exact = false;
	zone_nsec3_params_t params = z->nsec3_params;
	params.salt = z->salt;
	if (!z->has_nsec3 || !zone_nsec3_hash(&params, lower, hash)) {
		return MODEL_NONE;
	}
	size_t low = 0, high = z->nsec3_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (memcmp(z->nsec3[middle].hash, hash, sizeof(hash)) <= 0) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	/* Before the first is after the last: the chain is a circle. */
	const model_nsec3_t *entry = &z->nsec3[low > 0 ? low - 1 : z->nsec3_count - 1];
	*ret_exact = memcmp(entry->hash, hash, sizeof(hash)) == 0;
	return entry->node;
}

uint32_t model_nsec3_matching(const model_t *m, uint32_t zone, knot_name_t lower)
{
	bool is_exact;
	uint32_t node = model_nsec3_at(m, zone, lower, &is_exact);
	return is_exact ? node : MODEL_NONE;
}

uint32_t model_nsec3_covering(const model_t *m, uint32_t zone, knot_name_t lower)
{
	bool is_exact;
	uint32_t node = model_nsec3_at(m, zone, lower, &is_exact);
	return is_exact ? MODEL_NONE : node;
}
