/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/load_plan.h"

static bool load_is_difference(const load_facts_t *facts)
{
	return facts->load == CONF_ZONEFILE_DIFFERENCE || facts->load == CONF_ZONEFILE_DIFFERENCE_NO_SERIAL;
}

static load_base_t load_choose_served(const load_facts_t *facts)
{
	if (facts->load == CONF_ZONEFILE_NONE || facts->is_current) {
		return LOAD_BASE_KEEP;
	}
	return load_is_difference(facts) || facts->is_signed ? LOAD_BASE_SERVED : LOAD_BASE_FILE;
}

static load_base_t load_choose_first(const load_facts_t *facts)
{
	if (facts->load == CONF_ZONEFILE_NONE) {
		return facts->has_whole ? LOAD_BASE_JOURNAL : LOAD_BASE_NOTHING;
	}
	if (facts->has_image) {
		return LOAD_BASE_IMAGE;
	}
	/* A zone whose file was taken away isn't served, but one that never had a file is. */
	if (!facts->has_file && facts->has_whole && facts->is_only_journal) {
		return LOAD_BASE_JOURNAL;
	}
	bool begins_in_journal = load_is_difference(facts) && facts->content == CONF_JOURNAL_ALL && facts->has_whole;
	return begins_in_journal ? LOAD_BASE_JOURNAL : LOAD_BASE_FILE;
}

load_plan_t load_plan(const load_facts_t *facts)
{
	load_plan_t plan = { .base = facts->is_served ? load_choose_served(facts) : load_choose_first(facts) };
	bool is_merged = plan.base == LOAD_BASE_SERVED || plan.base == LOAD_BASE_JOURNAL;
	plan.reads_file = is_merged && (load_is_difference(facts) || plan.base == LOAD_BASE_SERVED) &&
			  (facts->has_file || facts->is_served || !facts->is_only_journal);
	plan.ignores_serial = plan.reads_file && facts->load == CONF_ZONEFILE_DIFFERENCE_NO_SERIAL;
	plan.has_changes = facts->content != CONF_JOURNAL_NONE && !plan.ignores_serial && plan.base != LOAD_BASE_KEEP &&
			   plan.base != LOAD_BASE_NOTHING;
	return plan;
}

load_serial_t load_compare_serials(uint32_t base, uint32_t file)
{
	uint32_t ahead = file - base;
	if (ahead == UINT32_C(1) << 31) {
		return LOAD_SERIAL_INCOMPARABLE;
	}
	return ahead < UINT32_C(1) << 31 ? LOAD_SERIAL_GOOD : LOAD_SERIAL_LOWER;
}
