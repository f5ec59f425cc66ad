/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/update/serial.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

bool update_serial_is_newer(uint32_t a, uint32_t b)
{
	uint32_t ahead = a - b;
	return ahead != 0 && ahead < UINT32_C(1) << 31;
}

/* YYYYMMDD00 */
static uint32_t serial_of_date(uint64_t now_s)
{
	time_t now = (time_t)now_s;
	struct tm utc;
	if (gmtime_r(&now, &utc) == NULL) {
		return 0;
	}
	return (uint32_t)(((utc.tm_year + 1900) * 10000 + (utc.tm_mon + 1) * 100 + utc.tm_mday) * 100u);
}

uint32_t update_serial_allowed(uint32_t serial, const conf_serial_rule_t *rule)
{
	uint32_t modulus = rule->modulus > 0 ? rule->modulus : 1;
	uint32_t ahead = (rule->remainder + modulus - serial % modulus) % modulus;
	return ahead <= UINT32_MAX - serial ? serial + ahead : rule->remainder;
}

uint32_t update_serial_next(uint32_t serial, const conf_serial_rule_t *rule, uint64_t now_s)
{
	uint32_t wanted = serial;
	switch (rule->policy) {
	case CONF_SERIAL_INCREMENT: break;
	case CONF_SERIAL_UNIXTIME: wanted = (uint32_t)now_s; break;
	case CONF_SERIAL_DATESERIAL: wanted = serial_of_date(now_s); break;
	}
	wanted += (uint32_t)rule->shift;
	return update_serial_allowed(update_serial_is_newer(wanted, serial) ? wanted : serial + 1, rule);
}

/* ---- In a transaction ---- */

typedef struct {
	bool found;
	uint32_t ttl;
	size_t len;
	uint8_t rdata[KNOT_SOA_LEN_MAX];
} soa_t;

static bool serial_take_soa(const zone_rr_t *rr, void *ctx)
{
	soa_t *soa = ctx;
	if (rr->type == KNOT_TYPE_SOA && rr->rdata.len <= sizeof(soa->rdata)) {
		*soa = (soa_t){ .found = true, .ttl = rr->ttl, .len = rr->rdata.len };
		memcpy(soa->rdata, rr->rdata.data, rr->rdata.len);
	}
	return !soa->found;
}

static bool serial_find_soa(const zone_txn_t *txn, knot_name_t origin, soa_t *ret_soa)
{
	ret_soa->found = false;
	return zone_txn_each_of(txn, origin, serial_take_soa, ret_soa) == KNOT_OK && ret_soa->found;
}

bool update_serial(const zone_txn_t *txn, knot_name_t origin, uint32_t *ret_serial)
{
	soa_t soa;
	bool found = serial_find_soa(txn, origin, &soa);
	if (found) {
		*ret_serial = knot_soa_serial((knot_bytes_t){ soa.rdata, soa.len });
	}
	return found;
}

knot_err_t update_set_serial(zone_txn_t *txn, knot_name_t origin, uint32_t serial)
{
	soa_t soa;
	if (!serial_find_soa(txn, origin, &soa)) {
		return KNOT_ENOSOA;
	}
	knot_err_t err = zone_txn_remove_all(txn, origin, KNOT_TYPE_SOA);
	if (err == KNOT_OK) {
		knot_soa_set_serial((knot_mut_bytes_t){ soa.rdata, soa.len }, serial);
		err = zone_txn_put(txn, origin, KNOT_TYPE_SOA, soa.ttl, (knot_bytes_t){ soa.rdata, soa.len });
	}
	return err;
}
