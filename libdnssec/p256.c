/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables are an interface that OpenSSL 3.0 calls deprecated, without another one for it. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "libdnssec/p256.h"

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/obj_mac.h>
#include <pthread.h>
#include <stdlib.h>

enum {
	WORTH_A_TABLE = 1024, /* verifications by a key: as much time as the table takes and saves by then */
	TABLES_MAX = 16,
	COUNTED_MAX = 64, /* keys without a table whose verifications are counted */
};

struct p256_table {
	uint8_t public[P256_PUBLIC_LEN];
	unsigned users;  /* with the list's */
	uint64_t used;   /* when it was taken last: number of a call */
	EC_GROUP *group; /* owned: P-256 with the key for a generator, and its multiples */
};

typedef struct {
	uint8_t public[P256_PUBLIC_LEN];
	uint64_t count, used; /* used 0: free */
	bool is_tried;        /* some thread makes the table now, or it can't be made */
} p256_counted_t;

static struct {
	pthread_mutex_t lock;
	uint64_t calls;
	p256_table_t *tables[TABLES_MAX]; /* NULL: free */
	p256_counted_t counted[COUNTED_MAX];
} known = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- Tables ---- */

static EC_POINT *p256_point(const EC_GROUP *group, const uint8_t public[static P256_PUBLIC_LEN], BN_CTX *ctx)
{
	uint8_t octets[1 + P256_PUBLIC_LEN] = { POINT_CONVERSION_UNCOMPRESSED };
	EC_POINT *point = EC_POINT_new(group);
	memcpy(octets + 1, public, P256_PUBLIC_LEN);
	if (point != NULL && EC_POINT_oct2point(group, point, octets, sizeof(octets), ctx) != 1) {
		EC_POINT_free(point);
		return NULL;
	}
	return point;
}

/* Whether a multiple from the table is the one that the library calculates. */
static bool p256_is_right(const EC_GROUP *by_key, const EC_GROUP *group, const EC_POINT *key, BN_CTX *ctx)
{
	uint8_t bytes[P256_HASH_LEN];
	for (size_t i = 0; i < sizeof(bytes); i++) {
		bytes[i] = (uint8_t)(0x5A + 41 * i);
	}
	BIGNUM *number = BN_bin2bn(bytes, sizeof(bytes), NULL);
	EC_POINT *is = EC_POINT_new(by_key), *want = EC_POINT_new(group);
	bool is_right = number != NULL && is != NULL && want != NULL &&
			EC_POINT_mul(by_key, is, number, NULL, NULL, ctx) == 1 &&
			EC_POINT_mul(group, want, NULL, key, number, ctx) == 1 &&
			EC_POINT_cmp(group, is, want, ctx) == 0;
	EC_POINT_free(is);
	EC_POINT_free(want);
	BN_free(number);
	return is_right;
}

static EC_GROUP *p256_group_of(const uint8_t public[static P256_PUBLIC_LEN])
{
	BN_CTX *ctx = BN_CTX_new();
	EC_GROUP *group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1), *by_key = EC_GROUP_dup(group);
	EC_POINT *key = group != NULL ? p256_point(group, public, ctx) : NULL;
	bool is_good = ctx != NULL && by_key != NULL && key != NULL &&
		       EC_GROUP_set_generator(by_key, key, EC_GROUP_get0_order(group), BN_value_one()) == 1 &&
		       EC_GROUP_precompute_mult(by_key, ctx) == 1 && EC_GROUP_have_precompute_mult(by_key) == 1 &&
		       p256_is_right(by_key, group, key, ctx);
	if (!is_good) {
		EC_GROUP_free(by_key);
		by_key = NULL;
		ERR_clear_error();
	}
	EC_POINT_free(key);
	EC_GROUP_free(group);
	BN_CTX_free(ctx);
	return by_key;
}

static p256_table_t *p256_table_make(const uint8_t public[static P256_PUBLIC_LEN])
{
	p256_table_t *table = calloc(1, sizeof(*table));
	if (table == NULL) {
		return NULL;
	}
	memcpy(table->public, public, P256_PUBLIC_LEN);
	table->users = 1;
	table->group = p256_group_of(public);
	if (table->group == NULL) {
		free(table);
		return NULL;
	}
	return table;
}

static void p256_table_drop(p256_table_t *table)
{
	if (--table->users == 0) {
		EC_GROUP_free(table->group);
		free(table);
	}
}

/* ---- Keys that are known ---- */

static p256_table_t *known_find(const uint8_t public[static P256_PUBLIC_LEN])
{
	for (size_t i = 0; i < TABLES_MAX; i++) {
		p256_table_t *table = known.tables[i];
		if (table != NULL && memcmp(table->public, public, P256_PUBLIC_LEN) == 0) {
			table->used = known.calls;
			table->users++;
			return table;
		}
	}
	return NULL;
}

/* The key's counter; it takes the place of the one that wasn't used for longest. */
static p256_counted_t *known_count(const uint8_t public[static P256_PUBLIC_LEN])
{
	p256_counted_t *oldest = &known.counted[0];
	for (size_t i = 0; i < COUNTED_MAX; i++) {
		p256_counted_t *counted = &known.counted[i];
		if (counted->used != 0 && memcmp(counted->public, public, P256_PUBLIC_LEN) == 0) {
			return counted;
		}
		oldest = counted->used < oldest->used ? counted : oldest;
	}
	*oldest = (p256_counted_t){ .count = 0 };
	memcpy(oldest->public, public, P256_PUBLIC_LEN);
	return oldest;
}

static void known_put(p256_table_t *table)
{
	size_t at = 0;
	for (size_t i = 0; i < TABLES_MAX; i++) {
		uint64_t used = known.tables[i] != NULL ? known.tables[i]->used : 0;
		at = known.tables[at] != NULL && used < known.tables[at]->used ? i : at;
	}
	if (known.tables[at] != NULL) {
		p256_table_drop(known.tables[at]);
	}
	table->used = known.calls;
	table->users++;
	known.tables[at] = table;
}

p256_table_t *p256_table_take(const uint8_t public[static P256_PUBLIC_LEN], uint64_t count)
{
	(void)pthread_mutex_lock(&known.lock);
	known.calls++;
	p256_table_t *table = known_find(public);
	bool is_due = false;
	if (table == NULL) {
		p256_counted_t *counted = known_count(public);
		counted->used = known.calls;
		counted->count += count;
		is_due = counted->count >= WORTH_A_TABLE && !counted->is_tried;
		counted->is_tried = counted->is_tried || is_due;
	}
	(void)pthread_mutex_unlock(&known.lock);
	if (!is_due) {
		return table;
	}
	table = p256_table_make(public); /* takes milliseconds: others go on without */
	(void)pthread_mutex_lock(&known.lock);
	if (table != NULL) {
		known_put(table);
		p256_counted_t *counted = known_count(public);
		*counted = (p256_counted_t){ .count = 0 };
	}
	(void)pthread_mutex_unlock(&known.lock);
	return table;
}

void p256_table_release(p256_table_t *table)
{
	if (table != NULL) {
		(void)pthread_mutex_lock(&known.lock);
		p256_table_drop(table);
		(void)pthread_mutex_unlock(&known.lock);
	}
}

/* ---- Verifying ---- */

struct p256 {
	const p256_table_t *table; /* borrowed */
	EC_GROUP *group;           /* owned, as all that follows */
	BN_CTX *ctx;
	BN_MONT_CTX *mont;                     /* of the order */
	BIGNUM *one;                           /* in Montgomery form */
	BIGNUM *r[P256_BATCH], *s[P256_BATCH]; /* s in Montgomery form */
	BIGNUM *e, *products[P256_BATCH], *inverse, *w, *u, *x, *z;
	const BIGNUM *prime; /* borrowed */
	EC_POINT *of_generator, *of_key, *sum;
};

static bool p256_make_numbers(p256_t *p)
{
	BIGNUM **const numbers[] = { &p->one, &p->e, &p->inverse, &p->w, &p->u, &p->x, &p->z };
	bool is_good = true;
	for (size_t i = 0; is_good && i < KNOT_LEN(numbers); i++) {
		*numbers[i] = BN_new();
		is_good = *numbers[i] != NULL;
	}
	for (size_t i = 0; is_good && i < P256_BATCH; i++) {
		p->r[i] = BN_new();
		p->s[i] = BN_new();
		p->products[i] = BN_new();
		is_good = p->r[i] != NULL && p->s[i] != NULL && p->products[i] != NULL;
	}
	return is_good;
}

p256_t *p256_new(const p256_table_t *table)
{
	p256_t *p = calloc(1, sizeof(*p));
	if (p == NULL) {
		return NULL;
	}
	p->table = table;
	p->group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
	p->ctx = BN_CTX_new();
	p->mont = BN_MONT_CTX_new();
	bool is_good = p->group != NULL && p->ctx != NULL && p->mont != NULL && p256_make_numbers(p) &&
		       BN_MONT_CTX_set(p->mont, EC_GROUP_get0_order(p->group), p->ctx) == 1 &&
		       BN_to_montgomery(p->one, BN_value_one(), p->mont, p->ctx) == 1;
	if (is_good) {
		p->prime = EC_GROUP_get0_field(p->group);
		p->of_generator = EC_POINT_new(p->group);
		p->of_key = EC_POINT_new(table->group);
		p->sum = EC_POINT_new(p->group);
	}
	if (p->of_generator == NULL || p->of_key == NULL || p->sum == NULL) {
		p256_free(p);
		return NULL;
	}
	return p;
}

void p256_free(p256_t *p)
{
	if (p == NULL) {
		return;
	}
	BIGNUM *const numbers[] = { p->one, p->e, p->inverse, p->w, p->u, p->x, p->z };
	for (size_t i = 0; i < KNOT_LEN(numbers); i++) {
		BN_free(numbers[i]);
	}
	for (size_t i = 0; i < P256_BATCH; i++) {
		BN_free(p->r[i]);
		BN_free(p->s[i]);
		BN_free(p->products[i]);
	}
	EC_POINT_free(p->of_generator);
	EC_POINT_free(p->of_key);
	EC_POINT_free(p->sum);
	BN_MONT_CTX_free(p->mont);
	BN_CTX_free(p->ctx);
	EC_GROUP_free(p->group);
	free(p);
}

/* A number of a signature: FIPS 186-4 6.4.2 step 1. */
static bool p256_read(const p256_t *p, const uint8_t *bytes, BIGNUM *number)
{
	return BN_bin2bn(bytes, P256_SIGNATURE_LEN / 2, number) != NULL && !BN_is_zero(number) &&
	       BN_cmp(number, EC_GROUP_get0_order(p->group)) < 0;
}

static bool p256_multiply(p256_t *p, BIGNUM *product, const BIGNUM *a, const BIGNUM *b)
{
	return BN_mod_mul_montgomery(product, a, b, p->mont, p->ctx) == 1;
}

/* Read the numbers, and invert the product of all s. products[i]: of those up to the i-th. All in Montgomery form. */
static bool p256_begin(p256_t *p, const p256_item_t *items, size_t count)
{
	bool is_good = true;
	for (size_t i = 0; is_good && i < count; i++) {
		const uint8_t *signature = items[i].signature;
		is_good = p256_read(p, signature, p->r[i]) &&
			  p256_read(p, signature + P256_SIGNATURE_LEN / 2, p->s[i]) &&
			  BN_to_montgomery(p->s[i], p->s[i], p->mont, p->ctx) == 1 &&
			  p256_multiply(p, p->products[i], i > 0 ? p->products[i - 1] : p->one, p->s[i]);
	}
	return is_good && BN_from_montgomery(p->inverse, p->products[count - 1], p->mont, p->ctx) == 1 &&
	       BN_mod_inverse(p->inverse, p->inverse, EC_GROUP_get0_order(p->group), p->ctx) != NULL &&
	       BN_to_montgomery(p->inverse, p->inverse, p->mont, p->ctx) == 1;
}

/* From the inverse of s[0] ... s[i] that of s[i], to w; and that of the others, to be used next. */
static bool p256_take_inverse(p256_t *p, size_t i)
{
	return p256_multiply(p, p->w, p->inverse, i > 0 ? p->products[i - 1] : p->one) &&
	       p256_multiply(p, p->inverse, p->inverse, p->s[i]);
}

/* Whether the sum's x is a number. x is X / Z^2 there: X is compared with x * Z^2, so that nothing is inverted. */
static bool p256_has_x(p256_t *p, const BIGNUM *number)
{
	return BN_mod_mul(p->u, number, p->z, p->prime, p->ctx) == 1 && BN_cmp(p->u, p->x) == 0;
}

/* Whether the sum's x is r, modulo the order: r itself, or r and the order if that is below the field's prime. */
static bool p256_has_r(p256_t *p, const BIGNUM *r)
{
	if (EC_POINT_is_at_infinity(p->group, p->sum) != 0 ||
			EC_POINT_get_Jprojective_coordinates_GFp(p->group, p->sum, p->x, NULL, p->z, p->ctx) != 1 ||
			BN_mod_sqr(p->z, p->z, p->prime, p->ctx) != 1) {
		return false;
	}
	return p256_has_x(p, r) || (BN_add(p->w, r, EC_GROUP_get0_order(p->group)) == 1 && BN_cmp(p->w, p->prime) < 0 &&
						   p256_has_x(p, p->w));
}

/* FIPS 186-4 6.4.2 steps 4 to 6. A product of one number in Montgomery form and one that isn't, isn't. */
static bool p256_check(p256_t *p, const p256_item_t *item, size_t i)
{
	return p256_take_inverse(p, i) && BN_bin2bn(item->hash, P256_HASH_LEN, p->e) != NULL &&
	       BN_nnmod(p->e, p->e, EC_GROUP_get0_order(p->group), p->ctx) == 1 && p256_multiply(p, p->u, p->e, p->w) &&
	       EC_POINT_mul(p->group, p->of_generator, p->u, NULL, NULL, p->ctx) == 1 &&
	       p256_multiply(p, p->u, p->r[i], p->w) &&
	       EC_POINT_mul(p->table->group, p->of_key, p->u, NULL, NULL, p->ctx) == 1 &&
	       EC_POINT_add(p->group, p->sum, p->of_generator, p->of_key, p->ctx) == 1 && p256_has_r(p, p->r[i]);
}

bool p256_verify(p256_t *p, const p256_item_t *items, size_t count)
{
	bool is_good = p256_begin(p, items, count);
	for (size_t i = count; is_good && i-- > 0;) {
		is_good = p256_check(p, &items[i], i);
	}
	ERR_clear_error();
	return is_good;
}
