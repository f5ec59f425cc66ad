/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys, remotes, groups and rules: blocks that refer to each other become structs with pointers. */
#include "src/conf/build.h"
#include "src/conf/schema_rows.h"

/* ---- Elements of lists ---- */

size_t conf_rule_element_size(conf_field_t field)
{
	static const size_t sizes[CONF_FIELD_HAS + 1] = {
		[CONF_FIELD_KEYS] = sizeof(const conf_key_t *),
		[CONF_FIELD_GROUPS] = sizeof(const conf_group_t *),
		[CONF_FIELD_ACLS] = sizeof(const conf_acl_t *),
		[CONF_FIELD_EXTERNALS] = sizeof(const conf_external_t *),
		[CONF_FIELD_KEYSTORES] = sizeof(const conf_keystore_t *),
		[CONF_FIELD_SUBMISSIONS] = sizeof(const conf_submission_t *),
		[CONF_FIELD_DELEGATIONS] = sizeof(const conf_delegation_t *),
		[CONF_FIELD_SYNCS] = sizeof(const conf_dnskey_sync_t *),
		[CONF_FIELD_POLICIES] = sizeof(const conf_policy_t *),
		[CONF_FIELD_PEERS] = sizeof(conf_peer_t),
		[CONF_FIELD_TYPES] = sizeof(uint16_t),
		[CONF_FIELD_OWNERS] = sizeof(conf_owner_t),
	};
	assert(field < KNOT_LEN(sizes));
	return sizes[field];
}

/* The index of the block in its section; false: there is none. */
static bool rules_find(const conf_store_t *store, conf_section_index_t section, knot_bytes_t id, size_t *ret_index)
{
	const conf_block_t *block = conf_store_find(store, section, id);
	if (block != NULL) {
		*ret_index = (size_t)(block - store->tables[section].blocks);
	}
	return block != NULL;
}

/** Where the typed blocks are that the elements of a list point to. */
typedef struct {
	conf_field_t field;
	conf_section_index_t section;
	size_t blocks_off;  /* of the array in the store */
	size_t struct_size; /* of a block */
	bool has_builtin;   /* "default" without a block is the one behind the others */
} rules_list_t;

#define RULES_LIST(field, section, array, has_builtin)                                                                 \
	{                                                                                                              \
		CONF_FIELD_##field, CONF_S_##section, offsetof(conf_store_t, array),                                   \
				sizeof(*((conf_store_t *)0)->array), has_builtin                                       \
	}

static const rules_list_t *rules_find_list(conf_field_t field)
{
	static const rules_list_t lists[] = {
		RULES_LIST(KEYS, KEY, keys, false),
		RULES_LIST(ACLS, ACL, acls, false),
		RULES_LIST(EXTERNALS, EXTERNAL, externals, false),
		RULES_LIST(KEYSTORES, KEYSTORE, keystores, true),
		RULES_LIST(SUBMISSIONS, SUBMISSION, submissions, false),
		RULES_LIST(DELEGATIONS, DELEGATION, delegations, false),
		RULES_LIST(SYNCS, DNSKEY_SYNC, syncs, false),
		RULES_LIST(POLICIES, POLICY, policies, true),
	};
	for (size_t i = 0; i < KNOT_LEN(lists); i++) {
		if (lists[i].field == field) {
			return &lists[i];
		}
	}
	return NULL;
}

/* The typed block that a reference leads to; NULL: none. */
static const void *rules_resolve(const conf_store_t *store, conf_field_t field, knot_bytes_t id)
{
	size_t at;
	const rules_list_t *list = rules_find_list(field);
	if (list != NULL) {
		const uint8_t *blocks;
		memcpy(&blocks, (const uint8_t *)store + list->blocks_off, sizeof(blocks));
		bool is_found = rules_find(store, list->section, id, &at);
		if (!is_found && list->has_builtin && strcmp((const char *)id.data, "default") == 0) {
			at = store->tables[list->section].count;
			is_found = true;
		}
		return is_found ? blocks + at * list->struct_size : NULL;
	}
	assert(field == CONF_FIELD_GROUPS);
	if (rules_find(store, CONF_S_REMOTE, id, &at)) {
		return &store->groups[at];
	}
	return rules_find(store, CONF_S_REMOTES, id, &at) ? &store->groups[store->tables[CONF_S_REMOTE].count + at]
							  : NULL;
}

static bool rules_is_reference(conf_field_t field)
{
	return field == CONF_FIELD_GROUPS || rules_find_list(field) != NULL;
}

bool conf_rule_is_void(const conf_store_t *store, const conf_row_t *row, knot_bytes_t value)
{
	return rules_is_reference(row->field) && rules_resolve(store, row->field, value) == NULL;
}

static void rules_set_peer(knot_bytes_t value, conf_peer_t *peer)
{
	peer->net = conf_value_net(value);
	peer->path = peer->net.family == AF_UNIX ? conf_value_addr(value).path : NULL;
}

/* A name, with a dot at its end or relative to the zone. */
static knot_err_t rules_scan_owner(const char *text, uint8_t ret_wire[static KNOT_NAME_MAX], conf_owner_t *ret_owner)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name, unused;
	knot_err_t err = knot_name_scan(knot_str_of(text), knot_name_root, wire, &name);
	if (err != KNOT_OK) {
		return err;
	}
	knot_name_lower(name, ret_wire);
	uint8_t scratch[KNOT_NAME_MAX];
	const knot_name_t none = { 0 };
	ret_owner->is_relative = knot_name_scan(knot_str_of(text), none, scratch, &unused) != KNOT_OK;
	ret_owner->name = (knot_name_t){ ret_wire, name.len, name.label_count };
	return KNOT_OK;
}

const char *conf_check_owner(const conf_check_value_t *value)
{
	uint8_t wire[KNOT_NAME_MAX];
	conf_owner_t owner;
	knot_err_t err = rules_scan_owner((const char *)value->value.data, wire, &owner);
	return err == KNOT_OK ? NULL : knot_strerror(err);
}

static knot_err_t rules_set_owner(conf_store_t *store, const char *text, conf_owner_t *owner)
{
	uint8_t *wire = conf_store_alloc(store, KNOT_NAME_MAX);
	if (wire == NULL) {
		return KNOT_ENOMEM;
	}
	knot_err_t err = rules_scan_owner(text, wire, owner);
	assert(err == KNOT_OK); /* the row's check scanned it */
	(void)err;
	return KNOT_OK;
}

knot_err_t conf_rule_set_element(conf_store_t *store, const conf_row_t *row, knot_bytes_t value, void *ret_element)
{
	if (rules_is_reference(row->field)) {
		*(const void **)ret_element = rules_resolve(store, row->field, value);
		return KNOT_OK;
	}
	if (row->field == CONF_FIELD_PEERS) {
		rules_set_peer(value, ret_element);
		return KNOT_OK;
	}
	if (row->field == CONF_FIELD_OWNERS) {
		return rules_set_owner(store, (const char *)value.data, ret_element);
	}
	assert(row->field == CONF_FIELD_TYPES && value.len == sizeof(uint16_t));
	memcpy(ret_element, value.data, sizeof(uint16_t));
	return KNOT_OK;
}

/* ---- Blocks ---- */

static knot_err_t rules_build_keys(conf_store_t *store, conf_bases_t bases)
{
	const conf_table_t *table = &store->tables[CONF_S_KEY];
	for (size_t i = 0; i < table->count; i++) {
		conf_key_t *key = &store->keys[i];
		knot_err_t err = conf_build_struct(store, &conf_section_key, &table->blocks[i], bases, key);
		if (err != KNOT_OK) {
			return err;
		}
		/* The options are numbered from 1, in the order of knot_tsig_algorithm_t. */
		assert(key->number >= 1 && key->number <= KNOT_TSIG_ALGORITHM_END);
		key->tsig.algorithm = (knot_tsig_algorithm_t)(key->number - 1);
		key->tsig.name = knot_name_of(table->blocks[i].id);
	}
	return KNOT_OK;
}

/* Each is the only one of its group. */
static knot_err_t rules_build_remotes(conf_store_t *store, conf_bases_t bases)
{
	const conf_table_t *table = &store->tables[CONF_S_REMOTE];
	const conf_remote_t **single = conf_store_alloc(store, table->count * sizeof(*single) + 1);
	if (single == NULL) {
		return KNOT_ENOMEM;
	}
	for (size_t i = 0; i < table->count; i++) {
		knot_err_t err = conf_build_struct(
				store, &conf_section_remote, &table->blocks[i], bases, &store->remotes[i]);
		if (err != KNOT_OK) {
			return err;
		}
		store->remotes[i].id = (const char *)table->blocks[i].id;
		single[i] = &store->remotes[i];
		store->groups[i] = (conf_group_t){ store->remotes[i].id, &single[i], 1 };
	}
	return KNOT_OK;
}

static knot_err_t rules_build_groups(conf_store_t *store)
{
	const conf_table_t *table = &store->tables[CONF_S_REMOTES];
	size_t row = conf_row_find(&conf_section_remotes, KNOT_STR("remote"));
	for (size_t i = 0; i < table->count; i++) {
		knot_bytes_t items = conf_block_items(&table->blocks[i]);
		conf_item_t item;
		size_t pos = 0, max = 0, count = 0;
		while (conf_item_next(items, &pos, &item)) {
			max += item.row == row;
		}
		const conf_remote_t **remotes = conf_store_alloc(store, max * sizeof(*remotes) + 1);
		if (remotes == NULL) {
			return KNOT_ENOMEM;
		}
		for (pos = 0; conf_item_next(items, &pos, &item);) {
			const conf_block_t *remote =
					item.row == row ? conf_store_find(store, CONF_S_REMOTE, item.value) : NULL;
			if (remote != NULL) {
				remotes[count++] = &store->remotes[remote - store->tables[CONF_S_REMOTE].blocks];
			}
		}
		store->groups[store->tables[CONF_S_REMOTE].count + i] =
				(conf_group_t){ (const char *)table->blocks[i].id, remotes, count };
	}
	return KNOT_OK;
}

static knot_err_t rules_build_acls(conf_store_t *store, conf_bases_t bases)
{
	const conf_table_t *table = &store->tables[CONF_S_ACL];
	for (size_t i = 0; i < table->count; i++) {
		knot_err_t err = conf_build_struct(store, &conf_section_acl, &table->blocks[i], bases, &store->acls[i]);
		if (err != KNOT_OK) {
			return err;
		}
		store->acls[i].id = (const char *)table->blocks[i].id;
	}
	return KNOT_OK;
}

/* All blocks of a section, in order, each with its id as its first member; then, if wanted, the built-in one. */
static knot_err_t rules_build_blocks(conf_store_t *store, conf_bases_t bases, conf_section_index_t section,
		void *blocks, const char *builtin)
{
	const conf_table_t *table = &store->tables[section];
	for (size_t i = 0; i < table->count + (builtin != NULL); i++) {
		const conf_block_t *block = i < table->count ? &table->blocks[i] : NULL;
		uint8_t *made = (uint8_t *)blocks + i * conf_sections[section]->struct_size;
		knot_err_t err = conf_build_struct(store, conf_sections[section], block, bases, made);
		if (err != KNOT_OK) {
			return err;
		}
		*(const char **)made = block != NULL ? (const char *)block->id : builtin;
	}
	return KNOT_OK;
}

/* Members without a value that says "unset" by itself. */
static void rules_unset_policies(conf_store_t *store)
{
	for (size_t i = 0; i <= store->tables[CONF_S_POLICY].count; i++) {
		conf_policy_t *policy = &store->policies[i];
		policy->dnskey_ttl_s = policy->zone_max_ttl_s = policy->trash_delay_s = CONF_POLICY_UNSET;
		policy->rrsig_refresh_s = policy->rrsig_pre_refresh_s = policy->dsync_delay_s = CONF_POLICY_UNSET;
	}
}

static knot_err_t rules_build_policies(conf_store_t *store, conf_bases_t bases)
{
	const conf_table_t *tables = store->tables;
	store->keystores = conf_store_alloc(store, (tables[CONF_S_KEYSTORE].count + 1) * sizeof(*store->keystores));
	store->submissions = conf_store_alloc(store, tables[CONF_S_SUBMISSION].count * sizeof(*store->submissions) + 1);
	store->syncs = conf_store_alloc(store, tables[CONF_S_DNSKEY_SYNC].count * sizeof(*store->syncs) + 1);
	store->policies = conf_store_alloc(store, (tables[CONF_S_POLICY].count + 1) * sizeof(*store->policies));
	if (store->keystores == NULL || store->submissions == NULL || store->syncs == NULL || store->policies == NULL) {
		return KNOT_ENOMEM;
	}
	rules_unset_policies(store);
	store->builtin_keystore = &store->keystores[tables[CONF_S_KEYSTORE].count];
	knot_err_t err = rules_build_blocks(store, bases, CONF_S_KEYSTORE, store->keystores, "");
	err = err == KNOT_OK ? rules_build_blocks(store, bases, CONF_S_SUBMISSION, store->submissions, NULL) : err;
	err = err == KNOT_OK ? rules_build_blocks(store, bases, CONF_S_DNSKEY_SYNC, store->syncs, NULL) : err;
	return err == KNOT_OK ? rules_build_blocks(store, bases, CONF_S_POLICY, store->policies, "default") : err;
}

knot_err_t conf_build_rules(conf_store_t *store, conf_bases_t bases)
{
	const conf_table_t *tables = store->tables;
	size_t group_count = tables[CONF_S_REMOTE].count + tables[CONF_S_REMOTES].count;
	store->keys = conf_store_alloc(store, tables[CONF_S_KEY].count * sizeof(*store->keys) + 1);
	store->remotes = conf_store_alloc(store, tables[CONF_S_REMOTE].count * sizeof(*store->remotes) + 1);
	store->groups = conf_store_alloc(store, group_count * sizeof(*store->groups) + 1);
	store->acls = conf_store_alloc(store, tables[CONF_S_ACL].count * sizeof(*store->acls) + 1);
	store->externals = conf_store_alloc(store, tables[CONF_S_EXTERNAL].count * sizeof(*store->externals) + 1);
	store->delegations = conf_store_alloc(store, tables[CONF_S_DELEGATION].count * sizeof(*store->delegations) + 1);
	if (store->keys == NULL || store->remotes == NULL || store->groups == NULL || store->acls == NULL ||
			store->externals == NULL || store->delegations == NULL) {
		return KNOT_ENOMEM;
	}
	knot_err_t err = rules_build_keys(store, bases);
	err = err == KNOT_OK ? rules_build_remotes(store, bases) : err;
	err = err == KNOT_OK ? rules_build_groups(store) : err;
	err = err == KNOT_OK ? rules_build_acls(store, bases) : err;
	err = err == KNOT_OK ? rules_build_blocks(store, bases, CONF_S_EXTERNAL, store->externals, NULL) : err;
	err = err == KNOT_OK ? rules_build_blocks(store, bases, CONF_S_DELEGATION, store->delegations, NULL) : err;
	return err == KNOT_OK ? rules_build_policies(store, bases) : err;
}

const conf_policy_t *conf_find_policy(const conf_t *conf, const char *id)
{
	const conf_store_t *store = conf->store;
	for (size_t i = 0; i < store->tables[CONF_S_POLICY].count; i++) {
		if (strcmp(store->policies[i].id, id) == 0) {
			return &store->policies[i];
		}
	}
	return NULL;
}

const conf_policy_t *conf_zone_policy(const conf_t *conf, const conf_zone_t *zone)
{
	const conf_store_t *store = conf->store;
	return zone->policy.count > 0 ? zone->policy.data[0] : &store->policies[store->tables[CONF_S_POLICY].count];
}

const conf_keystore_t *conf_keystore_at(const conf_t *conf, size_t index)
{
	const conf_store_t *store = conf->store;
	return index <= store->tables[CONF_S_KEYSTORE].count ? &store->keystores[index] : NULL;
}

const conf_keystore_t *conf_keystore_find(const conf_t *conf, const char *id)
{
	const conf_keystore_t *keystore;
	for (size_t i = 0; (keystore = conf_keystore_at(conf, i)) != NULL; i++) {
		if (strcmp(keystore->id, id) == 0) {
			return keystore;
		}
	}
	return strcmp(id, "default") == 0 ? conf->store->builtin_keystore : NULL;
}

conf_keystores_t conf_policy_keystores(const conf_t *conf, const conf_policy_t *policy)
{
	const conf_store_t *store = conf->store;
	return policy->keystores.count > 0 ? policy->keystores : (conf_keystores_t){ &store->builtin_keystore, 1 };
}
