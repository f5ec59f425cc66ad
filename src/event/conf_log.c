/* SPDX-License-Identifier: BSD-2-Clause */
/* Configuration and log: the faults of a configuration are logged, and a configuration says where to. */
#include <stdlib.h>
#include <string.h>

#include "src/event/server.h"
#include "src/sys/log.h"

static void conf_log_fault(void *ctx, const conf_fault_t *fault)
{
	(void)ctx;
	int level = fault->severity == CONF_ERROR     ? LOG_ERR
		    : fault->severity == CONF_WARNING ? LOG_WARNING
						      : LOG_NOTICE;
	const char *hint = fault->hint != NULL ? fault->hint : "";
	log_server(level, "%s%s%s", fault->text, *hint != '\0' ? ", " : "", hint);
}

conf_sink_t server_conf_sink(void)
{
	return (conf_sink_t){ .fault = conf_log_fault };
}

knot_err_t server_read_conf_db(conf_db_t *db, const conf_host_t *host, uint64_t *ret_version, conf_t **ret_conf)
{
	conf_store_t *store;
	uint64_t version;
	knot_err_t err = conf_db_read(db, server_conf_sink(), &store, &version);
	err = err == KNOT_OK ? conf_make(store, conf_db_path(db), host, server_conf_sink(), ret_conf) : err;
	if (err == KNOT_OK) {
		*ret_version = version;
	}
	return err;
}

knot_err_t server_open_logs(const conf_t *conf, uid_t uid, gid_t gid)
{
	_Static_assert((int)SYS_LOG_SOURCE_COUNT == (int)CONF_LOG_SOURCE_COUNT, "the same sources in the same order");
	sys_log_target_t *targets = calloc(conf->log_count > 0 ? conf->log_count : 1, sizeof(*targets));
	if (targets == NULL) {
		return KNOT_ENOMEM;
	}
	static const sys_log_kind_t kinds[] = {
		[CONF_LOG_STDOUT] = SYS_LOG_TO_STDOUT,
		[CONF_LOG_STDERR] = SYS_LOG_TO_STDERR,
		[CONF_LOG_SYSLOG] = SYS_LOG_TO_SYSLOG,
		[CONF_LOG_FILE] = SYS_LOG_TO_FILE,
	};
	for (size_t i = 0; i < conf->log_count; i++) {
		targets[i] = (sys_log_target_t){ .kind = kinds[conf->logs[i].kind], .path = conf->logs[i].target };
		memcpy(targets[i].levels, conf->logs[i].levels, sizeof(targets[i].levels));
	}
	knot_err_t err = sys_log_open(targets, conf->log_count, uid, gid);
	free(targets);
	return err;
}
