/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The bytes of the key database, in Knot's layout: keys of LMDB and values, written and read. Pure.
 *
 * Integers are big-endian. A kind is the first byte of a key; then come a zone's name in wire form and lower case, or
 * an identifier, each text with a NUL behind it.
 */
#pragma once

#include "libknot/name/name.h"
#include "src/kasp/key.h"

/** What a record is about. */
enum {
	KASP_KEY = 0x01,            /* a key of a zone */
	KASP_SHARED = 0x02,         /* the KSK that the zones of a policy share last */
	KASP_SALT = 0x03,           /* of NSEC3 */
	KASP_SALT_TIME = 0x04,      /* when it was made */
	KASP_PRIMARY_SERIAL = 0x05, /* of a signed secondary zone: what its primary has */
	KASP_SIGNED_SERIAL = 0x06,  /* that was signed last */
	KASP_OFFLINE = 0x07,        /* records that an offline KSK has signed */
	KASP_TTLS = 0x08,           /* TTLs when the keys were saved */
	KASP_TRASH = 0xF1,          /* a private key that isn't used any more */
};

enum {
	KASP_DB_KEY_MAX = 1 + KNOT_NAME_MAX + 256,
	KASP_VALUE_MAX = 100 + DNSSEC_KEY_RDATA_MAX, /* of a key */
};

/** The LMDB key of a record of `kind`: zone (may be empty), then text with a NUL (NULL: none). Returns its length. */
size_t kasp_db_key(uint8_t kind, knot_name_t zone, const char *text, uint8_t ret_key[static KASP_DB_KEY_MAX]);

/** The LMDB key of a trash record: the id comes before the zone. */
size_t kasp_db_trash_key(const char *id, knot_name_t zone, uint8_t ret_key[static KASP_DB_KEY_MAX]);

/** The zone of an LMDB key, and the text behind it ("" if there is none). KNOT_EMALF. Borrowed. */
KNOT_MUST_USE knot_err_t kasp_db_key_read(knot_bytes_t key, knot_name_t *ret_zone, const char **ret_text);

/** The value of a key of a zone. Returns its length. */
size_t kasp_key_write(const kasp_key_t *key, uint8_t ret_value[static KASP_VALUE_MAX]);

/**
 * Read a key from its id and value. Its public key is borrowed from the value. The flags of the DNSKEY aren't stored:
 * they are those with which the tag comes out. KNOT_EMALF: too short, an id that is none, or no flags fit.
 */
KNOT_MUST_USE knot_err_t kasp_key_read(const char *id, knot_bytes_t value, kasp_key_t *ret_key);

/** A private key that isn't used any more. */
typedef struct {
	char id[DNSSEC_KEY_ID_MAX + 1];
	uint64_t discard_s, deleted_s; /* UNIX time: when the private key goes, and when it was taken out of the zone */
	uint16_t tag;
	uint8_t algorithm;
	bool is_ksk, is_zsk, is_for_later;
} kasp_trash_t;

enum { KASP_TRASH_LEN = 20 };
void kasp_trash_write(const kasp_trash_t *trash, uint8_t ret_value[static KASP_TRASH_LEN]);

/** KNOT_EMALF. */
KNOT_MUST_USE knot_err_t kasp_trash_read(const char *id, knot_bytes_t value, kasp_trash_t *ret_trash);
