/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * xdp-check: prints what the self-test of xdp/ finds, for one interface, those of the configuration, or all.
 */
#include "src/tools/ctl/knotc.h"

#include "src/conf/conf.h"
#include "src/tools/ctl/message.h"
#include "xdp/check.h"
#include "xdp/kxdp.h"

#include <string.h>
#include <unistd.h>

enum { INTERFACES_MAX = 64 };

typedef struct {
	char names[INTERFACES_MAX][IF_NAMESIZE];
	size_t count;
	uint32_t ring_size; /* 0: default */
} targets_t;

typedef struct {
	kxdp_finding_t rows[KXDP_FINDINGS_MAX];
	size_t count;
} findings_t;

/* ---- What is checked ---- */

static void xdp_check_add_target(targets_t *targets, const char *name)
{
	for (size_t i = 0; i < targets->count; i++) {
		if (strcmp(targets->names[i], name) == 0) {
			return;
		}
	}
	if (targets->count < INTERFACES_MAX) {
		snprintf(targets->names[targets->count++], IF_NAMESIZE, "%s", name);
	}
}

/*
 * Interfaces of `xdp.listen`, which may be given by address. False: one can't be found; an error was printed.
 */
static bool xdp_check_add_configured(targets_t *targets, const conf_t *conf)
{
	bool is_good = true;
	for (size_t i = 0; i < conf->xdp.listen.count; i++) {
		const conf_xdp_listen_t *listen = &conf->xdp.listen.data[i];
		char name[IF_NAMESIZE];
		kxdp_fault_t fault;
		if (listen->ifname[0] != '\0') {
			xdp_check_add_target(targets, listen->ifname);
		} else if (kxdp_iface_of_address((const struct sockaddr *)&listen->addr, name, &fault) == KNOT_OK) {
			xdp_check_add_target(targets, name);
		} else {
			(void)message_error("xdp.listen %s, %s", listen->text, fault.text);
			is_good = false;
		}
	}
	return is_good;
}

/* False: an error was printed. The default configuration may be missing. */
static bool xdp_check_find_targets(const params_t *params, const char *wanted, targets_t *targets)
{
	if (wanted != NULL && strlen(wanted) >= IF_NAMESIZE) {
		return message_error("there is no interface %s", wanted);
	}
	bool is_good = true;
	const char *path = params->config != NULL ? params->config : conf_default_path();
	if (params->config != NULL || access(path, F_OK) == 0) {
		conf_t *conf;
		if (!knotc_load_conf(params, &conf)) {
			return false;
		}
		targets->ring_size = conf->xdp.ring_size;
		is_good = wanted != NULL || xdp_check_add_configured(targets, conf);
		conf_free(conf);
	}
	if (wanted != NULL) {
		xdp_check_add_target(targets, wanted);
	}
	if (is_good && targets->count == 0) {
		targets->count = kxdp_check_interfaces(targets->names, INTERFACES_MAX);
		targets->count = targets->count < INTERFACES_MAX ? targets->count : INTERFACES_MAX;
	}
	return is_good;
}

/* ---- Findings ---- */

static void xdp_check_inspect(const char *ifname, uint32_t ring_size, findings_t *ret_findings)
{
	kxdp_check_t check = { .ifname = ifname, .ring_size = ring_size };
	size_t count = kxdp_check(&check, ret_findings->rows, KXDP_FINDINGS_MAX);
	ret_findings->count = count < KXDP_FINDINGS_MAX ? count : KXDP_FINDINGS_MAX;
}

static bool xdp_check_has_error(const findings_t *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		if (findings->rows[i].severity == KXDP_CHECK_ERROR) {
			return true;
		}
	}
	return false;
}

static void xdp_check_print_text(const char *name, const findings_t *findings)
{
	printf("%s: XDP %s\n", name, xdp_check_has_error(findings) ? "can't work" : "can work");
	for (size_t i = 0; i < findings->count; i++) {
		const kxdp_finding_t *row = &findings->rows[i];
		printf("  %-8s %-14s %s\n", kxdp_severity_name(row->severity), row->id, row->text);
		if (row->advice[0] != '\0') {
			printf("  %-8s %-14s -> %s\n", "", "", row->advice);
		}
	}
}

/* Two units: what was found (DATA) with its severity as TYPE, and what to do about it (EXTRA, TYPE "advice"). */
static void xdp_check_print_units(output_t *output, const char *name, const findings_t *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		const kxdp_finding_t *row = &findings->rows[i];
		knot_ctl_data_t unit = {
			[KNOT_CTL_IDX_SECTION] = name,
			[KNOT_CTL_IDX_ITEM] = row->id,
			[KNOT_CTL_IDX_TYPE] = kxdp_severity_name(row->severity),
			[KNOT_CTL_IDX_DATA] = row->text,
		};
		output_unit(output, KNOT_CTL_TYPE_DATA, (const knot_ctl_data_t *)&unit);
		if (row->advice[0] != '\0') {
			unit[KNOT_CTL_IDX_TYPE] = "advice";
			unit[KNOT_CTL_IDX_DATA] = row->advice;
			output_unit(output, KNOT_CTL_TYPE_EXTRA, (const knot_ctl_data_t *)&unit);
		}
	}
}

static void xdp_check_print_json(knot_json_t *json, const char *name, const findings_t *findings)
{
	knot_json_open(json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINE);
	knot_json_text(json, "interface", name);
	knot_json_bool(json, "works", !xdp_check_has_error(findings));
	knot_json_open(json, "findings", KNOT_JSON_LIST, KNOT_JSON_LINES);
	for (size_t i = 0; i < findings->count; i++) {
		const kxdp_finding_t *row = &findings->rows[i];
		knot_json_open(json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINE);
		knot_json_text(json, "id", row->id);
		knot_json_text(json, "severity", kxdp_severity_name(row->severity));
		knot_json_text(json, "text", row->text);
		if (row->advice[0] != '\0') {
			knot_json_text(json, "advice", row->advice);
		}
		knot_json_close(json);
	}
	knot_json_close(json);
	knot_json_close(json);
}

bool knotc_xdp_check(const params_t *params, const action_t *action, const request_t *request)
{
	targets_t targets = { .count = 0 };
	bool has_reply = output_is_json(params->format);
	output_t output = { .out = stdout, .action = action, .format = params->format };
	if (has_reply) {
		output_begin(&output);
	}
	bool is_good = xdp_check_find_targets(params, request->units[0][KNOT_CTL_IDX_SECTION], &targets);
	if (is_good && targets.count == 0) {
		is_good = message_error("there is no interface to check");
	}
	for (size_t i = 0; i < targets.count; i++) {
		findings_t findings;
		xdp_check_inspect(targets.names[i], targets.ring_size, &findings);
		if (params->format == FORMAT_JSON) {
			xdp_check_print_json(&output.reply.json, targets.names[i], &findings);
		} else if (params->format == FORMAT_RAW) {
			xdp_check_print_units(&output, targets.names[i], &findings);
		} else {
			xdp_check_print_text(targets.names[i], &findings);
		}
		is_good &= !xdp_check_has_error(&findings);
	}
	if (has_reply) {
		(void)output_end(&output, is_good ? NULL : "XDP can't work");
	}
	return is_good;
}
