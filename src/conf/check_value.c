/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of one value that look at other blocks, and whether we do what it asks for. */
#include "src/conf/load.h"
#include "src/conf/value.h"

/** The empty reference, to nothing. */
static bool is_empty(const conf_check_value_t *check)
{
	return check->value.len == 1 && check->value.data[0] == '\0';
}

static knot_err_t check_reference(const conf_check_value_t *check, conf_view_t view, const char **ret_reason)
{
	static const char dflt[] = "default";
	const conf_row_t *row = check->row;
	if (is_empty(check) && row->or_empty) {
		return KNOT_OK;
	}
	if (row->or_default && check->value.len == sizeof(dflt) && memcmp(check->value.data, dflt, sizeof(dflt)) == 0) {
		return KNOT_OK;
	}
	size_t found = 0;
	for (size_t i = 0; i < KNOT_LEN(row->ref) && row->ref[i] != NULL; i++) {
		conf_block_view_t block;
		found += conf_view_find(view, conf_section_find(knot_str_of(row->ref[i])), check->value, &block);
	}
	if (found == 1) {
		return KNOT_OK;
	}
	*ret_reason = knot_strerror(found == 0 ? KNOT_CONF_EREF : KNOT_CONF_EAMBREF);
	return KNOT_ENOENT;
}

/** KNOT_CONF_ENOTSUP: the module is known but can't be used yet. */
static knot_err_t check_module(const conf_check_value_t *check, conf_view_t view, const char **ret_reason)
{
	const char *name = (const char *)check->value.data, *id = name + strlen(name) + 1;
	if (name[0] == '\0') {
		return KNOT_OK;
	}
	size_t section = conf_section_find(knot_str_of(name));
	if (section == conf_section_count || !conf_sections[section]->is_module) {
		*ret_reason = "unknown module";
		return KNOT_EINVAL;
	}
	if (id[0] == '\0' && conf_sections[section]->module_needs_id) {
		*ret_reason = "missing module configuration";
		return KNOT_CONF_ENOID;
	}
	knot_bytes_t id_value = { (const uint8_t *)id, strlen(id) + 1 };
	conf_block_view_t block;
	if (id[0] != '\0' && !conf_view_find(view, section, id_value, &block)) {
		*ret_reason = "invalid module reference";
		return KNOT_ENOENT;
	}
	return conf_check_support(check);
}

/** True if the value is one of those that ask for nothing. */
static bool is_harmless(const conf_row_t *row, knot_bytes_t value)
{
	const char *word = row->harmless;
	while (word != NULL && *word != '\0') {
		size_t len = strcspn(word, " ");
		knot_str_t text = { word, len };
		uint8_t harmless[64];
		size_t harmless_len;
		if (knot_str_eq(text, KNOT_STR("\"\""))) {
			text.len = 0;
		}
		if (conf_value_scan(row, text, harmless, &harmless_len) == KNOT_OK && harmless_len == value.len &&
				memcmp(harmless, value.data, value.len) == 0) {
			return true;
		}
		word += len;
		word += *word == ' ';
	}
	return false;
}

knot_err_t conf_check_target(const conf_check_value_t *check, conf_view_t view, const char **ret_reason)
{
	knot_err_t err = KNOT_OK;
	if (check->row->type == CONF_REF) {
		err = check_reference(check, view, ret_reason);
	} else if (check->row->type == CONF_MODREF) {
		err = check_module(check, view, ret_reason);
	}
	return err;
}

knot_err_t conf_check_support(const conf_check_value_t *check)
{
	bool is_refused = check->row->support == CONF_REFUSED && !is_harmless(check->row, check->value);
	if (check->row->type == CONF_MODREF) {
		size_t section = conf_section_find(knot_str_of((const char *)check->value.data));
		is_refused = section < conf_section_count && conf_sections[section]->support != CONF_WORKS;
	}
	return is_refused ? KNOT_CONF_ENOTSUP : KNOT_OK;
}

knot_err_t conf_check_value(const conf_check_value_t *check, conf_view_t view, const char **ret_reason)
{
	knot_err_t err = conf_check_target(check, view, ret_reason);
	if (err != KNOT_OK && err != KNOT_CONF_ENOTSUP) {
		return err;
	}
	const char *reason = check->row->check != NULL ? check->row->check(check) : NULL;
	if (reason != NULL) {
		*ret_reason = reason;
		return KNOT_EINVAL;
	}
	err = err == KNOT_OK ? conf_check_support(check) : err;
	if (err != KNOT_OK) {
		*ret_reason = knot_strerror(err);
	}
	return err;
}

const char *conf_check_block(const conf_block_view_t *block, conf_view_t all)
{
	const conf_section_t *section = block->section;
	const char *reason = section->check != NULL ? section->check(block, all) : NULL;
	for (size_t i = 0; i < section->row_count && reason == NULL; i++) {
		if (section->rows[i].required && conf_block_find(block, section->rows[i].name).data == NULL) {
			reason = section->rows[i].missing;
		}
	}
	return reason;
}
