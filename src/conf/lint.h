/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The checks of conf-check that go beyond the text: users, interfaces and zone files of this machine.
 *
 * A running server doesn't make them: a missing interface must not make it refuse a reload. Lints of single values are
 * in the schema's rows (conf_lint_t) and come with file and line; here are those that need the whole snapshot. Reads
 * the file system; no state.
 */
#pragma once

#include "src/conf/conf.h"

/** Warn of zone files that don't exist, at most CONF_ERRORS_TOLD_MAX times; of a folder that is missing, once. */
void conf_lint_zone_files(const conf_t *conf, conf_sink_t sink);
