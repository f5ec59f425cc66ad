/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/kasp/record.h"

enum {
	/* A key: two lengths, tag, algorithm, roles, nine timers, public key, revoke. */
	TAG_OFF = 16,
	TIMERS_OFF = 20,
	PUBLIC_OFF = TIMERS_OFF + 9 * 8,
	EXTENSION_LEN = 8,
	/* Bits of the roles. */
	ROLE_KSK = 1,
	ROLE_ALWAYS = 2,
	ROLE_PUBLIC_ONLY = 4,
	ROLE_CSK = 8,
	ROLE_FOR_LATER = 16,
};

static void record_store_be64(uint8_t *at, uint64_t value)
{
	store_be32(at, (uint32_t)(value >> 32));
	store_be32(at + 4, (uint32_t)value);
}

static size_t record_put_text(uint8_t *key, size_t len, const char *text)
{
	size_t text_len = strnlen(text, KASP_DB_KEY_MAX - len - 1);
	memcpy(key + len, text, text_len);
	key[len + text_len] = 0;
	return len + text_len + 1;
}

static size_t record_put_zone(uint8_t *key, size_t len, knot_name_t zone)
{
	if (zone.len > 0) {
		knot_name_lower(zone, key + len);
	}
	return len + zone.len;
}

size_t kasp_db_key(uint8_t kind, knot_name_t zone, const char *text, uint8_t ret_key[static KASP_DB_KEY_MAX])
{
	ret_key[0] = kind;
	size_t len = record_put_zone(ret_key, 1, zone);
	return text != NULL ? record_put_text(ret_key, len, text) : len;
}

size_t kasp_db_trash_key(const char *id, knot_name_t zone, uint8_t ret_key[static KASP_DB_KEY_MAX])
{
	ret_key[0] = KASP_TRASH;
	return record_put_zone(ret_key, record_put_text(ret_key, 1, id), zone);
}

static knot_err_t record_read_text(knot_bytes_t bytes, const char **ret_text)
{
	if (bytes.len == 0 || bytes.data[bytes.len - 1] != 0 || strlen((const char *)bytes.data) != bytes.len - 1) {
		return KNOT_EMALF;
	}
	*ret_text = (const char *)bytes.data;
	return KNOT_OK;
}

static knot_err_t record_read_trash_key(knot_bytes_t rest, knot_name_t *ret_zone, const char **ret_text)
{
	const uint8_t *end = memchr(rest.data, 0, rest.len);
	size_t id_len = end != NULL ? (size_t)(end - rest.data) + 1 : 0;
	knot_bytes_t name = { rest.data + id_len, rest.len - id_len };
	if (id_len == 0 || knot_name_read(name, ret_zone) != KNOT_OK || ret_zone->len != name.len) {
		return KNOT_EMALF;
	}
	*ret_text = (const char *)rest.data;
	return KNOT_OK;
}

knot_err_t kasp_db_key_read(knot_bytes_t key, knot_name_t *ret_zone, const char **ret_text)
{
	if (key.len < 2) {
		return KNOT_EMALF;
	}
	knot_bytes_t rest = { key.data + 1, key.len - 1 };
	if (key.data[0] == KASP_TRASH) {
		return record_read_trash_key(rest, ret_zone, ret_text);
	}
	if (key.data[0] == KASP_SHARED) {
		*ret_zone = (knot_name_t){ 0 };
		return record_read_text(rest, ret_text);
	}
	if (knot_name_read(rest, ret_zone) != KNOT_OK) {
		return KNOT_EMALF;
	}
	rest = (knot_bytes_t){ rest.data + ret_zone->len, rest.len - ret_zone->len };
	*ret_text = "";
	return rest.len > 0 ? record_read_text(rest, ret_text) : KNOT_OK;
}

/* ---- Keys ---- */

static uint8_t record_roles(bool is_ksk, bool is_zsk, bool is_public_only, bool is_for_later)
{
	return (uint8_t)(ROLE_ALWAYS | (is_ksk ? ROLE_KSK : 0) | (is_ksk && is_zsk ? ROLE_CSK : 0) |
			 (is_public_only ? ROLE_PUBLIC_ONLY : 0) | (is_for_later ? ROLE_FOR_LATER : 0));
}

/* The nine timers in the order of the layout. */
static void record_list_timers(kasp_times_t *t, uint64_t *ret_timers[static 9])
{
	uint64_t *timers[] = { &t->created, &t->pre_active, &t->publish, &t->ready, &t->active, &t->retire_active,
		&t->retire, &t->post_active, &t->remove };
	memcpy(ret_timers, timers, sizeof(timers));
}

size_t kasp_key_write(const kasp_key_t *key, uint8_t ret_value[static KASP_VALUE_MAX])
{
	kasp_times_t times = key->times;
	uint64_t *timers[9];
	record_store_be64(ret_value, key->public.len);
	record_store_be64(ret_value + 8, EXTENSION_LEN);
	store_be16(ret_value + TAG_OFF, key->tag);
	ret_value[18] = key->algorithm;
	ret_value[19] = record_roles(key->is_ksk, key->is_zsk, key->is_public_only, key->is_for_later);
	record_list_timers(&times, timers);
	for (unsigned i = 0; i < 9; i++) {
		record_store_be64(ret_value + TIMERS_OFF + (size_t)8 * i, *timers[i]);
	}
	memcpy(ret_value + PUBLIC_OFF, key->public.data, key->public.len);
	record_store_be64(ret_value + PUBLIC_OFF + key->public.len, key->times.revoke);
	return PUBLIC_OFF + key->public.len + EXTENSION_LEN;
}

/* The flags with which the public key has the tag. */
static bool record_find_flags(kasp_key_t *key)
{
	static const uint16_t candidates[] = { 257, 256, 259, 258, 385 };
	uint8_t rdata[DNSSEC_KEY_RDATA_MAX];
	if (key->public.len > sizeof(rdata) - 4) {
		return false;
	}
	rdata[2] = 3;
	rdata[3] = key->algorithm;
	memcpy(rdata + 4, key->public.data, key->public.len);
	for (size_t i = 0; i < KNOT_LEN(candidates); i++) {
		store_be16(rdata, candidates[i]);
		if (dnssec_rdata_tag((knot_bytes_t){ rdata, 4 + key->public.len }) == key->tag) {
			key->flags = candidates[i];
			return true;
		}
	}
	return false;
}

static bool record_take_id(const char *id, char ret_id[static DNSSEC_KEY_ID_MAX + 1])
{
	size_t len = strspn(id, "0123456789abcdef");
	bool is_id = id[len] == '\0' && len > 0 && len <= DNSSEC_KEY_ID_MAX && len % 2 == 0;
	if (is_id) {
		memcpy(ret_id, id, len + 1);
	}
	return is_id;
}

knot_err_t kasp_key_read(const char *id, knot_bytes_t value, kasp_key_t *ret_key)
{
	kasp_key_t key = { 0 };
	uint64_t *timers[9];
	if (value.len < PUBLIC_OFF || !record_take_id(id, key.id)) {
		return KNOT_EMALF;
	}
	uint64_t public_len = load_be64(value.data), extension_len = load_be64(value.data + 8);
	uint64_t rest = value.len - PUBLIC_OFF;
	if (public_len > rest || extension_len > rest - public_len) {
		return KNOT_EMALF;
	}
	key.tag = load_be16(value.data + TAG_OFF);
	key.algorithm = value.data[18];
	uint8_t roles = value.data[19];
	key.is_ksk = (roles & ROLE_KSK) != 0;
	key.is_zsk = !key.is_ksk || (roles & ROLE_CSK) != 0;
	key.is_public_only = (roles & ROLE_PUBLIC_ONLY) != 0;
	key.is_for_later = (roles & ROLE_FOR_LATER) != 0;
	record_list_timers(&key.times, timers);
	for (unsigned i = 0; i < 9; i++) {
		*timers[i] = load_be64(value.data + TIMERS_OFF + (size_t)8 * i);
	}
	key.public = (knot_bytes_t){ value.data + PUBLIC_OFF, public_len };
	if (extension_len >= EXTENSION_LEN) {
		key.times.revoke = load_be64(value.data + PUBLIC_OFF + public_len);
	}
	if ((roles & ROLE_ALWAYS) == 0 || !record_find_flags(&key)) {
		return KNOT_EMALF;
	}
	*ret_key = key;
	return KNOT_OK;
}

/* ---- Trash ---- */

void kasp_trash_write(const kasp_trash_t *trash, uint8_t ret_value[static KASP_TRASH_LEN])
{
	record_store_be64(ret_value, trash->discard_s);
	record_store_be64(ret_value + 8, trash->deleted_s);
	store_be16(ret_value + 16, trash->tag);
	ret_value[18] = trash->algorithm;
	ret_value[19] = record_roles(trash->is_ksk, trash->is_zsk, false, trash->is_for_later);
}

knot_err_t kasp_trash_read(const char *id, knot_bytes_t value, kasp_trash_t *ret_trash)
{
	kasp_trash_t trash = { 0 };
	if (value.len < KASP_TRASH_LEN || !record_take_id(id, trash.id)) {
		return KNOT_EMALF;
	}
	trash.discard_s = load_be64(value.data);
	trash.deleted_s = load_be64(value.data + 8);
	trash.tag = load_be16(value.data + 16);
	trash.algorithm = value.data[18];
	trash.is_ksk = (value.data[19] & ROLE_KSK) != 0;
	trash.is_zsk = !trash.is_ksk || (value.data[19] & ROLE_CSK) != 0;
	trash.is_for_later = (value.data[19] & ROLE_FOR_LATER) != 0;
	*ret_trash = trash;
	return KNOT_OK;
}
