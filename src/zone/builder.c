/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/builder.h"

#include <stdlib.h>

#include "src/zone/compile.h"

struct zone_builder {
	zone_collect_t collect;
};

zone_builder_t *zone_builder_new(knot_name_t origin)
{
	zone_builder_t *builder = malloc(sizeof(*builder));
	if (builder != NULL) {
		zone_collect_init(&builder->collect, origin);
	}
	return builder;
}

knot_err_t zone_builder_put(zone_builder_t *builder, knot_name_t owner, uint16_t type, uint32_t ttl, knot_bytes_t rdata)
{
	knot_err_t err = zone_collect_owner(&builder->collect, owner);
	return err == KNOT_OK ? zone_collect_record(&builder->collect, type, ttl, rdata) : err;
}

knot_err_t zone_builder_finish(
		zone_builder_t *take_builder, const zone_build_params_t *params, zone_contents_t **ret_zone)
{
	zone_contents_t *zone;
	knot_err_t err = zone_compile(&take_builder->collect, params, &zone);
	zone_builder_discard(take_builder);
	if (err != KNOT_OK) {
		return err;
	}
	zone_compile_trim(zone->record_count);
	const zone_check_params_t checks = zone_build_checks(params);
	err = zone_check(zone, &checks);
	if (err != KNOT_OK) {
		zone_contents_free(zone);
		return err;
	}
	*ret_zone = zone;
	return KNOT_OK;
}

void zone_builder_discard(zone_builder_t *take_builder)
{
	if (take_builder != NULL) {
		zone_collect_done(&take_builder->collect);
		free(take_builder);
	}
}
