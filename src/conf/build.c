/* SPDX-License-Identifier: BSD-2-Clause */
/* Store → snapshot: members of the typed structs from the rows' defaults and the blocks' items. */
#include "libknot/base/assert.h"
#include "src/conf/build.h"
#include "src/conf/load.h"
#include "src/conf/value.h"

#include <arpa/inet.h>
#include <limits.h>
#include <net/if.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/un.h>
#include <syslog.h>

enum { ZONE_LISTS_MAX = 16 /* rows of a zone that have lists as members */ };

/** Bytes of a member of this type. */
static size_t field_size(conf_field_t field)
{
	static const size_t sizes[] = {
		[CONF_FIELD_NONE] = 0,
		[CONF_FIELD_BOOL] = sizeof(bool),
		[CONF_FIELD_U8] = sizeof(uint8_t),
		[CONF_FIELD_U16] = sizeof(uint16_t),
		[CONF_FIELD_U32] = sizeof(uint32_t),
		[CONF_FIELD_U64] = sizeof(uint64_t),
		[CONF_FIELD_I64] = sizeof(int64_t),
		[CONF_FIELD_STR] = sizeof(const char *),
		[CONF_FIELD_BYTES] = sizeof(knot_bytes_t),
		[CONF_FIELD_STRS] = sizeof(conf_strs_t),
		[CONF_FIELD_ADDRS] = sizeof(conf_addrs_t),
		[CONF_FIELD_XDP_LISTENS] = sizeof(conf_xdp_listens_t),
		[CONF_FIELD_XDP_BLOCKS] = sizeof(conf_xdp_blocks_t),
		[CONF_FIELD_MODREFS] = sizeof(conf_modrefs_t),
		[CONF_FIELD_NETS] = sizeof(conf_nets_t),
		[CONF_FIELD_BYTES_LIST] = sizeof(conf_bytes_list_t),
		[CONF_FIELD_BITS] = sizeof(conf_bits_t),
		[CONF_FIELD_SET] = sizeof(conf_set_t),
		[CONF_FIELD_HAS] = sizeof(bool),
	};
	assert(field < KNOT_LEN(sizes));
	return sizes[field];
}

static int64_t number_of(const conf_row_t *row, knot_bytes_t value)
{
	bool is_byte = row->type == CONF_BOOL || row->type == CONF_OPT;
	assert(value.len == (is_byte ? 1 : sizeof(int64_t)));
	return is_byte ? value.data[0] : conf_value_int(value);
}

/** The number of a member that can hold 0 to `max`: the row's range, or its options, make it fit. */
static uint64_t number_up_to(const conf_row_t *row, knot_bytes_t value, uint64_t max)
{
	int64_t number = number_of(row, value);
	assert(number >= 0 && (uint64_t)number <= max);
	(void)max;
	return (uint64_t)number;
}

/** Members that need no allocation. False: the member is a list. */
static bool set_scalar(const conf_row_t *row, knot_bytes_t value, void *member)
{
	switch (row->field) {
	case CONF_FIELD_BOOL: *(bool *)member = number_of(row, value) != 0; return true;
	case CONF_FIELD_U8: *(uint8_t *)member = (uint8_t)number_up_to(row, value, UINT8_MAX); return true;
	case CONF_FIELD_U16: *(uint16_t *)member = (uint16_t)number_up_to(row, value, UINT16_MAX); return true;
	case CONF_FIELD_U32: *(uint32_t *)member = (uint32_t)number_up_to(row, value, UINT32_MAX); return true;
	case CONF_FIELD_U64: *(uint64_t *)member = number_up_to(row, value, INT64_MAX); return true;
	case CONF_FIELD_I64: *(int64_t *)member = number_of(row, value); return true;
	case CONF_FIELD_STR: *(const char **)member = (const char *)value.data; return true;
	case CONF_FIELD_BYTES: *(knot_bytes_t *)member = value; return true;
	case CONF_FIELD_HAS: *(bool *)member = true; return true;
	case CONF_FIELD_NONE:
	case CONF_FIELD_STRS:
	case CONF_FIELD_ADDRS:
	case CONF_FIELD_XDP_LISTENS:
	case CONF_FIELD_XDP_BLOCKS:
	case CONF_FIELD_MODREFS:
	case CONF_FIELD_KEYS:
	case CONF_FIELD_GROUPS:
	case CONF_FIELD_ACLS:
	case CONF_FIELD_EXTERNALS:
	case CONF_FIELD_KEYSTORES:
	case CONF_FIELD_SUBMISSIONS:
	case CONF_FIELD_DELEGATIONS:
	case CONF_FIELD_SYNCS:
	case CONF_FIELD_POLICIES:
	case CONF_FIELD_NETS:
	case CONF_FIELD_BYTES_LIST:
	case CONF_FIELD_PEERS:
	case CONF_FIELD_TYPES:
	case CONF_FIELD_OWNERS:
	case CONF_FIELD_BITS:
	case CONF_FIELD_SET: break;
	}
	return false;
}

/* ---- Elements of lists ---- */

/** `path`, in the store, joined with the directory if it is relative; NULL: no memory. */
static const char *join_path(conf_store_t *store, const char *dir, const char *path)
{
	if (dir == NULL || dir[0] == '\0' || path[0] == '/') {
		return path;
	}
	size_t dir_len = strlen(dir), path_len = strlen(path);
	char *joined = conf_store_alloc(store, dir_len + 1 + path_len + 1);
	if (joined != NULL) {
		memcpy(joined, dir, dir_len);
		joined[dir_len] = '/';
		memcpy(joined + dir_len + 1, path, path_len + 1);
	}
	return joined;
}

static void set_ip(conf_addr_kind_t kind, const uint8_t *ip, uint16_t port, struct sockaddr_storage *ss)
{
	*ss = (struct sockaddr_storage){ 0 };
	if (kind == CONF_ADDR_IPV4) {
		struct sockaddr_in *sin = (struct sockaddr_in *)ss;
		sin->sin_family = AF_INET;
		sin->sin_port = htons(port);
		memcpy(&sin->sin_addr, ip, sizeof(sin->sin_addr));
	} else {
		struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)ss;
		sin6->sin6_family = AF_INET6;
		sin6->sin6_port = htons(port);
		memcpy(&sin6->sin6_addr, ip, sizeof(sin6->sin6_addr));
	}
}

/** The device of a link-local address is its scope, that of a wildcard address is what to bind to. */
static void set_device(conf_addr_t *addr, const char *device)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&addr->ss;
	if (sin6->sin6_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&sin6->sin6_addr)) {
		sin6->sin6_scope_id = if_nametoindex(device);
		if (sin6->sin6_scope_id == 0) {
			sin6->sin6_scope_id = (uint32_t)strtoul(device, NULL, 10);
		}
		return;
	}
	(void)snprintf(addr->device, sizeof(addr->device), "%s", device);
}

static knot_err_t set_addr(
		conf_store_t *store, const conf_row_t *row, const char *base_dir, knot_bytes_t value, conf_addr_t *addr)
{
	conf_addr_view_t view = conf_value_addr(value);
	if (view.kind == CONF_ADDR_UNIX) {
		struct sockaddr_un *un = (struct sockaddr_un *)&addr->ss;
		const char *path = join_path(store, base_dir, view.path);
		if (path == NULL) {
			return KNOT_ENOMEM;
		}
		/* The section's check has limited what was written. Joined with the directory of the start it may be
		 * too long. */
		if (strlen(path) >= sizeof(un->sun_path)) {
			return KNOT_ESPACE;
		}
		un->sun_family = AF_UNIX;
		memcpy(un->sun_path, path, strlen(path) + 1);
		addr->len = sizeof(*un);
		return KNOT_OK;
	}
	set_ip(view.kind, view.ip, view.port == CONF_NO_PORT ? row->port : (uint16_t)view.port, &addr->ss);
	addr->len = view.kind == CONF_ADDR_IPV4 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
	if (view.device[0] != '\0') {
		set_device(addr, view.device);
	}
	return KNOT_OK;
}

/** `ifname[@port]` has the form of a UNIX path; the row's check accepts nothing else of that form. */
static bool set_xdp_listen(conf_store_t *store, const conf_row_t *row, knot_bytes_t value, conf_xdp_listen_t *listen)
{
	conf_addr_view_t view = conf_value_addr(value);
	char text[CONF_ADDR_TEXT_MAX];
	(void)conf_value_print(row, value, text, sizeof(text));
	listen->text = conf_store_str(store, text);
	listen->port = row->port;
	if (view.kind == CONF_ADDR_UNIX) {
		size_t len = strcspn(view.path, "@");
		if (view.path[len] == '@') {
			listen->port = (uint16_t)strtoul(view.path + len + 1, NULL, 10);
		}
		memcpy(listen->ifname, view.path, len < IF_NAMESIZE - 1 ? len : IF_NAMESIZE - 1);
	} else {
		listen->port = view.port == CONF_NO_PORT ? row->port : (uint16_t)view.port;
		set_ip(view.kind, view.ip, listen->port, &listen->addr);
	}
	return listen->text != NULL;
}

static size_t element_size(conf_field_t field)
{
	static const size_t sizes[CONF_FIELD_HAS + 1] = {
		[CONF_FIELD_STRS] = sizeof(const char *),
		[CONF_FIELD_ADDRS] = sizeof(conf_addr_t),
		[CONF_FIELD_XDP_LISTENS] = sizeof(conf_xdp_listen_t),
		[CONF_FIELD_XDP_BLOCKS] = sizeof(conf_xdp_block_t),
		[CONF_FIELD_MODREFS] = sizeof(conf_modref_t),
		[CONF_FIELD_NETS] = sizeof(conf_net_t),
		[CONF_FIELD_BYTES_LIST] = sizeof(knot_bytes_t),
	};
	assert(field < KNOT_LEN(sizes));
	return sizes[field] > 0 ? sizes[field] : conf_rule_element_size(field);
}

static knot_err_t set_element(
		conf_store_t *store, const conf_row_t *row, const char *base_dir, knot_bytes_t value, void *element)
{
	if (conf_rule_element_size(row->field) > 0) {
		return conf_rule_set_element(store, row, value, element);
	}
	if (row->field == CONF_FIELD_STRS) {
		*(const char **)element = join_path(store, base_dir, (const char *)value.data);
		return *(const char **)element != NULL ? KNOT_OK : KNOT_ENOMEM;
	}
	if (row->field == CONF_FIELD_ADDRS) {
		return set_addr(store, row, base_dir, value, element);
	}
	if (row->field == CONF_FIELD_XDP_LISTENS) {
		return set_xdp_listen(store, row, value, element) ? KNOT_OK : KNOT_ENOMEM;
	}
	if (row->field == CONF_FIELD_XDP_BLOCKS) {
		conf_xdp_block_t *block = element;
		const char *text = (const char *)value.data;
		const char *fault = conf_xdp_block_scan(knot_str_of(text), block);
		assert(fault == NULL); /* the row's check scanned it */
		(void)fault;
		block->text = conf_store_str(store, text);
		return block->text != NULL ? KNOT_OK : KNOT_ENOMEM;
	}
	if (row->field == CONF_FIELD_NETS) {
		*(conf_net_t *)element = conf_value_net(value);
		return KNOT_OK;
	}
	if (row->field == CONF_FIELD_BYTES_LIST) {
		*(knot_bytes_t *)element = value;
		return KNOT_OK;
	}
	conf_modref_t *ref = element;
	ref->name = (const char *)value.data;
	ref->id = ref->name + strlen(ref->name) + 1;
	return KNOT_OK;
}

/** An empty value in a list stands for nothing: `listen: []` is no address. */
static bool is_void(const conf_store_t *store, const conf_row_t *row, knot_bytes_t value)
{
	if (conf_rule_element_size(row->field) > 0) {
		return conf_rule_is_void(store, row, value);
	}
	if (row->type == CONF_ADDR) {
		conf_addr_view_t addr = conf_value_addr(value);
		return addr.kind == CONF_ADDR_UNIX && addr.path[0] == '\0';
	}
	return (row->type == CONF_STR || row->type == CONF_MODREF) && value.data[0] == '\0';
}

/** All list members have this shape: pointer, count. */
typedef struct {
	const void *data;
	size_t count;
} list_t;

static knot_err_t set_list(conf_store_t *store, const conf_row_t *row, size_t row_index, knot_bytes_t items,
		const char *base_dir, void *member)
{
	assert(element_size(row->field) > 0);
	conf_item_t item;
	size_t count = 0, size = element_size(row->field), pos = 0;
	while (conf_item_next(items, &pos, &item)) {
		count += item.row == row_index && !is_void(store, row, item.value);
	}
	uint8_t *elements = conf_store_alloc(store, count * size + 1);
	if (elements == NULL) {
		return KNOT_ENOMEM;
	}
	uint8_t *next = elements;
	pos = 0;
	while (conf_item_next(items, &pos, &item)) {
		if (item.row != row_index || is_void(store, row, item.value)) {
			continue;
		}
		knot_err_t err = set_element(store, row, base_dir, item.value, next);
		if (err != KNOT_OK) {
			return err;
		}
		next += size;
	}
	assert(next == elements + count * size);
	const list_t list = { elements, count };
	memcpy(member, &list, sizeof(list));
	return KNOT_OK;
}

_Static_assert(sizeof(list_t) == sizeof(conf_strs_t) && sizeof(list_t) == sizeof(conf_addrs_t) &&
				sizeof(list_t) == sizeof(conf_xdp_listens_t) &&
				sizeof(list_t) == sizeof(conf_xdp_blocks_t) &&
				sizeof(list_t) == sizeof(conf_modrefs_t) && sizeof(list_t) == sizeof(conf_keys_t) &&
				sizeof(list_t) == sizeof(conf_groups_t) && sizeof(list_t) == sizeof(conf_acls_t) &&
				sizeof(list_t) == sizeof(conf_nets_t) && sizeof(list_t) == sizeof(conf_types_t) &&
				sizeof(list_t) == sizeof(conf_peers_t) && sizeof(list_t) == sizeof(conf_bytes_list_t) &&
				sizeof(list_t) == sizeof(conf_owners_t),
		"set_list() writes any of the lists as list_t");

/* ---- Structs ---- */

static bool is_list(const conf_row_t *row)
{
	return element_size(row->field) > 0;
}

static bool has_bits(const conf_row_t *row)
{
	return row->field == CONF_FIELD_BITS || row->field == CONF_FIELD_SET;
}

/** Options of a list: their numbers joined, where "none" has the number 0; or a bit for each. */
static void set_bits(const conf_row_t *row, size_t row_index, knot_bytes_t items, void *member)
{
	conf_bits_t bits = { 0 };
	conf_item_t item;
	size_t pos = 0;
	while (conf_item_next(items, &pos, &item)) {
		if (item.row == row_index) {
			uint32_t number = (uint32_t)number_up_to(row, item.value, UINT8_MAX);
			bits.bits |= row->field == CONF_FIELD_SET ? UINT32_C(1) << number : number;
		}
	}
	memcpy(member, &bits, sizeof(bits));
}

knot_err_t conf_build_member(conf_store_t *store, const conf_row_t *row, size_t row_index, knot_bytes_t items,
		const char *base_dir, void *ret_struct)
{
	assert(row->field != CONF_FIELD_NONE);
	void *member = (uint8_t *)ret_struct + row->field_off;
	conf_item_t item;
	size_t pos = 0;
	while (conf_item_next(items, &pos, &item)) {
		if (item.row != row_index) {
			continue;
		}
		if (is_list(row)) {
			return set_list(store, row, row_index, items, base_dir, member);
		}
		if (has_bits(row)) {
			set_bits(row, row_index, items, member);
			return KNOT_OK;
		}
		(void)set_scalar(row, item.value, member);
		if (row->field == CONF_FIELD_STR && base_dir != NULL) {
			*(const char **)member = join_path(store, base_dir, *(const char **)member);
			return *(const char **)member != NULL ? KNOT_OK : KNOT_ENOMEM;
		}
		return KNOT_OK;
	}
	return KNOT_OK;
}

/** The default of a row as packed items of one; len 0: it has none. Lives as long as the store. */
static knot_err_t default_items(conf_store_t *store, const conf_row_t *row, size_t row_index, knot_bytes_t *ret_items)
{
	static _Thread_local uint8_t value[CONF_VALUE_MAX];
	*ret_items = (knot_bytes_t){ 0 };
	size_t len;
	if (row->dflt == NULL) {
		return KNOT_OK;
	}
	knot_err_t err = conf_value_scan(row, knot_str_of(row->dflt), value, &len);
	if (err != KNOT_OK) {
		return err;
	}
	uint8_t *items = conf_store_alloc(store, len + 4);
	if (items == NULL) {
		return KNOT_ENOMEM;
	}
	*ret_items = (knot_bytes_t){ items, conf_item_put(items, row_index, (knot_bytes_t){ value, len }) };
	return KNOT_OK;
}

static const char *base_of(const conf_row_t *row, conf_bases_t bases)
{
	switch (row->path) {
	case CONF_PATH_AS_IS: return NULL;
	case CONF_PATH_START: return bases.start;
	case CONF_PATH_RUNDIR: return *bases.rundir;
	case CONF_PATH_STORAGE: return *bases.storage;
	}
	return NULL;
}

knot_err_t conf_build_struct(conf_store_t *store, const conf_section_t *section, const conf_block_t *block,
		conf_bases_t bases, void *ret_struct)
{
	for (size_t i = 0; i < section->row_count; i++) {
		const conf_row_t *row = &section->rows[i];
		if (row->field == CONF_FIELD_NONE || !conf_row_in(section, row)) {
			continue;
		}
		knot_bytes_t items;
		knot_err_t err = default_items(store, row, i, &items);
		if (err == KNOT_OK) {
			err = conf_build_member(store, row, i, items, base_of(row, bases), ret_struct);
		}
		if (err == KNOT_OK && block != NULL) {
			err = conf_build_member(
					store, row, i, conf_block_items(block), base_of(row, bases), ret_struct);
		}
		if (err != KNOT_OK) {
			return err;
		}
	}
	return KNOT_OK;
}

static knot_err_t build_group(conf_store_t *store, size_t section, conf_bases_t bases, void *ret_struct)
{
	const conf_table_t *table = &store->tables[section];
	return conf_build_struct(
			store, conf_sections[section], table->count > 0 ? table->blocks : NULL, bases, ret_struct);
}

/* ---- What rows can't say ---- */

static unsigned clamp(unsigned number, unsigned min, unsigned max)
{
	return number < min ? min : number > max ? max : number;
}

/** Defaults that depend on the machine or on other items. Members without a value are 0 or NULL. */
static void compute_server(conf_server_t *server, const conf_host_t *host)
{
	unsigned cpu_count = clamp(host->cpu_count, 1, 256);
	enum { MANY = 10, CLIENTS_FALLBACK = 100 };
	if (server->udp_workers == 0) {
		server->udp_workers = cpu_count;
	}
	if (server->tcp_workers == 0) {
		server->tcp_workers = clamp(cpu_count, MANY, 256);
	}
	if (server->background_workers == 0) {
		server->background_workers = clamp(cpu_count, 1, MANY);
	}
	if (server->udp_payload_max_ipv4 == 0) {
		server->udp_payload_max_ipv4 = server->udp_payload_max;
	}
	if (server->udp_payload_max_ipv6 == 0) {
		server->udp_payload_max_ipv6 = server->udp_payload_max;
	}
	uint64_t clients = host->nofile_max > 1 ? host->nofile_max / 2 : CLIENTS_FALLBACK;
	if (server->tcp_max_clients == 0) {
		server->tcp_max_clients = clients < INT32_MAX ? (uint32_t)clients : INT32_MAX;
	}
}

static knot_err_t compute_identity(conf_store_t *store, conf_server_t *server, const conf_host_t *host)
{
	const char *hostname = conf_store_str(store, host->hostname);
	const char *version = conf_store_str(store, host->version);
	if (hostname == NULL || version == NULL) {
		return KNOT_ENOMEM;
	}
	if (server->identity == NULL) {
		server->identity = hostname;
	}
	if (server->version == NULL) {
		server->version = version;
	}
	if (server->nsid.data == NULL) {
		server->nsid = (knot_bytes_t){ (const uint8_t *)hostname, strlen(hostname) };
	}
	if (server->user != NULL && server->user[0] == '\0') {
		server->user = NULL;
	}
	return KNOT_OK;
}

static void compute_log(conf_log_t *log)
{
	static const struct {
		const char *name;
		conf_log_kind_t kind;
	} kinds[] = { { "stdout", CONF_LOG_STDOUT }, { "stderr", CONF_LOG_STDERR }, { "syslog", CONF_LOG_SYSLOG } };
	log->kind = CONF_LOG_FILE;
	for (size_t i = 0; i < KNOT_LEN(kinds); i++) {
		if (strcasecmp(log->target, kinds[i].name) == 0) {
			log->kind = kinds[i].kind;
		}
	}
	for (size_t i = 0; i < CONF_LOG_SOURCE_COUNT; i++) {
		unsigned any = i == CONF_LOG_QUIC ? 0 : log->set[CONF_LOG_SOURCE_COUNT];
		/* `set` is severity + 1, so 1 << set is one more than the mask up to that severity; 0 gives no bits. */
		log->levels[i] = (uint8_t)(((1u << log->set[i]) - 1) | ((1u << any) - 1));
	}
}

static knot_err_t build_logs(conf_t *conf, conf_bases_t bases)
{
	static const conf_log_t unset[] = {
		{ .kind = CONF_LOG_STDERR,
				.target = "stderr",
				.levels = { LOG_UPTO(LOG_WARNING), LOG_UPTO(LOG_WARNING), LOG_UPTO(LOG_WARNING), 0 } },
		{ .kind = CONF_LOG_STDOUT,
				.target = "stdout",
				.levels = { LOG_MASK(LOG_NOTICE) | LOG_MASK(LOG_INFO),
						LOG_MASK(LOG_NOTICE) | LOG_MASK(LOG_INFO),
						LOG_MASK(LOG_NOTICE) | LOG_MASK(LOG_INFO), 0 } },
		{ .kind = CONF_LOG_SYSLOG,
				.target = "syslog",
				.levels = { LOG_UPTO(LOG_WARNING), LOG_UPTO(LOG_WARNING), LOG_UPTO(LOG_WARNING), 0 } },
	};
	const conf_table_t *table = &conf->store->tables[CONF_S_LOG];
	if (table->count == 0) {
		conf->logs = unset;
		conf->log_count = KNOT_LEN(unset);
		return KNOT_OK;
	}
	conf_log_t *logs = conf_store_alloc(conf->store, table->count * sizeof(*logs));
	if (logs == NULL) {
		return KNOT_ENOMEM;
	}
	for (size_t i = 0; i < table->count; i++) {
		knot_err_t err = conf_build_struct(conf->store, &conf_section_log, &table->blocks[i], bases, &logs[i]);
		if (err != KNOT_OK) {
			return err;
		}
		logs[i].target = (const char *)table->blocks[i].id;
		compute_log(&logs[i]);
		if (logs[i].kind == CONF_LOG_FILE) {
			logs[i].target = join_path(conf->store, bases.start, logs[i].target);
		}
		if (logs[i].target == NULL) {
			return KNOT_ENOMEM;
		}
	}
	conf->logs = logs;
	conf->log_count = table->count;
	return KNOT_OK;
}

/** The settings of a module's blocks, and behind them, not counted, the built-in ones. */
static knot_err_t build_mod(conf_t *conf, conf_mod_t mod, conf_bases_t bases)
{
	const conf_section_t *section = conf_mod_sections[mod];
	const conf_table_t *table = &conf->store->tables[conf_section_find(knot_str_of(section->name))];
	uint8_t *structs = conf_store_alloc(conf->store, (table->count + 1) * section->struct_size);
	if (structs == NULL) {
		return KNOT_ENOMEM;
	}
	for (size_t i = 0; i <= table->count; i++) {
		const conf_block_t *block = i < table->count ? &table->blocks[i] : NULL;
		uint8_t *settings = structs + i * section->struct_size;
		knot_err_t err = conf_build_struct(conf->store, section, block, bases, settings);
		if (err != KNOT_OK) {
			return err;
		}
		*(const char **)settings = block != NULL ? (const char *)block->id : "";
	}
	conf->mods[mod].blocks = structs;
	conf->mods[mod].count = table->count;
	return KNOT_OK;
}

/** The row fills no member of a zone's struct but this one of the snapshot. */
static knot_err_t build_global_modules(conf_t *conf, knot_bytes_t items)
{
	size_t row_index = conf_row_find(&conf_section_template, KNOT_STR("global-module"));
	assert(row_index < conf_section_template.row_count);
	conf_row_t row = conf_section_template.rows[row_index];
	row.field = CONF_FIELD_OF(conf->global_modules);
	row.field_off = offsetof(conf_t, global_modules);
	return conf_build_member(conf->store, &row, row_index, items, NULL, conf);
}

/** One struct per template with the defaults below, and at the end that of zones without any template. */
static knot_err_t build_templates(conf_t *conf, conf_bases_t bases)
{
	conf_store_t *store = conf->store;
	const conf_table_t *table = &store->tables[CONF_S_TEMPLATE];
	conf_zone_t *templates = conf_store_alloc(store, (table->count + 1) * sizeof(*templates));
	if (templates == NULL) {
		return KNOT_ENOMEM;
	}
	for (size_t i = 0; i <= table->count; i++) {
		const conf_block_t *block = i < table->count ? &table->blocks[i] : NULL;
		knot_err_t err = conf_build_struct(store, &conf_section_template, block, bases, &templates[i]);
		if (err != KNOT_OK) {
			return err;
		}
		templates[i].template_id = block != NULL ? (const char *)block->id : NULL;
		templates[i].directory = bases.start;
	}
	const knot_bytes_t default_id = { (const uint8_t *)"default", sizeof("default") };
	const conf_block_t *default_block = conf_store_find(store, CONF_S_TEMPLATE, default_id);
	store->templates = templates;
	store->default_template = default_block != NULL ? (size_t)(default_block - table->blocks) : table->count;
	if (default_block == NULL) {
		return KNOT_OK;
	}
	return build_global_modules(conf, conf_block_items(default_block));
}

/** Rows that have a list in the zone's own block, each once, in the order of the rows. Returns their count. */
static size_t list_rows(knot_bytes_t items, uint32_t ret_rows[static ZONE_LISTS_MAX])
{
	conf_item_t item;
	size_t pos = 0, count = 0;
	while (conf_item_next(items, &pos, &item)) {
		size_t at = 0;
		if (!is_list(&conf_section_zone.rows[item.row])) {
			continue;
		}
		while (at < count && ret_rows[at] < item.row) {
			at++;
		}
		if (at < count && ret_rows[at] == item.row) {
			continue;
		}
		assert(count < ZONE_LISTS_MAX);
		memmove(ret_rows + at + 1, ret_rows + at, (count - at) * sizeof(*ret_rows));
		ret_rows[at] = (uint32_t)item.row;
		count++;
	}
	return count;
}

static bool has_row(knot_bytes_t items, size_t row)
{
	conf_item_t item;
	size_t pos = 0;
	bool has = false;
	while (!has && conf_item_next(items, &pos, &item)) {
		has = item.row == row;
	}
	return has;
}

/** Lists in zones' own blocks, so that conf_zone() need not make them. */
static knot_err_t build_zone_lists(conf_store_t *store)
{
	uint32_t rows[ZONE_LISTS_MAX];
	size_t count = 0, role = conf_row_find(&conf_section_zone, KNOT_STR("catalog-role"));
	for (size_t i = 0; i < store->zones.count; i++) {
		knot_bytes_t items = conf_zones_items(&store->zones, i);
		count += list_rows(items, rows);
		store->has_zone_catalogs = store->has_zone_catalogs || has_row(items, role);
	}
	store->zone_list_count = 0;
	store->zone_lists = conf_store_alloc(store, count * sizeof(*store->zone_lists) + 1);
	if (store->zone_lists == NULL) {
		return KNOT_ENOMEM;
	}
	for (size_t i = 0; i < store->zones.count && store->zone_list_count < count; i++) {
		knot_bytes_t items = conf_zones_items(&store->zones, i);
		size_t row_count = list_rows(items, rows);
		for (size_t j = 0; j < row_count; j++) {
			const conf_row_t *row = &conf_section_zone.rows[rows[j]];
			list_t list = { NULL, 0 };
			knot_err_t err = set_list(store, row, rows[j], items, NULL, &list);
			if (err != KNOT_OK) {
				return err;
			}
			store->has_zone_modules |= row->type == CONF_MODREF && list.count > 0;
			store->zone_lists[store->zone_list_count++] = (conf_zone_list_t){
				.zone = (uint32_t)i, .row = rows[j], .data = list.data, .count = list.count
			};
		}
	}
	return KNOT_OK;
}

knot_err_t conf_build(conf_t *conf, const conf_host_t *host)
{
	assert(conf_store_is_sealed(conf->store) && conf->store->templates == NULL);
	static const conf_host_t no_host = {
		.cpu_count = 1, .hostname = "localhost", .version = PACKAGE_NAME " " PACKAGE_VERSION
	};
	conf_store_t *store = conf->store;
	host = host != NULL ? host : &no_host;
	conf_bases_t bases = { NULL, &conf->server.rundir, &conf->database.storage };
	if (host->directory != NULL && (bases.start = conf_store_str(store, host->directory)) == NULL) {
		return KNOT_ENOMEM;
	}
	const struct {
		size_t section;
		void *group;
	} groups[] = {
		{ CONF_S_SERVER, &conf->server }, /* first: others are relative to its rundir */
		{ CONF_S_XDP, &conf->xdp },
		{ CONF_S_CONTROL, &conf->control },
		{ CONF_S_STATISTICS, &conf->statistics },
		{ CONF_S_DATABASE, &conf->database },
	};
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; i < KNOT_LEN(groups) && err == KNOT_OK; i++) {
		err = build_group(store, groups[i].section, bases, groups[i].group);
	}
	if (err == KNOT_OK) {
		compute_server(&conf->server, host);
		err = compute_identity(store, &conf->server, host);
	}
	if (err == KNOT_OK) {
		err = build_logs(conf, bases);
	}
	for (size_t i = 0; i < CONF_MOD_END && err == KNOT_OK; i++) {
		err = build_mod(conf, (conf_mod_t)i, bases);
	}
	if (err == KNOT_OK) {
		err = conf_build_rules(store, bases); /* before what refers to them */
	}
	if (err == KNOT_OK) {
		err = build_templates(conf, bases);
	}
	if (err == KNOT_OK) {
		err = build_zone_lists(store);
	}
	store->zone_template_row = (uint16_t)conf_row_find(&conf_section_zone, KNOT_STR("template"));
	conf->zone_count = store->zones.count;
	assert(store->zone_template_row < conf_section_zone.row_count);
	return err;
}

/** The list that a row of the zone has; NULL: none. */
static const conf_zone_list_t *find_zone_list(const conf_store_t *store, size_t zone, size_t row)
{
	size_t low = 0, high = store->zone_list_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const conf_zone_list_t *list = &store->zone_lists[middle];
		if (list->zone == zone && list->row == row) {
			return list;
		}
		if (list->zone < zone || (list->zone == zone && list->row < row)) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return NULL;
}

void conf_apply_zone_items(const conf_store_t *store, size_t index, conf_zone_t *zone)
{
	conf_item_t item;
	size_t pos = 0;
	while (conf_item_next(conf_zones_items(&store->zones, index), &pos, &item)) {
		const conf_row_t *row = &conf_section_zone.rows[item.row];
		if (has_bits(row)) {
			set_bits(row, item.row, conf_zones_items(&store->zones, index),
					(uint8_t *)zone + row->field_off);
			continue;
		}
		if (!is_list(row)) {
			(void)set_scalar(row, item.value, (uint8_t *)zone + row->field_off);
			continue;
		}
		const conf_zone_list_t *found = find_zone_list(store, index, item.row);
		assert(found != NULL); /* conf_build() made one of each list */
		const list_t list = { found->data, found->count };
		memcpy((uint8_t *)zone + row->field_off, &list, sizeof(list));
	}
}

static bool str_same(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool element_same(conf_field_t field, const void *a, const void *b)
{
	if (field == CONF_FIELD_STRS) {
		return str_same(*(const char *const *)a, *(const char *const *)b);
	}
	if (field == CONF_FIELD_MODREFS) {
		const conf_modref_t *x = a, *y = b;
		return str_same(x->name, y->name) && str_same(x->id, y->id);
	}
	if (field == CONF_FIELD_XDP_LISTENS) {
		return str_same(((const conf_xdp_listen_t *)a)->text, ((const conf_xdp_listen_t *)b)->text);
	}
	if (field == CONF_FIELD_XDP_BLOCKS) {
		return str_same(((const conf_xdp_block_t *)a)->text, ((const conf_xdp_block_t *)b)->text);
	}
	if (field == CONF_FIELD_BYTES_LIST) {
		const knot_bytes_t *x = a, *y = b;
		return x->len == y->len && (x->len == 0 || memcmp(x->data, y->data, x->len) == 0);
	}
	return memcmp(a, b, element_size(field)) == 0;
}

bool conf_member_same(const conf_row_t *row, const void *a, const void *b)
{
	assert(row->field != CONF_FIELD_NONE);
	const uint8_t *x = (const uint8_t *)a + row->field_off, *y = (const uint8_t *)b + row->field_off;
	if (row->field == CONF_FIELD_STR) {
		return str_same(*(const char *const *)x, *(const char *const *)y);
	}
	if (row->field == CONF_FIELD_BYTES) {
		const knot_bytes_t *p = (const knot_bytes_t *)x, *q = (const knot_bytes_t *)y;
		return p->len == q->len && (p->len == 0 || memcmp(p->data, q->data, p->len) == 0);
	}
	if (!is_list(row)) {
		return memcmp(x, y, field_size(row->field)) == 0;
	}
	const list_t *p = (const list_t *)x, *q = (const list_t *)y;
	bool is_same = p->count == q->count;
	size_t size = element_size(row->field);
	for (size_t i = 0; is_same && i < p->count; i++) {
		is_same = element_same(
				row->field, (const uint8_t *)p->data + i * size, (const uint8_t *)q->data + i * size);
	}
	return is_same;
}
