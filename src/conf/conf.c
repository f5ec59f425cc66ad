/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/conf/conf.h"
#include "src/conf/fault.h"
#include "src/conf/lint.h"
#include "src/conf/load.h"
#include "src/conf/value.h"

#include <arpa/inet.h>
#include <assert.h>
#include <grp.h>
#include <netdb.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <unistd.h>

const char *conf_default_path(void)
{
	return KNOT_CONFIG_DIR "/knot.conf";
}

/* ---- Loading ---- */

/** The host's name as the resolver completes it; it stays as it is if the resolver knows none. */
static void complete_hostname(char *name, size_t max)
{
	struct addrinfo *info = NULL;
	const struct addrinfo hints = { .ai_flags = AI_CANONNAME, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM };
	if (getaddrinfo(name, NULL, &hints, &info) == 0 && info->ai_canonname != NULL) {
		(void)snprintf(name, max, "%s", info->ai_canonname);
	}
	if (info != NULL) {
		freeaddrinfo(info);
	}
}

conf_host_t conf_host_offline(void)
{
	conf_host_t host = { .version = PACKAGE_NAME " " PACKAGE_VERSION };
	struct rlimit limit;
	long cpu_count = sysconf(_SC_NPROCESSORS_ONLN);
	host.cpu_count = cpu_count > 0 ? (unsigned)cpu_count : 1;
	host.nofile_max = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
	if (gethostname(host.hostname, sizeof(host.hostname) - 1) != 0 || host.hostname[0] == '\0') {
		(void)snprintf(host.hostname, sizeof(host.hostname), "localhost");
	}
	return host;
}

conf_host_t conf_host(void)
{
	conf_host_t host = conf_host_offline();
	complete_hostname(host.hostname, sizeof(host.hostname));
	return host;
}

static void tell_no_memory(conf_sink_t sink, const char *path)
{
	const conf_place_t place = { .file = path };
	(void)conf_tell_text(sink, CONF_ERROR, KNOT_ENOMEM, &place, NULL, "config, not enough memory");
}

/** What failed when a snapshot was built of values that are right by themselves. */
static void tell_not_built(conf_sink_t sink, const char *path, knot_err_t err)
{
	const conf_place_t place = { .file = path };
	if (err != KNOT_ESPACE) {
		tell_no_memory(sink, path);
		return;
	}
	(void)conf_tell_text(sink, CONF_ERROR, err, &place, NULL,
			"config, the path of a socket is too long with the directory that it is relative to, give "
			"'rundir' as an "
			"absolute path");
}

static void ignore_fault(void *ctx, const conf_fault_t *fault)
{
	(void)ctx;
	(void)fault;
}

/** Build a snapshot of a sealed store that was checked; on failure it is freed and the sink gets a fault. */
static knot_err_t conf_do_make(conf_store_t *take_store, const char *path, const conf_host_t *host, conf_sink_t sink,
		conf_t **ret_conf)
{
	assert(conf_store_is_sealed(take_store));
	conf_t *conf = calloc(1, sizeof(*conf));
	if (conf == NULL) {
		conf_store_free(take_store);
		tell_no_memory(sink, path);
		return KNOT_ENOMEM;
	}
	conf->store = take_store;
	conf->path = conf_store_str(take_store, path);
	knot_err_t err = conf->path != NULL ? conf_build(conf, host) : KNOT_ENOMEM;
	if (err != KNOT_OK) {
		tell_not_built(sink, path, err);
		conf_free(conf);
		return err;
	}
	conf_check_xdp_payload(conf, sink);
	if (host != NULL && host->is_checked) {
		conf_lint_zone_files(conf, sink);
	}
	*ret_conf = conf;
	return KNOT_OK;
}

static knot_err_t conf_do_load(
		const char *path, const knot_str_t *text, const conf_host_t *host, conf_sink_t sink, conf_t **ret_conf)
{
	conf_store_t *store = conf_store_new();
	if (store == NULL) {
		tell_no_memory(sink, path);
		return KNOT_ENOMEM;
	}
	knot_err_t err = conf_read(store, path, text, host != NULL && host->is_checked, sink);
	if (err == KNOT_OK) {
		err = conf_store_seal(store);
		if (err != KNOT_OK) {
			tell_no_memory(sink, path);
		}
	}
	if (err != KNOT_OK) {
		conf_store_free(store);
		return err;
	}
	return conf_do_make(store, path, host, sink, ret_conf);
}

knot_err_t conf_make(conf_store_t *take_store, const char *path, const conf_host_t *host, conf_sink_t sink,
		conf_t **ret_conf)
{
	knot_err_t err = conf_check_store(take_store, host != NULL && host->is_checked, sink);
	if (err != KNOT_OK) {
		conf_store_free(take_store);
		return err;
	}
	return conf_do_make(take_store, path, host, sink, ret_conf);
}

conf_t *conf_copy_groups(const conf_t *conf, const conf_host_t *host)
{
	static const conf_sink_t nobody = { .fault = ignore_fault }; /* the original's faults were reported */
	conf_store_t *store = conf_store_new();
	knot_err_t err = store != NULL ? KNOT_OK : KNOT_ENOMEM;
	for (size_t i = 0; err == KNOT_OK && i < conf_section_count; i++) {
		const conf_table_t *table = &conf->store->tables[i];
		if (conf_sections[i]->kind == CONF_GROUP && table->count > 0) {
			const knot_bytes_t items = { table->blocks[0].items, table->blocks[0].items_len };
			err = conf_store_put(store, i, (knot_bytes_t){ 0 }, items);
		}
	}
	err = err == KNOT_OK ? conf_store_seal(store) : err;
	if (err != KNOT_OK) {
		conf_store_free(store);
		return NULL;
	}
	conf_t *copy;
	return conf_do_make(store, conf->path, host, nobody, &copy) == KNOT_OK ? copy : NULL;
}

knot_err_t conf_load(const char *path, const conf_host_t *host, conf_sink_t sink, conf_t **ret_conf)
{
	return conf_do_load(path, NULL, host, sink, ret_conf);
}

knot_err_t conf_load_text(
		const char *name, knot_str_t text, const conf_host_t *host, conf_sink_t sink, conf_t **ret_conf)
{
	return conf_do_load(name, &text, host, sink, ret_conf);
}

conf_t *conf_hold(const conf_t *conf)
{
	conf_t *held = (conf_t *)conf;
	(void)__atomic_fetch_add(&held->holds, 1, __ATOMIC_RELAXED);
	return held;
}

void conf_free(conf_t *conf)
{
	/* At 0 there is no other owner, so the count may wrap. */
	if (conf != NULL && __atomic_fetch_sub(&conf->holds, 1, __ATOMIC_ACQ_REL) == 0) {
		conf_store_free(conf->store);
		free(conf);
	}
}

/* ---- Using ---- */

/** Index of the template that the zone names, else of template default, else of the one without any. */
static size_t template_of(const conf_t *conf, knot_bytes_t items)
{
	const conf_store_t *store = conf->store;
	const conf_table_t *table = &store->tables[CONF_S_TEMPLATE];
	conf_item_t item;
	size_t pos = 0;
	while (conf_item_next(items, &pos, &item)) {
		if (item.row == store->zone_template_row) {
			const conf_block_t *block = conf_store_find(store, CONF_S_TEMPLATE, item.value);
			/* A template that was cleared after the zone referred to it doesn't count. */
			return block != NULL ? (size_t)(block - table->blocks) : table->count;
		}
	}
	return store->default_template;
}

knot_name_t conf_zone_name(const conf_t *conf, size_t index)
{
	return conf_zones_name(&conf->store->zones, index);
}

bool conf_has_zone_modules(const conf_t *conf)
{
	const conf_store_t *store = conf->store;
	bool has = store->has_zone_modules;
	for (size_t i = 0; !has && i <= store->tables[CONF_S_TEMPLATE].count; i++) {
		has = store->templates[i].modules.count > 0;
	}
	return has;
}

bool conf_has_catalogs(const conf_t *conf)
{
	const conf_store_t *store = conf->store;
	bool has = store->has_zone_catalogs;
	for (size_t i = 0; !has && i <= store->tables[CONF_S_TEMPLATE].count; i++) {
		has = store->templates[i].catalog_role != CONF_CATALOG_NONE;
	}
	return has;
}

/*
 * The file of a zone that is made of others has only what is its own; what it is made of is in the journal. Were both
 * in the file, nobody could tell the records that are to go with their source from those that are to stay.
 */
static void conf_imply(conf_zone_t *zone)
{
	if (conf_zone_is_derived(zone)) {
		zone->zonefile_load = CONF_ZONEFILE_DIFFERENCE_NO_SERIAL;
		zone->journal_content = CONF_JOURNAL_ALL;
		zone->zonefile_sync_s = -1;
		zone->ixfr_from_axfr = true;
	}
}

conf_zone_t conf_zone(const conf_t *conf, size_t index)
{
	assert(index < conf->zone_count);
	knot_bytes_t items = conf_zones_items(&conf->store->zones, index);
	conf_zone_t zone = conf->store->templates[template_of(conf, items)];
	conf_apply_zone_items(conf->store, index, &zone);
	zone.name = conf_zone_name(conf, index);
	conf_imply(&zone);
	return zone;
}

bool conf_zone_find(const conf_t *conf, knot_name_t name, size_t *ret_index)
{
	return conf_zones_find(&conf->store->zones, name, ret_index);
}

/** The template of a catalog for a group. NULL: it was cleared after the catalog referred to it. */
static const conf_zone_t *template_of_group(const conf_t *conf, const conf_zone_t *zone, knot_bytes_t group)
{
	const conf_store_t *store = conf->store;
	const conf_bytes_list_t *ids = &zone->catalog_templates;
	size_t at = 0;
	for (size_t i = 0; i < ids->count; i++) {
		const char *id = (const char *)ids->data[i].data;
		if (strlen(id) == group.len && memcmp(id, group.data, group.len) == 0) {
			at = i;
		}
	}
	const conf_block_t *block = ids->count > 0 ? conf_store_find(store, CONF_S_TEMPLATE, ids->data[at]) : NULL;
	return block != NULL ? &store->templates[block - store->tables[CONF_S_TEMPLATE].blocks] : NULL;
}

bool conf_member(const conf_t *conf, knot_name_t name, knot_name_t catalog, knot_bytes_t group, conf_zone_t *ret_zone)
{
	size_t index;
	if (!conf_zone_find(conf, catalog, &index)) {
		return false;
	}
	conf_zone_t zone = conf_zone(conf, index);
	const conf_zone_t *settings =
			zone.catalog_role == CONF_CATALOG_INTERPRET ? template_of_group(conf, &zone, group) : NULL;
	if (settings == NULL) {
		return false;
	}
	*ret_zone = *settings;
	ret_zone->name = name;
	conf_imply(ret_zone);
	return true;
}

const void *conf_mod(const conf_t *conf, conf_mod_t mod, const char *id)
{
	size_t size = conf_mod_sections[mod]->struct_size, i = 0;
	const uint8_t *blocks = conf->mods[mod].blocks;
	while (i < conf->mods[mod].count && strcmp(*(const char *const *)(blocks + i * size), id) != 0) {
		i++;
	}
	return blocks + i * size;
}

bool conf_nets_have(conf_nets_t nets, const struct sockaddr *addr)
{
	const uint8_t *ip = NULL;
	size_t len = 0;
	if (addr != NULL && addr->sa_family == AF_INET) {
		ip = (const uint8_t *)&((const struct sockaddr_in *)addr)->sin_addr;
		len = sizeof(struct in_addr);
	} else if (addr != NULL && addr->sa_family == AF_INET6) {
		ip = (const uint8_t *)&((const struct sockaddr_in6 *)addr)->sin6_addr;
		len = sizeof(struct in6_addr);
	}
	for (size_t i = 0; i < nets.count && addr != NULL; i++) {
		const conf_net_t *net = &nets.data[i];
		if (net->family == addr->sa_family &&
				(ip == NULL || (memcmp(net->first, ip, len) <= 0 && memcmp(ip, net->last, len) <= 0))) {
			return true;
		}
	}
	return false;
}

/** `length` characters, or as many as there is room for. */
static const char *copy_word(char *ret_word, size_t max, const char *text, size_t length)
{
	(void)snprintf(ret_word, max, "%.*s", length < max ? (int)length : (int)max - 1, text);
	return ret_word;
}

knot_err_t conf_user(const conf_t *conf, uid_t *ret_uid, gid_t *ret_gid, char ret_fault[static CONF_USER_FAULT_MAX])
{
	uid_t uid = getuid();
	gid_t gid = getgid();
	if (conf->server.user != NULL) {
		char name[256];
		size_t len = strcspn(conf->server.user, ":");
		const char *group = conf->server.user + len;
		const struct passwd *user = getpwnam(copy_word(name, sizeof(name), conf->server.user, len));
		if (user == NULL) {
			(void)snprintf(ret_fault, CONF_USER_FAULT_MAX, "config, invalid user name '%s'", name);
			return KNOT_ENOENT;
		}
		uid = user->pw_uid;
		const struct group *entry = *group == ':' ? getgrnam(group + 1) : NULL;
		if (*group == ':' && entry == NULL) {
			(void)snprintf(ret_fault, CONF_USER_FAULT_MAX, "config, invalid group name '%s'",
					copy_word(name, sizeof(name), group + 1, strlen(group + 1)));
			return KNOT_ENOENT;
		}
		gid = entry != NULL ? entry->gr_gid : gid;
	}
	*ret_uid = uid;
	*ret_gid = gid;
	return KNOT_OK;
}

const char *conf_addr_print(const conf_addr_t *addr, char ret_text[static CONF_ADDR_TEXT_MAX])
{
	char ip[INET6_ADDRSTRLEN] = "", device[IF_NAMESIZE] = "";
	const struct sockaddr_in *sin = (const struct sockaddr_in *)&addr->ss;
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)&addr->ss;
	const struct sockaddr_un *un = (const struct sockaddr_un *)&addr->ss;
	if (addr->ss.ss_family == AF_UNIX) {
		(void)snprintf(ret_text, CONF_ADDR_TEXT_MAX, "%s", un->sun_path);
		return ret_text;
	}
	bool is_ipv4 = addr->ss.ss_family == AF_INET;
	(void)inet_ntop(addr->ss.ss_family, is_ipv4 ? (const void *)&sin->sin_addr : (const void *)&sin6->sin6_addr, ip,
			sizeof(ip));
	if (addr->device[0] != '\0') {
		(void)snprintf(device, sizeof(device), "%s", addr->device);
	} else if (!is_ipv4 && sin6->sin6_scope_id != 0 && if_indextoname(sin6->sin6_scope_id, device) == NULL) {
		(void)snprintf(device, sizeof(device), "%u", sin6->sin6_scope_id);
	}
	(void)snprintf(ret_text, CONF_ADDR_TEXT_MAX, "%s%s%s@%u", ip, device[0] != '\0' ? "%" : "", device,
			ntohs(is_ipv4 ? sin->sin_port : sin6->sin6_port));
	return ret_text;
}

/* ---- Comparing ---- */

/** Note that a change must wait for a restart; two items of the same name are reported once. */
static void add_restart(conf_diff_t *diff, const char *name)
{
	size_t i = 0;
	while (i < diff->restart_count && strcmp(diff->restart[i], name) != 0) {
		i++;
	}
	if (i == diff->restart_count && i < KNOT_LEN(diff->restart)) {
		diff->restart[diff->restart_count++] = name;
	}
}

/** Compare one group by its rows: what applies at once, what has to wait. */
static bool diff_group(conf_diff_t *diff, const conf_section_t *section, const void *old, const void *new)
{
	bool is_changed = false;
	for (size_t i = 0; i < section->row_count; i++) {
		const conf_row_t *row = &section->rows[i];
		if (row->field == CONF_FIELD_NONE || conf_member_same(row, old, new)) {
			continue;
		}
		if (row->effect != CONF_ON_RESTART) {
			is_changed = true;
		} else {
			add_restart(diff, row->name);
		}
	}
	return is_changed;
}

static bool logs_same(const conf_t *a, const conf_t *b)
{
	bool is_same = a->log_count == b->log_count;
	for (size_t i = 0; is_same && i < a->log_count; i++) {
		is_same = strcmp(a->logs[i].target, b->logs[i].target) == 0 &&
			  memcmp(a->logs[i].levels, b->logs[i].levels, sizeof(a->logs[i].levels)) == 0;
	}
	return is_same;
}

static bool modrefs_same(conf_modrefs_t a, conf_modrefs_t b)
{
	bool is_same = a.count == b.count;
	for (size_t i = 0; is_same && i < a.count; i++) {
		is_same = strcmp(a.data[i].name, b.data[i].name) == 0 && strcmp(a.data[i].id, b.data[i].id) == 0;
	}
	return is_same;
}

static bool mod_same(const conf_t *a, const conf_t *b, conf_mod_t mod)
{
	conf_diff_t ignored = { 0 };
	const conf_section_t *section = conf_mod_sections[mod];
	bool is_same = a->mods[mod].count == b->mods[mod].count;
	for (size_t i = 0; is_same && i < a->mods[mod].count; i++) {
		const void *x = (const uint8_t *)a->mods[mod].blocks + i * section->struct_size;
		const void *y = (const uint8_t *)b->mods[mod].blocks + i * section->struct_size;
		is_same = strcmp(*(const char *const *)x, *(const char *const *)y) == 0 &&
			  !diff_group(&ignored, section, x, y);
	}
	return is_same;
}

conf_diff_t conf_diff(const conf_t *old, const conf_t *new)
{
	conf_diff_t diff = { 0 };
	diff.logs = !logs_same(old, new);
	diff.server = diff_group(&diff, &conf_section_server, &old->server, &new->server);
	diff.server |= diff_group(&diff, &conf_section_xdp, &old->xdp, &new->xdp);
	(void)diff_group(&diff, &conf_section_control, &old->control, &new->control);
	(void)diff_group(&diff, &conf_section_database, &old->database, &new->database);
	diff.statistics = diff_group(&diff, &conf_section_statistics, &old->statistics, &new->statistics);
	diff.modules = !modrefs_same(old->global_modules, new->global_modules);
	for (size_t i = 0; i < CONF_MOD_END; i++) {
		diff.modules |= !mod_same(old, new, (conf_mod_t)i);
	}
	return diff;
}

bool conf_zone_same(const conf_zone_t *a, const conf_zone_t *b)
{
	bool is_same = knot_name_eq(a->name, b->name);
	for (size_t i = 0; is_same && i < conf_section_zone.row_count; i++) {
		const conf_row_t *row = &conf_section_zone.rows[i];
		bool matters = row->field != CONF_FIELD_NONE && row->effect == CONF_ON_ZONE_RELOAD &&
			       row->type != CONF_MODREF;
		is_same = !matters || conf_member_same(row, a, b);
	}
	return is_same;
}
