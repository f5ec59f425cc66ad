/* SPDX-License-Identifier: BSD-2-Clause */
#include "libdnssec/algorithm.h"

#include <stdlib.h>
#include <strings.h>

/* clang-format off */
static const dnssec_algorithm_t rows[] = {
	{ DNSSEC_RSASHA1,         "RSASHA1",            DNSSEC_KIND_RSA,   1024, 4096, 2048, 0,  0,   false, true },
	{ DNSSEC_RSASHA1_NSEC3,   "RSASHA1-NSEC3-SHA1", DNSSEC_KIND_RSA,   1024, 4096, 2048, 0,  0,   true,  true },
	{ DNSSEC_RSASHA256,       "RSASHA256",          DNSSEC_KIND_RSA,   1024, 4096, 2048, 0,  0,   true,  true },
	{ DNSSEC_RSASHA512,       "RSASHA512",          DNSSEC_KIND_RSA,   1024, 4096, 2048, 0,  0,   true,  true },
	{ DNSSEC_ECDSAP256SHA256, "ECDSAP256SHA256",    DNSSEC_KIND_ECDSA, 256,  256,  256,  64, 64,  true,  false },
	{ DNSSEC_ECDSAP384SHA384, "ECDSAP384SHA384",    DNSSEC_KIND_ECDSA, 384,  384,  384,  96, 96,  true,  false },
	{ DNSSEC_ED25519,         "ED25519",            DNSSEC_KIND_EDDSA, 256,  256,  256,  32, 64,  true,  true },
	{ DNSSEC_ED448,           "ED448",              DNSSEC_KIND_EDDSA, 456,  456,  456,  57, 114, true,  true },
};
/* clang-format on */

enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]) };

const dnssec_algorithm_t *dnssec_algorithm_find(unsigned number)
{
	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (rows[i].number == number) {
			return &rows[i];
		}
	}
	return NULL;
}

const dnssec_algorithm_t *dnssec_algorithm_find_name(const char *name)
{
	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (strcasecmp(rows[i].name, name) == 0) {
			return &rows[i];
		}
	}
	char *end;
	unsigned long number = strtoul(name, &end, 10);
	bool is_number = name[0] >= '0' && name[0] <= '9' && *end == '\0' && number <= UINT8_MAX;
	return is_number ? dnssec_algorithm_find((unsigned)number) : NULL;
}

const dnssec_algorithm_t *dnssec_algorithm_at(size_t index)
{
	return index < ROW_COUNT ? &rows[index] : NULL;
}
